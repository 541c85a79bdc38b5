"""Convex losses of the net preferences of many judgements."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..data import one_of
from ..losses import PREFERENCE_LOSSES
from ._edges import EdgeScorer, narrowing_hinges

__all__ = ["DifferenceGraphRanker"]


class DifferenceGraphRanker(EdgeScorer):
    r"""Convex loss of the difference graph of the aggregated preferences (DMJ13, eq. 23).

    .. math:: \min_w \sum_q n_q \sum_{i, j} (s_{ij} - s_{ji})_+ \, f(a_i - a_j) + \alpha \|w\|^2,
        \qquad a = Xw

    where s is the mean preference matrix of the :math:`n_q` judgements of a query, and f is convex,
    non-increasing, with :math:`f'(0) < 0`. Of two documents only the one that is preferred in the
    mean has a term, so that the losses of RankSVM and RankNet, which are consistent for nothing
    when given single preferences, become so: consistent for pairwise disagreement where the graph
    of :math:`E[Y_{ij}] > E[Y_{ji}]` is acyclic and s is near its limit, i.e. where every query
    has many judgements.

    Parameters
    ----------
    edge_loss : {"logistic", "hinge", "exponential", "squared_hinge"}, default="logistic"
        f; the corner of the hinge is rounded over 0.001.
    alpha : float, default=1.0
        Ridge penalty; it stands against the sum over all preferences.
    weights : {"difference", "unit"}, default="difference"
        Preferences when y is relevances, one judgement of each query.
    fit_intercept : bool, default=True
        One for each item in the label-ranking form; no part otherwise.
    max_iter : int, default=1000
    tol : float, default=1e-6
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

    Examples
    --------
    Comparisons that contradict each other, on which RankNet's loss fails:

    >>> import numpy as np
    >>> from skcalrank import DifferenceGraphRanker, PairwiseLogisticRanker, PreferenceTarget
    >>> y = PreferenceTarget.from_comparisons(
    ...     [0, 0, 2, 1], [1, 2, 0, 2], [7, 7, 7], weight=[0.5, 2, 1, 0.15])
    >>> PairwiseLogisticRanker(alpha=1e-6).fit(np.eye(3), y).rank(np.eye(3), [7, 7, 7])
    array([1, 3, 2])
    >>> DifferenceGraphRanker(alpha=1e-6).fit(np.eye(3), y).rank(np.eye(3), [7, 7, 7])
    array([1, 2, 3])
    """

    _parameter_constraints: ClassVar = {
        **EdgeScorer._parameter_constraints,
        "edge_loss": [one_of(*PREFERENCE_LOSSES)],
    }

    def __init__(
        self,
        *,
        edge_loss="logistic",
        alpha=1.0,
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
        self.edge_loss = edge_loss
        self.weights = weights

    def _losses(self):
        loss = PREFERENCE_LOSSES[self.edge_loss]()
        return narrowing_hinges(loss.corner_width) if self.edge_loss == "hinge" else [loss]

    def _edges(self, problem):
        # The mean over n_q judgements, n_q times: their sum.
        return _net_edges(*super()._edges(problem), problem.queries.n_rows)


def _net_edges(winner, loser, weight, n):
    """Of every pair the document that is preferred on balance, the other, and by how much."""
    first, second = np.minimum(winner, loser), np.maximum(winner, loser)
    pairs, pair = np.unique(first * n + second, return_inverse=True)
    net = np.bincount(pair.ravel(), np.where(winner == first, weight, -weight), len(pairs))
    first, second = np.divmod(pairs, n)
    some = net != 0
    first, second, net = first[some], second[some], net[some]
    return np.where(net > 0, first, second), np.where(net > 0, second, first), np.abs(net)
