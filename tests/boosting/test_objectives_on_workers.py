"""Objectives and metrics of workers that each see a part of the queries."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from boosting_cases import through_dataset, through_lightgbm, through_xgboost
from sklearn.exceptions import UndefinedMetricWarning

from skcalrank import RankingTarget
from skcalrank.boosting import (
    group_sizes,
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)
from skcalrank.losses import LOSSES
from skcalrank.measures import MEASURES
from skcalrank.metrics import measure_score

N_QUERIES, N_DOCUMENTS = 12, 5
QID = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
FITTING = sorted(name for name, measure in MEASURES.items() if measure.has_score_targets())
# Two workers, of which the first has the lower grades.
PARTS = [QID < 7, QID >= 7]
WAYS = {
    "LGBMRanker": (lightgbm_objective, through_lightgbm),
    "lightgbm.train": (lightgbm_objective, through_dataset),
    "xgboost.train": (xgboost_objective, through_xgboost),
}


@pytest.fixture
def grades(rng):
    return np.where(PARTS[0], rng.integers(0, 2, len(QID)), rng.integers(0, 5, len(QID)))


def labels_for(measure, grades):
    return grades * 1.0 if measure in ("ndcg", "dcg", "err", "eru", "spearman") else grades > 0.0


def on_workers(through, objective, y, scores, weight=None):
    """Gradients and curvatures of all rows, of which each worker computes its own."""
    derivatives = np.empty((2, len(y)))
    for part in PARTS:
        weights = None if weight is None else weight[part]
        sizes = group_sizes(QID[part])
        derivatives[:, part] = through(objective, y[part], scores[part], weights, sizes)
    return derivatives


@pytest.mark.product
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("measure", FITTING)
def test_workers_compute_the_gradients_of_one_loss(measure, loss, weighted, grades, rng):
    y, scores = labels_for(measure, grades), rng.normal(size=len(QID))
    weight = rng.uniform(0.5, 2.0, N_QUERIES)[QID] if weighted else None
    objective = lightgbm_objective(measure, loss, query_weight="documents")
    whole = objective(y, scores, weight, group_sizes(QID))
    frozen = objective.freeze(y, QID, weight)
    parts = on_workers(through_lightgbm, frozen, y, scores, weight)
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_every_library_gets_the_scales_of_all_labels(way, grades, rng):
    make, through = WAYS[way]
    y, scores = grades / 10, rng.normal(size=len(QID))
    frozen = make("err", "logistic").freeze(y, QID)
    y = y.astype(np.float32)  # as libraries store labels, which rounds some of them up
    whole = through(make("err", "logistic"), y, scores, None, group_sizes(QID))
    np.testing.assert_allclose(on_workers(through, frozen, y, scores), whole, rtol=1e-6)


def test_freeze_reads_labels_in_any_order_and_form(grades, rng):
    objective, order = lightgbm_objective("ndcg", "bregman_kl"), rng.permutation(len(QID))
    names = np.array(list("abcdefghijkl"))[QID]
    frozen = objective.freeze(grades, QID)
    assert frozen.freeze(grades, QID) == frozen
    assert objective.freeze(grades[order], names[order]).loss.eta == pytest.approx(frozen.loss.eta)
    assert objective.freeze(RankingTarget(grades, QID)) == frozen
    assert objective.loss.eta is None


def test_freeze_computes_collections_of_dask(grades):
    array = pytest.importorskip("dask.array")
    y, qid = (array.from_array(values, chunks=20) for values in (grades, QID))
    objective = xgboost_objective("dcg", "exponential")
    assert objective.freeze(y, qid) == objective.freeze(grades, QID)


def test_documents_without_weight_have_no_say_in_the_scales():
    objective, weight = lightgbm_objective("dcg", "logistic"), np.array([0.0, 1.0, 1.0])
    frozen = objective.freeze([5, 0, 1], [0, 0, 0], weight)
    assert frozen.loss.eta == 1.0
    scores = np.zeros(3)
    expected = objective([5, 0, 1], scores, weight, [3])
    np.testing.assert_array_equal(frozen([5, 0, 1], scores, weight, [3]), expected)


def test_rows_are_named_by_one_index():
    pandas = pytest.importorskip("pandas")
    y = pandas.Series([1.0, 0.0], index=["a", "b"])
    with pytest.raises(ValueError, match="qid must have its rows in the order of y"):
        lightgbm_objective().freeze(y, pandas.Series([0, 0], index=["b", "a"]))


def test_labels_above_the_frozen_scale_are_refused():
    frozen = lightgbm_objective("dcg", "logistic", gain="linear").freeze([0, 2], [1, 1])
    with pytest.raises(ValueError, match="eta must be at least 3, the largest target"):
        frozen([3, 0], np.zeros(2), None, [2])


# -- without freeze -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [("err", "squared"), ("dcg", "logistic")])
def test_labels_of_another_scale_are_refused(options, grades):
    objective, scores = lightgbm_objective(*options), np.zeros(len(QID))
    with pytest.raises(ValueError, match=r"one scale, .*objective\.freeze\(y, qid\)"):
        on_workers(through_lightgbm, objective, grades * 1.0, scores)
    # Losses without scales, and labels of one scale, are the same loss for every call.
    on_workers(through_lightgbm, lightgbm_objective(), grades * 1.0, scores)
    on_workers(through_lightgbm, lightgbm_objective(*options), np.minimum(grades, 1.0), scores)


@pytest.mark.parametrize(
    "params",
    [{"num_machines": 2}, {"machines": "127.0.0.1:1,127.0.0.1:2"}, {"nodes": ["a:1", "b:1"]}],
    ids=str,
)
def test_lightgbm_trains_on_several_workers_with_frozen_objectives_only(params, grades):
    lightgbm = pytest.importorskip("lightgbm")
    y, scores, sizes = grades * 1.0, np.zeros(len(QID)), group_sizes(QID)
    data = lightgbm.Dataset(np.zeros((len(y), 1)), y, group=sizes, params={"verbose": -1})
    data.construct().params = params
    objective = lightgbm_objective("dcg", "logistic")
    with pytest.raises(ValueError, match=r"all workers.*Logistic\(eta=15.0\).*freeze\(y, qid\)"):
        objective(scores, data)
    objective.freeze(y, QID)(scores, data)
    lightgbm_objective()(scores, data)


@pytest.fixture
def in_task():
    """Call a function in a task of Dask."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(processes=False, **options) as client:
        yield lambda function, *given: client.submit(function, *given, pure=False).result(60)


def test_lightgbm_trains_in_tasks_of_dask_with_frozen_objectives_only(in_task, grades):
    rows = grades * 1.0, np.zeros(len(QID)), None, group_sizes(QID)
    objective = lightgbm_objective("dcg", "logistic")
    with pytest.raises(ValueError, match=r"labels of one worker.*Pass objective\.freeze\(y, qid\)"):
        in_task(objective, *rows)
    for allowed in (objective.freeze(grades, QID), lightgbm_objective("ndcg")):
        in_task(allowed, *rows)
    with pytest.raises(ValueError, match="max_grade of err must be a number if several workers"):
        in_task(lightgbm_metric("err"), *rows)
    in_task(lightgbm_metric("err", max_grade=4), *rows)
    objective(*rows)  # here, while the worker runs in another thread


# -- workers of XGBoost -------------------------------------------------------------------


NOBODY = np.zeros(len(QID), dtype=bool)


def on_each(parts, work):
    """Return ``work(part)`` of threads that are the workers of one cluster of XGBoost."""
    xgboost = pytest.importorskip("xgboost")
    tracker = pytest.importorskip("xgboost.tracker").RabitTracker(len(parts), "127.0.0.1")
    tracker.start()

    def run(part):
        with xgboost.collective.CommunicatorContext(**tracker.worker_args()):
            return work(part)

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(run, parts, timeout=60))


def matrix(y, part, weight=None, X=None):
    """A DMatrix of some of the rows."""
    xgboost = pytest.importorskip("xgboost")
    X = np.zeros((len(y), 1)) if X is None else X
    data = xgboost.DMatrix(X[part], y[part], qid=QID[part], nthread=1)
    if weight is not None and part.any():
        data.set_weight(weight[part][::N_DOCUMENTS])
    return data


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("empty", ["skip", "one"])
@pytest.mark.parametrize("parts", [PARTS, [*PARTS, NOBODY]], ids=["two", "one without rows"])
def test_the_metric_of_xgboost_is_the_mean_over_all_workers(parts, empty, weighted, grades, rng):
    y, scores = grades * (QID > 1.0), rng.integers(0, 9, len(QID)).astype(float)
    weight = np.where(PARTS[0], 3.0, 0.25) if weighted else None
    metric = xgboost_metric("ndcg@3", empty=empty)
    values = on_each(parts, lambda part: metric(scores[part], matrix(y, part, weight)))
    expected = measure_score("ndcg@3", y, scores, qid=QID, empty=empty, sample_weight=weight)
    assert values == [("ndcg@3", pytest.approx(expected))] * len(parts)


def test_workers_without_weight_or_defined_queries_do_not_count(grades, rng):
    metric, scores = xgboost_metric("ndcg@3"), rng.normal(size=len(QID))
    y, weight = grades * (QID < 9.0), PARTS[0] * 1.0

    def value(y, part, weight):
        return metric(scores[part], matrix(y, part, weight))[1]

    values = on_each(PARTS, lambda part: value(y, part, weight))
    expected = measure_score("ndcg@3", y, scores, qid=QID, sample_weight=weight)
    np.testing.assert_allclose(values, expected)
    values = on_each(PARTS, lambda part: value(y * PARTS[0], part, None))
    np.testing.assert_allclose(values, measure_score("ndcg@3", y * PARTS[0], scores, qid=QID))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(on_each(PARTS, lambda part: value(0 * y, part, None))).all()


def test_workers_of_xgboost_need_scales(grades):
    y, scores = grades * 1.0, np.zeros(len(QID))
    objective = xgboost_objective("dcg", "logistic")
    for function, message in [
        (xgboost_metric("err"), "max_grade of err must be a number"),
        (objective, "the labels of one worker"),
    ]:
        with pytest.raises(ValueError, match=message):
            on_each(PARTS, lambda part: function(scores[part], matrix(y, part)))  # noqa: B023
    frozen = objective.freeze(y, QID)
    *_, nothing = on_each([*PARTS, NOBODY], lambda part: frozen(scores[part], matrix(y, part)))
    assert [derivatives.shape for derivatives in nothing] == [(0,), (0,)]


def test_xgboost_stops_early_on_two_workers_of_which_one_validates(grades, rng):
    xgboost = pytest.importorskip("xgboost")
    X, y = grades[:, None] + rng.normal(size=(len(QID), 2)), grades * 1.0
    objective = xgboost_objective("dcg", "logistic").freeze(y, QID)
    validation = QID % 3 == 0
    params = {"nthread": 1, "disable_default_eval_metric": True, "tree_method": "hist"}

    def train(part):
        history: dict = {}
        evaluated = validation if part is PARTS[0] else NOBODY
        model = xgboost.train(
            params,
            matrix(y, ~validation & part, X=X),
            9,
            obj=objective,
            custom_metric=xgboost_metric("ndcg@3"),
            evals=[(matrix(y, evaluated, X=X), "v")],
            evals_result=history,
            maximize=True,
            early_stopping_rounds=3,
            verbose_eval=False,
        )
        return model, history["v"]["ndcg@3"]

    (model, first), (other, second) = on_each(PARTS, train)
    assert first == second
    assert model.best_iteration == other.best_iteration
    scores = model.predict(matrix(y, validation, X=X), output_margin=True)
    expected = measure_score("ndcg@3", y[validation], scores, qid=QID[validation])
    assert first[-1] == pytest.approx(expected, abs=1e-5)
