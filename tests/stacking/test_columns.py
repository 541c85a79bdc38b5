"""Kinds of columns that a user sets reach every reader of the table."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from scipy.sparse import csr_matrix

from skcalrank import NDCGRanker, StackingRanker, TabularRanker
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns

pd = pytest.importorskip("pandas")

COLUMNS = {"zip": "category", "sku": "drop"}
RANKERS = {
    "boosted": lambda columns: boosted(FIRST, columns=columns),
    "stack": lambda columns: TabularRanker(trees=None, columns=columns),
    "linear": lambda columns: make_query_pipeline(LinearColumns(columns=columns), NDCGRanker()),
}


@pytest.fixture
def problem(rng):
    n = 300
    X = pd.DataFrame({"zip": rng.integers(0, 4, n), "sku": rng.normal(size=n)})
    X["price"] = rng.normal(size=n)
    y = ((X["zip"] % 2) + (rng.random(n) < 0.1)).to_numpy(float)
    return X, y, np.repeat(np.arange(30), 10)


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_number_is_read_as_a_category(problem, ranker):
    X, y, qid = problem
    fitted = RANKERS[ranker](COLUMNS).fit(X, y, qid)
    other = X.assign(sku=-X["sku"])
    np.testing.assert_array_equal(fitted.predict(other, qid), fitted.predict(X, qid))
    plain = RANKERS[ranker](None).fit(X, y, qid)
    assert not np.array_equal(plain.predict(other, qid), plain.predict(X, qid))
    encoder = getattr(fitted, "encoder_", None) or fitted[0].encoder_
    assert encoder.kinds_ == {"zip": "category", "sku": "drop", "price": "number"}


@pytest.mark.parametrize("ranker", RANKERS)
def test_columns_of_an_array_have_numbers(problem, ranker):
    X, y, qid = problem
    columns, array = {0: "category", 1: "drop"}, X.astype(float).to_numpy()
    fitted = RANKERS[ranker](columns).fit(array, y, qid)
    expected = RANKERS[ranker](COLUMNS).fit(X, y, qid).predict(X, qid)
    np.testing.assert_array_equal(fitted.predict(array, qid), expected)
    with pytest.raises(ValueError, match="columns must have names of columns of X, got 7"):
        RANKERS[ranker]({7: "drop"}).fit(array, y, qid)


@pytest.mark.every_case
@pytest.mark.parametrize("ranker", RANKERS)
def test_kinds_of_a_sparse_matrix_are_refused(problem, ranker):
    X, y, qid = problem
    for columns in ({1: "drop"}, {0: "category", 2: "number"}):
        with pytest.raises(ValueError, match=r"columns must be None for a sparse X, .* got \{"):
            RANKERS[ranker](columns).fit(csr_matrix(X), y, qid)


def test_columns_of_a_sparse_matrix_are_numbers(problem):
    pytest.importorskip("lightgbm")  # scikit-learn's trees read no sparse X
    X, y, qid = problem
    X = csr_matrix(X)
    ranker, expected = boosted(FIRST, columns={1: "number"}), boosted(FIRST).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.fit(X, y, qid).predict(X), expected.predict(X))


def test_columns_that_nothing_reads_are_refused(problem):
    X, y, qid = problem
    stack = StackingRanker([("linear", NDCGRanker())], columns={"sku": "drop"})
    with pytest.raises(ValueError, match="columns must be None, because none of the rankers"):
        stack.fit(X, y, qid)
