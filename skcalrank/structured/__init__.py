"""Predictions of any kind for any loss: labels are vectors, whose means decide."""

from ._factors import FACTORS, Factors, OrderHamming, get_factors
from ._low_rank import LowRankLossClassifier
from ._predictor import StructuredPredictor

__all__ = [
    "FACTORS",
    "Factors",
    "LowRankLossClassifier",
    "OrderHamming",
    "StructuredPredictor",
    "get_factors",
]
