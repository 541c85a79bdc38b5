"""RankSVM and RankNet's linear kin: what calibrated losses are to be compared with."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..data import PreferenceTarget, check_preference_weights
from ..losses import PreferenceHinge, PreferenceLogistic, PreferenceLoss
from ..measures import PairwiseDisagreement
from ._linear import LinearScorer, document_weights

__all__ = [
    "PairwiseHingeRanker",
    "PairwiseLogisticRanker",
    "edges_of",
    "narrowing_hinges",
    "pair_weights",
]

# The corner of the hinge becomes narrower by this factor, fit after fit: quasi-Newton steps
# stumble over a sharp one that is far away.
_NARROWING = 10.0


class _PreferenceRanker(LinearScorer):
    _judgments = (PreferenceTarget,)

    def __init__(
        self,
        alpha=1.0,
        *,
        margin=False,
        weights="difference",
        fit_intercept=True,
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        verbose=0,
    ):
        super().__init__(
            alpha,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.margin = margin
        self.weights = weights

    def _measure(self):
        return PairwiseDisagreement(weights=self.weights)

    @abstractmethod
    def _losses(self) -> list[PreferenceLoss]:
        """The loss, and before it smoother ones whose minimisers lead to its own."""

    def _solve(self, problem, start):
        check_preference_weights(self.weights)
        winner, loser, stated = edges_of(problem, self.weights)
        options = {"factor": pair_weights(problem, winner, loser), "margin": bool(self.margin)}

        def objective(s, loss):
            return loss.value_and_gradient(s, winner, loser, stated, **options)

        return self._descend_along(self._losses(), objective, problem, start)


def narrowing_hinges(smoothing):
    """Hinges with ever sharper corners, down to the one asked for."""
    last = PreferenceHinge(smoothing=smoothing)
    widths = smoothing * _NARROWING ** np.arange(20)[::-1]
    return [*(PreferenceHinge(smoothing=width) for width in widths[widths < 1][:-1]), last]


def edges_of(problem, weights):
    """Winner, loser and weight of every preference, documents in grouped order."""
    queries, y = problem.queries, problem.y
    if isinstance(y, PreferenceTarget):
        place = queries.ungroup(np.arange(queries.n_rows))
        return place[y.winner], place[y.loser], y.weight
    y = PreferenceTarget.from_relevance(
        y, queries.repeat(np.arange(queries.n_queries)), weights=weights
    )
    return y.winner, y.loser, y.weight


def pair_weights(problem, winner, loser):
    """``w_i w_j`` over the mean weight of the query; None without weights."""
    weight = document_weights(problem)
    if weight is None:
        return None
    mean = problem.queries.repeat(problem.queries.mean_weight(weight))[winner]
    return weight[winner] * weight[loser] / mean


class PairwiseHingeRanker(_PreferenceRanker):
    r"""RankSVM: a hinge for every preference. **Not calibrated**; a baseline.

    .. math:: \min_w \sum_{i \to j} y_{ij} \, (1 - (s_i - s_j))_+ + \alpha \|w\|^2

    or with ``margin=True`` :math:`\sum_{i \to j} (1 - (s_i - s_j - y_{ij}))_+`. No convex loss
    of these forms is consistent for pairwise disagreement, not even where the noise is low
    (DMJ10, Theorems 11 and 12; DMJ13, Theorems 2 and 3): where preferences disagree with each
    other, its minimiser can order documents wrongly however many data there are.
    :class:`ValueRegularizedRanker` and :class:`PairwiseDisagreementRanker` are consistent.

    Parameters
    ----------
    alpha : float, default=1.0
        Ridge penalty; it stands against the sum over the preferences.
    margin : bool, default=False
        Whether the weight of a preference is the margin to be kept, and not a factor.
    weights : {"difference", "unit"}, default="difference"
        Preferences when y is relevances: ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``. All
        pairs of a query that differ are held in memory.
    smoothing : float, default=1e-3
        The corner of the hinge is rounded over this width, for a solver that wants
        gradients. The loss of a preference of weight 1 is lower by half of it at most.
    fit_intercept : bool, default=True
        One for each item in the label-ranking form; no part otherwise.
    max_iter : int, default=1000
    tol : float, default=1e-4
        The solver stops when the gradient is this small beside that of all scores zero.
    warm_start : bool, default=False
        Begin where the last fit ended.
    verbose : int, default=0
        1 prints the iterations.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (r, d)
    intercept_ : float or ndarray of shape (r,)
    n_iter_ : int

    References
    ----------
    .. [1] Herbrich, Graepel, Obermayer: Large margin rank boundaries for ordinal regression,
       2000. Joachims: Optimizing search engines using clickthrough data, KDD 2002.

    Examples
    --------
    >>> from skcalrank import PairwiseHingeRanker
    >>> ranker = PairwiseHingeRanker().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> ranker.rank([[0.0], [1.0], [2.0]])
    array([3, 2, 1])
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        margin=False,
        weights="difference",
        smoothing=1e-3,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        verbose=0,
    ):
        super().__init__(
            alpha,
            margin=margin,
            weights=weights,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.smoothing = smoothing

    def _losses(self):
        return narrowing_hinges(self.smoothing)


class PairwiseLogisticRanker(_PreferenceRanker):
    r"""Logistic loss of every preference, as RankNet has it. **Not calibrated**; a baseline.

    .. math:: \min_w \sum_{i \to j} y_{ij} \log\bigl(1 + e^{-(s_i - s_j)}\bigr) + \alpha \|w\|^2

    or with ``margin=True`` :math:`\sum_{i \to j} \log(1 + e^{-(s_i - s_j - y_{ij})})`. The same
    theorems as for :class:`PairwiseHingeRanker` say that it is not consistent for pairwise
    disagreement. (The loss "pairwise_logistic" of :class:`OrderPreservingRanker` is another
    one: it weighs a pair by the target of one document, and is calibrated for positional
    measures.)

    Parameters
    ----------
    alpha, margin, weights, fit_intercept, max_iter, warm_start, verbose
        As in :class:`PairwiseHingeRanker`.
    tol : float, default=1e-6
        The solver stops when the gradient is this small beside that of all scores zero.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (r, d)
    intercept_ : float or ndarray of shape (r,)
    n_iter_ : int

    References
    ----------
    .. [1] Burges et al.: Learning to rank using gradient descent, ICML 2005.

    Examples
    --------
    >>> from skcalrank import PairwiseLogisticRanker
    >>> ranker = PairwiseLogisticRanker().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> ranker.rank([[0.0], [1.0], [2.0]])
    array([3, 2, 1])
    """

    def _losses(self):
        return [PreferenceLogistic()]
