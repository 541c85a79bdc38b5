"""A regression on pairs, with all pairs built explicitly."""

from itertools import pairwise

import numpy as np
import pytest

from skcalrank._solvers import DocumentPairs, fit_pairs
from skcalrank._solvers._bilinear import fit_bilinear
from skcalrank.data import Queries

QID = {
    "ragged": np.repeat([5, 3, 8, 1, 2, 9], [6, 1, 4, 9, 2, 1]),
    "one query": np.zeros(15, dtype=int),
    "interleaved": np.array([1, 0, 1, 2, 0, 0, 3, 1, 2, 1, 0, 2, 2, 0, 1, 4, 0, 1, 2, 5, 5]),
    "pairs": np.repeat(np.arange(12), 2),
}
every_qid = pytest.mark.parametrize("qid", QID.values(), ids=QID)
diagonal_or_not = pytest.mark.parametrize("diagonal", [True, False], ids=["diagonal", "off"])
weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


class Problem:
    """Documents in grouped order, and their pairs one by one."""

    def __init__(self, qid, rng, *, n_features=3, weighted=False, diagonal=True):
        self.queries = Queries.from_qid(qid)
        self.diagonal = diagonal
        n = len(qid)
        self.X = rng.normal(size=(n, n_features)) + 0.5
        self.weight = rng.uniform(0.2, 3, n) if weighted else None
        self.table = self.X @ rng.normal(size=(n_features, n_features)) @ self.X.T
        self.table += rng.normal(size=(n, n))
        if not diagonal:
            np.fill_diagonal(self.table, 0.0)

    def values(self, first, second):
        return self.table[first, second]

    def built(self, features):
        """Features, targets and weights of all pairs, in a plain loop."""
        rows, targets, weights = [], [], []
        for start, stop in pairwise(self.queries.ptr):
            mean = 1.0 if self.weight is None else self.weight[start:stop].mean()
            for i in range(start, stop):
                for j in range(start, stop):
                    if i == j and not self.diagonal:
                        continue
                    rows.append(features(self.X[i : i + 1], self.X[j : j + 1])[0])
                    targets.append(self.table[i, j])
                    if self.weight is not None:
                        weights.append(self.weight[i] * (self.weight[j] / mean))
        return np.array(rows, dtype=float), np.array(targets), weights or None

    def fit(self, features, regressor, alpha=1.0):
        return fit_pairs(self.pairs(), features, regressor, alpha)

    def pairs(self):
        return DocumentPairs(self.X, self.queries, self.values, self.diagonal, self.weight)

    def fit_bilinear(self, alpha=1.0, *, tol=1e-12, max_iter=1000, **options):
        return fit_bilinear(self.pairs(), alpha, tol=tol, max_iter=max_iter, **options)


def kronecker(first, second):
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def inputs(problem):
    return problem.X, problem.queries


def all_pairs(problem):
    """Both documents of every pair, diagonal included, in the order of the matrices."""
    rows = [np.arange(a, b) for a, b in pairwise(problem.queries.ptr)]
    first = np.concatenate([np.repeat(r, len(r)) for r in rows])
    second = np.concatenate([np.tile(r, len(r)) for r in rows])
    return problem.X[first], problem.X[second]
