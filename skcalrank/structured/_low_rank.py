"""Classifier for any loss matrix of finite rank (RAT13, Theorem 3)."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Estimator, Floats, Ints, Matrix, Self
from ..data import check, fitting, limits, refuse_lazy
from ._decisions import LeastSquaresDecisions, factorize


class LowRankLossClassifier(ClassifierMixin, LeastSquaresDecisions):
    r"""Least-squares classifier for any loss matrix.

    Use it where mistakes have different costs, or a class may be refused. Factorizes the loss
    matrix, regresses one vector per class, and predicts the decision of least estimated loss. 0-1,
    ordinal, cost-sensitive and abstaining losses are matrices, and so is the Hamming loss over sets
    of labels.

    Parameters
    ----------
    loss_matrix : array-like of shape (n_classes, n_predictions), default=None
        Loss of each prediction (columns) for each class (rows, in the order of
        ``classes_``). If None, the 0-1 loss.
    factors : pair of array-likes, default=None
        In place of a matrix, the vectors :math:`\alpha_y` of shape (n_classes, d) and
        :math:`\beta_t` of shape (n_predictions, d) whose inner products are the loss, up to terms
        that depend on the class alone.
    classes : array-like of shape (n_classes,), default=None
        Classes, in the order of the rows of the loss. If None, those of y in sorted order. Pass
        them where a class may be missing from y, as in a fold of cross-validation.
    estimator : regressor or classifier, default=None
        Regressor of the vectors, any of scikit-learn that estimates a conditional mean. If None,
        ``Ridge()``. Of a classifier the probabilities are used, one for each entry of the vectors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the order of the rows of the loss.
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
    StructuredPredictor : The same principle for labels and predictions of any kind.
    LeastSquaresRanker : The same principle for rankings.
    sklearn.linear_model.RidgeClassifier : Least-squares classifier for the 0-1 loss.

    Notes
    -----
    With the row-centered loss matrix factorized, :math:`\ell(y, t) = \langle \alpha_y,
    \beta_t \rangle + b(y)`, the classifier regresses :math:`\alpha_y` and predicts
    :math:`\arg\min_t \langle u, \beta_t \rangle`. It is calibrated (Fisher-consistent) for the loss
    under every distribution (RAT13, Theorem 3). The dimension of the surrogate is the rank of the
    centered matrix, the smallest over all terms b(y), which do not affect the prediction. Factors
    that are given are regressed as they are.

    Examples
    --------
    Abstaining, in the last column, costs 0.2:

    >>> from skcalrank.structured import LowRankLossClassifier
    >>> loss = [[0, 1, 0.2], [1, 0, 0.2]]
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> LowRankLossClassifier(loss).fit(X, y).predict([[0.0], [1.5], [3.0]])
    array([0, 2, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss_matrix": ["array-like", None],
        "factors": limits.OWN_ERROR,
        "classes": ["array-like", None],
        "estimator": limits.REGRESSOR,
    }

    def __init__(
        self,
        loss_matrix: ArrayLike | None = None,
        *,
        factors: tuple[ArrayLike, ArrayLike] | None = None,
        classes: ArrayLike | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        self.loss_matrix = loss_matrix
        self.factors = factors
        self.classes = classes
        self.estimator = estimator

    @fitting
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
            If the loss does not have one row per class, or holds NaN; if both a loss matrix and
            factors are given; if y has a class that is not one of ``classes``.
        """
        check.params(self)
        refuse_lazy(type(self).__name__, "", X=X, y=y, sample_weight=sample_weight)
        check.row_order(X=X, y=y, sample_weight=sample_weight)
        arrays.refuse_masked(y, "y")
        y = _labels(y)
        arrays.refuse_missing(y, "y")
        X, y = check.features(self, X, y, **self._reads().checks())
        check_classification_targets(y)
        weight = check.sample_weight(sample_weight, X.shape[0])
        self.classes_, codes = self._encode(y)
        alpha, beta, self._offset = self._factorized()
        targets = self._set_factors(alpha, beta, self._offset, codes, weight)
        self.rank_ = targets.shape[1]
        self._square = len(self.alpha_) == len(self.beta_)
        self._fit_means(X, targets, weight)
        return self

    def _encode(self, y: Array) -> tuple[Array, Ints]:
        """Return the classes, and the row of the loss for each label."""
        if self.classes is None:
            return np.unique(y, return_inverse=True)
        classes = arrays.as_array(self.classes, "classes").copy()
        if classes.ndim != 1 or len(np.unique(classes)) < len(classes):
            raise ValueError(f"classes must be a list of different classes, got {self.classes!r}.")
        return classes, _numbers_of(y, classes, self.classes)

    def _factorized(self) -> tuple[Floats, Floats, Floats]:
        """Return alpha, beta and b of the loss."""
        if self.factors is None:
            n = len(self.classes_)
            loss = 1.0 - np.eye(n) if self.loss_matrix is None else self.loss_matrix
            return factorize(self._per_class(loss, "loss_matrix"))
        if self.loss_matrix is not None:
            raise ValueError("factors must be None with a loss_matrix: give one of the two.")
        if not isinstance(self.factors, (tuple, list)) or len(self.factors) != 2:
            raise ValueError(f"factors must be a pair of arrays, got {self.factors!r}.")
        alpha = self._per_class(self.factors[0], "factors[0]")
        beta = arrays.checked(self.factors[1], "factors[1]", ensure_2d=False)
        if beta.ndim != 2 or beta.shape[1] != alpha.shape[1]:
            raise ValueError(
                f"factors[1] must have {alpha.shape[1]} columns as factors[0], got shape "
                f"{beta.shape}."
            )
        center = beta.mean(axis=0)
        return alpha, beta - center, alpha @ center

    def _per_class(self, values: ArrayLike, name: str) -> Floats:
        """Return an array of one row per class."""
        out = arrays.checked(values, name, ensure_2d=False)
        if out.ndim != 2 or len(out) != len(self.classes_):
            order, remedy = "in the order of classes", ""
            if self.classes is None:
                order = "in sorted order"
                remedy = " If a class is missing from y, pass all of them: classes=..."
            raise ValueError(
                f"{name} must have one row per class of y ({len(self.classes_)}, {order}), got "
                f"shape {out.shape}.{remedy}"
            )
        return np.asarray(out, dtype=float)

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
        return self._of_means(self._means(X))

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
        return loss[:, 0] - loss[:, 1] if len(self.classes_) == 2 and loss.shape[1] == 2 else -loss

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

    def score(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy, or minus the mean loss if predictions are no classes.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`, with true classes.

        Returns
        -------
        score : float
            Higher is better. The accuracy if the loss matrix is square; numbers of columns cannot
            be compared with classes.
        """
        check_is_fitted(self)
        check.row_order(X=X, y=y, sample_weight=sample_weight)
        y = _labels(y)
        if self._square:
            return float(super().score(X, y, sample_weight))
        predictions = self.predict(X)
        y = column_or_1d(y)
        check_consistent_length(predictions, y)
        rows = _numbers_of(y, self.classes_, self.classes_)
        losses = (self.alpha_ @ self.beta_.T + self._offset[:, None])[rows, predictions]
        return -float(np.average(losses, weights=check.sample_weight(sample_weight, len(y))))


def _labels(y: ArrayLike) -> Array:
    """Return labels as an array, integers of pandas as numbers."""
    labels = arrays.as_array(y, "y")
    is_whole = labels.dtype == object and all(isinstance(label, Integral) for label in labels.flat)
    return np.array(labels.tolist()) if is_whole else labels


def _numbers_of(y: Array, classes: Array, named: ArrayLike) -> Ints:
    """Return the number of the class of each label, or raise."""
    if y.dtype != classes.dtype and {y.dtype.kind, classes.dtype.kind} <= set("iuf"):
        y, classes = y.astype(object), classes.astype(object)  # as floats large integers are equal
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"y must hold classes={named!r} only, got {unknown.tolist()[0]!r}.")
    order = np.argsort(classes)
    return order[np.searchsorted(classes[order], y)]
