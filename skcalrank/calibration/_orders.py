"""Every order of a few documents, and what can be said of all of them at once."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np

from ..data import PART_CELLS

# Most documents whose orders are enumerated: 8! = 40,320.
_LARGEST = 8

# Values that differ by less, relative to the largest, are taken to be equal.
_TOLERANCE = 1e-10


@lru_cache(maxsize=_LARGEST)
def all_positions(r: int) -> np.ndarray:
    """1-based positions of r documents in every order, of shape (r!, r), not to be written."""
    if r > _LARGEST:
        raise ValueError(
            f"{r} documents have too many orders to enumerate: choose at most {_LARGEST}."
        )
    out = np.array(list(permutations(range(1, r + 1))))
    out.flags.writeable = False
    return out


def documents_in_order(positions: np.ndarray) -> np.ndarray:
    """The documents at positions 1, 2, ... of every row."""
    return np.argsort(positions, axis=1)


def is_best(values: np.ndarray) -> np.ndarray:
    """Which values are the largest, but for rounding."""
    return values >= values.max() - _TOLERANCE * np.abs(values).max()


def values_of_scores(values: np.ndarray, scores: np.ndarray, ties: str) -> np.ndarray:
    """Value of every row of scores, by the values of all orders and a policy for ties."""
    positions = all_positions(scores.shape[1])
    step = max(1, 2 * PART_CELLS // positions.size)
    parts = np.split(scores, range(step, len(scores), step))
    return np.concatenate([_over(values, _predicted(s, positions, ties), ties) for s in parts])


def _predicted(scores, positions, ties):
    """Which orders a sort of each row of scores can give, of shape (n_scores, n_orders)."""
    order = documents_in_order(positions)
    first, second = order[:, :-1], order[:, 1:]
    before, behind = scores[:, first], scores[:, second]
    tied = before == behind
    if ties == "stable":
        tied &= first < second
    elif ties == "reversed":
        tied &= first > second
    return ((before > behind) | tied).all(axis=2)


def _over(values, which, ties):
    """Values of the orders that each row of scores can give, as one."""
    if ties == "worst":
        return np.where(which, values, np.inf).min(axis=1)
    if ties == "best":
        return np.where(which, values, -np.inf).max(axis=1)
    return which @ values / which.sum(axis=1)


def pooled(values: np.ndarray) -> np.ndarray:
    """Non-increasing rows nearest to the rows given: isotonic regression of many at once.

    By its min-max formula: the smallest over starts, up to here, of the largest over ends,
    from here on, of the mean in between.
    """
    r = values.shape[1]
    start, stop = np.arange(r)[:, None], np.arange(r)
    summed = np.zeros((len(values), r + 1))
    np.cumsum(values, axis=1, out=summed[:, 1:])
    totals = summed[:, None, 1:] - summed[:, :-1, None]
    means = np.where(start <= stop, totals / np.maximum(stop - start + 1, 1), -np.inf)
    highest = np.maximum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    out = np.where(start <= stop, highest, np.inf).min(axis=1)
    # A mean is never outside, but for rounding.
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return np.clip(out, low, high)
