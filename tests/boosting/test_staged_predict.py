"""Scores after each round of boosting."""

import itertools

import numpy as np
import pandas as pd
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries, pickled
from scipy.sparse import csr_matrix

from skcalrank import NDCGRanker
from skcalrank.data import MissingQidError
from skcalrank.metrics import ndcg_score

every_engine = pytest.mark.parametrize("engine", ENGINES)

X, Y, QID = made_queries(30, seed=0)
NEW = made_queries(7, seed=1)


def check_last(ranker, rows, qid):
    stages = list(ranker.staged_predict(rows, qid))
    assert len(stages) == np.max(ranker.best_iteration_)
    np.testing.assert_array_equal(stages[-1], ranker.predict(rows, qid))
    return stages


CASES = {
    "plain": {},
    "without validation": {"validation_fraction": None, "n_estimators": 7},
    "start": {"start": NDCGRanker()},
    "models": {"n_models": 3},
    "nine models": {"n_models": 9, "n_estimators": 3},
    "shares": {"subsample": 0.5, "max_features": 0.5},
}


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("case", CASES)
def test_the_last_scores_are_those_of_predict(engine, case):
    ranker = boosted(engine, **CASES[case]).fit(X, Y, QID)
    for served in (ranker, pickled(ranker)):
        check_last(served, NEW[0], NEW[2])
        check_last(served, NEW[0][:1], NEW[2][:1])


@every_engine
def test_each_stage_is_the_ranker_of_so_many_rounds(engine):
    fixed = {"validation_fraction": None, "random_state": 0}
    stages = check_last(boosted(engine, n_estimators=12, **fixed).fit(X, Y, QID), X, QID)
    for n_rounds in (1, 4, 11):
        # Scikit-learn's trees are grown five at a time, whatever their number.
        ranker = boosted(engine, n_estimators=n_rounds, **fixed).fit(X, Y, QID)
        np.testing.assert_array_equal(stages[n_rounds - 1], ranker.predict(X))


@every_engine
def test_measures_of_the_stages_are_those_that_were_followed(engine):
    ranker = boosted(engine, start=NDCGRanker()).fit(X, Y, QID, eval_set=NEW)
    features, y, qid = NEW
    curve = [ndcg_score(y, u, qid=qid, k=10) for u in ranker.staged_predict(features, qid)]
    followed = ranker.validation_scores_[: ranker.best_iteration_]
    np.testing.assert_allclose(curve, followed, rtol=1e-12)
    assert int(np.argmax(curve)) + 1 == ranker.best_iteration_


@every_engine
def test_tables(engine):
    table = pd.DataFrame(X, columns=list("abcdef")).assign(
        kind=np.array(["x", "y", "z"])[np.arange(len(X)) % 3], day=pd.Timestamp("2026-01-01")
    )
    table.loc[::7, "b"] = np.nan
    ranker = boosted(engine).fit(table, Y, QID)
    check_last(ranker, table.assign(kind="new"), QID)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "sklearn"])
def test_sparse_matrices(engine):
    sparse = csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    dense = sparse.toarray()
    for fitted_to, read in itertools.product([sparse, dense], [sparse, dense]):
        check_last(boosted(engine).fit(fitted_to, Y, QID), read, QID)


LIBRARIES = {
    "dart": ("lightgbm", {"boosting": "dart"}),
    "linear leaves": ("lightgbm", {"linear_tree": True}),
    "dart of xgboost": ("xgboost", {"booster": "dart", "rate_drop": 0.5}),
    "parallel trees": ("xgboost", {"num_parallel_tree": 3}),
}


@pytest.mark.parametrize("case", LIBRARIES)
def test_options_of_the_libraries(case):
    engine, options = LIBRARIES[case]
    pytest.importorskip(engine)
    given = {"validation_fraction": None, "n_estimators": 9, "engine_params": options}
    check_last(boosted(engine, **given).fit(X, Y, QID), X, QID)


@pytest.mark.parametrize("loss", ["lambdarank", "rank_xendcg", "rank:ndcg", "rank:pairwise"])
def test_objectives_of_the_libraries(loss):
    engine = "xgboost" if ":" in loss else "lightgbm"
    pytest.importorskip(engine)
    check_last(boosted(engine, loss=loss).fit(X, Y, QID), NEW[0], NEW[2])


def test_stages_are_arrays_of_their_own():
    ranker = boosted(FIRST, n_estimators=4).fit(X, Y, QID)
    expected = [scores.copy() for scores in ranker.staged_predict(X)]
    stages = ranker.staged_predict(X)
    for scores, as_before in zip(stages, expected):
        np.testing.assert_array_equal(scores, as_before)
        scores[:] = 0.0


def test_rows_are_checked_at_the_call():
    ranker = boosted(FIRST, n_estimators=4).fit(X, Y, QID)
    with pytest.raises(ValueError, match="6 features"):
        ranker.staged_predict(X[:, :2], QID)
    empty = list(ranker.staged_predict(X[:0], QID[:0]))
    assert len(empty) == ranker.best_iteration_
    assert {len(scores) for scores in empty} == {0}


def test_a_start_that_needs_the_query():
    from skcalrank import StackingRanker

    start = StackingRanker([("a", NDCGRanker()), ("b", NDCGRanker(alpha=1.0))], normalize="query")
    ranker = boosted(FIRST, start=start).fit(X, Y, QID)
    assert ranker.start_ is not None
    check_last(ranker, X, QID)
    with pytest.raises(MissingQidError):
        next(ranker.staged_predict(X))
