"""A scalar qid means that all rows are one query, and no candidates have no scores."""

import numpy as np
import pytest
from every_estimator import EVERY_ESTIMATOR
from scipy.sparse import csr_matrix

from skcalrank import BoostedRanker, TabularRanker, load_digits_queries
from skcalrank.data import MissingQidError
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

CASES = [case for case in EVERY_ESTIMATOR if case.target == "grades"]


@pytest.fixture(scope="module")
def problem():
    X, y, qid = load_digits_queries(n_queries=24, n_documents=8)
    return X / 16, y, qid


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_scalar_is_one_query(case, problem):
    X, y, qid = problem
    ranker = case.fit(X, y, qid)
    expected = ranker.predict(X[:8], np.zeros(8))
    for scalar in (0, "tea", np.int64(3), 1.5, np.array("tea")):
        np.testing.assert_array_equal(ranker.predict(X[:8], qid=scalar), expected)
        np.testing.assert_array_equal(
            ranker.rank(X[:8], qid=scalar), ranker.rank(X[:8], np.zeros(8))
        )
        np.testing.assert_array_equal(
            ranker.top_k(X[:8], qid=scalar, k=3), ranker.top_k(X[:8], np.zeros(8), 3)
        )
    for missing in (np.nan, np.array(np.nan), np.datetime64("NaT", "s")):
        with pytest.raises(ValueError, match="qid must be an identifier, got a missing value"):
            ranker.predict(X[:8], qid=missing)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_candidates_have_no_scores(case, problem):
    X, y, qid = problem
    ranker = case.fit(X, y, qid)
    for rows in (X[:0], []):
        for query in (qid[:0], 0):
            assert ranker.predict(rows, query).shape == (0,)
            assert ranker.rank(rows, query).shape == (0,)
            assert ranker.top_k(rows, query).shape == (0,)
        with pytest.raises(ValueError, match="qid must have 0 entries"):
            ranker.predict(rows, qid)
    with pytest.raises(ValueError, match="0 sample"):
        ranker.score(X[:0], y[:0], qid[:0])


def test_a_table_needs_all_of_them():
    pandas = pytest.importorskip("pandas")
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    table = pandas.DataFrame(X[:, 10:16]).assign(kind=np.where(y > 4, "a", "b"))
    for ranker in (TabularRanker(trees=None), BoostedRanker(engine="sklearn", n_estimators=2)):
        with pytest.raises(ValueError, match=r"Pass the column itself, such as frame\['kind'\]"):
            ranker.fit(table, y, "kind")
        ranker.fit(table.drop(columns="kind"), y, qid)
        dense = ranker.predict(X[:8, 10:16], 0)
        np.testing.assert_array_equal(ranker.predict(csr_matrix(X[:8, 10:16]), 0), dense)


def test_errors_tell_of_it(problem):
    X, y, qid = problem
    pipe = make_query_pipeline(QueryScaler(), CASES[0].make()).fit(X, y, qid)
    with pytest.raises(MissingQidError, match="qid=0 if all rows are one query"):
        pipe.predict(X)
    with pytest.raises(MissingQidError, match="qid=0 if all rows are one query"):
        pipe[-1].rank(X)
