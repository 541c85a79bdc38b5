"""A validated ranking problem, and functions that fit a regressor to its targets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import diags, issparse
from sklearn.linear_model import Ridge

from .._solvers import (
    Moments,
    Units,
    WithinQueries,
    check_features,
    fit_centered,
    fit_outputs,
    fit_pairwise,
    fit_pairwise_outputs,
    fit_regressor,
    pair_weights,
    pooled_moments,
)
from ..data import MOST_CELLS, Queries, query_factors
from ..linear_model import GramRidge, add_moments
from ..measures import Measure

# Number of features up to which the cost of a d x d matrix is negligible.
_FEW_FEATURES = 1000


class Problem(NamedTuple):
    """A validated ranking problem.

    Attributes
    ----------
    X : array-like of shape (n_rows, d) or (n, d)
        Features.
    y : ndarray of shape (n_documents,), or Judgments
        Relevances in grouped order.
    queries : Queries
        Which rows share a query.
    weight : ndarray or None
        Weight of each row of X.
    n_items : int or None
        Number of items in the label-ranking form, None otherwise.
    has_qid : bool
        Whether the queries were named.
    measure : Measure
        The measure of the ranker, with options that depend on all labels filled in.
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
    """Return the problem with rows weighted according to `query_weight`.

    `summed_over` is what the loss sums over, "documents" or "pairs". Instances of the label-ranking
    form, which rank equally many items, have equal weights.
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
    if isinstance(regressor, GramRidge):
        return _fit_moments(regressor, problem, targets, loss, method)
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


def _fit_moments(regressor: GramRidge, problem: Problem, targets, loss, method):
    """Fit or update a GramRidge by the moments of the problem."""
    check_features(problem.X)
    one_target = problem.n_items is None
    if one_target and loss == "pairwise_squared":
        # The rows are centered within queries, so there is no intercept.
        regressor.set_params(fit_intercept=False)
    relative = regressor.penalty_scale is not None
    moments = moments_of(problem, _columns(problem, targets), loss, relative)()
    goes_on = method == "partial_fit" and hasattr(regressor, "coef_")
    return add_moments(regressor, moments, one_target, goes_on=goes_on)


def _columns(problem: Problem, targets):
    """Return targets in grouped order as columns in row order."""
    if problem.n_items is None:
        return problem.queries.ungroup(targets)[:, None]
    return targets.reshape(-1, problem.n_items)


def moments_of(problem: Problem, targets, loss, relative) -> Callable[..., Moments]:
    """Return the moments that a loss of the targets depends on, as a function of rows.

    If `relative`, they include the squares that are the units of the penalties. Targets of several
    measures may be side by side, in row order: of shape (n_rows, m), or in the label-ranking form
    (n, m * r).
    """
    queries, weight = problem.queries, problem.weight
    if problem.n_items is not None:
        if loss != "squared":
            by_item = targets.reshape(len(targets), -1, problem.n_items)
            targets = (by_item - by_item.mean(axis=2, keepdims=True)).reshape(targets.shape)
        return partial(pooled_moments, problem.X, targets, weight)
    if loss == "pairwise_squared":
        return WithinQueries(problem.X, targets, queries, weight).moments
    of_rows = weight
    if loss == "centered":
        targets = queries.centered(targets, weight)
        of_rows = pair_weights(queries, weight)

    if not relative:
        return partial(pooled_moments, problem.X, targets, of_rows)
    within: WithinQueries | None = None

    def moments(rows=None):
        nonlocal within
        pooled = pooled_moments(problem.X, targets, of_rows, rows)
        # Penalties are in units of the variation within queries, the only one that ranks.
        if within is None:
            within = WithinQueries(problem.X, targets[:, :0], queries, weight)
        return pooled._replace(squares=within.squares(of_rows, rows))

    return moments


def is_wide(problem: Problem, loss) -> bool:
    """Return whether a d x d matrix takes more memory than the rows themselves."""
    n, d = problem.X.shape
    if issparse(problem.X) and (problem.n_items is not None or loss != "pairwise_squared"):
        n = min(n, _FEW_FEATURES)
    return d > max(n, _FEW_FEATURES) or d * d > MOST_CELLS


def fit_ridge(model: GramRidge, problem: Problem, targets, *, loss):
    """Fit a model to targets in grouped order, or a `Ridge` of the same penalty."""
    fit = fit_wide if is_wide(problem, loss) else fit_targets
    return fit(model, problem, targets, loss=loss)


def fit_wide(model: GramRidge, problem: Problem, targets, *, loss):
    """Fit a `Ridge` with the penalty of a model, without a d x d matrix."""
    squares = np.ones(problem.X.shape[1])
    if model.penalty_scale is not None:
        squares = units_of(problem, loss).squares
    unit = np.sqrt(np.where(squares > 0.0, squares, 1.0)).astype(problem.X.dtype)
    scaled = problem.X @ diags(1.0 / unit) if issparse(problem.X) else problem.X / unit
    ridge = Ridge(model.alpha, fit_intercept=model.fit_intercept)
    ridge = fit_targets(ridge, problem._replace(X=scaled), targets, loss=loss)
    ridge.coef_ = ridge.coef_ / unit
    ridge.penalty_scale_ = unit.astype(float) ** 2
    return ridge


def units_of(problem: Problem, loss) -> Units:
    """Return the units of penalties under a loss, consistent with :func:`moments_of`.

    Features are centered within queries, or about their means in the label-ranking form.
    """
    queries, weight, n = problem.queries, problem.weight, problem.X.shape[0]
    if problem.n_items is not None:
        queries = Queries.equal(1, n)

    def center(scores):
        return queries.centered(scores, weight)

    within = WithinQueries(problem.X, np.zeros((n, 0)), queries, weight)
    if problem.n_items is None and loss != "squared":
        weight = within.weight()
    of_row = np.ones(n) if weight is None else weight
    return Units(within.squares(weight), of_row, center)


def names_of(queries: Queries) -> frozenset:
    """Return the names of the queries; an empty set if all rows are one query."""
    return frozenset(() if queries.names is None else queries.names.tolist())
