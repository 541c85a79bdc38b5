"""Indicators of the categories of a column."""

from typing import Any

import numpy as np

from ..columns.types import Floats


class Indicators:
    """Indicators of the codes of a column of categories.

    * `column`: number of the column of the matrix.
    * `largest`: largest code in the rows of fit, -1 if there is none.
    * `has_missing`: whether some of these rows have none.
    * `max_categories`: maximum number of indicators.
    """

    def __init__(self, column: int, largest: float, has_missing: bool, max_categories: int) -> None:
        self.column, self.has_missing = column, has_missing
        n_codes = int(largest) + 1
        self.has_rare = n_codes > max_categories
        self.n_levels = max_categories - 1 if self.has_rare else n_codes

    @property
    def width(self) -> int:
        """Number of indicators."""
        return self.n_levels + self.has_rare + self.has_missing

    def of(self, matrix: Floats) -> Floats:
        """Return the indicators of the rows of a matrix."""
        codes, width = matrix[:, self.column], self.n_levels + self.has_rare
        unseen = self.n_levels if self.has_rare else -1
        missing = width if self.has_missing else -1
        places = np.where(codes < 0, unseen, np.minimum(codes, width - 1))
        places = np.where(np.isnan(codes), missing, places).astype(np.intp)
        out = np.zeros((len(codes), self.width))
        rows = np.flatnonzero(places >= 0)
        out[rows, places[rows]] = 1.0
        return out

    def names(self, levels: list[Any]) -> list[str]:
        """Return what the indicators stand for, given the levels with a code of their own."""
        names = [*map(str, levels[: self.n_levels]), "rare"][: self.width - self.has_missing]
        return names + ["missing"] * self.has_missing
