"""Algorithm 1 of RAT13: delete the lightest edges until there is no cycle, then sort."""

from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Bools, Floats, Ints
from ._base import Pred
from ._objectives import disagreement_at, net_graph
from ._stacks import PredResult, on_stack, order_to_positions

# Numbers of documents up to which the closure of the widest paths is faster than bisection, and up
# to which closing all matrices of a stack at once is faster than one by one.
_CLOSE_UP_TO = 100
_TOGETHER_UP_TO = 32


def topological_positions(U: ArrayLike) -> Ints:
    r"""Return positions by Algorithm 1 of RAT13 (section 7.2).

    The graph has an edge (i, j) of weight :math:`(u_{ij} - u_{ji})_+`; pairs whose difference is
    zero have no edge. Edges are deleted one by one in ascending order of weight until the
    graph is acyclic, and a topological order is returned. With least squares on all pairs it
    is calibrated (Fisher-consistent) for pairwise disagreement on P_DAG (Theorem 7).

    Edges of equal weight are deleted in the order of (i, j), rows first. Among documents that may
    come next in the topological order, the one of largest net preference :math:`\sum_j (u_{ij} -
    u_{ji})` does, and among equal ones the first.

    Parameters
    ----------
    U : array-like of shape (r, r) or (n, r, r)
        Estimated preferences of a query, or of n queries of r documents; the diagonal is ignored.

    Returns
    -------
    positions : ndarray of int of shape (r,) or (n, r)
        1-based position of each document.

    Raises
    ------
    ValueError
        If U is not square or holds NaN or infinity.

    Examples
    --------
    >>> from skcalrank.preds import topological_positions
    >>> topological_positions([[0, 3, 0], [0, 0, 2], [1, 0, 0]])
    array([1, 2, 3])
    """
    return on_stack(_algorithm_one, U)


def topological_result(U: ArrayLike) -> PredResult:
    """Return the positions of Algorithm 1 with their disagreement, proven if there is no cycle."""
    return on_stack(lambda stack: disagreement_at(stack, _algorithm_one(stack), "topological"), U)


# The functions below take stacks of matrices.


def _algorithm_one(U: Floats) -> Ints:
    """Return the positions for a stack of matrices."""
    net = net_graph(U)
    edges, priority = net > 0, net.sum(axis=2)
    order, done = topological_order(edges, priority)
    if not done.all():
        kept = _acyclic_part(np.maximum(net[~done], 0.0))
        order[~done] = topological_order(kept, priority[~done])[0]
    return order_to_positions(order)


def _acyclic_part(weights: Floats) -> Bools:
    """Return the edges that remain when the lightest are deleted until there is no cycle.

    Acyclicity is monotone in the number of deleted edges. First the critical weight is computed,
    the largest weight that the lightest edge of a cycle has, then the number of its edges to
    delete.
    """
    critical = _widest(weights)[:, None, None]
    equal = (weights == critical) & (critical > 0)
    kept = weights > critical
    tied = np.flatnonzero(np.count_nonzero(equal, axis=(1, 2)) > 1)
    kept[tied] |= _later_turns(kept[tied], equal[tied])
    return kept


# Edges of the critical weight are deleted in row order. The number of the last one to delete is
# again a widest-cycle weight, if these edges are weighted by their turns and heavier ones by more.


def _later_turns(kept: Bools, equal: Bools) -> Bools:
    """Return the edges of the critical weight that remain, for each matrix."""
    n, r, _ = equal.shape
    turn = equal.reshape(n, r * r).cumsum(axis=1, dtype=float).reshape(equal.shape)
    turn[~equal] = 0.0
    turn[kept] = r * r + 1.0
    return equal & (turn > _widest(turn)[:, None, None])


def widest_cycle(weights: Floats) -> float:
    """Return the largest weight that the lightest edge of a cycle has, or 0 without a cycle."""
    return float(_widest(np.maximum(weights, 0.0)[None])[0])


def _widest(weights: Floats) -> Floats:
    """Return the widest-cycle weight of each matrix."""
    if weights.shape[1] <= _TOGETHER_UP_TO:
        return _close(weights)
    return np.array([_widest_in_core(matrix) for matrix in weights])


def _widest_in_core(weights: Floats) -> Any:
    """Return the widest-cycle weight of one matrix, without documents on no cycle."""
    core = _peel(weights > 0)
    if not len(core):
        return 0.0
    if len(core) < len(weights):
        weights = weights[np.ix_(core, core)]
    return _close(weights[None])[0] if len(core) <= _CLOSE_UP_TO else _bisect(weights)


def _close(weights: Floats) -> Floats:
    """Return the widest-cycle weights by the closure of the widest paths."""
    # Matrices on the last axis, because rows of few documents are short.
    widest = weights.transpose(1, 2, 0).copy()
    for k in range(len(widest)):
        np.maximum(widest, np.minimum(widest[:, k : k + 1], widest[k]), out=widest)
    return widest.diagonal().max(axis=1)


def _bisect(weights: Floats) -> Any:
    """Return the widest-cycle weight by bisection, first over a sample of the weights."""
    # Invariant: weights > high have no cycle, and weights > low have one.
    # Without edges up to `high`, all others follow one order.
    place = np.argsort(np.argsort(weights.sum(axis=0) - weights.sum(axis=1)))
    low, high = -1.0, np.max(weights, where=place[:, None] > place, initial=0.0)
    candidates = weights.ravel()
    for step in (max(1, len(candidates) // 1024), 1):
        levels = np.sort(np.append(candidates[::step], 0.0))
        levels = levels[(levels > low) & (levels < high)]
        while len(levels):
            middle = len(levels) // 2
            left = _peel(weights > levels[middle])
            if len(left):
                # Cycles of heavier edges can pass only through the remaining documents.
                low, weights = levels[middle], weights[np.ix_(left, left)]
                levels = levels[middle + 1 :]
            else:
                high, levels = levels[middle], levels[:middle]
        candidates = candidates[(candidates > low) & (candidates < high)]
    return high


def _peel(edges: Bools) -> Ints:
    """Remove sources and sinks layer by layer; return the rest, which holds every cycle."""
    count = edges.astype(np.float32)
    into, out_of = count.sum(axis=0), count.sum(axis=1)
    alive = np.ones(len(edges), dtype=bool)
    while True:
        sources = np.flatnonzero(alive & (into == 0))
        sinks = np.flatnonzero(alive & (out_of == 0))
        if not len(sources) and not len(sinks):
            return np.flatnonzero(alive)
        alive[sources] = alive[sinks] = False
        into -= count[sources].sum(axis=0)
        out_of -= count[:, sinks].sum(axis=1)


def topological_order(edges: Bools, priority: Floats) -> tuple[Ints, Any]:
    """Return documents in orders that follow the edges, and whether each graph is acyclic.

    Among documents that may come next, the one of highest priority does.
    """
    n, r = priority.shape
    waiting = edges.sum(axis=1)
    key = np.where(waiting == 0, priority, -np.inf)
    order, rows = np.empty((n, r), dtype=np.intp), np.arange(n)
    chosen = np.full((n, r), -np.inf)
    for place in range(r):
        document = order[:, place] = key.argmax(axis=1)
        chosen[:, place] = key[rows, document]
        key[rows, document] = -np.inf
        freed = edges[rows, document]
        waiting -= freed
        np.copyto(key, priority, where=freed & (waiting == 0))
    return order, (chosen > -np.inf).all(axis=1)


def _cost(r: int) -> float:
    return 1e-7 * r**2


TOPOLOGICAL = Pred("topological", "disagreement", topological_result, condition="P_DAG", cost=_cost)
