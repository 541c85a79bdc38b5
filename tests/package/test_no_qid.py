"""Many rows of labels without a qid are an error wherever they are learned from or scored."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from every_estimator import EVERY_ESTIMATOR, OWN_CASES, scoring_classes, small_boosted
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import RFECV
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
    learning_curve,
)
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AggregatedRanker,
    ClickSessions,
    ERRRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    StackingRanker,
    TabularRanker,
    get_scorer,
    load_digits_queries,
    train_test_query_split,
)
from skcalrank.data import MissingQidError, OneQueryWarning
from skcalrank.displays import MeasureAtKDisplay
from skcalrank.evaluation import compare
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import ndcg_score
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

CASES = [case for case in EVERY_ESTIMATOR if case.target == "grades"]
SCORER = get_scorer("ndcg@10")
MOST = 200
FAILED = r"(?s)All the 10 fits failed.*of more than 200 rows and no qid"
RAISES = pytest.raises(MissingQidError, match="of more than 200 rows and no qid")


@pytest.fixture(scope="module")
def problem():
    X, y, qid = load_digits_queries(n_queries=27, n_documents=8)
    return X[:, :24] / 16, y, qid


@pytest.fixture(scope="module")
def folded():
    """Rows of which a fifth are more than 200, and their queries."""
    X, y, qid = load_digits_queries(n_queries=140, n_documents=8)
    return X / 16, y, qid


def made(case):
    return case.make()


def outcome(call):
    """The scores that a call returns, or the text of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(call()).tolist()
        except ValueError as error:
            return f"{type(error).__name__}: {error}"


def warned(call):
    """Whether a call warns of one query; errors of too few queries do not matter here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except MissingQidError:
            raise
        except ValueError:
            pass
    return OneQueryWarning in {each.category for each in caught}


def learning_methods(estimator):
    names = ("fit", "fit_targets", "partial_fit")
    return [getattr(estimator, name) for name in names if hasattr(estimator, name)]


# -- every estimator -------------------------------------------------------------------------


def test_every_class_has_a_case():
    known = {type(case.make()) for case in EVERY_ESTIMATOR}
    assert scoring_classes() <= known >= OWN_CASES


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")  # of the steps of pipelines
@pytest.mark.filterwarnings("ignore:A column-vector:sklearn.exceptions.DataConversionWarning")
@pytest.mark.kinds
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_many_rows_without_a_qid_are_an_error(case, problem):
    X, y, qid = problem
    X, y, qid = X[: MOST + 1], y[: MOST + 1], qid[: MOST + 1]
    for form in (y, y[:, None], list(y)):
        for method in learning_methods(made(case)):
            with RAISES:
                method(X, form)
    ranker = case.fit(X, y, qid)
    with pytest.raises(MissingQidError):
        ranker.score(X, y)
    for scored in (ranker, Ridge().fit(X, y)):
        with RAISES:
            SCORER(scored, X, y)


@pytest.mark.kinds
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_few_rows_without_a_qid_are_warned_of(case, problem):
    X, y, _ = problem
    X, y = X[:MOST], y[:MOST]
    for method in learning_methods(made(case)):
        assert warned(lambda: method(X, y))  # noqa: B023
    assert warned(lambda: SCORER(Ridge().fit(X, y), X, y))


@pytest.mark.kinds
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_scalar_is_one_query_and_its_name(case, problem):
    X, y, _ = problem
    for method, scalar in (("fit", 7), ("fit_targets", np.array("tea")), ("partial_fit", 7)):
        if not hasattr(made(case), method):
            continue

        def scores(qid, method=method):
            ranker = getattr(made(case), method)(X, y, qid=qid)
            return [*ranker.predict(X, qid), ranker.score(X, y, qid), SCORER(ranker, X, y, qid)]

        found = outcome(lambda: scores(scalar))  # noqa: B023
        assert found == outcome(lambda: scores(np.full(len(y), scalar)))  # noqa: B023
        assert "Missing" not in str(found)
    for missing in (np.nan, np.array(np.nan), np.datetime64("NaT", "s"), np.inf):
        with pytest.raises(ValueError, match=r"qid must .* identifier.*, got a missing value"):
            made(case).fit(X, y, qid=missing)
    with pytest.raises(ValueError, match=r"Pass the column itself, such as frame\['search'\]"):
        made(case).fit(X, y, qid="search")


def test_score_of_a_ranker_that_was_fitted_to_one_query(problem):
    X, y, _ = problem
    with pytest.warns(OneQueryWarning):
        ranker = NDCGRanker().fit(X[:MOST], y[:MOST])
    with RAISES:
        ranker.score(X, y)
    assert ranker.score(X, y, 0) == SCORER(ranker, X, y, 0)


def with_trees():
    trees = small_boosted("sklearn")
    yield trees
    yield StackingRanker([("trees", trees), ("linear", NDCGRanker())])
    yield TabularRanker(trees=trees, n_jobs=1)
    yield make_query_pipeline(StandardScaler(), trees)


@pytest.mark.parametrize("ranker", with_trees(), ids=lambda ranker: type(ranker).__name__)
def test_evaluation_sets(ranker, problem):
    X, y, qid = problem
    for many in ((X, y), (X, y, None, np.ones(len(y))), {"a": (X, y, qid), "b": (X, y)}):
        name = r"eval_set\['b'\]" if isinstance(many, dict) else "eval_set"
        with pytest.raises(MissingQidError, match=rf"^{name} got y of more than 200 rows"):
            clone(ranker).fit(X, y, qid, eval_set=many)
    with pytest.warns(OneQueryWarning, match="eval_set"):
        clone(ranker).fit(X, y, qid, eval_set=(X[:MOST], y[:MOST]))
    of_scalar = clone(ranker).fit(X, y, qid, eval_set=(X, y, -1))
    of_names = clone(ranker).fit(X, y, qid, eval_set=(X, y, np.full(len(y), -1)))
    np.testing.assert_array_equal(of_scalar.predict(X, qid), of_names.predict(X, qid))


def test_evaluation_sets_in_parts(problem):
    X, y, qid = problem
    with pytest.raises(MissingQidError, match=r"^X_val, y_val, qid_val \(eval_set\) got y of more"):
        small_boosted("sklearn").fit(X, y, qid, X_val=X, y_val=y)
    small_boosted("sklearn").fit(X, y, qid, X_val=X, y_val=y, qid_val=-1)


# -- what is as before -----------------------------------------------------------------------


@pytest.mark.filterwarnings("error::skcalrank.data.OneQueryWarning")
def test_other_forms_need_no_qid(problem):
    X, y, qid = problem
    preferences = PreferenceTarget.from_relevance(y, None)
    for ranker in (PairwiseDisagreementRanker(), AggregatedRanker("win_rate", NDCGRanker())):
        ranker.fit(X, preferences)
    # Rankers of tables are fitted by their public methods, to targets that carry no queries.
    table = pd.DataFrame(X[:, 10:13], columns=list("abc")).assign(kind=pd.Categorical(y > 4))
    AggregatedRanker("win_rate", small_boosted("sklearn")).fit(table, preferences).predict(table)
    sessions = ClickSessions(qid, [[8 * q, 8 * q + 1] for q in range(27)], np.ones(27, dtype=int))
    ERRRanker(max_grade=9).fit(X, sessions)
    forms = np.column_stack([y, 1 - y, y % 2])
    NDCGRanker().fit(X, forms).score(X, forms)
    GramRidge().fit(X, y)
    GramRidge().partial_fit(X, y)


def test_arrays_displays_and_transformers_warn_at_any_size(problem):
    pytest.importorskip("matplotlib")
    X, y, _ = problem
    calls = [
        lambda: ndcg_score(y, X[:, 10]),
        lambda: compare(y, {"a": X[:, 10], "b": X[:, 20]}, ["ndcg@10"]),
        lambda: MeasureAtKDisplay.from_estimator(Ridge().fit(X, y), X, y),
        lambda: QueryScaler().fit(X),
    ]
    for call in calls:
        assert warned(call)


@pytest.mark.filterwarnings("error::skcalrank.data.OneQueryWarning")
def test_a_scalar_in_metrics_and_targets(problem):
    X, y, _ = problem
    names = np.full(len(y), 3)
    assert ndcg_score(y, X[:, 10], qid=3) == ndcg_score(y, X[:, 10], qid=names)
    systems = {"a": X[:, 10], "b": y - 9.0}
    for qid in (3, names):
        with pytest.warns(UserWarning, match="defined on 1 queries only"):
            compared = compare(y, systems, ["ndcg@10"], qid=qid)
        assert list(compared.queries) == [3]
    target = RankingTarget(y, 3)
    np.testing.assert_array_equal(target.qid, names)
    NDCGRanker().fit(X, target).score(X, target, 3)
    with pytest.raises(ValueError, match="qid must equal the qid that y carries"):
        NDCGRanker().fit(X, target, 4)
    with pytest.raises(ValueError, match="qid was given together with y of shape"):
        NDCGRanker().fit(X, np.column_stack([y, y]), 0)
    scaled = QueryScaler().fit_transform(X, qid=3)
    np.testing.assert_array_equal(scaled, QueryScaler().fit_transform(X, qid=names))


# -- chunks ----------------------------------------------------------------------------------


def test_chunks_that_are_one_query_each_need_names(problem):
    X, y, _ = problem
    with pytest.raises(MissingQidError, match=r"Chunks of partial_fit .* such as qid=i"):
        NDCGRanker().partial_fit(X, y)
    ranker = NDCGRanker().partial_fit(X, y, 0)
    with pytest.raises(ValueError, match=r"Query 0 was in an earlier chunk.* such as qid=i"):
        ranker.partial_fit(X, y, 0)
    for i in (1, 2):
        ranker.partial_fit(X + i, y, i)
    once = NDCGRanker().fit(
        np.concatenate([X, X + 1, X + 2]), np.tile(y, 3), np.repeat([0, 1, 2], len(y))
    )
    np.testing.assert_allclose(ranker.coef_, once.coef_)


# -- scikit-learn's tools --------------------------------------------------------------------


def lines_of(error):
    return re.findall(r"(?m)^    (.*)$", str(error.value))


@pytest.mark.parametrize("routed", [False, True])
def test_the_lines_of_the_message_work(problem, routed):
    X, y, qid = problem
    ranker, grid, targets = NDCGRanker(), {"alpha": [1.0, 1e4]}, y
    scope = globals() | {"scorer": SCORER, **locals()}
    with config_context(enable_metadata_routing=routed):
        with RAISES as of_fit:
            NDCGRanker().fit(X, y)
        with RAISES as of_targets:
            NDCGRanker().fit_targets(X, y)
        ranker.fit(X, y, qid)
        with RAISES as of_scorer:
            SCORER(ranker, X, y)
        directly, searched = lines_of(of_fit)
        assert (".fit(X, y, qid=qid)" in searched) is routed
        np.testing.assert_array_equal(
            eval(directly, scope).coef_, NDCGRanker().fit(X, y, qid).coef_
        )
        assert eval(searched, scope).best_score_ > 0.5
        expected = NDCGRanker().fit_targets(X, y, qid).coef_
        for line in lines_of(of_targets):
            np.testing.assert_array_equal(eval(line, scope).coef_, expected)
        ranker.fit(X, y, qid)
        called, searched_again = lines_of(of_scorer)
        assert eval(called, scope) == SCORER(ranker, X, y, qid)
        assert searched_again == searched


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
@pytest.mark.parametrize("routed", [False, True])
def test_a_search_fails_and_says_why(folded, search, routed):
    X, y, qid = folded
    options = {"n_iter": 2} if search is RandomizedSearchCV else {}
    folds = list(QueryKFold(5).split(X, groups=qid))
    found = search(NDCGRanker(), {"alpha": [1.0, 10.0]}, cv=folds, **options)
    says = pytest.raises(ValueError, match=FAILED)
    with config_context(enable_metadata_routing=routed), says:
        found.fit(X, y)
    assert not hasattr(found, "best_score_")


def test_groups_of_a_search_do_not_reach_the_ranker(folded):
    X, y, qid = folded
    found = GridSearchCV(NDCGRanker(), {"alpha": [1.0, 10.0]}, cv=QueryKFold(5))
    with pytest.raises(ValueError, match=r"(?s)All the 10 fits failed.*groups of a splitter"):
        found.fit(X, y, groups=qid)


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_scores_of_a_search_are_nan_and_say_why(folded):
    X, y, qid = folded
    found = GridSearchCV(Ridge(), {"alpha": [1.0, 10.0]}, scoring=SCORER, cv=QueryKFold(5))
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*of more than 200 rows and no qid"):
        found.fit(X, y, groups=qid)
    assert np.isnan(found.best_score_)
    assert np.isnan(found.cv_results_["mean_test_score"]).all()
    # The qid of the fit does not reach the scorer.
    fitted = GridSearchCV(NDCGRanker(), {"alpha": [1.0, 10.0]}, scoring=SCORER, cv=QueryKFold(5))
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*of more than 200 rows and no qid"):
        fitted.fit(X, y, groups=qid, qid=qid)
    assert np.isnan(fitted.best_score_)


@pytest.mark.filterwarnings("ignore:Scoring failed:UserWarning")
def test_a_learning_curve(folded):
    X, y, qid = folded
    options = {"groups": qid, "cv": QueryKFold(5), "scoring": SCORER, "train_sizes": [0.5, 1.0]}
    with pytest.raises(ValueError, match=FAILED):
        learning_curve(NDCGRanker(), X, y, **options)
    _, on_train, on_test = learning_curve(Ridge(), X, y, **options)
    assert np.isnan([on_train, on_test]).all()


def stripping():
    members = [("a", NDCGRanker()), ("b", NDCGRanker(k=3))]
    yield BaggingRegressor(NDCGRanker(), n_estimators=2)
    yield VotingRegressor(members)
    yield StackingRegressor(members, NDCGRanker(), cv=KFold(2))
    yield RFECV(NDCGRanker(Ridge()), cv=QueryKFold(5), scoring=SCORER)


@pytest.mark.parametrize("tool", stripping(), ids=lambda tool: type(tool).__name__)
def test_tools_that_strip_the_target(folded, tool):
    X, y, qid = folded
    more = {"groups": qid} if isinstance(tool, RFECV) else {}
    with RAISES:
        tool.fit(X, RankingTarget(y, qid), **more)


def test_one_query_cannot_be_split(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match="train set will be empty"):
        train_test_query_split(X, y, qid=0)
    with pytest.raises(ValueError, match="number of queries, 1, got 5"):
        list(QueryKFold(5).split(X, y, groups=0))


def test_folds_of_few_rows_only_warn(problem):
    X, y, qid = problem
    with pytest.warns(OneQueryWarning):
        scores = cross_val_score(
            NDCGRanker(), X[:MOST], y[:MOST], groups=qid[:MOST], cv=QueryKFold(5)
        )
    assert np.isfinite(scores).all()
