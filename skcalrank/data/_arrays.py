"""Arithmetic on arrays that several rooms share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from ._lazy import refuse_lazy
from ._memory import CACHE_CELLS, PART_CELLS
from ._threads import each
from ._types import Array, ArrayLike, Floats, Ints

# Up to here all integers are numbers of double precision.
_EXACT = 2.0**53


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, otherwise: float = 0.0) -> Floats:
    """Return numerator / denominator, and `otherwise` where the denominator is 0."""
    out: Floats = np.full(np.broadcast(numerator, denominator).shape, otherwise)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def along_rows(values: Array, columns: Ints) -> Array:
    """Take an entry of its row for each column: several times as fast as ``take_along_axis``."""
    n, width = values.shape
    first = np.arange(0, n * width, max(width, 1))[:, None]
    return values.ravel().take(columns + first)


def refuse_masked(**values: Any) -> None:
    """Raise for a masked array, whose mask a conversion to an array would drop without a word."""
    for name, value in values.items():
        parts = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
            raise ValueError(
                f"{name} is a masked array with masked values, which are not supported: pass an "
                "array without these rows, such as values.compressed(), or with values in their "
                "place, such as values.filled(0)."
            )


def refuse_other_arrays(**values: Any) -> None:
    """Raise for an array of another library that follows the array API, as on another device."""
    for name, value in values.items():
        own = isinstance(value, (np.ndarray, np.generic))
        if hasattr(value, "__array_namespace__") and not own:
            library = type(value).__module__.partition(".")[0]
            raise TypeError(
                f"{name} is an array of {library}, and skcalrank computes with numpy: pass an "
                f"array of numpy, such as np.asarray({name}) or what {library} has for it."
            )


def as_array(values: ArrayLike, name: str) -> Array:
    """Return an array of any dtype; masked arrays, dask collections and
    arrays of other libraries are refused.
    """
    refuse_lazy("what reads it", "", **{name: values})
    refuse_masked(**{name: values})
    refuse_other_arrays(**{name: values})
    try:
        return np.asarray(values)
    except Exception as error:
        kind = type(values).__name__
        raise ValueError(f"{name} is a {kind} that numpy cannot read: {error}") from error


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Name the arguments in what scikit-learn and numpy raise for their values."""
    try:
        # The check for finite values sums them first, and sums of both signs may overflow.
        with np.errstate(invalid="ignore"):
            yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b({'|'.join(names)})\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{' and '.join(names)}: {error}") from error


def checked_array(values: ArrayLike, name: str, **checks: Any) -> Any:
    """Return finite numbers in double precision, or raise an error that names the argument.

    ``checks`` are those of :func:`sklearn.utils.check_array`.
    """
    if issparse(values):
        raise ValueError(f"{name} is sparse: pass an array, {name}.toarray().")
    with naming(name):
        raw = as_array(values, name)
        refuse_no_numbers(**{name: raw})
        return check_array(raw, input_name=name, **{"dtype": np.float64} | checks)


def is_finite(X: object) -> bool:
    """Return whether numbers in a large array are finite, if their sum is; False tells nothing."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.size < PART_CELLS:
        return False
    if X.dtype not in (np.float64, np.float32):
        return False
    step, ones = max(1, CACHE_CELLS // X.shape[1]), np.ones(X.shape[1], dtype=X.dtype)
    sums: list[float] = []

    def add_up(start: int) -> float:
        # As fast as memory, which a sum is not.
        return float((X[start : start + step] @ ones).sum())

    with np.errstate(all="ignore"):
        each(add_up, range(0, len(X), step), sums.append)
    return bool(np.isfinite(sums).all())


def refuse_no_numbers(**values: Any) -> None:
    """Raise for dates, durations and records, of which numpy makes numbers without a word."""
    for name, value in values.items():
        # Frames tell without their rows.
        some = value.head(0) if hasattr(value, "head") else value
        if not issparse(some) and (dtype := np.asarray(some).dtype).kind in "mMV":
            raise ValueError(f"{name} holds values of type {dtype}: make numbers of them first.")


def refuse_rounding(values: Any, name: str) -> None:
    """Raise for labels that differ, such as integers above 2**53, but not in double precision."""
    if exact_ranks(values) is not None:
        raise ValueError(
            f"{name} holds values that differ, but are equal in double precision, such as integers "
            "above 2**53: subtract a common part (the smallest value), or pass their ranks."
        )


def exact_ranks(values: Any) -> Ints | None:
    """Return the ranks of values of which some are equal in double precision only, else None."""
    raw = np.asarray(values)
    if isinstance(values, (list, tuple)) and raw.dtype.kind == "f" and raw.size:
        # Of integers on both sides of 2**63 numpy makes double precision itself.
        # As a number of Python: half precision cannot be compared with larger ones.
        large = _EXACT <= float(np.abs(raw).max()) < np.inf
        raw = np.asarray(values, dtype=object) if large else raw
    if not raw.size or not _is_rounded(raw):
        return None
    distinct, ranks = np.unique(raw, return_inverse=True)
    n_floats = 0 if _overflows(distinct) else len(np.unique(distinct.astype(np.float64)))
    return ranks.reshape(raw.shape) if n_floats < len(distinct) else None


def _is_rounded(raw: Array) -> bool:
    """Return whether some of the numbers are not of double precision."""
    if raw.dtype.kind in "iu":
        return max(-float(raw.min()), float(raw.max())) > _EXACT
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


def scale_of(largest: ArrayLike) -> Floats:
    """Return powers of two to divide by where values as large leave the range of sums and squares.

    1 in the usual range, also for 0, so that nothing is rounded there.
    """
    largest = np.asarray(largest, dtype=np.float64)
    outside = (largest > 1e150) | ((largest < 1e-150) & (largest > 0))
    scale: Floats = np.exp2(np.where(outside, np.frexp(largest)[1] - 1.0, 0.0))
    return scale
