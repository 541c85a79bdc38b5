"""Sets of labels of largest expected F-measure."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length

from ..columns import PART_CELLS, arrays
from ..columns.types import Array, ArrayLike, Bools, Estimator, Floats, Ints, Matrix, Self
from ..data import check, fitting, limits
from ._decisions import LeastSquaresDecisions
from ._factors import Factors, indicators

_EMPTY = ("one", "zero")


@dataclass(frozen=True)
class FMeasure(Factors):
    r"""Minus the F-measure of a set of labels, of dimension :math:`s^2 + 1` [1]_.

    .. math:: F_\beta(y, t) = \frac{(1 + \beta^2) |y \cap t|}{\beta^2 |y| + |t|},

    an inner product of :math:`y_i 1(|y| = m)`, for labels i and numbers m, with a vector of t.
    Labels and predictions are indicators of shape (n, s), of 0 and 1.

    Parameters
    ----------
    beta_weight : float, default=1.0
        How many times as much recall counts as precision, positive.
    empty : {"one", "zero"}, default="one"
        The F-measure of two empty sets.

    Raises
    ------
    ValueError
        If a parameter is not one of these values.

    See Also
    --------
    skcalrank.structured.FMeasureClassifier : The classifier of these factors.

    Notes
    -----
    For each number k of labels the best set of k has the k largest expected gains of single labels;
    the best of these s sets and the empty one is the best of all :math:`2^s`.

    References
    ----------
    .. [1] Zhang, Ramaswamy, Agarwal: Convex Calibrated Surrogates for the Multi-Label F-Measure,
       ICML 2020.

    Examples
    --------
    >>> from skcalrank.structured import FMeasure
    >>> FMeasure().alpha([[1, 0], [1, 1], [0, 0]])  # (label 1, 1), (1, 2), (2, 1), (2, 2), empty
    array([[1., 0., 0., 0., 0.],
           [0., 1., 0., 1., 0.],
           [0., 0., 0., 0., 1.]])
    """

    name: ClassVar[str] = "f_measure"
    beta_weight: float = 1.0
    empty: Literal["one", "zero"] = "one"

    def __post_init__(self) -> None:
        check.number("beta_weight", self.beta_weight, "> 0")
        check.option("empty", self.empty, _EMPTY)

    def alpha(self, y: Array) -> Floats:
        y = indicators(y)
        size, s = y.sum(axis=1), y.shape[1]
        of_size = size[:, None] == np.arange(1, s + 1)
        members = np.reshape(y[:, :, None] * of_size[:, None, :], (len(y), s * s))
        return np.column_stack([members, (size == 0) * (self.empty == "one")])

    def beta(self, t: Array) -> Floats:
        t = indicators(t)
        size, s = t.sum(axis=1).astype(int), t.shape[1]
        # A set without members has no gain from them.
        gains = t[:, :, None] * self._gains(s)[:, np.maximum(size, 1) - 1].T[:, None, :]
        return -np.column_stack([np.reshape(gains, (len(t), s * s)), size == 0])

    def _gains(self, s: int) -> Floats:
        """Return the gain of a correct label, by the true and the predicted number of labels."""
        weight, size = float(self.beta_weight) ** 2, np.arange(1, s + 1)
        return (1.0 + weight) / (weight * size[:, None] + size)

    def argmin(self, u: Floats) -> Ints:
        """Return the sets of largest expected F-measure, by enumeration of their sizes."""
        s = round((u.shape[1] - 1) ** 0.5)
        out = np.empty((len(u), s), dtype=int)
        step = max(1, PART_CELLS // (s * s))
        for start in range(0, len(u), step):
            out[start : start + step] = self._best_sets(u[start : start + step], s)
        return out

    def best_of_sizes(self, u: Floats) -> Floats:
        """Return the expected F-measure of the best set of each size, 0 to s, of shape (n, s + 1).

        Parameters
        ----------
        u : ndarray of shape (n, s * s + 1)
            Means of alpha.
        """
        return self._values(u, self._label_gains(u, round((u.shape[1] - 1) ** 0.5)))

    def _label_gains(self, u: Floats, s: int) -> Floats:
        """Return the expected gain of each label in a set of each size, of shape (n, s, s)."""
        return np.reshape(u[:, :-1], (len(u), s, s)) @ self._gains(s)

    def _values(self, u: Floats, gains: Floats) -> Floats:
        best_of_size = -np.sort(-gains, axis=1).cumsum(axis=1)
        return np.column_stack([u[:, -1], best_of_size.diagonal(axis1=1, axis2=2)])

    def _best_sets(self, u: Floats, s: int) -> Ints:
        gains = self._label_gains(u, s)
        size = self._values(u, gains).argmax(axis=1)
        of_size = np.take_along_axis(gains, np.maximum(size, 1)[:, None, None] - 1, axis=2)
        order = np.argsort(-of_size[:, :, 0], axis=1, kind="stable")
        out = np.zeros((len(u), s), dtype=int)
        np.put_along_axis(out, order, np.arange(s) < size[:, None], axis=1)
        return out

    def values(self, y: Array, t: Array) -> Floats:
        """Return the F-measure of each pair of a label and a prediction, of shape (n,).

        Parameters
        ----------
        y, t : ndarray of shape (n, s)
        """
        y, t = indicators(y), indicators(t, "predictions")
        if y.shape != t.shape:
            raise ValueError(f"y must have the shape {t.shape} of predictions, got {y.shape}.")
        weight = float(self.beta_weight) ** 2
        total = weight * y.sum(axis=1) + t.sum(axis=1)
        both = (1.0 + weight) * (y * t).sum(axis=1)
        return arrays.safe_divide(both, total, float(self.empty == "one"))


class FMeasureClassifier(ClassifierMixin, LeastSquaresDecisions):
    r"""Multi-label classifier that is calibrated for the F-measure of each row.

    Use it to predict sets of labels, such as tags. It regresses whether a row has label i and m
    labels in all, and predicts the set of largest expected F-measure. Labels may depend on each
    other in any way; no threshold is tuned.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the :math:`s^2 + 1` targets, as in :class:`LowRankLossClassifier`.
    beta : float, default=1.0
        How many times as much recall counts as precision, positive, as in
        :func:`sklearn.metrics.fbeta_score`.
    empty : {"one", "zero"}, default="one"
        What a row without labels scores if none is predicted: 1 or 0.

    Attributes
    ----------
    classes_ : ndarray of shape (s,)
        The numbers of the labels, 0 to s - 1.
    estimator_ : regressor or None
        The fitted regressor; None if there is nothing to learn, as all rows are without labels.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    StructuredPredictor : Other losses of sets.
    sklearn.multioutput.MultiOutputClassifier : One classifier for each label.

    Notes
    -----
    The targets are :math:`y_i 1(|y| = m)` and :math:`1(|y| = 0)`, without those that are 0 in all
    rows (Zhang, Ramaswamy and Agarwal, ICML 2020; :class:`~skcalrank.structured.FMeasure`). From
    their conditional means the prediction maximizes the expected F-measure under every
    distribution of the sets. No thresholds of the probabilities of single labels do, if labels may
    depend on each other.

    It estimates up to :math:`s^2 + 1` means where a threshold needs s probabilities, and a
    threshold that cross-validation chooses also makes up for estimates that shrink towards the
    mean, which decoding takes as they are. On data, it was level with thresholds from
    cross-validation for linear models, and behind them for forests where x nearly determines the
    labels (see the page of benchmarks): estimate the means well, and compare.

    Examples
    --------
    >>> from skcalrank.structured import FMeasureClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]]
    >>> FMeasureClassifier().fit(X, y).predict([[0.0], [3.0]])
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": limits.REGRESSOR,
        "beta": [limits.POSITIVE],
        "empty": [limits.one_of(*_EMPTY)],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        beta: float = 1.0,
        empty: Literal["one", "zero"] = "one",
    ) -> None:
        self.estimator = estimator
        self.beta = beta
        self.empty = empty

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    @fitting
    def fit(self, X: Matrix, y: ArrayLike | Matrix, sample_weight: ArrayLike | None = None) -> Self:
        """Regress the labels together with their number.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training data.
        y : array-like or sparse matrix of shape (n, s)
            Label indicators, 0 or 1.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If y has another shape or other values.
        """
        X, weight = self._opened(X, y, sample_weight)
        y = indicators(y)
        check_consistent_length(X, y)
        self.classes_ = np.arange(y.shape[1])
        self._factors = FMeasure(self.beta, self.empty)
        targets = self._factors.alpha(y)
        self._seen: Bools = np.any(targets, axis=0)
        self._fit_means(X, targets[:, self._seen], weight)
        return self

    def predict(self, X: Matrix) -> Ints:
        """Return the set of largest expected F-measure for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        prediction : ndarray of shape (n, s)
            Label indicators.
        """
        means = self._all_means(X)  # first, as it raises before fit
        return self._factors.argmin(means)

    def expected_score(self, X: Matrix) -> Floats:
        """Estimate the F-measure of the best set of each size, higher is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        score : ndarray of shape (n, s + 1)
            Of the best sets of 0 to s labels.
        """
        return self._factors.best_of_sizes(self._all_means(X))

    def _all_means(self, X: Matrix) -> Floats:
        """Return the means of all targets, which are 0 for those that no row has."""
        seen = self._means(X)
        means = np.zeros((len(seen), len(self._seen)))
        means[:, self._seen] = seen
        return means

    def score(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean F-measure of the rows, higher is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like or sparse matrix of shape (n, s)
            True label indicators.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            :func:`sklearn.metrics.fbeta_score` with ``average="samples"`` and ``zero_division=1.0``
            for ``empty="one"``, 0.0 for ``empty="zero"``.
        """
        check.row_order(X=X, y=y, sample_weight=sample_weight)
        predictions, y = self.predict(X), indicators(y)
        weight = check.sample_weight(sample_weight, len(y))
        return float(np.average(self._factors.values(y, predictions), weights=weight))
