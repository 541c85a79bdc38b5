"""Rankers that combine the scores of other rankers."""

from ._compiled import CompiledScorer, View, scorer_of
from ._ranker import StackingRanker
from ._tabular import TabularRanker

__all__ = ["StackingRanker", "TabularRanker"]
