"""Rankers on dask collections: against the fit in memory, and what is asked of partitions."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from cases import make_data, rankers
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor

from skcalrank import (
    AveragePrecisionRanker,
    ClickSessions,
    DCGRanker,
    ERRRanker,
    LeastSquaresRankerCV,
    LowRankLossClassifier,
    MissingQidError,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    RankingTarget,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.dask import _rankers as dask_rankers
from skcalrank.dask import partition_by_query
from skcalrank.linear_model import GramRidge
from skcalrank.measures import ERR
from skcalrank.rankers import ScoreRanker

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

EXACT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(autouse=True)
def in_this_thread():
    """Unless a test asks for the cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


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


def sorted_data(rng, sizes=(6, 1, 9, 4, 7, 5, 8, 2, 3, 6)):
    X, y, qid = make_data(rng, sizes)
    rows = np.argsort(qid, kind="stable")
    return X[rows] + 3, y[rows], qid[rows]


def whole_queries(qid, n_partitions=4):
    """Chunk sizes, of whole queries each."""
    ends = np.flatnonzero(np.append(qid[1:] != qid[:-1], True)) + 1
    ends = ends[np.linspace(0, len(ends) - 1, n_partitions + 1).astype(int)[1:]]
    return tuple(np.diff(ends, prepend=0).tolist())


def as_dask(chunks, *arrays):
    return [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def unknown(array):
    """The same with chunks of sizes that are not known."""
    return array[da.ones(len(array), chunks=(array.chunks[0],), dtype=bool)]


def forbidden(X):
    """A collection that nobody may compute."""

    def fail(_block):
        raise AssertionError("this was not to be computed")

    return da.from_array(X, chunks=(5, X.shape[1])).map_blocks(fail, dtype=X.dtype, meta=X[:0])


def check_same(ours, local):
    for name in ("coef_", "intercept_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(local, name), **EXACT)
    assert ours.n_features_in_ == local.n_features_in_
    assert ours.n_items_ == local.n_items_


SCORE_RANKERS = [
    ranker.set_params(max_grade=2) if isinstance(ranker, ERRRanker) else ranker
    for ranker in rankers()
    if isinstance(ranker, ScoreRanker) and "estimator" in ranker.get_params()
]
every_score_ranker = pytest.mark.parametrize(
    "ranker", SCORE_RANKERS, ids=lambda r: type(r).__name__
)
every_loss = pytest.mark.parametrize("loss", SQUARED_LOSSES)


# -- fit is the fit in memory ----------------------------------------------------------


@every_loss
@every_score_ranker
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_every_score_ranker(ranker, loss, weighted, rng):
    X, y, qid = sorted_data(rng)
    weight = rng.uniform(0, 2, len(y)) if weighted else None
    ranker = clone(ranker).set_params(loss=loss)
    chunks = whole_queries(qid)
    dX, dy, dq = as_dask(chunks, X, y, qid)
    dw = None if weight is None else as_dask(chunks, weight)[0]
    local, ours = clone(ranker).fit(X, y, qid, weight), ranker.fit(dX, dy, dq, dw)
    check_same(ours, local)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
    assert np.array_equal(ours.rank(dX, dq).compute(), local.rank(X, qid))
    assert ours.score(dX, dy, dq, dw) == pytest.approx(local.score(X, y, qid, weight), rel=1e-12)
    assert ours.score(X, y, qid) == pytest.approx(local.score(X, y, qid), rel=1e-12)


@every_loss
@every_score_ranker
def test_label_form(ranker, loss, rng):
    X = rng.normal(size=(30, 3))
    y = rng.integers(0, 3, size=(30, 4)).astype(float)
    weight = rng.uniform(0, 2, 30)
    dX, dy, dw = as_dask(7, X, y, weight)
    dX, dy = dX.rechunk({1: 2}), dy.rechunk({0: 11, 1: 3})
    ranker = clone(ranker).set_params(loss=loss)
    local, ours = clone(ranker).fit(X, y, None, weight), ranker.fit(dX, dy, None, dw)
    check_same(ours, local)
    check_same(clone(ranker).fit(dX, list(map(tuple, y.tolist())), None, dw), local)
    for method in ("predict", "decision_function", "rank"):
        lazy = getattr(ours, method)(dX)
        assert lazy.shape == (30, 4)
        np.testing.assert_allclose(lazy.compute(), getattr(local, method)(X), **EXACT)
    score = local.score(X, y, sample_weight=weight)
    assert ours.score(dX, dy, None, dw) == pytest.approx(score, rel=1e-12)


REGRESSORS = [
    GramRidge(3.0),
    GramRidge(0.0, fit_intercept=False),
    Ridge(3.0),
    Ridge(3.0, fit_intercept=False),
    Ridge(0.5, positive=True, tol=1e-12),
    LinearRegression(),
    LinearRegression(fit_intercept=False),
]


@every_loss
@pytest.mark.parametrize("regressor", REGRESSORS, ids=repr)
def test_every_regressor_of_moments(regressor, loss, rng):
    X, y, qid = sorted_data(rng)
    ranker = NDCGRanker(regressor, loss=loss)
    local = clone(ranker).fit(X, y, qid)
    ours = ranker.fit(*as_dask(whole_queries(qid), X, y, qid))
    near = {"rtol": 1e-4, "atol": 1e-8} if getattr(regressor, "positive", False) else EXACT
    np.testing.assert_allclose(ours.coef_, local.coef_, **near)
    np.testing.assert_allclose(ours.intercept_, local.intercept_, **near)
    assert type(ours.estimator_) is type(regressor)
    assert ours.estimator_.get_params() == local.estimator_.get_params()
    assert ranker.get_params()["estimator"] is regressor


def test_no_estimator_stands_for_gram_ridge(rng):
    X, y, qid = sorted_data(rng)
    ranker = NDCGRanker().fit(*as_dask(whole_queries(qid), X, y, qid))
    assert isinstance(ranker.estimator_, GramRidge)
    assert ranker.estimator is None
    check_same(ranker, NDCGRanker().fit(X, y, qid))


def test_regressors_without_statistics(rng):
    X, y, qid = sorted_data(rng)
    message = r"SGDRegressor has no statistics.*estimator=GramRidge\(alpha=\.\.\.\)"
    with pytest.raises(ValueError, match=message):
        NDCGRanker(SGDRegressor()).fit(forbidden(X), y, qid)


@every_loss
def test_single_precision(loss, rng):
    X, y, qid = sorted_data(rng)
    X = X.astype(np.float32)
    local = NDCGRanker(GramRidge(), loss=loss).fit(X, y, qid)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    ours = NDCGRanker(loss=loss).fit(dX, dy, dq)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=1e-4, atol=1e-6)
    assert ours.predict(dX).dtype == ours.predict(dX).compute().dtype == float


@every_loss
def test_sparse_blocks(loss, rng):
    X, y, qid = sorted_data(rng)
    X = X * (rng.random(X.shape) < 0.5)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    dX = dX.map_blocks(csr_matrix)
    ours = NDCGRanker(loss=loss).fit(dX, dy, dq)
    local = NDCGRanker(loss=loss).fit(X, y, qid)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), rtol=1e-8)
    scattered = rng.permutation(len(y))
    dX = da.from_array(X[scattered], chunks=(13, 4)).map_blocks(csr_matrix)
    dX, dy, dq = partition_by_query(dX, y[scattered], qid[scattered])
    np.testing.assert_allclose(NDCGRanker(loss=loss).fit(dX, dy, dq).coef_, ours.coef_, rtol=1e-8)


@pytest.mark.parametrize("n_partitions", [1, 2, 9, 70])
def test_trees_of_any_depth(n_partitions, rng):
    X, y, qid = sorted_data(rng, sizes=(3,) * 70)
    chunks = whole_queries(qid, n_partitions)
    ours = NDCGRanker().fit(*as_dask(chunks, X, y, qid))
    check_same(ours, NDCGRanker().fit(X, y, qid))


def test_a_partition_without_rows_or_weight(rng):
    X, y, qid = sorted_data(rng)
    chunks = whole_queries(qid)
    weight = np.repeat([1.0, 0.0, 2.0, 0.5], chunks)
    dX, dy, dq, dw = as_dask((0, *chunks[:2], 0, *chunks[2:]), X, y, qid, weight)
    ours, local = NDCGRanker().fit(dX, dy, dq, dw), NDCGRanker().fit(X, y, qid, weight)
    check_same(ours, local)
    np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
    assert np.array_equal(ours.rank(dX, dq).compute(), local.rank(X, qid))
    expected = local.score(X, y, qid, weight)
    assert ours.score(dX, dy, dq, dw) == pytest.approx(expected, rel=1e-12)
    for method in (ours.fit, ours.score):
        with pytest.raises(ValueError, match="sample_weight is zero"):
            method(dX, dy, dq, 0 * dw)
    # Where there is no weight a query is in two partitions all the same.
    with pytest.raises(ValueError, match="lies in partitions 1 and 2"):
        NDCGRanker().fit(dX, dy, da.from_array(0 * qid, chunks=dq.chunks), dw)


@pytest.mark.parametrize("spoil", [lambda X, y: (X * np.nan, y), lambda X, y: (X, -1 - y)])
def test_rows_without_weight_are_validated(spoil, rng):
    X, y, qid = sorted_data(rng)
    chunks = whole_queries(qid)
    weight = np.repeat([1.0, 0.0, 2.0, 0.5], chunks)
    off = weight == 0
    X[off], y[off] = spoil(X[off], y[off])
    for data in ((X, y, qid, weight), as_dask(chunks, X, y, qid, weight)):
        with pytest.raises(ValueError, match=r"NaN|Negative relevance"):
            NDCGRanker().fit(*data)


def test_chunks_in_memory_after_a_fit_by_partitions(rng):
    X, y, qid = sorted_data(rng)
    n = sum(whole_queries(qid)[:3])
    ranker = NDCGRanker(GramRidge()).fit(*as_dask(whole_queries(qid[:n]), X[:n], y[:n], qid[:n]))
    with pytest.raises(ValueError, match="Query 11 was in an earlier chunk"):
        ranker.partial_fit(X[qid == 11], y[qid == 11], qid[qid == 11])
    ranker.partial_fit(X[n:], y[n:], qid[n:])
    check_same(ranker, NDCGRanker().fit(X, y, qid))


# -- collections that correspond -------------------------------------------------------


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
    with pytest.raises(ValueError, match=r"y is in memory.*compute_chunk_sizes"):
        ours.fit(dX, y, dq)
    with pytest.raises(ValueError, match=r"qid has 9 partitions .* 4 of X.*compute_chunk_sizes"):
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
    with pytest.raises(ValueError, match=r"y is in memory.*to_dask_array\(lengths=True\)"):
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
    "X in memory": (lambda _X, y, q: (np.ones((62, 4)), y, q), r"X is in memory: pass y\.compute"),
    "a vector": (lambda X, y, q: (X[:, 0], y, q), r"1 dimensions: give a dask array of shape"),
    "shorter": (lambda X, y, q: (X, y[:-1], q), r"y has 50 rows, X has 51"),
    "shorter in memory": (lambda X, y, _q: (X, y, np.ones(3)), r"qid has 3 rows, X has 51"),
    "judgements": (
        lambda X, _y, _q: (X, PreferenceTarget.from_relevance(np.arange(51), np.ones(51)), None),
        "y is of type PreferenceTarget beside a dask X",
    ),
    "clicks": (
        lambda X, _y, _q: (X, ClickSessions(np.ones(51), [[0, 1]], [1]), None),
        "y is of type ClickSessions beside a dask X",
    ),
    "sparse": (lambda X, _y, q: (X, csr_matrix(np.ones((51, 1))), q), "y is of type csr_matrix"),
    "a string": (lambda X, _y, q: (X, "relevance", q), "y has 9 rows, X has 51"),
    "one number": (lambda X, y, q: (X, y, q, y.sum()), "sample_weight is of type Array: "),
    "delayed": (lambda X, _y, q: (X, dask.delayed(list)(), q), "y is of type Delayed: give"),
    "NaN": (lambda X, y, q: (X * np.nan, y, q), "NaN"),
    "negative": (lambda X, y, q: (X, -y, q), "label|negative"),
    "missing": (lambda X, y, q: (X, y, q * np.nan), "qid is missing in row"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, rng):
    make, message = BAD[case]
    X, y, qid = sorted_data(rng)
    with pytest.raises(ValueError, match=message):
        NDCGRanker().fit(*make(*as_dask(whole_queries(qid), X, y, qid)))


def test_no_qid(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    with pytest.raises(MissingQidError, match="all rows are one query, and X has 4 partitions"):
        NDCGRanker().fit(dX, dy)
    one = NDCGRanker().fit(dX.rechunk(-1), dy)
    check_same(one, NDCGRanker().fit(X, y))
    for method, args in ((one.score, (dX, dy)), (one.rank, (dX,))):
        with pytest.raises(MissingQidError, match="all rows are one query"):
            method(*args)
    named = NDCGRanker().fit(dX, dy, dq)
    for method, args in ((named.score, (dX, dy)), (named.rank, (dX,))):
        with pytest.raises(MissingQidError):
            method(*args)


# -- queries in several partitions -----------------------------------------------------


def test_queries_in_two_partitions(rng):
    X, y, qid = sorted_data(rng)
    chunks = whole_queries(qid)
    ranker = NDCGRanker().fit(*as_dask(chunks, X, y, qid))
    again = qid.copy()
    again[-1] = qid[0]  # in the first partition and in the last
    dX, dy, dq = as_dask(chunks, X, y, again)
    message = r"Query 10 lies in partitions 0 and 3.*partition_by_query\(X, y, qid\)"
    for call in (
        lambda: ranker.fit(dX, dy, dq),
        lambda: ranker.score(dX, dy, dq),
        lambda: ranker.rank(dX, dq).compute(),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    # Of scores queries are no matter.
    ranker.predict(dX, dq).compute()


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


# Of any hashable type; an array of objects is what pandas makes of strings.
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
    with pytest.raises(ValueError, match=f"{name}=1.0: give one value for each row"):
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
    with pytest.raises(ValueError, match="X is in memory"):
        partition_by_query(X, y, y)
    with pytest.raises(ValueError, match="qid is None"):
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
    lazy = [ranker.predict(loads.X), ranker.decision_function(loads.X), ranker.rank(loads.X, qid)]
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

    monkeypatch.setattr(dask_rankers, "compute", compute)
    for n_documents in (5, 500):
        X, y, qid = sorted_data(rng, sizes=(n_documents,) * 20)
        dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
        NDCGRanker().fit(dX, dy, dq).score(dX, dy, dq)
    fitted, scored = sizes[::2], sizes[1::2]
    assert abs(fitted[1] - fitted[0]) < 100
    assert fitted[1] < 8000
    assert abs(scored[1] - scored[0]) < 100
    assert scored[1] < 1000


# -- other rankers ---------------------------------------------------------------------


def test_rankers_without_statistics_say_so(rng):
    X, y, qid = sorted_data(rng)
    supported = {type(ranker) for ranker in SCORE_RANKERS}
    others = [ranker for ranker in rankers() if type(ranker) not in supported]
    assert {OrderPreservingRanker, LeastSquaresRankerCV} <= {type(ranker) for ranker in others}
    others += [
        AveragePrecisionRanker(surrogate="pairwise"),
        PairwiseDisagreementRanker(surrogate="pairwise"),
    ]
    for ranker in others:
        for args in ((forbidden(X), y, qid), (X, forbidden(y[:, None])[:, 0], qid)):
            with pytest.raises(ValueError, match=r"is a dask collection.*compute\(\)"):
                ranker.fit(*args)


def test_what_takes_arrays_only(rng):
    X, y, qid = sorted_data(rng)
    lazy = forbidden(X)
    ranker = NDCGRanker(GramRidge()).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"X is a dask collection.*X\.compute\(\)"):
        ranker.partial_fit(lazy, y, qid)
    with pytest.raises(ValueError, match=r"rank\(X, qid\) <= k tells which rows"):
        ranker.top_k(lazy, qid)
    with pytest.raises(ValueError, match="set max_grade"):
        ERRRanker().fit(lazy, y, qid)
    classifier = LowRankLossClassifier().fit(X, y)
    for method, args in ((classifier.fit, (lazy, y)), (classifier.predict, (lazy,))):
        with pytest.raises(ValueError, match=r"LowRankLossClassifier needs it in memory"):
            method(*args)
    with pytest.raises(ValueError, match=r"LinearScorer|OrderPreservingRanker needs it in memory"):
        OrderPreservingRanker().fit(X, y, qid).decision_function(lazy)


def test_fitted_rankers_of_every_kind(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    kinds = [*rankers(), NDCGRanker(SGDRegressor(random_state=0), loss="squared")]
    kinds += [AveragePrecisionRanker(surrogate="pairwise", relevance_level=1)]
    for ranker in kinds:
        if isinstance(ranker, LeastSquaresRankerCV):
            ranker.set_params(cv=2, alphas=[1.0])
        ranker.fit(X, y, qid)
        name = repr(ranker)
        assert np.array_equal(ranker.rank(dX, dq).compute(), ranker.rank(X, qid)), name
        assert ranker.score(dX, dy, dq) == pytest.approx(ranker.score(X, y, qid)), name
        if getattr(ranker, "surrogate", "score") == "score":
            np.testing.assert_allclose(ranker.predict(dX).compute(), ranker.predict(X), **EXACT)
        else:
            with pytest.raises(ValueError, match="dask collection"):
                ranker.predict(dX, dq)


def test_scores_of_undefined_queries(rng):
    X, _, qid = sorted_data(rng)
    y = (qid == 11) | (qid == 18)  # no other query has anything relevant
    y = y & (rng.random(len(y)) < 0.9) | (np.arange(len(y)) == 6)
    dX, dy, dq = as_dask(whole_queries(qid), X, y.astype(float), qid)
    ranker = NDCGRanker().fit(dX, dy, dq)
    assert ranker.score(dX, dy, dq) == pytest.approx(ranker.score(X, y.astype(float), qid))
    with pytest.warns(UndefinedMetricWarning, match="undefined on every query"):
        assert np.isnan(ranker.score(dX, 0 * dy, dq))


def test_scores_on_a_scale_that_one_partition_does_not_know(rng):
    X, y, qid = sorted_data(rng)
    dX, dy, dq = as_dask(whole_queries(qid), X, y, qid)
    sessions = ClickSessions(qid, np.arange(6)[None, :], [2])
    of_clicks = ERRRanker().fit(X, sessions)
    assert of_clicks.score(dX, sessions) == pytest.approx(of_clicks.score(X, sessions))
    with pytest.raises(ValueError, match="set max_grade"):
        of_clicks.score(dX, dy, dq)
    scaled = ERRRanker(max_grade=2).fit(dX, dy, dq)
    assert scaled.score(dX, dy, dq) == pytest.approx(scaled.score(X, y, qid))
    assert scaled._measure() == ERR(max_grade=2.0)


# -- on a cluster ----------------------------------------------------------------------


@pytest.mark.usefixtures("client")
def test_on_a_cluster(rng):
    X, y, qid = sorted_data(rng, sizes=(6, 1, 9, 4, 7, 5) * 10)
    # Hashes of strings differ from process to process.
    names = np.array([f"query {q}" for q in qid])
    dX, dy, dq = as_dask(90, X, y, names)
    with pytest.raises(ValueError, match="lies in partitions 0 and 1"):
        NDCGRanker().fit(dX, dy, dq)
    dX, dy, dq = partition_by_query(dX, dy, dq)
    for ranker in (NDCGRanker(), DCGRanker(Ridge(2.0), loss="squared")):
        local, ours = clone(ranker).fit(X, y, names), ranker.fit(dX, dy, dq)
        check_same(ours, local)
        np.testing.assert_allclose(ours.predict(dX).compute(), local.predict(X), **EXACT)
        assert np.array_equal(ours.rank(dX, dq).compute(), local.rank(X, names))
        assert ours.score(dX, dy, dq) == pytest.approx(local.score(X, y, names))


@pytest.mark.usefixtures("client")
def test_what_lives_on_a_cluster_stays_there(caplog, rng):
    X, y, qid = sorted_data(rng, sizes=(6, 1, 9, 4, 7, 5) * 10)
    rows = rng.permutation(len(y))
    lazy = [a.persist() for a in as_dask(90, X[rows], y[rows], qid[rows])]
    moved = [a.persist() for a in partition_by_query(*lazy)]
    check_same(NDCGRanker().fit(*moved), NDCGRanker().fit(X, y, qid))
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
