"""Measures with one target per document, whose prediction map is sorting.

The formulas are from RAT13, sections 4 and 5, and from the table of generalized positional
performance measures in CUG13 (Table 1, whose caption prints ``b`` of the AUC with the wrong sign).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ..data import Queries, Ranked
from ._base import PositionalMeasure
from ._families import Discount, Gain, discounts, gains
from ._options import BinaryMeasure, CutoffMeasure, GainMeasure, RelativeMeasure


def _share(values: Floats, total: Floats, queries: Queries) -> Floats:
    """Return values divided by the total of their query, and 0 where the total is 0."""
    out = queries.repeat(arrays.safe_divide(1.0, total))
    out *= values
    return out


@dataclass(frozen=True)
class Precision(BinaryMeasure, CutoffMeasure, PositionalMeasure):
    r"""Precision at k: :math:`\phi(i) = 1(i \le k)/k`, :math:`u_i = y_i` (RAT13, section 4).

    The precision of a query with fewer than k documents is still divided by k. With k = 1 the
    measure is also called "winner takes all".

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, the number of documents of each query.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Raises
    ------
    ValueError
        If ``k`` is not an integer >= 1 or ``relevance_level`` is not finite. When the measure is
        computed, if ``relevance_level`` is None and a label is neither 0 nor 1.

    See Also
    --------
    Recall : Share of the relevant documents that are among the first k.
    RPrecision : Precision at the number of relevant documents.
    skcalrank.metrics.precision_at_k_score : The metric.
    skcalrank.PrecisionRanker : A ranker for precision at k.

    Examples
    --------
    >>> from skcalrank.measures import Precision
    >>> from skcalrank.metrics import measure_score
    >>> y, scores = [3, 0, 1, 2], [0.9, 0.7, 0.3, 0.1]
    >>> measure_score(Precision(k=2, relevance_level=1), y, scores)
    0.5
    """

    name: ClassVar[str] = "precision"
    largest_value: ClassVar[float] = 1.0
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k"})
    separable: ClassVar[bool] = True

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        k = self._last_position(sizes)
        return (positions <= k) / k


@dataclass(frozen=True)
class Recall(RelativeMeasure, CutoffMeasure, PositionalMeasure):
    r"""Recall at k: :math:`\phi(i) = 1(i \le k)`, :math:`u_i = y_i/|y|_1` (CUG13, Table 1).

    The share of the relevant documents of a query that are at the first k positions. Undefined
    (0/0) for a query without a relevant document.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count, and the recall is 1.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Raises
    ------
    ValueError
        As in :class:`Precision`.

    See Also
    --------
    Precision : Share of the first k documents that are relevant.
    F1 : Harmonic mean of precision and recall.
    skcalrank.metrics.recall_at_k_score : The metric.
    skcalrank.RecallRanker : A ranker for recall at k.

    Examples
    --------
    >>> from skcalrank.measures import Recall
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(Recall(k=2), [1, 0, 0, 1, 1, 1], [6, 5, 4, 3, 2, 1])
    0.25
    """

    name: ClassVar[str] = "recall"
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k"})

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return _share(y, queries.sum(y), queries)

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return (positions <= self._last_position(sizes)) * 1.0


@dataclass(frozen=True, repr=False)
class DCG(GainMeasure, PositionalMeasure):
    r"""Discounted cumulative gain: :math:`\phi(i) = 1(i \le k)/\log_2(1+i)`, :math:`u_i = G(y_i)`.

    The gain is :math:`G(y) = 2^y - 1` ("exponential", as in CUG13, Table 1) or :math:`y`
    ("linear"). Other gains and discounts define other positional measures of the same family
    (DMJ13, eq. 14), for which the same surrogates are calibrated.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a document of relevance y: ``2^y - 1`` ("exponential"), y ("linear"), ``gain[y]``
        of an array, as in LightGBM's label_gain, or the value of a function of an array of
        grades. The gain must not decrease with the grade.
    discount : array-like or callable, default=None
        Discounts of positions 1, 2, ..., with 0 behind the last, or a function of an array of
        1-based positions. They must not increase. If None, :math:`1/\log_2(1+i)`. Functions
        defined in a module can be pickled, lambdas cannot.

    Raises
    ------
    ValueError
        If ``k`` is not an integer >= 1, or ``gain`` or ``discount`` is invalid. When the measure
        is computed, if a label is negative, has no gain, or is above 1000 with the exponential
        gain, which overflows; or if values of a function are not finite, negative or in the wrong
        order.

    See Also
    --------
    NDCG : DCG divided by the ideal DCG of the query.
    skcalrank.metrics.dcg_score : The metric.
    skcalrank.DCGRanker : A ranker for DCG.

    Examples
    --------
    >>> from skcalrank.measures import DCG
    >>> from skcalrank.metrics import measure_score
    >>> y, scores = [2, 0, 1], [0.9, 0.7, 0.3]
    >>> measure_score(DCG(), y, scores), measure_score(DCG(k=2, gain="linear"), y, scores)
    (3.5, 2.0)
    >>> DCG(gain=[0, 1, 10]), round(measure_score(DCG(gain=[0, 1, 10]), y, scores), 3)
    (DCG(k=None, gain=(0.0, 1.0, 10.0)), 10.5)
    >>> round(measure_score(DCG(discount=lambda positions: 1 / positions), y, scores), 4)
    3.3333
    """

    name: ClassVar[str] = "dcg"
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k", "discount"})
    has_gain: ClassVar[bool] = True
    _gain_names: ClassVar[tuple[str, ...]] = ("exponential", "linear")
    gain: Gain = "exponential"
    discount: Discount | None = field(default=None, repr=False)

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return gains(y, self.gain)

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        if self.discount is None:
            return self._up_to_k(1.0 / np.log2(1.0 + positions), positions)
        return self._up_to_k(discounts(positions, self.discount), positions)


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    r"""DCG divided by the ideal DCG of the query: :math:`u_i = G(y_i)/\mathrm{IDCG}@k(y)`.

    The ideal DCG is the largest DCG that the labels allow (DMJ13, eq. 14, with F = 1/phi). NDCG is
    undefined (0/0) for a query without a document of positive gain, where ``u = 0``.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1, in the ideal order too. If None, all positions
        count.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a document of relevance y: ``2^y - 1`` ("exponential"), y ("linear"), ``gain[y]``
        of an array, as in LightGBM's label_gain, or the value of a function of an array of
        grades. The gain must not decrease with the grade.
    discount : array-like or callable, default=None
        As in :class:`~skcalrank.measures.DCG`; it applies to the ideal order too.

    Raises
    ------
    ValueError
        As in :class:`~skcalrank.measures.DCG`.

    See Also
    --------
    DCG : Discounted cumulative gain.
    skcalrank.metrics.ndcg_score : The metric.
    skcalrank.NDCGRanker : A ranker for NDCG.

    Examples
    --------
    The target of a document depends on the other labels of its query, through the ideal DCG:

    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.measures import NDCG
    >>> from skcalrank.metrics import measure_score
    >>> round(measure_score(NDCG(k=2), [2, 0, 1], [0.9, 0.7, 0.3]), 4)
    0.8262
    >>> LabelDistribution([[2, 0, 1], [1, 0, 0]]).targets(NDCG(k=2)).round(3)
    array([[0.826, 0.   , 0.275],
           [1.   , 0.   , 0.   ]])
    """

    name: ClassVar[str] = "ndcg"
    largest_value: ClassVar[float] = 1.0
    needs: ClassVar[str] = "a document of positive gain"
    basis_fields: ClassVar[frozenset[str]] = frozenset()
    separable: ClassVar[bool] = False

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        # Exponential and linear gains are 0 for grade 0 only.
        gain = y if isinstance(self.gain, str) else gains(y, self.gain)
        return queries.max(gain) == 0

    def targets(self, y: Floats, queries: Queries) -> Floats:
        highest = int(y.max(initial=0.0))
        bits = int(queries.sizes.max()).bit_length()
        if highest * bits <= 62:
            grades = y.astype(np.intp)
            if (grades == y).all():
                gain = gains(np.arange(highest + 1.0), self.gain)
                if arrays.scale_of(gain[-1]) == 1:
                    return _share(gain[grades], self._ideal(gain, grades, bits, queries), queries)
        gain = gains(y, self.gain)
        gain = gain / queries.repeat(arrays.scale_of(queries.max(gain)))
        return _share(gain, self.best(gain, queries), queries)

    def separable_targets(self, y: Floats) -> Floats:
        return gains(y, self.gain)

    def _ideal(self, gain: Floats, grades: Ints, bits: int, queries: Queries) -> Floats:
        """Return IDCG@k, from the number of documents per grade, in half the time of sorting."""
        highest = len(gain) - 1
        # Pack the counts of a query into one integer, with `bits` bits for each grade above 0.
        field = bits * np.arange(highest)
        one = np.append(0, np.left_shift(1, field))
        packed = queries.sum(one[grades])[:, None]
        counts = np.right_shift(packed, field[::-1]) & ((1 << bits) - 1)
        # Best grade first: the number of positions filled by this grade and better ones.
        filled = counts.cumsum(axis=1)
        discount = self.basis(np.arange(1, queries.sizes.max() + 1), queries.sizes)
        summed = np.append(0.0, discount.cumsum())
        # Summation by parts over the grades; every document has at least the gain of grade 0.
        ideal = summed[filled] @ np.diff(gain)[::-1]
        ideal += gain[0] * summed[queries.sizes]
        return ideal


@dataclass(frozen=True)
class ERU(CutoffMeasure, PositionalMeasure):
    r"""Expected rank utility (RAT13, section 5).

    :math:`\phi(i) = 2^{(1-i)/(w-1)}` with viewing half-life w > 1, and
    :math:`u_i = \max(y_i - v, 0)` with neutral score v.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count, as in the paper.
    neutral : float, default=0.0
        Neutral score v: documents of relevance v or less contribute nothing.
    half_life : float, default=5.0
        Viewing half-life w, greater than 1: the position at which the discount is one half.

    Raises
    ------
    ValueError
        If ``k`` is not an integer >= 1, ``neutral`` is not finite, or ``half_life`` is not a finite
        number greater than 1.

    See Also
    --------
    RBP : Discount that falls geometrically, for binary relevances.
    skcalrank.metrics.eru_score : The metric.
    skcalrank.ExpectedRankUtilityRanker : A ranker for expected rank utility.

    Examples
    --------
    >>> from skcalrank.measures import ERU
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(ERU(neutral=3, half_life=2), [5, 1, 4], [0.9, 0.7, 0.3])
    2.25
    """

    name: ClassVar[str] = "eru"
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k", "half_life"})
    separable: ClassVar[bool] = True
    neutral: float = 0.0
    half_life: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.half_life, Real) or not 1 < self.half_life < np.inf:
            raise ValueError(
                f"half_life must be a finite number > 1, a position beyond the first, got "
                f"{self.half_life!r}."
            )
        if not isinstance(self.neutral, Real) or not np.isfinite(self.neutral):
            raise ValueError(f"neutral must be a finite number, got {self.neutral!r}.")

    def is_linear(self, targets: str = "measure") -> bool:
        return self.neutral <= 0  # then relevances from 0 on are not cut

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return np.maximum(y - self.neutral, 0.0)

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return self._up_to_k(np.exp2((1.0 - positions) / (self.half_life - 1.0)), positions)


@dataclass(frozen=True)
class AUC(RelativeMeasure, PositionalMeasure):
    r"""Area under the ROC curve: :math:`\phi(i) = r-i`, :math:`u_i = y_i/(|y|_1(r-|y|_1))`.

    ``b = -(|y|_1 - 1)/(2(r - |y|_1))`` (CUG13, Table 1 and appendix B.1). Undefined (0/0) for a
    query whose documents are all relevant or all irrelevant.

    Parameters
    ----------
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Raises
    ------
    ValueError
        If ``relevance_level`` is not finite. When the measure is computed, if ``relevance_level``
        is None and a label is neither 0 nor 1.

    See Also
    --------
    Kendall : Agreement of pairs for graded labels.
    skcalrank.metrics.auc_score : The metric.
    skcalrank.AUCRanker : A ranker for the AUC.

    Examples
    --------
    The AUC is computed within each query and averaged over the queries:

    >>> from skcalrank.measures import AUC
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(AUC(), [1, 0, 1, 0, 1], [3, 2, 1, 2, 1], qid=[1, 1, 1, 2, 2])
    0.25
    """

    name: ClassVar[str] = "auc"
    needs: ClassVar[str] = "both relevant and irrelevant documents"

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        relevant = queries.sum(y)
        return (relevant == 0) | (relevant == queries.sizes)

    def targets(self, y: Floats, queries: Queries) -> Floats:
        relevant = queries.sum(y)
        return _share(y, relevant * (queries.sizes - relevant), queries)

    def offset(self, y: Floats, queries: Queries) -> Floats:
        relevant = queries.sum(y)
        negative = (1.0 - relevant) * ~self.undefined(y, queries)
        return arrays.safe_divide(negative, 2.0 * (queries.sizes - relevant))

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return np.maximum(sizes - positions, 0.0)


@dataclass(frozen=True)
class Spearman(PositionalMeasure):
    r"""Spearman's rho, ``1 - 6 sum d^2 / (r(r^2-1))`` on mid-ranks of the labels.

    :math:`\phi(i) = 12(r-i)/(r(r^2-1))`, :math:`u_i = r - \rho_i` with
    :math:`\rho_i` the mid-rank of document i by decreasing label; without ties
    ``b = -3(r-1)/(r+1)`` (CUG13, Table 1 and appendix B.1). Undefined (0/0) for a single document.

    See Also
    --------
    Kendall : Agreement of pairs.
    skcalrank.metrics.spearman_score : The metric.
    skcalrank.SpearmanRanker : A ranker for Spearman's rho.

    Examples
    --------
    >>> from skcalrank.measures import Spearman
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(Spearman(), [3, 2, 1], [0.2, 0.9, 0.1])
    0.5
    """

    name: ClassVar[str] = "spearman"
    largest_value: ClassVar[float] = 1.0
    needs: ClassVar[str] = "two documents to order"

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        return queries.sizes < 2

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return queries.repeat(queries.sizes) - mid_ranks(y, queries)

    def offset(self, y: Floats, queries: Queries) -> Floats:
        return self._offset(mid_ranks(y, queries), queries)

    def evaluator(self, y: Floats, queries: Queries) -> Callable[[Ranked], Floats]:
        # Sort the labels once for targets and offset.
        ranks = mid_ranks(y, queries)
        targets = queries.repeat(queries.sizes) - ranks
        return partial(self.evaluate_targets, targets, self._offset(ranks, queries))

    @staticmethod
    def _offset(ranks: Floats, queries: Queries) -> Floats:
        r = queries.sizes.astype(float)
        squares = queries.sum(ranks**2) + r * (r + 1) * (2 * r + 1) / 6
        return np.where(
            r < 2, 0.0, 1.0 - 6.0 * arrays.safe_divide(squares - 2 * r**2, r * (r**2 - 1))
        )

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        r = np.asarray(sizes, dtype=float)
        return arrays.safe_divide(np.maximum(12.0 * (r - positions), 0.0), r * (r**2 - 1))


def mid_ranks(y: Floats, queries: Queries) -> Floats:
    """Return the position of each document by decreasing label, averaged over equal labels."""
    return mean_positions(Ranked(y, queries))


def mean_positions(ranked: Ranked) -> Floats:
    """Return the position of each document, averaged over those that share positions."""
    out = np.empty(ranked.queries.n_rows + 1)
    for block in ranked.blocks():
        out[block.rows] = block.mean_position if block.tied else block.positions
    return out[:-1]
