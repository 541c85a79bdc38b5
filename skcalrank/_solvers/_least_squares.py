"""Least squares with regressors of scikit-learn."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isclass, signature
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..columns import MOST_CELLS, arrays, first_equal_rows, tables
from ..columns.arrays import safe_indexing
from ..columns.types import Array, Floats, Ints
from ..data import OutOfRangeError, Rows, apart, check, one_blas_thread
from ._moments import Moments, pooled_moments, product_of_rows
from ._regressors import fit_with_held_out, held_out_rows, warn_unless_a_mean, with_params
from ._ridge import square_root

# Predictions of equal rows may differ by rounding errors, which are far smaller than this number
# times the largest prediction.
_NEAR = 1e-9

# Transformers that read labels, although their tags say that they need none.
_READ_LABELS = re.compile(r"CCA|PLS\w+|Select(KBest|Percentile)")

SQUARED_LOSSES = ("squared", "centered", "pairwise_squared")


def is_closed_form(regressor: Any) -> bool:
    """Return whether a regressor depends on X and y only through X'X and X'y, as Ridge (None) does.

    These are `Ridge`, `LinearRegression` and `GramRidge`, and no subclass of them, whose `fit` may
    do anything with X. `GramRidge`, which this module cannot import, declares it by an attribute.
    """
    if regressor is None or type(regressor) in (Ridge, LinearRegression):
        return True
    return "_sees_moments_only" in vars(type(regressor))


def fits_in_closed_form(regressor: Any) -> bool:
    """Return whether a regressor is fitted in closed form, after steps of a pipeline if it is one.

    The steps are those of scikit-learn or of this package that need neither labels nor queries.
    """
    if type(regressor) is not Pipeline or not regressor.steps:
        return is_closed_form(regressor)
    *before, last = [step for _, step in regressor.steps]
    return last is not None and fits_in_closed_form(last) and all(map(_reads_rows_only, before))


def _reads_rows_only(step: Any) -> bool:
    """Return whether a step, with all estimators inside of it, needs neither labels nor queries."""
    inside = step.get_params().values() if hasattr(step, "get_params") else ()
    return all(
        type(part).__module__.startswith(("sklearn.", "skcalrank."))
        and not _READ_LABELS.fullmatch(type(part).__name__)
        and not get_tags(part).target_tags.required
        and "qid" not in signature(getattr(part, "transform", part.fit)).parameters
        for part in (step, *inside)
        if hasattr(part, "fit") and not isclass(part)
    )


def takes_sparse(regressor: Any) -> bool:
    """Return whether a regressor accepts sparse X; None means Ridge.

    Closed forms always do, although the tags of Ridge deny it in some versions of scikit-learn.
    """
    return is_closed_form(regressor) or get_tags(regressor).input_tags.sparse


def takes_nan(regressor: Any) -> bool:
    """Return whether a regressor accepts NaN in X; None means Ridge, which does not."""
    return regressor is not None and get_tags(regressor).input_tags.allow_nan


def fit_regressor(
    regressor: Any,
    X: Any,
    targets: Floats,
    sample_weight: Floats | None = None,
    *,
    rows: Rows | None = None,
    method: str = "fit",
) -> Any:
    """Fit a regressor, or a pipeline, to targets; with ``method="partial_fit"``, update it.

    `Ridge` is fitted from moments where it would otherwise center and square a copy of dense X.
    Targets have shape (n_rows,) or (n_rows, n_targets). Whole queries of `rows` are held out for
    early stopping; None if no query has several rows.
    """
    if method == "fit" and _squares_features(regressor, X):
        columns = targets.reshape(len(targets), -1).astype(float, copy=False)
        return fit_pooled(regressor, pooled_moments(X, columns, sample_weight), targets.ndim == 1)
    return fit_rows(regressor, X, targets, sample_weight, look_over(regressor, rows), method=method)


def look_over(regressor: Any, rows: Rows | None) -> Any:
    """Warn if a regressor does not estimate means, and return rows to hold out for early stopping.

    They are what :func:`held_out_rows` returns, or None if no rows of named queries are given.
    """
    warn_unless_a_mean(regressor)
    return None if rows is None or not rows.named else held_out_rows(regressor, rows)


def fit_rows(
    regressor: Any,
    X: Any,
    targets: Array,
    sample_weight: Floats | None = None,
    held_out: tuple[Ints, Ints] | None = None,
    *,
    method: str = "fit",
) -> Any:
    """Fit a regressor by its own method, without a shortcut through moments."""
    params = {}
    if sample_weight is not None:
        params[weight_parameter(regressor)] = sample_weight
    with _inside_ranker(regressor, X):
        if held_out is not None:
            return fit_with_held_out(regressor, X, targets, sample_weight, *held_out)
        apart(getattr(regressor, method), _in_range(regressor, X), targets, **params)
    return _finite(regressor)


def transformed(pipeline: Pipeline, X: Any, targets: Array) -> tuple[Any, Any]:
    """Fit the steps of a pipeline before the last, and return the last one and what it reads."""
    with _inside_ranker(pipeline, X):
        before, last = pipeline[:-1], pipeline[-1]
        X = before.fit_transform(X, targets) if before.steps else X
        pipeline.steps = [*before.steps, pipeline.steps[-1]]
        if type(last) is Pipeline:
            return transformed(last, X, targets)
        return last, check.features(last, X, accept_sparse="csr", dtype=(np.float64, np.float32))


@contextmanager
def _inside_ranker(regressor: Any, X: Any) -> Iterator[None]:
    """Run a fit of a regressor to X, and say in errors which values of X it cannot read."""
    try:
        # Metadata requests of the user do not apply to the regressor inside a ranker.
        with config_context(enable_metadata_routing=False):
            yield
    except (ValueError, TypeError, IndexError) as error:
        if names := tables.empty_columns(X):
            raise ValueError(
                f"X must have values in every column for {type(regressor).__name__}, got none in "
                f"{', '.join(map(repr, names))}: drop such columns. ({error})"
            ) from error
        if "too large for dtype" in str(error):
            sizes = arrays.sizes_of_columns(tables.as_numbers(X))
            raise OutOfRangeError(
                f"X must have values that {type(regressor).__name__} can compute with, got "
                f"{np.nanmax(sizes):.3g}",
                int(np.nanargmax(sizes)),
                f"Divide the column by a number. ({error})",
            ) from error
        raise


def _in_range(regressor: Any, X: Any) -> Any:
    """Return X, or a copy in double precision if squares of X may overflow or underflow."""
    values = X.data if issparse(X) else X
    if not is_closed_form(regressor) or getattr(values, "dtype", None) != np.float32:
        return X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return X if 1e-12 < largest < 1e12 else X.astype(np.float64)


def _finite(regressor: Any) -> Any:
    """Return a fitted regressor; raise ValueError if its coefficients are not finite."""
    coef: Any = getattr(regressor, "coef_", 0.0)
    # The coefficients of a support vector machine that is fitted to sparse rows are sparse.
    if not np.isfinite(np.asarray(coef.data if issparse(coef) else coef, dtype=float)).all():
        raise ValueError(
            f"The coefficients of {type(regressor).__name__} are not finite. Scale the features, "
            "and divide labels or weights by their largest value."
        )
    return regressor


def _squares_features(regressor: Any, X: Any) -> bool:
    """Return whether the regressor is a Ridge that computes ``X'X`` of a dense X."""
    if type(regressor) is not Ridge or regressor.solver != "auto" or regressor.positive:
        return False
    return isinstance(X, np.ndarray) and X.shape[1] <= len(X) and X.shape[1] ** 2 <= MOST_CELLS


def predict_rows(regressor: Any, X: Any) -> Floats:
    """Return predictions in double precision; linear regressors need no copy of X.

    Equal rows have bitwise equal predictions, so that metrics treat them as ties.
    """
    # GramRidge computes the same of sparse X.
    of_sklearn = type(regressor) in (Ridge, LinearRegression)
    if is_closed_form(regressor) and (isinstance(X, np.ndarray) or not of_sklearn):
        return product_of_rows(X, regressor.coef_.T) + regressor.intercept_
    raw = apart(regressor.predict, X)
    values = raw.astype(np.float64, copy=False)
    if values.ndim > 1:
        return values
    # Rounding errors of single precision may be amplified to any size, so compare all rows.
    return with_ties(values, X, every_row=tables.is_single(X) or raw.dtype.itemsize < 8)


def with_ties(values: Floats, X: Any, *, every_row: bool = False) -> Floats:
    """Return predictions that are bitwise equal for equal rows, which rounding may tell apart."""
    near = np.arange(len(values)) if every_row else _nearly_equal(values)
    if len(near):
        values = values.copy()
        rows = tables.rows_as_numbers(safe_indexing(X, near))
        values[near] = values[near[first_equal_rows(rows)]]
    return values


def _nearly_equal(values: Floats) -> Ints:
    """Return the indices of values that are close, but not equal, to some other value.

    Values are close if they are connected by steps of at most `_NEAR` times the largest absolute
    value. All members of such a group are returned unless all are equal.
    """
    order = np.argsort(values)
    with np.errstate(invalid="ignore"):
        gap = np.diff(values[order])
        apart = ~(gap <= _NEAR * np.abs(values).max(initial=0.0))
    run = np.append(0, np.cumsum(apart))
    differ = np.bincount(run[1:], (gap > 0) & ~apart, run[-1] + 1)
    return order[differ[run] > 0]


def weight_parameter(regressor: Any) -> str:
    """Return the name of the parameter for sample weights in the fit of a regressor or pipeline.

    Raise ValueError if there is none.
    """
    prefix = ""
    while isinstance(regressor, Pipeline):
        name, regressor = regressor.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(regressor, "sample_weight"):
        raise ValueError(
            "sample_weight and query_weight must be None, because "
            f"{type(regressor).__name__}.fit has no sample_weight. Choose an estimator that "
            "accepts weights, or leave both None."
        )
    return f"{prefix}sample_weight"


def fit_moments(
    regressor: Any,
    moments: Moments,
    one_target: bool,
    *,
    fit_intercept: bool = True,
    method: str = "fit",
) -> Any:
    """Fit a closed-form regressor to moments, without an intercept of its own.

    The parameter ``fit_intercept`` of the regressor must be false; the argument determines whether
    the moments are taken about the means. With `one_target`, the targets are one-dimensional.
    """
    root, right = square_root(moments, fit_intercept)
    # For so few rows, Ridge would invert the matrix of products of rows, in which features of small
    # values are lost among features of large values.
    free = type(regressor) is Ridge and regressor.solver == "auto" and not regressor.positive
    unit, params = 1.0, {}
    if free:
        # The solver "svd" ignores singular values below 1e-15, so divide by a power of two near
        # the largest value if that is tiny.
        largest = float(np.abs(root).max(initial=0.0))
        unit = 2.0 ** np.frexp(largest)[1] if 0.0 < largest < 1e-6 else 1.0
        params = {"solver": "svd", "alpha": np.divide(regressor.alpha, unit) / unit}
    with one_blas_thread(moments.gram.size), with_params(regressor, **params):
        getattr(regressor, method)(root / unit, right[:, 0] if one_target else right)
    if free:
        regressor.coef_ = regressor.coef_ / unit
    return _finite(regressor)


def fit_pooled(regressor: Any, moments: Moments, one_target: bool) -> Any:
    """Fit a closed-form regressor to moments, with an intercept if its ``fit_intercept`` is set."""
    add = getattr(regressor, "_add_moments", None)
    if add is not None:
        return add(moments, one_target, first=True)
    fit_intercept = regressor.fit_intercept
    with with_params(regressor, fit_intercept=False):
        fit_moments(regressor, moments, one_target, fit_intercept=fit_intercept)
    if fit_intercept:
        regressor.intercept_ = moments.level - regressor.coef_ @ moments.mean
        if one_target:
            regressor.intercept_ = float(regressor.intercept_[0])
    return regressor


def is_linear(regressor: Any, X: Any) -> Any:
    """Return whether a fitted regressor predicts ``X @ coef_`` plus an intercept."""
    coef = np.asarray(getattr(regressor, "coef_", 0.0))
    if coef.shape[-1:] != (X.shape[1],):
        return False
    linear = tables.as_numbers(X) @ coef.T + getattr(regressor, "intercept_", 0.0)
    return np.allclose(linear.ravel(), regressor.predict(X).ravel(), rtol=1e-4, atol=1e-6)


def is_affine(regressor: Any, n_features: Any) -> Any:
    """Return whether a fitted regressor or pipeline is affine in X and has coefficients."""
    X = np.random.default_rng(0).normal(size=(20, n_features))
    if isinstance(regressor, Pipeline):
        before, regressor = regressor[:-1], regressor[-1]
        there, middle, back = (as_dense(before.transform(Z)) for Z in (X, 0 * X, -X))
        if not np.allclose(there - middle, middle - back):
            return False
        X = there
    return is_linear(regressor, X)


def as_dense(X: Any) -> Floats:
    """Return X as an array; raise ValueError if a sparse X has more than ``MOST_CELLS`` cells."""
    if not issparse(X):
        return X
    if X.shape[0] * X.shape[1] > MOST_CELLS:
        raise ValueError(
            f"X must have at most {MOST_CELLS} cells for this surrogate, which makes a sparse X "
            f"dense, got shape {X.shape}. A score surrogate with loss='squared' keeps X sparse."
        )
    return X.toarray()


def fit_outputs(
    regressor: Any, X: Any, targets: Floats, sample_weight: Any = None, *, method: str = "fit"
) -> Any:
    """Fit a regression with several outputs, by one regressor per output if necessary."""
    return fit_regressor(of_outputs(regressor), X, targets, sample_weight, method=method)


def of_outputs(regressor: Any) -> Any:
    """Return the regressor, wrapped in MultiOutputRegressor if it supports one output only."""
    if get_tags(regressor).target_tags.multi_output:
        return regressor
    if getattr(regressor, "final_estimator", regressor) is None:
        regressor.set_params(final_estimator=RidgeCV())  # as None is, which predicts after fit only
    return MultiOutputRegressor(regressor)
