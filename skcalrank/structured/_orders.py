"""Losses of orders, which are assignments of items to positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..data import arrays
from ..data.types import Array, ArrayLike, Floats, Ints
from ._factors import Factors


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
