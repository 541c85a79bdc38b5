"""Measures of pairs of documents: pairwise disagreement and Kendall's tau."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Array, Bools, Floats, Ints
from ..data import Queries, Ranked, check
from ..judgments import PREFERENCE_WEIGHTS
from ._base import Measure, PairMeasure
from ._inversions import disagreement
from ._positional import mean_positions, mid_ranks


@dataclass(frozen=True)
class PairwiseDisagreement(PairMeasure):
    r"""Negative pairwise disagreement (RAT13, section 7).

    .. math:: -\sum_{i \ne j} y_{ij} \, 1(\sigma(i) > \sigma(j))

    for preferences ``y_ij = (y_i - y_j)_+`` ("difference") or ``1(y_i > y_j)`` ("unit"), divided
    by the sum of the preferences if ``normalize`` is set.

    Parameters
    ----------
    weights : {"difference", "unit"}, default="difference"
        Weight of the preference that two relevances imply: their difference, or 1. Ignored for a
        PreferenceTarget.
    normalize : bool, default=False
        Whether to divide by the sum of the preferences of the query, so that no value is further
        from 0 than 1. The value of a query without a preference is 0.

    Raises
    ------
    ValueError
        If ``weights`` is not one of its two values, or ``normalize`` is not a bool.

    See Also
    --------
    Kendall : Kendall's tau, an affine function of the unit pairwise disagreement.
    skcalrank.PreferenceTarget : Preferences that are given in place of relevances.
    skcalrank.metrics.pairwise_disagreement_loss : The metric.
    skcalrank.PairwiseDisagreementRanker : A ranker for pairwise disagreement.

    Examples
    --------
    The document of relevance 0 is ranked above the other two:

    >>> from skcalrank.measures import PairwiseDisagreement
    >>> from skcalrank.metrics import measure_score
    >>> y, scores = [0, 2, 1], [0.9, 0.6, 0.2]
    >>> measure_score(PairwiseDisagreement(), y, scores)
    -3.0
    >>> round(measure_score(PairwiseDisagreement(weights="unit", normalize=True), y, scores), 4)
    -0.6667
    """

    name: ClassVar[str] = "neg_pairwise_disagreement"
    objective: ClassVar[str | None] = "disagreement"
    calibration: ClassVar[str | None] = "low_noise"
    reads_preferences: ClassVar[bool] = True
    weights: str = "difference"
    normalize: bool = False

    def __post_init__(self) -> None:
        check.option("weights", self.weights, PREFERENCE_WEIGHTS)
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ValueError(f"normalize must be True or False, got {self.normalize!r}.")

    def is_linear(self, targets: str = "measure") -> bool:
        return self.weights == "difference" and not self.normalize

    def pair_targets(self, y: Floats) -> Floats:
        if self.weights == "unit":
            gap = (y[..., :, None] > y[..., None, :]) * 1.0
        else:
            if self.normalize:
                y = y / arrays.scale_of(np.abs(y).max(axis=-1, initial=0.0, keepdims=True))
            gap = np.maximum(y[..., :, None] - y[..., None, :], 0.0)
        if not self.normalize:
            return gap
        return arrays.safe_divide(gap, gap.sum(axis=(-1, -2), keepdims=True))

    def pair_basis(self, positions: Ints) -> Floats:
        return -1.0 * (positions[..., :, None] > positions[..., None, :])

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Return the net preference ``sum_j (y_ij - y_ji)`` of each document (RAT13, Theorem 6).

        The pairs are not built.
        """
        r, (y, scale) = queries.repeat(queries.sizes), self._in_units(y, queries)
        if self.weights == "unit":
            net = r + 1.0 - 2.0 * mid_ranks(y, queries)
        else:
            net = r * (y - queries.repeat(queries.mean(y)))
        if not self.normalize:
            return queries.repeat(scale) * net
        total, _ = disagreement(y, Ranked(y, queries), self.weights)
        return arrays.safe_divide(net, queries.repeat(total))

    def _in_units(self, y: Floats, queries: Queries) -> tuple[Floats, Floats]:
        """Return labels whose differences are in range, and the unit of those of each query."""
        of_order = self.weights == "unit"
        scale = np.ones(queries.n_queries) if of_order else arrays.scale_of(queries.max(np.abs(y)))
        return y / queries.repeat(scale), scale

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        y, scale = self._in_units(y, ranked.queries)
        total, lost = disagreement(y, ranked, self.weights)
        return -arrays.safe_divide(lost, total) if self.normalize else -scale * lost

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        return -arrays.safe_divide(lost, total) if self.normalize else -lost


@dataclass(frozen=True)
class Kendall(PairMeasure):
    r"""Kendall's tau: agreeing minus disagreeing pairs, divided by their number.

    With C agreeing and D disagreeing pairs of :math:`n = r(r-1)/2`, of which :math:`n_y` have equal
    labels, :math:`n_s` equal scores and :math:`n_{ys}` both,

    .. math:: \tau_a = \frac{C - D}{n}, \quad
        \tau_b = \frac{C - D}{\sqrt{(n - n_y)(n - n_s)}}, \quad
        \tau_x = \frac{C - D + n_{ys}}{n} .

    Without equal labels and scores, the three are the same. Without equal scores,
    :math:`\tau_x = \tau_a` and :math:`\tau_b = \tau_a \sqrt{n / (n - n_y)}`. Equal scores are an
    order drawn at random for :math:`\tau_a`, whose expectation is 0, and a statement that the
    documents are tied for the others: with ``ties="average"``, the default of metrics, those are no
    expectations. Undefined (0/0) for a single document, :math:`\tau_b` also if all labels are
    equal; if all scores are, it is 0.

    Up to a term that depends only on the labels, :math:`\tau_a` is :math:`4/(r(r-1))` times
    :class:`PairwiseDisagreement` with unit weights, so that the prediction maps of RAT13, section
    7, apply to it and, since they return orders without ties, to :math:`\tau_x`.

    Parameters
    ----------
    variant : {"a", "b", "x"}, default="a"
        Which tau; "x" is that of Emond and Mason (2002). A PreferenceTarget, which does not tell
        ties from pairs that are not compared, has "a" only.

    Raises
    ------
    ValueError
        If ``variant`` is unknown.

    See Also
    --------
    PairwiseDisagreement : Weight of the pairs in the wrong order.
    Spearman : Agreement of positions.
    skcalrank.metrics.kendall_score : The metric.

    Examples
    --------
    >>> from skcalrank.measures import Kendall
    >>> from skcalrank.metrics import measure_score
    >>> round(measure_score(Kendall(), [3, 2, 1], [0.2, 0.9, 0.1]), 4)
    0.3333

    A tie that is predicted as such counts for tau-x:

    >>> y, scores = [[3, 2, 2]], [[0.9, 0.1, 0.1]]
    >>> [round(measure_score(Kendall(v), y, scores), 4) for v in ("a", "b", "x")]
    [0.6667, 1.0, 1.0]
    """

    name: ClassVar[str] = "kendall"
    needs: ClassVar[str] = "two documents that differ"
    reads_orders: ClassVar[bool] = True
    objective: ClassVar[str | None] = "disagreement"
    variant: str = "a"

    def __post_init__(self) -> None:
        check.option("variant", self.variant, ("a", "b", "x"))

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        single = queries.sizes < 2
        return single if self.variant != "b" else queries.max(y) == -queries.max(-y)

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        if self.variant == "b":
            return super()._targets_key()
        # Equal to the negative unit disagreement, up to a factor and a shift per query.
        return PairwiseDisagreement(weights="unit")._targets_key()

    def pair_targets(self, y: Floats) -> Floats:
        before = (y[..., :, None] > y[..., None, :]) * 1.0
        pairs = max(y.shape[-1] * (y.shape[-1] - 1) / 2, 1)
        if self.variant != "b":
            return before / pairs
        return arrays.safe_divide(before, np.sqrt(pairs * before.sum(axis=(-1, -2), keepdims=True)))

    def pair_basis(self, positions: Ints) -> Floats:
        return 1.0 - 2.0 * (positions[..., :, None] > positions[..., None, :])

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        total, lost = disagreement(y, ranked, "unit")
        queries, net = ranked.queries, total - 2.0 * lost
        pairs = queries.sizes * (queries.sizes - 1) / 2
        if self.variant == "a":
            return arrays.safe_divide(net, pairs)
        place = mean_positions(ranked)
        if self.variant == "x":
            return arrays.safe_divide(net + _tied_pairs(queries, y, place), pairs)
        return arrays.safe_divide(net, np.sqrt(total * (pairs - _tied_pairs(queries, place))))

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        if self.variant != "a":
            raise ValueError(
                "variant must be 'a' for a PreferenceTarget, which does not tell ties from pairs "
                f"that are not compared, got {self.variant!r}: pass y=-positions."
            )
        return arrays.safe_divide(total - 2.0 * lost, sizes * (sizes - 1) / 2, np.nan)


def _tied_pairs(queries: Queries, *values: Floats) -> Floats:
    """Return the number of pairs of each query that are equal in all of the values."""
    codes = queries.repeat(np.arange(queries.n_queries))
    order = np.lexsort((*values, codes))
    first = arrays.run_starts(*(column[order] for column in (codes, *values)))
    length = np.diff(first, append=queries.n_rows)
    tied: Array = np.bincount(codes[order[first]], length * (length - 1) / 2, queries.n_queries)
    return tied
