"""Scores that are sums of curves and categories of single features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from ..columns import is_missing
from ..columns.types import Array
from ..preprocessing import signed_log1p

# Centers more than so many units from 0 are subtracted where a feature is read.
_FAR = 2.0**20


class Curve(NamedTuple):
    """A feature less an offset, its signed logarithm, or a hinge of one of these.

    `kind` is that of a view: "linear", "logs", "hinges" or "log_hinges". A hinge is 0 up to a
    start, 1 from an end, and a straight line in between.
    """

    kind: str
    feature: str
    start: float = 0.0
    end: float = 0.0
    offset: float = 0.0

    @property
    def number(self) -> tuple[str, float]:
        """What is read: the feature and the offset."""
        return self.feature, self.offset

    @property
    def at_zero(self) -> float:
        """The curve where the feature less the offset is 0."""
        if not self.kind.endswith("hinges"):
            return 0.0
        return min(max(-self.start / 2 / (self.end / 2 - self.start / 2), 0.0), 1.0)


class Category(NamedTuple):
    """1 where a feature has a value, else 0."""

    feature: str
    value: str | bool | int | float


class Additive(NamedTuple):
    """A constant, plus weighted values of features, hinges and categories.

    `missing` is what a feature adds where it has no value, in place of all its terms; it lacks
    features that always have one. In a column that is not encoded yet it may be a text.
    """

    constant: float
    terms: Mapping[Any, float] = MappingProxyType({})  # by curve or category
    missing: Mapping[str, Any] = MappingProxyType({})

    def feature(self) -> str | None:
        """Return the only feature of the sum; None of other sums."""
        features = {term.feature for term in self.terms} | set(self.missing)
        return features.pop() if len(features) == 1 else None

    def given(self) -> str | None:
        """Return the feature of which the sum is the value as it is; None of other sums."""
        feature = self.feature()
        return None if feature is None or self != identity(feature) else feature

    def filled(self, feature: str, value: Any) -> Additive:
        """Return the sum with a value where the feature has none, unless it has one there."""
        if feature in self.missing:
            return self
        # Large integers are categories that a float does not hold.
        is_exact = isinstance(value, str) or (isinstance(value, int) and not self.constant)
        return self._replace(missing={feature: value if is_exact else float(value) - self.constant})

    def less(self, center: float, unit: float = 0.0) -> Additive:
        """Return the sum less a number, which is the offset of a feature if it is far from 0.

        In a constant it would round off differences of values.
        """
        feature = self._replace(missing={}).given()
        if feature is None or not abs(center) > _FAR * unit:
            return combined([(1.0, self)], -center)
        missing = {name: fill - center for name, fill in self.missing.items()}
        return Additive(0.0, {Curve("linear", feature, offset=center): 1.0}, missing)

    def log(self) -> Additive | None:
        """Return the signed logarithm; None where it is not a sum of this kind."""
        feature = self._replace(missing={}).given()
        if feature is None:
            return None
        missing = {name: float(signed_log1p(fill)) for name, fill in self.missing.items()}
        return Additive(0.0, {Curve("logs", feature): 1.0}, missing)

    def hinge(self, start: float, end: float) -> Additive | None:
        """Return a hinge of the sum; None where it is not a sum of this kind."""
        if len(self.terms) != 1:
            return None
        [(curve, slope)] = self.terms.items()
        if not slope or not isinstance(curve, Curve) or curve.kind.endswith("hinges"):
            return None
        low, high = sorted((place - self.constant) / slope for place in (start, end))
        falls = float(slope < 0)
        missing = {
            name: min(max((self.constant + fill - start) / (end - start), 0.0), 1.0) - falls
            for name, fill in self.missing.items()
        }
        kind = "hinges" if curve.kind == "linear" else "log_hinges"
        bent = Curve(kind, curve.feature, low, high, curve.offset)
        return Additive(falls, {bent: 1.0 - 2 * falls}, missing)


def identity(feature: str) -> Additive:
    """Return a feature as it is."""
    return Additive(0.0, {Curve("linear", feature): 1.0})


def combined(summands: Iterable[tuple[float, Additive]], constant: float = 0.0) -> Additive:
    """Return a constant plus numbers times sums."""
    both: tuple[dict[Any, float], ...] = ({}, {})
    for weight, score in summands:
        constant += weight * score.constant
        for sums, added in zip(both, (score.terms, score.missing)):
            for term, number in added.items():
                sums[term] = sums.get(term, 0.0) + weight * number
    return Additive(float(constant), *both)


def filled(step: SimpleImputer, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a SimpleImputer makes of given ones."""
    if not is_missing(step.missing_values):
        raise ValueError(
            f"SimpleImputer must replace NaN or None to be exported, got missing_values="
            f"{step.missing_values!r}: mark missing values with NaN."
        )
    features: list[Any] = [column.feature() for column in columns]
    if None in features:
        raise ValueError(
            "SimpleImputer must fill columns of single features to be exported: put it before the "
            "other steps."
        )
    for feature, value in zip(features, step.statistics_):
        if value is None:
            _refuse_unfilled(feature)
    flagged = [] if step.indicator_ is None else step.indicator_.features_
    keeps_all = len(step.get_feature_names_out()) == len(columns) + len(flagged)
    values = zip(columns, features, step.statistics_)
    filled_in = [c.filled(name, x) for c, name, x in values if keeps_all or not is_missing(x)]
    return filled_in + [Additive(0.0, missing={features[number]: 1.0}) for number in flagged]


def _refuse_unfilled(feature: str) -> NoReturn:
    raise ValueError(
        f"{feature} has None among its categories, which SimpleImputer does not fill, and no "
        "format distinguishes None from NaN: replace None by NaN, as by frame.fillna(np.nan) "
        "before fit."
    )


def indicators(step: OneHotEncoder, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a OneHotEncoder makes of given ones."""
    nothing = [None] * len(columns)
    rare = getattr(step, "infrequent_categories_", None) or nothing
    dropped = nothing if step.drop_idx_ is None else step.drop_idx_
    features = zip(columns, step.categories_, rare, dropped)
    return [column for feature in features for column in _of_feature(step, *feature)]


def _of_feature(
    step: Any, column: Additive, known: Array, rare: Array | None, dropped: int | None
) -> list[Additive]:
    """Return the columns of one feature, one for each group of categories that is not dropped."""
    feature, rare = column._replace(missing={}).given(), [] if rare is None else list(rare)
    if feature is None:
        raise ValueError(
            "OneHotEncoder must encode features as they are, or filled by SimpleImputer, to be "
            "exported: put it before the other steps."
        )
    if sum(map(is_missing, known)) > 1:
        raise ValueError(
            f"{feature} has both None and NaN among its categories, and no format tells them "
            "apart: replace one by the other before fit."
        )
    groups = [[c] for c in known if not _holds(rare, c)] + ([rare] if rare else [])
    if feature in column.missing and _group_of(None, groups) is not None:
        _refuse_unfilled(feature)
    takes_unseen = rare and step.handle_unknown in ("infrequent_if_exist", "warn")
    of_unseen = len(groups) - 1 if takes_unseen else None
    # A missing value that no step filled is a category, or a value that was not seen in fit.
    of_missing = _group_of(column.missing.get(feature, np.nan), groups, of_unseen)
    refused = step.handle_unknown == "error" and of_missing is None
    out = []
    for number, group in enumerate(groups):
        if dropped is not None and _holds(group, known[dropped]):
            continue
        # Values not seen in fit are in a group that is all but the others.
        unseen = float(number == of_unseen)
        listed = chain(*groups[:number]) if unseen else group
        levels = (plain(level) for level in listed if not is_missing(level))
        terms = {Category(feature, level): 1.0 - 2 * unseen for level in levels}
        missing = {} if refused else {feature: float(number == of_missing) - unseen}
        out.append(Additive(unseen, terms, missing))
    return out


def _group_of(value: float | str | None, groups: Any, otherwise: int | None = None) -> int | None:
    """Return the number of the group of categories that holds a value."""
    return next((n for n, group in enumerate(groups) if _holds(group, value)), otherwise)


def _holds(group: Sequence[Any], value: Any) -> bool:
    """Return whether a value is among others; missing values are all the same."""
    if is_missing(value):
        return any(map(is_missing, group))
    return any(not is_missing(category) and category == value for category in group)


def plain(value: Any) -> Any:
    """Return a category as JSON and SQL have it: a text, a truth value or a number."""
    category = value.item() if isinstance(value, np.generic) else value
    if not isinstance(category, (str, bool, int, float)):
        raise ValueError(
            f"Categories must be text, truth values or numbers to be exported, got {value!r}: "
            "convert them before fit."
        )
    return category
