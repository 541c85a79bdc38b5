"""ERR with other gains and discounts: the ranker learns the best order under independence."""

from itertools import permutations, product

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skcalrank import ERRRanker, sample_sessions
from skcalrank.measures import ERR
from skcalrank.metrics import measure_score


def halving(grades):
    return 1 - 0.5**grades


FAMILY = {
    "gain": {"gain": [0.0, 0.7, 0.8]},
    "function": {"gain": halving},
    "discount": {"max_grade": 2, "discount": [1.0, 1.0, 0.2]},
    "both": {"gain": [0.1, 0.2, 0.9], "discount": lambda places: np.exp(1.0 - places)},
}


@pytest.mark.parametrize("name", FAMILY)
def test_best_order_under_independence(name, rng):
    measure = ERR(**FAMILY[name])
    grades = np.array(list(product(range(3), repeat=3)))
    for _ in range(10):
        single = rng.dirichlet(np.full(3, 0.5), size=3)
        law = single[np.arange(3), grades].prod(axis=1)
        X, qid = np.tile(np.eye(3), (27, 1)), np.repeat(np.arange(27), 3)
        ranker = ERRRanker(LinearRegression(), **FAMILY[name])
        ranker.fit(X, grades.ravel(), qid, sample_weight=np.repeat(law, 3))
        values = {
            order: law @ measure_score(measure, grades, np.tile(order, (27, 1)), average=False)
            for order in permutations(range(3))
        }
        scores = np.argsort(np.argsort(ranker.predict(np.eye(3))))
        assert values[tuple(scores.tolist())] == pytest.approx(max(values.values()), abs=1e-9)
        expected = measure_score(measure, grades.ravel(), ranker.predict(X), qid=qid)
        assert ranker.score(X, grades.ravel(), qid) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint16, np.float16])
def test_the_highest_grade_may_be_a_number_of_any_type(dtype):
    y, scores = np.array([0, 2, 4, 1]), np.array([0.5, 0.2, 0.1, 0.9])
    for highest in (4, 30):
        expected = measure_score(ERR(max_grade=highest), y, scores, qid=np.zeros(4))
        found = measure_score(ERR(max_grade=dtype(highest)), y, scores, qid=np.zeros(4))
        assert found == expected


def test_clicks_have_their_own_stop_probabilities():
    y, qid = np.tile([0.1, 0.6, 0.3], 4), np.repeat(np.arange(4), 3)
    clicks = sample_sessions(y, qid, n_sessions=50, random_state=0)
    X = np.tile(np.eye(3), (4, 1))
    with pytest.raises(ValueError, match="gain must be 'exponential' for ClickSessions"):
        ERRRanker(gain=[0.0, 0.5]).fit(X, clicks)
    steep = ERRRanker(discount=[1.0, 0.1, 0.1]).fit(X, clicks)
    plain = ERRRanker().fit(X, clicks)
    np.testing.assert_array_equal(steep.predict(X), plain.predict(X))
    assert steep.score(X, clicks) < plain.score(X, clicks)
    assert plain.max_grade_ == 50
    own = ERRRanker(gain=[0.0, 0.5]).fit(X, np.tile([0, 1, 0], 4), qid)
    with pytest.raises(AttributeError, match="not defined for a gain"):
        _ = own.max_grade_
