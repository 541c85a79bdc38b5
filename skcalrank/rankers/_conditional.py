"""Rankers whose score surrogate is calibrated under a condition on the noise."""

from __future__ import annotations

import numpy as np

from .._base import ScoreRanker
from .._targets import PreferenceTarget
from ..measures import ERR, AveragePrecision, PairwiseDisagreement

__all__ = ["AveragePrecisionRanker", "ERRRanker", "PairwiseDisagreementRanker"]


class _MethodBesideParameter:
    """A method that shares its name with a parameter of the constructor.

    The parameter is stored in the instance under its name, as scikit-learn expects; the
    attribute is the method, as scikit-learn expects too.
    """

    def __init__(self, method):
        self._method = method

    def __get__(self, instance, owner=None):
        return self._method if instance is None else self._method.__get__(instance, owner)

    def __set__(self, instance, value):
        vars(instance)[self._method.__name__] = value


class AveragePrecisionRanker(ScoreRanker):
    r"""Mean average precision (RAT13, Corollary 5).

    Regresses ``y_i / |y|_1`` and sorts. Calibrated (Fisher-consistent) for MAP on the
    distributions in :math:`P_{reinforce}`: with :math:`u_{ij} = E[Y_i Y_j / |Y|_1]`,

    .. math:: u_{ii} \ge u_{jj} \Rightarrow
        u_{ii} \ge u_{jj} + \sum_{g \notin \{i,j\}} (u_{jg} - u_{ig})_+ .

    The condition is sufficient, not necessary. No surrogate with one score per document
    is calibrated for MAP under every distribution.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor of scikit-learn; None behaves as ``Ridge()``.
    loss : {"squared", "pairwise_squared"}, default=None
        As in :class:`LeastSquaresRanker`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None wants labels 0 and 1.

    Examples
    --------
    >>> from skcalrank import AveragePrecisionRanker
    >>> X, y = [[0.1], [0.9], [0.4]], [0, 1, 0]
    >>> AveragePrecisionRanker().fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, estimator=None, *, loss=None, relevance_level=None):
        super().__init__(estimator, loss=loss)
        self.relevance_level = relevance_level

    def _positive_only(self):
        return self.relevance_level is None

    def _measure(self):
        return AveragePrecision(relevance_level=self.relevance_level)


class ERRRanker(ScoreRanker):
    """Expected reciprocal rank.

    Regresses the stop probability ``(2^y - 1) / 2^max_grade`` and sorts. Calibrated
    (Fisher-consistent) for ERR when the relevances of the documents are independent
    given the query (DMJ13, Lemma 1); no order-preserving loss is under every
    distribution (CUG13, Theorem 3.3).

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor of scikit-learn; None behaves as ``Ridge()``.
    max_grade : float, default=None
        Highest grade of the scale; None = the largest label seen in fit.
    loss : {"squared", "pairwise_squared"}, default=None
        As in :class:`LeastSquaresRanker`.

    Attributes
    ----------
    max_grade_ : float
        The grade in force. Scoring labels above it is an error.

    Examples
    --------
    >>> from skcalrank import ERRRanker
    >>> ERRRanker().fit([[0.0], [1.0]], [0, 1]).score([[0.0], [1.0]], [0, 1])
    0.5
    """

    def __init__(self, estimator=None, *, max_grade=None, loss=None):
        super().__init__(estimator, loss=loss)
        self.max_grade = max_grade

    def _positive_only(self):
        return True

    def _targets(self, problem):
        largest = ERR(max_grade=self.max_grade).labels(problem.y).max()
        self.max_grade_ = float(largest if self.max_grade is None else self.max_grade)
        return super()._targets(problem)

    def _measure(self):
        return ERR(max_grade=getattr(self, "max_grade_", self.max_grade))


class PairwiseDisagreementRanker(ScoreRanker):
    r"""Pairwise disagreement (RAT13, Theorem 6).

    Regresses a score :math:`f_i(y)` of the preferences and sorts. Calibrated
    (Fisher-consistent) for the pairwise disagreement on the distributions for which

    .. math:: E[Y_{ij}] > E[Y_{ji}] \Rightarrow E[f_i(Y)] > E[f_j(Y)] .

    For the net preference :math:`f_i = \sum_j (y_{ij} - y_{ji})` this is the surrogate
    of DMJ10 with the square regulariser; low noise (DMJ10, Definition 8) is sufficient.
    No surrogate with one score per document is calibrated under every distribution.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor of scikit-learn; None behaves as ``Ridge()``.
    score : "net_preference" or callable, default="net_preference"
        A callable takes the (r, r) matrix ``y_ij`` of a query and returns (r,) scores.
    weights : {"difference", "unit"}, default="difference"
        Preferences when y is relevances: ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``.
    loss : {"squared", "pairwise_squared"}, default=None
        As in :class:`LeastSquaresRanker`.

    Examples
    --------
    >>> from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
    >>> y = PreferenceTarget.from_comparisons([1, 1, 2], [0, 2, 0], qid=[7, 7, 7])
    >>> ranker = PairwiseDisagreementRanker().fit([[0.1], [0.9], [0.4]], y)
    >>> ranker.score([[0.1], [0.9], [0.4]], y)
    0.0
    """

    _takes_preferences = True
    score = _MethodBesideParameter(ScoreRanker.score)

    def __init__(self, estimator=None, *, score="net_preference", weights="difference", loss=None):
        super().__init__(estimator, loss=loss)
        self.score = score
        self.weights = weights

    def get_params(self, deep=True):
        """Parameters of the ranker, and with ``deep`` those of the regressor."""
        return super().get_params(deep) | {"score": vars(self)["score"]}

    def _measure(self):
        return PairwiseDisagreement(weights=self.weights)

    def _targets(self, problem):
        score = vars(self)["score"]
        if callable(score):
            return _score_matrices(score, problem, self._measure())
        if score != "net_preference":
            raise ValueError(
                f"score={score!r}: choose 'net_preference', or a callable that takes an "
                "(r, r) matrix of preferences and returns (r,) scores."
            )
        if isinstance(problem.y, PreferenceTarget):
            return problem.queries.group(problem.y.net_preference().ravel())
        return super()._targets(problem)


def _score_matrices(score, problem, measure):
    """The callable on each query's matrix of preferences."""
    queries = problem.queries
    if isinstance(problem.y, PreferenceTarget):
        matrices = problem.y.matrices()
    else:
        parts = np.split(problem.y, queries.ptr[1:-1])
        matrices = (measure.pair_targets(part) for part in parts)
    out = [np.asarray(score(matrix), dtype=float) for matrix in matrices]
    for query, (values, size) in enumerate(zip(out, queries.sizes)):
        if values.shape != (size,) or not np.isfinite(values).all():
            raise ValueError(
                f"score returned {values!r} for query {queries.name(query)!r} of {size} "
                f"documents: it must return {size} finite numbers."
            )
    return np.concatenate(out)
