"""A column is read by its values: in every type that holds them, they are the same numbers."""

import warnings
from functools import partial

import numpy as np
import pytest
from columns import KINDS, arrays, made_values, named_tables

from skcalrank.columns.tables import take_rows
from skcalrank.preprocessing import TableEncoder

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

every_column = pytest.mark.parametrize("name", KINDS)
every_door = pytest.mark.parametrize("tables_of", [named_tables, arrays])

# From so many rows on, columns are read by their levels.
MANY = 620


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def assert_read(encoder, tables, expected):
    for name, table in tables.items():
        np.testing.assert_array_equal(encoder.transform(table), expected, f"read {name}")


@pytest.mark.product
@every_door
@every_column
def test_types_of_fit_are_read_in_every_type(name, tables_of):
    values = made_values(name)
    expected = TableEncoder().fit_transform(arrays(name, values)["objects"])
    assert np.isnan(expected).any()
    tables = tables_of(name, values)
    for table in tables.values():
        encoder = TableEncoder().fit(table)
        assert set(encoder.kinds_.values()) == {KINDS[name]}
        assert_read(encoder, tables, expected)


@pytest.mark.product
@every_door
@every_column
@pytest.mark.parametrize("n_fitted", [2, pytest.param(None, marks=pytest.mark.slow)])
def test_types_of_long_columns(name, tables_of, n_fitted):
    values = made_values(name, MANY)
    expected = TableEncoder().fit_transform(arrays(name, values)["objects"])
    tables = tables_of(name, values)
    for fitted, table in list(tables.items()):
        encoder = TableEncoder()
        np.testing.assert_array_equal(encoder.fit_transform(table), expected, f"fit {fitted}")
    for table in list(tables.values())[:n_fitted]:
        assert_read(TableEncoder().fit(table), tables, expected)


@pytest.mark.product
@every_door
@every_column
def test_a_row_and_rows_without_a_value(name, tables_of):
    values = made_values(name)
    tables = tables_of(name, values)
    encoder = TableEncoder().fit(next(iter(tables.values())))
    missing = np.array([value is None for value in values])
    first = np.flatnonzero(~missing)[:1]
    expected = encoder.transform(tables[next(iter(tables))])
    for rows in (first, np.flatnonzero(missing)):
        some = {n: _taken(table, rows) for n, table in tables.items()}
        assert_read(encoder, some, expected[rows])
    assert np.isnan(expected[missing]).all()


def _taken(table, rows):
    return [table[k] for k in rows] if isinstance(table, list) else take_rows(table, rows)


@pytest.mark.product
@every_door
@pytest.mark.parametrize("name", ["integers", "large integers", "truths", "dates", "decimals"])
def test_values_as_names(name, tables_of):
    values = made_values(name, 60)
    if name == "large integers":  # that pandas and NumPy cannot have beside missing values
        values = [value for value in values if value is not None]
    columns = {"a" if tables_of is named_tables else 0: "category"}
    read = partial(TableEncoder, columns)
    tables = tables_of(name, values)
    expected = read().fit_transform(tables[next(iter(tables))])
    assert len(np.unique(expected[~np.isnan(expected)])) == len(set(values) - {None})
    for table in tables.values():
        assert_read(read().fit(table), tables, expected)


@pytest.mark.parametrize("ordered", [False, True])
def test_numbers_of_a_type_for_categories_are_names(ordered):
    pd = pytest.importorskip("pandas")
    values = made_values("integers")
    tables = named_tables("integers", values)
    levels = sorted(set(values) - {None}, reverse=True)
    codes = [-1 if value is None else levels.index(value) for value in values]
    names = pd.Categorical.from_codes(codes, [*levels, 1000], ordered=ordered)
    tables["categories"] = categories = pd.DataFrame({"a": names})
    encoder = TableEncoder().fit(categories)
    assert encoder.kinds_ == {"a": "category"}
    by_hand = TableEncoder({"a": "category"}).fit(tables["records"])
    assert_read(encoder, tables, by_hand.transform(tables["records"]))
    numbers = TableEncoder().fit(tables["records"])
    assert_read(numbers, tables, numbers.transform(tables["records"]))


def test_consecutive_integers_of_every_type():
    tables = named_tables("integers", list(range(40, 0, -1)))
    for name, table in tables.items():
        with pytest.warns(UserWarning, match="'a' of X holds consecutive integers"):
            assert TableEncoder().fit(table).kinds_ == {"a": "number"}, name


@pytest.mark.parametrize("n", [40, MANY])
def test_durations_of_nanoseconds(n):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    took = np.arange(n) % 7 * np.timedelta64(100, "ns")
    frame = pd.DataFrame({"a": took})
    expected = np.arange(n)[:, None] % 7 * 1e-7
    tables = [took[:, None], frame, frame.astype(object), frame.astype("category")]
    for table in (*tables, pl.DataFrame({"a": took})):
        encoder = TableEncoder().fit(table)
        assert list(encoder.kinds_.values()) == ["duration"]
        np.testing.assert_allclose(encoder.transform(table), expected, rtol=1e-12)
