"""Ranker for expected reciprocal rank, calibrated if relevances are independent."""

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ..aggregation import cascade
from ..columns.types import ArrayLike, Estimator, Floats, Self
from ..data import RankingTarget, check, limits
from ..judgments import ClickSessions
from ..measures import ERR, Discount, Gain, Measure
from ._door import refuse_silent
from ._plan import RegressionPlan
from ._score import ScoreRanker

# Highest grade of the scale that represents click probabilities: fine enough for any of them.
_CLICK_GRADES = 50.0


class ERRRanker(ScoreRanker):
    """Least-squares ranker for expected reciprocal rank (ERR), from grades or clicks.

    Regresses the stop probability ``(2^y - 1) / 2^max_grade`` and sorts the documents by the
    prediction. Suits users who read from the top and stop at the first document that satisfies
    them. :class:`~skcalrank.ClickSessions` are a target too: then the stop probabilities themselves
    are regressed, as the cascade model estimates them (:func:`skcalrank.aggregation.cascade`).

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`. It learns in chunks if
        `max_grade` is set.
    max_grade : float, default=None
        Highest grade of the scale. If None, the largest label seen in :meth:`fit`. Set it to score
        on grades above those of the training data. For clicks, None is the largest of the grades
        that :meth:`score` is given.
    gain : "exponential", array-like or callable, default="exponential"
        Stop probability of each grade, as in :class:`skcalrank.measures.ERR`.
    discount : array-like or callable, default=None
        Value of each position, as in :class:`skcalrank.measures.DCG`. If None, :math:`1/p`.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    loss, n_passes, query_weight
        Loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.

    Attributes
    ----------
    estimator_ : regressor
        Fitted regressor, as in :class:`LeastSquaresRanker`.
    loss_ : str
        Loss that was minimized.
    alpha_ : float
        Ridge penalty that was used; only with ``estimator=None``.
    max_grade_ : float
        Highest grade of the scale in use. Scoring larger labels is an error. Only with the
        exponential gain.
    penalty_scale_ : ndarray of shape (d,)
        Unit of `alpha_` for each feature; only with ``estimator=None``.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRanker : Ranker for positional measures.
    RBPRanker : Ranker for users who stop independently of the documents.
    AggregatedRanker : Ranker of clicks for other measures.
    OrderPreservingRanker : Linear ranker with other losses of the same targets.
    skcalrank.metrics.err_score : The measure.
    ClickSessions : Target of clicks.

    Notes
    -----
    Calibrated (Fisher-consistent) for ERR when the relevances of the documents are independent
    given the query (DMJ13, Lemma 1); with rows of documents, when in addition each relevance is
    given by its row (:ref:`rows-and-context`). The same holds for all stop probabilities `gain` and
    discounts that do not increase (DMJ13, eq. 16). No order-preserving loss is calibrated for ERR
    under every distribution of the labels (CUG13, Theorem 3.3).

    Examples
    --------
    >>> from skcalrank import ERRRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> ERRRanker().fit(X, y, qid).score(X, y, qid)
    0.5
    """

    short_names: ClassVar = {"err": {}}
    _parameter_constraints: ClassVar = {
        "max_grade": [limits.Interval(Real, 0, 1000, closed="both"), None],
        "gain": [limits.one_of("exponential"), "array-like", callable],
        "discount": ["array-like", callable, None],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        max_grade: float | None = None,
        gain: Gain | ArrayLike = "exponential",
        discount: Discount | ArrayLike | None = None,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, loss, n_passes, query_weight)
        self.max_grade = max_grade
        self.gain = gain
        self.discount = discount

    _judgments = (ClickSessions,)
    _measure_type = ERR

    def _fit(self, plan: RegressionPlan, X: Any, y: Any, qid: Any, sample_weight: Any) -> Self:
        if not isinstance(y, ClickSessions):
            return super()._fit(plan, X, y, qid, sample_weight)
        refuse_silent(y, plan)
        measure: Any = plan.measure
        gain = measure.gain
        if not isinstance(gain, str):
            raise ValueError(
                "gain must be 'exponential' for ClickSessions, whose stop probabilities are "
                f"estimated, got {gain!r}."
            )
        qid, scale = check.carried_qid(y, qid), self._click_scale(measure)
        grades = _grades(y, scale.max_grade)
        check.warn_of_cut_queries(y, type(self).__name__)
        # Grades given to score may have another scale than the one that represents clicks.
        plan = replace(plan, measure=scale, scored=measure, call=plan.call._replace(warns=False))
        return super()._fit(plan, X, grades, qid, sample_weight)

    def _click_scale(self, measure: Any) -> ERR:
        """Return the measure on the scale of grades that stand for click probabilities."""
        return measure if measure.is_scaled else replace(measure, max_grade=_CLICK_GRADES)

    @property
    def max_grade_(self) -> float:
        """Highest grade of the scale in use. Scoring larger labels is an error."""
        highest = self._click_scale(self.record_.measure).max_grade
        if highest is None:
            raise AttributeError("max_grade_ is not defined for a gain of your own.")
        return float(highest)

    def _scored_by(self, y: Any) -> tuple[Measure, Any]:
        measure: Any = self.record_.measure
        if isinstance(y, ClickSessions):
            grades = RankingTarget(_grades(y, self.max_grade_), y.qid)
            return replace(measure, max_grade=self.max_grade_), grades
        return measure, y


def _grades(sessions: ClickSessions, highest: Any) -> Floats:
    """Return grades whose stop probabilities are those of the cascade model."""
    return np.minimum(np.log1p(cascade(sessions).probability * 2.0**highest) / np.log(2.0), highest)
