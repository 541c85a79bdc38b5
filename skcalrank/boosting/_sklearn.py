"""Histogram trees of scikit-learn as an engine.

The regressor of scikit-learn does not take a custom objective. A round of boosting is a regression,
however: if trees are fitted to minus gradient over curvature, with the curvature as sample weight,
the values of their leaves are Newton steps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from copy import copy
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import RandomState
from sklearn.ensemble import HistGradientBoostingRegressor

from ..data import Rows, openmp
from ..data.types import Floats
from ._engine import Engine, Growing, threads
from ._shap import Paths
from ._walk import Rounds, Walk, trees_of

# Trees per computation of the gradient: each fit of the regressor sorts all columns again.
_ROUNDS = 5

# Number of rows used to compute the bins of a column, and number of bins, as in scikit-learn.
_MOST_ROWS, _BINS = 200_000, 255

# Number of rows of a leaf, as in scikit-learn.
_LEAST = 20

# Up to so many rows, operations on arrays are faster than the regressor, with the same result.
_FEW_ROWS = 100

# Weight of rows that are not drawn. Those of weight 0 would have no say in the bins.
_NEXT_TO_NOTHING = 1e-12


class _GrowingHistograms(Growing):
    def __init__(
        self,
        engine: ScikitLearn,
        params: dict[str, Any],
        objective: Callable[..., Any],
        kinds: list[int],
        train: Rows,
        valid: Rows | None,
        starts: tuple[Floats | None, Floats | None],
    ) -> None:
        del engine
        params = _adapted(params, kinds, train.X.shape[1])
        self._objective, self._n_jobs = objective, params.pop("n_jobs")
        self._share, self._rng = params.pop("subsample"), RandomState(params["random_state"])
        n_bins = params.get("max_bins", _BINS)
        self._X = _binned(pooled(train.X, kinds, n_bins), kinds, n_bins)
        self._valid_X = None if valid is None else pooled(valid.X, kinds, n_bins)
        self._starts = starts
        self._n_rounds, self._scores = 0, deque[Any]()
        self._model = HistGradientBoostingRegressor(
            **params, max_iter=1, categorical_features=kinds or None
        )

    def grow(self) -> None:
        if self._n_rounds % _ROUNDS == 0:
            with openmp().limit(limits=self._n_jobs or None):
                self._grow_more()
        self._n_rounds += 1

    def _grow_more(self) -> None:
        """Fit the next trees to Newton steps from the present scores."""
        trees = self._model.predict(self._X) if self._n_rounds else np.zeros(len(self._X))
        start = self._starts[0]
        scores = trees if start is None else trees + start
        gradient, curvature = self._objective(scores)
        self._model.set_params(max_iter=self._n_rounds + _ROUNDS)
        self._model.fit(self._X, trees - gradient / curvature, sample_weight=self._drawn(curvature))
        if self._valid_X is not None:
            stages = self._model.staged_predict(self._valid_X)
            self._scores = deque(islice(stages, self._n_rounds, None))

    def _drawn(self, curvature: Floats) -> Floats:
        """Return the weights of the rows, which are next to nothing for those that are not drawn.

        The rows themselves stay, so that the bins of all trees are the same.
        """
        if self._share is None:
            return curvature
        return np.where(self._rng.random(len(curvature)) < self._share, curvature, _NEXT_TO_NOTHING)

    def followed(self) -> Floats:
        scores = self._scores.popleft()
        start = self._starts[1]
        return scores if start is None else scores + start

    def n_rounds(self) -> int:
        return self._n_rounds

    def cut(self, n_rounds: int) -> Any:
        model = copy(self._model)  # training may go on
        model._predictors = Rounds(trees_of(model)[:n_rounds])  # noqa: SLF001
        # Only a fit draws from it, and skops cannot write it with old versions of numpy.
        model._feature_subsample_rng = None  # noqa: SLF001
        return model.set_params(max_iter=n_rounds)


def _adapted(params: dict[str, Any], kinds: list[int], n_columns: int) -> dict[str, Any]:
    """Return options as scikit-learn reads them."""
    params = dict(params)
    if params["subsample"] is not None:
        # It also counts the rows of a leaf that are not drawn.
        least = params.get("min_samples_leaf", _LEAST)
        params["min_samples_leaf"] = math.ceil(least / params["subsample"])
    if "interaction_cst" in params and kinds:
        # The trees number columns of categories first, which scikit-learn forgets in these sets.
        order = np.argsort(~np.isin(np.arange(n_columns), kinds), kind="stable")
        places = np.argsort(order)
        params["interaction_cst"] = [
            places[columns].tolist() for columns in params["interaction_cst"]
        ]
    return params


def _binned(X: Any, kinds: list[int], n_bins: int) -> Floats:
    """Return X with at most `n_bins` distinct values in each column, which give the same splits.

    Columns with many values cost scikit-learn weighted quantiles in every fit. Columns without
    values, on which it raises, are filled with 0.
    """
    X = np.array(X, dtype=float)
    for number, column in enumerate(X.T):
        there = ~np.isnan(column)
        if not there.any():
            column[:] = 0.0
        elif number not in kinds:
            kept = _kept(column[there][:: -(-len(column) // _MOST_ROWS)], n_bins)
            # Replace each value by the nearest kept one: trees split halfway between two values.
            column[there] = kept[np.searchsorted((kept[:-1] + kept[1:]) / 2, column[there])]
    return X


def pooled(X: Any, kinds: list[int], n_bins: int) -> Floats:
    """Return X with one code for the categories that scikit-learn has no bins for.

    These are the rarest, as codes go by decreasing frequency.
    """
    codes = X[:, kinds]
    if not (codes >= n_bins).any():
        return X
    X = X.copy()
    X[:, kinds] = np.minimum(codes, n_bins - 1)
    return X


def _kept(values: Floats, n_bins: int) -> Floats:
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
    boosters = ()

    def check(self, params: dict[str, Any], settings: dict[str, Any], *, stops: bool) -> None:
        super().check(params, settings, stops=stops)
        if (settings["max_bins"] or 0) > _BINS:
            raise ValueError(
                f"max_bins must be at most {_BINS} with engine='sklearn', got "
                f"{settings['max_bins']}."
            )

    def unknown(self, params: dict[str, Any], objective: str | None) -> list[str]:
        del objective  # scikit-learn has no ranking objectives
        return [name for name in params if name not in HistGradientBoostingRegressor().get_params()]

    def params(self, settings: dict[str, Any], engine_params: dict[str, Any]) -> dict[str, Any]:
        fixed = {
            **self.options(settings),
            "subsample": settings["subsample"],
            "random_state": settings["seed"],
            "n_jobs": settings["n_jobs"],
            "early_stopping": False,
            "warm_start": True,
        }
        return fixed | engine_params

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        X = pooled(X, kinds, model.max_bins)
        if len(X) <= _FEW_ROWS:
            return _walk_of(model).of_rows(X)
        with openmp().limit(limits=threads(n_jobs, X.size) or None):
            return model.predict(X)

    def staged(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Iterator[Floats]:
        stages = model.staged_predict(pooled(X, kinds, model.max_bins))
        for _ in trees_of(model):
            # Not while the caller works.
            with openmp().limit(limits=threads(n_jobs, X.size) or None):
                scores = next(stages)
            yield scores

    def contributions(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        del n_jobs  # numpy takes one thread
        return paths_of(model).parts(pooled(X, kinds, model.max_bins))

    def importances(self, model: Any, n_features: int) -> Floats:
        nodes = np.concatenate([tree.nodes for (tree,) in trees_of(model)])
        inner = nodes[nodes["is_leaf"] == 0]
        gains: Any = np.bincount(inner["feature_idx"], inner["gain"], minlength=n_features)
        if model.is_categorical_ is None:
            return gains
        # The trees number columns of categories first.
        place = np.argsort(~model.is_categorical_, kind="stable")
        return gains[np.argsort(place)]


# Walks through the models that have been asked for few rows.
_WALKS: WeakKeyDictionary[HistGradientBoostingRegressor, Walk] = WeakKeyDictionary()


def _walk_of(model: HistGradientBoostingRegressor) -> Walk:
    """Return the walk through the trees of a model, which is made once."""
    walk = _WALKS.get(model)
    if walk is None or not walk.is_of(model):
        walk = _WALKS[model] = Walk(model)
    return walk


# Their paths, of those whose scores have been explained.
_PATHS: WeakKeyDictionary[HistGradientBoostingRegressor, Paths] = WeakKeyDictionary()


def paths_of(model: HistGradientBoostingRegressor) -> Paths:
    """Return the paths through the trees of a model, which are found once."""
    paths = _PATHS.get(model)
    if paths is None or not paths.trees.is_of(model):
        paths = _PATHS[model] = Paths(_walk_of(model))
    return paths
