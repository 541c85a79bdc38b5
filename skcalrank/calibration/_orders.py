"""All orders of a few documents, and functions that evaluate all of them at once."""

from functools import lru_cache
from itertools import permutations

import numpy as np

from ..columns import PART_CELLS, arrays
from ..columns.types import Bools, Floats, Ints

# Largest number of documents whose orders are enumerated: 8! = 40,320.
_LARGEST = 8

# Relative difference up to which values count as equal.
_TOLERANCE = 1e-10


@lru_cache(maxsize=_LARGEST)
def all_positions(r: int) -> np.ndarray:
    """Return the 1-based positions of r documents in every order, a read-only array (r!, r)."""
    if r > _LARGEST:
        raise ValueError(
            f"There must be at most {_LARGEST} documents, whose orders are enumerated, got {r}."
        )
    out = np.array(list(permutations(range(1, r + 1))))
    out.flags.writeable = False
    return out


def is_best(values: np.ndarray) -> np.ndarray:
    """Return which values are the largest, up to rounding."""
    return values >= values.max() - _TOLERANCE * np.abs(values).max()


def values_of_scores(values: np.ndarray, scores: np.ndarray, ties: str) -> np.ndarray:
    """Return the value of every row of scores, given the values of all orders."""
    positions = all_positions(scores.shape[1])
    step = max(1, 2 * PART_CELLS // positions.size)
    parts = np.split(scores, range(step, len(scores), step))
    return np.concatenate([_over(values, _predicted(s, positions, ties), ties) for s in parts])


def _predicted(scores: Floats, positions: Ints, ties: str) -> Bools:
    """Return which orders a sort of each row of scores can give, as (n_scores, n_orders)."""
    order = np.argsort(positions, axis=1)
    first, second = order[:, :-1], order[:, 1:]
    before, behind = scores[:, first], scores[:, second]
    tied = before == behind
    if ties == "stable":
        tied &= first < second
    elif ties == "reversed":
        tied &= first > second
    return ((before > behind) | tied).all(axis=2)


def _over(values: Floats, which: Bools, ties: str) -> Floats:
    """Return the mean, smallest or largest value over the orders that each row can give."""
    if ties == "worst":
        return np.where(which, values, np.inf).min(axis=1)
    if ties == "best":
        return np.where(which, values, -np.inf).max(axis=1)
    return which @ values / which.sum(axis=1)


def pooled(values: np.ndarray) -> np.ndarray:
    """Return the nearest non-increasing rows: isotonic regression of many rows at once.

    By the min-max formula: the minimum over starts up to a place, of the maximum over ends from
    there on, of the mean in between.
    """
    r = values.shape[1]
    start, stop = np.arange(r)[:, None], np.arange(r)
    summed = arrays.sums_before(values)
    totals = summed[:, None, 1:] - summed[:, :-1, None]
    means = np.where(start <= stop, totals / np.maximum(stop - start + 1, 1), -np.inf)
    highest = np.maximum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    out = np.where(start <= stop, highest, np.inf).min(axis=1)
    # Means are within the range of the values up to rounding.
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return np.clip(out, low, high)
