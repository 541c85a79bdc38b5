"""Partitions of whole queries, and computations on them."""

import pickle

import numpy as np
import pytest
from dask_cases import (
    EXACT,
    as_dask,
    check_same,
    da,
    dask,
    dd,
    forbidden,
    pd,
    sorted_data,
    unknown,
    whole_queries,
)

from skcalrank import (
    BoostedRanker,
    DCGRanker,
    ExternalRanker,
    NDCGRanker,
    RankingTarget,
    StackingRanker,
    TabularRanker,
)
from skcalrank.dask import partition_by_query
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import QueryScaler

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")


# -- queries in several partitions -----------------------------------------------------


def test_queries_in_two_partitions(rng):
    X, y, qid = sorted_data(rng)
    chunks = whole_queries(qid)
    ranker = NDCGRanker().fit(*as_dask(chunks, X, y, qid))
    again = qid.copy()
    again[-1] = qid[0]  # in the first partition and in the last
    dX, dy, dq = as_dask(chunks, X, y, again)
    message = r"query 10 in partitions 0 and 3.*partition_by_query\(X, y, qid\)"
    for call in (
        lambda: ranker.fit(dX, dy, dq),
        lambda: ranker.score(dX, dy, dq),
        lambda: ranker.rank(dX, dq).compute(),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    # Prediction does not depend on the partitions of queries.
    ranker.predict(dX, dq).compute()


def reading_queries():
    scaled = make_query_pipeline(QueryScaler(), NDCGRanker())
    return {
        "scaled": StackingRanker([("a", NDCGRanker()), ("b", DCGRanker())], normalize="query"),
        "in a member": StackingRanker([("a", NDCGRanker()), ("b", scaled)]),
        "in an estimator": ExternalRanker(scaled),
        "in a start": BoostedRanker(n_estimators=2, start=scaled, n_jobs=1),
        "table": TabularRanker(trees=None),
        "hosted": HostedRanker(scaled),
        "pipeline": scaled,
    }


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("kind", list(reading_queries()))
@pytest.mark.parametrize("as_frame", [False, True])
def test_predictions_that_read_the_query_need_whole_queries(kind, as_frame, rng):
    X, y, qid = sorted_data(rng, (8, 6) * 15)
    ranker = reading_queries()[kind].fit(X, y, qid=qid)
    whole = partition_by_query(*as_dask(29, X, y, qid))
    halved = as_dask((20, len(X) - 20), X, y, qid)
    if as_frame:
        names = list("abcd")[: X.shape[1]]
        ranker.fit(pd.DataFrame(X, columns=names), y, qid=qid)
        X = pd.DataFrame(X, columns=names)
        whole, halved = (
            [dd.from_dask_array(of[0], columns=names), None, dd.from_dask_array(of[2])]
            for of in (whole, halved)
        )
    for method in ("predict", "rank"):
        call, local = getattr(ranker, method), getattr(ranker, method)(X, qid)
        np.testing.assert_allclose(call(whole[0], whole[2]).compute(), local, **EXACT)
        with pytest.raises(ValueError, match=r"query 12 in partitions 0 and 1"):
            call(halved[0], halved[2]).compute()
    if not as_frame:
        one = as_dask(len(X), X)[0]
        np.testing.assert_allclose(ranker.predict(one, 0).compute(), ranker.predict(X, 0), **EXACT)
        with pytest.raises(ValueError, match="query 0 in partitions 0 and 1"):
            ranker.predict(halved[0], 0).compute()


def test_a_host_reads_the_queries_of_a_lazy_frame(rng):
    X, y, qid = sorted_data(rng)
    frame = pd.DataFrame({"a": X[:, 0], "q": qid, "b": X[:, 1], "y": y})
    lazy, names = dd.from_pandas(frame, npartitions=3), ["a", "q", "b"]
    lazy = lazy.shuffle("q").persist()
    ours, local = (
        HostedRanker(NDCGRanker(), qid_column="q").fit(d[names], d["y"]) for d in (lazy, frame)
    )
    assert ours.score(lazy[names], lazy["y"]) == pytest.approx(local.score(frame[names], y))
    for method in ("predict", "rank"):
        found = getattr(ours, method)(lazy[names]).compute().sort_index()
        np.testing.assert_allclose(found, getattr(local, method)(frame[names]), **EXACT)


@pytest.mark.product
@pytest.mark.parametrize("kind", ["array", "unknown", "frame"])
@pytest.mark.parametrize("scattered", [False, True], ids=["contiguous", "scattered"])
@pytest.mark.parametrize("names", [int, str])
def test_partition_by_query(kind, scattered, names, rng):
    X, y, qid = sorted_data(rng, sizes=(6, 1, 9, 4, 25, 5, 8, 2, 3, 6))
    rows = rng.permutation(len(y)) if scattered else np.arange(len(y))
    X, y, qid = X[rows], y[rows], np.array([names(q) for q in qid[rows].tolist()])
    weight = rng.uniform(0.5, 1, len(y))
    given = as_dask(7, X, y, qid, weight)
    if kind == "unknown":
        given = [unknown(a) for a in given]
    if kind == "frame":
        frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, qid=qid, w=weight)
        lazy = dd.from_pandas(frame, npartitions=9, sort=False)
        given = [lazy[list("abcd")], lazy["y"], lazy["qid"], lazy["w"]]
    moved = partition_by_query(*given)
    found = [np.asarray(a.compute()) for a in moved]
    order = np.arange(len(y)) if not scattered else np.lexsort(found[0].T)
    expected = np.arange(len(y)) if not scattered else np.lexsort(X.T)
    for ours, theirs in zip(found, (X, y, qid, weight)):
        assert np.array_equal(ours[order], theirs[expected])
    assert moved[0].npartitions <= given[0].npartitions
    if kind != "frame":
        assert all(a.chunks[0] == moved[0].chunks[0] and sum(a.chunks[0]) == 69 for a in moved)
    features = X if kind != "frame" else frame[list("abcd")]
    ours = NDCGRanker().fit(*moved)
    check_same(ours, NDCGRanker().fit(features, y, qid, weight))
    assert ours.score(*moved) == pytest.approx(ours.score(features, y, qid, weight))


# Queries of any hashable type; pandas stores strings as arrays of objects.
NAMES = {
    "objects": lambda qid: np.array([f"query {q}" for q in qid.tolist()], dtype=object),
    "series": lambda qid: pd.Series([f"query {q}" for q in qid.tolist()]),
    "tuples": lambda qid: [("a", q) for q in qid.tolist()],
    "mixed": lambda qid: [q if q % 2 else ("a", q) for q in qid.tolist()],
    "dates": lambda qid: np.datetime64("2020-01-01") + qid,
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_queries_in_memory(kind, rng):
    X, y, qid = sorted_data(rng)
    named = NAMES[kind](qid)
    local = NDCGRanker().fit(X, y, named)
    check_same(NDCGRanker().fit(*as_dask(whole_queries(qid), X, y), named), local)
    check_same(NDCGRanker().fit(*partition_by_query(*as_dask(13, X, y), named)), local)


@pytest.mark.parametrize("chunks", [13, 51])
@pytest.mark.parametrize("kind", [list, pd.Series, lambda y: RankingTarget(y, np.ones(len(y)))])
def test_what_was_in_memory_becomes_arrays(kind, chunks, rng):
    X, y, qid = sorted_data(rng)
    moved = partition_by_query(*as_dask(chunks, X), kind(y), kind(qid), kind(y))
    for ours, theirs in zip(moved[1:], (y, qid, y)):
        blocks = [block.compute() for block in ours.to_delayed()]
        assert all(type(block) is np.ndarray for block in blocks)
        assert np.array_equal(np.concatenate(blocks), theirs)


@pytest.mark.parametrize("name", ["y", "qid", "sample_weight"])
def test_a_number_is_no_column(name, rng):
    X, y, qid = sorted_data(rng)
    columns = {"y": y, "qid": qid, "sample_weight": y} | {name: 1.0}
    with pytest.raises(ValueError, match=f"{name} must have one value for each row"):
        partition_by_query(*as_dask(13, X), **columns)


def test_partitions_of_whole_queries_stay(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    assert partition_by_query(dX, dy, dq)[0].chunks == dX.chunks


def test_scattered_queries_are_spread(rng):
    qid = rng.permutation(np.repeat(np.arange(400), 10))
    X = forbidden(rng.normal(size=(4000, 2))).rechunk((500, 2))
    chunks = partition_by_query(X, qid, qid)[0].chunks[0]
    assert len(chunks) == 8
    assert max(chunks) < 2 * min(chunks)


def test_contiguous_queries_are_not_shuffled():
    qid = np.repeat(np.arange(400), 10)
    X = da.zeros((4000, 2), chunks=(55, 2))
    moved = partition_by_query(X, qid, qid)[0]
    picked = [key for key in moved.__dask_graph__() if str(key).startswith("_pick")]
    # One piece that stays and one that goes, of every partition.
    assert len(picked) <= 2 * X.npartitions


def test_partition_by_query_of_no_collections():
    X, y = np.ones((4, 2)), np.zeros(4)
    with pytest.raises(ValueError, match="X must be a dask collection"):
        partition_by_query(X, y, y)
    with pytest.raises(ValueError, match="qid must hold"):
        partition_by_query(da.from_array(X), y, None)


# -- nothing is computed too early, too often or too much ------------------------------


class Loads:
    """Counts how often each block is read."""

    def __init__(self, X, chunks):
        self.counts = []
        self.X = da.from_array(X, chunks=(chunks, X.shape[1])).map_blocks(
            self.load, dtype=X.dtype, meta=X[:0]
        )

    def load(self, block, block_info=None):
        self.counts.append(block_info[0]["chunk-location"][0])
        return block


def test_predictions_are_lazy(rng):
    X, y, qid = sorted_data(rng)
    loads = Loads(X, whole_queries(qid))
    ranker = NDCGRanker().fit(X, y, qid)
    lazy = [ranker.predict(loads.X), ranker.surrogate_values(loads.X), ranker.rank(loads.X, qid)]
    assert loads.counts == []
    assert all(a.chunks == (loads.X.chunks[0],) for a in lazy)
    np.testing.assert_allclose(lazy[0].blocks[2].compute(), ranker.predict(X)[lazy_rows(lazy[0])])
    assert loads.counts == [2]
    scores = ranker.predict(X)
    ranker.fit(-X, y, qid)  # what was asked for before is of the ranker as it was
    np.testing.assert_allclose(lazy[0].compute(), scores)


def lazy_rows(array, block=2):
    ends = np.cumsum(array.chunks[0])
    return slice(ends[block - 1], ends[block])


def test_blocks_are_read_once(rng):
    X, y, qid = sorted_data(rng)
    loads = Loads(X, whole_queries(qid))
    ranker = NDCGRanker().fit(loads.X, y, qid)
    assert sorted(loads.counts) == [0, 1, 2, 3]
    ranker.rank(loads.X, qid).compute()
    ranker.score(loads.X, y, qid)
    assert sorted(loads.counts) == sorted([0, 1, 2, 3] * 3)


def test_what_comes_to_the_client_does_not_grow_with_the_rows(monkeypatch, rng):
    sizes = []

    def compute(value):
        found = dask.compute(value)[0]
        sizes.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr("skcalrank.dask._rankers.compute", compute)
    for n_documents in (5, 500):
        X, y, qid = sorted_data(rng, sizes=(n_documents,) * 20)
        dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
        NDCGRanker().fit(dX, dy, dq).score(dX, dy, dq)
    fitted, scored = sizes[::2], sizes[1::2]
    assert abs(fitted[1] - fitted[0]) < 100
    assert fitted[1] < 8000
    assert abs(scored[1] - scored[0]) < 100
    assert scored[1] < 1000
