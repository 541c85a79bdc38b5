"""Ranking data from a table, with the columns as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict, overload

import numpy as np

from ..columns import tables
from ..columns.types import Unpack
from ..data import check
from ._container import RankingData
from ._csv_files import Columns
from ._table_files import read_table


class _Options(TypedDict, total=False):
    """What the overloads of the function below have in common, for type checkers."""

    qid: str
    label: str | None
    document: str
    features: Iterable[str] | None
    columns: Iterable[str] | None
    kinds: str
    sep: str | None
    encoding: str | None


@overload
def load_table(
    source: Any, *, chunk_rows: None = ..., **options: Unpack[_Options]
) -> RankingData: ...
@overload
def load_table(
    source: Any, *, chunk_rows: int, **options: Unpack[_Options]
) -> Iterator[RankingData]: ...
def load_table(
    source: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document: str = "docid",
    features: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    kinds: str = "any",
    sep: str | None = None,
    encoding: str | None = None,
    chunk_rows: int | None = None,
) -> RankingData | Iterator[RankingData]:
    """Read a table with a row for each document: CSV, TSV, Parquet or a DataFrame.

    A table may be in several files (shards), which are read as one, in natural order: part-2 before
    part-10. A query that is cut where a file ends goes on in the next one.

    Parameters
    ----------
    source : str, Path, list of these, or DataFrame
        A file ``.csv`` or ``.tsv`` (also compressed, as ``.csv.gz``), ``.parquet`` or ``.pq``; a
        folder of such files, also in folders of it; a pattern, such as ``"data/part-*.parquet"``;
        or a list of these, which keeps its order. All files, CSV too, need pandas and pyarrow
        (``pip install "skcalrank[files]"``). With fsspec installed also by URL, as
        ``"s3://bucket/folder"``. Or a DataFrame of pandas or polars. A level of a pandas index
        counts as a column if it is asked for by name.

        The names of folders ``name=value`` (hive partitions) are a column: of integers if all
        values are, else of categories. Names that begin with ``_`` or ``.`` are not read.
    qid : str, default="qid"
        Column of the query.
    label : str, default="label"
        Column of the relevance; None reads a table without one.
    document : str, default="docid"
        Column of the names of documents, not a feature; it may be missing.
    features : list of str, default=None
        Columns of features, of numbers, text, categories or dates; None = all other columns.
    columns : list of str, default=None
        Columns to read, in place of `features`: features are all of them but those of the query,
        the label and the names of documents. All others stay in the file.
    kinds : {"any", "numbers"}, default="any"
        Whether features are columns as they are, or columns of numbers as floats, and others are
        left out with a warning. In chunks of CSV, columns of any kind take a reading of the whole
        file before, which tells their types.
    sep : str, default=None
        What separates the fields of a CSV file, such as ";". None is what the suffix says, unless
        the header lacks it and has one other of comma, semicolon, tab and ``|``.
    encoding : str, default=None
        Encoding of a CSV file, such as "cp1252". None is UTF-8, or UTF-16 if the file begins with
        its mark.
    chunk_rows : int, default=None
        Read files in chunks of about so many rows, each up to where a query ends; all rows of a
        query must then be adjacent. None reads all rows.

    Returns
    -------
    data : RankingData, or iterator of RankingData
        Unpacks to ``X, y, qid``; X is a pandas DataFrame with the columns as they are, and y is
        None without a label. ``data.ids`` are the names of the documents, as they are, if all rows
        have one; else None. With `chunk_rows`, an iterator over chunks.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If columns are missing or have one name, rows differ in length, a row has no query or
        label, or a label is not a finite number; if files have other columns than others, or other
        types that no type can hold; or if rows of a query are in two chunks.

    See Also
    --------
    skcalrank.TabularRanker : Ranker that reads such columns.
    load_letor : Lines ``relevance qid:Q feature:value``.
    skcalrank.evaluation.load_run : Runs and judgments in tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from skcalrank.datasets import load_table
    >>> frame = pd.DataFrame(
    ...     {"session": ["a", "a", "b"], "price": [9.5, 3.0, 7.0], "brand": ["x", "y", "x"],
    ...      "bought": [0, 1, 0]}
    ... )
    >>> X, y, qid = load_table(frame, qid="session", label="bought")
    >>> list(X.columns)
    ['price', 'brand']
    >>> y, qid.tolist()
    (array([0., 1., 0.]), ['a', 'a', 'b'])
    """
    for name, given in {"features": features, "columns": columns}.items():
        if isinstance(given, str):
            raise ValueError(f"{name} must be a list of columns, got {given!r}: [{given!r}].")
    names = None if features is None else list(features)
    if columns is not None:
        if names is not None:
            raise ValueError(f"columns must be None beside features, got {columns!r}: give one.")
        names = [name for name in columns if name not in (qid, label, document)]
    whole = chunk_rows is None
    if not whole:
        check.count("chunk_rows", chunk_rows, "or None to read the whole table")
        if tables.is_frame(source):
            raise ValueError("chunk_rows is for files: a DataFrame is in memory, leave it out.")
    check.option("kinds", kinds, ("any", "numbers"))
    codes, labelled = whole or kinds == "any", label is not None
    chosen = Columns(
        qid, label or "", document, names, labelled, codes=codes, sep=sep, encoding=encoding
    )
    chosen = chosen if columns is None else chosen._replace(chosen_by="columns")
    dtype = None if kinds == "any" else np.float64
    names, chunks = read_table(source, chosen, chunk_rows=chunk_rows, dtype=dtype)
    name = "a data frame" if tables.is_frame(source) else _name_of(source)
    about: dict[str, Any] = {"description": f"Read from {name}.", "feature_names": names}
    data = (
        RankingData(X, y, qid, ids=None if None in ids.tolist() else ids, **about)
        for X, y, qid, ids in chunks
    )
    return next(data) if whole else data


def _name_of(source: Any) -> str:
    """Return the name of a file, or of the first of several."""
    several = isinstance(source, (list, tuple))
    return f"{_name_of(source[0])} and others" if several else Path(source).name
