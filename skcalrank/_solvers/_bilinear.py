r"""Ridge regression of pair targets on ``x_i' W x_j``, without building the pairs.

With :math:`G_q = X_q' X_q` the normal equations of least squares over all ordered pairs of the
documents of a query are

.. math:: \sum_q G_q W G_q + \alpha W = \sum_q X_q' Y_q X_q .

If the pairs (i, i) are left out, :math:`\sum_i (x_i' W x_i) x_i x_i'` is subtracted from the left
side. The equations are solved by conjugate gradients, with a Kronecker product that approximates
the sum as the preconditioner.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import eigh
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from ..columns import CACHE_CELLS, KEPT_CELLS, arrays
from ..columns.types import Floats
from ..data import OutOfRangeError, Queries, each, one_blas_thread, say, warn

# Size of the Gram matrices that are multiplied at a time.
_BLOCK_CELLS = 2 * CACHE_CELLS

# Number of rows whose pairs are processed at a time.
_PART_ROWS = 1 << 10

# Smallest valid size of features, because the normal equations contain their fourth powers.
_SMALLEST = 1e-70


class DocumentPairs(NamedTuple):
    """All ordered pairs of documents of each query, whose targets are regressed.

    X and `weight` are in grouped order; a pair has the weight ``w_i w_j`` divided by the mean
    weight of the query. `values` maps two arrays of rows, which broadcast, to the targets of the
    pairs. If `diagonal` is false, the pairs (i, i) do not count, and their targets must be 0.
    """

    X: Any
    queries: Queries
    values: Callable[..., Any]
    diagonal: bool
    weight: Floats | None


@dataclass
class BilinearModel:
    """A fitted bilinear model of pair targets, ``u_ij = x_i' W x_j``."""

    coef_: np.ndarray  # (d, d)
    n_iter_: int
    residual_: float  # norm of the residual relative to the norm of the right side

    def matrices(self, X: Any, queries: Queries) -> Iterator[np.ndarray]:
        """Yield the (r, r) matrix of predictions for each query; X is in grouped order."""
        for start, stop in pairwise(queries.ptr):
            documents = X[start:stop]
            yield documents @ self.coef_ @ documents.T


def fit_bilinear(
    pairs: DocumentPairs, alpha: float, *, tol: float = 1e-10, max_iter: int = 300, verbose: int = 0
) -> BilinearModel:
    """Fit W to the targets of pairs of documents.

    The iteration stops when the residual, relative to the right side and in the norm of the
    preconditioner, is at most `tol`.
    """
    sizes = arrays.sizes_of_columns(pairs.X)
    largest = float(sizes.max(initial=0.0))
    if largest and not _SMALLEST < largest < 1.0 / _SMALLEST:
        raise OutOfRangeError(
            f"The largest absolute value in X must be between {_SMALLEST:g} and "
            f"{1.0 / _SMALLEST:g}, so that its fourth power is in range, got {largest:g}",
            int(sizes.argmax()),
            "Scale the features.",
        )
    with one_blas_thread(pairs.X.shape[1] ** 2):
        right, operator = _right_side(pairs), _Operator(pairs, alpha)
        coef, n_iter, residual = _conjugate_gradients(operator, right, tol, max_iter, verbose)
    if residual > tol:
        warn(
            f"The bilinear fit stopped after {n_iter} iterations at a relative residual of "
            f"{residual:.1e}, above tol={tol:.1e}: scale the features, or raise alpha.",
            ConvergenceWarning,
        )
    return BilinearModel(coef, n_iter, residual)


def _query_weights(pairs: DocumentPairs) -> Any:
    """Return weights divided by the square root of their mean in the query; None without any."""
    _, queries, *_, weight = pairs
    return None if weight is None else weight / queries.repeat(np.sqrt(queries.mean_weight(weight)))


def _right_side(pairs: DocumentPairs) -> Floats:
    """Return ``sum_q X_q' Y_q X_q``, computed from a few rows of the targets at a time."""
    X, queries, values, *_ = pairs
    right = np.zeros((X.shape[1], X.shape[1]))
    if (weight := _query_weights(pairs)) is not None:
        X = X * weight[:, None]

    def of_queries(ids: Any) -> Floats:
        out = np.zeros_like(right)
        for start, stop in pairwise(queries.ptr[ids.start : ids.stop + 1]):
            partners = np.arange(start, stop)[None, :]
            step = max(1, _BLOCK_CELLS // (stop - start))
            for first in range(start, stop, step):
                rows = slice(first, min(first + step, stop))
                targets = values(np.arange(rows.start, rows.stop)[:, None], partners)
                out += X[rows].T @ (targets @ X[start:stop])
        return out

    with np.errstate(over="ignore", invalid="ignore"):  # _conjugate_gradients checks the result.
        parts = [ids for ids, _, _ in queries.parts(_PART_ROWS)]
        each(of_queries, parts, lambda out: np.add(right, out, out=right))
    return right


class _Operator:
    """The map ``W -> sum_q G_q W G_q + alpha W``, without diagonal pairs if they do not count."""

    def __init__(self, pairs: DocumentPairs, alpha: float) -> None:
        X, queries, _, diagonal, _ = pairs
        self.X, self.ptr, self.alpha, self.weight = X, queries.ptr, alpha, _query_weights(pairs)
        each_weight = np.ones(len(X)) if self.weight is None else self.weight
        self.excluded = None if diagonal else each_weight
        d = X.shape[1]
        self.step = max(1, _BLOCK_CELLS // d**2)
        self.kept = list(self._make_blocks()) if queries.n_queries * d**2 <= KEPT_CELLS else None

    def _make_blocks(self) -> Iterator[Floats]:
        """Yield stacks of the Gram matrices of a few queries."""
        d = self.X.shape[1]
        for first in range(0, len(self.ptr) - 1, self.step):
            bounds = self.ptr[first : first + self.step + 1]
            grams = np.empty((len(bounds) - 1, d, d))
            for number, (start, stop) in enumerate(pairwise(bounds)):
                # Squares of values in single precision may overflow in single precision.
                X = self.X[start:stop].astype(float, copy=False)
                scaled = X if self.weight is None else X * self.weight[start:stop, None]
                np.matmul(X.T, scaled, out=grams[number])
            yield grams

    def blocks(self) -> Iterator[Any] | list[Floats]:
        """Return the stacks of Gram matrices, which are kept or computed again."""
        return self._make_blocks() if self.kept is None else self.kept

    def __call__(self, W: Floats) -> Floats:
        out = self.alpha * W
        d = len(W)

        def multiply(grams: Floats) -> Floats:
            stacked = grams.reshape(-1, d)
            return (stacked @ W).reshape(-1, d, d).transpose(1, 0, 2).reshape(d, -1) @ stacked

        each(multiply, self.blocks(), lambda product: np.add(out, product, out=out))
        if self.excluded is not None:
            step = max(1, _BLOCK_CELLS // d)
            for start in range(0, len(self.X), step):
                X, share = self.X[start : start + step], self.excluded[start : start + step]
                # The weight of the pair (i, i) is w_i^2 divided by the mean weight.
                values = np.einsum("ij,ij->i", X @ W, X) * share**2
                out -= X.T @ (values[:, None] * X)
        return out

    def preconditioner(self) -> Callable[..., Any]:
        """Return the inverse of ``W -> scale * G W G + alpha W``; G is the sum of Gram matrices."""
        total: Any = 0.0
        squares = 0.0
        for grams in self.blocks():
            total = total + grams.sum(axis=0)
            squares += np.einsum("qii->q", grams) @ np.einsum("qii->q", grams)
        scale = arrays.safe_divide(squares, np.trace(total) ** 2)
        sizes = total.diagonal()
        unit = np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
        values, vectors = eigh(total / unit[:, None] / unit)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * unit
        # Jacobi's method computes what belongs to small features beside large ones, which eigh of
        # these products loses in rounding: singular values (0, 'C') and right vectors (0, 'V').
        roots, _, basis, parts, *_ = lapack.dgejsv(root, joba=0, jobu=3, jobv=0, jobt=0)
        least = len(sizes) * np.finfo(float).eps * (np.square(basis).T @ sizes)
        values = np.maximum(np.square(roots * (parts[0] / parts[1])), least)
        scaled = scale * np.outer(values, values) + self.alpha
        inverse = 1.0 / np.where(scaled > 0.0, scaled, 1.0)
        return lambda R: basis @ (inverse * (basis.T @ R @ basis)) @ basis.T


def _conjugate_gradients(
    operator: _Operator, right: Floats, tol: float, max_iter: int, verbose: int
) -> tuple[Floats, int, float]:
    """Return the solution of ``operator(W) = right``, the number of iterations and the residual."""
    if not np.isfinite(right).all():
        raise ValueError("Products of X and y must be finite, got an overflow. Scale X or y.")
    W, unit = np.zeros_like(right), float(np.abs(right).max(initial=0.0))
    if not unit:
        return W, 0, 0.0
    right = right / unit
    precondition = operator.preconditioner()
    residual = right.copy()
    direction = step = precondition(residual)
    product = start = (residual * step).sum()
    relative = 1.0
    for n_iter in range(1, max_iter + 1):
        image = operator(direction)
        curvature = (direction * image).sum()
        if not curvature > 0:
            # Rounding: subtracting diagonal pairs of large weight cancels pairs of small weight.
            break
        length = product / curvature
        W += length * direction
        residual -= length * image
        step = precondition(residual)
        new = (residual * step).sum()
        # In the norm of the preconditioner, which does not depend on the scales of features.
        relative = np.sqrt(max(new, 0.0) / start)
        if verbose > 1:
            say(f"bilinear fit: iteration {n_iter}, relative residual {relative:.1e}")
        if relative <= tol:
            break
        direction = step + (new / product) * direction
        product = new
    return W * unit, n_iter, float(relative)
