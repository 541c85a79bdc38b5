"""Checks of parameters of BoostedRanker that depend on each other."""

from __future__ import annotations

from inspect import isclass, signature
from typing import Any

from ..data import refuse_unread
from ..losses import LOSSES, get_loss
from ..measures import Measure
from ._engine import Engine
from ._engines import ENGINES, preferred
from ._objectives import check_boosted


def is_own(loss: Any) -> bool:
    """Return whether a loss is the name of an objective of an engine."""
    return _owner(loss) is not None


def _owner(loss):
    """Return the engine that has an objective of this name."""
    if not isinstance(loss, str):
        return None
    return next((engine for engine in ENGINES.values() if loss in engine.objectives), None)


def engine_of(ranker: Any) -> Engine:
    """Return the engine that the parameters name, or else the preferred installed one."""
    owner = _owner(ranker.loss)
    engine = ENGINES[ranker.engine] if ranker.engine is not None else owner or preferred()
    if owner is not None and engine is not owner:
        raise ValueError(
            f"engine must be {owner.name!r} with its objective loss={ranker.loss!r}, got "
            f"{ranker.engine!r}. Set engine={owner.name!r}, or choose loss from "
            f"{', '.join([*engine.objectives, *LOSSES])}."
        )
    _ = engine.module
    return engine


def _is_start(start):
    """Return whether an estimator takes a qid in fit, as rankers and their pipelines do."""
    if isclass(start) or not (hasattr(start, "fit") and hasattr(start, "predict")):
        return False
    return "qid" in signature(start.fit).parameters


def check_together(ranker: Any, engine: Engine, measure: Measure) -> None:
    """Raise for parameters that contradict each other or would have no effect."""
    own = is_own(ranker.loss)
    if own:
        why = f"loss={ranker.loss!r}: set a loss of skcalrank.losses"
        refuse_unread(ranker, ["targets", "query_weight"], why)
    else:
        get_loss(ranker.loss)
        check_boosted(measure)
    if ranker.targets == "separable" and not measure.has_separable_targets():
        raise ValueError(
            f"targets must be 'measure' or 'grades' for measure={measure.name!r}, which has no "
            "separable targets, got 'separable'."
        )
    # Early stopping needs validation queries.
    stops = ranker.eval_set is not None or bool(ranker.validation_fraction)
    if ranker.start is not None and not _is_start(ranker.start):
        raise ValueError(
            "start must be a ranker, such as NDCGRanker(), or a QueryPipeline that ends in one, "
            f"got {ranker.start!r}."
        )
    if ranker.start is not None and not stops:
        raise ValueError(
            f"start={ranker.start!r} needs validation queries to choose its shrinkage: set "
            "validation_fraction or eval_set."
        )
    given = ranker.engine_params or {}
    engine.check(given, own=own, stops=stops)
    if not own or ranker.n_models > 1:
        engine.check_with_losses(given)
    engine.check_known(given, ranker.loss if own else None)
