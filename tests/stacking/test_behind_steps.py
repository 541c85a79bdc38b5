"""Boosted rankers behind steps that ignore labels are fitted once, and stopped as bare ones are."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted, made_queries, pickled
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.preprocessing import FunctionTransformer
from tables import FORMS, labels, made_columns

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler, TableEncoder

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)
TABLE = FORMS["records"](COLUMNS)


@pytest.fixture(scope="module")
def data():
    return made_queries(40, seed=0)


def stack_of(trees):
    return StackingRanker([("linear", NDCGRanker()), ("trees", trees)])


@pytest.mark.product
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("method", ["fit", "fit_targets"])
@pytest.mark.parametrize(
    "steps",
    [(FunctionTransformer(),), ("passthrough",), ("passthrough", FunctionTransformer())],
    ids=["step", "passthrough", "both"],
)
def test_steps_that_change_nothing_change_no_score(data, steps, method, n_models):
    X, y, qid = data
    trees = boosted(FIRST, n_models=n_models)
    bare = getattr(stack_of(trees), method)(X, y, qid)
    behind = getattr(stack_of(make_query_pipeline(*steps, trees)), method)(X, y, qid)
    np.testing.assert_array_equal(behind.weights_, bare.weights_)
    np.testing.assert_array_equal(behind.spreads_, bare.spreads_)
    np.testing.assert_allclose(behind.predict(X, qid), bare.predict(X), rtol=1e-12)
    last = behind.rankers_[1][-1]
    curves = zip(np.ravel(last.best_iteration_), np.ravel(bare.rankers_[1].best_iteration_))
    assert all(n == m for n, m in curves)


def test_steps_see_all_rows_once_and_trees_are_fitted_once(data, monkeypatch):
    X, y, qid = data
    sizes, calls = [], []

    def noted(X):
        sizes.append(len(X))
        return X

    def counted(method):
        def call(*args, **kwargs):
            calls.append(method.__name__)
            return method(*args, **kwargs)

        return call

    for name in ("fit", "_fit_held_out"):
        monkeypatch.setattr(BoostedRanker, name, counted(getattr(BoostedRanker, name)))
    stack_of(make_query_pipeline(FunctionTransformer(noted), boosted(FIRST))).fit(X, y, qid)
    assert (sizes, calls) == ([len(y)], ["_fit_held_out"])


def test_a_step_that_reads_labels_is_not_shown_held_out_ones(data):
    X, y, qid = data
    pipe = make_query_pipeline(SelectKBest(f_regression, k=4), boosted(FIRST))
    stack = stack_of(pipe).fit(X, y, qid)
    expected = clone(pipe).fit(X, y, qid).predict(X)
    np.testing.assert_allclose(stack.rankers_[1].predict(X), expected, atol=1e-9)


@pytest.mark.parametrize("method", ["standard", "rank"])
def test_columns_of_the_query_beside_those_of_a_table(method):
    # The reader of the table is shared, so that trees get codes of categories, and z-scores beside.
    pipe = make_query_pipeline(QueryScaler(method, append=True), boosted(FIRST))
    stack = pickled(StackingRanker([("trees", pipe)]).fit(TABLE, Y, QID))
    scaler, last = (step for _, step in stack.rankers_[0].steps)
    assert scaler.encoder_ is stack.encoder_
    n_columns, n_codes = len(stack.encoder_.sources_), len(stack.encoder_.categorical_)
    assert scaler.scaled_.tolist() == sorted(
        set(range(n_columns)) - set(stack.encoder_.categorical_)
    )
    assert n_codes > 0
    assert last.categorical_features_ == [list(COLUMNS).index("brand")]
    assert last.n_features_in_ == len(COLUMNS)
    matrix = TableEncoder().fit_transform(TABLE)
    wide = QueryScaler(method, append=True).fit_transform(matrix, qid=QID)
    numbers = [*range(n_columns), *(n_columns + scaler.scaled_)]
    again = scaler.transform(TABLE, QID).matrix
    np.testing.assert_array_equal(again, wide[:, numbers])
    scores = stack.predict(TABLE, QID)
    assert np.ptp(scores) > 0
    np.testing.assert_allclose(
        scores, stack.weights_ / stack.spreads_ * stack.rankers_[0].predict(TABLE, QID)
    )
    with pytest.raises(ValueError, match="call the pipeline around it"):
        last.predict(TABLE)


def test_columns_of_two_scalers():
    first, second = QueryScaler(append=True), QueryScaler("rank", append=True)
    pipe = make_query_pipeline(first, second, boosted(FIRST))
    fitted = StackingRanker([("trees", pipe)]).fit(TABLE, Y, QID).rankers_[0]
    assert fitted[-1].n_features_in_ == len(COLUMNS)
    assert len(fitted[-1].feature_importances_) == len(COLUMNS)
    names = fitted[1].get_feature_names_out().tolist()
    assert {"price", "price_in_query", "price_in_query_in_query"} < set(names)
    assert np.ptp(fitted.predict(TABLE, QID)) > 0


def test_an_evaluation_set_gets_the_columns():
    stack = StackingRanker(
        [("trees", make_query_pipeline(QueryScaler(append=True), boosted(FIRST)))]
    )
    held, rows = np.flatnonzero(QID < 4), np.flatnonzero(QID >= 4)
    of = [TABLE[k] for k in held], Y[held], QID[held]
    stack.fit([TABLE[k] for k in rows], Y[rows], QID[rows], eval_set=of)
    pipe = stack.rankers_[0]
    assert pipe[-1].validation_scores_.max() == pytest.approx(pipe.score(*of), abs=1e-6)


def test_constraints_hold_for_the_columns_beside():
    # A score that never falls with a number must not fall with its place in the query.
    X, y, qid = made_queries(40, seed=1)
    trees = boosted(FIRST, monotonic_cst={0: 1, 1: -1}, interaction_cst="no_interactions")
    pipe = make_query_pipeline(QueryScaler(append=True), trees)
    stack = StackingRanker([("trees", pipe)]).fit(X, y, qid)
    for column, sign in ((0, 1), (1, -1)):
        query = np.tile(X[:1], (15, 1))
        query[:, column] = np.linspace(-2, 2, 15)
        assert (sign * np.diff(stack.predict(query, np.zeros(15))) >= 0).all()
