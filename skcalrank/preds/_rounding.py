"""Values of pairs that differ by rounding alone, made equal."""

import numpy as np

from ..columns.types import Floats, Ints

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
    n = len(values)
    largest = np.abs(read).reshape(n, -1).max(axis=1)
    # The factor keeps the largest value, such as 1 of probabilities, from where the power jumps.
    exponent = np.frexp(0.9 * largest)[1] + _EXPONENT
    unit = np.ldexp(1.0, np.maximum(exponent, np.finfo(float).minexp - np.finfo(float).nmant))
    units = np.abs(values).reshape(n, -1)
    with np.errstate(over="ignore"):  # numpy 1.25 divides by more than it returns
        units /= unit[:, None]
    ordered = np.insert(units, 0, 0.0, axis=1)
    ordered.sort(axis=1)
    gaps, whole = np.diff(ordered, axis=1), np.rint(units)
    # Values that are connected are seldom on both sides of where numbers are rounded.
    row, at = np.nonzero((gaps > 0) & (gaps <= 0.5))
    split = np.rint(ordered[row, at]) < np.rint(ordered[row, at + 1])
    for i in np.unique(row[split]):
        _join(whole[i], units[i], ordered[i], gaps[i], at[split & (row == i)])
    whole *= unit[:, None]
    return np.copysign(whole, values.reshape(n, -1), out=whole).reshape(values.shape)


def _join(whole: Floats, units: Floats, ordered: Floats, gaps: Floats, split: Ints) -> None:
    """Set connected values that were rounded to several numbers to that of the least of them."""
    cuts = np.flatnonzero(gaps > 0.5)
    which = np.unique(np.searchsorted(cuts, split))
    least = ordered[np.append(0, cuts + 1)[which]]
    most = ordered[np.append(cuts, len(gaps))[which]]
    of = np.searchsorted(least, units, "right") - 1
    inside = (of >= 0) & (units <= most[of])
    whole[inside] = np.rint(least)[of[inside]]
