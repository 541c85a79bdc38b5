"""Measures of how many relevant documents stand first: RBP, F1, R-precision."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ..data import Bools, Floats, Ints, Queries, Ranked, safe_divide
from ._base import BinaryMeasure, Measure, PositionalMeasure
from ._labels import binary_labels, check_level
from ._positional import Precision, Recall


@dataclass(frozen=True)
class RBP(BinaryMeasure, PositionalMeasure):
    r"""Rank-biased precision: :math:`\phi(i) = (1-p) p^{i-1}`, :math:`u_i = y_i`.

    What a user finds per document read, who goes on from each to the next with probability p. A
    perfect ranking of finitely many documents stays below 1. Moffat and Zobel: Rank-Biased
    Precision for Measurement of Retrieval Effectiveness, ACM Transactions on Information Systems
    27 (1), 2008.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, from 1; None = all, as in the paper.
    relevance_level : float, default=None
        As in :class:`Precision`.
    p : float, default=0.8
        Persistence, in [0, 1): 0.5 is an impatient user, 0.95 a patient one.

    Raises
    ------
    ValueError
        As :class:`Precision`, and if ``p`` is not in [0, 1).

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
        if not isinstance(self.p, Real) or isinstance(self.p, bool) or not 0 <= self.p < 1:
            raise ValueError(f"p={self.p!r}: the persistence is a number from 0 to below 1.")

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        # One order is best for both.
        return Precision(relevance_level=self.relevance_level)._targets_key()

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        discount: Floats = (1.0 - self.p) * np.power(float(self.p), positions - 1.0)
        return discount if self.k is None else discount * (positions <= self.k)


@dataclass(frozen=True)
class F1(BinaryMeasure, PositionalMeasure):
    r"""F1 at k: the harmonic mean of precision and recall at k.

    It is 2 (relevant documents among the first k) / (k + relevant documents), so that
    :math:`\phi(i) = 1(i \le k)` and :math:`u_i = 2 y_i / (k + |y|_1)`; 0 without a relevant
    document.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, from 1; None = the number of documents of each query, of runs
        those that were retrieved.
    relevance_level : float, default=None
        As in :class:`Precision`.

    Raises
    ------
    ValueError
        As :class:`Precision`.

    Examples
    --------
    >>> from skcalrank.measures import F1
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(F1(k=2), [1, 0, 0, 1], [4, 3, 2, 1])
    0.5
    """

    name: ClassVar[str] = "f1"

    def targets(self, y: Floats, queries: Queries) -> Floats:
        k = queries.sizes if self.k is None else self.k
        return y * queries.repeat(2.0 / (k + queries.sum(y)))

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        # Not by the targets, which do not know how many documents of a query a run retrieved.
        precision = Precision(self.k).evaluate(y, ranked)
        recall = Recall(self.k).evaluate(y, ranked)
        return safe_divide(2.0 * precision * recall, precision + recall)

    def separable_targets(self, y: Floats) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return (positions <= (sizes if self.k is None else self.k)) * 1.0


@dataclass(frozen=True)
class RPrecision(Measure):
    r"""R-precision: the precision at the number of relevant documents of the query.

    0/0 without a relevant document. It is no positional measure, as the last position that counts
    depends on the labels; where the query determines :math:`|y|_1`, it is that P@k. With
    relevances that are independent given the query, sorting by their probabilities is best: of two
    documents only the outcomes matter in which one is relevant, and :math:`|y|_1` is the same
    whichever it is.

    Parameters
    ----------
    relevance_level : float, default=None
        As in :class:`Precision`.

    Raises
    ------
    ValueError
        On use, for labels other than 0 and 1 without a ``relevance_level``, or one that is not
        finite.

    Examples
    --------
    >>> from skcalrank.measures import RPrecision
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(RPrecision(), [1, 0, 1, 0], [4, 3, 2, 1])
    0.5
    """

    name: ClassVar[str] = "r_precision"
    calibration: ClassVar[str | None] = "independence"
    separable: ClassVar[bool] = True
    is_binary: ClassVar[bool] = True
    top_only: ClassVar[bool] = True
    relevance_level: float | None = None

    def __post_init__(self) -> None:
        check_level(self.relevance_level)

    def labels(self, y: Floats) -> Floats:
        return binary_labels(y, self.relevance_level)

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        without: Bools = queries.sum(y) == 0
        return without

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """The relevance: sorting by its mean is best when relevances are independent given the
        query."""
        return y

    def separable_targets(self, y: Floats) -> Floats:
        return y

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        relevant = ranked.queries.sum(y)
        hits = np.zeros(ranked.queries.n_queries)
        for block in ranked.blocks():
            share = block.gather(y)
            if block.tied:
                share = np.repeat(block.sum_of_runs(share) / block.run_length, block.run_length)
                share = share.reshape(block.rows.shape)
            first = block.positions <= relevant[block.ids, None]
            hits[block.ids] = (share * first).sum(axis=1)
        return safe_divide(hits, relevant)
