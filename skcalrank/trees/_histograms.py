"""The trees of scikit-learn's histogram regressors, which have no public attributes.

All that is read of what is private in them is read here. Where a version of scikit-learn has it
under another name, scores come from the public methods of the regressor.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from ..columns.types import Array, Floats, Ints
from ..data import lazy_property
from ..preprocessing import Category
from ._forest import Forest, coded_as_written, finite
from ._shap import Paths

# What is private: in a regressor the trees of each round, what they are added to, the reader of
# columns and what a fit draws from; in a tree its arrays.
_NAMES = {
    "rounds": "_predictors",
    "level": "_baseline_prediction",
    "reader": "_preprocessor",
    "draws": "_feature_subsample_rng",
    "nodes": "nodes",
    "binned": "binned_left_cat_bitsets",
    "raw": "raw_left_cat_bitsets",
}

# What is known of a node.
_FIELDS = {
    *("is_leaf", "left", "right", "feature_idx", "num_threshold", "missing_go_to_left"),
    *("value", "count", "gain", "is_categorical", "bitset_idx"),
}

# The arrays of a tree, in the order of its constructor.
_PARTS = ("nodes", "binned", "raw")


class Histograms:
    """The trees of a regressor, which read columns in an order of their own: categories first.

    * `forest`: the trees, for codes that are numbers of categories.
    * `order`: the column of X that each column of the trees is.
    * `gains`: gain of each split.
    * `is_exact`: whether the scores are those of the regressor to the bit.
    """

    is_exact = True

    def __init__(self, model: Any) -> None:
        self.trees = _private(model, "rounds")
        self.n_trees, self.n_bins = len(self.trees), model.max_bins
        self.order: Ints = np.arange(model.n_features_in_)
        self.known: list[Floats] = []  # the categories of each column, in the order of numbers
        if model.is_categorical_ is not None:
            self.order = np.argsort(~model.is_categorical_, kind="stable")
            encoder = _private(model, "reader").named_transformers_["encoder"]
            self.known = [known[~np.isnan(known)] for known in encoder.categories_]
        trees = [tree for (tree,) in self.trees]
        of_trees = [_private(tree, "nodes") for tree in trees]
        if not set(of_trees[0].dtype.names) >= _FIELDS:
            raise AttributeError(f"nodes must have {sorted(_FIELDS)}")
        sizes = np.array(list(map(len, of_trees)))
        roots: Ints = np.cumsum(sizes) - sizes
        nodes, first = np.concatenate(of_trees), np.repeat(roots, sizes)
        is_leaf = nodes["is_leaf"].astype(bool)
        self.gains: Floats = nodes["gain"][~is_leaf]
        of_forest = {
            "is_leaf": is_leaf,
            "left": first + nodes["left"],
            "right": first + nodes["right"],
            "feature": nodes["feature_idx"],
            "threshold": nodes["num_threshold"],
            "missing_left": nodes["missing_go_to_left"].astype(bool),
            "value": nodes["value"],
            "count": nodes["count"].astype(np.intp),
        }
        self.forest = Forest.of_nodes(roots, of_forest, _codes(trees, nodes, sizes), in_order=True)
        try:
            self.forest.constant = float(_private(model, "level").item())
        except AttributeError:
            row = np.zeros((1, model.n_features_in_))
            self.forest.constant = float(scores(model, row)[0] - self.scores(row)[0])
            self.is_exact = False

    @property
    def features(self) -> Ints:
        """The column of X that each split reads."""
        return self.order[self.forest.features]

    def is_of(self, model: Any) -> bool:
        """Return whether the trees of a regressor are those that this was made of."""
        trees = _private(model, "rounds")
        return trees is self.trees and len(trees) == self.n_trees

    def scores(self, X: Floats) -> Floats:
        """Return the scores of rows, to the bit those of the regressor.

        A call of the regressor validates the rows, encodes the categories by a ColumnTransformer
        and calls a function for each tree, which for few rows costs many times what its trees do.
        """
        return self.forest.of_rows(self._columns(X))

    def contributions(self, X: Floats) -> Floats:
        """Return the scores of rows as sums over the columns and, last, a constant."""
        parts, order = self._paths.parts(self._columns(X)), np.append(self.order, X.shape[1])
        out = np.empty_like(parts)
        out[:, order] = parts
        return out

    @lazy_property
    def _paths(self) -> Paths:
        """The paths through the trees, which are found once."""
        return Paths(self.forest, len(self.order))

    def _columns(self, X: Floats) -> Floats:
        """Return the columns as the trees read them."""
        if not self.known:  # the order is that of X
            return np.ascontiguousarray(X, dtype=float)
        columns = np.ascontiguousarray(X[:, self.order], dtype=float)
        for number, known in enumerate(self.known):
            columns[:, number] = _numbered(columns[:, number], known)
        return columns

    def written(self, categories: Mapping[int, Category]) -> Forest:
        """Return the trees for columns in the order of X, and the codes of categories."""
        own, features = self.forest, self.features.tolist()
        missing_below, codes = own.missing_below.tolist(), {}
        for split, numbers in own.codes.items():
            place, category = own.features[split], categories[features[split]]
            of_column = np.arange(float(category.n_codes + category.has_missing))[:, None]
            read = _numbered(pooled(of_column, [0], self.n_bins).ravel(), self.known[place])
            sent = np.where(np.isnan(read), missing_below[split], np.isin(read, numbers))
            known = np.flatnonzero(sent).tolist(), missing_below[split]
            codes[split], missing_below[split] = coded_as_written(*known, category)
        thresholds = [0.0 if k in codes else finite(of) for k, of in enumerate(own.thresholds)]
        ways = own.below.tolist(), own.above.tolist()
        roots, values = own.roots.tolist(), own.values.tolist()
        return Forest(roots, features, thresholds, codes, *ways, missing_below, values)


def _private(owner: Any, what: str) -> Any:
    """Return what is private in an object of scikit-learn."""
    return getattr(owner, _NAMES[what])


def _codes(trees: list[Any], nodes: Array, sizes: Ints) -> dict[int, list[int]]:
    """Return the numbers of categories that go to the left, by the number of the node."""
    bitsets = [_private(tree, "raw") for tree in trees]
    counts = np.array([len(of_tree) for of_tree in bitsets])
    rows = np.repeat(np.cumsum(counts) - counts, sizes) + nodes["bitset_idx"]
    bits = np.concatenate(bitsets)[:, :, None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)
    flags = bits.reshape(len(bits), bits.shape[1] * bits.shape[2])
    coded = np.flatnonzero(nodes["is_categorical"].astype(bool) & (nodes["is_leaf"] == 0))
    return {int(node): np.flatnonzero(flags[rows[node]]).tolist() for node in coded}


def _numbered(codes: Floats, known: Floats) -> Floats:
    """Return the places of codes among the known ones; NaN for others."""
    if not len(known):
        return np.full(len(codes), np.nan)
    places = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[places] == codes, places, np.nan)


def pooled(X: Any, kinds: list[int], n_bins: int) -> Floats:
    """Return X with one code for the categories that scikit-learn has no bins for.

    These are the rarest, as codes go by decreasing frequency.
    """
    codes = X[:, kinds] if kinds else np.zeros(0)
    if not (codes >= n_bins).any():
        return X
    X = X.copy()
    X[:, kinds] = np.minimum(codes, n_bins - 1)
    return X


# Those of the models that have been asked for; None where they cannot be read.
_READ: WeakKeyDictionary[HistGradientBoostingRegressor, Histograms | None] = WeakKeyDictionary()


def read_if_possible(model: HistGradientBoostingRegressor) -> Histograms | None:
    """Return the trees of a model, which are read once; None if they cannot be read."""
    try:
        known = _READ.get(model)
        if known is None or not known.is_of(model):
            _READ[model] = known = Histograms(model)
    except AttributeError:
        return None
    return known


def histograms_of(model: HistGradientBoostingRegressor) -> Histograms:
    """Return the trees of a model; raise ValueError if they cannot be read."""
    if (histograms := read_if_possible(model)) is None:
        raise ValueError(
            f"The trees of {type(model).__name__} must be those of a version of scikit-learn that "
            f"is known, got version {sklearn.__version__}: install another one, or set "
            "engine='lightgbm' or 'xgboost'."
        )
    return histograms


def n_rounds(model: HistGradientBoostingRegressor) -> int:
    """Return the number of rounds that count."""
    return vars(model).get("n_rounds_", model.n_iter_)


def scores_of_rounds(model: HistGradientBoostingRegressor, X: Floats) -> Iterator[Floats]:
    """Yield the scores after each round that counts."""
    return islice(model.staged_predict(X), n_rounds(model))


def scores(model: HistGradientBoostingRegressor, X: Floats) -> Floats:
    """Return the scores of rows by the rounds that count."""
    if "n_rounds_" not in vars(model):
        return model.predict(X)
    *_, last = scores_of_rounds(model, X)
    return last


def cut(model: HistGradientBoostingRegressor, n_rounds: int) -> HistGradientBoostingRegressor:
    """Return a copy with the trees of the first rounds; or all, of which others do not count."""
    state, name = model.__getstate__() | {"max_iter": n_rounds}, _NAMES["rounds"]
    rounds = {name: state[name][:n_rounds]} if name in state else {"n_rounds_": n_rounds}
    return _of_state(state | rounds)


def packed(model: HistGradientBoostingRegressor) -> Any:
    """Return a model in a form for files: arrays of all trees, one below the other.

    Arrays of each tree would take twice the bytes of the numbers in them.
    """
    state = model.__getstate__()
    # Only a fit draws from it, and skops cannot write it with old versions of numpy.
    state.pop(_NAMES["draws"], None)
    try:
        trees = [tree for (tree,) in state.pop(_NAMES["rounds"])]
        parts = {name: [_private(tree, name) for tree in trees] for name in _PARTS}
    except (AttributeError, LookupError):
        return model
    sizes = {f"n_{name}": np.array([len(of) for of in parts[name]]) for name in _PARTS}
    return {"state": state, **{name: np.concatenate(of) for name, of in parts.items()}, **sizes}


def unpacked(dumped: Any) -> HistGradientBoostingRegressor:
    """Return the model that :func:`packed` has stored."""
    if not isinstance(dumped, dict):
        return dumped
    sizes = [dumped[f"n_{name}"] for name in _PARTS]
    if len(set(map(len, sizes))) > 1 or min(dumped["n_nodes"]) < 1:
        raise ValueError("its trees have no nodes")  # any number of them takes no space in a file
    ends = {name: np.cumsum(dumped[f"n_{name}"])[:-1] for name in _PARTS}
    parts = (np.split(dumped[name], ends[name]) for name in _PARTS)
    trees = [[TreePredictor(*of_tree)] for of_tree in zip(*parts)]
    return _of_state(dumped["state"] | {_NAMES["rounds"]: trees})


def _of_state(state: dict[str, Any]) -> HistGradientBoostingRegressor:
    model = HistGradientBoostingRegressor()
    model.__setstate__(state)
    return model
