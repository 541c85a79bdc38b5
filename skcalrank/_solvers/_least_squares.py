"""Squared loss with a regressor of scikit-learn."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import has_fit_parameter

from ..data import (
    MOST_CELLS,
    Queries,
    as_numbers,
    check_option,
    empty_columns,
    first_equal_rows,
    is_single,
    one_blas_thread,
    rows_as_numbers,
)
from ._moments import WithinQueries, pooled_moments, product_of_rows
from ._regressors import fit_with_held_out, held_out_queries, warn_unless_a_mean
from ._ridge import square_root

# Predictions of equal rows differ by rounding, which is far below this share of the largest.
_NEAR = 1e-9

SQUARED_LOSSES = ("squared", "centered", "pairwise_squared")


def is_closed_form(regressor) -> bool:
    """Return whether a regressor sees X through X'X and X'y only; None, which is Ridge, does.

    `GramRidge` stands above this module, and says so by an attribute.
    """
    if regressor is None or isinstance(regressor, (Ridge, LinearRegression)):
        return True
    return getattr(regressor, "_sees_moments_only", False)


def takes_sparse(regressor) -> bool:
    """Return whether a regressor takes sparse X; None is Ridge, which some versions deny."""
    return is_closed_form(regressor) or get_tags(regressor).input_tags.sparse


def takes_nan(regressor) -> bool:
    """Return whether a regressor takes NaN in X; None is Ridge."""
    return regressor is not None and get_tags(regressor).input_tags.allow_nan


def effective_loss(loss, regressor) -> str:
    """Return the loss, by default "pairwise_squared" for closed forms, "squared" for others."""
    if loss is not None:
        check_option("loss", loss, SQUARED_LOSSES)
        return loss
    return "pairwise_squared" if is_closed_form(regressor) else "squared"


def fit_regressor(regressor, X, targets, sample_weight=None, *, codes=None, method="fit"):
    """Fit a regressor, or update it by "partial_fit", with weights where there are any.

    Where `Ridge` would center a copy of dense X and square it, it is handed the moments. Targets
    have shape (n_rows,) or (n_rows, n_targets); the regressor may be a pipeline. `codes` numbers
    the query of each row; None where no query has several rows.
    """
    if method == "fit" and _squares_features(regressor, X):
        columns = targets.reshape(len(targets), -1).astype(float, copy=False)
        moments = pooled_moments(X, columns, sample_weight)
        return fit_pooled(regressor, moments, targets.ndim == 1)
    held_out = look_over(regressor, codes)
    return fit_rows(regressor, X, targets, sample_weight, held_out, method=method)


def look_over(regressor, codes):
    """Warn of a regressor that cannot be calibrated, and return rows to stop early on, or None.

    As :func:`held_out_queries` returns them; `codes` as in :func:`fit_regressor`.
    """
    warn_unless_a_mean(regressor)
    return None if codes is None else held_out_queries(regressor, codes)


def fit_rows(regressor, X, targets, sample_weight=None, held_out=None, *, method="fit"):
    """Fit a regressor to rows as they are."""
    params = {}
    if sample_weight is not None:
        params[weight_parameter(regressor)] = sample_weight
    try:
        if held_out is not None:
            return fit_with_held_out(regressor, X, targets, sample_weight, *held_out)
        # What is inside the ranker is not the business of the user's metadata requests.
        with config_context(enable_metadata_routing=False):
            getattr(regressor, method)(_in_range(regressor, X), targets, **params)
    except (ValueError, TypeError, IndexError) as error:
        _name_empty_columns(regressor, X, error)
        raise
    return _finite(regressor)


def _name_empty_columns(regressor, X, error):
    """Raise an error that names the columns without values, if there are any."""
    if names := empty_columns(X):
        raise ValueError(
            f"X must have values in every column for {type(regressor).__name__}, got none in "
            f"{', '.join(map(repr, names))}: drop such columns. ({error})"
        ) from error


def _in_range(regressor, X):
    """Return X, or a copy in double precision where squares in single precision leave its range."""
    values = X.data if issparse(X) else X
    if not is_closed_form(regressor) or getattr(values, "dtype", None) != np.float32:
        return X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return X if 1e-12 < largest < 1e12 else X.astype(np.float64)


def _finite(regressor):
    """Return a fitted regressor, or raise where its coefficients are not finite."""
    coef = getattr(regressor, "coef_", 0.0)
    # Those of a support vector machine of sparse rows are sparse.
    if not np.isfinite(np.asarray(coef.data if issparse(coef) else coef, dtype=float)).all():
        raise ValueError(
            f"The coefficients of {type(regressor).__name__} are not finite numbers: scale the "
            "features, and divide labels or weights by their largest."
        )
    return regressor


def _squares_features(regressor, X) -> bool:
    """Return whether the regressor is a ridge regression that uses ``X'X``."""
    if type(regressor) is not Ridge or regressor.solver != "auto" or regressor.positive:
        return False
    return isinstance(X, np.ndarray) and X.shape[1] <= len(X) and X.shape[1] ** 2 <= MOST_CELLS


def predict_rows(regressor, X):
    """Return predictions in double precision, of linear regressors without a copy of X.

    Equal rows have equal predictions to the last bit, so that metrics see that they tie.
    """
    if type(regressor) in (Ridge, LinearRegression) and isinstance(X, np.ndarray):
        return product_of_rows(X, regressor.coef_.T) + regressor.intercept_
    raw = regressor.predict(X)
    found = raw.astype(np.float64, copy=False)
    if found.ndim > 1 or getattr(regressor, "_sees_moments_only", False):
        return found
    # Rounding to single precision may be amplified to any size.
    single = is_single(X) or raw.dtype.itemsize < 8
    near = np.arange(len(found)) if single else _nearly_equal(found)
    if len(near):
        found = found.copy()
        rows = rows_as_numbers(_safe_indexing(X, near))
        found[near] = found[near[first_equal_rows(rows)]]
    return found


def _nearly_equal(values):
    """Places of values that another one is near to, where not all that are near are equal."""
    order = np.argsort(values)
    with np.errstate(invalid="ignore"):
        gap = np.diff(values[order])
        apart = ~(gap <= _NEAR * np.abs(values).max(initial=0.0))
    run = np.append(0, np.cumsum(apart))
    differ = np.bincount(run[1:], (gap > 0) & ~apart, run[-1] + 1)
    return order[differ[run] > 0]


def weight_parameter(regressor) -> str:
    """How the fit of a regressor, the last step of a pipeline too, calls the weights."""
    prefix = ""
    while isinstance(regressor, Pipeline):
        name, regressor = regressor.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(regressor, "sample_weight"):
        raise ValueError(
            f"sample_weight or query_weight weighs rows, but {type(regressor).__name__}.fit takes "
            "no weights: choose an estimator that does, or leave both None."
        )
    return f"{prefix}sample_weight"


def fit_moments(regressor, moments, one_target, *, fit_intercept=True, method="fit"):
    """Fit a regressor that sees moments only, without an intercept of its own.

    Its ``fit_intercept`` must be false; the argument says whether moments are taken about their
    means. With `one_target`, the targets are one-dimensional.
    """
    root, right = square_root(moments, fit_intercept)
    # Of so few rows Ridge by itself inverts the products of rows, in which features of large
    # values drown the others.
    free = isinstance(regressor, Ridge) and regressor.solver == "auto" and not regressor.positive
    unit, alpha = 1.0, getattr(regressor, "alpha", None)
    if free:
        # That solver leaves out singular values below 1e-15.
        unit = _unit_of(root)
        regressor.set_params(solver="svd", alpha=np.divide(alpha, unit) / unit)
    with one_blas_thread(moments.gram.size):
        getattr(regressor, method)(root / unit, right[:, 0] if one_target else right)
    if free:
        regressor.set_params(solver="auto", alpha=alpha)
        regressor.coef_ = regressor.coef_ / unit
    return _finite(regressor)


def _unit_of(root):
    """Return the power of two at the size of features that are tiny, else 1."""
    largest = float(np.abs(root).max(initial=0.0))
    return 2.0 ** np.frexp(largest)[1] if 0.0 < largest < 1e-6 else 1.0


def fit_pooled(regressor, moments, one_target):
    """Fit a regressor that sees moments only, with the intercept that it asks for."""
    add = getattr(regressor, "_add_moments", None)
    if add is not None:
        return add(moments, one_target, first=True)
    fit_intercept = regressor.fit_intercept
    regressor.set_params(fit_intercept=False)
    fit_moments(regressor, moments, one_target, fit_intercept=fit_intercept)
    regressor.set_params(fit_intercept=fit_intercept)
    if fit_intercept:
        regressor.intercept_ = moments.level - regressor.coef_ @ moments.mean
        if one_target:
            regressor.intercept_ = float(regressor.intercept_[0])
    return regressor


def is_linear(regressor, X):
    """Whether a fitted regressor predicts ``X @ coef_`` and an intercept."""
    coef = np.asarray(getattr(regressor, "coef_", 0.0))
    if coef.shape[-1:] != (X.shape[1],):
        return False
    linear = as_numbers(X) @ coef.T + getattr(regressor, "intercept_", 0.0)
    return np.allclose(linear.ravel(), regressor.predict(X).ravel(), rtol=1e-4, atol=1e-6)


def is_affine(regressor, n_features):
    """Whether a fitted regressor, a pipeline too, is linear in X and has coefficients."""
    X = np.random.default_rng(0).normal(size=(20, n_features))
    if isinstance(regressor, Pipeline):
        before, regressor = regressor[:-1], regressor[-1]
        there, middle, back = (as_dense(before.transform(Z)) for Z in (X, 0 * X, -X))
        if not np.allclose(there - middle, middle - back):
            return False
        X = there
    return is_linear(regressor, X)


def as_dense(X):
    """Return X as an array, or raise if a sparse X has more than ``MOST_CELLS`` cells."""
    if not issparse(X):
        return X
    if X.shape[0] * X.shape[1] > MOST_CELLS:
        raise ValueError(
            f"This surrogate makes a sparse X dense, and of shape {X.shape} it does not fit: a "
            "score surrogate with loss='squared' keeps X sparse."
        )
    return X.toarray()


def fit_outputs(regressor, X, targets, sample_weight=None, *, method="fit"):
    """Fit a regression with several outputs, one regressor each where it must be."""
    return fit_regressor(of_outputs(regressor), X, targets, sample_weight, method=method)


def of_outputs(regressor):
    """Return the regressor, or one of several outputs around it."""
    if get_tags(regressor).target_tags.multi_output:
        return regressor
    return MultiOutputRegressor(regressor)


def centred_gram(X, queries: Queries):
    """Return ``X_c' X_c`` of X centered within the queries, each weighed by its size."""
    return WithinQueries(X, np.zeros((queries.n_rows, 0)), queries).moments().gram
