"""Probabilities of clicks at the positions of a list."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints

_ROUNDING = 1e-9

# What no estimate reaches by chance at the last position, if propensities are equal.
_FAR_ABOVE = 1.5


class PositionModel(NamedTuple):
    """Probability of a click at each position, ``slope * relevance + offset``."""

    slope: np.ndarray
    offset: np.ndarray

    @classmethod
    def of(cls, propensity: ArrayLike, trust: tuple[ArrayLike, ArrayLike] | None) -> PositionModel:
        """Return the model of validated propensities and trust bias."""
        # Those of fit_propensities have errors beside them.
        examined = arrays.as_array(getattr(propensity, "propensity", propensity), "propensity")
        if examined.dtype.kind not in "biuf" or examined.ndim != 1 or not len(examined):
            raise ValueError(
                "propensity must hold one number for each position from 1 on, got shape "
                f"{examined.shape} of {examined.dtype}."
            )
        wrong = ~((examined > 0) & (examined < np.inf))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"propensity must hold numbers > 0, got {examined[at]:g} at position {at + 1}. A "
                "position that nobody examines tells nothing: leave out its impressions."
            )
        examined = examined.astype(np.float64)
        _refuse_weights(examined)
        if trust is None:
            return cls(examined, np.zeros(len(examined)))
        if not isinstance(trust, (tuple, list)) or len(trust) != 2:
            raise ValueError(
                "trust must be a pair: the probabilities of a click on an examined document if it "
                f"is relevant, and if it is not, got {trust!r}."
            )
        shape = examined.shape
        relevant, other = (
            np.broadcast_to(values, shape) if values.shape in ((), shape) else values
            for values in (check_probabilities(given, "trust") for given in trust)
        )
        if relevant.shape != shape or other.shape != shape:
            raise ValueError(
                f"trust must hold two numbers, or two arrays of {shape[0]} positions as "
                f"propensity, got shapes {relevant.shape} and {other.shape}."
            )
        if (relevant <= other).any():
            at = int(np.argmax(relevant <= other))
            raise ValueError(
                "trust must give relevant documents more clicks than others, got probabilities "
                f"{relevant[at]:g} and {other[at]:g} at position {at + 1}."
            )
        return cls(examined * (relevant - other), examined * other)

    def at(self, position: Ints) -> PositionModel:
        """Return the model of each impression, or raise if it has no such position."""
        last = int(position.max(initial=0))
        if last > len(self.slope):
            raise ValueError(
                f"propensity must have a probability for each position up to {last}, the last one "
                f"where a document was shown, got {len(self.slope)}."
            )
        return PositionModel(self.slope[position - 1], self.offset[position - 1])


def _refuse_weights(examined: Floats) -> None:
    """Raise ValueError for numbers above 1, unless they are relative to position 1.

    Estimates can then be above 1 elsewhere. Numbers that never fall and end far above are weights.
    """
    above = examined > 1 + _ROUNDING
    is_relative = abs(examined[0] - 1) <= _ROUNDING
    are_weights = examined[-1] >= _FAR_ABOVE and (np.diff(examined) >= 0).all()
    if above.any() and (are_weights or not is_relative):
        at = int(np.argmax(above))
        raise ValueError(
            "propensity must hold probabilities, or multiples of that of position 1, which is then "
            f"1, got {examined[at]:g} at position {at + 1}. If these are weights, pass their "
            "inverse, 1 / propensity; else divide them by the largest."
        )


def check_probabilities(values: Any, name: str) -> Floats:
    """Return an array of probabilities of any shape, or raise ValueError."""
    out = arrays.as_array(values, name)
    is_number = out.dtype.kind in "biuf"
    if not is_number or not ((out >= 0) & (out <= 1)).all():
        wrong = out[~((out >= 0) & (out <= 1))] if is_number else out[:0]
        got = f"{wrong[0]:g}" if len(wrong) else f"shape {out.shape} of {out.dtype}"
        raise ValueError(f"{name} must hold probabilities, got {got}.")
    return out.astype(np.float64)
