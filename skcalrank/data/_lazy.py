"""How the package recognizes a lazy collection without knowing the library that made it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_LAZY_FITS = (
    "Least-squares surrogates of scores, such as NDCGRanker(), fit dask collections; score and "
    "rank, and predict where a document is scored by itself, take them after any fit."
)


def is_lazy(*values: object) -> bool:
    """Return whether one of the values is a dask collection."""
    # A collection exists only where dask has been imported.
    dask = sys.modules.get("dask")
    return dask is not None and any(dask.is_dask_collection(value) for value in values)


def refuse_lazy(who: str, remedy: str = _LAZY_FITS, **values: object) -> None:
    """Raise for a dask collection among the arguments of `who`, which needs arrays in memory."""
    for name, value in values.items():
        if is_lazy(value):
            raise ValueError(
                f"{name} is a dask collection, and {who} needs it in memory here: pass "
                f"{name}.compute(), or columns of one frame.compute() where several collections "
                f"must have their rows in the same order. {remedy}".rstrip()
            )


def in_memory(**columns: Any) -> tuple[Any, ...]:
    """Return columns of one table with the dask collections among them computed, by one graph."""
    if not is_lazy(*columns.values()):
        return tuple(columns.values())
    computed: dict[str, Any] = import_module("skcalrank.dask._gather").gather(columns)
    return tuple(computed.values())
