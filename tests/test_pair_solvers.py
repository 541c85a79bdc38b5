"""Regressions on pairs, against the same regression on pairs that are all built."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, Ridge, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker, PreferenceTarget
from skcalrank._solvers import PAIR_FEATURES, fit_pairs
from skcalrank._solvers._bilinear import fit_bilinear
from skcalrank.data import Queries

bilinear_module = sys.modules["skcalrank._solvers._bilinear"]
pairs_module = sys.modules["skcalrank._solvers._pairs"]

QID = {
    "ragged": np.repeat([5, 3, 8, 1, 2, 9], [6, 1, 4, 9, 2, 1]),
    "one query": np.zeros(15, dtype=int),
    "interleaved": np.array([1, 0, 1, 2, 0, 0, 3, 1, 2, 1, 0, 2, 2, 0, 1, 4, 0, 1, 2, 5, 5]),
    "pairs": np.repeat(np.arange(12), 2),
}
every_qid = pytest.mark.parametrize("qid", QID.values(), ids=QID)
diagonal_or_not = pytest.mark.parametrize("diagonal", [True, False], ids=["diagonal", "off"])
weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


class Problem:
    """Documents in grouped order, and their pairs one by one."""

    def __init__(self, qid, rng, *, n_features=3, weighted=False, diagonal=True):
        self.queries = Queries.from_qid(qid)
        self.diagonal = diagonal
        n = len(qid)
        self.X = rng.normal(size=(n, n_features)) + 0.5
        self.weight = rng.uniform(0.2, 3, n) if weighted else None
        self.table = self.X @ rng.normal(size=(n_features, n_features)) @ self.X.T
        self.table += rng.normal(size=(n, n))
        if not diagonal:
            np.fill_diagonal(self.table, 0.0)

    def values(self, first, second):
        return self.table[first, second]

    def built(self, features):
        """Features, targets and weights of all pairs, in a plain loop."""
        rows, targets, weights = [], [], []
        for start, stop in pairwise(self.queries.ptr):
            mean = 1.0 if self.weight is None else self.weight[start:stop].mean()
            for i in range(start, stop):
                for j in range(start, stop):
                    if i == j and not self.diagonal:
                        continue
                    rows.append(features(self.X[i : i + 1], self.X[j : j + 1])[0])
                    targets.append(self.table[i, j])
                    if self.weight is not None:
                        weights.append(self.weight[i] * (self.weight[j] / mean))
        return np.array(rows, dtype=float), np.array(targets), weights or None

    def fit(self, features, regressor, alpha=1.0):
        return fit_pairs(
            self.X,
            self.queries,
            self.values,
            features,
            regressor,
            alpha=alpha,
            diagonal=self.diagonal,
            weight=self.weight,
        )

    def fit_bilinear(self, alpha=1.0, *, tol=1e-12, max_iter=1000, **options):
        return fit_bilinear(
            self.X,
            self.queries,
            self.values,
            alpha,
            diagonal=self.diagonal,
            weight=self.weight,
            tol=tol,
            max_iter=max_iter,
            **options,
        )


def kronecker(first, second):
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def concat(first, second):
    return np.hstack([first, second])


def difference(first, second):
    return first - second


def products(first, second):
    return np.hstack([first * second, np.abs(first - second)])


def materialised(problem, alpha):
    """Ridge on Kronecker features of all pairs."""
    F, targets, weights = problem.built(kronecker)
    regressor = Ridge(alpha, fit_intercept=False, solver="svd").fit(F, targets, weights)
    return regressor.coef_.reshape(problem.X.shape[1], -1)


# -- bilinear --------------------------------------------------------------------------


@every_qid
@diagonal_or_not
@weighted_or_not
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 50.0])
def test_bilinear_is_ridge_on_kronecker_features(qid, diagonal, weighted, alpha, rng):
    problem = Problem(qid, rng, weighted=weighted, diagonal=diagonal)
    fit = problem.fit_bilinear(alpha)
    np.testing.assert_allclose(fit.coef, materialised(problem, alpha), rtol=1e-6, atol=1e-9)
    assert fit.residual <= 1e-12
    assert 1 <= fit.n_iter <= 100


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
    coef = problem.fit_bilinear(1.0).coef
    assert coef.dtype == np.float64
    np.testing.assert_allclose(coef, materialised(problem, 1.0), rtol=1e-5, atol=1e-6)


@diagonal_or_not
@pytest.mark.parametrize("scales", [(1, 1e3, 1e-2), (1, 0, 1), (0, 0, 0)], ids=str)
def test_features_of_any_scale(scales, diagonal, rng):
    problem = Problem(QID["ragged"], rng, diagonal=diagonal)
    problem.X = problem.X * scales
    expected, fit = materialised(problem, 0.1), problem.fit_bilinear(0.1)
    np.testing.assert_allclose(fit.coef, expected, rtol=1e-5, atol=1e-9)


@diagonal_or_not
def test_dependent_features_without_penalty(diagonal, rng):
    problem = Problem(QID["ragged"], rng, diagonal=diagonal)
    problem.X = np.column_stack([problem.X, problem.X[:, 0], np.zeros(len(problem.X))])
    found = [m.ravel() for m in problem.fit("bilinear", None, 0.0).matrices(*inputs(problem))]
    F, targets, _ = problem.built(kronecker)
    coef = np.linalg.lstsq(F, targets, rcond=None)[0]
    expected = kronecker(*all_pairs(problem)) @ coef
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-5, atol=1e-6)


def inputs(problem):
    return problem.X, problem.queries


def all_pairs(problem):
    """Both documents of every pair, diagonal included, in the order of the matrices."""
    rows = [np.arange(a, b) for a, b in pairwise(problem.queries.ptr)]
    first = np.concatenate([np.repeat(r, len(r)) for r in rows])
    second = np.concatenate([np.tile(r, len(r)) for r in rows])
    return problem.X[first], problem.X[second]


@diagonal_or_not
@weighted_or_not
@pytest.mark.parametrize("block", [1, 20, 1 << 18])
def test_gram_matrices_kept_or_made_again(diagonal, weighted, block, monkeypatch, rng):
    problem = Problem(QID["ragged"], rng, weighted=weighted, diagonal=diagonal)
    expected = problem.fit_bilinear()
    monkeypatch.setattr(bilinear_module, "_BLOCK_CELLS", block)
    for kept in (100_000_000, 0):
        monkeypatch.setattr(bilinear_module, "KEPT_CELLS", kept)
        np.testing.assert_allclose(problem.fit_bilinear().coef, expected.coef, rtol=1e-9)


def test_bilinear_that_does_not_converge_says_so(rng):
    problem = Problem(QID["ragged"], rng, n_features=6)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations.*above tol=1.0e-12"):
        fit = problem.fit_bilinear(1e-3, max_iter=1)
    assert fit.n_iter == 1
    assert fit.residual > 1e-12


def test_bilinear_of_nothing_is_zero(rng):
    problem = Problem(QID["ragged"], rng)
    problem.table[:] = 0.0
    fit = problem.fit_bilinear()
    assert (fit.coef == 0).all()
    assert fit.n_iter == 0
    assert fit.residual == 0
    alone = Problem(np.arange(5), rng, diagonal=False)
    assert (alone.fit_bilinear().coef == 0).all()


def test_bilinear_tells_its_iterations(capsys, rng):
    fit = Problem(QID["ragged"], rng).fit_bilinear(verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == fit.n_iter
    assert lines[0].startswith("bilinear fit: iteration 1, relative residual")


def test_bilinear_matrices_are_the_products(rng):
    problem = Problem(QID["interleaved"], rng)
    model = problem.fit("bilinear", None)
    matrices = list(model.matrices(*inputs(problem)))
    for matrix, (a, b) in zip(matrices, pairwise(problem.queries.ptr), strict=True):
        X = problem.X[a:b]
        np.testing.assert_allclose(matrix, X @ model.coef_ @ X.T)


# -- built features --------------------------------------------------------------------

FEATURES = {
    "concat": ("concat", concat),
    "difference": ("difference", difference),
    "callable": (products, products),
}
every_feature = pytest.mark.parametrize(
    ("features", "function"), FEATURES.values(), ids=FEATURES.keys()
)
CLOSED_FORM = {
    "ridge": Ridge(0.7),
    "ridge without intercept": Ridge(0.7, fit_intercept=False),
    "least squares": LinearRegression(),
    "least squares without intercept": LinearRegression(fit_intercept=False),
    "positive ridge": Ridge(0.7, positive=True, tol=1e-12, max_iter=10_000),
}
TOGETHER = {
    "tree": DecisionTreeRegressor(min_samples_leaf=3, random_state=0),
    "forest": RandomForestRegressor(4, random_state=0),
    "lasso": Lasso(0.05),
    "pipeline": make_pipeline(StandardScaler(), Ridge(0.7)),
}


def named(regressors):
    return pytest.mark.parametrize("regressor", regressors.values(), ids=regressors.keys())


def check_as_if_built(problem, features, function, regressor, **tolerance):
    """The same regressor, fitted on all pairs at once, predicts the same."""
    model = problem.fit(features, clone(regressor))
    F, targets, weights = problem.built(function)
    fit_params = {}
    if weights is not None:
        last = regressor.steps[-1][0] + "__" if hasattr(regressor, "steps") else ""
        fit_params[f"{last}sample_weight"] = weights
    expected = clone(regressor).fit(F, targets, **fit_params)
    matrices = list(model.matrices(*inputs(problem)))
    assert [m.shape for m in matrices] == [(r, r) for r in problem.queries.sizes]
    found = np.concatenate([m.ravel() for m in matrices])
    wanted = expected.predict(function(*all_pairs(problem)))
    np.testing.assert_allclose(found, wanted, **(tolerance or {"rtol": 1e-8, "atol": 1e-9}))
    return model, expected


@every_feature
@diagonal_or_not
@weighted_or_not
@named(CLOSED_FORM)
def test_closed_form_is_the_regression_on_all_pairs(
    features, function, diagonal, weighted, regressor, rng
):
    problem = Problem(QID["ragged"], rng, weighted=weighted, diagonal=diagonal)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if getattr(regressor, "positive", False) else {}
    model, expected = check_as_if_built(problem, features, function, regressor, **tolerance)
    assert model.regressor.get_params() == regressor.get_params()
    np.testing.assert_allclose(
        model.regressor.intercept_,
        expected.intercept_,
        **(tolerance or {"rtol": 1e-8, "atol": 1e-9}),
    )


@every_feature
@diagonal_or_not
@weighted_or_not
@named(TOGETHER)
def test_other_regressors_see_all_pairs(features, function, diagonal, weighted, regressor, rng):
    problem = Problem(QID["ragged"], rng, weighted=weighted, diagonal=diagonal)
    check_as_if_built(problem, features, function, regressor)


@every_qid
def test_pairs_of_queries_of_every_size(qid, rng):
    problem = Problem(qid, rng)
    for regressor in (Ridge(), DecisionTreeRegressor(random_state=0)):
        check_as_if_built(problem, "concat", concat, regressor)


@diagonal_or_not
@pytest.mark.parametrize("size", [1, 2, 5, 13, 50])
@named({"ridge": Ridge(), "tree": DecisionTreeRegressor(min_samples_leaf=3, random_state=0)})
def test_size_of_chunks_changes_nothing(diagonal, size, regressor, monkeypatch, rng):
    monkeypatch.setattr(pairs_module, "CHUNK_ROWS", size)
    for qid in QID.values():
        problem = Problem(qid, rng, weighted=True, diagonal=diagonal)
        check_as_if_built(problem, "concat", concat, regressor)


def test_chunks_are_bounded(monkeypatch, rng):
    monkeypatch.setattr(pairs_module, "CHUNK_ROWS", 40)
    sizes = []

    def spy(first, second):
        sizes.append(len(first))
        return first - second

    problem = Problem(np.repeat(np.arange(4), [20, 3, 12, 50]), rng)
    list(problem.fit(spy, Ridge()).matrices(*inputs(problem)))
    # The pairs of one document stay together.
    assert max(sizes) <= 50
    assert sum(sizes) == 2 * (problem.queries.sizes**2).sum()


def test_features_that_do_not_fit(monkeypatch, rng):
    monkeypatch.setattr(pairs_module, "_ALL_CELLS", 100)
    problem = Problem(QID["ragged"], rng)
    with pytest.raises(ValueError, match=r"do not fit: .*'bilinear'.*partial_fit.*Ridge"):
        problem.fit("concat", DecisionTreeRegressor())
    problem.fit("concat", Ridge())


def test_far_from_the_origin(rng):
    problem = Problem(QID["ragged"], rng)
    problem.X += 1e4
    check_as_if_built(problem, "concat", concat, LinearRegression(), rtol=1e-5, atol=1e-5)


@diagonal_or_not
@named(
    {
        "stochastic gradient": SGDRegressor(random_state=0),
        "network": MLPRegressor(hidden_layer_sizes=4, random_state=0),
    }
)
def test_regressors_with_partial_fit_are_fed_chunks(diagonal, regressor, monkeypatch, rng):
    problem = Problem(QID["ragged"], rng, diagonal=diagonal)
    monkeypatch.setattr(pairs_module, "CHUNK_ROWS", 30)
    monkeypatch.setattr(pairs_module, "_ALL_CELLS", 0)
    model = problem.fit("difference", clone(regressor))
    matrices = list(model.matrices(*inputs(problem)))
    assert [len(m) for m in matrices] == problem.queries.sizes.tolist()
    assert all(np.isfinite(m).all() for m in matrices)


def test_partial_fit_takes_weights(rng):
    problem = Problem(QID["ragged"], rng, weighted=True)
    model = problem.fit("difference", SGDRegressor(random_state=0))
    problem.weight[:] = 1e-9
    other = problem.fit("difference", SGDRegressor(random_state=0))
    assert not np.allclose(model.regressor.coef_, other.regressor.coef_)


def test_weights_that_the_regressor_does_not_take(rng):
    problem = Problem(QID["ragged"], rng, weighted=True)
    with pytest.raises(ValueError, match=r"KNeighborsRegressor\.fit takes none"):
        problem.fit("concat", KNeighborsRegressor())


@diagonal_or_not
def test_weight_zero_leaves_the_pairs_of_a_document_out(diagonal, rng):
    problem = Problem(QID["one query"], rng, weighted=True, diagonal=diagonal)
    problem.weight[:] = 1.0
    problem.weight[4:] = 0.0
    coefs = [problem.fit_bilinear(0.1).coef, problem.fit("concat", Ridge(0.1)).regressor.coef_]
    scale = 15 / 4  # over the mean weight
    small = Problem(np.zeros(4, dtype=int), rng, diagonal=diagonal)
    small.X, small.table = problem.X[:4], problem.table[:4, :4]
    np.testing.assert_allclose(coefs[0], small.fit_bilinear(0.1 / scale).coef, rtol=1e-6)
    expected = small.fit("concat", Ridge(0.1 / scale)).regressor.coef_
    np.testing.assert_allclose(coefs[1], expected, rtol=1e-6)


# -- bad features ----------------------------------------------------------------------

BAD_FEATURES = {
    "one dimension": lambda first, _second: first[:, 0],
    "a number": lambda _first, _second: 3.0,
    "too few rows": lambda first, _second: first[:-1],
    "one row": lambda first, second: (first - second).mean(axis=0, keepdims=True),
    "three dimensions": lambda first, second: first[:, :, None] * second[:, None, :],
}


@pytest.mark.parametrize("features", BAD_FEATURES.values(), ids=BAD_FEATURES)
@named({"ridge": Ridge(), "tree": DecisionTreeRegressor(), "sgd": SGDRegressor()})
def test_bad_features_of_a_callable(features, regressor, rng):
    with pytest.raises(ValueError, match=r"pair_features returned shape .* row of features per"):
        Problem(QID["ragged"], rng).fit(features, clone(regressor))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@named({"ridge": Ridge(), "lasso": Lasso(), "sgd": SGDRegressor()})
def test_features_that_are_no_numbers(regressor, bad, rng):
    def features(first, _second):
        return np.full(first.shape, bad)

    with pytest.raises(ValueError, match=r"pair_features|contains (NaN|infinity)"):
        Problem(QID["ragged"], rng).fit(features, clone(regressor))


NO_PAIRS = {
    "ridge": Ridge(),
    "least squares": LinearRegression(fit_intercept=False),
    "tree": DecisionTreeRegressor(),
    "sgd": SGDRegressor(),
}


@named(NO_PAIRS)
def test_no_pair_at_all(regressor, rng):
    """Queries of one document have no pairs but the diagonal."""
    problem = Problem(np.arange(5), rng, diagonal=False)
    model = problem.fit("difference", clone(regressor))
    matrices = list(model.matrices(*inputs(problem)))
    assert [m.shape for m in matrices] == [(1, 1)] * 5
    assert np.isfinite(matrices).all()


def test_no_pair_that_weighs(rng):
    problem = Problem(np.array([0, 1, 1, 1]), rng, weighted=True, diagonal=False)
    problem.weight[:] = [1, 0, 0, 0]
    for features in ("bilinear", "concat"):
        matrices = list(problem.fit(features, None).matrices(*inputs(problem)))
        assert all((matrix == 0).all() for matrix in matrices)


def test_unknown_features_and_estimator_beside_bilinear(rng):
    problem = Problem(QID["ragged"], rng)
    with pytest.raises(ValueError, match="pair_features='outer': choose one of 'bilinear', "):
        problem.fit("outer", None)
    with pytest.raises(ValueError, match="estimator is not used by pair_features='bilinear'"):
        problem.fit("bilinear", Ridge())
    assert set(PAIR_FEATURES) == {"bilinear", "concat", "difference"}


# -- targets of the rankers ------------------------------------------------------------


def built_targets(problem, qid, y, value):
    """Pairs of the documents of each query, and what is regressed on them."""
    queries = Queries.from_qid(qid)
    problem.X, y = queries.group(problem.X), queries.group(y)
    problem.queries = queries
    problem.table = np.zeros((len(y), len(y)))
    for a, b in pairwise(queries.ptr):
        problem.table[a:b, a:b] = value(y[a:b])


def relevant_pairs(y):
    return np.outer(y, y) / max(y.sum(), 1)


def preferred(y):
    return np.maximum(y[:, None] - y, 0)


def beats(y):
    return (y[:, None] > y) * 1.0


RANKERS = {
    "map": (AveragePrecisionRanker, {}, relevant_pairs, True, 2),
    "difference": (PairwiseDisagreementRanker, {}, preferred, False, 4),
    "unit": (PairwiseDisagreementRanker, {"weights": "unit"}, beats, False, 4),
}


@every_qid
@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("features", ["bilinear", "concat"])
def test_rankers_regress_the_targets_of_their_measure(qid, name, features, rng):
    cls, params, value, diagonal, grades = RANKERS[name]
    problem = Problem(qid, rng, diagonal=diagonal)
    X, y = problem.X.copy(), rng.integers(0, grades, len(qid)).astype(float)
    built_targets(problem, qid, y, value)
    function = {"bilinear": kronecker, "concat": concat}[features]
    F, targets, _ = problem.built(function)
    expected = Ridge(0.3, fit_intercept=features == "concat").fit(F, targets)
    ranker = cls(surrogate="pairwise", pair_features=features, alpha=0.3, **params)
    targets_given = [y]
    if cls is PairwiseDisagreementRanker:
        targets_given.append(PreferenceTarget.from_relevance(y, qid, weights=name))
    for target in targets_given:
        matrices = clone(ranker).fit(X, target, qid).decision_function(X, qid)
        found = np.concatenate([matrix.ravel() for matrix in matrices])
        wanted = expected.predict(function(*all_pairs(problem)))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
