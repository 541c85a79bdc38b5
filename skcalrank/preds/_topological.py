"""Algorithm 1 of RAT13: drop the lightest edges until there is no cycle, then sort."""

from __future__ import annotations

import numpy as np

from ._matrix import check_square, order_to_positions
from ._result import PredResult

__all__ = [
    "disagreement_result",
    "net_graph",
    "topological_order",
    "topological_positions",
    "topological_result",
    "widest_cycle",
]


def topological_positions(U):
    r"""Positions by Algorithm 1 of RAT13 (section 7.2).

    The graph has an edge (i, j) of weight :math:`(u_{ij} - u_{ji})_+`; pairs of difference
    zero are no edges. Edges are deleted one by one in ascending order of weight until the
    graph is acyclic, and a topological order is returned. With least squares on all pairs it
    is calibrated (Fisher-consistent) for the pairwise disagreement on P_DAG (Theorem 7).

    Edges of equal weight are deleted in the order of (i, j), rows first. Among the
    topological orders the one is taken that puts first, of all documents that may come next,
    the one of largest net preference :math:`\sum_j (u_{ij} - u_{ji})`, and of those the first.

    Parameters
    ----------
    U : array-like of shape (r, r)
        Estimated preferences; the diagonal is not read.

    Returns
    -------
    positions : ndarray of int of shape (r,)
        1-based.

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
    net = net_graph(check_square(U))
    kept = _acyclic_part(np.maximum(net, 0.0))
    return order_to_positions(topological_order(kept, net.sum(axis=1)))


def topological_result(U):
    """Algorithm 1 with its value for the feedback arc set problem, and a bound on the best.

    Parameters
    ----------
    U : array-like of shape (r, r)

    Returns
    -------
    result : PredResult
        Proven when the graph is acyclic: then every pair is at its best.

    Examples
    --------
    >>> from skcalrank.preds import topological_result
    >>> topological_result([[0, 3], [1, 0]]).proven
    True
    """
    U = check_square(U)
    positions = topological_positions(U)
    return disagreement_result(U, positions, net_loss(U, positions), "topological")


def net_loss(U, positions):
    """Net preferences that the positions contradict: zero is the best there can be."""
    later = positions[:, None] > positions[None, :]
    return float(np.maximum(net_graph(U)[later], 0.0).sum())


def disagreement_result(U, positions, excess, method):
    """Positions with their pairwise disagreement, of which they may lose up to `excess`."""
    value = float(U[positions[:, None] > positions[None, :]].sum())
    proven = bool(excess <= 1e-9 * np.abs(U).sum())
    return PredResult(positions, value, value if proven else value - excess, proven, method)


def net_graph(U):
    """``u_ij - u_ji``."""
    return U - U.T


def _acyclic_part(weights):
    """Edges that are left when the lightest are deleted until there is no cycle.

    Acyclicity is monotone in the number deleted: first the critical weight is found, the
    largest that the lightest edge of a cycle has, then the number of its edges to delete.
    """
    critical = widest_cycle(weights)
    above = weights > critical
    if critical == 0:
        return above
    equal = np.flatnonzero(weights == critical)
    return _with(above, equal[_number_to_delete(above, *np.divmod(equal, len(above))) :])


def _number_to_delete(edges, row, column):
    """How many of these edges, in order, must go before the others make no cycle."""
    enough, number = 0, np.arange(len(row))
    last = len(row)
    while last:
        middle = last // 2
        graph = edges.copy()
        graph[row[middle:], column[middle:]] = True
        left = _peel(graph)
        if not len(left):
            last = middle
            continue
        # Deleting the first `middle` is not enough. Cycles pass through what is left alone.
        enough = number[middle] + 1
        place = np.full(len(edges), -1)
        place[left] = np.arange(len(left))
        edges = edges[np.ix_(left, left)]
        row, column = place[row], place[column]
        keep = (row >= 0) & (column >= 0)
        last = np.count_nonzero(keep[middle + 1 : last])
        keep[: middle + 1] = False
        number, row, column = number[keep], row[keep], column[keep]
    return enough


def widest_cycle(weights):
    """Largest weight that the lightest edge of a cycle has; 0 without a cycle.

    Parameters
    ----------
    weights : ndarray of shape (r, r)
        Positive where there is an edge.

    Returns
    -------
    weight : float
    """
    weights = np.maximum(weights, 0.0)
    return float(_close(weights) if len(weights) <= 150 else _bisect(weights))


def _close(weights):
    """By the closure of the widest paths: fastest up to some 150 documents."""
    widest = weights.copy()
    for k in range(len(weights)):
        np.maximum(widest, np.minimum(widest[:, k : k + 1], widest[k]), out=widest)
    return widest.diagonal().max()


def _bisect(weights):
    """By bisection over the weights: over a sample of them first, which saves sorting all."""
    # Invariant: keeping weights > high leaves no cycle, weights > low does (all, if low < 0).
    low, high = -1.0, _heaviest_back_edge(weights)
    candidates = weights.ravel()
    for step in (max(1, len(candidates) // 1024), 1):
        levels = np.sort(np.append(candidates[::step], 0.0))
        levels = levels[(levels > low) & (levels < high)]
        while len(levels):
            middle = len(levels) // 2
            left = _peel(weights > levels[middle])
            if len(left):
                # Cycles of fewer edges pass through what is left alone.
                low, weights = levels[middle], weights[np.ix_(left, left)]
                levels = levels[middle + 1 :]
            else:
                high, levels = levels[middle], levels[:middle]
        candidates = candidates[(candidates > low) & (candidates < high)]
    return high


def _heaviest_back_edge(weights):
    """Without the edges up to this weight, all point one way: an upper end to start from."""
    place = np.argsort(np.argsort(weights.sum(axis=0) - weights.sum(axis=1)))
    return np.max(weights, where=place[:, None] > place, initial=0.0)


def _with(edges, more):
    out = edges.copy()
    out.ravel()[more] = True
    return out


def _peel(edges):
    """Take sources and sinks away, layer by layer: what is left holds every cycle."""
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


def topological_order(edges, priority):
    """Documents in an order that follows the edges of an acyclic graph.

    Of all documents that may come next, the one of highest priority does.
    """
    waiting = edges.sum(axis=0)
    key = np.where(waiting == 0, priority, -np.inf)
    order = np.empty(len(edges), dtype=np.intp)
    for place in range(len(edges)):
        document = order[place] = int(key.argmax())
        key[document] = -np.inf
        waiting[document] = -1
        freed = np.flatnonzero(edges[document])
        waiting[freed] -= 1
        freed = freed[waiting[freed] == 0]
        key[freed] = priority[freed]
    return order
