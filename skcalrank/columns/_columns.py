"""The columns of tables of every library, as arrays, as levels with codes, or as lists."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .arrays import is_missing, num_samples, safe_indexing
from .types import Array, Ints

#: Up to so many rows, a list of values is faster to make than levels with codes.
FEW = 500

# With so many levels for each row, it is faster to look up the levels of the rows than to list all.
_MANY = 10

# So many numbers lie beside each other in a line or two of the cache.
_NEIGHBORS = 16

# Integers of this size and more can be equal as floats.
_ROUNDED = 2.0**53


class Coded(NamedTuple):
    """A column as the number of a level in each row, -1 where the value is missing."""

    levels: Any  # list; of a type for categories an array, or index of pandas
    codes: Ints

    def listed(self) -> list[Any]:
        """Return the levels as a list."""
        return listed(self.levels)

    def values(self) -> list[Any]:
        """Return the value of each row, None where it is missing."""
        present = self.codes[self.codes >= 0]
        if _MANY * len(present) < len(self.levels) and hasattr(self.levels, "take"):
            chosen = iter(listed(self.levels.take(present)))
            return [None if code < 0 else next(chosen) for code in self.codes.tolist()]
        levels = listed(self.levels)
        return [None if code < 0 else levels[code] for code in self.codes.tolist()]


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table that has been read, which rankers take in place of the table.

    Attributes
    ----------
    matrix : ndarray or TableMatrix of shape (n_rows, n_features_out)
        What the encoder made, or makes, of the table.
    encoder : TableEncoder or None
        None for a validated array of numbers, which needs no reading.
    table : data frame, other table or ndarray
        The table as it was passed.
    """

    matrix: Any
    encoder: Any
    table: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns of the matrix."""
        return tuple(self.matrix.shape)

    def __getitem__(self, rows: Any) -> EncodedTable:
        """Return some rows, selected by a mask or by their numbers."""
        return replace(self, matrix=self.matrix[rows], table=take_rows(self.table, rows))


#: Values of a column: an array of numbers, dates or durations, levels with codes, or a list.
Values = Array | Coded | list[Any]


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a table, or None if it has none."""
    if hasattr(type(X), "column_names"):  # pyarrow
        return list(X.column_names)
    if hasattr(X, "columns"):
        # To iterate over an Index of pandas takes ten times as long.
        return X.columns.tolist() if hasattr(X.columns, "tolist") else list(X.columns)
    return list(dict.fromkeys(name for row in X for name in row)) if is_records(X) else None


def is_records(X: Any) -> bool:
    """Return whether X is a list of dicts, one for each row."""
    return isinstance(X, list) and bool(X) and isinstance(X[0], dict)


def n_rows_of(X: Any) -> int:
    """Return the number of rows of a table; Dask may count them."""
    n_rows = X.shape[0] if hasattr(X, "shape") else None
    return int(n_rows) if isinstance(n_rows, Integral) else num_samples(X)


def is_empty(X: Any) -> bool:
    """Return whether X is a table or matrix without rows."""
    if isinstance(X, list):
        return not X
    shape: Any = getattr(X, "shape", ())
    return len(shape) == 2 and isinstance(shape[0], Integral) and shape[0] == 0


def has_columns(X: Any) -> bool:
    """Return whether X is read column by column: a table, or an array of text or objects."""
    if isinstance(X, (EncodedTable, list)):
        return not isinstance(X, list) or column_names(X) is not None
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "OSU"
    return column_names(X) is not None


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a table of any library, selected by a mask or by their numbers."""
    return X[rows] if isinstance(X, EncodedTable) else safe_indexing(X, rows)


def columns_of(
    X: Any, names: list[Any] | None = None, wanted: list[bool] | None = None
) -> Iterator[Values]:
    """Yield the values of the columns of a table, of those with some names if names are given.

    If `wanted` is given, only the columns for which it is true are read.
    """
    read: Any
    if is_records(X):
        columns = column_names(X) or [] if names is None else names
        read = partial(_of_records, X)
    elif hasattr(type(X), "column_names"):
        columns = X.columns if names is None else [X.column(name) for name in names]
        read = _of_arrow
    elif hasattr(type(X), "get_columns"):
        columns = X.get_columns() if names is None else [X.get_column(name) for name in names]
        read = _of_polars
    elif hasattr(X, "columns"):
        columns = _arrays_of(X) if names is None else [X[name].array for name in names]
        read = _of_pandas
    else:
        columns, read = _columns_of_array(X), _of_numpy
    return map(read, columns if wanted is None else compress(columns, wanted))


def coded(values: Values) -> Coded:
    """Return a column as levels with codes; levels may be equal to each other."""
    if isinstance(values, Coded):
        return values
    if not isinstance(values, list):
        levels, codes = np.unique(values, return_inverse=True)
        missing = levels != levels
        levels, codes = levels[~missing], np.where(missing[codes], -1, codes)
        return Coded(listed(levels), codes)
    index: dict[Any, int] = {}
    codes = np.fromiter(
        (-1 if is_missing(value) else index.setdefault(value, len(index)) for value in values),
        dtype=np.intp,
        count=len(values),
    )
    return Coded(list(index), codes)


def _of_records(X: Any, name: Any) -> Values:
    return [row.get(name) for row in X]


def _arrays_of(X: Any) -> Iterator[Any]:
    # Making a Series of each column would take longer than reading its values.
    arrays = getattr(X, "_iter_column_arrays", None)
    return arrays() if arrays is not None else (X.iloc[:, i].array for i in range(X.shape[1]))


def _columns_of_array(X: Any) -> Iterator[Any]:
    if len(X) <= FEW or X.flags.f_contiguous or X.dtype.kind not in "biuf":
        yield from X.T
        return
    # A copy of neighboring columns reads every row once.
    for first in range(0, X.shape[1], _NEIGHBORS):
        yield from X[:, first : first + _NEIGHBORS].T.copy()


def _of_pandas(values: Any) -> Values:
    if isinstance(values, np.ndarray):
        return _of_numpy(values)
    dtype = values.dtype
    if dtype.name == "category":
        return Coded(dtype.categories, np.asarray(values.codes))
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(values.__arrow_array__())
    if dtype.kind in "biuf" and not dtype.name.startswith("Sparse"):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return _exact(numbers, values.tolist) if dtype.kind in "iu" else numbers
    if dtype.kind in "Mm" and hasattr(values, "asi8"):
        return values.asi8.view(f"{dtype.kind}8[{values.unit}]")
    if dtype.name.startswith("period"):
        return _of_pandas(values.to_timestamp())
    if not hasattr(dtype, "storage"):  # not text
        return _of_numpy(np.asarray(values))
    if len(values) <= FEW:
        return listed(values)
    codes, levels = values.factorize()
    return Coded(listed(levels), codes)


def _of_polars(series: Any) -> Values:
    dtype = series.dtype
    kind = str(dtype)
    if kind.startswith(("Int", "UInt")) and not kind.endswith("128"):  # which numpy has not
        return _exact(series.to_numpy(), series.to_list)
    if kind.startswith(("Float", "Date", "Duration")):
        return series.to_numpy()
    if dtype.is_numeric() or kind == "Boolean":
        numbers = series.cast(sys.modules["polars"].Float64).to_numpy()
        return numbers if kind == "Boolean" else _exact(numbers, series.to_list, series.n_unique)
    if len(series) > FEW and kind in ("String", "Utf8"):
        return _of_categories(series.cast(_new_categories()))
    if len(series) > FEW and kind.startswith(("Categorical", "Enum")):
        return _of_categories(series)
    return series.to_list()


def _new_categories() -> Any:
    """Return a type of polars for categories of one column, which it shares with no other."""
    polars = sys.modules["polars"]
    if not hasattr(polars, "Categories"):
        return polars.Categorical
    return polars.Categorical(polars.Categories.random())


def _of_categories(series: Any) -> Coded:
    # The physical numbers of categories may have gaps: other columns can share them.
    numbers = series.to_physical().cast(sys.modules["polars"].Int64).fill_null(-1).to_numpy()
    row = np.full(numbers.max() + 2, -1)
    row[numbers] = np.arange(len(numbers))  # that of missing values is the last
    occurs = row[:-1] >= 0
    codes = np.append(np.cumsum(occurs) - 1, -1)
    return Coded(series.gather(row[:-1][occurs]).to_list(), codes[numbers])


def _of_arrow(column: Any) -> Values:
    kind = str(column.type)
    if kind.startswith("decimal"):  # only from text is the nearest float made
        numbers = column.cast("string").cast("float64").to_numpy(zero_copy_only=False)
        return _exact(numbers, column.to_pylist, lambda: len(column.unique()))
    if kind.startswith(("halffloat", "bool")):
        column, kind = column.cast("float64"), "double"
    if kind.startswith(("int", "uint")):
        return _exact(column.to_numpy(zero_copy_only=False), column.to_pylist)
    if kind.startswith(("float", "double", "date", "timestamp", "duration")):
        return column.to_numpy(zero_copy_only=False)
    if kind.startswith("dictionary"):
        chunk = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        codes = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
        levels = chunk.dictionary.to_pylist()
        missing = [number for number, level in enumerate(levels) if is_missing(level)]
        return Coded(np.array(levels, dtype=object), np.where(np.isin(codes, missing), -1, codes))
    if len(column) > FEW and "string" in kind:
        levels, codes = _of_arrow(column.dictionary_encode())
        return Coded(listed(levels), codes)
    return column.to_pylist()


def _of_numpy(values: Any) -> Values:
    if values.dtype.kind in "biufMm":
        return np.asarray(values)
    pandas = sys.modules.get("pandas")
    if pandas is None or len(values) <= FEW or values.dtype.kind != "O":
        return np.asarray(values).tolist()
    kind = pandas.api.types.infer_dtype(values)
    if kind in ("floating", "integer", "mixed-integer-float"):
        with suppress(TypeError):  # pandas.NA
            return _exact(values.astype(np.float64), values.tolist)
    # Texts end at a nul for pandas, if they stand beside nothing else.
    if kind == "string" and "\0" in "".join(map(str, values)):
        return values.tolist()
    try:
        codes, levels = pandas.factorize(values)
    except TypeError:  # a value without a hash
        return np.asarray(values).tolist()
    return Coded(listed(levels), codes)


def _exact(
    numbers: Array, as_list: Callable[[], list[Any]], count: Callable[[], int] | None = None
) -> Values:
    """Return integers as numbers, or as a list if some of them would be rounded.

    So are decimals, of which `count` returns the number of different ones.
    """
    is_exact = numbers.dtype.kind != "f" or not (np.abs(numbers) >= _ROUNDED).any()
    if is_exact and count is not None:
        is_exact = len(np.unique(numbers)) == count()
    return numbers if is_exact else as_list()


def as_array(X: Any) -> Any:
    """Return a list of rows as an array in which numbers stay numbers beside text.

    Masked values become missing ones, and anything else is returned unchanged.
    """
    if isinstance(X, np.ma.MaskedArray):
        mask, kind = np.ma.getmaskarray(X), X.dtype.kind
        if not mask.any():
            return X.data
        is_rounded = kind in "iu" and (np.abs(X.data.astype(float)) >= _ROUNDED).any()
        dtype: Any = X.dtype if kind in "Mm" else float if kind in "biuf" else object
        dtype = object if is_rounded else dtype
        array = np.array(X.data, dtype=dtype)
        array[mask] = None
        return array
    if not isinstance(X, list):
        return X
    array = np.asarray(X)
    is_rounded = array.dtype.kind == "f" and (np.abs(array) >= _ROUNDED).any()
    return np.asarray(X, dtype=object) if is_rounded or array.dtype.kind in "US" else array


def listed(values: Any) -> list[Any]:
    """Return values as a list of Python objects."""
    if isinstance(values, list):
        return values
    values = getattr(values, "array", values)
    storage = getattr(values.dtype, "storage", "")
    if storage == "pyarrow" or hasattr(values.dtype, "pyarrow_dtype"):
        return values.__arrow_array__().to_pylist()  # tolist is fifty times slower
    if values.dtype.kind in "Mm":
        unit = getattr(values.dtype, "unit", None)  # of a time zone
        exact = np.asarray(values, dtype=f"M8[{unit}]" if unit else None)
        rounded = exact.astype(f"{values.dtype.kind}8[us]")
        out = rounded.tolist()
        # Nanoseconds have no type of Python, and would become integers.
        for number in np.flatnonzero((rounded != exact) & ~np.isnat(exact)):
            out[number] = exact[number]
        return out
    return values.tolist()
