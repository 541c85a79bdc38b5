"""Rankers on dask collections: the fit is the fit in memory."""

import re

import numpy as np
import pytest
from cases import rankers
from dask_cases import EXACT, as_dask, check_same, da, forbidden, sorted_data, whole_queries
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor

from skcalrank import (
    AUCRanker,
    AveragePrecisionRanker,
    ClickSessions,
    ERRRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    PairwiseDisagreementRanker,
    RankingTarget,
    SpearmanRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.dask import partition_by_query
from skcalrank.linear_model import GramRidge
from skcalrank.measures import ERR
from skcalrank.rankers import ScoreRanker, ValueRegularizedRanker
from skcalrank.structured import LowRankLossClassifier

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")

SCORE_RANKERS = [
    ranker.set_params(max_grade=2) if isinstance(ranker, ERRRanker) else ranker
    for ranker in rankers()
    if isinstance(ranker, ScoreRanker) and "estimator" in ranker.get_params()
]
every_score_ranker = pytest.mark.parametrize(
    "ranker", SCORE_RANKERS, ids=lambda r: type(r).__name__
)

every_loss = pytest.mark.parametrize("loss", SQUARED_LOSSES)


# -- fit is the fit in memory ----------------------------------------------------------


@pytest.mark.product
@every_loss
@every_score_ranker
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_every_score_ranker(ranker, loss, weighted, rng):
    X, y, qid = sorted_data(rng)
    weight = rng.uniform(0, 2, len(y)) if weighted else None
    ranker = clone(ranker).set_params(loss=loss)
    chunks = whole_queries(qid)
    dX, dy, dq = as_dask(chunks, X, y, qid)
    dw = None if weight is None else as_dask(chunks, weight)[0]
    local, ours = clone(ranker).fit(X, y, qid, weight), ranker.fit(dX, dy, dq, dw)
    check_same(ours, local)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
    assert np.array_equal(ours.rank(dX, dq).compute(), local.rank(X, qid))
    assert ours.score(dX, dy, dq, dw) == pytest.approx(local.score(X, y, qid, weight), rel=1e-12)
    assert ours.score(X, y, qid) == pytest.approx(local.score(X, y, qid), rel=1e-12)


@pytest.mark.product
@every_loss
@every_score_ranker
def test_label_form(ranker, loss, rng):
    X = rng.normal(size=(30, 3))
    y = rng.integers(0, 3, size=(30, 4)).astype(float)
    weight = rng.uniform(0, 2, 30)
    dX, dy, dw = as_dask(7, X, y, weight)
    dX, dy = dX.rechunk({1: 2}), dy.rechunk({0: 11, 1: 3})
    ranker = clone(ranker).set_params(loss=loss)
    local, ours = clone(ranker).fit(X, y, None, weight), ranker.fit(dX, dy, None, dw)
    check_same(ours, local)
    check_same(clone(ranker).fit(dX, list(map(tuple, y.tolist())), None, dw), local)
    for method in ("predict", "surrogate_values", "rank"):
        lazy = getattr(ours, method)(dX)
        assert lazy.shape == (30, 4)
        np.testing.assert_allclose(lazy.compute(), getattr(local, method)(X), **EXACT)
    score = local.score(X, y, sample_weight=weight)
    assert ours.score(dX, dy, None, dw) == pytest.approx(score, rel=1e-12)


REGRESSORS = [
    GramRidge(3.0),
    GramRidge(0.0, fit_intercept=False),
    Ridge(3.0),
    Ridge(3.0, fit_intercept=False),
    Ridge(0.5, positive=True, tol=1e-12),
    LinearRegression(),
    LinearRegression(fit_intercept=False),
]


@pytest.mark.product
@every_loss
@pytest.mark.parametrize("regressor", REGRESSORS, ids=repr)
def test_every_regressor_of_moments(regressor, loss, rng):
    X, y, qid = sorted_data(rng)
    ranker = NDCGRanker(regressor, loss=loss)
    local = clone(ranker).fit(X, y, qid)
    ours = ranker.fit(*as_dask(whole_queries(qid), X, y, qid))
    near = {"rtol": 1e-4, "atol": 1e-8} if getattr(regressor, "positive", False) else EXACT
    np.testing.assert_allclose(ours.coef_, local.coef_, **near)
    np.testing.assert_allclose(ours.intercept_, local.intercept_, **near)
    assert type(ours.estimator_) is type(regressor)
    assert ours.estimator_.get_params() == local.estimator_.get_params()
    assert ranker.get_params()["estimator"] is regressor


def test_no_estimator_stands_for_gram_ridge(rng):
    X, y, qid = sorted_data(rng)
    ranker = NDCGRanker().fit(*as_dask(whole_queries(qid), X, y, qid))
    assert isinstance(ranker.estimator_, GramRidge)
    assert ranker.estimator is None
    check_same(ranker, NDCGRanker().fit(X, y, qid))


def test_regressors_without_statistics(rng):
    X, y, qid = sorted_data(rng)
    message = r"must be fitted by sums.*SGDRegressor.*estimator=GramRidge\(alpha=\.\.\.\)"
    with pytest.raises(ValueError, match=message):
        NDCGRanker(SGDRegressor()).fit(forbidden(X), y, qid)


@every_loss
def test_single_precision(loss, rng):
    X, y, qid = sorted_data(rng)
    X = X.astype(np.float32)
    local = NDCGRanker(loss=loss).fit(X, y, qid)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    ours = NDCGRanker(loss=loss).fit(dX, dy, dq)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=1e-4, atol=1e-6)
    assert ours.predict(dX).dtype == ours.predict(dX).compute().dtype == float


@every_loss
def test_sparse_blocks(loss, rng):
    X, y, qid = sorted_data(rng)
    X = X * (rng.random(X.shape) < 0.5)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    dX = dX.map_blocks(csr_matrix)
    ours = NDCGRanker(loss=loss).fit(dX, dy, dq)
    local = NDCGRanker(loss=loss).fit(X, y, qid)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), rtol=1e-8)
    scattered = rng.permutation(len(y))
    dX = da.from_array(X[scattered], chunks=(13, 4)).map_blocks(csr_matrix)
    dX, dy, dq = partition_by_query(dX, y[scattered], qid[scattered])
    np.testing.assert_allclose(NDCGRanker(loss=loss).fit(dX, dy, dq).coef_, ours.coef_, rtol=1e-8)


@pytest.mark.parametrize("n_partitions", [1, 2, 9, 70])
def test_trees_of_any_depth(n_partitions, rng):
    X, y, qid = sorted_data(rng, sizes=(3,) * 70)
    chunks = whole_queries(qid, n_partitions)
    ours = NDCGRanker().fit(*as_dask(chunks, X, y, qid))
    check_same(ours, NDCGRanker().fit(X, y, qid))


def test_a_partition_without_rows_or_weight(rng):
    X, y, qid = sorted_data(rng)
    chunks = whole_queries(qid)
    weight = np.repeat([1.0, 0.0, 2.0, 0.5], chunks)
    dX, dy, dq, dw = as_dask((0, *chunks[:2], 0, *chunks[2:]), X, y, qid, weight)
    ours, local = NDCGRanker().fit(dX, dy, dq, dw), NDCGRanker().fit(X, y, qid, weight)
    check_same(ours, local)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
    assert np.array_equal(ours.rank(dX, dq).compute(), local.rank(X, qid))
    expected = local.score(X, y, qid, weight)
    assert ours.score(dX, dy, dq, dw) == pytest.approx(expected, rel=1e-12)
    for method in (ours.fit, ours.score):
        with pytest.raises(
            ValueError, match=r"positive sample_weight|sample_weight must be positive"
        ):
            method(dX, dy, dq, 0 * dw)
    # A query in two partitions is refused even if its weight is 0.
    with pytest.raises(ValueError, match="in partitions 1 and 2"):
        NDCGRanker().fit(dX, dy, da.from_array(0 * qid, chunks=dq.chunks), dw)


@pytest.mark.parametrize("spoil", [lambda X, y: (X * np.nan, y), lambda X, y: (X, -1 - y)])
def test_rows_without_weight_are_validated(spoil, rng):
    X, y, qid = sorted_data(rng)
    chunks = whole_queries(qid)
    weight = np.repeat([1.0, 0.0, 2.0, 0.5], chunks)
    off = weight == 0
    X[off], y[off] = spoil(X[off], y[off])
    for data in ((X, y, qid, weight), as_dask(chunks, X, y, qid, weight)):
        with pytest.raises(ValueError, match=r"NaN|must be non-negative"):
            NDCGRanker().fit(*data)


def test_chunks_in_memory_after_a_fit_by_partitions(rng):
    X, y, qid = sorted_data(rng)
    n = sum(whole_queries(qid)[:3])
    ranker = NDCGRanker().fit(*as_dask(whole_queries(qid[:n]), X[:n], y[:n], qid[:n]))
    with pytest.raises(ValueError, match="Query 11 was in an earlier chunk"):
        ranker.partial_fit(X[qid == 11], y[qid == 11], qid[qid == 11])
    ranker.partial_fit(X[n:], y[n:], qid[n:])
    check_same(ranker, NDCGRanker().fit(X, y, qid))


# -- other rankers ---------------------------------------------------------------------


def test_rankers_without_statistics_say_so(rng):
    X, y, qid = sorted_data(rng)
    supported = {type(ranker) for ranker in SCORE_RANKERS}
    others = [ranker for ranker in rankers() if type(ranker) not in supported]
    others = [ranker for ranker in others if not getattr(ranker, "fits_among_workers", False)]
    assert ValueRegularizedRanker in {type(ranker) for ranker in others}
    others += [
        AveragePrecisionRanker(surrogate="pairwise"),
        PairwiseDisagreementRanker(surrogate="pairwise"),
    ]
    for ranker in others:
        for args in ((forbidden(X), y, qid), (X, forbidden(y[:, None])[:, 0], qid)):
            with pytest.raises(ValueError, match=r"got a dask collection.*compute\(\)"):
                ranker.fit(*args)


@pytest.mark.slow
def test_members_of_a_stack_learn_from_all_partitions_or_say_why_not(rng):
    X, y, qid = sorted_data(rng, (6, 5, 4, 7, 8, 3) * 3)
    lazy, fitted, told = as_dask(whole_queries(qid), X, y, qid), set(), {}
    for ranker in rankers():
        stack = StackingRanker([("of all", NDCGRanker()), ("other", ranker)])
        try:
            ours = clone(stack).fit(*lazy)
        except ValueError as error:
            told[repr(ranker)] = str(error)
            continue
        local = stack.fit(X, y, qid)
        np.testing.assert_allclose(ours.weights_, local.weights_, atol=1e-9, err_msg=repr(ranker))
        np.testing.assert_allclose(ours.predict(X, qid), local.predict(X, qid), atol=1e-9)
        fitted.add(type(ranker))
    assert {NDCGRanker, SpearmanRanker, AUCRanker} <= fitted
    remedies = re.compile(r"pass X\.compute\(\)|set max_grade")
    assert {name: text for name, text in told.items() if not remedies.search(text)} == {}


def test_what_takes_arrays_only(rng):
    X, y, qid = sorted_data(rng)
    lazy = forbidden(X)
    ranker = NDCGRanker(GramRidge()).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"X must be .* got a dask collection.*X\.compute\(\)"):
        ranker.partial_fit(lazy, y, qid)
    with pytest.raises(ValueError, match=r"rank\(X, qid\) <= k marks the same rows"):
        ranker.top_k(lazy, qid)
    with pytest.raises(ValueError, match="set max_grade"):
        ERRRanker().fit(lazy, y, qid)
    classifier = LowRankLossClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y must be an array in memory for this call, got a dask"):
        RankingTarget(da.from_array(y), qid)
    for method, args in ((classifier.fit, (lazy, y)), (classifier.predict, (lazy,))):
        with pytest.raises(
            ValueError, match=r"must be an array in memory for LowRankLossClassifier"
        ):
            method(*args)


def test_fitted_rankers_of_every_kind(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    kinds = [*rankers(), NDCGRanker(SGDRegressor(random_state=0), loss="squared")]
    kinds += [AveragePrecisionRanker(surrogate="pairwise", relevance_level=1)]
    for ranker in kinds:
        if isinstance(ranker, LeastSquaresRankerCV):
            ranker.set_params(cv=2, alphas=[1.0])
        ranker.fit(X, y, qid)
        name = repr(ranker)
        assert np.array_equal(ranker.rank(dX, dq).compute(), ranker.rank(X, qid)), name
        assert ranker.score(dX, dy, dq) == pytest.approx(ranker.score(X, y, qid)), name
        if getattr(ranker, "surrogate", "score") == "score":
            alone = [] if isinstance(ranker, TabularRanker) else [((dX,), (X,))]
            for lazy, local in [((dX, dq), (X, qid)), *alone]:
                for method in (ranker.predict, ranker.surrogate_values):
                    np.testing.assert_allclose(method(*lazy).compute(), method(*local), **EXACT)
        else:
            with pytest.raises(ValueError, match="dask collection"):
                ranker.predict(dX, dq)


def test_scores_of_undefined_queries(rng):
    X, _, qid = sorted_data(rng)
    y = (qid == 11) | (qid == 18)  # no other query has anything relevant
    y = y & (rng.random(len(y)) < 0.9) | (np.arange(len(y)) == 6)
    dX, dy, dq = as_dask(whole_queries(qid), X, y.astype(float), qid)
    ranker = NDCGRanker().fit(dX, dy, dq)
    assert ranker.score(dX, dy, dq) == pytest.approx(ranker.score(X, y.astype(float), qid))
    off = np.isin(qid, qid[y])
    dw = da.from_array(1.0 - off, chunks=dq.chunks)
    for weight, labels, queries in ((None, 0 * dy, "query"), (dw, dy, "query of positive weight")):
        with pytest.warns(UndefinedMetricWarning, match=f"undefined on every {queries}, because"):
            assert np.isnan(ranker.score(dX, labels, dq, weight))


@pytest.mark.parametrize("n_weightless", [1, 2, 3])
@pytest.mark.parametrize("factor", [1.0, 1e200])
def test_queries_without_weight_are_left_out_of_scores(n_weightless, factor, rng):
    X, y, qid = sorted_data(rng)
    chunks, names = whole_queries(qid), np.unique(qid)
    ranker = NDCGRanker().fit(X, y, qid)
    ends = [names[0], qid[chunks[0] - 1], qid[chunks[0]]]  # of the first two partitions
    off = np.isin(qid, ends[:n_weightless])
    weight = np.where(off, 0.0, np.where(qid == names[-1], factor, 1 + qid % 3))
    y = np.where(off, -1, y)
    expected = ranker.score(X[~off], y[~off], qid[~off], weight[~off])
    for data in ((X, y, qid, weight), as_dask(chunks, X, y, qid, weight)):
        assert ranker.score(*data) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="NaN"):  # labels are validated all the same
        ranker.score(*as_dask(chunks, X, np.where(off, np.nan, y), qid, weight))


def test_rows_without_weight_are_left_out_of_scores_in_label_form(rng):
    X, y = rng.normal(size=(8, 3)), rng.integers(0, 3, (8, 4)).astype(float)
    ranker = NDCGRanker().fit(X, y)
    weight = np.array([0.0, 0, 0, 2, 1, 0, 3, 1])
    y[weight == 0] = -1
    y[3:5] = np.nan  # the rows of positive weight of a partition rank nothing
    expected = ranker.score(X, y, sample_weight=weight)
    dX, dy, dw = as_dask((3, 3, 2), X, y, weight)
    assert ranker.score(dX, dy, sample_weight=dw) == pytest.approx(expected, rel=1e-12)


def test_scores_on_a_scale_that_one_partition_does_not_know(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    sessions = ClickSessions(qid, np.arange(6)[None, :], [2])
    of_clicks = ERRRanker().fit(X, sessions)
    assert of_clicks.score(dX, sessions) == pytest.approx(of_clicks.score(X, sessions))
    with pytest.raises(ValueError, match="set max_grade"):
        of_clicks.score(dX, dy, dq)
    scaled = ERRRanker(max_grade=2).fit(dX, dy, dq)
    assert scaled.score(dX, dy, dq) == pytest.approx(scaled.score(X, y, qid))
    assert scaled._measure() == ERR(max_grade=2.0)
