"""Histogram trees of scikit-learn as an engine.

The regressor of scikit-learn does not take a custom objective. A round of boosting is a regression,
however: if trees are fitted to minus gradient over curvature, with the curvature as sample weight,
the values of their leaves are Newton steps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.ensemble import HistGradientBoostingRegressor

from ..columns.types import Floats
from ..data import openmp
from ..preprocessing import Category
from . import _histograms as histograms
from ._engine import Engine, Growing, Task, threads
from ._forest import Categories, Forest

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
    def __init__(self, engine: ScikitLearn, task: Task) -> None:
        params, objective, kinds, train, valid, starts = task
        params = _adapted(params, kinds, train.X.shape[1])
        self._objective, self._n_jobs = objective, params.pop("n_jobs")
        self._share, self._rng = params.pop("subsample"), RandomState(params["random_state"])
        n_bins = params.get("max_bins", _BINS)
        self._X = _binned(histograms.pooled(train.X, kinds, n_bins), kinds, n_bins)
        self._valid_X = None if valid is None else histograms.pooled(valid.X, kinds, n_bins)
        self._starts = starts
        self._n_rounds, self._scores = 0, deque[Any]()
        params |= {"max_iter": 1, "categorical_features": kinds or None}
        self._model = HistGradientBoostingRegressor(**params)

    def grow(self) -> None:
        if self._n_rounds % _ROUNDS == 0:
            with openmp().limit(limits=self._n_jobs or None):
                self._grow_more()
        self._n_rounds += 1

    def _grow_more(self) -> None:
        """Fit the next trees to Newton steps from the present scores."""
        trees = self._model.predict(self._X) if self._n_rounds else np.zeros(len(self._X))
        start = self._starts[0]
        gradient, curvature = self._objective(trees if start is None else trees + start)
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
        return histograms.cut(self._model, n_rounds)  # training may go on


def _adapted(params: dict[str, Any], kinds: list[int], n_columns: int) -> dict[str, Any]:
    """Return options as scikit-learn reads them."""
    params = dict(params)
    if params["subsample"] is not None:
        # It also counts the rows of a leaf that are not drawn.
        least = params.get("min_samples_leaf", _LEAST)
        params["min_samples_leaf"] = math.ceil(least / params["subsample"])
    if "interaction_cst" in params and kinds:
        # The trees number columns of categories first, which scikit-learn forgets in these sets.
        places = np.argsort(np.argsort(~np.isin(np.arange(n_columns), kinds), kind="stable"))
        sets = params["interaction_cst"]
        params["interaction_cst"] = [places[columns].tolist() for columns in sets]
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


def _kept(values: Floats, n_bins: int) -> Floats:
    """Return at most `n_bins` of the values, at equal shares of the rows."""
    values = np.sort(values)
    distinct = np.unique(values)
    if len(distinct) <= n_bins:
        return distinct
    return np.unique(values[np.linspace(0, len(values) - 1, n_bins).round().astype(int)])


class ScikitLearn(Engine):
    """scikit-learn's histogram trees."""

    name = "sklearn"
    growing = _GrowingHistograms
    objectives = ()
    boosters = ()
    dump, load = staticmethod(histograms.packed), staticmethod(histograms.unpacked)

    def unknown(self, params: dict[str, Any]) -> list[str]:
        return [name for name in params if name not in HistGradientBoostingRegressor().get_params()]

    def params(self, settings: dict[str, Any], engine_params: dict[str, Any]) -> dict[str, Any]:
        fixed = {
            **self.options(settings),
            "subsample": settings["subsample"],
            "n_jobs": settings["n_jobs"],
            "early_stopping": False,
            "warm_start": True,
        }
        return fixed | engine_params

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        X = histograms.pooled(X, kinds, model.max_bins)
        trees = histograms.read_if_possible(model) if len(X) <= _FEW_ROWS else None
        if trees is not None and trees.is_exact:
            return trees.scores(X)
        with openmp().limit(limits=threads(n_jobs, X.size) or None):
            return histograms.scores(model, X)

    def staged(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Iterator[Floats]:
        stages = histograms.scores_of_rounds(model, histograms.pooled(X, kinds, model.max_bins))
        for _ in range(histograms.n_rounds(model)):
            # Not while the caller works.
            with openmp().limit(limits=threads(n_jobs, X.size) or None):
                latest = next(stages)
            yield latest

    def contributions(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        X = histograms.pooled(X, kinds, model.max_bins)
        return histograms.histograms_of(model).contributions(X)

    def importances(self, model: Any, n_features: int) -> Floats:
        trees = histograms.histograms_of(model)
        return np.bincount(trees.features, trees.gains, minlength=n_features).astype(float)

    def splits(self, model: Any, X: Any, kinds: list[int]) -> bool:
        stages = histograms.scores_of_rounds(model, histograms.pooled(X, kinds, model.max_bins))
        with openmp().limit(limits=1):
            return any(np.ptp(latest) > 0 for latest in stages)

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[Any, Any]:
        estimator.set_params(categorical_features=kinds)
        return {}

    def columns(self, estimator: Any, matrix: Floats, categories: dict[int, Category]) -> Floats:
        """Return a matrix with as many categories as the trees tell apart."""
        matrix = super().columns(estimator, matrix, categories)
        return histograms.pooled(matrix, list(categories), estimator.max_bins)

    def _read(self, model: Any, categories: Categories) -> Forest:
        if model.is_categorical_ is not None and not categories:
            raise ValueError(
                "Trees of scikit-learn split columns of categories by numbers of their own: encode "
                "the categories before, or export a BoostedRanker."
            )
        return histograms.histograms_of(model).written(categories)
