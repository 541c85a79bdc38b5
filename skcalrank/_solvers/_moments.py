r"""Sufficient statistics of least squares, from one pass over the rows in bounded memory.

Ridge regression depends on features x, targets t and weights w only through

.. math:: W = \sum w, \quad m = \sum w x / W, \quad l = \sum w t / W, \quad
    \sum w (x - m)(x - m)', \quad \sum w (x - m)(t - l)' .

Rows are shifted before they are squared, so that features far from zero do not cancel, and sums
are accumulated in double precision for any precision of X.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from threading import local
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, issparse

from ..columns import CACHE_CELLS, MOST_CELLS, PART_CELLS, arrays
from ..columns.types import Array, Bools, Floats, Ints
from ..data import OutOfRangeError, Queries, each, workers_of_fit

# Chunks have a multiple of this number of rows, for which products are fast.
_CHUNK_ROWS = 1024

# Number of rows that are summed per query at a time.
_SUM_ROWS = 1 << 14

# A multiple of the number of rows that BLAS libraries multiply at a time.
_BLOCK_ROWS = 64

# Number of cells of a block of columns, wide enough for fast products.
_BLOCK = 1 << 20

# The mean of a chunk is estimated from one row in this many.
_SAMPLED = 8

# Deviations from a mean of a query up to this multiple of the machine precision are treated as
# rounding errors of the mean.
_ROUNDING = 64

# Units of penalties are at least this share of the squares that are regressed, so that divisions
# stay in range.
_LEAST_SQUARES = 1e-6

# If centering leaves less than this share of the squares of a feature, center before squaring.
_CANCELLED = 1e-2


class Moments(NamedTuple):
    """Sufficient statistics of weighted least squares with an intercept."""

    total: float  # sum of the weights
    mean: np.ndarray  # mean of the features, (d,)
    level: np.ndarray  # mean of the targets, (n_targets,)
    gram: np.ndarray  # products of the features, (d, d), or their squares alone, (d,)
    moment: np.ndarray  # products of features and targets, (d, n_targets)
    # Squares of the features as units of penalties, (d,); None means the diagonal of the gram.
    squares: np.ndarray | None = None
    eps: float = float(np.finfo(float).eps)  # precision of the features

    def merge(self, other: Moments) -> Moments:
        """Return the moments of all rows of both parts (Chan, Golub and LeVeque 1983)."""
        if self.total == 0.0 or other.total == 0.0:
            return other if self.total == 0.0 else self
        total = self.total + other.total
        share = other.total / total
        step, rise = other.mean - self.mean, other.level - self.level
        return Moments(
            total,
            self.mean + share * step,
            self.level + share * rise,
            self.gram + other.gram + np.outer(self.total * share * step, step),
            self.moment + other.moment + np.outer(self.total * share * step, rise),
            None if self.squares is None or other.squares is None else self.squares + other.squares,
            max(self.eps, other.eps),
        )

    def penalty_scale(self, fit_intercept: bool = True) -> np.ndarray:
        """Return units for the penalties of features, so that units of features do not matter.

        The units are sums of squares. They are raised to at least a small share of the squares
        that are regressed, and are 1 for constant features, whose coefficients are zero anyway.
        """
        diagonal = self.gram.diagonal() if self.has_products else self.gram
        if not fit_intercept:
            diagonal = diagonal + self.total * self.mean * self.mean
        squares = diagonal if self.squares is None else self.squares
        least = np.maximum(_LEAST_SQUARES * diagonal, np.finfo(float).tiny)
        return np.where(diagonal > 0.0, np.maximum(squares, least), 1.0)

    def normal(self, fit_intercept: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return both sides of the normal equations, with or without an intercept."""
        if fit_intercept:
            return self.gram, self.moment
        weighted = self.total * self.mean
        gram = self.gram + np.outer(weighted, self.mean)
        return gram, self.moment + np.outer(weighted, self.level)

    def without_products(self) -> Moments:
        """Return moments with the squares of the features alone, which are of no use for a fit."""
        return self._replace(gram=self.gram.diagonal().copy())

    @property
    def has_products(self) -> bool:
        """Whether the products of different features are known."""
        return self.gram.ndim == 2

    def of_targets(self, columns: Any) -> Moments:
        """Return the moments for a selection of the targets."""
        return self._replace(level=self.level[columns], moment=self.moment[:, columns])


def check_features(X: Any) -> None:
    """Raise ValueError if a d x d matrix of the features of X exceeds ``MOST_CELLS``."""
    if X.shape[1] ** 2 > MOST_CELLS:
        raise ValueError(
            f"X must have at most {int(MOST_CELLS**0.5)} features, whose d x d matrix takes 2 GB, "
            f"got {X.shape[1]}. sklearn.linear_model.Ridge has solvers without such a matrix."
        )


def merge_all(parts: Iterable[Moments]) -> Moments:
    """Return the moments of the rows of all parts, of which there must be at least one."""
    return reduce(Moments.merge, parts)


def pooled_moments(X: Any, targets: Floats, weight: Any = None, rows: Any = None) -> Moments:
    """Return the moments of the given rows (default: all rows) about their common mean.

    X is an array or a CSR matrix, and targets have shape (n_rows, n_targets). Raise ValueError if
    squares of X overflow.
    """
    pick = slice(None) if rows is None else rows
    weights = np.ones(len(targets)) if weight is None else weight
    total = float(weights[pick].sum())
    level = weights[pick] @ targets[pick] / (total or 1.0)
    if issparse(X):
        return _pooled_sparse(X[pick], targets[pick] - level, weights[pick], level)
    unit = _largest(targets)

    # Shift a chunk by about its mean, estimated from some rows. The estimate is relative to one
    # row, so that constant features become exactly 0; the row of the largest weight is near the
    # weighted mean if any row is. A last column of ones records the deviation from the mean.
    def shifted(pick: Any, chunk: Floats) -> tuple[Floats, Floats, Floats | None]:
        w, some = weights[pick], slice(None, None, _SAMPLED)
        first = chunk[w.argmax()]
        share = w[some] / (w[some].sum() + w.max() or 1.0)
        shift = first + share.astype(chunk.dtype) @ (chunk[some] - first)
        columns = np.column_stack([(targets[pick] - level) / unit, np.ones(len(w))])
        return shift, columns, None if weight is None else np.sqrt(w)

    d, width = X.shape[1], X.shape[1] + targets.shape[1] + 1
    ends, shifts = [], []

    def note(products: Floats, shift: Floats) -> None:
        ends.append(products[-1].copy())
        shifts.append(shift)

    within = _products(X, pick, width - d, shifted, note)
    mean, products = _about_the_mean(within, np.array(ends), np.array(shifts, dtype=float))
    moment = _times(products[:d, d:], unit)
    level, eps = level + mean[d:] * unit, float(np.finfo(X.dtype).eps)
    return Moments(total, mean[:d], level, products[:d, :d], moment, eps=eps)


def _about_the_mean(within: Floats, ends: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the products about it, from chunks that were shifted differently.

    `within` is the sum of the products of the shifted chunks, `ends` are the last rows of these
    products (weighted sums, and the weight), and `shifts` are the shifts of the chunks.
    """
    totals = np.maximum(ends[:, -1:], np.finfo(float).tiny)
    means = ends[:, :-1] / totals
    products = within[:-1, :-1] - means.T @ (totals * means)
    means[:, : shifts.shape[1]] += shifts
    # Compute relative to one of the means, so that constant features stay exactly constant.
    start = means[totals.argmax()].copy()
    means -= start
    mean = (totals * means).sum(axis=0) / totals.sum()
    means -= mean
    return start + mean, products + means.T @ (totals * means)


class WithinQueries:
    """Features and targets centered within their queries, with queries weighted by their sizes.

    The least-squares fit of these targets to these features minimizes the pairwise squared loss.
    X, an array or a CSR matrix, is not copied. All arrays are in row order; the targets have shape
    (n_rows, n_targets).
    """

    def __init__(self, X: Any, targets: Floats, queries: Queries, weight: Any = None) -> None:
        grouped = np.ones(queries.n_rows) if weight is None else queries.group(weight)
        total = queries.sum(grouped)
        share = arrays.safe_divide(grouped, queries.repeat(total))
        del grouped
        self.X, self.targets = X, targets
        self.codes = queries.codes
        self.means = _sums(X, queries, share)
        grouped = queries.group(targets) * share[:, None]
        self.levels = np.add.reduceat(grouped, queries.ptr[:-1], axis=0)
        self._sizes, self._weight = queries.sizes.astype(float), weight
        self._totals, self._unit = total * queries.sizes, _largest(targets)

    def weight(self, rows: Any = slice(None)) -> np.ndarray:
        """Return the weights of rows times the sizes of their queries."""
        weight = self._sizes[self.codes[rows]]
        return weight if self._weight is None else weight * self._weight[rows]

    def centered_targets(self, rows: Any = slice(None)) -> np.ndarray:
        """Return the targets of rows, centered within their queries."""
        return self.targets[rows] - self.levels.take(self.codes[rows], axis=0)

    def moments(self, rows: Ints | None = None) -> Moments:
        """Return the moments of all rows, or of the rows of some whole queries, about zero."""
        totals = self._totals
        if rows is not None:
            totals = np.bincount(self.codes[rows], self.weight(rows), len(totals))
        products = self._sparse_products if issparse(self.X) else self._dense_products
        gram, moment = products(slice(None) if rows is None else rows)
        _drop_constants(gram, moment, totals, self.means, self.X.dtype)
        zeros = np.zeros(len(gram)), np.zeros(moment.shape[1])
        total, eps = float(totals.sum()), float(np.finfo(self.X.dtype).eps)
        return Moments(total, *zeros, gram, moment, eps=eps)

    def by_products_of_rows(self, alpha: float, unit: Floats) -> Floats:
        """Return the ridge coefficients for one target, for more features than rows.

        The penalty is in units of `unit` squared; an infinite unit leaves the feature out.
        """
        from sklearn.kernel_ridge import KernelRidge  # late, since few programs have such rows

        n, d = self.X.shape
        root, step = np.sqrt(self.weight())[:, None], max(_BLOCK // n, 1)
        products = np.zeros((n, n))

        def block(start: int) -> Floats:
            pick = slice(start, start + step)
            centered = self.X[:, pick] - self.means[:, pick].take(self.codes, axis=0)
            return centered * (root / unit[pick])

        for start in range(0, d, step):
            of_block = block(start)
            products += of_block @ of_block.T
        ridge = KernelRidge(alpha, kernel="precomputed")
        dual = ridge.fit(products, root[:, 0] * self.centered_targets()[:, 0]).dual_coef_
        return np.concatenate([dual @ block(start) for start in range(0, d, step)]) / unit

    def squares(self, weight: Floats | None = None, rows: Any = None) -> np.ndarray:
        """Return weighted sums of squares of the centered features; by default, weights are 1."""
        weight = np.ones(len(self.codes)) if weight is None else weight
        pick = slice(None) if rows is None else rows
        totals = np.bincount(self.codes[pick], weight[pick], len(self.means))
        with np.errstate(over="ignore", invalid="ignore"):
            if issparse(self.X):
                squares = sparse_squares(self.X[pick], self.means, self.codes[pick], weight[pick])
            else:
                squares = self._dense_squares(weight, rows)
        _check_squares(squares)
        squares[are_constant(squares, totals, self.means, self.X.dtype)] = 0.0
        return squares

    def raised(self, squares: Floats, weight: Floats) -> np.ndarray:
        """Return squares of all workers, raised as those of :meth:`Moments.penalty_scale` are.

        Features that are constant within each query get a unit of their penalty, too.
        """
        totals, workers = np.bincount(self.codes, weight, len(self.means)), workers_of_fit()
        total, *sums = workers.total(lambda: np.append(totals.sum(), totals @ self.means), sum)
        mean = np.array([sums]) / total
        with np.errstate(over="ignore"):
            between = workers.total(lambda: totals @ np.square(self.means - mean), sum)
        _check_squares(between)
        constant = are_constant(between, np.array([total]), mean, self.X.dtype)
        return np.maximum(squares, _LEAST_SQUARES * (squares + np.where(constant, 0.0, between)))

    def _dense_squares(self, weight: Floats, rows: Any) -> Floats:
        n_rows = len(self.codes) if rows is None else len(rows)
        out, step = np.zeros(self.X.shape[1]), max(CACHE_CELLS // self.X.shape[1], 1)

        def of_chunk(start: int) -> Floats:
            pick = slice(start, start + step)
            pick = pick if rows is None else _as_slice(rows[pick])
            centered = self.X[pick] - self.means.take(self.codes[pick], axis=0)
            return weight[pick] @ np.square(centered, dtype=float)

        each(of_chunk, range(0, n_rows, step), lambda squares: np.add(out, squares, out=out))
        return out

    def _dense_products(self, rows: Any) -> tuple[Floats, Floats]:
        def centered(pick: Any, chunk: Floats) -> tuple[Floats, Floats, Floats]:
            shift = self.means.take(self.codes[pick], axis=0)
            return shift, self.centered_targets(pick) / self._unit, np.sqrt(self.weight(pick))

        d, t = self.X.shape[1], self.targets.shape[1]
        products = _products(self.X, rows, t, centered)
        return products[:d, :d], _times(products[:d, d:], self._unit)

    def _sparse_products(self, rows: Any) -> tuple[Floats, Floats]:
        targets, weight = self.centered_targets(rows), self.weight(rows)
        return _sparse_products(self.X[rows], targets, weight, self.means, self.codes[rows])


def _sums(X: Any, queries: Queries, weight: Floats) -> np.ndarray:
    """Return the weighted sum of the rows of each query; weights are in grouped order."""
    if issparse(X):
        return (queries.indicator(weight) @ X).toarray()
    weight = weight.astype(X.dtype)
    out = np.empty((queries.n_queries, X.shape[1]), dtype=X.dtype)

    def add_up(ids: Any) -> None:
        indicator, rows = queries.indicator(weight, ids), X
        if not X.flags.c_contiguous:
            # The product copies such a matrix as a whole, so it gets the rows of its queries alone.
            rows = X[_as_slice(indicator.indices)]
            parts = indicator.data, np.arange(len(rows)), indicator.indptr
            indicator = csr_matrix(parts, shape=(indicator.shape[0], len(rows)))
        out[ids] = indicator @ rows

    each(add_up, [ids for ids, _, _ in queries.parts(_SUM_ROWS)])
    return out


def _largest(targets: Floats) -> float:
    """Return the largest absolute target, or 1, as a divisor that keeps squares in range."""
    return float(max(targets.max(initial=0.0), -targets.min(initial=0.0)) or 1.0)


def _times(moment: Floats, unit: float = 1.0) -> Floats:
    """Return products of features and targets times `unit`; raise ValueError if they overflow."""
    with np.errstate(over="ignore"):
        moment = moment * unit
    if not np.isfinite(moment).all():
        raise ValueError(
            "Products of X, y and sample_weight must be finite, got an overflow. Scale one of them."
        )
    return moment


def _drop_constants(
    gram: Floats, moment: Floats, totals: Array, means: Floats, dtype: Any
) -> Bools:
    """Set the products of constant features, which are rounding errors of their means, to 0.

    A feature is constant if it is constant within each group. Return which features are.
    """
    constant = are_constant(gram.diagonal(), totals, means, dtype)
    gram[constant] = gram[:, constant] = moment[constant] = 0.0
    return constant


def are_constant(squares: Floats, totals: Array, means: Floats, dtype: Any) -> Bools:
    """Return for each feature whether its squares about group means are only rounding errors."""
    rounding = _ROUNDING * np.finfo(dtype).eps
    # Weighted squares of large means may overflow although those of the spread do not.
    largest = np.abs(means).max(axis=0, initial=0.0)
    unit, weight = np.where(largest > 0, largest, 1.0), totals.max(initial=0.0) or 1.0
    mean = np.sqrt(totals / weight @ np.square(means / unit, dtype=float))
    with np.errstate(over="ignore"):  # An infinite ratio of spread and mean is not rounding.
        spread = np.sqrt(np.maximum(squares, 0.0)) / unit
    return spread <= rounding * mean * np.sqrt(weight)


def _pooled_sparse(X: Any, targets: Floats, weight: Floats, level: Floats) -> Moments:
    total = weight.sum()
    mean = (X.T @ weight) / (total or 1.0)
    one_group = np.zeros(len(weight), dtype=int)
    gram, moment = _sparse_products(X, targets, weight, mean[None, :], one_group)
    constant = _drop_constants(gram, moment, total[None], mean[None, :], X.dtype)
    # Use the constant value itself, so that the means of several chunks are the same.
    mean[constant] = X[[weight.argmax()]].toarray()[0, constant]
    return Moments(float(total), mean, level, gram, moment, eps=float(np.finfo(X.dtype).eps))


def sparse_squares(X: Any, means: Floats, codes: Ints, weight: Floats) -> Floats:
    """Return weighted sums of squares about the means of groups of rows, for a sparse matrix.

    Differences of large sums, such as ``sum w x x - W m m``, would round off a small spread.
    """
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    n, column = np.diff(X.indptr), X.indices
    group, paid = np.repeat(codes, n), np.repeat(weight, n)
    away = np.subtract(X.data, means[group, column], dtype=float)
    squares: Any = np.bincount(column, paid * away**2, X.shape[1])
    # What has no entry is 0, and has the rest of the weight of its group.
    there, paid = (
        csr_matrix((of, (group, column)), shape=means.shape) for of in (np.ones(len(group)), paid)
    )
    group, column = np.repeat(np.arange(len(means)), np.diff(there.indptr)), there.indices
    rest = np.bincount(codes, weight, len(means))[group] - paid.data
    rest[there.data == np.bincount(codes, minlength=len(means))[group]] = 0.0
    of_rest = np.maximum(rest, 0.0) * np.square(means[group, column], dtype=float)
    return squares + np.bincount(column, of_rest, X.shape[1])


def _sparse_products(
    X: Any, targets: Floats, weight: Floats, means: Floats, codes: Ints
) -> tuple[Floats, Floats]:
    """Return products about the means of groups of rows, for sparse X and centered targets."""
    scaled = diags(weight) @ X
    gram, moment = (X.T @ scaled).toarray().astype(float, copy=False), scaled.T @ targets
    raw = gram.diagonal().copy()
    _check_squares(raw, abs(scaled).max(axis=0).toarray().ravel() > 0)
    # Centering would fill the zeros, so subtract: sum w (x-m)(x-m)' = sum w x x' - W m m'.
    totals = np.bincount(codes, weight, len(means))
    gram -= means.T @ (totals[:, None] * means)
    lost = np.flatnonzero(gram.diagonal() < _CANCELLED * raw)
    if not len(lost):
        return gram, _times(moment)
    # For some features mostly rounding errors are left: center these few columns before squaring.
    gram[:, lost] = moment[lost] = 0.0
    columns, among = X[:, lost], np.zeros((len(lost),) * 2)
    step = max(CACHE_CELLS // len(lost), 1)
    for start in range(0, X.shape[0], step):
        pick = slice(start, start + step)
        centered = columns[pick].toarray() - means[codes[pick]][:, lost]
        scaled = centered * weight[pick, None]
        among += centered.T @ scaled
        moment[lost] += scaled.T @ targets[pick]
        gram[:, lost] += X[pick].T @ scaled
    gram[lost] = gram[:, lost].T
    gram[np.ix_(lost, lost)] = among
    return gram, _times(moment)


def _products(X: Any, rows: Any, n_columns: int, prepare: Any, note: Any = None) -> np.ndarray:
    """Return the sum over chunks of ``Z'Z``, with rows ``z = root * [x - shift, columns]`` of Z.

    Features and targets are columns of one matrix, because one large product is faster than two.
    `rows` is an array of row numbers, or a slice for all rows. `prepare` maps the row numbers of a
    chunk and the chunk of X to shift, columns, and root (square roots of the weights, or None).
    `note` is called with the product and the shift of each chunk, in order.
    """
    width, n_rows = X.shape[1] + n_columns, X.shape[0] if isinstance(rows, slice) else len(rows)
    step = max(CACHE_CELLS // width // _CHUNK_ROWS, 1) * _CHUNK_ROWS
    # Use at least as many rows as columns; otherwise adding up the products would dominate.
    step = max(step, width)
    total = _Total(X, rows, prepare, note, (min(step, n_rows), width))
    each(total.products_of, range(0, n_rows, step), total.add, most=4 * PART_CELLS // width**2)
    _check_squares(total.squares, total.nonzero)
    return total.products


class _Total:
    """Sum of the products of chunks, which several threads may compute; see `_products`."""

    def __init__(self, X: Any, rows: Any, prepare: Any, note: Any, shape: tuple[int, int]) -> None:
        self.X, self.rows, self.prepare, self.note, self.shape = X, rows, prepare, note, shape
        d = X.shape[1]
        self.products = np.zeros((shape[1], shape[1]))
        self.squares, self.nonzero = np.zeros(d), np.zeros(d, dtype=bool)
        self._of_thread = local()

    def products_of(self, start: int) -> tuple[Floats, Floats, Ints]:
        """Return the products and the shift of a chunk, and nonzero features of tiny squares."""
        pick = slice(start, start + self.shape[0])
        pick = pick if isinstance(self.rows, slice) else _as_slice(self.rows[pick])
        chunk = self.X[pick]
        # Squares that overflow or underflow in single precision may not do so in double precision.
        for dtype in (self.X.dtype, np.dtype(float)):
            Z, shift = self._centered(pick, chunk.astype(dtype, copy=False))
            with np.errstate(over="ignore", invalid="ignore"):
                products = Z.T @ Z
            squares = products.diagonal()
            small = np.flatnonzero(squares[: len(self.squares)] < _least_squares_of(dtype))
            small = small[Z[:, small].any(axis=0)]
            if np.isfinite(squares).all() and not len(small):
                break
        return products.astype(float, copy=False), shift, small

    def _centered(self, pick: Any, chunk: Floats) -> tuple[Floats, Floats]:
        """Return the rows of Z of a chunk, and their shift."""
        d = chunk.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            shift, columns, root = self.prepare(pick, chunk)
            if not hasattr(self._of_thread, "buffer"):
                self._of_thread.buffer = np.empty(self.shape, dtype=self.X.dtype)
            Z = self._of_thread.buffer[: len(chunk)].astype(chunk.dtype, copy=False)
            np.subtract(chunk, shift, out=Z[:, :d])
            Z[:, d:] = columns
            if root is not None:
                Z *= root[:, None].astype(chunk.dtype)
        return Z, shift

    def add(self, result: tuple[Floats, Floats, Ints]) -> None:
        """Add the result of `products_of` for the next chunk."""
        products, shift, small = result
        squares = products.diagonal()[: len(self.squares)]
        self.squares += squares
        self.nonzero[small] = True
        _check_squares(squares)
        self.products += products
        if self.note is not None:
            self.note(products, shift)


def _least_squares_of(dtype: Any) -> float:
    """Return the bound below which sums of squares have lost digits to underflow."""
    return np.finfo(dtype).tiny / np.finfo(dtype).eps


def _check_squares(squares: Floats, nonzero: Any = False) -> None:
    """Raise an error if sums of squares overflow, or underflow for features that are not zero."""
    for problem, columns, remedy in (
        ("be finite, got an overflow", ~np.isfinite(squares), "Divide"),
        ("not underflow", nonzero & (squares < _least_squares_of(np.float64)), "Multiply"),
    ):
        if columns.any():
            raise OutOfRangeError(
                f"Squares of X must {problem}",
                int(columns.argmax()),
                f"{remedy} the column by a number, or scale all of them.",
            )


def product_of_rows(X: Any, coefs: Any, rows: Ints | None = None) -> np.ndarray:
    """Return ``X[rows] @ coefs`` in double precision, without a copy of these rows.

    Equal rows have bitwise equal products.
    """
    if issparse(X):
        return np.asarray((X if rows is None else X[rows]) @ coefs, dtype=float)
    # Each output is contiguous in memory, because callers read one output after the other.
    out = np.empty((X.shape[0] if rows is None else len(rows), *coefs.shape[1:]), order="F")
    step = max(CACHE_CELLS // X.shape[1] // _CHUNK_ROWS, 1) * _CHUNK_ROWS

    def multiply(start: int) -> None:
        pick = slice(start, start + step)
        chunk = X[pick if rows is None else _as_slice(rows[pick])]
        _product_of_chunk(chunk.astype(float, copy=False), coefs, out[pick])

    if rows is None and len(out) <= step and coefs.ndim == 1:
        # A small matrix times a vector: one thread, whatever BLAS may use.
        _product_of_chunk(X.astype(float, copy=False), coefs, out)
    else:
        each(multiply, range(0, len(out), step))
    return out


def _product_of_chunk(chunk: Floats, coefs: Any, out: Floats) -> None:
    """Write ``chunk @ coefs`` to `out`, with every row multiplied in a full block.

    BLAS may round the rows of an incomplete block differently.
    """
    if chunk.itemsize not in chunk.strides:
        chunk = np.ascontiguousarray(chunk)
    whole = len(chunk) // _BLOCK_ROWS * _BLOCK_ROWS
    out[:whole] = chunk[:whole] @ coefs
    if whole < len(chunk):
        order: Literal["F", "C"] = "F" if chunk.strides[0] == chunk.itemsize else "C"
        last = np.zeros((_BLOCK_ROWS, chunk.shape[1]), order=order)
        last[: len(chunk) - whole] = chunk[whole:]
        out[whole:] = (last @ coefs)[: len(chunk) - whole]


def _as_slice(rows: Ints) -> Any:
    """Return row numbers as a slice if they are consecutive, so that indexing does not copy."""
    first, last = int(rows[0]), int(rows[-1])
    consecutive = last - first == len(rows) - 1 and (np.diff(rows) == 1).all()
    return slice(first, last + 1) if consecutive else rows
