"""Tables of ranking data, CSV or Parquet, read in chunks of whole queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._chunks import refuse_cut_queries, whole_queries


class Columns(NamedTuple):
    """Names of the columns of a table."""

    qid: str = "qid"
    label: str = "label"
    document: str = "docid"  # may be missing
    features: list[str] | None = None  # None = all other columns that hold numbers
    labelled: bool = True  # whether the label is read, and must be there


class TablePart(NamedTuple):
    """Rows of a table: features as numbers, labels (or None), queries and documents (or None, as
    is a document without a name)."""

    X: np.ndarray
    y: Any
    qid: np.ndarray
    documents: Any


def read_table(path, columns: Columns, *, chunk_rows=None, dtype=np.float64):
    """Return the names of the features, and an iterator over ``TablePart``.

    A part has about `chunk_rows` rows, up to where a query ends; None = all rows at once.
    """
    kind = table_format(path)
    if kind is None:
        raise ValueError(f"The suffix of {path} must be one of {', '.join(TABLES)}.")
    frames = kind.frames(path, columns, chunk_rows)
    first = next(frames, None)
    if first is None or not len(first):
        raise ValueError(f"{path} has no rows.")
    names = _feature_names(path, first, columns)
    parts = _parts(path, first, frames, names, columns, dtype)
    return names, parts if chunk_rows is None else _whole_queries(path, parts, chunk_rows)


def table_format(path) -> TableFormat | None:
    """Return the format that the suffix of a file tells, None if it is not a table."""
    return next((TABLES[s] for s in reversed(Path(path).suffixes) if s in TABLES), None)


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


def _parquet_frames(path, _, chunk_rows):
    _needs("pandas")
    with _needs("pyarrow.parquet").ParquetFile(path) as file:
        if chunk_rows is None:
            yield file.read().to_pandas().rename(columns=str)
            return
        for batch in file.iter_batches(batch_size=chunk_rows):
            yield batch.to_pandas().rename(columns=str)


class TableFormat(NamedTuple):
    """A format of tables, by a function that reads DataFrames.

    The function takes the path, the columns, and the largest number of rows of a DataFrame; None =
    one of all rows. A table is larger than its file where the format is `packed`.
    """

    frames: Callable[[Any, Columns, Any], Iterator[Any]]
    packed: bool = False


#: Formats of tables by suffix; a new one is an entry here.
TABLES = {
    ".csv": TableFormat(_csv_frames),
    ".tsv": TableFormat(partial(_csv_frames, separator="\t")),
    ".parquet": TableFormat(_parquet_frames, packed=True),
    ".pq": TableFormat(_parquet_frames, packed=True),
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
    for frame in chain([first], frames):
        where = f"{path}, rows {n_rows + 1} to {n_rows + len(frame)}"
        try:
            yield _part(frame, names, columns, dtype)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: {error}") from error
        n_rows += len(frame)


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


def _whole_queries(path, parts, chunk_rows) -> Iterator[TablePart]:
    seen: set = set()
    for part in whole_queries(parts, chunk_rows):
        refuse_cut_queries(part.qid, seen, f"{path}, after its first chunk")
        yield part
