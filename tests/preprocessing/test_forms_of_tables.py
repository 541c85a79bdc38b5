"""The same table in any form, of any library, is the same matrix, to the last bit."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from tables import ARRAYS, FORMS, KINDS, made_columns

from skcalrank.preprocessing import TableEncoder, fit_encoded

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

every_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="module")
def columns():
    return made_columns()


@pytest.fixture(scope="module")
def expected(columns):
    return TableEncoder().fit_transform(FORMS["records"](columns))


@every_form
def test_forms_of_fit_are_read_in_every_form(form, columns, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder().fit(FORMS[form](columns))
        kinds = {name: encoder.kinds_[name] for name in KINDS}
        assert kinds == KINDS
        order = [
            place
            for name in KINDS
            for place in np.flatnonzero(np.array(encoder.names_)[encoder.sources_] == name)
        ]
        for name, other in FORMS.items():
            if name == form or "extra" not in encoder.kinds_:  # a column that others lack
                matrix = encoder.transform(other(columns))
                np.testing.assert_array_equal(matrix[:, order], expected)


@pytest.mark.parametrize("form", ARRAYS)
def test_arrays_are_read_by_place(form, columns, expected):
    array = ARRAYS[form](columns)
    encoder = TableEncoder().fit(array)
    assert list(encoder.kinds_.values()) == list(KINDS.values())
    for other in ARRAYS.values():
        np.testing.assert_array_equal(encoder.transform(other(columns)), expected)


@every_form
def test_rows_and_columns_are_made_when_they_are_read(form, columns):
    X = FORMS[form](columns)
    table = fit_encoded(X, None, None, None, by_rows=True)
    whole, matrix = table.encoder.transform(X), table.matrix
    assert matrix.shape == whole.shape
    last = whole.shape[1] - 1
    for rows in ([7, 3, 3], np.arange(60) < 20, slice(10, 20), (slice(None), last), ([4, 2], 0)):
        np.testing.assert_array_equal(matrix[rows], whole[rows])
    np.testing.assert_array_equal(matrix.take([last, 1], axis=1), whole[:, [last, 1]])


@every_form
def test_a_row_is_read_as_in_the_table(form, columns, expected):
    encoder = TableEncoder().fit(FORMS["records"](columns))
    one = {name: values[:1] for name, values in columns.items()}
    np.testing.assert_array_equal(encoder.transform(FORMS[form](one)), expected[:1])


@every_form
def test_nothing_of_the_user_is_changed(form, columns):
    table, twin = FORMS[form](columns), FORMS[form](columns)
    TableEncoder().fit(table).transform(table)
    assert repr(table) == repr(twin)


def test_copies_read_alike(columns, expected):
    table = FORMS["records"](columns)
    encoder = TableEncoder().fit(table)
    assert not hasattr(clone(encoder), "columns_")
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(table), expected)
    assert again.describe() == encoder.describe()
    assert len(encoder.get_feature_names_out()) == expected.shape[1]


def test_a_sparse_matrix_is_numbers():
    X = csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    assert (TableEncoder().fit_transform(X) != X).nnz == 0


def test_no_rows_are_no_rows(columns, expected):
    pd = pytest.importorskip("pandas")
    encoder = TableEncoder().fit(FORMS["records"](columns))
    assert encoder.transform(pd.DataFrame(columns).head(0)).shape == (0, expected.shape[1])
