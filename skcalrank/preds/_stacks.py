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
