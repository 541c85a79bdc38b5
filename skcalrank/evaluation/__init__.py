"""Comparison of rankers, runs and scores, with confidence intervals and tests over queries.

Rankings that were never shown are evaluated from the clicks on others.

Names in ``__all__`` are public; the others are for use inside the package.
"""

from ._click_ranker import ClickChoice, ClickReport, click_ranker
from ._compare import compare, compare_values
from ._comparison import ABOUT_JUDGED, Comparison, are_corrected, numbers_of
from ._comparison_tables import names_and_marks, of_systems, p_text
from ._cross import cross_compare
from ._evaluate_run import JUDGED_MEASURES, RunValues, evaluate_run, run_measures, trec_name
from ._leaderboard import Leaderboard, ScoreDifference, leaderboard, rank_sets
from ._offline import OfflineEstimate, Safety, Sensitivity, offline_evaluate
from ._options import EMPTY_OF_MEANS, Policies, make_measure
from ._rank_frame import rank_frame, top_rows
from ._regression_means import RegressionMeans
from ._run_files import load_qrels, load_run, to_qrels, to_run
from ._run_kinds import name_of
from ._run_sources import JudgedRun, Qrels, Run
from ._statistics import PAIRS, TESTS, Methods, Moments
from ._table import Cell, Table

__all__ = [
    "ClickChoice",
    "ClickReport",
    "Comparison",
    "Leaderboard",
    "Methods",
    "OfflineEstimate",
    "Policies",
    "Qrels",
    "Run",
    "RunValues",
    "Safety",
    "ScoreDifference",
    "Sensitivity",
    "click_ranker",
    "compare",
    "compare_values",
    "cross_compare",
    "evaluate_run",
    "leaderboard",
    "load_qrels",
    "load_run",
    "offline_evaluate",
    "rank_frame",
    "rank_sets",
    "to_qrels",
    "to_run",
]
