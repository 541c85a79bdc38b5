"""Rankers that combine the scores of other rankers."""

from ._ranker import StackingRanker
from ._tabular import tabular_ranker

__all__ = ["StackingRanker", "tabular_ranker"]
