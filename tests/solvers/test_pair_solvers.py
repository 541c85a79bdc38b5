"""Regressions on pairs, against the same regression on pairs that are all built."""

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
from skcalrank._solvers import PAIR_FEATURES
from skcalrank.data import Queries


def concat(first, second):
    return np.hstack([first, second])


def difference(first, second):
    return first - second


def products(first, second):
    return np.hstack([first * second, np.abs(first - second)])


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


@pytest.mark.every_case
@pytest.mark.product
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


@pytest.mark.product
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


@pytest.mark.pairs
@diagonal_or_not
@pytest.mark.parametrize("size", [1, 2, 5, 13, 50])
@named({"ridge": Ridge(), "tree": DecisionTreeRegressor(min_samples_leaf=3, random_state=0)})
def test_size_of_chunks_changes_nothing(diagonal, size, regressor, monkeypatch, rng):
    monkeypatch.setattr("skcalrank._solvers._pairs.CHUNK_ROWS", size)
    for qid in QID.values():
        problem = Problem(qid, rng, weighted=True, diagonal=diagonal)
        check_as_if_built(problem, "concat", concat, regressor)


def test_chunks_are_bounded(monkeypatch, rng):
    monkeypatch.setattr("skcalrank._solvers._pairs.CHUNK_ROWS", 40)
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
    monkeypatch.setattr("skcalrank._solvers._pairs._ALL_CELLS", 100)
    problem = Problem(QID["ragged"], rng)
    with pytest.raises(ValueError, match=r"at most 100 cells .*'bilinear'.*partial_fit.*Ridge"):
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
    monkeypatch.setattr("skcalrank._solvers._pairs.CHUNK_ROWS", 30)
    monkeypatch.setattr("skcalrank._solvers._pairs._ALL_CELLS", 0)
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
    with pytest.raises(ValueError, match=r"KNeighborsRegressor\.fit has no sample_weight"):
        problem.fit("concat", KNeighborsRegressor())


@diagonal_or_not
def test_weight_zero_leaves_the_pairs_of_a_document_out(diagonal, rng):
    problem = Problem(QID["one query"], rng, weighted=True, diagonal=diagonal)
    problem.weight[:] = 1.0
    problem.weight[4:] = 0.0
    coefs = [problem.fit_bilinear(0.1).coef_, problem.fit("concat", Ridge(0.1)).regressor.coef_]
    scale = 15 / 4  # over the mean weight
    small = Problem(np.zeros(4, dtype=int), rng, diagonal=diagonal)
    small.X, small.table = problem.X[:4], problem.table[:4, :4]
    np.testing.assert_allclose(coefs[0], small.fit_bilinear(0.1 / scale).coef_, rtol=1e-6)
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
    with pytest.raises(ValueError, match=r"pair_features must return .* row of features per"):
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


@pytest.mark.parametrize("weight", [[1, 0, 0, 0], [3, 2, 0, 0]])
def test_no_pair_that_weighs(weight, rng):
    problem = Problem(np.array([0, 1, 1, 1]), rng, weighted=True, diagonal=False)
    problem.weight[:] = weight
    built = [("difference", clone(regressor)) for regressor in NO_PAIRS.values()]
    for features, regressor in (("bilinear", None), ("concat", None), *built):
        matrices = list(problem.fit(features, regressor).matrices(*inputs(problem)))
        assert all((matrix == 0).all() for matrix in matrices)


@pytest.mark.parametrize("regressor", [LinearRegression(), DecisionTreeRegressor(random_state=0)])
def test_pairs_of_small_weight_are_fitted_where_there_are_no_others(regressor, rng):
    problem = Problem(QID["pairs"], rng, weighted=True, diagonal=False)
    for problem.weight[::2] in (1.0, 1e20):
        model = problem.fit("difference", clone(regressor))
        fitted = np.array([m[[0, 1], [1, 0]] for m in model.matrices(*inputs(problem))])
        assert np.ptp(fitted) > 0


def test_a_bilinear_fit_that_rounding_ends_says_so_and_is_finite(rng):
    problem = Problem(QID["pairs"], rng, weighted=True, diagonal=False)
    problem.weight[::2] = 1e20
    with pytest.warns(ConvergenceWarning, match="bilinear fit stopped after"):
        model = problem.fit("bilinear", None, alpha=0.0)
    assert np.isfinite(model.coef_).all()


def test_estimator_beside_bilinear(rng):
    problem = Problem(QID["ragged"], rng)
    with pytest.raises(ValueError, match="estimator must be None with pair_features='bilinear'"):
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


@pytest.mark.product
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
        matrices = clone(ranker).fit(X, target, qid).surrogate_values(X, qid)
        found = np.concatenate([matrix.ravel() for matrix in matrices])
        wanted = expected.predict(function(*all_pairs(problem)))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
