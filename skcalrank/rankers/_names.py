"""Hashes of the names of queries that are equal in every process, for model files."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np

_WORD = 1 << 64


def hashed(names: Iterable[Any]) -> np.ndarray:
    """Return a hash of 64 bits for each name; equal names have equal hashes.

    Python's own ``hash`` of a string differs between processes.
    """
    return np.fromiter(map(_bits, names), dtype=np.uint64)


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
    if isinstance(name, (Real, Decimal, np.bool_)):
        return _number(name)
    if isinstance(name, tuple):
        return f"tuple {[_bits(part) for part in name]}"
    return f"{type(name).__name__} {name!r}"


def _number(name: Any) -> int | str:
    """Return an integral number of 64 bits as int, and a distinct string for other numbers."""
    if name % 1 != 0:  # true for NaN and infinity too
        return f"float {float(name)!r}"
    number = int(name)
    return number if -_WORD // 2 <= number < _WORD // 2 else f"int {number}"
