"""Resampling of queries: the bootstrap of means, and sign flips of differences.

A block of resamples is one matrix, which is multiplied by the values of all systems and measures at
once. Every block has its own random generator, so that results do not depend on the number of
threads.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..data import arrays, each
from ..data.types import Floats, Ints, Seed

# Approximate number of cells of a block, one for each resample and query.
_BLOCK_CELLS = 1 << 20

# Sums of flipped differences are equal up to this share of the sum of their absolute values.
_ROUNDING = 1e-10


class _Block(NamedTuple):
    rows: slice
    generator: np.random.Generator


def _blocks(n_resamples: int, n: int, random_state: Seed) -> list[_Block]:
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    step = max(1, _BLOCK_CELLS // n)
    starts = range(0, n_resamples, step)
    seeds = np.random.SeedSequence(random_state).spawn(len(starts))
    return [
        _Block(slice(start, min(start + step, n_resamples)), np.random.default_rng(seed))
        for start, seed in zip(starts, seeds)
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


def bootstrap_deviations(values: Floats, n_resamples: int, random_state: Seed) -> Floats:
    """Return the deviations of bootstrap means from the mean, in standard errors.

    The result has shape (n_columns, n_resamples), in single precision, whose error is far below the
    randomness of the resamples.
    """
    residuals = values - values.mean(1)[:, None]
    n_columns, n = residuals.shape
    units = arrays.safe_divide(residuals, np.sqrt((residuals**2).sum(1) * n / (n - 1))[:, None])
    units = np.ascontiguousarray(units.T, dtype=np.float32)
    out = np.empty((n_columns, n_resamples), dtype=np.float32)

    def resample(block: _Block) -> None:
        counts = _counts(block.generator, block.rows.stop - block.rows.start, n)
        out[:, block.rows] = (counts @ units).T

    each(resample, _blocks(n_resamples, n, random_state))
    return out


def _counts(generator: np.random.Generator, n_rows: int, n: int) -> Floats:
    """Return how often each query is drawn, for `n_rows` resamples of n queries."""
    # Integers of 16 bits are drawn several times faster.
    drawn = generator.integers(0, n, size=(n_rows, n), dtype=np.uint16 if n <= 1 << 16 else int)
    cells = (drawn + n * np.arange(n_rows)[:, None]).ravel()
    return np.bincount(cells, minlength=n_rows * n).reshape(n_rows, n).astype(np.float32)


def sign_flip_p_values(differences: Floats, n_resamples: int, random_state: Seed) -> Floats:
    """Return two-sided p-values of the permutation test.

    Under the null hypothesis the sign of each difference is a fair coin. A p-value is exact if
    there are at most `n_resamples` assignments of signs to the differences other than 0: all of
    them are used then. Undefined differences (NaN) are ignored.
    """
    differences = np.nan_to_num(differences)
    n_signs = np.count_nonzero(differences, axis=1)
    is_exact = np.array([can_enumerate(n, n_resamples) for n in n_signs])
    p_values = np.empty(len(differences))
    p_values[is_exact] = [_exact(d[d != 0]) for d in differences[is_exact]]
    if not is_exact.all():
        p_values[~is_exact] = _drawn(differences[~is_exact], n_resamples, random_state)
    return p_values


def can_enumerate(n: int, n_resamples: int) -> bool:
    """Return whether there are at most `n_resamples` assignments of n signs."""
    return int(n) < n_resamples.bit_length()


def _exact(differences: Floats) -> float:
    """Return the share of all assignments of signs whose sum is at least as far from 0."""
    if not len(differences):
        return 1.0
    # The first sign can be fixed, since the absolute sum is the same with all signs flipped.
    numbers = np.arange(2 ** (len(differences) - 1))[:, None]
    flipped = (numbers >> np.arange(len(differences) - 1)) & 1
    sums = differences[0] + (1 - 2 * flipped) @ differences[1:]
    return float(np.mean(np.abs(sums) >= _least(differences)))


def _least(differences: Floats) -> Any:
    """Return the absolute value of the observed sum, minus rounding."""
    return np.abs(differences.sum(-1)) - _ROUNDING * np.abs(differences).sum(-1)


def _drawn(differences: Floats, n_resamples: int, random_state: Any) -> Floats:
    """Return p-values from random signs; the observed signs count as one more draw."""
    n = differences.shape[1]
    weights, sums = np.ascontiguousarray(2 * differences.T), differences.sum(1)
    least, counts = _least(differences), np.zeros(len(differences), dtype=int)

    def flip(block: _Block) -> Ints:
        kept = _coins(block.generator, block.rows.stop - block.rows.start, n)
        return np.count_nonzero(np.abs(kept @ weights - sums) >= least, axis=0)

    def add(as_far: Ints) -> None:
        counts[:] += as_far

    each(flip, _blocks(n_resamples, n, random_state), add)
    return (1 + counts) / (1 + n_resamples)


def _coins(generator: np.random.Generator, n_rows: int, n: int) -> Floats:
    """Return a matrix of fair coin flips, 0.0 or 1.0."""
    n_bytes = -(-n_rows * n // 8)
    bits = np.unpackbits(np.frombuffer(generator.bytes(n_bytes), dtype=np.uint8), count=n_rows * n)
    return bits.reshape(n_rows, n).astype(float)
