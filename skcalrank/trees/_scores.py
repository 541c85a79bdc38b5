"""Scores of the boosted trees of a ranker, from its matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Floats
from ..data import apart
from ..preprocessing import read_by_trees
from ._engine import Engine
from ._forest import Forest, quietly
from ._registry import ENGINES, library_of


class TreeScores:
    """The scores of the trees of a fitted ranker or regressor, without a start, from its matrix."""

    regressor: Any = None  # whose trees they are, unless a ranker has grown them

    def __init__(self, engine: Engine, boosters: Any, weights: Any, model: Any, name: str) -> None:
        self.engine, self.boosters, self.weights = engine, boosters, weights
        encoder = getattr(model, "encoder_", None)
        self.n_columns = int(model.n_features_in_) if encoder is None else len(encoder.sources_)
        self.categories = {} if encoder is None else encoder.categories_
        self.kinds = list(self.categories)
        self.name = name

    @classmethod
    def of(cls, model: Any, name: str = "the trees") -> TreeScores | None:
        """Return the scores of the trees that a ranker or regressor adds up; None of others."""
        if (weights := getattr(model, "model_weights_", None)) is not None:
            boosters = model.booster_ if len(weights) > 1 else [model.booster_]
            return cls(ENGINES[model.engine_], boosters, weights, model, name)
        inner = model.estimator_ if {"encoder_", "estimator_"} <= vars(model).keys() else model
        engine = library_of(inner)
        if not isinstance(engine, Engine):
            return None
        booster = engine.booster(inner)
        trees = cls(engine, [booster], [engine.weight(booster)], model, name)
        trees.regressor = inner
        return trees

    def refuse_link(self) -> None:
        """Raise if the trees are those of a regressor that predicts a function of their sum."""
        if self.regressor is None:
            return
        shape, sizes = (8, self.n_columns), 10.0 ** np.arange(-2, 6)[:, None]
        rows = np.random.default_rng(0).normal(size=shape) * sizes
        rows[:, self.kinds] = 0.0
        read = self.engine.columns(self.regressor, rows, self.categories)
        scores = quietly(apart, self.regressor.predict, read)
        if not np.allclose(self.of_rows(rows, None), scores, rtol=1e-5, atol=1e-6):
            raise ValueError(
                f"{type(self.regressor).__name__} predicts a function of the sum of its trees: fit "
                "it with an objective that has no link function."
            )

    def of_rows(self, matrix: Floats, n_jobs: int | None) -> Floats:
        """Return the scores of validated rows, in so many threads."""
        matrix, models = read_by_trees(matrix, self.categories), zip(self.weights, self.boosters)
        scores = [w * self.engine.predict(b, matrix, self.kinds, n_jobs) for w, b in models]
        return np.sum(scores, axis=0)

    def contributions(self, matrix: Floats, n_jobs: int | None) -> Floats:
        """Return what each column adds to the scores, up to a constant of all rows."""
        matrix = read_by_trees(matrix, self.categories)
        out = np.zeros(matrix.shape)
        with naming_ranker(self.name):
            for booster, weight in zip(self.boosters, self.weights):
                parts = self.engine.contributions(booster, matrix, self.kinds, n_jobs)
                out += weight * parts[:, :-1]
        return out

    def text(self) -> Any:
        """Return the trees of the first model as its library writes them."""
        return self.engine.dump(self.boosters[0])

    def written(self) -> list[Forest]:
        """Return the trees as arrays; raise ValueError if they have no such form."""
        weighted, columns = zip(self.boosters, self.weights), (self.n_columns, self.categories)
        return [self.engine.forest(b, *columns, float(weight)) for b, weight in weighted]


def naming_ranker(name: str) -> Any:
    """Return a context in which errors of contributions begin with the name of the ranker."""
    return arrays.beginning(f"The scores of {name!r} cannot be explained. ")
