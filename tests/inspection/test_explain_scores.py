"""Explanations of all scores, and rankers that know the queries of their rows."""

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from cases import make_data
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import labels, made_columns

from skcalrank import (
    ExternalRanker,
    NDCGRanker,
    RankingTarget,
    SpearmanRanker,
    TabularRanker,
    get_scorer,
)
from skcalrank.data import MissingQidError
from skcalrank.displays import TopContributionsDisplay
from skcalrank.inspection import FixedQueries, explain_order, explain_scores
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

RANKERS = {
    "linear": NDCGRanker,
    "trees": lambda: boosted(FIRST, n_estimators=5),
    "stack": lambda: TabularRanker("ndcg@5", trees=None),
    "pipeline": lambda: make_query_pipeline(QueryScaler(), NDCGRanker()),
}


@pytest.mark.parametrize("name", RANKERS)
def test_contributions_are_those_of_each_order(name, rng):
    X, y, qid = make_data(rng)
    ranker = RANKERS[name]().fit(X, y, qid)
    explanation, scores = explain_scores(ranker, X, qid), ranker.predict(X, qid)
    np.testing.assert_allclose(explanation.scores, scores, rtol=1e-10, atol=1e-10)
    assert list(explanation.feature_names) == [f"x{k}" for k in range(X.shape[1])]
    for row in (0, len(X) // 2):
        one = explain_order(ranker, X, row, qid=qid)
        np.testing.assert_allclose(explanation.contributions[row], one.contributions, atol=1e-10)
    sizes = np.abs(explanation.contributions).mean(axis=0)
    np.testing.assert_array_equal(explanation.importances, sizes)


NO_ROWS = {
    **RANKERS,
    **{engine: lambda engine=engine: boosted(engine, n_estimators=2) for engine in ENGINES},
    "external": lambda: ExternalRanker(),
}


@pytest.mark.parametrize("name", NO_ROWS)
def test_no_documents_have_no_importances(name, rng):
    X, y, qid = make_data(rng)
    ranker = NO_ROWS[name]().fit(X, y, qid)
    assert explain_scores(ranker, X[:0], qid[:0]).importances.tolist() == [0.0] * X.shape[1]
    if hasattr(ranker, "contributions"):
        assert ranker.contributions(X[:0], qid[:0]).shape == (0, X.shape[1] + 1)


def test_a_frame_has_a_column_for_each_feature(rng):
    pandas = pytest.importorskip("pandas")
    X, y, qid = make_data(rng)
    X = pandas.DataFrame(X).rename(columns=lambda k: f"column {k}")
    ranker = NDCGRanker().fit(X, y, qid)
    explanation = explain_scores(ranker, X, qid)
    assert list(explanation.to_frame().columns) == list(X.columns)
    assert repr(explanation) == f"ScoreExplanation({len(X)} rows, {X.shape[1]} features)"
    frame = X.set_axis(np.arange(len(X))[::-1])
    assert explain_scores(ranker, frame, qid).to_frame().index.equals(frame.index)


def test_a_display_names_the_documents_of_a_frame_by_their_labels(rng):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    X, y, qid = make_data(rng)
    frame = pandas.DataFrame(X, index=np.arange(len(X))[::-1])
    frame.columns = frame.columns.astype(str)
    ranker = NDCGRanker().fit(frame, y, qid)
    one = explain_scores(ranker, frame[qid == qid[0]], 0)
    best = TopContributionsDisplay.from_explanation(one, k=2).item_names
    assert best.tolist() == ranker.top_k(frame, qid, k=2)[:2].tolist()


def test_a_scalar_is_one_query(rng):
    X, y, qid = make_data(rng)
    ranker, rows = NDCGRanker().fit(X, y, qid), qid == qid[0]
    one = explain_scores(ranker, X[rows], 0).contributions
    np.testing.assert_array_equal(one, explain_scores(ranker, X, qid).contributions[rows])
    row = int(np.flatnonzero(rows)[2])
    explanation = explain_order(ranker, X[rows], 2, qid="tea")
    np.testing.assert_allclose(
        explanation.contributions, explain_order(ranker, X, row, qid=qid).contributions
    )


def test_queries_are_required(rng):
    X, y, qid = make_data(rng)
    with pytest.raises(MissingQidError, match="qid=0 if all rows are one query"):
        explain_scores(NDCGRanker().fit(X, y, qid), X)
    with pytest.warns(UserWarning, match="one query"):
        ranker = NDCGRanker().fit(X, y)
    assert explain_scores(ranker, X).levels == pytest.approx(ranker.predict(X).mean())


def test_items_are_left_to_the_other_function():
    labels_of_items = SpearmanRanker().fit([[0.0], [1.0], [3.0]], [[1, 2], [2, 1], [2, 1]])
    with pytest.raises(ValueError, match=r"explain_order.* explains the place of an item"):
        explain_scores(labels_of_items, [[0.0], [1.0]])


# -- tools of scikit-learn ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted_table():
    pandas = pytest.importorskip("pandas")
    columns = made_columns(160)
    X, (y, qid) = pandas.DataFrame(columns), labels(columns)
    X["price"], X["stars"] = X["price"].fillna(7.0), X["stars"].fillna(4)
    trees = boosted(FIRST, n_estimators=5)
    return TabularRanker("ndcg@5", trees=trees, n_jobs=1).fit(X, y, qid), X, y, qid


def test_partial_dependence(fitted_table):
    ranker, X, _, qid = fitted_table
    bound = FixedQueries(ranker, qid)
    curve = partial_dependence(bound, X, ["stars"], grid_resolution=4)
    for value, average in zip(curve["grid_values"][0], curve["average"][0]):
        expected = ranker.predict(X.assign(stars=value), qid).mean()
        assert average == pytest.approx(expected, rel=1e-12)
    assert np.ptp(curve["average"]) > 0
    levels = partial_dependence(
        bound, X.assign(brand=X["brand"].fillna("acme")), ["brand"], categorical_features=["brand"]
    )
    assert "acme" in levels["grid_values"][0]
    assert np.ptp(levels["average"]) > 0


def test_permutation_importance(fitted_table):
    ranker, X, y, qid = fitted_table
    options = {"scoring": get_scorer("ndcg@5"), "n_repeats": 2, "random_state": 0}
    carried = permutation_importance(ranker, X, RankingTarget(y, qid), **options)
    places = dict(zip(X.columns, carried.importances_mean))
    assert places["one"] == 0
    assert min(places["stars"], places["brand"]) > places["used"]


def test_other_numbers_of_rows_are_refused(fitted_table):
    ranker, X, _, qid = fitted_table
    bound = FixedQueries(ranker, qid)
    np.testing.assert_array_equal(bound.predict(X), ranker.predict(X, qid))
    assert bound.fit(X) is bound
    with pytest.raises(ValueError, match="the 160 rows of qid, got 10 rows"):
        bound.predict(X[:10])


def test_a_ranker_that_is_not_fitted_is_told():
    bound = FixedQueries(make_pipeline(StandardScaler(), NDCGRanker()), [0, 0])
    with pytest.raises(NotFittedError):
        partial_dependence(bound, np.zeros((2, 1)), [0])
    with pytest.raises(NotFittedError):
        bound.fit(np.zeros((2, 1)))
