"""Queries that are cut between fit and score are told, and whole ones are not."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)

from skcalrank import (
    BoostedRanker,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    StackingRanker,
    TabularRanker,
    get_scorer,
)
from skcalrank.data import CutQueriesWarning, SingleDocumentsWarning
from skcalrank.metrics import ndcg_score
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

RANKERS = {
    "linear": lambda: NDCGRanker(),
    "pipeline": lambda: make_query_pipeline(QueryScaler(), NDCGRanker()),
    "trees": lambda: BoostedRanker(engine="sklearn", n_estimators=2, validation_fraction=None),
    "stack": lambda: StackingRanker([("a", NDCGRanker())]),
}
NEARLY = "differs in nearly every row"
every_ranker = pytest.mark.parametrize("ranker", RANKERS)


@pytest.fixture
def problem(rng):
    names = rng.permutation(1000)[:20]
    X, y = rng.normal(size=(160, 4)), rng.integers(0, 3, 160)
    qid = np.array([f"search {n}" for n in names])[np.repeat(np.arange(20), 8)]
    order = rng.permutation(160)
    return X[order], y[order], qid[order]


def raised(call):
    """Return the warnings of a call that name cut queries or single documents."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    kinds = (CutQueriesWarning, SingleDocumentsWarning)
    return [str(w.message) for w in caught if issubclass(w.category, kinds)]


# -- cut ---------------------------------------------------------------------------------------


@every_ranker
def test_a_split_of_rows_is_told(ranker, problem):
    train = train_test_split(*problem, random_state=0)
    fitted = RANKERS[ranker]().fit(*train[::2])
    assert len(raised(lambda: fitted.score(*train[1::2]))) == 1
    scorer = get_scorer("ndcg@5")
    assert len(raised(lambda: scorer(fitted, *train[1::2]))) == 1
    assert raised(lambda: fitted.score(*train[::2])) == []


def test_a_routed_qid_in_folds_of_rows_is_told_once(problem):
    X, y, qid = problem
    with sklearn.config_context(enable_metadata_routing=True):

        def search():
            grid = GridSearchCV(NDCGRanker(), {"alpha": [1.0, 2.0]}, cv=KFold(4), refit=False)
            grid.fit(X, y, qid=qid)

        assert len(raised(search)) == 1
        folds = {"cv": 4, "params": {"qid": qid}, "scoring": get_scorer("ndcg@5")}
        assert raised(lambda: cross_val_score(NDCGRanker(), X, y, **folds))


def test_folds_of_rows_inside_a_stack_are_told(problem):
    stack = StackingRanker([("a", NDCGRanker())], cv=KFold(4))
    (text,) = raised(lambda: stack.fit(*problem))
    assert "cv cuts 20 of 20 queries" in text
    assert raised(lambda: stack.set_params(cv=QueryKFold(4)).fit(*problem)) == []
    assert raised(lambda: stack.set_params(cv=4).fit(*problem)) == []


@pytest.mark.parametrize("known", [False, True])
def test_metrics_and_other_packages_know_what_y_carries(known, problem):
    _, X, _, y, _, qid = train_test_split(*problem, random_state=0)
    if known:
        X, y = train_test_split(problem[0], RankingTarget(*problem[1:]), random_state=0)[1::2]
    qid = None if known else qid
    other = Ridge().fit(X, y)
    assert len(raised(lambda: ndcg_score(y, X[:, 0], qid=qid))) == known
    assert len(raised(lambda: get_scorer("ndcg@5")(other, X, y, qid=qid))) == known


# -- whole -------------------------------------------------------------------------------------


@every_ranker
def test_whole_queries_are_silent(ranker, problem):
    X, y, qid = problem
    target, make = RankingTarget(y, qid), RANKERS[ranker]
    options = {"cv": QueryKFold(3), "scoring": get_scorer("ndcg@5")}
    assert (
        raised(lambda: cross_validate(make(), X, target, return_train_score=True, **options)) == []
    )
    fitted = make().fit(X, y, qid)
    some = np.isin(qid, qid[:3])
    assert raised(lambda: fitted.score(X[some], y[some], qid[some])) == []


def test_tools_that_score_rows_of_fit_are_silent(problem):
    X, y, qid = problem
    target, options = RankingTarget(y, qid), {"scoring": get_scorer("ndcg@5")}
    fitted = NDCGRanker().fit(X, y, qid)
    assert raised(lambda: permutation_importance(fitted, X, target, n_repeats=2, **options)) == []

    def curve():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "NDCGRanker got y")  # learning_curve cuts queries
            learning_curve(NDCGRanker(), X, target, cv=QueryKFold(3), train_sizes=[1.0], **options)

    assert raised(curve) == []


def test_chunks_are_silent(problem):
    X, y, qid = problem
    first = np.isin(qid, np.unique(qid)[:10])
    ranker = NDCGRanker(alpha=1.0)
    ranker.partial_fit(X[first], y[first], qid[first])
    ranker.partial_fit(X[~first], y[~first], qid[~first])
    assert raised(lambda: ranker.score(X[:20], y[:20], qid[:20])) == []


@pytest.mark.parametrize("start", [0, 1])
def test_the_numbers_of_another_file_are_silent(start, rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    ranker = NDCGRanker().fit(X, y, start + np.repeat(np.arange(10), 6))
    other = start + np.repeat(np.arange(12), 5)
    assert raised(lambda: ranker.score(X, y, other)) == []
    assert raised(lambda: ranker.score(X, y, 3 + other))


def test_one_query_is_silent(problem):
    X, y, qid = problem
    ranker = NDCGRanker().fit(X, y, qid)
    assert raised(lambda: ranker.score(X, y, np.zeros(len(y)))) == []
    ranker.fit(X, y, np.zeros(len(y)))
    assert raised(lambda: ranker.score(X[:9], y[:9], np.zeros(9))) == []


# -- one document per query --------------------------------------------------------------------


@every_ranker
def test_a_qid_that_differs_in_every_row_is_told(ranker, problem):
    X, y, qid = problem
    fitted = RANKERS[ranker]().fit(X, y, qid)
    rows = np.arange(len(y))
    assert NEARLY in "".join(raised(lambda: fitted.score(X, y, rows)))
    scorer = get_scorer("ndcg@5")
    assert NEARLY in "".join(raised(lambda: scorer(fitted, X, y, rows)))
    for call in (fitted.predict, fitted.rank, fitted.top_k):
        if hasattr(fitted, call.__name__):
            assert raised(lambda call=call: call(X, rows)) == []
    if ranker == "linear":
        assert raised(lambda: RANKERS[ranker]().fit(X, y, rows))
        assert raised(lambda: RANKERS[ranker]().fit(X[:1], y[:1], rows[:1])) == []


def test_a_qid_that_differs_in_nearly_every_row_is_told(problem):
    X, y, _ = problem
    rows = np.arange(160)
    rows[:16] = rows[16:32]
    assert NEARLY in "".join(raised(lambda: NDCGRanker().fit(X, y, rows)))
    rows[32] = 33
    assert raised(lambda: NDCGRanker().fit(X, y, rows)) == []


def test_a_ranker_inside_another_does_not_repeat_it(problem):
    X, y, _ = problem
    assert len(raised(lambda: TabularRanker(trees=None).fit(X, y, np.arange(160)))) == 1


def test_names_are_not_kept(problem):
    X, y, qid = problem
    record = BoostedRanker(engine="sklearn", n_estimators=2).fit(X, y, qid).record_
    other = BoostedRanker(engine="sklearn", n_estimators=2).fit(X, y, qid).record_
    assert record.sizes.sizes.sum() == len(y)
    assert not np.isin(record.sizes.hashes, other.sizes.hashes).any()  # a salt for each fit


def halves(problem):
    X, y, qid = problem
    return [(X[rows], y[rows], qid[rows]) for rows in (np.arange(80), np.arange(80, 160))]


def test_frozen_rankers_and_fronts_know_the_queries_of_fit(problem):
    first, (X, y, qid) = halves(problem)
    frozen = FrozenEstimator(NDCGRanker().fit(*first))
    with pytest.warns(CutQueriesWarning, match="got queries of fit"):
        get_scorer("ndcg@5")(frozen, X, y, qid=qid)
    labels = [MultiLabelTarget(np.c_[y, y > 1], qid) for _, y, qid in (first, (X, y, qid))]
    ranker = MultiLabelRanker().fit(first[0], labels[0])
    with pytest.warns(CutQueriesWarning, match="front got queries of fit"):
        ranker.front(X, labels[1], mixes=1)


def test_displays_know_the_queries_of_fit(problem):
    pytest.importorskip("matplotlib")
    from skcalrank.displays import MeasureAtKDisplay

    first, (X, y, qid) = halves(problem)
    with pytest.warns(CutQueriesWarning, match="MeasureAtKDisplay got queries of fit"):
        MeasureAtKDisplay.from_estimator(NDCGRanker().fit(*first), X, y, qid=qid)
