"""Bilinear regressions on pairs, against ridge on the features of all pairs."""

from itertools import pairwise

import numpy as np
import pytest
from pair_problem import (
    QID,
    Problem,
    all_pairs,
    diagonal_or_not,
    every_qid,
    inputs,
    kronecker,
    weighted_or_not,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge


def materialised(problem, alpha):
    """Ridge on Kronecker features of all pairs."""
    F, targets, weights = problem.built(kronecker)
    regressor = Ridge(alpha, fit_intercept=False, solver="svd").fit(F, targets, weights)
    return regressor.coef_.reshape(problem.X.shape[1], -1)


@pytest.mark.product
@every_qid
@diagonal_or_not
@weighted_or_not
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 50.0])
def test_bilinear_is_ridge_on_kronecker_features(qid, diagonal, weighted, alpha, rng):
    problem = Problem(qid, rng, weighted=weighted, diagonal=diagonal)
    fit = problem.fit_bilinear(alpha)
    np.testing.assert_allclose(fit.coef_, materialised(problem, alpha), rtol=1e-6, atol=1e-9)
    assert fit.residual_ <= 1e-12
    assert 1 <= fit.n_iter_ <= 100


@every_qid
@diagonal_or_not
def test_default_tolerance_is_enough_for_six_digits(qid, diagonal, rng):
    problem = Problem(qid, rng, n_features=5, diagonal=diagonal)
    expected = materialised(problem, 1.0)
    error = np.abs(problem.fit("bilinear", None).coef_ - expected).max()
    assert error < 1e-6 * np.abs(expected).max()


@diagonal_or_not
@weighted_or_not
def test_bilinear_of_single_precision(diagonal, weighted, rng):
    problem = Problem(QID["ragged"], rng, weighted=weighted, diagonal=diagonal)
    problem.X = problem.X.astype(np.float32)
    coef = problem.fit_bilinear(1.0).coef_
    assert coef.dtype == np.float64
    np.testing.assert_allclose(coef, materialised(problem, 1.0), rtol=1e-5, atol=1e-6)


@diagonal_or_not
@pytest.mark.parametrize("scales", [(1, 1e3, 1e-2), (1, 0, 1), (0, 0, 0)], ids=str)
def test_features_of_any_scale(scales, diagonal, rng):
    problem = Problem(QID["ragged"], rng, diagonal=diagonal)
    problem.X = problem.X * scales
    expected, fit = materialised(problem, 0.1), problem.fit_bilinear(0.1)
    np.testing.assert_allclose(fit.coef_, expected, rtol=1e-5, atol=1e-9)


@diagonal_or_not
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("scales", [(1e9, 1, 1), (1e6, 1, 1e-3)], ids=str)
def test_a_large_feature_hides_no_other(scales, alpha, diagonal, rng):
    problem = Problem(QID["ragged"], rng, diagonal=diagonal)
    problem.X = problem.X * scales
    F, targets, weights = problem.built(kronecker)
    # In units in which all columns of these pairs have one size.
    unit = np.kron(scales, scales)
    penalty = np.diag(np.sqrt(alpha) / unit)
    root = np.sqrt(np.ones(len(targets)) if weights is None else weights)
    rows = np.vstack([F / unit * root[:, None], penalty])
    expected = np.linalg.lstsq(rows, np.append(targets * root, np.zeros(len(unit))), rcond=None)[0]
    found = problem.fit("bilinear", None, alpha).coef_.ravel() * unit
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@diagonal_or_not
def test_dependent_features_without_penalty(diagonal, rng):
    problem = Problem(QID["ragged"], rng, diagonal=diagonal)
    problem.X = np.column_stack([problem.X, problem.X[:, 0], np.zeros(len(problem.X))])
    found = [m.ravel() for m in problem.fit("bilinear", None, 0.0).matrices(*inputs(problem))]
    F, targets, _ = problem.built(kronecker)
    coef = np.linalg.lstsq(F, targets, rcond=None)[0]
    expected = kronecker(*all_pairs(problem)) @ coef
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-5, atol=1e-6)


@diagonal_or_not
@weighted_or_not
@pytest.mark.parametrize("block", [1, 20, 1 << 18])
def test_gram_matrices_kept_or_made_again(diagonal, weighted, block, monkeypatch, rng):
    problem = Problem(QID["ragged"], rng, weighted=weighted, diagonal=diagonal)
    expected = problem.fit_bilinear()
    monkeypatch.setattr("skcalrank._solvers._bilinear._BLOCK_CELLS", block)
    for kept in (100_000_000, 0):
        monkeypatch.setattr("skcalrank._solvers._bilinear.KEPT_CELLS", kept)
        np.testing.assert_allclose(problem.fit_bilinear().coef_, expected.coef_, rtol=1e-9)


def test_bilinear_that_does_not_converge_says_so(rng):
    problem = Problem(QID["ragged"], rng, n_features=6)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations.*above tol=1.0e-12"):
        fit = problem.fit_bilinear(1e-3, max_iter=1)
    assert fit.n_iter_ == 1
    assert fit.residual_ > 1e-12


def test_bilinear_of_nothing_is_zero(rng):
    problem = Problem(QID["ragged"], rng)
    problem.table[:] = 0.0
    fit = problem.fit_bilinear()
    assert (fit.coef_ == 0).all()
    assert fit.n_iter_ == 0
    assert fit.residual_ == 0
    alone = Problem(np.arange(5), rng, diagonal=False)
    assert (alone.fit_bilinear().coef_ == 0).all()


def test_bilinear_tells_its_iterations(capsys, rng):
    fit = Problem(QID["ragged"], rng).fit_bilinear(verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == fit.n_iter_
    assert lines[0].startswith("bilinear fit: iteration 1, relative residual")


def test_bilinear_matrices_are_the_products(rng):
    problem = Problem(QID["interleaved"], rng)
    model = problem.fit("bilinear", None)
    matrices = list(model.matrices(*inputs(problem)))
    for matrix, (a, b) in zip(matrices, pairwise(problem.queries.ptr), strict=True):
        X = problem.X[a:b]
        np.testing.assert_allclose(matrix, X @ model.coef_ @ X.T)
