"""Tables that are passed to a regressor unchanged: frames, and arrays of text or objects."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import _safe_indexing

from .types import Array, Floats

# Remedies for columns that are not numbers.
_ENCODE = (
    "Encode them, as make_pipeline(make_column_transformer((OneHotEncoder("
    "handle_unknown='ignore'), {names}), remainder='passthrough'), ranker) does, or use a "
    "regressor that accepts them, such as "
    "HistGradientBoostingRegressor(categorical_features='from_dtype')."
)

# Prefixes of the names of dtypes of dates and times.
_TIMES = ("date", "time", "duration")


def is_frame(X: object) -> bool:
    """Return whether X is a DataFrame of pandas or polars."""
    for name in ("pandas", "polars"):
        library = sys.modules.get(name)
        if library is not None and isinstance(X, library.DataFrame):
            return True
    return False


def is_table(X: object) -> bool:
    """Return whether X is a frame, or a two-dimensional array of objects or text."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "OSU"
    return is_frame(X)


def check_table(X: Any) -> None:
    """Raise ValueError if a table has no rows or columns, or infinite or complex numbers."""
    for n, unit, kind in zip(X.shape, ("sample", "feature"), ("rows", "columns")):
        if not n:
            raise ValueError(
                f"Found array with 0 {unit}(s) (shape={X.shape}) while a minimum of 1 is "
                f"required: X has no {kind}."
            )
    for name, values in _floats_of(X):
        if values.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: column {name!r} of X.")
        if np.isinf(values).any():
            raise ValueError(f"Input X contains infinity in column {name!r}.")


def _floats_of(X: Any) -> Iterator[tuple[Any, Array]]:
    """Yield the name and the values of each column of floating-point or complex numbers."""
    if isinstance(X, np.ndarray):
        with suppress(ValueError, TypeError):
            yield from enumerate(X.astype(np.float64).T)
        return
    for number, (name, dtype) in enumerate(zip(X.columns, X.dtypes)):
        if _kind(dtype) in "fc":
            yield name, _numbers_in(X, number, dtype)


def _kind(dtype: Any) -> str:
    """Return numpy's one-letter kind of a dtype, "O" for a dtype that is not numeric."""
    if hasattr(dtype, "kind"):
        return "O" if str(dtype) == "category" else str(dtype.kind)
    if dtype.is_float():
        return "f"
    return "i" if dtype.is_integer() else "O"


def _numbers_in(X: Any, number: int, dtype: Any) -> Array:
    """Return the numbers in a column of a frame, NaN where they are missing."""
    column = _safe_indexing(X, number, axis=1)
    if not hasattr(dtype, "kind"):
        return np.asarray(column.to_numpy())
    kind = complex if dtype.kind == "c" else float
    return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))


def refuse_categories(X: Any) -> None:
    """Raise ValueError if columns of a frame are not numeric; the message names the columns."""
    if not is_frame(X):
        return
    columns = enumerate(zip(X.columns, X.dtypes))
    unusable = [name for number, (name, dtype) in columns if _is_no_number(X, number, dtype)]
    if unusable:
        names = ", ".join(map(repr, unusable))
        raise ValueError(
            f"X must hold numbers, got categories, text or dates in {names}. "
            + _ENCODE.format(names=unusable)
        )


def category_columns(X: Any) -> list[int]:
    """Return the indices of the columns of a frame that hold categories or text, without dates."""
    columns = enumerate(X.dtypes) if is_frame(X) else ()
    return [
        number
        for number, dtype in columns
        if not str(dtype).lower().startswith(_TIMES) and _is_no_number(X, number, dtype)
    ]


def refuse_dates(X: Any) -> None:
    """Raise ValueError if columns of a frame hold dates or times; the message names the columns."""
    columns = zip(X.columns, X.dtypes) if is_frame(X) else ()
    unusable = [name for name, dtype in columns if str(dtype).lower().startswith(_TIMES)]
    if unusable:
        raise ValueError(
            f"X must hold numbers, categories or text, got dates or times in "
            f"{', '.join(map(repr, unusable))}. Convert them to numbers, such as days before today."
        )


def refuse_mixed_types(X: Any, columns: list[int]) -> None:
    """Raise for a column of a frame whose values cannot be sorted, naming it."""
    for number in columns:
        values = [value for value in objects_of(X, [number])[:, 0] if value == value]
        try:
            sorted(set(values))
        except TypeError as error:
            name = X.columns[number]
            kinds = " and ".join(sorted({type(value).__name__ for value in values}))
            raise ValueError(
                f"Column {name!r} of X must hold either numbers or text, got {kinds}. Convert it, "
                f"in pandas for example by X[{name!r}].astype(str)."
            ) from error


def refuse_constant(X: Any) -> None:
    """Raise for an array or a frame of numbers in which all columns are constant."""
    frame = is_frame(X)
    names = list(X.columns if frame else range(X.shape[1]))
    for number, dtype in enumerate(X.dtypes if frame else names):
        values = _numbers_in(X, number, dtype) if frame else X[:, number]
        values = values[values == values]
        if (values != values[:1]).any():
            return
    raise ValueError(
        "X must have a column with two different values, got constant columns only: "
        f"{', '.join(map(repr, names[:5]))}. Check how X was made."
    )


def empty_columns(X: Any) -> list[Any]:
    """Return the names (of an array: the numbers) of the columns without a value."""
    if is_frame(X):
        columns = ((name, objects_of(X, [number])) for number, name in enumerate(X.columns))
        return [name for name, values in columns if (values != values).all()]
    is_float = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    return np.flatnonzero(np.isnan(X).all(axis=0)).tolist() if is_float else []


def _is_no_number(X: Any, number: int, dtype: Any) -> bool:
    if str(dtype).lower().startswith(("category", "categorical", "enum", "dictionary", *_TIMES)):
        return True
    if _kind(dtype) in "biufc":
        return False
    try:
        # Columns of text or objects may consist of numbers. NA in a column of strings is not one.
        np.asarray(_safe_indexing(X, number, axis=1).to_numpy(), dtype=np.float64)
    except (ValueError, TypeError):
        return True
    return False


def as_numbers(X: Any) -> Any:
    """Return a table as an array of floats, and anything else unchanged."""
    return np.asarray(X, dtype=np.float64, order="C") if is_table(X) else X


def with_columns_of(X: Any, values: Floats) -> Any:
    """Return values as a frame with the columns of X if X is a frame, else unchanged."""
    if not is_frame(X):
        return values
    return type(X)(dict(zip(X.columns, values.T)))


def is_single(X: Any) -> bool:
    """Return whether X holds numbers of less than double precision."""
    if is_frame(X):
        return any("float32" in str(dtype).lower() for dtype in X.dtypes)
    return bool(X.dtype.itemsize < 8)


def rows_as_numbers(X: Any) -> Any:
    """Return an array of numbers whose rows are equal where the rows of a table are equal.

    Anything but a table is returned unchanged.
    """
    if not is_table(X):
        return X
    if isinstance(X, np.ndarray):
        return _codes(X)
    columns = [
        _numbers_in(X, number, dtype)[:, None]
        if _kind(dtype) in "biuf"
        else _codes(objects_of(X, [number]))
        for number, dtype in enumerate(X.dtypes)
    ]
    return np.hstack(columns)


def objects_of(X: Any, columns: list[int]) -> Array:
    """Return columns of a frame as an array of objects, NaN where they are missing."""
    out = np.empty((len(X), len(columns)), dtype=object)
    for place, number in enumerate(columns):
        if hasattr(X, "iloc"):
            column = X.iloc[:, number]
            values, missing = column.astype(object), column.isna().to_numpy()
        else:
            column = X.to_series(number)
            values, missing = column.to_list(), column.is_null().to_numpy()
        out[:, place] = values
        # Mark missing values by NaN, because None would be a category.
        out[missing, place] = np.nan
    return out


def _codes(X: Any) -> Floats:
    """Return numbers that are equal where the values of a column are equal."""
    try:
        codes: Floats = OrdinalEncoder().fit_transform(X)
    except (ValueError, TypeError):
        # Values that cannot be sorted: treat all rows as different.
        return np.arange(float(X.shape[0]))[:, None]
    return codes


def with_index_of(X: object, values: Array, name: str) -> Any:
    """Return values of rows with the index of X if X is a pandas DataFrame, else unchanged."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return values
    if values.ndim == 1:
        return pandas.Series(values, index=X.index, name=name)
    return pandas.DataFrame(values, index=X.index)
