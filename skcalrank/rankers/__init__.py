"""Rankers: each is a measure, a surrogate, a prediction map and a regressor."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._access import calibration_of as calibration_of
    from ._access import check_partitions as check_partitions
    from ._access import in_closed_form as in_closed_form
    from ._access import is_ranker as is_ranker
    from ._access import measure_of as measure_of
    from ._access import ranker_in as ranker_in
    from ._access import require_qid as require_qid
    from ._access import scored_by as scored_by
    from ._access import seems_trained_on as seems_trained_on
    from ._access import why_weights_do_not_repeat as why_weights_do_not_repeat
    from ._aggregated import AggregatedRanker
    from ._all import RANKERS as RANKERS
    from ._base import BaseRanker
    from ._baselines import PairwiseHingeRanker, PairwiseLogisticRanker
    from ._binary import AUCRanker, PrecisionRanker, RBPRanker, RecallRanker
    from ._calibrated import Calibration as Calibration
    from ._chunks import FitInChunks as FitInChunks
    from ._chunks import learns_in_chunks as learns_in_chunks
    from ._cv import LeastSquaresRankerCV
    from ._difference_graph import DifferenceGraphRanker
    from ._err import ERRRanker
    from ._folds import make_splits as make_splits
    from ._front import Front
    from ._linear import LinearScorer
    from ._multilabel import MultiLabelRanker
    from ._order_preserving import OrderPreservingRanker
    from ._pair_base import PairRanker
    from ._pair_measure import LeastSquaresPairRanker
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
    from ._score import keeps_statistics as keeps_statistics
    from ._score import with_held_out as with_held_out
    from ._stochastic import StochasticAggregatedRanker
    from ._targets import TargetRanker as TargetRanker
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
    "LeastSquaresPairRanker",
    "LeastSquaresRanker",
    "LeastSquaresRankerCV",
    "LinearScorer",
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

# Modules are imported when one of their names is asked for, since most programs need few.
_NAMES = {
    "_access": (
        "calibration_of check_partitions in_closed_form is_ranker measure_of ranker_in "
        "require_qid scored_by seems_trained_on why_weights_do_not_repeat"
    ),
    "_aggregated": "AggregatedRanker",
    "_all": "RANKERS",
    "_base": "BaseRanker",
    "_baselines": "PairwiseHingeRanker PairwiseLogisticRanker",
    "_binary": "AUCRanker PrecisionRanker RBPRanker RecallRanker",
    "_calibrated": "Calibration",
    "_chunks": "FitInChunks learns_in_chunks",
    "_cv": "LeastSquaresRankerCV",
    "_difference_graph": "DifferenceGraphRanker",
    "_err": "ERRRanker",
    "_folds": "make_splits",
    "_front": "Front",
    "_linear": "LinearScorer",
    "_multilabel": "MultiLabelRanker",
    "_order_preserving": "OrderPreservingRanker",
    "_pair_base": "PairRanker",
    "_pair_measure": "LeastSquaresPairRanker",
    "_pairs": "AveragePrecisionRanker PairwiseDisagreementRanker",
    "_positional": (
        "DCGRanker ExpectedRankUtilityRanker LeastSquaresRanker NDCGRanker SpearmanRanker"
    ),
    "_record": "FitRecord",
    "_score": "ScoreRanker keeps_statistics with_held_out",
    "_stochastic": "StochasticAggregatedRanker",
    "_targets": "TargetRanker",
    "_value": "ValueRegularizedRanker",
}

if not TYPE_CHECKING:  # A type checker would believe that every name exists.

    def __getattr__(name: str) -> Any:
        module = next((m for m, names in _NAMES.items() if name in names.split()), None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
        return value

    def __dir__() -> Any:
        return sorted({*globals(), *" ".join(_NAMES.values()).split()})
