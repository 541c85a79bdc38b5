"""Callbacks that scikit-learn has since version 1.9."""

import numpy as np
import pandas as pd
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries, pickled
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skcalrank import (
    BoostedRanker,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    StackingRanker,
)
from skcalrank.metrics import get_scorer
from skcalrank.persistence import load_model, save_model

callback = pytest.importorskip("sklearn.callback")

every_engine = pytest.mark.parametrize("engine", ENGINES)

X, Y, QID = made_queries(20, seed=0)
NEW = made_queries(6, seed=1)
FIXED = {"n_estimators": 7, "n_iter_no_change": 100, "random_state": 0}


def few(engine=FIRST, **params):
    return boosted(engine, **FIXED | params)


class Recorder:
    """Notes the tasks, and what ends them."""

    def __init__(self, stop=(None, None)):
        self.stop, self.tasks, self.begun, self.rankers, self.told = stop, [], [], [], []

    def setup(self, estimator, context):
        self.begun.append(("setup", context.max_subtasks))

    def teardown(self, estimator, context):
        self.begun.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.tasks.append((context.task_name, context.task_id))
        self.told.append((X, y, metadata))
        if context.task_name == "round":
            self.rankers.append(fitted_estimator)
        return (context.task_name, context.task_id) == self.stop


def recorded(ranker, **options):
    recorder = Recorder(**options)
    return ranker.set_callbacks(recorder).fit(X, Y, QID), recorder


@every_engine
def test_each_round_is_a_task_of_a_model(engine):
    _, recorder = recorded(few(engine, n_models=2, n_estimators=3))
    rounds = [("round", number) for number in range(3)]
    assert recorder.tasks == [*rounds, ("model 1", 0), *rounds, ("model 2", 1), ("fit", 0)]
    assert recorder.begun[:3] == [("setup", 2), "fit", "model 1"]
    assert recorder.begun[-1] == "teardown"


def test_each_training_with_a_start_is_a_task():
    _, recorder = recorded(few(start=NDCGRanker(), n_estimators=2))
    assert recorder.tasks[2::3] == [("model 1", 0), ("model 1", 1), ("model 1", 2)]
    assert recorder.begun[0] == ("setup", 3)


@every_engine
def test_callbacks_that_only_look_change_nothing(engine):
    ranker, _ = recorded(few(engine))
    plain = few(engine).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))
    np.testing.assert_array_equal(ranker.validation_scores_, plain.validation_scores_)


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("case", ["plain", "models", "start"])
def test_the_estimator_of_a_round_predicts_as_if_fit_stopped(engine, case):
    params = {"models": {"n_models": 2}, "start": {"start": NDCGRanker()}}.get(case, {})
    ranker, recorder = recorded(few(engine, validation_fraction=0.3, **params))
    stages = list(ranker.staged_predict(NEW[0]))
    assert len(recorder.rankers) == FIXED["n_estimators"] * {"models": 2, "start": 3}.get(case, 1)
    for number, fitted in enumerate(recorder.rankers[: len(stages)], 1):
        assert fitted.best_iteration_ == number
        assert len(fitted.validation_scores_) == number
        if case == "plain":
            np.testing.assert_array_equal(fitted.predict(NEW[0]), stages[number - 1])
    last = recorder.rankers[-1]
    assert np.isfinite(last.predict(NEW[0])).all()
    assert 0 <= last.score(*NEW) <= 1
    if case == "models":
        # Of the first model alone, then of both.
        assert [len(fitted.model_weights_) for fitted in recorder.rankers] == [1] * 7 + [2] * 7


def test_a_fit_again_begins_with_new_trees():
    ranker, recorder = recorded(few())
    ranker.fit(*NEW)
    again = [fitted.predict(X) for fitted in recorder.rankers[7:]]
    expected = few(n_estimators=1).fit(*NEW).predict(X)
    np.testing.assert_array_equal(again[0], expected)


@every_engine
def test_callbacks_stop_the_rounds(engine):
    ranker, recorder = recorded(few(engine), stop=("round", 3))
    assert len(ranker.validation_scores_) == 4
    assert recorder.tasks[-1] == ("fit", 0)
    plain = few(engine, n_estimators=4).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))


@pytest.mark.parametrize("case", ["models", "start"])
def test_callbacks_leave_out_later_models(case):
    params = {"n_models": 3} if case == "models" else {"start": NDCGRanker()}
    ranker, recorder = recorded(few(**params), stop=("model 1", 0))
    assert [task for task in recorder.tasks if "model" in task[0]] == [("model 1", 0)]
    plain = few().fit(X, Y, QID)
    assert len(ranker.model_weights_) == 1
    if case == "start":
        np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))
    assert list(ranker.staged_predict(X))[-1].tolist() == ranker.predict(X).tolist()


def test_callbacks_are_told_the_arguments_of_fit():
    weight = np.ones(len(Y))
    recorder = Recorder()
    few().set_callbacks(recorder).fit(X, Y, QID, weight)
    for told_X, told_y, metadata in recorder.told:
        assert told_X is X
        assert told_y is Y
        assert metadata.keys() == {"qid", "sample_weight"}
        assert metadata["qid"] is QID


def test_callbacks_are_torn_down_after_an_error():
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise OSError("disk is full")

    ranker = few().fit(X, Y, QID)
    scores = ranker.predict(X)
    recorder = Failing()
    with pytest.raises(OSError, match="disk is full"):
        ranker.set_callbacks(recorder).fit(*NEW)
    assert recorder.begun[-1] == "teardown"
    assert not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & vars(ranker).keys()
    np.testing.assert_array_equal(ranker.predict(X), scores)


# -- those of scikit-learn, and its tools --------------------------------------------------


@pytest.mark.parametrize("carried", [False, True], ids=["qid", "carried"])
def test_a_monitor_scores_every_round(carried):
    monitor = callback.ScoringMonitor(scoring={"ndcg": get_scorer("ndcg@10")})
    ranker = few().set_callbacks(monitor)
    ranker.fit(X, RankingTarget(Y, QID)) if carried else ranker.fit(X, Y, QID)
    data = [row for row in monitor.get_logs().data if row["task_name"] == "round"]
    assert len(data) == len(ranker.validation_scores_)
    best = data[ranker.best_iteration_ - 1]
    assert best["ndcg"] == ranker.score(X, Y, QID)


def test_a_monitor_reads_tables():
    table = pd.DataFrame(X).rename(columns=str).assign(kind=np.array(["a", "b"])[QID % 2])
    monitor = callback.ScoringMonitor(scoring={"map": get_scorer("map", relevance_level=1)})
    few().set_callbacks(monitor).fit(table, Y, QID)
    assert len(monitor.get_logs().data) == 8  # the rounds, and the fit


def test_a_search_passes_its_callbacks_on():
    class Passed(Recorder):
        max_propagation_depth = None

    recorder = Passed()
    search = GridSearchCV(few(), {"max_leaf_nodes": [3, 5]}, cv=QueryKFold(2))
    search.set_callbacks(recorder).fit(X, RankingTarget(Y, QID))
    assert sum(name == "round" for name, _ in recorder.tasks) == 7 * (2 * 2 + 1)
    assert "_skl_callbacks" not in vars(search.best_estimator_)


def test_members_of_a_stack_keep_their_callbacks():
    recorder = Recorder()
    stack = StackingRanker([("a", NDCGRanker()), ("b", few().set_callbacks(recorder))])
    stack.fit(X, Y, QID)
    assert ("round", 6) in recorder.tasks


def test_a_clone_has_the_callbacks():
    recorder = Recorder()
    clone(few().set_callbacks(recorder)).fit(X, Y, QID)
    assert recorder.tasks[-1] == ("fit", 0)


def test_a_fitted_ranker_is_stored_without_them(tmp_path):
    ranker, _ = recorded(few())
    scores = ranker.predict(X)
    save_model(ranker, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    np.testing.assert_array_equal(stored.predict(X), scores)
    assert "_skl_callbacks" not in vars(stored)
    monitor = callback.ScoringMonitor(scoring={"ndcg": get_scorer("ndcg@10")})
    monitored = few().set_callbacks(monitor).fit(X, Y, QID)
    np.testing.assert_array_equal(pickled(monitored).predict(X), scores)


def test_set_callbacks_returns_the_ranker():
    ranker = BoostedRanker()
    assert ranker.set_callbacks(Recorder()) is ranker
    assert ranker.set_callbacks() is ranker
    with pytest.raises(TypeError, match="callbacks must be instances"):
        ranker.set_callbacks(print)
