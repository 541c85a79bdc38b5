"""Features on disk are read in pieces: no copy of them is made in memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skcalrank import NDCGRanker, PairwiseDisagreementRanker
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.linear_model import GramRidge

N_CELLS = {np.float32: 10_000_000, np.float64: 5_000_000}  # 40 MB
N_FEATURES = 50


@pytest.fixture(scope="module", params=N_CELLS, ids=lambda dtype: dtype.__name__)
def problem(request, tmp_path_factory):
    """Features in a file, in which no column has a mean of zero, and queries in mixed order."""
    rng = np.random.default_rng(0)
    n_rows = N_CELLS[request.param] // N_FEATURES
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(request.param)
    X += np.arange(N_FEATURES, dtype=request.param)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=n_rows)), 0, 2)
    path = tmp_path_factory.mktemp("features") / "X.npy"
    np.save(path, X)
    return path, X, y, rng.permutation(np.arange(n_rows) // 100)


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.product
@pytest.mark.parametrize("loss", SQUARED_LOSSES)
@pytest.mark.parametrize("estimator", [None, Ridge(10.0), GramRidge()], ids=repr)
def test_features_on_disk(estimator, loss, problem):
    path, X, y, qid = problem
    ranker = NDCGRanker(estimator, loss=loss)
    expected = clone(ranker).fit(X, y, qid)
    mapped = np.load(path, mmap_mode="r")
    ranker.fit(mapped[:1000], y[:1000], qid[:1000])  # what is imported late
    assert peak_of(lambda: ranker.fit(mapped, y, qid)) < 0.35 * X.nbytes
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-10)
    assert peak_of(lambda: ranker.predict(mapped)) < 0.15 * X.nbytes
    np.testing.assert_allclose(ranker.predict(mapped[:100]), expected.predict(X[:100]))


@pytest.mark.product
@pytest.mark.parametrize("is_grouped", [True, False])
def test_features_in_column_order(is_grouped, problem):
    _, X, y, qid = problem
    qid = np.sort(qid) if is_grouped else qid
    expected = NDCGRanker().fit(X, y, qid)
    columns, ranker = np.asfortranarray(X), NDCGRanker()
    assert peak_of(lambda: ranker.fit(columns, y, qid)) < 0.5 * X.nbytes  # not all of it
    near = 1e-3 if X.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=near)
    assert peak_of(lambda: ranker.predict(columns)) < 0.15 * X.nbytes


def test_sparse_features_that_are_large_once_dense(monkeypatch, rng):
    X, y, qid = csr_matrix(rng.normal(size=(30, 4))), rng.integers(0, 2, 30), np.arange(30) // 5
    ranker = PairwiseDisagreementRanker(surrogate="pairwise")
    monkeypatch.setattr("skcalrank._solvers._least_squares.MOST_CELLS", 120)
    ranker.fit(X, y, qid)
    monkeypatch.setattr("skcalrank._solvers._least_squares.MOST_CELLS", 119)
    with pytest.raises(ValueError, match=r"at most 119 cells .*got shape \(30, 4\)"):
        ranker.fit(X, y, qid)


@pytest.mark.parametrize("loss", SQUARED_LOSSES)
def test_what_is_not_copied_is_ridge(loss, problem):
    _, X, y, qid = problem
    few = slice(0, 20_000)
    X, y, qid = X[few], y[few], qid[few]
    ours = NDCGRanker(Ridge(10.0), loss=loss).fit(X, y, qid)
    theirs = NDCGRanker(Ridge(10.0, solver="svd"), loss=loss).fit(X.astype(float), y, qid)
    near = {"rtol": 1e-3, "atol": 1e-5} if X.dtype == np.float32 else {"rtol": 1e-8, "atol": 1e-12}
    np.testing.assert_allclose(ours.coef_, theirs.coef_, **near)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, **near)
