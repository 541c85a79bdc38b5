"""Histogram trees of scikit-learn as an engine, and contributions of features to their scores.

The regressor of scikit-learn does not take a custom objective. A round of boosting is a regression,
however: if trees are fitted to minus gradient over curvature, with the curvature as sample weight,
the values of their leaves are Newton steps.
"""

from collections import deque
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import BaseEnsemble, HistGradientBoostingRegressor
from sklearn.tree import BaseDecisionTree
from threadpoolctl import threadpool_limits

from ..data import check
from ..data.types import Floats
from ._engine import Engine, Growing, threads

# Trees per computation of the gradient: each fit of the regressor sorts all columns again.
_ROUNDS = 5

# Relative rounding error allowed in sums over trees.
_TOLERANCE = 1e-6

# Number of rows used to compute the bins of a column, and number of bins, as in scikit-learn.
_MOST_ROWS, _BINS = 200_000, 255


def _trees(model):
    """Return the trees of each round; scikit-learn has no public attribute for them."""
    return model._predictors  # noqa: SLF001


def _on(n_jobs) -> AbstractContextManager:
    """Return a context that limits the threads; scikit-learn has no parameter for this."""
    if n_jobs is None:
        return nullcontext()
    return threadpool_limits(threads(n_jobs), user_api="openmp")


class _GrowingHistograms(Growing):
    def __init__(self, engine, params, objective, kinds, train, valid, starts):
        del engine
        params = dict(params)
        self._objective, self._n_jobs = objective, params.pop("n_jobs")
        self._X = _binned(train.X, kinds, params.get("max_bins", _BINS))
        self._valid, self._starts = valid, starts
        self._n_rounds, self._scores = 0, deque()
        self._model = HistGradientBoostingRegressor(
            **params, max_iter=1, categorical_features=kinds or None
        )

    def grow(self):
        if self._n_rounds % _ROUNDS == 0:
            with _on(self._n_jobs):
                self._grow_more()
        self._n_rounds += 1

    def _grow_more(self):
        """Fit the next trees to Newton steps from the present scores."""
        trees = self._model.predict(self._X) if self._n_rounds else np.zeros(len(self._X))
        start = self._starts[0]
        scores = trees if start is None else trees + start
        gradient, curvature = self._objective(scores)
        self._model.set_params(max_iter=self._n_rounds + _ROUNDS)
        self._model.fit(self._X, trees - gradient / curvature, sample_weight=curvature)
        if self._valid is not None:
            stages = self._model.staged_predict(self._valid.X)
            self._scores = deque(islice(stages, self._n_rounds, None))

    def followed(self):
        scores = self._scores.popleft()
        start = self._starts[1]
        return scores if start is None else scores + start

    def n_rounds(self):
        return self._n_rounds

    def cut(self, n_rounds):
        del _trees(self._model)[n_rounds:]
        return self._model.set_params(max_iter=n_rounds)


def _binned(X, kinds, n_bins):
    """Return X with at most `n_bins` distinct values in each column, which give the same splits.

    Columns with many values cost scikit-learn weighted quantiles in every fit. Columns without
    values, on which it raises, are filled with 0.
    """
    X = np.array(X, dtype=float)
    for number, column in enumerate(X.T):
        there = ~np.isnan(column)
        if not there.any():
            column[:] = 0.0
        elif number in kinds:
            _check_kinds(number, column[there], n_bins)
        else:
            kept = _kept(column[there][:: -(-len(column) // _MOST_ROWS)], n_bins)
            # Replace each value by the nearest kept one: trees split halfway between two values.
            column[there] = kept[np.searchsorted((kept[:-1] + kept[1:]) / 2, column[there])]
    return X


def _check_kinds(number, values, most):
    n_kinds = len(np.unique(values))
    if n_kinds > most:
        raise ValueError(
            f"Columns of X must have at most {most} categories with engine='sklearn', got "
            f"{n_kinds} in column {number}. Merge rare categories, or choose engine='lightgbm'."
        )


def _kept(values, n_bins):
    """Return at most `n_bins` of the values, at equal shares of the rows."""
    values = np.sort(values)
    distinct = np.unique(values)
    if len(distinct) <= n_bins:
        return distinct
    places = np.linspace(0, len(values) - 1, n_bins).round().astype(int)
    return np.unique(values[places])


class ScikitLearn(Engine):
    """scikit-learn's histogram trees."""

    name = "sklearn"
    growing = _GrowingHistograms
    objectives = ()
    named: ClassVar = {
        "loss": ("loss", "quantile"),
        "n_estimators": ("max_iter",),
        "learning_rate": ("learning_rate",),
        "max_leaves": ("max_leaf_nodes",),
        "n_iter_no_change": ("n_iter_no_change", "early_stopping", "tol"),
        "validation_fraction": ("validation_fraction",),
        "random_state": ("random_state",),
        "measure": ("scoring",),
        "verbose": ("verbose",),
        "start": ("warm_start",),
    }
    of_objectives = ()
    of_columns = ("categorical_features",)
    boosters = ()

    def unknown(self, params: dict, objective: str | None) -> list[str]:
        del objective  # scikit-learn has no ranking objectives
        return [name for name in params if name not in HistGradientBoostingRegressor().get_params()]

    def params(self, settings: dict, engine_params: dict) -> dict:
        fixed = {
            "learning_rate": settings["learning_rate"],
            "max_leaf_nodes": settings["max_leaves"],
            "random_state": settings["seed"],
            "n_jobs": settings["n_jobs"],
            "early_stopping": False,
            "warm_start": True,
        }
        return fixed | engine_params

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        del kinds  # stored in the model
        with _on(n_jobs):
            return model.predict(X)

    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        del kinds
        return tree_parts(model, X, model.predict(X))

    def importances(self, model: Any, n_features: int) -> Floats:
        nodes = np.concatenate([tree.nodes for (tree,) in _trees(model)])
        inner = nodes[nodes["is_leaf"] == 0]
        gains: Any = np.bincount(inner["feature_idx"], inner["gain"], minlength=n_features)
        if model.is_categorical_ is None:
            return gains
        # The trees number columns of categories first.
        place = np.argsort(~model.is_categorical_, kind="stable")
        return gains[np.argsort(place)]


def has_tree_parts(model: Any) -> bool:
    """Return whether a model is a regressor of scikit-learn that consists of trees."""
    return isinstance(model, (HistGradientBoostingRegressor, BaseEnsemble, BaseDecisionTree))


def tree_parts(model: Any, X: Any, scores: Floats) -> Floats:
    """Return the scores of rows as sums over the features, which are SHAP values.

    The last column is a constant. Raise ValueError if shap does not know the model, or its values
    do not sum to the scores.
    """
    name = type(model).__name__
    remedy = f"Contributions to scores of {name} need shap: pip install shap"
    shap = check.installed("shap", remedy)
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
