"""One model of a BoostedRanker: trees, and the ranker to whose scores they are added."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..columns.types import Floats, Ints
from ..data import Rows
from ..trees import Engine


class Reader(NamedTuple):
    """The library that reads trees, the columns of categories, and the number of threads."""

    engine: Engine
    kinds: list[int]
    n_jobs: int | None


class Model(NamedTuple):
    """Trees, with the start ranker to whose scores they are added."""

    booster: Any
    n_rounds: int
    validation_scores: Floats  # measure after each round; empty without validation
    start: Any = None
    start_scale: float = 0.0  # factor of the scores of the start
    evals: dict[str, Floats] = {}  # measure of each evaluation set after each round
    weight: float = 1.0  # factor of the sum of trees and start

    @property
    def best(self) -> float:
        """Best value of the measure; -inf without a value."""
        return float(np.nan_to_num(self.validation_scores, nan=-np.inf).max(initial=-np.inf))

    def scores(self, reader: Reader, rows: Rows, qid: Any) -> Floats:
        """Return the scores of rows."""
        trees = reader.engine.predict(self.booster, rows.X, reader.kinds, reader.n_jobs)
        return self._with_start(trees, self._start_scores(rows, qid))

    def staged_scores(self, reader: Reader, rows: Rows, qid: Any) -> Iterator[Floats]:
        """Yield the scores of rows after each round."""
        start = self._start_scores(rows, qid)
        for trees in reader.engine.staged(self.booster, rows.X, reader.kinds, reader.n_jobs):
            yield self._with_start(trees, start)

    def _start_scores(self, rows: Rows, qid: Ints | None) -> Floats | None:
        if self.start is None:
            return None
        return self.start_scale * self.start.predict(rows.as_given(), qid)

    def _with_start(self, trees: Floats, start: Floats | None) -> Floats:
        return self.weight * (trees if start is None else trees + start)

    def contributions(self, reader: Reader, rows: Rows) -> Floats:
        """Return the share of each feature in the scores, and last a constant."""
        X, scores = rows.X, self._start_scores(rows, None)
        parts = reader.engine.contributions(self.booster, X, reader.kinds, reader.n_jobs)
        if scores is None:
            return self.weight * parts
        coef = np.ravel(getattr(self.start, "coef_", ()))
        n_columns = len(coef)  # it reads none that a pipeline has put beside
        table = X.toarray() if issparse(X) else X
        terms = self.start_scale * table[:, :n_columns] * coef
        constant = self.start_scale * getattr(self.start, "intercept_", 0.0)
        if not np.allclose(terms.sum(axis=1) + constant, scores, rtol=1e-6):
            raise ValueError(
                f"start must be linear in the features (coef_) for contributions, got "
                f"{type(self.start).__name__}. Fit without start, or with a closed form."
            )
        parts[:, :n_columns] += terms
        parts[:, -1] += constant
        return self.weight * parts
