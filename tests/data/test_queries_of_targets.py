"""Targets and preferences keep their queries, or say that they lost them."""

import numpy as np
import pytest

from skcalrank import (
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    train_test_query_split,
)
from skcalrank.data import MissingQidError
from skcalrank.metrics import (
    pairwise_disagreement_loss,
)

QID = np.repeat(np.arange(40), 10)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(400, 3))
    return X, (X[:, 1] + 0.3 * rng.normal(size=400) > 0.5) * 1.0


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
    with pytest.raises(ValueError, match="qid must have 400 entries"):
        train_test_query_split(X, y[:60], qid=QID[:60])
    with pytest.raises(MissingQidError):
        list(QueryKFold(3).split(X, y[:, None]))
