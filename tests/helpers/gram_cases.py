"""Data for ridge regressions, and a comparison of two solutions."""

import numpy as np
import pytest

CLOSE = {"rtol": 1e-8, "atol": 1e-12}
intercept_or_not = pytest.mark.parametrize("fit_intercept", [True, False])


def check_close(model, ridge, X, **near):
    near = near or CLOSE
    assert model.coef_.shape == ridge.coef_.shape
    np.testing.assert_allclose(model.coef_, ridge.coef_, **near)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, **near)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), **near)
