"""Rankers on a cluster of two processes."""

import numpy as np
import pytest
from dask_cases import EXACT, as_dask, check_same, dask, dd, pd, sorted_data
from dask_frames import SOURCES, STEPS, rows_after, split
from sklearn.base import clone
from sklearn.linear_model import Ridge
from tables import made_columns

from skcalrank import DCGRanker, LeastSquaresRankerCV, NDCGRanker
from skcalrank.dask import partition_by_query
from skcalrank.metrics import ndcg_score
from skcalrank.preprocessing import TableEncoder


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    # Any free port: tests that run side by side have a cluster each.
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=True, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client, dask.config.set(scheduler=None):
        yield client


@pytest.mark.usefixtures("client")
@pytest.mark.slow
def test_on_a_cluster(rng):
    X, y, qid = sorted_data(rng, sizes=(6, 1, 9, 4, 7, 5) * 10)
    # Hashes of strings differ from process to process.
    names = np.array([f"query {q}" for q in qid])
    dX, dy, dq = as_dask(90, X, y, names)
    with pytest.raises(ValueError, match="in partitions 0 and 1"):
        NDCGRanker().fit(dX, dy, dq)
    dX, dy, dq = partition_by_query(dX, dy, dq)
    for ranker in (NDCGRanker(), DCGRanker(Ridge(2.0), loss="squared")):
        local, ours = clone(ranker).fit(X, y, names), ranker.fit(dX, dy, dq)
        check_same(ours, local)
        np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
        assert np.array_equal(ours.rank(dX, dq).compute(), local.rank(X, names))
        assert ours.score(dX, dy, dq) == pytest.approx(local.score(X, y, names))


@pytest.mark.usefixtures("client")
@pytest.mark.slow
def test_rounds_on_a_cluster(rng):
    X, y, qid = sorted_data(rng, sizes=(6, 1, 9, 4, 7, 5) * 10)
    names = np.array([f"query {q}" for q in qid])
    for estimator in (LeastSquaresRankerCV(["ndcg@3", "spearman"]),):
        ours = clone(estimator).fit(*partition_by_query(*as_dask(90, X, y, names)))
        local = clone(estimator).fit(X, y, names)
        np.testing.assert_allclose(ours.predict(X), local.predict(X), rtol=1e-9)


@pytest.mark.usefixtures("client")
@pytest.mark.slow
def test_tables_on_a_cluster():
    frame = pd.DataFrame(made_columns(200)).convert_dtypes().astype({"listed": "M8[s]"})
    lazy = dd.from_pandas(frame, npartitions=5)
    ours, local = TableEncoder().fit(lazy), TableEncoder().fit(frame)
    assert ours.describe() == local.describe()
    np.testing.assert_array_equal(ours.transform(lazy).compute(), local.transform(frame))


@pytest.mark.slow
@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("source", ["from_pandas", "read_parquet"])
@pytest.mark.parametrize("step", STEPS)
def test_frames_on_a_cluster(source, step, tmp_path):
    d, frame = STEPS[step](SOURCES[source](tmp_path)), rows_after(step)
    X, y, qid = split(d)
    local = NDCGRanker().fit(*split(frame))
    check_same(NDCGRanker().fit(X, y, qid), local)
    expected = pytest.approx(local.score(*split(frame)), rel=1e-12)
    assert local.score(X, y, qid) == expected
    assert ndcg_score(y, local.predict(X), qid=qid) == expected
    check_same(NDCGRanker().fit(*partition_by_query(X, y, qid)), local)


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_what_lives_on_a_cluster_stays_there(caplog, rng):
    X, y, qid = sorted_data(rng, sizes=(6, 1, 9, 4, 7, 5) * 10)
    rows = rng.permutation(len(y))
    lazy = [a.persist() for a in as_dask(90, X[rows], y[rows], qid[rows])]
    moved = [a.persist() for a in partition_by_query(*lazy)]
    check_same(NDCGRanker().fit(*moved), NDCGRanker().fit(X, y, qid))
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
