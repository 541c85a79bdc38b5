"""Rankers: each is a measure, a surrogate, a prediction map and a regressor."""

from __future__ import annotations

from inspect import isabstract

from ._access import check_partitions as check_partitions
from ._access import is_ranker as is_ranker
from ._access import measure_of as measure_of
from ._access import reads_diagonal as reads_diagonal
from ._access import require_qid as require_qid
from ._access import scored_by as scored_by
from ._access import why_weights_do_not_repeat as why_weights_do_not_repeat
from ._aggregated import AggregatedRanker
from ._base import BaseRanker
from ._baselines import PairwiseHingeRanker, PairwiseLogisticRanker
from ._binary import AUCRanker, PrecisionRanker, RBPRanker, RecallRanker
from ._cv import LeastSquaresRankerCV
from ._difference_graph import DifferenceGraphRanker
from ._err import ERRRanker
from ._folds import make_splits as make_splits
from ._front import Front
from ._linear import LinearScorer
from ._low_rank import LowRankLossClassifier
from ._multilabel import MultiLabelRanker
from ._order_preserving import OrderPreservingRanker
from ._pair_base import PairRanker
from ._pairs import AveragePrecisionRanker, PairwiseDisagreementRanker
from ._positional import (
    DCGRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    NDCGRanker,
    SpearmanRanker,
)
from ._record import FitRecord as FitRecord
from ._score import ScoreRanker
from ._stochastic import StochasticAggregatedRanker
from ._value import ValueRegularizedRanker

__all__ = [
    "AUCRanker",
    "AggregatedRanker",
    "AveragePrecisionRanker",
    "BaseRanker",
    "DCGRanker",
    "DifferenceGraphRanker",
    "ERRRanker",
    "ExpectedRankUtilityRanker",
    "Front",
    "LeastSquaresRanker",
    "LeastSquaresRankerCV",
    "LinearScorer",
    "LowRankLossClassifier",
    "MultiLabelRanker",
    "NDCGRanker",
    "OrderPreservingRanker",
    "PairRanker",
    "PairwiseDisagreementRanker",
    "PairwiseHingeRanker",
    "PairwiseLogisticRanker",
    "PrecisionRanker",
    "RBPRanker",
    "RecallRanker",
    "ScoreRanker",
    "SpearmanRanker",
    "StochasticAggregatedRanker",
    "ValueRegularizedRanker",
]

#: Ranker classes by name, for one label per document or for judgments of a query.
RANKERS: dict[str, type[BaseRanker]] = {
    name: cls
    for name, cls in ((name, globals()[name]) for name in __all__)
    if issubclass(cls, BaseRanker) and not isabstract(cls) and cls is not MultiLabelRanker
}
