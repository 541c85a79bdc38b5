"""Tables that are read column by column, or passed to a regressor unchanged."""

import re
import sys
import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import count, islice
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._columns import (
    FEW,
    Coded,
    EncodedTable,
    Values,
    as_array,
    coded,
    column_names,
    columns_of,
    has_columns,
    is_empty,
    is_records,
    listed,
    n_rows_of,
    take_rows,
)
from ._row_order import index_of
from .types import Array, Floats

# Names of types of numbers without a missing value of their own.
_NUMBER = re.compile("[Uu]?[Ii]nt(8|16|32|64)|[Ff]loat(32|64)").fullmatch

__all__ = ["Coded", "EncodedTable", "Values", "as_array", "coded", "column_names", "columns_of"]
__all__ += ["has_columns", "is_empty", "is_records", "listed", "n_rows_of", "take_rows"]


def is_frame(X: object) -> bool:
    """Return whether X is a DataFrame of pandas or polars."""
    libraries = [sys.modules[name] for name in ("pandas", "polars") if sys.modules.get(name)]
    return any(isinstance(X, library.DataFrame) for library in libraries)


def as_frame(X: Any, *, sparse: bool = True) -> Any:
    """Return a table of pyarrow as a DataFrame, if there is pandas, else X unchanged.

    A frame of sparse columns becomes dense, except where `sparse` rows are read and the columns
    leave out zeros alone.
    """
    if hasattr(type(X), "column_names") and find_spec("pandas"):
        return X.to_pandas()
    fills = [getattr(of, "fill_value", None) for of in set(X.dtypes)] if is_frame(X) else [None]
    is_dense = None in fills or (sparse and not any(fills))
    return X if is_dense else X.sparse.to_dense()


def few_numbers(X: Any) -> Array | None:
    """Return a frame of few rows that holds floats and integers alone as an array, else None.

    To read its columns one by one would cost a request for one query several times what this does.
    """
    if not is_frame(X) or len(X) > FEW or not all(map(_NUMBER, map(str, set(X.dtypes)))):
        return None
    numbers = X.to_numpy()
    return None if numbers.dtype == object else numbers


def is_table(X: object) -> bool:
    """Return whether X is a frame, or a two-dimensional array of objects or text."""
    return is_frame(X) or (isinstance(X, np.ndarray) and has_columns(X))


def check_table(X: Any) -> None:
    """Raise ValueError if a table has no rows or columns, or infinite or complex numbers."""
    for n, unit, kind in zip(X.shape, ("sample", "feature"), ("rows", "columns")):
        if not n:
            raise ValueError(
                f"Found array with 0 {unit}(s) (shape={X.shape}) while a minimum of 1 is "
                f"required: X has no {kind}."
            )
    for name, values in _named_columns(X):
        numbers = _numbers_in(values)
        if numbers is not None and numbers.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: column {name!r} of X.")
        if numbers is not None and np.isinf(numbers).any():
            raise ValueError(f"Input X contains infinity in column {name!r}.")


def _named_columns(X: Any) -> Any:
    """Return pairs of the name, of an array the number, and the values of each column."""
    names = column_names(X)
    return zip(range(X.shape[1]) if names is None else names, columns_of(X))


def _numbers_in(values: Values) -> Array | None:
    """Return the numbers of a column, which may be text that means numbers, or None."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "biufc" else None
    if isinstance(values, Coded) and hasattr(values.levels, "take"):
        return None  # categories, even of numbers
    rows = values.levels if isinstance(values, Coded) else values
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy before 1.24 only warns of rows of all lengths
            numbers = np.array(rows)
        if numbers.dtype.kind not in "biufc":
            numbers = np.array(rows, dtype=np.float64)
        return numbers if numbers.ndim == 1 else None
    except (ValueError, TypeError):
        return None


def beside(X: Any, values: Floats, names: list[Any]) -> Any:
    """Return a table or array with named columns of numbers to the right of its own.

    Beside columns without a name that is text, these are numbered: scikit-learn refuses both.
    """
    if not is_frame(X):
        return np.hstack([X, values.astype(X.dtype, copy=False)])
    known = column_names(X) or []
    if not any(isinstance(name, str) for name in known):
        names = list(islice((k for k in count(len(known)) if k not in known), len(names)))
    if hasattr(X, "hstack"):
        return X.hstack(type(X)(dict(zip(names, values.T))))
    return sys.modules["pandas"].concat([X, with_index_of(X, values, "", names)], axis=1)


def refuse_categories(X: Any) -> None:
    """Raise ValueError for dicts, and for columns that are not numeric, which it names."""
    columns = _named_columns(X) if is_frame(X) else ()
    unusable = [repr(name) for name, values in columns if _numbers_in(values) is None]
    if unusable or is_records(X):
        among = f"categories, text or dates in {', '.join(unusable)}" if unusable else "dicts"
        raise ValueError(
            f"X must hold numbers, got {among}. Use TabularRanker or BoostedRanker, which read "
            "them, or make numbers of them, as make_query_pipeline(LinearColumns(), ranker) does."
        )


def missing_in(X: Any) -> str:
    """Return what an error says of missing values among numbers, and in which columns they are."""
    names = column_names(X) if is_frame(X) else None
    cells = X if issparse(X) else np.asarray(X, dtype=np.float64)
    missing = cells != cells
    columns = np.unique(missing.nonzero()[1]).tolist()
    said = [repr(k if names is None else names[k]) for k in columns]
    more = ["..."] if len(said) > 10 else []
    return (
        f"Input X contains NaN in the column{'s'[: len(said) > 1]} {', '.join(said[:10] + more)}. "
        "Use TabularRanker or BoostedRanker, which read missing values, or fill them, as "
        "make_query_pipeline(LinearColumns(), ranker) does."
    )


def empty_columns(X: Any) -> list[Any]:
    """Return the names (of an array: the numbers) of the columns without a value."""
    if is_frame(X):
        return [name for name, values in _named_columns(X) if (coded(values).codes < 0).all()]
    is_float = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    return np.flatnonzero(np.isnan(X).all(axis=0)).tolist() if is_float else []


def as_numbers(X: Any) -> Any:
    """Return a table as an array of floats, and anything else unchanged."""
    return np.asarray(X, dtype=np.float64, order="C") if is_table(X) else X


def with_columns_of(X: Any, values: Floats) -> Any:
    """Return values as a frame with the columns of X if X is a frame, else unchanged."""
    return type(X)(dict(zip(X.columns, values.T))) if is_frame(X) else values


def is_single(X: Any) -> bool:
    """Return whether X holds numbers of less than double precision."""
    if is_frame(X):
        return any("float32" in str(dtype).lower() for dtype in X.dtypes)
    return bool(X.dtype.itemsize < 8)


def rows_as_numbers(X: Any) -> Any:
    """Return an array of numbers whose rows are equal where the rows of a table are equal.

    Anything but a table is returned unchanged.
    """
    if not is_table(X) and not is_records(X):
        return X
    return np.column_stack(list(map(_as_codes, columns_of(X))))


def _as_codes(values: Values) -> Floats:
    """Return the numbers of a column, or numbers that are equal where its values are equal."""
    if isinstance(values, np.ndarray):
        missing = values != values
        numbers = values.view(np.int64) if values.dtype.kind in "mM" else values
        return np.where(missing, np.nan, numbers)
    try:
        levels, codes = coded(values)
    except TypeError:
        # Values without a hash: treat all rows as different.
        return np.arange(float(len(values)))
    levels = Coded(levels, codes).listed()
    numbers = _numbers_in(levels)
    if numbers is None:
        order = sorted(range(len(levels)), key=lambda k: (type(levels[k]).__name__, str(levels[k])))
        numbers = np.argsort(order)
    return np.append(numbers.astype(np.float64), np.nan)[codes]  # the last is missing


def distinct(names: Iterable[Any]) -> Array:
    """Return names of columns, of which those that repeat an earlier one get a number: ``a_2``."""
    names, out = list(names), dict[Any, None]()
    taken = set(names)
    for name in names:
        others = (f"{name}_{number}" for number in count(2))
        new = name if name not in out else next(other for other in others if other not in taken)
        taken.add(new)
        out[new] = None
    return np.array(list(out), dtype=object)


def labels_of(X: Any) -> Any:
    """Return the index of a pandas DataFrame with labels; None if it is 0, 1, ... in order."""
    index = index_of(X) if hasattr(X, "iloc") else None
    if index is None or index.equals(sys.modules["pandas"].RangeIndex(len(index))):
        return None
    return index


def as_labels(X: object, rows: Any) -> Any:
    """Return the labels of numbers of rows if X is a pandas DataFrame with labels, else unchanged.

    So are the labels that a ranker behind other steps has returned.
    """
    labels = labels_of(X)
    if labels is None or not isinstance(rows, np.ndarray) or rows.ndim > 1:
        return rows
    if not labels.is_unique:
        again = labels[labels.duplicated()][0]
        raise ValueError(
            f"X must have an index without repeated labels, which name the rows, got {again!r} "
            "several times: pass X.reset_index(drop=True) for rows by number."
        )
    return labels[rows]


def with_index_of(X: object, values: Array, name: str, columns: Any = None) -> Any:
    """Return values of rows with the index of X if X is a pandas DataFrame, else unchanged.

    `columns` are the names of the columns of a matrix.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return values
    if values.ndim == 1:
        return pandas.Series(values, index=X.index, name=name)
    return pandas.DataFrame(values, index=X.index, columns=columns)
