"""Ridge regression from sufficient statistics."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._solvers import (
    Moments,
    check_features,
    fit_pooled,
    merge_all,
    pooled_moments,
    product_of_rows,
    ridge,
    ridge_path,
)
from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints, Matrix, Self
from ..data import check, fitting, lazy_property, limits, refuse_lazy

_X_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}


class GramRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Exact ridge regression from sufficient statistics.

    It minimizes the objective of :class:`sklearn.linear_model.Ridge`,

    .. math:: \min_{w, b} \sum_i s_i (t_i - x_i' w - b)^2 + \alpha \|w\|^2 ,

    and needs one pass over the rows. It keeps the weighted matrix
    :math:`\sum_i s_i (x_i - m)(x_i - m)'`, the corresponding matrix of features and targets, and
    the means, whose sizes do not depend on the number of rows. Therefore

    * rows can be added in chunks (:meth:`partial_fit`), and models fitted to different rows can
      be merged (:meth:`merge`), with the same result as fitting all rows at once;
    * coefficients for many penalties cost one decomposition (:meth:`path`);
    * memory in addition to X is that of a few d x d matrices: X is not copied, even in single
      precision, although sums are accumulated in double precision.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Non-negative penalty, one for all targets or one per target. With 0, the coefficients are
        those of least squares; if these are not unique, those of smallest norm.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalized.
    penalty_scale : {"squares"}, default=None
        Units of the penalty. With "squares", the penalty of a feature is `alpha` times its sum of
        squares about the mean (about zero without an intercept), so that predictions do not depend
        on the units of the features. If None, the penalty is `alpha`, as in `Ridge`.

    Attributes
    ----------
    penalty_scale_ : ndarray of shape (d,)
        Units of the penalty of each feature; ones with ``penalty_scale=None``.
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients in double precision. After :meth:`partial_fit`, they are computed when they
        are first read, with the value of `alpha` at that time.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept; 0 with ``fit_intercept=False``.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    sklearn.linear_model.Ridge : Ridge regression for more features than rows, or for so many
        features that a d x d matrix does not fit into memory.
    skcalrank.LeastSquaresRankerCV : Ridge penalty chosen by a ranking measure.

    Notes
    -----
    Rows are shifted before they are squared, and chunks are merged without cancellation [1]_, so
    that features far from zero do not lose precision. X may be rank-deficient.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub, R. J. LeVeque: Algorithms for computing the sample variance:
       analysis and recommendations, The American Statistician 37, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.linear_model import GramRidge
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> y = X @ [1, -1] + 3
    >>> whole = GramRidge(alpha=0.1).fit(X, y)
    >>> chunks = GramRidge(alpha=0.1).partial_fit(X[:4], y[:4]).partial_fit(X[4:], y[4:])
    >>> bool(np.allclose(whole.coef_, chunks.coef_))
    True
    """

    # Tells rankers to pass statistics instead of centered rows, see skcalrank._solvers.
    _sees_moments_only = True

    # Variances of groups of features, of a model that learns no further rows.
    _variances: Floats

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [limits.NON_NEGATIVE, "array-like"],
        "fit_intercept": ["boolean"],
        "penalty_scale": [limits.one_of("squares"), None],
    }

    def __init__(
        self,
        alpha: ArrayLike = 1.0,
        *,
        fit_intercept: bool = True,
        penalty_scale: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.penalty_scale = penalty_scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fitting
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GramRidge:
        """Fit the model, discarding rows of earlier calls.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, d)
            Features.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Targets.
        sample_weight : array-like of shape (n_rows,) or float, default=None
            Non-negative weights; a row of weight 2 is the same as the row twice. If None, all
            weights are 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is not finite or not of these shapes, `alpha` is negative, or a d x d
            matrix would take more than 2 GB.
        """
        return self._add(X, y, sample_weight, first=True)._solve()

    @fitting
    def partial_fit(
        self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> GramRidge:
        """Add rows to the rows of earlier calls.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in :meth:`fit`, or if the number of features or the shape of the targets differs
            from earlier calls.
        """
        return self._add(X, y, sample_weight, first=not hasattr(self, "_moments"))

    def _add(self, X: Any, y: Any, sample_weight: Any, first: bool) -> GramRidge:
        """Validate rows and add their moments; with `first`, discard earlier rows."""
        check.params(self)
        refuse_lazy(type(self).__name__, X=X, y=y, sample_weight=sample_weight)
        check.row_order(X=X, y=y, sample_weight=sample_weight)
        y = None if y is None else arrays.checked(y, "y", ensure_2d=False)
        X, y = check.features(self, X, y, reset=first, multi_output=True, **_X_CHECKS)
        check_features(X)
        weight = check.sample_weight(sample_weight, X.shape[0])
        targets = y.reshape(len(y), -1)
        self._check_alpha(targets.shape[1])
        return self._add_moments(pooled_moments(X, targets, weight), y.ndim == 1, first=first)

    def _add_moments(self, moments: Moments, one_target: bool, first: bool) -> GramRidge:
        """Add the moments of some rows; with `first`, discard earlier rows."""
        self.n_features_in_ = len(moments.mean)
        if not first:
            self._check_whole()
            self._check_targets(moments, one_target)
            moments = self._moments.merge(moments)
        return self._learn(moments, one_target)

    def _check_alpha(self, n_targets: int) -> None:
        for alpha in np.ravel(self.alpha).tolist():
            check.number("alpha", alpha, ">= 0")
        if np.ndim(self.alpha) and np.shape(self.alpha) != (n_targets,):
            raise ValueError(
                f"alpha must be a number or have shape ({n_targets},), one penalty per target, got "
                f"shape {np.shape(self.alpha)}."
            )

    def _learn(self, moments: Moments, one_target: bool) -> Self:
        """Replace the moments, and forget coefficients that were computed from the old ones."""
        self._moments, self._one_target = moments, one_target
        # Coefficients are computed when they are read, maybe after other parameters were set.
        self._given = np.array(self.alpha, float), self.fit_intercept, self.penalty_scale
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        return self

    def _solve(self) -> Self:
        """Compute the coefficients now, so that `predict` does not change the estimator."""
        _ = self.coef_, self.intercept_
        return self

    def _check_whole(self) -> None:
        """Raise if the model has not kept the products of all features."""
        if not self._moments.has_products:
            raise ValueError(
                "This GramRidge must have the products of all features to learn further rows or "
                "another penalty, got one of a stack, which has not kept them: fit the ranker "
                "outside the stack."
            )

    def _check_targets(self, moments: Moments, one_target: bool) -> None:
        before, now = self._moments.moment.shape[1], moments.moment.shape[1]
        if (before, self._one_target) != (now, one_target):
            raise ValueError(
                f"y must have the shape of earlier calls, with {before} target"
                f"{'s' * (before != 1)} in {1 if self._one_target else 2}d, got {now} target"
                f"{'s' * (now != 1)} in {1 if one_target else 2}d."
            )

    def merge(self, *others: GramRidge) -> GramRidge:
        """Return a model fitted to the rows of this model and of the others.

        Parameters
        ----------
        *others : GramRidge
            Models fitted to other rows with the same features and targets.

        Returns
        -------
        merged : GramRidge
            A new model with the parameters of this one. The merged models are not changed.

        Raises
        ------
        ValueError
            If features or targets differ.
        TypeError
            If one of `others` is not a GramRidge.

        Examples
        --------
        >>> from skcalrank.linear_model import GramRidge
        >>> first, second = GramRidge().fit([[0], [1]], [0, 1]), GramRidge().fit([[2], [5]], [1, 4])
        >>> merged = first.merge(second)
        >>> both = GramRidge().fit([[0], [1], [2], [5]], [0, 1, 1, 4])
        >>> abs(float(merged.predict([[3]])[0] - both.predict([[3]])[0])) < 1e-12
        True
        """
        check_is_fitted(self)
        self._check_whole()
        for other in others:
            if not isinstance(other, GramRidge):
                raise TypeError(f"others must be GramRidge models, got {other!r}.")
            check_is_fitted(other)
            other._check_whole()
            self._check_features(other)
            self._check_targets(other._moments, other._one_target)
        merged = type(self)(**self.get_params())
        check.share_columns(merged, self)
        parts = [model._moments for model in (self, *others)]
        return merged._learn(merge_all(parts), self._one_target)

    def _check_features(self, other: GramRidge) -> None:
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(
                f"Merged models must have the same features, got {self.n_features_in_} and "
                f"{other.n_features_in_} features."
            )
        names: list[Any] = [getattr(model, "feature_names_in_", None) for model in (self, other)]
        if all(name is not None for name in names) and any(names[0] != names[1]):
            raise ValueError("Merged models must have the same features, got different names.")

    @lazy_property
    def coef_(self) -> Floats:
        """Coefficients, computed when they are first read."""
        check_is_fitted(self, "_moments")
        alpha, fit_intercept, _ = self._given
        coef = ridge(self._moments, alpha, fit_intercept, self.penalty_scale_)
        return coef[:, 0] if self._one_target else coef.T

    @property
    def penalty_scale_(self) -> Floats:
        """Units of the penalty of each feature."""
        check_is_fitted(self, "_moments")
        _, fit_intercept, scale = self._given
        moments = self._moments
        return np.ones(len(moments.mean)) if scale is None else moments.penalty_scale(fit_intercept)

    @lazy_property
    def intercept_(self) -> float | Any:
        """Intercept, computed when it is first read; 0 with ``fit_intercept=False``."""
        return self._intercept_of(self.coef_)

    def _intercept_of(self, coef: Floats) -> Any:
        """Return the intercept for coefficients of shape (..., d) or (..., n_targets, d)."""
        if not self._given[1]:
            return 0.0 if coef.ndim == 1 else np.zeros(coef.shape[:-1])
        level = self._moments.level[0] if self._one_target else self._moments.level
        intercept = level - coef @ self._moments.mean
        return intercept if coef.ndim > 1 else float(intercept)

    def path(self, alphas: ArrayLike) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts for many penalties, from one decomposition.

        Parameters
        ----------
        alphas : array-like of shape (n_alphas,)
            Non-negative penalties.

        Returns
        -------
        coefs : ndarray of shape (n_alphas, d) or (n_alphas, n_targets, d)
            ``coefs[i]`` is the ``coef_`` of ``alpha=alphas[i]``.
        intercepts : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
            ``intercepts[i]`` is the ``intercept_`` of ``alpha=alphas[i]``.

        Raises
        ------
        ValueError
            If `alphas` is not one-dimensional, or a penalty is negative or not finite.

        Examples
        --------
        >>> from skcalrank.linear_model import GramRidge
        >>> model = GramRidge(alpha=2.0).fit([[0.0], [1.0], [4.0]], [1.0, 2.0, 3.0])
        >>> coefs, intercepts = model.path([0.0, 2.0, 20.0])
        >>> coefs.shape, abs(float(coefs[1, 0] - model.coef_[0])) < 1e-12
        ((3, 1), True)
        """
        check_is_fitted(self)
        self._check_whole()
        alphas = np.asarray(alphas)
        if alphas.ndim != 1 or not len(alphas):
            raise ValueError(f"alphas must be a list of penalties, got shape {alphas.shape}.")
        for alpha in alphas.tolist():
            check.number("alpha", alpha, ">= 0")
        penalties = alphas.astype(float)
        coefs = ridge_path(self._moments, penalties, self._given[1], self.penalty_scale_)
        coefs = coefs[:, :, 0] if self._one_target else coefs.transpose(0, 2, 1)
        return coefs, self._intercept_of(coefs)

    def predict(self, X: Matrix) -> Floats:
        """Predict the targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, d)
            Features.

        Returns
        -------
        predictions : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Predictions in double precision. X is not copied, even in single precision.
        """
        check_is_fitted(self)
        X = check.features(self, X, reset=False, **_X_CHECKS)
        return product_of_rows(X, self.coef_.T) + self.intercept_


def add_moments(
    model: GramRidge, moments: Moments, one_target: bool, *, goes_on: bool = False
) -> GramRidge:
    """Fit a model to moments of rows in place, and return it.

    If `goes_on`, add the rows to those that the model was fitted to. `one_target` is whether y was
    one-dimensional.
    """
    return learn_moments(model, moments, one_target, goes_on=goes_on)._solve()


def learn_moments(
    model: GramRidge, moments: Moments, one_target: bool, *, goes_on: bool = False
) -> GramRidge:
    """Do as :func:`add_moments`, but leave the coefficients until they are read."""
    check.params(model)
    model._check_alpha(moments.moment.shape[1])
    return model._add_moments(moments, one_target, first=not goes_on)


def settled(model: GramRidge, groups: Ints, n_groups: int) -> GramRidge:
    """Return a model that learns no further rows, with the :func:`variances` of these groups.

    The products of all features are d^2 numbers, which may be far more than the coefficients and
    the trees of a stack.
    """
    out = copy(model._solve())
    out._variances = variances(model, groups, n_groups)
    out._moments = model._moments.without_products()
    return out


def variances(model: GramRidge, groups: Ints, n_groups: int) -> Floats:
    """Return the variances of what groups of features add to the predictions of the rows of fit.

    `groups` has the number of the group of each feature. Where the model was fitted to differences
    of documents, variances are those within queries.
    """
    if not model._moments.has_products:
        return model._variances
    gram, coef = model._moments.gram, np.ravel(model.coef_)
    own = csr_array((coef, (groups, np.arange(len(coef)))), shape=(n_groups, len(coef)))
    return own.multiply(own @ gram).sum(axis=1) / model._moments.total


def refit(model: GramRidge, regressor: Any = None) -> Any:
    """Return a regressor fitted to the rows that a fitted model was fitted to.

    The regressor must depend on rows only through their moments, as `Ridge` does. If it is None,
    return the model itself, with its coefficients computed.
    """
    model._solve()
    return model if regressor is None else fit_pooled(regressor, model._moments, model._one_target)
