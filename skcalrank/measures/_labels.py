"""Labels as measures read them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ..data import Floats


def check_level(relevance_level: Any) -> None:
    """Raise unless a level of relevance is None or a finite number."""
    if relevance_level is None:
        return
    number = isinstance(relevance_level, Real)
    if not number or not -np.inf < relevance_level < np.inf:
        raise ValueError(f"relevance_level={relevance_level!r}: give a finite number.")


def binary_labels(y: Floats, relevance_level: float | None) -> Floats:
    """1.0 where ``y >= relevance_level``; with None, y itself, which must hold 0 and 1."""
    if relevance_level is not None:
        return (y >= relevance_level).astype(float)
    other = (y != 0) & (y != 1)
    if other.any():
        raise ValueError(
            f"y holds {y[other][0]:g}, and a binary measure requires labels 0 and 1: set "
            "relevance_level (of the estimator, metric or measure), then documents with "
            "y >= relevance_level are relevant."
        )
    return y


def non_negative_labels(y: Floats, name: str) -> Floats:
    """y itself, which must not be negative."""
    if y.size and y.min() < 0:
        raise ValueError(
            f"Negative relevance: y holds {y.min():g}, for which {name} is not defined. "
            "Shift the labels so that the lowest grade is 0."
        )
    return y
