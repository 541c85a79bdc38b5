"""Estimators: each a measure, a surrogate, a prediction map and a regressor."""

from __future__ import annotations

from ._aggregated import AggregatedRanker
from ._base import BaseRanker, ScoreRanker
from ._baselines import PairwiseHingeRanker, PairwiseLogisticRanker
from ._cv import LeastSquaresRankerCV
from ._difference_graph import DifferenceGraphRanker
from ._err import ERRRanker
from ._linear import LinearScorer
from ._low_rank import LowRankLossClassifier
from ._order_preserving import OrderPreservingRanker
from ._pair_base import PairRanker
from ._pairs import AveragePrecisionRanker, PairwiseDisagreementRanker
from ._positional import (
    AUCRanker,
    DCGRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PrecisionRanker,
    RecallRanker,
    SpearmanRanker,
)
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
    "LeastSquaresRanker",
    "LeastSquaresRankerCV",
    "LinearScorer",
    "LowRankLossClassifier",
    "NDCGRanker",
    "OrderPreservingRanker",
    "PairRanker",
    "PairwiseDisagreementRanker",
    "PairwiseHingeRanker",
    "PairwiseLogisticRanker",
    "PrecisionRanker",
    "RecallRanker",
    "ScoreRanker",
    "SpearmanRanker",
    "StochasticAggregatedRanker",
    "ValueRegularizedRanker",
]
