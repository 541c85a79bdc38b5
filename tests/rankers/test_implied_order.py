"""Inputs on which a plausible implementation would silently be wrong."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge, TweedieRegressor

from skcalrank import (
    DCGRanker,
    MissingQidError,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    train_test_query_split,
)
from skcalrank.measures import PositionalMeasure
from skcalrank.metrics import (
    err_score,
    kendall_score,
    measure_score,
    ndcg_score,
    pairwise_disagreement_loss,
)

QID = np.repeat(np.arange(40), 10)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(400, 3))
    return X, (X[:, 1] + 0.3 * rng.normal(size=400) > 0.5) * 1.0


def centred_ridge(X, y, alpha=1.0):
    """Ridge on a copy of X that is centered within queries of ten documents."""
    mean = np.repeat(X.reshape(40, 10, -1).mean(axis=1), 10, axis=0)
    target = y - np.repeat(y.reshape(40, 10).mean(axis=1), 10)
    weight = np.sqrt(10.0)
    return Ridge(alpha, fit_intercept=False).fit((X - mean) * weight, target * weight).coef_


@pytest.mark.parametrize("scales", [(1e6, 1, 1), (1e-3, 1e3, 1), (1, 0, 1)], ids=str)
def test_a_feature_of_large_values_does_not_drown_the_others(scales, data):
    X, y = data
    X = X * np.array(scales, dtype=float)
    coef = PrecisionRanker(alpha=1.0).fit(X, y, QID).coef_
    np.testing.assert_allclose(coef * scales, centred_ridge(X, y) * scales, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("offset", "dtype", "tol"), [(1e8, "d", 1e-5), (1e3, "f", 1e-2)])
def test_sparse_features_far_from_zero(offset, dtype, tol, data):
    X, y = data
    X = (X + offset).astype(dtype)
    dense, sparse = (PrecisionRanker().fit(A, y, QID).coef_ for A in (X, csr_matrix(X)))
    np.testing.assert_allclose(sparse, dense, rtol=tol, atol=tol * np.abs(dense).max())


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_gains_whose_squares_overflow(dtype, data):
    X, y = data
    X = X.astype(dtype)
    coef = DCGRanker().fit(X, 600 * y, QID).coef_
    small = DCGRanker().fit(X, y, QID).coef_
    np.testing.assert_allclose(coef / 2.0**600, small, rtol=1e-5)


def test_a_link_makes_a_regressor_not_linear(data):
    X, y = data
    regressor = TweedieRegressor(power=0, link="log", max_iter=1000)
    ranker = NDCGRanker(regressor, loss="pairwise_squared").fit(X, y, QID)
    assert ranker.estimator_.fit_intercept
    assert ranker.estimator_.get_params() == regressor.get_params()


def test_qid_beside_preferences_without_one(data):
    X, y = data
    preferences = PreferenceTarget.from_relevance(y[:10])
    with pytest.raises(ValueError, match="built without"):
        pairwise_disagreement_loss(preferences, y[:10], qid=QID[:10])
    with pytest.raises(ValueError, match="built without"):
        PairwiseDisagreementRanker().fit(X[:10], preferences, QID[:10])


def test_relevances_that_carry_their_queries(data):
    _, y = data
    carried = PreferenceTarget.from_relevance(RankingTarget(y, QID))
    assert carried == PreferenceTarget.from_relevance(y, QID)
    with pytest.raises(ValueError, match="drop qid"):
        PreferenceTarget.from_relevance(y.reshape(40, 10), np.arange(40))


@pytest.mark.parametrize(
    "shuffle",
    [
        lambda y: np.random.RandomState(0).shuffle(y),
        lambda y: y.sort(),
        lambda y: y.__setitem__(slice(None), y[::-1].copy()),
    ],
    ids=["random state", "sort", "assignment"],
)
def test_shuffling_in_place_loses_the_queries(shuffle, data):
    X, y = data
    target = RankingTarget(y, QID)
    shuffle(target)
    with pytest.raises(MissingQidError, match="lost its qid"):
        NDCGRanker().fit(X, target)


def test_concatenated_targets_keep_their_queries(data):
    _, y = data
    target = RankingTarget(y, QID)
    joined = np.concatenate([target[:100], target[100:]])
    assert isinstance(joined, RankingTarget)
    np.testing.assert_array_equal(joined.qid, QID)


def test_splits_of_different_lengths(data):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        train_test_query_split(X, y[:60], qid=QID[:60])
    with pytest.raises(MissingQidError):
        list(QueryKFold(3).split(X, y[:, None]))


def test_ties_are_broken_by_what_the_measure_gains():
    class Reversed(PositionalMeasure):
        name = "reversed"

        def targets(self, y, queries):
            return 3.0 - y

        def basis(self, positions, sizes):
            return 1.0 / positions

    worst, mean, best = (
        measure_score(Reversed(), [[0, 3, 1]], [[0, 0, 0]], ties=t)
        for t in ("worst", "average", "best")
    )
    assert worst < mean < best == 3 + 2 / 2


def test_cutoff_as_a_small_integer(rng):
    y, s = rng.integers(0, 4, 300), rng.normal(size=300)
    assert ndcg_score(y, s, k=np.int8(100)) == ndcg_score(y, s, k=100)


def test_labels_far_from_zero(rng):
    y, s = rng.integers(0, 5, 500) * 1.0, rng.normal(size=500)
    assert pairwise_disagreement_loss(1e14 + y, s) == pairwise_disagreement_loss(y, s)
    assert kendall_score(1e14 + y, s) == kendall_score(y, s)


def test_err_of_equal_scores_asks_for_the_first_k_only(rng):
    y = rng.integers(0, 4, 60)
    orders = [rng.permutation(60) for _ in range(4000)]
    values = [err_score(y, order, k=5) for order in orders]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(err_score(y, np.zeros(60), k=5) - np.mean(values)) < 5 * error
