"""Move rows between partitions so that every query lies in one."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..data import Queries, check_qid, is_lazy
from ._blocks import compute, is_frame, join, lazy_array, lazy_frame, sizes_of
from ._cut import as_rows, partitions


def partition_by_query(X: Any, y: Any, qid: Any, sample_weight: Any = None) -> tuple[Any, ...]:
    """Move rows between partitions so that every query lies in one.

    A query that lies in several partitions moves to the one that has most of its rows; of several
    that have, to the one with fewest rows so far. Where queries are contiguous that moves the ends
    of the partitions and nothing else; where they are scattered it is a shuffle.

    Parameters
    ----------
    X : dask array or dask DataFrame of shape (n_rows, d)
    y : dask collection or array-like of shape (n_rows,)
        Relevances.
    qid : dask collection or array-like of shape (n_rows,)
        Query of each row.
    sample_weight : dask collection or array-like of shape (n_rows,), default=None

    Returns
    -------
    X, y, qid : dask collections
        The same rows in the new partitions, lazily; also `sample_weight` if it was given. Rows
        keep their order within the rows that come from one partition, and those that come from a
        shuffle are in the order of their contents: the collections have their rows in the same
        order even if they are computed one by one. Arrays know their chunk sizes.

    Raises
    ------
    ValueError
        If the partitions of the collections do not correspond.

    Notes
    -----
    `qid` is computed at once, to count the rows of every query in every partition: one pass over
    it, or over all columns of data frames, and memory for these counts on the client. A task
    copies what one partition sends to another: one or two per partition where queries are
    contiguous, and up to the square of the number of partitions where they are scattered at
    random. Where that is too many, sort or shuffle by query on disk before.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from skcalrank import NDCGRanker
    >>> from skcalrank.dask import partition_by_query
    >>> X = da.from_array(np.arange(12.0).reshape(6, 2) ** 2, chunks=(3, 2))
    >>> y, qid = np.array([0, 1, 2, 0, 0, 1]), np.array([7, 7, 8, 8, 9, 9])
    >>> X, y, qid = partition_by_query(X, y, qid)
    >>> X.chunks[0], qid.compute().tolist()
    ((4, 2), [7, 7, 8, 8, 9, 9])
    >>> NDCGRanker().fit(X, y, qid).rank(X, qid).compute()
    array([2, 1, 2, 1, 2, 1])
    """
    columns = {"y": y, "qid": qid, "sample_weight": sample_weight}
    columns = {n: _as_column(n, values) for n, values in columns.items() if values is not None}
    if "qid" not in columns:
        raise ValueError("qid is None: pass the query of each row.")
    if not is_lazy(X):
        raise ValueError("X is in memory: partition_by_query needs a dask collection.")
    given = {"X": X, **columns}
    # Blocks of sizes that are not known are read whole, to see that they correspond.
    known = all(sizes_of(values) is not None for values in given.values() if is_lazy(values))
    counts = partitions(X, **columns).map(_count, of=["qid"] if known else None)
    plan = _plan(compute(counts))
    blocks = partitions(X, lazily=True, **columns).columns()
    return tuple(_rebuilt(name, values, blocks, plan) for name, values in given.items())


def _as_column(name, values):
    """A column in memory as an array, a lazy one as it is."""
    if is_lazy(values):
        return values
    column = as_rows(name, values)
    if not column.ndim:
        raise ValueError(f"{name}={values!r}: give one value for each row, or None.")
    return column


def _count(number, *, qid, **_others) -> dict:
    """Rows of each query of a block."""
    queries = Queries.from_qid(check_qid(qid, len(qid)))
    assert queries.names is not None  # grouped by a qid
    return dict(zip(queries.names.tolist(), queries.sizes.tolist()))


class _Plan(NamedTuple):
    """Where rows go.

    Attributes
    ----------
    homes : list of dict
        Of every old partition, the new one of its queries.
    sources : dict of int to list of int
        Old partitions that a new one has rows of.
    sizes : dict of int to int
        Rows of a new partition.
    """

    homes: list[dict]
    sources: dict[int, list[int]]
    sizes: dict[int, int]


def _plan(counts) -> _Plan:
    """Choose a partition for every query, given its rows in each."""
    home_of = _homes(counts)
    homes = [{name: home_of[name] for name in names} for names in counts]
    # Partitions that all queries have left are none any more.
    sizes = dict.fromkeys(sorted(set(home_of.values())), 0)
    sources: dict[int, list[int]] = {home: [] for home in sizes}
    for number, names in enumerate(counts):
        for home in set(homes[number].values()):
            sources[home].append(number)
        for name, n_rows in names.items():
            sizes[home_of[name]] += n_rows
    if not sizes:
        raise ValueError("X has no rows: there is nothing to be moved.")
    return _Plan(homes, sources, sizes)


def _homes(counts) -> dict:
    """The partition of every query: the one with most of its rows, then with fewest in all."""
    places = defaultdict(list)
    for number, names in enumerate(counts):
        for name in names:
            places[name].append(number)
    load = [sum(n for name, n in names.items() if len(places[name]) == 1) for names in counts]
    homes = {}
    for name, numbers in places.items():
        homes[name] = numbers[0]
        if len(numbers) > 1:
            rows = {number: counts[number][name] for number in numbers}
            most = max(rows.values())
            homes[name] = min((n for n in numbers if rows[n] == most), key=load.__getitem__)
            load[homes[name]] += sum(rows.values())
    return homes


def _destinations(qid, homes):
    queries = Queries.from_qid(check_qid(qid, len(qid)))
    to = np.array([homes[name] for name in queries.names.tolist()])
    return to[queries.codes]


def _rebuilt(name, values, blocks, plan):
    """A collection in its new partitions."""
    from dask import delayed

    pick, joined, destinations = delayed(_pick), delayed(join), delayed(_destinations)
    # Names are no keys of tasks, and dask is not to look at each of them.
    whole = partial(delayed, traverse=False)
    # None: all rows stay. Of each collection its own, or dask warns: it fuses tasks of a
    # collection, and those that several share not alike.
    going = [
        None if set(homes.values()) <= {number} else destinations(block["qid"], whole(homes))
        for number, (block, homes) in enumerate(zip(blocks, plan.homes))
    ]

    def piece(number, home):
        rows, to = blocks[number][name], going[number]
        return rows if to is None else pick(rows, to, home)

    pieces = [[piece(n, home) for n in numbers] for home, numbers in plan.sources.items()]
    parts = [joined(each) for each in pieces]
    if is_frame(values):
        return lazy_frame(parts, values._meta)
    like = values._meta if is_lazy(values) else values[:0]
    return lazy_array(parts, list(plan.sizes.values()), like, values.shape[1:])


def _pick(values, to, home):
    return values[to == home]
