"""RankSVM and RankNet's linear kin: what calibrated losses are to be compared with."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from ..data import Interval
from ..losses import PreferenceLogistic
from ._edges import EdgeScorer, narrowing_hinges

__all__ = ["PairwiseHingeRanker", "PairwiseLogisticRanker"]


class _PreferenceRanker(EdgeScorer):
    _parameter_constraints: ClassVar = {
        **EdgeScorer._parameter_constraints,
        "margin": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        margin=False,
        weights="difference",
        fit_intercept=True,
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        verbose=0,
    ):
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.margin = margin
        self.weights = weights

    def _loss_options(self):
        return {"margin": bool(self.margin)}


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
    corner_width : float, default=1e-3
        Width, from (0, 1], over which the corner of the hinge is rounded, because the solver
        needs gradients. The loss of a preference of weight 1 is lower by half of it at most.
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

    _parameter_constraints: ClassVar = {
        **_PreferenceRanker._parameter_constraints,
        "corner_width": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        margin=False,
        weights="difference",
        corner_width=1e-3,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        verbose=0,
    ):
        super().__init__(
            alpha=alpha,
            margin=margin,
            weights=weights,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.corner_width = corner_width

    def _losses(self):
        return narrowing_hinges(self.corner_width)


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
