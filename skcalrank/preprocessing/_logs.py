"""Logarithms that keep the sign."""

from __future__ import annotations

import numpy as np

from ..data import Array, Floats


def signed_log1p(X: Array) -> Floats:
    """Return logarithms of 1 plus the absolute values, with the signs of the values.

    The function of ``FunctionTransformer(signed_log1p, feature_names_out="one-to-one")``, which
    model files (:mod:`skcalrank.persistence`) and :mod:`skcalrank.export` know by name.

    Parameters
    ----------
    X : array-like of numbers

    Returns
    -------
    X_out : ndarray of the same shape, or a frame

    Examples
    --------
    >>> from skcalrank.preprocessing import signed_log1p
    >>> signed_log1p([-1.0, 0.0, 1.0]).round(3)
    array([-0.693,  0.   ,  0.693])
    """
    logs: Floats = np.sign(X) * np.log1p(np.abs(X))
    return logs
