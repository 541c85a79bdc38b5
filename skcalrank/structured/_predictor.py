"""Predictions of any kind for any loss: RAT13, Theorem 3, and losses between observed labels."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Estimator, Floats, Ints, Matrix, Self
from ..data import check, fitting, limits
from ._decisions import LeastSquaresDecisions, factorize
from ._factors import Factors
from ._registry import get_factors


class StructuredPredictor(LeastSquaresDecisions):
    r"""Least-squares predictor of labels of any kind, for any loss.

    Labels may be classes, sets, orders, sequences: rows of an array, between which a loss is
    defined. Give the loss, and the best of a list of candidates is predicted; or give factors of
    the loss, with any algorithm that finds the best prediction.

    Parameters
    ----------
    loss : callable, default=None
        Function ``loss(y, t)`` of n labels and m predictions that returns the losses, of shape
        (n, m). If None, and there are no factors, the 0-1 loss.
    factors : str, Factors or pair of callables, default=None
        Factors of a loss: a name in :data:`~skcalrank.structured.FACTORS`, an object with
        ``alpha(y)`` and ``beta(t)``, or the pair of these two functions. Give either these or a
        loss.
    candidates : array-like of shape (m,) or (m, s), default=None
        Predictions to choose from. If None, the labels that are seen in fit; not used where the
        factors find the best of all predictions.
    argmin : callable, default=None
        Function of the estimated means of alpha, of shape (n, dimension), that returns the n best
        predictions. If None, that of the factors, or the best of the candidates.
    estimator : regressor, default=None
        Regressor of the vectors, as in :class:`LowRankLossClassifier`.

    Attributes
    ----------
    candidates_ : ndarray of shape (m,) or (m, s)
        Predictions to choose from. Only where no argmin finds the best of all.
    alpha_ : ndarray of shape (n_labels, dimension)
        Vectors of the different labels of y, in sorted order. Only without factors.
    beta_ : ndarray of shape (m, dimension)
        Vectors of the candidates.
    estimator_ : regressor or None
        The fitted regressor; None if the loss does not depend on the prediction.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    LowRankLossClassifier : Classes, with a matrix of losses.
    skcalrank.structured.Factors : Factors of a loss of your own.
    LeastSquaresRanker : Measures of rankings for which a sort is best.

    Notes
    -----
    Two theorems say what the predictions are worth.

    *Factors*, :math:`\ell(y, t) = \langle \alpha_y, \beta_t \rangle + b(y)`: the prediction
    :math:`\arg\min_t \langle u, \beta_t \rangle` from estimates u of the means of
    :math:`\alpha_y` given x is calibrated under every distribution of the labels, whatever the
    regressor, if it estimates means and the argmin is exact (RAT13, Theorem 3). The regret is at
    most the diameter of the vectors beta times the root of the surrogate regret
    (:func:`~skcalrank.calibration.regret_bound`).

    *A loss* of n labels and m candidates has factors too: the rows of the matrix of losses, which
    are regressed in their coordinates with respect to its singular vectors. So the same theorem
    holds for the best of the candidates. If, moreover, the predictions of the regressor are
    weighted sums :math:`\sum_i w_i(x) \alpha_{y_i}`, as for ridge, kernel ridge and forests, the
    prediction is :math:`\arg\min_t \sum_i w_i(x) \ell(y_i, t)` (Ciliberto, Rosasco and Rudi [1]_).
    They prove that with kernel ridge of a universal kernel and a penalty that shrinks with the
    number of rows, the risk tends to the best possible one under every distribution. A ridge that
    is linear in X is consistent where the means of alpha are linear in X, and a forest where its
    leaves shrink while the number of rows in them grows.

    References
    ----------
    .. [1] Ciliberto, Rosasco, Rudi: A Consistent Regularization Approach for Structured Prediction,
       NIPS 2016.

    Examples
    --------
    Sets, with the number of differences as loss:

    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sklearn.metrics import pairwise_distances
    >>> from skcalrank.structured import StructuredPredictor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> kernel = KernelRidge(alpha=0.1, kernel="rbf")
    >>> model = StructuredPredictor(pairwise_distances, estimator=kernel).fit(X, y)
    >>> model.predict([[0.1], [2.9]])
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [callable, None],
        "factors": limits.OWN_ERROR,
        "candidates": ["array-like", None],
        "argmin": [callable, None],
        "estimator": limits.REGRESSOR,
    }

    def __init__(
        self,
        loss: Callable[[Array, Array], Floats] | None = None,
        *,
        factors: str | Factors | tuple[Any, Any] | None = None,
        candidates: ArrayLike | None = None,
        argmin: Callable[[Floats], Array] | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        self.loss = loss
        self.factors = factors
        self.candidates = candidates
        self.argmin = argmin
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @fitting
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Regress the vectors of the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training data.
        y : array-like of shape (n,) or (n, s)
            Labels, one for each row.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If both a loss and factors are given, if argmin is given without factors, or if a
            function returns NaN or an array of another shape.
        """
        X, weight = self._opened(X, y, sample_weight)
        y = _labels(y)
        check_consistent_length(X, y)
        for name in ("candidates_", "alpha_", "beta_", "_level"):
            self.__dict__.pop(name, None)  # of a fit with other parameters
        self._factors = self._given_factors()
        self._loss, self._given_argmin = self.loss, self.argmin
        if self._argmin is None:
            self.candidates_ = self._candidates(y)
        if self._factors is None:
            labels, codes = _distinct(y)
            targets = self._set_factors(*factorize(self._losses(labels)), codes, weight)
        else:
            targets = self._of_factors(self._factors, y)
        self._fit_means(X, targets, weight)
        return self

    @property
    def _argmin(self) -> Callable[[Floats], Array] | None:
        # Not kept, because model files hold no methods.
        if self._factors is None or self._given_argmin is not None:
            return self._given_argmin
        return self._factors.argmin

    def _given_factors(self) -> Factors | None:
        if self.factors is None:
            if self.argmin is not None:
                raise ValueError("argmin must be None without factors: give both.")
            return None
        if self.loss is not None:
            raise ValueError("loss must be None with factors: give one of the two.")
        return get_factors(self.factors)

    def _of_factors(self, factors: Factors, y: Array) -> Floats:
        """Return the vectors of the rows, as the factors have them."""
        alpha = _vectors(factors.alpha(y), len(y), "alpha(y)")
        if self._argmin is None:
            candidates, self._level = self.candidates_, 0.0
            beta = factors.beta(candidates)
            self.beta_ = _vectors(beta, len(candidates), "beta(candidates)", alpha.shape[1])
        return alpha

    def _candidates(self, labels: Array) -> Array:
        """Return the predictions to choose from, by default the distinct ones of the labels."""
        if self.candidates is None:
            return _distinct(labels)[0]
        candidates = arrays.as_array(self.candidates, "candidates").copy()
        if not len(candidates):
            raise ValueError("candidates must hold at least one prediction, got none.")
        if self.loss is None and self.factors is None and candidates.shape[1:] != labels.shape[1:]:
            shape = "(m,)" if labels.ndim == 1 else f"(m, {labels.shape[1]})"
            raise ValueError(
                f"candidates must have shape {shape}, as y, without a loss, got {candidates.shape}."
            )
        return candidates

    def _losses(self, labels: Array) -> Floats:
        """Return the losses of all candidates for each of some labels."""
        shape = len(labels), len(self.candidates_)
        if self._loss is None:
            return _zero_one(labels, self.candidates_)
        loss = arrays.checked(self._loss(labels, self.candidates_), "loss(y, t)", ensure_2d=False)
        if loss.shape != shape:
            raise ValueError(
                f"loss must return the losses of {shape[0]} labels and {shape[1]} predictions, of "
                f"shape {shape}, got shape {loss.shape}."
            )
        return np.asarray(loss, dtype=float)

    def surrogate_values(self, X: Matrix) -> Floats:
        """Return the estimated means of the vectors alpha, of shape (n, dimension).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        """
        return self._means(X)

    def expected_loss(self, X: Matrix) -> Floats:
        """Estimate the expected loss of each candidate, lower is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        loss : ndarray of shape (n, m)
            Of the loss, up to a constant that all candidates of a row share.

        Raises
        ------
        ValueError
            If the predictor has no candidates, because an argmin finds the best prediction.
        """
        means = self._means(X)
        if self._argmin is not None:
            raise ValueError("expected_loss requires candidates, but the argmin has none.")
        return self._of_means(means)

    def predict(self, X: Matrix) -> Array:
        """Return the prediction of least expected loss for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        prediction : ndarray of shape (n,) or (n, s)
        """
        means = self._means(X)
        if self._argmin is None:
            return np.asarray(self.candidates_[self._of_means(means).argmin(axis=1)])
        predictions = np.asarray(self._argmin(means))
        if len(predictions) != len(means):
            raise ValueError(
                f"argmin must return one prediction per row ({len(means)}), got {len(predictions)}."
            )
        return predictions

    def score(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        r"""Return minus the mean loss of the predictions, higher is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, s)
            True labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            With factors, the mean of :math:`-\langle \alpha_y, \beta_t \rangle`, without the terms
            b(y).
        """
        check_is_fitted(self)
        check.row_order(X=X, y=y, sample_weight=sample_weight)
        y = _labels(y)
        if self._factors is None:
            best = self.expected_loss(X).argmin(axis=1)
            check_consistent_length(best, y)
            labels, codes = _distinct(y)
            losses = self._losses(labels)[codes, best]
        else:
            predictions = self.predict(X)
            check_consistent_length(predictions, y)
            alpha = _vectors(self._factors.alpha(y), len(y), "alpha(y)")
            beta, name = self._factors.beta(predictions), "beta(predictions)"
            beta = _vectors(beta, len(y), name, alpha.shape[1])
            losses = np.einsum("nd,nd->n", alpha, beta)
        return -float(np.average(losses, weights=check.sample_weight(sample_weight, len(y))))


def _labels(y: Any) -> Array:
    """Return labels, one for each row."""
    labels = y.toarray() if issparse(y) else arrays.as_array(y, "y")
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, s), got shape {labels.shape}.")
    if labels.ndim == 2 and all(isinstance(label, str) for label in labels.flat):
        return labels.astype(str)  # frames hold text as objects
    return labels


def _distinct(labels: Array) -> tuple[Array, Ints]:
    """Return the different labels in sorted order, and the number of each label among them."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must be finite without factors, got NaN or infinity.")
    if labels.ndim == 2 and labels.dtype.kind == "O":
        raise ValueError("y of shape (n, s) must have a numeric or string dtype, got object.")
    arrays.refuse_missing(labels, "y")
    values, codes = np.unique(labels, axis=0 if labels.ndim == 2 else None, return_inverse=True)
    return values, codes.reshape(-1)


def _zero_one(labels: Array, candidates: Array) -> Floats:
    differ = np.asarray(labels[:, None] != candidates[None])
    return np.reshape(differ, (len(labels), len(candidates), -1)).any(axis=2).astype(float)


def _vectors(values: ArrayLike, n: int, name: str, dimension: int | None = None) -> Floats:
    """Return vectors that factors returned, of shape (n, dimension)."""
    vectors = arrays.checked(values, name, ensure_2d=False)
    if vectors.ndim != 2 or len(vectors) != n or dimension not in (None, vectors.shape[1]):
        columns = "d" if dimension is None else dimension
        raise ValueError(f"{name} must have shape ({n}, {columns}), got shape {vectors.shape}.")
    return np.asarray(vectors, dtype=float)
