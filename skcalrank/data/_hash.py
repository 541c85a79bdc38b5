"""Hashes of 64 bits for the values and rows of arrays: equal values have equal hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._memory import CACHE_CELLS
from ._types import Array, Ints

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def hash_cells(values: Array) -> Array:
    """Return the hash of each value, which is 0 for 0.0 and -0.0."""
    return spread_bits((np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64))


def spread_bits(bits: Array) -> Array:
    """Mix the bits of integers of 64 bits in place, and return them; 0 stays 0."""
    # Round numbers have zeros in their lower half, which a product would leave zero.
    bits ^= bits >> np.uint64(32)
    bits *= _SPREAD
    bits ^= bits >> np.uint64(29)
    return bits


def hash_keys(n: int) -> Array:
    """Return fixed random factors of n columns: the hash of a row is a weighted sum of hashes."""
    drawn: Any = np.random.default_rng(0).integers(1 << 63, size=n, dtype=np.uint64)
    keys: Array = 2 * drawn + np.uint64(1)
    return keys


def hash_rows(X: Any) -> Array:
    """Return the hash of each row of an array or a CSR matrix."""
    keys = hash_keys(X.shape[1])
    if issparse(X):
        # Entries that are not stored are zeros, whose hash is 0.
        sums: Array = np.append(np.uint64(0), (hash_cells(X.data) * keys[X.indices]).cumsum())
        found: Array = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        return found
    out = np.empty(len(X), dtype=np.uint64)
    step = max(1, CACHE_CELLS // X.shape[1])
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        out[rows] = (hash_cells(X[rows]) * keys).sum(axis=1)
    return out


def first_equal_rows(X: Any) -> Ints:
    """Return, for each row, the index of the first row that equals it, which may be itself."""
    _, first, number = np.unique(hash_rows(X), return_index=True, return_inverse=True)
    found: Ints = first[number]
    return found
