"""Checks of measures that users write."""

from typing import Any

import numpy as np

from ..columns.types import Floats

# Number of documents of the query at whose positions the basis is read.
_N = 50


def is_own(measure: Any) -> bool:
    """Return whether the class of a measure is not one of the package."""
    return type(measure).__module__.partition(".")[0] != __name__.partition(".")[0]


def check_own(measure: Any) -> None:
    """Raise if a measure that a user wrote has no name, or no discount as its basis."""
    kind = type(measure).__name__
    if not isinstance(getattr(measure, "name", None), str):
        raise ValueError(f'{kind} must have a name: add name = "..." to the class.')
    if measure.shape != "documents":
        return
    values = np.asarray(measure.basis(np.arange(1, _N + 1), np.full(_N, _N)))
    if values.shape != (_N,) or values.dtype.kind == "b":
        raise ValueError(
            f"basis of {kind} must return numbers of the shape of positions, ({_N},) for {_N} "
            f"positions, got {values.dtype} of shape {values.shape}. Multiply bools by 1.0."
        )
    rises = np.append(values[:1] < 0, np.diff(values) > 1e-9 * np.abs(values[:-1]))
    wrong = ~np.isfinite(values) | rises | (values < 0)
    if wrong.any():
        at = int(wrong.argmax())
        before = "" if at == 0 else f" after {values[at - 1]:g}"
        raise ValueError(
            f"basis of {kind} must be finite, non-negative and non-increasing in the position, got "
            f"{values[at]:g} at position {at + 1}{before}."
        )


def checked_targets(measure: Any, values: Any, y: Floats) -> Floats:
    """Return the targets of a measure that a user wrote, or raise if they cannot be targets."""
    kind, values = type(measure).__name__, np.asarray(values, dtype=float)
    if values.shape != y.shape:
        raise ValueError(
            f"targets of {kind} must return one number for each document, of shape {y.shape}, got "
            f"{values.shape}."
        )
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        raise ValueError(
            f"targets of {kind} must be finite and non-negative, got {values[wrong][0]:g} for the "
            f"label {y[wrong][0]:g}: an amount that is the same for all documents of a query may "
            "be added, and subtracted in offset."
        )
    return values
