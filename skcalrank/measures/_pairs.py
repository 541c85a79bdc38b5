"""Measures of pairs of documents: pairwise disagreement and Kendall's tau."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..data import Queries, Ranked, arrays, check_preference_weights
from ..data.types import Bools, Floats, Ints
from ._base import Measure, PairMeasure
from ._inversions import disagreement
from ._positional import mid_ranks


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
        check_preference_weights(self.weights)
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ValueError(f"normalize must be True or False, got {self.normalize!r}.")

    def pair_targets(self, y: Floats) -> Floats:
        if self.weights == "unit":
            gap = (y[..., :, None] > y[..., None, :]) * 1.0
        else:
            if self.normalize:
                y = y / arrays.scale_of(np.abs(y).max(axis=-1, initial=0.0, keepdims=True))
            gap = np.maximum(y[..., :, None] - y[..., None, :], 0.0)
        if not self.normalize:
            return gap
        total = gap.sum(axis=(-1, -2), keepdims=True)
        return arrays.safe_divide(gap, total)

    def pair_basis(self, positions: Ints) -> Floats:
        return -1.0 * (positions[..., :, None] > positions[..., None, :])

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Return the net preference ``sum_j (y_ij - y_ji)`` of each document (RAT13, Theorem 6).

        The pairs are not built.
        """
        r, unit = queries.repeat(queries.sizes), self.weights == "unit"
        scale = 1.0 if unit else queries.repeat(arrays.scale_of(queries.max(np.abs(y))))
        y = y / scale
        if unit:
            net = r + 1.0 - 2.0 * mid_ranks(y, queries)
        else:
            net = r * (y - queries.repeat(queries.mean(y)))
        if not self.normalize:
            return scale * net
        return arrays.safe_divide(
            net, queries.repeat(disagreement(y, Ranked(y, queries), self.weights)[0])
        )

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        if self.weights == "unit":
            scale = np.ones(ranked.queries.n_queries)
        else:
            scale = arrays.scale_of(ranked.queries.max(np.abs(y)))
            y = y / ranked.queries.repeat(scale)
        total, lost = disagreement(y, ranked, self.weights)
        return -arrays.safe_divide(lost, total) if self.normalize else -scale * lost

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        return -arrays.safe_divide(lost, total) if self.normalize else -lost


@dataclass(frozen=True)
class Kendall(PairMeasure):
    """Kendall's tau-a: agreeing minus disagreeing pairs, divided by all :math:`r(r-1)/2` pairs.

    A pair with equal labels contributes 0, and a pair with equal scores contributes 0 in
    expectation. Undefined (0/0) for a single document. Up to a term that depends only on the
    labels, it is :math:`4/(r(r-1))` times :class:`PairwiseDisagreement` with unit weights, so that
    the prediction maps of RAT13, section 7, apply to it too.

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
    """

    name: ClassVar[str] = "kendall"
    reads_orders: ClassVar[bool] = True
    objective: ClassVar[str | None] = "disagreement"

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        return queries.sizes < 2

    def _targets_key(self) -> tuple[type[Measure], dict[str, Any]]:
        # Equal to the negative unit disagreement, up to a factor and a shift per query.
        return PairwiseDisagreement(weights="unit")._targets_key()

    def pair_targets(self, y: Floats) -> Floats:
        r = y.shape[-1]
        return (y[..., :, None] > y[..., None, :]) / max(r * (r - 1) / 2, 1)

    def pair_basis(self, positions: Ints) -> Floats:
        return 1.0 - 2.0 * (positions[..., :, None] > positions[..., None, :])

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        total, lost = disagreement(y, ranked, "unit")
        sizes = ranked.queries.sizes
        return arrays.safe_divide(total - 2.0 * lost, sizes * (sizes - 1) / 2)

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        return arrays.safe_divide(total - 2.0 * lost, sizes * (sizes - 1) / 2, np.nan)
