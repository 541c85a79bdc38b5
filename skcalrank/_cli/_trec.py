"""Runs and judgments as TREC keeps them, measured as trec_eval does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from ..data import Queries, Ranked
from ..datasets import open_bytes, to_float
from ..metrics import values_per_query
from ._readers import reading


class RunJudgments:
    """Labels of the documents, query by query: those retrieved, best first, then the others.

    Each query has a name, a number of documents, and a number of those that were retrieved.
    """

    def __init__(self, names, labels, sizes, n_retrieved):
        self.names, self.labels, self.n_retrieved = names, labels, n_retrieved
        self.queries = Queries(np.append(0, np.cumsum(sizes)), names=np.array(names))

    def evaluate(self, measures, empty) -> dict[str, np.ndarray]:
        """Values per query: a document that was not retrieved is relevant, and never found."""
        places = np.arange(self.queries.n_rows, dtype=float)
        ranked = _Retrieved(-places, self.queries, self.n_retrieved)
        values = {}
        for name, measure in measures.items():
            with np.errstate(invalid="ignore"):
                found = values_per_query(measure.scaled_to(self.labels), self.labels, ranked, empty)
            undefined = measure.undefined(measure.labels(self.labels), self.queries)
            found[(self.n_retrieved == 0) & ~undefined] = 0.0
            values[name] = found
        return values


class _Retrieved(Ranked):
    """A ranking that ends with the last document that was retrieved."""

    def __init__(self, scores, queries, n_retrieved):
        super().__init__(scores, queries, ties="stable")
        self._n_retrieved = n_retrieved

    def blocks(self, k=None):
        return [replace(b, sizes=self._n_retrieved[b.ids][:, None]) for b in super().blocks(k)]


# -- files -------------------------------------------------------------------------


def read_judged_run(run_path, qrels_path, *, complete=False) -> tuple[RunJudgments, str]:
    """Return a run beside its judgments, and a sentence on queries that only one of them has.

    As in trec_eval, the rank is not read, and negative relevances count 0. With `complete` judged
    queries without a line in the run count, with 0.
    """
    with reading(qrels_path, "wanted are lines 'query 0 document relevance'"):
        qrels = _collect(_lines(qrels_path, 4, 3))
    with reading(run_path, "wanted are lines 'query Q0 document rank score tag'"):
        run = _collect(_lines(run_path, 6, 4))
    names = [name for name in qrels if complete or name in run]
    if not names:
        raise ValueError(f"{run_path} and {qrels_path} have no query in common")
    retrieved = [_ordered(run.get(name, {})) for name in names]
    labels = [_labels(documents, qrels[name]) for name, documents in zip(names, retrieved)]
    note = ""
    if missing := len(qrels.keys() - run.keys()):
        counted = "count 0" if complete else "are left out (--complete counts them 0)"
        note += f"{missing} judged queries have no line in the run: they {counted}. "
    if unjudged := len(run.keys() - qrels.keys()):
        note += f"{unjudged} queries of the run are not judged: they are left out."
    judged = RunJudgments(
        names,
        np.fromiter(chain.from_iterable(labels), dtype=float),
        np.array([len(each) for each in labels]),
        np.array([len(each) for each in retrieved]),
    )
    return judged, note


def _lines(path, n_words, value_at) -> Iterator[tuple[str, str, float]]:
    """Query, document and value of each line."""
    with open_bytes(Path(path)) as file:
        for number, line in enumerate(file, 1):
            try:
                words = line.decode().split()
                if not words:
                    continue
                if len(words) != n_words:
                    raise ValueError(f"{len(words)} words where {n_words} are wanted")
                value = to_float(words[value_at])
                if not np.isfinite(value):
                    raise ValueError(f"{words[value_at]} is not finite")
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
            yield words[0], words[2], value


def _collect(lines) -> dict[str, dict[str, float]]:
    """Values by document by query."""
    out: dict[str, dict[str, float]] = {}
    for query, document, value in lines:
        documents = out.setdefault(query, {})
        if document in documents:
            raise ValueError(f"document {document} stands twice in query {query}")
        documents[document] = value
    if not out:
        raise ValueError("it holds no lines")
    return out


def _ordered(scores: dict[str, float]) -> list[str]:
    """Documents, best first; trec_eval keeps scores in single precision, which makes more ties."""
    with np.errstate(over="ignore"):
        single = np.fromiter(scores.values(), dtype=float).astype(np.float32).tolist()
    return [document for _, document in sorted(zip(single, scores), reverse=True)]


def _labels(retrieved, judged) -> list[float]:
    """Relevances of the retrieved documents, and then of the others that are judged."""
    others = judged.keys() - set(retrieved)
    values = [judged.get(document, 0.0) for document in retrieved]
    return [max(v, 0.0) for v in (*values, *(judged[document] for document in others))]
