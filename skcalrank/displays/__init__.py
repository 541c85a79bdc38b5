"""Displays of rankings, of regret and of surrogates, in the style of scikit-learn's.

A display stores its parameters, plain arrays, as attributes. Its class methods compute them, draw
them and return the display: ``from_estimator`` of a fitted one, ``from_predictions`` of what it
predicts, ``from_comparison`` of several systems, ``from_front`` of many mixes; curves and bounds of
regret, which take more than one prediction, are made ``from_estimators``, ``from_results``,
``from_regrets``, ``from_loss``, ``from_values`` and ``from_surrogate``. Its method
``plot(ax=None, *, name=None, ...)`` draws them again, returns the display, and leaves the artists
in attributes that end in an underscore (``ax_``, ``figure_``, ``line_``, ...). Style goes to
matplotlib in dictionaries, one for each kind of artist (``curve_kwargs``, ``band_kwargs``, ...).

matplotlib is needed to plot only: ``pip install skcalrank[plot]``.
"""

from __future__ import annotations

from ._calibration_function import CalibrationFunctionDisplay
from ._comparison import ComparisonDisplay, QueryDifferenceDisplay
from ._contribution import ContributionDisplay
from ._front import FrontDisplay
from ._measure_at_k import MeasureAtKDisplay
from ._pair_matrix import PairMatrixDisplay
from ._regret_bound import RegretBoundDisplay
from ._regret_curve import RegretCurveDisplay

__all__ = [
    "CalibrationFunctionDisplay",
    "ComparisonDisplay",
    "ContributionDisplay",
    "FrontDisplay",
    "MeasureAtKDisplay",
    "PairMatrixDisplay",
    "QueryDifferenceDisplay",
    "RegretBoundDisplay",
    "RegretCurveDisplay",
]
