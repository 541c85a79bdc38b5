r"""Losses that are sums over pairs of documents (CUG13, eq. 4).

All these losses depend on differences of scores only. The exponential and the squared loss
factorize, and cost as much as a pointwise loss. The logistic loss is evaluated in blocks of a few
queries, so that no matrix of all pairs is ever held; for boosting, by integrals that factorize
where a query has many pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..columns import CACHE_CELLS, arrays
from ..columns.types import Floats
from ..data import Bucket, Queries
from ._base import EXPONENT, Derivatives, LossInParts, Slopes, Value, Weights, log
from ._quadrature import FLOOR, PairDerivatives


class PairwiseLoss(LossInParts):
    """Base class of losses that depend only on differences of scores within queries."""

    needs_intercept: ClassVar[bool] = False
    summed_over: ClassVar[str] = "pairs"

    def _joined(self, method: Any, results: Any, v: Any, s: Any, queries: Queries, w: Any) -> Any:
        if w is not None and not w.all():
            # Documents of weight 0 have no pairs, but scores are bounded relative to the best one.
            levels = queries.mean(np.where(w > 0, s, 0.0), w)
            s = np.where(w > 0, s, queries.repeat(levels))
        return super()._joined(method, results, v, s, queries, w)


@dataclass(frozen=True)
class PairwiseSquared(PairwiseLoss):
    r"""Pairwise squared loss, :math:`\sum_{i<j} (v_i - v_j - (s_i - s_j))^2`, with :math:`c = 1`.

    See CUG13, eq. 4 and Table 2. The loss of a query equals its number of documents times the
    squared loss of targets and scores that are centered within the query. For queries of one size
    r, the constant :math:`\sqrt{2/r}` is valid too. Targets may have either sign.

    See Also
    --------
    Squared : Squared error of scores.

    Examples
    --------
    A shift of all scores of a query does not change the loss:

    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import PairwiseSquared
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> law.surrogate_regret(PairwiseSquared(), "precision@1", [[0, 0], [7, 7], [0.25, 0.75]])
    array([0.25, 0.25, 0.  ])
    """

    name: ClassVar[str] = "pairwise_squared"
    of_rows: ClassVar[bool] = True
    family: ClassVar[str | None] = "squared"
    _positive_only: ClassVar[bool] = False

    def _centered(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        gap = s - v
        return gap - queries.repeat(queries.mean(gap, weight))

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        centered = self._centered(v, s, queries, weight)
        return queries.sizes * queries.sum(centered**2 if weight is None else weight * centered**2)

    def _value_and_gradient(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Value:
        centered = self._centered(v, s, queries, weight)
        slope = queries.repeat(queries.sizes) * centered
        if weight is not None:
            slope *= weight
        return float(slope @ centered), 2.0 * slope

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        gradient = self._value_and_gradient(v, s, queries, weight)[1]
        if weight is None:
            return gradient, 2.0 * queries.repeat(queries.sizes - 1.0)
        share = arrays.safe_divide(weight, queries.repeat(queries.sum(weight)))
        return gradient, 2.0 * queries.repeat(queries.sizes) * weight * (1.0 - share)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return np.zeros(queries.n_queries)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return np.array(v, dtype=float)

    def constant(self, largest: float = 1.0) -> float:
        return 1.0


@dataclass(frozen=True)
class PairwiseExponential(PairwiseLoss):
    r"""Pairwise exponential loss, :math:`\sum_{i<j} v_i e^{-(s_i-s_j)} + v_j e^{s_i-s_j}`.

    :math:`c = 2\sqrt{\max_i U_i}` (CUG13, eq. 4 and Table 2). The loss of a query equals
    :math:`(\sum_i v_i e^{-s_i})(\sum_j e^{s_j}) - \sum_i v_i`. The minimizing score of a document
    of mean target 0 is negative infinity. Scores more than 250 below the best score of their query
    are treated as 250 below it.

    See Also
    --------
    Exponential : Exponential loss of scores.
    """

    name: ClassVar[str] = "pairwise_exponential"
    of_rows: ClassVar[bool] = True

    def _sums(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Return the sums of the terms in which a document is the first, and the second, of a pair.

        Also return the terms of pairs of documents with themselves, to subtract.
        """
        below = s - queries.repeat(queries.max(s))
        np.maximum(below, -EXPONENT, out=below)
        rising = np.exp(below)
        falling = v / rising
        alone = v
        if weight is not None:
            # Divide by the mean weight in only one of the two factors.
            share = weight / queries.repeat(queries.mean_weight(weight))
            rising *= weight
            falling *= share
            alone = v * weight * share
        fallen, risen = queries.sum(falling), queries.sum(rising)
        falling *= queries.repeat(risen)
        rising *= queries.repeat(fallen)
        return falling, rising, alone

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        first, _, alone = self._sums(v, s, queries, weight)
        return queries.sum(first - alone)

    def _value_and_gradient(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Value:
        first, second, alone = self._sums(v, s, queries, weight)
        return float((first - alone).sum()), second - first

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        first, second, alone = self._sums(v, s, queries, weight)
        return second - first, first + second - 2.0 * alone

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return queries.sum(np.sqrt(v)) ** 2 - queries.sum(v)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return log(v) / 2

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(largest)


@dataclass(frozen=True)
class PairwiseLogistic(PairwiseLoss):
    r"""Pairwise logistic loss, with terms :math:`v_i \log(1+e^{-(s_i-s_j)})` for all i != j.

    .. math:: \sum_{i<j} v_i \log(1+e^{-(s_i-s_j)}) + v_j \log(1+e^{s_i-s_j})

    :math:`c = 2\sqrt{\max_i U_i}` (CUG13, eq. 4 and Table 2). The minimizing score of a document
    of mean target 0 is negative infinity. Scores more than 700 below the best score of their query
    are treated as 700 below it.

    It is not RankNet, the logistic loss of single preferences, which is calibrated only for some
    distributions (:class:`PreferenceLogistic`).

    See Also
    --------
    Logistic : Logistic loss of scores.
    PreferenceLogistic : Logistic loss of single preferences.

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
    of_rows: ClassVar[bool] = True
    _long: ClassVar[bool] = True

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        out = np.zeros(queries.n_queries)
        for block in _blocks(v, s, queries, weight):
            for rows, sums in block.parts():
                out[block.ids] += block.losses(rows, sums)
        return out

    def _value_and_gradient(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Value:
        value, gradient = 0.0, np.empty(len(s))
        for block in _blocks(v, s, queries, weight):
            slopes = np.zeros_like(block.rising)
            for rows, sums in block.parts():
                value += float(block.losses(rows, sums).sum())
                block.add_slopes(rows, np.divide(1.0, sums, out=sums), slopes)
            gradient[block.documents] = slopes[block.present]
        return value, gradient

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        return PairDerivatives(v, queries, weight, few=np.inf).derivatives(s)

    def prepare_derivatives(
        self, v: Floats, queries: Queries, weight: Floats | None = None
    ) -> Derivatives:
        prepared: dict[Queries, PairDerivatives] = {}

        def of_part(v: Floats, s: Floats, part: Queries, weight: Any) -> tuple[Floats, Floats]:
            if part not in prepared:
                prepared[part] = PairDerivatives(v, part, weight)
            return prepared[part].derivatives(s)

        return lambda s: self._joined(of_part, ("documents", "documents"), v, s, queries, weight)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        # The minimizing score of a target of 0 is -inf; a target of 1e-100 is close enough.
        positive = np.maximum(v, 1e-100 * max(v.max(initial=0.0), 1e-100))
        return self.evaluate(v, np.log(positive), queries)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return log(v)

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(largest)


def _blocks(v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Iterator[_PairBlock]:
    """Yield all queries in blocks of similar size."""
    below = s - queries.repeat(queries.max(s))
    np.maximum(below, FLOOR, out=below)
    weight = np.ones(len(s)) if weight is None else weight
    share = 1.0 / queries.mean_weight(weight)
    extended = [queries.extend(values) for values in (v, below, weight)]
    for bucket in queries.pair_buckets:
        target, score, of_row = (bucket.pad(values, 0.0) for values in extended)
        yield _PairBlock(bucket, target, score, of_row, share[bucket.ids])


class _PairBlock:
    """All pairs (i, j) of documents of some queries in which i has a positive target.

    With ``e_i = exp(s_i)``, the pair (i, j) contributes ``v_i (log(e_i + e_j) - s_i)``, so that
    documents without a positive target need no row. Rows are documents i, and columns all
    documents j. Documents that pad a query to the width of the block have weight 0.
    """

    def __init__(self, bucket: Bucket, v: Floats, s: Floats, weight: Floats, share: Floats) -> None:
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
        # Factor of the terms of a row: target times weight, over the mean weight of the query.
        self.paid = self._of_rows(v) * self.row_weight * share[:, None]

    def _of_rows(self, values: Floats) -> Floats:
        return np.take_along_axis(values, self.rows, axis=1)

    def parts(self) -> Iterator[tuple[tuple[Any, Any], Floats]]:
        """Yield slices of rows with their ``e_i + e_j``, in parts that fit in the cache."""
        row_rising = self._of_rows(self.rising)
        step = max(1, CACHE_CELLS // self.rising.size)
        for start in range(0, self.rows.shape[1], step):
            rows = np.s_[:, start : start + step]
            yield rows, row_rising[rows][:, :, None] + self.rising[:, None, :]

    def losses(self, rows: tuple[Any, Any], sums: Floats) -> Floats:
        """Return the sum of ``v_i (log(e_i + e_j) - s_i)`` over the pairs j != i of each query."""
        logs = (np.log(sums) @ self.weight[:, :, None])[:, :, 0]
        logs -= self.total * self.row_s[rows] + np.log(2.0) * self.row_weight[rows]
        return np.einsum("ij,ij->i", self.paid[rows], logs)

    def add_slopes(self, rows: tuple[Any, Any], inverse: Floats, out: Floats) -> None:
        """Add first derivatives to `out`; the terms of the pair j = i cancel."""
        paid, rising = self.paid[rows], self.weight * self.rising
        pushed = (paid[:, None, :] @ inverse)[:, 0]
        pulled = (inverse @ rising[:, :, None])[:, :, 0]
        out += rising * pushed
        # The rows of a query are different documents.
        documents = self.rows[rows]
        values = np.take_along_axis(out, documents, axis=1) - paid * pulled
        np.put_along_axis(out, documents, values, axis=1)
