"""RankSVM and RankNet's linear kin: what calibrated losses are to be compared with."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from ..data import Interval
from ..losses import PreferenceLogistic
from ._edges import EdgeScorer, narrowing_hinges


class _PreferenceRanker(EdgeScorer):
    _parameter_constraints: ClassVar = {
        **EdgeScorer._parameter_constraints,
        "margin": ["boolean"],
    }

    def _loss_options(self):
        return {"margin": bool(self.margin)}


class PairwiseHingeRanker(_PreferenceRanker):
    r"""RankSVM: a hinge for every preference. **Not calibrated**; a baseline.

    .. math:: \min_w \sum_{i \to j} y_{ij} \, (1 - (s_i - s_j))_+ + \alpha \|w\|^2

    or with ``margin=True`` :math:`\sum_{i \to j} (1 - (s_i - s_j - y_{ij}))_+`. No convex loss
    of these forms is consistent for pairwise disagreement on all laws, nor on all laws of low noise
    (DMJ10, Theorems 11 and 12; DMJ13, Theorems 2 and 3): where preferences disagree with each
    other, its minimizer can order documents wrongly, whatever the number of rows.
    :class:`ValueRegularizedRanker` and :class:`PairwiseDisagreementRanker` are consistent.

    Parameters
    ----------
    alpha, fit_intercept, max_iter, warm_start, verbose, query_weight
        As in :class:`~skcalrank.rankers.LinearScorer`.
    margin : bool, default=False
        Whether the weight of a preference is the margin to be kept, and not a factor.
    weights : {"difference", "unit"}, default="difference"
        Preferences when y is relevances: ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``. Time
        grows with their number, memory does not.
    corner_width : float, default=1e-3
        Width, from (0, 1], over which the corner of the hinge is rounded, because the solver
        needs gradients. The loss of a preference of weight 1 is lower by half of it at most.
    tol : float, default=1e-4
        As in :class:`~skcalrank.rankers.LinearScorer`, where the default is 1e-6.

    Attributes
    ----------
    coef_, intercept_, n_iter_
        As in :class:`~skcalrank.rankers.LinearScorer`.

    References
    ----------
    .. [1] Herbrich, Graepel, Obermayer: Large margin rank boundaries for ordinal regression,
       2000. Joachims: Optimizing search engines using clickthrough data, KDD 2002.

    Examples
    --------
    >>> from skcalrank import PairwiseHingeRanker
    >>> ranker = PairwiseHingeRanker().fit([[0.0], [1.0], [2.0]], [0, 1, 2], [7] * 3)
    >>> ranker.rank([[0.0], [1.0], [2.0]], [7] * 3)
    array([3, 2, 1])
    """

    _parameter_constraints: ClassVar = {
        **_PreferenceRanker._parameter_constraints,
        "corner_width": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        margin: bool = False,
        weights: str = "difference",
        corner_width: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(alpha, fit_intercept, max_iter, tol, warm_start, verbose, query_weight)
        self.margin = margin
        self.weights = weights
        self.corner_width = corner_width

    def _losses(self):
        return narrowing_hinges(self.corner_width)


class PairwiseLogisticRanker(_PreferenceRanker):
    r"""Logistic loss of every preference, as RankNet has it. **Not calibrated**; a baseline.

    .. math:: \min_w \sum_{i \to j} y_{ij} \log\bigl(1 + e^{-(s_i - s_j)}\bigr) + \alpha \|w\|^2

    or with ``margin=True`` :math:`\sum_{i \to j} \log(1 + e^{-(s_i - s_j - y_{ij})})`. The same
    theorems as for :class:`PairwiseHingeRanker` say that it is not consistent for pairwise
    disagreement on all laws. It is where preferences follow Bradley and Terry, and where relevances
    are binary and independent given the query (:ref:`ranknet`). (The loss "pairwise_logistic" of
    :class:`OrderPreservingRanker` is another one: it weighs a pair by the target of one document,
    and is calibrated for positional measures.)

    Parameters
    ----------
    alpha, fit_intercept, max_iter, tol, warm_start, verbose, query_weight
        As in :class:`~skcalrank.rankers.LinearScorer`.
    margin, weights
        As in :class:`PairwiseHingeRanker`.

    Attributes
    ----------
    coef_, intercept_, n_iter_
        As in :class:`~skcalrank.rankers.LinearScorer`.

    References
    ----------
    .. [1] Burges et al.: Learning to rank using gradient descent, ICML 2005.

    Examples
    --------
    >>> from skcalrank import PairwiseLogisticRanker
    >>> ranker = PairwiseLogisticRanker().fit([[0.0], [1.0], [2.0]], [0, 1, 2], [7] * 3)
    >>> ranker.rank([[0.0], [1.0], [2.0]], [7] * 3)
    array([3, 2, 1])
    """

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        margin: bool = False,
        weights: str = "difference",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: int = 0,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(alpha, fit_intercept, max_iter, tol, warm_start, verbose, query_weight)
        self.margin = margin
        self.weights = weights

    def _losses(self):
        return [PreferenceLogistic()]
