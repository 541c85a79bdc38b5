"""Losses as inner products of vectors of labels and of predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..data import arrays, check
from ..data.types import Array, ArrayLike, Floats, Ints


class Factors(ABC):
    r"""A loss :math:`\ell(y, t) = \langle \alpha_y, \beta_t \rangle + b(y)`.

    Subclasses define :meth:`alpha` and :meth:`beta`, and may replace :meth:`argmin`.

    See Also
    --------
    skcalrank.StructuredPredictor : The estimator that regresses alpha and predicts by beta.

    Notes
    -----
    The terms b(y) do not affect the prediction. If the means of :math:`\alpha_y` are estimated,
    :math:`\arg\min_t \langle u, \beta_t \rangle` is calibrated for the loss under every
    distribution (RAT13, Theorem 3).

    Examples
    --------
    Squared error between labels and predictions that are numbers:

    >>> import numpy as np
    >>> from skcalrank import StructuredPredictor
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
        """Return the vectors of labels.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, s)

        Returns
        -------
        alpha : ndarray of shape (n, dimension)
        """

    @abstractmethod
    def beta(self, t: Array) -> Floats:
        """Return the vectors of predictions.

        Parameters
        ----------
        t : ndarray of shape (m,) or (m, s)

        Returns
        -------
        beta : ndarray of shape (m, dimension)
        """

    #: Function from means, of shape (n, dimension), to the n best of all predictions. None: the
    #: best of a list of candidates is looked up.
    argmin: Callable[[Floats], Array] | None = None


@dataclass(frozen=True)
class FactorPair(Factors):
    """Factors that are given as functions."""

    of_labels: Callable[[Array], Floats]
    of_predictions: Callable[[Array], Floats]

    def alpha(self, y: Array) -> Floats:
        return self.of_labels(y)

    def beta(self, t: Array) -> Floats:
        return self.of_predictions(t)


def assigned(gain: Floats) -> Ints:
    """Return positions, from 1, of largest sum of ``gain[row, item, position - 1]`` in each row."""
    out = np.empty(gain.shape[:2], dtype=int)
    for row, matrix in enumerate(gain):
        out[row] = linear_sum_assignment(matrix, maximize=True)[1] + 1
    return out


def checked_positions(y: ArrayLike) -> Floats:
    """Return positions of items, of shape (n, r), of which NaN are allowed."""
    y = arrays.checked(y, "y", ensure_2d=False, ensure_all_finite="allow-nan")
    if y.ndim != 2:
        raise ValueError(f"y must be positions of shape (n, r), got shape {y.shape}.")
    return np.asarray(y, dtype=float)


@dataclass(frozen=True)
class OrderHamming(Factors):
    r"""Number of items that are not at their positions: the Hamming distance of orders [1]_.

    An order is the matrix :math:`\Phi_{ip} = 1(\sigma(i) = p)`, and the loss is :math:`r - \langle
    \Phi(y), \Phi(t) \rangle`. Labels and predictions are positions of shape (n, r), 1 for the first
    item. The best order is an assignment of items to positions.

    See Also
    --------
    skcalrank.SpearmanRanker : Squared distances of positions, for which a sort is best.
    skcalrank.PairwiseDisagreementRanker : Pairs in the wrong order.

    Notes
    -----
    Labels may be partial orders. Tied items share the positions that they take: the loss is the
    expected one when ties are broken at random, and only the order of the numbers counts. Items
    with NaN stand behind the others at unknown positions and are not counted.

    References
    ----------
    .. [1] Korba, Garcia, d'Alche-Buc: A Structured Prediction Approach for Label Ranking, NIPS
       2018.

    Examples
    --------
    >>> from skcalrank import StructuredPredictor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> positions = [[1, 2, 3], [1, 2, 3], [3, 1, 2], [3, 1, 2]]
    >>> StructuredPredictor(factors="hamming").fit(X, positions).predict([[0.0], [3.0]])
    array([[1, 2, 3],
           [3, 1, 2]])
    """

    name: ClassVar[str] = "hamming"

    def alpha(self, y: Array) -> Floats:
        y = checked_positions(y)
        # Comparisons with NaN are false, so that an item without a position takes none.
        before = (y[:, None, :] < y[:, :, None]).sum(axis=2)
        last = (y[:, None, :] <= y[:, :, None]).sum(axis=2)
        place = np.arange(y.shape[1])
        inside = (place >= before[..., None]) & (place < last[..., None])
        share = inside / np.maximum(inside.sum(axis=2, keepdims=True), 1)
        return np.reshape(share, (len(y), -1))

    def beta(self, t: Array) -> Floats:
        return -self.alpha(t)

    def argmin(self, u: Floats) -> Ints:
        """Return the positions of the best assignment for each row of means."""
        r = round(u.shape[1] ** 0.5)
        return assigned(u.reshape(-1, r, r))


#: Factors by name.
FACTORS: dict[str, type[Any]] = {cls.name: cls for cls in (OrderHamming,)}


def get_factors(factors: str | Factors | tuple[Any, Any]) -> Factors:
    """Return factors by name, or of a pair of functions.

    Parameters
    ----------
    factors : str, Factors or pair of callables
        Name of factors, such as ``"hamming"``. Factors are returned unchanged. Of a pair, the first
        function returns the vectors of labels, and the second those of predictions.

    Returns
    -------
    factors : Factors

    Raises
    ------
    ValueError
        If the name is unknown (the message lists the valid names), or it is no pair of functions.

    Examples
    --------
    >>> from skcalrank.structured import get_factors
    >>> get_factors("hamming")
    OrderHamming()
    """
    if isinstance(factors, Factors):
        return factors
    if isinstance(factors, (tuple, list)) and len(factors) == 2 and all(map(callable, factors)):
        return FactorPair(*factors)
    if not isinstance(factors, str):
        raise ValueError(
            "factors must be a name, Factors, or a pair of functions of labels and of predictions, "
            f"got {factors!r}."
        )
    check.option("factors", factors, FACTORS)
    made: Factors = FACTORS[factors]()
    return made
