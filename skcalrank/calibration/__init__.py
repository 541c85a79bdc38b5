"""Calibration of surrogates: whether it holds, how well, and under which noise.

"Calibrated" is meant as in learning theory: Fisher-consistent, not probability calibration.
"""

from ..rankers import Calibration, calibration_of
from ._bounds import c_phi, regret_bound
from ._conditions import (
    CONDITIONS,
    Condition,
    dag_condition,
    low_noise_condition,
    rank_differentiable_condition,
    reinforce_condition,
    score_condition,
)
from ._context import ContextReport, context_report
from ._curve import regret_curve
from ._dimension import CalibrationDimension, calibration_dimension
from ._distribution import LabelDistribution
from ._function import calibration_function, inconsistency_level
from ._gap import CalibrationGap, calibration_gap, find_counterexample
from ._margin import MarginReport, margin_report
from ._report import NoiseReport, noise_report
from ._rows import SharedRows
from ._surrogates import SURROGATES

__all__ = [
    "CONDITIONS",
    "SURROGATES",
    "Calibration",
    "CalibrationDimension",
    "CalibrationGap",
    "Condition",
    "ContextReport",
    "LabelDistribution",
    "MarginReport",
    "NoiseReport",
    "SharedRows",
    "c_phi",
    "calibration_dimension",
    "calibration_function",
    "calibration_gap",
    "calibration_of",
    "context_report",
    "dag_condition",
    "find_counterexample",
    "inconsistency_level",
    "low_noise_condition",
    "margin_report",
    "noise_report",
    "rank_differentiable_condition",
    "regret_bound",
    "regret_curve",
    "reinforce_condition",
    "score_condition",
]
