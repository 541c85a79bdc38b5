"""Scores that are sums of curves of single features, and of trees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from ..preprocessing import signed_log1p


class Value(NamedTuple):
    """Argument of a curve: a feature, or its signed logarithm."""

    feature: str
    log: bool = False


class Hinge(NamedTuple):
    """0 up to a start, 1 from an end, and a straight line in between."""

    value: Value
    start: float
    end: float


class Category(NamedTuple):
    """1 where a feature has a value, else 0."""

    feature: str
    value: str | bool | int | float


class Additive(NamedTuple):
    """A constant, plus weighted values of features, hinges, categories and trees.

    `missing` is what a feature adds where it has no value, in place of all its terms but trees; it
    lacks features that always have one. In a column that is not encoded yet it may be a text.
    Features and categories of `trees` have names.
    """

    constant: float
    slopes: Mapping[Value, float] = MappingProxyType({})
    hinges: Mapping[Hinge, float] = MappingProxyType({})
    categories: Mapping[Category, float] = MappingProxyType({})
    missing: Mapping[str, Any] = MappingProxyType({})
    trees: tuple[tuple[float, Any], ...] = ()

    def terms(self) -> tuple[Mapping[Any, float], ...]:
        """Return all that is added to the constant but trees, by kind."""
        return self.slopes, self.hinges, self.categories, self.missing

    def feature(self) -> str | None:
        """Return the only feature of the sum; None of other sums."""
        features = {value.feature for value in self.slopes}
        features |= {hinge.value.feature for hinge in self.hinges} | set(self.missing)
        features |= {category.feature for category in self.categories}
        return features.pop() if len(features) == 1 and not self.trees else None

    def filled(self, feature: str, value: Any) -> Additive:
        """Return the sum with a value where the feature has none, unless it has one there."""
        if feature in self.missing:
            return self
        # Large integers are categories that a float does not hold.
        is_exact = isinstance(value, str) or (isinstance(value, int) and not self.constant)
        term = value if is_exact else float(value) - self.constant
        return self._replace(missing={feature: term})

    def line(self) -> tuple[Value, float] | None:
        """Return the value and the slope of a straight line of one feature; None for other sums."""
        if self.hinges or self.categories or self.trees or len(self.slopes) != 1:
            return None
        [(value, slope)] = self.slopes.items()
        return (value, slope) if slope else None

    def log(self) -> Additive | None:
        """Return the signed logarithm; None where it is not a sum of this kind."""
        line = self.line()
        if line is None or self.constant != 0 or line[0].log or line[1] != 1:
            return None
        missing = {name: float(signed_log1p(fill)) for name, fill in self.missing.items()}
        return Additive(0.0, {Value(line[0].feature, True): 1.0}, missing=missing)

    def hinge(self, start: float, end: float) -> Additive | None:
        """Return a hinge of the sum; None where it is not a sum of this kind."""
        line = self.line()
        if line is None:
            return None
        value, slope = line
        ends = [(place - self.constant) / slope for place in (start, end)]
        falls = float(slope < 0)
        missing = {
            name: min(max((self.constant + fill - start) / (end - start), 0.0), 1.0) - falls
            for name, fill in self.missing.items()
        }
        hinge = Hinge(value, *ends[::-1]) if falls else Hinge(value, *ends)
        return Additive(falls, {}, {hinge: 1.0 - 2 * falls}, missing=missing)


def combined(summands: Iterable[tuple[float, Additive]], constant: float = 0.0) -> Additive:
    """Return a constant plus numbers times sums."""
    terms: Any = ({}, {}, {}, {})
    trees: list[tuple[float, Any]] = []
    for weight, score in summands:
        constant += weight * score.constant
        for sums, added in zip(terms, score.terms()):
            for term, number in added.items():
                sums[term] = sums.get(term, 0.0) + weight * number
        trees += [(weight * height, tree) for height, tree in score.trees]
    slopes, hinges, categories, missing = terms
    return Additive(float(constant), slopes, hinges, categories, missing, tuple(trees))


def check_finite(score: Additive) -> None:
    """Raise for numbers that no format can hold."""
    numbers = [score.constant, *chain.from_iterable(terms.values() for terms in score.terms())]
    numbers += [end for hinge in score.hinges for end in (hinge.start, hinge.end)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(
            "The coefficients, or the scales of steps before them, are not finite numbers: scale "
            "the features, and fit again."
        )
