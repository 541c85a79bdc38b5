"""Displays of rankings and of rankers, like the displays of scikit-learn.

A display stores plain arrays as attributes. Its class methods compute these arrays, plot them and
return the display: ``from_estimator`` from a fitted estimator, ``from_predictions`` from
predictions, ``from_explanation`` from an explanation, ``from_comparison`` from a comparison of
systems, ``from_leaderboard`` from a leaderboard. The method ``plot(ax=None, *, name=None, ...)``
plots the arrays again, returns the display, and stores the artists in attributes that end in an
underscore (``ax_``, ``figure_``, ``line_``, ...). Dictionaries with style for matplotlib have one
parameter for each kind of artist (``curve_kwargs``, ``band_kwargs``, ...).

matplotlib is needed for plotting only: ``pip install skcalrank[plot]``.
"""

from ._comparison import ComparisonDisplay, QueryDifferenceDisplay
from ._contribution import ContributionDisplay, ImportanceDisplay
from ._leaderboard import LeaderboardDisplay
from ._measure_at_k import MeasureAtKDisplay
from ._reliability import CutoffDisplay, ReliabilityDisplay
from ._top_contributions import TopContributionsDisplay
from ._training_curve import TrainingCurveDisplay

__all__ = [
    "ComparisonDisplay",
    "ContributionDisplay",
    "CutoffDisplay",
    "ImportanceDisplay",
    "LeaderboardDisplay",
    "MeasureAtKDisplay",
    "QueryDifferenceDisplay",
    "ReliabilityDisplay",
    "TopContributionsDisplay",
    "TrainingCurveDisplay",
]
