"""Learning to rank with surrogate losses that are proved consistent for the measure you name.

"Calibrated" has the meaning of learning theory, Fisher-consistent: minimizing the surrogate loss
leads to the best possible value of the measure. It does not mean that scores are probabilities.
"""

from __future__ import annotations

from types import ModuleType

from ._dask import set_backend
from ._show_versions import show_versions
from ._version import __version__
from .boosting import BoostedRanker
from .data import (
    ClickSessions,
    CutQueriesWarning,
    MissingQidError,
    MultiLabelTarget,
    NotAMeanWarning,
    OneQueryWarning,
    PreferenceTarget,
    RankingTarget,
)
from .datasets import (
    load_digits_queries,
    load_label_ranking,
    load_letor,
    load_movielens,
    load_preflib,
    load_sushi,
    load_table,
    make_label_ranking,
    make_subset_ranking,
    sample_comparisons,
    sample_sessions,
)
from .metrics import get_scorer, get_scorer_names
from .model_selection import QueryKFold, QueryShuffleSplit, train_test_query_split
from .rankers import (
    AggregatedRanker,
    AUCRanker,
    AveragePrecisionRanker,
    DCGRanker,
    DifferenceGraphRanker,
    ERRRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    LowRankLossClassifier,
    MultiLabelRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseHingeRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    RBPRanker,
    RecallRanker,
    SpearmanRanker,
    StochasticAggregatedRanker,
    ValueRegularizedRanker,
)
from .stacking import StackingRanker, tabular_ranker


def _load_dask() -> ModuleType:
    """Import the room of dask collections, below which nobody can."""
    from . import dask

    return dask


set_backend(_load_dask)

__all__ = [
    "AUCRanker",
    "AggregatedRanker",
    "AveragePrecisionRanker",
    "BoostedRanker",
    "ClickSessions",
    "CutQueriesWarning",
    "DCGRanker",
    "DifferenceGraphRanker",
    "ERRRanker",
    "ExpectedRankUtilityRanker",
    "LeastSquaresRanker",
    "LeastSquaresRankerCV",
    "LowRankLossClassifier",
    "MissingQidError",
    "MultiLabelRanker",
    "MultiLabelTarget",
    "NDCGRanker",
    "NotAMeanWarning",
    "OneQueryWarning",
    "OrderPreservingRanker",
    "PairwiseDisagreementRanker",
    "PairwiseHingeRanker",
    "PairwiseLogisticRanker",
    "PrecisionRanker",
    "PreferenceTarget",
    "QueryKFold",
    "QueryShuffleSplit",
    "RBPRanker",
    "RankingTarget",
    "RecallRanker",
    "SpearmanRanker",
    "StackingRanker",
    "StochasticAggregatedRanker",
    "ValueRegularizedRanker",
    "__version__",
    "get_scorer",
    "get_scorer_names",
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
    "show_versions",
    "tabular_ranker",
    "train_test_query_split",
]
