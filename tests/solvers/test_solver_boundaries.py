"""Boundary cases of constants and comparisons that other tests do not distinguish."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    NDCGRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
    get_scorer,
)
from skcalrank._solvers import AveragedDescent, check_features
from skcalrank._solvers._bilinear import fit_bilinear
from skcalrank.aggregation import mean_log_odds
from skcalrank.calibration._cones import newton_steps
from skcalrank.data import Queries
from skcalrank.losses import PreferenceHinge, SquaredHinge
from skcalrank.metrics import kendall_score, spearman_score


def test_features_fit_as_long_as_their_square_does():
    check_features(np.empty((0, 2**14)))
    with pytest.raises(ValueError, match="got 16385"):
        check_features(np.empty((0, 2**14 + 1)))


def test_more_labels_in_a_query_than_small_integers_count():
    y = np.arange(40_000.0)
    assert kendall_score(y, y) == 1
    assert kendall_score(y, -y) == -1


def test_a_single_one_way_pair_is_warned_about():
    y = PreferenceTarget.from_comparisons([0, 1, 2, 1], [1, 0, 1, 2], [1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean_log_odds(y, c=0)
    y = PreferenceTarget.from_comparisons([0, 1, 2], [1, 0, 1], [1, 1, 1])
    with pytest.warns(UserWarning, match="Query 1 has pairs of documents of which always the same"):
        mean_log_odds(y, c=0)


def test_the_average_of_a_descent_weighs_its_iterates_by_their_numbers(rng):
    descent, iterates = AveragedDescent((2,), True), []
    for t in range(1, 6):
        X = rng.normal(size=(3, 2))
        descent.update(X, lambda scores: scores - 1.0, lambda _: 0.1, 0.01)
        iterates.append(np.append(descent.coef, descent.intercept))
        assert descent.n_updates == t
    mean = np.average(iterates, axis=0, weights=np.arange(1, 6))
    np.testing.assert_allclose(np.append(descent.mean_coef, descent.mean_intercept), mean)


@pytest.mark.parametrize("size", [1e-8, 1e-4, 1e4])
def test_the_solver_takes_the_same_steps_for_multiples_of_an_objective(size, rng):
    X, y = rng.normal(size=(60, 3)) * [1, 10, 100], rng.integers(0, 4, 60)
    qid = np.repeat(np.arange(10), 6)
    plain = PairwiseLogisticRanker(alpha=0.1).fit(X, y, qid)
    multiple = PairwiseLogisticRanker(alpha=0.1 * size).fit(X, y, qid, np.full(60, size))
    assert multiple.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(multiple.coef_, plain.coef_, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_one_query_is_its_own_preconditioner(size, alpha, rng):
    X, y = rng.normal(size=(12, 3)) * size, np.arange(12.0)
    ranker = AllPairs(surrogate="pairwise", alpha=alpha).fit(X, y, np.zeros(12))
    assert ranker.n_iter_ == 1


class AllPairs(PairwiseDisagreementRanker):
    _diagonal = True


@pytest.mark.parametrize("threshold", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("eta", [1.0, 2.5])
def test_squared_hinge_has_its_least_value_at_its_minimizer(threshold, eta):
    loss, v = SquaredHinge(eta=eta, threshold=threshold), np.array([0.0, 0.3, 0.9, 1.0])
    grid = np.linspace(-0.2, threshold + 0.2, 4001)
    risk = np.array([loss.terms(target, grid) for target in v])
    np.testing.assert_allclose(loss.least(v), risk.min(axis=1), atol=1e-5)
    best = loss.minimizer(v, Queries.equal(1, 4))
    np.testing.assert_allclose(loss.terms(v, best), loss.least(v), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", [kendall_score, spearman_score])
def test_measures_of_the_whole_order_take_no_cutoff(metric):
    with pytest.raises(ValueError, match=f"k must be None for {metric.__name__}"):
        metric([1, 0, 2], [1, 0, 2], k=2)


def test_scorers_ask_for_what_they_need():
    requests = get_scorer("ndcg").get_metadata_routing().score.requests
    assert requests == {"qid": True, "sample_weight": True}


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_feature_of_single_precision_may_be_negative(sign, rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    X[:, 1] = sign * 1e25 * np.abs(X[:, 1])
    qid, X = np.repeat(np.arange(12), 5), X.astype("f")
    ranker = NDCGRanker(Ridge(solver="svd"), loss="squared")
    expected = ranker.fit(X.astype(float), y, qid).coef_
    np.testing.assert_allclose(ranker.fit(X, y, qid).coef_, expected, rtol=1e-4)


def test_weights_go_to_the_last_step_of_a_pipeline(rng):
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(np.arange(12), 5)
    weight = np.repeat(rng.uniform(0.1, 5, 12), 5)
    # The scaler takes weights, too.
    found = NDCGRanker(make_pipeline(StandardScaler(), Ridge())).fit(X, y, qid, weight)
    plain = NDCGRanker(Ridge(), loss="squared")
    expected = plain.fit(StandardScaler().fit_transform(X), y, qid, weight)
    np.testing.assert_allclose(found.estimator_[-1].coef_, expected.coef_)


def test_a_bilinear_fit_without_any_curvature_ends_at_zero():
    problem = {"diagonal": False, "weight": np.array([2.0**60, 1.0]), "tol": 1e-10, "max_iter": 9}
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        fit = fit_bilinear(
            np.ones((2, 1)), Queries.equal(1, 2), lambda i, j: 1.0 * (i != j), 0.0, **problem
        )
    assert fit.coef == 0


def test_a_bilinear_fit_is_done_at_its_tolerance(rng):
    X, queries, table = rng.normal(size=(12, 3)), Queries.equal(3, 4), rng.normal(size=(12, 12))
    problem = (X, queries, lambda i, j: table[i, j], 0.1)
    fixed = {"diagonal": True, "weight": None}
    with pytest.warns(ConvergenceWarning):
        first = fit_bilinear(*problem, **fixed, tol=1e-12, max_iter=2)
    again = fit_bilinear(*problem, **fixed, tol=first.residual, max_iter=9)
    assert again.n_iter == 2


def test_the_corner_of_a_hinge_is_curved_between_its_ends():
    loss = PreferenceHinge(corner_width=0.5)
    assert loss.curvatures(np.array([0.5, 0.75, 1.0])).tolist() == [0, 2, 0]


def testnewton_steps_go_uphill_where_little_or_nothing_is_curved(rng):
    root = rng.normal(size=(20, 3, 2)) * np.logspace(-155, 0, 20)[:, None, None]
    hessian = np.append(root @ root.transpose(0, 2, 1), np.zeros((1, 3, 3)), axis=0)
    gradient = np.append(root.sum(axis=2), np.full((1, 3), 1e-300), axis=0)
    held = np.zeros(gradient.shape, dtype=bool)
    steps = newton_steps(gradient, hessian, held)
    assert ((steps * gradient).sum(axis=1) > 0).all()
