"""Pairs of documents that a ranking puts in the wrong order, counted in O(r log r).

Queries of a batch are counted side by side, in memory of the order of their documents. Counts are
integers, and the weights of lost pairs sums of positive terms, so that nothing cancels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Array, Block, Floats, Ints, Ranked, along_rows

# Pairs in chunks of up to so many columns are compared one by one.
_CHUNK = 32

# Integers up to here are their own ranks.
_LARGE = 2**29


def disagreement(y: Floats, ranked: Ranked, weights: str) -> tuple[Floats, Floats]:
    """Total weight of the preferences of each query, and the weight that is lost."""
    out = np.zeros((2, ranked.queries.n_queries))
    count = _pairs if weights == "unit" else _differences
    for block in ranked.blocks():
        out[:, block.ids] = count(block.gather(y), block)
    total, lost = out
    return total, lost


# -- weighed by their difference -----------------------------------------------------------


def _differences(labels: Floats, block: Block) -> tuple[Floats, Floats]:
    """Sums of the differences of labels over all pairs, and over those that are lost.

    With the labels in decreasing order, a pair is lost across each of the gaps between its two. The
    first d documents lose as many pairs across the gap behind them as their positions exceed
    1, ..., d, all together.
    """
    width = labels.shape[1]
    below = np.negative(labels)
    np.copyto(below, np.inf, where=np.arange(width) >= block.sizes)
    order = np.argsort(below, axis=1)
    below.sort(axis=1)
    before = np.arange(1, width)
    gaps = np.zeros((len(labels), width - 1))
    np.subtract(below[:, 1:], below[:, :-1], out=gaps, where=before < block.sizes)
    # Of equal scores the mean position, an integer or one and a half.
    excess = along_rows(block.mean_position, order) - 1.0 if block.tied else order
    across = np.cumsum(excess[:, :-1], axis=1, dtype=float)
    across -= before * (before - 1.0) / 2
    pairs = before * (block.sizes - before)
    return np.einsum("ij,ij->i", gaps, pairs), np.einsum("ij,ij->i", gaps, across)


# -- one by one ----------------------------------------------------------------------------


def _pairs(labels: Floats, block: Block) -> tuple[Floats, Floats]:
    """Numbers of pairs of different labels, and of those that are lost; half of equal scores."""
    ranks = _ranks(labels, block)
    tied: Any = 0.0
    if block.tied:
        ranks, tied = _best_of_runs(ranks, block)
    lost, equal = _ascents(ranks)
    sizes, missing = block.sizes[:, 0], labels.shape[1] - block.sizes[:, 0]
    total = _n_pairs(sizes) + _n_pairs(missing) - equal
    return total, lost + tied / 2


def _n_pairs(n: Array) -> Floats:
    """Number of pairs among n."""
    pairs: Floats = n * (n - 1.0) / 2
    return pairs


def _ranks(labels: Floats, block: Block) -> Ints:
    """Integers from 1 in the order of the labels, and 0 where there is no document."""
    low, high = labels.min(), labels.max()
    if low > -_LARGE and high < _LARGE:
        ranks = labels.astype(np.int32)
        if (ranks == labels).all():
            ranks += 1 - int(low)
            return _without_missing(ranks, block)
    order = np.argsort(labels, axis=1)
    in_order = np.sort(labels, axis=1)
    steps = np.ones(labels.shape, dtype=np.int32)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=steps[:, 1:], casting="unsafe")
    order += np.arange(0, order.size, order.shape[1])[:, None]
    ranks = np.empty_like(steps)
    ranks.ravel()[order] = steps.cumsum(axis=1, dtype=np.int32)
    return _without_missing(ranks, block)


def _without_missing(ranks: Ints, block: Block) -> Ints:
    np.copyto(ranks, 0, where=np.arange(ranks.shape[1]) >= block.sizes)
    return ranks


def _best_of_runs(ranks: Ints, block: Block) -> tuple[Ints, Floats]:
    """Ranks with the best order of equal scores, and how many pairs of different labels tie."""
    highest = int(ranks.max())
    power = _power(highest + 1)
    first = (block.run_start * power + highest).astype(_integers(ranks.shape[1] * power))
    keys = np.repeat(first, block.run_length).reshape(ranks.shape)
    keys -= ranks
    keys.sort(axis=1)
    equal_scores = np.bincount(block.run_row, _n_pairs(block.run_length), len(ranks))
    return highest - (keys & (power - 1)), equal_scores - _n_equal(keys)


def _integers(end: int) -> type[np.integer[Any]]:
    """The type of integers below a number."""
    return np.int32 if end <= 2**31 else np.int64


def _power(n: int) -> int:
    """The smallest power of two from n on."""
    return 1 << max(n - 1, 0).bit_length()


def _n_equal(in_order: Ints) -> Floats:
    """Number of pairs of equal entries of each row, whose entries are in order."""
    n, width = in_order.shape
    new = np.ones((n, width), dtype=bool)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=new[:, 1:])
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=new.size)
    several = lengths > 1
    pairs: Array = np.bincount(starts[several] // width, _n_pairs(lengths[several]), n)
    return pairs


def _ascents(ranks: Ints) -> tuple[Ints, Floats]:
    """Number of pairs of each row whose later entry is larger, and of those that are equal.

    Bottom up: pairs within chunks, then across the halves of ever longer ones. Where two halves
    are merged, an entry of the second one comes to stand behind the smaller ones of the first.
    """
    n, width = ranks.shape
    keys, size, n_bits = _distinct(ranks)
    found = _within_chunks(keys)
    keys.sort(axis=1)
    while len(keys) > n:
        halves = keys.reshape(-1, 2, size)
        halves[:, 0] &= -2
        halves[:, 1] |= 1
        keys = keys.reshape(-1, 2 * size)
        keys.sort(axis=1)
        places = np.einsum("ij,j->i", keys & 1, np.arange(2 * size, dtype=keys.dtype))
        found = found.reshape(-1, 2).sum(axis=1, dtype=np.int64) + places - size * (size - 1) // 2
        size *= 2
    return found, _n_equal(keys[:, -width:] >> n_bits)


def _distinct(ranks: Ints) -> tuple[Ints, int, int]:
    """Chunks of distinct keys in the order of the ranks, their size, and the bits below a rank.

    Of equal ranks the later one has the smaller key. Lower ranks fill the last chunks up.
    """
    n, width = ranks.shape
    n_chunks = _power(-(-width // _CHUNK))
    size = -(-width // n_chunks)
    places = np.arange(n_chunks * size, dtype=np.int64)[::-1]
    # The last bit tells the two halves apart that are merged.
    n_bits = 1 + (len(places) - 1).bit_length()
    # Sums of places are to fit too.
    end = max((int(ranks.max()) + 1) << n_bits, len(places) ** 2)
    keys = np.full((n, len(places)), -1, dtype=_integers(end))
    keys[:, :width] = ranks
    keys <<= n_bits
    keys |= (2 * places).astype(keys.dtype)
    return keys.reshape(-1, size), size, n_bits


def _within_chunks(chunks: Ints) -> Ints:
    """Number of pairs of each row whose later entry is larger, one comparison for each."""
    found = np.zeros(len(chunks), dtype=np.int64)
    columns = np.ascontiguousarray(chunks.T)
    for lag in range(1, len(columns)):
        larger = columns[lag:] > columns[:-lag]
        found += np.add.reduce(larger.view(np.uint8), axis=0, dtype=np.uint8)
    return found
