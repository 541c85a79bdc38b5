"""Boosted rankers trained by several processes of a cluster."""

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted, made_queries
from dask_cases import da, dask, dd, pd
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from test_dask_trees import check_equal

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


def placed(client, shards):
    """Collections of which each worker holds one shard, a list of columns."""
    client.wait_for_workers(len(shards))
    addresses = list(client.nthreads())[: len(shards)]
    columns = []
    for parts in zip(*shards, strict=True):
        blocks = []
        for address, part in zip(addresses, parts, strict=True):
            future = client.scatter(part, workers=[address], hash=False)
            blocks.append(da.from_delayed(dask.delayed(future), part.shape, meta=part[:0]))
        columns.append(da.concatenate(blocks))
    return columns


def shards_of(columns, of_row):
    """The rows of each number, with queries in the order of the rows."""
    return [[column[of_row == n] for column in columns] for n in range(of_row.max() + 1)]


def fitted_by(client, ranker, shards, **options):
    """A ranker, fitted to shards of one worker each."""
    from distributed import get_task_stream

    with get_task_stream(client) as stream:
        ranker.fit(*placed(client, shards), **options)
    training = {task["worker"] for task in stream.data if str(task["key"]).startswith("_train")}
    assert len(training) == len(shards)
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
    # The queries to stop on are the same. XGBoost finds thresholds from summaries of the workers.
    near = 1e-12 if engine == "lightgbm" else 1e-3
    assert ours.validation_scores_[0] == pytest.approx(local.validation_scores_[0], abs=near)
    values = [ndcg_score(test[1], r.predict(test[0]), qid=test[2], k=10) for r in (ours, local)]
    # The mean of five draws is within 0.005: benchmarks/dask_boosting.py.
    assert values[0] == pytest.approx(values[1], abs=0.015)


# -- faults -------------------------------------------------------------------------------


def dying(engine):
    """A ranker whose loss kills the worker that has the variable DIE, some rounds after the first.

    The loss is made here because workers do not find this file.
    """

    class Dying(PairwiseSquared):
        def derivatives(self, *args):
            import os
            import signal
            from threading import Timer

            if delay := os.environ.pop("DIE", None):
                Timer(float(delay), os.kill, [os.getpid(), signal.SIGKILL]).start()
            return super().derivatives(*args)

    return boosted(engine, loss=Dying(), n_estimators=100_000, validation_fraction=None)


@pytest.fixture(scope="module")
def short_lived():
    """A cluster whose workers die."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=True, **options) as cluster:
        yield cluster


@every_library
def test_a_worker_that_is_killed_ends_the_fit(short_lived, engine):
    from distributed import Client

    shards = in_halves(made_queries(60, seed=0), 2)
    with Client(short_lived) as client, dask.config.set(scheduler=None):
        lazy = placed(client, shards)
        victim = max(client.nthreads())
        client.run(exec, "import os; os.environ['DIE'] = '1'", workers=[victim])
        ranker = dying(engine)
        with pytest.raises(ConnectionError, match=f"workers .*{victim}.* died during the training"):
            ranker.fit(*lazy)
        assert not hasattr(ranker, "booster_")
        # The other worker does not wait for the dead one, and the cluster trains again.
        fitted_by(client, boosted(engine), shards)


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
    with pytest.warns(UndefinedMetricWarning, match="undefined .0/0. on all validation queries"):
        fitted_by(client, boosted(engine), in_halves((X, 0 * y, qid), 2))


@every_library
@pytest.mark.usefixtures("client")
def test_tables_of_workers(engine):
    X, y, qid = made_queries(60, seed=0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "qid": [f"q{q:02}" for q in qid]})
    frame["kind"] = np.where(qid < 30, "usual", np.where(y > 1, "best", "worst"))
    frame["weight"] = 1.0 + qid % 3
    lazy = dd.from_pandas(frame, npartitions=4, sort=False).repartition(npartitions=4)
    names = ["a", "b", "kind"]
    ranker = boosted(engine, loss="pairwise_squared")
    ours, local = (
        clone(ranker).fit(d[names], d["y"], d["qid"], sample_weight=d["weight"])
        for d in (lazy, frame)
    )
    assert ours.encoder_.describe() == local.encoder_.describe()
    values = [r.score(frame[names], y, frame["qid"]) for r in (ours, local)]
    assert values[0] == pytest.approx(values[1], abs=0.03)
