r"""Fits of a regressor to the targets of rows, under the squared losses, and its ridge penalty.

In units of the curvature of the loss along each feature, so that neither the units of the features
nor those of the loss matter, the default penalty is :math:`c / \sqrt{n}` for n queries, which
vanishes as n grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import diags, issparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline

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
    fits_in_closed_form,
    merge_all,
    pair_weights,
    pooled_moments,
    transformed,
)
from ..columns import MOST_CELLS
from ..columns.types import Floats, Ints
from ..data import Queries, Rows, warn, workers_of_fit
from ..linear_model import GramRidge, add_moments

AUTO = "auto"

# The constant c, for queries and for items. Quality hardly changes around these values, see the
# table of penalties in benchmarks/quality_defaults.py.
_OF_QUERIES = 3.0
_OF_ITEMS = 0.3

# If there is a single query, so many of its documents count as one query.
_MANY_DOCUMENTS = 100

# Largest number of sparse columns for which the warning is not given: words have more.
_FEW_COLUMNS = 500

# Number of features up to which the cost of a d x d matrix is negligible.
_FEW_FEATURES = 1000


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
        if isinstance(rows.y, np.ndarray) and (unranked := np.isnan(rows.y)).any():
            counts &= (~unranked).reshape(-1, rows.n_items).sum(axis=1) > 1  # those with a pair
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


def fit_targets(
    regressor: Any,
    rows: Rows,
    targets: Floats,
    *,
    loss: str,
    n_passes: int = 1,
    method: str = "fit",
) -> Any:
    """Fit a regressor to targets in grouped order under a loss of ``SQUARED_LOSSES``."""
    if isinstance(regressor, Pipeline) and fits_in_closed_form(regressor):
        # Regress on the rows that the steps before the regressor make.
        last, X = transformed(regressor, rows.X, rows.in_order(targets))
        names = getattr(last, "feature_names_in_", None)
        last = fit_targets(last, replace(rows, X=X), targets, loss=loss)
        if names is not None:  # a fit to moments forgets them
            last.feature_names_in_ = names
        return regressor
    X, weight = rows.X, rows.weight
    if type(regressor) is GramRidge:
        return _fit_moments(regressor, rows, targets, loss, method)
    if rows.n_items is not None:
        targets = targets.reshape(-1, rows.n_items)
        if loss == "pairwise_squared":
            return fit_pairwise_outputs(
                regressor, X, targets, weight, n_passes=n_passes, method=method
            )
        if loss == "centered":
            targets = targets - targets.mean(axis=1, keepdims=True)
        return fit_outputs(regressor, X, targets, weight, method=method)
    targets = rows.queries.ungroup(targets)
    if loss == "squared":
        return fit_regressor(regressor, X, targets, weight, rows=rows, method=method)
    if loss == "centered":
        return fit_centered(regressor, rows, targets, method=method)
    return fit_pairwise(regressor, rows, targets, n_passes=n_passes, method=method)


def _fit_moments(
    regressor: GramRidge, rows: Rows, targets: Floats, loss: str, method: str
) -> GramRidge:
    """Fit or update a GramRidge by the moments of the rows."""
    check_features(rows.X)
    one_target = rows.n_items is None
    if one_target and loss == "pairwise_squared":
        # The rows are centered within queries, so there is no intercept.
        regressor.set_params(fit_intercept=False)
    relative = regressor.penalty_scale is not None
    moments = workers_of_fit().total(
        lambda: moments_of(rows, rows.columns(targets), loss, relative)(), merge_all
    )
    goes_on = method == "partial_fit" and hasattr(regressor, "coef_")
    return add_moments(regressor, moments, one_target, goes_on=goes_on)


def moments_of(rows: Rows, targets: Floats, loss: str, relative: bool) -> Callable[..., Moments]:
    """Return the moments that a loss of the targets depends on, as a function of rows.

    If `relative`, they include the squares that are the units of the penalties. Targets of several
    measures may be side by side, in row order: of shape (n_rows, m), or in the label-ranking form
    (n, m * r).
    """
    queries, weight = rows.queries, rows.weight
    if rows.n_items is not None:
        if loss != "squared":
            by_item = targets.reshape(len(targets), -1, rows.n_items)
            targets = (by_item - by_item.mean(axis=2, keepdims=True)).reshape(targets.shape)
        return partial(pooled_moments, rows.X, targets, weight)
    if loss == "pairwise_squared":
        return WithinQueries(rows.X, targets, queries, weight).moments
    weights = weight
    if loss == "centered":
        targets = queries.centered(targets, weight)
        weights = pair_weights(queries, weight)

    if not relative:
        return partial(pooled_moments, rows.X, targets, weights)
    within: WithinQueries | None = None

    def moments(part: Ints | None = None) -> Moments:
        nonlocal within
        pooled = pooled_moments(rows.X, targets, weights, part)
        # Penalties are in units of the variation within queries, the only one that ranks.
        if within is None:
            within = WithinQueries(rows.X, targets[:, :0], queries, weight)
        return pooled._replace(squares=within.squares(weights, part))

    return moments


def is_wide(rows: Rows, loss: str) -> bool:
    """Return whether a d x d matrix takes more memory than the rows themselves.

    Sums over the rows of several workers need one.
    """
    n, d = rows.X.shape
    if workers_of_fit().size > 1:
        return False
    if issparse(rows.X) and (rows.n_items is not None or loss != "pairwise_squared"):
        n = min(n, _FEW_FEATURES)
    return d > max(n, _FEW_FEATURES) or d * d > MOST_CELLS


def fit_ridge(model: GramRidge, rows: Rows, targets: Floats, *, loss: str) -> Any:
    """Fit a model to targets in grouped order, or a `Ridge` of the same penalty."""
    fit = fit_wide if is_wide(rows, loss) else fit_targets
    return fit(model, rows, targets, loss=loss)


def fit_wide(model: GramRidge, rows: Rows, targets: Floats, *, loss: str) -> Any:
    """Fit a `Ridge` with the penalty of a model, without a d x d matrix."""
    (n, d), alpha = rows.X.shape, cast("float", model.alpha)
    squares = units_of(rows, loss).squares
    sizes, unit, share = np.sqrt(squares[squares > 0.0]), np.ones(d, dtype=rows.X.dtype), 1.0
    if model.penalty_scale is not None:
        unit[squares > 0.0] = sizes
    elif len(sizes):
        # For sparse features, iterations stop by the slope along the largest of them.
        share = sizes.min() / sizes.max()
    ridge = Ridge(alpha, fit_intercept=model.fit_intercept, tol=max(1e-6 * share, 1e-15))
    # Nothing is left of constant features, whose coefficients would be rounding errors.
    is_kept = (squares > 0.0) | (loss == "squared" and not model.fit_intercept)
    divisor = np.where(is_kept, unit, np.inf).astype(unit.dtype)
    of_documents = rows.n_items is None and loss == "pairwise_squared"
    if of_documents and n <= d and alpha > 0.0 and not issparse(rows.X):
        within = WithinQueries(rows.X, rows.columns(targets), rows.queries, rows.weight)
        ridge.coef_ = within.by_products_of_rows(alpha, divisor)
        ridge.intercept_, ridge.n_features_in_ = 0.0, d
    else:
        scaled = rows.X @ diags(1.0 / divisor) if issparse(rows.X) else rows.X / divisor
        ridge = fit_targets(ridge, replace(rows, X=scaled), targets, loss=loss)
        ridge.coef_ = ridge.coef_ / divisor
    ridge.penalty_scale_ = unit.astype(float) ** 2
    return ridge


def fit_columns(model: GramRidge, rows: Rows, targets: Floats) -> Floats:
    """Return coefficients for targets of the rows in several columns, by the pairwise squares."""
    loss = "pairwise_squared"
    if is_wide(rows, loss):
        columns = (rows.queries.group(column) for column in targets.T)
        return np.array([fit_wide(model, rows, column, loss=loss).coef_ for column in columns])
    moments = moments_of(rows, targets, loss, model.penalty_scale is not None)()
    return add_moments(model, moments, False).coef_


def units_of(rows: Rows, loss: str) -> Units:
    """Return the units of penalties under a loss, consistent with :func:`moments_of`.

    Features are centered within queries, or about their means in the label-ranking form.
    """
    weight, n, of_documents = rows.weight, rows.n_rows, rows.n_items is None
    queries = rows.queries if of_documents else Queries.equal(1, n)
    within = WithinQueries(rows.X, np.zeros((n, 0)), queries, weight)
    of_row = np.ones(n) if weight is None else weight
    if of_documents and loss != "squared":
        of_row = within.weight()
    squares = workers_of_fit().total(lambda: within.squares(of_row), sum)
    if of_documents and loss != "pairwise_squared":
        squares = within.raised(squares, of_row)
    return Units(squares, of_row, partial(queries.centered, weight=weight))


def names_of(queries: Queries) -> frozenset[Any]:
    """Return the names of the queries; an empty set if all rows are one query."""
    return frozenset(() if queries.names is None else queries.names.tolist())
