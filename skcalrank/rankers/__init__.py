"""Rankers: each is a measure, a surrogate, a prediction map and a regressor."""

from typing import TYPE_CHECKING

from .._lazy import lazily

if TYPE_CHECKING:
    from ._aggregated import AggregatedRanker as AggregatedRanker
    from ._base import BaseRanker as BaseRanker
    from ._baselines import PairwiseHingeRanker as PairwiseHingeRanker
    from ._baselines import PairwiseLogisticRanker as PairwiseLogisticRanker
    from ._binary import AUCRanker as AUCRanker
    from ._binary import PrecisionRanker as PrecisionRanker
    from ._binary import RBPRanker as RBPRanker
    from ._binary import RecallRanker as RecallRanker
    from ._cv import LeastSquaresRankerCV as LeastSquaresRankerCV
    from ._difference_graph import DifferenceGraphRanker as DifferenceGraphRanker
    from ._err import ERRRanker as ERRRanker
    from ._front import Front as Front
    from ._linear import LinearScorer as LinearScorer
    from ._multilabel import MultiLabelRanker as MultiLabelRanker
    from ._order_preserving import OrderPreservingRanker as OrderPreservingRanker
    from ._pair_base import PairRanker as PairRanker
    from ._pair_measure import LeastSquaresPairRanker as LeastSquaresPairRanker
    from ._pairs import AveragePrecisionRanker as AveragePrecisionRanker
    from ._pairs import PairwiseDisagreementRanker as PairwiseDisagreementRanker
    from ._positional import DCGRanker as DCGRanker
    from ._positional import ExpectedRankUtilityRanker as ExpectedRankUtilityRanker
    from ._positional import LeastSquaresRanker as LeastSquaresRanker
    from ._positional import NDCGRanker as NDCGRanker
    from ._positional import SpearmanRanker as SpearmanRanker
    from ._score import ScoreRanker as ScoreRanker
    from ._stochastic import StochasticAggregatedRanker as StochasticAggregatedRanker
    from ._value import ValueRegularizedRanker as ValueRegularizedRanker
else:
    __getattr__, __dir__, __all__ = lazily(__name__)

if TYPE_CHECKING:  # names for use inside the package
    from ._access import (
        calibration_of,
        check_partitions,
        checked_plan,
        in_closed_form,
        is_by_query,
        is_ranker,
        losses_of,
        measure_of,
        ranker_in,
        require_qid,
        scored_by,
        seems_trained_on,
        why_weights_do_not_repeat,
    )
    from ._all import RANKERS
    from ._chunks import FitInChunks, learns_in_chunks
    from ._door import door
    from ._folds import make_splits
    from ._known_calibration import Calibration
    from ._plan import FIT, Call, Plan
    from ._record import FitRecord
    from ._score import keeps_statistics, with_held_out
