"""Problems that prediction maps solve: values of positions, and bounds of the best value."""

from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import Array, Bools, Floats, Ints
from ._quadratic import pairs_at, settled_pairs
from ._stacks import PredResult, order_to_positions, total, without_rounding


class Objective(NamedTuple):
    """A problem that prediction maps solve."""

    shape: str  # what surrogate values are of, "documents" or "pairs"
    larger_is_better: bool
    # For objectives of pairs: functions from a stack of matrices, positions, the name of a method
    # and parameters of the problem to their result, and from a stack to the (anti)symmetric
    # matrices that determine the positions.
    result: Any = None
    reads: Any = None
    parameters: tuple[str, ...] = ()  # of the problem, which a measure sets


def map_weights(U: Floats) -> Floats:
    """Return symmetric matrices with the lower triangles of a stack."""
    return np.tril(U) + np.tril(U, -1).swapaxes(1, 2)


def settled_weights(U: Floats) -> Floats:
    """Return the weights for MAP without rounding."""
    weights = map_weights(U)
    return without_rounding(weights, weights)


def map_result(
    weights: Floats, order: Ints, method: str, others: Floats, k: int | None
) -> PredResult:
    """Return positions with their value for MAP, given a bound of the values of all others."""
    value = map_value(weights, order[:, :k])
    bound = np.maximum(value, others)
    proven = bound - value <= 1e-12 * total(np.abs(weights))
    method = np.full(len(weights), method)
    return PredResult(order_to_positions(order), value, bound, proven, method)


def _map_at(U: Floats, positions: Ints, method: str, k: int | None = None) -> PredResult:
    weights = map_weights(U)
    return map_result(weights, np.argsort(positions, axis=1), method, map_bound(weights, k), k)


def map_value(weights: Floats, order: Ints) -> Floats:
    """Return the sum over the first positions of what the document there adds, over the position.

    `order` holds the documents at these positions.
    """
    n, k = order.shape
    placed = weights[np.arange(n)[:, None, None], order[:, :, None], order[:, None, :]]
    return (np.tril(placed).sum(axis=2) / np.arange(1, k + 1)).sum(axis=1)


def map_bound(weights: Floats, k: int | None = None) -> Floats:
    """Return bounds of the values for MAP.

    The weight of every set of m documents is bounded, and the bounds are summed by parts. In a set
    of m, document i adds ``u_ii`` and half of its links to m - 1 others, which is at most half of
    its m - 1 largest links. The m documents with the largest such values bound the set.
    """
    r = weights.shape[1]
    last = r if k is None else min(k, r)
    links = np.where(np.eye(r, dtype=bool), -np.inf, weights)
    links = -np.sort(-links, axis=2)[:, :, : r - 1]
    most = weights.diagonal(axis1=1, axis2=2)[:, :, None] + 0.5 * arrays.sums_before(links)
    top = np.cumsum(-np.sort(-most, axis=1), axis=1).diagonal(axis1=1, axis2=2)
    m = np.arange(1, last)
    return (top[:, : last - 1] / (m * (m + 1))).sum(axis=1) + top[:, last - 1] / last


def net_graph(U: Floats) -> Floats:
    """Return the net preferences ``u_ij - u_ji``, without rounding."""
    net = U - U.swapaxes(1, 2)
    return without_rounding(net, np.where(np.eye(U.shape[1], dtype=bool), 0.0, U))


def disagreement(U: Floats, positions: Ints) -> Floats:
    """Return the sum of the preferences that positions contradict."""
    return total(np.where(_later(positions), U, 0.0))


def disagreement_result(U: Floats, positions: Ints, excess: Floats, method: Array) -> PredResult:
    """Return positions with their disagreement, which exceeds the best by `excess` at most."""
    later = _later(positions)
    value = disagreement(U, positions)
    scale = total(np.where(later | later.swapaxes(1, 2), np.abs(U), 0.0))
    proven = excess <= 1e-9 * scale
    return PredResult(positions, value, np.where(proven, value, value - excess), proven, method)


def disagreement_at(U: Floats, positions: Ints, method: str) -> PredResult:
    """Return positions with their disagreement; the bound is the sum of pairwise minima."""
    contradicted = np.where(_later(positions), np.maximum(U - U.swapaxes(1, 2), 0.0), 0.0)
    return disagreement_result(U, positions, total(contradicted), np.full(len(U), method))


def _later(positions: Ints) -> Bools:
    """Return whether the document of the row is placed behind that of the column."""
    return positions[:, :, None] > positions[:, None, :]


#: Objectives by the names that measures and prediction maps use.
OBJECTIVES = {
    "positional": Objective("documents", True),
    "map": Objective("pairs", True, _map_at, settled_weights, ("k",)),
    "pairs": Objective("pairs", True, pairs_at, settled_pairs, ("basis",)),
    "disagreement": Objective("pairs", False, disagreement_at, net_graph),
}
