r"""Linear scorers that minimize a differentiable objective of the scores.

.. math:: \min_{w, b} \; f(Xw + b) + \alpha \|w\|^2

The solver is scipy's L-BFGS, in coordinates in which the level sets of the quadratic form with the
Gram matrix of X are spheres, so that it takes few iterations for features of any scale, and for
correlated features.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse import diags, issparse
from sklearn.exceptions import ConvergenceWarning

from ..columns import CACHE_CELLS, PART_CELLS, arrays
from ..columns.types import Floats
from ..data import Queries, each, one_blas_thread, say, warn, workers_of_fit
from ._moments import WithinQueries, are_constant, merge_all, pooled_moments, sparse_squares

# Options of the solver: it stops by the size of the gradient, or at the level of rounding errors.
_OPTIONS = {"ftol": 8 * np.finfo(float).eps, "maxcor": 20}

# Features are far from zero if their mean is more than this multiple of their range.
_FAR = 1e3

# Squares of smaller gradients underflow.
_SMALLEST = 1e-150

# With more features, only their scales are equalized, not their correlations.
_MOST_FEATURES = 2000


class ScorerFit(NamedTuple):
    """Result of a fit: coefficients of shape (d,) or (n_outputs, d), and the intercept.

    The penalty of each feature is ``alpha * penalty_scale``.
    """

    coef: np.ndarray
    intercept: float | np.ndarray
    n_iter: int
    penalty_scale: np.ndarray


class Units(NamedTuple):
    """Units of the penalties of features."""

    squares: np.ndarray  # weighted sums of squares of the centered features, raised, (d,)
    weight: np.ndarray  # weights of the rows in these sums
    center: Callable[[np.ndarray], np.ndarray]  # of scores (n_rows, n_outputs), as of the features


def _in_range(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a fit to raise ValueError on overflow, after which results would be arbitrary.

    BLAS uses one thread, because the steps of the solver are products with small matrices.
    """

    @wraps(fit)
    def call(objective: Callable[..., Any], X: Any, **kwargs: Any) -> ScorerFit:
        try:
            with np.errstate(over="raise", invalid="raise"), one_blas_thread(X.shape[1] ** 2):
                return fit(objective, X, **kwargs)
        except FloatingPointError as error:
            raise ValueError(
                f"Products of X, y and sample_weight must be finite, got an {error}. Scale the "
                "features, and divide labels and weights by their largest value."
            ) from error

    return call


@_in_range
def fit_scorer(
    objective: Callable[..., Any],
    X: Any,
    *,
    alpha: float,
    units: Units | None = None,
    curved: Callable[..., Any] | None = None,
    queries: Queries | None = None,
    n_outputs: int | None = None,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
    start: tuple[Floats, float] | None = None,
    verbose: int = 0,
) -> ScorerFit:
    """Minimize a differentiable objective of linear scores, with a ridge penalty.

    `objective` maps scores in row order, of shape (n_rows,) or (n_rows * n_outputs,), to the value
    and its gradient in the scores. Pass `queries` if the objective depends only on differences of
    scores within queries. `n_outputs` is the number of items of the label-ranking form, each of
    which has coefficients of its own. The solver stops when the gradient, in its coordinates, is
    at most `tol` times the gradient at all scores zero. `start` is a pair of coefficients and
    intercept; None means zeros. A start with a larger objective than zeros is not used.

    With `units`, a ``Units``, penalties are in units of half the curvature along each feature at
    all scores zero, as penalties of squared losses are. The curvature is that of the objective, or
    of the function `curved` if it is given.

    The objective is a sum over the rows of all workers of the fit, which take the same steps.
    """
    rows = _Rows(X, queries, fit_intercept)
    shape = (X.shape[1] + fit_intercept, n_outputs or 1)
    value_at_zero, at_zero = _value_and_gradient(objective, rows, np.zeros(shape))
    curvature, scale = _curvature(rows, objective, at_zero), np.ones(rows.d)
    if units is not None:
        measured = objective if curved is None else curved
        scale = _penalty_scale(measured, units, rows, shape)
    penalty = (alpha * scale)[:, None]
    basis, first = _basis(rows, curvature, alpha * scale), np.zeros(shape)
    if start is not None:
        w = rows.stack(start, shape)
        first = w / basis.diagonal()[:, None] if issparse(basis) else np.linalg.solve(basis, w)
    # Slopes along constant features are rounding errors.
    basis = diags((rows.squares() > 0.0) * 1.0) @ basis
    steepest = basis.T @ at_zero
    size = float(np.linalg.norm(steepest))
    if not _SMALLEST < size < np.inf:
        # The objective is so flat that one step of Newton's method solves the problem.
        return _fitted(-(basis @ np.nan_to_num(steepest)), rows, n_outputs, 0, scale)

    def scaled(z: Floats) -> tuple[float, Floats]:
        w = basis @ z.reshape(-1, shape[1]) * size
        coef, (value, gradient) = w[: rows.d], _value_and_gradient(objective, rows, w)
        # Not in place: a sum of several workers may be read again.
        gradient = gradient + np.vstack([2.0 * penalty * coef, np.zeros_like(w[rows.d :])])
        value = value + np.sum(penalty * coef**2)
        return value / size**2, (basis.T @ gradient).ravel() / size

    if start is not None and not scaled(first / size)[0] * size**2 < value_at_zero:
        first = np.zeros(shape)  # Line searches fail far from the minimum.
    result = minimize(
        scaled,
        first.ravel() / size,
        jac=True,
        method="L-BFGS-B",
        callback=_printer(scaled, size) if verbose and workers_of_fit().size == 1 else None,
        options={"maxiter": max_iter, "maxfun": 20 * int(max_iter), "gtol": tol, **_OPTIONS},
    )
    _warn_if_unfinished(result, tol)
    best = basis @ result.x.reshape(-1, shape[1]) * size
    return _fitted(best, rows, n_outputs, result.nit, scale)


def _value_and_gradient(objective: Any, rows: _Rows, w: Floats) -> tuple[float, Floats]:
    """Return the value, and its gradient in the coefficients; the last row is the intercept."""

    def of_rows() -> tuple[float, Floats]:
        value, slope = objective(rows.scores(w).ravel())
        return value, rows.back(slope.reshape(-1, w.shape[1]))

    return workers_of_fit().total(of_rows, _sums)


def _sums(parts: list[tuple[float, Floats]]) -> Any:
    """Return the sums of the terms of several workers."""
    return tuple(map(sum, zip(*parts)))


def _penalty_scale(objective: Any, units: Units, rows: _Rows, shape: Any) -> Floats:
    """Return the unit of the penalty of each feature, 1 for features that do not vary.

    The unit is half the curvature of the objective per square of a feature, times the squares of
    the feature. The curvature per square is measured along one direction, and used for all
    features. Coefficients have shape `shape`.
    """
    squares, weight, workers = units.squares, units.weight, workers_of_fit()
    zero, along = np.zeros(shape), np.zeros(shape)

    @cache
    def at_zero() -> Floats:
        flat = rows.scores(zero)
        return objective(flat.ravel())[1].reshape(flat.shape)

    # The intercept accounts for the part of the slope that all rows share.
    total, common = workers.total(lambda: (weight.sum(), at_zero().sum(axis=0)), _sums)

    def slope() -> Floats:
        return rows.back(at_zero() - np.outer(arrays.safe_divide(weight, total), common))

    start = workers.total(slope, sum)
    along[: len(squares)] = arrays.safe_divide(-start[: len(squares)].T, squares).T

    @cache
    def step() -> Floats:
        return units.center(rows.scores(along))

    furthest = workers.total(lambda: np.abs(step()[weight > 0.0]).max(initial=0.0), max)

    def curvatures() -> tuple[float, float]:
        by = step() / furthest
        actual = (objective(by.ravel())[1] - at_zero().ravel()) @ by.ravel()
        return actual, float((weight @ np.square(by)).sum())

    actual = expected = 0.0
    if 0.0 < furthest < np.inf:
        actual, expected = workers.total(curvatures, _sums)
    curvature = actual / expected if expected > 0.0 and 0.0 < actual < np.inf else 2.0
    return np.where(squares > 0.0, curvature / 2.0 * squares, 1.0)


def offsets(X: Any) -> Floats:
    """Return the means of the columns that are far from zero, and 0 for all others."""
    if issparse(X):
        return np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = X.mean(axis=0, dtype=float), X.max(axis=0) - X.min(axis=0)
        return np.where((spread > 0) & (np.abs(mean) > _FAR * spread), mean, 0.0)


def _warn_if_unfinished(result: Any, tol: float) -> None:
    """Warn if the solver stopped early, unless only rounding errors are left."""
    possible = np.sum(result.jac**2) / 2  # decrease of the objective
    # A line search fails (status 2) where sparse features far from zero have larger errors.
    rounding = (1e5 if result.status == 2 else 1e3) * np.finfo(float).eps * abs(result.fun)
    if not result.success and not possible < rounding:
        warn(
            f"L-BFGS stopped after {result.nit} iterations without reaching tol={tol:g}: "
            f"increase max_iter, alpha or tol. ({result.message})",
            ConvergenceWarning,
        )


def _printer(scaled: Any, size: Any) -> Any:
    number = count(1)

    def tell(z: Any) -> None:
        value, gradient = scaled(z)
        steep = np.abs(gradient).max()
        say(f"iteration {next(number)}: objective {value * size**2:.10g}, gradient {steep:.3g}")

    return tell


def _fitted(w: Floats, rows: _Rows, n_outputs: int | None, n_iter: int, scale: Floats) -> ScorerFit:
    coef = w[: rows.d].T
    intercept = w[-1] - coef @ rows.mean if rows.fit_intercept else np.zeros(len(coef))
    n_iter = max(int(n_iter), 1)
    if n_outputs is None:
        return ScorerFit(coef[0], float(intercept[0]), n_iter, scale)
    return ScorerFit(np.ascontiguousarray(coef), intercept, n_iter, scale)


class _Rows:
    """Products with X in double precision, with centered columns if there is an intercept.

    X of single precision is converted a few rows at a time, because a line search needs an
    objective in double precision, and a converted copy would be larger than X.
    """

    def __init__(self, X: Any, queries: Any, fit_intercept: bool) -> None:
        self.X, self.d, self.queries, self.fit_intercept = X, X.shape[1], queries, fit_intercept
        self.mean = np.zeros(self.d)
        self.n_rows = workers_of_fit().total(lambda: X.shape[0], sum)
        self.gram = self._learn_gram()
        # For features far from zero, scores would be differences of large numbers unless rows are
        # centered first.
        self.is_far = bool(offsets(X).any())

    def gram_with_intercept(self) -> Floats:
        """Return the Gram matrix, or its diagonal, with a constant feature appended if needed."""
        if not self.fit_intercept:
            return self.gram
        out = np.zeros([size + 1 for size in self.gram.shape])
        out[(np.s_[:-1],) * out.ndim] = self.gram
        out[(-1,) * out.ndim] = self.n_rows
        return out

    def squares(self) -> Floats:
        """Return the diagonal of this matrix."""
        gram = self.gram_with_intercept()
        return gram if gram.ndim == 1 else gram.diagonal()

    def _chunks(self) -> list[Any]:
        """Return slices of rows, which are shorter if chunks must be copied."""
        copied = self.X.dtype != np.float64 or self.is_far
        step = max(1, (CACHE_CELLS if copied else PART_CELLS // 4) // self.d)
        return [slice(start, start + step) for start in range(0, self.X.shape[0], step)]

    def _chunk(self, rows: Any) -> Floats:
        chunk = self.X[rows].astype(float, copy=False)
        return chunk - self.mean if self.is_far else chunk

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the rows, of shape (n_rows, n_outputs)."""
        coef = w[: self.d]
        if issparse(self.X):
            out = self.X @ coef
        else:
            out = np.empty((self.X.shape[0], coef.shape[1]))

            def multiply(rows: Any) -> None:
                out[rows] = self._chunk(rows) @ coef

            each(multiply, self._chunks())
        if not self.fit_intercept:
            return out
        return out + (w[-1] if self.is_far else w[-1] - self.mean @ coef)

    def back(self, slope: Floats) -> Floats:
        """Return the gradient in the coefficients and the intercept, given that in the scores."""
        out = np.zeros((self.d + self.fit_intercept, slope.shape[1]))
        if issparse(self.X):
            out[: self.d] = self.X.T @ slope
        else:
            products = out[: self.d]
            each(
                lambda rows: self._chunk(rows).T @ slope[rows],
                self._chunks(),
                lambda product: np.add(products, product, out=products),
            )
        if self.fit_intercept:
            total = slope.sum(axis=0)
            if not self.is_far:
                out[: self.d] -= np.outer(self.mean, total)
            out[-1] = total
        return out

    def stack(self, start: tuple[Floats, float], shape: tuple[int, int]) -> Floats:
        """Return coefficients and intercept as one array in the form used by the solver."""
        w = np.zeros(shape)
        w[: self.d] = np.reshape(start[0], (-1, self.d)).T
        if self.fit_intercept:
            w[-1] = np.ravel(start[1]) + self.mean @ w[: self.d]
        return w

    def _learn_gram(self) -> Floats:
        """Return ``X_c' X_c``, or only its diagonal if there are many features.

        X is centered within the queries if the objective depends on them, else about its mean if
        there is an intercept.
        """
        X, none, workers = self.X, np.zeros((self.X.shape[0], 0)), workers_of_fit()
        is_wide = self.d > _MOST_FEATURES
        if self.queries is not None or (is_wide and self.fit_intercept):
            # Differences of scores do not see a shift of the features either.
            self.mean = workers.total(self._share_of_mean, sum)
        if is_wide:
            squares = workers.total(self._squares, sum)
            rounded = are_constant(squares, np.array([self.n_rows]), self.mean[None], X.dtype)
            return np.where(rounded, 0.0, squares)
        if self.queries is not None:
            return workers.total(WithinQueries(X, none, self.queries).moments, merge_all).gram
        moments = workers.total(lambda: pooled_moments(X, none), merge_all)
        if self.fit_intercept:
            self.mean = moments.mean
        return moments.normal(self.fit_intercept)[0]

    def _share_of_mean(self) -> Floats:
        """Return what these rows contribute to the means of the features."""
        return self.X.shape[0] / self.n_rows * np.asarray(self.X.mean(axis=0, dtype=float)).ravel()

    def _squares(self) -> Floats:
        """Return the sums of squares of the features of these rows, about the means."""
        X, n = self.X, self.X.shape[0]
        if issparse(X):
            return sparse_squares(X, self.mean[None], np.zeros(n, dtype=int), np.ones(n))
        step = max(1, CACHE_CELLS // self.d)
        blocks = (X[start : start + step] - self.mean for start in range(0, n, step))
        return sum((np.square(block).sum(axis=0) for block in blocks), np.zeros(self.d))


def _basis(rows: _Rows, curvature: float, penalty: Floats) -> Floats:
    """Return a basis in which the Hessian of the objective is approximately the identity.

    The Hessian is approximated by a multiple of the Gram matrix, plus the Hessian of the penalty.
    """
    full, squares = curvature * rows.gram_with_intercept(), curvature * rows.squares()
    added = np.append(2.0 * penalty, [0.0] * rows.fit_intercept)
    squares = np.where(squares > 0.0, squares + added, 1.0)
    # Scale to one size first, so that features of small values do not vanish in rounding.
    scale = 1.0 / np.sqrt(squares)
    if full.ndim == 1:
        return diags(scale)
    full[np.diag_indices_from(full)] = squares
    values, vectors = eigh(scale[:, None] * full * scale)
    least = values.max(initial=1.0) * len(values) * np.finfo(rows.X.dtype).eps
    return scale[:, None] * vectors / np.sqrt(np.maximum(values, least))


def _curvature(rows: _Rows, objective: Callable[..., Any], at_zero: Floats) -> float:
    """Return the curvature of the objective divided by that of the Gram matrix's quadratic form.

    Both are measured over a step along the scaled negative gradient that changes no score by more
    than 1.
    """
    gram = rows.gram_with_intercept()
    direction = arrays.safe_divide(-at_zero.T, np.maximum(rows.squares(), 0.0)).T

    @cache
    def step() -> Floats:
        return rows.scores(direction).ravel()

    furthest = workers_of_fit().total(lambda: np.abs(step()).max(), max)
    if not 0.0 < furthest < np.inf:
        return 1.0

    def rise() -> float:
        by = step() / furthest
        return (objective(by)[1] - objective(np.zeros_like(by))[1]) @ by

    actual = workers_of_fit().total(rise, sum)
    along = direction / furthest
    expected = np.sum(along * (gram @ along if gram.ndim == 2 else (gram * along.T).T))
    return float(actual / expected) if expected > 0 and 0.0 < actual < np.inf else 1.0
