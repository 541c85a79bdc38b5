"""Piecewise linear functions of features with knots at quantiles."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..columns.arrays import check_feature_names_in
from ..columns.types import ArrayLike, Floats, Labels, Matrix, Self
from ..data import check, fitting, lazy_transformer, limits, workers_of_fit
from ._quantiles import quantiles, quantiles_of_all

# Number of columns whose values are sorted at a time.
COLUMNS = 8

Blocks = Callable[[], Iterable[Floats]]


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
        out: Floats = np.take(X.astype(float, copy=False), self.features_, axis=1)
        out *= 0.5
        out -= self.starts_ / 2
        with np.errstate(over="ignore"):  # of what lies far outside of the interval
            out /= self.ends_ / 2 - self.starts_ / 2
        return np.clip(out, 0.0, 1.0, out=out)

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
