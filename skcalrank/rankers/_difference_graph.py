"""Ranker with a convex loss of the net preferences of many judgments."""

from collections.abc import Sequence
from typing import Any, ClassVar

from scipy.sparse import csr_array

from ..columns.types import Floats, Ints
from ..data import Rows, limits
from ..losses import PREFERENCE_LOSSES, PreferenceLoss
from ._edges import EdgeScorer, narrowing_hinges


class DifferenceGraphRanker(EdgeScorer):
    r"""Linear ranker with a convex loss of net preferences, the difference graph (DMJ13, eq. 23).

    .. math:: \min_w \sum_q n_q \sum_{i, j} (s_{ij} - s_{ji})_+ \, f(a_i - a_j) + \alpha \|w\|^2,
        \qquad a = Xw

    where s is the mean preference matrix of the :math:`n_q` judgments of a query, and f is convex,
    non-increasing, with :math:`f'(0) < 0`. Of two documents only the one that is preferred in the
    mean has a term. Use it if every query has many comparisons that contradict each other.

    Parameters
    ----------
    edge_loss : {"logistic", "hinge", "exponential", "squared_hinge"}, default="logistic"
        The function f. The corner of the hinge is rounded over a width of 0.001.
    alpha : float or "auto", default="auto"
        Ridge penalty of the coefficients, as in :class:`~skcalrank.rankers.LinearScorer`.
    weights : {"difference", "unit"}, default="difference"
        Preferences that relevances imply, as in :class:`PairwiseLogisticRanker`, as one judgment of
        each query.
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
    PairwiseLogisticRanker : The same loss of single preferences, which is not calibrated.
    PairwiseDisagreementRanker : Ranker that is calibrated under every distribution, with pairs.
    AggregatedRanker : Ranker of scores that aggregate the judgments of a query.
    PreferenceTarget : Target of comparisons.

    Notes
    -----
    Given single preferences, the losses of RankSVM and RankNet are not consistent for pairwise
    disagreement under every distribution of low noise. Given net preferences, they are consistent
    where the graph of :math:`E[Y_{ij}] > E[Y_{ji}]` is acyclic and s is near its limit, i.e. where
    every query has many judgments.

    Examples
    --------
    Comparisons that contradict each other, on which RankNet's loss fails:

    >>> import numpy as np
    >>> from skcalrank import PairwiseLogisticRanker, PreferenceTarget
    >>> from skcalrank.rankers import DifferenceGraphRanker
    >>> y = PreferenceTarget.from_comparisons(
    ...     [0, 0, 2, 1], [1, 2, 0, 2], [7, 7, 7], weight=[0.5, 2, 1, 0.15])
    >>> PairwiseLogisticRanker(alpha=1e-6).fit(np.eye(3), y).rank(np.eye(3), [7, 7, 7])
    array([1, 3, 2])
    >>> DifferenceGraphRanker(alpha=1e-6).fit(np.eye(3), y).rank(np.eye(3), [7, 7, 7])
    array([1, 2, 3])
    """

    _theorem: ClassVar[str] = "mean_preferences"
    _parameter_constraints: ClassVar = {"edge_loss": [limits.one_of(*PREFERENCE_LOSSES)]}

    def __init__(
        self,
        *,
        edge_loss: str = "logistic",
        alpha: float | str = "auto",
        weights: str = "difference",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: int = 0,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(alpha, fit_intercept, max_iter, tol, warm_start, verbose, query_weight)
        self.edge_loss = edge_loss
        self.weights = weights

    def _losses(self) -> Sequence[PreferenceLoss]:
        loss: Any = PREFERENCE_LOSSES[self.edge_loss]()
        return narrowing_hinges(loss.corner_width) if self.edge_loss == "hinge" else [loss]

    def _edges(self, rows: Rows) -> tuple[Ints, Ints, Floats]:
        # n_q times the mean over n_q judgments is their sum.
        winner, loser, weight = super()._edges(rows)
        stated = csr_array((weight, (winner, loser)), shape=(rows.queries.n_rows,) * 2)
        net = (stated - stated.T).tocoo()
        wins = net.data > 0
        return net.row[wins], net.col[wins], net.data[wins]
