"""Names of queries and documents, which come as text, bytes and numbers of any type."""

from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..columns import is_missing

# Types of numbers that may be whole.
_FRACTIONS = (float, np.floating, Fraction, Decimal)

# Binary digits of a float of Python behind the first.
_MANTISSA = np.finfo(float).nmant


def name_of(value: Any, place: str) -> Any:
    """Return the name that a value stands for; as text it is the same for all types of the value.

    Bytes are text in UTF-8, and a whole number is an integer: pandas makes floats of integers
    beside a missing value. `place` is for errors.
    """
    if type(value) in (str, int):
        return value  # most of them
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{place} is not text in UTF-8, got {value!r}: decode it.") from error
    if is_missing(value):
        raise ValueError(f"{place} has no value: every row must name a query and a document.")
    return _whole(value, place) if isinstance(value, _FRACTIONS) else value


def names_of(values: Collection[Any], place: str) -> list[str]:
    """Return the names of several values as text."""
    if {type(value) for value in values} <= {str, int}:
        return list(map(str, values))
    return [str(name_of(value, f"{place}[{value!r}]")) for value in values]


def _whole(value: Any, place: str) -> Any:
    """Return a whole number as an integer, and other numbers unchanged."""
    if isinstance(value, (float, np.floating)):
        n_digits = np.finfo(value).nmant if isinstance(value, np.floating) else _MANTISSA
        if abs(value) >= 2 ** (n_digits + 1):
            raise ValueError(
                f"{place} is {value!r}, too large for a float to hold all its digits: read names "
                "as integers or text."
            )
    try:
        return whole if (whole := int(value)) == value else value
    except OverflowError:  # infinity
        return value
