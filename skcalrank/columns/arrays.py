"""Conversion, checks and arithmetic of arrays, shared by several subpackages."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _check_feature_names_in, _num_samples

from .._dask import refuse_lazy
from .._threads import each
from ._memory import CACHE_CELLS, PART_CELLS
from .types import Array, ArrayLike, Bools, Floats, Ints

# Functions of scikit-learn that are private there; CONTRIBUTING lists what would replace them.
num_samples = _num_samples
check_feature_names_in = _check_feature_names_in


def subscriptable(X: Any) -> Any:
    """Return X, in a form that has subscripts: CSR, or a table for a batch of rows of pyarrow."""
    if type(X).__name__ == "RecordBatch":
        return import_module("pyarrow").Table.from_batches([X])
    return X.tocsr() if issparse(X) and X.format in ("bsr", "coo", "dia") else X


def safe_indexing(X: Any, indices: Any, axis: int = 0) -> Any:
    """Return some rows, or columns for ``axis=1``, also of sparse matrices without subscripts."""
    X = subscriptable(X)
    if axis == 0 and hasattr(type(X), "column_names"):  # of pyarrow, which scikit-learn 1.6 cannot
        return X.take(np.arange(len(X))[indices])
    return _safe_indexing(X, indices, axis=axis)


# All integers up to this absolute value are exact in double precision.
_EXACT = 2.0**53


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or the NA of pandas; an array is not."""
    try:
        return value is None or (bool(value != value) and not getattr(value, "ndim", 0))
    except (TypeError, ValueError):  # the NA of pandas is neither true nor false
        return not getattr(value, "ndim", 0)


def is_number(text: str) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def refuse_missing(labels: Array, name: str) -> None:
    """Raise ValueError for a missing label among objects or dates, which cannot be sorted."""
    if labels.ndim == 1 and labels.dtype.kind in "OmM":
        for row, label in enumerate(labels):
            if np.ndim(label) == 0 and is_missing(label):
                raise ValueError(f"{name} must have labels, got a missing value in row {row}.")


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, otherwise: float = 0.0) -> Floats:
    """Return ``numerator / denominator``, and `otherwise` where the denominator is 0."""
    out: Floats = np.full(np.broadcast(numerator, denominator).shape, otherwise)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def along_rows(values: Array, columns: Ints) -> Array:
    """Return ``np.take_along_axis(values, columns, axis=1)``, several times faster."""
    n, width = values.shape
    return values.ravel().take(columns + np.arange(0, n * width, max(width, 1))[:, None])


def run_starts(*keys: Array) -> Ints:
    """Return the indices at which runs of rows with equal keys begin."""
    new = np.ones(len(keys[0]), dtype=bool)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(new)


def ranges(ptr: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Return the ranges ``ptr[i]:ptr[i + 1]`` concatenated, and pointers to them."""
    sizes = ptr[ids + 1] - ptr[ids]
    new = np.append(0, np.cumsum(sizes))
    return np.arange(new[-1]) + np.repeat(ptr[ids] - new[:-1], sizes), new


def refuse_masked(value: Any, name: str) -> None:
    """Raise ValueError for masked values, whose mask ``np.asarray`` would drop silently."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(
            f"{name} must not have masked values, got a masked array. Remove the values, as "
            "values.compressed() does, or fill them in, as values.filled(0) does."
        )


def refuse_other_arrays(value: Any, name: str) -> None:
    """Raise TypeError for an array-API array of another library, which may be on another device."""
    is_numpy = isinstance(value, (np.ndarray, np.generic))
    if hasattr(value, "__array_namespace__") and not is_numpy:
        library = type(value).__module__.partition(".")[0]
        raise TypeError(
            f"{name} must be a numpy array, got an array of {library}. Convert it with "
            f"np.asarray({name}), or with the conversion that {library} provides."
        )


# What reads a table that has not been read yet, by the name of its type.
_NOT_READ = {"LazyFrame": "collect()", "DuckDBPyRelation": "df()"}


def refuse_unread(value: Any, name: str) -> None:
    """Raise TypeError for a table whose rows are not read yet, as a LazyFrame of polars."""
    kind = type(value).__name__
    if kind in _NOT_READ:
        library = type(value).__module__.strip("_").partition(".")[0]
        raise TypeError(
            f"{name} must be in memory, got a {kind} of {library}, whose rows are not read yet: "
            f"pass {name}.{_NOT_READ[kind]}."
        )


def refuse_stand_ins(**values: Any) -> None:
    """Raise an error for what stands for an array: a name, a dict, an estimator, unread rows."""
    for name, value in values.items():
        refuse_unread(value, name)
    for name, value in values.items():
        if type(value) is np.ndarray or value is None:
            continue
        if isinstance(value, str) and name != "qid":
            column = f": pass the column, such as frame[{value!r}]" if name != "X" else ""
            raise ValueError(f"{name} must be an array, got the string {value!r}{column}.")
        if isinstance(value, Mapping) and not issparse(value):
            is_row = not any(map(np.ndim, value.values()))
            remedy = (
                ("pass [X], a list of one dict" if is_row else "pass pandas.DataFrame(X)")
                if name == "X"
                else "pass an array, or measure runs and judgments by name with "
                "skcalrank.evaluation.evaluate_run and compare_values"
            )
            raise ValueError(f"{name} must have a value for each row, got a dict: {remedy}.")
        if hasattr(type(value), "fit") and hasattr(value, "predict"):  # pandas looks at columns
            raise ValueError(
                f"{name} must be numbers, got {value!r}: pass what its predict returns, or compare "
                "estimators with skcalrank.evaluation.cross_compare."
            )


def as_array(values: ArrayLike, name: str) -> Array:
    """Return a numpy array of any dtype.

    Raise an error for masked values, dask collections and arrays of other libraries.
    """
    if type(values) is np.ndarray:
        return values
    refuse_lazy("this call", "", **{name: values})
    refuse_stand_ins(**{name: values})
    refuse_masked(values, name)
    refuse_other_arrays(values, name)
    try:
        return np.asarray(values)
    except Exception as error:
        kind = type(values).__name__
        raise ValueError(
            f"{name} must be convertible to a numpy array, got a {kind}: {error}"
        ) from error


def numbers(values: ArrayLike, name: str) -> Floats:
    """Return values as an array of floats, in which missing values are NaN."""
    try:
        return with_nan(values, name).astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, or NaN where undefined: {error}.") from error


def with_nan(values: ArrayLike, name: str) -> Array:
    """Return an array, in which None and the NA of pandas are NaN."""
    array = as_array(values, name)
    if array.dtype != object:
        return array
    return np.where(_are_missing(array), np.nan, array)


def _are_missing(array: Array) -> Bools:
    """Return which objects are None, NaN, NaT or NA."""
    return np.asarray(np.frompyfunc(is_missing, 1, 1)(array), dtype=bool)


def is_plain(values: object) -> bool:
    """Return whether values are an array of numbers, which no check of containers refuses."""
    return type(values) is np.ndarray and values.dtype.kind in "fiub"


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Prefix errors that scikit-learn and numpy raise in this context with argument names."""
    try:
        # scikit-learn sums values to check that they are finite; the sums may be inf - inf.
        with np.errstate(invalid="ignore"):
            yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b({'|'.join(names)})\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{' and '.join(names)}: {error}") from error


@contextmanager
def beginning(start: str) -> Iterator[None]:
    """Begin the text of a ValueError that is raised in this context with another one."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{start}{error}") from error


def checked(values: ArrayLike, name: str, **checks: Any) -> Any:
    """Return an array of finite numbers in double precision; errors name the argument.

    ``checks`` are passed to :func:`sklearn.utils.check_array`.
    """
    if issparse(values):
        raise ValueError(f"{name} must be dense, got a sparse matrix. Pass {name}.toarray().")
    with naming(name):
        raw = as_array(values, name)
        if not is_plain(raw):
            refuse_no_numbers(raw, name)
            raw = with_nan(raw, name)
        as_it_is = not checks.get("ensure_2d", True) and checks.keys() <= {"ensure_2d", "allow_nd"}
        if as_it_is and raw.ndim == 1 and len(raw) and raw.dtype == np.float64:
            with np.errstate(over="ignore"):
                if np.isfinite(raw.sum()):  # A finite sum has finite terms.
                    return raw
        return check_array(raw, input_name=name, **{"dtype": np.float64} | checks)


def is_finite(X: object) -> bool:
    """Return True if a large array of floats is known to be finite; False means unknown.

    The check sums the values: a finite sum has finite terms, and an infinite sum proves nothing.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.size < PART_CELLS:
        return False
    if X.dtype not in (np.float64, np.float32):
        return False
    step, ones = max(1, CACHE_CELLS // X.shape[1]), np.ones(X.shape[1], dtype=X.dtype)
    sums: list[float] = []

    def add_up(start: int) -> float:
        # A product with ones is as fast as memory allows, and np.sum is slower.
        return float((X[start : start + step] @ ones).sum())

    with np.errstate(all="ignore"):
        each(add_up, range(0, len(X), step), sums.append)
    return bool(np.isfinite(sums).all())


def refuse_no_numbers(value: Any, name: str) -> None:
    """Raise ValueError for dates, durations and records, which numpy silently casts to numbers."""
    # Frames have the same types without rows.
    some = value.head(0) if hasattr(value, "head") else value
    with suppress(TypeError):  # columns of several types, of which numpy has no common one
        if not issparse(some) and (dtype := np.asarray(some).dtype).kind in "mMV":
            raise ValueError(f"{name} must hold numbers, got dtype {dtype}. Convert it first.")


def refuse_rounding(values: Any, name: str) -> None:
    """Raise ValueError if distinct labels, such as integers above 2**53, are equal as doubles."""
    if exact_ranks(values, name) is not None:
        raise ValueError(
            f"{name} must stay distinct in double precision, got different values that become "
            "equal, such as integers above 2**53. Subtract the smallest value, or pass ranks."
        )


def exact_ranks(values: Any, name: str) -> Array | None:
    """Return the ranks of values if double precision would make some of them equal, else None.

    Those of missing values are NaN. Raise an error as :func:`as_array` does: ranks have no mask.
    """
    raw = as_array(values, name)
    if raw.dtype == object and (missing := _are_missing(raw)).any():
        of_known = exact_ranks(raw[~missing], name)
        ranks = np.full(raw.shape, np.nan)
        ranks[~missing] = 0 if of_known is None else of_known
        return None if of_known is None else ranks
    if raw.dtype == np.float64 and raw is values:
        return None
    if isinstance(values, (list, tuple)) and raw.dtype.kind == "f" and raw.size:
        # numpy itself casts lists with integers on both sides of 2**63 to double precision.
        # float(): half precision cannot be compared with larger numbers.
        large = _EXACT <= float(np.abs(raw).max()) < np.inf
        raw = np.asarray(values, dtype=object) if large else raw
    if not raw.size or not _is_rounded(raw):
        return None
    distinct, ranks = np.unique(raw, return_inverse=True)
    n_floats = 0 if _overflows(distinct) else len(np.unique(distinct.astype(np.float64)))
    return ranks.reshape(raw.shape) if n_floats < len(distinct) else None


def _is_rounded(raw: Array) -> bool:
    """Return whether some of the numbers may not be exact in double precision."""
    if raw.dtype.kind in "iu":
        return max(-float(raw.min()), float(raw.max())) >= _EXACT
    if raw.dtype == np.longdouble != np.float64:
        return bool((raw.astype(np.float64) != raw).any() and np.isfinite(raw).all())
    if raw.dtype != object or not all(isinstance(value, Number) for value in raw.flat):
        return False
    # Python compares integers, fractions and decimals with floats exactly.
    return _overflows(raw) or bool(
        np.isfinite(floats := raw.astype(np.float64)).all() and (floats != raw).any()
    )


def _overflows(raw: Array) -> bool:
    try:
        raw.astype(np.float64)
    except OverflowError:
        return True
    return False


def sizes_of_columns(X: Any) -> Floats:
    """Return the largest absolute value of each column; NaN or 0 without a value."""
    if issparse(X):
        entries, sizes = X.tocoo(), np.zeros(X.shape[1])
        np.fmax.at(sizes, entries.col, np.abs(entries.data))
        return sizes
    return np.maximum(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))


def stacked(parts: list[Any]) -> Any:
    """Return the rows of several arrays, or of several sparse matrices."""
    if len(parts) == 1:
        return parts[0]
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def sums_before(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, 2, ... entries along the last axis."""
    out = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=out[..., 1:])
    return out


def firsts_of_equal(ordered: Floats, sizes: Any) -> Ints:
    """Return for each of ascending values the number of the first one that equals it.

    Neighbors are equal if they differ by rounding errors of numbers of a size, which is that of
    all, or of each pair of neighbors, and -inf between values that are not compared.
    """
    starts = np.append(True, np.diff(ordered) > 2.0**-44 * sizes)[: len(ordered)]
    return np.maximum.accumulate(np.where(starts, np.arange(len(ordered)), 0))


def scale_of(largest: ArrayLike) -> Floats:
    """Return divisors that keep sums and squares of values in the range of double precision.

    `largest` holds the largest absolute values. The divisors are powers of two, so that dividing
    does not round; they are 1 in the usual range, 1e-150 to 1e150, and for 0.
    """
    largest = np.asarray(largest, dtype=np.float64)
    outside = (largest > 1e150) | ((largest < 1e-150) & (largest > 0))
    return np.exp2(np.where(outside, np.frexp(largest)[1] - 1.0, 0.0))
