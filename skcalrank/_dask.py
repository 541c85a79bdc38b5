"""Dask collections, told from arrays without importing dask, and passed on to those who read them.

`skcalrank.dask` is loaded when the first collection is passed.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from ._lazy import ROOMS

_LAZY_FITS = (
    "Rankers that learn from sums over the rows of all partitions, such as NDCGRanker(), "
    "OrderPreservingRanker() and TabularRanker(), and BoostedRanker() can be fitted to dask "
    "collections; others need all rows at once. After any fit, score and rank accept them, and so "
    "does predict of rankers that score each document by itself."
)

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])


def is_lazy(*values: object) -> bool:
    """Return whether one of the values is a dask collection."""
    # A collection exists only where dask has been imported.
    dask = sys.modules.get("dask")
    return dask is not None and any(dask.is_dask_collection(value) for value in values)


def refuse_lazy(who: str, remedy: str = _LAZY_FITS, **values: object) -> None:
    """Raise ValueError if one of `values` is a dask collection.

    `who` is the caller, which needs arrays in memory; `remedy` ends the message.
    """
    for name, value in values.items() if is_lazy(*values.values()) else ():
        if is_lazy(value):
            raise ValueError(
                f"{name} must be an array in memory for {who}, got a dask collection. Pass "
                f"{name}.compute(); where several collections must keep their rows in the same "
                f"order, pass columns of one frame.compute(). {remedy}".rstrip()
            )


def in_memory(**columns: Any) -> tuple[Any, ...]:
    """Return columns of one table in memory; all dask collections are computed in one graph."""
    if is_lazy(*columns.values()):
        columns = ROOMS["dask"]().gather(columns)
    return tuple(columns.values())


def results_of_blocks(function: Callable[..., Any], qid: Any, **columns: Any) -> list[Any]:
    """Return the results of ``function(qid=qid, **columns)`` for the rows of each partition.

    Partitions hold whole queries. Arrays in memory are one partition.
    """
    if is_lazy(qid, *columns.values()):
        return ROOMS["dask"]().results_of_blocks(function, qid, columns)
    return [function(qid=qid, **columns)]


def lazy_aware(method: Method) -> Method:
    """Let a method of an estimator accept dask collections."""

    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_lazy(*args, *kwargs.values()):
            return ROOMS["dask"]().run(self, method, *args, **kwargs)
        return method(self, *args, **kwargs)

    return cast("Method", call)


def lazy_transformer(cls: Class) -> Class:
    """Let the methods of a transformer accept dask collections.

    What scikit-learn wraps around them for `set_output` would compute the results.
    """
    for name in ("fit", "fit_transform", "transform"):
        setattr(cls, name, lazy_aware(getattr(cls, name)))
    return cls
