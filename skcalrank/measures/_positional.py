"""Measures with one target per document, whose prediction map is sorting.

The formulas are from RAT13, sections 4 and 5, and from the table of generalized positional
performance measures in CUG13 (Table 1, whose caption prints ``b`` of the AUC with the wrong sign).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ..data import Queries, Ranked, check
from ._base import PositionalMeasure
from ._options import BinaryMeasure, CutoffMeasure, RelativeMeasure


def share_of(values: Floats, total: Floats, queries: Queries) -> Floats:
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
        return share_of(y, queries.sum(y), queries)

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return (positions <= self._last_position(sizes)) * 1.0


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
        check.number("half_life", self.half_life, "> 1", "a position beyond the first")
        check.number("neutral", self.neutral)

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
        return share_of(y, relevant * (queries.sizes - relevant), queries)

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


@dataclass(frozen=True, eq=False, repr=False)
class OfTargets(PositionalMeasure):
    r"""The part :math:`\sum_i u_i \phi(\sigma(i))` of a positional measure, as its labels are u.

    It differs from the measure by :math:`b(y)`, which no ranking changes, and is linear in the
    targets: with unbiased targets it is, up to this constant, an unbiased value of the measure.
    """

    name: ClassVar[str] = "targets"
    measure: PositionalMeasure

    @property
    def cutoff(self) -> int | None:
        return self.measure.cutoff

    @property
    def full_name(self) -> str:
        return self.measure.full_name

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        # Where the measure is undefined its targets are 0.
        nothing = queries.max(np.abs(y)) == 0
        return nothing & self.measure.undefined(np.zeros_like(y), queries)

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return y

    def separable_targets(self, y: Floats) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return self.measure.basis(positions, sizes)


def mid_ranks(y: Floats, queries: Queries) -> Floats:
    """Return the position of each document by decreasing label, averaged over equal labels."""
    return mean_positions(Ranked(y, queries))


def mean_positions(ranked: Ranked) -> Floats:
    """Return the position of each document, averaged over those that share positions."""
    out = np.empty(ranked.queries.n_rows + 1)
    for block in ranked.blocks():
        out[block.rows] = block.mean_position if block.tied else block.positions
    return out[:-1]
