r"""Pairwise squared loss with regressors of scikit-learn, for targets up to a constant per query.

The loss of a query of r documents is r times the squared loss of scores and targets that are
centered within the query, and so the squared loss with a free constant for each query:

.. math:: \sum_{i<j} (v_i - v_j - (s_i - s_j))^2
    = r \sum_i (v_i - \bar v - (s_i - \bar s))^2 = \min_c r \sum_i (v_i - c - s_i)^2 .

With weights of rows, the pair (i, j) has the weight :math:`w_i w_j / \bar w`. The identity then
holds with weighted means, and a constant weight c multiplies the loss by c.

If s is linear in X, the minimizer is the least-squares fit of centered targets to centered X. Any
other regressor is first fitted to the targets themselves, and then in several passes that alternate
with the constants: in each pass, the targets minus the mean residual of the query in the previous
pass are fitted. If the mean of the targets given the query is a function g of the row, the first
fit is g, and every pass keeps it: :math:`v - \mathrm{mean}_q(v - g)` has the mean g given the
query. A pass from s = 0, which fits centered targets, does not: the mean of a query depends on the
other documents of a row's query.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..columns import MOST_CELLS, tables
from ..columns.types import Floats
from ..data import Queries, Rows
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

# Number of rows on which a fitted regressor is checked to be linear.
_FEW_ROWS = 100


def fit_centered(regressor: Any, rows: Rows, targets: Floats, *, method: str = "fit") -> Any:
    """Fit a regressor to targets centered within the query, which is one pass from 0."""
    centered = rows.queries.centered(targets, rows.weight)
    weight = _weights_taken(regressor, rows.queries, rows.weight)
    # A closed form does not stop early.
    stops = None if is_closed_form(regressor) else rows
    return fit_regressor(regressor, rows.X, centered, weight, rows=stops, method=method)


def fit_pairwise(
    regressor: Any, rows: Rows, targets: Floats, *, n_passes: int, method: str = "fit"
) -> Any:
    """Fit a regressor to targets up to a constant per query, and return it.

    Targets are in row order. `Ridge` and `LinearRegression` are fitted to a square root of the
    centered d x d Gram matrix, which is the same regression. Other regressors that are linear in X
    are fitted to a centered copy of X, and all others to the targets and then `n_passes` times. A
    regressor that is linear in X has no intercept, which does not affect the ranking.
    """
    X, queries, weight, d = rows.X, rows.queries, rows.weight, rows.X.shape[1]
    if is_closed_form(regressor) and d <= max(X.shape[0], 1000) and d * d <= MOST_CELLS:
        within = WithinQueries(X, targets[:, None], queries, weight)
        regressor.set_params(fit_intercept=False)
        return fit_moments(regressor, within.moments(), True, method=method)
    held_out = look_over(regressor, rows)
    if is_closed_form(regressor) or method == "partial_fit":
        return _fit_linear(regressor, rows, targets, held_out, method)
    share = _weights_taken(regressor, queries, weight) if _takes_weights(regressor) else None

    def fit_to(values: Any) -> Any:
        return fit_rows(clone(regressor), X, values, share, held_out)

    fitted = fit_to(targets)
    if is_linear(fitted, X[:_FEW_ROWS]):
        return _fit_linear(clone(regressor), rows, targets, held_out, method)
    _weights_taken(regressor, queries, weight)
    for _ in range(n_passes):
        left = targets - predict_rows(fitted, X)
        fitted = fit_to(targets - queries.levels(left, weight))
    return fitted


def _fit_linear(regressor: Any, rows: Rows, targets: Any, held_out: Any, method: Any) -> Any:
    """Fit a regressor that is linear in X to a centered copy of X."""
    table, X = rows.X, tables.as_numbers(rows.X)
    within = WithinQueries(X, targets[:, None], rows.queries, rows.weight)
    if "fit_intercept" in regressor.get_params():
        regressor.set_params(fit_intercept=False)
    X, targets = as_dense(X) - within.means[within.codes], within.centered_targets()[:, 0]
    weight = within.weight()
    if not has_fit_parameter(regressor, "sample_weight"):
        root, weight = np.sqrt(weight), None
        X, targets = X * root[:, None], targets * root
    X = tables.with_columns_of(table, X)
    fit_rows(regressor, X, targets, weight, held_out, method=method)
    if not is_linear(regressor, X[:_FEW_ROWS]):
        raise ValueError(
            "estimator must be linear in X for partial_fit with loss='pairwise_squared', got "
            f"{type(regressor).__name__}. Call fit with all rows, or set loss='squared'."
        )
    return regressor


def fit_pairwise_outputs(
    regressor: Any, X: Any, targets: Any, weight: Any = None, *, n_passes: Any, method: str = "fit"
) -> Any:
    """Fit a regression with several outputs, for targets up to a constant per row.

    Closed forms and ``method="partial_fit"`` fit centered targets, which is exact for closed forms.
    """
    if is_closed_form(regressor) or method == "partial_fit":
        centered = targets - targets.mean(axis=1, keepdims=True)
        return fit_outputs(regressor, X, centered, weight, method=method)
    regressor = of_outputs(regressor)
    look_over(regressor, None)
    fitted = fit_rows(clone(regressor), X, targets, weight)
    for _ in range(n_passes):
        left = targets - predict_rows(fitted, X)
        centered = targets - left.mean(axis=1, keepdims=True)
        fitted = fit_rows(clone(regressor), X, centered, weight)
    return fitted


def _takes_weights(regressor: Any) -> bool:
    try:
        return bool(weight_parameter(regressor))
    except ValueError:
        return False


def _weights_taken(regressor: Any, queries: Queries, weight: Any) -> Floats | None:
    """Return the weights of rows times the sizes of their queries.

    If the regressor does not accept weights, return None, or raise ValueError if `weight` is given.
    """
    if weight is None and not _takes_weights(regressor):
        return None
    weight_parameter(regressor)
    return pair_weights(queries, weight)


def pair_weights(queries: Queries, weight: Any) -> Floats:
    """Return the weights of rows times the sizes of their queries."""
    sizes = queries.sizes[queries.codes].astype(float)
    return sizes if weight is None else sizes * weight
