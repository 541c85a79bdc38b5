"""Compute columns of dask collections, with their rows in one order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import is_lazy
from ._blocks import compute, join
from ._cut import assembled


def gather(columns: dict[str, Any]) -> dict[str, Any]:
    """Compute the dask collections among columns of one table, from one graph.

    Parameters
    ----------
    columns : dict
        Columns by name; those that are not collections are returned unchanged.

    Raises
    ------
    ValueError
        If the rows of the columns may be in different orders.
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
    blocks = compute(parts.map(_block))
    return columns | {name: join([block[name] for block in blocks]) for name in lazy}


def _block(number, **block):
    return block
