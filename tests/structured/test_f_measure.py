"""The classifier of sets: largest expected F-measure under every law, by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import fbeta_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skcalrank.calibration import regret_bound
from skcalrank.structured import FMeasure, FMeasureClassifier, StructuredPredictor, get_factors

OPTIONS = [(1.0, "one"), (1.0, "zero"), (2.0, "one"), (0.5, "zero")]


def sets_of(s):
    return np.array(list(product((0, 1), repeat=s)))


def f_matrix(sets, weight, empty):
    """F-measures of all pairs, from the definition."""
    out = np.empty((len(sets), len(sets)))
    for row, y in enumerate(sets):
        both, sizes = sets @ y, sets.sum(axis=1)
        with np.errstate(invalid="ignore"):
            out[row] = (1 + weight**2) * both / (weight**2 * y.sum() + sizes)
    out[np.isnan(out)] = 1.0 if empty == "one" else 0.0
    return out


def random_laws(rng, n_laws, n_sets):
    """Laws with many sets and with few, of even and of very different probabilities."""
    laws = np.array([rng.dirichlet(np.full(n_sets, c)) for c in rng.choice([0.02, 0.2, 1], n_laws)])
    return laws / laws.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("s", range(1, 9))
def test_decoded_sets_are_best_in_all_laws(s, rng):
    sets = sets_of(s)
    laws = random_laws(rng, 38, len(sets))
    for weight, empty in OPTIONS:
        factors = FMeasure(weight, empty)
        expected = laws @ f_matrix(sets, weight, empty)
        chosen = factors.argmin(laws @ factors.alpha(sets))
        column = chosen @ 2 ** np.arange(s)[::-1]
        np.testing.assert_allclose(
            expected[np.arange(38), column], expected.max(axis=1), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize(("weight", "empty"), OPTIONS)
def test_factors_are_the_f_measure(weight, empty):
    sets, factors = sets_of(4), FMeasure(weight, empty)
    matrix = f_matrix(sets, weight, empty)
    np.testing.assert_allclose(-factors.alpha(sets) @ factors.beta(sets).T, matrix, atol=1e-15)
    assert factors.alpha(sets).shape[1] == 17
    y, t = np.repeat(sets, 16, axis=0), np.tile(sets, (16, 1))
    np.testing.assert_allclose(factors.values(y, t), matrix.ravel(), atol=1e-15)


@pytest.mark.parametrize(("weight", "empty"), OPTIONS)
def test_classifier_learns_the_best_sets_of_a_law(weight, empty, rng):
    sets, n_points = sets_of(4), 40
    laws = random_laws(rng, n_points, 16)
    X, y = np.repeat(np.eye(n_points), 16, axis=0), np.tile(sets, (n_points, 1))
    model = FMeasureClassifier(LinearRegression(), beta=weight, empty=empty)
    model.fit(X, y, sample_weight=laws.ravel())
    chosen = model.predict(np.eye(n_points))
    expected = laws @ f_matrix(sets, weight, empty)
    column = chosen @ [8, 4, 2, 1]
    np.testing.assert_allclose(expected[np.arange(n_points), column], expected.max(axis=1))
    by_size = [expected[:, sets.sum(axis=1) == k].max(axis=1) for k in range(5)]
    np.testing.assert_allclose(model.expected_score(np.eye(n_points)).T, by_size, atol=1e-9)
    assert model.score(X, y, laws.ravel()) == pytest.approx(expected.max(axis=1).mean())


def test_best_set_is_not_that_of_the_most_probable_labels():
    sets = np.array([[0, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 0]])
    law = np.array([0.29, 0.4, 0.31])
    matrix = law @ f_matrix(sets_of(4), 1.0, "one")[sets @ [8, 4, 2, 1]]
    X, y = np.zeros((3, 1)), sets
    chosen = FMeasureClassifier().fit(X, y, law).predict([[0.0]])[0]
    assert matrix[chosen @ [8, 4, 2, 1]] == pytest.approx(matrix.max())
    # Labels 1 and 2 have probability .71, label 0 has .31, label 3 has .29.
    np.testing.assert_array_equal(chosen, [0, 1, 1, 1])
    best_of_most_probable = max(matrix[[0b0000, 0b0100, 0b0110, 0b1110, 0b1111]])
    assert best_of_most_probable < matrix.max() - 0.01


def test_score_is_that_of_scikit_learn(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, size=(80, 4))
    y[:20] = 0
    for weight, empty in OPTIONS:
        model = FMeasureClassifier(beta=weight, empty=empty).fit(X, y)
        expected = fbeta_score(
            y, model.predict(X), beta=weight, average="samples", zero_division=float(empty == "one")
        )
        assert model.score(X, y) == pytest.approx(expected)


def test_regret_is_below_its_bound(rng):
    sets, factors = sets_of(3), FMeasure()
    alpha, beta = factors.alpha(sets), factors.beta(sets)
    for law in random_laws(rng, 200, 8):
        mean = law @ alpha
        u = mean + rng.normal(scale=rng.choice([0.05, 0.3]), size=10)
        risk = beta @ mean
        regret = mean @ factors.beta(factors.argmin(u[None]))[0] - risk.min()
        assert regret <= regret_bound(beta, "squared", ((u - mean) ** 2).sum(), r=None) + 1e-12


def test_same_as_the_predictor_with_these_factors(rng):
    X = rng.normal(size=(60, 3))
    y = (X + rng.normal(size=(60, 3)) > 0.5).astype(int)
    predictor = StructuredPredictor(factors="f_measure").fit(X, y)
    model = FMeasureClassifier().fit(csr_matrix(X), csr_matrix(y))
    np.testing.assert_array_equal(model.predict(X), predictor.predict(X))
    assert predictor.score(X, y) == pytest.approx(model.score(X, y))
    assert get_factors("f_measure") == FMeasure()


def test_labels_that_no_row_or_every_row_has(rng):
    X, y = rng.normal(size=(20, 2)), np.zeros((20, 3), dtype=int)
    model = FMeasureClassifier().fit(X, y)
    assert not model.predict(X).any()
    assert model.score(X, y) == 1
    zero = FMeasureClassifier(empty="zero").fit(X, y)
    assert zero.estimator_ is None
    assert zero.score(X, y) == 0
    y[:, 1] = 1
    np.testing.assert_array_equal(FMeasureClassifier().fit(X, y).predict(X), y)


def test_searches_of_scikit_learn(rng):
    X = rng.normal(size=(60, 3))
    y = (X > 0.3).astype(int)
    forest = RandomForestRegressor(5, random_state=0)
    search = GridSearchCV(FMeasureClassifier(forest), {"estimator__min_samples_leaf": [1, 9]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.7
    assert cross_val_score(FMeasureClassifier(), X, y, cv=3).mean() > 0.6


def test_errors_name_the_argument():
    X = np.arange(4.0)[:, None]
    for y in ([0, 1, 1, 0], [[0, 2]] * 4):
        with pytest.raises(ValueError, match="y must be label indicators, 0 or 1"):
            FMeasureClassifier().fit(X, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        FMeasureClassifier().fit(X, None)
    with pytest.raises(ValueError, match=r"y must have the shape \(2, 2\) of predictions"):
        FMeasureClassifier().fit(np.eye(2), np.eye(2)).score(np.eye(2), np.ones((2, 3)))
    with pytest.raises(ValueError, match="beta_weight must be a finite number > 0, got 0"):
        FMeasure(0)
    with pytest.raises(ValueError, match="empty must be one of 'one', 'zero'"):
        FMeasure(empty="skip")


def test_probabilities_of_a_classifier_are_its_means(rng):
    # A tree that separates all rows estimates the same means as classifier and as regressor.
    X = np.repeat(np.eye(3), 40, axis=0)
    Y = (rng.random((120, 4)) < np.repeat(rng.random((3, 4)), 40, axis=0)).astype(int)
    weight = rng.random(120)
    regressor, classifier = (
        FMeasureClassifier(tree).fit(X, Y, sample_weight=weight)
        for tree in (DecisionTreeRegressor(), DecisionTreeClassifier())
    )
    expected = regressor.estimator_.predict(np.eye(3))
    np.testing.assert_allclose(classifier.estimator_.predict(np.eye(3)), expected, atol=1e-12)
    np.testing.assert_array_equal(classifier.predict(np.eye(3)), regressor.predict(np.eye(3)))
    fitted = StructuredPredictor(
        factors=FMeasure(), estimator=make_pipeline(DecisionTreeClassifier())
    )
    fitted = fitted.fit(X, Y, sample_weight=weight).predict(np.eye(3))
    np.testing.assert_array_equal(fitted, regressor.predict(np.eye(3)))


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(ValueError, match=r"a classifier with predict_proba, .* got LinearSVC"):
        FMeasureClassifier(LinearSVC()).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
