"""Ranking data: made with a known distribution, embedded, or read from files.

Names in ``__all__`` are public; the others are for other modules of the package.
"""

from __future__ import annotations

from ._container import LabelRankingData, RankingData
from ._digits import load_digits_queries
from ._files import OPENERS as OPENERS
from ._files import open_bytes as open_bytes
from ._files import read_text as read_text
from ._files import to_float as to_float
from ._letor import Form as Form
from ._letor import group_file as group_file
from ._letor import load_letor
from ._letor import read_chunks as read_chunks
from ._load_table import load_table
from ._load_table import read_frame as read_frame
from ._made import LabelMixture, make_subset_ranking
from ._made_judgments import sample_comparisons, sample_sessions
from ._made_orders import OrderMixture, make_label_ranking
from ._movielens import MovieLensData, load_movielens
from ._preflib import load_preflib
from ._sushi import load_sushi
from ._tables import load_label_ranking
from ._tabular import TABLES as TABLES
from ._tabular import Columns as Columns
from ._tabular import needs as needs
from ._tabular import read_table as read_table
from ._tabular import table_format as table_format

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
    "load_table",
    "make_label_ranking",
    "make_subset_ranking",
    "sample_comparisons",
    "sample_sessions",
]
