"""Prediction maps: functions from surrogate values to positions."""

from collections.abc import Callable
from typing import Any

from ..data import check
from ._base import Pred
from ._diverse import rerank_diverse
from ._feedback_arc import FEEDBACK_ARC_PREDS, feedback_arc_positions
from ._map import MAP_PREDS, map_positions
from ._objectives import OBJECTIVES
from ._pairs import PAIR_PREDS, pair_positions
from ._sort import SORT, sort_positions
from ._stacks import TIME_LIMIT, PredResult, warn_of_gaps
from ._ties import solve_with_ties
from ._topological import TOPOLOGICAL, topological_positions, widest_cycle

__all__ = [
    "PREDS",
    "Pred",
    "PredResult",
    "feedback_arc_positions",
    "get_pred",
    "map_positions",
    "pair_positions",
    "preds_for",
    "rerank_diverse",
    "sort_positions",
    "topological_positions",
]

#: Prediction maps by key, which is objective and name: "map_exact", "disagreement_auto".
PREDS = {
    pred.key: pred for pred in (SORT, *MAP_PREDS, TOPOLOGICAL, *FEEDBACK_ARC_PREDS, *PAIR_PREDS)
}


def preds_for(objective: str) -> dict[str, Pred]:
    """Return the prediction maps that solve a problem, by name.

    Parameters
    ----------
    objective : {"positional", "map", "disagreement", "pairs"}
        Problem to solve, as in :class:`Pred`.

    Returns
    -------
    preds : dict
        The entries of ``PREDS`` with this objective, by their short names.

    Examples
    --------
    >>> from skcalrank.preds import preds_for
    >>> list(preds_for("map"))
    ['exact', 'beam', 'diagonal', 'auto']
    """
    check.option("objective", objective, OBJECTIVES)
    return {pred.name: pred for pred in PREDS.values() if pred.objective == objective}


def get_pred(pred: str | Pred | Callable[..., Any], objective: str) -> Pred:
    """Return a prediction map by its name.

    Parameters
    ----------
    pred : str, Pred or callable
        A name in :func:`preds_for`, or a function from a matrix of shape (r, r) to positions,
        which :meth:`Pred.from_positions` turns into a :class:`Pred`. A :class:`Pred` with the
        objective is returned unchanged.
    objective : {"positional", "map", "disagreement", "pairs"}
        Problem to solve, as in :class:`Pred`.

    Returns
    -------
    pred : Pred

    Raises
    ------
    ValueError
        If the name is unknown (the message lists the valid ones), or the objective is another one.

    Examples
    --------
    >>> from skcalrank.preds import get_pred
    >>> get_pred("diagonal", "map").condition
    'P_reinforce'
    """
    known = preds_for(objective)
    if isinstance(pred, str) and pred in known:
        return known[pred]
    if isinstance(pred, Pred):
        if pred.objective == objective:
            return pred
    elif callable(pred):
        return Pred.from_positions(pred, objective)
    raise ValueError(
        f"pred must be one of {', '.join(map(repr, known))}, a Pred with objective "
        f"{objective!r}, or a callable that returns positions, got {pred!r}."
    )
