"""Fits, scores, losses, metrics and maps are the same to the last bit on any number of threads."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from skcalrank import (
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    _threads,
    metrics,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.data import Queries
from skcalrank.linear_model import GramRidge
from skcalrank.losses import LOSSES, get_loss

N_ROWS, N_FEATURES = 5_000, 7


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) + 3
    y = np.clip(np.round(X[:, 0] + rng.normal(size=N_ROWS) - 2), 0, 3)
    return X, y, rng.integers(N_ROWS // 40, size=N_ROWS), rng.uniform(1, 2, size=N_ROWS)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Make chunks small, so that small data have several."""
    sizes = {
        "CACHE_CELLS": 1 << 10,
        "PART_CELLS": 1 << 12,
        "_SUM_ROWS": 1 << 10,
        "_PART_ROWS": 1 << 10,
    }
    for name, module in list(sys.modules.items()):
        for constant in sizes.keys() & vars(module).keys() if "skcalrank." in name else ():
            monkeypatch.setattr(module, constant, sizes[constant])


def arrays(found):
    if isinstance(found, (list, tuple)):
        return [each for part in found for each in arrays(part)]
    return [np.asarray(found)]


@pytest.fixture
def same(monkeypatch):
    """Call a function with each number of threads, and compare what it returns."""

    def check(call):
        found = {}
        monkeypatch.setattr(_threads, "_WORTH_THREADS", 0.0)
        for n in (1, 2, 4):
            monkeypatch.setattr(_threads, "n_threads", lambda _, n=n: n)
            found[n] = arrays(call())
        for n in (2, 4):
            for expected, value in zip(found[1], found[n], strict=True):
                np.testing.assert_array_equal(value, expected)

    return check


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", SQUARED_LOSSES)
def test_fit_and_predict(loss, dtype, rows, same):
    X, y, qid, weight = rows

    def fit():
        ranker = NDCGRanker(loss=loss).fit(X.astype(dtype), y, qid, weight)
        return ranker.coef_, ranker.intercept_, ranker.predict(X.astype(dtype))

    same(fit)


def test_sparse(rows, same):
    X, y, qid, _ = rows
    same(lambda: NDCGRanker().fit(csr_matrix(X), y, qid).coef_)


def test_chunks_and_merge(rows, same):
    X, y, qid, _ = rows
    halves = qid < qid.max() // 2, qid >= qid.max() // 2

    def fit():
        first, second = (NDCGRanker(GramRidge()) for _ in halves)
        for half in halves:
            first.partial_fit(X[half], y[half], qid[half])
        second.partial_fit(X[halves[0]], y[halves[0]], qid[halves[0]])
        other = NDCGRanker(GramRidge()).fit(X[halves[1]], y[halves[1]], qid[halves[1]])
        second.merge(other)
        return first.coef_, second.coef_

    same(fit)


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
def test_cross_validation(loss, rows, same):
    X, y, qid, weight = rows

    def fit():
        measures = {"first": "ndcg@5", "second": "dcg"}
        ranker = LeastSquaresRankerCV(measures, alphas=[0.1, 1.0, 10.0], cv=3, loss=loss)
        results = ranker.fit(X, y, qid, weight).cv_results_
        return [values for name, values in results.items() if name.startswith("split")]

    same(fit)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", ["logistic", "pairwise_exponential"])
def test_solver(loss, dtype, rows, same):
    X, y, qid, _ = rows

    def fit():
        ranker = OrderPreservingRanker("ndcg@5", loss=loss, tol=1e-3)
        ranker.fit(X.astype(dtype), y, qid)
        return ranker.coef_, ranker.surrogate_values(X)

    same(fit)


@pytest.mark.product
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, weighted, rows, same):
    X, y, qid, weight = rows
    queries = Queries.from_qid(np.sort(qid))
    loss, given = get_loss(name).scaled_to(y, queries), (y, X[:, 1], queries)
    given = (*given, weight) if weighted else given
    same(
        lambda: (
            loss.evaluate(*given),
            loss.value_and_gradient(*given),
            loss.derivatives(*given),
        )
    )


@pytest.mark.parametrize("ties", ["average", "worst"])
def test_metrics(ties, rows, same):
    X, y, qid, weight = rows
    names = ["ndcg@5", "dcg", "spearman", "err@5"]

    def evaluate():
        scores = [np.round(X[:, 1], 1), X[:, 2]]
        return [
            list(metrics.evaluate(y, s, names, qid=qid, ties=ties, **more).values())
            for s in scores
            for more in ({"sample_weight": weight}, {"average": False})
        ]

    same(evaluate)


def test_maps_of_pairs(rows, same):
    X, y, qid, _ = (part[:400] for part in rows)

    def fit():
        ranker = PairwiseDisagreementRanker(surrogate="pairwise").fit(X, y, qid // 10)
        return ranker.coef_, ranker.predict(X, qid // 10)

    same(fit)
