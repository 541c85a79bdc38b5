"""Measures that count relevant documents at the top: RBP, F1 and R-precision."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints
from ..data import Queries, Ranked, check
from ._base import Measure, PositionalMeasure
from ._options import BinaryMeasure, CutoffMeasure, IndependentMeasure, RelativeMeasure
from ._positional import Precision, Recall


@dataclass(frozen=True)
class RBP(BinaryMeasure, CutoffMeasure, PositionalMeasure):
    r"""Rank-biased precision: :math:`\phi(i) = (1-p) p^{i-1}`, :math:`u_i = y_i`.

    A user reads from the top, and continues from each document to the next with probability p
    [1]_. The measure is the expected number of relevant documents that the user reads, divided by
    the expected number of documents that the user would read in an endless list. It is less than
    1 for a perfect ranking of finitely many documents if p > 0.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count, as in the paper.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.
    p : float, default=0.8
        Persistence, in [0, 1): 0.5 describes an impatient user, and 0.95 a patient user.

    Raises
    ------
    ValueError
        As in :class:`Precision`, and if ``p`` is not in [0, 1).

    See Also
    --------
    Precision : Share of the first k documents that are relevant.
    ERU : Discount that falls geometrically, for graded relevances.
    skcalrank.metrics.rbp_score : The metric.
    skcalrank.RBPRanker : A ranker for rank-biased precision.

    References
    ----------
    .. [1] Moffat, Zobel: Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM
       Transactions on Information Systems 27 (1), 2008.

    Examples
    --------
    >>> from skcalrank.measures import RBP
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(RBP(p=0.5), [1, 0, 1], [0.9, 0.7, 0.3])
    0.625
    """

    name: ClassVar[str] = "rbp"
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k", "p"})
    separable: ClassVar[bool] = True
    p: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        check.number("p", self.p, ">= 0 and < 1")

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        # The order that is best for precision is best for rank-biased precision too.
        return Precision(relevance_level=self.relevance_level)._targets_key()

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return self._up_to_k((1.0 - self.p) * np.power(float(self.p), positions - 1.0), positions)


@dataclass(frozen=True)
class F1(BinaryMeasure, CutoffMeasure, PositionalMeasure):
    r"""F1 at k: the harmonic mean of precision and recall at k.

    It equals 2 (relevant documents among the first k) / (k + relevant documents), so that
    :math:`\phi(i) = 1(i \le k)` and :math:`u_i = 2 y_i / (k + |y|_1)`. It is 0 for a query without
    a relevant document.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, the number of documents of each query; for
        TREC runs, the number of documents that were retrieved.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Raises
    ------
    ValueError
        As in :class:`Precision`.

    See Also
    --------
    Precision : Share of the first k documents that are relevant.
    Recall : Share of the relevant documents that are among the first k.
    skcalrank.metrics.f1_at_k_score : The metric.

    Examples
    --------
    >>> from skcalrank.measures import F1
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(F1(k=2), [1, 0, 0, 1], [4, 3, 2, 1])
    0.5
    """

    name: ClassVar[str] = "f1"
    largest_value: ClassVar[float] = 1.0

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return y * queries.repeat(2.0 / (self._last_position(queries.sizes) + queries.sum(y)))

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        # The targets do not depend on how many documents of a query a run retrieved.
        precision = Precision(self.k).evaluate(y, ranked)
        recall = Recall(self.k).evaluate(y, ranked)
        return arrays.safe_divide(2.0 * precision * recall, precision + recall)

    def separable_targets(self, y: Floats) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return (positions <= self._last_position(sizes)) * 1.0


@dataclass(frozen=True)
class RPrecision(IndependentMeasure, RelativeMeasure):
    r"""R-precision: the precision at the number of relevant documents of the query.

    Undefined (0/0) for a query without a relevant document. It is not a positional measure,
    because the last position that counts depends on the labels. If the query determines
    :math:`|y|_1`, it equals P@k with :math:`k = |y|_1`. If relevances are independent given the
    query, sorting by their probabilities is best: to compare two documents, only the outcomes in
    which exactly one of them is relevant matter, and :math:`|y|_1` is the same whichever it is.

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
    Precision : Precision at a fixed position.
    skcalrank.metrics.r_precision_score : The metric.

    Examples
    --------
    >>> from skcalrank.measures import RPrecision
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(RPrecision(), [1, 0, 1, 0], [4, 3, 2, 1])
    0.5
    """

    name: ClassVar[str] = "r_precision"
    top_only: ClassVar[bool] = True

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        relevant = ranked.queries.sum(y)
        hits = np.zeros(ranked.queries.n_queries)
        for block in ranked.blocks():
            share = block.gather(y)
            if block.tied:
                share = np.repeat(block.sum_of_runs(share) / block.run_length, block.run_length)
                share = share.reshape(block.rows.shape)
            hits[block.ids] = (share * (block.positions <= relevant[block.ids, None])).sum(axis=1)
        return arrays.safe_divide(hits, relevant)
