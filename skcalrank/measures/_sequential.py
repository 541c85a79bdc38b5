"""Measures that model a user who reads from the top: AP, reciprocal rank, hit rate and ERR."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints, Self
from ..data import Block, Queries, Ranked, check
from ._base import Measure, PairMeasure
from ._families import Discount, Gain, discounts, gains
from ._options import CutoffMeasure, GainMeasure, IndependentMeasure, RelativeMeasure
from ._positional import Precision

# Largest grade whose power of two is in the range of double precision, rounded.
_HIGHEST = 1000


def _shared_counts(relevant: Floats, block: Block) -> tuple[Floats, Floats]:
    """Return the numbers of relevant documents before and within the shared positions."""
    summed = arrays.sums_before(relevant)
    before = np.take_along_axis(summed, block.start, axis=1)
    return before, np.take_along_axis(summed, block.stop, axis=1) - before


@dataclass(frozen=True)
class AveragePrecision(RelativeMeasure, CutoffMeasure, PairMeasure):
    r"""Average precision (RAT13, section 6).

    .. math:: \frac{1}{|y|_1} \sum_{i \ge j} \frac{y_i y_j}{\max(\sigma(i), \sigma(j))}

    Undefined (0/0) for a query without a relevant document. With a cutoff, relevant documents at
    positions beyond k contribute 0, and the divisor is :math:`|y|_1`, as in trec_eval's map_cut,
    or :math:`\min(|y|_1, k)`, as in LightGBM, XGBoost and many competitions.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count, as in the paper.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.
    divisor : {"relevant", "attainable"}, default="relevant"
        Divisor of the sum with a cutoff: the number of relevant documents ("relevant"), or the
        smaller of this number and k, the largest sum that the cutoff allows ("attainable").

    Raises
    ------
    ValueError
        As in :class:`Precision`, and if ``divisor`` is not one of its two values.

    See Also
    --------
    ReciprocalRank : 1 / position of the first relevant document.
    skcalrank.metrics.average_precision_score : The metric.
    skcalrank.AveragePrecisionRanker : A ranker for average precision.

    Examples
    --------
    >>> from skcalrank.measures import AveragePrecision
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(AveragePrecision(), [0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    >>> measure_score(AveragePrecision(k=2), [0, 1, 0, 1], [4, 3, 2, 1])
    0.25
    >>> measure_score(AveragePrecision(k=1, divisor="attainable"), [0, 1, 0, 1], [3, 4, 2, 1])
    1.0
    """

    name: ClassVar[str] = "map"
    objective: ClassVar[str | None] = "map"
    calibration: ClassVar[str | None] = "reinforce"
    divisor: str = "relevant"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.option("divisor", self.divisor, ("relevant", "attainable"))

    @property
    def problem(self) -> dict[str, Any]:
        return {} if self.k is None else {"k": self.k}

    def _divisors(self, relevant: Floats) -> Floats:
        if self.k is None or self.divisor == "relevant":
            return relevant
        return np.minimum(relevant, float(self.k))

    def pair_targets(self, y: Floats) -> Floats:
        relevant = self._divisors(y.sum(axis=-1))[..., None, None]
        return arrays.safe_divide(np.tril(y[..., :, None] * y[..., None, :]), relevant)

    def pair_basis(self, positions: Ints) -> Floats:
        last = np.maximum(positions[..., :, None], positions[..., None, :])
        return np.tril(self._up_to_k(1.0 / last, last))

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Return ``y_i/|y|_1``, the diagonal of the pair targets (RAT13, Corollary 5)."""
        return arrays.safe_divide(y, queries.repeat(self._divisors(queries.sum(y))))

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        queries = ranked.queries
        out = np.zeros(queries.n_queries)
        for block in ranked.blocks(self.k):
            relevant = block.gather(y)
            if block.tied:
                precision = self._precision(relevant, block)
                out[block.ids] = self._up_to_k(precision, block.positions).sum(axis=1)
                continue
            share = self._up_to_k(1.0 / block.positions[0], block.positions[0])
            hits = relevant.cumsum(axis=1)
            hits *= relevant
            out[block.ids] = hits @ share
        return arrays.safe_divide(out, self._divisors(queries.sum(y)))

    @staticmethod
    def _precision(relevant: Floats, block: Block) -> Floats:
        """Return the expectation of ``1(relevant) * precision`` at each position.

        At the i-th of n shared positions, with m relevant documents within these positions and R
        before them, it is ``m/n * (R + 1 + (i-1)(m-1)/(n-1)) / position``.
        """
        positions = block.positions
        before, among = _shared_counts(relevant, block)
        n = block.stop - block.start
        earlier = (positions - block.start - 1) * (among - 1) / np.maximum(n - 1, 1)
        return among / n * (before + 1 + earlier) / positions


def _hit_at(relevant: Floats, block: Block) -> Floats:
    """Return the probability that a position is relevant, given that no earlier shared one is."""
    _, among = _shared_counts(relevant, block)
    # At the last position that the first relevant document can have, this is 1; values at later
    # positions have no effect.
    return among / (block.stop - block.positions + 1)


class _ByBlocks(Measure):
    """Base class of measures that are computed from stop probabilities, block by block."""

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        stop, out = self._stops(y), np.zeros(ranked.queries.n_queries)
        for block in ranked.blocks(self.cutoff):
            out[block.ids] = self._of_block(block.gather(stop), block)
        return out

    def _stops(self, y: Floats) -> Floats:
        """Return the probability that a user stops at each document, its relevance by default."""
        return y

    @abstractmethod
    def _of_block(self, stop: Floats, block: Block) -> Floats:
        """Return the value of each query of a block, given its probabilities in ranked order."""


# With the probability p of relevance as the stop probability of a document, in place of 0 or 1, the
# next two measures are members of the ERR family, so that Lemma 1 of DMJ13 applies.


@dataclass(frozen=True, repr=False)
class _FirstRelevant(IndependentMeasure, CutoffMeasure, _ByBlocks):
    """Base class of measures of the first relevant document, which are P@1 for k = 1."""

    @property
    def condition(self) -> str | None:
        return "always" if self.k == 1 else self.calibration

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        if self.k == 1:
            return Precision(relevance_level=self.relevance_level)._targets_key()  # noqa: SLF001
        return super()._targets_key()


@dataclass(frozen=True)
class ReciprocalRank(_FirstRelevant):
    """Reciprocal rank: 1 / position of the first relevant document; 0 if none is at the first k.

    If relevances are independent given the query, sorting by their probabilities is best, because
    the reciprocal rank is the ERR with stop probabilities 0 and 1 (DMJ13, Lemma 1).

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Raises
    ------
    ValueError
        As in :class:`Precision`.

    See Also
    --------
    ERR : Expected reciprocal rank, for graded relevances.
    HitRate : Whether a relevant document is among the first k.
    skcalrank.metrics.reciprocal_rank_score : The metric.

    Examples
    --------
    >>> from skcalrank.measures import ReciprocalRank
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(ReciprocalRank(), [0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    """

    name: ClassVar[str] = "mrr"

    def _of_block(self, stop: Floats, block: Block) -> Floats:
        if not block.tied:
            first = (stop > 0).argmax(axis=1)
            hit = stop[np.arange(len(first)), first] > 0
            hit &= first < (self.k or np.inf)
            return hit / (first + 1.0)
        hit = _hit_at(stop, block)
        missed = np.ones((len(hit), hit.shape[1] + 1))
        np.cumprod(1.0 - hit, axis=1, out=missed[:, 1:])
        gained = hit * missed[:, :-1] / block.positions
        return self._up_to_k(gained, block.positions).sum(axis=1)


@dataclass(frozen=True)
class HitRate(_FirstRelevant):
    """Hit rate: 1 if a relevant document is among the first k, else 0; trec_eval's "success at k".

    With k = 1 it equals P@1, which is calibrated under every distribution. With k >= 2 it is not a
    positional measure for queries of more than k + 1 documents. If relevances are independent
    given the query, sorting by their probabilities is best (DMJ13, Lemma 1, for an ERR whose
    discount is 1 up to position k).

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Raises
    ------
    ValueError
        As in :class:`Precision`.

    See Also
    --------
    ReciprocalRank : 1 / position of the first relevant document.
    skcalrank.metrics.hit_at_k_score : The metric.

    Examples
    --------
    >>> from skcalrank.measures import HitRate
    >>> from skcalrank.metrics import measure_score
    >>> measure_score(HitRate(k=2), [[0, 1, 0], [0, 0, 1]], [[3, 2, 1], [3, 2, 1]])
    0.5
    """

    name: ClassVar[str] = "hit"

    def _of_block(self, stop: Floats, block: Block) -> Floats:
        hit = _hit_at(stop, block) if block.tied else stop
        return 1.0 - np.prod(1.0 - hit[:, : self.k], axis=1)


@dataclass(frozen=True, repr=False)
class ERR(GainMeasure, _ByBlocks):
    r"""Expected reciprocal rank: the expected 1 / position at which a user stops reading.

    .. math:: \sum_p \frac{1}{p} R_p \prod_{q<p} (1 - R_q), \quad
        R = (2^y - 1)/2^{y_{max}}

    where :math:`R_p` is the stop probability of the document at position p. Other stop
    probabilities, and other discounts than :math:`1/p`, define measures of the same family
    (DMJ13, eq. 16), for which the same surrogates are calibrated under the same condition.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    max_grade : float, default=None
        Highest grade of the scale, :math:`y_{max}`, from 0 to 1000. If None, the largest label in
        the data; set it to compare values between data sets. Used only by the exponential gain.
    gain : "exponential", array-like or callable, default="exponential"
        Stop probability R of a document of relevance y: :math:`(2^y - 1)/2^{y_{max}}`
        ("exponential"), ``gain[y]`` of an array, or the value of a function of an array of
        grades. It must be in [0, 1], and must not decrease with the grade.
    discount : array-like or callable, default=None
        As in :class:`DCG`. If None, :math:`1/p`.

    Raises
    ------
    ValueError
        If ``k`` is not an integer >= 1, ``max_grade`` is out of its range, or ``gain`` or
        ``discount`` is invalid. When the measure is computed, if a label is negative, above
        ``max_grade`` or without a gain, or if values of a function are invalid as in
        :class:`DCG`.

    See Also
    --------
    ReciprocalRank : ERR with stop probabilities 0 and 1.
    skcalrank.metrics.err_score : The metric.
    skcalrank.ERRRanker : A ranker for expected reciprocal rank.

    Examples
    --------
    >>> from skcalrank.measures import ERR
    >>> from skcalrank.metrics import measure_score
    >>> y, scores = [1, 0, 1], [0.9, 0.7, 0.3]
    >>> round(measure_score(ERR(), y, scores), 4)
    0.5833
    >>> round(measure_score(ERR(max_grade=4), y, scores), 4)
    0.082
    >>> measure_score(ERR(gain=[0, 0.75]), y, scores)
    0.8125
    """

    name: ClassVar[str] = "err"
    calibration: ClassVar[str | None] = "independence"
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k", "max_grade", "discount"})
    _gain_names: ClassVar[tuple[str, ...]] = ("exponential",)
    _largest_gain: ClassVar[float] = 1.0
    max_grade: float | None = None
    gain: Gain = field(default="exponential", repr=False)
    discount: Discount | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_grade is not None:
            check.number("max_grade", self.max_grade, f">= 0 and <= {_HIGHEST}", "or None")

    def labels(self, y: Floats) -> Floats:
        y = super().labels(y)
        if self.max_grade is not None and y.size and y.max() > self.max_grade:
            raise ValueError(
                f"y must be at most max_grade={self.max_grade:g}, got {y.max():g}. Set max_grade "
                "to the highest grade of the scale."
            )
        return y

    @property
    def is_scaled(self) -> bool:
        """Whether ``max_grade`` is set, or the gain does not depend on it."""
        return self.max_grade is not None or self.gain != "exponential"

    @property
    def doubles(self) -> bool:
        # Who sets the highest grade has grades.
        return not self.is_scaled

    def scaled_to(self, y: Floats) -> Self:
        if self.is_scaled:
            return self
        highest = float(np.max(self.labels(y), initial=0.0))
        if highest > _HIGHEST:
            raise ValueError(
                f"y must be at most {_HIGHEST:g} for {self.name}, got {highest:g}. Use labels on a "
                "scale of grades."
            )
        return replace(self, max_grade=highest)

    def stop_probability(self, y: Floats) -> Floats:
        """Return the probability that a user who reads a document stops there.

        For the exponential gain, it is ``(2^y - 1)/2^max_grade``.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Labels returned by :meth:`labels`.

        Returns
        -------
        stop : ndarray of shape (n_documents,)
            Probabilities in [0, 1]. With ``max_grade=None`` the largest label of ``y`` is the
            highest grade.
        """
        if self.gain != "exponential":
            return gains(y, self.gain, 1.0)
        highest: Any = self.scaled_to(y).max_grade
        return gains(y, "exponential") * np.exp2(-float(highest))

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Return the stop probabilities.

        Sorting by their means is best if relevances are independent given the query (DMJ13,
        Lemma 1).
        """
        return self.stop_probability(y)

    def _stops(self, y: Floats) -> Floats:
        return self.stop_probability(y)

    def _of_block(self, stop: Floats, block: Block) -> Floats:
        goes_on = np.ones((len(block.rows), block.rows.shape[1] + 1))
        np.cumprod(1.0 - stop, axis=1, out=goes_on[:, 1:])
        # A difference of products would lose small probabilities by cancellation.
        stopped = goes_on[:, :-1] * stop
        if block.tied:
            _average_over_ties(stopped, goes_on, stop, block, self.k)
        p = block.positions
        stopped *= 1.0 / p if self.discount is None else discounts(p, self.discount)
        return self._up_to_k(stopped, p).sum(axis=1)


def _average_over_ties(
    stopped: Floats, goes_on: Floats, stops: Floats, block: Block, k: int | None
) -> None:
    """Replace probabilities to stop at shared positions by their mean over all orders of ties.

    ``goes_on[:, p]`` is the product of ``1 - stop`` over the first p positions. After j
    of n shared positions the mean product is the j-th elementary symmetric polynomial
    of the n factors, divided by the number of j-subsets. One minus this mean is built factor by
    factor as a convex combination, so that nothing overflows or cancels. All runs of the block are
    processed together.
    """
    inside = np.arange(block.rows.shape[1]) < block.sizes
    begins = (block.start == block.positions - 1) & (block.stop > block.positions) & inside
    query, first = np.nonzero(begins)
    length = block.stop[query, first] - first
    for runs in _chunks(length):
        q, f, n = query[runs], first[runs], length[runs]
        longest = int(n.max())
        # Positions beyond k do not count.
        wanted = longest if k is None else min(longest, k)
        mean = np.zeros((len(q), wanted + 1))
        j = np.arange(1, wanted + 1)
        for m in range(1, longest + 1):
            live = n >= m
            stop = stops[q[live], f[live] + m - 1][:, None]
            old = mean[live]
            last = old[:, :-1] + stop * (1.0 - old[:, :-1])
            mean[live, 1:] = (np.maximum(m - j, 0) * old[:, 1:] + np.minimum(j, m) * last) / m
            mean[live, 1:] *= j <= m
        n = np.minimum(n, wanted)
        column = np.repeat(np.arange(len(q)), n)
        step = np.arange(len(column)) - np.repeat(np.cumsum(n) - n, n) + 1
        share = mean[column, step] - mean[column, step - 1]
        stopped[q[column], f[column] + step - 1] = goes_on[q, f][column] * share


def _chunks(length: Ints, cells: int = 1 << 20) -> Iterator[Ints]:
    """Yield indices of runs, sorted by decreasing length, in parts of bounded memory."""
    order = np.argsort(length, kind="stable")[::-1]
    start = 0
    while start < len(order):
        step = max(1, cells // (int(length[order[start]]) + 1))
        yield order[start : start + step]
        start += step
