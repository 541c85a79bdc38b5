"""Convex losses of net preferences: their definition, their consistency, their forms."""

import numpy as np
import pytest
from judged import make

from skcalrank import PreferenceTarget
from skcalrank.losses import PREFERENCE_LOSSES
from skcalrank.rankers import DifferenceGraphRanker


@pytest.mark.parametrize("loss", PREFERENCE_LOSSES)
def test_difference_graph_loss(loss, rng):
    X, y, qid, _ = make(rng, n_comparisons=200)
    weight = rng.uniform(0.2, 2, len(y))
    ranker = DifferenceGraphRanker(edge_loss=loss, alpha=0.5).fit(X, y, sample_weight=weight)
    matrix = np.zeros((len(y), len(y)))
    np.add.at(matrix, (y.winner, y.loser), y.weight)
    net = np.maximum(matrix - matrix.T, 0)
    mean = np.array([weight[qid == q].mean() for q in qid])
    net *= weight[:, None] * weight / mean[:, None]
    f = {
        "logistic": lambda x: np.logaddexp(0, -x),
        "hinge": lambda x: np.maximum(1 - x, 0),
        "exponential": lambda x: np.exp(-x),
        "squared_hinge": lambda x: np.maximum(1 - x, 0) ** 2,
    }[loss]

    def value(w):
        s = X @ w
        return np.sum(net * f(s[:, None] - s)) + 0.5 * np.sum(w**2)

    at = value(ranker.coef_)
    for size in (1e-2, 0.1, 1.0):
        for _ in range(50):
            assert value(ranker.coef_ + size * rng.normal(size=3)) >= at * (1 - 1e-5)


@pytest.mark.parametrize("loss", PREFERENCE_LOSSES)
def test_difference_graph_is_consistent_where_ranknet_is_not(loss):
    weight = [0.5, 2.0, 1.0, 0.15]
    y = PreferenceTarget.from_comparisons([0, 0, 2, 1], [1, 2, 0, 2], [0] * 3, weight=weight)
    found = DifferenceGraphRanker(edge_loss=loss, alpha=1e-5, max_iter=5000).fit(np.eye(3), y)
    assert found.rank(np.eye(3), [0] * 3).tolist() == [1, 2, 3]


def test_difference_graph_in_label_form(rng):
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 4))
    one = DifferenceGraphRanker().fit(X, Y)
    two = DifferenceGraphRanker().fit(X, PreferenceTarget.from_relevance(Y))
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"'edge_loss' .*Got 'huber'"):
        DifferenceGraphRanker(edge_loss="huber").fit(X, Y)
