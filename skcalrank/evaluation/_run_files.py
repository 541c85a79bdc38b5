"""Runs and judgments as dicts of dicts, from files, frames and objects of other packages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import check, is_missing, tables
from ..data.types import ArrayLike
from ..datasets import Columns, open_bytes, table_format, to_float
from ._rank_frame import top_rows

#: Values by query and document.
Scores = dict[str, dict[str, float]]


class _Kind(NamedTuple):
    """Format of a kind of file: the line of a TREC file, and names of the columns of a table."""

    what: str
    line: str
    value_at: int  # number of the word with the value
    values: tuple[str, ...]  # names of the column with the value


_RUN = _Kind("run", "query Q0 document rank score tag", 4, ("score", "sim"))
_QRELS = _Kind(
    "qrels", "query 0 document relevance", 3, ("relevance", "rel", "label", "score", "grade")
)
_QUERIES = ("qid", "query_id", "q_id", "query", "topic")
_DOCUMENTS = ("docid", "doc_id", "docno", "document", "pid", "id")


def load_run(source: Any) -> Scores:
    r"""Read a run: the scores of the documents that a system retrieved.

    Parameters
    ----------
    source : str, Path, DataFrame, dict or iterable
        One of

        * a TREC file with lines ``query Q0 document rank score tag``, plain, ``.gz``, ``.bz2`` or
          ``.xz``; the rank is ignored;
        * a table ``.csv``, ``.tsv`` or ``.parquet``, or a DataFrame, with columns of queries
          (``qid``, ``query_id``, ``q_id``), documents (``docid``, ``doc_id``, ``docno``) and
          ``score``, as in ranx, ir_measures and PyTerrier (in text, NA and null are names);
        * a dict of dicts, or an object with ``to_dict``, such as ``ranx.Run``;
        * tuples with ``query_id``, ``doc_id`` and ``score``, such as ``ir_measures.ScoredDoc``.

    Returns
    -------
    run : dict of dict
        Scores by query and document, with strings as keys: the form that ``ranx.Run``,
        ``ir_measures`` and ``pytrec_eval`` take.

    Raises
    ------
    ValueError
        If a line, name or value cannot be read, or a document appears twice in a query. The error
        names the place.

    See Also
    --------
    load_qrels : Read judgments.
    evaluate_run : Evaluate a run against judgments.
    to_run : Make a run from arrays.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.evaluation import load_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     _ = file.write_text("7 Q0 a 1 0.5 bm25\n7 Q0 b 2 0.25 bm25\n")
    ...     load_run(file)
    {'7': {'a': 0.5, 'b': 0.25}}
    """
    return _load(source, _RUN)


def load_qrels(source: Any) -> Scores:
    """Read judgments: the relevances of documents.

    Parameters
    ----------
    source : str, Path, DataFrame, dict or iterable
        As in :func:`load_run`. Lines of a TREC file are ``query 0 document relevance``, and the
        column of values is ``relevance``, ``rel``, ``label``, ``score`` or ``grade``.

    Returns
    -------
    qrels : dict of dict
        Relevances by query and document, with strings as keys; whole numbers are ``int``.

    Raises
    ------
    ValueError
        As in :func:`load_run`.

    See Also
    --------
    load_run : Read a run.
    evaluate_run : Evaluate a run against judgments.
    to_qrels : Make judgments from arrays.

    Examples
    --------
    >>> from skcalrank.evaluation import load_qrels
    >>> load_qrels({7: {"a": 1.0, "b": 0}})
    {'7': {'a': 1, 'b': 0}}
    """
    return {
        query: {d: int(v) if v.is_integer() else v for d, v in documents.items()}
        for query, documents in _load(source, _QRELS).items()
    }


def to_run(
    y_score: ArrayLike, qid: ArrayLike, ids: ArrayLike | None = None, *, k: int | None = None
) -> Scores:
    """Make a run from arrays, for the measures of other packages.

    Parameters
    ----------
    y_score : array-like of shape (n_rows,)
        Scores, higher is better.
    qid : array-like of shape (n_rows,)
        Query of each row.
    ids : array-like of shape (n_rows,), default=None
        Name of each document. If None, the row number, from 0.
    k : int, default=None
        Number of documents to keep in each query. If None, all.

    Returns
    -------
    run : dict of dict
        Scores by query and document, with strings as keys, best document first; equal scores are in
        row order.

    Raises
    ------
    ValueError
        If lengths differ, or a name or value is missing.

    See Also
    --------
    to_qrels : Make judgments from arrays.
    rank_frame : The rankings of a model as a DataFrame.

    Examples
    --------
    >>> from skcalrank.evaluation import to_run
    >>> to_run([0.5, 0.75, 0.25], ["a", "a", "b"], ["d1", "d2", "d1"])
    {'a': {'d2': 0.75, 'd1': 0.5}, 'b': {'d1': 0.25}}
    """
    scores = check.scores(y_score, np.shape(y_score))
    queries = check.queries(qid, len(scores))
    rows, _ = top_rows(scores, queries, k)
    return _by_query(np.asarray(y_score, dtype=float), queries, ids, rows)


def to_qrels(
    y_true: ArrayLike, qid: ArrayLike | None = None, ids: ArrayLike | None = None
) -> Scores:
    """Make judgments from arrays, for the measures of other packages.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Relevances; may carry the queries.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. If None, the queries that `y_true` carries.
    ids : array-like of shape (n_rows,), default=None
        Name of each document. If None, the row number, from 0.

    Returns
    -------
    qrels : dict of dict
        Relevances by query and document, with strings as keys; whole numbers are ``int``.

    Raises
    ------
    ValueError
        If there are no queries, lengths differ, or a name or value is missing.

    See Also
    --------
    to_run : Make a run from arrays.

    Examples
    --------
    >>> from skcalrank.evaluation import to_qrels
    >>> to_qrels([0, 2, 1], ["a", "a", "b"])
    {'a': {'0': 0, '1': 2}, 'b': {'2': 1}}
    """
    y, queries = check.target(y_true, qid, name="y_true")
    if queries.names is None:
        raise ValueError("to_qrels needs the queries of the rows: pass qid, or a RankingTarget.")
    return load_qrels(_by_query(queries.ungroup(y), queries, ids, np.arange(len(y))))


def _by_query(values, queries, ids, rows) -> Scores:
    ids = np.arange(len(values)) if ids is None else np.asarray(ids)
    if ids.shape != values.shape:
        raise ValueError(f"ids must have one name per row, got shape {ids.shape}.")
    names, codes = np.asarray(queries.names).tolist(), queries.codes
    triples = (
        (names[codes[row]], str(_name(ids[row], f"ids[{row}]")), values[row].item()) for row in rows
    )
    return _collect(triples, "qid and ids")


# -- sources -----------------------------------------------------------------------


def _load(source, kind) -> Scores:
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        rows = _lines(path, kind) if table_format(path) is None else _of_table(path, kind)
        return _collect(rows, f"cannot read {path}")
    if tables.is_frame(source):
        return _collect(_of_frame(source, kind, kind.what), kind.what)
    if hasattr(source, "to_dict"):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return _of_dict(source, kind)
    return _collect(_of_tuples(source, kind), kind.what)


def _collect(rows: Iterable[tuple[Any, str, float]], name: str) -> Scores:
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


def _lines(path, kind) -> Iterator[tuple[str, str, float]]:
    n_words, value_at = len(kind.line.split()), kind.value_at
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                words = line.decode().split()
                if not words:
                    continue
                if len(words) != n_words:
                    raise ValueError(f"it must have {n_words} words, got {len(words)}")
                value = to_float(words[value_at])
                if not np.isfinite(value):
                    raise ValueError(f"{words[value_at]} is not finite")
            except ValueError as error:
                raise ValueError(
                    f"cannot read {path}: line {number}: {error} (lines must be '{kind.line}')"
                ) from error
            yield words[0], words[2], value


def _of_table(path, kind):
    """Return the rows of a table, whose names are read as text.

    If the columns of names are not the default ones, the table is read a second time.
    """
    read, columns = table_format(path).frames, Columns(verbatim=True)
    (frame,) = read(path, columns, None)
    query, document, _ = _columns_of(frame, kind, str(path))
    if (query, document) != (columns.qid, columns.document):
        (frame,) = read(path, columns._replace(qid=query, document=document), None)
    return _of_frame(frame, kind, str(path))


def _columns_of(frame, kind, name) -> list[str]:
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


def _of_frame(frame, kind, name) -> Iterator[tuple[Any, str, float]]:
    columns = _columns_of(frame, kind, name)
    rows = zip(*(np.asarray(frame[column]).tolist() for column in columns))
    for number, (query, document, value) in enumerate(rows, 1):
        places = [f"{name}, row {number}, column {column!r}" for column in columns]
        yield _entry(query, document, value, *places)


def _of_dict(source, kind) -> Scores:
    """Return the dict with names as strings and values as numbers."""
    out: Scores = {}
    _check_keys(source, kind.what, "queries")
    for query, documents in source.items():
        place = f"{kind.what}[{query!r}]"
        if not isinstance(documents, Mapping):
            raise ValueError(f"{place} must be a dict of values by document, got {documents!r}.")
        _check_keys(documents, place, "documents")
        values = dict(zip(map(str, documents), _numbers(documents, place)))
        if len(values) < len(documents) or str(query) in out:
            # Collects entry by entry, and raises for the repeated one.
            triples = ((str(q), str(d), 0.0) for q, ds in source.items() for d in ds)
            _collect(triples, kind.what)
            raise ValueError(f"{kind.what}: query {query} appears twice.")
        out[str(query)] = values
    if not any(out.values()):
        raise ValueError(f"{kind.what} must hold a document at least, got none.")
    return out


def _check_keys(keys, place, names):
    if set(map(type, keys)) <= {str, int}:
        return  # fast path of most dicts
    for key in keys:
        if is_missing(key):
            raise ValueError(f"The keys of {place} must name {names}, got {key!r}: drop this key.")


def _numbers(documents, place) -> list[float]:
    """Return the values of a query as numbers; raise for the first that is not one."""
    try:
        values = np.fromiter(documents.values(), dtype=float, count=len(documents))
        if np.isfinite(values).all():
            return values.tolist()
    except (TypeError, ValueError):
        pass
    return [_value(value, f"{place}[{document!r}]") for document, value in documents.items()]


def _of_tuples(source, kind) -> Iterator[tuple[Any, str, float]]:
    value = "score" if kind is _RUN else "relevance"
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


def _entry(query, document, value, in_query, in_document, in_value):
    """Return checked names and a value; the other arguments are places for messages."""
    return _name(query, in_query), str(_name(document, in_document)), _value(value, in_value)


def _name(value, place) -> Any:
    if is_missing(value):
        raise ValueError(f"{place} has no value: every row must name a query and a document.")
    return value


def _value(value, place) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place} must be a number, got {value!r}.") from error
    if not np.isfinite(number):
        raise ValueError(f"{place} must be finite, got {value!r}.")
    return number
