"""Linear RankSVM and RankNet, baselines to compare calibrated losses with."""

from collections.abc import Sequence
from numbers import Real
from typing import ClassVar

from ..data import limits
from ..losses import PreferenceLogistic, PreferenceLoss
from ._edges import EdgeScorer, narrowing_hinges


class PairwiseHingeRanker(EdgeScorer):
    r"""Linear RankSVM: the hinge loss of every preference. **Not calibrated**; a baseline.

    Use it to compare with RankSVM, not for rankings of your own.

    .. math:: \min_w \sum_{i \to j} y_{ij} \, (1 - (s_i - s_j))_+ + \alpha \|w\|^2

    or, with ``margin=True``, :math:`\sum_{i \to j} (1 - (s_i - s_j - y_{ij}))_+`.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Ridge penalty of the coefficients, as in :class:`~skcalrank.rankers.LinearScorer`.
    margin : bool, default=False
        Whether the weight of a preference is the margin of its loss instead of a factor.
    weights : {"difference", "unit"}, default="difference"
        Preferences that relevances imply, as in :class:`PairwiseLogisticRanker`. Time grows with
        the number of preferences, memory does not.
    corner_width : float, default=1e-3
        Width in (0, 1] over which the corner of the hinge is rounded, because the solver needs
        gradients. Rounding lowers the loss of a preference of weight 1 by at most half of the
        width.
    fit_intercept, max_iter, tol, warm_start, verbose, query_weight
        Options of the fit, as in :class:`~skcalrank.rankers.LinearScorer`; `tol` is 1e-4.

    Attributes
    ----------
    coef_, intercept_, n_iter_, alpha_, penalty_scale_
        Linear score and its penalty, as in :class:`~skcalrank.rankers.LinearScorer`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    PairwiseLogisticRanker : Baseline with the logistic loss.
    PairwiseDisagreementRanker : Calibrated ranker of preferences.
    ValueRegularizedRanker : Linear loss of preferences that is consistent under low noise.
    DifferenceGraphRanker : The same losses of net preferences.
    skcalrank.measures.PairwiseDisagreement : The measure.

    Notes
    -----
    No convex loss of these forms is consistent for pairwise disagreement under every distribution
    of the preferences, nor under every distribution of low noise (DMJ10, Theorems 11 and 12; DMJ13,
    Theorems 2 and 3): where preferences disagree with each other, its minimizer can order documents
    wrongly, whatever the number of rows.

    References
    ----------
    .. [1] Herbrich, Graepel, Obermayer: Large margin rank boundaries for ordinal regression,
       2000. Joachims: Optimizing search engines using clickthrough data, KDD 2002.

    Examples
    --------
    >>> from skcalrank.rankers import PairwiseHingeRanker
    >>> ranker = PairwiseHingeRanker().fit([[0.0], [1.0], [2.0]], [0, 1, 2], [7] * 3)
    >>> ranker.rank([[0.0], [1.0], [2.0]], [7] * 3)
    array([3, 2, 1])
    """

    _parameter_constraints: ClassVar = {
        "corner_width": [limits.Interval(Real, 0, 1, closed="right")]
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

    def _losses(self) -> Sequence[PreferenceLoss]:
        return narrowing_hinges(self.corner_width)


class PairwiseLogisticRanker(EdgeScorer):
    r"""Linear RankNet: the logistic loss of every preference. **Not calibrated**; a baseline.

    Use it to compare with RankNet, not for rankings of your own.

    .. math:: \min_w \sum_{i \to j} y_{ij} \log\bigl(1 + e^{-(s_i - s_j)}\bigr) + \alpha \|w\|^2

    or, with ``margin=True``, :math:`\sum_{i \to j} \log(1 + e^{-(s_i - s_j - y_{ij})})`.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Ridge penalty of the coefficients, as in :class:`~skcalrank.rankers.LinearScorer`.
    margin : bool, default=False
        Whether the weight of a preference is the margin of its loss instead of a factor.
    weights : {"difference", "unit"}, default="difference"
        Preferences that relevances imply: ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``. Ignored if
        y is a :class:`PreferenceTarget`.
    fit_intercept, max_iter, tol, warm_start, verbose, query_weight
        Options of the fit, as in :class:`~skcalrank.rankers.LinearScorer`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, alpha_, penalty_scale_
        Linear score and its penalty, as in :class:`~skcalrank.rankers.LinearScorer`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    PairwiseHingeRanker : Baseline with the hinge loss.
    PairwiseDisagreementRanker : Calibrated ranker of preferences.
    DifferenceGraphRanker : The same loss of net preferences.
    OrderPreservingRanker : Ranker with "pairwise_logistic", another loss: it weights a pair by the
        target of one document, and is calibrated for positional measures.

    Notes
    -----
    The same theorems as for :class:`PairwiseHingeRanker` (DMJ10, Theorems 11 and 12; DMJ13,
    Theorems 2 and 3) say that the loss is not consistent for pairwise disagreement under every
    distribution. It is consistent where preferences follow the model of Bradley and Terry, and
    where relevances are binary and independent given the query (:ref:`ranknet`).

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

    def _losses(self) -> Sequence[PreferenceLogistic]:
        return [PreferenceLogistic()]
