"""Values of pairs that differ by rounding alone, made equal."""

import numpy as np

from ..data.types import Floats

# Exponent of the unit, which is far above rounding, so that noise seldom moves a value to another
# multiple. Sums over half a million documents of multiples of it are exact in a double.
_EXPONENT = -34


def without_rounding(values: Floats, read: Floats) -> Floats:
    """Return a stack of matrices whose values are equal where they differ by rounding alone.

    The unit is a power of two, about :math:`2^{-34}` of the largest value that is read. Absolute
    values that are connected by steps of at most half a unit are one value, and those connected to
    0 are 0. All become multiples of the unit, so that sums of them are exact in any order.

    * `values` (n, r, r): matrices.
    * `read` (n, r, r): what they were computed from, which says how large rounding is.
    """
    n, r, _ = values.shape
    largest = np.abs(read).reshape(n, -1).max(axis=1)
    # The factor keeps the largest value, such as 1 of probabilities, from where the power jumps.
    exponent = np.frexp(0.9 * largest)[1] + _EXPONENT
    unit = np.ldexp(1.0, np.maximum(exponent, np.finfo(float).minexp - np.finfo(float).nmant))
    units = np.abs(values).reshape(n, -1) / unit[:, None]
    # Ascending, after a 0.
    order = np.argsort(units, axis=1)
    ordered = np.zeros((n, r * r + 1))
    ordered[:, 1:] = np.take_along_axis(units, order, axis=1)
    starts = np.diff(ordered, axis=1) > 0.5
    first = np.maximum.accumulate(np.where(starts, np.arange(1, r * r + 1), 0), axis=1)
    np.put_along_axis(units, order, np.take_along_axis(np.rint(ordered), first, axis=1), axis=1)
    return np.copysign(units * unit[:, None], values.reshape(n, -1)).reshape(values.shape)
