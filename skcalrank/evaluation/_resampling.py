"""Resampling of queries: the bootstrap of means, sign flips of differences, and exchanges.

A block of resamples is one matrix, which is multiplied by the values of all systems and measures at
once. Every block has its own random generator, so that results do not depend on the number of
threads.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints, Seed
from ..data import each

# Approximate number of cells of a block, one for each resample and query.
_BLOCK_CELLS = 1 << 20

# Sums of flipped differences are equal up to this share of the sum of their absolute values, and
# values in units of their spread up to this number.
_ROUNDING = 1e-10


class _Block(NamedTuple):
    """Numbers of some resamples, with their generator; without one they are all that there are."""

    rows: slice
    generator: Any

    @property
    def n_rows(self) -> int:
        return self.rows.stop - self.rows.start

    def counts(self, n: int) -> Floats:
        """Return how often each of n queries is drawn, in each resample of n queries."""
        # Integers of 16 bits are drawn several times faster.
        kind: Any = np.uint16 if n <= 1 << 16 else int
        drawn = self.generator.integers(0, n, size=(self.n_rows, n), dtype=kind)
        cells = (drawn + n * np.arange(self.n_rows)[:, None]).ravel()
        return np.bincount(cells, minlength=drawn.size).reshape(drawn.shape).astype(float)

    def coins(self, n: int) -> Floats:
        """Return a matrix of fair coin flips, 0.0 or 1.0, with n columns."""
        if self.generator is None:
            return ((np.arange(self.n_rows)[:, None] >> np.arange(n)) & 1).astype(float)
        n_bits = self.n_rows * n
        drawn = np.frombuffer(self.generator.bytes(-(-n_bits // 8)), dtype=np.uint8)
        return np.unpackbits(drawn, count=n_bits).reshape(-1, n).astype(float)


def _blocks(n_resamples: int, n: int, random_state: Seed) -> list[_Block]:
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    step = max(1, _BLOCK_CELLS // n)
    starts = range(0, n_resamples, step)
    return [
        _Block(slice(start, min(start + step, n_resamples)), np.random.default_rng(seed))
        for start, seed in zip(starts, np.random.SeedSequence(random_state).spawn(len(starts)))
    ]


def by_pattern(columns: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Yield groups of columns that are defined on the same queries.

    Columns have shape (n_columns, n_queries), with NaN for undefined values. A group is the numbers
    of its columns, and their values without the undefined ones.
    """
    defined = ~np.isnan(columns)
    by_bytes: dict[bytes, list[int]] = {}
    for number, pattern in enumerate(defined):
        by_bytes.setdefault(pattern.tobytes(), []).append(number)
    for numbers in by_bytes.values():
        yield np.array(numbers), columns[numbers][:, defined[numbers[0]]]


def bootstrap_t(values: Floats, n_resamples: int, random_state: Seed) -> Floats:
    """Return the deviations of bootstrap means from the mean, in standard errors of the resamples.

    The result has shape (n_columns, n_resamples); resamples that do not vary are infinitely far.
    """
    n_columns, n = values.shape
    residuals = values - values.mean(1)[:, None]
    units = arrays.safe_divide(residuals, np.sqrt((residuals**2).mean(1))[:, None])
    powers = np.ascontiguousarray(np.concatenate([units, units**2]).T)
    out = np.empty((n_columns, n_resamples))

    def resample(block: _Block) -> None:
        mean, square = np.split((block.counts(n) @ powers).T / n, 2)
        variance = square - mean**2
        error = np.sqrt(np.where(variance > _ROUNDING, variance, 0.0) / (n - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            out[:, block.rows] = np.where(np.abs(mean) > _ROUNDING, mean / error, 0.0)

    each(resample, _blocks(n_resamples, n, random_state))
    return out


def can_enumerate(n: int, n_resamples: int) -> bool:
    """Return whether there are at most `n_resamples` assignments of n signs."""
    return int(n) < int(n_resamples).bit_length()


def _assignments(n: int, n_resamples: int, random_state: Seed) -> tuple[list[_Block], int]:
    """Return blocks of assignments of n coins: all if there are few, or else random ones.

    The second value is the number of draws that the observed assignment counts as, 0 or 1. All
    assignments have 0 as the last coin: statistics are the same with all coins turned.
    """
    if can_enumerate(n, n_resamples):
        return [_Block(slice(0, 2 ** max(int(n) - 1, 0)), None)], 0
    return _blocks(n_resamples, n, random_state), 1


def flipped_sums(columns: Floats, n_resamples: int, random_state: Seed) -> tuple[Floats, int]:
    """Return the absolute sum of each column, for each assignment of signs to the queries.

    The result has shape (n_assignments, n_columns). The second value is the number of draws that
    the observed signs count as, 0 if the assignments are all that there are.
    """
    varies = columns.any(0)
    if can_enumerate(varies.sum(), n_resamples):
        columns = columns[:, varies]
    n, sums = columns.shape[1], columns.sum(1)
    blocks, n_own = _assignments(n, n_resamples, random_state)
    out, weights = np.empty((blocks[-1].rows.stop, len(columns))), 2 * columns.T

    def flip(block: _Block) -> None:
        out[block.rows] = np.abs(block.coins(n) @ weights - sums)

    each(flip, blocks)
    return out, n_own


def sign_flip_p_values(differences: Floats, n_resamples: int, random_state: Seed) -> Floats:
    """Return two-sided p-values of the permutation test.

    Under the null hypothesis the sign of each difference is a fair coin. A p-value is exact if
    there are at most `n_resamples` assignments of signs to the differences other than 0: all of
    them are used then. Undefined differences (NaN) are ignored.
    """
    differences = np.nan_to_num(differences)
    n_signs = np.count_nonzero(differences, axis=1)
    is_exact = np.array([can_enumerate(n, n_resamples) for n in n_signs], dtype=bool)
    p_values = np.empty(len(differences))
    for group in [*np.flatnonzero(is_exact)[:, None], np.flatnonzero(~is_exact)]:
        columns = differences[group]
        sums, n_own = flipped_sums(columns, n_resamples, random_state)
        least = np.abs(columns.sum(1)) - _ROUNDING * np.abs(columns).sum(1)
        p_values[group] = ((sums >= least).sum(0) + n_own) / (len(sums) + n_own)
    return p_values


def exchange_p_value(a: Floats, b: Floats, share: float, n_resamples: int, seed: Seed) -> float:
    """Return the two-sided p-value of the difference of the means of the lowest values, or NaN.

    Under the null hypothesis the two systems are exchangeable within each query. The means of the
    lowest shares of values are taken anew for each exchange, and their difference is divided by its
    error, so that it is small where tails of one mean differ in shape (Janssen 1997).
    """
    n, size = len(a), share * len(a)
    if n < 2:
        return np.nan
    last = int(np.ceil(size - _ROUNDING)) - 1
    # Whatever is exchanged, the lowest values are not above this.
    can_matter = np.minimum(a, b) <= np.sort(np.maximum(a, b))[last]
    a, b = a[can_matter], b[can_matter]

    def below(values: Floats) -> tuple[Floats, Floats]:
        quantile = np.partition(values, last, axis=1)[:, last]
        return quantile, np.maximum(quantile[:, None] - values, 0.0)

    def square_of_t(coins: Floats) -> Floats:
        quantiles, short = zip(below(np.where(coins, b, a)), below(np.where(coins, a, b)))
        influence = short[0] - short[1]
        total = influence.sum(1)
        change = (quantiles[0] - quantiles[1]) * size - total
        square = np.where(np.abs(change) > _ROUNDING * size, change**2, 0.0)
        spread = np.maximum((influence**2).sum(1) - total**2 / n, 0.0)
        # A function of the ratio to the spread, which rises with it and is finite without one.
        return np.asarray(arrays.safe_divide(square, spread + square / n))

    blocks, n_own = _assignments(len(a), n_resamples, seed)
    least = square_of_t(np.zeros((1, len(a)))) - _ROUNDING * n
    counts: list[Any] = []
    each(lambda of: np.count_nonzero(square_of_t(of.coins(len(a))) >= least), blocks, counts.append)
    return (sum(counts) + n_own) / (blocks[-1].rows.stop + n_own)
