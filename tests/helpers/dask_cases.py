"""Dask collections, and arrays to make them of."""

import numpy as np
import pytest
from cases import make_data

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

EXACT = {"rtol": 1e-10, "atol": 1e-12}


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
    """The same collection with unknown chunk sizes."""
    return array[da.ones(len(array), chunks=(array.chunks[0],), dtype=bool)]


def forbidden(X):
    """A collection that raises when it is computed."""

    def fail(_block):
        raise AssertionError("this was not to be computed")

    return da.from_array(X, chunks=(5, X.shape[1])).map_blocks(fail, dtype=X.dtype, meta=X[:0])


def check_same(ours, local):
    for name in ("coef_", "intercept_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(local, name), **EXACT)
    assert ours.n_features_in_ == local.n_features_in_
    assert ours.n_items_ == local.n_items_
