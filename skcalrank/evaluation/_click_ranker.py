"""From a click log to a ranker: propensities, choice, offline evaluation, and a report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..aggregation import PropensityEstimate, position_based
from ..columns import tables
from ..columns.arrays import safe_indexing
from ..columns.types import ArrayLike, Estimator, Floats, Ints, Matrix, Seed
from ..data import Rows, call_step, check, handed_to, keeping_warnings, seed_of, warning_once
from ..judgments import ClickSessions
from ..measures import DCG, Measure
from ..preprocessing import numeric
from ..rankers import AggregatedRanker
from ..stacking import TabularRanker
from ._click_models import better_model, perplexities
from ._compare import named, query_names
from ._comparison import Comparison
from ._impressions import FEW, known_propensities, linear_measure
from ._make_comparison import Design, made
from ._offline import OfflineEstimate, offline_evaluate
from ._statistics import Methods
from ._table import Cell, Table

# Name of the criterion in tables.
_CRITERION = "explained clicks"

# Inverse propensities are clipped at this.
_CLIP = 10.0

_N_FOLDS = 5

# Powers of the propensities that the choice is made for.
EXPONENTS = 0.5, 0.75, 1.0, 1.25, 1.5


@dataclass(frozen=True)
class ClickChoice:
    r"""The candidate that predicts held-out clicks best in the worst case; its text is a table.

    Attributes
    ----------
    name : str
        Name of the chosen candidate.
    ranker : ranker
        The chosen candidate, fitted to the sessions of the choice.
    comparison : Comparison
        The criterion of all candidates, query by query, for the propensities as they are: tables,
        and tests over folds, as in :func:`cross_compare`.
    lost : dict of float
        What each candidate loses at most, over powers of the propensities from 0.5 to 1.5.

    Notes
    -----
    The criterion is the same for all candidates. On held-out queries the expected clicks on a
    document are :math:`e (a s + b_q)`, with its examinations e, its score s, a level
    :math:`b_q` of the query, and a scale :math:`a \ge 0` that is fitted on the other queries. The
    value of a query is how much this reduces the sum of :math:`e (\text{clicks} / e - b_q)^2`.

    Given the positions, this is an unbiased estimate of the error in the relevances, weighted by
    examinations, if the propensities are right. It sees documents as often as users do: where the
    log was always in one order, documents at the bottom hardly count, and it often does not see
    that naive clicks, with less variance, would rank better.

    Wrong propensities choose the wrong candidate. So the criterion is also computed with powers of
    the propensities, as if position bias were weaker or stronger. A candidate loses the difference
    of its criterion to the best one, divided by that of the estimated relevances themselves; the
    one that loses least at its worst power is chosen.
    """

    name: str
    ranker: Any
    comparison: Comparison
    lost: dict[str, float]

    def __str__(self) -> str:
        rows = []
        for row in self.comparison.estimates:
            explained = Cell(f"{row.mean:.4g}", f"[{row.low:.4g}, {row.high:.4g}]")
            chosen = Cell("chosen" * (row.system == self.name))
            rows.append((row.system, [Cell(f"{self.lost[row.system]:.4f}"), explained, chosen]))
        return Table(["candidate", "worst loss", _CRITERION, ""], rows).to_text()


def default_candidates(X: Any, theta: Floats, prior: Any = None) -> dict[str, AggregatedRanker]:
    """Return rankers of clicks on documents X that differ in weight, clipping and correction."""
    reads = tables.is_table(X) and len(numeric(X)) < X.shape[1]
    ranker = TabularRanker(DCG(gain="linear"), trees=None) if reads else None
    clipped, naive = np.maximum(theta, 1 / _CLIP), np.ones_like(theta)
    models: dict[str, tuple[dict[str, Any], float]] = {
        **{f"m={m}": ({"propensity": theta}, m) for m in (5, 1, 20)},
        "shrunk": ({"propensity": theta, "prior": prior}, 5),
        "weight 1": ({"propensity": theta}, 0),
        "clipped": ({"propensity": clipped}, 0),
        "naive": ({"propensity": naive}, 0),
    }
    if prior is None:
        del models["shrunk"]
    return {
        name: AggregatedRanker("position_based", ranker, structure_options=options, row_weight=m)
        for name, (options, m) in models.items()
    }


def chosen_by_clicks(
    X: Matrix, sessions: ClickSessions, rankers: Mapping[str, Any], theta: Floats
) -> ClickChoice:
    """Return the ranker that predicts the clicks on queries it has not seen best."""
    rows = Rows(np.empty((len(sessions), 0)), sessions, sessions.queries())
    if (n := rows.queries.n_queries) < _N_FOLDS:
        raise ValueError(f"sessions must have {_N_FOLDS} training queries at least, got {n}.")
    folds, scores = np.empty(len(sessions), dtype=np.intp), np.empty((len(rankers), len(sessions)))
    with warning_once():
        for fold, (train, test) in enumerate(rows.folds(_N_FOLDS)):
            folds[test] = fold
            X_train, X_test = safe_indexing(X, train), safe_indexing(X, test)
            judged = sessions[train]
            for of_ranker, ranker in zip(scores, rankers.values()):
                fitted = clone(ranker).fit(X_train, judged)
                of_ranker[test] = scores_by(fitted, X_test, sessions.qid[test])
        names, queries = list(rankers), rows.queries
        lost = dict.fromkeys(names, 0.0)
        for exponent in EXPONENTS:
            counts = position_based(sessions, theta**exponent)
            ideal, *values = (
                _explained(of, counts, queries, folds) for of in (counts.relevance, *scores)
            )
            means = np.mean(values, axis=1)
            losses = (means.max() - means) / max(ideal.mean(), 1e-300)
            lost = {name: max(lost[name], float(loss)) for name, loss in zip(names, losses)}
            if exponent == 1:
                explained = np.array(values)[:, None]
        fold_of = folds[np.unique(queries.codes, return_index=True)[1]]
        of_folds = [explained[:, :, fold_of == fold].mean(axis=2) for fold in range(_N_FOLDS)]
        design = Design(names, [_CRITERION], query_names(queries), names[0], Methods())
        with keeping_warnings():  # that candidates are equal
            comparison = made(design, explained, np.stack(of_folds, axis=2), 1 / (_N_FOLDS - 1))
        best = min(lost, key=lambda name: lost[name])
        return ClickChoice(best, clone(rankers[best]).fit(X, sessions), comparison, lost)


def scores_by(ranker: Any, X: Matrix, qid: ArrayLike) -> Floats:
    """Return the scores by a fitted ranker, which gets the qid if it takes one."""
    return call_step(ranker, "predict", X, **handed_to(ranker, "predict", qid=qid))


def _explained(scores: Floats, counts: Any, queries: Any, folds: Ints) -> Floats:
    """Return the criterion of each query; folds are of whole queries."""
    e = counts.examinations
    relevance, scores = (queries.centered(of, e) for of in (counts.relevance, scores))
    product, square = np.bincount(folds, e * relevance * scores), e * scores**2
    of_fold = np.bincount(folds, square)
    scale = (product.sum() - product) / np.maximum(of_fold.sum() - of_fold, 1e-300)
    scale = np.maximum(scale, 0.0)[folds]
    gained = e * (2 * scale * relevance * scores) - scale**2 * square
    return queries.sum(queries.group(gained))


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
        no candidate is shrunk, and None where `candidates` are given.
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
    if (n_rows := tables.n_rows_of(X)) != len(sessions):
        raise ValueError(f"X must have the {len(sessions)} rows of sessions, got {n_rows}.")
    measure, X = linear_measure(measure), tables.as_frame(X)
    if candidates is None:
        rankers = default_candidates(X, theta, prior)
    elif prior is None:
        rankers = named("candidates", candidates)
    else:
        raise ValueError(f"prior must be None with candidates, got {prior!r}: give it to them.")
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
