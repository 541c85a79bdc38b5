r"""Losses that are sums over the pairs of documents (CUG13, eq. 4).

All depend on the differences of the scores only. Exponential and squared factorize, and
cost as much as a pointwise loss; logistic is evaluated in blocks of a few queries, so that
no matrix of all pairs is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..data import CACHE_CELLS, Floats, Queries, safe_divide
from ._base import EXPONENT, Loss
from ._parts import in_parts

# Scores further below the best of their query are taken to stand there: e^-700 is a number.
_FLOOR = -700.0


class _PairwiseLoss(Loss):
    needs_intercept: ClassVar[bool] = False
    summed_over: ClassVar[str] = "pairs"


def _weights(weight, queries):
    """Weights of the documents, and one over their mean, spread over the documents."""
    if weight is None:
        return 1.0, 1.0
    return weight, queries.repeat(1.0 / queries.mean_weight(weight))


@dataclass(frozen=True)
class PairwiseSquared(_PairwiseLoss):
    r"""Pairwise squared, :math:`\sum_{i<j} (v_i - v_j - (s_i - s_j))^2`, :math:`c = 1`.

    CUG13, eq. 4 and Table 2. The number of documents times the squared loss on targets and scores
    centered within the query; in queries of one size r the constant :math:`\sqrt{2/r}` holds too.
    Targets may have either sign.

    Examples
    --------
    A shift of all scores changes nothing:

    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import PairwiseSquared
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> law.surrogate_regret(PairwiseSquared(), "precision@1", [[0, 0], [7, 7], [0.25, 0.75]])
    array([0.25, 0.25, 0.  ])
    """

    name: ClassVar[str] = "pairwise_squared"
    family: ClassVar[str | None] = "squared"
    _positive_only: ClassVar[bool] = False

    def _centred(self, v, s, queries, weight):
        gap = s - v
        if weight is None:
            return gap - queries.repeat(queries.mean(gap))
        mean = safe_divide(queries.sum(weight * gap), queries.sum(weight))
        return gap - queries.repeat(mean)

    @in_parts("queries")
    def evaluate(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> Floats:
        centred = self._centred(v, s, queries, weight)
        squares = centred**2 if weight is None else weight * centred**2
        return queries.sizes * queries.sum(squares)

    @in_parts("sum", "documents")
    def value_and_gradient(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[float, Floats]:
        centred = self._centred(v, s, queries, weight)
        slope = queries.repeat(queries.sizes) * centred
        if weight is not None:
            slope *= weight
        return float(slope @ centred), 2.0 * slope

    @in_parts("documents", "documents")
    def derivatives(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        gradient = self.value_and_gradient(v, s, queries, weight)[1]
        if weight is None:
            return gradient, 2.0 * queries.repeat(queries.sizes - 1.0)
        share = safe_divide(weight, queries.repeat(queries.sum(weight)))
        return gradient, 2.0 * queries.repeat(queries.sizes) * weight * (1.0 - share)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return np.zeros(queries.n_queries)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return np.array(v, dtype=float)

    def constant(self, largest: float = 1.0) -> float:
        return 1.0


@dataclass(frozen=True)
class PairwiseExponential(_PairwiseLoss):
    r"""Pairwise exponential, :math:`\sum_{i<j} v_i e^{-(s_i-s_j)} + v_j e^{s_i-s_j}`.

    :math:`c = 2\sqrt{\max_i U_i}` (CUG13, eq. 4 and Table 2). Equal to
    :math:`(\sum_i v_i e^{-s_i})(\sum_j e^{s_j}) - \sum_i v_i`. Where a mean target is 0, the
    minimizer lies at infinity.
    """

    name: ClassVar[str] = "pairwise_exponential"

    def _factors(self, v, s, queries, weight):
        """Falling and rising parts of each document, their sums, and what pairs with itself."""
        below = s - queries.repeat(queries.max(s))
        np.maximum(below, -EXPONENT, out=below)
        rising = np.exp(below)
        falling = v / rising
        own = v
        if weight is not None:
            weight, share = _weights(weight, queries)
            rising *= weight
            # The mean weight is divided out of one factor only.
            falling *= weight * share
            own = v * weight**2 * share
        return falling, rising, queries.sum(falling), queries.sum(rising), own

    @in_parts("queries")
    def evaluate(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> Floats:
        _, _, fallen, risen, own = self._factors(v, s, queries, weight)
        return fallen * risen - queries.sum(own)

    @in_parts("sum", "documents")
    def value_and_gradient(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[float, Floats]:
        falling, rising, fallen, risen, own = self._factors(v, s, queries, weight)
        falling *= queries.repeat(risen)
        rising *= queries.repeat(fallen)
        return float(fallen @ risen - own.sum()), np.subtract(rising, falling, out=rising)

    @in_parts("documents", "documents")
    def derivatives(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        falling, rising, fallen, risen, own = self._factors(v, s, queries, weight)
        falling *= queries.repeat(risen)
        rising *= queries.repeat(fallen)
        return rising - falling, rising + falling - 2.0 * own

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return queries.sum(np.sqrt(v)) ** 2 - queries.sum(v)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(v) / 2

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(largest)


@dataclass(frozen=True)
class PairwiseLogistic(_PairwiseLoss):
    r"""Pairwise logistic, :math:`\sum_{i<j} v_i \log(1+e^{-(s_i-s_j)}) + v_j \log(1+e^{s_i-s_j})`.

    :math:`c = 2\sqrt{\max_i U_i}` (CUG13, eq. 4 and Table 2). With :math:`e_i = e^{s_i}`, the
    document i pays :math:`v_i (\log(e_i + e_j) - s_i)` for every other j: only documents with a
    positive target have a row in the blocks. Where a mean target is 0, the minimizer lies at
    infinity.

    It is not RankNet, the logistic loss of single preferences, which is calibrated for some laws
    only (:class:`PreferenceLogistic`).

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import PairwiseLogistic
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> np.exp(law.surrogate_minimizer(PairwiseLogistic(), "precision@1"))
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "pairwise_logistic"

    @in_parts("queries", long=True)
    def evaluate(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> Floats:
        out = np.zeros(queries.n_queries)
        for block in _blocks(v, s, queries, weight):
            for part, sums in block.parts():
                out[block.ids] += block.losses(part, sums)
        return out

    @in_parts("sum", "documents", long=True)
    def value_and_gradient(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[float, Floats]:
        value, gradient = 0.0, np.empty(len(s))
        for block in _blocks(v, s, queries, weight):
            slopes = np.zeros_like(block.rising)
            for part, sums in block.parts():
                value += float(block.losses(part, sums).sum())
                block.add_slopes(part, np.divide(1.0, sums, out=sums), slopes)
            gradient[block.documents] = slopes[block.present]
        return value, gradient

    @in_parts("documents", "documents", long=True)
    def derivatives(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        gradient, curvature = np.empty(len(s)), np.empty(len(s))
        for block in _blocks(v, s, queries, weight):
            slopes, curves = np.zeros_like(block.rising), np.zeros_like(block.rising)
            for part, sums in block.parts():
                inverse = np.divide(1.0, sums, out=sums)
                block.add_slopes(part, inverse, slopes)
                block.add_curves(part, inverse, curves)
            gradient[block.documents] = slopes[block.present]
            curvature[block.documents] = curves[block.present]
        return gradient, curvature

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return self.evaluate(v, self._finite_minimizer(v), queries)

    @staticmethod
    def _finite_minimizer(v):
        # A target of 0 stands infinitely far below the others, and 1e-100 of them is as far.
        return np.log(np.maximum(v, 1e-100 * max(v.max(initial=0.0), 1e-100)))

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(v)

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(largest)


def _blocks(v, s, queries, weight):
    """Queries of similar size side by side, their documents with a positive target first."""
    below = s - queries.repeat(queries.max(s))
    np.maximum(below, _FLOOR, out=below)
    share = np.ones(queries.n_queries)
    if weight is None:
        weight = np.ones(len(s))
    else:
        share = 1.0 / queries.mean_weight(weight)
    extended = [queries.extend(values) for values in (v, below, weight)]
    for bucket in queries.pair_buckets():
        target, score, own = (bucket.pad(values, 0.0) for values in extended)
        yield _PairBlock(bucket, target, score, own, share[bucket.ids])


class _PairBlock:
    """All pairs (i, j) of some queries, in which i has a positive target.

    Rows are documents i, columns all documents j; what is there to make a query as wide as
    the others weighs 0.
    """

    def __init__(self, bucket, v, s, weight, share):
        self.ids, width = bucket.ids, bucket.width
        self.present = np.arange(width) < bucket.sizes
        self.documents = (bucket.first + np.arange(width))[self.present]
        self.rising = np.exp(s)
        self.weight = weight * self.present
        self.total = self.weight.sum(axis=1)[:, None]
        self.rows = np.broadcast_to(np.arange(width), v.shape)
        n_rows = int((v > 0).sum(axis=1).max())
        if n_rows < width:
            self.rows = np.argsort(v <= 0, axis=1, kind="stable")[:, :n_rows]
        self.row_s = self._of_rows(s)
        self.row_weight = self._of_rows(self.weight)
        # What a row pays: its target, its weight, and one over the mean weight of the query.
        self.paid = self._of_rows(v) * self.row_weight * share[:, None]

    def _of_rows(self, values):
        return np.take_along_axis(values, self.rows, axis=1)

    def parts(self):
        """Runs of rows, and ``e_i + e_j``: a few cells at a time, however long a query."""
        row_rising = self._of_rows(self.rising)
        step = max(1, CACHE_CELLS // self.rising.size)
        for start in range(0, self.rows.shape[1], step):
            part = np.s_[:, start : start + step]
            yield part, row_rising[part][:, :, None] + self.rising[:, None, :]

    def losses(self, part, sums):
        """``v_i (log(e_i + e_j) - s_i)`` over the pairs of each query, j = i taken out."""
        logs = (np.log(sums) @ self.weight[:, :, None])[:, :, 0]
        logs -= self.total * self.row_s[part] + np.log(2.0) * self.row_weight[part]
        return np.einsum("ij,ij->i", self.paid[part], logs)

    def add_slopes(self, part, inverse, out):
        """First derivatives: the pair j = i adds to i what it takes from it."""
        paid, rising = self.paid[part], self.weight * self.rising
        pushed = (paid[:, None, :] @ inverse)[:, 0]
        pulled = (inverse @ rising[:, :, None])[:, :, 0]
        out += rising * pushed
        self._add_to_rows(part, -paid * pulled, out)

    def add_curves(self, part, inverse, out):
        """Second derivatives, the pair j = i taken out."""
        paid = self.paid[part]
        # The logistic function of s_j - s_i, times one minus it.
        np.multiply(inverse, self.rising[:, None, :], out=inverse)
        inverse -= inverse**2
        out += self.weight * (paid[:, None, :] @ inverse)[:, 0]
        pulled = (inverse @ self.weight[:, :, None])[:, :, 0]
        self._add_to_rows(part, paid * (pulled - self.row_weight[part] / 2), out)

    def _add_to_rows(self, part, values, out):
        # The rows of a query are different documents.
        rows = self.rows[part]
        np.put_along_axis(out, rows, np.take_along_axis(out, rows, axis=1) + values, axis=1)
