"""Steps of the solvers, and where they end."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skcalrank import (
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
)
from skcalrank._solvers import AveragedDescent, DocumentPairs, check_features
from skcalrank._solvers._bilinear import fit_bilinear
from skcalrank.data import Queries


def test_features_fit_as_long_as_their_square_does():
    check_features(np.empty((0, 2**14)))
    with pytest.raises(ValueError, match="got 16385"):
        check_features(np.empty((0, 2**14 + 1)))


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


def test_a_bilinear_fit_without_any_curvature_ends_at_zero():
    X, queries, weight = np.ones((2, 1)), Queries.equal(1, 2), np.array([2.0**60, 1.0])
    pairs = DocumentPairs(X, queries, lambda i, j: 1.0 * (i != j), False, weight)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        fit = fit_bilinear(pairs, 0.0, max_iter=9)
    assert fit.coef_ == 0


def test_a_bilinear_fit_is_done_at_its_tolerance(rng):
    X, queries, table = rng.normal(size=(12, 3)), Queries.equal(3, 4), rng.normal(size=(12, 12))
    pairs = DocumentPairs(X, queries, lambda i, j: table[i, j], True, None)
    with pytest.warns(ConvergenceWarning):
        first = fit_bilinear(pairs, 0.1, tol=1e-12, max_iter=2)
    again = fit_bilinear(pairs, 0.1, tol=first.residual_, max_iter=9)
    assert again.n_iter_ == 2
