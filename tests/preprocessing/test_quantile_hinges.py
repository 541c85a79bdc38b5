"""Features bent at their quantiles."""

import numpy as np
import pytest
from checks import check_all, every_estimator
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import SplineTransformer

from skcalrank.preprocessing import QuantileHinges

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[:, 1] = rng.integers(0, 3, 80)
    return X


@every_estimator([QuantileHinges()])
def test_estimator_checks(estimator):
    check_all(estimator)


@pytest.mark.parametrize("n_knots", [2, 3, 5])
def test_curves_are_those_of_linear_splines(X, n_knots):
    y = np.sin(X[:, 0]) + X[:, 2] ** 2 + X[:, 1]
    splines = SplineTransformer(n_knots, degree=1, knots="quantile")
    fits = [
        LinearRegression().fit(maps.fit_transform(X), y).predict(maps.transform(X))
        for maps in (QuantileHinges(n_knots), splines)
    ]
    np.testing.assert_allclose(*fits, atol=1e-8)


def test_columns_go_from_0_to_1_one_after_the_other(X):
    hinges = QuantileHinges().fit(X)
    column = np.sort(X[:, 0])
    ramps = hinges.transform(np.column_stack([column] * 3))[:, hinges.features_ == 0]
    assert ramps.shape[1] == 4
    assert (np.diff(ramps, axis=0) >= 0).all()
    np.testing.assert_array_equal(ramps[[0, -1]], [[0.0] * 4, [1.0] * 4])
    # Where one column rises, those before have risen.
    assert (ramps[:, :-1][ramps[:, 1:] > 0] == 1).all()
    np.testing.assert_allclose((ramps > 0).mean(axis=0), [0.99, 0.75, 0.5, 0.25], atol=0.02)


def test_equal_quantiles_and_constants_leave_no_column(X):
    X[:, 2] = 7.0
    hinges = QuantileHinges().fit(X)
    assert (hinges.features_ == 1).sum() == 2
    assert 2 not in hinges.features_
    assert hinges.get_feature_names_out(["a", "b", "c"]).tolist()[-2:] == ["b_hinge0", "b_hinge1"]


def test_missing_values_stay_and_are_left_out(X):
    holes = X.copy()
    holes[:5, 0] = np.nan
    holes[:, 2] = np.nan
    hinges = QuantileHinges().fit(holes)
    out = hinges.transform(holes)
    assert np.isnan(out[:5, hinges.features_ == 0]).all()
    assert not np.isnan(out[5:]).any()
    np.testing.assert_array_equal(hinges.starts_, QuantileHinges().fit(holes[5:]).starts_)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_columns_start_and_end_at_quantiles_of_numpy(X, dtype):
    holes = X.astype(dtype)
    holes[3:50, 0] = np.nan
    hinges = QuantileHinges(4).fit(holes)
    knots = np.nanpercentile(holes, np.linspace(0, 100, 4), axis=0)
    for k in (0, 2):
        own = hinges.features_ == k
        np.testing.assert_allclose(
            hinges.starts_[own], knots[:-1, k], rtol=20 * np.finfo(dtype).eps
        )
        np.testing.assert_allclose(hinges.ends_[own], knots[1:, k], rtol=20 * np.finfo(dtype).eps)


def test_the_largest_numbers_do_not_overflow():
    X = np.array([[-1.7e308], [0.0], [1.7e308]])
    np.testing.assert_array_equal(QuantileHinges(2).fit_transform(X), [[0.0], [0.5], [1.0]])


@pytest.mark.parametrize("largest", [1.7e308, 1e-300])
def test_numbers_of_any_size(largest):
    out = QuantileHinges(3).fit_transform([[-largest], [largest]])
    np.testing.assert_array_equal(out, [[0.0, 0.0], [1.0, 1.0]])
    assert QuantileHinges(2).fit_transform([[0.0], [5e-324]]).shape == (2, 0)


def test_refused():
    with pytest.raises(ValueError, match="n_knots"):
        QuantileHinges(1).fit([[1.0], [2.0]])
