"""Rankers that add up others."""

from __future__ import annotations

from ._ranker import StackingRanker
from ._tabular import tabular_ranker
from ._views import signed_log1p as signed_log1p

__all__ = ["StackingRanker", "tabular_ranker"]
