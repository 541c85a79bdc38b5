"""Losses of orders of items, whose positions are predicted."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Floats, Ints
from ..data import check
from ._factors import Factors, indicators


def assigned(gain: Floats) -> Ints:
    """Return positions, from 1, of largest sum of ``gain[row, item, position - 1]`` in each row."""
    columns = [linear_sum_assignment(matrix, maximize=True)[1] for matrix in gain]
    return np.reshape(columns, gain.shape[:2]).astype(int) + 1


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
    >>> from skcalrank.structured import StructuredPredictor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> positions = [[1, 2, 3], [1, 2, 3], [3, 1, 2], [3, 1, 2]]
    >>> StructuredPredictor(factors="hamming").fit(X, positions).predict([[0.0], [3.0]])
    array([[1, 2, 3],
           [3, 1, 2]])
    """

    name: ClassVar[str] = "hamming"

    def alpha(self, y: Array) -> Floats:
        ranks = arrays.exact_ranks(y, "y")
        y = checked_positions(y if ranks is None else ranks)
        # Comparisons with NaN are false, so that an item without a position takes none.
        before = (y[:, None, :] < y[:, :, None]).sum(axis=2)
        last = (y[:, None, :] <= y[:, :, None]).sum(axis=2)
        place = np.arange(y.shape[1])
        inside = (place >= before[..., None]) & (place < last[..., None])
        return np.reshape(inside / np.maximum(inside.sum(axis=2, keepdims=True), 1), (len(y), -1))

    def beta(self, t: Array) -> Floats:
        return -self.alpha(t)

    def argmin(self, u: Floats) -> Ints:
        """Return the positions of the best assignment for each row of means."""
        r = round(u.shape[1] ** 0.5)
        return assigned(u.reshape(-1, r, r))


@dataclass(frozen=True)
class RPrecisionLoss(Factors):
    r"""Minus the R-precision of an order, of dimension :math:`r^2`.

    With m relevant items the R-precision is the share of the first m positions that have a relevant
    item, an inner product of :math:`y_i 1(|y| = m) / m` and :math:`1(\sigma(i) \le m)`. The best
    order is an assignment. Labels are relevances, 0 or 1, of shape (n, r), and predictions are
    positions; an order scores 0 where no item is relevant.

    See Also
    --------
    skcalrank.measures.RPrecision : The measure, for which a sort is best under independence.

    Examples
    --------
    >>> from skcalrank.structured import StructuredPredictor
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    >>> StructuredPredictor(factors="r_precision").fit(X, y).predict([[0.0], [2.0]])
    array([[1, 2, 3],
           [3, 2, 1]])
    """

    name: ClassVar[str] = "r_precision"

    def alpha(self, y: Array) -> Floats:
        y = indicators(y)
        r = y.shape[1]
        number = y.sum(axis=1)
        of_number = (number[:, None] == np.arange(1, r + 1)) / np.arange(1.0, r + 1)
        return np.reshape(y[:, :, None] * of_number[:, None, :], (len(y), r * r))

    def beta(self, t: Array) -> Floats:
        t = checked_positions(t)
        return -1.0 * np.reshape(t[:, :, None] <= np.arange(1, t.shape[1] + 1), (len(t), -1))

    def argmin(self, u: Floats) -> Ints:
        """Return the positions of the best assignment for each row of means."""
        r = round(u.shape[1] ** 0.5)
        # An item at position p is within the first m for all m >= p.
        return assigned(u.reshape(-1, r, r)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1])


# Largest number of sets that are compared.
_MOST_SETS = 20_000


@cache
def sets_of(r: int, k: int) -> Floats:
    """Return the indicators of all sets of k of r items."""
    if comb(r, k) > _MOST_SETS:
        raise ValueError(
            f"k={k} of r={r} items must be at most {_MOST_SETS} sets, got {comb(r, k)}: for "
            "independent relevances a sort is best, as by OrderPreservingRanker('hit@k')."
        )
    members = np.array(list(combinations(range(r), k)))
    out = np.zeros((len(members), r))
    np.put_along_axis(out, members, 1.0, axis=1)
    return out


@dataclass(frozen=True)
class HitLoss(Factors):
    r"""Minus the hit rate at k: whether one of the first k items is relevant.

    An inner product, over all sets of k items, of whether a set has a relevant item and whether it
    stands first; its rank is one less than their number for k < r - 1. Labels are relevances, 0 or
    1, of shape (n, r), and predictions are positions.

    Parameters
    ----------
    k : int, default=1
        Last position that counts, at least 1.

    Raises
    ------
    ValueError
        If ``k`` is not an integer >= 1; in fit, if it is not less than the number of items, or if
        there are more than 20,000 sets.

    See Also
    --------
    skcalrank.measures.HitRate : The measure, for which a sort is best under independence.

    Examples
    --------
    Items that are relevant together hit but once:

    >>> from skcalrank.structured import StructuredPredictor
    >>> X, y = [[0.0]] * 6, [[1, 1, 0]] * 3 + [[1, 0, 0]] + [[0, 0, 1]] * 2
    >>> StructuredPredictor(factors="hit@2").fit(X, y).predict([[0.0]])
    array([[2, 3, 1]])
    """

    name: ClassVar[str] = "hit"
    k: int = 1

    def __post_init__(self) -> None:
        check.cutoff(self.k)

    def _sets(self, r: int) -> Floats:
        if self.k >= r:
            raise ValueError(
                f"k must be less than the number of items ({r}), or all orders score the same, got "
                f"{self.k}."
            )
        return sets_of(r, self.k)

    def alpha(self, y: Array) -> Floats:
        y = indicators(y)
        return 1.0 * (y @ self._sets(y.shape[1]).T > 0)

    def beta(self, t: Array) -> Floats:
        t = checked_positions(t)
        sets = self._sets(t.shape[1])
        first = (t <= self.k) * 1.0
        return -1.0 * (first @ sets.T == sets.sum(axis=1))

    def argmin(self, u: Floats) -> Ints:
        """Return positions with the best set first; in it and behind it, by the mean of sets."""
        r = next(r for r in range(self.k + 1, u.shape[1] + self.k) if comb(r, self.k) == u.shape[1])
        sets = self._sets(r)
        by_item = (u - u.min(axis=1, keepdims=True)) @ sets
        inside = sets[u.argmax(axis=1)] > 0
        order = np.lexsort((-by_item, ~inside), axis=1)
        out = np.empty((len(u), r), dtype=int)
        np.put_along_axis(out, order, np.arange(1, r + 1)[None], axis=1)
        return out
