"""Columns of categories and text in data frames, as numbers that both libraries take."""

from __future__ import annotations

import sys
from numbers import Real
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

# Types of columns of polars that hold categories.
_OF_POLARS = ("Categorical", "Enum", "String", "Utf8")


def _library(X):
    """Return "pandas" or "polars" of a data frame, else None."""
    for name in ("pandas", "polars"):
        module = sys.modules.get(name)
        if module is not None and isinstance(X, module.DataFrame):
            return name
    return None


def category_columns(X: Any) -> list[int]:
    """Return the numbers of the columns that hold categories or text; none of an array."""
    library = _library(X)
    if library == "polars":
        return [i for i, kind in enumerate(X.dtypes) if str(kind).startswith(_OF_POLARS)]
    if library == "pandas":
        return [i for i, kind in enumerate(X.dtypes) if _holds_categories(X.iloc[:, i], kind)]
    return []


def _holds_categories(column, kind):
    if kind.name == "category" or kind.kind != "O":
        return kind.name == "category"
    return not all(isinstance(value, Real) for value in column.dropna())


def _objects(X, columns):
    """Return columns as an array of objects, NaN where they are missing."""
    out = np.empty((len(X), len(columns)), dtype=object)
    for place, i in enumerate(columns):
        if _library(X) == "polars":
            column = X.to_series(i)
            values, missing = column.to_list(), column.is_null().to_numpy()
        else:
            column = X.iloc[:, i]
            values, missing = column.astype(object), column.isna().to_numpy()
        out[:, place] = values
        # Of what is missing, None would be a category.
        out[missing, place] = np.nan
    return out


def fit_encoder(X: Any, columns: list[int]) -> OrdinalEncoder:
    """Return an encoder that numbers the categories of columns; others are missing later."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    try:
        return encoder.fit(_objects(X, columns))
    except TypeError as error:
        names = ", ".join(repr(X.columns[i]) for i in columns)
        raise ValueError(
            f"X has columns of categories or text, {names}, of which one mixes types: {error}"
        ) from error


def encoded(X: Any, columns: list[int], encoder: OrdinalEncoder) -> Any:
    """Return a frame with the numbers of categories in place of them."""
    numbers = encoder.transform(_objects(X, columns))
    if _library(X) == "polars":
        series = sys.modules["polars"].Series
        named = [series(X.columns[i], values) for i, values in zip(columns, numbers.T)]
        return X.with_columns(named)
    X = X.copy(deep=False)
    for i, values in zip(columns, numbers.T):
        X.isetitem(i, values)
    return X
