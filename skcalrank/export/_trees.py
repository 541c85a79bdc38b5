"""Boosted trees of every library as nested splits."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline

from ..rankers import is_ranker
from ._reasons import check_exportable, part_of, unwrapped

# Tolerance of the check that trees add up to the scores of the library, relative to the largest.
_TOLERANCE = 1e-5

# LightGBM reads numbers up to this size as zero.
_ZERO = float(np.float32(1e-35))


class Split(NamedTuple):
    """Split of rows into those whose feature is below a threshold, and the others.

    Attributes
    ----------
    feature : int
    threshold : float
        In single precision, as the features.
    below, above : Split or float
        The next split, or the value of a leaf.
    missing_below : bool
        Whether missing values go below.
    """

    feature: int
    threshold: float
    below: Tree
    above: Tree
    missing_below: bool


Tree: TypeAlias = "Split | float"


class Ensemble(NamedTuple):
    """Trees whose leaves are summed, up to a constant."""

    trees: list[Tree]
    constant: float
    n_features: int


def ensemble_of(model: Any) -> Ensemble | None:
    """Return the trees of a fitted ranker or regressor; None where it has none.

    Raises
    ------
    ValueError
        If the trees cannot be written as splits of numbers.
    """
    model = unwrapped(model)
    if is_ranker(model) and part_of(model) is not None:
        return ensemble_of(part_of(model))
    found = list(_boosters(model))
    if not found:
        return None
    if getattr(model, "categorical_features_", None):
        raise ValueError(
            f"{type(model).__name__} splits columns of categories, and what is exported reads "
            "numbers alone: encode them before, by numbers or indicators."
        )
    trees = [
        _scaled(tree, weight) for booster, weight in found for tree in _trees_of_booster(booster)
    ]
    n_features = int(model.n_features_in_)
    return Ensemble(trees, _constant(found, trees, n_features), n_features)


def _boosters(model) -> Iterator[tuple[Any, float]]:
    """Yield the parts of a model that are trees, and their weights."""
    if isinstance(model, Pipeline) or not hasattr(model, "predict"):
        return
    if hasattr(model, "model_weights_"):
        if np.any(model.start_scale_):
            raise ValueError(
                f"{type(model).__name__} begins at the scores of start={model.start!r}, which are "
                "no trees: fit with start=None."
            )
        many = len(model.model_weights_) > 1
        boosters = model.booster_ if many else [model.booster_]
        yield from zip(boosters, map(float, model.model_weights_))
    elif isinstance(model, HistGradientBoostingRegressor):
        yield model, 1.0
    elif type(model).__module__.partition(".")[0] == "lightgbm" and hasattr(model, "booster_"):
        yield model.booster_, 1.0
    elif hasattr(model, "get_booster"):
        yield model.get_booster(), 1.0


def _trees_of_booster(booster) -> Iterator[Tree]:
    if isinstance(booster, HistGradientBoostingRegressor):
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
            yield _of_xgboost(json.loads(text), numbers)
    else:
        best = booster.best_iteration if booster.best_iteration > 0 else None
        for tree in booster.dump_model(num_iteration=best)["tree_info"]:
            yield _of_lightgbm(tree["tree_structure"])


def _of_nodes(nodes, number=0) -> Tree:
    node = nodes[number]
    if node["is_leaf"]:
        return float(node["value"])
    if node["is_categorical"]:
        raise ValueError("Trees split columns of categories: encode them as numbers before.")
    return Split(
        int(node["feature_idx"]),
        _above(float(node["num_threshold"])),
        _of_nodes(nodes, node["left"]),
        _of_nodes(nodes, node["right"]),
        bool(node["missing_go_to_left"]),
    )


def _of_xgboost(node, numbers) -> Tree:
    if "leaf" in node:
        return float(node["leaf"])
    threshold = node["split_condition"]
    if not isinstance(threshold, (int, float)):
        raise ValueError(
            f"A tree of XGBoost splits categories of {node['split']}: encode them as numbers."
        )
    child = {each["nodeid"]: each for each in node["children"]}
    below, above = (_of_xgboost(child[node[branch]], numbers) for branch in ("yes", "no"))
    missing_below = node["missing"] == node["yes"]
    return Split(numbers[node["split"]], float(np.float32(threshold)), below, above, missing_below)


def _of_lightgbm(node) -> Tree:
    if "leaf_coeff" in node:
        raise ValueError(
            "Trees have linear functions in their leaves: fit without linear_tree, or export the "
            "text of LightGBM with to_engine."
        )
    if "leaf_value" in node:
        return float(node["leaf_value"])
    threshold, kind = float(node["threshold"]), node["missing_type"]
    if node["decision_type"] != "<=" or kind == "Zero":
        raise ValueError(
            "Trees of LightGBM split categories, or take zeros for missing: encode the categories "
            "as numbers, fit without zero_as_missing, or export the text with to_engine."
        )
    missing_below = node["default_left"] if kind == "NaN" else threshold >= 0
    return Split(
        int(node["split_feature"]),
        _above(_apart_from_zero(threshold)),
        _of_lightgbm(node["left_child"]),
        _of_lightgbm(node["right_child"]),
        bool(missing_below),
    )


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


def _scaled(tree: Tree, weight: float) -> Tree:
    if not isinstance(tree, Split):
        return weight * tree
    below, above = _scaled(tree.below, weight), _scaled(tree.above, weight)
    return tree._replace(below=below, above=above)


def value_of(tree: Tree, row: Any) -> float:
    """Return the value of the leaf that a row of single precision falls into."""
    while isinstance(tree, Split):
        x = row[tree.feature]
        below = tree.missing_below if np.isnan(x) else x < tree.threshold
        tree = tree.below if below else tree.above
    return tree


def _constant(found, trees, n_features) -> float:
    """Return the constant that the library adds to the trees; raise unless it adds up the trees."""
    rows = np.random.default_rng(0).normal(size=(4, n_features)).astype(np.float32)
    rows[1:] *= _sizes(trees, n_features)
    expected = np.sum([weight * _predicted(booster, rows) for booster, weight in found], axis=0)
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
    sizes, waiting = np.ones(n_features, dtype=np.float32), list(trees)
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, Split):
            # Infinite values would give NaN.
            size = min(abs(tree.threshold), 1e18)
            sizes[tree.feature] = max(sizes[tree.feature], size)
            waiting += [tree.below, tree.above]
    return sizes


def _predicted(booster, rows):
    if hasattr(booster, "get_dump"):
        found = booster.inplace_predict(rows, predict_type="margin", validate_features=False)
        return found.astype(float)
    if isinstance(booster, HistGradientBoostingRegressor):
        with warnings.catch_warnings():
            # A model that was fitted to a data frame warns of rows without names.
            warnings.simplefilter("ignore")
            return booster.predict(rows)
    return booster.predict(rows, raw_score=True)


def exportable_trees(model: Any) -> Ensemble | None:
    """Return the trees of a model, or None, after checks of the model itself."""
    return ensemble_of(check_exportable(model))
