"""What a prediction map that solves a hard problem returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..data import Ints


class PredResult(NamedTuple):
    """Positions, with what is known of how good they are.

    For a stack of n matrices every field is an array whose first axis has length n.

    Attributes
    ----------
    positions : ndarray of int of shape (r,) or (n, r)
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

    positions: Ints
    value: Any
    bound: Any
    proven: Any
    method: Any

    @property
    def gap(self) -> Any:
        """Distance between value and bound."""
        return abs(self.value - self.bound)

    def each(self) -> list[PredResult]:
        """Return the results of a stack one by one."""
        columns = (column.tolist() for column in self[1:])
        return [PredResult(*fields) for fields in zip(self.positions, *columns)]
