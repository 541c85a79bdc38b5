"""From a click log to a ranker: propensities, choice, offline evaluation, and a report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..aggregation import PropensityEstimate
from ..columns.arrays import safe_indexing
from ..columns.types import ArrayLike, Estimator, Matrix, Seed
from ..data import Rows, check, keeping_warnings, seed_of, warning_once
from ..judgments import ClickSessions
from ..measures import Measure
from ._choose import EXPONENTS, ClickChoice, chosen_by_clicks, default_candidates, scores_by
from ._click_models import better_model, perplexities
from ._compare import named
from ._impressions import FEW, known_propensities, linear_measure
from ._offline import OfflineEstimate, offline_evaluate


@dataclass(frozen=True)
class ClickReport:
    """What a click log says of a ranker that was learned from it; its text is a report.

    Attributes
    ----------
    ranker : ranker
        The chosen candidate, fitted to all sessions.
    choice : ClickChoice
        The candidates on the training queries, and the one chosen, fitted to them.
    propensity : PropensityEstimate
        Propensities, with standard errors: NaN if an array was given.
    estimate : OfflineEstimate
        Value of the latter on held-out queries, with its `safety` against the lists as shown, and
        its `sensitivity` to weaker and stronger position bias.
    measure : str
        Name of the measure.
    perplexity : dict of float
        Perplexity per document shown of clicks in sessions that were held out, lower is better:
        users who examine positions with these propensities, who read from the top ("cascade"), and
        who examine all. Where another model is better by more than .005, `estimate` is not safe.
    facts : dict of int
        Numbers of sessions, queries, impressions, clicks, documents, and documents never shown.
    """

    ranker: Any
    choice: ClickChoice
    propensity: PropensityEstimate
    estimate: OfflineEstimate
    measure: str
    perplexity: dict[str, float]
    facts: dict[str, int]

    def __str__(self) -> str:
        estimate, safety = self.estimate, self.estimate.safety
        at: Any = estimate.sensitivity
        better = at.value > at.shown
        bias = "for every strength of position bias tried"
        if better.any() != better.all():
            bias = "for propensities to the power of " + ", ".join(
                f"{exponent:g}" for exponent in at.exponent[better]
            )
        verdict = f"is better than the lists as shown {bias}" if better.any() else "is never better"
        safe = "safe" if safety else "not shown to be safe"
        if safety.effective_sample_size < FEW:
            safe += ", as few clicks, or queries, decide"
        other = better_model(self.perplexity)
        doubt = (
            f"\nUsers are not those of the position-based model: {other} predicts their clicks "
            "better. All estimates rest on this model, so that nothing is shown to be safe."
        )
        return "\n".join(
            [
                "Log: " + ", ".join(f"{n:,} {name}" for name, n in self.facts.items()),
                str(self.propensity),
                "Perplexity of held-out clicks: "
                + ", ".join(f"{name} {value:.4g}" for name, value in self.perplexity.items()),
                f"Chosen of {len(self.choice.comparison.systems)} candidates: {self.choice.name}",
                f"{self.measure} of held-out queries: {estimate.value:.4g} "
                f"[{estimate.low:.4g}, {estimate.high:.4g}], "
                f"effective sample size {estimate.effective_sample_size:.0f}",
                f"Difference to the lists as shown: {safety.difference:.4g}, at least "
                f"{safety.low:.4g}, effective sample size {safety.effective_sample_size:.0f}: "
                f"{safe}",
                f"The ranker {verdict}." + (doubt if other else ""),
            ]
        )


def click_ranker(
    X: Matrix,
    sessions: ClickSessions,
    *,
    propensity: ArrayLike | str = "fit",
    merge: bool = False,
    candidates: Mapping[str, Estimator] | None = None,
    prior: float | Estimator | None = None,
    measure: str | Measure = "dcg@5",
    test_size: float = 0.3,
    confidence_level: float = 0.95,
    random_state: Seed = 0,
) -> ClickReport:
    """Learn a ranker from a click log, and report whether it may be shown to users.

    Use it first on a click log; the parts can be called alone. Propensities are estimated, if the
    log identifies them. A candidate is chosen on training queries by the clicks that it predicts,
    also if position bias is weaker or stronger (:class:`ClickChoice`), evaluated on the clicks of
    the other queries (:func:`offline_evaluate`), and fitted to all of them. Learning from clicks is
    provisional: names may change between minor versions.

    Parameters
    ----------
    X : array-like of shape (n_rows, d)
        Documents.
    sessions : ClickSessions
        The log, as :meth:`~skcalrank.ClickSessions.from_frame` reads it.
    propensity : array-like of shape (n_positions,), PropensityEstimate or "fit", default="fit"
        Probabilities that positions are examined. "fit" takes all sessions
        (:func:`~skcalrank.aggregation.fit_propensities`). The error of an estimate widens the
        interval, and that of an array is not known.
    merge : bool, default=False
        Whether "fit" may merge neighboring positions that the log cannot compare.
    candidates : dict of rankers, default=None
        Rankers of clicks, or pipelines that end in one, by name. If None, each is an
        :class:`~skcalrank.AggregatedRanker` of "position_based": with weights ``e / (e + m)`` of e
        examinations, for m of 1, 5 and 20; m of 5 with estimates shrunk to the prior, if any;
        inverse propensities, and these clipped at 10, with weight 1; and naive clicks, whose
        propensities are all 1. They are linear: in the numbers of X or, if X has columns of
        categories, text or dates, the linear rankers of :class:`~skcalrank.TabularRanker`.
    prior : float or frozen ranker, default=None
        What estimates of a default candidate are shrunk to, as in
        :func:`~skcalrank.aggregation.position_based`; best the ranker that made the log. If None,
        no candidate is shrunk.
    measure : str or Measure, default="dcg@5"
        As in :func:`offline_evaluate`. Rankings of the documents that were shown are evaluated.
    test_size : float, default=0.3
        Share of the queries to evaluate on.
    confidence_level : float, default=0.95
        Level of the interval and of the lower limit.
    random_state : int, RandomState instance or None, default=0
        Seed of the split into training and test queries; None is seed 0. Queries are drawn by their
        names: other names act as another seed.

    Returns
    -------
    report : ClickReport
        With the ranker. It prints as a report.

    Raises
    ------
    ValueError
        If all documents shown were clicked, the log does not identify the propensities, there are
        fewer than five training queries, rows of `X` have the index of the sessions in another
        order, or a parameter is out of range.

    Warns
    -----
    UserWarning
        If positions were merged, and as in :func:`offline_evaluate`, but for other strengths of
        position bias.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import sample_sessions
    >>> from skcalrank.evaluation import click_ranker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(2400, 2)), np.repeat(np.arange(400), 6)
    >>> p = 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    >>> y = sample_sessions(p, qid, n_sessions=8000, order_scores=X[:, 1], model="position",
    ...                     random_state=0)
    >>> report = click_ranker(X, y)
    >>> bool(report.estimate.safety)
    True
    >>> print(report)  # doctest: +ELLIPSIS
    Log: 8,000 sessions, 400 queries, 48,000 impressions, ...
    PropensityEstimate(1, ...)
    Perplexity of held-out clicks: position-based 1..., cascade 1..., no bias 1...
    Chosen of 6 candidates: ...
    dcg@5 of held-out queries: ...
    Difference to the lists as shown: ...: safe
    The ranker is better than the lists as shown for every strength of position bias tried.
    """
    examined = known_propensities(propensity, sessions, merge)
    theta = examined.propensity
    check.row_order(sessions=sessions, X=X)
    measure = linear_measure(measure)
    rankers = (
        default_candidates(X, theta, prior)
        if candidates is None
        else named("candidates", candidates)
    )
    check.number("test_size", test_size, "> 0 and < 1")
    rows = Rows(np.empty((len(sessions), 0)), sessions, sessions.queries())
    (test,) = rows.held_out(test_size, seed_of(random_state))
    was_shown = np.bincount(sessions.shown_rows, minlength=len(test)) > 0
    with warning_once():
        choice = chosen_by_clicks(safe_indexing(X, ~test), sessions[~test], rankers, theta)
        shown = np.flatnonzero(test & was_shown)
        held_out = sessions[shown]
        scores = scores_by(choice.ranker, safe_indexing(X, shown), held_out.qid)
        options: dict[str, Any] = {"propensity": examined, "confidence_level": confidence_level}
        offline_evaluate(scores, held_out, measure, **options)  # for its warnings
        with keeping_warnings():  # other strengths of position bias are not what is used
            options["exponents"] = 0.0, 0.25, *EXPONENTS
            estimate = offline_evaluate(scores, held_out, measure, **options)
        ranker = clone(choice.ranker).fit(X, sessions)
    models = perplexities(sessions, theta)
    if better_model(models):
        estimate = estimate._replace(safety=replace(estimate.safety, holds=False))
    facts = {
        "sessions": sessions.n_sessions,
        "queries": int((sessions.n_judgments > 0).sum()),
        "impressions": len(sessions.position),
        "clicks": int(sessions.clicked.sum()),
        "documents": len(sessions),
        "never shown": int((~was_shown).sum()),
    }
    return ClickReport(ranker, choice, examined, estimate, measure.full_name, models, facts)
