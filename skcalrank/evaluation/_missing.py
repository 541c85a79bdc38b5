"""What stands for no value."""

from __future__ import annotations

from typing import Any


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or the NA of pandas, which is neither true nor false."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
