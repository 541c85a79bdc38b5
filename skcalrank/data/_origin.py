"""What a part of a target knows of the whole that it was cut from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._queries import Queries
from ._types import Ints


class Origin(NamedTuple):
    """Where each row of a target stood in its query, before anything was cut away.

    Attributes
    ----------
    place : ndarray of shape (n_rows,)
        Number of the row within its query, from 0. Tells a row that is there twice from two.
    size : ndarray of shape (n_rows,)
        How many rows the query had.
    """

    place: Ints
    size: Ints

    @classmethod
    def of(cls, queries: Queries) -> Origin:
        """Return the origin of whole queries."""
        place = np.arange(queries.n_rows) - queries.repeat(queries.ptr[:-1])
        return cls(queries.ungroup(place), queries.ungroup(queries.repeat(queries.sizes)))

    def rows(self, rows: Ints) -> Origin:
        """Return the origin of some of the rows."""
        return Origin(self.place[rows], self.size[rows])

    def arrived(self, queries: Queries) -> tuple[Ints, Ints]:
        """Return how many different rows of each query are there, and how many there were."""
        size = queries.max(queries.group(self.size))
        first = np.cumsum(size) - size
        is_there = np.zeros(int(size.sum()), dtype=np.intp)
        is_there[queries.repeat(first) + queries.group(self.place)] = 1
        return np.add.reduceat(is_there, first), size
