"""Piecewise linear functions of features with knots at quantiles."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..columns.arrays import check_feature_names_in
from ..columns.types import ArrayLike, Bools, Floats, Ints, Labels, Matrix, Self
from ..data import check, fitting, lazy_transformer, limits, workers_of_fit

# Number of columns whose values are sorted at a time.
COLUMNS = 8

# Number of ranges that a range is cut into.
_CUTS = 256

_SIGN = np.uint64(1 << 63)

#: What yields columns, or blocks of some of them.
Blocks = Callable[[], Iterable[Floats]]


# -- quantiles of columns, as `numpy.nanquantile` computes them --------------------------
#
# Where several workers hold the rows, all of them count their values between the same edges. The
# range that holds the value of a rank is then cut again, until a single value is left in it. Edges
# are evenly spaced among the floating-point numbers, of which each step leaves a share of 1 in
# ``_CUTS``, so that there are at most nine steps, and about three for a million values.


class _Counted(NamedTuple):
    """Counts, smallest and largest of the values of columns, or of those in some ranges."""

    counts: Ints
    lows: Floats
    highs: Floats


def quantiles(columns: Floats, shares: Floats) -> Floats:
    """Return the quantiles of each row of a matrix; 0 of no value."""
    values: Floats = np.sort(np.ascontiguousarray(columns), axis=1)  # NaN last
    n_known = np.array([column.searchsorted(np.nan) for column in values])
    return _interpolated(n_known, shares, lambda ranks: np.take_along_axis(values, ranks, axis=1))


def _interpolated(n_known: Ints, shares: Floats, at: Callable[[Ints], Floats]) -> Floats:
    """Return quantiles, given the numbers of values and what the values at ranks are."""
    last = np.maximum(n_known - 1, 0)[:, None]
    places = last * shares
    first = places.astype(np.intp)
    below, above = np.hsplit(at(np.hstack([first, np.minimum(first + 1, last)])), 2)
    share, rise = places - first, above - below
    # From the nearer value, so that quantiles of equal values are equal to them.
    found = np.where(share < 0.5, below + rise * share, above - rise * (1.0 - share))
    return np.where(n_known[:, None] > 0, found, 0.0)


def quantiles_of_all(columns: Blocks, shares: Floats) -> Floats:
    """Return the quantiles of each column, of the rows of all workers; 0 of no value.

    * `columns`: function that returns the columns of this worker, with NaN for missing values.
    * `shares` (n_quantiles,): quantiles to compute, from 0 to 1.

    Returns `quantiles` (n_columns, n_quantiles).
    """
    known: _Counted = workers_of_fit().total(lambda: _known(columns()), _added)
    return _interpolated(known.counts, shares, lambda ranks: _values_at(ranks, columns, known))


def _values_at(ranks: Ints, columns: Blocks, known: _Counted) -> Floats:
    """Return the values of each column at its ranks, counted from 0."""
    low, high = (np.where(known.counts > 0, ends, 0.0)[:, None] for ends in known[1:])
    is_last = ranks == known.counts[:, None] - 1
    low, high = np.where(is_last, high, low), np.where(ranks == 0, low, high)
    before = np.zeros_like(ranks)  # number of values below the range
    while (searched := low < high).any():
        part = partial(_counted, columns, searched, _edges(low[searched], high[searched]))
        found: _Counted = workers_of_fit().total(part, _added)
        ends = before[searched][:, None] + np.cumsum(found.counts, axis=1)
        chosen = (ends <= ranks[searched][:, None]).sum(axis=1)
        at = np.arange(len(chosen)), chosen
        before[searched] = ends[at] - found.counts[at]
        low[searched], high[searched] = found.lows[at], found.highs[at]
    return low


def _edges(low: Floats, high: Floats) -> Floats:
    """Return the edges of the parts of ranges, evenly spaced among floating-point numbers."""
    first, last = (_ordinal(ends)[:, None] for ends in (low, high))
    step = np.maximum((last - first) // np.uint64(_CUTS), np.uint64(1))
    inner = first + step * np.arange(1, _CUTS, dtype=np.uint64)
    inner = np.minimum(inner, last)
    bits = np.where(inner & _SIGN, inner ^ _SIGN, ~inner)
    return np.column_stack([low, bits.view(np.float64), high])


def _ordinal(values: Floats) -> np.ndarray:
    """Return integers in the order of floating-point numbers, without gaps."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _known(columns: Iterable[Floats]) -> _Counted:
    """Return counts and ends of the values of columns that are not missing."""
    there = [column[~np.isnan(column)] for column in columns]
    return _Counted(
        np.array([len(values) for values in there]),
        np.array([values.min(initial=np.inf) for values in there], dtype=float),
        np.array([values.max(initial=-np.inf) for values in there], dtype=float),
    )


def _counted(columns: Blocks, searched: Bools, edges: Floats) -> _Counted:
    """Return counts and ends of the values between edges, of which each rank has its own."""
    parts, of_ranks = [], iter(edges)
    for column, ranks in zip(columns(), searched):
        if ranks.any():
            values = np.sort(column[~np.isnan(column)])
            parts += [_between(values, next(of_ranks)) for _ in range(int(ranks.sum()))]
    return _Counted(*map(np.array, zip(*parts)))


def _between(values: Floats, edges: Floats) -> tuple[Ints, Floats, Floats]:
    """Return counts and ends of sorted values between edges, of which the last is included."""
    at = np.append(np.searchsorted(values, edges[:-1]), np.searchsorted(values, edges[-1], "right"))
    counts, padded = np.diff(at), np.append(values, 0.0)
    lows = np.where(counts > 0, padded[at[:-1]], np.inf)
    return counts, lows, np.where(counts > 0, padded[at[1:] - 1], -np.inf)


def _added(parts: list[_Counted]) -> _Counted:
    counts, lows, highs = zip(*parts)
    return _Counted(np.sum(counts, axis=0), np.min(lows, axis=0), np.max(highs, axis=0))


# -- hinges ------------------------------------------------------------------------------


def hinges_of(X: Floats, features: Ints, starts: Floats, ends: Floats) -> Floats:
    """Return a column for each of intervals: 0 below, 1 above, and linear in between.

    * `features` (n_intervals,): the column of X that each interval belongs to.
    """
    out: Floats = np.take(X, features, axis=1)
    # Differences of halved values cannot overflow.
    out *= 0.5
    out -= starts / 2
    with np.errstate(over="ignore"):  # of what lies far outside of the interval
        out /= ends / 2 - starts / 2
    return np.clip(out, 0.0, 1.0, out=out)


@lazy_transformer
class QuantileHinges(TransformerMixin, BaseEstimator):
    """Replace each feature by hinges between its quantiles, for piecewise linear rankers.

    A feature becomes one column per interval between two neighboring quantiles, which is 0 below
    the interval, 1 above it, and linear in between. Up to a constant, linear combinations of these
    columns are the continuous functions that are linear between the quantiles and constant beyond
    them, so that a linear ranker learns such a function of each feature.

    Parameters
    ----------
    n_knots : int, default=5
        Number of quantiles, at least 2, including the smallest and the largest value. Equal
        quantiles count once.

    Attributes
    ----------
    features_ : ndarray of int of shape (n_features_out,)
        Index of the feature that each column is computed from.
    starts_, ends_ : ndarray of shape (n_features_out,)
        Start and end of the interval of each column.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    sklearn.preprocessing.SplineTransformer : With ``degree=1`` and ``knots="quantile"``, other
        columns for the same functions.
    skcalrank.TabularRanker : A ranker for tables that uses these columns.

    Notes
    -----
    A ridge penalty on these columns shrinks the increases of the function over the intervals,
    whereas a penalty on the columns of ``SplineTransformer`` shrinks its values at the quantiles.

    Missing values (NaN) stay missing. A feature that is constant in `fit` has no columns.

    Examples
    --------
    >>> from skcalrank.preprocessing import QuantileHinges
    >>> QuantileHinges(n_knots=3).fit_transform([[0.0], [1.0], [2.0], [6.0], [10.0]])
    array([[0. , 0. ],
           [0.5, 0. ],
           [1. , 0. ],
           [1. , 0.5],
           [1. , 1. ]])
    """

    fits_among_workers = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_knots": [limits.Integers(2)]}

    def __init__(self, n_knots: int = 5) -> None:
        self.n_knots = n_knots

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @fitting
    def fit(self, X: Matrix, y: Labels | None = None) -> Self:
        """Compute the quantiles of each feature.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Features, which may be missing (NaN). The partitions of a collection of dask are read
            about five times, and have the quantiles of all rows, to the last bit.
        y : array-like, default=None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `n_knots` is invalid, or X has infinite or non-numeric values.
        """
        del y  # Quantiles do not depend on y.
        check.params(self)
        X = self._checked(X, reset=True)
        starts = range(0, X.shape[1], COLUMNS)
        return self._learn(lambda: (X[:, k : k + COLUMNS] for k in starts))

    def _learn(self, blocks: Blocks) -> Self:
        """Compute the quantiles of features that come some at a time."""
        shares = np.linspace(0.0, 1.0, self.n_knots)
        if workers_of_fit().size == 1:
            knots = np.vstack([quantiles(block.T / 2, shares) for block in blocks()])
        else:
            knots = quantiles_of_all(
                lambda: (column / 2 for block in blocks() for column in block.T), shares
            )
        starts, ends = knots[:, :-1], knots[:, 1:]
        there = ends > starts
        self.features_ = np.nonzero(there)[0]
        self.starts_, self.ends_ = 2 * starts[there], 2 * ends[there]
        return self

    def transform(self, X: Matrix) -> Any:
        """Return the columns of all features, one feature after the other.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Features, which may be missing (NaN).

        Returns
        -------
        X_out : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
            Columns with values from 0 to 1, or NaN.
        """
        check_is_fitted(self)
        return self._transformed(self._checked(X, reset=False))

    def _transformed(self, X: Floats) -> Floats:
        """Return the columns of validated features."""
        return hinges_of(X.astype(float, copy=False), self.features_, self.starts_, self.ends_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns, such as ``x0_hinge1`` for the second interval of x0.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features. If None, the names in `fit`, or x0, x1 and so on.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        numbers = np.arange(len(self.features_)) - np.searchsorted(self.features_, self.features_)
        out = [f"{names[i]}_hinge{number}" for i, number in zip(self.features_, numbers)]
        return np.array(out, dtype=object)

    def _checked(self, X: Any, reset: bool) -> Any:
        return check.features(self, X, reset=reset, **check.Reads.of(self).checks())


def fit_blocks(hinges: QuantileHinges, blocks: Blocks, n_features: int) -> None:
    """Fit hinges to validated features, ``COLUMNS`` of which come at a time."""
    check.params(hinges)
    hinges._learn(blocks).n_features_in_ = n_features
