"""Base classes of measures: offset, targets and basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints, Self
from ..data import Block, Queries, Ranked, are_alike, check
from ._families import shown
from ._user_measures import checked_targets, is_own


class Measure(ABC):
    r"""A performance measure of rankings, higher is better.

    The theory applies to low-rank measures, which have the form

    .. math:: \mathrm{perf}(y, \sigma) = \mathrm{offset}(y)
        + \langle \mathrm{targets}(y), \mathrm{basis}(\sigma) \rangle,

    where targets and basis are arrays over documents (:class:`PositionalMeasure`) or over pairs
    of documents (:class:`PairMeasure`). Regressing the targets by least squares, and predicting
    the positions whose basis has the largest inner product with the regressed targets, is
    calibrated, i.e. Fisher-consistent, for the measure [RAT13]_ (Theorem 3). A measure that is
    neither positional nor of pairs can be evaluated, but has no such surrogate.

    Labels, targets and values of documents are arrays in the grouped order of a
    :class:`~skcalrank.data.Queries`, whose ``sum``, ``max`` and ``repeat`` are the
    reductions over the documents of a query.

    Other parts of the package read the attributes below, and do not check the class of a measure.
    A new measure declares the attributes that differ from the defaults of the base class.

    Attributes
    ----------
    name : str
        Name in ``MEASURES``, and of the scorer.
    full_name : str
        Name with the cutoff, such as ``"ndcg@10"``.
    shape : {"documents", "pairs", None}
        What targets and basis are arrays over. None if the measure can only be evaluated.
    objective : {"positional", "map", "disagreement", "pairs", None}
        Name of the optimization problem that prediction maps solve to find the best positions
        (:func:`skcalrank.preds.preds_for`); None if no prediction map is known.
    problem : dict
        Parameters of that problem, such as a cutoff, which prediction maps take as keywords.
    calibration : str or None
        Condition on the distribution of the labels under which sorting by the regressed score
        targets is calibrated: "always", or the name of a sufficient condition. None if no theorem
        is known.
    separable : bool
        Whether the score target of a document depends on its own label only.
    sums_documents : bool
        Whether values are sums over documents of a function of their own label, times a discount,
        so that a random sample of the documents of a query tells them without bias.
    basis_fields : frozenset of str
        Names of the parameters that change the values of the measure, but not which ranking is
        best.
    has_cutoff : bool
        Whether there is a parameter ``k``.
    has_gain : bool
        Whether there is a parameter ``gain`` that may be "exponential" or "linear".
    cutoff : int or None
        Last position that counts; None if all positions count.
    positive_only : bool
        Whether negative labels are an error.
    is_binary : bool
        Whether documents are either relevant or not; then there is a parameter
        ``relevance_level``.
    needs_binary_labels : bool
        Whether labels other than 0 and 1 are an error, because no ``relevance_level`` is set.
    level : float or None
        Relevance level by which labels are read; None if they are read as they are.
    doubles : bool
        Whether each further grade doubles the gain, as ``gain="exponential"`` does, and no
        parameter says that labels are grades.
    takes_fractions : bool
        Whether gains do not take labels for grades, as ``2^y - 1`` does.
    is_scaled : bool
        Whether the measure has no parameter that :meth:`scaled_to` would set.
    largest_value : float
        Value that no order exceeds, 1 of shares of the best one, to which values are rounded that
        differ by their last digits; infinity if there is none.
    reads_orders : bool
        Whether metrics accept a :class:`~skcalrank.PreferenceTarget` in place of the labels if all
        weights are 1 and no pair occurs twice, as in targets built by
        :meth:`~skcalrank.PreferenceTarget.from_orders`.
    reads_preferences : bool
        Whether metrics accept any :class:`~skcalrank.PreferenceTarget` in place of the labels.
    needs : str
        What a query must have for the measure to be defined on it, for warnings; may be empty.
    top_only : bool
        Whether documents that were not retrieved contribute nothing, so that truncated rankings,
        such as TREC runs, can be measured.

    See Also
    --------
    PositionalMeasure : Measures with one target per document.
    PairMeasure : Measures with one target per pair of documents.
    get_measure : A measure by its name.

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
    largest_value: ClassVar[float] = np.inf
    reads_orders: ClassVar[bool] = False
    reads_preferences: ClassVar[bool] = False
    top_only: ClassVar[bool] = False
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check.cutoff(self.cutoff)

    def __repr__(self) -> str:
        # Used by dataclasses with repr=False: functions are shown by their names, and fields with
        # repr=False only if they differ from their defaults.
        options = dict(vars(self))
        if is_dataclass(self):
            values = [(f, options[f.name]) for f in fields(self)]
            options = {f.name: value for f, value in values if f.repr or value != f.default}
        told = ", ".join(f"{name}={shown(value)}" for name, value in options.items())
        return f"{type(self).__name__}({told})"

    def __eq__(self, other: object) -> bool:
        # Clones of a ranker hold copies of its measure.
        return type(self) is type(other) and are_alike(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))

    @property
    def cutoff(self) -> int | None:
        """Last position that counts; None if all positions count."""
        return getattr(self, "k", None)

    @property
    def condition(self) -> str | None:
        """`calibration` of the measure with these parameters: that of hit@1 is that of P@1."""
        return self.calibration

    @property
    def problem(self) -> dict[str, Any]:
        """Parameters of the problem that prediction maps solve."""
        return {}

    @property
    def full_name(self) -> str:
        """Name with the cutoff, if there is one."""
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def needs_binary_labels(self) -> bool:
        """Whether labels other than 0 and 1 are an error."""
        return self.is_binary and self.relevance_level is None  # type: ignore[attr-defined]

    @property
    def level(self) -> float | None:
        """Relevance level by which labels are read; None if they are read as they are."""
        return self.relevance_level if self.is_binary else None  # type: ignore[attr-defined]

    @property
    def doubles(self) -> bool:
        """Whether each further grade doubles the gain, and nothing says that labels are grades."""
        return False

    @property
    def takes_fractions(self) -> bool:
        """Whether gains do not take labels for grades, as ``2^y - 1`` does."""
        return True

    @property
    def sums_documents(self) -> bool:
        """Whether values are sums over documents of a function of their own label."""
        return False

    @property
    def is_scaled(self) -> bool:
        """Whether the measure has no parameter that :meth:`scaled_to` would set."""
        return True

    def is_linear(self, targets: str = "measure") -> bool:
        """Return whether unbiased estimates of labels have unbiased targets, up to a constant.

        Parameters
        ----------
        targets : {"measure", "separable"}, default="measure"
            Score targets or separable targets, which then are labels, or differences of labels, and
            no other function of them.

        Returns
        -------
        linear : bool
        """
        del targets
        return False

    def of_estimates(self) -> Self:
        """Return the measure of estimates of labels 0 and 1, which no level must cut at 1.

        Returns
        -------
        measure : Measure
            With ``relevance_level=None`` in place of 1; else the measure itself.
        """
        return self

    @classmethod
    def has_score_targets(cls) -> bool:
        """Return whether the measure has :meth:`score_targets`."""
        return cls.score_targets is not Measure.score_targets

    @classmethod
    def has_separable_targets(cls) -> bool:
        """Return whether the measure has :meth:`separable_targets`."""
        return cls.separable_targets is not Measure.separable_targets

    def same_targets_as(self, other: Measure) -> bool:
        """Return whether this measure and another one always have the same best ranking.

        Parameters
        ----------
        other : Measure
            The other measure.

        Returns
        -------
        same : bool
            True if the targets are equal up to a positive factor and a shift per query, and the
            bases order documents alike. This holds for measures of one class that differ only in
            parameters of `basis_fields`, for Kendall's tau and the unit pairwise disagreement, and
            for rank-biased precision, hit@1 and precision. For ERR with two values of
            ``max_grade``, the best ranking is the same under the condition of its calibration.
        """
        return self._targets_key() == other._targets_key()

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        """Return the class and parameters that determine which ranking is best."""
        params = {name: v for name, v in vars(self).items() if name not in self.basis_fields}
        return type(self), params

    def labels(self, y: Floats) -> Floats:
        """Return validated labels; binary measures convert relevances to 0 and 1.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Relevances, higher is better, in grouped order. Not modified.

        Returns
        -------
        labels : ndarray of shape (n_documents,)
            Labels to pass as `y` to all other methods except :meth:`scaled_to`.

        Raises
        ------
        ValueError
            If the measure is not defined for these labels.
        """
        return y

    def scaled_to(self, y: Floats) -> Measure:
        """Return the measure with parameters that are None set from the range of all labels.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            All labels of one fit or one evaluation, before :meth:`labels` is applied.

        Returns
        -------
        measure : Measure
            The measure itself, unless it has a parameter that depends on all labels, such as the
            highest grade of :class:`ERR`.
        """
        return self

    def require_scale(self, when: str, whose: str) -> None:
        """Raise if a parameter would be set from labels that are not all there.

        Parameters
        ----------
        when, whose : str
            For the message: in which call, and whose largest label would set the scale.

        Raises
        ------
        ValueError
            If the measure has a parameter that :meth:`scaled_to` would set.
        """
        if not self.is_scaled:
            raise ValueError(
                f"max_grade of {self.name} must be a number {when}, got None, which is the "
                f"largest label of {whose}: set max_grade, the highest grade of the scale."
            )

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        """Return for which queries the measure is undefined (0/0).

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Labels returned by :meth:`labels`.
        queries : Queries
            Documents grouped by query.

        Returns
        -------
        undefined : ndarray of bool of shape (n_queries,)
            The parameter ``empty`` of metrics determines the value of these queries, so that
            :meth:`evaluate` may return any finite value for them.
        """
        return np.zeros(queries.n_queries, dtype=bool)

    def gains_of(self, y: Floats, queries: Queries) -> Floats:
        """Return values by which documents of equal score are sorted to break ties.

        Used only by metrics with ``ties="worst"`` or ``ties="best"``.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        gains : ndarray of shape (n_documents,)
            Sorting by decreasing gains is best for the measure; only their order within a query
            counts.
        """
        return y

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Return the targets that a score-based surrogate regresses, one per document.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        targets : ndarray of shape (n_documents,)
            Targets in grouped order. Documents are ranked by decreasing regressed targets.

        Raises
        ------
        ValueError
            If no score targets are known for this measure.
        """
        raise ValueError(
            f"{self.name} has no score-based surrogate: no theorem states which targets to "
            "regress. See skcalrank.calibration.calibration_dimension."
        )

    def separable_targets(self, y: Floats) -> Floats:
        """Return targets that depend on single labels, for independent relevances.

        Sorting by the conditional means of these targets is best for the measure if, given the
        query, the labels of its documents are independent and their distributions are
        stochastically ordered: of any two documents, one has the higher probability of a label
        above each grade. Distributions on two labels are always ordered; for relevant and
        irrelevant documents this is the probability ranking principle.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Labels returned by :meth:`labels`.

        Returns
        -------
        targets : ndarray of shape (n_documents,)
            The target of a document depends on its own label only. If the row of a document
            determines the distribution of its label, a regressor of single rows can estimate the
            mean targets.

        Raises
        ------
        ValueError
            If no separable targets are known for this measure.
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
            Offset of each query; 0 in the base class.
        """
        return np.zeros(queries.n_queries)

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        """Return the value of each query, computed from preferences in place of labels.

        Implemented by measures with `reads_orders` or `reads_preferences`.

        Parameters
        ----------
        total, lost : ndarray of shape (n_queries,)
            Total weight of the preferences, and total weight of the preferences that the ranking
            violates.
        sizes : ndarray of int of shape (n_queries,)
            Number of documents of each query.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Value of each query, NaN if the measure is undefined (0/0).
        """
        raise NotImplementedError(f"{self.name} cannot be computed from preferences.")

    @abstractmethod
    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        """Return the value of each query, as an exact expectation over shared positions.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Labels returned by :meth:`labels`.
        ranked : Ranked
            Documents by decreasing score. ``ranked.blocks(k)`` returns batches of queries whose
            documents are sorted by position, and ``ranked.queries`` are the queries.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Values in order of first appearance of the queries.
        """

    def evaluator(self, y: Floats, queries: Queries) -> Callable[[Ranked], Floats]:
        """Return a function that evaluates many rankings of the same labels.

        Quantities that depend only on the labels, such as the ideal DCG, are computed once.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        values : callable
            ``values(ranked)`` returns the same as :meth:`evaluate`; ``ranked.queries`` must be
            `queries`.
        """
        return partial(self.evaluate, y)


class PositionalMeasure(Measure):
    r"""A generalized positional performance measure (CUG13, Definition 2.1).

    .. math:: \mathrm{perf}(y, \sigma) = b(y) + \sum_i u_i(y) \, \phi(\sigma(i))

    with a discount :math:`\phi \ge 0` that does not increase with the position, and non-negative
    targets :math:`u_i(y)`. A subclass defines ``targets`` and ``basis``; the metric, the
    surrogate and the prediction map are derived from them. Sorting by the targets is best for
    every such basis.

    See Also
    --------
    PairMeasure : Measures with one target per pair of documents.
    skcalrank.LeastSquaresRanker : A ranker for any positional measure.

    Examples
    --------
    A custom measure, in which relevances are discounted by the reciprocal position:

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
        """Return the targets ``u_i(y)`` that the surrogate regresses, one per document.

        Parameters
        ----------
        y, queries
            As in :meth:`undefined`.

        Returns
        -------
        targets : ndarray of shape (n_documents,)
            Targets in grouped order, non-negative and finite, also for queries for which the
            measure is undefined.
        """

    @abstractmethod
    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        """Return the discount ``phi`` at 1-based positions.

        Parameters
        ----------
        positions : ndarray of int
            1-based positions. A position may be beyond the last document of a query; the discount
            there may be any finite number.
        sizes : ndarray of int
            Numbers of documents of the queries, of a shape that broadcasts against ``positions``:
            (n, 1) against (1, width), for instance.

        Returns
        -------
        discount : ndarray
            Non-negative, and non-increasing in the position. It has the shape of ``positions``, or
            the broadcast shape if the discount depends on the size of the query.
        """

    @property
    def sums_documents(self) -> bool:
        is_plain = type(self).evaluate is PositionalMeasure.evaluate
        return is_plain and type(self).offset is Measure.offset and self.separable

    def gains_of(self, y: Floats, queries: Queries) -> Floats:
        return self.score_targets(y, queries)

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        targets = self.targets(y, queries)
        return checked_targets(self, targets, y) if is_own(self) else targets

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        return self.evaluator(y, ranked.queries)(ranked)

    def evaluator(self, y: Floats, queries: Queries) -> Callable[[Ranked], Floats]:
        if type(self).evaluate is not PositionalMeasure.evaluate:
            return super().evaluator(y, queries)
        return partial(
            self.evaluate_targets, self.score_targets(y, queries), self.offset(y, queries)
        )

    def evaluate_targets(self, values: Floats, offset: Floats, ranked: Ranked) -> Floats:
        """Return ``offset + <values, basis>`` of each query, given targets and offset.

        Parameters
        ----------
        values : ndarray of shape (n_documents,)
            Targets returned by :meth:`targets`.
        offset : ndarray of shape (n_queries,)
            Offset returned by :meth:`offset`.
        ranked : Ranked
            As in :meth:`evaluate`.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Value of each query.
        """
        if ranked.is_short:
            return offset + self._sum_of_runs(values, ranked)
        out = np.array(offset, dtype=float)
        for block in ranked.blocks(self.cutoff):
            discount = self.basis(block.positions, block.sizes)
            gained = block.gather(values)
            if block.tied:
                gained = block.sum_of_runs(gained) * _mean_of_runs(discount, block)
                out[block.ids] += np.bincount(block.run_row, gained, len(block.rows))
            elif len(discount) == 1:
                out[block.ids] += gained @ discount[0]
            else:
                out[block.ids] += np.einsum("ij,ij->i", gained, discount)
        return out

    def _sum_of_runs(self, values: Floats, ranked: Ranked) -> Floats:
        """Return ``<values, basis>`` of each query, of all queries at once."""
        queries, (order, runs) = ranked.queries, ranked.runs
        discount = self.basis(queries.places, queries.repeat(queries.sizes))
        values = values[order]
        if len(runs) == len(values):
            return queries.sum(values * discount)
        lengths = np.append(runs[1:], len(values)) - runs
        summed: Floats = np.add.reduceat(values, runs) * np.add.reduceat(discount, runs) / lengths
        return np.add.reduceat(summed, runs.searchsorted(queries.ptr[:-1]))

    def best(self, values: Floats, queries: Queries) -> Floats:
        """Return ``sum_i values_i phi(i)`` of each query, with values in decreasing order.

        Parameters
        ----------
        values : ndarray of shape (n_documents,)
            Non-negative gains, in grouped order.
        queries : Queries
            Documents grouped by query.

        Returns
        -------
        best : ndarray of shape (n_queries,)
            The largest sum over all orders of the documents, such as the ideal DCG.
        """
        extended = queries.extend(values, np.negative)
        out = np.empty(queries.n_queries)
        for bucket in queries.buckets:
            first = bucket.pad(extended, 0.0)
            if self.cutoff is not None and self.cutoff < bucket.width:
                first = np.partition(first, self.cutoff - 1, axis=1)[:, : self.cutoff]
            first.sort(axis=1)
            discount = self.basis(np.arange(1, first.shape[1] + 1)[None, :], bucket.sizes)
            out[bucket.ids] = -(first * discount).sum(axis=1)
        return out


def _mean_of_runs(discount: Floats, block: Block) -> Floats:
    """Return the mean discount over the positions that each run of equal scores shares."""
    summed = arrays.sums_before(discount)
    row = 0 if len(summed) == 1 else block.run_row
    start, length = block.run_start, block.run_length
    return (summed[row, start + length] - summed[row, start]) / length


class PairMeasure(Measure):
    r"""A measure whose targets and basis are arrays over pairs of documents.

    .. math:: \mathrm{perf}(y, \sigma) = b(y) + \sum_{i,j} u_{ij}(y) \, B_{ij}(\sigma)

    A subclass defines ``pair_targets``, ``pair_basis`` and ``evaluate``. Least squares on the pair
    targets is calibrated with the prediction map that maximizes the sum (RAT13, Theorem 3), but
    not with a sort. For a few documents, :class:`skcalrank.calibration.LabelDistribution`
    enumerates the orders.

    ``pair_targets`` and ``pair_basis`` take stacks of queries of one size, of shape
    ``(..., r)``, and return stacks of shape ``(..., r, r)``.

    See Also
    --------
    PositionalMeasure : Measures with one target per document.
    skcalrank.rankers.LeastSquaresPairRanker : A ranker for any measure of pairs.

    Examples
    --------
    Average precision is a measure of pairs, and its value is the sum over all pairs:

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
    objective: ClassVar[str | None] = "pairs"

    @property
    def problem(self) -> dict[str, Any]:
        return {"basis": self.pair_basis} if self.objective == "pairs" else {}

    @abstractmethod
    def pair_targets(self, y: Floats) -> Floats:
        """Return the targets ``u_ij(y)`` that the surrogate regresses.

        Parameters
        ----------
        y : ndarray of shape (..., r)
            Labels returned by :meth:`labels`, with one row for each query of r documents.

        Returns
        -------
        targets : ndarray of shape (..., r, r)
            The matrix ``u_ij`` of each query; 0 if the measure is undefined (0/0).
        """

    @abstractmethod
    def pair_basis(self, positions: Ints) -> Floats:
        """Return the matrix ``B_ij`` of the positions, which multiplies the targets.

        Parameters
        ----------
        positions : ndarray of int of shape (..., r)
            1-based positions of the documents, all different.

        Returns
        -------
        basis : ndarray of float of shape (..., r, r)
            The matrix ``B_ij`` of each query.
        """
