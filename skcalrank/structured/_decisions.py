"""Least squares on vectors of the labels, and decisions by their estimated means."""

from typing import Any

import numpy as np
from scipy.linalg import svd
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted

from .._solvers import fit_outputs, fit_regressor, fit_rows, is_closed_form, takes_nan, takes_sparse
from ..columns.types import Array, Floats, Matrix
from ..data import apart, check, refuse_lazy


class ClassMeans:
    """Means of targets of few values, as the values weighted by the probabilities of a classifier.

    `outputs` holds for each target its distinct values and a classifier of them, None if there is
    one value.
    """

    def __init__(self, classifier: Any, X: Any, targets: Floats, weight: Floats | None) -> None:
        if not hasattr(classifier, "predict_proba"):
            raise ValueError(
                "estimator must be a regressor, or a classifier with predict_proba, whose "
                f"probabilities give means, got {classifier!r}: classes are no means."
            )
        self.outputs: list[tuple[Floats, Any]] = []
        for target in targets.T:
            values, codes = np.unique(target, return_inverse=True)
            fitted = fit_rows(clone(classifier), X, codes, weight) if len(values) > 1 else None
            self.outputs.append((values, fitted))

    def predict(self, X: Any) -> Floats:
        """Return the means of the targets, of shape (n_rows, n_targets)."""
        means = [
            np.full(X.shape[0], values[0])
            if classifier is None
            else classifier.predict_proba(X) @ values[classifier.classes_]
            for values, classifier in self.outputs
        ]
        return np.column_stack(means)


class LeastSquaresDecisions(BaseEstimator):
    r"""Base of estimators that regress vectors :math:`\alpha_y` and decide by their means.

    With a loss :math:`\ell(y, t) = \langle \alpha_y, \beta_t \rangle + b(y)` the decision
    :math:`\arg\min_t \langle u, \beta_t \rangle` is calibrated (RAT13, Theorem 3).
    """

    estimator: Any
    alpha_: Floats
    beta_: Floats
    _level: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        regressor = check.valid_regressor(self.estimator)
        tags.target_tags.required = True
        tags.input_tags.sparse = takes_sparse(regressor)
        tags.input_tags.allow_nan = takes_nan(regressor)
        return tags

    def _reads(self) -> check.Reads:
        # Regressors without a closed form get data frames unchanged.
        return check.Reads.of(self, tables=not is_closed_form(self.estimator))

    def _opened(self, X: Matrix, y: Any, sample_weight: Any) -> tuple[Any, Floats | None]:
        """Return the validated rows and weights of a fit; `y` only must be there."""
        check.params(self)
        refuse_lazy(type(self).__name__, "", X=X, y=y, sample_weight=sample_weight)
        check.row_order(X=X, y=y, sample_weight=sample_weight)
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        X = check.features(self, X, **self._reads().checks())
        return X, check.sample_weight(sample_weight, X.shape[0])

    def _fit_means(self, X: Any, targets: Floats, weight: Floats | None) -> None:
        """Regress the vectors; a surrogate of no dimension has no regressor."""
        self._n_means = targets.shape[1]
        self.estimator_ = None
        if not self._n_means:
            return
        regressor = Ridge(tol=1e-12) if self.estimator is None else clone(self.estimator)
        if is_classifier(regressor):
            self.estimator_ = ClassMeans(regressor, X, targets, weight)
        elif self._n_means == 1:
            self.estimator_ = fit_regressor(regressor, X, targets.ravel(), weight)
        else:
            self.estimator_ = fit_outputs(regressor, X, targets, weight)

    def _means(self, X: Matrix) -> Floats:
        """Return the estimated means of the vectors, of shape (n, dimension)."""
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, "", X=X)
        X = check.features(self, X, reset=False, **self._reads().checks())
        if self.estimator_ is None:
            return np.zeros((X.shape[0], 0))
        return np.reshape(apart(self.estimator_.predict, X), (X.shape[0], self._n_means))

    def _set_factors(
        self, alpha: Floats, beta: Floats, offset: Floats, codes: Array, weight: Floats | None
    ) -> Floats:
        """Keep a loss ``alpha @ beta.T + offset[:, None]``, and return the vectors of the rows."""
        self.alpha_, self.beta_ = alpha, beta
        self._level = float(np.average(offset[codes], weights=weight))
        return alpha[codes]

    def _of_means(self, means: Floats) -> Floats:
        """Return the expected loss of each prediction."""
        return np.asarray(means @ self.beta_.T + self._level)


def factorize(loss: Floats) -> tuple[Floats, Floats, Floats]:
    """Return alpha, beta and b with ``loss = alpha @ beta.T + b[:, None]``, of least dimension.

    Distances between the vectors alpha are those between the rows of the centered loss.
    """
    offset = loss.mean(axis=1)
    left, singular, right = svd(loss - offset[:, None], full_matrices=False)
    tolerance = max(loss.shape) * np.finfo(float).eps * singular.max(initial=0.0)
    rank = int((singular > tolerance).sum())
    return left[:, :rank] * singular[:rank], right[:rank].T, offset
