"""Boosted rankers trained by several processes of a cluster."""

import signal
import time

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted, made_queries
from dask_cases import da, dask, dd, pd
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from test_dask_trees import check_equal

from skcalrank import (
    BoostedRanker,
    NDCGRanker,
    OrderPreservingRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank.boosting import group_sizes, lightgbm_objective
from skcalrank.data import EqualLabelsWarning, Queries, Rows
from skcalrank.losses import PairwiseSquared
from skcalrank.metrics import ndcg_score

LIBRARIES = [name for name in ENGINES if name != "sklearn"]
every_library = pytest.mark.parametrize("engine", LIBRARIES)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LIBRARIES, reason="needs lightgbm or xgboost"),
]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=True, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    limit = {"skcalrank.time-limit": "30 s"}
    with Client(cluster) as client, dask.config.set(scheduler=None, **limit):
        yield client


def placed(client, parts):
    """Lazy values of arrays or frames, each of which another worker holds."""
    client.wait_for_workers(len(parts), timeout=60)
    futures = [
        client.scatter(part, workers=[address], hash=False)
        for address, part in zip(client.nthreads(), parts)
    ]
    if isinstance(parts[0], pd.DataFrame):
        return dd.from_delayed(futures, meta=parts[0][:0])
    blocks = [
        da.from_delayed(dask.delayed(future), part.shape, meta=part[:0])
        for future, part in zip(futures, parts)
    ]
    return da.concatenate(blocks)


def shards_of(columns, of_row):
    """The rows of each number, with queries in the order of the rows."""
    return [[column[of_row == n] for column in columns] for n in range(of_row.max() + 1)]


def fitted_by(client, ranker, shards):
    """A ranker, fitted to shards of X, y, qid and perhaps weights, of one worker each."""
    lazy = [placed(client, parts) for parts in zip(*shards, strict=True)]
    # Who has no row of positive weight gives its rows to another one.
    n_workers = sum(np.any(shard[3]) if len(shard) > 3 else len(shard[1]) > 0 for shard in shards)
    return fitted_to(client, ranker, lazy, n_workers)


def fitted_to(client, ranker, lazy, n_workers):
    """A ranker, fitted to collections, rows of which so many workers hold."""
    from distributed import get_task_stream

    with get_task_stream(client) as stream:
        ranker.fit(*lazy)
    training = {task["worker"] for task in stream.data if str(task["key"]).startswith("_fitted")}
    assert len(training) == n_workers
    return ranker


def in_halves(columns, n, by_grade=False):
    """Shards of n workers: drawn at random, or sorted by the mean grade of the queries."""
    _, y, qid = columns
    means = np.bincount(qid, y) / np.bincount(qid)
    order = np.argsort(means) if by_grade else np.random.default_rng(0).permutation(len(means))
    return shards_of(columns, (np.argsort(order) * n // len(order))[qid])


@every_library
def test_one_worker_grows_the_trees_of_in_memory_training(client, engine):
    columns = made_queries(80, seed=0)
    ours = fitted_by(client, boosted(engine), [columns])
    check_equal(ours, boosted(engine).fit(*columns))


@every_library
@pytest.mark.parametrize(("n", "by_grade"), [(2, True), (3, False)])
def test_workers_grow_as_good_trees(client, engine, n, by_grade):
    columns, test = made_queries(300, seed=0), made_queries(300, seed=1)
    options = {"n_estimators": 40, "n_iter_no_change": 20, "learning_rate": 0.2}
    local = boosted(engine, **options).fit(*columns)
    ours = fitted_by(client, boosted(engine, **options), in_halves(columns, n, by_grade))
    # The queries to stop on are the same. XGBoost finds thresholds from summaries of the workers;
    # LightGBM compares numbers of rows that it estimates by curvatures, which differ for this loss.
    assert ours.validation_scores_[0] == pytest.approx(local.validation_scores_[0], abs=0.02)
    values = [ndcg_score(test[1], r.predict(test[0]), qid=test[2], k=10) for r in (ours, local)]
    # The mean of five draws is within 0.005: benchmarks/dask_boosting.py.
    assert values[0] == pytest.approx(values[1], abs=0.015)


@pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored:UserWarning")
def test_the_dask_class_of_lightgbm_trains_with_frozen_objectives_only(client):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = made_queries(40, seed=0)
    rows = [placed(client, np.split(of, 2)) for of in (X, y, group_sizes(qid))]
    objective = lightgbm_objective("dcg", "logistic")

    def fitted(objective):
        trees = lightgbm.DaskLGBMRanker(client=client, objective=objective, n_estimators=2)
        return trees.fit(*rows[:2], group=rows[2])

    with pytest.raises(ValueError, match=r"labels of one worker.*Pass objective\.freeze\(y, qid\)"):
        fitted(objective)
    assert fitted(objective.freeze(y, qid)).predict(rows[0]).compute().std() > 0


# -- faults -------------------------------------------------------------------------------


def rows_of(case):
    """Rows X, y, qid and weights, and the worker of each row of several."""
    X, y, qid = made_queries(60, seed=0)
    of_row, weight = qid % 2, np.ones(len(y))
    if case == "of one grade":
        y[qid < 20] = 2
        of_row = (qid >= 20) * 1
    elif case == "of weight 0":
        weight[qid < 20] = 0
        of_row = (qid >= 20) * 1
    elif case == "of one query":
        of_row = (qid > 0) * 1
    elif case == "held out":
        share = BoostedRanker().validation_fraction
        (mask,) = Rows(X, y * 1.0, Queries.from_qid(qid)).held_out(share)
        of_row = mask * 1
    elif case == "of three":
        of_row = 2 * (qid % 2)  # the second one has a partition without rows
    return [X, y, qid, weight], of_row


@every_library
@pytest.mark.parametrize(
    "case", ["of one grade", "of weight 0", "of one query", "held out", "of three"]
)
def test_rows_of_a_worker(client, engine, case):
    columns, of_row = rows_of(case)
    # Several workers of LightGBM estimate counts by curvatures, which are equal here.
    ranker = boosted(engine, loss="pairwise_squared")
    local = clone(ranker).fit(*columns)
    ours = fitted_by(client, ranker, shards_of(columns, of_row))
    near = 1e-12 if engine == "lightgbm" else 0.02
    assert ours.validation_scores_[0] == pytest.approx(local.validation_scores_[0], abs=near)
    values = [r.score(*columns) for r in (ours, local)]
    # Few queries to stop on: seeds alone move the score of XGBoost by 0.04.
    assert values[0] == pytest.approx(values[1], abs=0.03 if engine == "lightgbm" else 0.06)


def dying(engine):
    """A ranker whose loss sends a worker the signal in its variable FATE, after some seconds.

    The loss is made here because workers do not find this file.
    """

    class Dying(PairwiseSquared):
        def derivatives(self, *args):
            import os
            from threading import Timer

            if fate := os.environ.pop("FATE", None):
                number, delay = fate.split()
                Timer(float(delay), os.kill, [os.getpid(), int(number)]).start()
            return super().derivatives(*args)

    return boosted(engine, loss=Dying(), n_estimators=100_000, validation_fraction=None)


@pytest.fixture(scope="module")
def short_lived():
    """A cluster whose workers die."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=True, **options) as cluster:
        yield cluster


# At the first derivatives and later; each case waits for the other worker for 15 seconds.
@pytest.mark.parametrize(("engine", "delay"), zip(LIBRARIES, [0, 1]))
def test_a_worker_that_is_killed_ends_the_fit(short_lived, engine, delay):
    from distributed import Client

    shards = in_halves(made_queries(60, seed=0), 2)
    with Client(short_lived) as client, dask.config.set(scheduler=None):
        lazy = [placed(client, parts) for parts in zip(*shards)]
        victim = max(client.nthreads())
        fate = f"import os; os.environ['FATE'] = '{signal.SIGKILL:d} {delay}'"
        client.run(exec, fate, workers=[victim])
        ranker = dying(engine)
        with pytest.raises(ConnectionError, match=f"workers .*{victim}.* died during the training"):
            ranker.fit(*lazy)
        assert not hasattr(ranker, "booster_")
        # The other worker does not wait for the dead one, and the cluster trains again.
        wait_for_the_same_workers(short_lived, client)
        fitted_by(client, boosted(engine), shards)


def wait_for_the_same_workers(cluster, client):
    """Wait until two workers stay: what started a dead one again may be replaced itself."""
    before, now = None, sorted(client.nthreads())
    for _ in range(60):
        if len(now) == 2 and now == before:
            return
        cluster.scale(2)  # starts those that are missing
        time.sleep(1)
        before, now = now, sorted(client.nthreads())


def test_a_worker_that_stops_answering_ends_the_fit(short_lived):
    from distributed import Client

    engine = "xgboost"  # LightGBM counts the time limit in minutes
    limit = {"skcalrank.time-limit": "3 s"}
    shards = in_halves(made_queries(60, seed=0), 2)
    with Client(short_lived) as client, dask.config.set(scheduler=None, **limit):
        lazy = [placed(client, parts) for parts in zip(*shards)]
        fate = f"import os; os.environ['FATE'] = '{signal.SIGSTOP:d} 1'"
        client.run(exec, fate, workers=[max(client.nthreads())])
        with pytest.raises(ConnectionError, match="did not answer within 3 seconds"):
            dying(engine).fit(*lazy)


def test_a_cluster_that_encrypts_fits():
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    columns = made_queries(60, seed=0)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    security = distributed.Security.temporary()
    with (
        distributed.LocalCluster(processes=True, security=security, **options) as cluster,
        distributed.Client(cluster) as client,
        dask.config.set(scheduler=None),
    ):
        assert all(address.startswith("tls:") for address in client.nthreads())
        trees = fitted_by(client, boosted(LIBRARIES[0]), in_halves(columns, 2))
        linear = fitted_by(client, OrderPreservingRanker(), in_halves(columns, 2))
    local = boosted(LIBRARIES[0]).fit(*columns)
    assert trees.score(*columns) == pytest.approx(local.score(*columns), abs=0.06)
    local = OrderPreservingRanker().fit(*columns)
    np.testing.assert_allclose(linear.coef_, local.coef_, rtol=1e-9)


@every_library
def test_errors_of_a_worker_are_told(client, engine):
    X, y, qid = made_queries(30, seed=0)
    with pytest.raises(ValueError, match="y must be non-negative"):
        fitted_by(client, boosted(engine), in_halves((X, y - (qid == 3), qid), 2))
    with pytest.raises(ValueError, match="query 7 in partitions 0 and 1"):
        fitted_by(client, boosted(engine), shards_of((X, y, qid), (np.arange(len(qid)) >= 110) * 1))
    fitted_by(client, boosted(engine), in_halves((X, y, qid), 2))


@every_library
def test_warnings_of_workers_are_told(client, engine):
    X, y, qid = made_queries(30, seed=0)
    with (
        pytest.warns(EqualLabelsWarning),
        pytest.warns(UndefinedMetricWarning, match="undefined .0/0. on all validation queries"),
    ):
        fitted_by(client, boosted(engine), in_halves((X, 0 * y, qid), 2))


@every_library
def test_tables_of_workers(client, engine):
    X, y, qid = made_queries(60, seed=0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "qid": [f"q{q:02}" for q in qid]})
    frame["kind"] = np.where(qid < 30, "usual", np.where(y > 1, "best", "worst"))
    frame["note"] = [f"{'good' if x > 0 else 'poor'} note {n}" for n, x in enumerate(X[:, 2])]
    frame["weight"] = 1.0 + qid % 3
    names, lazy = ["a", "b", "kind", "note"], placed(client, [frame[qid < 30], frame[qid >= 30]])
    ranker = boosted(engine, loss="pairwise_squared", columns={"note": "text"})
    columns = [(d[names], d["y"], d["qid"], d["weight"]) for d in (frame, lazy)]
    local = clone(ranker).fit(*columns[0])
    ours = fitted_to(client, ranker, columns[1], 2)
    assert ours.encoder_.describe() == local.encoder_.describe()
    values = [r.score(frame[names], y, frame["qid"]) for r in (ours, local)]
    assert values[0] == pytest.approx(values[1], abs=0.03)


@every_library
def test_stacks_of_linear_views_and_trees(client, engine):
    columns, test = made_queries(300, seed=0), made_queries(300, seed=1)
    stack = TabularRanker(trees=boosted(engine, n_estimators=40, learning_rate=0.2))
    local = clone(stack).fit(*columns)
    ours = fitted_by(client, clone(stack), in_halves(columns, 2, by_grade=True))
    for name, view in local.linear_.items():
        np.testing.assert_allclose(ours.linear_[name][-1].coef_, view[-1].coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.spreads_[:3], local.spreads_[:3], rtol=1e-9)
    # Trees are other ones, whose thresholds come from the rows of two workers.
    np.testing.assert_allclose(ours.weights_, local.weights_, atol=0.1)
    values = [ndcg_score(test[1], r.predict(*test[::2]), qid=test[2], k=10) for r in (ours, local)]
    assert values[0] == pytest.approx(values[1], abs=0.015)


def test_stacks_of_closed_forms_and_trees(client):
    columns = made_queries(60, seed=0)
    stack = StackingRanker([("linear", NDCGRanker()), ("trees", boosted(LIBRARIES[0]))])
    local = clone(stack).fit(*columns)
    ours = fitted_by(client, clone(stack), in_halves(columns, 2))
    np.testing.assert_allclose(ours.rankers_[0].coef_, local.rankers_[0].coef_, rtol=1e-8)
    assert ours.spreads_[0] == pytest.approx(local.spreads_[0], rel=1e-9)


def test_rankers_of_a_stack_that_workers_cannot_fit(client):
    shards = in_halves(made_queries(30, seed=0), 2)
    trees = boosted(LIBRARIES[0])
    others = [("trees", trees), ("linear", OrderPreservingRanker())]
    with pytest.raises(ValueError, match=r"linear views.*got \['linear'\]: leave these out"):
        fitted_by(client, StackingRanker(others), shards)
    with pytest.raises(ValueError, match="engine must be 'lightgbm' or 'xgboost' for dask"):
        fitted_by(client, TabularRanker(trees="sklearn"), shards)
