"""Ridge regression computed from moments."""

import numpy as np
from numpy.linalg import eigh, svd
from scipy.linalg import lapack

from ..columns.types import Floats
from ..data import one_blas_thread
from ._moments import Moments

_EPS = np.finfo(float).eps

# Products of unit vectors below this multiple of the precision are treated as rounding errors.
_ROUNDING = 5000

# If the normal equations of scaled features have a reciprocal condition number below this, or this
# multiple of the precision, singular directions are left out instead of solved for.
_WELL_CONDITIONED, _AT_LEAST = 1e-8, 100


def ridge(
    moments: Moments, alpha: Floats, fit_intercept: bool = True, scale: Floats | None = None
) -> np.ndarray:
    """Return the coefficients of ridge regression, of shape (d, n_targets).

    The penalty is one number, or one per target, in units of `scale`, a positive number per
    feature; None means 1 for all features. If several coefficients are optimal, those of the
    smallest norm are returned.
    """
    if np.ndim(alpha) == 0:
        penalty = alpha * (1.0 if scale is None else scale)
        with one_blas_thread(moments.gram.size):
            coef = _solve(*moments.normal(fit_intercept), penalty, moments.eps)
        if coef is not None:
            return coef
    return ridge_path(moments, np.asarray(alpha)[None], fit_intercept, scale)[0]


def _solve(gram: Floats, moment: Floats, penalty: Floats, eps: float) -> Floats | None:
    """Solve the normal equations by Cholesky factors; return None if they are ill-conditioned.

    `eps` is the precision of both sides.
    """
    scale = np.sqrt(gram.diagonal() + penalty)
    if not (scale > 0.0).all():
        return None
    # Scale the columns to one size, so that the condition number does not depend on units.
    matrix = gram / scale
    matrix /= scale[:, None]
    np.fill_diagonal(matrix, 1.0)
    norm = np.abs(matrix).sum(axis=0).max()
    factor, coef, failed = lapack.dposv(matrix.T, moment / scale[:, None], overwrite_a=True)
    if failed or lapack.dpocon(factor, norm)[0] < max(_WELL_CONDITIONED, _AT_LEAST * eps):
        return None
    return coef / scale[:, None]


def ridge_path(
    moments: Moments, alphas: Floats, fit_intercept: bool = True, scale: Floats | None = None
) -> np.ndarray:
    """Return the coefficients for many penalties, (n_alphas, d, n_targets), from one decomposition.

    Penalties have shape (n_alphas,) or (n_alphas, n_targets), in units of `scale` as in `ridge`.
    """
    unit = 1.0 if scale is None else np.sqrt(scale)
    penalty = np.reshape(alphas, (len(alphas), 1, -1))
    with one_blas_thread(moments.gram.size):
        root, right = square_root(moments, fit_intercept)
        left, values, directions = svd(root / unit, full_matrices=False)
        values = values[:, None]
        # Smaller singular values are rounding errors.
        squares = np.where(values > max(root.shape) * _EPS * values.max(), values**2, np.inf)
        coefs = directions.T @ (values / (squares + penalty) * (left.T @ right))
    return coefs / np.reshape(unit, (-1, 1))


def square_root(moments: Moments, fit_intercept: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return A and b such that ``A'A`` and ``A'b`` are the two sides of the normal equations.

    Least squares on (A, b) without an intercept, with any penalty, is the same regression as that
    of the rows that the moments are computed from. A has about as many rows as the rank of the
    Gram matrix.
    """
    with one_blas_thread(moments.gram.size):
        root, right = _factors(moments.gram, moments.moment, moments.eps)
    if fit_intercept:
        return root, right
    # Append a row instead of adding its square, whose large entries would swamp the others if a
    # mean is far from zero.
    weight = np.sqrt(moments.total)
    return np.vstack([root, weight * moments.mean]), np.vstack([right, weight * moments.level])


def _factors(gram: Floats, moment: Floats, eps: float) -> tuple[Floats, Floats]:
    """Return A and b with ``A'A`` the Gram matrix and ``A'b`` the moment; see `square_root`.

    `eps` is the precision of both.
    """
    # Scale the columns to one size, so that features of small values do not vanish in rounding.
    scale = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    units = np.where(scale > 0.0, scale, 1.0)[:, None]
    correlation, moment = gram / units / units.T, moment / units
    values, vectors = eigh(correlation)
    null = values <= len(values) * eps * max(values[-1], 0.0)
    if null.any():
        # The eigenvalues of these directions are rounding errors. If features are exactly linearly
        # dependent, so are the moments along these directions; if they are only nearly dependent,
        # the moments are larger, and the directions are kept.
        kept = _kept_directions(vectors[:, null], moment, _ROUNDING * eps)
        vectors = np.hstack([vectors[:, ~null], kept])
        least = np.maximum(np.einsum("ij,ij->j", kept, correlation @ kept), eps)
        values = np.append(values[~null], least)
    if not len(values):
        return np.zeros((1, len(gram))), np.zeros((1, moment.shape[1]))
    root = np.sqrt(values)
    return (vectors * root).T * scale, (vectors.T @ moment) / root[:, None]


def _kept_directions(null: Floats, moment: Floats, rounding: float) -> Floats:
    """Return orthonormal directions in the span of `null` along which a moment is not rounding."""
    largest = np.abs(moment).max(axis=0, initial=0.0)
    unit = moment / np.where(largest > 0.0, largest, 1.0)  # squares of unit cannot overflow
    size = np.sqrt((unit**2).sum(axis=0))
    left, values, _ = svd(null.T @ (unit / np.where(size > 0.0, size, 1.0)), full_matrices=False)
    return null @ left[:, values > rounding]
