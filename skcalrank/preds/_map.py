"""The prediction map of MAP: a quadratic assignment, but a sequential one."""

from __future__ import annotations

import numpy as np

from .._validation import check_option
from ._matrix import check_square, order_to_positions
from ._result import PredResult
from ._subsets import best_chain, weights_of_sets

__all__ = ["MAP_METHODS", "map_positions"]

MAP_METHODS = ("exact", "beam", "diagonal", "auto")

# Two to this power sets are looked at in a tenth of a second; "auto" stays exact up to here.
_AUTO_UP_TO = 16
_EXACT_UP_TO = 20
_BEAM_WIDTH = 32


def map_positions(U, *, method="exact"):
    r"""Positions that maximise :math:`\sum_{i \ge j} U_{ij} / \max(\sigma(i), \sigma(j))`.

    The exact prediction map of MAP: with least squares on :math:`y_i y_j / |y|_1` it is
    calibrated (Fisher-consistent) under every distribution (RAT13, section 6). Placing
    document i at position k behind the set S gains
    :math:`(u_{ii} + \sum_{j \in S} u_{ij})/k`, so a dynamic programme over sets is exact.

    Parameters
    ----------
    U : array-like of shape (r, r)
        Estimates; the lower triangle is read, with the diagonal.
    method : {"exact", "beam", "diagonal", "auto"}, default="exact"
        "exact" for up to 20 documents; "beam" keeps the 32 best sets of each size;
        "diagonal" sorts by :math:`u_{ii}`, which is calibrated on P_reinforce (Theorem 4).
        "auto" is exact for up to 16 documents and a beam beyond.

    Returns
    -------
    result : PredResult
        ``positions``, ``value`` (higher is better), ``bound``, ``proven``, ``method``.

    Raises
    ------
    ValueError
        If U is not square or holds NaN or infinity, the method is unknown, or "exact" is
        asked of more than 20 documents.

    Examples
    --------
    >>> from skcalrank.preds import map_positions
    >>> map_positions([[0.1, 0, 0], [0, 0.5, 0], [0, 0.2, 0.4]]).positions
    array([3, 1, 2])
    """
    check_option("method", method, MAP_METHODS)
    U = check_square(U)
    r = len(U)
    if method == "auto":
        method = "exact" if r <= _AUTO_UP_TO else "beam"
    if method == "exact" and r > _EXACT_UP_TO:
        raise ValueError(
            f"method='exact' looks at all sets of documents, and {r} documents have too many "
            f"(at most {_EXACT_UP_TO}): use method='auto' or 'beam'."
        )
    weights = np.tril(U) + np.tril(U, -1).T
    order = _SOLVERS[method](weights)
    value = _value(weights, order)
    bound = value if method == "exact" else max(value, _upper_bound(weights))
    proven = bool(bound - value <= 1e-12 * np.abs(weights).sum())
    return PredResult(order_to_positions(order), value, bound, proven, method)


def _value(weights, order):
    """Sum over positions of what the document there adds, over the position."""
    added = np.tril(weights[np.ix_(order, order)]).sum(axis=1)
    return float((added / np.arange(1, len(order) + 1)).sum())


def _exact(weights):
    within = weights_of_sets(weights)

    def gain(document, before, size):
        return (within[before | (1 << document)] - within[before]) / (size + 1)

    return best_chain(len(weights), gain)


def _diagonal(weights):
    return np.argsort(-weights.diagonal(), kind="stable")


def _beam(weights):
    """Grow the best sets of each size, one document at a time."""
    r = len(weights)
    diagonal = weights.diagonal()
    # Sets are told apart by the sum of their documents' keys.
    keys = np.random.default_rng(0).integers(1 << 62, size=r, dtype=np.uint64)
    inside, key = np.zeros((1, r), dtype=bool), np.zeros(1, dtype=np.uint64)
    value, linked = np.zeros(1), np.zeros((1, r))
    steps = []
    for size in range(1, r + 1):
        reached = value[:, None] + (diagonal + linked) / size
        reached[inside] = -np.inf
        chosen = _best_distinct(reached.ravel(), (key[:, None] + keys).ravel())
        parent, document = np.divmod(chosen, r)
        keep = np.isfinite(reached[parent, document])
        parent, document = parent[keep], document[keep]
        value = reached[parent, document]
        inside, linked = inside[parent], linked[parent] + weights[document]
        inside[np.arange(len(parent)), document] = True
        key = key[parent] + keys[document]
        steps.append((parent, document))
    order, state = [], 0
    for parent, document in reversed(steps):
        order.append(document[state])
        state = parent[state]
    return np.array(order[::-1])


def _best_distinct(values, keys):
    """Places of the best values with different keys, as many as the beam is wide."""
    for most in (8 * _BEAM_WIDTH, len(values)):
        most = min(most, len(values))
        best = np.argpartition(-values, most - 1)[:most]
        best = best[np.lexsort((best, -values[best]))]
        _, first = np.unique(keys[best], return_index=True)
        if len(first) >= _BEAM_WIDTH or most == len(values):
            break
    return best[np.sort(first)[:_BEAM_WIDTH]]


def _upper_bound(weights):
    """No set of k documents weighs more than this; summed by parts over k.

    In a set of k, document i adds ``u_ii`` and half of its links to k - 1 others, at most its
    k - 1 largest; the k documents that could add most bound the set.
    """
    r = len(weights)
    links = weights.copy()
    np.fill_diagonal(links, -np.inf)
    links = -np.sort(-links, axis=1)[:, : r - 1]
    most = np.zeros((r, r))
    np.cumsum(links, axis=1, out=most[:, 1:])
    most = weights.diagonal()[:, None] + 0.5 * most
    top = np.cumsum(-np.sort(-most, axis=0), axis=0).diagonal()
    k = np.arange(1, r)
    return float((top[:-1] / (k * (k + 1))).sum() + top[-1] / r)


_SOLVERS = {"exact": _exact, "beam": _beam, "diagonal": _diagonal}
