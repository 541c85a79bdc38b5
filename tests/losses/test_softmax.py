"""The softmax loss of lists: its bound and the proof, rows, and what weighs nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import xlogy
from sklearn.linear_model import LinearRegression

from skcalrank import BoostedRanker, OrderPreservingRanker
from skcalrank.boosting import lightgbm_objective, xgboost_objective
from skcalrank.calibration import SharedRows, calibration_of, find_counterexample, regret_bound
from skcalrank.data import Queries
from skcalrank.losses import Softmax
from skcalrank.measures import get_measure

LOSS = Softmax()


def excess(U, s):
    """Regret of the loss, for rows of mean targets and of scores."""
    queries = Queries.equal(*U.shape)
    return LOSS.evaluate(U.ravel(), s.ravel(), queries) - LOSS.infimum(U.ravel(), queries)


def ratios(measure, U, s):
    """Target regret of the worst order of the scores, over its bound."""
    r = U.shape[1]
    discount = get_measure(measure).basis(np.arange(1, r + 1), np.array(r))
    # Of equal scores the lowest mean target comes first.
    order = np.lexsort((U, -s), axis=1)
    regret = (-np.sort(-U, axis=1) - np.take_along_axis(U, order, axis=1)) @ discount
    largest = np.sort(U, axis=1)[:, -2:].sum(axis=1)
    one = regret_bound(measure, "softmax", 1.0, r=r, max_pair=1.0)
    # Below, rounding decides.
    some = regret > 0.02 * U.sum(axis=1)
    return np.where(some, regret / (one * np.sqrt(largest * excess(U, s)) + 1e-300), 0.0)


@pytest.mark.parametrize("measure", ["precision@1", "precision@2", "dcg", "auc"])
def test_bound_by_the_largest_pair_holds_and_is_attained(measure, rng):
    seen = 0.0
    for r in (2, 3, 4):
        U = rng.dirichlet(np.full(r, 0.5), size=4000) * rng.exponential(size=(4000, 1))
        # Minimizers of which some documents are tied, and scores around the minimizers.
        s = np.log(U)
        s[::2] += rng.normal(size=s[::2].shape) * 10 ** rng.uniform(-3, 1, (2000, 1))
        tied = np.sort(rng.permuted(np.tile(np.arange(r), (4000, 1)), axis=1)[:, :2], axis=1)
        rows = np.arange(4000)[1::2]
        first, second = tied[1::2].T
        U[rows[::2], second[::2]] = U[rows[::2], first[::2]] * rng.uniform(0.9, 1, len(rows[::2]))
        s[rows] = np.log(U[rows])
        mean = np.log((U[rows, first] + U[rows, second]) / 2)
        s[rows, first] = s[rows, second] = mean
        found = ratios(measure, U, s)
        assert found.max() <= 1 + 1e-9
        seen = max(seen, found.max())
    assert seen > (0.99 if measure == "precision@1" else 0.5)


def test_bound_by_the_largest_pair_is_no_larger_than_by_the_largest_target():
    for largest in (0.25, 1.0):
        by_target = regret_bound("ndcg", "softmax", 0.01, r=5, max_target=largest)
        assert by_target == regret_bound("ndcg", "softmax", 0.01, r=5, max_pair=2 * largest)
    # Targets that sum to at most 1, as those of recall: the constant is the root of 2.
    squared = regret_bound("recall@1", "squared", 0.01, r=5)
    assert regret_bound("recall@1", "softmax", 0.01, r=5, max_pair=1.0) == pytest.approx(squared)
    options = {"r": 5, "best_value": 0.5}
    assert regret_bound("precision@1", "softmax", 0.01, **options) == pytest.approx(
        2 * np.sqrt(0.5) * 0.1
    )


def test_least_divergence_of_tied_pairs(rng):
    # The step of the proof: each pair shares its sum, and other shares are right.
    for _ in range(20):
        p = rng.dirichlet(np.ones(5))
        p[:2], p[2:4] = np.sort(p[:2])[::-1], np.sort(p[2:4])[::-1]

        def divergence(x, p=p):
            q = np.exp(x) / np.exp(x).sum()
            return float((xlogy(p, p) - p * np.log(q)).sum())

        ways = [{"type": "ineq", "fun": lambda x, i=i: x[i + 1] - x[i]} for i in (0, 2)]
        found = minimize(divergence, np.zeros(5), constraints=ways, tol=1e-12).fun
        q = p.copy()
        q[:2], q[2:4] = p[:2].mean(), p[2:4].mean()
        assert found == pytest.approx((xlogy(p, p) - p * np.log(q)).sum(), abs=1e-7)
        steps = [(p[i] - p[i + 1]) ** 2 / (2 * (p[i] + p[i + 1])) for i in (0, 2)]
        assert found >= sum(steps) - 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "max_target must be given"),
        ({"max_pair": -1.0}, "max_pair must be a finite number >= 0, got -1.0"),
        ({"max_pair": 1.0, "max_target": 1.0}, "max_pair must be None with max_target"),
        ({"max_pair": 1.0, "loss": "pairwise_logistic"}, "max_pair must be None with max_target"),
    ],
)
def test_bounds_refused(options, message):
    with pytest.raises(ValueError, match=message):
        regret_bound("ndcg", surrogate_regret=0.1, r=3, **{"loss": "softmax"} | options)


# -- rows ----------------------------------------------------------------------------------


def test_rows_are_enough():
    # Rows A, B, C and D of these chances: relative entropy with a rest puts A before B.
    queries = SharedRows.independent(
        [[0, 2], [1, 3], [0, 1]], [0.5, 0.6, 0.95, 0.02], [0.45, 0.45, 0.1]
    )
    scores = queries.minimizer("softmax", "precision@1")
    assert scores.argsort().tolist() == [3, 0, 1, 2]
    np.testing.assert_allclose(np.diff(scores), np.diff(np.log([0.5, 0.6, 0.95, 0.02])), atol=1e-6)
    other = queries.minimizer("bregman_kl", "precision@1")
    assert other[0] > other[1]
    options = {"form": "rows", "r": 3, "n_tries": 20, "random_state": 0}
    assert find_counterexample("softmax", "sort", "precision@1", **options) is None
    assert calibration_of(OrderPreservingRanker("precision@1", loss="softmax")).holds == "always"
    assert calibration_of(BoostedRanker("precision@1", loss="softmax")).holds == "always"


# -- fits ----------------------------------------------------------------------------------


def data(rng, n=60, r=5):
    X = rng.normal(size=(n * r, 3))
    y = rng.poisson(np.exp(X[:, 0] - 0.5)).clip(0, 3)
    return X, y, np.repeat(np.arange(n), r)


def test_queries_without_a_positive_target_weigh_nothing(rng):
    X, y, qid = data(rng)
    y[qid < 20] = 0
    options = {"loss": "softmax", "alpha": 0.1, "tol": 1e-10}
    whole = OrderPreservingRanker("dcg", **options).fit(X, y, qid)
    some = OrderPreservingRanker("dcg", **options).fit(X[qid >= 20], y[qid >= 20], qid[qid >= 20])
    np.testing.assert_allclose(whole.coef_, some.coef_, atol=1e-6)
    assert whole.coef_[0] > 3 * np.abs(whole.coef_[1:]).max()


def test_targets_that_are_all_zero_are_refused(rng):
    X, y, qid = data(rng)
    ranker = OrderPreservingRanker("precision@1", loss="softmax")
    refused = pytest.raises(ValueError, match="Targets must be positive for some document")
    with refused, pytest.warns(match="does not differ"):
        ranker.fit(X, 0 * y, qid)


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective])
def test_objectives_have_no_scale_to_freeze(make, rng):
    _, y, qid = data(rng)
    objective = make("dcg", "softmax", gain="linear")
    assert objective.freeze(y, qid) == objective


def test_minimizer_in_the_population(rng):
    # A linear model of one column for each document reaches the logs of the mean targets.
    chances = np.array([0.1, 0.3, 0.6])
    X, y = np.tile(np.eye(3), (4000, 1)), (rng.random((4000, 3)) < chances).astype(float).ravel()
    ranker = OrderPreservingRanker("precision@1", loss="softmax", alpha=1e-9, tol=1e-10)
    scores = ranker.fit(X, y, np.repeat(np.arange(4000), 3)).predict(np.eye(3))
    expected = np.log(LinearRegression(fit_intercept=False).fit(X, y).coef_)
    np.testing.assert_allclose(scores - scores.mean(), expected - expected.mean(), atol=1e-4)
