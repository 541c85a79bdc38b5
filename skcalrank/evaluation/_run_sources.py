"""Sources of runs and judgments: files, frames, dicts and objects of other packages."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..columns import is_missing, tables
from ..columns.types import Array
from ..data import in_memory
from ..datasets import Columns, table_format
from ._names import names_of
from ._run_kinds import QRELS, RUN, Kind, Row, entry, number
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
    if tables.is_frame(source):
        return collected(_of_frame(source, kind, kind.what), kind.what)
    if hasattr(source, "to_dict"):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return _of_dict(source, kind)
    return collected(_of_tuples(source, kind), kind.what)


def could_be_either(source: Any) -> bool:
    """Return whether the form of a source leaves open whether it is a run or judgments."""
    if hasattr(source, "columns"):
        return next((c for c in QRELS.values if c in source.columns), None) in RUN.values
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
    columns = kind.columns(frame.columns, name)
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
