"""Factors by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..columns.types import Array, Floats
from ..data import check
from ._f_measure import FMeasure
from ._factors import Factors
from ._orders import HitLoss, OrderHamming, RPrecisionLoss


@dataclass(frozen=True)
class FactorPair(Factors):
    """Factors that are given as functions."""

    of_labels: Callable[[Array], Floats]
    of_predictions: Callable[[Array], Floats]

    def alpha(self, y: Array) -> Floats:
        return self.of_labels(y)

    def beta(self, t: Array) -> Floats:
        return self.of_predictions(t)


_CLASSES = (FMeasure, OrderHamming, HitLoss, RPrecisionLoss)

#: Factors by name.
FACTORS: dict[str, type[Any]] = {cls.name: cls for cls in _CLASSES}


def get_factors(factors: str | Factors | tuple[Any, Any]) -> Factors:
    """Return factors by name, or of a pair of functions.

    Parameters
    ----------
    factors : str, Factors or pair of callables
        Name of factors, such as ``"hamming"``, or ``"hit@3"`` with a cutoff. Factors are
        returned unchanged. Of a pair, the first function returns the vectors of labels, and the
        second those of predictions.

    Returns
    -------
    factors : Factors

    Raises
    ------
    ValueError
        If the name is unknown (the message lists the valid names), or it is no pair of functions.

    Examples
    --------
    >>> from skcalrank.structured import get_factors
    >>> get_factors("hamming")
    OrderHamming()
    """
    if isinstance(factors, Factors):
        return factors
    if isinstance(factors, (tuple, list)) and len(factors) == 2 and all(map(callable, factors)):
        return FactorPair(*factors)
    if not isinstance(factors, str):
        raise ValueError(
            "factors must be a name, Factors, or a pair of functions of labels and of predictions, "
            f"got {factors!r}."
        )
    if factors.startswith("hit@") and (k := check.cutoff_of(factors)):
        return HitLoss(k)
    check.option("factors", factors, FACTORS)
    return FACTORS[factors]()
