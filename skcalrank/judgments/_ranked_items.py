"""Rows of the label-ranking form that rank some of the items only."""

from typing import NamedTuple

import numpy as np

from ..columns.types import Floats, Ints, Self
from ..data import Queries


class RankedItems(NamedTuple):
    """The items that each row ranks, where NaN is the label of an item that it does not rank.

    * `rows` (n_queries,): rows that rank an item.
    * `cells` (n_ranked,): places of the ranked items in the raveled matrix of labels.
    * `queries`: the ranked items, grouped by row; their names are the numbers of the rows.
    """

    rows: Ints
    cells: Ints
    queries: Queries

    @classmethod
    def of(cls, labels: Floats, n_items: int | None) -> Self | None:
        """Return the items that rows of raveled labels rank; None if they rank all of them."""
        ranked = ~np.isnan(labels)
        if n_items is None or ranked.all():
            return None
        sizes = ranked.reshape(-1, n_items).sum(axis=1)
        rows = np.flatnonzero(sizes)
        queries = Queries(np.append(0, sizes[rows].cumsum()), names=rows)
        return cls(rows, np.flatnonzero(ranked), queries)
