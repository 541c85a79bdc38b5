"""Gains and discounts chosen by the user: the families of measures of DMJ13.

NDCG (eq. 14) and ERR (eq. 16) are families of measures, with any gain G that does not decrease
with the grade, and any discount 1/F that does not increase with the position.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..columns.types import Array, ArrayLike, Floats, Ints
from ..data import check

Gain: TypeAlias = str | Sequence[float] | Callable[[Floats], ArrayLike]
Discount: TypeAlias = Sequence[float] | Callable[[Floats], ArrayLike]

# If all labels are integers below this bound, their grades are enumerated without sorting.
_MANY_GRADES = 1 << 12


def own_gain(gain: Any, names: tuple[str, ...], highest: float = np.inf) -> Any:
    """Return a validated gain: a name, a function, or the values of an array as a tuple.

    `names` are the valid names, and `highest` is the largest valid gain.
    """
    if isinstance(gain, str):
        check.option("gain", gain, names)
        return gain
    known = " or ".join(map(repr, names))
    kinds = f"{known}, an array of the gains of the grades 0, 1, ..., or a function of grades"
    values = _own("gain", gain, kinds)
    if isinstance(values, tuple):
        _check_gains(np.array(values), np.arange(len(values)), highest)
    return values


def own_discount(discount: Any) -> Any:
    """Return a validated discount: None, a function, or the values of an array as a tuple."""
    if hasattr(discount, "propensity"):  # fitted ones, which may rise by noise
        discount = discount.discount
    if discount is None:
        return None
    kinds = "None, an array of the discounts of positions 1, 2, ..., or a function of positions"
    values = _own("discount", discount, kinds)
    if isinstance(values, tuple):
        _check_finite("discount", np.array(values), np.arange(1, len(values) + 1))
        _check_discounts(np.array(values))
    return values


def _own(name: str, value: Any, kinds: str) -> Any:
    """Return a function that can be hashed, or the numbers of an array as a tuple."""
    if callable(value):
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"{name} must be hashable, because measures are, got {value!r}. Pass a function."
            ) from None
        return value
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(f"{name} must be {kinds}, got {value!r}.")
    return tuple(numbers.tolist())


def shown(value: Any) -> str:
    """Return a parameter as the repr of a measure shows it: a function by its name."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    return name if callable(value) and isinstance(name, str) else repr(value)


def gains(y: Floats, gain: Gain, highest: float = np.inf) -> Floats:
    """Return the gain of each label, for a gain that is a name, an array or a function."""
    if isinstance(gain, str):
        return y if gain == "linear" else exponential(y)
    if not callable(gain):
        return np.asarray(gain)[as_places(y, len(gain))]
    grades, places = _distinct(y)
    values = _called("gain", gain, grades)
    _check_gains(values, grades, highest)
    return values[places]


def _distinct(y: Floats) -> tuple[Floats, Ints]:
    """Return grades in increasing order, and the index of each label among them."""
    if y.size and y.max() < _MANY_GRADES:
        places = y.astype(np.intp)
        if (places == y).all():
            return np.arange(places.max() + 1.0), places
    grades, places = np.unique(y, return_inverse=True)
    return grades, places.ravel()


def exponential(y: Floats) -> Floats:
    """Return ``2^y - 1``; raise ValueError for labels above 1000, for which it overflows."""
    if y.size and y.max() > 1000:
        raise ValueError(
            f"y must be at most 1000 for the gain 2^y - 1, which overflows, got {y.max():g}. Use "
            "gain='linear', or labels on a scale of grades."
        )
    out = np.exp2(y)
    out -= 1.0
    # For small labels, subtracting 1 loses all digits.
    small = np.flatnonzero((y > 0) & (y < 1))
    out[small] = np.expm1(y[small] * np.log(2.0))
    return out


def as_places(y: Floats, n_gains: int) -> Ints:
    """Return labels as indices into an array of gains; raise ValueError if one has no gain."""
    with np.errstate(invalid="ignore"):
        places = y.astype(np.intp)
    wrong = (places != y) | (places >= n_gains)
    if wrong.any():
        raise ValueError(
            f"y must hold the grades 0 to {n_gains - 1}, because gain has {n_gains} values, got "
            f"{y[wrong][0]:g}. Give a gain for every grade, or a function."
        )
    return places


def discounts(positions: Ints, discount: Discount) -> Floats:
    """Return the discount of each position, which is 0 behind the last of an array.

    Raises ValueError if a function is not valid.
    """
    places = np.arange(1.0, np.max(positions, initial=1) + 1.0)
    if callable(discount):
        values = _called("discount", discount, places)
        _check_discounts(values)
    else:
        values = np.append(discount, np.zeros(len(places)))
    return values[np.asarray(positions) - 1]


def _check_discounts(values: Floats) -> None:
    """Raise ValueError unless discounts are non-negative, non-increasing and begin above 0."""
    rising = np.flatnonzero(values[1:] > values[:-1])
    if values[0] <= 0 or values[-1] < 0 or rising.size:
        at = rising[0] + 1 if rising.size else len(values) - 1 if values[0] > 0 else 0
        raise ValueError(
            "discount must be positive at position 1, non-increasing and non-negative, "
            f"got {values[at]:g} at position {at + 1}"
            + (f", after {values[at - 1]:g}" if at else "")
            + ". Of propensities, pass the result of fit_propensities, whose discount never rises."
        )


def _called(name: str, function: Any, at: Array) -> Floats:
    """Return the values of a function of an array; raise ValueError unless they are finite.

    `name` is the argument that the function was passed as.
    """
    values = np.asarray(function(at), dtype=float)
    if values.shape != at.shape:
        raise ValueError(
            f"{name} must be a function that returns an array of the shape of its argument, got "
            f"shape {values.shape} for {at.shape}. Use functions of numpy."
        )
    _check_finite(name, values, at)
    return values


def _check_finite(name: str, values: Floats, at: Array) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise ValueError(f"{name} must be finite, got {values[wrong[0]]:g} at {at[wrong[0]]:g}.")


def _check_gains(values: Floats, grades: Array, highest: float) -> None:
    """Raise ValueError unless gains are finite, from 0 to `highest`, and non-decreasing."""
    outside = np.flatnonzero(~((values >= 0) & (values <= highest) & np.isfinite(values)))
    if outside.size:
        end = "finite and non-negative" if np.isinf(highest) else f"from 0 to {highest:g}"
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
