"""Sources of runs and judgments: files, frames, dicts and objects of other packages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import in_memory, is_missing, tables
from ..data.types import Array
from ..datasets import Columns, byte_lines, table_format, to_float
from ._names import name_of, names_of

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


class Kind(NamedTuple):
    """Format of a kind of file: the line of a TREC file, and names of the columns of a table."""

    what: str
    line: str
    value_at: int  # number of the word with the value
    values: tuple[str, ...]  # names of the column with the value


RUN = Kind("run", "query Q0 document rank score tag", 4, ("score", "sim"))
_JUDGED = "relevance rel label score grade rating"
QRELS = Kind("qrels", "query 0 document relevance", 3, tuple(_JUDGED.split()))
_QUERIES = ("qid", "query_id", "q_id", "query", "topic", "user_id")
_DOCUMENTS = ("docid", "doc_id", "docno", "document", "pid", "id", "item_id")


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
        path = Path(source)
        table = table_format(path)
        rows = _lines(path, kind) if table is None else _of_table(path, table.frames, kind)
        return collected(rows, f"cannot read {path}")
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


def collected(rows: Iterable[tuple[Any, str, float]], name: str) -> Scores:
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
    if not any(out.values()):
        raise ValueError(f"{name} must hold a document at least, got none.")
    return out


def _lines(path: Path, kind: Kind) -> Iterator[tuple[str, str, float]]:
    n_words, value_at = len(kind.line.split()), kind.value_at
    for number, line in byte_lines(path):
        # Bytes are split at blanks of ASCII alone, as in trec_eval: names may hold others.
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        try:
            if len(words) != n_words:
                _check_more_words(words, kind)
            query, document, text = (words[at].decode() for at in (0, 2, value_at))
            value = to_float(text)
            if not np.isfinite(value):
                raise ValueError(f"{text} is not finite")
        except ValueError as error:
            raise ValueError(
                f"cannot read {path}: line {number}: {error} (lines must be '{kind.line}')"
            ) from error
        yield query, document, value


def _check_more_words(words: list[bytes], kind: Kind) -> None:
    """Raise unless words follow the tag of a run, which trec_eval ignores.

    Where the rank is no number, a name has a blank, which would move all words behind it.
    """
    n_words = len(kind.line.split())
    if kind is not RUN or len(words) < n_words:
        raise ValueError(f"it must have {n_words} words, got {len(words)}")
    rank = words[RUN.value_at - 1].decode()
    try:
        to_float(rank)
    except ValueError:
        raise ValueError(
            f"its rank must be a number, as it has more than {n_words} words, got {rank!r}: a name "
            "must be one word"
        ) from None


def _of_table(path: Path, read: Any, kind: Kind) -> Iterator[Any]:
    """Return the rows of a table, whose names are read as text.

    If the columns of names are not the default ones, the table is read a second time.
    """
    columns = Columns(verbatim=True)
    (frame,) = read(path, columns, None, None)
    query, document, _ = _columns_of(frame, kind, str(path))
    if (query, document) != (columns.qid, columns.document):
        (frame,) = read(path, columns._replace(qid=query, document=document), None, None)
    return _of_frame(frame, kind, str(path))


def _columns_of(frame: Any, kind: Kind, name: str) -> list[str]:
    columns = []
    for role, names in (("query", _QUERIES), ("document", _DOCUMENTS), ("value", kind.values)):
        column = next((choice for choice in names if choice in frame.columns), None)
        if column is None:
            raise ValueError(
                f"{name} must have a column of the {role} ({', '.join(names)}), got columns "
                f"{', '.join(map(str, list(frame.columns)[:20]))}."
            )
        columns.append(column)
    return columns


def _of_frame(frame: Any, kind: Kind, name: str) -> Iterator[tuple[Any, str, float]]:
    columns = _columns_of(frame, kind, name)
    *names, values = (np.asarray(frame[column]) for column in columns)
    rows = zip(*map(_cells, names), values.tolist())
    for number, (query, document, value) in enumerate(rows, 1):
        places = [f"{name}, row {number}, column {column!r}" for column in columns]
        yield _entry(query, document, value, *places)


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
        if not isinstance(documents, Mapping):
            raise ValueError(f"{place} must be a dict of values by document, got {documents!r}.")
        _check_keys(documents, place, "documents")
        names = names_of(documents, place)
        values = dict(zip(names, _numbers(documents, place)))
        if len(values) < len(documents):
            collected(((query, name, 0.0) for name in names), kind.what)  # raises
        if query in out:
            raise ValueError(f"{kind.what}: query {query} appears twice.")
        out[query] = values
    if not any(out.values()):
        raise ValueError(f"{kind.what} must hold a document at least, got none.")
    return out


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
    return [_value(value, f"{place}[{document!r}]") for document, value in documents.items()]


def _of_tuples(source: Any, kind: Kind) -> Iterator[tuple[Any, str, float]]:
    value = "score" if kind is RUN else "relevance"
    if not isinstance(source, Iterable):
        raise ValueError(
            f"A {kind.what} must be a path, a DataFrame, a dict of dicts or tuples with query_id, "
            f"doc_id and {value}, got {type(source).__name__}."
        )
    for number, row in enumerate(source):
        place = f"{kind.what}, entry {number}"
        if not all(hasattr(row, name) for name in ("query_id", "doc_id", value)):
            raise ValueError(f"{place} must have query_id, doc_id and {value}, got {row!r}.")
        places = f"{place}, query_id", f"{place}, doc_id", place
        yield _entry(row.query_id, row.doc_id, getattr(row, value), *places)


def _entry(
    query: Any, document: Any, value: float, in_query: str, in_document: str, in_value: str
) -> tuple[Any, str, float]:
    """Return checked names and a value; the other arguments are places for messages."""
    query, document = name_of(query, in_query), name_of(document, in_document)
    return query, str(document), _value(value, in_value)


def _value(value: Any, place: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place} must be a number, got {value!r}.") from error
    if not np.isfinite(number):
        raise ValueError(f"{place} must be finite, got {value!r}.")
    return number
