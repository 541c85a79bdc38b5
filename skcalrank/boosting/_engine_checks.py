"""Checks of the parameters that the libraries of boosted trees read."""

from inspect import signature
from typing import Any

import numpy as np

from ..columns.types import Floats
from ..data import check
from ..losses import LOSSES, get_loss, unknown_loss
from ..rankers import Plan
from ..trees import ENGINES, OBJECTIVES, TREE_OPTIONS, Engine, is_objective, preferred
from ._objectives import check_boosted

# The gains 2^y - 1 must fit the integers of the library; average precision takes 0 and 1 only.
_LARGEST_GRADE = {"lambdarank": 30, "rank_xendcg": 30, "rank:ndcg": 31, "rank:map": 1}


def grades_for(objective: str, labels: Floats) -> Floats:
    """Return the labels; raise if the ranking objective of an engine does not take them."""
    most = _LARGEST_GRADE.get(objective, np.inf)
    strange = labels[(labels < 0) | (labels > most) | (labels % 1 != 0)]
    if len(strange) and most < np.inf:
        raise ValueError(
            f"y must be whole grades from 0 to {most} with loss={objective!r}, got "
            f"{strange[0]:g}. Choose a loss of skcalrank.losses for other labels."
        )
    return labels


def engine_of(ranker: Any) -> Engine:
    """Return the engine that the parameters name, or else the preferred installed one."""
    owner = OBJECTIVES[ranker.loss] if is_objective(ranker.loss) else None
    engine = ENGINES[ranker.engine] if ranker.engine is not None else owner or preferred()
    if owner is not None and engine is not owner:
        raise ValueError(
            f"engine must be {owner.name!r} with its objective loss={ranker.loss!r}, got "
            f"{ranker.engine!r}. Set engine={owner.name!r}, or choose loss from "
            f"{', '.join([*engine.objectives, *LOSSES])}."
        )
    _ = engine.module
    return engine


def check_together(ranker: Any, plan: Plan) -> None:
    """Raise for parameters that contradict each other, the call, or would have no effect."""
    engine, measure = engine_of(ranker), plan.measure
    if is_objective(ranker.loss):
        why = f"loss={ranker.loss!r}: set a loss of skcalrank.losses"
        check.refuse_unread(ranker, ["targets", "query_weight"], why)
    else:
        if isinstance(ranker.loss, str) and ranker.loss not in LOSSES:
            raise unknown_loss(ranker.loss, [*LOSSES, *OBJECTIVES])
        get_loss(ranker.loss)
        check_boosted(measure)
    if ranker.targets == "separable" and not measure.has_separable_targets():
        raise ValueError(
            f"targets must be 'measure' or 'grades' for measure={measure.name!r}, which has no "
            "separable targets, got 'separable'."
        )
    stops = plan.call.has_eval_set or bool(ranker.validation_fraction)
    if ranker.start is not None:
        _check_start(ranker.start, stops)
        if ranker.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst must be None with start={ranker.start!r}, whose scores do not obey "
                f"it, got {ranker.monotonic_cst!r}. Leave one of them out."
            )
    params = ranker.engine_params or {}
    objective = ranker.loss if is_objective(ranker.loss) else None
    if objective is None or ranker.n_models > 1:
        engine.check_with_losses(params)
    engine.check(params, {name: getattr(ranker, name) for name in TREE_OPTIONS}, stops=stops)
    engine.check_known(params, objective)
    if plan.call.of_targets:
        _check_without_labels(ranker, plan)


def check_callbacks(engine: Engine, callbacks: list[Any] | None) -> list[Any]:
    """Return a list of callbacks; raise for those that the library does not call."""
    if callbacks is None:
        return []
    if not isinstance(callbacks, (list, tuple)):
        raise ValueError(f"callbacks must be a list, got {callbacks!r}: pass [{callbacks!r}].")
    for callback in callbacks:
        if not engine.calls(callback):
            raise ValueError(
                f"callbacks must be {engine.callbacks} with engine={engine.name!r}, got "
                f"{callback!r}."
            )
    return list(callbacks)


def _check_without_labels(ranker: Any, plan: Plan) -> None:
    """Raise for parameters of a ranker that need labels in place of targets."""
    if is_objective(ranker.loss):
        raise ValueError(
            "loss must be one of skcalrank.losses to fit targets, got "
            f"{ranker.loss!r}, which reads labels: set loss='pairwise_squared'."
        )
    holds_out = ranker.validation_fraction and not plan.call.has_eval_set
    if holds_out and plan.measure.shape != "documents":
        raise ValueError(
            "measure must be positional to stop early on held-out targets, got "
            f"{ranker.measure!r}: set validation_fraction=None and n_estimators, or pass queries "
            "with labels as eval_set."
        )


def _check_start(start: Any, stops: bool) -> None:
    """Raise unless an estimator takes a qid in fit, as rankers and their pipelines do."""
    if check.valid_regressor(start) is None or "qid" not in signature(start.fit).parameters:
        raise ValueError(
            "start must be a ranker, such as NDCGRanker(), or a QueryPipeline that ends in one, "
            f"got {start!r}."
        )
    if not stops:
        raise ValueError(
            f"start={start!r} needs validation queries to choose its shrinkage: set "
            "validation_fraction, or pass eval_set to fit."
        )
