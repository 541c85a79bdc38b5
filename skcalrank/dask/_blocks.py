"""Partitions of dask collections: sums over them in a tree, and results that stay lazy.

Knows nothing of rankers, and imports dask only where there is a collection of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..data import Judgments, Queries, is_lazy, plain, qid_array

# So many partial results are added up by one task.
_SPLIT_EVERY = 8


class Partitions(NamedTuple):
    """Blocks of rows, each with its part of every collection.

    Attributes
    ----------
    blocks : list of dict
        Delayed values by name; None for what is not given.
    X : dask collection
        What the blocks were cut from, all features in one chunk.
    """

    blocks: list[dict[str, Any]]
    X: Any

    def map(self, function, *shared, of=None) -> list:
        """Delayed results of ``function(*shared, number, **block)``, of every block.

        ``of`` names the collections that the function sees; None = all.
        """
        from dask import delayed

        task = delayed(function)
        common = [delayed(value, traverse=False) for value in shared]
        return [
            task(*common, number, **{name: block[name] for name in of or block})
            for number, block in enumerate(self.blocks)
        ]


def partitions(X, lazily=False, **columns) -> Partitions:
    """Cut X into its blocks of rows, and what stands beside it into the same.

    Parameters
    ----------
    X : dask array or dask DataFrame of shape (n_rows, d)
    lazily : bool, default=False
        Whether a lazy collection is to be made of the blocks.
    **columns : dask collection, array-like of length n_rows, number or None
        Collections in memory are cut where the blocks of X are of known sizes.

    Returns
    -------
    partitions : Partitions

    Raises
    ------
    ValueError
        If the blocks do not correspond.
    """
    if not is_lazy(X):
        name = next(name for name, values in columns.items() if is_lazy(values))
        raise ValueError(
            f"{name} is a dask collection and X is in memory: pass {name}.compute(), or X as a "
            "dask collection too."
        )
    if not (_is_array(X) or is_frame(X)) or X.ndim != 2:
        raise ValueError(
            f"X is of type {type(X).__name__}, of {getattr(X, 'ndim', 'no')} dimensions: give a "
            "dask array of shape (n_rows, d) or a dask DataFrame."
        )
    X = _in_one_piece(X)
    parts: dict[str, list] = {"X": _blocks(X, lazily)}
    for name, values in columns.items():
        parts[name] = _cut(name, values, X, lazily)
    return Partitions([dict(zip(parts, block)) for block in zip(*parts.values())], X)


def _is_array(values):
    return type(values).__module__.startswith("dask.array")


def is_frame(values) -> bool:
    """Whether a dask collection is a DataFrame or a Series."""
    return isinstance(getattr(values, "divisions", None), tuple)


def _sizes(values):
    """Rows of each block, or None."""
    if not _is_array(values) or np.isnan(values.chunks[0]).any():
        return None
    return values.chunks[0]


def _in_one_piece(array):
    """All columns of a dask array in one chunk."""
    return array.rechunk({1: -1}) if _is_array(array) and array.ndim == 2 else array


def _blocks(values, lazily=False) -> list:
    # What becomes part of a lazy array is optimised with it; twice, and dask would find that one
    # name stands for two tasks.
    optimize = not (lazily and _is_array(values))
    return np.ravel(values.to_delayed(optimize_graph=optimize)).tolist()


def _cut(name, values, X, lazily):
    """The blocks of a column that stand beside those of X."""
    if values is None or not (is_lazy(values) or np.iterable(values)):
        return [values] * X.npartitions
    if not is_lazy(values):
        return _slices(name, values, _sizes(X))
    if not (_is_array(values) or is_frame(values)) or not values.ndim:
        raise ValueError(
            f"{name} is of type {type(values).__name__}: give a dask array, Series or DataFrame "
            "that has the rows of X."
        )
    return _blocks(_aligned(name, _in_one_piece(values), X), lazily)


def _slices(name, values, sizes):
    if issparse(values) or not hasattr(values, "__getitem__") or isinstance(values, Judgments):
        raise ValueError(
            f"{name} is of type {type(values).__name__} beside a dask X: give relevances as an "
            "array or a dask collection, or compute X."
        )
    if sizes is None:
        raise ValueError(
            f"{name} is in memory, and the sizes of the partitions of X are not known: call "
            "X.compute_chunk_sizes() of an array, X.to_dask_array(lengths=True) of a DataFrame, "
            f"or give {name} as a dask collection with the partitions of X."
        )
    rows = values.iloc if hasattr(values, "iloc") else values
    if isinstance(values, (list, tuple)):
        rows = as_rows(name, values)
    _check_length(name, len(values), sum(sizes))
    ends = np.cumsum(sizes)
    return [rows[end - size : end] for size, end in zip(sizes, ends)]


def as_rows(name, values) -> np.ndarray:
    """A column in memory as an array; only names of queries may be tuples."""
    return qid_array(values) if name == "qid" else np.asarray(values)


def _check_length(name, n, n_rows):
    if n != n_rows:
        raise ValueError(f"{name} has {n} rows, X has {n_rows}.")


def _aligned(name, values, X):
    """A dask column in the partitions of X."""
    sizes, own = _sizes(X), _sizes(values)
    if sizes is not None and own is not None:
        _check_length(name, sum(own), sum(sizes))
        return values.rechunk({0: sizes})
    divisions = [getattr(v, "divisions", (None,)) for v in (X, values)]
    known = all(None not in d for d in divisions)
    if values.npartitions != X.npartitions or (known and divisions[0] != divisions[1]):
        raise ValueError(
            f"{name} has {values.npartitions} partitions that do not correspond to the "
            f"{X.npartitions} of X, and their sizes are not known: call compute_chunk_sizes() of "
            "both arrays, or take both from one DataFrame."
        )
    return values


def compute(value):
    """Compute one delayed value, by the scheduler in force."""
    import dask

    return dask.compute(value)[0]


def tree(values, combine):
    """Delayed result of ``combine(list)``, of a few values at a time.

    Parameters
    ----------
    values : list of delayed
    combine : callable
        From a list of values to one, associative.
    """
    from dask import delayed

    task = delayed(combine)
    while len(values) > 1:
        starts = range(0, len(values), _SPLIT_EVERY)
        values = [task(values[start : start + _SPLIT_EVERY]) for start in starts]
    return values[0]


def collect(values, like, *, width=None, dtype=float):
    """A lazy array of delayed results; a Series with the index of `like` if that is a DataFrame.

    Parameters
    ----------
    values : list of delayed
        One array for every block of `like`.
    like : dask array or dask DataFrame
    width : int, default=None
        Number of columns; None = one-dimensional.
    dtype : dtype, default=float
    """
    from dask import delayed

    if is_frame(like) and width is None:
        index = delayed(_with_index)
        series = [index(value, block) for value, block in zip(values, like.to_delayed())]
        return lazy_frame(series, _with_index(np.zeros(0, dtype), like._meta), like.divisions)
    ends = () if width is None else (width,)
    return lazy_array(values, _sizes(like), np.empty((0,) * (1 + len(ends)), dtype), ends)


def _with_index(values, frame):
    import pandas as pd

    return pd.Series(values, index=frame.index)


def lazy_frame(values, meta, divisions=None):
    """A DataFrame or Series of delayed blocks; `meta` is an empty one of its kind."""
    import dask.dataframe as dd

    # Blocks are checked: unchecked ones dask 2026.8 loses where they become arrays.
    return dd.from_delayed(values, meta=meta, divisions=divisions)


def lazy_array(values, sizes, meta, ends):
    """An array of delayed blocks of shapes ``(size, *ends)``; sizes None = unknown."""
    import dask.array as da

    sizes = [np.nan] * len(values) if sizes is None else sizes
    blocks = [da.from_delayed(v, (n, *ends), meta=meta) for v, n in zip(values, sizes)]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


# -- queries in partitions -------------------------------------------------------------


def check_disjoint(found) -> dict:
    """The partition of every query, or an error for one that lies in two.

    Parameters
    ----------
    found : list of dict
        Number of the partition by name of the query.
    """
    owners: dict = {}
    for names in found:
        for name in owners.keys() & names.keys():
            first, second = sorted((owners[name], names[name]))
            raise ValueError(
                f"Query {plain(name)!r} lies in partitions {first} and {second}, and all rows of a "
                "query must lie in one: repartition by X, y, qid = "
                "skcalrank.dask.partition_by_query(X, y, qid)."
            )
        owners |= names
    return owners


def disjoint(found):
    """Delayed :func:`check_disjoint`, which gives nothing: what waits for it need not hold it."""
    from dask import delayed

    return delayed(_nothing)(tree(found, check_disjoint))


def _nothing(_):
    return None


def names_of(queries: Queries, number: int) -> dict:
    """The queries of a partition, with its number."""
    return {} if queries.names is None else dict.fromkeys(queries.names.tolist(), number)
