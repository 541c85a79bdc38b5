"""Interface of the conditional risk of a surrogate."""

from abc import ABC, abstractmethod
from typing import Any

from ..columns.types import Floats, Ints


class ConditionalRisk(ABC):
    """Expected surrogate loss under a distribution of the labels, up to a term without u."""

    objective: str | None = "positional"  # objective of the prediction maps from u to an order
    preds: tuple[str, ...] = ("sort",)  # names of the maps with known cones
    certificate: str = "exact"  # what the minima are based on
    smooth: bool = False  # whether the risk is convex and has a gradient
    infimum: float = 0.0
    # Targets of each outcome, and the factor by which the squared distance from their mean is the
    # regret (None for other losses). None for a surrogate of single preferences.
    aims: tuple[Any, float | None] | None = None
    loss: Any  # of single documents or preferences, if it has one
    error: float  # gaps up to this are rounding errors

    @abstractmethod
    def risk(self, u: Floats) -> Floats:
        """Return the risk of every row of a stack of surrogate values."""

    @abstractmethod
    def minimizer(self) -> Floats:
        """Return surrogate values of the smallest risk."""

    @abstractmethod
    def least(self, positions: Ints, pred: str) -> tuple[Floats, Floats, Floats]:
        """Return the smallest risk from which each order can be predicted.

        Ties of u may be broken in any way, so that the sets of u are closed. The result is a tuple
        of the risks, certain lower bounds of them, and the surrogate values u.
        """

    def certify(self, least: Floats, lower: Floats, u: Floats) -> tuple[float, str]:  # noqa: ARG002
        """Return the gap of the smallest of these risks, and what it is based on.

        The arguments are the result of :meth:`least`. The closed forms and convex programs of the
        package need no bounds.
        """
        gap = float(least.min()) - self.infimum
        return gap if gap > self.error else 0.0, self.certificate
