"""What is known of the calibration of a ranker, read from its plan."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._solvers import why_not_a_mean
from ..data import Queries
from ..losses import LOSSES, get_loss, is_order_preserving
from ..measures import Measure
from ..preds import get_pred, preds_for


class Calibration(NamedTuple):
    """Whether a theorem says that a ranker is calibrated for a measure.

    Returned by :func:`calibration_of`.

    Attributes
    ----------
    holds : {"always", "query", "condition", "none"}
        "always": under every distribution of the labels, and rows that determine the distribution
        of their label are enough. "query": under every distribution, for regressors of the whole
        query. "condition": for these under a condition on the distribution, or in a limit. "none":
        no theorem says so, or one says that it is not.
    why : str
        The condition, or the reason, as part of a sentence.
    """

    holds: str
    why: str


# Conditions of measures under which sorting by their score targets is best.
_CONDITIONS = {
    "independence": "labels are independent given the query (DMJ13, Lemma 1)",
    "reinforce": "the distribution is in P_reinforce (RAT13, Corollary 5)",
    "low_noise": (
        "mean scores agree with every majority, P_f (RAT13, Theorem 6), as they always do for "
        "relevances with weights='difference'"
    ),
}
_OF_QUERY = "Fisher-consistent for the measure, with means estimated from the whole query"
_OF_ROW = f"{_OF_QUERY}, or from a row that determines the distribution of its label"


_OF_WHOLE_QUERY = Calibration("query", _OF_QUERY)


def unknown(why: str) -> Calibration:
    """Return that no theorem is known, or that one says the contrary."""
    return Calibration("none", why)


def under(condition: str) -> Calibration:
    """Return that a ranker is calibrated under a condition."""
    return Calibration("condition", f"{_OF_QUERY}, if {condition}")


def narrowed(calibration: Calibration, condition: str) -> Calibration:
    """Return what is left of a calibration under one more condition."""
    if calibration.holds == "none":
        return calibration
    if calibration.holds in ("always", "query"):
        return under(condition)
    return Calibration("condition", f"{calibration.why}, and if {condition}")


def of_score_targets(_: Any, plan: Any) -> Calibration:
    """Return what holds if the means of the score targets of a plan are sorted by."""
    measure = plan.measure
    if not measure.has_score_targets() or measure.condition is None:
        return unknown(f"no theorem is known for targets of {measure.full_name}")
    if plan.targets == "grades" and not _learns_grades(measure):
        return unknown("means of grades do not order documents as the targets of the measure do")
    if plan.targets == "separable" and not measure.separable:
        graded = "" if measure.is_binary else " and stochastically ordered"
        return under(f"labels are independent{graded} given the query")
    if measure.condition == "always":
        return Calibration("always", _OF_ROW) if measure.separable else _OF_WHOLE_QUERY
    return under(_CONDITIONS.get(measure.condition, measure.condition))


def of_regression(ranker: Any, plan: Any) -> Calibration:
    """Return what holds for a regression of score targets."""
    culprit = why_not_a_mean(plan.regressor)
    if culprit is not None:
        return unknown(f"{culprit} does not estimate means of its targets")
    if callable(plan.score_function):
        return under("means of score_function agree with every majority (RAT13, Theorem 6)")
    calibration = of_score_targets(ranker, plan)
    # In the label-ranking form a row is a query.
    if plan.loss == "centered" and not (hasattr(ranker, "record_") and ranker.n_items_ is not None):
        return narrowed(calibration, "each row carries its whole query, as loss='centered' needs")
    return calibration


def of_pairs(ranker: Any, plan: Any) -> Calibration:
    """Return what holds for a regression of the targets of documents, or of pairs and a map."""
    if plan.on_documents or why_not_a_mean(plan.regressor) is not None:
        return of_regression(ranker, plan)
    pred = get_pred("auto" if ranker.pred is None else ranker.pred, plan.measure.objective)
    if pred.exact:
        return Calibration("query", f"{_OF_QUERY} (RAT13, Theorem 3)")
    if pred == preds_for(pred.objective)["auto"]:
        return under("queries are so short that the map is exact")
    if pred.condition is not None:
        return under(f"the distribution is in {pred.condition}")
    return unknown(f"no theorem is known for the map {pred.name!r}")


def of_loss(ranker: Any, plan: Any) -> Calibration:
    """Return what holds for a loss of the score targets."""
    loss = None if plan.loss is None else get_loss(plan.loss)
    if loss is not None and not is_order_preserving(loss):
        return unknown(
            f"{plan.loss!r} is not a loss of the package: find_counterexample and calibration_gap "
            "of skcalrank.calibration test it"
        )
    calibration = of_score_targets(ranker, plan)
    keeps_rows = calibration.holds != "always" or loss is None or loss.of_rows
    return calibration if keeps_rows else _OF_WHOLE_QUERY


def of_trees(ranker: Any, plan: Any) -> Calibration:
    """Return what holds for a sum of trees."""
    if isinstance(plan.loss, str) and plan.loss not in LOSSES:
        return unknown(f"no theorem is known for the objective {plan.loss!r}")
    if ranker.n_models > 1:
        of_grades = of_score_targets(ranker, replace(plan, targets="grades"))
        if of_grades.holds == "none":
            return unknown("no theorem is known for sums of models of targets and of grades")
    return of_loss(ranker, plan)


def calibration(ranker: Any, theorem: str, plan: Any) -> Calibration:
    """Return what is known of a ranker, by the name of the rule of its class."""
    rule = _THEOREMS[theorem]
    return rule if isinstance(rule, Calibration) else rule(ranker, plan)


def of_judgments(ranker: Any, plan: Any) -> Calibration:
    """Return what holds if labels are aggregated judgments, for the ranker that learns them."""
    if plan.inner is None:
        learned = of_loss(ranker, plan)
    elif ranker.ranker is None:
        learned = of_regression(None, plan.inner)
    else:
        learned = calibration(ranker.ranker, ranker.ranker._theorem, plan.inner)  # noqa: SLF001
    condition = "queries have many judgments, and the structure has the labels as its limit"
    return narrowed(learned, condition)


# What is known, by the name that the class of a ranker has for it: a function of the ranker and its
# plan, or what holds whatever they say, of RankSVM and RankNet, of net preferences, and of a mix.
_THEOREMS: dict[str, Any] = {
    "none": lambda ranker, _: unknown(f"no theorem is known for {type(ranker).__name__}"),
    "score_targets": of_score_targets,
    "regression": of_regression,
    "pairs": of_pairs,
    "loss": of_loss,
    "trees": of_trees,
    "judgments": of_judgments,
    "single_preferences": unknown(
        "losses of single preferences are not, even under low noise (DMJ10)"
    ),
    "mean_preferences": under(
        "mean preferences have no cycle, P_DAG, and queries have many judgments (DMJ13)"
    ),
    "mix": under(
        "it is the mix of positional measures by measure_weights_, which have one cutoff and the "
        "same discounts"
    ),
}


def _learns_grades(measure: Measure) -> bool:
    """Return whether the targets are the grades, up to a factor."""
    if not measure.separable:
        return False
    grades = measure.labels(np.array([0.0, 1.0] if measure.is_binary else [0.0, 1.0, 2.0, 4.0]))
    targets = measure.score_targets(grades, Queries.equal(1, len(grades)))
    return bool(np.allclose(targets * grades.max(), grades * targets.max()))
