"""Data and rankers for tests of what gives the scores of a ranker a meaning."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator


class FirstColumn(RegressorMixin, BaseEstimator):
    """A ranker whose scores are the first column, so that tests choose them."""

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def frozen():
    """The scores of the first column, as those of a fitted ranker."""
    return FrozenEstimator(FirstColumn().fit(None))


def drawn_law(rng, n_queries=40, largest=30, n_levels=None, empty=0.2):
    """Scores as a matrix of one column, grades from 0 to 2, and the qid; with ties if `n_levels`.

    A share `empty` of the queries has no relevant document.
    """
    sizes = rng.integers(1, largest + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    scores = rng.normal(size=len(qid))
    y = rng.binomial(2, 1 / (1 + np.exp(1.5 - 2 * scores))).astype(float)
    y[(rng.random(n_queries) < empty)[qid]] = 0
    if n_levels is not None:
        scores = np.round(scores * n_levels) / n_levels
    return scores[:, None], y, qid
