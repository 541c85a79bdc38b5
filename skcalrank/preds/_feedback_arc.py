"""Minimum weighted feedback arc set, the exact prediction map of pairwise disagreement."""

import time
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from ..columns.types import ArrayLike, Bools, Floats, Ints, Seed
from ..data import check
from ._base import heuristic_cost, preds_of_methods
from ._insertion import by_net_preference, contradicted, descend, descend_together
from ._linear_ordering import solve_exactly
from ._objectives import disagreement_result, net_graph
from ._stacks import TIME_LIMIT, PredResult, on_stack, order_to_positions, parts, warn_of_gaps
from ._subsets import best_chain
from ._topological import topological_order

# Size up to which components are solved over their subsets; integer programs solve larger ones.
_SUBSETS_UP_TO = 14

# Size above which components are solved by local search under method="auto".
_AUTO_UP_TO = 20

# Size up to which components are searched together if they are equally large.
_STACKS_UP_TO = 32


def feedback_arc_positions(
    U: ArrayLike,
    *,
    method: str = "exact",
    time_limit: float | None = TIME_LIMIT,
    random_state: Seed = 0,
) -> PredResult:
    r"""Return positions that minimize :math:`\sum_{i \ne j} U_{ij} 1(\sigma(i) > \sigma(j))`.

    This is the exact prediction map of pairwise disagreement: with least squares on all pairs it is
    calibrated (Fisher-consistent) under every distribution (RAT13, section 7). The problem is
    the minimum weighted feedback arc set, which is NP-hard in general.

    The exact method splits the graph of net preferences :math:`u_{ij} - u_{ji} > 0` into strongly
    connected components, whose order relative to each other is known, and solves each of them: by
    dynamic programming over its subsets if it is small, else by the linear-ordering program: its
    dual over the triangle inequalities bounds it and gives the first of them, violated ones are
    added in rounds, and the pairs that stay undecided are branched on. With the optional solver
    highspy (``pip install "skcalrank[exact]"``) each round starts from the last one; without it,
    scipy's integer programs start anew.

    Parameters
    ----------
    U : array-like of shape (r, r) or (n, r, r)
        Estimated preferences of a query, or of n queries of r documents; the diagonal is ignored.
    method : {"exact", "local_search", "auto"}, default="exact"
        "local_search" moves single documents to their best place until no move improves the value.
        "auto" is exact on components of up to 20 documents and uses local search on larger ones.
    time_limit : float, default=10.0
        Seconds for each query, as in :func:`map_positions`.
    random_state : int, RandomState instance or None, default=0
        Seed of the search for orders before they are proven, the same for every query.

    Returns
    -------
    result : PredResult
        ``positions``, ``value`` (lower is better), ``bound``, ``proven``, ``method``; arrays of
        them for a stack.

    Raises
    ------
    ValueError
        If U is not square or holds NaN or infinity, or the method is unknown.

    Examples
    --------
    >>> from skcalrank.preds import feedback_arc_positions
    >>> result = feedback_arc_positions([[0, 3, 0], [0, 0, 2], [1, 0, 0]])
    >>> result.positions, result.value, result.proven
    (array([1, 2, 3]), 1.0, True)
    """
    result = _positions(U, method=method, time_limit=time_limit, random_state=random_state)
    warn_of_gaps([result], time_limit)
    return result


def _positions(
    U: ArrayLike, *, method: str, time_limit: float | None = TIME_LIMIT, random_state: Seed = 0
) -> PredResult:
    """Return positions without a warning, because rankers warn once for many stacks."""
    check.option("method", method, ("exact", "local_search", "auto"))
    check.time_limit(time_limit)
    exact_up_to = {"exact": np.inf, "auto": _AUTO_UP_TO, "local_search": 0}[method]
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    return on_stack(partial(_solve, limits=_Limits(exact_up_to, time_limit, seed)), U)


# The functions below take stacks, down to the solvers of one component.


class _Limits(NamedTuple):
    """How components are solved."""

    exact_up_to: float
    time_limit: float | None
    seed: int

    def start(self) -> tuple[float, np.random.Generator]:
        """Return the deadline of a query, and a generator of its draws."""
        deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
        return deadline, np.random.default_rng(self.seed)

    def together(self, size: Ints) -> Bools:
        """Return whether components of these sizes are solved in stacks."""
        most = np.where(size > self.exact_up_to, _STACKS_UP_TO, _SUBSETS_UP_TO)
        return (size > 1) & (size <= most)


def _solve(U: Floats, limits: _Limits) -> PredResult:
    """Return the order of the components, and within each its own order, as positions."""
    net = net_graph(U)
    head, size = _components(net)
    together = limits.together(size)
    place = len(net[0]) * np.take_along_axis(_place_of_heads(net, head, size), head, axis=1)
    small = _places_in_small(net, head, np.where(together, size, 0), limits.exact_up_to)
    large = _places_in_large(net, np.where((size > 1) & ~together, head, -1), limits)
    positions = order_to_positions(np.argsort(place + small[0] + large[0], axis=1))
    name = np.where(size.max(axis=1) > limits.exact_up_to, "local_search", "exact")
    return disagreement_result(U, positions, small[1] + large[1], name)


def _components(net: Floats) -> tuple[Ints, Ints]:
    """Return the first document of the strong component of each document, and its size."""
    n, r, _ = net.shape
    # All queries form one graph without edges between them.
    edges = net > 0
    query, _, loser = np.nonzero(edges)
    ends = np.append(0, np.cumsum(np.count_nonzero(edges, axis=2)))
    graph = csr_matrix((np.ones(len(loser), dtype=bool), query * r + loser, ends), (n * r, n * r))
    n_components, label = connected_components(graph, connection="strong")
    first = np.empty(n_components, dtype=np.intp)
    first[label[::-1]] = np.arange(n * r)[::-1]
    size = np.bincount(label)
    return first[label].reshape(n, r) % r, size[label].reshape(n, r)


def _place_of_heads(net: Floats, head: Ints, size: Ints) -> Ints:
    """Return the places of the components in an order that follows the edges between them.

    Each component is represented by its first document. Among components that may come next, the
    one of largest mean net preference does. The places of all other documents are meaningless.
    """
    n, r, _ = net.shape
    query, winner, loser = np.nonzero((net > 0) & (head[:, :, None] != head[:, None, :]))
    edges = np.zeros(net.shape, dtype=bool)
    edges[query, head[query, winner], head[query, loser]] = True
    flat = (head + r * np.arange(n)[:, None]).ravel()
    sums = np.bincount(flat, net.sum(axis=2).ravel(), n * r).reshape(n, r)
    return order_to_positions(topological_order(edges, sums / size)[0])


# Places within components come with a bound on the excess of the loss of each query.


def _places_in_small(
    net: Floats, head: Ints, size: Ints, exact_up_to: float
) -> tuple[Ints, Floats]:
    """Return places within components, solved together for each size; size 0 is skipped."""
    place, excess = np.zeros(head.shape, dtype=np.intp), np.zeros(len(net))
    for r in np.unique(size[size > 0]):
        query, document = np.nonzero(size == r)
        by_component = np.lexsort((head[query, document], query))
        query = query[by_component].reshape(-1, r)
        document = document[by_component].reshape(-1, r)
        within = net[query[:, :1, None], document[:, :, None], document[:, None, :]]
        solve, cells = (_over_subsets, r << r) if r <= exact_up_to else (descend_together, r * r)
        order = np.concatenate([solve(few) for few in parts(within, cells)])
        place[query, np.take_along_axis(document, order, axis=1)] = np.arange(r)
        if r > exact_up_to:
            np.add.at(excess, query[:, 0], contradicted(within, order))
    return place, excess


def _places_in_large(net: Floats, head: Ints, limits: _Limits) -> tuple[Ints, Floats]:
    """Return places within components, solved one by one; documents with head -1 are skipped."""
    place, excess = np.zeros(head.shape, dtype=np.intp), np.zeros(len(net))
    for query in np.flatnonzero((head >= 0).any(axis=1)):
        deadline, rng = limits.start()
        for first in np.unique(head[query, head[query] >= 0]):
            component = np.flatnonzero(head[query] == first)
            solve = solve_exactly if len(component) <= limits.exact_up_to else _descend
            order, gap = solve(net[query][np.ix_(component, component)], deadline, rng)
            place[query, component[order]] = np.arange(len(order))
            excess[query] += gap
    return place, excess


def _over_subsets(net: Floats) -> Ints:
    """Return best orders of a stack by dynamic programming over the sets placed first."""
    n, r, _ = net.shape
    # Loss of placing each document behind every set, computed bit by bit of the set.
    behind = np.zeros((r, 1 << r, n))
    for j in range(r):
        behind[:, 1 << j : 2 << j] = behind[:, : 1 << j] - net[:, :, j].T[:, None]
    return best_chain(np.zeros((1 << r, n)), behind)


# Solvers of one component, which return an order and a bound on what a better one could save.


def _descend(net: Floats, _deadline: float, _rng: np.random.Generator) -> tuple[Ints, float]:
    """Return an order by local search, and the net preferences that it contradicts."""
    order = descend(net, by_net_preference(net))
    return order, contradicted(net, order)


def _exact_cost(r: int) -> float:
    return 1e-8 * r * 2.0**r if r <= _SUBSETS_UP_TO else 2e-7 * r**4.0


def _auto_cost(r: int) -> float:
    return _exact_cost(r) if r <= _AUTO_UP_TO else heuristic_cost(r)


FEEDBACK_ARC_PREDS = preds_of_methods(
    _positions,
    "disagreement",
    exact={"exact": True, "cost": _exact_cost, "options": ("time_limit",)},
    local_search={},
    auto={"cost": _auto_cost, "options": ("time_limit",)},
)
