"""Displays of rankings, of regret and of surrogates, like the displays of scikit-learn.

A display stores plain arrays as attributes. Its class methods compute these arrays, plot them and
return the display: ``from_estimator`` from a fitted estimator, ``from_predictions`` from
predictions, ``from_comparison`` from a comparison of systems, ``from_sensitivity`` from an offline
evaluation, ``from_front`` from the front of a :class:`~skcalrank.MultiLabelRanker`. Curves and
bounds of regret have the class methods ``from_estimators``, ``from_results``, ``from_regrets``,
``from_loss``, ``from_values`` and ``from_surrogate``. The method ``plot(ax=None, *, name=None,
...)`` plots the arrays again, returns the display, and stores the artists in attributes that end in
an underscore (``ax_``, ``figure_``, ``line_``, ...). Dictionaries with style for matplotlib have
one parameter for each kind of artist (``curve_kwargs``, ``band_kwargs``, ...).

matplotlib is needed for plotting only: ``pip install skcalrank[plot]``.
"""

from ._calibration_function import CalibrationFunctionDisplay
from ._comparison import ComparisonDisplay, QueryDifferenceDisplay
from ._contribution import ContributionDisplay
from ._front import FrontDisplay
from ._importance import ImportanceDisplay
from ._measure_at_k import MeasureAtKDisplay
from ._pair_matrix import PairMatrixDisplay
from ._regret_bound import RegretBoundDisplay
from ._regret_curve import RegretCurveDisplay
from ._reliability import CutoffDisplay, ReliabilityDisplay
from ._sensitivity import PropensitySensitivityDisplay
from ._top_contributions import TopContributionsDisplay
from ._training_curve import TrainingCurveDisplay

__all__ = [
    "CalibrationFunctionDisplay",
    "ComparisonDisplay",
    "ContributionDisplay",
    "CutoffDisplay",
    "FrontDisplay",
    "ImportanceDisplay",
    "MeasureAtKDisplay",
    "PairMatrixDisplay",
    "PropensitySensitivityDisplay",
    "QueryDifferenceDisplay",
    "RegretBoundDisplay",
    "RegretCurveDisplay",
    "ReliabilityDisplay",
    "TopContributionsDisplay",
    "TrainingCurveDisplay",
]
