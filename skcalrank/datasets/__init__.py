"""Ranking data: made with a known law, embedded, or read from files."""

from __future__ import annotations

from ._container import RankingData
from ._digits import load_digits_queries
from ._letor import load_letor
from ._made import LabelMixture, make_subset_ranking

__all__ = [
    "LabelMixture",
    "RankingData",
    "load_digits_queries",
    "load_letor",
    "make_subset_ranking",
]
