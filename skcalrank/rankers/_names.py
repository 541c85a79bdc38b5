"""Names of queries as numbers that are the same in every process, for model files."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np

_WORD = 1 << 64


def hashed(names: Iterable[Any]) -> np.ndarray:
    """Return 64 bits for each name: names that are equal have the same.

    Python's own ``hash`` of text differs from process to process.
    """
    return np.fromiter(map(_bits, names), dtype=np.uint64)


def _bits(name: Any) -> int:
    text = _text(name)
    if isinstance(text, int):
        return text % _WORD
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


def _text(name: Any) -> int | str:
    """Return what tells a name from all others: itself for integers of 64 bits, else a text."""
    if isinstance(name, str):
        return f"str {name}"
    if isinstance(name, (Real, Decimal, np.bool_)):
        return _number(name)
    if isinstance(name, tuple):
        return f"tuple {[_bits(part) for part in name]}"
    return f"{type(name).__name__} {name!r}"


def _number(name: Any) -> int | str:
    if name % 1 != 0:  # also of what is not finite
        return f"float {float(name)!r}"
    number = int(name)
    return number if -_WORD // 2 <= number < _WORD // 2 else f"int {number}"
