"""Classifier for any loss matrix of finite rank (RAT13, Theorem 3)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Ridge
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._solvers import fit_outputs, fit_regressor, is_closed_form, takes_nan, takes_sparse
from ..data import all_or_nothing, arrays, check, limits, refuse_lazy
from ..data.types import Array, ArrayLike, Floats, Matrix


class LowRankLossClassifier(ClassifierMixin, BaseEstimator):
    r"""Least-squares classifier for any loss matrix.

    Factorizes the loss matrix, regresses one vector per class, and predicts the decision of least
    estimated loss. 0-1, ordinal, cost-sensitive and abstaining losses are matrices, and so is the
    Hamming loss over sets of labels.

    Parameters
    ----------
    loss_matrix : array-like of shape (n_classes, n_predictions), default=None
        Loss of each prediction (columns) for each class (rows, in the order of
        ``classes_``). If None, the 0-1 loss.
    estimator : regressor, default=None
        Regressor of the vectors, any of scikit-learn that estimates a conditional mean. If None,
        ``Ridge()``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in sorted order.
    rank_ : int
        Dimension of the surrogate.
    alpha_ : ndarray of shape (n_classes, ``rank_``)
        The vectors :math:`\alpha_y` that are regressed (not a ridge penalty).
    beta_ : ndarray of shape (n_predictions, ``rank_``)
        The vectors :math:`\beta_t`.
    estimator_ : regressor or None
        The fitted regressor; None if the loss does not depend on the prediction.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    LeastSquaresRanker : The same principle for rankings.
    sklearn.linear_model.RidgeClassifier : Least-squares classifier for the 0-1 loss.

    Notes
    -----
    With the row-centered loss matrix factorized, :math:`\ell(y, t) = \langle \alpha_y,
    \beta_t \rangle + b(y)`, the classifier regresses :math:`\alpha_y` and predicts
    :math:`\arg\min_t \langle u, \beta_t \rangle`. It is calibrated (Fisher-consistent) for the loss
    under every distribution (RAT13, Theorem 3). The dimension of the surrogate is the rank of the
    centered matrix, the smallest over all terms b(y), which do not affect the prediction.

    Examples
    --------
    Abstaining, in the last column, costs 0.2:

    >>> from skcalrank import LowRankLossClassifier
    >>> loss = [[0, 1, 0.2], [1, 0, 0.2]]
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> LowRankLossClassifier(loss).fit(X, y).predict([[0.0], [1.5], [3.0]])
    array([0, 2, 1])
    """

    _parameter_constraints: ClassVar[dict] = {
        "loss_matrix": ["array-like", None],
        "estimator": [limits.REGRESSOR, None],
    }

    def __init__(self, loss_matrix: ArrayLike | None = None, *, estimator: Any = None) -> None:
        self.loss_matrix = loss_matrix
        self.estimator = estimator

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        regressor = check.regressor(self, self.estimator)
        tags.input_tags.sparse = takes_sparse(regressor)
        tags.input_tags.allow_nan = takes_nan(regressor)
        return tags

    @all_or_nothing
    def fit(
        self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LowRankLossClassifier:
        """Factorize the loss matrix and fit the regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training data.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the loss matrix does not have one row per class, or holds NaN.
        """
        check.params(self)
        refuse_lazy(type(self).__name__, "", X=X, y=y, sample_weight=sample_weight)
        arrays.refuse_masked(y=y)
        X, y = check.features(self, X, y, **self._reads().checks())
        check_classification_targets(y)
        weight = check.sample_weight(sample_weight, X.shape[0])
        self.classes_, codes = np.unique(y, return_inverse=True)
        loss = self._loss()
        row_means = loss.mean(axis=1)
        self.alpha_, self.beta_ = _factorize(loss - row_means[:, None])
        self.rank_ = self.alpha_.shape[1]
        self._n_predictions = loss.shape[1]
        self._offset = np.average(row_means[codes], weights=weight)
        self._square = loss.shape[0] == loss.shape[1]
        self.estimator_ = self._regress(X, self.alpha_[codes], weight) if self.rank_ else None
        return self

    def _reads(self):
        # Regressors without a closed form get data frames unchanged.
        return check.Reads.of(self, tables=not is_closed_form(self.estimator))

    def _loss(self):
        n = len(self.classes_)
        if self.loss_matrix is None:
            return 1.0 - np.eye(n)
        loss = arrays.checked(self.loss_matrix, "loss_matrix", ensure_2d=False)
        if loss.ndim != 2 or len(loss) != n:
            raise ValueError(
                f"loss_matrix must have one row per class of y ({n}, in sorted order), got shape "
                f"{loss.shape}."
            )
        return loss

    def _regress(self, X, targets, weight):
        regressor = Ridge() if self.estimator is None else clone(self.estimator)
        if targets.shape[1] == 1:
            return fit_regressor(regressor, X, targets.ravel(), weight)
        return fit_outputs(regressor, X, targets, weight)

    def expected_loss(self, X: Matrix) -> Floats:
        """Estimate the expected loss of each prediction, lower is better.

        Differences between predictions are estimated for every row. Their common level, which does
        not affect the prediction, is the mean over the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        loss : ndarray of shape (n, n_predictions)
        """
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, "", X=X)
        X = check.features(self, X, reset=False, **self._reads().checks())
        if self.estimator_ is None:
            return np.full((X.shape[0], self._n_predictions), self._offset)
        u = self.estimator_.predict(X).reshape(X.shape[0], self.rank_)
        return u @ self.beta_.T + self._offset

    def decision_function(self, X: Matrix) -> Floats:
        """Return the negative expected loss of each prediction.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        decision : ndarray of shape (n, n_predictions), or (n,)
            With two classes and two predictions, the difference between the two, which is positive
            where the second class is predicted.
        """
        loss = self.expected_loss(X)
        if len(self.classes_) == 2 and loss.shape[1] == 2:
            return loss[:, 0] - loss[:, 1]
        return -loss

    def predict(self, X: Matrix) -> Array:
        """Return the prediction of least expected loss for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        prediction : ndarray of shape (n,)
            One of ``classes_`` if the loss matrix is square, else the number of the column.
        """
        best = self.expected_loss(X).argmin(axis=1)
        return self.classes_[best] if self._square else best


def _factorize(loss):
    """Return thin factors of the numerical rank, with loss = alpha @ beta.T."""
    left, singular, right = svd(loss, full_matrices=False)
    tolerance = max(loss.shape) * np.finfo(float).eps * singular.max(initial=0.0)
    rank = int((singular > tolerance).sum())
    return left[:, :rank] * singular[:rank], right[:rank].T
