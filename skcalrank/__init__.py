"""Learning to rank with surrogate losses that are proved consistent for the measure you name.

"Calibrated" has the meaning of learning theory, Fisher-consistent: minimizing the surrogate loss
leads to the best possible value of the measure. It does not mean that scores are probabilities.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from ._lazy import ROOMS, lazily

_ROOMS = {
    *("aggregation", "boosting", "calibration", "dask", "data", "datasets", "displays"),
    *("evaluation", "export", "inspection", "linear_model", "losses", "measures", "metrics"),
    *("model_selection", "persistence", "pipeline", "preds", "preprocessing", "rankers"),
    *("reliability", "stacking", "structured", "testing"),
}
ROOMS |= {
    room: partial(import_module, f".{room}", __name__) for room in ("boosting", "dask", "judgments")
}

if TYPE_CHECKING:
    from ._version import __version__ as __version__
    from ._version import show_versions as show_versions
    from .boosting import BoostedRanker as BoostedRanker
    from .boosting import ExternalRanker as ExternalRanker
    from .data import RankingTarget as RankingTarget
    from .datasets import load_digits_queries as load_digits_queries
    from .datasets import load_letor as load_letor
    from .datasets import load_table as load_table
    from .datasets import make_label_ranking as make_label_ranking
    from .datasets import make_offers as make_offers
    from .datasets import make_subset_ranking as make_subset_ranking
    from .datasets import sample_comparisons as sample_comparisons
    from .datasets import sample_sessions as sample_sessions
    from .evaluation import leaderboard as leaderboard
    from .judgments import ClickCounts as ClickCounts
    from .judgments import ClickSessions as ClickSessions
    from .judgments import MultiLabelTarget as MultiLabelTarget
    from .judgments import PreferenceTarget as PreferenceTarget
    from .metrics import get_scorer as get_scorer
    from .metrics import get_scorer_names as get_scorer_names
    from .model_selection import QueryKFold as QueryKFold
    from .model_selection import QueryShuffleSplit as QueryShuffleSplit
    from .model_selection import train_test_query_split as train_test_query_split
    from .rankers import AggregatedRanker as AggregatedRanker
    from .rankers import AUCRanker as AUCRanker
    from .rankers import AveragePrecisionRanker as AveragePrecisionRanker
    from .rankers import DCGRanker as DCGRanker
    from .rankers import ERRRanker as ERRRanker
    from .rankers import ExpectedRankUtilityRanker as ExpectedRankUtilityRanker
    from .rankers import LeastSquaresRanker as LeastSquaresRanker
    from .rankers import LeastSquaresRankerCV as LeastSquaresRankerCV
    from .rankers import MultiLabelRanker as MultiLabelRanker
    from .rankers import NDCGRanker as NDCGRanker
    from .rankers import OrderPreservingRanker as OrderPreservingRanker
    from .rankers import PairwiseDisagreementRanker as PairwiseDisagreementRanker
    from .rankers import PairwiseLogisticRanker as PairwiseLogisticRanker
    from .rankers import PrecisionRanker as PrecisionRanker
    from .rankers import RBPRanker as RBPRanker
    from .rankers import RecallRanker as RecallRanker
    from .rankers import SpearmanRanker as SpearmanRanker
    from .reliability import CalibratedRankerCV as CalibratedRankerCV
    from .reliability import GuaranteedCutoff as GuaranteedCutoff
    from .stacking import StackingRanker as StackingRanker
    from .stacking import TabularRanker as TabularRanker
else:
    __getattr__, __dir__, __all__ = lazily(__name__, _ROOMS)
