"""The sizes of the queries of a fit, by hashed names."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from ..columns import is_repeatable, spread_bits
from ..columns.types import Array, Bools, Ints
from ._queries import Queries


@dataclass(frozen=True, eq=False, repr=False)
class QuerySizes:
    """Number of rows of each query of a fit; names are hashed, as they may be private.

    * `hashes` (n_queries,): hashes of the names, increasing.
    * `sizes` (n_queries,): number of rows of each query.
    * `salt` (1,): random number in every hash, so that a list of names cannot be looked up.
    * `numbering`: number of queries if their names count from 0 or 1, one query after the other;
      else None.
    """

    hashes: Array
    sizes: Ints
    salt: Array
    numbering: int | None

    @classmethod
    def of(cls, queries: Queries) -> QuerySizes | None:
        """Return the sizes of queries; None for a single one, or if a name cannot be told again."""
        names = queries.names
        told = names is not None and (names.dtype != object or all(map(is_repeatable, names)))
        if not told or queries.n_queries < 2:
            return None
        salt = np.frombuffer(os.urandom(8), dtype=np.uint64)
        hashes = _hashed(queries, salt)
        order = np.argsort(hashes)
        return cls(hashes[order], queries.sizes[order].astype(np.int32), salt, _numbering(queries))

    def are_cut_by(self, queries: Queries) -> bool:
        """Return whether one of these queries comes back with another number of rows."""
        known, sizes = self._known(queries)
        return bool((sizes != queries.sizes)[known].any())

    def n_common(self, queries: Queries) -> int:
        """Return how many queries have the name and the number of rows of one of these."""
        known, sizes = self._known(queries)
        return int((known & (sizes == queries.sizes)).sum())

    def _known(self, queries: Queries) -> tuple[Bools, Ints]:
        """Return which queries have a name of these, and the number of rows that it had.

        The numbering of another file, and a single query, are not these queries.
        """
        others = self.numbering is not None and _numbering(queries) not in (None, self.numbering)
        if queries.names is None or queries.n_queries < 2 or others:
            return np.zeros(queries.n_queries, dtype=bool), queries.sizes
        asked = _hashed(queries, self.salt)
        place = np.minimum(np.searchsorted(self.hashes, asked), len(self.hashes) - 1)
        return self.hashes[place] == asked, self.sizes[place]


def _hashed(queries: Queries, salt: Array) -> Array:
    return spread_bits(queries.hashes ^ salt)


def _numbering(queries: Queries) -> int | None:
    """Return the number of queries if names count from 0 or 1 in the order of the rows."""
    names, n = queries.names, queries.n_queries
    if names is None or names.dtype.kind not in "iu" or queries.order is not None:
        return None
    return n if names[0] in (0, 1) and (np.diff(names) == 1).all() else None
