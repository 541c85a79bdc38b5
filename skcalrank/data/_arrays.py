"""Arithmetic on arrays that several rooms share."""

from __future__ import annotations

import numpy as np

__all__ = ["safe_divide"]


def safe_divide(numerator, denominator, otherwise=0.0) -> np.ndarray:
    """Return numerator / denominator, and `otherwise` where the denominator is 0."""
    out = np.full(np.broadcast(numerator, denominator).shape, otherwise)
    return np.divide(numerator, denominator, out=out, where=denominator != 0)
