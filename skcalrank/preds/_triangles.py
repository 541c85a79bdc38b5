r"""Triangle inequalities of orders, and their dual.

An order has for each pair of documents i < j a number :math:`y_{ij}`, 1 if i comes first and else
-1, and keeps :math:`\sum_{i<j} u_{ij} y_{ij}` of the net preferences. On a triple the numbers of an
order satisfy :math:`-1 \le y_{ij} + y_{jk} - y_{ik} \le 1`. By duality no order keeps more than

.. math:: \sum_t |\lambda_t| + \sum_{i<j} |w_{ij}| ,
    \quad w = u - \sum_t \lambda_t (e_{ij} + e_{jk} - e_{ik}) ,

whatever the multipliers of the triples are.
"""

import numpy as np
from scipy.sparse import csr_matrix

from ..columns.types import Floats, Ints

# Of a smoothed absolute value, as a share of the mean net preference: first width, and its decay
# with each sweep over the triples.
_WIDTH, _DECAY = 1.0, 0.96

# Violated triples that are told, for each document: with the same document in the middle, and all.
_MOST, _TOLD = 8, 20

# Coefficients of the pairs (i, j), (j, k), (i, k).
_TRIANGLE = np.array([1.0, 1.0, -1.0])


class Pairs:
    """The pairs i < j of r documents, numbered by rows."""

    def __init__(self, r: int) -> None:
        self.r = r
        self.i, self.j = np.triu_indices(r, 1)
        self.number = np.zeros((r, r), dtype=np.intp)
        self.number[self.i, self.j] = self.number[self.j, self.i] = np.arange(len(self.i))

    def __len__(self) -> int:
        return len(self.i)

    def order(self, y: Floats) -> Ints:
        """Return the documents by the sums of the numbers of their pairs."""
        wins = np.bincount(self.i, y, self.r) - np.bincount(self.j, y, self.r)
        return np.argsort(-wins, kind="stable")

    def matrix(self, y: Floats) -> Floats:
        """Return the numbers of all ordered pairs, of shape (r, r)."""
        before = np.zeros((self.r, self.r))
        before[self.i, self.j], before[self.j, self.i] = y, -y
        return before

    def triples(self, i: Ints, j: Ints, k: Ints) -> Ints:
        """Return the pairs of triples i < j < k, of shape (n, 3); the third has a minus."""
        return np.column_stack([self.number[i, j], self.number[j, k], self.number[i, k]])

    def rows(self, triples: Ints) -> csr_matrix:
        """Return the inequalities of triples as rows over the pairs."""
        n = len(triples)
        values, starts = np.tile(_TRIANGLE, n), np.arange(0, 3 * n + 1, 3)
        return csr_matrix((values, triples.ravel(), starts), shape=(n, len(self)))

    def violated(self, y: Floats, tolerance: float) -> Ints:
        """Return triples whose inequality is violated, the most violated first."""
        before, triples, sizes = self.matrix(y), [], []
        for j in range(1, self.r - 1):
            # All i < j and all k > j at once.
            total = np.abs(before[:j, j, None] + before[j, j + 1 :] - before[:j, j + 1 :])
            i, k = np.nonzero(total > 1.0 + tolerance)
            if len(i) > _MOST * self.r:
                worst = np.argpartition(-total[i, k], _MOST * self.r)[: _MOST * self.r]
                i, k = i[worst], k[worst]
            sizes.append(total[i, k])
            triples.append(self.triples(i, np.full_like(i, j), k + j + 1))
        worst = np.argsort(-np.concatenate(sizes), kind="stable")
        return np.concatenate(triples)[worst[: _TOLD * self.r]]


class DualAscent:
    """Block coordinate descent on the dual of the triangle inequalities.

    The triples with i + j + k = s (mod r) share no pair: their multipliers are set together. The
    absolute values of the pairs are smoothed, or the descent would end early; the bound is valid
    after every sweep.
    """

    def __init__(self, pairs: Pairs, gain: Floats) -> None:
        self.left = gain.copy()
        self.width = _WIDTH * float(np.abs(gain).mean())
        self.classes = []
        for s in range(pairs.r):
            k = (s - pairs.i - pairs.j) % pairs.r
            i, j = pairs.i[k > pairs.j], pairs.j[k > pairs.j]
            self.classes.append(pairs.triples(i, j, k[k > pairs.j]))
        self.multipliers = [np.zeros(len(triples)) for triples in self.classes]

    def sweep(self) -> float:
        """Set all multipliers, and return a bound of what orders keep."""
        left, total = self.left, 0.0
        for triples, multipliers in zip(self.classes, self.multipliers):
            values = left[triples.T]
            values[2] *= -1.0
            values += multipliers
            multipliers[:] = _best_multipliers(values, self.width)
            values -= multipliers
            values[2] *= -1.0
            left[triples.T] = values
            total += np.abs(multipliers).sum()
        self.width *= _DECAY
        return total + float(np.abs(left).sum())

    def active(self) -> Ints:
        """Return the triples whose multipliers are not zero."""
        return np.concatenate(
            [triples[m != 0] for triples, m in zip(self.classes, self.multipliers)]
        )


def _best_multipliers(values: Floats, width: float) -> Floats:
    """Return t with the least sum of ``|t|`` and smoothed ``|value - t|``, of three values each.

    The absolute value is smoothed to the root of ``x^2 + width^2``.
    """
    slope = (values / np.sqrt(values**2 + width**2)).sum(axis=0)
    t = np.zeros(values.shape[1])
    active = np.flatnonzero(np.abs(slope) > 1.0)
    sign = np.sign(slope[active])
    values = values[:, active] * sign
    # With t between the two smaller values, the slopes of the three add up to about 1. One step of
    # Newton's method from their middle is enough, as the sweeps repeat it.
    least = values.min(axis=0)
    middle = values.sum(axis=0) - least - values.max(axis=0)
    start = np.maximum(0.5 * (least + middle), 0.0)
    away = values - start
    inverse = 1.0 / np.sqrt(away**2 + width**2)
    excess = (away * inverse).sum(axis=0) - 1.0
    step = excess / (width**2 * (inverse**3).sum(axis=0))
    low = np.maximum(least - 3.0 * width, 0.0)
    t[active] = sign * np.clip(start + step, low, np.maximum(middle + width, low))
    return t
