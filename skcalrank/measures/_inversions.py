"""Counts and weights of pairs that a ranking puts in the wrong order, in time O(r log r).

The queries of a batch are processed together, in memory proportional to their number of
documents. Counts are integers, and the weights of lost pairs (pairs in the wrong order) are sums
of non-negative terms, so that nothing cancels.
"""

from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Array, Floats, Ints
from ..data import Block, Ranked

# Number of columns of a chunk, within which all pairs are compared one by one.
_CHUNK = 32

# Integer labels of smaller absolute value are used as ranks, up to a shift.
_LARGE = 2**29


def disagreement(y: Floats, ranked: Ranked, weights: str) -> tuple[Floats, Floats]:
    """Return the total weight of the preferences of each query, and the weight of the lost ones.

    `weights` is "difference" or "unit", as in `PairwiseDisagreement`. A pair of equal scores
    counts as lost with half its weight.
    """
    out = np.zeros((2, ranked.queries.n_queries))
    count = _pairs if weights == "unit" else _differences
    for block in ranked.blocks():
        out[:, block.ids] = count(block.gather(y), block)
    return out[0], out[1]


def _differences(labels: Floats, block: Block) -> tuple[Floats, Floats]:
    """Return the sums of the differences of labels over all pairs and over lost pairs.

    Sort the documents by decreasing label. The difference of a pair is the sum of the gaps between
    neighboring labels from its first document to its second, so both sums are sums over gaps of
    gap times number of pairs across it. Across the gap after the first d documents there are
    ``d (r - d)`` pairs, of which as many are lost as the positions of the first d documents exceed
    1, ..., d in total.
    """
    width = labels.shape[1]
    below = np.negative(labels)
    np.copyto(below, np.inf, where=np.arange(width) >= block.sizes)
    order = np.argsort(below, axis=1)
    below.sort(axis=1)
    before = np.arange(1, width)
    gaps = np.zeros((len(labels), width - 1))
    np.subtract(below[:, 1:], below[:, :-1], out=gaps, where=before < block.sizes)
    # Documents of equal score have their mean position, a multiple of 1/2.
    excess = arrays.along_rows(block.mean_position, order) - 1.0 if block.tied else order
    across = np.cumsum(excess[:, :-1], axis=1, dtype=float)
    across -= before * (before - 1.0) / 2
    pairs = before * (block.sizes - before)
    return np.einsum("ij,ij->i", gaps, pairs), np.einsum("ij,ij->i", gaps, across)


def _pairs(labels: Floats, block: Block) -> tuple[Floats, Floats]:
    """Return the numbers of pairs of different labels and of lost ones; equal scores count half."""
    ranks = _ranks(labels)
    np.copyto(ranks, 0, where=np.arange(ranks.shape[1]) >= block.sizes)
    tied: Any = 0.0
    if block.tied:
        ranks, tied = _best_of_runs(ranks, block)
    lost, equal = _ascents(ranks)
    sizes, missing = block.sizes[:, 0], labels.shape[1] - block.sizes[:, 0]
    return _n_pairs(sizes) + _n_pairs(missing) - equal, lost + tied / 2


def _n_pairs(n: Array) -> Floats:
    """Return the number of pairs among n documents."""
    return n * (n - 1.0) / 2


def _ranks(labels: Floats) -> Ints:
    """Return integers >= 1 in the order of the labels."""
    low, high = labels.min(), labels.max()
    if low > -_LARGE and high < _LARGE:
        ranks = labels.astype(np.int32)
        if (ranks == labels).all():
            ranks += 1 - int(low)
            return ranks
    order = np.argsort(labels, axis=1)
    in_order = np.sort(labels, axis=1)
    steps = np.ones(labels.shape, dtype=np.int32)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=steps[:, 1:], casting="unsafe")
    order += np.arange(0, order.size, order.shape[1])[:, None]
    ranks = np.empty_like(steps)
    ranks.ravel()[order] = steps.cumsum(axis=1, dtype=np.int32)
    return ranks


def _best_of_runs(ranks: Ints, block: Block) -> tuple[Ints, Floats]:
    """Return ranks with equal scores in their best order, and the number of tied pairs.

    Tied pairs have equal scores and different labels.
    """
    highest = int(ranks.max())
    power = _power(highest + 1)
    first = (block.run_start * power + highest).astype(_integers(ranks.shape[1] * power))
    keys = np.repeat(first, block.run_length).reshape(ranks.shape)
    keys -= ranks
    keys.sort(axis=1)
    equal_scores = np.bincount(block.run_row, _n_pairs(block.run_length), len(ranks))
    return highest - (keys & (power - 1)), equal_scores - _n_equal(keys)


def _integers(end: int) -> type[np.integer[Any]]:
    """Return the smallest integer type for integers less than `end`."""
    return np.int32 if end <= 2**31 else np.int64


def _power(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def _n_equal(in_order: Ints) -> Floats:
    """Return the number of pairs of equal entries in each row of a matrix with sorted rows."""
    n, width = in_order.shape
    new = np.ones((n, width), dtype=bool)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=new[:, 1:])
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=new.size)
    several = lengths > 1
    pairs: Array = np.bincount(starts[several] // width, _n_pairs(lengths[several]), n)
    return pairs


def _ascents(ranks: Ints) -> tuple[Ints, Floats]:
    """Return the numbers of pairs in each row whose later entry is larger, and of equal pairs.

    A merge sort from the bottom up: count pairs within chunks, then pairs across two neighboring
    chunks, which are merged into one. After merging, each entry of the second chunk is placed
    after the smaller entries of the first, so that the places of its entries count the pairs.
    """
    n, width = ranks.shape
    keys, size, n_bits = _distinct(ranks)
    ascents = _within_chunks(keys)
    keys.sort(axis=1)
    while len(keys) > n:
        halves = keys.reshape(-1, 2, size)
        halves[:, 0] &= -2
        halves[:, 1] |= 1
        keys = keys.reshape(-1, 2 * size)
        keys.sort(axis=1)
        places = np.einsum("ij,j->i", keys & 1, np.arange(2 * size, dtype=keys.dtype))
        ascents = ascents.reshape(-1, 2).sum(axis=1, dtype=np.int64)
        ascents += places - size * (size - 1) // 2
        size *= 2
    return ascents, _n_equal(keys[:, -width:] >> n_bits)


def _distinct(ranks: Ints) -> tuple[Ints, int, int]:
    """Return chunks of distinct keys in the order of ranks, their size, and the bits below a rank.

    Of equal ranks, the later one has the smaller key. Missing columns of the last chunks are
    filled with a rank below all others.
    """
    n, width = ranks.shape
    n_chunks = _power(-(-width // _CHUNK))
    size = -(-width // n_chunks)
    places = np.arange(n_chunks * size, dtype=np.int64)[::-1]
    # The last bit distinguishes the two chunks that are merged.
    n_bits = 1 + (len(places) - 1).bit_length()
    # The type must hold sums of places too.
    end = max((int(ranks.max()) + 1) << n_bits, len(places) ** 2)
    keys = np.full((n, len(places)), -1, dtype=_integers(end))
    keys[:, :width] = ranks
    keys <<= n_bits
    keys |= (2 * places).astype(keys.dtype)
    return keys.reshape(-1, size), size, n_bits


def _within_chunks(chunks: Ints) -> Ints:
    """Return the number of pairs per row whose later entry is larger, by comparing all pairs."""
    ascents = np.zeros(len(chunks), dtype=np.int64)
    columns = np.ascontiguousarray(chunks.T)
    for lag in range(1, len(columns)):
        larger = columns[lag:] > columns[:-lag]
        ascents += np.add.reduce(larger.view(np.uint8), axis=0, dtype=np.uint8)
    return ascents
