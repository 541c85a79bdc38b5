"""Callbacks of the libraries, called between the rounds of training."""

import numpy as np
import pytest
from boosting_cases import boosted, made_queries
from sklearn.pipeline import make_pipeline

from skcalrank import NDCGRanker

X, Y, QID = made_queries(20, seed=0)
SETS = {"training": (X, Y, QID), "other": made_queries(9, seed=1)}

FIXED = {"random_state": 0, "n_estimators": 8, "n_iter_no_change": 100}


def fitted(engine, callbacks, *, sets=None, **params):
    ranker = boosted(engine, **FIXED | params)
    return ranker.fit(X, Y, QID, eval_set=SETS if sets is None else sets, callbacks=callbacks)


# -- LightGBM -----------------------------------------------------------------------------


@pytest.fixture
def lightgbm():
    return pytest.importorskip("lightgbm")


def test_lightgbm_records_the_values_that_were_followed(lightgbm):
    record = {}
    ranker = fitted("lightgbm", [lightgbm.record_evaluation(record)])
    assert {name: list(of) for name, of in record.items()} == {name: ["ndcg@10"] for name in SETS}
    for name, values in ranker.evals_result_.items():
        assert record[name]["ndcg@10"] == values.tolist()


def test_lightgbm_without_a_set_has_no_values(lightgbm):
    del lightgbm
    results = []

    def look(environment):
        results.append(environment.evaluation_result_list)

    boosted("lightgbm", **FIXED, validation_fraction=None).fit(X, Y, QID, callbacks=[look])
    assert results == [[]] * 8


def test_lightgbm_sees_the_model_and_the_rounds(lightgbm):
    del lightgbm
    seen = []

    def look(environment):
        model, number = environment.model, environment.iteration
        seen.append((number, model.current_iteration(), environment.evaluation_result_list))
        assert (environment.begin_iteration, environment.end_iteration) == (0, 8)
        assert environment.params["num_leaves"] == 15

    def first(environment):
        look(environment)

    first.before_iteration = True
    ranker = fitted("lightgbm", [look, first])
    assert [number for number, *_ in seen] == [n for n in range(8) for _ in "ab"]
    assert [n_rounds for _, n_rounds, _ in seen] == [
        n + after for n in range(8) for after in (0, 1)
    ]
    assert [results is None for *_, results in seen] == [True, False] * 8
    assert seen[-1][2][-1][2] == ranker.validation_scores_[-1]


def test_lightgbm_changes_the_learning_rate(lightgbm):
    rates = [0.3] * 4 + [0.03] * 4
    changed = fitted("lightgbm", [lightgbm.reset_parameter(learning_rate=rates)])
    plain = fitted("lightgbm", [], learning_rate=0.3)
    assert (changed.validation_scores_[:4] == plain.validation_scores_[:4]).all()
    assert (changed.validation_scores_[4:] != plain.validation_scores_[4:]).all()


def test_lightgbm_stops_early(lightgbm):
    with_own = fitted(
        "lightgbm", [lightgbm.early_stopping(2, verbose=False)], sets=SETS["other"], n_estimators=60
    )
    plain = fitted("lightgbm", None, sets=SETS["other"], n_estimators=60, n_iter_no_change=2)
    np.testing.assert_array_equal(with_own.validation_scores_, plain.validation_scores_)
    assert len(with_own.validation_scores_) < 60
    np.testing.assert_array_equal(with_own.predict(X), plain.predict(X))


def test_lightgbm_calls_in_the_order_of_the_callbacks(lightgbm):
    del lightgbm
    calls = []

    def call(name, order):
        def callback(environment):
            del environment
            calls.append(name)

        callback.order = order
        return callback

    fitted("lightgbm", [call("second", 20), call("first", 10)], n_estimators=2)
    assert calls == ["first", "second"] * 2


# -- XGBoost ------------------------------------------------------------------------------


@pytest.fixture
def xgboost():
    return pytest.importorskip("xgboost")


def recorder(xgboost, stop_at=None, before=None):
    class Recorder(xgboost.callback.TrainingCallback):
        def __init__(self):
            super().__init__()
            self.calls, self.log = [], None

        def before_training(self, model):
            self.calls.append("begin")
            return model

        def before_iteration(self, model, epoch, evals_log):
            assert model.num_boosted_rounds() == epoch
            self.calls.append(("before", epoch, bool(evals_log)))
            return epoch == before

        def after_iteration(self, model, epoch, evals_log):
            assert model.num_boosted_rounds() == epoch + 1
            self.calls.append(("after", epoch, bool(evals_log)))
            self.log = {name: dict(of) for name, of in evals_log.items()}
            return epoch == stop_at

        def after_training(self, model):
            self.calls.append("end")
            return model

    return Recorder()


def test_xgboost_calls_before_and_after_training_and_rounds(xgboost):
    callback = recorder(xgboost)
    ranker = fitted("xgboost", [callback], n_estimators=2)
    rounds = [("before", 0, False), ("after", 0, True), ("before", 1, True), ("after", 1, True)]
    assert callback.calls == ["begin", *rounds, "end"]
    for name, values in ranker.evals_result_.items():
        assert callback.log[name] == {"ndcg@10": values.tolist()}


@pytest.mark.parametrize("where", ["stop_at", "before"])
def test_xgboost_stops_where_a_callback_says_so(xgboost, where):
    callback = recorder(xgboost, **{where: 3})
    ranker = fitted("xgboost", [callback, recorder(xgboost)])
    assert len(ranker.validation_scores_) == (4 if where == "stop_at" else 3)
    assert ranker.best_iteration_ == int(np.argmax(ranker.validation_scores_)) + 1
    assert callback.calls[-1] == "end"


def test_xgboost_grows_one_round_at_least(xgboost):
    assert fitted("xgboost", [recorder(xgboost, before=0)]).best_iteration_ >= 1


def test_xgboost_stops_early(xgboost):
    stopping = xgboost.callback.EarlyStopping(rounds=2, maximize=True)
    with_own = fitted("xgboost", [stopping], sets=SETS["other"], n_estimators=60)
    plain = fitted("xgboost", None, sets=SETS["other"], n_estimators=60, n_iter_no_change=2)
    np.testing.assert_array_equal(with_own.validation_scores_, plain.validation_scores_)
    np.testing.assert_array_equal(with_own.predict(X), plain.predict(X))
    # The same object, for another fit and for each of its models.
    two = {**FIXED, "n_models": 2, "n_estimators": 60}
    with_own = boosted("xgboost", **two).fit(X, Y, QID, callbacks=[stopping])
    plain = boosted("xgboost", **{**two, "n_iter_no_change": 2}).fit(X, Y, QID)
    assert [len(of) for of in with_own.validation_scores_] == [
        len(of) for of in plain.validation_scores_
    ]
    np.testing.assert_array_equal(with_own.predict(X), plain.predict(X))


def test_xgboost_changes_the_learning_rate(xgboost):
    # The schedule is read after each round, for the next one.
    schedule = xgboost.callback.LearningRateScheduler(lambda number: 0.3 if number < 3 else 0.03)
    changed = fitted("xgboost", [schedule], learning_rate=0.3)
    plain = fitted("xgboost", [], learning_rate=0.3)
    assert (changed.validation_scores_[:4] == plain.validation_scores_[:4]).all()
    assert (changed.validation_scores_[4:] != plain.validation_scores_[4:]).all()


# -- every library ------------------------------------------------------------------------


def counter(engine, counts):
    """A callback that counts the trainings and the rounds."""
    if engine == "lightgbm":

        def callback(environment):
            counts.append(environment.iteration)

        return callback

    class Counter(pytest.importorskip(engine).callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            del model, evals_log
            counts.append(epoch)

    return Counter()


every_library = pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])


@every_library
@pytest.mark.parametrize(
    "params", [{"n_models": 2}, {"start": NDCGRanker()}], ids=["models", "start"]
)
def test_every_training_begins_anew(engine, params):
    pytest.importorskip(engine)
    counts = []
    fitted(engine, [counter(engine, counts)], n_estimators=3, **params)
    assert counts == [0, 1, 2] * (2 if "n_models" in params else 3)


@every_library
def test_callbacks_that_only_look_change_nothing(engine):
    pytest.importorskip(engine)
    looked = fitted(engine, [counter(engine, [])])
    np.testing.assert_array_equal(looked.predict(X), fitted(engine, None).predict(X))


@every_library
def test_callbacks_of_a_step(engine):
    pytest.importorskip(engine)
    counts = []
    pipe = make_pipeline(boosted(engine, **FIXED))
    pipe.fit(X, Y, boostedranker__qid=QID, boostedranker__callbacks=[counter(engine, counts)])
    assert counts == list(range(8))


@every_library
def test_an_error_of_a_callback_leaves_the_ranker_as_it_was(engine):
    pytest.importorskip(engine)

    class Failing(list):
        def append(self, number):
            raise OSError(f"round {number}")

    ranker = fitted(engine, None)
    before = vars(ranker).copy()
    with pytest.raises(OSError, match="round 0"):
        ranker.fit(X, Y, QID, callbacks=[counter(engine, Failing())])
    assert vars(ranker) == before


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost", "sklearn"])
def test_callbacks_of_another_library_are_refused(engine):
    pytest.importorskip(engine)
    ranker = boosted(engine, **FIXED)
    with pytest.raises(ValueError, match=f"callbacks must be .* engine='{engine}'.*, got .*'no'"):
        ranker.fit(X, Y, QID, callbacks=["no"])
    with pytest.raises(ValueError, match="callbacks must be a list, got <built-in function print>"):
        ranker.fit(X, Y, QID, callbacks=print)
    assert not hasattr(ranker, "booster_")
