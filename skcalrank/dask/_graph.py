"""One graph for the parts of several collections, so that their rows belong together.

A shuffle through files or over the network returns the rows of a partition in the order of their
arrival, which differs between runs. Collections that are optimized separately are computed by
separate shuffles; here one task computes a partition of all of them.
"""

from collections.abc import Collection
from typing import Any, NamedTuple


class Lineage(NamedTuple):
    """The tasks that rows come from, by name without the number of the partition."""

    sources: frozenset[str]  # tasks that depend on no other task
    # Tasks that return rows in the order of their arrival. They do not include shuffles by tasks
    # alone (``shuffle_method="tasks"``), nor persisted collections.
    shuffles: frozenset[str]


def together(
    frames: dict[str, Any], *, may_recut: bool
) -> tuple[list[Any], tuple[Any, ...], Lineage]:
    """Compute each partition of several data frames by one task.

    Return, for each partition, a delayed dict of the parts of all frames; the divisions of the
    partitions; and the tasks that the rows come from. Raise ValueError if these are different
    shuffles. If `may_recut`, the partitions may differ from those of the frames.
    """
    packed = _packed(frames)
    # When optimized, dask reads only the columns that are used. It may also make two sources of
    # one, or cut several files into other partitions; then the graph is used as it was written.
    optimized = packed.optimize(fuse=False)
    lineages = _lineages(optimized)
    if len(lineages) == 1 and (may_recut or optimized.npartitions == packed.npartitions):
        return packed.to_delayed(), optimized.divisions, *lineages
    check_one_order(lineages := _lineages(packed))
    return packed.to_delayed(optimize_graph=False), packed.divisions, next(iter(lineages))


def _packed(frames: Any) -> Any:
    """Return a collection whose partitions are dicts of the partitions of frames."""
    from dask.dataframe import map_partitions

    return map_partitions(
        _pack,
        *frames.values(),
        names=list(frames),
        meta=next(iter(frames.values()))._meta,
        enforce_metadata=False,
        align_dataframes=False,
    )


def _pack(*parts: Any, names: list[str]) -> dict[str, Any]:
    return dict(zip(names, parts, strict=True))


def lineage(collection: Any) -> Lineage:
    """Return the tasks that a collection comes from, without optimization."""
    from dask.core import flatten

    return _traced(_calls(collection), {_name(key) for key in flatten(collection.__dask_keys__())})


def _lineages(packed: Any) -> set[Lineage]:
    """Return the lineage of each collection that :func:`_packed` combined."""
    calls = _calls(packed)
    (task,) = {_name(key) for key in packed.__dask_keys__()}
    return {_traced(calls, {name}) for name in calls[task]}


def check_one_order(lineages: Collection[Lineage]) -> None:
    """Raise unless all rows come from the same shuffles, or from none."""
    if len({lineage.shuffles for lineage in lineages}) > 1:
        raise ValueError(
            "X, y and all other columns must come from the same shuffle (shuffle, sort_values, "
            "set_index, merge), or all from none, so that their rows are in the "
            "same order: shuffle one DataFrame of all columns, and take X=frame[features], "
            "y=frame['label'] and qid=frame['qid'] from the result, or arrays of them after "
            "frame = frame.persist()."
        )


def _name(key: Any) -> str:
    return str(key[0] if isinstance(key, tuple) else key)


def _calls(collection: Any) -> dict[str, set[str]]:
    """Return the names of the tasks that the tasks of each name depend on."""
    from dask.core import get_dependencies

    graph = dict(collection.__dask_graph__())
    calls: dict[str, set[str]] = {}
    for key, task in graph.items():
        calls.setdefault(_name(key), set()).update(map(_name, get_dependencies(graph, task=task)))
    return calls


def _traced(calls: dict[str, set[str]], starts: set[str]) -> Lineage:
    """Return the lineage of the tasks of some names."""
    seen, todo = set(starts), list(starts)
    while todo:
        new = calls[todo.pop()] - seen
        seen |= new
        todo += new
    sources = {name for name in seen if calls[name] <= {name}}
    # Shuffles through files or over the network have a barrier. So does rechunking of arrays, which
    # keeps the order of the rows.
    after_barrier = {name for name in seen if any("barrier" in called for called in calls[name])}
    shuffles = {name for name in after_barrier if not name.startswith("rechunk")}
    return Lineage(frozenset(sources), frozenset(shuffles))
