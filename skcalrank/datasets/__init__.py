"""Ranking data: made with a known distribution, embedded, or read from files.

Names in ``__all__`` are public; the others are for other modules of the package.
"""

from ._container import LabelRankingData, RankingData
from ._csv_files import Columns
from ._digits import load_digits_queries
from ._files import OPENERS, byte_lines, is_larger_unpacked, needs, text_lines, to_float
from ._letor import Form, document_of, group_file, is_row, load_letor, read_chunks
from ._load_table import load_table
from ._made import LabelMixture, OrderMixture, make_label_ranking, make_subset_ranking
from ._made_judgments import sample_comparisons, sample_sessions
from ._made_offers import make_offers
from ._preflib import load_preflib
from ._table_files import TABLES, read_table, table_files, table_format

__all__ = [
    "LabelMixture",
    "LabelRankingData",
    "OrderMixture",
    "RankingData",
    "load_digits_queries",
    "load_letor",
    "load_preflib",
    "load_table",
    "make_label_ranking",
    "make_offers",
    "make_subset_ranking",
    "sample_comparisons",
    "sample_sessions",
]
