"""Prediction maps: from surrogate values to positions. Arrays in, arrays out."""

from __future__ import annotations

from ._sort import sort_positions

__all__ = ["PREDS", "sort_positions"]

#: Every prediction map by its name.
PREDS = {"sort": sort_positions}
