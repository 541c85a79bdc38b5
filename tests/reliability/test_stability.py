"""Positions under other draws of the training queries."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skcalrank import NDCGRanker, load_digits_queries
from skcalrank.reliability import rank_stability


def test_positions_are_those_of_rankers_of_drawn_queries():
    X, y, qid = load_digits_queries(n_queries=60, n_documents=8)
    train = qid < 50
    data, new = (X[train], y[train], qid[train]), {"X_new": X[~train], "qid_new": qid[~train]}
    places = rank_stability(NDCGRanker(alpha=10.0), *data, **new, n_draws=5, random_state=3)
    assert places.shape == (5, 80)
    assert_array_equal(np.sort(places.reshape(5, 10, 8)), np.broadcast_to(range(1, 9), (5, 10, 8)))
    # The first draw, with the drawn queries themselves under names of their own.
    drawn = np.random.RandomState(3).randint(50, size=50)
    rows = np.concatenate([np.flatnonzero(qid == query) for query in drawn])
    ranker = NDCGRanker(alpha=10.0).fit(X[rows], y[rows], np.repeat(np.arange(50), 8))
    assert_array_equal(places[0], ranker.rank(X[~train], qid[~train]))
    assert (np.ptp(places, axis=0) > 0).any()
    again = rank_stability(NDCGRanker(alpha=10.0), *data, **new, n_draws=1, random_state=3)
    assert_array_equal(again[0], places[0])
    with pytest.raises(ValueError, match="n_draws must be an integer >= 1"):
        rank_stability(NDCGRanker(), *data, **new, n_draws=0)


def test_draws_are_the_same_by_default(rng):
    X, y, qid = rng.normal(size=(30, 2)), rng.integers(3, size=30), np.repeat(range(6), 5)
    options = {"X_new": X, "qid_new": qid, "n_draws": 4}
    places = [rank_stability(NDCGRanker(), X, y, qid, **options) for _ in range(2)]
    np.testing.assert_array_equal(*places)
    seeded = rank_stability(NDCGRanker(), X, y, qid, **options, random_state=0)
    np.testing.assert_array_equal(places[0], seeded)
