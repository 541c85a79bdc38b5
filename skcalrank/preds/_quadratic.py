"""Quadratic assignments of documents to positions: all orders, local search, and a bound."""

from collections.abc import Callable
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..columns.types import Floats, Ints, Self
from ._stacks import PredResult, order_to_positions, parts, total, without_rounding

# Largest number of documents whose orders are all enumerated.
ALL_ORDERS_UP_TO = 7
# Orders from which documents are exchanged.
_STARTS = 8
# Differences below this share of the size of a matrix are rounding.
_ROUNDING = 1e-11

Basis = Callable[[Ints], Floats]


def pairs_at(U: Floats, positions: Ints, method: str, basis: Basis) -> PredResult:
    """Return positions with their value and a bound, infinite if none is known."""
    if U.shape[1] <= ALL_ORDERS_UP_TO:
        bound = _values_of_orders(U, basis)[1].max(axis=1)
    else:
        flows = _flows(U, basis)
        bound = np.full(len(U), np.inf) if flows is None else _assigned(flows)[1]
    return _result(U, positions, bound, method, basis)


def settled_pairs(U: Floats) -> Floats:
    """Return matrices whose rows tell documents apart that differ in a row or a column."""
    settled = without_rounding(U, U)
    return settled + np.pi * settled.swapaxes(1, 2)


# The functions below take stacks of matrices.


def _result(U: Floats, positions: Ints, bound: Floats, method: str, basis: Basis) -> PredResult:
    value = total(U * basis(positions))
    bound = np.maximum(bound, value)
    proven = bound - value <= 1e-9 * total(np.abs(U))
    method = np.full(len(U), method)
    return PredResult(positions, value, np.where(proven, value, bound), proven, method)


def _values_of_orders(U: Floats, basis: Basis) -> tuple[Ints, Floats]:
    """Return the positions in every order, and the value of each for every matrix."""
    positions = np.array(list(permutations(range(1, U.shape[1] + 1))))
    cells = basis(positions).reshape(len(positions), -1)
    values = [u.reshape(len(u), -1) @ cells.T for u in parts(U, len(cells))]
    return positions, np.concatenate(values)


def _first_best(values: Floats, U: Floats) -> Ints:
    """Return the first value of each row that is the largest, up to rounding."""
    least = values.max(axis=1) - _ROUNDING * total(np.abs(U))
    return (values >= least[:, None]).argmax(axis=1)


def enumerated(U: Floats, basis: Basis) -> PredResult:
    """Return the best positions of all."""
    settled = without_rounding(U, U)
    positions, values = _values_of_orders(settled, basis)
    best = positions[_first_best(values, settled)]
    return _result(U, best, np.full(len(U), -np.inf), "exact", basis)


class _Flow(NamedTuple):
    """A part of the value, the sum of the products of `weights` of documents and `table`.

    `weights` is a stack of symmetric or antisymmetric matrices, `table` such a matrix of positions.
    """

    weights: Floats
    table: Floats

    def moved(self, order: Ints) -> Self:
        """Return the weights of the documents at the positions."""
        rows = np.arange(len(order))[:, None, None]
        return self._replace(weights=self.weights[rows, order[:, :, None], order[:, None]])

    def gains(self) -> Floats:
        """Return what the value gains if the documents at two positions are exchanged."""
        F, D = self
        product = F @ D.T + F.swapaxes(1, 2) @ D
        own, place = (m.diagonal(axis1=-2, axis2=-1)[..., None] for m in (product, D))
        document = F.diagonal(axis1=1, axis2=2)[:, :, None]
        gains = product + product.swapaxes(1, 2) - own - own.swapaxes(1, 2)
        # The sums above count the two positions themselves as if they stayed.
        across = F + F.swapaxes(1, 2) - document - document.swapaxes(1, 2)
        return gains + across * (D + D.T - place - place.T)


def _flows(U: Floats, basis: Basis) -> list[_Flow] | None:
    """Return the parts of the value, or None if the basis is not a function of two positions."""
    r = U.shape[1]
    ahead = np.arange(1, r + 1)
    some = np.random.default_rng(0).permuted(np.tile(ahead, (3, 1)), axis=1)
    at, back, *drawn = basis(np.array([ahead, ahead[::-1], *some]))
    back = back[::-1, ::-1]
    below = np.tril(at) + np.triu(back, 1)
    above = np.triu(at) + np.tril(back, -1)
    lower = np.tri(r, dtype=bool)
    for positions, given in zip(some - 1, drawn):
        moved = (table[np.ix_(positions, positions)] for table in (below, above))
        if not np.allclose(given, np.where(lower, *moved), rtol=1e-9, atol=1e-12):
            return None
    is_same = np.allclose(below, above, rtol=1e-9, atol=1e-12)
    parted = [(U, below)] if is_same else [(np.tril(U), below), (np.triu(U, 1), above)]
    return [
        _Flow((F + sign * F.swapaxes(1, 2)) / 2, (D + sign * D.T) / 2)
        for F, D in parted
        for sign in (1, -1)
        if (D + sign * D.T).any()
    ]


def _assigned(flows: list[_Flow]) -> tuple[Ints, Floats]:
    """Return the positions of best linear assignments, and their values, which are bounds.

    In a row of a flow, the largest weights meet the largest entries of the table at best.
    """
    most: Any = 0.0
    for F, D in flows:
        r = len(D)
        others = ~np.eye(r, dtype=bool)
        # Fortran's order, which the index gives a stack, would add in another order than alone.
        rows = np.ascontiguousarray(np.sort(F[:, others].reshape(len(F), r, r - 1), axis=2))
        places = np.sort(D[others].reshape(r, r - 1), axis=1)
        most = most + rows @ places.T + F.diagonal(axis1=1, axis2=2)[:, :, None] * D.diagonal()
    positions = np.array([linear_sum_assignment(gain, maximize=True)[1] for gain in most])
    return positions + 1, np.take_along_axis(most, positions[:, :, None], axis=2).sum(axis=(1, 2))


def searched(U: Floats, basis: Basis) -> PredResult:
    """Return positions that no exchange of two documents improves, and the linear bound."""
    settled = without_rounding(U, U)
    # Near 1, since gains among the smallest floats are rounding, and exchanges would never end.
    exponent = np.frexp(np.abs(settled).reshape(len(U), -1).max(axis=1))[1]
    settled = np.ldexp(settled, -exponent[:, None, None])
    flows = _flows(settled, basis)
    if flows is None:
        raise ValueError(
            "basis must be a function of the positions of two documents, the same below and the "
            f"same above the diagonal, for more than {ALL_ORDERS_UP_TO} documents: pass a map of "
            "your own as pred."
        )
    if not flows:
        flows = [_Flow(0.0 * settled, np.zeros(settled.shape[1:]))]
    start, bound = _assigned(flows)
    first, places = np.argsort(start, axis=1), np.arange(U.shape[1])
    # The same shuffles for every query.
    shuffles = np.random.default_rng(0).permuted(np.tile(places, (_STARTS - 2, 1)), axis=1)
    starts = (places, places[::-1], *shuffles)
    reached = [_exchanged(settled, flows, first[:, places]) for places in starts]
    values = np.stack([total(settled * basis(positions)) for positions in reached], axis=1)
    best = np.stack(reached, axis=1)[np.arange(len(U)), _first_best(values, settled)]
    with np.errstate(over="ignore"):
        bound = np.ldexp(bound, exponent)
    return _result(U, best, bound, "local_search", basis)


def _exchanged(U: Floats, flows: list[_Flow], order: Ints) -> Ints:
    """Return the positions after the best exchanges of two documents."""
    order, left = order.copy(), np.arange(len(U))
    r = U.shape[1]
    while len(left):
        chosen = [_Flow(F[left], D).moved(order[left]) for F, D in flows]
        gains = np.sum([flow.gains() for flow in chosen], axis=0).reshape(len(left), -1)
        best = _first_best(gains, U[left])
        better = gains[np.arange(len(left)), best] > _ROUNDING * total(np.abs(U[left]))
        left, (a, b) = left[better], np.divmod(best[better], r)
        order[left, a], order[left, b] = order[left, b], order[left, a]
    return order_to_positions(order)
