"""Learning to rank with surrogate losses that are proved consistent for the measure you name.

"Calibrated" has the meaning of learning theory, Fisher-consistent: minimizing the surrogate loss
leads to the best possible value of the measure. It does not mean that scores are probabilities.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from ._above import ROOMS
from ._version import __version__, show_versions

if TYPE_CHECKING:
    from .boosting import BoostedRanker, ExternalRanker
    from .data import RankingTarget
    from .datasets import (
        load_digits_queries,
        load_letor,
        load_table,
        make_label_ranking,
        make_offers,
        make_subset_ranking,
        sample_comparisons,
        sample_sessions,
    )
    from .judgments import ClickCounts, ClickSessions, MultiLabelTarget, PreferenceTarget
    from .metrics import get_scorer, get_scorer_names
    from .model_selection import QueryKFold, QueryShuffleSplit, train_test_query_split
    from .rankers import (
        AggregatedRanker,
        AUCRanker,
        AveragePrecisionRanker,
        DCGRanker,
        ERRRanker,
        ExpectedRankUtilityRanker,
        LeastSquaresRanker,
        LeastSquaresRankerCV,
        MultiLabelRanker,
        NDCGRanker,
        OrderPreservingRanker,
        PairwiseDisagreementRanker,
        PairwiseLogisticRanker,
        PrecisionRanker,
        RBPRanker,
        RecallRanker,
        SpearmanRanker,
    )
    from .reliability import CalibratedRankerCV, GuaranteedCutoff
    from .stacking import StackingRanker, TabularRanker

__all__ = [
    "AUCRanker",
    "AggregatedRanker",
    "AveragePrecisionRanker",
    "BoostedRanker",
    "CalibratedRankerCV",
    "ClickCounts",
    "ClickSessions",
    "DCGRanker",
    "ERRRanker",
    "ExpectedRankUtilityRanker",
    "ExternalRanker",
    "GuaranteedCutoff",
    "LeastSquaresRanker",
    "LeastSquaresRankerCV",
    "MultiLabelRanker",
    "MultiLabelTarget",
    "NDCGRanker",
    "OrderPreservingRanker",
    "PairwiseDisagreementRanker",
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
    "TabularRanker",
    "__version__",
    "get_scorer",
    "get_scorer_names",
    "load_digits_queries",
    "load_letor",
    "load_table",
    "make_label_ranking",
    "make_offers",
    "make_subset_ranking",
    "sample_comparisons",
    "sample_sessions",
    "show_versions",
    "train_test_query_split",
]

# Rooms are imported when they or one of their names are asked for, since most programs need few.
_ROOMS = {
    *("aggregation", "boosting", "calibration", "dask", "data", "datasets", "displays"),
    *("evaluation", "export", "inspection", "linear_model", "losses", "measures", "metrics"),
    *("model_selection", "persistence", "pipeline", "preds", "preprocessing", "rankers"),
    *("reliability", "stacking", "structured", "testing"),
}
# The other public names are those of rankers.
_NAMES = {
    "boosting": "BoostedRanker ExternalRanker",
    "data": "RankingTarget",
    "datasets": (
        "load_digits_queries load_letor load_table make_label_ranking make_offers "
        "make_subset_ranking sample_comparisons sample_sessions"
    ),
    "judgments": "ClickCounts ClickSessions MultiLabelTarget PreferenceTarget",
    "metrics": "get_scorer get_scorer_names",
    "model_selection": "QueryKFold QueryShuffleSplit train_test_query_split",
    "reliability": "CalibratedRankerCV GuaranteedCutoff",
    "stacking": "StackingRanker TabularRanker",
}


ROOMS |= {
    room: partial(import_module, f".{room}", __name__) for room in ("boosting", "dask", "judgments")
}

if not TYPE_CHECKING:  # A type checker would believe that every name exists.

    def __getattr__(name):
        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        room = next((r for r, names in _NAMES.items() if name in names.split()), "rankers")
        value = globals()[name] = getattr(import_module(f".{room}", __name__), name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__, *_ROOMS})
