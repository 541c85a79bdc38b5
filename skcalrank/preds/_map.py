"""The prediction map of MAP, a quadratic assignment that can be solved sequentially."""

import time
from functools import partial
from typing import Any

import numpy as np

from ..columns.types import Array, ArrayLike, Bools, Floats, Ints
from ..data import check
from ._base import heuristic_cost, preds_of_methods
from ._layers import search_layers
from ._objectives import map_bound, map_result, map_weights, settled_weights
from ._stacks import TIME_LIMIT, PredResult, check_stack, on_stack, parts, warn_of_gaps
from ._subsets import best_chain, weights_of_sets

# Largest number of documents whose sets are all enumerated, in some milliseconds, which "auto" is
# exact for; number of sets that the beam keeps.
_ALL_SETS_UP_TO = 16
_BEAM_WIDTH = 32


def map_positions(
    U: ArrayLike,
    *,
    k: int | None = None,
    method: str = "exact",
    time_limit: float | None = TIME_LIMIT,
) -> PredResult:
    r"""Return positions that maximize :math:`\sum_{i \ge j} U_{ij} / \max(\sigma(i), \sigma(j))`.

    With a cutoff k, for MAP@k, the sum is over pairs of documents at the first k positions. This is
    the exact prediction map of MAP: with least squares on :math:`y_i y_j / |y|_1` it is calibrated
    (Fisher-consistent) under every distribution (RAT13, section 6). By parts, the objective is the
    sum of the weights :math:`\sum_{i \ge j} u_{ij}` of the sets of the first m documents over
    :math:`m (m + 1)`, for m < k, and of the first k over k, so a dynamic program over sets is
    exact. For more than 16 documents it drops the sets from which a bound excludes orders better
    than the one that the beam search returns. In the worst case its time is exponential. Documents
    behind position k are in the order of what they would add to the set before them.

    Parameters
    ----------
    U : array-like of shape (r, r) or (n, r, r)
        Estimates of a query, or of n queries of r documents; only the lower triangle and the
        diagonal are read.
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    method : {"exact", "beam", "diagonal", "auto"}, default="exact"
        "beam" keeps the 32 best sets of each size; "diagonal" sorts by :math:`u_{ii}`, which is
        calibrated on P_reinforce (Theorem 4). "auto" is "exact" for up to 16 documents and "beam"
        for more.
    time_limit : float, default=10.0
        Seconds for each query after which the exact method returns the best order found, with a
        bound; a `ConvergenceWarning` counts such queries. If None, there is no limit.

    Returns
    -------
    result : PredResult
        ``positions``, ``value`` (higher is better), ``bound``, ``proven``, ``method``; arrays of
        them for a stack.

    Raises
    ------
    ValueError
        If U is not square or holds NaN or infinity, the method is unknown, k is no integer >= 1,
        or `time_limit` is not positive.

    Examples
    --------
    >>> from skcalrank.preds import map_positions
    >>> map_positions([[0.1, 0, 0], [0, 0.5, 0], [0, 0.2, 0.4]]).positions
    array([3, 1, 2])
    >>> map_positions([[0.1, 0, 0], [0, 0.5, 0], [0, 0.2, 0.4]], k=1).value
    0.5
    """
    result = _positions(U, k=k, method=method, time_limit=time_limit)
    warn_of_gaps([result], time_limit)
    return result


def _positions(
    U: ArrayLike, *, k: int | None = None, method: str, time_limit: float | None = TIME_LIMIT
) -> PredResult:
    """Return positions without a warning, because rankers warn once for many stacks."""
    check.option("method", method, ("exact", *_SOLVERS, "auto"))
    check.time_limit(time_limit)
    check.cutoff(k)
    U = check_stack(U)
    if method == "auto":
        method = "exact" if U.shape[-1] <= _ALL_SETS_UP_TO else "beam"
    k = min(k or U.shape[-1], U.shape[-1])
    return on_stack(partial(_solve, method=method, time_limit=time_limit, k=k), U)


# The functions below take stacks of matrices, and a cutoff up to the number of documents.


def _solve(U: Floats, method: str, time_limit: float | None, k: int) -> PredResult:
    weights, read = settled_weights(U), map_weights(U)
    if method == "exact":
        first, others = _exact(weights, time_limit, k)
    else:
        first, others = _SOLVERS[method](weights, k), map_bound(read, k)
    return map_result(read, _completed(weights, first), method, others, k)


def _completed(weights: Floats, first: Ints) -> Ints:
    """Return orders of all documents, given the first ones."""
    r = weights.shape[1]
    if first.shape[1] == r:
        return first
    links = np.take_along_axis(weights, first[:, None], axis=2).sum(axis=2)
    gains = weights.diagonal(axis1=1, axis2=2) + links
    np.put_along_axis(gains, first, -np.inf, axis=1)
    rest = np.argsort(-gains, axis=1, kind="stable")[:, : r - first.shape[1]]
    return np.concatenate([first, rest], axis=1)


def _exact(weights: Floats, time_limit: float | None, k: int) -> tuple[Ints, Floats]:
    """Return first documents, and bounds of the values of all others; best ones leave none."""
    n, r, _ = weights.shape
    others = np.full(n, -np.inf)
    if r <= _ALL_SETS_UP_TO:
        return np.concatenate([_over_subsets(w, k) for w in parts(weights, 1 << r)]), others
    order = _beam(weights, k)
    for query in range(n):
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        order[query], others[query] = search_layers(weights[query], order[query], deadline)
    return order, others


def _over_subsets(weights: Floats, k: int) -> Ints:
    """Return the best first documents by dynamic programming over the sets placed first.

    With summation by parts, the set of the first m < k documents contributes its weight over
    ``m (m + 1)``, the set of the first k its weight over k, and larger sets nothing.
    """
    worth, r = weights_of_sets(weights), weights.shape[1]
    size = 0
    for j in range(r):
        size = size + (np.arange(1 << r) >> j & 1)
    share = np.where(size < k, 1.0 / np.maximum(size * (size + 1.0), 1.0), 0.0)
    share[size == k] = 1.0 / k
    worth *= share[:, None]
    return best_chain(worth)[:, :k]


def _diagonal(weights: Floats, _k: int) -> Ints:
    return np.argsort(-weights.diagonal(axis1=1, axis2=2), axis=1, kind="stable")


def _beam(weights: Floats, k: int) -> Ints:
    """Return first documents found by growing the best sets of each size, one at a time."""
    n, r, _ = weights.shape
    rows = np.arange(n)[:, None]
    diagonal = weights.diagonal(axis1=1, axis2=2)[:, None]
    # The key of a set is the sum of random numbers of its documents.
    keys: Any = np.random.default_rng(0).integers(1 << 62, size=r, dtype=np.uint64)
    inside, key = np.zeros((n, 1, r), dtype=bool), np.zeros((n, 1), dtype=np.uint64)
    value, linked = np.zeros((n, 1)), np.zeros((n, 1, r))
    steps = []
    for size in range(1, k + 1):
        reached = value[:, :, None] + (diagonal + linked) / size
        reached[inside] = -np.inf
        reached = reached.reshape(n, -1)
        chosen, new = _best_distinct(reached, (key[:, :, None] + keys).reshape(n, -1))
        parent, document = np.divmod(chosen, r)
        # States of value minus infinity fill the beam if there are too few sets.
        value = np.where(new, reached[rows, chosen], -np.inf)
        inside, linked = inside[rows, parent], linked[rows, parent] + weights[rows, document]
        np.put_along_axis(inside, document[:, :, None], True, axis=2)
        key = key[rows, parent] + keys[document]
        steps.append((parent, document))
    order, state = np.empty((n, k), dtype=np.intp), np.zeros(n, dtype=np.intp)
    for place, (parent, document) in zip(range(k - 1, -1, -1), reversed(steps)):
        order[:, place], state = document[rows[:, 0], state], parent[rows[:, 0], state]
    return order


def _best_distinct(values: Floats, keys: Array) -> tuple[Ints, Bools]:
    """Return places of the best values with distinct keys in each row, up to the width of the beam.

    Also return whether each place is valid, because rows may have fewer distinct keys.
    """
    # Enough for 32 keys: places are edges of a hypercube, from the sets in the beam to larger ones,
    # and 64 vertices have at most 192 edges between them.
    most, rows = min(8 * _BEAM_WIDTH, values.shape[1]), np.arange(len(values))[:, None]
    best = np.sort(np.argpartition(-values, most - 1, axis=1)[:, :most], axis=1)
    best = best[rows, np.argsort(-values[rows, best], axis=1, kind="stable")]
    repeated = _repeated(keys[rows, best])
    kept = np.argsort(repeated, axis=1, kind="stable")[:, :_BEAM_WIDTH]
    return best[rows, kept], ~repeated[rows, kept]


def _repeated(keys: Array) -> Bools:
    """Return whether an equal key occurs earlier in the row."""
    order = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    out = np.zeros(keys.shape, dtype=bool)
    np.put_along_axis(out, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return out


_SOLVERS = {"beam": _beam, "diagonal": _diagonal}


# Bound of the exponent, so that the cost does not overflow.
_MOST = 1000


def _exact_cost(r: int) -> float:
    if r <= _ALL_SETS_UP_TO:
        return 5e-9 * r * 2.0**r
    return 0.02 * 1.5 ** (min(r, _MOST) - _ALL_SETS_UP_TO)


def _diagonal_cost(r: int) -> float:
    return 5e-8 * r**2


def _auto_cost(r: int) -> float:
    return _exact_cost(r) if r <= _ALL_SETS_UP_TO else heuristic_cost(r)


MAP_PREDS = preds_of_methods(
    _positions,
    "map",
    exact={"exact": True, "cost": _exact_cost, "options": ("time_limit",)},
    beam={},
    diagonal={"condition": "P_reinforce", "cost": _diagonal_cost},
    auto={"cost": _auto_cost},
)
