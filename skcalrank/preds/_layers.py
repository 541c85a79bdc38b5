"""Exact MAP of many documents: layers of sets that are placed first, with bounds of what follows.

A link ``u_ij`` between two documents is divided into shares ``a_ij + a_ji``, which belong to the
documents. If the shares of a document are added in descending order, what it gains at a place is
bounded whatever the others do, and the best places of all documents at once are an assignment
problem (Gilmore, 1962; Lawler, 1963). A subgradient method looks for shares of a small bound.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..columns import CACHE_CELLS, arrays, hash_keys
from ..columns.types import Array, Bools, Floats, Ints
from ._objectives import map_value

# Most steps of the subgradient method, and how much of the last direction is kept; steps without a
# smaller bound before they become shorter, by how much, and the shortest.
_STEPS, _MOMENTUM = 300, 0.7
_PATIENCE, _SHORTER, _SHORTEST = 10, 0.7, 1e-2
# Documents in the orders that may be kept of each layer, which bounds memory.
_KEPT = 1 << 22


class _Layer(NamedTuple):
    """Sets of equal size, each with its best order, whose value is `value`.

    No order that starts with the set is of a value above `bound`.
    """

    order: Ints
    value: Floats
    bound: Floats

    def take(self, which: Ints | Bools | slice) -> _Layer:
        return _Layer(self.order[which], self.value[which], self.bound[which])


def search_layers(weights: Floats, order: Ints, deadline: float) -> tuple[Ints, float]:
    """Return first documents that are at least as good, and a bound of the values of all others.

    The bound is minus infinity once they are known to be best.

    * `weights` (r, r): symmetric matrix.
    * `order` (k,): the first documents to start from: MAP has the cutoff k.
    * `deadline`: time of ``time.monotonic`` at which the search stops.
    """
    r, k, best = len(weights), len(order), _value(weights, order)
    tolerance = 1e-12 * np.abs(weights).sum()
    shares, bound = _shares(weights, k, best + tolerance, deadline)
    # Depth first, so that few sets of each size are kept.
    pending = [_Layer(np.zeros((1, 0), dtype=np.int16), np.zeros(1), np.array([bound]))]
    while pending and (time.monotonic() < deadline or pending[-1].order.shape[1] == k):
        layer = pending.pop()
        layer = layer.take(layer.bound > best + tolerance)
        size = layer.order.shape[1]
        if not len(layer.value):
            continue
        if size == k:
            order = layer.order[layer.value.argmax()].astype(np.intp)
            best = _value(weights, order)
            continue
        most = max(1, _KEPT // (r * (r - size)))
        if len(layer.value) > most:
            by_bound = np.argsort(-layer.bound, kind="stable")
            pending.append(layer.take(by_bound[most:]))
            layer = layer.take(by_bound[:most])
        pending.append(_next_layer(layer, weights, shares, k, best + tolerance))
    left = [layer.bound.max(initial=-np.inf) for layer in pending]
    left = max(left, default=-np.inf)
    return order, left if left > best + tolerance else -np.inf


def _value(weights: Floats, order: Ints) -> float:
    return float(map_value(weights[None], order[None])[0])


def _shares(weights: Floats, k: int, enough: float, deadline: float) -> tuple[Floats, float]:
    """Return shares of the links and the bound of all values that follows from them."""
    diagonal = weights.diagonal()
    shares = smallest = 0.5 * (weights - np.diag(diagonal))
    direction = np.zeros(shares.shape)
    bound, length, waited = np.inf, 0.5, 0
    for _ in range(_STEPS):
        value, slope = assignment_bound(diagonal, shares, k)
        waited += 1
        if value < bound:
            bound, smallest, waited = value, shares, 0
        # What one document gets of a link, the other loses.
        direction = 0.5 * (slope - slope.T) + _MOMENTUM * direction
        norm = (direction**2).sum()
        if bound <= enough or norm == 0 or length < _SHORTEST or time.monotonic() > deadline:
            break
        if waited == _PATIENCE:
            length, waited = _SHORTER * length, 0
        shares = shares - length * (value - enough) / norm * direction
    return smallest, bound


def assignment_bound(diagonal: Floats, shares: Floats, k: int) -> tuple[float, Floats]:
    """Return the bound of the best MAP@k for given shares, and a subgradient of it."""
    r = len(shares)
    others = np.where(np.eye(r, dtype=bool), -np.inf, shares)
    rank = np.argsort(-others, axis=1)[:, :-1]
    ordered = np.take_along_axis(shares, rank, axis=1)
    place = np.arange(1, r + 1)
    count = (place <= k) / place
    # At place p, the p - 1 largest shares count 1 / p each, and the others 1 / (p + 1), ..., 1 / k.
    gain = (arrays.sums_before(ordered) + diagonal[:, None]) * count
    gain[:, :-1] += np.cumsum((ordered * count[1:])[:, ::-1], axis=1)[:, ::-1]
    rows, column = linear_sum_assignment(gain, maximize=True)
    slope = np.zeros((r, r))
    np.put_along_axis(slope, rank, count[np.maximum(column[:, None], place[:-1])], axis=1)
    return float(gain[rows, column].sum()), slope


def _next_layer(layer: _Layer, weights: Floats, shares: Floats, k: int, enough: float) -> _Layer:
    """Return the sets with one document more from which a value above `enough` is possible."""
    r, size = len(weights), layer.order.shape[1]
    step = max(1, CACHE_CELLS // (r - size) ** 2)
    starts = range(0, len(layer.value), step)
    larger = [_grown(layer.take(slice(s, s + step)), weights, shares, k, enough) for s in starts]
    return _distinct(_Layer(*map(np.concatenate, zip(*larger))))


def _grown(layer: _Layer, weights: Floats, shares: Floats, k: int, enough: float) -> _Layer:
    """Return the sets with one document more, with repetitions."""
    n, size = layer.order.shape
    inside = np.zeros((n, len(weights)), dtype=bool)
    np.put_along_axis(inside, layer.order.astype(np.intp), True, axis=1)
    left = np.nonzero(~inside)[1].reshape(n, -1)
    gains = np.take_along_axis(inside @ weights, left, axis=1) + weights.diagonal()[left]
    within = shares[left[:, :, None], left[:, None, :]]
    bound = layer.value[:, None] + bound_of_rest(gains, within, size, k)
    bound = np.minimum(bound, layer.bound[:, None])
    row, column = np.nonzero(bound > enough)
    order = np.empty((len(row), size + 1), dtype=layer.order.dtype)
    order[:, :-1], order[:, -1] = layer.order[row], left[row, column]
    return _Layer(order, layer.value[row] + gains[row, column] / (size + 1), bound[row, column])


def bound_of_rest(gains: Floats, shares: Floats, size: int, k: int) -> Floats:
    r"""Return bounds of what the other documents add to a set, for each of them placed next.

    In the set of the first m documents, document i counts at most :math:`v_{im}`, which is its gain
    behind the present set and its largest shares, and the set counts :math:`1 / (m (m + 1))`, the
    one of k documents :math:`1 / k`, and larger ones 0. Any prices of the places, here sums of the
    thresholds that let the right number of documents into each set, bound the assignment of
    documents to places.

    * `gains` (n, q): diagonal and links to the present set, of the q documents left.
    * `shares` (n, q, q): shares of the links between them; overwritten.
    * `size`: number of documents in the present set, below k.
    * `k`: cutoff, at most size + q.
    """
    q = gains.shape[1]
    number = np.arange(min(q, k - size + 1))
    count = 1.0 / ((size + 1.0 + number) * (size + 2.0 + number))
    count[k - size - 1 :] = 0.0
    count[k - size - 1] = 1.0 / k
    shares[:, np.arange(q), np.arange(q)] = -np.inf
    np.negative(shares, out=shares)
    shares.sort(axis=2)
    most = gains[:, :, None] - arrays.sums_before(shares[:, :, : len(number) - 1])
    threshold = np.sort(most, axis=1)[:, q - 1 - number, number]
    most -= threshold[:, None]
    most *= count
    # What a document gains at each place beyond the price.
    most = np.cumsum(most[:, :, ::-1], axis=2)[:, :, ::-1]
    later = most[:, :, min(1, q - 1) :].max(axis=2)
    base = threshold @ (count * (number + 1)) + later.sum(axis=1)
    return base[:, None] + most[:, :, 0] - later


def _distinct(layer: _Layer) -> _Layer:
    """Return each set once, with its best order."""
    members = np.sort(layer.order, axis=1)
    # Equal sets have equal keys; others seldom do, and are told apart.
    key: Array = hash_keys(int(members.max(initial=0)) + 1)[members].sum(axis=1)
    by_key = np.lexsort((-layer.value, key))
    members, key = members[by_key], key[by_key]
    new = np.ones(len(key), dtype=bool)
    new[1:] = (key[1:] != key[:-1]) | (members[1:] != members[:-1]).any(axis=1)
    return layer.take(by_key[new])
