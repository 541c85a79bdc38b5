"""Boosted trees of every library as nested splits."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

# Tolerance of the check that trees add up to the scores of the library, relative to the largest.
_TOLERANCE = 1e-5

# LightGBM reads numbers up to this size as zero.
_ZERO = float(np.float32(1e-35))


class Split(NamedTuple):
    """Split of rows into those whose feature is below a threshold, and the others.

    The threshold is in single precision, as the features.
    """

    feature: int
    threshold: float
    below: Tree
    above: Tree
    missing_below: bool


class Kinds(NamedTuple):
    """Split of rows into those with some categories of a feature, and the others.

    Categories that are not known go where missing values go. `known` has the names of the
    categories of `fit`, where features and categories have names.
    """

    feature: int
    categories: list[int]
    below: Tree
    above: Tree
    missing_below: bool
    known: tuple[Any, ...] = ()


Tree: TypeAlias = "Split | Kinds | float"


class Ensemble(NamedTuple):
    """Trees whose leaves are summed, with a constant, and categories by the number of a feature."""

    trees: list[Tree]
    constant: float
    categories: dict[int, list[Any]]


def has_trees(model: Any) -> bool:
    """Return whether a fitted ranker or regressor adds up boosted trees."""
    return next(_boosters(model), None) is not None


def ensemble_of(model: Any) -> Ensemble:
    """Return the trees of a fitted ranker or regressor that has some.

    Raise unless they can be written as splits of numbers and known categories.
    """
    boosters, kinds = list(_boosters(model)), {}
    if columns := getattr(model, "categorical_features_", []):
        kinds = dict(zip(columns, map(list, model.encoder_.categories_)))
    trees = [
        scaled(tree, weight)
        for booster, weight in boosters
        for tree in _trees_of_booster(booster, kinds)
    ]
    constant = _constant(boosters, trees, int(model.n_features_in_), kinds)
    return Ensemble(trees, constant, kinds)


def trees_of_numbers(model: Any) -> Ensemble:
    """Return the trees of a model; raise if they split categories."""
    trees = ensemble_of(model)
    if trees.categories:
        raise ValueError(
            f"{type(model).__name__} splits columns of categories, and this format reads numbers "
            "alone: encode them before, by numbers or indicators, or use to_json."
        )
    return trees


def _boosters(model) -> Iterator[tuple[Any, float]]:
    """Yield the fitted boosters of a model, and their weights."""
    if hasattr(model, "model_weights_"):
        many = len(model.model_weights_) > 1
        boosters = model.booster_ if many else [model.booster_]
        yield from zip(boosters, map(float, model.model_weights_))
    elif isinstance(model, HistGradientBoostingRegressor):
        yield model, 1.0
    elif type(model).__module__.partition(".")[0] == "lightgbm" and hasattr(model, "booster_"):
        yield model.booster_, 1.0
    elif hasattr(model, "get_booster"):
        yield model.get_booster(), 1.0


def _trees_of_booster(booster, kinds) -> Iterator[Tree]:
    if isinstance(booster, HistGradientBoostingRegressor):
        if booster.is_categorical_ is not None:
            raise ValueError(
                "Trees of scikit-learn split columns of categories by numbers of their own: encode "
                "the categories before, or fit with engine='lightgbm' or 'xgboost' and use to_json."
            )
        for trees in booster._predictors:  # noqa: SLF001 (as skcalrank.boosting reads them)
            yield _of_nodes(trees[0].nodes)
    elif hasattr(booster, "get_dump"):
        if booster.attr("zeros") is not None:
            raise ValueError(
                "The trees of XGBoost were grown on a sparse matrix, whose zeros are missing: fit "
                "to X.toarray()."
            )
        names = booster.feature_names or [f"f{i}" for i in range(booster.num_features())]
        numbers = {name: number for number, name in enumerate(names)}
        for text in booster.get_dump(dump_format="json"):
            yield _of_xgboost(json.loads(text), numbers, kinds)
    else:
        best = booster.best_iteration if booster.best_iteration > 0 else None
        for tree in booster.dump_model(num_iteration=best)["tree_info"]:
            yield _of_lightgbm(tree["tree_structure"], kinds)


def _of_nodes(nodes, number=0) -> Tree:
    node = nodes[number]
    if node["is_leaf"]:
        return float(node["value"])
    return Split(
        int(node["feature_idx"]),
        _above(float(node["num_threshold"])),
        _of_nodes(nodes, node["left"]),
        _of_nodes(nodes, node["right"]),
        bool(node["missing_go_to_left"]),
    )


def _of_xgboost(node, numbers, kinds) -> Tree:
    if "leaf" in node:
        return float(node["leaf"])
    feature, threshold = numbers[node["split"]], node["split_condition"]
    child = {below["nodeid"]: below for below in node["children"]}
    below, above = (_of_xgboost(child[node[branch]], numbers, kinds) for branch in ("yes", "no"))
    missing_below = node["missing"] == node["yes"]
    if isinstance(threshold, (int, float)):
        return Split(feature, float(np.float32(threshold)), below, above, missing_below)
    if feature not in kinds:
        raise ValueError(
            f"A tree of XGBoost splits categories of {node['split']}: encode them as numbers."
        )
    return Kinds(feature, list(threshold), below, above, missing_below)


def _of_lightgbm(node, kinds) -> Tree:
    if "leaf_coeff" in node:
        raise ValueError(
            "Trees have linear functions in their leaves: fit without linear_tree, or export the "
            "text of LightGBM with to_engine."
        )
    if "leaf_value" in node:
        return float(node["leaf_value"])
    feature, kind = int(node["split_feature"]), node["missing_type"]
    below, above = (_of_lightgbm(node[child], kinds) for child in ("left_child", "right_child"))
    if node["decision_type"] == "==" and feature in kinds:
        categories = list(map(int, node["threshold"].split("||")))
        return Kinds(feature, categories, below, above, False)
    if node["decision_type"] != "<=" or kind == "Zero":
        raise ValueError(
            "Trees of LightGBM split categories, or take zeros for missing: encode the categories "
            "as numbers, fit without zero_as_missing, or export the text with to_engine."
        )
    threshold = float(node["threshold"])
    missing_below = bool(node["default_left"] if kind == "NaN" else threshold >= 0)
    return Split(feature, _above(_apart_from_zero(threshold)), below, above, missing_below)


def _apart_from_zero(threshold: float) -> float:
    """Return a threshold with all numbers that LightGBM reads as zero on one side."""
    if abs(threshold) > _ZERO:
        return threshold
    return _ZERO if threshold >= 0 else float(np.nextafter(-_ZERO, -np.inf))


def _above(threshold: float) -> float:
    """Return the single b for which x < b where a single x is at most a threshold."""
    largest = np.finfo(np.float32).max
    near = np.float32(np.clip(threshold, -largest, largest))
    # Next to zero, and to the largest number, numpy warns.
    with np.errstate(all="ignore"):
        # Compared in double precision.
        if float(near) > threshold:
            near = np.nextafter(near, np.float32(-np.inf))
        return float(min(np.nextafter(near, np.float32(np.inf)), largest))


def scaled(tree: Tree, weight: float) -> Tree:
    """Return a tree whose leaves are multiplied by a weight."""
    if isinstance(tree, float):
        return weight * tree
    below, above = scaled(tree.below, weight), scaled(tree.above, weight)
    return tree._replace(below=below, above=above)


def splits_of(trees: Iterable[Tree]) -> Iterator[Split | Kinds]:
    """Yield the splits of trees."""
    waiting = list(trees)
    while waiting:
        tree = waiting.pop()
        if not isinstance(tree, float):
            yield tree
            waiting += [tree.below, tree.above]


def value_of(tree: Tree, row: Any) -> float:
    """Return the value of the leaf that a row of single precision falls into."""
    while not isinstance(tree, float):
        x = row[tree.feature]
        is_below = x < tree.threshold if isinstance(tree, Split) else x in tree.categories
        tree = tree.below if (tree.missing_below if np.isnan(x) else is_below) else tree.above
    return tree


def _constant(boosters, trees, n_features, kinds) -> float:
    """Return the constant that the library adds to the trees; raise unless it adds up the trees."""
    n_rows = max(4, *map(len, kinds.values())) if kinds else 4
    rows = np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(np.float32)
    rows[1:] *= _sizes(trees, n_features)
    for feature, categories in kinds.items():
        rows[:, feature] = np.arange(n_rows) % len(categories)
    expected = np.sum([weight * _predicted(booster, rows) for booster, weight in boosters], axis=0)
    sums = np.array([sum(value_of(tree, row) for tree in trees) for row in rows])
    rest = expected - sums
    if np.ptp(rest) > _TOLERANCE * max(1e-30, np.abs(expected).max(), np.abs(sums).max()):
        raise ValueError(
            "The trees do not add up to the scores of the library, as those of booster='dart' of "
            "XGBoost: export its own format with to_engine."
        )
    return float(rest.mean())


def _sizes(trees, n_features):
    """Return the largest threshold of each feature, so that made rows fall on both sides."""
    sizes = np.ones(n_features, dtype=np.float32)
    for split in splits_of(trees):
        if isinstance(split, Split):
            # Infinite values would give NaN.
            size = min(abs(split.threshold), 1e18)
            sizes[split.feature] = max(sizes[split.feature], size)
    return sizes


def _predicted(booster, rows):
    if hasattr(booster, "get_dump"):
        margin = booster.inplace_predict(rows, predict_type="margin", validate_features=False)
        return margin.astype(float)
    if isinstance(booster, HistGradientBoostingRegressor):
        with warnings.catch_warnings():
            # A model that was fitted to a data frame warns of rows without names.
            warnings.simplefilter("ignore")
            return booster.predict(rows)
    return booster.predict(rows, raw_score=True)
