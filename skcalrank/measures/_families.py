"""Gains of grades and discounts of positions, of the user's choice: the families of DMJ13.

NDCG (eq. 14) and ERR (eq. 16) are families: any gain G that does not decrease with the grade, and
any discount 1/F that does not increase with the position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..data import Array, ArrayLike, Floats, Ints, check_option

Gain: TypeAlias = str | Sequence[float] | Callable[[Floats], ArrayLike]
Discount: TypeAlias = Callable[[Floats], ArrayLike]

# Integers below are grades of a scale, which need no sort.
_MANY_GRADES = 1 << 12


# -- as parameters -----------------------------------------------------------------------------


def own_gain(gain: Any, names: tuple[str, ...], highest: float = np.inf) -> Any:
    """A gain as a measure keeps it: a name, a function, or the values of an array as a tuple."""
    if isinstance(gain, str):
        check_option("gain", gain, names)
        return gain
    if callable(gain):
        return _hashable("gain", gain)
    try:
        values = np.asarray(gain, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"gain must be {' or '.join(map(repr, names))}, the gains of the grades 0, 1, ... as "
            f"an array, or a function of grades, got {gain!r}."
        )
    _check_gains(values, np.arange(len(values)), highest)
    return tuple(values.tolist())


def own_discount(discount: Any) -> Any:
    """A discount as a measure keeps it: None, or a function."""
    if discount is not None and not callable(discount):
        raise ValueError(
            f"discount must be None or a function of positions from 1, got {discount!r}."
        )
    return _hashable("discount", discount)


def _hashable(name: str, function: Any) -> Any:
    try:
        hash(function)
    except TypeError:
        raise ValueError(
            f"{name} must be hashable, as a measure is, got {function!r}: pass a function."
        ) from None
    return function


def shown(value: Any) -> str:
    """A parameter as the repr of a measure shows it: a function by its name."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    return name if callable(value) and isinstance(name, str) else repr(value)


# -- as arrays ---------------------------------------------------------------------------------


def gains(y: Floats, gain: Gain, highest: float = np.inf) -> Floats:
    """The gain of each label: by its name, from an array, or by a function."""
    if isinstance(gain, str):
        return y if gain == "linear" else exponential(y)
    if not callable(gain):
        return np.asarray(gain)[as_places(y, len(gain))]
    grades, places = _distinct(y)
    values = _called("gain", gain, grades)
    _check_gains(values, grades, highest)
    return values[places]


def _distinct(y: Floats) -> tuple[Floats, Ints]:
    """Grades in increasing order, and the place of each label among them."""
    if y.size and y.max() < _MANY_GRADES:
        places = y.astype(np.intp)
        if (places == y).all():
            return np.arange(places.max() + 1.0), places
    grades, places = np.unique(y, return_inverse=True)
    return grades, places.ravel()


def exponential(y: Floats) -> Floats:
    """``2^y - 1``."""
    if y.size and y.max() > 1000:
        raise ValueError(
            f"y holds {y.max():g}, and 2^y - 1 overflows: use gain='linear', or labels on "
            "a scale of grades."
        )
    out = np.exp2(y)
    out -= 1.0
    # Of small labels 1 would leave nothing.
    small = np.flatnonzero((y > 0) & (y < 1))
    out[small] = np.expm1(y[small] * np.log(2.0))
    return out


def as_places(y: Floats, n_gains: int) -> Ints:
    """Labels as places in an array of gains."""
    with np.errstate(invalid="ignore"):
        places = y.astype(np.intp)
    wrong = (places != y) | (places >= n_gains)
    if wrong.any():
        raise ValueError(
            f"y holds {y[wrong][0]:g}, and gain has {n_gains} values, of the grades 0 to "
            f"{n_gains - 1}: give one for every grade, or a function."
        )
    return places


def discounts(positions: Ints, discount: Discount) -> Floats:
    """The discount of each position from 1."""
    places = np.arange(1.0, np.max(positions, initial=1) + 1.0)
    values = _called("discount", discount, places)
    rising = np.flatnonzero(values[1:] > values[:-1])
    if values[0] <= 0 or values[-1] < 0 or rising.size:
        at = rising[0] + 1 if rising.size else len(values) - 1 if values[0] > 0 else 0
        raise ValueError(
            "discount must be positive at position 1, and from there on not increase and not "
            f"fall below 0, got {values[at]:g} at position {at + 1}"
            + (f", after {values[at - 1]:g}." if at else ".")
        )
    return values[np.asarray(positions) - 1]


def _called(name: str, function: Any, at: Array) -> Floats:
    """Finite values of a function of an array."""
    values = np.asarray(function(at), dtype=float)
    if values.shape != at.shape:
        raise ValueError(
            f"{name} must be a function of an array that returns one of the same shape, got shape "
            f"{values.shape} for {at.shape}: use the functions of numpy."
        )
    if not np.isfinite(values).all():
        wrong = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"{name} must be finite, got {values[wrong]:g} at {at[wrong]:g}.")
    return values


def _check_gains(values: Floats, grades: Array, highest: float) -> None:
    """Raise unless gains are finite, from 0 to the highest one, and do not decrease."""
    outside = np.flatnonzero(~((values >= 0) & (values <= highest) & np.isfinite(values)))
    if outside.size:
        end = "a finite number from 0" if np.isinf(highest) else f"from 0 to {highest:g}"
        raise ValueError(
            f"gain must be {end}, got {values[outside[0]]:g} for grade {grades[outside[0]]:g}."
        )
    falling = np.flatnonzero(np.diff(values) < 0)
    if falling.size:
        low, high = falling[0], falling[0] + 1
        raise ValueError(
            f"gain must not decrease with the grade, got {values[high]:g} for grade "
            f"{grades[high]:g} after {values[low]:g} for grade {grades[low]:g}."
        )
