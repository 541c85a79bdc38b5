"""Detection of dask collections without importing dask."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_LAZY_FITS = (
    "Rankers that learn scores by least squares, such as NDCGRanker(), can be fitted to dask "
    "collections. After any fit, score and rank accept them, and so does predict of rankers that "
    "score each document by itself."
)


def is_lazy(*values: object) -> bool:
    """Return whether one of the values is a dask collection."""
    # A collection exists only where dask has been imported.
    dask = sys.modules.get("dask")
    return dask is not None and any(dask.is_dask_collection(value) for value in values)


def refuse_lazy(who: str, remedy: str = _LAZY_FITS, **values: object) -> None:
    """Raise ValueError if one of `values` is a dask collection.

    `who` is the caller, which needs arrays in memory; `remedy` ends the message.
    """
    for name, value in values.items():
        if is_lazy(value):
            raise ValueError(
                f"{name} must be an array in memory for {who}, got a dask collection. Pass "
                f"{name}.compute(); where several collections must keep their rows in the same "
                f"order, pass columns of one frame.compute(). {remedy}".rstrip()
            )


def in_memory(**columns: Any) -> tuple[Any, ...]:
    """Return columns of one table in memory; all dask collections are computed in one graph."""
    if not is_lazy(*columns.values()):
        return tuple(columns.values())
    computed: dict[str, Any] = import_module("skcalrank.dask._gather").gather(columns)
    return tuple(computed.values())
