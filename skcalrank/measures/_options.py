"""Base classes of measures by their options: a cutoff, a relevance level, a gain."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from ..data import Queries
from ..data.types import Bools, Floats, Ints
from ._base import Measure
from ._families import Discount, Gain, as_places, own_discount, own_gain


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
    relevance_level: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        level = self.relevance_level
        if level is not None and not (isinstance(level, Real) and -np.inf < level < np.inf):
            raise ValueError(f"relevance_level must be a finite number or None, got {level!r}.")

    def labels(self, y: Floats) -> Floats:
        if self.relevance_level is not None:
            return (y >= self.relevance_level).astype(float)
        other = (y != 0) & (y != 1)
        if other.any():
            raise ValueError(
                f"y must hold 0 and 1 for a binary measure, got {y[other][0]:g}. Set "
                "relevance_level (of the estimator, metric or measure); documents with y >= "
                "relevance_level are then relevant."
            )
        return y


@dataclass(frozen=True, repr=False)
class RelativeMeasure(BinaryMeasure):
    """Base class of measures relative to the number of relevant documents of the query."""

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
        own_discount(self.discount)

    def labels(self, y: Floats) -> Floats:
        if y.size and y.min() < 0:
            raise ValueError(
                f"y must be non-negative for {self.name}, got the relevance {y.min():g}. Shift the "
                "labels so that the lowest grade is 0."
            )
        if isinstance(self.gain, tuple):
            as_places(y, len(self.gain))
        return y
