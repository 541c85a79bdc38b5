"""Equality of parameters that are objects of a user's own classes."""

from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..columns.arrays import is_missing


def are_alike(one: Any, other: Any) -> bool:
    """Return whether two values are equal, or objects of one type that are made of equal parts.

    Clones of an estimator hold deep copies of such objects, which are equal to nothing else. NaN
    equals NaN.
    """
    return _are_alike(one, other, {})


def _are_alike(one: Any, other: Any, asked: dict[tuple[int, int], Any]) -> bool:
    """Return whether values are alike if those pairs are that are compared already."""
    pair = id(one), id(other)
    if one is other or pair in asked:
        return True
    if type(one) is not type(other):
        return bool(np.isscalar(one) and np.isscalar(other) and one == other)
    asked[pair] = one, other  # as long as they are kept, nothing else has their numbers

    def alike(one: Any, other: Any) -> bool:
        return _are_alike(one, other, asked)

    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype == object:
            return all(map(alike, one.flat, other.flat))
        return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (type, FunctionType)):
        return bool(one == other)
    # Partial functions make an empty __dict__ when they are asked for it: ask both.
    has_attributes = all([hasattr(one, "__dict__"), hasattr(other, "__dict__")])
    kind: Any = type(one)
    if not has_attributes and kind is not MethodType and kind.__eq__ is not object.__eq__:
        return bool(one == other) or (is_missing(one) and is_missing(other))
    try:
        # What copies are made of: partial functions and methods have more than attributes.
        return alike(one.__reduce_ex__(4), other.__reduce_ex__(4))
    except TypeError:
        return bool(one == other)
