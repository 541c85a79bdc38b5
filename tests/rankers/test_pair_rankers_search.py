"""Rankers with a surrogate on pairs in the tools of scikit-learn."""

import numpy as np
import pytest
from cases import make_data
from checks import check_all, every_estimator
from pair_cases import EVERY_SETTING, PREDS, map_ranker, pd_ranker, setting, wins
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
)

# -- in the tools of scikit-learn ------------------------------------------------------


@pytest.fixture
def many(rng):
    return make_data(rng, sizes=rng.integers(3, 9, size=18))


TOOLS = {
    "map": (map_ranker(relevance_level=1), get_scorer("map", relevance_level=1)),
    "pd": (pd_ranker(), get_scorer("neg_pairwise_disagreement")),
    "built": (
        pd_ranker(pair_features="concat", estimator=DecisionTreeRegressor(max_depth=3)),
        get_scorer("ndcg@3"),
    ),
    "own": (map_ranker(relevance_level=1), None),
}
every_tool = pytest.mark.parametrize(("ranker", "scoring"), TOOLS.values(), ids=TOOLS)
GRIDS = {
    AveragePrecisionRanker: {"alpha": [0.1, 10.0], "pred": ["diagonal", "beam"]},
    PairwiseDisagreementRanker: {"pred": ["topological", "local_search"]},
}


def grid_of(pipe):
    name, ranker = pipe.steps[-1]
    return {f"{name}__{key}": values for key, values in GRIDS[type(ranker)].items()}


def scores_by_hand(estimator, scoring, X, y, qid):
    out = []
    for train, test in QueryKFold(3).split(X, groups=qid):
        fitted = clone(estimator).fit(X[train], RankingTarget(y[train], qid[train]))
        target = RankingTarget(y[test], qid[test])
        out.append((scoring or type(fitted).score)(fitted, X[test], target))
    return out


@pytest.mark.product
@every_tool
@pytest.mark.parametrize("routing", [False, True], ids=["carried", "routed"])
def test_cross_validation(ranker, scoring, routing, many):
    X, y, qid = many
    estimator = clone(ranker).set_params(**fixed_seed(ranker))
    if scoring is not None:
        estimator = make_pipeline(StandardScaler(), estimator)
    expected = scores_by_hand(estimator, scoring, X, y, qid)
    with config_context(enable_metadata_routing=routing):
        call = {"y": y, "params": {"qid": qid}} if routing else {"y": RankingTarget(y, qid)}
        found = cross_val_score(estimator, X, cv=QueryKFold(3), scoring=scoring, **call)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def fixed_seed(ranker):
    return {} if ranker.estimator is None else {"estimator__random_state": 0}


@pytest.mark.product
@every_tool
@pytest.mark.parametrize("routing", [False, True], ids=["carried", "routed"])
def test_grid_search(ranker, scoring, routing, many):
    X, y, qid = many
    pipe = make_pipeline(StandardScaler(), clone(ranker).set_params(**fixed_seed(ranker)))
    scoring = scoring or get_scorer("map", relevance_level=1)
    with config_context(enable_metadata_routing=routing):
        cv = QueryKFold(3) if routing else GroupKFold(3)
        search = GridSearchCV(pipe, grid_of(pipe), cv=cv, scoring=scoring)
        if routing:
            search.fit(X, y, qid=qid)
        else:
            search.fit(X, RankingTarget(y, qid), groups=qid)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        best = search.best_estimator_
        scores, places = best.predict(X, qid=qid), best[-1].rank(best[0].transform(X), qid)
        assert np.array_equal(np.lexsort((-scores, qid)), np.lexsort((places, qid)))


@pytest.mark.parametrize(
    "scoring", [None, get_scorer("neg_pairwise_disagreement")], ids=["own", "s"]
)
def test_preferences_in_a_grid_search(scoring, many):
    X, y, qid = many
    target = PreferenceTarget.from_relevance(y, qid)
    grid = {"pred": ["topological", "exact"], "alpha": [0.1, 10.0]}
    searches = [
        GridSearchCV(pd_ranker(), grid, cv=GroupKFold(3), scoring=scoring).fit(X, t, groups=qid)
        for t in (target, RankingTarget(y, qid))
    ]
    np.testing.assert_allclose(*(s.cv_results_["mean_test_score"] for s in searches), rtol=1e-9)
    found = cross_val_score(pd_ranker(), X, target, cv=QueryKFold(3), scoring=scoring)
    assert (found <= 0).all()


def test_grid_over_the_score_function(many):
    X, y, qid = many
    grid = {"score_function": ["net_preference", wins]}
    search = GridSearchCV(PairwiseDisagreementRanker(), grid, cv=GroupKFold(3))
    search.fit(X, RankingTarget(y, qid), groups=qid)
    assert search.best_params_["score_function"] in grid["score_function"]


def test_label_form_in_the_tools(label_data):
    X, y = label_data
    target = PreferenceTarget.from_relevance(y)
    grid = {"estimator__alpha": [0.1, 10.0], "pred": ["topological", "exact"]}
    ranker = pd_ranker(estimator=Ridge())
    search = GridSearchCV(ranker, grid, cv=3).fit(X, target)
    other = GridSearchCV(ranker, grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    )


# -- scikit-learn's own checks ---------------------------------------------------------


def variants():
    """Every setting except the exact maps, which are too slow for queries of 200 rows."""
    for make, pred, features in EVERY_SETTING:
        if (pred, features) != (None, "bilinear") and pred != "exact" and features in CHECKED:
            yield setting(make, pred, features)


CHECKED = ("bilinear", "concat", "difference")
DEFAULTS = [setting(make) for make in PREDS]


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@every_estimator(DEFAULTS)
def test_estimator_checks(estimator):
    check_all(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@every_estimator(list(variants()))
def test_estimator_checks_of_variants(estimator):
    check_all(estimator)
