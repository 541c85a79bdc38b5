"""Boosted rankers trained by workers of which each has a part of the queries.

The workers are threads here, which exchange values as processes of a cluster do.
"""

import re
from threading import Event, Timer

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted, made_queries
from sklearn.base import clone
from thread_workers import on_workers

from skcalrank import TabularRanker
from skcalrank.data import LostWorkerError, Queries, Rows, among, workers_of_fit
from skcalrank.losses import PairwiseSquared

LIBRARIES = [name for name in ENGINES if name != "sklearn"]
every_library = pytest.mark.parametrize("engine", LIBRARIES)


def fitted(ranker, columns, of_row, **options):
    """Rankers of workers that have the rows of their number in `of_row`."""

    def work(rank):
        rows = of_row == rank
        taken = [c[rows] if isinstance(c, np.ndarray) else c.loc[rows] for c in columns]
        return clone(ranker).fit(*taken, eval_set=options or None)

    results = on_workers(work, int(of_row.max()) + 1)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def check_alike(parts, local, X):
    """Workers stop at one round, and the value of the first tells that they hold out what one does.

    XGBoost finds thresholds from summaries of the workers.
    """
    assert len({part.best_iteration_ for part in parts}) == 1
    values = [r.validation_scores_[0] for r in (*parts, local)]
    near = 1e-12 if local.engine_ == "lightgbm" else 0.02
    np.testing.assert_allclose(values, values[0], rtol=0, atol=near)
    for part in parts[1:]:
        np.testing.assert_array_equal(part.predict(X), parts[0].predict(X))


def squared(engine, **params):
    """A ranker whose curvatures are equal: several workers of LightGBM estimate counts by them."""
    return boosted(engine, loss="pairwise_squared", **{"n_estimators": 8} | params)


@pytest.mark.product
@every_library
@pytest.mark.parametrize("weighted", [False, True])
def test_workers_hold_out_the_queries_of_in_memory_training(engine, weighted, rng):
    X, y, qid = made_queries(60, seed=0)
    weight = [rng.uniform(0.5, 2.0, 60)[qid]] if weighted else []
    parts = fitted(squared(engine), [X, y, qid, *weight], qid % 3 // 2)
    check_alike(parts, squared(engine).fit(X, y, qid, *weight), X)


@pytest.mark.parametrize("weights", ["none", "equal", "equal on each worker", "different"])
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_the_same_queries_are_drawn(weights, dtype, rng):
    X, y, qid = made_queries(60, seed=0)
    X, weight = (
        X.astype(np.float32),
        {
            "none": None,
            "equal": np.full(len(y), 3.0),
            "equal on each worker": 1.0 + (qid % 3 == 2),
            "different": rng.uniform(0.5, 2.0, len(y)),
        }[weights],
    )
    informative = np.arange(60) % 7 > 0
    whole = Rows(X, y * 1.0, Queries.from_qid(qid), weight)
    masks = whole.held_out(0.2, 5, n_folds=2, informative=informative)

    def draw(rank):
        rows = qid % 3 // 2 == rank
        queries = Queries.from_qid(qid[rows])
        part = Rows(
            X[rows].astype(dtype),
            y[rows] * 1.0,
            queries,
            None if weight is None else weight[rows],
        )
        return part.held_out(0.2, 5, n_folds=2, informative=informative[queries.names])

    for rank, drawn in enumerate(on_workers(draw, 2)):
        np.testing.assert_array_equal(drawn, [mask[qid % 3 // 2 == rank] for mask in masks])


@every_library
def test_several_models_have_the_weights_of_all_rows(engine):
    X, y, qid = made_queries(60, seed=0)
    parts = fitted(squared(engine, n_models=2), [X, y, qid], qid % 3 // 2)
    np.testing.assert_array_equal(parts[0].predict(X), parts[1].predict(X))
    np.testing.assert_array_equal(parts[0].model_weights_, parts[1].model_weights_)
    values, queries = X[:, 0] * qid, Queries.from_qid(qid)

    def spread(rank):
        rows = qid % 2 == rank
        return Queries.from_qid(qid[rows]).spread(values[rows], y[rows] + 0.5)

    expected = queries.spread(values, y + 0.5)
    assert on_workers(spread, 2) == [pytest.approx(expected)] * 2


@pytest.mark.product
@every_library
@pytest.mark.parametrize("measure", ["err", "dcg"])
@pytest.mark.parametrize("loss", ["logistic", "bregman_kl"])
def test_grades_of_single_workers_set_no_scales(engine, loss, measure):
    X, y, qid = made_queries(60, seed=0)
    means = np.bincount(qid, y)
    of_row = (means > np.median(means))[qid].astype(int)  # the first worker has low grades
    ranker = boosted(engine, loss=loss, measure=measure)
    parts, local = fitted(ranker, [X, y, qid], of_row), clone(ranker).fit(X, y, qid)
    assert parts[1].record_.measure == local.record_.measure
    assert parts[0].score(X, y, qid) == pytest.approx(local.score(X, y, qid), abs=0.03)


@every_library
@pytest.mark.parametrize("loss", ["logistic", "bregman_kl"])
def test_workers_without_relevant_documents_set_no_scale(engine, loss):
    X, y, qid = made_queries(60, seed=0)
    y[qid < 20] = 0
    ranker = boosted(engine, loss=loss, n_estimators=1, query_weight=None, learning_rate=1.0)
    parts = fitted(ranker, [X, y, qid], (qid >= 20) * 1)
    near = 1e-9 if engine == "lightgbm" else 0.1
    np.testing.assert_allclose(parts[0].predict(X), ranker.fit(X, y, qid).predict(X), atol=near)


@every_library
def test_all_of_one_grade_on_a_worker(engine):
    X, y, qid = made_queries(60, seed=0)
    y[qid < 20] = 2
    check_alike(
        fitted(squared(engine), [X, y, qid], (qid >= 20) * 1), squared(engine).fit(X, y, qid), X
    )


@every_library
def test_a_category_of_one_worker_is_known_to_all(engine):
    pd = pytest.importorskip("pandas")
    X, y, qid = made_queries(60, seed=0)
    y = np.where(qid < 30, y, 3 * (X[:, 5] > 0))
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["kind"] = np.where(qid < 30, "usual", np.where(y > 0, "best", "worst"))
    frame["note"] = [f"note {n} of the day" for n in range(len(y))]
    ranker = squared(engine, max_leaf_nodes=4, columns={"note": "text"})
    for part in (parts := fitted(ranker, [frame, y, qid], (qid >= 30) * 1)):
        check_alike(parts, clone(ranker).fit(frame, y, qid), frame)
        assert part.feature_importances_[2] > 0.5
        assert part.score(frame[qid >= 30], y[qid >= 30], qid[qid >= 30]) > 0.99


@every_library
def test_a_worker_without_rows_gets_a_query(engine):
    X, y, qid = made_queries(40, seed=0)
    (held_out,) = Rows(X, y * 1.0, Queries.from_qid(qid)).held_out(0.2)
    parts = fitted(squared(engine), [X, y, qid], held_out * 1)
    check_alike(parts, squared(engine).fit(X, y, qid), X)


@pytest.mark.skipif("lightgbm" not in LIBRARIES, reason="needs lightgbm")
def test_the_mixture_is_that_of_memory_for_the_same_trees():
    X, y, qid = made_queries(100, seed=0)
    stack = TabularRanker(trees=squared("lightgbm"))
    ours, local = fitted(stack, [X, y, qid], qid % 2)[0], clone(stack).fit(X, y, qid)
    np.testing.assert_allclose(ours.weights_, local.weights_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.predict(X, qid), local.predict(X, qid), rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not LIBRARIES, reason="needs lightgbm or xgboost")
def test_workers_need_not_know_where_a_loss_is_defined():
    class Interactive(PairwiseSquared):  # as of a notebook: pickle does not find it
        pass

    X, y, qid = made_queries(30, seed=0)
    ranker = boosted(LIBRARIES[0], loss=Interactive())
    parts = fitted(ranker, [X, y, qid], qid % 2)
    check_alike(parts, clone(ranker).fit(X, y, qid), X)
    assert isinstance(parts[0].record_.plan.loss, Interactive)


@pytest.mark.skipif(not LIBRARIES, reason="needs lightgbm or xgboost")
def test_queries_to_stop_on_are_the_same_for_all_workers():
    X, y, qid = made_queries(60, seed=0)
    stop, train = qid >= 40, qid < 40
    sets = {
        "one": (X[train], y[train], qid[train]),
        "new": (X[stop], y[stop], qid[stop]),
    }
    rows = [X[train], y[train], qid[train]]
    parts = fitted(squared(LIBRARIES[0]), rows, qid[train] % 2, **sets)
    check_alike(parts, squared(LIBRARIES[0]).fit(*rows, eval_set=sets), X)
    assert list(parts[1].evals_result_) == ["one", "new"]


# -- workers that fail --------------------------------------------------------------------


class Failing:
    """A worker that fails when it exchanges values for the n-th time.

    If it is `late`, it fails after it has told the others that it goes on.
    """

    def __init__(self, workers, n, late=False):
        self._workers, self._left, self._late = workers, n, late

    def __getattr__(self, name):
        return getattr(self._workers, name)

    def gather(self, value):
        return self.reduce(value, list)

    def reduce(self, value, combine):
        self._left -= 1
        if self._left == 0 and self._late:
            self._workers.reduce(value, combine)
        if self._left == 0:
            raise MemoryError("of a worker")
        return self._workers.reduce(value, combine)


def failed(engine, failing, *how, limit):
    """What two workers raise of which one fails."""
    X, y, qid = made_queries(60, seed=0)

    def work(rank):
        rows = qid % 2 == rank
        workers = workers_of_fit()
        with among(Failing(workers, *how) if rank == failing else workers):
            return boosted(engine).fit(X[rows], y[rows], qid[rows])

    results = on_workers(work, 2, limit=limit, most=60)
    assert isinstance(results[failing], MemoryError)
    assert isinstance(results[1 - failing], LostWorkerError)
    return str(results[1 - failing])


@pytest.mark.product
@every_library
@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("n", [1, 7, 10, 11, 12, 13, 14, 20])
def test_a_worker_that_fails_ends_the_training_of_all(engine, n, failing):
    # Nobody waits until the time limit.
    message = failed(engine, failing, n, limit=300)
    assert message == f"Worker {failing} on 127.0.0.1 failed."


@pytest.mark.slow
@pytest.mark.parametrize("failing", [0, 1])
def test_a_worker_that_fails_inside_of_xgboost_is_lost(failing):
    pytest.importorskip("xgboost")
    message = failed("xgboost", failing, 12, True, limit=20)
    # XGBoost may see it first, or the exchange.
    ours = f"Worker {failing} on 127.0.0.1 failed."
    assert re.match(f"A worker failed, or did not answer within 20 seconds|{ours}", message)


@pytest.mark.long
def test_who_does_not_answer_is_lost():
    def work(rank):
        if rank == 1:
            silence.wait()
        return workers_of_fit().gather(rank)

    silence = Event()
    Timer(3, silence.set).start()
    first, _ = on_workers(work, 2, limit=0.5)
    message = "A worker failed, or did not answer within 0.5 seconds"
    assert isinstance(first, LostWorkerError)
    assert message in str(first)


def test_errors_of_a_sum_are_those_of_all_workers():
    def fails(values):
        raise ZeroDivisionError(f"of {values}")

    for error in on_workers(lambda rank: workers_of_fit().reduce(rank, fails), 3):
        assert repr(error) == "ZeroDivisionError('of [0, 1, 2]')"


def test_who_comes_later_learns_that_a_worker_is_lost():
    def work(rank):
        if rank == 0:
            raise MemoryError("of a worker")
        workers_of_fit().leave()
        return workers_of_fit().gather(rank)

    assert [type(error) for error in on_workers(work, 2)] == [MemoryError, LostWorkerError]
