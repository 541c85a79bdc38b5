"""Metrics of rankings, with exact expectation over ties, and scorers."""

from __future__ import annotations

from . import _functions
from ._evaluate import check_several as check_several
from ._evaluate import evaluate, measure_score
from ._functions import *  # noqa: F403
from ._scorer import RankingScorer, get_scorer, get_scorer_names
from ._scorer import predict_with_queries as predict_with_queries
from ._values import EMPTY as EMPTY
from ._values import CheckedTarget as CheckedTarget
from ._values import MeasuredLabels as MeasuredLabels
from ._values import Policies as Policies
from ._values import PreparedScore as PreparedScore
from ._values import fill_undefined as fill_undefined
from ._values import mean_of_queries as mean_of_queries

__all__ = ["RankingScorer", "evaluate", "get_scorer", "get_scorer_names", "measure_score"]
__all__ += _functions.__all__
