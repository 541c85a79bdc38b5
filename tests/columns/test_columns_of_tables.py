"""The columns of a table have the same values in every library, and are read only if wanted."""

import numpy as np
import pytest

from skcalrank.columns import tables


def values_of(column):
    """Values of rows as Python's objects, None where they are missing."""
    if isinstance(column, tables.Coded):
        return column.values()
    rows = column.tolist() if isinstance(column, np.ndarray) else column
    return [None if value is None or value != value else value for value in rows]


def test_columns_of_a_large_array_are_its_columns(rng):
    X = rng.normal(size=(600, 37))
    for array in (X, np.asfortranarray(X), X[:, ::2], X.astype(np.float32)):
        np.testing.assert_array_equal(list(tables.columns_of(array)), array.T)


@pytest.mark.parametrize("n_rows", [3, 900])
def test_columns_that_are_not_wanted_are_left_out(n_rows):
    columns = {"a": np.arange(n_rows), "b": np.arange(n_rows) % 7, "c": np.ones(n_rows)}
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    made = [rows, np.column_stack(list(columns.values()))]
    for library, table in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        made.append(getattr(pytest.importorskip(library), table)(columns))
    for X in made:
        (column,) = tables.columns_of(X, None, [False, True, False])
        assert values_of(column) == columns["b"].tolist()
    for X in made[2:]:
        (column,) = tables.columns_of(X, ["c", "b"], [False, True])
        assert values_of(column) == columns["b"].tolist()


@pytest.mark.parametrize("n_rows", [5, 2000])
def test_categories_of_polars_may_have_gaps(n_rows):
    polars = pytest.importorskip("polars")
    texts = [None if i % 11 == 4 else f"level {i % 50}" for i in range(n_rows)]
    text = polars.Series("a", texts)
    levels = ["never", *text.drop_nulls().unique(maintain_order=True).to_list()]
    # Categories that other columns use too: numbers below those of this column belong to others.
    others = polars.Series("b", [f"other {i}" for i in range(30)], dtype=polars.Categorical)
    columns = [text, text.cast(polars.Categorical), text.cast(polars.Enum(levels))]
    for column in tables.columns_of(
        polars.DataFrame([c.alias(str(i)) for i, c in enumerate(columns)])
    ):
        assert values_of(column) == texts
    assert len(others) == 30


def test_text_of_polars_adds_nothing_to_the_categories_of_others():
    polars = pytest.importorskip("polars")
    before = polars.Series(["before"], dtype=polars.Categorical)
    list(tables.columns_of(polars.DataFrame({"a": [f"text {i}" for i in range(900)]})))
    after = polars.Series(["after"], dtype=polars.Categorical)
    assert after.to_physical()[0] <= before.to_physical()[0] + 1


@pytest.mark.parametrize("missing", [None, np.nan, "pandas.NA"])
@pytest.mark.parametrize("n_rows", [5, 900])
def test_numbers_in_an_array_of_objects_are_numbers(missing, n_rows):
    pandas = pytest.importorskip("pandas")
    missing = pandas.NA if isinstance(missing, str) else missing
    values = [[1, 2.5, missing, -3][i % 4] for i in range(n_rows)]
    (column,) = tables.columns_of(np.array([values], dtype=object).T)
    shown = values_of(column) if missing is not pandas.NA or n_rows > 500 else column
    assert [None if value is missing else value for value in shown] == [
        None if value is missing else value for value in values
    ]


@pytest.mark.parametrize("n_rows", [5, 900])
def test_text_of_digits_in_an_array_of_objects_is_text(n_rows):
    values = [["01", "2", "3.5"][i % 3] for i in range(n_rows)]
    (column,) = tables.columns_of(np.array([values], dtype=object).T)
    assert values_of(column) == values


@pytest.mark.parametrize("n_rows", [4, 4000])
def test_texts_that_differ_after_a_nul_are_two_categories(n_rows):
    pytest.importorskip("pandas")
    X = np.empty((n_rows, 1), dtype=object)
    X[:, 0] = ["a", "a\0"] * (n_rows // 2)
    (column,) = tables.columns_of(X)
    assert values_of(column) == X[:, 0].tolist()
