"""What a measure is: offset, targets, basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from .._queries import Queries
from .._ranked import Ranked

__all__ = ["Measure", "PairMeasure", "PositionalMeasure"]


class Measure(ABC):
    r"""A performance measure of rankings, higher is better.

    Measures of the theory are low-rank,

    .. math:: \mathrm{perf}(y, \sigma) = \mathrm{offset}(y)
        + \langle \mathrm{targets}(y), \mathrm{basis}(\sigma) \rangle,

    with arrays on documents (:class:`PositionalMeasure`) or on pairs of documents
    (:class:`PairMeasure`): regressing the targets by least squares and predicting the
    positions that are best against the basis is calibrated, i.e. Fisher-consistent,
    for the measure [RAT13]_ (Theorem 3). A measure that is neither can be evaluated only.

    Labels, targets and values of documents are arrays in the grouped order of a
    :class:`~skcalrank._queries.Queries`, whose ``sum``, ``max`` and ``repeat`` are the
    reductions over the documents of a query.

    Attributes
    ----------
    name : str
        Name in ``MEASURES``, that of the scorer.
    shape : {"documents", "pairs", None}
        Where targets and basis live.
    has_cutoff : bool
        Whether there is a parameter ``k``.
    positive_only : bool
        Whether negative labels are an error.
    separable : bool
        Whether the score target of a document depends on its own label only.

    References
    ----------
    .. [RAT13] Ramaswamy, Agarwal, Tewari: Convex Calibrated Surrogates for Low-Rank Loss
       Matrices with Applications to Subset Ranking Losses, NIPS 2013.
    """

    name: ClassVar[str]
    shape: ClassVar[str | None] = None
    has_cutoff: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False
    separable: ClassVar[bool] = False

    def labels(self, y: np.ndarray) -> np.ndarray:
        """The labels that the measure reads, checked (and made binary if it is)."""
        return y

    def scaled_to(self, y: np.ndarray) -> Measure:
        """The measure with what it reads off all labels together filled in."""
        return self

    def undefined(self, y: np.ndarray, queries: Queries) -> np.ndarray:
        """Queries on which the measure is 0/0, as a boolean array."""
        return np.zeros(queries.n_queries, dtype=bool)

    def gains_of(self, y: np.ndarray, queries: Queries) -> np.ndarray:
        """What the measure prefers to see first, among documents of equal score."""
        return y

    def score_targets(self, y: np.ndarray, queries: Queries) -> np.ndarray:
        """What a score-based surrogate regresses: one value per document.

        Raises
        ------
        ValueError
            If the theory has none for this measure.
        """
        raise ValueError(
            f"{self.name} has no score-based surrogate: no theorem says what to regress."
        )

    @abstractmethod
    def evaluate(self, y: np.ndarray, ranked: Ranked) -> np.ndarray:
        """Value of each query, in exact expectation over shared positions."""


class PositionalMeasure(Measure):
    r"""A generalised positional performance measure (CUG13, Definition 2.1).

    .. math:: \mathrm{perf}(y, \sigma) = b(y) + \sum_i u_i(y) \, \phi(\sigma(i))

    with a non-increasing discount :math:`\phi \ge 0` of the position and non-negative
    targets :math:`u_i(y)`. A subclass gives ``targets`` and ``discount``, and metric,
    surrogate and prediction map follow: sorting is best against any such basis.

    Examples
    --------
    Reciprocal-position discount of the labels themselves, a measure of one's own:

    >>> import numpy as np
    >>> from skcalrank import LeastSquaresRanker, load_digits_queries
    >>> from skcalrank.measures import PositionalMeasure
    >>> class Harmonic(PositionalMeasure):
    ...     name = "harmonic"
    ...
    ...     def targets(self, y, queries):
    ...         return y
    ...
    ...     def discount(self, positions, sizes):
    ...         return 1.0 / positions
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=30)
    >>> ranker = LeastSquaresRanker(measure=Harmonic()).fit(X, y, qid)
    >>> bool(ranker.score(X, y, qid) > 0)
    True
    """

    shape: ClassVar[str | None] = "documents"

    @abstractmethod
    def targets(self, y: np.ndarray, queries: Queries) -> np.ndarray:
        """What the surrogate regresses: ``u_i(y)`` of every document."""

    @abstractmethod
    def discount(self, positions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """``phi`` at 1-based positions in queries of the given sizes (broadcast)."""

    def gains_of(self, y, queries):
        return self.targets(y, queries)

    def score_targets(self, y, queries):
        return self.targets(y, queries)

    def offset(self, y: np.ndarray, queries: Queries) -> np.ndarray:
        """``b(y)`` of every query."""
        return np.zeros(queries.n_queries)

    @property
    def cutoff(self) -> int | None:
        """Last position with a positive discount; None = all."""
        return getattr(self, "k", None)

    def evaluate(self, y, ranked):
        queries = ranked.queries
        return self.evaluate_targets(self.targets(y, queries), self.offset(y, queries), ranked)

    def evaluate_targets(self, values: np.ndarray, offset: np.ndarray, ranked: Ranked):
        """``offset + <values, basis>`` of each query: many rankings need the targets once."""
        out = np.array(offset, dtype=float)
        for block in ranked.blocks(self.cutoff):
            discount = self.discount(block.positions, block.sizes)
            gained = block.gather(values)
            if block.tied:
                gained = block.sum_of_runs(gained) * _mean_of_runs(discount, block)
                out[block.ids] += block.sum_of_queries(gained)
            elif len(discount) == 1:
                out[block.ids] += gained @ discount[0]
            else:
                out[block.ids] += np.einsum("ij,ij->i", gained, discount)
        return out

    def best(self, values: np.ndarray, queries: Queries) -> np.ndarray:
        """``sum_i values_i phi(i)`` of every query, its values in decreasing order.

        Values must not be negative.
        """
        extended = queries.extend(values, np.negative)
        out = np.empty(queries.n_queries)
        for bucket in queries.buckets():
            first = bucket.pad(extended, 0.0)
            if self.cutoff is not None and self.cutoff < bucket.width:
                first = np.partition(first, self.cutoff - 1, axis=1)[:, : self.cutoff]
            first.sort(axis=1)
            discount = self.discount(np.arange(1, first.shape[1] + 1)[None, :], bucket.sizes)
            out[bucket.ids] = -(first * discount).sum(axis=1)
        return out


def _mean_of_runs(discount, block):
    """Mean discount over the positions that a run of equal scores shares."""
    summed = np.zeros((discount.shape[0], discount.shape[1] + 1))
    np.cumsum(discount, axis=1, out=summed[:, 1:])
    row = 0 if len(summed) == 1 else block.run_row
    start, length = block.run_start, block.run_length
    return (summed[row, start + length] - summed[row, start]) / length


class PairMeasure(Measure):
    """A measure whose targets and basis live on pairs of documents.

    ``pair_targets`` and ``pair_basis`` take stacks of queries of one size, of shape
    ``(..., r)``, and return stacks of shape ``(..., r, r)``.
    """

    shape: ClassVar[str | None] = "pairs"

    @abstractmethod
    def pair_targets(self, y: np.ndarray) -> np.ndarray:
        """What the surrogate regresses: an (r, r) matrix for every row of labels."""

    @abstractmethod
    def pair_basis(self, positions: np.ndarray) -> np.ndarray:
        """The (r, r) matrix of the positions that multiplies the targets."""

    def offset(self, y: np.ndarray, queries: Queries) -> np.ndarray:
        """What of the measure does not depend on the positions, per query."""
        return np.zeros(queries.n_queries)
