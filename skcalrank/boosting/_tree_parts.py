"""Contributions of features to the scores of scikit-learn's trees, computed by shap."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import BaseEnsemble, HistGradientBoostingRegressor
from sklearn.tree import BaseDecisionTree

from ..data import Floats

# Relative rounding error allowed in sums over trees.
_TOLERANCE = 1e-6


def has_tree_parts(model: Any) -> bool:
    """Return whether a model is a regressor of scikit-learn that consists of trees."""
    return isinstance(model, (HistGradientBoostingRegressor, BaseEnsemble, BaseDecisionTree))


def tree_parts(model: Any, X: Any, scores: Floats) -> Floats:
    """Return the scores of rows as sums over the features, which are SHAP values.

    Parameters
    ----------
    model : regressor
        A model for which :func:`has_tree_parts` returns True.
    X : array-like of shape (n_rows, d)
    scores : ndarray of shape (n_rows,)
        Predictions of the model, which the parts must sum to.

    Returns
    -------
    parts : ndarray of shape (n_rows, d + 1)
        SHAP values of each feature; the last column is a constant.

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
        raise ImportError(
            f"Contributions to scores of {name} need shap: pip install shap"
        ) from error
    # shap would read a split on categories as a threshold, without an error.
    if getattr(model, "is_categorical_", None) is not None:
        raise ValueError(
            f"shap cannot explain {name} with columns of categories: encode them first, or use "
            "BoostedRanker(engine='lightgbm')."
        )
    try:
        explainer = shap.TreeExplainer(model)
    except ValueError as error:
        raise ValueError(f"shap cannot explain {name}: {error}") from error
    values = explainer.shap_values(np.asarray(X, dtype=float), check_additivity=False)
    parts = np.column_stack([values, np.full(len(values), np.ravel(explainer.expected_value)[0])])
    if np.abs(parts.sum(axis=1) - scores).max() > _TOLERANCE * (1.0 + np.abs(scores).max()):
        raise ValueError(f"The SHAP values of {name} do not sum to its scores.")
    return parts
