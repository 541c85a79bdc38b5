"""Documents of a run and of its judgments."""

from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints
from ..data import Block, Queries, Ranked, warn
from ..measures import Measure, warn_unless_grades
from ..metrics import MeasuredLabels, fill_undefined
from ._run_sources import Scores


class JudgedRun:
    """The documents of a run and of its judgments, for each query in the order of the run.

    It has the `names` of the queries, the numbers of judged queries that are not in the run,
    `n_missing`, and of queries of the run without judgments, `n_unjudged`; and the numbers of
    documents that were retrieved, `n_retrieved`, and of judged ones among them, `n_judged`.
    """

    def __init__(self, qrels: Scores, run: Scores, *, complete: bool, ties: str) -> None:
        self.names = [name for name in qrels if complete or name in run]
        if not any(name in run for name in self.names):
            raise ValueError(
                "qrels and run must have a query in common, got different names only, such as "
                f"{next(iter(qrels))!r} and {next(iter(run))!r}. Check how queries are named in "
                "both."
            )
        self.n_missing = len(qrels.keys() - run.keys())
        self.n_unjudged = len(run.keys() - qrels.keys())
        self._ties = ties
        by_query = [_documents(qrels[name], run.get(name, {}), ties) for name in self.names]
        sizes = [len(relevance) for relevance, *_ in by_query]
        self.queries = Queries(np.append(0, np.cumsum(sizes)), names=np.array(self.names))
        self._lengths = np.array([len(run.get(name, ())) for name in self.names])
        self._relevance, self._is_judged, places = (
            np.fromiter(chain.from_iterable(parts), dtype=float) for parts in zip(*by_query)
        )
        self._ranked = _Retrieved(
            -places, self.queries, "average" if ties == "average" else "stable", self._lengths
        )
        self._is_retrieved = self.queries.places <= self.queries.repeat(self._lengths)
        # Of all judgments: the value of a list must not depend on what else is in the run.
        highest = max(chain.from_iterable(of.values() for of in qrels.values()), default=0.0)
        self._highest = np.array([max(highest, 0.0)])
        self.n_retrieved = int(self._lengths.sum())
        self.n_judged = int(self._is_judged[self._is_retrieved].sum())
        self._one_of_each = None if self.n_judged else _one_of_each(qrels, run, self.names)

    @property
    def judged_(self) -> float:
        """Share of judged documents among those that were retrieved; NaN if there are none."""
        return self.n_judged / self.n_retrieved if self.n_retrieved else np.nan

    def warn_of_other_names(self, run: str) -> None:
        """Warn if not one document that the run retrieved is judged."""
        if self._one_of_each is not None:
            retrieved, judged = self._one_of_each
            warn(
                f"Not one document that {run} retrieved is judged, so that none is relevant: it "
                f"names documents such as {retrieved!r}, and the judgments such as {judged!r}. "
                "Check how documents are named in both."
            )

    def values_of(self, empty: str, *, measure: Measure) -> Floats:
        """Return the value of a measure on each query."""
        y = np.maximum(self._relevance, 0.0)
        warn_unless_grades([measure], y)
        labels = MeasuredLabels(measure.scaled_to(self._highest), y, self.queries)
        with np.errstate(invalid="ignore"):
            values = labels.values(self._ranked, empty)
        values[(self._lengths == 0) & ~labels.undefined] = 0.0
        return values

    def bpref(self, empty: str, *, level: float) -> Floats:
        """Return bpref of each query: its share of judged pairs in the right order.

        Buckley and Voorhees, SIGIR 2004, as computed by trec_eval.
        """
        self._refuse_shared_positions("bpref")
        queries, relevant = self.queries, self._relevance >= level
        # In trec_eval a relevance below 0 means that a document was not judged.
        other = (self._is_judged > 0) & (self._relevance >= 0) & ~relevant
        n_relevant, n_other = queries.sum(relevant * 1.0), queries.sum(other * 1.0)
        others = np.cumsum(other * self._is_retrieved)
        before = others - queries.repeat(np.append(0.0, others)[queries.ptr[:-1]])
        most = np.minimum(n_relevant, n_other)
        lost = np.minimum(before, queries.repeat(n_relevant))
        kept = 1.0 - arrays.safe_divide(lost, queries.repeat(most))
        in_order = queries.sum(kept * (relevant & self._is_retrieved))
        values = arrays.safe_divide(in_order, n_relevant, np.nan)
        fill_undefined(values, n_relevant == 0, empty, "bpref", queries)
        return values

    def share_judged(self, empty: str, *, k: int | None) -> Floats:  # noqa: ARG002
        """Return the share of judged documents among the first k retrieved, for each query."""
        self._refuse_shared_positions("judged@k")
        first = self._is_retrieved & (self.queries.places <= (np.inf if k is None else k))
        return arrays.safe_divide(
            self.queries.sum(first * self._is_judged), self.queries.sum(first * 1.0)
        )

    def _refuse_shared_positions(self, name: str) -> None:
        if self._ties == "average":
            raise ValueError(
                f"ties must be 'trec', 'trec10' or 'stable' for {name}, which has no expectation "
                "over ties, got 'average'."
            )


def _one_of_each(qrels: Any, run: Any, names: list[str]) -> tuple[str, str] | None:
    """Return the name of a document of the run, and of the judgments of its query if they have any.

    Return None if no document was retrieved, or none was judged.
    """
    pairs = ((next(iter(run.get(q, ())), None), next(iter(qrels[q]), None)) for q in names)
    return next(
        ((one, other) for one, other in pairs if one is not None and other is not None), None
    )


def _documents(judged: Any, scores: Any, ties: str) -> tuple[list[float], list[bool], list[int]]:
    """Return the documents of a query: the retrieved ones, best first, then other judged ones.

    They are given by their relevances, whether they are judged, and their positions from 0, of
    which tied documents may share the first.
    """
    retrieved, places = _ordered(scores, ties)
    documents = retrieved + [document for document in judged if document not in scores]
    relevance = [judged.get(document, 0.0) for document in documents]
    is_judged = [document in judged for document in documents]
    return relevance, is_judged, places + list(range(len(places), len(documents)))


def _ordered(scores: dict[str, float], ties: str) -> tuple[list[str], list[int]]:
    """Return documents, best first, and their places, shared by ties if ties="average"."""
    if ties in ("trec", "trec10"):
        values = np.fromiter(scores.values(), dtype=float)
        if ties == "trec":
            # trec_eval stored scores in single precision, in which more are equal, to version 9.
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        documents = [document for _, document in sorted(zip(values.tolist(), scores), reverse=True)]
    else:
        documents = sorted(scores, key=lambda document: -scores[document])
    places = list(range(len(documents)))
    if ties == "average":
        for number, (one, other) in enumerate(pairwise(documents), 1):
            if scores[one] == scores[other]:
                places[number] = places[number - 1]
    return documents, places


class _Retrieved(Ranked):
    """A ranking that ends after the last retrieved document."""

    is_short = False  # without blocks, all documents would count

    def __init__(self, scores: Floats, queries: Queries, ties: str, n_retrieved: Ints) -> None:
        super().__init__(scores, queries, ties=ties)
        self._n_retrieved = n_retrieved

    def blocks(self, k: int | None = None) -> list[Block]:
        # The value of a query without a retrieved document is replaced later.
        sizes = np.maximum(self._n_retrieved, 1)
        return [replace(b, sizes=sizes[b.ids][:, None]) for b in super().blocks(k)]
