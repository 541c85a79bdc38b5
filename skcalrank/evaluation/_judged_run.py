"""Evaluation of runs against judgments, as in trec_eval."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, TypedDict, overload

import numpy as np

from ..data import Queries, Ranked, arrays, check, warn
from ..data.types import Floats, Unpack
from ..measures import MEASURES, Measure, get_measure
from ..metrics import EMPTY, MeasuredLabels, check_several, fill_undefined, mean_of_queries
from ._run_files import Scores, load_qrels, load_run

TIES = ("trec", "stable", "average")

#: Measures of runs that depend on which documents are judged.
JUDGED_MEASURES = ("bpref", "judged@k")


class _Options(TypedDict, total=False):
    """What the overloads of evaluate_run have in common, for type checkers."""

    ties: str
    empty: str
    relevance_level: float
    gain: str
    complete: bool


@overload
def evaluate_run(  # type: ignore[overload-overlap]
    run: Any,
    qrels: Any,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    average: Literal[True] = ...,
    **options: Unpack[_Options],
) -> dict[Any, float]: ...
@overload
def evaluate_run(
    run: Any,
    qrels: Any,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    average: bool,
    **options: Unpack[_Options],
) -> dict[Any, dict[str, float]]: ...
def evaluate_run(
    run: Any,
    qrels: Any,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    ties: str = "trec",
    empty: str = "skip",
    relevance_level: float = 1.0,
    gain: str = "exponential",
    complete: bool = False,
    average: bool = True,
) -> dict[Any, Any]:
    """Evaluate a run against judgments.

    As in trec_eval, a retrieved document without a judgment is not relevant. A judged document that
    was not retrieved counts among the relevant ones and in the ideal ranking, but gains nothing.
    Negative relevances count as 0.

    Parameters
    ----------
    run, qrels : str, Path, DataFrame, dict or iterable
        A source that :func:`load_run` (for `qrels` :func:`load_qrels`) reads: a TREC file or a
        table, a frame, or a dict of dicts.
    measures : list of str or Measure, or dict
        Measures that are defined for truncated rankings: ``"ndcg@10"``, ``"map"``, ``"mrr"``,
        ``"precision@5"``, ``"recall@100"``, ``"err@10"``, ...; ``"bpref"``, which ignores
        documents without a judgment; ``"judged@10"``, the share of judged documents among the
        first 10 that were retrieved.
    ties : {"trec", "stable", "average"}, default="trec"
        Order of documents with equal scores. "trec": by name from Z to A, with scores compared in
        single precision, as in trec_eval. "stable": the order of the run. "average": the exact
        expectation over all orders.
    empty : {"skip", "zero", "one", "nan", "error"}, default="skip"
        Treatment of queries on which a measure is undefined (0/0), such as queries without a
        relevant document, as in :func:`skcalrank.metrics.measure_score`. trec_eval uses "zero".
    relevance_level : float, default=1.0
        Documents with at least this relevance are relevant, for binary measures given by name.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of DCG and NDCG given by name; trec_eval uses "linear".
    complete : bool, default=False
        If True, judged queries that are not in the run have value 0 (``trec_eval -c``). If False,
        they are left out, with a warning.
    average : bool, default=True
        If True, means over queries are returned; if False, values of each query.

    Returns
    -------
    values : dict
        For each measure, as given: the mean, or with ``average=False`` a dict of values by query,
        which :func:`compare_values` takes; NaN for skipped queries.

    Raises
    ------
    ValueError
        If a measure needs a score for every document, or no query of the run has judgments.

    Warns
    -----
    UserWarning
        If judged queries are left out because they are not in the run.

    See Also
    --------
    load_run : Read a run.
    load_qrels : Read judgments.
    compare_values : Compare the values of several runs.
    skcalrank.metrics.measure_score : Measures of complete rankings, from arrays.

    Examples
    --------
    >>> from skcalrank.evaluation import evaluate_run
    >>> run = {"q1": {"a": 0.9, "b": 0.8, "c": 0.7}, "q2": {"a": 0.5}}
    >>> qrels = {"q1": {"b": 1, "d": 1, "c": 0}, "q2": {"a": 1}}
    >>> evaluate_run(run, qrels, ["map", "recall@10", "judged@2"])
    {'map': 0.625, 'recall@10': 0.75, 'judged@2': 0.75}
    >>> evaluate_run(run, qrels, ["mrr"], average=False)
    {'mrr': {'q1': 0.5, 'q2': 1.0}}
    """
    check.option("ties", ties, TIES)
    check.option("empty", empty, EMPTY)
    resolved = run_measures(measures, relevance_level, gain)
    judged = JudgedRun(load_run(run), load_qrels(qrels), complete=complete, ties=ties)
    if judged.n_missing and not complete:
        warn(
            f"{judged.n_missing} judged queries are not in the run and are left out, so that means "
            "may be too high. Pass complete=True to count them as 0."
        )
    of_queries = {name: values_of(judged, empty) for name, values_of in resolved.items()}
    if average:
        return {name: mean_of_queries(values, None, empty) for name, values in of_queries.items()}
    return {name: dict(zip(judged.names, values.tolist())) for name, values in of_queries.items()}


# -- measures ----------------------------------------------------------------------

_OfRun = Callable[["JudgedRun", str], Floats]


def run_measures(
    measures: Any, relevance_level: float, gain: str = "exponential"
) -> dict[Any, _OfRun]:
    """Return a dict of functions of (JudgedRun, empty) that compute the measures."""
    check_several(measures)
    pairs = measures.items() if isinstance(measures, Mapping) else ((m, m) for m in measures)
    return {name: _run_measure(measure, relevance_level, gain) for name, measure in pairs}


def _run_measure(measure, level, gain) -> _OfRun:
    name, _, k = measure.partition("@") if isinstance(measure, str) else ("", "", "")
    if measure == "bpref":
        return partial(JudgedRun.bpref, level=level)
    if name == "judged" and re.fullmatch(r"[1-9]\d*|", k):
        return partial(JudgedRun.share_judged, k=int(k) if k else None)
    resolved = get_measure(measure)
    if not resolved.top_only:
        known = [top_only for top_only, cls in MEASURES.items() if cls.top_only]
        raise ValueError(
            f"measures must be defined for truncated rankings, got {resolved.name}, which needs a "
            f"score for every document. Choose among {', '.join([*known, *JUDGED_MEASURES])}."
        )
    if isinstance(measure, str):
        options: dict[str, Any] = {"relevance_level": level} if resolved.is_binary else {}
        options |= {"gain": gain} if resolved.has_gain else {}
        resolved = get_measure(measure, **options)
    return partial(JudgedRun.values_of, measure=resolved)


# -- documents ---------------------------------------------------------------------


class JudgedRun:
    """The documents of a run and of its judgments, for each query in the order of the run.

    It has the `names` of the queries, and the numbers of judged queries that are not in the run,
    `n_missing`, and of queries of the run without judgments, `n_unjudged`.
    """

    def __init__(self, run: Scores, qrels: Scores, *, complete: bool, ties: str) -> None:
        self.names = [name for name in qrels if complete or name in run]
        if not any(name in run for name in self.names):
            raise ValueError(
                "run and qrels must have a query in common, got different names only. Check how "
                "queries are named in both."
            )
        self.n_missing = len(qrels.keys() - run.keys())
        self.n_unjudged = len(run.keys() - qrels.keys())
        self._ties = ties
        by_query = [_documents(run.get(name, {}), qrels[name], ties) for name in self.names]
        sizes = [len(relevance) for relevance, *_ in by_query]
        self.queries = Queries(np.append(0, np.cumsum(sizes)), names=np.array(self.names))
        self._n_retrieved = np.array([len(run.get(name, ())) for name in self.names])
        self._relevance, self._is_judged, places = (
            np.fromiter(chain.from_iterable(parts), dtype=float) for parts in zip(*by_query)
        )
        self._ranked = _Retrieved(
            -places, self.queries, "average" if ties == "average" else "stable", self._n_retrieved
        )
        number = np.arange(self.queries.n_rows) - self.queries.repeat(self.queries.ptr[:-1])
        self._number, self._is_retrieved = number, number < self.queries.repeat(self._n_retrieved)

    def values_of(self, empty: str, *, measure: Measure) -> Floats:
        """Return the value of a measure on each query."""
        y = np.maximum(self._relevance, 0.0)
        labels = MeasuredLabels(measure.scaled_to(y), y, self.queries)
        with np.errstate(invalid="ignore"):
            values = labels.values(self._ranked, empty)
        values[(self._n_retrieved == 0) & ~labels.undefined] = 0.0
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
        first = self._is_retrieved & (self._number < (np.inf if k is None else k))
        return arrays.safe_divide(
            self.queries.sum(first * self._is_judged), self.queries.sum(first * 1.0)
        )

    def _refuse_shared_positions(self, name):
        if self._ties == "average":
            raise ValueError(
                f"ties must be 'trec' or 'stable' for {name}, which has no expectation over ties, "
                "got 'average'."
            )


def _documents(scores, judged, ties) -> tuple[list[float], list[bool], list[int]]:
    """Return the documents of a query: the retrieved ones, best first, then other judged ones.

    They are given by their relevances, whether they are judged, and their positions from 0, of
    which tied documents may share the first.
    """
    retrieved, places = _ordered(scores, ties)
    documents = retrieved + [document for document in judged if document not in scores]
    relevance = [judged.get(document, 0.0) for document in documents]
    is_judged = [document in judged for document in documents]
    return relevance, is_judged, places + list(range(len(places), len(documents)))


def _ordered(scores, ties) -> tuple[list[str], list[int]]:
    """Return documents, best first, and their places, shared by ties if ties="average"."""
    if ties == "trec":
        # trec_eval stores scores in single precision, in which more of them are equal.
        with np.errstate(over="ignore"):
            single = np.fromiter(scores.values(), dtype=float).astype(np.float32).tolist()
        documents = [document for _, document in sorted(zip(single, scores), reverse=True)]
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

    def __init__(self, scores, queries, ties, n_retrieved):
        super().__init__(scores, queries, ties=ties)
        self._n_retrieved = n_retrieved

    def blocks(self, k=None):
        # The value of a query without a retrieved document is replaced later.
        sizes = np.maximum(self._n_retrieved, 1)
        return [replace(b, sizes=sizes[b.ids][:, None]) for b in super().blocks(k)]
