r"""Pairwise squared loss with a regressor of scikit-learn: targets up to a constant of each query.

It is squared on scores and targets centered within the query, the query weighted by its number r
of documents, and so squared with a free constant for each query:

.. math:: \sum_{i<j} (v_i - v_j - (s_i - s_j))^2
    = r \sum_i (v_i - \bar v - (s_i - \bar s))^2 = \min_c r \sum_i (v_i - c - s_i)^2 .

With weights on the rows, the pair (i, j) has the weight :math:`w_i w_j / \bar w`, which
keeps that identity with weighted means, and a constant weight c counts c.

Where s is linear in X, centering X as well leaves nothing to search for. Any other regressor is
fitted in turn with the constants: each pass is a fit to the targets less the mean that the fit
before left over in the query. The first pass, from s = 0, fits centered targets, and by itself it
is another loss: the mean of a query that a row is in depends on the documents beside it.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..data import MOST_CELLS, Queries, as_numbers, safe_divide, with_columns_of
from ._least_squares import (
    as_dense,
    fit_moments,
    fit_outputs,
    fit_regressor,
    fit_rows,
    is_closed_form,
    is_linear,
    look_over,
    of_outputs,
    predict_rows,
    weight_parameter,
)
from ._moments import WithinQueries

# Rows by which a fitted regressor is told to be linear.
_FEW_ROWS = 100


def fit_centered(regressor, X, targets, queries: Queries, weight=None, *, named, method="fit"):
    """Fit a regressor to targets centered within the query: the first pass by itself.

    Arrays are in row order. `named` tells whether the queries have names.
    """
    # A closed form holds out nothing, and needs no array more.
    codes = queries.codes if named and not is_closed_form(regressor) else None
    centered = targets - level(targets, queries, weight)
    weight = _weights_taken(regressor, queries, weight)
    return fit_regressor(regressor, X, centered, weight, codes=codes, method=method)


def fit_pairwise(
    regressor, X, targets, queries: Queries, weight=None, *, n_passes, named, method="fit"
):
    """Fit a regressor to targets up to a constant of each query.

    Arrays are in row order. `Ridge` and `LinearRegression` are handed the square root of the d x d
    centered Gram matrix, on which the regression is the same; others that are linear in X get a
    centered copy, and all others `n_passes` fits. A regressor that is linear in X is returned
    without an intercept: ranking needs none.
    """
    d = X.shape[1]
    if is_closed_form(regressor) and d <= max(X.shape[0], 1000) and d * d <= MOST_CELLS:
        within = WithinQueries(X, targets[:, None], queries, weight)
        regressor.set_params(fit_intercept=False)
        return fit_moments(regressor, within.moments(), True, method=method)
    held_out = look_over(regressor, queries.codes if named else None)
    if is_closed_form(regressor) or method == "partial_fit":
        return _fit_linear(regressor, X, targets, queries, weight, held_out, method)
    share = _weights_taken(regressor, queries, weight) if _takes_weights(regressor) else None

    def one_pass(left):
        centered = targets - level(left, queries, weight)
        return fit_rows(clone(regressor), X, centered, share, held_out)

    fitted = one_pass(targets)
    if is_linear(fitted, X[:_FEW_ROWS]):
        return _fit_linear(clone(regressor), X, targets, queries, weight, held_out, method)
    _weights_taken(regressor, queries, weight)
    for _ in range(n_passes - 1):
        fitted = one_pass(targets - predict_rows(fitted, X))
    return fitted


def _fit_linear(regressor, X, targets, queries, weight, held_out, method):
    """Fit a regressor that is linear in X on a centered copy of X."""
    table, X = X, as_numbers(X)
    within = WithinQueries(X, targets[:, None], queries, weight)
    if "fit_intercept" in regressor.get_params():
        regressor.set_params(fit_intercept=False)
    X, targets = as_dense(X) - within.means[within.codes], within.centred_targets()[:, 0]
    if has_fit_parameter(regressor, "sample_weight"):
        X = with_columns_of(table, X)
        fit_rows(regressor, X, targets, within.weight(), held_out, method=method)
    else:
        root = np.sqrt(within.weight())
        X = with_columns_of(table, X * root[:, None])
        fit_rows(regressor, X, targets * root, None, held_out, method=method)
    if not is_linear(regressor, X[:_FEW_ROWS]):
        raise ValueError(
            f"partial_fit with loss='pairwise_squared' needs a regressor linear in X, and "
            f"{type(regressor).__name__} is not: call fit with all rows, or set loss='squared'."
        )
    return regressor


def fit_pairwise_outputs(regressor, X, targets, weight=None, *, n_passes, method="fit"):
    """Fit a regression with several outputs, up to a constant of each row of X.

    One pass in closed form, where it leaves nothing over, and of a chunk.
    """
    centered = targets - targets.mean(axis=1, keepdims=True)
    if is_closed_form(regressor) or method == "partial_fit":
        return fit_outputs(regressor, X, centered, weight, method=method)
    regressor = of_outputs(regressor)
    look_over(regressor, None)
    fitted = fit_rows(clone(regressor), X, centered, weight)
    for _ in range(n_passes - 1):
        left = targets - predict_rows(fitted, X)
        centered = targets - left.mean(axis=1, keepdims=True)
        fitted = fit_rows(clone(regressor), X, centered, weight)
    return fitted


def level(values, queries: Queries, weight):
    """Return the mean of each query, by the weights of its rows, for every row."""
    values = queries.group(values)
    weight = np.ones(len(values)) if weight is None else queries.group(weight)
    mean = safe_divide(queries.sum(weight * values), queries.sum(weight))
    return queries.ungroup(queries.repeat(mean))


def _takes_weights(regressor) -> bool:
    try:
        return bool(weight_parameter(regressor))
    except ValueError:
        return False


def _weights_taken(regressor, queries: Queries, weight):
    """Weights of rows, times the sizes of their queries.

    None where the regressor takes none, which is an error beside weights of the user.
    """
    if weight is None and not _takes_weights(regressor):
        return None
    weight_parameter(regressor)
    return pair_weights(queries, weight)


def pair_weights(queries: Queries, weight):
    """Return the weights of rows, times the sizes of their queries."""
    sizes = queries.sizes[queries.codes].astype(float)
    return sizes if weight is None else sizes * weight
