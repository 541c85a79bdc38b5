"""Stacks of the matrices that prediction maps of pairs read, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..columns import CACHE_CELLS, arrays
from ..columns.types import ArrayLike, Floats, Ints
from ..data import warn

# Seconds after which exact maps return the best order of a query found so far, by default.
TIME_LIMIT = 10.0

# Exponent of the unit, which is far above rounding, so that noise seldom moves a value to another
# multiple. Sums over half a million documents of multiples of it are exact in a double.
_EXPONENT = -34


class PredResult(NamedTuple):
    """Positions, and how good they are known to be.

    For a stack of n matrices every field is an array whose first axis has length n.

    Attributes
    ----------
    positions : ndarray of int of shape (r,) or (n, r)
        1-based position of each document.
    value : float
        Value of the objective at these positions.
    bound : float
        Bound of the best value: no positions can be better.
    proven : bool
        Whether the positions are best, i.e. value and bound agree.
    method : str
        The method that found them.
    """

    positions: Ints
    value: Any
    bound: Any
    proven: Any
    method: Any

    @property
    def gap(self) -> Any:
        """How far the positions can be from the best, at most; never negative.

        The bound minus the value of MAP, and the value minus the bound of pairwise disagreement.
        """
        return abs(self.value - self.bound)

    def each(self) -> list[PredResult]:
        """Return the results of a stack as a list."""
        columns = (column.tolist() for column in self[1:])
        return [PredResult(*fields) for fields in zip(self.positions, *columns)]


def warn_of_gaps(results: Iterable[PredResult], time_limit: float | None) -> None:
    """Warn if exact maps returned orders that are not proven best."""
    late, n_orders = [], 0
    for result in results:
        unproven = (np.asarray(result.method) == "exact") & ~np.asarray(result.proven)
        late.append(np.extract(unproven, result.gap))
        n_orders += unproven.size
    gaps = np.concatenate(late)
    if not len(gaps):
        return
    limit = "" if time_limit is None else f" within time_limit={time_limit!r} seconds"
    warn(
        f"{len(gaps)} of {n_orders} orders are not proven best{limit}; the largest gap is "
        f"{gaps.max():.3g}. With time_limit=None the exact map has no limit.",
        ConvergenceWarning,
    )


def check_stack(U: ArrayLike) -> Floats:
    """Return finite square matrices, one or a stack, or raise an error."""
    stack = arrays.checked(U, "U", order="C", allow_nd=True)
    if stack.ndim > 3:
        raise ValueError(f"U must have shape (r, r) or (n, r, r), got {stack.shape}.")
    if stack.shape[-1] != stack.shape[-2] or not stack.shape[-1]:
        raise ValueError(f"U must be square, one row and column per document, got {stack.shape}.")
    return stack


def on_stack(solve: Callable[[Floats], Any], U: ArrayLike) -> Any:
    """Apply a function of a stack to a stack, part by part, or to one matrix as a stack of one.

    The function returns an array, or a :class:`PredResult` of arrays, with one row per matrix.
    Rows must not depend on each other.
    """
    U = check_stack(U)
    if U.ndim == 2:
        result = solve(U[None])
        return result.each()[0] if isinstance(result, PredResult) else result[0]
    results = [solve(few) for few in parts(U, U[0].size)]
    if isinstance(results[0], PredResult):
        return PredResult(*map(np.concatenate, zip(*results)))
    return np.concatenate(results)


def parts(stack: Floats, cells: int) -> Iterator[Floats]:
    """Return parts of a stack that fit into the cache, at `cells` for each matrix."""
    step = max(1, CACHE_CELLS // cells)
    return (stack[start : start + step] for start in range(0, len(stack), step))


def order_to_positions(order: Ints) -> Ints:
    """Return the 1-based positions, given the documents in order, along the last axis."""
    positions = np.empty(order.shape, dtype=np.intp)
    np.put_along_axis(positions, order, np.arange(1, order.shape[-1] + 1), axis=-1)
    return positions


def total(stack: Floats) -> Floats:
    """Return the sum of each matrix."""
    return stack.reshape(len(stack), -1).sum(axis=1)


def without_rounding(values: Floats, read: Floats) -> Floats:
    """Return a stack of matrices whose values are equal where they differ by rounding alone.

    The unit is a power of two, about :math:`2^{-34}` of the largest value that is read. Absolute
    values that are connected by steps of at most half a unit are one value, and those connected to
    0 are 0. All become multiples of the unit, so that sums of them are exact in any order.

    * `values` (n, r, r): matrices.
    * `read` (n, r, r): what they were computed from, which says how large rounding is.
    """
    n = len(values)
    largest = np.abs(read).reshape(n, -1).max(axis=1)
    # The factor keeps the largest value, such as 1 of probabilities, from where the power jumps.
    exponent = np.frexp(0.9 * largest)[1] + _EXPONENT
    unit = np.ldexp(1.0, np.maximum(exponent, np.finfo(float).minexp - np.finfo(float).nmant))
    units = np.abs(values).reshape(n, -1)
    with np.errstate(over="ignore"):  # numpy 1.25 divides by more than it returns
        units /= unit[:, None]
    ordered = np.insert(units, 0, 0.0, axis=1)
    ordered.sort(axis=1)
    gaps, whole = np.diff(ordered, axis=1), np.rint(units)
    # Values that are connected are seldom on both sides of where numbers are rounded.
    row, at = np.nonzero((gaps > 0) & (gaps <= 0.5))
    split = np.rint(ordered[row, at]) < np.rint(ordered[row, at + 1])
    for i in np.unique(row[split]):
        _join(whole[i], units[i], ordered[i], gaps[i], at[split & (row == i)])
    whole *= unit[:, None]
    return np.copysign(whole, values.reshape(n, -1), out=whole).reshape(values.shape)


def _join(whole: Floats, units: Floats, ordered: Floats, gaps: Floats, split: Ints) -> None:
    """Set connected values that were rounded to several numbers to that of the least of them."""
    cuts = np.flatnonzero(gaps > 0.5)
    which = np.unique(np.searchsorted(cuts, split))
    least = ordered[np.append(0, cuts + 1)[which]]
    most = ordered[np.append(cuts, len(gaps))[which]]
    of = np.searchsorted(least, units, "right") - 1
    inside = (of >= 0) & (units <= most[of])
    whole[inside] = np.rint(least)[of[inside]]
