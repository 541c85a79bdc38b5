"""Losses as inner products of vectors of labels and of predictions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..columns import arrays
from ..columns.types import Array, Floats


class Factors(ABC):
    r"""A loss :math:`\ell(y, t) = \langle \alpha_y, \beta_t \rangle + b(y)`.

    Subclasses define :meth:`alpha` and :meth:`beta`, and may replace :meth:`argmin`.

    See Also
    --------
    StructuredPredictor : The estimator that regresses alpha and predicts by beta.

    Notes
    -----
    The terms b(y) do not affect the prediction. If the means of :math:`\alpha_y` are estimated,
    :math:`\arg\min_t \langle u, \beta_t \rangle` is calibrated for the loss under every
    distribution (RAT13, Theorem 3).

    Examples
    --------
    Squared error between labels and predictions that are numbers:

    >>> import numpy as np
    >>> from skcalrank.structured import StructuredPredictor
    >>> from skcalrank.structured import Factors
    >>> class SquaredError(Factors):
    ...     def alpha(self, y):
    ...         return np.asarray(y)[:, None]
    ...     def beta(self, t):
    ...         return -2 * np.asarray(t)[:, None]  # without t^2, which argmin adds
    ...     def argmin(self, u):
    ...         return u[:, 0]
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> model = StructuredPredictor(factors=SquaredError()).fit(X, y)
    >>> float(model.predict([[1.0]])[0])
    1.0
    """

    @abstractmethod
    def alpha(self, y: Array) -> Floats:
        """Return the vectors of labels, of shape (n, dimension).

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, s)
        """

    @abstractmethod
    def beta(self, t: Array) -> Floats:
        """Return the vectors of predictions, of shape (m, dimension).

        Parameters
        ----------
        t : ndarray of shape (m,) or (m, s)
        """

    #: Function from means, of shape (n, dimension), to the n best of all predictions. None: the
    #: best of a list of candidates is looked up.
    argmin: Callable[[Floats], Array] | None = None


def indicators(y: Any, name: str = "y") -> Floats:
    """Return an array of 0 and 1, of shape (n, s), also of a sparse matrix."""
    y = y.toarray() if issparse(y) else y
    out = arrays.checked(y, name, ensure_2d=False)
    if out.ndim != 2 or not np.isin(out, (0.0, 1.0)).all():
        what = f"shape {out.shape}" if out.ndim != 2 else "other values"
        raise ValueError(f"{name} must be label indicators, 0 or 1, of shape (n, s), got {what}.")
    return np.asarray(out, dtype=float)
