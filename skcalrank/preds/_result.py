"""What a prediction map that solves a hard problem returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["PredResult"]


class PredResult(NamedTuple):
    """Positions, with what is known of how good they are.

    Attributes
    ----------
    positions : ndarray of int of shape (r,)
        1-based position of each document.
    value : float
        Of the objective at these positions.
    bound : float
        No positions can have a better value.
    proven : bool
        Whether the positions are best: value and bound agree.
    method : str
        The method that found them.
    """

    positions: np.ndarray
    value: float
    bound: float
    proven: bool
    method: str

    @property
    def gap(self) -> float:
        """Distance between value and bound."""
        return abs(self.value - self.bound)
