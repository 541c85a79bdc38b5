"""Parts of the scores of scikit-learn's trees, by shap."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import BaseEnsemble, HistGradientBoostingRegressor
from sklearn.tree import BaseDecisionTree

from ..data import Floats

# Scores are sums over trees.
_TOLERANCE = 1e-6


def has_tree_parts(model: Any) -> bool:
    """Return whether a regressor of scikit-learn is made of trees."""
    return isinstance(model, (HistGradientBoostingRegressor, BaseEnsemble, BaseDecisionTree))


def tree_parts(model: Any, X: Any, scores: Floats) -> Floats:
    """Return the scores of rows as sums over the features, which are SHAP values.

    Parameters
    ----------
    model : regressor
        For which :func:`has_tree_parts` is true.
    X : array-like of shape (n_rows, d)
    scores : ndarray of shape (n_rows,)
        What the parts must sum to.

    Returns
    -------
    parts : ndarray of shape (n_rows, d + 1)
        Last what all rows share.

    Raises
    ------
    ImportError
        If shap is not installed.
    ValueError
        If shap does not know the model, or its values do not sum to the scores.
    """
    name = type(model).__name__
    try:
        shap = import_module("shap")
    except ImportError as error:
        raise ImportError(f"The parts of scores of {name} need shap: pip install shap") from error
    # Where it takes the categories of a split for a threshold, nothing tells.
    if getattr(model, "is_categorical_", None) is not None:
        raise ValueError(
            f"shap has no parts of scores of {name} with columns of categories: encode them first, "
            "or use BoostedRanker(engine='lightgbm')."
        )
    try:
        explainer = shap.TreeExplainer(model)
    except ValueError as error:
        raise ValueError(f"shap has no parts of scores of {name}: {error}") from error
    values = explainer.shap_values(np.asarray(X, dtype=float), check_additivity=False)
    parts = np.column_stack([values, np.full(len(values), np.ravel(explainer.expected_value)[0])])
    if np.abs(parts.sum(axis=1) - scores).max() > _TOLERANCE * (1.0 + np.abs(scores).max()):
        raise ValueError(f"Parts of scores of {name} by shap do not sum to the scores.")
    return parts
