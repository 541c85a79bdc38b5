"""Aggregated judgments in chunks of queries, by a regressor that has partial_fit."""

import numpy as np
import pytest
from judged import chunks_of_queries, make
from sklearn.base import clone
from sklearn.linear_model import Ridge, SGDRegressor

from skcalrank import (
    AggregatedRanker,
    DCGRanker,
    ERRRanker,
    LeastSquaresRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PreferenceTarget,
    sample_sessions,
)
from skcalrank.linear_model import GramRidge

CLOSE = {"rtol": 1e-6, "atol": 1e-8}
NEAR = {"rtol": 1e-8, "atol": 1e-10}


def aggregated(structure="mean_log_odds", estimator=None, **params):
    inner = NDCGRanker(GramRidge() if estimator is None else estimator)
    return AggregatedRanker(structure, inner, **params)


@pytest.mark.product
@pytest.mark.parametrize("loss", ["squared", "centered", "pairwise_squared"])
@pytest.mark.parametrize("order", [None, 2])
def test_chunks_are_one_fit(loss, order, rng):
    X, y, qid, _ = make(rng, n_comparisons=60)
    weight = rng.uniform(0.2, 2, len(y))
    inner = NDCGRanker(GramRidge(0.7), k=3, loss=loss)
    # As many draws as list every subset: the targets are exact.
    ranker = AggregatedRanker("borda", inner, order=order, n_draws=10**4)
    whole, chunks = clone(ranker).fit(X, y, sample_weight=weight), clone(ranker)
    for rows in chunks_of_queries(y, rng):
        assert chunks.partial_fit(X[rows], y[rows], sample_weight=weight[rows]) is chunks
        np.testing.assert_allclose(chunks.targets_, whole.targets_[rows], **CLOSE)
    np.testing.assert_allclose(chunks.coef_, whole.coef_, **NEAR)
    assert chunks.score(X, y) == pytest.approx(whole.score(X, y))
    assert np.array_equal(chunks.rank(X, qid), whole.rank(X, qid))
    ridge = clone(ranker).set_params(ranker__estimator=Ridge(0.7)).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(chunks.coef_, ridge.coef_, **NEAR)


def test_chunks_of_frames_are_those_of_arrays(rng):
    pandas = pytest.importorskip("pandas")
    X, y, _, _ = make(rng)
    arrays, frames = (aggregated("borda", SGDRegressor(random_state=0)) for _ in range(2))
    for rows in chunks_of_queries(y, rng):
        arrays.partial_fit(X[rows], y[rows])
        frames.partial_fit(pandas.DataFrame(X[rows], columns=list("abc")), y[rows])
    assert frames.ranker_.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(frames.coef_, arrays.coef_, **NEAR)


def test_rankers_inside_are_merged(rng):
    X, y, _, _ = make(rng)
    whole = aggregated().fit(X, y)
    parts = [aggregated().fit(X[rows], y[rows]).ranker_ for rows in chunks_of_queries(y, rng)]
    np.testing.assert_allclose(parts[0].merge(*parts[1:]).coef_, whole.coef_, **NEAR)


CHANGED = [
    {"ranker__measure": "dcg@3"},
    {"structure": "win_rate"},
    {"order": 2},
    {"structure_options": {"conditional": True}},
    {"ranker__loss": "squared"},
    {"ranker": DCGRanker(GramRidge())},
]


@pytest.mark.parametrize("changed", CHANGED, ids=str)
def test_what_is_learned_stays_the_same_over_chunks(changed, rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker("borda", LeastSquaresRanker(estimator=GramRidge()))
    parts = list(chunks_of_queries(y, rng, 2))
    ranker.partial_fit(X[parts[0]], y[parts[0]])
    coef = ranker.coef_.copy()
    with pytest.raises(ValueError, match=r"of this chunk must be .*Begin with a new ranker"):
        ranker.set_params(**changed).partial_fit(X[parts[1]], y[parts[1]])
    assert np.array_equal(ranker.coef_, coef)


def test_sessions_in_chunks_are_one_fit(rng):
    qid = np.repeat(np.arange(6), 5)
    X = rng.normal(size=(30, 3))
    y = sample_sessions(1 / (1 + np.exp(-X[:, 0])), qid, n_sessions=300, random_state=0)
    ranker = DCGRanker(GramRidge(), gain="linear")
    whole, chunks = (AggregatedRanker("cascade", ranker) for _ in range(2))
    for rows in np.array_split(np.arange(30), 3):
        chunks.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(chunks.coef_, whole.fit(X, y).coef_, **NEAR)


def test_a_scale_that_depends_on_the_chunk_is_an_error(rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker("borda", ERRRanker(GramRidge()))
    with pytest.raises(
        ValueError, match="max_grade of err must be a number if rows come in chunks"
    ):
        ranker.partial_fit(X, y)
    assert ranker.set_params(ranker__max_grade=20).partial_fit(X, y).score(X, y) > 0


def test_label_form_in_chunks_is_one_fit(rng):
    X = rng.normal(size=(40, 3))
    y = PreferenceTarget.from_orders(rng.random((40, 4)).argsort(axis=1) + 1)
    whole, chunks = (aggregated("borda") for _ in range(2))
    for rows in np.array_split(rng.permutation(40), 3):
        chunks.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(chunks.coef_, whole.fit(X, y).coef_, **NEAR)


def test_chunks_after_a_fit(rng):
    X, y, qid, _ = make(rng)
    first = qid < 7
    ranker = aggregated().fit(X[first], y[first])
    ranker.partial_fit(X[~first], y[~first])
    whole = aggregated().fit(X, y)
    np.testing.assert_allclose(ranker.coef_, whole.coef_, rtol=1e-8)
    before = ranker.coef_.copy()
    with pytest.raises(ValueError, match=r"Query . was in an earlier chunk"):
        ranker.partial_fit(X[first], y[first])
    with pytest.raises(ValueError, match="one judgment"):
        ranker.partial_fit(X[:3], PreferenceTarget.from_comparisons([], [], [97, 98, 98]))
    assert np.array_equal(ranker.coef_, before)
    np.testing.assert_allclose(ranker.fit(X, y).coef_, whole.coef_)


def test_relevances_in_chunks_are_one_fit(rng):
    X, qid = rng.normal(size=(12, 3)), np.repeat(np.arange(4), 3)
    y = rng.permuted(np.tile([0, 1, 2], (4, 1)), axis=1).ravel()
    y[3:6] = 1  # no judgment: beside other queries this one counts nothing
    whole, chunks = (aggregated("borda") for _ in range(2))
    for rows in (slice(6), slice(6, 12)):
        chunks.partial_fit(X[rows], y[rows], qid[rows])
    np.testing.assert_allclose(chunks.coef_, whole.fit(X, y, qid).coef_, **NEAR)
    # Alone in a chunk it would count something.
    for ranker in (aggregated("borda"), chunks):
        with pytest.raises(ValueError, match=r"one judgment \(relevances that are equal"):
            ranker.partial_fit(X[3:6], y[3:6], qid[3:6] + 10)


@pytest.mark.parametrize("inner", [NDCGRanker(Ridge()), OrderPreservingRanker()], ids=str)
def test_chunks_after_a_ranker_without_them(inner, rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker(ranker=inner).fit(X, y).set_params(ranker=NDCGRanker(GramRidge()))
    fresh = aggregated().fit(X, y)
    np.testing.assert_allclose(ranker.partial_fit(X, y).coef_, fresh.coef_)


def test_a_chunk_that_fails_changes_no_prediction(rng):
    X, y, _, _ = make(rng)
    ranker = aggregated("borda").fit(X, y)
    before = ranker.predict(X)
    ranker.set_params(structure_options={"unknown": 1})
    with pytest.raises((TypeError, ValueError)):
        ranker.partial_fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_which_rankers_add_chunks(rng):
    X, y, _, _ = make(rng)
    assert hasattr(aggregated(), "partial_fit")
    assert hasattr(AggregatedRanker(), "partial_fit")
    # As of every ranker, an invalid parameter is told by the call.
    assert hasattr(AggregatedRanker(ranker="ndcg"), "partial_fit")
    assert not hasattr(aggregated(estimator=Ridge()), "partial_fit")
    assert not hasattr(AggregatedRanker(ranker=OrderPreservingRanker()), "partial_fit")
    # Regressors that learn by steps may see queries again.
    by_steps = aggregated(estimator=SGDRegressor(random_state=0, eta0=1e-3))
    steps = [by_steps.partial_fit(X, y).coef_.copy() for _ in range(2)]
    assert not np.allclose(*steps)
