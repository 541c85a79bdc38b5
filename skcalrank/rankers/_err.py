"""Expected reciprocal rank: calibrated when relevances are independent."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ..aggregation import cascade
from ..data import ClickSessions, Interval, RankingTarget, carried_qid, warn_of_cut_queries
from ..measures import ERR
from ._score import ScoreRanker

# Highest grade of the scale that click probabilities are put on: fine enough for any of them.
_CLICK_GRADES = 50.0


class ERRRanker(ScoreRanker):
    """Expected reciprocal rank.

    Regresses the stop probability ``(2^y - 1) / 2^max_grade`` and sorts. Calibrated
    (Fisher-consistent) for ERR when the relevances of the documents are independent
    given the query (DMJ13, Lemma 1), and with rows also each is given by its row; no
    order-preserving loss is under every distribution (CUG13, Theorem 3.3).

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    max_grade : float, default=None
        Highest grade of the scale; None = the largest label seen in fit.

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
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> ERRRanker().fit(X, y, qid).score(X, y, qid)
    0.5
    """

    short_names: ClassVar = {"err": {}}
    _parameter_constraints: ClassVar = {
        **ScoreRanker._parameter_constraints,
        "max_grade": [Interval(Real, 0, 1000, closed="both"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_grade: float | None = None,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.max_grade = max_grade

    _judgments = (ClickSessions,)

    def _positive_only(self):
        return True

    def _can_add_chunks(self):
        # As it comes, the scale of its labels is that of all rows.
        return super()._can_add_chunks() and (self.max_grade, self.estimator) != (None, None)

    def _check_chunks(self):
        if self.max_grade is None:
            raise ValueError(
                "max_grade=None is the largest label of all chunks, which one of them does not "
                "know: set max_grade."
            )

    def _check_problem(self, X, y, qid, sample_weight, *, reset=True):
        if not isinstance(y, ClickSessions):
            return super()._check_problem(X, y, qid, sample_weight, reset=reset)
        self._check_silent(y, reset)
        qid, scale = carried_qid(y, qid), self._click_scale(self._measure())
        grades = _grades(y, scale.max_grade)
        warn_of_cut_queries(y, type(self).__name__)
        problem = super()._check_problem(X, grades, qid, sample_weight, reset=reset)
        return problem._replace(measure=scale, of_clicks=True)

    def _record(self, problem, names=frozenset()):
        record = super()._record(problem, names)
        # The scale that clicks are put on is not that of the grades that score may be given.
        return replace(record, measure=self._measure()) if problem.of_clicks else record

    def _click_scale(self, measure):
        """Return the measure on the scale that click probabilities are put on."""
        return ERR(max_grade=_CLICK_GRADES) if measure.max_grade is None else measure

    @property
    def max_grade_(self) -> float:
        """The grade in force. Scoring labels above it is an error."""
        return float(self._click_scale(self.record_.measure).max_grade)

    def _scored_by(self, y):
        if isinstance(y, ClickSessions):
            grades = RankingTarget(_grades(y, self.max_grade_), y.qid)
            return ERR(max_grade=self.max_grade_), grades
        return self.record_.measure, y

    def _measure(self):
        return ERR(max_grade=self.max_grade)


def _grades(sessions, highest):
    """Return grades whose stop probabilities are those of the cascade model."""
    return np.minimum(np.log1p(cascade(sessions) * 2.0**highest) / np.log(2.0), highest)
