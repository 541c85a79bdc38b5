"""Ranking data from a table, with the columns as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, overload

import numpy as np

from ..data import check, tables, warn
from . import _table_files as files
from ._container import RankingData


@overload
def load_table(
    source: Any,
    *,
    qid: str = ...,
    label: str | None = ...,
    document: str = ...,
    features: Iterable[str] | None = ...,
    chunk_rows: None = ...,
) -> RankingData: ...
@overload
def load_table(
    source: Any,
    *,
    qid: str = ...,
    label: str | None = ...,
    document: str = ...,
    features: Iterable[str] | None = ...,
    chunk_rows: int,
) -> Iterator[RankingData]: ...
def load_table(
    source: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document: str = "docid",
    features: Iterable[str] | None = None,
    chunk_rows: int | None = None,
) -> RankingData | Iterator[RankingData]:
    """Read a table with a row for each document: CSV, TSV, Parquet or a DataFrame.

    Parameters
    ----------
    source : str, Path or DataFrame
        A file ``.csv`` or ``.tsv`` (also compressed, as ``.csv.gz``), ``.parquet`` or ``.pq``; or a
        DataFrame of pandas or polars. A level of a pandas index counts as a column if it is asked
        for by name.
    qid : str, default="qid"
        Column of the query.
    label : str, default="label"
        Column of the relevance; None reads a table without one.
    document : str, default="docid"
        Column of the names of documents, not a feature; it may be missing.
    features : list of str, default=None
        Columns of features; text among them is read as pandas categories. None = all other
        columns that hold numbers or categories; others are left out with a warning.
    chunk_rows : int, default=None
        Read a file in chunks of about so many rows, each up to where a query ends; all rows of a
        query must then be adjacent, and features must be numbers. None reads all rows.

    Returns
    -------
    data : RankingData, or iterator of RankingData
        Unpacks to ``X, y, qid``; X is a pandas DataFrame, and y is None without a label. With
        `chunk_rows`, an iterator over chunks.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If columns are missing or have one name, rows differ in length, a row has no query or
        label, or a label is not a finite number.

    See Also
    --------
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
    >>> X, y, qid = load_table(frame, qid="session", label="bought", features=["price", "brand"])
    >>> X.dtypes.astype(str).tolist()
    ['float64', 'category']
    >>> y, qid.tolist()
    (array([0., 1., 0.]), ['a', 'a', 'b'])
    """
    if isinstance(features, str):
        raise ValueError(f"features must be a list of columns, got {features!r}: [{features!r}].")
    names = None if features is None else list(features)
    columns = files.Columns(qid, "" if label is None else label, document, names, label is not None)
    if chunk_rows is None:
        return _whole(source, columns)
    check.count("chunk_rows", chunk_rows, "or None to read the whole table")
    if tables.is_frame(source):
        raise ValueError("chunk_rows is for files: a DataFrame is in memory, leave it out.")
    from pandas import DataFrame

    names, parts = files.read_table(source, columns, chunk_rows=chunk_rows)
    about = {"description": f"Read from {Path(source).name}.", "feature_names": names}
    return (RankingData(DataFrame(X, columns=names), y, qid, **about) for X, y, qid, _ in parts)


def _whole(source, columns) -> RankingData:
    name, frame = files.checked_frames(source, columns)
    names = files.feature_names(name, frame, columns, categories=True)
    X = frame[names].reset_index(drop=True)
    for column in X.select_dtypes(["object", "string"]).columns:
        X[column] = X[column].astype("category")
    y, qid = files.labels_and_queries(frame, columns, files.Place(name, 0))
    return RankingData(X, y, qid, description=f"Read from {name}.", feature_names=names)


def read_frame(path, columns: files.Columns, categories, *, dtype=np.float64) -> Any:
    """Read all rows of a table; X is a DataFrame in which text is categories.

    Text is in the columns named `categories`; None finds the features that hold text, except
    columns in which more than half of the values are distinct.
    """
    _, frame = files.checked_frames(path, columns)
    distinct: list[str] = []
    if categories is None:
        categories, distinct = _texts(path, frame, columns)
    rest, of_numbers = frame.drop(columns=[*categories, *distinct], errors="ignore"), columns
    if columns.features is not None:
        numbers = [name for name in columns.features if name not in categories]
        of_numbers = columns._replace(features=numbers)
    numeric = files.feature_names(path, rest, of_numbers, taken="numbers or text")
    if distinct:
        warn(
            f"Columns of text of {path} in which more than half of the values are distinct are "
            f"left out: {', '.join(distinct)}."
        )
    rows = files.rows_of(frame, numeric, columns, dtype, files.Place(path, 0))
    files.feature_names(path, frame, columns._replace(features=[*numeric, *categories]))
    X = files.needs("pandas").DataFrame(rows.X, columns=numeric)
    for name in categories:
        X[name] = frame[name].to_numpy()
        X[name] = X[name].astype("category")
    order = columns.features or [name for name in frame.columns if name in X.columns]
    return rows._replace(X=X[order])


def _texts(path, frame, columns) -> tuple[list[str], list[str]]:
    """Return columns of text or categories of text; those of mostly distinct values apart."""
    infer = files.needs("pandas").api.types.infer_dtype
    shared: list[str] = []
    distinct: list[str] = []
    for name in columns.features or frame.columns:
        if name in (columns.qid, columns.label, columns.document) or name not in frame.columns:
            continue
        values = frame[name].dropna()
        values = values.astype(object) if str(values.dtype) == "category" else values
        if infer(values, skipna=True) == "string":
            files.refuse_commas(path, name, values)
            (shared if 2 * values.nunique() <= len(values) else distinct).append(name)
    return shared, [] if columns.features else distinct
