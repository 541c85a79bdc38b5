"""A logarithm that keeps the sign."""

import numpy as np

from ..columns.types import Array, Floats


def signed_log1p(X: Array) -> Floats:
    """Return ``sign(x) * log(1 + abs(x))`` of every value.

    Use it as ``FunctionTransformer(signed_log1p, feature_names_out="one-to-one")``. Model files
    (:mod:`skcalrank.persistence`) and :mod:`skcalrank.export` support this function by its name.

    Parameters
    ----------
    X : array-like of numbers
        Values to transform.

    Returns
    -------
    X_out : ndarray of the same shape, or a frame if X is one
        Transformed values.

    Examples
    --------
    >>> from skcalrank.preprocessing import signed_log1p
    >>> signed_log1p([-1.0, 0.0, 1.0]).round(3)
    array([-0.693,  0.   ,  0.693])
    """
    return np.sign(X) * np.log1p(np.abs(X))
