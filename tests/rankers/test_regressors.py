"""The losses written out as regressions."""

import numpy as np
import pytest
from cases import first_of_each_class, make_data, ranker_id, tags_sparse
from fits import EVERY, fitted
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, StackingRegressor
from sklearn.linear_model import (
    HuberRegressor,
    Lars,
    Lasso,
    LinearRegression,
    Ridge,
    RidgeCV,
    TweedieRegressor,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from skcalrank import NDCGRanker, SpearmanRanker
from skcalrank.structured import LowRankLossClassifier

WITH_REGRESSOR = [ranker for ranker in EVERY if hasattr(ranker, "estimator")]
every_ranker_with_a_regressor = pytest.mark.parametrize(
    "ranker", first_of_each_class(WITH_REGRESSOR), ids=ranker_id
)


@pytest.mark.parametrize(
    "ranker", [*first_of_each_class(WITH_REGRESSOR), LowRankLossClassifier()], ids=ranker_id
)
def test_a_ranker_takes_what_its_regressor_takes(ranker):
    for regressor in (KNeighborsRegressor(), HistGradientBoostingRegressor()):
        tags = get_tags(clone(ranker).set_params(estimator=regressor)).input_tags
        expected = get_tags(regressor).input_tags
        assert (tags.sparse, tags.allow_nan) == (expected.sparse, expected.allow_nan)


def ndcg_targets(y, qid, k):
    """``G(y) / IDCG@k`` by loops."""
    out = np.zeros(len(y))
    for q in set(qid.tolist()):
        gain = 2.0 ** y[qid == q] - 1
        ideal = sum(g / np.log2(i + 2) for i, g in enumerate(sorted(gain, reverse=True)[:k]))
        out[qid == q] = gain / ideal if ideal else 0
    return out


def all_pairs(X, targets, qid, weight):
    """Differences of features and targets of all pairs of a query, and their weights."""
    mean = {q: weight[qid == q].mean() for q in set(qid.tolist())}
    pairs = [(i, j) for i in range(len(qid)) for j in range(i) if qid[i] == qid[j]]
    i, j = np.array(pairs).T
    means = np.array([mean[q] for q in qid[i].tolist()])
    return X[i] - X[j], targets[i] - targets[j], weight[i] * weight[j] / means


def fit_on_pairs(regressor, X, targets, qid, weight):
    Z, t, w = all_pairs(X, targets, qid, weight)
    return regressor.fit(Z, t, sample_weight=w).coef_


LINEAR = [
    Ridge(fit_intercept=False),
    Ridge(alpha=100.0, fit_intercept=False),
    Ridge(alpha=0.1, positive=True, fit_intercept=False),
    LinearRegression(fit_intercept=False),
    LinearRegression(positive=True, fit_intercept=False),
]


@pytest.mark.product
@pytest.mark.parametrize("regressor", LINEAR, ids=repr)
@pytest.mark.parametrize("n_features", [1, 4, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairwise_squared_is_a_regression_on_all_pairs(regressor, n_features, weighted, rng):
    X, y, qid = make_data(rng, n_features=n_features)
    weight = rng.uniform(0.1, 3, size=len(y)) if weighted else np.ones(len(y))
    ranker = NDCGRanker(clone(regressor).set_params(fit_intercept=True), k=3)
    ranker.fit(X, y, qid, sample_weight=weight if weighted else None)
    expected = fit_on_pairs(regressor, X, ndcg_targets(y, qid, 3), qid, weight)
    tolerance = 1e-3 if regressor.positive else 1e-7
    np.testing.assert_allclose(ranker.coef_, expected, rtol=tolerance, atol=tolerance / 10)


@every_ranker_with_a_regressor
def test_losses_on_the_targets_of_every_measure(ranker, data):
    X, y, qid = data
    ranker = fitted(ranker, X, y, qid)
    targets = fitted(
        clone(ranker).set_params(estimator=LinearRegression(), loss="squared"),
        np.eye(len(y)),
        y,
        qid,
    ).predict(np.eye(len(y)))
    if ranker.loss == "squared":
        expected = Ridge().fit(X, targets).coef_
    elif ranker.loss == "centered":
        sizes = np.array([(qid == q).sum() for q in qid])
        expected = Ridge().fit(X, centred(targets, qid), sample_weight=sizes).coef_
    else:
        regressor = Ridge(fit_intercept=False)
        expected = fit_on_pairs(regressor, X, targets, qid, np.ones(len(y)))
    np.testing.assert_allclose(ranker.coef_, expected, rtol=1e-7, atol=1e-10)
    assert np.abs(expected).max() > 1e-3


def test_default_is_pairwise_squared_ridge(data):
    X, y, qid = data
    default = NDCGRanker().fit(X, y, qid).predict(X)
    scored = NDCGRanker(loss="pairwise_squared").fit(X, y, qid).predict(X)
    assert np.array_equal(scored, default)
    ridge = NDCGRanker(alpha=1.0).fit(X, y, qid).predict(X)
    for same in (NDCGRanker(Ridge()), NDCGRanker(Ridge(), loss="pairwise_squared")):
        np.testing.assert_allclose(same.fit(X, y, qid).predict(X), ridge, rtol=1e-9)
    assert not np.allclose(NDCGRanker(loss="squared").fit(X, y, qid).predict(X), default)
    tree = DecisionTreeRegressor(random_state=0)
    assert np.array_equal(
        NDCGRanker(tree).fit(X, y, qid).predict(X),
        NDCGRanker(tree, loss="squared").fit(X, y, qid).predict(X),
    )


@pytest.mark.product
@every_ranker_with_a_regressor
@pytest.mark.parametrize("weighted", [False, True])
def test_label_form_is_a_multi_output_regression(ranker, weighted, rng):
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, size=(30, 5)).astype(float)
    weight = rng.uniform(size=30) if weighted else None
    ranker = fitted(ranker, X, y, sample_weight=weight)
    # Targets from an exact fit with each row as its own query.
    qid, rows = np.repeat(np.arange(30), 5), np.eye(150)
    exact = clone(ranker).set_params(estimator=LinearRegression(), loss="squared")
    targets = exact.fit(rows, y.ravel(), qid).predict(rows).reshape(30, 5)
    if ranker.loss != "squared":
        targets -= targets.mean(axis=1, keepdims=True)
    expected = Ridge().fit(X, targets, sample_weight=weight).predict(X)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-8, atol=1e-10)
    assert ranker.n_items_ == 5
    assert np.array_equal(np.sort(ranker.rank(X), axis=1), np.tile(np.arange(1, 6), (30, 1)))


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
@pytest.mark.parametrize(
    "regressor",
    [
        SVR(kernel="linear"),
        DecisionTreeRegressor(random_state=0),
        StackingRegressor([("ridge", Ridge())]),  # which has no predict before fit
    ],
)
def test_label_form_with_any_regressor(regressor, rng):
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, size=(30, 5)).astype(float)
    ranker = SpearmanRanker(regressor).fit(X, y)
    assert ranker.predict(X).shape == y.shape
    assert ranker.score(X, y) > 0.2


def centred(values, qid):
    means = {q: values[qid == q].mean(axis=0) for q in set(qid.tolist())}
    return values - np.array([means[q] for q in qid.tolist()])


@pytest.mark.parametrize(
    "regressor", [Lasso(alpha=0.01), HuberRegressor(), RidgeCV(), SVR(kernel="linear")], ids=repr
)
@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
def test_linear_regressors_without_closed_form(regressor, data):
    X, y, qid = data
    ranker = NDCGRanker(regressor, k=3, loss="pairwise_squared").fit(X, y, qid)
    own = clone(regressor)
    if "fit_intercept" in own.get_params():
        own.set_params(fit_intercept=False)
    sizes = np.array([(qid == q).sum() for q in qid])
    own.fit(centred(X, qid), centred(ndcg_targets(y, qid, 3), qid), sample_weight=sizes)
    np.testing.assert_allclose(np.ravel(ranker.coef_), np.ravel(own.coef_), rtol=1e-6, atol=1e-9)
    if not isinstance(regressor, Lasso):
        assert ranker.score(X, y, qid) > NDCGRanker().fit(-X, y, qid).score(X, y, qid)


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
@tags_sparse
def test_sparse_coefficients(data):
    X, y, qid = data
    ranker = NDCGRanker(SVR(kernel="linear")).fit(csr_matrix(X), y, qid)
    dense = NDCGRanker(SVR(kernel="linear")).fit(X, y, qid)
    np.testing.assert_allclose(ranker.predict(csr_matrix(X)), dense.predict(X), atol=1e-9)


def test_linear_regressor_that_takes_no_weights(rng):
    # Queries of one size need none.
    X, y, qid = make_data(rng, sizes=(5,) * 8)
    ranker = NDCGRanker(Lars(), k=3, loss="pairwise_squared").fit(X, y, qid)
    own = Lars(fit_intercept=False).fit(centred(X, qid), centred(ndcg_targets(y, qid, 3), qid))
    np.testing.assert_allclose(ranker.coef_, own.coef_, rtol=1e-8)


def test_a_link_makes_a_regressor_not_linear(data):
    X, y, qid = data
    regressor = TweedieRegressor(power=0, link="log", max_iter=1000)
    ranker = NDCGRanker(regressor, loss="pairwise_squared").fit(X, y, qid)
    assert ranker.estimator_.fit_intercept
    assert ranker.estimator_.get_params() == regressor.get_params()


def test_weights_go_to_the_last_step_of_a_pipeline(rng):
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(np.arange(12), 5)
    weight = np.repeat(rng.uniform(0.1, 5, 12), 5)
    # The scaler takes weights, too.
    found = NDCGRanker(make_pipeline(StandardScaler(), Ridge())).fit(X, y, qid, weight)
    plain = NDCGRanker(Ridge())
    expected = plain.fit(StandardScaler().fit_transform(X), y, qid, weight)
    np.testing.assert_allclose(found.estimator_[-1].coef_, expected.coef_)
