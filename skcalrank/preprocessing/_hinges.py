"""Features bent at their quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..data import (
    Integers,
    Labels,
    Matrix,
    all_or_nothing,
    check_params,
    checked_features,
    refuse_lazy,
    x_checks,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class QuantileHinges(TransformerMixin, BaseEstimator):
    """Features bent at their quantiles, so that a linear ranker learns a curve of each.

    Each feature becomes one column for each interval between two neighboring quantiles: 0 below the
    interval, 1 above, and a straight line in between. Sums of these columns are the continuous
    curves that are straight between the quantiles and flat beyond them, those of
    ``SplineTransformer(degree=1, knots="quantile")``.

    The columns are other ones, and so is what a ridge penalty does to the curve: here it draws what
    the curve rises by over each interval to 0, there the heights at the quantiles.

    Parameters
    ----------
    n_knots : int, default=5
        Number of quantiles, the least and the largest value among them. Of equal ones there is one.

    Attributes
    ----------
    features_ : ndarray of int of shape (n_features_out,)
        Which feature each column is made of.
    starts_, ends_ : ndarray of shape (n_features_out,)
        The interval of each column.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    skcalrank.tabular_ranker : Has a closed form of these columns.

    Notes
    -----
    Missing values (NaN) stay missing. Columns of a feature that is constant in fit are left out.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_knots": [Integers(2)]}

    def __init__(self, n_knots: int = 5) -> None:
        self.n_knots = n_knots

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @all_or_nothing
    def fit(self, X: Matrix, y: Labels | None = None) -> Self:
        """Learn the quantiles.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        y : array-like, default=None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the parameter is invalid, or X holds infinite values or no numbers.
        """
        del y  # which quantiles do not depend on
        check_params(self)
        X = self._checked(X, reset=True)
        quantiles = np.linspace(0.0, 100.0, self.n_knots)
        known = ~np.isnan(X).all(axis=0)
        knots = np.zeros((self.n_knots, X.shape[1]))
        # Halves, whose differences cannot overflow.
        knots[:, known] = np.nanpercentile(X[:, known] / 2, quantiles, axis=0)
        starts, ends = knots[:-1].T, knots[1:].T
        there = ends > starts
        self.features_ = np.nonzero(there)[0]
        self.starts_, self.ends_ = 2 * starts[there], 2 * ends[there]
        return self

    def transform(self, X: Matrix) -> Any:
        """Return the columns of each feature, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)

        Returns
        -------
        X_out : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
        """
        check_is_fitted(self)
        out = self._checked(X, reset=False)[:, self.features_]
        out *= 0.5
        out -= self.starts_ / 2
        out /= self.ends_ / 2 - self.starts_ / 2
        return np.clip(out, 0.0, 1.0, out=out)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns: the feature, and the number of its interval.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features, if fit saw none.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        first = np.searchsorted(self.features_, self.features_)
        numbers = np.arange(len(self.features_)) - first
        return np.array(
            [f"{names[i]}_hinge{number}" for i, number in zip(self.features_, numbers)],
            dtype=object,
        )

    def _checked(self, X: Any, reset: bool) -> Any:
        refuse_lazy(type(self).__name__, X=X)
        return checked_features(self, X, reset=reset, **x_checks(self)).astype(float, copy=False)
