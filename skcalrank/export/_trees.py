"""Boosted trees of every library as nested splits of rows in single precision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from ..preprocessing import ScaledBeside
from ..trees import Forest, forest_of


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

    `unseen_below` is whether categories that are not known go below. `known` has the names of the
    categories of `fit`, where features and categories have names.
    """

    feature: int
    categories: list[int]
    below: Tree
    above: Tree
    missing_below: bool
    unseen_below: bool
    known: tuple[Any, ...] = ()


Tree: TypeAlias = "Split | Kinds | float"


class Ensemble(NamedTuple):
    """Trees whose leaves are summed, with a constant, and levels of the codes of each feature."""

    trees: list[Tree]
    constant: float
    categories: dict[int, list[list[Any]]]


def has_trees(model: Any) -> bool:
    """Return whether a fitted ranker or regressor adds up boosted trees."""
    return next(_boosters(model), None) is not None


def ensemble_of(model: Any) -> Ensemble:
    """Return the trees of a fitted ranker or regressor that has some.

    Raise unless they can be written as splits of numbers and known categories.
    """
    encoder = getattr(model, "encoder_", None)
    if isinstance(encoder, ScaledBeside):
        raise ValueError(
            f"{type(model).__name__} reads numbers scaled within the query, and what is exported "
            "sees one document at a time: use to_json, to_sql or to_onnx of the whole stack."
        )
    categories, n_columns = {}, int(model.n_features_in_)
    if encoder is not None:
        categories, n_columns = encoder.categories_, len(encoder.sources_)
    kinds = {number: column.levels_by_code() for number, column in categories.items()}
    forests = [forest_of(b, n_columns, categories, weight) for b, weight in _boosters(model)]
    trees = [tree for forest in forests for tree in trees_of_forest(forest)]
    return Ensemble(trees, sum(forest.weight * forest.constant for forest in forests), kinds)


def trees_of_numbers(model: Any) -> Ensemble:
    """Return the trees of a model, with the numbers of the columns of its table.

    Raise if they split anything but numbers as they are.
    """
    trees, encoder = ensemble_of(model), getattr(model, "encoder_", None)
    if encoder is None:
        return trees
    columns = [encoder.columns_[source] for source in encoder.sources_]
    for number in {split.feature for split in splits_of(trees.trees)}:
        _check_number(model, columns[number])
    read = [_renumbered(tree, encoder.sources_.tolist()) for tree in trees.trees]
    return trees._replace(trees=read)


def _check_number(model: Any, column: Any) -> None:
    if column.kind == "category":
        raise ValueError(
            f"{type(model).__name__} splits columns of categories, such as {column.name!r}, and "
            "this format reads numbers alone: encode them before, by numbers or indicators, or use "
            "to_json."
        )
    is_number = column.kind in ("number", "flag") and not column.from_text
    if not is_number or column.offset:
        how = "less an offset" if is_number else f"as {column.kind}"
        raise ValueError(
            f"Column {column.name!r} is read {how}, and this format reads numbers as they are: "
            "make them where features are computed, leave the column out with columns="
            f"{{{column.name!r}: 'drop'}}, or use to_json."
        )


def _renumbered(tree: Tree, sources: list[int]) -> Tree:
    """Return a tree with other numbers of features."""
    if isinstance(tree, float):
        return tree
    below, above = _renumbered(tree.below, sources), _renumbered(tree.above, sources)
    return tree._replace(feature=sources[tree.feature], below=below, above=above)


def _boosters(model: Any) -> Iterator[tuple[Any, float]]:
    """Yield the fitted boosters of a model, and their weights."""
    if hasattr(model, "encoder_") and hasattr(model, "estimator_"):
        yield from _boosters(model.estimator_)
    elif hasattr(model, "model_weights_"):
        many = len(model.model_weights_) > 1
        boosters = model.booster_ if many else [model.booster_]
        yield from zip(boosters, map(float, model.model_weights_))
    elif isinstance(model, HistGradientBoostingRegressor):
        yield model, 1.0
    elif type(model).__module__.partition(".")[0] == "lightgbm" and hasattr(model, "booster_"):
        yield model.booster_, 1.0
    elif hasattr(model, "get_booster"):
        yield model.get_booster(), 1.0


def trees_of_forest(forest: Forest) -> list[Tree]:
    """Return the trees of a forest, with its weight in their leaves."""
    return [scaled(_tree(forest, root), forest.weight) for root in forest.roots]


def _tree(forest: Forest, node: int) -> Tree:
    """Return a tree of a forest, given its root."""
    if node < 0:
        return forest.values[-1 - node]
    ways = _tree(forest, forest.below[node]), _tree(forest, forest.above[node])
    feature, missing_below = forest.features[node], forest.missing_below[node]
    if node in forest.codes:
        known = [code for code in forest.codes[node] if code >= 0]
        return Kinds(feature, known, *ways, missing_below, known != forest.codes[node])
    return Split(feature, _above(forest.thresholds[node]), *ways, missing_below)


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
