"""Models of the libraries of boosted trees, read as forests."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from ..data.types import Floats
from ..preprocessing import Category, read_by_trees
from ._forest import Forest
from ._sklearn import pooled
from ._walk import Walk

# Tolerance of the check that trees add up to the scores of the library, relative to the largest.
_TOLERANCE = 1e-5

# LightGBM reads numbers up to this size as zero.
_ZERO = float(np.float32(1e-35))

_LARGEST = float(np.finfo(np.float64).max)


class Split(NamedTuple):
    """A split as a library has it: its column, what goes below, and the nodes that it leads to."""

    feature: int
    below_if: float | list[int]  # threshold, or codes
    below: Any
    above: Any
    missing_below: bool


_Read: TypeAlias = Callable[[Any], Split | float]
Categories: TypeAlias = Mapping[int, Category]


def forest_of(booster: Any, n_columns: int, categories: Categories, weight: float = 1.0) -> Forest:
    """Return the trees of a fitted model of a library.

    Raises ValueError unless the trees are sums of splits of numbers and of codes.
    """
    if isinstance(booster, HistGradientBoostingRegressor):
        forest = _of_sklearn(booster, categories)
    elif hasattr(booster, "get_dump"):
        forest = _of_xgboost(booster, categories)
    else:
        forest = _of_lightgbm(booster, categories)
    forest.constant = _constant(booster, forest, n_columns, categories)
    forest.weight = weight
    return forest


def _grown(roots: list[Any], read: _Read, categories: Categories, **options: Any) -> Forest:
    """Return the trees of which `read` returns a split or the value of a leaf, given a node."""
    splits: list[Split] = []
    ways: list[list[int]] = []
    values: list[float] = []

    def place(node: Any) -> int:
        split = read(node)
        if not isinstance(split, Split):
            values.append(float(split))
            return -len(values)
        number = len(splits)
        splits.append(split)
        ways.append([])
        ways[number] = [place(split.below), place(split.above)]
        return number

    starts = [place(root) for root in roots]
    coded = {k: split.below_if for k, split in enumerate(splits) if type(split.below_if) is list}
    missing_below = [split.missing_below for split in splits]
    for k, codes in coded.items():
        shift, unseen_below = categories[splits[k].feature].has_missing, missing_below[k]
        missing_below[k] = 0 in codes if shift else unseen_below
        coded[k] = [code - shift for code in codes if code >= shift] + [-1] * unseen_below
    return Forest(
        starts,
        [split.feature for split in splits],
        [0.0 if k in coded else _finite(split.below_if) for k, split in enumerate(splits)],
        coded,
        [below for below, _ in ways],
        [above for _, above in ways],
        missing_below,
        values,
        **options,
    )


def _finite(threshold: Any) -> float:
    return float(np.clip(threshold, -_LARGEST, _LARGEST))


def _of_sklearn(model: Any, categories: Categories) -> Forest:
    if model.is_categorical_ is not None and not categories:
        raise ValueError(
            "Trees of scikit-learn split columns of categories by numbers of their own: encode "
            "the categories before, or export a BoostedRanker."
        )
    walk = Walk(model)

    def read(node: int) -> Split | float:
        if walk.is_leaf[node]:
            return float(walk.value[node])
        place = walk.feature[node]
        feature, missing_below = int(walk.order[place]), bool(walk.missing_left[node])
        below_if: Any = float(walk.threshold[node])
        if walk.split[node] >= 0:
            column = categories[feature]
            codes = np.arange(float(column.n_codes + column.has_missing))[:, None]
            codes = pooled(codes, [0], model.max_bins).ravel()
            below_if = np.flatnonzero(walk.sends_left(node, codes)).tolist()
        above, below = walk.children[2 * node : 2 * node + 2].tolist()
        return Split(feature, below_if, below, above, missing_below)

    return _grown(walk.roots.tolist(), read, categories)


def _of_xgboost(booster: Any, categories: Categories) -> Forest:
    if booster.attr("zeros") is not None:
        raise ValueError(
            "The trees of XGBoost were grown on a sparse matrix, whose zeros are missing: fit "
            "to X.toarray()."
        )
    names = booster.feature_names or [f"f{i}" for i in range(booster.num_features())]
    numbers = {name: number for number, name in enumerate(names)}

    def read(node: Any) -> Split | float:
        if "leaf" in node:
            return float(np.float32(node["leaf"]))
        feature, below_if = numbers[node["split"]], node["split_condition"]
        child = {below["nodeid"]: below for below in node["children"]}
        if isinstance(below_if, (int, float)):
            below_if = _last_below(np.float32(below_if))
        elif feature not in categories:
            raise ValueError(
                f"A tree of XGBoost splits categories of {node['split']}: encode them as numbers."
            )
        ways = child[node["yes"]], child[node["no"]]
        return Split(feature, below_if, *ways, node["missing"] == node["yes"])

    roots = list(map(json.loads, booster.get_dump(dump_format="json")))
    return _grown(roots, read, categories, is_single=True)


def _last_below(threshold: Any) -> float:
    """Return the largest number that is below a threshold after rounding to single precision."""
    with np.errstate(all="ignore"):  # next to the largest number
        before = np.nextafter(threshold, np.float32(-np.inf))
        middle = (float(before) + float(threshold)) / 2
        return middle if np.float32(middle) < threshold else float(np.nextafter(middle, -np.inf))


def _of_lightgbm(booster: Any, categories: Categories) -> Forest:
    def read(node: Any) -> Split | float:
        if "leaf_coeff" in node:
            raise ValueError(
                "Trees have linear functions in their leaves: fit without linear_tree, or export "
                "the text of LightGBM with to_engine."
            )
        if "leaf_value" in node:
            return float(node["leaf_value"])
        feature, kind = int(node["split_feature"]), node["missing_type"]
        ways = node["left_child"], node["right_child"]
        if node["decision_type"] == "==" and feature in categories:
            return Split(feature, list(map(int, node["threshold"].split("||"))), *ways, False)
        if node["decision_type"] != "<=" or kind == "Zero":
            raise ValueError(
                "Trees of LightGBM split categories, or take zeros for missing: encode the "
                "categories as numbers, fit without zero_as_missing, or export the text with "
                "to_engine."
            )
        threshold = float(node["threshold"])
        missing_below = bool(node["default_left"] if kind == "NaN" else threshold >= 0)
        return Split(feature, _apart_from_zero(threshold), *ways, missing_below)

    best = booster.best_iteration if booster.best_iteration > 0 else None
    trees = booster.dump_model(num_iteration=best)["tree_info"]
    return _grown([tree["tree_structure"] for tree in trees], read, categories)


def _apart_from_zero(threshold: float) -> float:
    """Return a threshold with all numbers that LightGBM reads as zero on one side."""
    if abs(threshold) > _ZERO:
        return threshold
    return _ZERO if threshold >= 0 else float(np.nextafter(-_ZERO, -np.inf))


def _constant(booster: Any, forest: Forest, n_columns: int, categories: Categories) -> float:
    """Return the constant that the library adds to the trees; raise unless it adds up the trees."""
    rows = _made_rows(forest, n_columns, {k: of.n_codes for k, of in categories.items()})
    expected = _predicted(booster, read_by_trees(rows, categories), list(categories))
    sums = forest.of_rows(rows)
    rest = expected - sums
    if np.ptp(rest) > _TOLERANCE * max(1e-30, np.abs(expected).max(), np.abs(sums).max()):
        raise ValueError(
            "The trees do not add up to the scores of the library, as those of booster='dart' of "
            "XGBoost: export its own format with to_engine."
        )
    # Sums in single precision that begin at 0 are those of the library.
    return 0.0 if forest.is_single and not rest.any() else float(rest.mean())


def _made_rows(forest: Forest, n_columns: int, n_codes: Mapping[int, int]) -> Floats:
    """Return rows on both sides of the thresholds, and with every code."""
    n_rows = max(4, *n_codes.values()) if n_codes else 4
    sizes = np.ones(n_columns)
    # Infinite values would give NaN.
    np.maximum.at(sizes, forest.features, np.minimum(np.abs(forest.thresholds), 1e18))
    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    rows[1:] *= sizes
    rows = rows.astype(np.float32).astype(float)
    for feature, number in n_codes.items():
        rows[:, feature] = np.arange(n_rows) % max(number, 1)
    return rows


def _predicted(booster: Any, rows: Floats, kinds: list[int]) -> Floats:
    if hasattr(booster, "get_dump"):
        margin = booster.inplace_predict(rows, predict_type="margin", validate_features=False)
        return np.asarray(margin, dtype=float)
    if isinstance(booster, HistGradientBoostingRegressor):
        with warnings.catch_warnings():
            # A model that was fitted to a data frame warns of rows without names.
            warnings.simplefilter("ignore")
            return booster.predict(pooled(rows, kinds, booster.max_bins))
    return np.asarray(booster.predict(rows, raw_score=True))
