"""Rankers in scikit-learn's tools, with and without metadata routing.

Every tool is compared with what it does, written out by hand. "routed" passes qid as
metadata; "carried" switches routing off and passes it inside the target.
"""

import copy
import pickle

import numpy as np
import pytest
from cases import first_of_each_class, ranker_id, rankers_and_losses
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, StackingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SelectKBest, SequentialFeatureSelector, f_regression
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    CalibratedRankerCV,
    DCGRanker,
    GuaranteedCutoff,
    NDCGRanker,
    PrecisionRanker,
    QueryKFold,
    RankingTarget,
    get_scorer,
)
from skcalrank.data import MissingQidError, OneQueryWarning
from skcalrank.metrics import ndcg_score

SCORER = get_scorer("ndcg@10")
ALPHAS = [1e-3, 1.0, 1e3]
GRID = {"ndcgranker__estimator__alpha": ALPHAS}


class Routed:
    """Queries as metadata."""

    def __init__(self, y, qid):
        self.y, self.fit, self.cv = y, {"qid": qid}, {"params": {"qid": qid}}


class Carried:
    """Queries inside the target."""

    def __init__(self, y, qid):
        self.y, self.fit, self.cv = RankingTarget(y, qid), {}, {}


@pytest.fixture
def sizes(rng):
    return rng.integers(5, 15, size=24)


@pytest.fixture(params=[Routed, Carried])
def mode(request, data):
    with config_context(enable_metadata_routing=request.param is Routed):
        yield request.param(*data[1:])


@pytest.fixture
def routed(data):
    with config_context(enable_metadata_routing=True):
        yield Routed(*data[1:])


def pipeline(alpha=1.0):
    return make_pipeline(StandardScaler(), NDCGRanker(k=10, estimator=Ridge(alpha=alpha)))


def folds(data):
    X, _, qid = data
    return list(QueryKFold(3).split(X, groups=qid))


def fit_by_hand(estimator, data, rows):
    """A ranker fitted to some rows directly."""
    X, y, qid = data
    return clone(estimator).fit(X[rows], RankingTarget(y, qid)[rows])


def score_by_hand(estimator, data, train, test):
    X, y, qid = data
    scores = fit_by_hand(estimator, data, train).predict(X[test])
    return ndcg_score(y[test], scores, qid=qid[test], k=10)


def scores_by_hand(estimator, data):
    return [score_by_hand(estimator, data, *fold) for fold in folds(data)]


def split_scores(search):
    names = sorted(n for n in search.cv_results_ if n.startswith("split") and "_test_" in n)
    return np.array([search.cv_results_[n] for n in names]).T


# -- cross-validation ------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.long)])
def test_cross_val_score(data, mode, n_jobs):
    scores = cross_val_score(
        pipeline(), data[0], mode.y, cv=QueryKFold(3), scoring=SCORER, n_jobs=n_jobs, **mode.cv
    )
    np.testing.assert_allclose(scores, scores_by_hand(pipeline(), data), rtol=1e-12)


def test_a_plain_regressor_is_scored_by_query(data, mode):
    scores = cross_val_score(Ridge(), data[0], mode.y, cv=QueryKFold(3), scoring=SCORER, **mode.cv)
    np.testing.assert_allclose(scores, scores_by_hand(Ridge(), data), rtol=1e-12)


def test_cross_validate_with_several_scorers(data, mode):
    scoring = {"ndcg": SCORER, "map": get_scorer("map", relevance_level=1)}
    found = cross_validate(
        pipeline(),
        data[0],
        mode.y,
        cv=QueryKFold(3),
        scoring=scoring,
        return_train_score=True,
        **mode.cv,
    )
    for name, scorer in scoring.items():
        alone = cross_val_score(
            pipeline(), data[0], mode.y, cv=QueryKFold(3), scoring=scorer, **mode.cv
        )
        np.testing.assert_allclose(found[f"test_{name}"], alone, rtol=1e-12)
    on_train = [score_by_hand(pipeline(), data, train, train) for train, _ in folds(data)]
    np.testing.assert_allclose(found["train_ndcg"], on_train, rtol=1e-12)


def test_cross_val_predict(data, mode):
    found = cross_val_predict(pipeline(), data[0], mode.y, cv=QueryKFold(3), **mode.cv)
    for train, test in folds(data):
        expected = fit_by_hand(pipeline(), data, train).predict(data[0][test])
        np.testing.assert_allclose(found[test], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")
def test_learning_curve(data, mode):
    sizes, _, scores = learning_curve(
        pipeline(),
        data[0],
        mode.y,
        cv=QueryKFold(3),
        scoring=SCORER,
        train_sizes=[0.5, 1.0],
        **mode.cv,
    )
    for size, row in zip(sizes, scores):
        expected = [score_by_hand(pipeline(), data, a[:size], b) for a, b in folds(data)]
        np.testing.assert_allclose(row, expected, rtol=1e-12)


# -- searches --------------------------------------------------------------------------


def check_search(search, data, mode):
    """The scores are those of loops, and the best is fitted on all rows."""
    X, y, qid = data
    search.fit(X, mode.y, **mode.fit)
    for params, scores in zip(search.cv_results_["params"], split_scores(search)):
        expected = scores_by_hand(clone(search.estimator).set_params(**params), data)
        np.testing.assert_allclose(scores, expected, rtol=1e-12)
    predicted = search.predict(X)
    best = fit_by_hand(search.estimator.set_params(**search.best_params_), data, slice(None))
    np.testing.assert_allclose(predicted, best.predict(X), rtol=1e-10, atol=1e-12)
    whole = search.score(X, mode.y, **mode.fit)
    assert whole == pytest.approx(ndcg_score(y, predicted, qid=qid, k=10), rel=1e-12)


def test_grid_search(data, mode):
    check_search(GridSearchCV(pipeline(), GRID, cv=QueryKFold(3), scoring=SCORER), data, mode)


def test_randomized_search(data, mode):
    search = RandomizedSearchCV(
        pipeline(), GRID, n_iter=2, cv=QueryKFold(3), scoring=SCORER, random_state=0
    )
    check_search(search, data, mode)


def test_halving_grid_search(data, mode):
    # The resource is a parameter: thinning rows would thin the queries.
    search = HalvingGridSearchCV(
        NDCGRanker(DecisionTreeRegressor(random_state=0)),
        {"estimator__min_samples_leaf": [2, 10, 40]},
        resource="estimator__max_depth",
        min_resources=1,
        max_resources=4,
        factor=2,
        cv=QueryKFold(3),
        scoring=SCORER,
        random_state=0,
    )
    check_search(search, data, mode)
    assert search.n_resources_ == [1, 2, 4][: len(search.n_resources_)]


def test_search_inside_cross_validation(data, mode):
    search = GridSearchCV(pipeline(), GRID, cv=QueryKFold(2), scoring=SCORER)
    scores = cross_val_score(search, data[0], mode.y, cv=QueryKFold(3), scoring=SCORER, **mode.cv)
    np.testing.assert_allclose(scores, scores_by_hand(search, data), rtol=1e-12)


def test_grid_search_on_carried_and_routed_queries_is_the_same(data):
    X, y, qid = data
    pipe = make_pipeline(StandardScaler(), NDCGRanker(k=10, estimator=Ridge()))
    carried = GridSearchCV(pipe, GRID, cv=GroupKFold(5), scoring=get_scorer("ndcg@10"))
    carried.fit(X, RankingTarget(y, qid), groups=qid)
    with config_context(enable_metadata_routing=True):
        cv = GroupKFold(5).set_split_request(groups="qid")
        routed = GridSearchCV(pipe, GRID, cv=cv, scoring=get_scorer("ndcg@10"))
        routed.fit(X, y, qid=qid)
    assert np.array_equal(split_scores(carried), split_scores(routed))
    assert split_scores(carried).shape == (3, 5)
    assert np.ptp(split_scores(carried), axis=0).any()
    assert carried.best_params_ == routed.best_params_
    assert np.array_equal(carried.predict(X), routed.predict(X))


def test_grid_search_in_label_form_needs_no_queries(rng):
    X = rng.normal(size=(40, 3))
    y = rng.integers(0, 3, size=(40, 5))
    search = GridSearchCV(pipeline(), GRID, cv=3, scoring=SCORER).fit(X, y)
    assert search.predict(X).shape == y.shape
    assert split_scores(search).shape == (3, 3)


# -- pipelines -------------------------------------------------------------------------


def test_pipeline(data, mode):
    X, y, qid = data
    pipe = pipeline().fit(X, mode.y, **mode.fit)
    Z = StandardScaler().fit_transform(X)
    ranker = NDCGRanker(k=10, estimator=Ridge()).fit(Z, y, qid)
    np.testing.assert_allclose(pipe.predict(X), ranker.predict(Z), rtol=1e-10, atol=1e-12)
    assert pipe.score(X, mode.y, **mode.fit) == pytest.approx(ranker.score(Z, y, qid))


def test_pipeline_hands_qid_to_predict_when_routed(data, routed):
    X, _, qid = data
    pipe = pipeline().fit(X, routed.y, qid=qid)
    assert np.array_equal(pipe.predict(X, qid=qid), pipe.predict(X))
    with pytest.raises(ValueError, match=r"qid must have .* got 3"):
        pipe.predict(X, qid=[1, 2, 3])


def test_supervised_selection_in_a_pipeline(data, mode):
    X, y, _ = data
    pipe = make_pipeline(SelectKBest(f_regression, k=1), NDCGRanker())
    pipe.fit(X, mode.y, **mode.fit)
    best = f_regression(X, y)[0].argmax()
    expected = fit_by_hand(NDCGRanker(), (X[:, [best]], *data[1:]), slice(None))
    np.testing.assert_allclose(pipe.predict(X), expected.predict(X[:, [best]]), rtol=1e-12)


def test_a_fold_is_never_one_query(data):
    X, y, qid = data
    ranker = NDCGRanker().fit(X, y, qid)
    with pytest.raises(MissingQidError, match="RankingTarget"):
        ranker.score(X, y)
    with pytest.raises(MissingQidError, match=r"The scorer got y of more than 200 rows and no qid"):
        SCORER(ranker, X, y)
    with pytest.warns(OneQueryWarning, match=r"The scorer got y and no qid"):
        SCORER(ranker, X[:200], y[:200])
    with pytest.raises(MissingQidError, match="groups=qid"):
        cross_val_score(ranker, X, y, cv=QueryKFold(3), scoring=SCORER)


# -- copies ----------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", first_of_each_class(rankers_and_losses()), ids=ranker_id)
def test_clone_and_pickle(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    loaded = pickle.loads(pickle.dumps(ranker))
    scores = ranker.predict(X, qid)
    assert np.array_equal(loaded.predict(X, qid), scores)
    assert loaded.score(X, y, qid) == ranker.score(X, y, qid)
    twin = clone(ranker)
    assert not hasattr(twin, "estimator_")
    assert np.array_equal(twin.fit(X, y, qid).predict(X, qid), scores)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_scorers_and_splitters_survive_copies(copied):
    scorer = get_scorer("dcg@3", gain="linear", ties="worst", empty="zero")
    assert copied(scorer) == scorer != get_scorer("dcg@3")
    splitter = QueryKFold(4, shuffle=True, random_state=3)
    assert repr(copied(splitter)) == repr(splitter)


# -- tools that know one way only ------------------------------------------------------


def test_permutation_importance(data):
    X, y, qid = data
    ranker = NDCGRanker(k=10).fit(X, y, qid)
    kwargs = {"n_repeats": 3, "random_state": 0}
    carried = permutation_importance(ranker, X, RankingTarget(y, qid), scoring=SCORER, **kwargs)
    expected = permutation_importance(
        ranker, X, y, scoring=lambda e, X, y: ndcg_score(y, e.predict(X), qid=qid, k=10), **kwargs
    )
    np.testing.assert_allclose(carried.importances, expected.importances, atol=1e-12)
    assert carried.importances_mean.argmax() == 0


@pytest.mark.usefixtures("routed")
def test_bagging(data):
    X, y, qid = data
    whole = BaggingRegressor(NDCGRanker(), n_estimators=2, bootstrap=False, random_state=0)
    whole.fit(X, y, qid=qid)
    plain = NDCGRanker().fit(X, y, qid).predict(X)
    np.testing.assert_allclose(whole.predict(X), plain, rtol=1e-10, atol=1e-12)
    bagged = BaggingRegressor(NDCGRanker(), n_estimators=5, random_state=0).fit(X, y, qid=qid)
    members = [member.predict(X) for member in bagged.estimators_]
    np.testing.assert_allclose(bagged.predict(X), np.mean(members, axis=0), rtol=1e-10)
    assert ndcg_score(y, bagged.predict(X), qid=qid, k=10) > ndcg_score(y, 0 * y, qid=qid, k=10)
    assert not np.array_equal(members[0], members[1])


@pytest.mark.usefixtures("routed")
@pytest.mark.parametrize("asked", [None, True])
def test_bagging_draws_weights_for_a_ranker_that_requests_them(asked, data):
    X, y, qid = data
    ranker = NDCGRanker().set_fit_request(sample_weight=asked)
    bagged = BaggingRegressor(ranker, n_estimators=1, random_state=0).fit(X, y, qid=qid)
    rows = bagged.estimators_samples_[0]
    if asked:
        expected = NDCGRanker().fit(X, y, qid, np.bincount(rows, minlength=len(y)))
    else:  # queries are cut
        expected = NDCGRanker().fit(X[rows], y[rows], qid[rows])
    np.testing.assert_allclose(bagged.predict(X), expected.predict(X), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("routed")
def test_stacking_with_a_ranker_on_top(data):
    X, y, qid = data
    below = {"ndcg": NDCGRanker(), "precision": PrecisionRanker(relevance_level=1)}
    stack = StackingRegressor(list(below.items()), final_estimator=DCGRanker(), cv=QueryKFold(3))
    stack.fit(X, y, qid=qid)
    held_out = np.column_stack(
        [cross_val_predict(r, X, y, cv=QueryKFold(3), params={"qid": qid}) for r in below.values()]
    )
    expected = DCGRanker().fit(held_out, y, qid)
    np.testing.assert_allclose(stack.final_estimator_.coef_, expected.coef_, rtol=1e-9)
    assert stack.predict(X).shape == y.shape


@pytest.mark.usefixtures("routed")
def test_rfecv(data):
    X, y, qid = data
    selector = RFECV(NDCGRanker(k=10, estimator=Ridge()), cv=QueryKFold(3), scoring=SCORER, step=1)
    selector.fit(X, y, qid=qid)
    expected = scores_by_hand(NDCGRanker(k=10, estimator=Ridge()), data)
    np.testing.assert_allclose(selector.cv_results_["mean_test_score"][-1], np.mean(expected))
    assert selector.support_[0]


def test_sequential_feature_selector(data, mode):
    X, y, qid = data
    selector = SequentialFeatureSelector(
        NDCGRanker(k=10), n_features_to_select=1, cv=QueryKFold(3), scoring=SCORER
    )
    selector.fit(X, mode.y, **mode.fit)
    means = [
        np.mean(scores_by_hand(NDCGRanker(k=10), (X[:, [j]], y, qid))) for j in range(X.shape[1])
    ]
    assert selector.get_support(indices=True).tolist() == [np.argmax(means)]


@pytest.mark.parametrize("by", [None, "score"])
def test_scores_with_a_unit_in_tools(data, mode, by):
    around = CalibratedRankerCV(NDCGRanker(), "grade", level=None, cv=2)
    if by is not None:
        around = GuaranteedCutoff(NDCGRanker(), "dcg", 0.4, by=by)
    folds = {"cv": QueryKFold(3), "scoring": SCORER, **mode.cv}
    scores = cross_val_score(around, data[0], mode.y, **folds)
    if by is None:  # the order is that of the ranker
        plain = cross_val_score(NDCGRanker(), data[0], mode.y, **folds)
        np.testing.assert_allclose(scores, plain, rtol=1e-9)
    assert scores.min() > 0.3
