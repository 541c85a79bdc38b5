"""Scores of the boosted trees of a ranker, from its matrix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..columns.types import Floats
from ..preprocessing import read_by_trees
from ._engine import Engine
from ._forest import Forests
from ._registry import ENGINES


class TreeScores:
    """The scores of a fitted :class:`BoostedRanker` without `start`, from its matrix."""

    def __init__(
        self, engine: Engine, boosters: Any, weights: Any, ranker: Any, name: str = "the trees"
    ) -> None:
        self.engine, self.boosters, self.weights = engine, boosters, weights
        encoder = ranker.encoder_
        self.n_columns = ranker.n_features_in_ if encoder is None else len(encoder.sources_)
        self.categories = {} if encoder is None else encoder.categories_
        self.kinds = list(self.categories)
        self.name = name

    @classmethod
    def of(cls, ranker: Any, name: str = "the trees") -> TreeScores | None:
        """Return the scores of a fitted ranker; None if it adds the trees to those of a start."""
        boosters, starts, weights = ranker.booster_, ranker.start_, ranker.model_weights_
        if len(weights) == 1:
            boosters, starts = [boosters], [starts]
        if any(start is not None for start in starts):
            return None
        return cls(ENGINES[ranker.engine_], boosters, weights, ranker, name)

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

    def written(self) -> Forests:
        """Return the trees as arrays; raise ValueError if they have no such form."""
        weighted, columns = zip(self.boosters, self.weights), (self.n_columns, self.categories)
        return Forests([self.engine.forest(b, *columns, float(weight)) for b, weight in weighted])


@contextmanager
def naming_ranker(name: str) -> Iterator[None]:
    """Return a context in which errors of contributions begin with the name of the ranker."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"The scores of {name!r} cannot be explained. {error}") from error
