"""Prediction maps: from surrogate values to positions. Arrays in, arrays out."""

from __future__ import annotations

from ._feedback_arc import FEEDBACK_ARC_METHODS, feedback_arc_positions
from ._map import MAP_METHODS, map_positions
from ._result import PredResult
from ._sort import sort_positions
from ._topological import topological_positions, topological_result, widest_cycle

__all__ = [
    "FEEDBACK_ARC_METHODS",
    "MAP_METHODS",
    "PREDS",
    "PredResult",
    "feedback_arc_positions",
    "map_positions",
    "sort_positions",
    "topological_positions",
    "topological_result",
    "widest_cycle",
]

#: Every prediction map by its name.
PREDS = {
    "sort": sort_positions,
    "topological": topological_positions,
    "feedback_arc": feedback_arc_positions,
    "map": map_positions,
}
