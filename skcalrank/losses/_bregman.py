r"""Bregman divergences with an order-preserving link (CUG13, eq. 5 and Theorem 5.3).

.. math:: B_\psi(v \| g(s)) = \psi(v) - \psi(g(s)) - \langle \nabla\psi(g(s)), v - g(s) \rangle

for a :math:`\mu`-strongly convex potential and a link g that keeps the order of the scores. The
loss is 0 if the values of the link equal the targets, its regret at the mean targets U is
:math:`B_\psi(U \| g(s))`, and :math:`c = 2/\sqrt\mu`. The squared loss is the Bregman divergence
of the potential :math:`\sum_i v_i^2` with the identity as the link. The regret of the softmax loss
is a relative entropy, too, of shares that are those of each query.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from ..columns.types import Floats
from ..data import Queries
from ._base import Loss, LossInParts, LossWithEta, Slopes, Weights, log
from ._pointwise import Logistic


@dataclass(frozen=True)
class BregmanLogistic(Logistic):
    r"""Binary relative entropy of every target, with the link :math:`\eta/(1+e^{-s})`.

    The potential is :math:`\sum_i v_i \log v_i + (\eta-v_i) \log(\eta-v_i)`, with
    :math:`\mu = 4/\eta` (CUG13, Theorem 5.3). The loss equals the logistic loss minus its infimum,
    a term that does not depend on the scores, so that its own infimum is 0.

    Parameters
    ----------
    eta : float, default=None
        Positive, and at least every target. If None, the largest target in fit.

    Raises
    ------
    ValueError
        If ``eta`` is not positive; in :meth:`scaled_to`, if a target is negative or above ``eta``.

    See Also
    --------
    Logistic : Logistic loss.
    BregmanKL : Relative entropy of the targets of a query.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.losses import BregmanLogistic
    >>> BregmanLogistic(eta=1.0).terms(np.array([0.5, 0.5]), np.array([0.0, 1.0])).round(3)
    array([0.  , 0.12])
    """

    name: ClassVar[str] = "bregman_logistic"

    def terms(self, v: Floats, s: Floats) -> Floats:
        return super().terms(v, s) - super().least(v)

    def least(self, v: Floats) -> Floats:
        return np.zeros(np.shape(v))


@dataclass(frozen=True)
class BregmanKL(LossWithEta):
    r"""Relative entropy of the targets of a query, with a link of the softmax type.

    The targets of a query and the rest :math:`v_0 = \eta - \sum_i v_i` are shares of the whole
    :math:`\eta`. The potential is their negative entropy,
    :math:`\sum_i v_i \log v_i + v_0 \log v_0`, and the link is

    .. math:: g_i(s) = \eta \, e^{s_i} / (1 + \sum_j e^{s_j}) .

    By Pinsker's inequality for these shares, including :math:`v_0`, :math:`\mu = 2/\eta`, so
    :math:`c = \sqrt{2\eta}` (CUG13, Theorem 5.3). All targets are divided by the same number
    ``eta``, and not by the sum of their query, so that they remain targets of the measure. If the
    targets of a query sum to ``eta``, the loss decreases to the cross entropy of the top-one
    probabilities, up to a term without scores, as all scores of the query are shifted upward.
    Sample weights enter as the mean weight of each query, because the loss is not a sum over
    documents.

    Parameters
    ----------
    eta : float, default=None
        Positive, and at least the sum of the targets of every query. If None, the largest sum in
        fit.

    Raises
    ------
    ValueError
        If ``eta`` is not a positive number; in :meth:`scaled_to`, if a target is negative or the
        sum of a query is above ``eta``.

    See Also
    --------
    BregmanLogistic : Binary relative entropy of every target.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import BregmanKL
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> e = np.exp(law.surrogate_minimizer(BregmanKL(eta=2.0), "precision@1"))
    >>> 2.0 * e / (1 + e.sum())
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "bregman_kl"

    def scaled_to(self, v: Floats, queries: Queries) -> Loss:
        super().scaled_to(v, queries)
        return self._with_eta(queries.sum(v).max(initial=0.0), "sum of the targets of a query")

    def _link(self, s: Floats, queries: Queries) -> tuple[Floats, Floats]:
        """Return the shares ``g_i(s) / eta`` of documents, and ``log(1 + sum_j exp(s_j))``."""
        top = np.maximum(queries.max(s), 0.0)
        raised = np.exp(s - queries.repeat(top))
        whole = queries.sum(raised) + np.exp(-top)
        return raised / queries.repeat(whole), np.log(whole) + top

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        rest = np.maximum(self.eta - queries.sum(v), 0.0)
        entropy = queries.sum(xlogy(v, v)) + xlogy(rest, rest) - xlogy(self.eta, self.eta)
        loss = entropy - queries.sum(v * s) + self.eta * self._link(s, queries)[1]
        return loss if weight is None else loss * queries.mean(weight)

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        return _slopes(self._link(s, queries)[0], self.eta, v, queries, weight)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return np.zeros(queries.n_queries)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        # If the rest v_0 is 0, the minimizer is infinite: a tiny rest gives large finite scores.
        rest = np.maximum(self.eta - queries.sum(v), 1e-13 * self.eta)
        return log(v) - queries.repeat(log(rest))

    def constant(self, largest: float = 1.0) -> float:
        return np.sqrt(2.0 * self.eta)


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

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        whole = queries.repeat(queries.sum(v))
        return _slopes(self._shares(s, queries)[1], whole, v, queries, weight)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        whole = queries.sum(v)
        return xlogy(whole, whole) - queries.sum(xlogy(v, v))

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        # Any scores will do for a query without a positive target.
        some = queries.repeat(queries.max(v)) > 0
        return log(np.where(some, v, 1.0))

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(largest)


def _slopes(share: Floats, whole: Any, v: Floats, queries: Queries, weight: Weights) -> Slopes:
    """Return derivatives of a loss of softmax shares of a whole, which queries weigh as a mean."""
    gradient, curvature = whole * share - v, whole * share * (1.0 - share)
    if weight is None:
        return gradient, curvature
    scale = queries.repeat(queries.mean(weight))
    return gradient * scale, curvature * scale
