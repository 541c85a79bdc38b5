"""Dynamic programmes over the sets of documents that are placed first."""

from __future__ import annotations

import numpy as np

__all__ = ["best_chain", "weights_of_sets"]


def weights_of_sets(weights: np.ndarray) -> np.ndarray:
    """Sum of a symmetric matrix's lower triangle over every set, diagonal included.

    Set S has the number ``sum_{i in S} 2^i``.
    """
    r = len(weights)
    total = np.zeros(1 << r)
    for j in range(r):
        over = np.zeros(1)
        for i in range(j):
            over = np.concatenate([over, over + weights[j, i]])
        total[1 << j : 2 << j] = total[: 1 << j] + over + weights[j, j]
    return total


def best_chain(r: int, gain) -> np.ndarray:
    """Order of the documents whose chain of sets has the largest total gain.

    ``gain(document, before, size)`` is what placing a document behind each of the sets
    ``before`` of ``size`` documents is worth.
    """
    best = np.full(1 << r, -np.inf)
    last = np.zeros(1 << r, dtype=np.int8)
    best[0] = 0.0
    for size, sets in enumerate(_by_size(r)):
        for i in range(r):
            after = sets[(sets >> i) & 1 == 1]
            before = after ^ (1 << i)
            value = best[before] + gain(i, before, size)
            better = value > best[after]
            best[after[better]], last[after[better]] = value[better], i
    chosen, order = (1 << r) - 1, []
    while chosen:
        order.append(int(last[chosen]))
        chosen ^= 1 << order[-1]
    return np.array(order[::-1], dtype=np.intp)


def _by_size(r):
    """Sets of 1, 2, ... documents; the n-th group extends sets of n documents."""
    size = np.zeros(1 << r, dtype=np.int8)
    for j in range(r):
        size[1 << j : 2 << j] = size[: 1 << j] + 1
    order = np.argsort(size, kind="stable")
    return np.split(order, np.cumsum(np.bincount(size))[:-1])[1:]
