"""Tables of ranking data, CSV or Parquet, read in chunks of whole queries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._letor_lines import refuse_cut_queries

__all__ = ["TABLES", "Columns", "TablePart", "read_table"]


class Columns(NamedTuple):
    """Which columns mean what.

    Attributes
    ----------
    qid, label, document : str
        Names of columns. The document may be missing.
    features : list of str or None
        None = all other columns that hold numbers.
    labelled : bool
        Whether the label is read, and must be there.
    """

    qid: str = "qid"
    label: str = "label"
    document: str = "docid"
    features: list[str] | None = None
    labelled: bool = True


class TablePart(NamedTuple):
    """Rows of a table: features as numbers, labels (or None), queries and documents (or None, as
    is a document without a name)."""

    X: np.ndarray
    y: Any
    qid: np.ndarray
    documents: Any

    def rows(self, which: slice) -> TablePart:
        """Some of the rows."""
        columns: list[Any] = [None if column is None else column[which] for column in self]
        return TablePart(*columns)

    def and_then(self, other: TablePart) -> TablePart:
        """The rows of both."""
        pairs = zip(self, other)
        columns: list[Any] = [None if a is None else np.concatenate([a, b]) for a, b in pairs]
        return TablePart(*columns)


def read_table(path, columns: Columns, *, chunk_rows=None, dtype=np.float64):
    """Names of the features, and an iterator over the rows.

    Parameters
    ----------
    path : Path
        A suffix of ``TABLES``; text may be compressed as ``.gz`` or ``.xz``.
    columns : Columns
    chunk_rows : int, default=None
        About so many rows at a time, up to where a query ends; None = all at once.
    dtype : dtype, default=float64
        Of the features.

    Returns
    -------
    names : list of str
    parts : iterator of TablePart

    Raises
    ------
    ImportError
        If pandas or pyarrow is missing.
    ValueError
        If there are no rows, columns are missing, or a feature is no number; with `chunk_rows`
        also if a query of an earlier chunk comes again.
    """
    frames = TABLES[_kind(path)](path, columns, chunk_rows)
    first = next(frames, None)
    if first is None or not len(first):
        raise ValueError(f"{path} has no rows.")
    names = _feature_names(path, first, columns)
    parts = _parts(path, first, frames, names, columns, dtype)
    return names, parts if chunk_rows is None else _whole_queries(path, parts)


def _kind(path) -> str:
    return next((suffix for suffix in reversed(Path(path).suffixes) if suffix in TABLES), "")


# -- frames ------------------------------------------------------------------------


def _needs(package) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"Reading tables needs {package.partition('.')[0]}: pip install 'skcalrank[files]'."
        ) from error


def _csv_frames(path, columns, chunk_rows, separator=","):
    # Names are text: what one chunk takes for numbers another might not.
    text = {columns.qid: str, columns.document: str}
    read_csv = _needs("pandas").read_csv
    options = {"sep": separator, "dtype": text}
    if chunk_rows is None:
        yield read_csv(path, **options)
        return
    with read_csv(path, chunksize=chunk_rows, **options) as frames:
        yield from frames


def _tsv_frames(path, columns, chunk_rows):
    return _csv_frames(path, columns, chunk_rows, "\t")


def _parquet_frames(path, columns, chunk_rows):
    _needs("pandas")
    with _needs("pyarrow.parquet").ParquetFile(path) as file:
        if chunk_rows is None:
            yield file.read().to_pandas().rename(columns=str)
            return
        for batch in file.iter_batches(batch_size=chunk_rows):
            yield batch.to_pandas().rename(columns=str)


#: How to read a table, by its suffix.
TABLES = {
    ".csv": _csv_frames,
    ".tsv": _tsv_frames,
    ".parquet": _parquet_frames,
    ".pq": _parquet_frames,
}


# -- columns -----------------------------------------------------------------------


def _feature_names(path, frame, columns: Columns) -> list[str]:
    needed = [columns.qid, *([columns.label] * columns.labelled), *(columns.features or [])]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing[:5]))}: its columns are "
            f"{', '.join(map(str, frame.columns[:20]))}."
        )
    if columns.features is not None:
        return columns.features
    others = frame.drop(columns=[columns.qid, columns.label, columns.document], errors="ignore")
    numeric = others.select_dtypes(["number", "bool"]).columns
    nameless = [name for name in numeric if str(name).startswith("Unnamed: ")]
    if nameless:
        raise ValueError(
            f"A column of {path} has no name (pandas calls it {nameless[0]!r}). If it is the index "
            "of a DataFrame, write the file with index=False; if it is a feature, name it."
        )
    left_out = [str(name) for name in others.columns if name not in numeric]
    if not len(numeric):
        raise ValueError(f"{path} has no column of numbers to be a feature.")
    if left_out:
        warnings.warn(
            f"Columns of {path} that do not hold numbers are left out: {', '.join(left_out)}.",
            stacklevel=3,
        )
    return list(numeric)


def _parts(path, first, frames, names, columns, dtype) -> Iterator[TablePart]:
    n_rows = 0
    frame = first
    while frame is not None:
        where = f"{path}, rows {n_rows + 1} to {n_rows + len(frame)}"
        try:
            yield _part(frame, names, columns, dtype)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: {error}") from error
        n_rows += len(frame)
        frame = next(frames, None)


def _part(frame, names, columns, dtype) -> TablePart:
    if frame[columns.qid].isna().any():
        raise ValueError(
            f"a row has no value in column {columns.qid!r}: it has no query (in text NA, null and "
            "the like stand for no value)"
        )
    documents = frame.get(columns.document)
    if documents is not None:
        documents = np.where(documents.isna(), None, documents.astype(object))
    return TablePart(
        _numbers(frame, names, dtype),
        _numbers(frame, columns.label, np.float64) if columns.labelled else None,
        frame[columns.qid].to_numpy(),
        documents,
    )


def _numbers(frame, names, dtype):
    """One or several columns as numbers, or an error that says which of them has others."""
    try:
        return frame[names].to_numpy(dtype)
    except (ValueError, TypeError):
        for name in [names] if isinstance(names, str) else names:
            try:
                frame[name].to_numpy(dtype)
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {name!r}: {error}") from error
        raise


def _whole_queries(path, parts) -> Iterator[TablePart]:
    """Give the last query of a part to the next one, which may go on with it."""
    seen: set = set()
    where = f"{path}, after its first chunk"
    held: TablePart | None = None
    for part in parts:
        if held is not None:
            changes = np.flatnonzero(held.qid[1:] != held.qid[:-1])
            last = int(changes[-1]) + 1 if len(changes) else 0
            if last:
                refuse_cut_queries(held.qid[:last], seen, where)
                yield held.rows(slice(0, last))
            part = held.rows(slice(last, None)).and_then(part)
        held = part
    if held is not None:
        refuse_cut_queries(held.qid, seen, where)
        yield held
