"""Sets of labels as arrays of 0 and 1."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..columns import arrays
from ..columns.types import Floats


def indicators(y: Any, name: str = "y") -> Floats:
    """Return an array of 0 and 1, of shape (n, s), also of a sparse matrix."""
    y = y.toarray() if issparse(y) else y
    out = arrays.checked(y, name, ensure_2d=False)
    if out.ndim != 2 or not np.isin(out, (0.0, 1.0)).all():
        what = f"shape {out.shape}" if out.ndim != 2 else "other values"
        raise ValueError(f"{name} must be label indicators, 0 or 1, of shape (n, s), got {what}.")
    return np.asarray(out, dtype=float)
