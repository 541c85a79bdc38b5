"""Metrics of rankings, with exact expectation over ties, and scorers."""

from __future__ import annotations

from . import _functions
from ._evaluate import EMPTY as EMPTY
from ._evaluate import PreparedScore as PreparedScore
from ._evaluate import evaluate, measure_score
from ._evaluate import fill_undefined as fill_undefined
from ._evaluate import mean_of_queries as mean_of_queries
from ._evaluate import values_per_query as values_per_query
from ._functions import *  # noqa: F403
from ._scorer import RankingScorer, get_scorer, get_scorer_names
from ._scorer import predict_with_queries as predict_with_queries

__all__ = ["RankingScorer", "evaluate", "get_scorer", "get_scorer_names", "measure_score"]
__all__ += _functions.__all__
