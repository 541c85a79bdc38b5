"""Estimators: each a measure, a surrogate, a prediction map and a regressor."""

from __future__ import annotations

from ._err import ERRRanker
from ._low_rank import LowRankLossClassifier
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

__all__ = [
    "AUCRanker",
    "AveragePrecisionRanker",
    "DCGRanker",
    "ERRRanker",
    "ExpectedRankUtilityRanker",
    "LeastSquaresRanker",
    "LowRankLossClassifier",
    "NDCGRanker",
    "PairRanker",
    "PairwiseDisagreementRanker",
    "PrecisionRanker",
    "RecallRanker",
    "SpearmanRanker",
]
