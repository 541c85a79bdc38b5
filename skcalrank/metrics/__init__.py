"""Metrics of rankings, with exact expectation over ties, and scorers made of them."""

from __future__ import annotations

from ._evaluate import EMPTY as EMPTY
from ._evaluate import evaluate, measure_score
from ._evaluate import values_per_query as values_per_query
from ._functions import (
    auc_score,
    average_precision_score,
    dcg_score,
    err_score,
    eru_score,
    kendall_score,
    ndcg_score,
    pairwise_disagreement_loss,
    precision_at_k_score,
    recall_at_k_score,
    reciprocal_rank_score,
    spearman_score,
)
from ._scorer import RankingScorer, get_scorer, get_scorer_names
from ._scorer import predict_with_queries as predict_with_queries

__all__ = [
    "RankingScorer",
    "auc_score",
    "average_precision_score",
    "dcg_score",
    "err_score",
    "eru_score",
    "evaluate",
    "get_scorer",
    "get_scorer_names",
    "kendall_score",
    "measure_score",
    "ndcg_score",
    "pairwise_disagreement_loss",
    "precision_at_k_score",
    "recall_at_k_score",
    "reciprocal_rank_score",
    "spearman_score",
]
