"""Dynamic programs over the sets of documents that are placed first.

Set S has the number ``sum_{i in S} 2^i``. Arrays over sets have the matrices of a stack on their
last axis, so that all matrices are processed at once.
"""

from collections.abc import Sequence

import numpy as np

from ..columns.types import Floats, Ints


def weights_of_sets(weights: Floats) -> Floats:
    """Return the sum of the lower triangle of each matrix over every set, diagonal included.

    Maps a stack of shape (n, r, r) to an array of shape (2^r, n).
    """
    n, r, _ = weights.shape
    total = np.zeros((1 << r, n))
    for j in range(r):
        over = weights[None, :, j, j]
        for i in range(j):
            over = np.concatenate([over, over + weights[:, j, i]])
        total[1 << j : 2 << j] = total[: 1 << j] + over
    return total


def best_chain(worth: Floats, behind: Floats | None = None) -> Ints:
    """Return the orders of the documents, of shape (n, r), whose chains of sets are worth most.

    `worth`, of shape (2^r, n), is the value of each set if it is placed first; `behind`, of shape
    (r, 2^r, n), is the value of placing a document right behind a set.
    """
    r = len(worth).bit_length() - 1
    best = worth.copy()
    for size, sets in enumerate(_by_size(r), start=1):
        best[sets] += _best_arrival(best, behind, sets, size)
    columns = np.arange(worth.shape[1])
    documents = np.arange(r)[:, None]
    order = np.empty((worth.shape[1], r), dtype=np.intp)
    placed = np.full(worth.shape[1], len(worth) - 1)
    for place in range(r - 1, -1, -1):
        before = placed ^ (1 << documents)
        value = best[before, columns]
        if behind is not None:
            value += behind[documents, before, columns]
        value[before > placed] = -np.inf
        last = order[:, place] = value.argmax(axis=0)
        placed ^= 1 << last
    return order


def _best_arrival(best: Floats, behind: Floats | None, sets: Ints, size: int) -> Floats:
    """Return the largest value with which each set is reached, over its last document."""
    left, top = sets, np.full((len(sets), best.shape[1]), -np.inf)
    for _ in range(size):
        document = left & -left
        left = left ^ document
        before = sets ^ document
        value = best.take(before, axis=0)
        if behind is not None:
            number = np.frexp(document)[1] - 1
            value += behind.reshape(-1, behind.shape[2]).take(number * len(best) + before, axis=0)
        np.maximum(top, value, out=top)
    return top


def _by_size(r: int) -> Sequence[Ints]:
    """Return the sets of 1, 2, ... documents."""
    size = np.zeros(1 << r, dtype=np.int8)
    for j in range(r):
        size[1 << j : 2 << j] = size[: 1 << j] + 1
    return np.split(np.argsort(size, kind="stable"), np.cumsum(np.bincount(size))[:-1])[1:]
