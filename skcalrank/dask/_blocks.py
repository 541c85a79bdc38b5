"""Partitions of dask collections: sums over them in a tree, and results that stay lazy.

This module does not depend on rankers, and imports dask only when a dask collection is given.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ..columns import arrays
from ..columns.types import Array
from ..data import check, plain

# Number of partial results that one task combines.
_SPLIT_EVERY = 8


class Partitions(NamedTuple):
    """Blocks of rows, each with its part of every collection."""

    names: list[str]  # of the collections
    frames: list[Any]  # for each block a delayed dict of the parts of all data frames, by one task
    # Delayed parts of arrays, parts of columns in memory, and None for missing ones.
    others: list[dict[str, Any]]
    X: Any  # the collection that defines the blocks, with all features in one chunk
    divisions: tuple[Any, ...] | None  # of the blocks, if X is a data frame
    rerun: bool  # whether rows may come in a different order each time they are computed

    def map(self, function: Any, *shared: Any, of: list[str] | None = None) -> list[Any]:
        """Return delayed results of ``function(*shared, number, **block)`` for every block.

        `of` names the collections that are passed to the function. If None, all of them.
        """
        from dask import delayed

        task = delayed(partial(_on_block, function, of or self.names))
        common = [delayed(value, traverse=False) for value in shared]
        return [
            task(number, frames, *common, **{n: others[n] for n in of or others if n in others})
            for number, (frames, others) in enumerate(zip(self.frames, self.others, strict=True))
        ]

    def whole(self) -> list[Any]:
        """Return delayed dicts of the parts of every block."""
        return self.map(_parts_of)

    def with_whole_queries(self) -> Any:
        """Return a delayed number, known once no query is found in two blocks."""
        from dask import delayed

        return delayed(len)(tree(self.map(names_of, of=["qid"]), check_disjoint))

    def in_one_order(self) -> "Partitions":
        """Return blocks whose rows have one order, however often they are computed."""
        from dask import delayed

        if not self.rerun:
            return self
        whole = delayed(_in_one_order)
        blocks = zip(self.frames, self.others, strict=True)
        return self._replace(
            frames=[whole(*block) for block in blocks], others=[{}] * len(self.frames)
        )

    def columns(self) -> list[dict[str, Any]]:
        """Return delayed parts of every block, in one row order even if computed one by one."""
        blocks = self.in_one_order()
        return [
            {name: others[name] if name in others else frames[name] for name in self.names}
            for frames, others in zip(blocks.frames, blocks.others, strict=True)
        ]


def _on_block(function: Any, of: Any, number: int, frames: Any, *shared: Any, **others: Any) -> Any:
    """Call a function with the parts of a block."""
    block = frames | others
    _check_rows(f"partition {number}", frames, block)
    return function(*shared, number, **{name: block[name] for name in of})


def _parts_of(number: int, **block: Any) -> dict[str, Any]:
    return block


def _check_rows(place: str, frames: Any, block: dict[str, Any]) -> None:
    """Raise if the parts of a block cannot be the same rows."""
    sizes = {n: v.shape[0] for n, v in block.items() if getattr(v, "shape", ())}
    if len(set(sizes.values())) > 1:
        in_words = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ValueError(
            f"All collections must have the same rows in {place}, got "
            f"{in_words} rows: take all of them from one DataFrame, or from arrays of the "
            "same chunks."
        )
    indexes = [frame.index for frame in frames.values() if hasattr(frame, "iloc")]
    for index in indexes[1:]:
        if not _may_be_one(indexes[0], index):
            raise ValueError(
                f"The indexes of {' and '.join(frames)} must be equal, and differ in {place}: "
                "take all of them from one DataFrame."
            )


def _may_be_one(index: Any, other: Any) -> bool:
    """Return whether two indexes may label the same rows; a default index fits every other."""
    import pandas as pd

    if any(labels.equals(pd.RangeIndex(len(labels))) for labels in (index, other)):
        return True
    # Labels may carry their queries in the index.
    return ("qid" in index.names) != ("qid" in other.names) or index.equals(other)


def _in_one_order(frames: Any, others: dict[str, None]) -> dict[str, Any]:
    """Return the rows of a block sorted by their contents, whatever order they came in."""
    from pandas import DataFrame
    from pandas.util import hash_pandas_object

    block = frames | others
    columns = {name: v for name, v in block.items() if getattr(v, "shape", ())}
    order = np.lexsort([hash_pandas_object(DataFrame(v), index=False) for v in columns.values()])
    return block | {
        name: v.iloc[order] if hasattr(v, "iloc") else v[order] for name, v in columns.items()
    }


class OnPartition:
    """``function(*shared, *parts)`` of the parts of X, qid and others, which must be the same rows.

    A token keeps dask from inspecting what is shared.
    """

    def __init__(self, function: Callable[..., Any], *shared: Any) -> None:
        self.function, self.shared = function, shared
        self.__name__ = function.__name__
        self.token = uuid4().hex

    def __call__(self, *parts: Any) -> Any:
        frames = dict(zip(("X", "qid"), parts))
        _check_rows("a partition", frames, frames)
        return self.function(*self.shared, *parts)

    def __dask_tokenize__(self) -> str:
        return self.token


def is_array(values: Any) -> bool:
    """Return whether a dask collection is an array."""
    return type(values).__module__.startswith("dask.array")


def is_frame(values: Any) -> bool:
    """Return whether a dask collection is a DataFrame or a Series."""
    return isinstance(getattr(values, "divisions", None), tuple)


def sizes_of(values: Any) -> tuple[int, ...] | None:
    """Return the number of rows of each block, or None if unknown."""
    if not is_array(values) or np.isnan(values.chunks[0]).any():
        return None
    return values.chunks[0]


def in_one_piece(array: Any) -> Any:
    """Return a dask array with all columns in one chunk."""
    return array.rechunk({1: -1}) if is_array(array) and array.ndim == 2 else array


def compute(value: Any) -> Any:
    """Compute one delayed value, with the current scheduler."""
    import dask

    return dask.compute(value)[0]


def tree(values: list[Any], combine: Callable[..., Any]) -> Any:
    """Return the delayed result of an associative ``combine(list)``, a few values at a time."""
    from dask import delayed

    task = delayed(combine)
    while len(values) > 1:
        starts = range(0, len(values), _SPLIT_EVERY)
        values = [task(values[start : start + _SPLIT_EVERY]) for start in starts]
    return values[0]


def collect(values: Any, parts: Partitions, *, width: int | None = None, dtype: Any = float) -> Any:
    """Return a lazy collection of the results of all blocks: an array, or a Series for a DataFrame.

    `values` holds, for every block, a delayed array or what :func:`like` makes of it. Without a
    `width`, the number of columns, the result is one-dimensional.
    """
    if is_frame(parts.X) and width is None:
        return lazy_frame(values, like(np.zeros(0, dtype), parts.X._meta), parts.divisions)
    ends = () if width is None else (width,)
    return lazy_array(values, sizes_of(parts.X), np.empty((0,) * (1 + len(ends)), dtype), ends)


def like(values: Array, X: Any) -> Any:
    """Return one value for each row of X, as a Series with its index if X is a DataFrame."""
    if values.ndim > 1 or not hasattr(X, "iloc"):
        return values
    import pandas as pd

    return pd.Series(values, index=X.index)


def lazy_frame(values: Any, meta: Any, divisions: tuple[int | None, ...] | None = None) -> Any:
    """Return a DataFrame or Series of delayed blocks; `meta` is an empty one of its kind."""
    import dask.dataframe as dd

    # Let dask check the blocks: dask 2026.8 loses unchecked ones when they become arrays.
    return dd.from_delayed(values, meta=meta, divisions=divisions)


def lazy_array(values: Any, sizes: Sequence[int] | None, meta: Any, ends: tuple[int, ...]) -> Any:
    """Return an array of delayed blocks of shapes ``(size, *ends)``; sizes may be None."""
    import dask.array as da

    sizes = [np.nan] * len(values) if sizes is None else sizes
    blocks = [da.from_delayed(v, (n, *ends), meta=meta) for v, n in zip(values, sizes)]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def join(pieces: list[Any]) -> Any:
    """Concatenate blocks of rows."""
    if len(pieces) > 1 and hasattr(pieces[0], "iloc"):
        import pandas as pd

        return pd.concat(pieces)
    return arrays.stacked(pieces)


def check_disjoint(parts: Sequence[dict[Any, int]]) -> dict[str, Any]:
    """Return the number of the partition by name of the query; raise for a query in two of them."""
    owners: dict[Any, int] = {}
    for names in parts:
        for name in owners.keys() & names.keys():
            first, second = sorted((owners[name], names[name]))
            raise ValueError(
                f"All rows of a query must be in one partition, got query {plain(name)!r} in "
                f"partitions {first} and {second}: repartition by X, y, qid = "
                "skcalrank.dask.partition_by_query(X, y, qid)."
            )
        owners |= names
    return owners


def names_of(number: int, *, qid: Any, n_rows: int | None = None) -> dict[Any, int]:
    """Return the number of a partition by name of its queries, of which a scalar is the one."""
    return {} if qid is None else dict.fromkeys(named_queries(qid, n_rows).names.tolist(), number)


def named_queries(qid: Any, n_rows: int | None = None) -> Any:
    """Return the queries of the rows of a partition."""
    return check.queries(qid, np.size(qid) if n_rows is None else n_rows)
