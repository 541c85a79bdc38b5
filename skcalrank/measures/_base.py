"""What a measure is: offset, targets, basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..data import Block, Bools, Floats, Ints, Queries, Ranked, check_cutoff
from ._families import shown
from ._labels import binary_labels, check_level


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
    :class:`~skcalrank.data.Queries`, whose ``sum``, ``max`` and ``repeat`` are the
    reductions over the documents of a query.

    The attributes below are what the rest of the package knows about a measure; it never asks
    for the class. A new measure declares those that differ from the defaults of the base class.

    Attributes
    ----------
    name : str
        Name in ``MEASURES``, that of the scorer.
    full_name : str
        The name with the cutoff, such as ``"ndcg@10"``.
    shape : {"documents", "pairs", None}
        Where targets and basis live. None: the measure can be evaluated only.
    objective : {"positional", "map", "disagreement", None}
        Problem of the best positions, which prediction maps solve
        (:func:`skcalrank.preds.preds_for`); None if no prediction map is known.
    calibration : str or None
        Under which distributions of the labels sorting by the regressed score targets is
        calibrated: "always", or the name of a sufficient condition. None: no theorem is known.
    separable : bool
        Whether the score target of a document depends on its own label only.
    basis_fields : frozenset of str
        Parameters that change the values, but not which ranking is best.
    has_cutoff : bool
        Whether there is a parameter ``k``.
    has_gain : bool
        Whether there is a parameter ``gain`` that may be "exponential" or "linear".
    cutoff : int or None
        Last position that counts; None = all.
    positive_only : bool
        Whether negative labels are an error.
    is_binary : bool
        Whether documents are either relevant or not; then there is a parameter
        ``relevance_level``.
    needs_binary_labels : bool
        Whether labels other than 0 and 1 are an error, as no ``relevance_level`` is set.
    is_scaled : bool
        Whether :meth:`scaled_to` has nothing to fill in.
    reads_orders : bool
        Whether a :class:`~skcalrank.PreferenceTarget` of unit preferences, each pair once, can take
        the place of the labels in metrics, such as one of
        :meth:`~skcalrank.PreferenceTarget.from_orders`.
    reads_preferences : bool
        Whether a :class:`~skcalrank.PreferenceTarget` can take the place of the labels.
    top_only : bool
        Whether a document that was not retrieved adds nothing, so that truncated rankings such as
        TREC runs can be measured.

    References
    ----------
    .. [RAT13] Ramaswamy, Agarwal, Tewari: Convex Calibrated Surrogates for Low-Rank Loss
       Matrices with Applications to Subset Ranking Losses, NIPS 2013.
    """

    name: ClassVar[str]
    shape: ClassVar[str | None] = None
    objective: ClassVar[str | None] = None
    calibration: ClassVar[str | None] = None
    separable: ClassVar[bool] = False
    basis_fields: ClassVar[frozenset[str]] = frozenset()
    has_cutoff: ClassVar[bool] = False
    has_gain: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False
    is_binary: ClassVar[bool] = False
    reads_orders: ClassVar[bool] = False
    reads_preferences: ClassVar[bool] = False
    top_only: ClassVar[bool] = False

    def __repr__(self) -> str:
        # Of dataclasses that leave it to this one: a function by its name, and some fields only
        # where they are not as they come.
        if not is_dataclass(self):
            return super().__repr__()
        values = [(f, getattr(self, f.name)) for f in fields(self)]
        options = [f"{f.name}={shown(v)}" for f, v in values if f.repr or v != f.default]
        return f"{type(self).__name__}({', '.join(options)})"

    @property
    def cutoff(self) -> int | None:
        """Last position that counts; None = all."""
        return getattr(self, "k", None)

    @property
    def full_name(self) -> str:
        """Name with the cutoff, if there is one."""
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def needs_binary_labels(self) -> bool:
        """Whether labels other than 0 and 1 are an error."""
        return self.is_binary and self.relevance_level is None  # type: ignore[attr-defined]

    @property
    def is_scaled(self) -> bool:
        """Whether :meth:`scaled_to` has nothing to fill in."""
        return True

    @classmethod
    def has_score_targets(cls) -> bool:
        """Return whether the measure has :meth:`score_targets`."""
        return cls.score_targets is not Measure.score_targets

    @classmethod
    def has_separable_targets(cls) -> bool:
        """Return whether the measure has :meth:`separable_targets`."""
        return cls.separable_targets is not Measure.separable_targets

    def same_targets_as(self, other: Measure) -> bool:
        """Return whether the best ranking for this measure is the best for another one.

        Parameters
        ----------
        other : Measure

        Returns
        -------
        same : bool
            True if targets are equal up to a positive factor and a shift of each query, and the
            basis orders the documents alike: measures of one class that differ in `basis_fields`
            only, Kendall's tau and the unit pairwise disagreement, and rank-biased precision and
            precision. (The best ranking for ERR on two scales is the same under the condition of
            its calibration.)
        """
        return self._targets_key() == other._targets_key()

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        """What decides which ranking is best."""
        params = {name: v for name, v in vars(self).items() if name not in self.basis_fields}
        return type(self), params

    def labels(self, y: Floats) -> Floats:
        """The labels that the measure reads, checked (and made binary if it is).

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Relevances, higher is better, in grouped order. Not modified.

        Returns
        -------
        labels : ndarray of shape (n_documents,)
            What all other methods but :meth:`scaled_to` take for ``y``.

        Raises
        ------
        ValueError
            For labels that the measure does not take.
        """
        return y

    def scaled_to(self, y: Floats) -> Measure:
        """The measure with what it reads off all labels together filled in.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            All labels, of one fit or one evaluation, before :meth:`labels`.

        Returns
        -------
        measure : Measure
            Itself, unless a parameter was left to the labels, such as the highest grade of
            :class:`ERR`.
        """
        return self

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        """Queries on which the measure is 0/0.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            What :meth:`labels` returned.
        queries : Queries
            Which documents belong together.

        Returns
        -------
        undefined : ndarray of bool of shape (n_queries,)
            A metric asks its ``empty`` what these count, and :meth:`evaluate` may give them any
            finite value.
        """
        return np.zeros(queries.n_queries, dtype=bool)

    def gains_of(self, y: Floats, queries: Queries) -> Floats:
        """What the measure prefers to see first, among documents of equal score.

        Read by metrics with ``ties="worst"`` and ``ties="best"`` only.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        gains : ndarray of shape (n_documents,)
            Larger is better; only the order within a query counts.
        """
        return y

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """What a score-based surrogate regresses: one value per document.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        targets : ndarray of shape (n_documents,)
            In grouped order. Documents are sorted by their regression, the largest first.

        Raises
        ------
        ValueError
            If the theory has none for this measure.
        """
        raise ValueError(
            f"{self.name} has no score-based surrogate: no theorem says what to regress."
        )

    def separable_targets(self, y: Floats) -> Floats:
        """What may be regressed in place of the score targets where relevances are independent.

        Sorting by their conditional means is best for the measure where, given the query, the
        labels of its documents are independent, and their laws stochastically ordered: of any two
        documents, one has the higher probability of a label above each grade. Two labels always
        are. (Of relevant documents and others it is the probability ranking principle.)

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            What :meth:`labels` returned.

        Returns
        -------
        targets : ndarray of shape (n_documents,)
            Of each document by its own label only. Where that has a law that the row of the
            document determines, a regressor of single rows estimates their mean.

        Raises
        ------
        ValueError
            If none are known for this measure.
        """
        raise ValueError(f"{self.name} has no separable targets.")

    def offset(self, y: Floats, queries: Queries) -> Floats:
        """Return ``b(y)``, the part of the measure that does not depend on the positions.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        offset : ndarray of shape (n_queries,)
            0 in the base class.
        """
        return np.zeros(queries.n_queries)

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        """Value of each query from its preferences, where the measure reads them.

        Parameters
        ----------
        total, lost : ndarray of shape (n_queries,)
            Weight of all preferences, and of those that the ranking contradicts.
        sizes : ndarray of int of shape (n_queries,)
            Numbers of documents.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            NaN where the measure is 0/0.
        """
        raise NotImplementedError(f"{self.name} reads no preferences.")

    @abstractmethod
    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        """Value of each query, in exact expectation over shared positions.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            What :meth:`labels` returned.
        ranked : Ranked
            The documents by decreasing score. ``ranked.blocks(k)`` gives batches of queries with
            their documents in the order of their positions, ``ranked.queries`` the queries.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            In order of first appearance of the queries.
        """

    def evaluator(self, y: Floats, queries: Queries) -> Callable[[Ranked], Floats]:
        """Return :meth:`evaluate` of labels that many rankings are compared with.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        values : callable
            ``values(ranked)``, where ``ranked.queries`` are the queries: what depends on the labels
            alone, such as the ideal DCG, is computed once.
        """
        return partial(self.evaluate, y)


@dataclass(frozen=True)
class BinaryMeasure(Measure):
    """What measures of relevant documents up to a cutoff have in common."""

    is_binary: ClassVar[bool] = True
    top_only: ClassVar[bool] = True
    has_cutoff: ClassVar[bool] = True
    k: int | None = None
    relevance_level: float | None = None

    def __post_init__(self) -> None:
        check_cutoff(self.k)
        check_level(self.relevance_level)

    def labels(self, y: Floats) -> Floats:
        return binary_labels(y, self.relevance_level)


class PositionalMeasure(Measure):
    r"""A generalized positional performance measure (CUG13, Definition 2.1).

    .. math:: \mathrm{perf}(y, \sigma) = b(y) + \sum_i u_i(y) \, \phi(\sigma(i))

    with a non-increasing discount :math:`\phi \ge 0` of the position and non-negative
    targets :math:`u_i(y)`. A subclass gives ``targets`` and ``basis``, and metric,
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
    ...     def basis(self, positions, sizes):
    ...         return 1.0 / positions
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=30)
    >>> ranker = LeastSquaresRanker(measure=Harmonic()).fit(X, y, qid)
    >>> bool(ranker.score(X, y, qid) > 0)
    True
    """

    shape: ClassVar[str | None] = "documents"
    calibration: ClassVar[str | None] = "always"
    objective: ClassVar[str | None] = "positional"

    @abstractmethod
    def targets(self, y: Floats, queries: Queries) -> Floats:
        """What the surrogate regresses: ``u_i(y)`` of every document.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        targets : ndarray of shape (n_documents,)
            In grouped order, from 0; finite, also on queries that are undefined.
        """

    @abstractmethod
    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        """The discount ``phi`` at 1-based positions.

        Parameters
        ----------
        positions : ndarray of int
            Positions from 1. They may lie beyond the last document of a query, and the discount
            there is any finite number.
        sizes : ndarray of int
            Numbers of documents of the queries, of a shape that broadcasts against ``positions``:
            (n, 1) against (1, width), for instance.

        Returns
        -------
        discount : ndarray
            Non-negative and non-increasing in the position. It has the shape of ``positions``, or
            the broadcast one where it depends on the size of the query.
        """

    def gains_of(self, y: Floats, queries: Queries) -> Floats:
        return self.targets(y, queries)

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        return self.targets(y, queries)

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        return self.evaluator(y, ranked.queries)(ranked)

    def evaluator(self, y: Floats, queries: Queries) -> Callable[[Ranked], Floats]:
        if type(self).evaluate is not PositionalMeasure.evaluate:
            return super().evaluator(y, queries)
        return partial(self.evaluate_targets, self.targets(y, queries), self.offset(y, queries))

    def evaluate_targets(self, values: Floats, offset: Floats, ranked: Ranked) -> Floats:
        """``offset + <values, basis>`` of each query: many rankings need the targets once.

        Parameters
        ----------
        values : ndarray of shape (n_documents,)
            What :meth:`targets` returned.
        offset : ndarray of shape (n_queries,)
            What :meth:`offset` returned.
        ranked : Ranked
            As in :meth:`evaluate`.

        Returns
        -------
        values : ndarray of shape (n_queries,)
        """
        out = np.array(offset, dtype=float)
        for block in ranked.blocks(self.cutoff):
            discount = self.basis(block.positions, block.sizes)
            gained = block.gather(values)
            if block.tied:
                gained = block.sum_of_runs(gained) * _mean_of_runs(discount, block)
                out[block.ids] += block.sum_of_queries(gained)
            elif len(discount) == 1:
                out[block.ids] += gained @ discount[0]
            else:
                out[block.ids] += np.einsum("ij,ij->i", gained, discount)
        return out

    def best(self, values: Floats, queries: Queries) -> Floats:
        """``sum_i values_i phi(i)`` of every query, its values in decreasing order.

        Parameters
        ----------
        values : ndarray of shape (n_documents,)
            Gains from 0, in grouped order.
        queries : Queries

        Returns
        -------
        best : ndarray of shape (n_queries,)
            The largest value that any order of the documents has, such as the ideal DCG.
        """
        extended = queries.extend(values, np.negative)
        out = np.empty(queries.n_queries)
        for bucket in queries.buckets():
            first = bucket.pad(extended, 0.0)
            if self.cutoff is not None and self.cutoff < bucket.width:
                first = np.partition(first, self.cutoff - 1, axis=1)[:, : self.cutoff]
            first.sort(axis=1)
            discount = self.basis(np.arange(1, first.shape[1] + 1)[None, :], bucket.sizes)
            out[bucket.ids] = -(first * discount).sum(axis=1)
        return out


def _mean_of_runs(discount: Floats, block: Block) -> Floats:
    """Mean discount over the positions that a run of equal scores shares."""
    summed = np.zeros((discount.shape[0], discount.shape[1] + 1))
    np.cumsum(discount, axis=1, out=summed[:, 1:])
    row = 0 if len(summed) == 1 else block.run_row
    start, length = block.run_start, block.run_length
    means: Floats = (summed[row, start + length] - summed[row, start]) / length
    return means


class PairMeasure(Measure):
    r"""A measure whose targets and basis live on pairs of documents.

    .. math:: \mathrm{perf}(y, \sigma) = b(y) + \sum_{i,j} u_{ij}(y) \, B_{ij}(\sigma)

    A subclass gives ``pair_targets``, ``pair_basis`` and ``evaluate``. Least squares on the pair
    targets is calibrated with the map that maximizes the sum (RAT13, Theorem 3), not with a sort.
    For a few documents :class:`skcalrank.calibration.LabelDistribution` enumerates the orders.

    ``pair_targets`` and ``pair_basis`` take stacks of queries of one size, of shape
    ``(..., r)``, and return stacks of shape ``(..., r, r)``.

    Examples
    --------
    Average precision is one, and the sum is its value:

    >>> import numpy as np
    >>> from skcalrank.measures import AveragePrecision
    >>> measure = AveragePrecision()
    >>> u = measure.pair_targets(np.array([1.0, 0.0, 1.0]))
    >>> u
    array([[0.5, 0. , 0. ],
           [0. , 0. , 0. ],
           [0.5, 0. , 0.5]])
    >>> round(float((u * measure.pair_basis(np.array([1, 2, 3]))).sum()), 4)
    0.8333
    """

    shape: ClassVar[str | None] = "pairs"

    @abstractmethod
    def pair_targets(self, y: Floats) -> Floats:
        """What the surrogate regresses: an (r, r) matrix for every row of labels.

        Parameters
        ----------
        y : ndarray of shape (..., r)
            What :meth:`labels` returned, a row for each query of r documents.

        Returns
        -------
        targets : ndarray of shape (..., r, r)
            ``u_ij``; 0 where the measure is 0/0.
        """

    @abstractmethod
    def pair_basis(self, positions: Ints) -> Floats:
        """The (r, r) matrix of the positions that multiplies the targets.

        Parameters
        ----------
        positions : ndarray of int of shape (..., r)
            1-based positions of the documents, all different.

        Returns
        -------
        basis : ndarray of float of shape (..., r, r)
        """
