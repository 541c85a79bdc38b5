r"""Squared and pairwise squared loss with a regressor of scikit-learn.

Pairwise squared is squared on features and targets centred within the query, the query
weighted by its number r of documents:

.. math:: \sum_{i<j} (v_i - v_j - (s_i - s_j))^2
    = r \sum_i (v_i - \bar v - (s_i - \bar s))^2 .

With weights on the rows, the pair (i, j) has the weight :math:`w_i w_j / \bar w`, which
keeps that identity with weighted means, and a constant weight c counts c.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import eigh
from scipy.sparse import diags, issparse
from sklearn import config_context
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from .._queries import Queries
from .._validation import check_option

__all__ = [
    "SQUARED_LOSSES",
    "as_dense",
    "centred_gram",
    "effective_loss",
    "fit_centred",
    "fit_outputs",
    "fit_regressor",
    "is_closed_form",
    "square_root",
    "takes_nan",
    "takes_sparse",
]

SQUARED_LOSSES = ("squared", "pairwise_squared")

# Rows that are centred at a time: a few of these stay in cache, and X is never copied.
_CHUNK_CELLS = 1 << 17

# Where centring leaves less than this share of a feature's squares, it is done before squaring.
_CANCELLED = 1e-6

# The largest sparse X that is made dense to centre it: 2 GB.
_DENSE_CELLS = 1 << 28


def is_closed_form(regressor) -> bool:
    """Whether the regressor sees X through X'X and X'y only."""
    return regressor is None or isinstance(regressor, (Ridge, LinearRegression))


def takes_sparse(regressor) -> bool:
    """Whether a regressor takes sparse X; None stands for Ridge, which some versions deny."""
    return is_closed_form(regressor) or get_tags(regressor).input_tags.sparse


def takes_nan(regressor) -> bool:
    """Whether a regressor takes NaN in X; None stands for Ridge."""
    return regressor is not None and get_tags(regressor).input_tags.allow_nan


def effective_loss(loss, regressor) -> str:
    """The loss in force: None depends on the regressor (None there means Ridge)."""
    if loss is not None:
        check_option("loss", loss, SQUARED_LOSSES)
        return loss
    return "pairwise_squared" if is_closed_form(regressor) else "squared"


def fit_regressor(regressor, X, targets, sample_weight=None):
    """Fit a regressor, with weights where there are any.

    Raises
    ------
    ValueError
        If there are weights and the regressor takes none.
    """
    params = {}
    if sample_weight is not None:
        params[_weight_parameter(regressor)] = sample_weight
    # What is inside the ranker is not the business of the user's metadata requests.
    with config_context(enable_metadata_routing=False):
        return regressor.fit(X, targets, **params)


def _weight_parameter(regressor) -> str:
    """How the fit of a regressor, the last step of a pipeline too, calls the weights."""
    prefix = ""
    while isinstance(regressor, Pipeline):
        name, regressor = regressor.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(regressor, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {type(regressor).__name__}.fit takes none: choose "
            "an estimator that does, or drop the weights."
        )
    return f"{prefix}sample_weight"


def fit_centred(regressor, X, targets, queries: Queries, sample_weight=None):
    """Fit a linear regressor on features and targets centred within the query.

    Parameters
    ----------
    regressor : estimator
        Linear in X. For `Ridge` and `LinearRegression`, X is not copied: they are
        handed the square root of the d x d centred Gram matrix, on which the
        regression is the same. Others get a centred copy of X.
    X : array-like or CSR matrix of shape (n_rows, d)
        In row order.
    targets : ndarray of shape (n_rows,) or (n_rows, n_targets)
        In row order.
    queries : Queries
    sample_weight : ndarray of shape (n_rows,), default=None
        In row order.

    Returns
    -------
    regressor
        Fitted, without an intercept: ranking needs none.

    Raises
    ------
    ValueError
        If the regressor is not linear in X.
    """
    weight = np.ones(queries.n_rows) if sample_weight is None else sample_weight
    grouped = queries.group(weight)
    total = queries.sum(grouped)
    share = grouped / queries.repeat(np.where(total > 0, total, 1.0))
    averaging = queries.indicator(share if issparse(X) else share.astype(X.dtype))
    targets = targets - (queries.indicator(share) @ targets)[queries.codes]
    weight = weight * queries.sizes[queries.codes]
    if "fit_intercept" in regressor.get_params():
        regressor.set_params(fit_intercept=False)
    d = X.shape[1]
    if is_closed_form(regressor) and d <= max(X.shape[0], 1000) and d * d <= _DENSE_CELLS:
        gram, moment = _centred_normal(X, targets, queries, weight, averaging)
        return regressor.fit(*square_root(gram, moment))
    X = as_dense(X)
    X = X - (averaging @ X)[queries.codes]
    if has_fit_parameter(regressor, "sample_weight"):
        fit_regressor(regressor, X, targets, weight)
    else:
        root = np.sqrt(weight)
        fit_regressor(regressor, X * root[:, None], (targets.T * root).T)
    if not _is_linear(regressor, X[:100]):
        raise ValueError(
            f"loss='pairwise_squared' needs a regressor linear in X, and "
            f"{type(regressor).__name__} is none: set loss='squared', or boost trees with "
            "an objective of skcalrank.boosting."
        )
    return regressor


def _is_linear(regressor, X):
    """Whether a fitted regressor predicts ``X @ coef_`` and an intercept."""
    coef = np.asarray(getattr(regressor, "coef_", 0.0))
    if coef.shape[-1:] != (X.shape[1],):
        return False
    linear = X @ coef.T + getattr(regressor, "intercept_", 0.0)
    return np.allclose(linear.ravel(), regressor.predict(X).ravel(), rtol=1e-4, atol=1e-6)


def as_dense(X):
    """X as an array, where that fits."""
    if not issparse(X):
        return X
    if X.shape[0] * X.shape[1] > _DENSE_CELLS:
        raise ValueError(
            f"This surrogate makes a sparse X dense, and of shape {X.shape} it does not fit: a "
            "score surrogate with loss='squared' keeps X sparse."
        )
    return X.toarray()


def fit_outputs(regressor, X, targets, sample_weight=None):
    """Fit a regression with several outputs, one regressor each where it must be."""
    if not get_tags(regressor).target_tags.multi_output:
        regressor = MultiOutputRegressor(regressor)
    return fit_regressor(regressor, X, targets, sample_weight)


def centred_gram(X, queries: Queries):
    """``X_c' X_c`` of X centred within the queries, each weighed by its size."""
    weight = np.ones(queries.n_rows)
    share = weight / queries.repeat(queries.sizes)
    averaging = queries.indicator(share if issparse(X) else share.astype(X.dtype))
    weight *= queries.sizes[queries.codes]
    return _centred_normal(X, np.zeros((queries.n_rows, 0)), queries, weight, averaging)[0]


def _centred_normal(X, targets, queries, weight, averaging):
    """``X_c' W X_c`` and ``X_c' W t``, in float64."""
    means, shape = averaging @ X, targets.shape
    if issparse(X):
        means = means.toarray()
        scaled = diags(weight) @ X
        # Centring would fill the zeros, so subtract: sum w (x-m)(x-m)' = sum w x x' - W m m'.
        total = queries.sum(queries.group(weight))[:, None]
        raw = np.asarray((X.T @ scaled).todense(), dtype=float)
        gram = raw - means.T @ (total * means)
        if (gram.diagonal() >= _CANCELLED * raw.diagonal()).all():
            return gram, np.asarray(scaled.T @ targets, dtype=float)
        # Nothing but rounding is left of some feature: centre it, chunk by chunk.
    d = X.shape[1]
    root = np.sqrt(weight).astype(means.dtype)[:, None]
    # Of one size, so that squares of large gains do not overflow.
    size = max(float(np.abs(targets).max(initial=0.0)), np.finfo(float).tiny)
    targets = targets.reshape(len(targets), -1) / size
    codes = queries.codes
    # Features and targets side by side: one product gives both, at the speed of a large one.
    product = np.zeros((d + targets.shape[1],) * 2)
    step = max(1, _CHUNK_CELLS // len(product))
    buffer = np.empty((min(step, X.shape[0]), len(product)), dtype=means.dtype)
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        part = buffer[: len(codes[rows])]
        chunk = X[rows].toarray() if issparse(X) else X[rows]
        np.subtract(chunk, means[codes[rows]], out=part[:, :d])
        part[:, d:] = targets[rows]
        part *= root[rows]
        product += part.T @ part
    return product[:d, :d], size * product[:d, d:].reshape(d, *shape[1:])


def square_root(gram, moment):
    """A and b with ``A'A = gram`` and ``A'b = moment``, of full rank.

    Least squares on (A, b), with any penalty, is the regression that `gram` and
    `moment` are the normal equations of.
    """
    # On columns of one scale, so that a feature of large values does not drown the others.
    scale = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    scale[scale == 0.0] = 1.0
    values, vectors = eigh(gram / np.outer(scale, scale))
    keep = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    if not keep.any():
        return np.zeros((1, len(gram))), np.zeros((1, *moment.shape[1:]))
    root, vectors = np.sqrt(values[keep]), vectors[:, keep]
    moment = (moment.T / scale).T
    return (vectors * root).T * scale, ((vectors.T @ moment).T / root).T
