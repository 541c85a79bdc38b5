"""Cut collections into blocks of the same rows, or compute them; raise if that is not possible."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..columns.types import Array, Ints
from ..data import Judgments, MissingQidError, is_lazy, qid_array
from ._blocks import (
    Partitions,
    check_disjoint,
    compute,
    in_one_piece,
    is_array,
    is_frame,
    join,
    names_of,
    sizes_of,
)
from ._graph import check_one_order, lineage, together


def partitions(X: Any, lazily: bool = False, **columns: Any) -> Partitions:
    """Cut X into its blocks of rows, and all other columns into the same blocks, or raise.

    Columns are dask collections, array-likes, numbers or None; those in memory can be cut only if
    the sizes of the blocks of X are known. `lazily` tells that the blocks will be part of a lazy
    collection.
    """
    if not is_lazy(X):
        name = next(name for name, values in columns.items() if is_lazy(values))
        raise ValueError(
            f"X must be a dask collection if {name} is one, got X in memory, perhaps computed by a "
            "step of a pipeline before the ranker, such as a scaler of scikit-learn: rows of two "
            "computations need not be in the same order. Pass all of them as dask collections to "
            "the ranker itself, or none: frame = frame.compute() and columns of that."
        )
    if not (is_array(X) or is_frame(X)) or X.ndim != 2:
        raise ValueError(
            "X must be a dask array of shape (n_rows, d) or a dask DataFrame, got type "
            f"{type(X).__name__} of {getattr(X, 'ndim', 'no')} dimensions."
        )
    return assembled({"X": X, **columns}, in_one_piece(X), lazily)


def assembled(columns: dict[str, Any], X: Any, lazily: bool = False) -> Partitions:
    """Cut collections and columns in memory into the blocks of X, one of the collections."""
    lazy = {name: _aligned(name, v, X) for name, v in columns.items() if is_lazy(v)}
    frames = {name: values for name, values in lazy.items() if is_frame(values)}
    arrays = {name: values for name, values in lazy.items() if name not in frames}
    lineages = [lineage(values) for values in arrays.values()]
    blocks: list[Any] = [{}] * X.npartitions
    divisions = None
    if frames:
        blocks, divisions, of_frames = together(frames, may_recut=not arrays)
        lineages.append(of_frames)
    check_one_order(lineages)
    rerun = bool(lineages[0].shuffles)
    others = _blocks_of(arrays, lazily)
    for name in columns.keys() - lazy.keys():
        others[name] = _cut(name, columns[name], sizes_of(X), len(blocks), rerun)
    of_block = [{name: of[i] for name, of in others.items()} for i in range(len(blocks))]
    return Partitions(list(columns), blocks, of_block, X, divisions, rerun)


def _blocks_of(arrays: dict[str, Any], lazily: bool) -> dict[str, list[Any]]:
    """Return delayed blocks of arrays, from one graph."""
    import dask

    names, values = list(arrays), list(arrays.values())
    # Blocks of a lazy array are optimized with it. If they were optimized twice, dask would find
    # two tasks of one name.
    if values and not lazily:
        values = dask.optimize(*values)
    blocks = [np.ravel(array.to_delayed(optimize_graph=False)).tolist() for array in values]
    return dict(zip(names, blocks, strict=True))


def _cut(name: str, values: Any, sizes: tuple[int, ...] | None, n_blocks: int, rerun: bool) -> Any:
    """Return the blocks of a column in memory."""
    if values is None or not bool(np.iterable(values)):
        return [values] * n_blocks
    if rerun:
        raise ValueError(
            f"{name} must not be in memory, because the rows of X come from a shuffle, in a "
            f"different order each time they are computed: pass {name} as a column of the "
            "DataFrame that was shuffled, or persist that before."
        )
    if issparse(values) or not hasattr(values, "__getitem__") or isinstance(values, Judgments):
        raise ValueError(
            f"{name} must be an array or a dask collection if X is a dask collection, got "
            f"{type(values).__name__}: pass relevances, or compute X."
        )
    if sizes is None:
        raise ValueError(
            f"{name} must not be in memory, because the sizes of the partitions of X are not "
            "known: call X.compute_chunk_sizes() of an array, X.to_dask_array(lengths=True) of a "
            f"DataFrame, or pass {name} as a dask collection with the partitions of X."
        )
    rows = values.iloc if hasattr(values, "iloc") else values
    if isinstance(values, (list, tuple)):
        rows = as_rows(name, values)
    _check_length(name, len(values), sum(sizes))
    return [rows[end - size : end] for size, end in zip(sizes, np.cumsum(sizes))]


def as_rows(name: str, values: Any) -> np.ndarray:
    """Return a column in memory as an array; only names of queries may be tuples."""
    return qid_array(values) if name == "qid" else np.asarray(values)


def _check_length(name: str, n: int, n_rows: int) -> None:
    if n != n_rows:
        raise ValueError(f"X and {name} must have equally many rows, got {n_rows} and {n}.")


def _aligned(name: str, values: Any, X: Any) -> Any:
    """Return a dask collection in the partitions of X."""
    if not (is_array(values) or is_frame(values)) or not values.ndim:
        raise ValueError(
            f"{name} must be a dask array, Series or DataFrame with the rows of X, got type "
            f"{type(values).__name__}."
        )
    values = in_one_piece(values)
    sizes, others = sizes_of(X), sizes_of(values)
    if sizes is not None and others is not None:
        _check_length(name, sum(others), sum(sizes))
        return values.rechunk({0: sizes})
    divisions = [getattr(v, "divisions", (None,)) for v in (X, values)]
    known = all(None not in d for d in divisions)
    if values.npartitions != X.npartitions or (known and divisions[0] != divisions[1]):
        raise ValueError(
            f"The partitions of {name} ({values.npartitions}) must correspond to those of X "
            f"({X.npartitions}), and their sizes are not known: call compute_chunk_sizes() of both "
            "arrays, or take both from one DataFrame."
        )
    return values


def gather(columns: dict[str, Any]) -> dict[str, Any]:
    """Compute the dask collections among columns of one table, from one graph.

    Raise ValueError if the rows of the columns may be in different orders.
    """
    lazy = {name: values for name, values in columns.items() if is_lazy(values)}
    parts = assembled(lazy, next(iter(lazy.values())))
    beside = [n for n, values in columns.items() if n not in lazy and np.iterable(values)]
    if parts.rerun and beside:
        raise ValueError(
            f"{beside[0]} must not be in memory, because {next(iter(lazy))} comes from a shuffle, "
            "in a different order each time it is computed: pass both as columns of the "
            "DataFrame that was shuffled, or persist that before."
        )
    blocks = compute(parts.whole())
    return columns | {name: join([block[name] for block in blocks]) for name in lazy}


def results_of_blocks(function: Callable[..., Any], qid: Any, columns: dict[str, Any]) -> list[Any]:
    """Return what a function makes of each partition that has rows, all computed in one graph.

    Raise ValueError if a query is in two partitions, or no partition has rows.
    """
    if qid is None:
        raise MissingQidError("qid must be given for dask collections, got None.")
    parts = partitions(**columns, qid=qid)
    replies = [reply for reply in compute(parts.map(_result, function)) if reply is not None]
    if not replies:
        raise ValueError("X must have at least one row, got none.")
    owners, results = zip(*replies)
    check_disjoint(owners)
    return list(results)


def _result(
    function: Callable[..., Any], number: int, *, X: Any, qid: Any, **columns: Ints | None
) -> tuple[dict[str, int], tuple[int, dict[str, Array]]] | None:
    """Return the number of the partition by query, and the result; None without rows."""
    if not X.shape[0]:
        return None
    return names_of(number, qid=qid, n_rows=X.shape[0]), function(X=X, qid=qid, **columns)
