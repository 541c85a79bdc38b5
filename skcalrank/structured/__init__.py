"""Predictions of any kind for any loss: labels are vectors, whose means decide.

Provisional: names may change between minor versions, with an entry in the changelog.
"""

from ._f_measure import FMeasure, FMeasureClassifier
from ._factors import Factors
from ._low_rank import LowRankLossClassifier
from ._orders import HitLoss, OrderHamming, RPrecisionLoss
from ._predictor import StructuredPredictor
from ._registry import FACTORS, get_factors

__all__ = [
    "FACTORS",
    "FMeasure",
    "FMeasureClassifier",
    "Factors",
    "HitLoss",
    "LowRankLossClassifier",
    "OrderHamming",
    "RPrecisionLoss",
    "StructuredPredictor",
    "get_factors",
]
