"""Metrics of rankings, with exact expectation over ties, and scorers."""

from . import _functions
from ._evaluate import check_several, evaluate, measure_score
from ._functions import *  # noqa: F403
from ._scorer import (
    RankingScorer,
    get_scorer,
    get_scorer_names,
    predict_with_queries,
    warn_of_queries,
)
from ._unit_errors import Bins, checked_values, document_calibration_error, query_calibration_error
from ._values import (
    EMPTY,
    CheckedTarget,
    MeasuredLabels,
    PreparedScore,
    RowPolicies,
    fill_undefined,
    mean_of_queries,
    undefined_mean,
)

__all__ = ["RankingScorer", "evaluate", "get_scorer", "get_scorer_names", "measure_score"]
__all__ += ["document_calibration_error", "query_calibration_error", *_functions.__all__]
