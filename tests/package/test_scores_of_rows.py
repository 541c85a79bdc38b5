"""A row's score is the same alone, in its query in any order, and in any batch of rows.

To the bit where nothing of the query enters the score, else to 1e-12. The law is that of X in the
order of C. Rows taken out of an array in the order of Fortran, such as the values of a data frame,
are in the order of C afterwards, and BLAS sums a row of each in another order: there the last bit
may differ.
"""

from functools import cache

import numpy as np
import pytest
from every_estimator import EVERY_ESTIMATOR, scoring_classes
from scipy.sparse import csr_matrix, issparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

NEAR = {"rtol": 1e-12, "atol": 1e-12}
every_case = pytest.mark.parametrize("case", EVERY_ESTIMATOR, ids=lambda case: case.name)
pytestmark = pytest.mark.kinds


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    qid = rng.permutation(np.repeat(np.arange(30) + 7, rng.integers(1, 16, 30)))
    X = rng.normal(size=(len(qid), 7)) * [1, 1, 10, 0.1, 1, 1, 3]
    y = np.digitize(X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=len(qid)), [0, 1, 2]) * 1.0
    return X, y, qid


@pytest.fixture(scope="module")
def fitted(data):
    return cache(lambda case: case.fit(*data))


def scores(case, model, X, qid):
    """Scores of documents, with the qid only where it is needed."""
    if case.target == "classes":
        return model.expected_loss(X)
    return model.predict(X, qid) if case.of_query else model.predict(X)


def rows_of_queries(qid):
    return [np.flatnonzero(qid == query) for query in np.unique(qid)]


def batches(qid, rng):
    """Row numbers of batches of whole queries."""
    queries = rows_of_queries(qid)
    yield from queries
    yield from map(rng.permutation, queries)
    yield rng.permutation(len(qid))
    for size in (2, 3, 10):
        yield np.concatenate([queries[i] for i in rng.permutation(len(queries))[:size]])


def assert_same(case, result, expected):
    if case.of_query or case.near:
        np.testing.assert_allclose(result, expected, **NEAR)
    else:
        np.testing.assert_array_equal(result, expected)


def test_all_public_estimators_are_cases():
    assert scoring_classes() <= {type(case.make()) for case in EVERY_ESTIMATOR}


@every_case
def test_only_classifiers_have_a_decision_function(case):
    # Hosts of scikit-learn's estimators take those that have one for classifiers.
    estimator = case.make()
    assert is_classifier(estimator) or not hasattr(estimator, "decision_function")


@every_case
def test_a_score_is_the_same_in_every_batch_of_queries(case, data, fitted, rng):
    X, _, qid = data
    model = fitted(case)
    expected = scores(case, model, X, qid)
    for rows in batches(qid, rng):
        assert_same(case, scores(case, model, X[rows], qid[rows]), expected[rows])
    # More rows than one chunk of a product holds.
    many = np.tile(np.arange(len(qid)), 40)
    copies = qid[many] + 1000 * np.repeat(np.arange(40), len(qid))
    assert_same(case, scores(case, model, X[many], copies), expected[many])


@pytest.mark.parametrize(
    "case", [case for case in EVERY_ESTIMATOR if not case.of_query], ids=lambda case: case.name
)
def test_a_score_is_the_same_alone(case, data, fitted):
    X, _, qid = data
    model = fitted(case)
    expected = scores(case, model, X, qid)
    alone = [scores(case, model, X[i : i + 1], qid[i : i + 1])[0] for i in range(60)]
    assert_same(case, alone, expected[:60])
    for size in (2, 3, 5, 7, 100):
        assert_same(case, scores(case, model, X[:size], qid[:size]), expected[:size])


def forms(X):
    """Other containers of the same rows."""
    yield np.asfortranarray(X)
    yield X.astype("f")
    pandas = pytest.importorskip("pandas")
    yield pandas.DataFrame(X)
    yield csr_matrix(X)


@every_case
def test_a_score_is_near_in_every_container(case, data, fitted):
    X, _, qid = data
    X = X.astype("f").astype(float)
    model = fitted(case)
    expected = scores(case, model, X, qid)
    for form in forms(X):
        if issparse(form) and not get_tags(model).input_tags.sparse:
            continue
        result = scores(case, model, form, qid)
        # A regressor of scikit-learn computes in the precision of X.
        single = getattr(form, "dtype", None) == np.float32
        near = {"rtol": 1e-5, "atol": 1e-5} if single else NEAR
        np.testing.assert_allclose(result, expected, **near)
