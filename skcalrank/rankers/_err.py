"""Expected reciprocal rank: calibrated when relevances are independent."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..aggregation import cascade
from ..data import ClickSessions, carried_qid
from ..measures import ERR
from ._base import ScoreRanker

__all__ = ["ERRRanker"]

# Highest grade of the scale that click probabilities are put on: fine enough for any of them.
_CLICK_GRADES = 50.0


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

    Notes
    -----
    :class:`~skcalrank.ClickSessions` are a target too: then the stop probabilities themselves are
    regressed, as the cascade model estimates them (:func:`skcalrank.aggregation.cascade`). A
    ranker of clicks that is scored on grades takes `max_grade`, or the largest of these grades.

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

    short_names: ClassVar = {"err": {}}

    def __init__(self, estimator=None, *, max_grade=None, loss=None):
        super().__init__(estimator, loss=loss)
        self.max_grade = max_grade

    _judgments = (ClickSessions,)

    def _positive_only(self):
        return True

    def _check_chunks(self):
        if self.max_grade is None:
            raise ValueError(
                "max_grade=None is the largest label of all chunks, which one of them does not "
                "know: set max_grade."
            )

    def _targets(self, problem):
        if self._scale is None:
            self.max_grade_ = float(ERR().labels(problem.y).max())
        else:
            self.max_grade_ = float(self._scale)
        return super()._targets(problem)

    def _check_problem(self, X, y, qid, sample_weight, *, reset=True):
        # The scale of the grades; None = up to the largest that is given.
        self._scale = self.max_grade
        self._of_clicks = isinstance(y, ClickSessions)
        if self._of_clicks:
            self._scale = _CLICK_GRADES if self.max_grade is None else self.max_grade
            qid = carried_qid(y, qid)
            y = _grades(y, self._scale)
        return super()._check_problem(X, y, qid, sample_weight, reset=reset)

    def _scored_by(self, y):
        if isinstance(y, ClickSessions):
            return self._measure(), _grades(y, self.max_grade_)
        # The scale that clicks were put on is not that of grades.
        return (ERR() if self._of_clicks and self.max_grade is None else self._measure()), y

    def _measure(self):
        return ERR(max_grade=getattr(self, "max_grade_", self.max_grade))


def _grades(sessions, highest):
    """Grades whose stop probabilities are those of the cascade model."""
    return np.minimum(np.log2(1.0 + cascade(sessions) * 2.0**highest), highest)
