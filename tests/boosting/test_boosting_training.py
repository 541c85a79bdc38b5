"""Objectives and evaluation functions while LightGBM and XGBoost train."""

import numpy as np
import pytest
from boosting_cases import (
    DEEP,
    LIGHT_TRAIN,
    QUERY_WEIGHTS,
    ROWS,
    SIZES,
    draw_labels,
    pickled,
    through_dataset,
    through_lightgbm,
    through_xgboost,
)
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skcalrank import QueryKFold, RankingTarget, get_scorer
from skcalrank.boosting import (
    group_sizes,
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)
from skcalrank.data import MissingQidError
from skcalrank.datasets import make_subset_ranking
from skcalrank.losses import LOSSES
from skcalrank.measures import get_measure
from skcalrank.metrics import measure_score

# -- training -----------------------------------------------------------------------------


LIGHT = {"n_jobs": 1, "verbose": -1, "min_child_samples": 5, "num_leaves": 8}


@pytest.fixture(scope="module")
def made():
    return make_subset_ranking(
        n_queries=400, n_documents=(2, 14), n_intents=4, n_types=10, random_state=3
    )


def regret(data, scores, measure):
    return data.law.bayes_value(measure) - data.law.value(measure, scores)


@pytest.mark.parametrize("loss", LOSSES)
def test_lightgbm_comes_near_the_bayes_value(loss, made):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made
    ranker = lightgbm.LGBMRanker(objective=lightgbm_objective("dcg@5", loss), **LIGHT)
    scores = ranker.fit(X, y, group=group_sizes(qid)).predict(X)
    assert regret(made, np.zeros(len(y)), "dcg@5") > 0.4
    assert regret(made, scores, "dcg@5") < 0.03


@pytest.mark.parametrize("loss", LOSSES)
def test_xgboost_comes_near_the_bayes_value(loss, made):
    xgboost = pytest.importorskip("xgboost")
    X, y, qid = made
    data = xgboost.DMatrix(X, y, group=group_sizes(qid))
    model = xgboost.train(DEEP, data, 100, obj=xgboost_objective("dcg@5", loss))
    assert regret(made, model.predict(data, output_margin=True), "dcg@5") < 0.03


def test_lightgbm_train_is_lgbmranker(made):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made
    weight = np.repeat(1.0 / group_sizes(qid), group_sizes(qid))
    objective = lightgbm_objective("dcg")
    ranker = lightgbm.LGBMRanker(objective=objective, n_estimators=5, **LIGHT)
    ranker.fit(X, y, group=group_sizes(qid), sample_weight=weight)
    data = lightgbm.Dataset(X, y, group=group_sizes(qid), weight=weight)
    model = lightgbm.train(LIGHT_TRAIN | {"objective": objective}, data, 5)
    np.testing.assert_allclose(ranker.predict(X), model.predict(X))
    assert not objective._known._made, "what a training knows goes with it"


def test_trees_start_from_a_given_score(made):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made
    data = lightgbm.Dataset(X, y, group=group_sizes(qid), init_score=y.astype(float))
    params = LIGHT_TRAIN | {"objective": lightgbm_objective("dcg", "squared", gain="linear")}
    assert np.abs(lightgbm.train(params, data, 5).predict(X)).max() < 1e-6


def test_rankers_with_an_objective_are_cloned(made):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made
    ranker = lightgbm.LGBMRanker(objective=lightgbm_objective(), n_estimators=3, **LIGHT)
    ranker.fit(X, y, group=group_sizes(qid))
    again = clone(ranker)
    assert again.objective == ranker.objective
    assert again.objective is not ranker.objective
    again.fit(X, y, group=group_sizes(qid))
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))
    np.testing.assert_array_equal(pickled(ranker).predict(X), ranker.predict(X))


def test_objectives_are_searched(made):
    # The recipe of the docstring of skcalrank.boosting.
    lightgbm = pytest.importorskip("lightgbm")

    class Ranker(lightgbm.LGBMRanker):
        def fit(self, X, y, **params):
            return super().fit(X, y, group=group_sizes(y.qid), **params)

    X, y, qid = made
    grid = {"objective": [lightgbm_objective("dcg"), lightgbm_objective("auc", relevance_level=2)]}
    search = GridSearchCV(
        Ranker(n_estimators=5, **LIGHT), grid, cv=QueryKFold(3), scoring=get_scorer("ndcg@10")
    )
    search.fit(X, RankingTarget(y, qid))
    assert search.best_params_["objective"] in grid["objective"]
    rows, kept = next(QueryKFold(3).split(X, RankingTarget(y, qid)))
    model = Ranker(objective=grid["objective"][0], n_estimators=5, **LIGHT)
    model.fit(X[rows], RankingTarget(y, qid)[rows])
    expected = measure_score("ndcg@10", y[kept], model.predict(X[kept]), qid=qid[kept])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected)


# -- evaluation ---------------------------------------------------------------------------


METRIC_OPTIONS = [
    {"measure": "ndcg@3"},
    {"measure": "ndcg@3", "ties": "worst", "empty": "one", "gain": "linear"},
    {"measure": "map", "relevance_level": 2},
    {"measure": "kendall"},
    {"measure": "neg_pairwise_disagreement", "name": "pd"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", METRIC_OPTIONS, ids=str)
def test_metric_is_ours(options, weighted, rng):
    labels = draw_labels(rng)
    scores = rng.integers(0, 3, ROWS) * 1.0
    weight = np.repeat(QUERY_WEIGHTS, SIZES) if weighted else None
    rest = {k: v for k, v in options.items() if k in ("ties", "empty")}
    made = {k: v for k, v in options.items() if k not in ("ties", "empty", "name")}
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    expected = measure_score(
        get_measure(**made), labels, scores, qid=qid, sample_weight=weight, **rest
    )
    name = options.get("name", options["measure"])
    ours = through_lightgbm(lightgbm_metric(**options), labels, scores, weight)
    assert ours == (options.get("name", f"skcalrank-{name}"), pytest.approx(expected), True)
    assert through_dataset(lightgbm_metric(**options), labels, scores, weight) == ours
    theirs = through_xgboost(xgboost_metric(**options), labels, scores, weight)
    assert theirs == (name, pytest.approx(expected))


def halves(data):
    X, y, qid = data
    first = qid < np.median(qid)
    return (X[first], y[first], qid[first]), (X[~first], y[~first], qid[~first])


def test_lightgbm_stops_early_on_our_metric(made):
    lightgbm = pytest.importorskip("lightgbm")
    (X, y, qid), (X_valid, y_valid, qid_valid) = halves(made)
    ranker = lightgbm.LGBMRanker(
        objective=lightgbm_objective("dcg"), metric="none", n_estimators=200, **LIGHT
    )
    ranker.fit(
        X,
        y,
        group=group_sizes(qid),
        eval_X=(X_valid,),
        eval_y=(y_valid,),
        eval_group=[group_sizes(qid_valid)],
        eval_metric=lightgbm_metric("dcg@2"),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    history = ranker.evals_result_["valid_0"]
    assert list(history) == ["skcalrank-dcg@2"]
    assert 0 < ranker.best_iteration_ < 195
    assert ranker.best_iteration_ == np.argmax(history["skcalrank-dcg@2"]) + 1
    best = measure_score("dcg@2", y_valid, ranker.predict(X_valid), qid=qid_valid)
    assert max(history["skcalrank-dcg@2"]) == pytest.approx(best)


def test_lightgbm_keeps_its_own_metric_beside_ours(made):
    lightgbm = pytest.importorskip("lightgbm")
    (X, y, qid), (X_valid, y_valid, qid_valid) = halves(made)
    ranker = lightgbm.LGBMRanker(objective=lightgbm_objective("dcg"), n_estimators=9, **LIGHT)
    ranker.fit(
        X,
        y,
        group=group_sizes(qid),
        eval_X=(X_valid,),
        eval_y=(y_valid,),
        eval_group=[group_sizes(qid_valid)],
        eval_at=[5],
        eval_metric=lightgbm_metric("ndcg@5"),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    assert set(ranker.evals_result_["valid_0"]) == {"ndcg@5", "skcalrank-ndcg@5"}


def test_weightless_documents_have_no_say_in_eta():
    objective = lightgbm_objective("dcg", "logistic", eta=3.0)
    gradient, curvature = objective([5, 0, 1], [0.0, 0, 0], np.array([0.0, 1, 1]), [3])
    assert gradient[0] == 0
    assert (curvature > 0).all()


def test_lightgbm_train_evaluates(made):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made
    data = lightgbm.Dataset(X, y, group=group_sizes(qid))
    params = LIGHT_TRAIN | {"objective": lightgbm_objective(), "metric": "none"}
    found: dict = {}
    model = lightgbm.train(
        params,
        data,
        3,
        valid_sets=[data],
        feval=[lightgbm_metric("auc", relevance_level=1), lightgbm_metric("ndcg@1")],
        callbacks=[lightgbm.record_evaluation(found)],
    )
    assert set(found["training"]) == {"skcalrank-auc", "skcalrank-ndcg@1"}
    expected = measure_score("ndcg@1", y, model.predict(X), qid=qid)
    assert found["training"]["skcalrank-ndcg@1"][-1] == pytest.approx(expected)


def test_xgboost_stops_early_on_our_metric(made):
    xgboost = pytest.importorskip("xgboost")
    train, valid = (xgboost.DMatrix(X, y, group=group_sizes(qid)) for X, y, qid in halves(made))
    found: dict = {}
    model = xgboost.train(
        DEEP | {"disable_default_eval_metric": True},
        train,
        200,
        obj=xgboost_objective("dcg"),
        custom_metric=xgboost_metric("dcg@2"),
        evals=[(valid, "valid")],
        evals_result=found,
        maximize=True,
        early_stopping_rounds=5,
        verbose_eval=False,
    )
    assert list(found["valid"]) == ["dcg@2"]
    assert model.best_iteration == np.argmax(found["valid"]["dcg@2"]) < 195
    _, (_, y, qid) = halves(made)
    scores = model.predict(valid, iteration_range=(0, model.best_iteration + 1))
    assert model.best_score == pytest.approx(measure_score("dcg@2", y, scores, qid=qid))


def test_lightgbm_cv(made):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made
    folds = list(QueryKFold(3).split(X, y, qid=qid))
    found = lightgbm.cv(
        LIGHT_TRAIN | {"objective": lightgbm_objective("dcg"), "metric": "none"},
        lightgbm.Dataset(X, y, group=group_sizes(qid)),
        3,
        folds=folds,
        feval=lightgbm_metric("ndcg@5"),
        return_cvbooster=True,
    )
    expected = [
        measure_score("ndcg@5", y[test], model.predict(X[test]), qid=qid[test])
        for model, (_, test) in zip(found["cvbooster"].boosters, folds)
    ]
    assert found["valid skcalrank-ndcg@5-mean"][-1] == pytest.approx(np.mean(expected))


def test_xgboost_cv(made):
    xgboost = pytest.importorskip("xgboost")
    X, y, qid = made
    objective = xgboost_objective("dcg")
    found = xgboost.cv(
        DEEP | {"disable_default_eval_metric": True},
        xgboost.DMatrix(X, y, group=group_sizes(qid)),
        3,
        nfold=4,
        obj=objective,
        custom_metric=xgboost_metric("ndcg@5"),
        as_pandas=False,
    )
    assert found["test-ndcg@5-mean"][-1] > measure_score("ndcg@5", y, 0 * X[:, 0], qid=qid) + 0.1
    assert len(objective._known._made) == 4, "one for each fold, of whole queries"


def test_libraries_without_queries(made):
    X, y, _ = made
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.raises(MissingQidError, match="LightGBM passed no group sizes"):
        lightgbm.train(LIGHT_TRAIN | {"objective": lightgbm_objective()}, lightgbm.Dataset(X, y), 1)
    xgboost = pytest.importorskip("xgboost")
    with pytest.raises(MissingQidError, match="The DMatrix has no queries"):
        xgboost.train(DEEP, xgboost.DMatrix(X, y), 1, obj=xgboost_objective())
    with pytest.raises(MissingQidError, match="The DMatrix has no queries"):
        xgboost_metric()(np.zeros(len(y)), xgboost.DMatrix(X, y))


@pytest.mark.parametrize("where", ["train", "dataset"])
@pytest.mark.parametrize("value", [True, "true", "+"])
def test_bagging_by_query_is_refused_where_it_is_seen(where, value, made):
    lightgbm = pytest.importorskip("lightgbm")
    option = {"bagging_by_query": value}
    X, y, qid = made.X, made.y, made.qid

    def train(objective, option, **evaluated):
        params = option if where == "dataset" else None
        data = lightgbm.Dataset(X, y, group=group_sizes(qid), params=params)
        given = {"objective": objective, "verbose": -1} | (option if where == "train" else {})
        return lightgbm.train(given, data, 2, **evaluated)

    with pytest.raises(ValueError, match=r"must be False .* train on the wrong rows"):
        train(lightgbm_objective("ndcg@10"), option)
    train(lightgbm_objective("ndcg@10"), {"bagging_by_query": False})
    train("lambdarank", option)
