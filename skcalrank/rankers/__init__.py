"""Estimators: each a measure, a surrogate, a prediction map and a regressor."""

from __future__ import annotations

from inspect import isabstract

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

#: Every ranker by the name of its class.
RANKERS: dict[str, type[BaseRanker]] = {
    name: cls
    for name, cls in ((name, globals()[name]) for name in __all__)
    if issubclass(cls, BaseRanker) and not isabstract(cls)
}


def is_ranker(estimator) -> bool:
    """Return whether an estimator is a ranker of the package, which knows its measure."""
    return isinstance(estimator, BaseRanker)


def measure_of(estimator):
    """Return the measure of a ranker, or None for another estimator."""
    return estimator._measure() if is_ranker(estimator) else None


def why_weights_do_not_repeat(ranker: BaseRanker) -> str | None:
    """Return why a weight is not a repetition of the row, or None where it is."""
    return ranker._why_weights_do_not_repeat()
