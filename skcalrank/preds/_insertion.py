"""Orders that no move of a document improves, and crossovers of them.

An order is scored by the net preferences that it contradicts. ``before[gap, document]`` is the net
preference of a document over all that are placed before the gap: a document that moves from one
place to another changes the loss by the difference of two entries of its column, and the array only
between the two.
"""

import time
from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints

# Orders that are crossed with each other.
_ORDERS = 24

# Rounding of sums of net preferences, as a share of the largest.
_ROUNDING = 1e-12


def by_net_preference(net: Floats) -> Ints:
    """Return the documents of matrices in descending order of their net preference."""
    return np.argsort(-net.sum(axis=-1), axis=-1, kind="stable")


def contradicted(net: Floats, order: Ints) -> Any:
    """Return the sum of the net preferences that an order contradicts, or of each of a stack."""
    placed = np.take_along_axis(net, order[..., :, None], axis=-2)
    placed = np.take_along_axis(placed, order[..., None, :], axis=-1)
    return np.maximum(np.tril(placed), 0.0).sum(axis=(-2, -1))


def descend_together(net: Floats) -> Ints:
    """Return orders of a stack of few documents that no move of one document improves.

    Each starts from the order of net preference, and makes its best move again and again.
    """
    orders, r = by_net_preference(net), net.shape[1]
    least_gain = _ROUNDING * r * np.abs(net).max(axis=(1, 2))
    left, order = np.arange(len(net)), orders
    while len(left):
        rows, place = np.arange(len(left)), np.argsort(order, axis=1)
        before = arrays.sums_before(np.take_along_axis(net[left], order[:, None], axis=2))
        gain = np.take_along_axis(before, place[:, :, None], axis=2)[:, :, 0] - before.min(axis=2)
        document = gain.argmax(axis=1)
        improves = gain[rows, document] > least_gain[left]
        rows, document, left = rows[improves], document[improves], left[improves]
        # Between the documents around the gap.
        place = place[rows].astype(float)
        place[np.arange(len(rows)), document] = before[rows, document].argmin(axis=1) - 0.5
        order = orders[left] = np.argsort(place, axis=1)
    return orders


def descend(net: Floats, order: Ints) -> Ints:
    """Move documents to their best places until no move of one document improves the order."""
    order, documents = order.copy(), np.arange(len(net))
    before = np.zeros((len(net) + 1, len(net)))
    np.cumsum(-net[order], axis=0, out=before[1:])
    place, least_gain = np.empty_like(order), _ROUNDING * len(net) * np.abs(net).max()
    place[order] = documents
    while True:
        gain = before[place, documents] - before.min(axis=0)
        movable = np.flatnonzero(gain > least_gain)
        if not len(movable):
            return order
        movable = movable[np.argsort(-gain[movable], kind="stable")]
        _move(net, order, before, movable, place[movable], before[:, movable].argmin(axis=0))
        place[order] = documents


def _move(net: Floats, order: Ints, before: Floats, movable: Ints, place: Ints, gaps: Ints) -> None:
    """Move documents to gaps, of those whose ways overlap only the first."""
    passed = bytearray(len(order))
    for document, old, gap in zip(movable.tolist(), place.tolist(), gaps.tolist()):
        first, last = min(old, gap), max(old, gap - 1)
        if any(passed[first : last + 1]):
            continue
        passed[first : last + 1] = b"\1" * (last + 1 - first)
        if gap < old:
            order[first + 1 : last + 1] = order[first:last]
            order[first] = document
            before[gap + 1 : old + 1] = before[gap:old] - net[document]
        else:
            order[first:last] = order[first + 1 : last + 1]
            order[last] = document
            before[old + 1 : gap] = before[old + 2 : gap + 1] + net[document]


class OrderSearch:
    """Orders of one matrix that are crossed and descend again.

    * `net` (r, r): net preferences, antisymmetric.
    * `rng`: draws what is crossed.
    """

    def __init__(self, net: Floats, rng: np.random.Generator) -> None:
        self.net, self.rng = net, rng
        self.orders: list[Ints] = []
        self.losses = np.zeros(0)
        self.add(by_net_preference(net))

    @property
    def loss(self) -> float:
        """Net preferences that the best order contradicts."""
        return float(self.losses.min())

    @property
    def best(self) -> Ints:
        """The best order."""
        return self.orders[int(self.losses.argmin())]

    def add(self, order: Ints) -> None:
        """Let an order descend, and keep it if it is better than the worst or there is room."""
        order = descend(self.net, order)
        loss = contradicted(self.net, order)
        if any(np.array_equal(order, self.orders[i]) for i in np.flatnonzero(self.losses == loss)):
            return
        if len(self.orders) < _ORDERS:
            self.orders.append(order)
            self.losses = np.append(self.losses, loss)
        elif loss <= self.losses.max():
            worst = int(self.losses.argmax())
            self.orders[worst], self.losses[worst] = order, loss

    def run(self, deadline: float, patience: float = np.inf) -> None:
        """Add orders until the deadline, or until so many in a row have not improved the best."""
        idle = 0
        while idle < patience and time.monotonic() < deadline:
            loss = self.loss
            if len(self.orders) < _ORDERS:
                self.add(self.rng.permutation(len(self.net)))
            else:
                first, second = self.rng.choice(len(self.orders), 2, replace=False)
                self.add(self._crossed(self.orders[first], self.orders[second]))
            idle = 0 if self.loss < loss else idle + 1

    def _crossed(self, first: Ints, second: Ints) -> Ints:
        """Return the first order, half of whose documents are in the order of the second one."""
        chosen = np.flatnonzero(self.rng.random(len(first)) < 0.5)
        place = np.empty_like(second)
        place[second] = np.arange(len(second))
        child = first.copy()
        child[chosen] = child[chosen[np.argsort(place[first[chosen]])]]
        return child
