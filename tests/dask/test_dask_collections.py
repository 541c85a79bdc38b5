"""Dask collections that correspond, or do not."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from dask_cases import (
    EXACT,
    as_dask,
    check_same,
    da,
    dask,
    dd,
    pd,
    sorted_data,
    unknown,
    whole_queries,
)
from scipy.sparse import csr_matrix
from sklearn.base import clone

from skcalrank import (
    ClickSessions,
    NDCGRanker,
    PreferenceTarget,
    RankingTarget,
    get_scorer,
)
from skcalrank.dask import partition_by_query
from skcalrank.data import MissingQidError, OneQueryWarning
from skcalrank.evaluation import evaluate_run

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")


def test_columns_in_other_chunks_and_in_memory(rng):
    X, y, qid = sorted_data(rng)
    local = NDCGRanker().fit(X, y, qid)
    chunks = whole_queries(qid)
    dX = da.from_array(X, chunks=(chunks, 3))
    in_other_chunks = as_dask(5, y, qid)
    check_same(NDCGRanker().fit(dX, *in_other_chunks), local)
    for columns in ((y, qid), (y.tolist(), qid.tolist()), (pd.Series(y), pd.Series(qid))):
        check_same(NDCGRanker().fit(dX, *columns, sample_weight=np.ones(len(y))), local)
        check_same(NDCGRanker().fit(dX, *columns, sample_weight=1.0), local)
    check_same(NDCGRanker().fit(dX, RankingTarget(y, qid)), local)
    levels = pd.MultiIndex.from_arrays([qid, np.arange(len(y))], names=["qid", "document"])
    check_same(NDCGRanker().fit(dX, pd.Series(y, index=levels)), local)
    assert local.score(X, y, qid) == pytest.approx(
        NDCGRanker().fit(dX, y, qid).score(dX, RankingTarget(y, qid))
    )


def test_unknown_sizes(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = (unknown(a) for a in as_dask(whole_queries(qid), X, y, qid))
    ours, local = NDCGRanker().fit(dX, dy, dq), NDCGRanker().fit(X, y, qid)
    check_same(ours, local)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
    assert ours.score(dX, dy, dq) == pytest.approx(local.score(X, y, qid))
    # Where the sizes of one are known, the partitions still correspond.
    known = as_dask(whole_queries(qid), X, y, qid)
    check_same(NDCGRanker().fit(known[0], dy, dq), local)
    check_same(NDCGRanker().fit(dX, *known[1:]), local)
    with pytest.raises(ValueError, match=r"y must not be in memory.*compute_chunk_sizes"):
        ours.fit(dX, y, dq)
    with pytest.raises(
        ValueError, match=r"partitions of qid \(9\) .* X \(4\).*compute_chunk_sizes"
    ):
        ours.fit(dX, dy, unknown(as_dask(6, qid)[0]))


def frames(X, y, qid, n_partitions=4):
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(y)) * 2)
    frame["y"], frame["qid"] = y, qid
    starts = np.cumsum((0, *whole_queries(np.array(qid), n_partitions)))
    parts = [frame.iloc[a:b] for a, b in pairwise(starts)]
    lazy = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])
    return frame, lazy


def test_data_frames(rng):
    X, y, qid = sorted_data(rng)
    frame, lazy = frames(X, y, [f"query {q}" for q in qid])
    features = list("abcd")
    local = NDCGRanker().fit(frame[features], y, qid)
    ours = NDCGRanker().fit(lazy[features], lazy["y"], lazy["qid"])
    check_same(ours, local)
    assert list(ours.feature_names_in_) == features
    scores, places = ours.predict(lazy[features]), ours.rank(lazy[features], lazy["qid"])
    expected_places = local.rank(frame[features], qid)
    for found, expected in ((scores, local.predict(frame[features])), (places, expected_places)):
        assert isinstance(found, dd.Series)
        computed = found.compute()
        np.testing.assert_allclose(computed, expected, **EXACT)
        assert computed.index.equals(frame.index)
        assert found.dtype == computed.dtype
    found = ours.score(lazy[features], lazy["y"], lazy["qid"])
    assert found == pytest.approx(local.score(frame[features], y, qid))
    with pytest.raises(ValueError, match=r"y must not be in memory.*to_dask_array\(lengths=True\)"):
        NDCGRanker().fit(lazy[features], y, lazy["qid"])
    by_arrays = clone(ours).fit(lazy[features], lazy["y"], lazy["qid"])
    by_arrays.fit(*as_dask(whole_queries(qid_of(frame)), X, y, qid_of(frame)))
    assert not hasattr(by_arrays, "feature_names_in_")
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(lazy[features[::-1]]).compute()


def test_lazy_frames_become_arrays(rng):
    X, y, qid = sorted_data(rng)
    frame, lazy = frames(X, y, qid)
    features = list("abcd")
    local = NDCGRanker().fit(frame[features], y, qid)
    scores, places = local.predict(lazy[features]), local.rank(lazy[features], lazy["qid"])
    expected = local.predict(frame[features]) + 1, local.rank(frame[features], qid)
    np.testing.assert_allclose((scores + 1).to_dask_array().compute(), expected[0])
    assert np.array_equal(places.to_dask_array(lengths=True).compute(), expected[1])
    cut = dd.from_pandas(frame, npartitions=9)
    moved = partition_by_query(cut[features], cut["y"], cut["qid"])
    arrays = [column.to_dask_array(lengths=True) for column in moved]
    check_same(NDCGRanker().fit(*arrays), NDCGRanker().fit(X, y, qid))


def qid_of(frame):
    return frame["qid"].to_numpy(dtype=str)


def test_divisions_that_differ(rng):
    X, y, qid = sorted_data(rng)
    frame, _ = frames(X, y, qid)
    one, two = (dd.from_pandas(part, npartitions=2) for part in (frame, frame.iloc[:-9]))
    with pytest.raises(ValueError, match="take both from one DataFrame"):
        NDCGRanker().fit(one[list("abcd")], two["y"], one["qid"])


def test_labels_that_carry_their_queries(rng):
    X, y, qid = sorted_data(rng)
    _, lazy = frames(X, y, qid)
    carried = lazy["y"].map_partitions(with_qid, lazy["qid"], meta=with_qid(y[:0], qid[:0]))
    ours = NDCGRanker().fit(lazy[list("abcd")], carried)
    check_same(ours, NDCGRanker().fit(X, y, qid))
    assert ours.score(lazy[list("abcd")], carried) == pytest.approx(
        NDCGRanker().fit(X, y, qid).score(X, y, qid)
    )


def with_qid(y, qid):
    return pd.Series(np.asarray(y, dtype=float), index=pd.Index(np.asarray(qid), name="qid"))


BAD = {
    "X in memory": (
        lambda _X, y, q: (np.ones((62, 4)), y, q),
        "X must be a dask collection if y is one",
    ),
    "a vector": (lambda X, y, q: (X[:, 0], y, q), r"must be a dask array of shape.*1 dimensions"),
    "shorter": (
        lambda X, y, q: (X, y[:-1], q),
        r"X and y must have equally many rows, got 51 and 50",
    ),
    "shorter in memory": (lambda X, y, _q: (X, y, np.ones(3)), r"equally many rows, got 51 and 3"),
    "judgments": (
        lambda X, _y, _q: (X, PreferenceTarget.from_relevance(np.arange(51), np.ones(51)), None),
        "y must be an array or.*got PreferenceTarget",
    ),
    "clicks": (
        lambda X, _y, _q: (X, ClickSessions(np.ones(51), [[0, 1]], [1]), None),
        "y must be an array or.*got ClickSessions",
    ),
    "sparse": (
        lambda X, _y, q: (X, csr_matrix(np.ones((51, 1))), q),
        "y must be an array.*got csr_matrix",
    ),
    "a string": (lambda X, _y, q: (X, "relevance", q), "equally many rows, got 51 and 9"),
    "one number": (lambda X, y, q: (X, y, q, y.sum()), "sample_weight must be.*type Array"),
    "delayed": (
        lambda X, _y, q: (X, dask.delayed(list)(), q),
        "y must be a dask array.*type Delayed",
    ),
    "NaN": (lambda X, y, q: (X * np.nan, y, q), "NaN"),
    "negative": (lambda X, y, q: (X, -y, q), "label|negative"),
    "missing": (lambda X, y, q: (X, y, q * np.nan), "missing value .* in row"),
}


@pytest.mark.every_case
@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, rng):
    make, message = BAD[case]
    X, y, qid = sorted_data(rng)
    with pytest.raises(ValueError, match=message):
        NDCGRanker().fit(*make(*as_dask(whole_queries(qid), X, y, qid)))


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_no_qid(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    with pytest.raises(MissingQidError, match="several partitions, got None for 4"):
        NDCGRanker().fit(dX, dy)
    with pytest.warns(OneQueryWarning):
        one = NDCGRanker().fit(dX.rechunk(-1), dy)
    with pytest.warns(OneQueryWarning):
        check_same(one, NDCGRanker().fit(X, y))
    for method, args in ((one.score, (dX, dy)), (one.rank, (dX,))):
        with pytest.raises(MissingQidError, match="qid must be given if X has several partitions"):
            method(*args)
    named = NDCGRanker().fit(dX, dy, dq)
    for method, args in ((named.score, (dX, dy)), (named.rank, (dX,))):
        with pytest.raises(MissingQidError):
            method(*args)


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_many_rows_without_a_qid(rng):
    X, y = rng.normal(size=(201, 3)), rng.integers(0, 3, size=201)
    dX, dy = da.from_array(X, chunks=(-1, -1)), da.from_array(y, chunks=-1)
    few = NDCGRanker().fit(X[:200], y[:200])
    for call in (NDCGRanker().fit, few.score, partial(get_scorer("ndcg@10"), few)):
        with pytest.raises(MissingQidError, match="of more than 200 rows and no qid"):
            call(dX, dy)
    few.score(dX[:200], dy[:200])
    check_same(NDCGRanker().fit(dX, dy, 7), NDCGRanker().fit(X, y, 7))
    assert few.score(dX, dy, 7) == pytest.approx(few.score(X, y, 7))
    assert get_scorer("ndcg@10")(few, dX, dy, 7) == pytest.approx(few.score(X, y, 7))
    cut = dX.rechunk((100, 3)), dy.rechunk(100)
    with pytest.raises(ValueError, match="must be in one partition, got query 7"):
        NDCGRanker().fit(*cut, 7)


def test_runs_and_judgments_of_lazy_tables():
    run = pd.DataFrame({"qid": [1, 1, 2], "docid": ["a", "b", "a"], "score": [0.2, 0.9, 0.5]})
    qrels = pd.DataFrame({"qid": [1, 2], "docid": ["a", "a"], "relevance": [1, 1]})
    expected = evaluate_run(qrels, run, ["map"])
    assert (
        evaluate_run(*(dd.from_pandas(t, npartitions=2) for t in (qrels, run)), ["map"]) == expected
    )
