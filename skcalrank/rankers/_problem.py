"""A validated ranking problem, and how a regressor is fitted to targets of it."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._solvers import (
    fit_centered,
    fit_outputs,
    fit_pairwise,
    fit_pairwise_outputs,
    fit_regressor,
)
from ..data import Queries, query_factors
from ..measures import Measure


class Problem(NamedTuple):
    """A validated ranking problem.

    Attributes
    ----------
    X : array-like of shape (n_rows, d) or (n, d)
    y : ndarray of shape (n_documents,), or Judgments
        Relevances in grouped order.
    queries : Queries
    weight : ndarray or None
        Per row of X.
    n_items : int or None
        Number of items of the label-ranking form.
    has_qid : bool
        Whether the queries were named.
    measure : Measure
        The measure of the ranker, with what it reads off all labels filled in.
    of_clicks : bool
        Whether the relevances were made from click sessions.
    """

    X: np.ndarray
    y: Any  # ndarray or Judgments
    queries: Queries
    weight: np.ndarray | None
    n_items: int | None
    has_qid: bool
    measure: Measure
    of_clicks: bool = False


def weigh_queries(problem: Problem, query_weight, summed_over) -> Problem:
    """Return the problem with rows weighed so that a query counts what `query_weight` says.

    `summed_over` says what the loss is a sum over. Instances of the label-ranking form, which rank
    equally many items, count the same.
    """
    if problem.n_items is not None:
        return problem
    factors = query_factors(problem.queries, query_weight, summed_over)
    if factors is None:
        return problem
    weight = factors[problem.queries.codes]
    return problem._replace(weight=weight if problem.weight is None else weight * problem.weight)


def fit_targets(regressor, problem: Problem, targets, *, loss, n_passes=1, method="fit"):
    """Fit a regressor to targets in grouped order under a loss of ``SQUARED_LOSSES``."""
    X, queries, weight, named = problem.X, problem.queries, problem.weight, problem.has_qid
    if problem.n_items is not None:
        targets = targets.reshape(-1, problem.n_items)
        if loss == "pairwise_squared":
            return fit_pairwise_outputs(
                regressor, X, targets, weight, n_passes=n_passes, method=method
            )
        if loss == "centered":
            targets = targets - targets.mean(axis=1, keepdims=True)
        return fit_outputs(regressor, X, targets, weight, method=method)
    targets = queries.ungroup(targets)
    if loss == "squared":
        codes = queries.codes if named else None
        return fit_regressor(regressor, X, targets, weight, codes=codes, method=method)
    fit = fit_centered
    if loss == "pairwise_squared":
        fit = partial(fit_pairwise, n_passes=n_passes)
    return fit(regressor, X, targets, queries, weight, named=named, method=method)


def names_of(queries: Queries) -> frozenset:
    """Return the names of the queries; none where all rows are one query."""
    return frozenset(() if queries.names is None else queries.names.tolist())
