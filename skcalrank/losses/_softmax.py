r"""The softmax loss of lists: cross entropy of the targets and the softmax of the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from ..columns.types import Floats
from ..data import Queries
from ._base import LossInParts


@dataclass(frozen=True)
class Softmax(LossInParts):
    r"""Softmax loss :math:`(\sum_i v_i) \log \sum_j e^{s_j} - \sum_i v_i s_i`.

    It is the loss of ListNet's top-one probabilities [CQLTL07]_ with targets that are those of the
    measure: divided by the same number in every query, or by none, and not by the sum of the query.
    The loss is convex and affine in the targets, and costs as much as a pointwise loss. Its
    minimizers are :math:`s_i = \log U_i` plus a constant, the log of a function of the row where
    the mean targets are. A query without a positive target weighs nothing. With the largest sum of
    the mean targets of two documents,

    .. math:: c = \sqrt{2 \max_{i \ne j} (U_i + U_j)} \le 2 \sqrt{\max_i U_i} .

    The regret is the sum S of the mean targets times the relative entropy of the shares
    :math:`p_i = U_i / S` to the softmax q of the scores. If :math:`q_i \le q_j` for disjoint pairs
    with :math:`p_i > p_j`, it is least where each pair shares its sum evenly and other shares are
    right, :math:`\sum_{(i, j)} (p_i + p_j) \, \mathrm{KL}(p_i / (p_i + p_j) \| 1/2) \ge
    \sum_{(i, j)} (p_i - p_j)^2 / (2 (p_i + p_j))` by Pinsker's inequality, and the theorem follows
    as for the losses of CUG13, Table 2, from its Lemma 4.1. Sample weights enter as the mean weight
    of each query, because the loss is not a sum over documents.

    See Also
    --------
    BregmanKL : Relative entropy of the targets and a rest, whose scores depend on the whole query.
    PairwiseExponential : Exponential loss of pairs, which costs as much.

    References
    ----------
    .. [CQLTL07] Cao, Qin, Liu, Tsai, Li: Learning to Rank: From Pairwise Approach to Listwise
       Approach, ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import Softmax
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> np.exp(law.surrogate_minimizer(Softmax(), "precision@1"))
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "softmax"
    needs_intercept: ClassVar[bool] = False
    of_rows: ClassVar[bool] = True

    def check_some(self, largest: float) -> None:
        if not largest > 0:
            raise ValueError(
                "Targets must be positive for some document with the loss 'softmax', in which a "
                "query counts by its targets, got none. Check y and relevance_level."
            )

    def _shares(self, s: Floats, queries: Queries) -> tuple[Floats, Floats, Floats]:
        """Return scores below the best of their query, their softmax, and the log of its sum."""
        below = s - queries.repeat(queries.max(s))
        raised = np.exp(below)
        whole = queries.sum(raised)
        return below, raised / queries.repeat(whole), np.log(whole)

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        below, _, log_whole = self._shares(s, queries)
        # Scores may be infinite where targets are 0.
        paid = np.multiply(v, below, out=np.zeros(len(v)), where=v != 0)
        loss = queries.sum(v) * log_whole - queries.sum(paid)
        return loss if weight is None else loss * queries.mean(weight)

    def _derivatives(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None
    ) -> tuple[Floats, Floats]:
        share, whole = self._shares(s, queries)[1], queries.repeat(queries.sum(v))
        gradient, curvature = whole * share - v, whole * share * (1.0 - share)
        if weight is None:
            return gradient, curvature
        scale = queries.repeat(queries.mean(weight))
        return gradient * scale, curvature * scale

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        whole = queries.sum(v)
        return xlogy(whole, whole) - queries.sum(xlogy(v, v))

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        # Any scores will do for a query without a positive target.
        some = queries.repeat(queries.max(v)) > 0
        with np.errstate(divide="ignore"):
            return np.log(np.where(some, v, 1.0))

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(largest)
