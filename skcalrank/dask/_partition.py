"""Move rows between partitions so that every query is in one partition."""

from collections import defaultdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..columns.types import Ints
from ..data import is_lazy
from ._blocks import compute, is_frame, join, lazy_array, lazy_frame, named_queries, sizes_of
from ._cut import as_rows, partitions


def partition_by_query(X: Any, y: Any, qid: Any, sample_weight: Any = None) -> tuple[Any, ...]:
    """Move rows between partitions so that every query is in one partition.

    A query in several partitions moves to the one that has most of its rows, and among equal ones
    to the one with fewest rows so far. If queries are contiguous, only the ends of the partitions
    move; if they are scattered, the result is a shuffle.

    Parameters
    ----------
    X : dask array or dask DataFrame of shape (n_rows, d)
        Documents.
    y : dask collection or array-like of shape (n_rows,)
        Relevances.
    qid : dask collection or array-like of shape (n_rows,)
        Query of each row.
    sample_weight : dask collection or array-like of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    X, y, qid : dask collections
        The same rows in the new partitions, lazily; also `sample_weight` if it was given. Rows from
        one partition keep their order, and rows that come from a shuffle are sorted by their
        contents, so all collections have their rows in the same order even if they are computed one
        by one. The chunk sizes of arrays are known.

    Raises
    ------
    ValueError
        If the partitions of the collections do not correspond.

    Notes
    -----
    `qid` is computed immediately, to count the rows of every query in every partition. That takes
    one pass over it, or over all columns of data frames, and memory for the counts on the client.
    Each task copies the rows that one partition sends to another: one or two tasks per partition if
    queries are contiguous, and up to the square of the number of partitions if they are scattered
    at random. If these are too many, sort or shuffle by query on disk before.

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
        raise ValueError("qid must hold the query of each row, got None.")
    if not is_lazy(X):
        raise ValueError(
            f"X must be a dask collection for partition_by_query, got {type(X).__name__}."
        )
    collections = {"X": X, **columns}
    # Blocks of unknown sizes are read completely, to check that they correspond.
    known = all(sizes_of(values) is not None for values in collections.values() if is_lazy(values))
    counts = partitions(X, **columns).map(_count, of=["qid"] if known else None)
    plan = _plan(compute(counts))
    blocks = partitions(X, lazily=True, **columns).columns()
    return tuple(_rebuilt(name, values, blocks, plan) for name, values in collections.items())


def _as_column(name: str, values: Any) -> Any:
    """Return a column in memory as an array, a lazy one unchanged."""
    if is_lazy(values):
        return values
    column = as_rows(name, values)
    if not column.ndim:
        raise ValueError(f"{name} must have one value for each row or be None, got {values!r}.")
    return column


def _count(number: int, *, qid: Any, **_others: Any) -> dict[Any, int]:
    """Return the number of rows of each query of a block."""
    queries = named_queries(qid)
    return dict(zip(queries.names.tolist(), queries.sizes.tolist()))


class _Plan(NamedTuple):
    """A plan of where rows move."""

    homes: list[dict[Any, int]]  # for each old partition, the new partition of its queries
    sources: dict[int, list[int]]  # old partitions that send rows to each new one
    sizes: dict[int, int]  # number of rows of each new partition


def _plan(counts: list[dict[Any, int]]) -> _Plan:
    """Choose a partition for every query, given its number of rows in each."""
    home_of = _homes(counts)
    homes = [{name: home_of[name] for name in names} for names in counts]
    # Partitions that end up empty are dropped.
    sizes = dict.fromkeys(sorted(set(home_of.values())), 0)
    sources: dict[int, list[int]] = {home: [] for home in sizes}
    for number, names in enumerate(counts):
        for home in set(homes[number].values()):
            sources[home].append(number)
        for name, n_rows in names.items():
            sizes[home_of[name]] += n_rows
    if not sizes:
        raise ValueError("X must have at least one row, got none.")
    return _Plan(homes, sources, sizes)


def _homes(counts: list[dict[Any, int]]) -> dict[Any, int]:
    """Return the partition of every query: with most of its rows, then with fewest rows in all."""
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


def _destinations(qid: Any, homes: dict[Any, int]) -> Ints:
    """Return the new partition of each row."""
    queries = named_queries(qid)
    return np.array([homes[name] for name in queries.names.tolist()])[queries.codes]


def _rebuilt(name: str, values: Any, blocks: list[dict[str, Any]], plan: _Plan) -> Any:
    """Return a collection in its new partitions."""
    from dask import delayed

    pick, joined, destinations = delayed(_pick), delayed(join), delayed(_destinations)
    # Names of queries are not keys of tasks, so dask need not traverse them.
    whole = partial(delayed, traverse=False)
    # None means that all rows stay. Each collection has its own destinations, because dask fuses
    # tasks that several collections share differently in each of them, and warns.
    going = [
        None if set(homes.values()) <= {number} else destinations(block["qid"], whole(homes))
        for number, (block, homes) in enumerate(zip(blocks, plan.homes))
    ]

    def piece(number: int, home: int) -> Any:
        rows, to = blocks[number][name], going[number]
        return rows if to is None else pick(rows, to, home)

    pieces = [[piece(n, home) for n in numbers] for home, numbers in plan.sources.items()]
    parts = [joined(blocks_of_rows) for blocks_of_rows in pieces]
    if is_frame(values):
        return lazy_frame(parts, values._meta)
    like = values._meta if is_lazy(values) else values[:0]
    return lazy_array(parts, list(plan.sizes.values()), like, values.shape[1:])


def _pick(values: Any, to: Ints, home: int) -> Any:
    return values[to == home]
