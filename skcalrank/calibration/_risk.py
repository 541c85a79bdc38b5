"""What the conditional risk of a surrogate is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class ConditionalRisk(ABC):
    """Expected surrogate loss under a distribution of the labels, up to a term without u."""

    objective: str | None = "positional"  # of the prediction maps from u to an order
    preds: tuple[str, ...] = ("sort",)  # names of those maps whose cones are known
    certificate: str = "exact"  # what the minima rest on
    smooth: bool = False  # whether the risk is convex and has a gradient
    infimum: float = 0.0
    # Targets of each outcome, and by what the squared distance from their mean is the regret:
    # None where it is not. A surrogate of single preferences aims at no targets.
    aims: tuple[Any, float | None] | None = None
    error: float  # gaps up to this are those of rounding

    @property
    def lowest(self) -> float:
        """What the infimum is not below, for certain."""
        return self.infimum

    @abstractmethod
    def risk(self, u):
        """Risk of every row of a stack of surrogate values."""

    @abstractmethod
    def minimizer(self):
        """Surrogate values of the smallest risk."""

    @abstractmethod
    def least(self, positions, pred):
        """Smallest risk from which each order can be predicted, and u that have it.

        Ties of u may be broken in any way, so that the sets of u are closed. Returns the risks,
        what each is not below, for certain, and the u.
        """
