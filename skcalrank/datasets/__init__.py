"""Ranking data: made with a known law, embedded, or read from files."""

from __future__ import annotations

from ._container import LabelRankingData, RankingData
from ._digits import load_digits_queries
from ._letor import load_letor
from ._made import LabelMixture, make_subset_ranking
from ._made_judgments import sample_comparisons, sample_sessions
from ._made_orders import OrderMixture, make_label_ranking
from ._movielens import MovieLensData, load_movielens
from ._preflib import load_preflib
from ._tables import load_label_ranking, load_sushi

__all__ = [
    "LabelMixture",
    "LabelRankingData",
    "MovieLensData",
    "OrderMixture",
    "RankingData",
    "load_digits_queries",
    "load_label_ranking",
    "load_letor",
    "load_movielens",
    "load_preflib",
    "load_sushi",
    "make_label_ranking",
    "make_subset_ranking",
    "sample_comparisons",
    "sample_sessions",
]
