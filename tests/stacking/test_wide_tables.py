"""Stacks of closed forms fit tables of any shape, also with fewer rows than columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from skcalrank import LeastSquaresRanker, NDCGRanker, StackingRanker, TabularRanker

GRID = [(n, d) for n in (20, 60, 300, 2000) for d in (1, 200, 257, 768, 2000, 5000)]

# Fewer rows than columns in no view, in some, and in all.
CORNERS = [(20, 1), (20, 5000), (60, 257), (300, 300)]

RANKERS = {
    "tabular": lambda: TabularRanker(trees=None),
    "closed forms": lambda: StackingRanker([("auto", NDCGRanker()), ("one", NDCGRanker(alpha=1))]),
}


def rows_of(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))
    qid = rng.permutation(np.repeat(np.arange(n // 10), 10))
    return X, np.digitize(X[:, 0] / X[:, 0].std() + 0.5 * rng.normal(size=n), [0, 1]), qid


def check_fit(make, n, d):
    X, y, qid = rows_of(n, d)
    ranker = make().fit(X, y, qid)
    assert np.isfinite(ranker.predict(X, qid)).all()
    assert_allclose(ranker.feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)
@pytest.mark.parametrize(("n", "d"), CORNERS)
def test_tables_of_any_shape_are_fitted(make, n, d):
    check_fit(make, n, d)


def test_a_stack_is_fitted_if_only_its_training_rows_are_fewer_than_the_columns():
    check_fit(RANKERS["closed forms"], 1100, 1010)


@pytest.mark.slow
@pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)
@pytest.mark.parametrize(("n", "d"), GRID)
def test_the_whole_grid_of_shapes_is_fitted(make, n, d):
    check_fit(make, n, d)


@pytest.mark.parametrize("normalize", ["pooled", "query"])
@pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)
def test_constant_columns_that_make_a_table_wide_change_nothing(make, normalize):
    X, y, qid = rows_of(300, 200)
    qid = np.random.default_rng(1).integers(0, 30, 300)  # of unequal sizes
    wide = np.hstack([X, np.tile(np.arange(900.0), (300, 1))])
    one, other = (make().set_params(normalize=normalize).fit(Z, y, qid) for Z in (X, wide))
    assert_allclose(other.weights_, one.weights_, rtol=1e-8)
    assert_allclose(other.predict(wide, qid), one.predict(X, qid), atol=1e-9)
    importances = np.append(one.feature_importances_, np.zeros(900))
    assert_allclose(other.feature_importances_, importances, atol=1e-12)
    parts = other.contributions(wide, qid)
    assert_allclose(parts[:, :200], one.contributions(X, qid)[:, :200], atol=1e-9)
    assert_allclose(parts[:, 200:-1], 0.0, atol=1e-12)


@pytest.mark.parametrize("weights", [None, "of rows"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_wide_fit_is_the_ridge_of_rows_centered_within_queries(dtype, weights):
    X, y, qid = rows_of(90, 1500)
    X = (X + 1000.0).astype(dtype)
    weight = None if weights is None else np.random.default_rng(2).random(90)
    ranker = LeastSquaresRanker("dcg", alpha=2.0).fit(X, y, qid, weight)
    w = np.ones(90) if weight is None else weight
    centered, targets = X.astype(float), LeastSquaresRanker("dcg")._measure().labels(y)
    targets = 2.0**targets - 1.0
    for q in np.unique(qid):
        own = qid == q
        centered[own] -= np.average(centered[own], axis=0, weights=w[own])
        targets[own] -= np.average(targets[own], weights=w[own])
    ridge = Ridge(2.0, fit_intercept=False).fit(centered, targets, sample_weight=10 * w)
    rtol = 1e-8 if dtype is np.float64 else 1e-3
    assert_allclose(ranker.coef_, ridge.coef_, atol=rtol * np.abs(ridge.coef_).max())


def test_chunks_of_a_wide_table_give_what_a_fit_to_it_gives():
    X, y, qid = rows_of(100, 300)
    chunks = [(X[rows], y[rows], qid[rows]) for rows in (qid < 5, qid >= 5)]
    one, other = TabularRanker(trees=None).fit(X, y, qid), TabularRanker(trees=None)
    other.fit_chunks(chunks)
    assert_allclose(other.predict(X, qid), one.predict(X, qid), atol=1e-9)
    assert_allclose(other.feature_importances_, one.feature_importances_, atol=1e-12)


def test_partitions_of_a_wide_table_are_added_up():
    array = pytest.importorskip("dask.array")
    X, y, qid = rows_of(100, 1010)
    order = np.argsort(qid)
    X, y, qid = X[order], y[order], qid[order]
    lazy = [array.from_array(of, chunks=(50, *of.shape[1:])) for of in (X, y, qid)]
    one, other = (RANKERS["closed forms"]().fit(*of) for of in ((X, y, qid), lazy))
    assert_allclose(other.predict(X, qid), one.predict(X, qid), atol=1e-8)
