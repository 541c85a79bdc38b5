"""An array of numbers, which is read at once, gives the matrix of a table with its columns."""

import numpy as np
import pytest

from skcalrank.preprocessing import TableEncoder

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case


@pytest.fixture
def X(rng):
    """Numbers, a constant, a flag, seconds, missing values, and a column of few levels."""
    X = rng.normal(size=(700, 19))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3], X[:, 5], X[:, 7] = 2, rng.integers(0, 2, 700), 1.7e9 + rng.integers(0, 99, 700)
    X[:, 18] = rng.integers(0, 4, 700)
    return X


def by_columns(X, n_rows, columns):
    rows = [dict(enumerate(row)) for row in X.tolist()]
    encoder = TableEncoder(columns).fit(rows)
    return encoder.transform(rows[:n_rows])


@pytest.mark.parametrize("columns", [None, {0: "drop"}, {18: "category"}])
@pytest.mark.parametrize("form", [np.array, np.asfortranarray, np.float32, np.ma.masked_invalid])
def test_an_array_is_read_as_its_columns(X, columns, form):
    array = form(X)
    encoder = TableEncoder(columns).fit(array)
    expected = by_columns(np.ma.filled(array, np.nan), 100, columns)
    matrix = encoder.transform(array[:100])
    np.testing.assert_array_equal(matrix, expected)
    np.testing.assert_array_equal(encoder.fit_transform(array)[:100], expected)
    assert matrix.flags.c_contiguous
    assert not np.shares_memory(matrix, array)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_integers_and_truth_values_become_numbers(rng, dtype):
    X = rng.integers(0, 2, size=(30, 3)).astype(dtype)
    matrix = TableEncoder().fit(X).transform(X)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, X)


def test_an_array_that_is_asked_is_checked(X):
    encoder = TableEncoder().fit(X)
    with pytest.raises(ValueError, match="19 features"):
        encoder.transform(X[:, :5])
    with pytest.raises(ValueError, match="0 sample"):
        encoder.transform(X[:0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        encoder.transform(X[0])
    X[3, 4] = -np.inf
    with pytest.raises(ValueError, match="infinity in column 4"):
        encoder.transform(X)
