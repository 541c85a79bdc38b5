"""Histogram trees of scikit-learn as an engine.

The regressor of scikit-learn does not take a custom objective. A round of boosting is a regression,
however: if trees are fitted to minus gradient over curvature, with the curvature as sample weight,
the values of their leaves are Newton steps.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from ..data import Floats
from ._engine import Engine, Growing, threads
from ._tree_parts import tree_parts

# Trees per computation of the gradient: each fit of the regressor sorts all columns again.
_ROUNDS = 5

# Number of rows used to compute the bins of a column, and number of bins, as in scikit-learn.
_MOST_ROWS, _BINS = 200_000, 255


class ScikitLearn(Engine):
    """scikit-learn's histogram trees."""

    name = "sklearn"
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

    def unknown(self, given: dict, objective: str | None) -> list[str]:
        del objective  # scikit-learn has no ranking objectives
        return [name for name in given if name not in HistGradientBoostingRegressor().get_params()]

    def params(self, settings: dict, given: dict) -> dict:
        fixed = {
            "learning_rate": settings["learning_rate"],
            "max_leaf_nodes": settings["max_leaves"],
            "random_state": settings["seed"],
            "n_jobs": settings["n_jobs"],
            "early_stopping": False,
            "warm_start": True,
        }
        return fixed | given

    def start(self, params, objective, rows, followed, kinds):
        return _GrowingHistograms(params, objective, rows, followed, kinds)

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        del kinds  # stored in the model
        with _on(n_jobs):
            found: Floats = model.predict(X)
        return found

    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        del kinds
        return tree_parts(model, X, model.predict(X))

    def importances(self, model: Any, n_features: int) -> Floats:
        nodes = np.concatenate([tree.nodes for (tree,) in _trees(model)])
        inner = nodes[nodes["is_leaf"] == 0]
        found: Any = np.bincount(inner["feature_idx"], inner["gain"], minlength=n_features)
        if model.is_categorical_ is None:
            return found
        # The trees number columns of categories first.
        place = np.argsort(~model.is_categorical_, kind="stable")
        return found[np.argsort(place)]

    def dump(self, model: Any) -> Any:
        return model

    def load(self, held: Any) -> Any:
        return held


def _trees(model):
    """Return the trees of each round; scikit-learn has no public attribute for them."""
    return model._predictors  # noqa: SLF001


def _on(n_jobs) -> AbstractContextManager:
    """Return a context that limits the threads; scikit-learn has no parameter for this."""
    if n_jobs is None:
        return nullcontext()
    return threadpool_limits(threads(n_jobs), user_api="openmp")


class _GrowingHistograms(Growing):
    def __init__(self, params, objective, rows, followed, kinds):
        self._objective = objective
        self._n_jobs = params["n_jobs"]
        given = {name: value for name, value in params.items() if name != "n_jobs"}
        self._X = _binned(rows.X, kinds, given.get("max_bins", _BINS))
        self._start, self._followed = rows.start, followed
        self._n_rounds, self._scores = 0, deque()
        self._model = HistGradientBoostingRegressor(
            **given, max_iter=1, categorical_features=kinds or None
        )

    def grow(self):
        if self._n_rounds % _ROUNDS == 0:
            with _on(self._n_jobs):
                self._grow_more()
        self._n_rounds += 1

    def _grow_more(self):
        """Fit the next trees to Newton steps from the present scores."""
        trees = self._model.predict(self._X) if self._n_rounds else np.zeros(len(self._X))
        scores = trees if self._start is None else trees + self._start
        gradient, curvature = self._objective(scores)
        self._model.set_params(max_iter=self._n_rounds + _ROUNDS)
        self._model.fit(self._X, trees - gradient / curvature, sample_weight=curvature)
        if self._followed is not None:
            stages = self._model.staged_predict(self._followed.X)
            self._scores = deque(islice(stages, self._n_rounds, None))

    def followed(self):
        scores = self._scores.popleft()
        start = self._followed.start
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
