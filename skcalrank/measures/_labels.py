"""Validation of labels for measures."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ..data import Floats


def check_level(relevance_level: Any) -> None:
    """Raise ValueError unless `relevance_level` is None or a finite number."""
    if relevance_level is None:
        return
    number = isinstance(relevance_level, Real)
    if not number or not -np.inf < relevance_level < np.inf:
        raise ValueError(
            f"relevance_level must be a finite number or None, got {relevance_level!r}."
        )


def binary_labels(y: Floats, relevance_level: float | None) -> Floats:
    """Return 1.0 where ``y >= relevance_level``; with None, y itself, which must be 0 or 1."""
    if relevance_level is not None:
        return (y >= relevance_level).astype(float)
    other = (y != 0) & (y != 1)
    if other.any():
        raise ValueError(
            f"y must hold 0 and 1 for a binary measure, got {y[other][0]:g}. Set relevance_level "
            "(of the estimator, metric or measure); documents with y >= relevance_level are then "
            "relevant."
        )
    return y


def non_negative_labels(y: Floats, name: str) -> Floats:
    """Return y; raise ValueError if a label is negative."""
    if y.size and y.min() < 0:
        raise ValueError(
            f"y must be non-negative for {name}, got the relevance {y.min():g}. Shift the labels "
            "so that the lowest grade is 0."
        )
    return y
