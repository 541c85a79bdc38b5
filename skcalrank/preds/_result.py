"""The result of a prediction map of pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..data import Ints


class PredResult(NamedTuple):
    """Positions, and how good they are known to be.

    For a stack of n matrices every field is an array whose first axis has length n.

    Attributes
    ----------
    positions : ndarray of int of shape (r,) or (n, r)
        1-based position of each document.
    value : float
        Value of the objective at these positions.
    bound : float
        Bound of the best value: no positions can be better.
    proven : bool
        Whether the positions are best, i.e. value and bound agree.
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
        """Difference between value and bound."""
        return abs(self.value - self.bound)

    def each(self) -> list[PredResult]:
        """Return the results of a stack as a list."""
        columns = (column.tolist() for column in self[1:])
        return [PredResult(*fields) for fields in zip(self.positions, *columns)]
