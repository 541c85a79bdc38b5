"""Comparison of rankers, runs and scores, with confidence intervals and tests over queries.

Names in ``__all__`` are public; the others are for use inside the package.
"""

from ._compare import compare, compare_values
from ._comparison import Comparison
from ._cross import cross_compare
from ._judged_run import JUDGED_MEASURES, JudgedRun, evaluate_run, run_measures
from ._rank_frame import rank_frame
from ._run_files import load_qrels, load_run, to_qrels, to_run
from ._statistics import TESTS

__all__ = [
    "Comparison",
    "compare",
    "compare_values",
    "cross_compare",
    "evaluate_run",
    "load_qrels",
    "load_run",
    "rank_frame",
    "to_qrels",
    "to_run",
]
