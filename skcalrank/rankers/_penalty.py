r"""The default ridge penalty, derived from the number of queries.

In units of the curvature of the loss along each feature, so that neither the units of the features
nor those of the loss matter, it is :math:`c / \sqrt{n}` for n queries, which vanishes as n grows.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..data import Rows, limits, warn
from ..linear_model import GramRidge

AUTO = "auto"

#: Constraint of the parameter `alpha`.
ALPHA = [limits.NON_NEGATIVE, limits.one_of(AUTO)]

# The constant c, for queries and for items. Quality hardly changes around these values, see the
# table of penalties in benchmarks/quality_defaults.py.
_OF_QUERIES = 3.0
_OF_ITEMS = 0.3

# If there is a single query, so many of its documents count as one query.
_MANY_DOCUMENTS = 100


# Largest number of sparse columns for which the warning is not given: words have more.
_FEW_COLUMNS = 500


class Seen(NamedTuple):
    """Counts of what a ranker has learned from, without rows of weight zero.

    * `n_queries`: number of queries of several documents, or of rows in the label-ranking form.
    * `n_documents`: number of documents.
    """

    n_queries: int
    n_documents: int

    def add(self, other: Seen) -> Seen:
        """Return the sums of both counts."""
        return Seen(self.n_queries + other.n_queries, self.n_documents + other.n_documents)


NOTHING_SEEN = Seen(0, 0)


def seen_in(rows: Rows) -> Seen:
    """Return the counts of rows, not those of other workers."""
    counts = np.ones(rows.n_rows, dtype=bool) if rows.weight is None else rows.weight > 0
    if rows.n_items is not None:
        return Seen(int(counts.sum()), rows.n_items * int(counts.sum()))
    sizes = np.bincount(rows.codes[counts], minlength=rows.queries.n_queries)
    return Seen(int((sizes > 1).sum()), int(counts.sum()))


def gram_ridge(alpha: Any, relative: bool, *, fit_intercept: bool = True) -> GramRidge:
    """Return a ridge regression; if `relative`, in units of the squares of the features."""
    scale = "squares" if relative else None
    return GramRidge(alpha, fit_intercept=fit_intercept, penalty_scale=scale)


def warn_of_many_columns(alpha: str | float | None, rows: Rows) -> None:
    """Warn if the default penalty is used for sparse features with more columns than rows.

    The rule is about features that are fewer, and most of which vary in many rows. Coefficients of
    rare words need a larger penalty.
    """
    n_rows, n_columns = rows.X.shape
    if alpha == AUTO and issparse(rows.X) and n_columns > max(n_rows, _FEW_COLUMNS):
        warn(
            f"alpha='auto' is made for fewer columns than rows, got sparse X of shape "
            f"({n_rows}, {n_columns}): the penalty may be far too small. Choose it with "
            "LeastSquaresRankerCV, or pass a number."
        )


def penalty(alpha: str | float, seen: Seen, n_items: int | None) -> float:
    """Return the penalty as a number, given a number or "auto"."""
    if isinstance(alpha, Real):
        return float(alpha)
    n_queries = max(seen.n_queries, 1)
    if n_items is not None:
        return float(_OF_ITEMS / np.sqrt(n_queries))
    if n_queries == 1:
        n_queries = max(seen.n_documents / _MANY_DOCUMENTS, 1)
    return float(_OF_QUERIES / np.sqrt(n_queries))
