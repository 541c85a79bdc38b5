"""Measures of the order of pairs: pairwise disagreement and Kendall's tau."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..data import (
    Array,
    Block,
    Bools,
    Floats,
    Ints,
    Queries,
    Ranked,
    check_preference_weights,
    safe_divide,
    scale_of,
)
from ._base import Measure, PairMeasure
from ._positional import mid_ranks


@dataclass(frozen=True)
class PairwiseDisagreement(PairMeasure):
    r"""Minus the pairwise disagreement (RAT13, section 7).

    .. math:: -\sum_{i \ne j} y_{ij} \, 1(\sigma(i) > \sigma(j))

    on preferences ``y_ij = (y_i - y_j)_+`` ("difference") or ``1(y_i > y_j)`` ("unit"),
    divided by their sum when ``normalize`` is set.

    Parameters
    ----------
    weights : {"difference", "unit"}, default="difference"
        Weight of the preference that two relevances imply: their difference, or 1.
    normalize : bool, default=False
        Divide by the sum of the preferences of the query, so that values are in [-1, 0]; 0 on a
        query without a preference.

    Raises
    ------
    ValueError
        If ``weights`` is not one of the two.

    Examples
    --------
    The document of relevance 0 stands above the other two:

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
            raise ValueError(f"normalize={self.normalize!r}: choose True or False.")

    def pair_targets(self, y: Floats) -> Floats:
        if self.weights == "unit":
            gap = (y[..., :, None] > y[..., None, :]) * 1.0
        else:
            if self.normalize:
                y = y / scale_of(np.abs(y).max(axis=-1, initial=0.0, keepdims=True))
            gap = np.maximum(y[..., :, None] - y[..., None, :], 0.0)
        if not self.normalize:
            return gap
        total = gap.sum(axis=(-1, -2), keepdims=True)
        return safe_divide(gap, total)

    def pair_basis(self, positions: Ints) -> Floats:
        return -1.0 * (positions[..., :, None] > positions[..., None, :])

    def score_targets(self, y: Floats, queries: Queries) -> Floats:
        """Net preference ``sum_j (y_ij - y_ji)``, without building the pairs (Thm 6)."""
        r, unit = queries.repeat(queries.sizes), self.weights == "unit"
        scale = 1.0 if unit else queries.repeat(scale_of(queries.max(np.abs(y))))
        y = y / scale
        if unit:
            net = r + 1.0 - 2.0 * mid_ranks(y, queries)
        else:
            net = r * (y - queries.repeat(queries.mean(y)))
        if not self.normalize:
            return scale * net
        return safe_divide(
            net, queries.repeat(_disagreement(y, Ranked(y, queries), self.weights)[0])
        )

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        lost: Floats
        if self.weights == "unit":
            scale = np.ones(ranked.queries.n_queries)
        else:
            scale = scale_of(ranked.queries.max(np.abs(y)))
            y = y / ranked.queries.repeat(scale)
        total, lost = _disagreement(y, ranked, self.weights)
        return -safe_divide(lost, total) if self.normalize else -scale * lost

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        return -safe_divide(lost, total) if self.normalize else -lost


@dataclass(frozen=True)
class Kendall(PairMeasure):
    """Kendall's tau-a: agreeing minus disagreeing pairs, over all :math:`r(r-1)/2` pairs.

    A pair with equal labels counts 0, and so does, in expectation, a pair with equal
    scores. 0/0 for a single document. Up to a term of the labels alone it is
    :math:`4/(r(r-1))` times :class:`PairwiseDisagreement` with unit weights, so that the maps of
    RAT13, section 7, serve it too.

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
        # Minus the unit disagreement, up to a factor and a shift of each query.
        return PairwiseDisagreement(weights="unit")._targets_key()

    def pair_targets(self, y: Floats) -> Floats:
        r = y.shape[-1]
        targets: Floats = (y[..., :, None] > y[..., None, :]) / max(r * (r - 1) / 2, 1)
        return targets

    def pair_basis(self, positions: Ints) -> Floats:
        return 1.0 - 2.0 * (positions[..., :, None] > positions[..., None, :])

    def evaluate(self, y: Floats, ranked: Ranked) -> Floats:
        total, lost = _disagreement(y, ranked, "unit")
        sizes = ranked.queries.sizes
        return safe_divide(total - 2.0 * lost, sizes * (sizes - 1) / 2)

    def of_preferences(self, total: Floats, lost: Floats, sizes: Ints) -> Floats:
        return safe_divide(total - 2.0 * lost, sizes * (sizes - 1) / 2, np.nan)


def _disagreement(y: Floats, ranked: Ranked, weights: str) -> Floats:
    """Total weight of the preferences of each query, and the weight that is lost."""
    out = np.zeros((2, ranked.queries.n_queries))
    if weights != "unit":
        # Differences are all that counts, and a large common part would drown them.
        y = y - ranked.queries.repeat(-ranked.queries.max(-y))
    for block in ranked.blocks():
        labels = block.gather(y)
        rank = _dense_ranks(labels, block)
        value = rank if weights == "unit" else labels
        out[:, block.ids] = _count(rank, value, block, weights == "unit")
    return out


def _dense_ranks(labels: Floats, block: Block) -> Array:
    """Number of distinct smaller labels in the query; 0 where there is no document."""
    inside = np.arange(labels.shape[1]) < block.sizes
    order = np.argsort(np.where(inside, labels, np.inf), axis=1)
    in_order = np.take_along_axis(labels, order, axis=1)
    # Of few bits, so that a stable sort is a radix sort.
    steps = np.zeros(labels.shape, dtype=np.int16 if labels.shape[1] < 2**15 else np.int64)
    np.cumsum(in_order[:, 1:] != in_order[:, :-1], axis=1, out=steps[:, 1:])
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    return ranks * inside


def _count(rank: Array, value: Array, block: Block, unit: bool) -> tuple[Floats, Floats]:
    """Weight of all preferences, and of those lost, in O(r log(number of labels)).

    Every pair of different labels is told apart by exactly one bit of their ranks: the
    highest in which they differ. Documents are kept sorted by the bits above, in score
    order within; a document whose bit is set is preferred to those of its group whose
    bit is not, and loses to the ones of higher score. Equal scores lose one half.
    """
    n, width = rank.shape
    inside = (np.arange(width) < block.sizes) * 1.0
    place = np.arange(width)
    run = np.broadcast_to(block.start if block.tied else place, rank.shape)
    total, lost = np.zeros(n), np.zeros(n)
    for bit in range(int(rank.max(initial=0)).bit_length() - 1, -1, -1):
        above = rank >> (bit + 1)
        order = np.argsort(above, axis=1, kind="stable")
        above, ranks, runs, there, v = (
            np.take_along_axis(a, order, axis=1) for a in (above, rank, run, inside, value)
        )
        is_set = (ranks >> bit) & 1
        group = _starts(above[:, 1:] != above[:, :-1])
        tied = _starts((above[:, 1:] != above[:, :-1]) | (runs[:, 1:] != runs[:, :-1]))
        wins = np.zeros((2, n, width))
        for weight, sign in ((there, 1.0), (there * v, -1.0))[: 1 if unit else 2]:
            below = np.zeros((n, width + 1))
            np.cumsum(weight * (1 - is_set), axis=1, out=below[:, 1:])
            factor = sign if unit else (v if sign > 0 else -1.0)
            at = [np.take_along_axis(below, g, axis=1) for g in (*group, *tied)]
            wins[0] += factor * (at[1] - at[0])
            wins[1] += factor * ((at[2] - at[0]) + 0.5 * (at[3] - at[2]))
        total += (wins[0] * is_set).sum(axis=1)
        lost += (wins[1] * is_set).sum(axis=1)
    return total, lost


def _starts(new: Bools) -> tuple[Ints, Ints]:
    """First and one past the last column of the run that each column belongs to."""
    n, width = len(new), new.shape[1] + 1
    column = np.arange(width)
    marks = np.ones((n, width + 1), dtype=bool)
    marks[:, 1:-1] = new
    start = np.maximum.accumulate(np.where(marks[:, :-1], column, 0), axis=1)
    ends = np.where(marks[:, 1:], column + 1, width)
    stop = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return start, stop
