"""Arithmetic on arrays that several rooms share."""

from __future__ import annotations

import numpy as np

from ._types import ArrayLike, Floats


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, otherwise: float = 0.0) -> Floats:
    """Return numerator / denominator, and `otherwise` where the denominator is 0."""
    out: Floats = np.full(np.broadcast(numerator, denominator).shape, otherwise)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out
