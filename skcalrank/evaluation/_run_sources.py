"""Sources of runs and judgments: files, frames, dicts and objects of other packages."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..columns import arrays, is_missing, tables
from ..columns.types import Array, Floats, Ints
from ..data import Block, Queries, Ranked, in_memory, warn
from ..datasets import Columns, table_format
from ..measures import Measure, warn_unless_grades
from ..metrics import MeasuredLabels, fill_undefined
from ._run_kinds import QRELS, RUN, Kind, Row, entry, names_of, number
from ._run_texts import json_of, rows_of_text

#: Values by query and document.
Scores = dict[str, dict[str, float]]


class Qrels(Scores):
    """Judgments: a dict of relevances by query and document that cannot be taken for a run.

    Parameters
    ----------
    values : dict of dict
        Relevances by query and document, which are not checked: :func:`load_qrels` does.

    See Also
    --------
    load_qrels : Read judgments.
    Run : The scores of a system.

    Examples
    --------
    >>> from skcalrank.evaluation import Qrels, evaluate_run
    >>> evaluate_run(Qrels({"q": {"a": 1}}), {"q": {"a": 3, "b": 2}}, ["map"])
    {'map': 1.0}
    """

    def __init__(self, values: Scores) -> None:
        super().__init__(values)


class Run(Scores):
    """A run: a dict of scores by query and document that cannot be taken for judgments.

    Parameters
    ----------
    values : dict of dict
        Scores by query and document, which are not checked: :func:`load_run` does.

    See Also
    --------
    load_run : Read a run.
    Qrels : Judgments.

    Examples
    --------
    >>> from skcalrank.evaluation import Run, evaluate_run
    >>> evaluate_run({"q": {"a": 1}}, Run({"q": {"a": 3, "b": 2}}), ["map"])
    {'map': 1.0}
    """

    def __init__(self, values: Scores) -> None:
        super().__init__(values)


def loaded(source: Any, kind: Kind) -> Scores:
    """Return the values of a source of any type; raise if it says that it is of another kind."""
    # ranx has classes of the same names.
    names = {cls.__name__ for cls in type(source).__mro__}
    if names & {"Run", "Qrels"} - {kind.what.capitalize()}:
        raise ValueError(
            f"{kind.what} must hold {'scores' if kind is RUN else 'judgments'}, got "
            f"{type(source).__name__}: pass judgments as qrels= and scores as run=."
        )
    (source,) = in_memory(source=source)
    if isinstance(source, (str, os.PathLike)):
        return _of_file(Path(source), kind)
    if tables.is_frame(source) or hasattr(type(source), "column_names"):  # pyarrow
        return collected(_of_frame(source, kind, kind.what), kind.what)
    if hasattr(source, "to_dict"):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return _of_dict(source, kind)
    return collected(_of_tuples(source, kind), kind.what)


def could_be_either(source: Any) -> bool:
    """Return whether the form of a source leaves open whether it is a run or judgments."""
    if hasattr(source, "columns"):
        names = tables.column_names(source) or ()
        return next((c for c in QRELS.values if c in names), None) in RUN.values
    return isinstance(source, Mapping) and not isinstance(source, (Qrels, Run))


def collected(rows: Iterable[Row], name: str) -> Scores:
    """Return values by query and document; raise if two queries are the same as text."""
    out: Scores = {}
    names: dict[str, Any] = {}
    for query, document, value in rows:
        text = str(query)
        if (first := names.setdefault(text, query)) != query:
            raise ValueError(
                f"{name}: queries {first!r} and {query!r} have the same name as text. Rename one."
            )
        documents = out.setdefault(text, {})
        if document in documents:
            raise ValueError(f"{name}: document {document} appears twice in query {query}.")
        documents[document] = value
    return _not_empty(out, name)


def _not_empty(values: Scores, name: str) -> Scores:
    if not any(values.values()):
        raise ValueError(f"{name} must hold a document at least, got none.")
    return values


def _of_file(path: Path, kind: Kind) -> Scores:
    table, name = table_format(path), f"cannot read {path}"
    try:
        if table is not None and table.packed:
            (frame,) = table.frames(path, Columns(), None, None)
            return collected(_of_frame(frame, kind, str(path)), name)
        source = json_of(path)
        return collected(rows_of_text(path, kind), name) if source is None else loaded(source, kind)
    except ValueError as error:
        if str(error).startswith((str(path), name)):
            raise
        raise ValueError(f"{name}: {error}") from error


def _of_frame(frame: Any, kind: Kind, name: str) -> Iterator[Row]:
    columns = kind.columns(tables.column_names(frame) or (), name)
    *names, values = (np.asarray(frame[column]) for column in columns)
    for at, cells in enumerate(zip(*map(_cells, names), values.tolist()), 1):
        yield entry(f"{name}, row {at}", columns, cells)


def _cells(column: Array) -> list[Any]:
    """Return the cells of a column; floats of few digits keep their type, which limits names."""
    is_wide = column.dtype.kind in "iu" or column.dtype == np.float64
    return column.tolist() if is_wide else list(column)


def _of_dict(source: Any, kind: Kind) -> Scores:
    """Return the dict with names as strings and values as numbers."""
    out: Scores = {}
    _check_keys(source, kind.what, "queries")
    for query, (key, documents) in zip(names_of(source, kind.what), source.items()):
        place = f"{kind.what}[{key!r}]"
        in_order = kind is RUN and _are_names(documents)
        if not (in_order or isinstance(documents, Mapping)):
            listed = ", or a list of documents in order" * (kind is RUN)
            raise ValueError(
                f"{place} must be a dict of values by document{listed}, got {documents!r}."
            )
        _check_keys(documents, place, "documents")
        names = names_of(documents, place)
        of_ranks = map(float, range(-1, -len(names) - 1, -1))
        values = dict(zip(names, of_ranks if in_order else _numbers(documents, place)))
        if len(values) < len(documents):
            collected(((query, name, 0.0) for name in names), kind.what)  # raises
        if query in out:
            raise ValueError(f"{kind.what}: query {query} appears twice.")
        out[query] = values
    return _not_empty(out, kind.what)


def _are_names(documents: Any) -> bool:
    is_list = isinstance(documents, (list, tuple))
    return is_list and all(isinstance(d, (str, bytes, int, np.integer)) for d in documents)


def _check_keys(keys: Iterable[Any], place: str, names: str) -> None:
    if set(map(type, keys)) <= {str, int}:
        return  # fast path of most dicts
    for key in keys:
        if is_missing(key):
            raise ValueError(f"The keys of {place} must name {names}, got {key!r}: drop this key.")


def _numbers(documents: Mapping[Any, Any], place: str) -> list[float]:
    """Return the values of a query as numbers; raise for the first that is not one."""
    try:
        values = np.fromiter(documents.values(), dtype=float, count=len(documents))
        if np.isfinite(values).all():
            return values.tolist()
    except (TypeError, ValueError):
        pass
    return [number(value, f"{place}[{document!r}]") for document, value in documents.items()]


def _of_tuples(source: Any, kind: Kind) -> Iterator[Row]:
    value = "score" if kind is RUN else "relevance"
    names = ("query_id", "doc_id", value)
    if not isinstance(source, Iterable):
        raise ValueError(
            f"A {kind.what} must be a path, a DataFrame, a dict of dicts or tuples with query_id, "
            f"doc_id and {value}, got {type(source).__name__}."
        )
    for at, row in enumerate(source):
        place = f"{kind.what}, entry {at}"
        if isinstance(row, Mapping):
            columns = kind.columns(row, place)
            yield entry(place, columns, [row[column] for column in columns])
        elif all(hasattr(row, name) for name in names):
            yield entry(place, names, [getattr(row, name) for name in names])
        elif type(row) in (tuple, list) and len(row) == len(names):
            yield entry(place, names, row)
        else:
            raise ValueError(f"{place} must have query_id, doc_id and {value}, got {row!r}.")


class JudgedRun:
    """The documents of a run and of its judgments, for each query in the order of the run.

    It has the `names` of the queries, the numbers of judged queries that are not in the run,
    `n_missing`, and of queries of the run without judgments, `n_unjudged`; and the numbers of
    documents that were retrieved, `n_retrieved`, and of judged ones among them, `n_judged`.
    """

    def __init__(self, qrels: Scores, run: Scores, *, complete: bool, ties: str) -> None:
        qrels = {name: documents for name, documents in qrels.items() if documents}
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
        # If no document of the run is judged: one of its documents, and a judged one of the query.
        pairs = ((next(iter(run[q])), next(iter(qrels[q]))) for q in self.names if run.get(q))
        self._example = None if self.n_judged else next(pairs, None)

    @property
    def judged_(self) -> float:
        """Share of judged documents among those that were retrieved; NaN if there are none."""
        return self.n_judged / self.n_retrieved if self.n_retrieved else np.nan

    def warn_of_other_names(self, run: str) -> None:
        """Warn if not one document that the run retrieved is judged."""
        if self._example is not None:
            retrieved, judged = self._example
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
