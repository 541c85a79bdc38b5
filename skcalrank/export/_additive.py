"""Scores that are sums of curves of single features, and of trees."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple


class Value(NamedTuple):
    """Argument of a curve: a feature, or its signed logarithm.

    Attributes
    ----------
    feature : str
    log : bool
    """

    feature: str
    log: bool = False


class Hinge(NamedTuple):
    """0 up to a start, 1 from an end, and a straight line in between.

    Attributes
    ----------
    value : Value
    start, end : float
    """

    value: Value
    start: float
    end: float


class Additive(NamedTuple):
    """A constant, plus numbers times values of features, times hinges, and times trees.

    Attributes
    ----------
    constant : float
    slopes : dict
        Weight of each value.
    hinges : dict
        Weight of each hinge.
    trees : tuple of (float, Split or Kinds or float)
        Trees whose features and categories have names, and their weights.
    """

    constant: float
    slopes: dict[Value, float]
    hinges: dict[Hinge, float]
    trees: tuple[tuple[float, Any], ...] = ()

    def line(self) -> tuple[Value, float] | None:
        """Return the value and the slope of a straight line of one feature; None for other sums."""
        if self.hinges or self.trees or len(self.slopes) != 1:
            return None
        [(value, slope)] = self.slopes.items()
        return (value, slope) if slope else None

    def affine(self, scale: float, shift: float) -> Additive:
        """Return the sum times a number, plus another."""
        return combined([(scale, self)], shift)

    def log(self) -> Additive | None:
        """Return the signed logarithm; None where it is not a sum of this kind."""
        if self.line() is None or self.constant != 0:
            return None
        [(value, slope)] = self.slopes.items()
        if value.log or slope != 1:
            return None
        return Additive(0.0, {Value(value.feature, True): 1.0}, {})

    def hinge(self, start: float, end: float) -> Additive | None:
        """Return a hinge of the sum; None where it is not a sum of this kind."""
        found = self.line()
        if found is None:
            return None
        value, slope = found
        ends = [(each - self.constant) / slope for each in (start, end)]
        if slope > 0:
            return Additive(0.0, {}, {Hinge(value, *ends): 1.0})
        return Additive(1.0, {}, {Hinge(value, *ends[::-1]): -1.0})


def combined(parts: Iterable[tuple[float, Additive]], constant: float = 0.0) -> Additive:
    """Return a constant plus numbers times sums."""
    slopes: dict[Value, float] = {}
    hinges: dict[Hinge, float] = {}
    trees: list[tuple[float, Any]] = []
    for weight, part in parts:
        constant += weight * part.constant
        for value, slope in part.slopes.items():
            slopes[value] = slopes.get(value, 0.0) + weight * slope
        for hinge, height in part.hinges.items():
            hinges[hinge] = hinges.get(hinge, 0.0) + weight * height
        trees += [(weight * height, tree) for height, tree in part.trees]
    return Additive(float(constant), slopes, hinges, tuple(trees))


def check_finite(score: Additive) -> None:
    """Raise for numbers that no format can hold."""
    numbers = [score.constant, *score.slopes.values(), *score.hinges.values()]
    numbers += [end for hinge in score.hinges for end in (hinge.start, hinge.end)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(
            "The coefficients, or the scales of steps before them, are not finite numbers: scale "
            "the features, and fit again."
        )
