"""Encoded categories and filled missing values, as terms of single features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from ..data import is_missing
from ._additive import Additive, Category, Value


def filled(step: SimpleImputer, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a SimpleImputer makes of given ones."""
    if not is_missing(step.missing_values):
        raise ValueError(
            f"SimpleImputer must replace NaN or None to be exported, got missing_values="
            f"{step.missing_values!r}: mark missing values with NaN."
        )
    features = [_only_feature(column) for column in columns]
    for feature, value in zip(features, step.statistics_):
        if value is None:
            _refuse_unfilled(feature)
    flagged = [] if step.indicator_ is None else step.indicator_.features_
    keeps_all = len(step.get_feature_names_out()) == len(columns) + len(flagged)
    found = [
        column.filled(feature, value)
        for column, feature, value in zip(columns, features, step.statistics_)
        if keeps_all or not is_missing(value)
    ]
    return found + [Additive(0.0, {}, {}, {}, {features[number]: 1.0}) for number in flagged]


def _refuse_unfilled(feature) -> NoReturn:
    raise ValueError(
        f"{feature} has None among its categories, which SimpleImputer does not fill, and no "
        "format distinguishes None from NaN: replace None by NaN, as by frame.fillna(np.nan) "
        "before fit."
    )


def _only_feature(column: Additive) -> str:
    feature = column.feature()
    if feature is None:
        raise ValueError(
            "SimpleImputer must fill columns of single features to be exported: put it before the "
            "other steps."
        )
    return feature


def indicators(step: OneHotEncoder, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a OneHotEncoder makes of given ones."""
    nothing = [None] * len(columns)
    infrequent = getattr(step, "infrequent_categories_", None) or nothing
    drop = nothing if step.drop_idx_ is None else step.drop_idx_
    found = []
    for column, known, rare, number in zip(columns, step.categories_, infrequent, drop):
        dropped = [] if number is None else [known[number]]
        found += _of_feature(step, column, known, [] if rare is None else list(rare), dropped)
    return found


def _of_feature(step, column, known, rare, dropped) -> list[Additive]:
    """Return the columns of one feature, one for each group of categories that is not dropped."""
    feature = _encoded_feature(column)
    groups = [[each] for each in known if not _holds(rare, each)] + ([rare] if rare else [])
    _check_missing(feature, groups)
    if feature in column.missing and any(_holds(group, None) for group in groups):
        _refuse_unfilled(feature)
    # A missing value that no step filled is a category, or a value that was not seen in fit.
    fill = column.missing.get(feature, np.nan)
    unseen = rare if step.handle_unknown in ("infrequent_if_exist", "warn") else []
    place = next((group for group in groups if _holds(group, fill)), unseen)
    refused = step.handle_unknown == "error" and not place
    kept = [group for group in groups if not any(_holds(group, each) for each in dropped)]
    found = []
    for group in kept:
        # Values not seen in fit are in a group that is all but the others.
        rest = group is unseen
        listed = [c for each in groups if (each is group) != rest for c in each]
        terms = {
            Category(feature, plain(c)): -1.0 if rest else 1.0 for c in listed if not is_missing(c)
        }
        missing = {} if refused else {feature: float(group is place) - rest}
        found.append(Additive(float(rest), {}, {}, terms, missing))
    return found


def _encoded_feature(column: Additive) -> str:
    feature = column.feature()
    if feature is None or column.constant or dict(column.slopes) != {Value(feature): 1.0}:
        raise ValueError(
            "OneHotEncoder must encode features as they are, or filled by SimpleImputer, to be "
            "exported: put it before the other steps."
        )
    return feature


def _check_missing(feature, groups) -> None:
    if sum(is_missing(each) for group in groups for each in group) > 1:
        raise ValueError(
            f"{feature} has both None and NaN among its categories, and no format tells them "
            "apart: replace one by the other before fit."
        )


def _holds(group: Sequence[Any], value: Any) -> bool:
    """Return whether a value is among others; missing values are all the same."""
    if is_missing(value):
        return any(is_missing(each) for each in group)
    return any(not is_missing(each) and each == value for each in group)


def plain(value: Any) -> Any:
    """Return a category as JSON and SQL have it: a text, a truth value or a number."""
    found = value.item() if isinstance(value, np.generic) else value
    if not isinstance(found, (str, bool, int, float)):
        raise ValueError(
            f"Categories must be text, truth values or numbers to be exported, got {value!r}: "
            "convert them before fit."
        )
    return found
