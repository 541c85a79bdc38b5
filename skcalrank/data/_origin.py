"""Record of which rows of each query are left after a target was sliced."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._queries import Queries
from .types import Ints


class Origin(NamedTuple):
    """Place of each row in its query, before any rows were removed.

    Attributes
    ----------
    place : ndarray of shape (n_rows,)
        0-based number of the row within its query. Distinguishes a row that is there twice from
        two different rows.
    size : ndarray of shape (n_rows,)
        Number of rows that the query of the row had.
    """

    place: Ints
    size: Ints

    @classmethod
    def of(cls, queries: Queries) -> Origin:
        """Return the origin of the rows of complete queries."""
        place = np.arange(queries.n_rows) - queries.repeat(queries.ptr[:-1])
        return cls(queries.ungroup(place), queries.ungroup(queries.repeat(queries.sizes)))

    def rows(self, rows: Ints) -> Origin:
        """Return the origin of the selected rows."""
        return Origin(self.place[rows], self.size[rows])

    def arrived(self, queries: Queries) -> tuple[Ints, Ints]:
        """Return the number of distinct rows left in each query, and its original size."""
        size = queries.max(queries.group(self.size))
        first = np.cumsum(size) - size
        is_there = np.zeros(int(size.sum()), dtype=np.intp)
        is_there[queries.repeat(first) + queries.group(self.place)] = 1
        return np.add.reduceat(is_there, first), size
