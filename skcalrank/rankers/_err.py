"""Expected reciprocal rank: calibrated when relevances are independent."""

from __future__ import annotations

from .._base import ScoreRanker
from ..measures import ERR

__all__ = ["ERRRanker"]


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
