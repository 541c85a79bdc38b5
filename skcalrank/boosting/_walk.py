"""Scores of few rows by scikit-learn's trees, all walked at once by operations on arrays.

A call of the regressor validates the rows, encodes the categories by a ColumnTransformer and calls
a function for each tree, which for a query costs many times what its trees do.
"""

from __future__ import annotations

from collections import UserList
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from ..data.types import Array, Bools, Floats, Ints

# The number of bins of a column of categories is lower, so that this one can be the missing value.
_MISSING = 255

# Arrays of a tree.
_PARTS = ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")


class Walk:
    """The nodes of all trees of a regressor, one tree below the other.

    A leaf is its own child. A split on categories has a row of `goes_left`, with a column for each
    of the numbers that the regressor gives to the values of `known`.
    """

    def __init__(self, model: Any) -> None:
        self.trees = trees_of(model)
        self.n_trees = len(self.trees)
        self.order, self.known = _columns_of(model)
        self.level = float(model._baseline_prediction.item())  # noqa: SLF001
        nodes = [tree.nodes for (tree,) in self.trees]
        sizes = np.array([len(tree) for tree in nodes])
        self.roots: Ints = np.cumsum(sizes) - sizes
        joined, first = np.concatenate(nodes), np.repeat(self.roots, sizes)
        self.is_leaf: Bools = joined["is_leaf"].astype(bool)
        own = np.arange(len(joined))
        below = [np.where(self.is_leaf, own, first + joined[side]) for side in ("right", "left")]
        self.children: Ints = np.column_stack(below).ravel()
        self.feature: Ints = joined["feature_idx"].copy()
        self.threshold: Floats = joined["num_threshold"].copy()
        self.missing_left: Bools = joined["missing_go_to_left"].astype(bool)
        self.value: Floats = joined["value"].copy()
        self.count: Ints = joined["count"].astype(np.intp)  # rows of fit
        self._set_categories(joined, sizes)

    def _set_categories(self, nodes: Any, sizes: Ints) -> None:
        """Set the rows of `goes_left`, and its row of each node, -1 for splits on numbers."""
        bitsets = [tree.raw_left_cat_bitsets for (tree,) in self.trees]
        counts = np.array([len(of_tree) for of_tree in bitsets])
        rows = np.repeat(np.cumsum(counts) - counts, sizes) + nodes["bitset_idx"]
        on_categories = nodes["is_categorical"].astype(bool) & ~self.is_leaf
        self.split: Ints = np.where(on_categories, rows, -1).astype(np.intp)
        self.goes_left: Bools = _unpacked(np.concatenate(bitsets))
        self.goes_left[self.split[on_categories], _MISSING] = self.missing_left[on_categories]

    def is_of(self, model: Any) -> bool:
        """Return whether the trees of a regressor are those that this was made of."""
        trees = trees_of(model)
        return trees is self.trees and len(trees) == self.n_trees

    def of_rows(self, X: Floats) -> Floats:
        """Return the scores of rows, to the bit those of the regressor."""
        columns = self._columns(X)
        start = np.repeat(np.arange(len(X)) * columns.shape[1], self.n_trees)
        node = np.tile(self.roots, len(X))
        cells, some_missing = columns.ravel(), bool(np.isnan(columns).any())
        walking = np.flatnonzero(~self.is_leaf[node])
        while len(walking):
            at = node[walking]
            values = cells[start[walking] + self.feature[at]]
            left = values <= self.threshold[at]
            if some_missing:
                left |= np.isnan(values) & self.missing_left[at]
            if self.known:
                self._split_categories(at, values, left)
            at = self.children[2 * at + left]
            node[walking] = at
            walking = walking[~self.is_leaf[at]]
        values = self.value[node].reshape(len(X), self.n_trees)
        # As the regressor adds them, one tree after the other; `sum` would add in another order.
        levels = np.full((len(X), 1), self.level)
        scores: Floats = np.cumsum(np.hstack([levels, values]), axis=1)[:, -1]
        return scores

    def _columns(self, X: Floats) -> Floats:
        """Return the columns as the trees read them."""
        columns = np.ascontiguousarray(X[:, self.order], dtype=float)
        for number, known in enumerate(self.known):
            columns[:, number] = _numbered(columns[:, number], known)
        return columns

    def lefts(self, X: Floats) -> Bools:
        """Return whether each node sends the rows to the left, of shape (n_rows, n_nodes)."""
        values = self._columns(X).take(self.feature, axis=1)
        left = (values <= self.threshold) | (np.isnan(values) & self.missing_left)
        chosen = np.flatnonzero(self.split >= 0)
        left[:, chosen] = self.goes_left[self.split[chosen], _places(values[:, chosen])]
        return left

    def _split_categories(self, at: Ints, values: Floats, left: Bools) -> None:
        """Write where the rows go that are at splits on categories."""
        split = self.split[at]
        chosen = np.flatnonzero(split >= 0)
        left[chosen] = self.goes_left[split[chosen], _places(values[chosen])]

    def sends_left(self, node: int, codes: Floats) -> Bools:
        """Return whether a split on categories sends codes to the left."""
        numbers = _numbered(codes, self.known[self.feature[node]])
        sent: Bools = self.goes_left[self.split[node], _places(numbers)]
        return sent


def trees_of(model: Any) -> list[Any]:
    """Return the trees of each round; scikit-learn has no public attribute for them."""
    trees: list[Any] = model._predictors  # noqa: SLF001
    return trees


class Rounds(UserList[Any]):
    """The trees of each round of a regressor of scikit-learn, which are stored as a few arrays.

    Arrays of each tree would take twice the bytes of the numbers in them in a model file.
    """

    def __getstate__(self) -> dict[str, Any]:
        trees = [tree for (tree,) in self.data]
        parts = {name: [getattr(tree, name) for tree in trees] for name in _PARTS}
        sizes = {f"n_{name}": np.array([len(of) for of in parts[name]]) for name in _PARTS}
        return {name: np.concatenate(of) for name, of in parts.items()} | sizes

    def __setstate__(self, state: dict[str, Any]) -> None:
        ends = {name: np.cumsum(state[f"n_{name}"])[:-1] for name in _PARTS}
        parts = (np.split(state[name], ends[name]) for name in _PARTS)
        self.data = [[TreePredictor(*of_tree)] for of_tree in zip(*parts)]


def _columns_of(model: Any) -> tuple[Ints, list[Floats]]:
    """Return the order of the columns in the trees, and the values of those of categories."""
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_), []
    order = np.argsort(~model.is_categorical_, kind="stable")  # categories come first
    encoder = model._preprocessor.named_transformers_["encoder"]  # noqa: SLF001
    return order, [known[~np.isnan(known)] for known in encoder.categories_]


def _numbered(codes: Floats, known: Floats) -> Floats:
    """Return the places of codes among the known ones; NaN for others."""
    if not len(known):
        return np.full(len(codes), np.nan)
    places = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[places] == codes, places, np.nan)


def _places(numbers: Floats) -> Ints:
    """Return the columns of `goes_left` for numbers of categories."""
    return np.where(np.isnan(numbers), _MISSING, numbers).astype(np.intp)


def _unpacked(bitsets: Array) -> Bools:
    """Return the bits of sets of categories as columns."""
    bits = (bitsets[:, :, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return bits.reshape(len(bitsets), 256).astype(bool)
