"""Base classes of measures by their options: a cutoff, a relevance level, a gain."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..columns.types import Bools, Floats, Ints, Self
from ..data import NotGradesWarning, Queries, check, warn
from ._base import Measure
from ._families import Discount, Gain, as_places, own_discount, own_gain

# Labels are amounts if one is above the largest grade of LightGBM, or if more than so many
# different ones are no integers and one is above the usual grades.
_LARGEST, _MOST_PARTS, _USUAL = 31, 50, 5


@dataclass(frozen=True, repr=False)
class CutoffMeasure(Measure):
    """Base class of measures of the first k positions."""

    has_cutoff: ClassVar[bool] = True
    top_only: ClassVar[bool] = True
    k: int | None = None

    def _last_position(self, sizes: Ints) -> int | Ints:
        """Return k, or if it is None, the last positions of queries of these sizes."""
        return sizes if self.k is None else self.k

    def _up_to_k(self, values: Floats, positions: Ints) -> Floats:
        """Return values at some positions, which are 0 beyond the cutoff."""
        return values if self.k is None else values * (positions <= self.k)


@dataclass(frozen=True, repr=False)
class BinaryMeasure(Measure):
    """Base class of measures that distinguish relevant and irrelevant documents only."""

    is_binary: ClassVar[bool] = True
    relevance_level: float | None = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relevance_level is not None:
            check.number("relevance_level", self.relevance_level, "", "or None")

    def is_linear(self, targets: str = "measure") -> bool:
        return self.relevance_level is None and (targets == "separable" or self.separable)

    def of_estimates(self) -> Self:
        return replace(self, relevance_level=None) if self.relevance_level == 1 else self

    def labels(self, y: Floats) -> Floats:
        if self.relevance_level is not None:
            return (y >= self.relevance_level).astype(float)
        other = (y != 0) & (y != 1)
        if other.any():
            raise ValueError(
                f"y must hold 0 and 1 for {self.full_name}, got {y[other][0]:g}. Set "
                "relevance_level=1, for example: documents with y >= 1 are then relevant. It is a "
                "parameter of estimators, metrics, compare, get_scorer and get_measure, as in "
                f"get_scorer({self.full_name!r}, relevance_level=1). If y holds estimates and not "
                "labels, pass them to fit_targets."
            )
        return y


@dataclass(frozen=True, repr=False)
class RelativeMeasure(BinaryMeasure):
    """Base class of measures relative to the number of relevant documents of the query."""

    needs: ClassVar[str] = "a relevant document"
    largest_value: ClassVar[float] = 1.0

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        return queries.sum(y) == 0

    def separable_targets(self, y: Floats) -> Floats:
        return y


@dataclass(frozen=True, repr=False)
class IndependentMeasure(BinaryMeasure):
    """Base class of measures that are calibrated if relevances are independent given the query."""

    calibration: ClassVar[str | None] = "independence"
    separable: ClassVar[bool] = True

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Return the relevances.

        Sorting by their means is best if relevances are independent given the query.
        """
        return y

    def separable_targets(self, y: Floats) -> Floats:
        return y


class GainMeasure(CutoffMeasure):
    """Base class of measures with a gain of grades and a discount of positions.

    A subclass declares both as parameters.
    """

    positive_only: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    _gain_names: ClassVar[tuple[str, ...]]
    _largest_gain: ClassVar[float] = np.inf
    gain: Gain
    discount: Discount | None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gain", own_gain(self.gain, self._gain_names, self._largest_gain))
        object.__setattr__(self, "discount", own_discount(self.discount))

    def is_linear(self, targets: str = "measure") -> bool:
        return self.gain == "linear" and (targets == "separable" or self.separable)

    def labels(self, y: Floats) -> Floats:
        if y.size and y.min() < 0:
            raise ValueError(
                f"y must be non-negative for {self.name}, got the relevance {y.min():g}. Shift "
                "grades so that the lowest is 0. If y holds estimates and not labels, pass them to "
                "fit_targets."
            )
        if isinstance(self.gain, tuple):
            as_places(y, len(self.gain))
        return y

    @property
    def doubles(self) -> bool:
        return not self.takes_fractions

    @property
    def takes_fractions(self) -> bool:
        return self.gain != "exponential"


def warn_unless_grades(measures: Iterable[Measure], y: Floats) -> None:
    """Warn once if a gain 2^y - 1 gets amounts, or the usual level labels between grades."""
    measures = list(measures)
    # Another level than 1 was chosen for the labels.
    if any(measure.level == 1 for measure in measures) and (y % 1 > 0).any():
        warn(
            "Documents with y >= 1 are relevant for binary measures, and y holds labels that are "
            "not whole numbers. Set relevance_level to the label from which documents are "
            "relevant: a parameter of estimators, metrics, comparisons and get_scorer, as in "
            "get_scorer('map', relevance_level=0.5). If y holds estimates and not labels, pass "
            "them to fit_targets.",
            NotGradesWarning,
        )
    if any(measure.doubles for measure in measures) and _are_amounts(y):
        # The same words from each fold and ranker: Python shows them once.
        warn(
            "The gain 2^y - 1 takes labels for grades, and got what may be amounts, such as of "
            f"money: labels above {_LARGEST}, or more than {_MOST_PARTS} different fractions "
            f"and a label above {_USUAL}. A few documents then outweigh all others. Pass "
            "gain='linear' to an estimator or metric that has it, or to its measure, as in "
            "measure=NDCG(k=10, gain='linear'); or a function as gain, or labels on a scale of "
            "grades.",
            NotGradesWarning,
        )


def _are_amounts(y: Floats) -> bool:
    highest = y.max(initial=0.0)
    if highest > _LARGEST:
        return True
    parts = y[y % 1 != 0] if highest > _USUAL else y[:0]
    return len(parts) > _MOST_PARTS and len(np.unique(parts)) > _MOST_PARTS
