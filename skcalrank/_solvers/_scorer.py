r"""Linear scorers of any differentiable objective of the scores.

.. math:: \min_{w, b} \; f(Xw + b) + \alpha \|w\|^2

by scipy's L-BFGS, in coordinates in which a quadratic with the Gram matrix of X would be a
sphere: features of any scale, and correlated ones, take few iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse import diags, issparse
from sklearn.exceptions import ConvergenceWarning

from ..data import CACHE_CELLS, PART_CELLS, Queries, each, one_blas_thread, safe_divide, warn
from ._least_squares import centred_gram
from ._moments import pooled_moments

# Of the solver: it stops by the gradient, or where rounding does.
_OPTIONS = {"ftol": 8 * np.finfo(float).eps, "maxcor": 20}

# Features whose squared mean is so many times their variance are far from zero.
_FAR = 1e6

# Gradients below have squares that underflow.
_SMALLEST = 1e-150

# With more features only their scales are evened out.
_MOST_FEATURES = 2000


class ScorerFit(NamedTuple):
    """A linear scorer; coefficients of shape (d,) or (n_outputs, d).

    The penalty of each feature is in units of `penalty_scale`.
    """

    coef: np.ndarray
    intercept: float | np.ndarray
    n_iter: int
    penalty_scale: np.ndarray


class Units(NamedTuple):
    """What penalties are counted in.

    The squares of the features; weights of the rows in them, and the function that centers scores
    of shape (n_rows, n_outputs) as these squares center features.
    """

    squares: np.ndarray
    weight: np.ndarray
    center: Callable[[np.ndarray], np.ndarray]


def _in_range(fit):
    """Raise where numbers overflow, of which the solver would make anything.

    Its steps are products with small matrices.
    """

    @wraps(fit)
    def call(objective, X, **kwargs):
        try:
            with np.errstate(over="raise", invalid="raise"), one_blas_thread(X.shape[1] ** 2):
                return fit(objective, X, **kwargs)
        except FloatingPointError as error:
            raise ValueError(
                f"Products of X, y and sample_weight are out of range ({error}): scale the "
                "features, and divide labels and weights by their largest."
            ) from error

    return call


@_in_range
def fit_scorer(
    objective,
    X,
    *,
    alpha,
    units=None,
    curved=None,
    queries: Queries | None = None,
    n_outputs=None,
    fit_intercept=True,
    max_iter=1000,
    tol=1e-6,
    start=None,
    verbose=0,
):
    """Minimize a differentiable objective of linear scores, with a ridge penalty.

    `objective` takes the scores in row order, of shape (n_rows,) or (n_rows * n_outputs,), and
    returns the value and the gradient in them. `queries` are given where it depends on differences
    within these queries alone, and `n_outputs` is the number of items of the label-ranking form,
    each with coefficients of its own. The gradient, in the coordinates of the solver, must be `tol`
    times that of all scores zero. `start` is a pair of coefficients and intercept; None is zero.

    With `units`, a ``Units``, the penalty is in units of half the curvature along each feature
    where all scores are zero, as penalties of squared losses are: of the objective, or of another
    one that is `curved`.
    """
    rows = _Rows(X, queries, fit_intercept)
    shape = (X.shape[1] + fit_intercept, n_outputs or 1)
    at_zero = _value_and_gradient(objective, rows, np.zeros(shape))[1]
    curvature, scale = _curvature(rows, objective, at_zero), np.ones(rows.d)
    if units is not None:
        measured = objective if curved is None else curved
        scale = penalty_scale(measured, units, rows.scores, rows.back, shape)
    penalty = alpha * scale
    penalized = partial(_penalized, objective, rows, penalty[:, None])
    basis = _basis(rows, curvature, penalty)
    steepest = basis.T @ at_zero
    size = float(np.linalg.norm(steepest))
    if not _SMALLEST < size < np.inf:
        # So flat that one step of Newton's method is the solution.
        return _result(-(basis @ np.nan_to_num(steepest)), rows, n_outputs, 0, scale)

    def scaled(z):
        value, gradient = penalized(basis @ z.reshape(-1, shape[1]) * size)
        return value / size**2, (basis.T @ gradient).ravel() / size

    first = np.zeros(shape)
    if start is not None:
        first = _coordinates(basis, rows.stack(start, shape)) / size
    found = minimize(
        scaled,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=_printer(scaled, size) if verbose else None,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, **_OPTIONS},
    )
    _warn_if_unfinished(found, tol)
    best = basis @ found.x.reshape(-1, shape[1]) * size
    return _result(best, rows, n_outputs, found.nit, scale)


def _value_and_gradient(objective, rows, w):
    """Value and gradient in the coefficients; the last row is the intercept."""
    value, slope = objective(rows.scores(w).ravel())
    return value, rows.back(slope.reshape(-1, w.shape[1]))


def _penalized(objective, rows, penalty, w):
    """Value and gradient with a penalty of each feature."""
    coef = w[: rows.d]
    value, gradient = _value_and_gradient(objective, rows, w)
    gradient[: rows.d] += 2.0 * penalty * coef
    return value + np.sum(penalty * coef**2), gradient


def penalty_scale(objective, units: Units, scores, back, shape):
    """Return the units of the penalty of each feature; 1 where it does not vary.

    The curvature is told from one direction, as the same for all features beside their squares.
    `scores` and `back` take coefficients of a shape to scores, and a slope in these to one in the
    coefficients.
    """
    squares, zero = units.squares, np.zeros(shape)
    flat = scores(zero)
    slope = objective(flat.ravel())[1].reshape(flat.shape)
    # What all rows share is left to the intercept.
    slope = slope - np.outer(safe_divide(units.weight, units.weight.sum()), slope.sum(axis=0))
    start = back(slope)
    zero[: len(squares)] = safe_divide(-start[: len(squares)].T, squares).T
    step = units.center(scores(zero))
    furthest = np.abs(step[units.weight > 0.0]).max(initial=0.0)
    seen = told = 0.0
    if 0.0 < furthest < np.inf:
        step /= furthest
        slopes = [objective(each)[1] for each in (step.ravel(), flat.ravel())]
        seen = (slopes[0] - slopes[1]) @ step.ravel()
        told = float((units.weight @ np.square(step)).sum())
    curvature = seen / told if told > 0.0 and 0.0 < seen < np.inf else 2.0
    return np.where(squares > 0.0, curvature / 2.0 * squares, 1.0)


def _warn_if_unfinished(found, tol):
    if not found.success and not _is_rounding(found):
        warn(
            f"L-BFGS stopped after {found.nit} iterations without reaching tol={tol:g}: "
            f"increase max_iter, alpha or tol. ({_text(found.message)})",
            ConvergenceWarning,
        )


def _is_rounding(found):
    """Whether what is left to gain is below the rounding of the objective."""
    return np.sum(found.jac**2) / 2 < 1e3 * np.finfo(float).eps * abs(found.fun)


def _text(message):
    return message.decode() if isinstance(message, bytes) else message


def _printer(scaled, size):
    number = count(1)

    def tell(z):
        value, gradient = scaled(z)
        steep = np.abs(gradient).max()
        print(f"iteration {next(number)}: objective {value * size**2:.10g}, gradient {steep:.3g}")

    return tell


def _coordinates(basis, w):
    if issparse(basis):
        return w / basis.diagonal()[:, None]
    return np.linalg.solve(basis, w)


def _result(w, rows, n_outputs, n_iter, scale):
    coef = w[: rows.d].T
    shift = -(coef @ rows.mean)
    intercept = shift + w[-1] if rows.fit_intercept else np.zeros(len(coef))
    n_iter = max(int(n_iter), 1)
    if n_outputs is None:
        return ScorerFit(coef[0], float(intercept[0]), n_iter, scale)
    return ScorerFit(np.ascontiguousarray(coef), intercept, n_iter, scale)


class _Rows:
    """Products with X, its columns centered where there is an intercept, in float64.

    X of single precision is read a few rows at a time: the objective of a line search must
    not tremble, and a copy of X would be as large as X.
    """

    def __init__(self, X, queries, fit_intercept):
        self.X, self.d, self.queries, self.fit_intercept = X, X.shape[1], queries, fit_intercept
        self.mean = np.zeros(self.d)
        self.gram = self._learn_gram()
        diagonal = self.diagonal()
        # There scores would be differences of large numbers, unless rows are centered first.
        far = (diagonal > 0) & (X.shape[0] * self.mean**2 > _FAR * diagonal)
        self.is_far = bool(far.any()) and not issparse(X)

    def diagonal(self):
        """Sums of squares of the features, centered as the objective sees them."""
        return self.gram if self.gram.ndim == 1 else self.gram.diagonal()

    def _chunks(self):
        """Slices of rows, which are small where a copy is made of them."""
        copied = self.X.dtype != np.float64 or self.is_far
        step = max(1, (CACHE_CELLS if copied else PART_CELLS // 4) // self.d)
        return [slice(start, start + step) for start in range(0, self.X.shape[0], step)]

    def _chunk(self, part):
        chunk = self.X[part].astype(float, copy=False)
        return chunk - self.mean if self.is_far else chunk

    def scores(self, w):
        """Scores of the rows, of shape (n_rows, n_outputs)."""
        coef = w[: self.d]
        if issparse(self.X):
            out = self.X @ coef
        else:
            out = np.empty((self.X.shape[0], coef.shape[1]))

            def multiply(part):
                out[part] = self._chunk(part) @ coef

            each(multiply, self._chunks())
        if not self.fit_intercept:
            return out
        return out + (w[-1] if self.is_far else w[-1] - self.mean @ coef)

    def back(self, slope):
        """Gradient in the coefficients and the intercept, from that in the scores."""
        out = np.zeros((self.d + self.fit_intercept, slope.shape[1]))
        if issparse(self.X):
            out[: self.d] = self.X.T @ slope
        else:
            products = out[: self.d]

            def add(product):
                np.add(products, product, out=products)

            each(lambda part: self._chunk(part).T @ slope[part], self._chunks(), add)
        if self.fit_intercept:
            total = slope.sum(axis=0)
            if not self.is_far:
                out[: self.d] -= np.outer(self.mean, total)
            out[-1] = total
        return out

    def stack(self, start, shape):
        """Coefficients and intercept as the solver has them."""
        w = np.zeros(shape)
        w[: self.d] = np.reshape(start[0], (-1, self.d)).T
        if self.fit_intercept:
            w[-1] = np.ravel(start[1]) + self.mean @ w[: self.d]
        return w

    def _learn_gram(self):
        """``X_c' X_c``, centered as the objective sees it; its diagonal for many features."""
        X, n = self.X, self.X.shape[0]
        if self.d > _MOST_FEATURES:
            if self.fit_intercept:
                self.mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
            squares = X.multiply(X).sum(axis=0) if issparse(X) else np.einsum("ij,ij->j", X, X)
            return np.asarray(squares, dtype=float).ravel() - n * self.mean**2
        if self.queries is not None:
            return centred_gram(X, self.queries)
        moments = pooled_moments(X, np.zeros((n, 0)))
        if self.fit_intercept:
            self.mean = moments.mean
        return moments.normal(self.fit_intercept)[0]


def _basis(rows, curvature, penalty):
    """Columns in which the Hessian of the objective is about the identity.

    The Hessian is taken for a multiple of the Gram matrix, plus that of the penalty.
    """
    full = curvature * _with_intercept(rows)
    added = np.append(2.0 * penalty, [0.0] * rows.fit_intercept)
    if full.ndim == 1:
        return diags(_inverse_root(full + added))
    full[np.diag_indices_from(full)] += added
    # On one scale first, so that a feature of large values does not drown the others.
    scale = _inverse_root(full.diagonal())
    values, vectors = eigh(scale[:, None] * full * scale)
    return scale[:, None] * vectors * _inverse_root(values)


def _with_intercept(rows):
    """The Gram matrix, or its diagonal, with a constant feature behind the others."""
    gram, n = rows.gram, rows.X.shape[0]
    if not rows.fit_intercept:
        return gram
    if gram.ndim == 1:
        return np.append(gram, n)
    out = np.zeros((rows.d + 1,) * 2)
    out[:-1, :-1] = gram
    out[-1, -1] = n
    return out


def _inverse_root(values):
    """One over the square root; what is nothing but rounding counts as the limit of that."""
    least = max(values.max(initial=0.0), np.finfo(float).tiny) * len(values) * np.finfo(float).eps
    return 1.0 / np.sqrt(np.maximum(values, least))


def _curvature(rows, objective, at_zero):
    """Mean curvature beside the Gram matrix, over a step that changes one score by 1."""
    gram = _with_intercept(rows)
    diagonal = gram if gram.ndim == 1 else gram.diagonal()
    direction = safe_divide(-at_zero.T, np.maximum(diagonal, 0.0)).T
    step = rows.scores(direction).ravel()
    furthest = np.abs(step).max()
    if not 0.0 < furthest < np.inf:
        return 1.0
    step /= furthest
    seen = (objective(step)[1] - objective(np.zeros_like(step))[1]) @ step
    along = direction / furthest
    told = np.sum(along * (gram @ along if gram.ndim == 2 else (gram * along.T).T))
    return float(seen / told) if told > 0 and 0.0 < seen < np.inf else 1.0
