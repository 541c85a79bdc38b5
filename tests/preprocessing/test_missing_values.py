"""A value that is missing is NaN in the matrix, whatever its form."""

from datetime import date, time, timedelta

import numpy as np
import pytest

from skcalrank.preprocessing import TableEncoder

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

KINDS = {
    "number": [1.5, 2.0, 3.0],
    "flag": [True, False, True],
    "category": ["u", "v", "u"],
    "date": [date(2024, 1, 1), date(2024, 2, 5), date(2025, 3, 1)],
    "duration": [timedelta(1), timedelta(2), time(3)],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [None, np.nan, np.datetime64("NaT", "D"), np.float64("nan")])
def test_a_column_without_a_value_is_missing(kind, missing):
    rows = [{"a": value} for value in KINDS[kind]]
    encoder = TableEncoder().fit(rows)
    assert encoder.kinds_ == {"a": kind}
    assert np.isnan(encoder.transform([{"a": missing}] * 2)).all()
    matrix = encoder.transform([*rows, {"a": missing}])
    np.testing.assert_array_equal(matrix[:3], encoder.transform(rows))
    assert np.isnan(matrix[3]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_floats_without_a_value_is_missing(kind):
    pandas = pytest.importorskip("pandas")
    encoder = TableEncoder().fit([{"a": value} for value in KINDS[kind]])
    assert np.isnan(encoder.transform(pandas.DataFrame({"a": [np.nan, np.nan]}))).all()


def test_a_dictionary_of_arrow_may_hold_the_missing_value():
    arrow = pytest.importorskip("pyarrow")
    codes = arrow.array([0, 1, 2, None])
    levels = arrow.DictionaryArray.from_arrays(codes, arrow.array(["x", None, "y"]))
    matrix = TableEncoder().fit_transform(arrow.table({"a": levels}))
    np.testing.assert_array_equal(matrix.ravel(), [0, np.nan, 1, np.nan])


def test_a_dictionary_of_numbers_is_a_category():
    arrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    numbers = [3, 7, None, 7, 12, 3, 7]
    coded = arrow.array(numbers).dictionary_encode()
    typed = pandas.Series(coded, dtype=pandas.ArrowDtype(coded.type))
    expected = TableEncoder().fit(pandas.DataFrame({"a": pandas.Categorical(numbers)}))
    for table in (arrow.table({"a": coded}), pandas.DataFrame({"a": typed})):
        encoder = TableEncoder().fit(table)
        assert encoder.describe() == expected.describe()
        np.testing.assert_array_equal(encoder.transform(table).ravel(), [1, 0, np.nan, 0, 2, 1, 0])


@pytest.mark.parametrize("kind", ["number", "category", "text", "date"])
def test_a_column_that_fit_saw_without_a_value_is_constant(kind):
    rows = [{"a": None, "b": k} for k in (1.5, 2.5)]
    encoder = TableEncoder({"a": kind}).fit(rows)
    assert encoder.kinds_ == {"a": "constant", "b": "number"}
    for value in (None, "x", 7, date(2024, 1, 1)):
        np.testing.assert_array_equal(encoder.transform([{"a": value, "b": 3}]), [[3]])
