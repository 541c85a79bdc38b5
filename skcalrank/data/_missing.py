"""Detection of missing values."""

from typing import Any


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or the NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # the NA of pandas is neither true nor false
        return True
