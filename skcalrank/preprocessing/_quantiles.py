"""Quantiles of columns, as `numpy.nanquantile` computes them.

Where several workers hold the rows, all of them count their values between the same edges. The
range that holds the value of a rank is then cut again, until a single value is left in it. Edges
are evenly spaced among the floating-point numbers, of which each step leaves a share of 1 in
``_CUTS``, so that there are at most nine steps, and about three for a million values.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..columns.types import Bools, Floats, Ints
from ..data import workers_of_fit

# Number of ranges that a range is cut into.
_CUTS = 256

_SIGN = np.uint64(1 << 63)

Columns = Callable[[], Iterable[Floats]]


class _Counted(NamedTuple):
    """Counts, smallest and largest of the values of columns, or of those in some ranges."""

    counts: Ints
    lows: Floats
    highs: Floats


def quantiles(columns: Floats, shares: Floats) -> Floats:
    """Return the quantiles of each row of a matrix; 0 of no value."""
    values: Floats = np.sort(np.ascontiguousarray(columns), axis=1)  # NaN last
    n_known = np.array([column.searchsorted(np.nan) for column in values])
    return _interpolated(n_known, shares, lambda ranks: np.take_along_axis(values, ranks, axis=1))


def _interpolated(n_known: Ints, shares: Floats, at: Callable[[Ints], Floats]) -> Floats:
    """Return quantiles, given the numbers of values and what the values at ranks are."""
    last = np.maximum(n_known - 1, 0)[:, None]
    places = last * shares
    first = places.astype(np.intp)
    below, above = np.hsplit(at(np.hstack([first, np.minimum(first + 1, last)])), 2)
    share, rise = places - first, above - below
    # From the nearer value, so that quantiles of equal values are equal to them.
    found = np.where(share < 0.5, below + rise * share, above - rise * (1.0 - share))
    return np.where(n_known[:, None] > 0, found, 0.0)


def quantiles_of_all(columns: Columns, shares: Floats) -> Floats:
    """Return the quantiles of each column, of the rows of all workers; 0 of no value.

    * `columns`: function that returns the columns of this worker, with NaN for missing values.
    * `shares` (n_quantiles,): quantiles to compute, from 0 to 1.

    Returns `quantiles` (n_columns, n_quantiles).
    """
    known: _Counted = workers_of_fit().total(lambda: _known(columns()), _added)
    return _interpolated(known.counts, shares, lambda ranks: _values_at(ranks, columns, known))


def _values_at(ranks: Ints, columns: Columns, known: _Counted) -> Floats:
    """Return the values of each column at its ranks, counted from 0."""
    low, high = (np.where(known.counts > 0, ends, 0.0)[:, None] for ends in known[1:])
    is_last = ranks == known.counts[:, None] - 1
    low, high = np.where(is_last, high, low), np.where(ranks == 0, low, high)
    before = np.zeros_like(ranks)  # number of values below the range
    while (searched := low < high).any():
        part = partial(_counted, columns, searched, _edges(low[searched], high[searched]))
        found: _Counted = workers_of_fit().total(part, _added)
        ends = before[searched][:, None] + np.cumsum(found.counts, axis=1)
        chosen = (ends <= ranks[searched][:, None]).sum(axis=1)
        at = np.arange(len(chosen)), chosen
        before[searched] = ends[at] - found.counts[at]
        low[searched], high[searched] = found.lows[at], found.highs[at]
    return low


def _edges(low: Floats, high: Floats) -> Floats:
    """Return the edges of the parts of ranges, evenly spaced among floating-point numbers."""
    first, last = (_ordinal(ends)[:, None] for ends in (low, high))
    step = np.maximum((last - first) // np.uint64(_CUTS), np.uint64(1))
    inner = first + step * np.arange(1, _CUTS, dtype=np.uint64)
    inner = np.minimum(inner, last)
    bits = np.where(inner & _SIGN, inner ^ _SIGN, ~inner)
    return np.column_stack([low, bits.view(np.float64), high])


def _ordinal(values: Floats) -> np.ndarray:
    """Return integers in the order of floating-point numbers, without gaps."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _known(columns: Iterable[Floats]) -> _Counted:
    """Return counts and ends of the values of columns that are not missing."""
    there = [column[~np.isnan(column)] for column in columns]
    return _Counted(
        np.array([len(values) for values in there]),
        np.array([values.min(initial=np.inf) for values in there], dtype=float),
        np.array([values.max(initial=-np.inf) for values in there], dtype=float),
    )


def _counted(columns: Columns, searched: Bools, edges: Floats) -> _Counted:
    """Return counts and ends of the values between edges, of which each rank has its own."""
    parts, of_ranks = [], iter(edges)
    for column, ranks in zip(columns(), searched):
        if ranks.any():
            values = np.sort(column[~np.isnan(column)])
            parts += [_between(values, next(of_ranks)) for _ in range(int(ranks.sum()))]
    return _Counted(*map(np.array, zip(*parts)))


def _between(values: Floats, edges: Floats) -> tuple[Ints, Floats, Floats]:
    """Return counts and ends of sorted values between edges, of which the last is included."""
    at = np.append(np.searchsorted(values, edges[:-1]), np.searchsorted(values, edges[-1], "right"))
    counts, padded = np.diff(at), np.append(values, 0.0)
    lows = np.where(counts > 0, padded[at[:-1]], np.inf)
    return counts, lows, np.where(counts > 0, padded[at[1:] - 1], -np.inf)


def _added(parts: list[_Counted]) -> _Counted:
    counts, lows, highs = zip(*parts)
    return _Counted(np.sum(counts, axis=0), np.min(lows, axis=0), np.max(highs, axis=0))
