r"""The ridge penalty that a ranker chooses by itself.

In units of the curvature of the loss along each feature, so that neither the units of features nor
those of the loss matter, it is :math:`c / \sqrt{n}` of n queries: it vanishes as queries come.
"""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np

from ..data import NON_NEGATIVE, one_of
from ..linear_model import GramRidge
from ._problem import Problem

AUTO = "auto"

#: Constraint of a parameter `alpha`.
ALPHA = [NON_NEGATIVE, one_of(AUTO)]

# Quality is flat around these, see the table of penalties in benchmarks/quality_letor.py.
_OF_QUERIES = 3.0
_OF_ITEMS = 0.3

# Documents of one query are all there is to learn from: from this number on they count.
_MANY_DOCUMENTS = 100


class Seen(NamedTuple):
    """What a ranker has learned from, without rows of weight zero.

    Attributes
    ----------
    n_queries : int
        Queries of several documents, or rows of the label-ranking form.
    n_documents : int
    """

    n_queries: int
    n_documents: int

    def add(self, other: Seen) -> Seen:
        """Return the numbers of both."""
        return Seen(self.n_queries + other.n_queries, self.n_documents + other.n_documents)


NOTHING_SEEN = Seen(0, 0)


def seen_in(problem: Problem) -> Seen:
    """Return what there is to learn from in a problem."""
    counts = np.ones(problem.X.shape[0], dtype=bool)
    if problem.weight is not None:
        counts = problem.weight > 0
    if problem.n_items is not None:
        return Seen(int(counts.sum()), problem.n_items * int(counts.sum()))
    sizes = np.bincount(problem.queries.codes[counts], minlength=problem.queries.n_queries)
    return Seen(int((sizes > 1).sum()), int(counts.sum()))


def gram_ridge(alpha: float, relative: bool, *, fit_intercept: bool = True) -> GramRidge:
    """Return a ridge regression whose penalty is `relative` to the squares of the features."""
    scale = "squares" if relative else None
    return GramRidge(alpha, fit_intercept=fit_intercept, penalty_scale=scale)


def penalty(alpha, seen: Seen, n_items: int | None) -> float:
    """Return a penalty that was given as a number or as "auto"."""
    if isinstance(alpha, Real):
        return float(alpha)
    n_queries = max(seen.n_queries, 1)
    if n_items is not None:
        return float(_OF_ITEMS / np.sqrt(n_queries))
    if n_queries == 1:
        n_queries = max(seen.n_documents / _MANY_DOCUMENTS, 1)
    return float(_OF_QUERIES / np.sqrt(n_queries))
