"""Comparisons and rankings of lazy scores: those of the same scores in memory."""

import numpy as np
import pytest
from dask_cases import as_dask, dd, forbidden, pd, sorted_data, whole_queries
from sklearn.linear_model import LinearRegression

from skcalrank import NDCGRanker
from skcalrank.data import MissingQidError
from skcalrank.evaluation import compare, rank_frame

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")

every_number = pytest.mark.parametrize("n_partitions", [1, 2, 7])


@pytest.fixture
def frame(rng):
    X, y, qid = sorted_data(rng)
    frame = pd.DataFrame(X, columns=list("abcd"), index=1000 + np.arange(len(y)))
    names = np.array([f"query {q}" for q in qid], dtype=object)
    return frame.assign(y=y, qid=names, first=rng.normal(size=len(y)), second=X[:, 0])


def check_same(ours, local):
    """Comparisons of equal numbers, whatever the order of the queries."""
    assert sorted(ours.queries) == sorted(local.queries)
    pd.testing.assert_frame_equal(ours.to_frame(), local.to_frame())
    np.testing.assert_allclose(ours.differences[0][3:8], local.differences[0][3:8], rtol=1e-9)


@every_number
def test_arrays_are_compared_as_in_memory(frame, n_partitions):
    columns = [frame[name].to_numpy() for name in ("y", "first", "second", "qid")]
    y, first, second, qid = as_dask(whole_queries(columns[3], n_partitions), *columns)
    measures = ["ndcg@3", "err"]
    local = compare(columns[0], {"a": columns[1], "b": columns[2]}, measures, qid=columns[3])
    check_same(compare(y, {"a": first, "b": second}, measures, qid=qid), local)
    check_same(compare(columns[0], {"a": columns[1], "b": second}, measures, qid=qid), local)


def test_frames_are_compared_in_one_graph(frame, rng):
    lazy = dd.from_pandas(frame, npartitions=5).shuffle("qid")
    # Each computation has the rows in another order.
    lazy = lazy.map_partitions(lambda part: part.sample(frac=1, random_state=rng.integers(2**31)))
    local = compare(frame["y"], frame[["first", "second"]], ["ndcg@2", "dcg"], qid=frame["qid"])
    for scores in (lazy[["first", "second"]], {n: lazy[n] for n in ("first", "second")}):
        check_same(compare(lazy["y"], scores, ["ndcg@2", "dcg"], qid=lazy["qid"]), local)
    with pytest.raises(ValueError, match="must not be in memory, because"):
        compare(lazy["y"], {"a": frame["first"].to_numpy()}, ["dcg"], qid=lazy["qid"])


@pytest.mark.product
@every_number
@pytest.mark.parametrize("k", [None, 2])
def test_arrays_are_ranked_as_in_memory(frame, n_partitions, k):
    X, qid = frame[list("abcd")].to_numpy(), frame["qid"].to_numpy()
    ranker = NDCGRanker().fit(X, frame["y"], qid)
    dX, dq, ids = as_dask((0, *whole_queries(qid, n_partitions)), X, qid, frame.index.to_numpy())
    regressor = LinearRegression().fit(X, frame["y"])
    for model in (ranker, regressor):
        pd.testing.assert_frame_equal(
            rank_frame(model, dX, dq, k=k), rank_frame(model, X, qid, k=k)
        )
        pd.testing.assert_frame_equal(
            rank_frame(model, dX, qid, k=k, ids=ids),
            rank_frame(model, X, qid, k=k, ids=frame.index),
        )


def test_frames_are_ranked_by_partition(frame):
    X = frame[list("abcd")]
    ranker = NDCGRanker().fit(X, frame["y"], frame["qid"])
    lazy = dd.from_pandas(frame, npartitions=5).shuffle("qid")
    order = ["qid", "position"]
    ours = rank_frame(ranker, lazy[list("abcd")], lazy["qid"]).sort_values(order)
    local = rank_frame(ranker, X, frame["qid"]).sort_values(order)
    pd.testing.assert_frame_equal(ours.reset_index(drop=True), local.reset_index(drop=True))


def test_what_cannot_be_ranked(frame):
    X, qid = frame[list("abcd")].to_numpy(), frame["qid"].to_numpy()
    ranker = NDCGRanker().fit(X, frame["y"], qid)
    with pytest.raises(ValueError, match="in partitions 0 and 1: repartition by"):
        rank_frame(ranker, *as_dask((10, len(qid) - 10), X, qid))
    with pytest.raises(ValueError, match="X must be a dask collection if qid is one"):
        rank_frame(ranker, X, as_dask(whole_queries(qid), qid)[0])
    with pytest.raises(ValueError, match="at least one row, got none"):
        rank_frame(ranker, *as_dask((0,), X[:0], qid[:0]))
    with pytest.raises(MissingQidError, match="qid must be given"):
        rank_frame(ranker, forbidden(X), None)
