"""A scalar qid means that all rows are one query, and no candidates have no scores."""

import numpy as np
import pytest
from every_estimator import EVERY_ESTIMATOR
from scipy.sparse import csr_matrix

from skcalrank import (
    BoostedRanker,
    MultiLabelTarget,
    NDCGRanker,
    PreferenceTarget,
    RankingTarget,
    TabularRanker,
    get_scorer,
    load_digits_queries,
    sample_comparisons,
    sample_sessions,
)
from skcalrank.data import MissingQidError
from skcalrank.evaluation import compare, rank_frame, to_qrels, to_run
from skcalrank.inspection import FixedQueries, explain_order, explain_scores
from skcalrank.metrics import (
    evaluate,
    measure_score,
    ndcg_score,
    pairwise_disagreement_loss,
    query_calibration_error,
)
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import QueryContext, QueryScaler
from skcalrank.reliability import rank_stability

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


X8, Y8, S8 = (np.random.default_rng(0).random(shape) for shape in ((8, 4), 8, 8))
Y8 = np.round(Y8)


def fitted():
    """A ranker of the rows."""
    return NDCGRanker().fit(X8, Y8, [0, 0, 0, 0, 1, 1, 1, 1])


def stability(query):
    return rank_stability(NDCGRanker(), X8, Y8, query, X_new=X8, qid_new=query, n_draws=2)


# What functions return for the rows of a query.
DOORS = {
    "MultiLabelTarget": lambda q: MultiLabelTarget(Y8[:, None], q, ["a"]).qid,
    "PreferenceTarget": lambda q: PreferenceTarget.from_relevance(Y8, q).winner,
    "RankingTarget": lambda q: RankingTarget(Y8, q).qid,
    "compare": lambda q: compare(Y8, {"a": S8, "b": -S8}, qid=q, measures=["mrr"]).to_csv(),
    "evaluate": lambda q: list(evaluate(Y8, S8, qid=q, measures=["ndcg"]).values()),
    "measure_score": lambda q: measure_score("ndcg", Y8, S8, qid=q),
    "ndcg_score": lambda q: ndcg_score(Y8, S8, qid=q),
    "pairwise_disagreement_loss": lambda q: pairwise_disagreement_loss(Y8, S8, qid=q),
    "query_calibration_error": lambda q: query_calibration_error(Y8, S8, qid=q),
    "sample_comparisons": lambda q: sample_comparisons(Y8, q, n_comparisons=20).weight.sum(),
    "sample_sessions": lambda q: sample_sessions(S8, q, n_sessions=9, model="position").n_sessions,
    "to_qrels": lambda q: list(to_qrels(Y8, q)),
    "to_run": lambda q: list(to_run(S8, q)),
    "QueryScaler": lambda q: QueryScaler().fit(X8, qid=q).transform(X8, qid=q),
    "QueryContext": lambda q: QueryContext().fit(X8, qid=q).transform(X8, qid=q),
    "fit_targets": lambda q: NDCGRanker().fit_targets(X8, S8, q).predict(X8),
    "partial_fit": lambda q: NDCGRanker().partial_fit(X8, Y8, q).predict(X8),
    "HostedRanker": lambda q: HostedRanker(NDCGRanker()).fit(X8, Y8, qid=q).predict(X8, q),
    "FixedQueries": lambda q: FixedQueries(fitted(), q).predict(X8),
    "explain_order": lambda q: explain_order(fitted(), X8, 0, 1, qid=q).total,
    "explain_scores": lambda q: explain_scores(fitted(), X8, q).contributions,
    "rank_frame": lambda q: rank_frame(fitted(), X8, qid=q)["score"],
    "rank_stability": stability,
    "scorer": lambda q: get_scorer("ndcg")(fitted(), X8, Y8, qid=q),
}


@pytest.mark.every_case
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.filterwarnings("ignore")
def test_functions_take_a_scalar(door):
    expected = door(np.zeros(8, dtype=int))
    for scalar in (0, np.int64(0), np.array(0)):
        np.testing.assert_array_equal(door(scalar), expected)


def test_rows_of_other_queries_are_refused():
    assert FixedQueries(fitted(), "tea").predict(X8[:5]).shape == (5,)
    with pytest.raises(ValueError, match="qid must have 8 entries, one for each of the rows"):
        rank_stability(fitted(), X8, Y8, 0, X_new=X8, qid_new=[0] * 5)
