"""Hashes of 64 bits: of values and rows of arrays, and of names of queries.

Equal values have equal hashes, in every process.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._memory import CACHE_CELLS
from .types import Array, Ints

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_WORD = 1 << 64

# What `repr` writes of an object that has none of its own, and of a set, whose order is drawn.
_OF_PROCESS = re.compile(r" at 0x|\bset\(|\{")


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
    return 2 * drawn + np.uint64(1)


def hash_rows(X: Any) -> Array:
    """Return the hash of each row of an array or a CSR matrix."""
    keys = hash_keys(X.shape[1])
    if issparse(X):
        # Entries that are not stored are zeros, whose hash is 0.
        sums: Array = np.append(np.uint64(0), (hash_cells(X.data) * keys[X.indices]).cumsum())
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    out = np.empty(len(X), dtype=np.uint64)
    step = max(1, CACHE_CELLS // X.shape[1])
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        out[rows] = (hash_cells(X[rows]) * keys).sum(axis=1)
    return out


def first_equal_rows(X: Any) -> Ints:
    """Return, for each row, the index of the first row that equals it, which may be itself."""
    _, first, number = np.unique(hash_rows(X), return_index=True, return_inverse=True)
    return first[number]


def mixed(hashes: Array, seed: int) -> Array:
    """Return the keys by which a seed draws from hashes, those of SplitMix64.

    Unlike :func:`spread_bits`, it makes independent draws of names that are numbered.
    """
    bits = hashes + np.uint64(int(_SPREAD) * (1 + seed) % _WORD)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def by_hash(hashes: Array) -> Ints:
    """Return the order in which queries are drawn by the hashes of their names."""
    return np.argsort(hashes.view(np.int64), kind="stable")


def hash_names(names: Iterable[Any]) -> Array:
    """Return a hash of 64 bits for each name; equal names have equal hashes.

    Python's own ``hash`` of a string differs between processes. A name that is not repeatable has
    that of its number among the names.
    """
    if isinstance(names, np.ndarray) and names.dtype.kind in "biuf":
        with np.errstate(invalid="ignore"):
            integers = names.astype(np.int64)
        if (integers == names).all() and (names.dtype.kind != "u" or (integers >= 0).all()):
            return integers.view(np.uint64)
    named = (name if is_repeatable(name) else ("number", k) for k, name in enumerate(names))
    return np.fromiter(map(_bits, named), dtype=np.uint64)


def is_repeatable(name: Any) -> bool:
    """Return whether another process writes a name alike: without an address, and no set."""
    if isinstance(name, tuple):
        return all(map(is_repeatable, name))
    return isinstance(name, (str, bytes, Real)) or _OF_PROCESS.search(repr(name)) is None


def _bits(name: Any) -> int:
    """Return the hash of one name."""
    text = _text(name)
    if isinstance(text, int):
        return text % _WORD
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


def _text(name: Any) -> int | str:
    """Return an integer of 64 bits unchanged, and a distinct string for any other name."""
    if isinstance(name, str):
        return f"str {name}"
    if isinstance(name, bytes):
        return f"bytes {bytes(name)!r}"
    if isinstance(name, (timedelta, np.timedelta64)):  # which numpy counts among the integers
        exact = name.to_timedelta64() if hasattr(name, "to_timedelta64") else np.timedelta64(name)
        is_exact = np.datetime_data(exact.dtype)[0] not in ("Y", "M", "generic")
        return f"duration {_seconds(exact) if is_exact else exact!r}"
    if isinstance(name, (Real, Decimal, np.bool_)):
        return _number(name)
    if isinstance(name, tuple):
        return f"tuple {[_bits(item) for item in name]}"
    if isinstance(name, (date, np.datetime64)):
        return _instant(name)
    return f"{type(name).__name__} {name!r}"


def _number(name: Any) -> int | str:
    """Return an integral number of 64 bits as int, and a distinct string for other numbers."""
    # The remainder of a long decimal is beyond the usual context.
    exact = isinstance(name, Decimal) and name.is_finite()
    if (name != name.to_integral_value()) if exact else (name % 1 != 0):  # NaN and infinity too
        return f"float {float(name)!r}"
    number = int(name)
    return number if -_WORD // 2 <= number < _WORD // 2 else f"int {number}"


def _instant(name: Any) -> str:
    """Return the seconds and nanoseconds of a date or time, in UTC if it has a zone."""
    if isinstance(name, datetime) and name.tzinfo is not None:
        name = name.astimezone(timezone.utc).replace(tzinfo=None)
    # Those of pandas have nanoseconds.
    exact = name.to_datetime64() if hasattr(name, "to_datetime64") else np.datetime64(name)
    return f"time {_seconds(exact)}"


def _seconds(exact: Any) -> str:
    """Return the whole seconds of a time of numpy, and the nanoseconds beyond."""
    seconds = exact.astype(f"{exact.dtype.kind}8[s]")
    rest = (exact - seconds).astype("timedelta64[ns]")
    return f"{seconds.astype(np.int64)} {rest.astype(np.int64)}"
