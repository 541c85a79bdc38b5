"""Validation of the matrices that pair-based prediction maps read."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array

__all__ = ["check_square", "order_to_positions"]


def check_square(U) -> np.ndarray:
    """A finite square matrix, or an error that says what is wrong."""
    U = check_array(np.asarray(U), dtype=np.float64, input_name="U", ensure_min_samples=1)
    if U.shape[0] != U.shape[1]:
        raise ValueError(f"U must be square, one row and column per document, got {U.shape}.")
    return U


def order_to_positions(order) -> np.ndarray:
    """1-based positions of the documents from the documents in order."""
    positions = np.empty(len(order), dtype=np.intp)
    positions[order] = np.arange(1, len(order) + 1)
    return positions
