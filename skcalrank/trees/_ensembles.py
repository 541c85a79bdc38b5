"""Contributions of features to the scores of scikit-learn's regressors of trees."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import ensemble
from sklearn.tree import BaseDecisionTree

from ..columns.types import Floats
from ._forest import Forest
from ._histograms import histograms_of
from ._shap import Paths, summing_to

_HISTOGRAMS = ensemble.HistGradientBoostingRegressor


def has_tree_parts(model: Any) -> bool:
    """Return whether a model is a regressor of scikit-learn that consists of trees."""
    return isinstance(model, (_HISTOGRAMS, ensemble.BaseEnsemble, BaseDecisionTree))


def tree_parts(model: Any, X: Any, scores: Floats) -> Floats:
    """Return the scores of rows as sums over the features, which are SHAP values.

    The last column is a constant. Raise ValueError if the trees cannot be explained, or the values
    do not sum to the scores.
    """
    X, name = X.toarray() if issparse(X) else np.asarray(X), type(model).__name__
    if not isinstance(model, _HISTOGRAMS):
        parts = _parts_of_trees(model, X.astype(float))
    elif model.is_categorical_ is not None and X.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} cannot be explained with columns of categories that are not numbers: encode "
            "them first, or use BoostedRanker(engine='sklearn')."
        )
    else:
        parts = histograms_of(model).contributions(X.astype(float))
    return summing_to(parts, scores, name)


def _parts_of_trees(model: Any, X: Floats) -> Floats:
    """Return the parts of a sum of trees, one after the other, as forests can be large."""
    trees, factor, level = _summed(model)
    out, X = np.zeros((len(X), X.shape[1] + 1)), X.astype(np.float32)  # as trees read it
    for tree in (estimator.tree_ for estimator in trees):
        nodes = {
            "is_leaf": tree.children_left < 0,
            "left": tree.children_left,
            "right": tree.children_right,
            "feature": tree.feature,
            "threshold": tree.threshold,
            "missing_left": tree.missing_go_to_left.astype(bool),
            "value": factor * tree.value[:, 0, 0],
            "count": tree.weighted_n_node_samples,
        }
        out += Paths(Forest.of_nodes(np.zeros(1, dtype=np.intp), nodes), X.shape[1]).parts(X)
    out[:, -1] += level
    return out


def _summed(model: Any) -> tuple[list[Any], float, float]:
    """Return the trees that a model adds up, their factor, and what it adds to them."""
    if isinstance(model, BaseDecisionTree):
        return [model], 1.0, 0.0
    if isinstance(model, (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor)):
        return model.estimators_, 1.0 / len(model.estimators_), 0.0
    start = getattr(model, "init_", None)
    constant = 0.0 if isinstance(start, str) else getattr(start, "constant_", None)
    if isinstance(model, ensemble.GradientBoostingRegressor) and constant is not None:
        return list(model.estimators_[:, 0]), model.learning_rate, float(np.ravel(constant)[0])
    raise ValueError(
        f"ranker must have scores that are sums of trees, got {type(model).__name__}: choose a "
        "forest or gradient boosting without another init."
    )
