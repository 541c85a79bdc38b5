r"""Convex losses of single preferences, which are calibrated only for some distributions.

.. math:: \sum_{i \to j} h(y_{ij}) \, f(s_i - s_j) \quad\text{or}\quad
    \sum_{i \to j} f(s_i - s_j - h(y_{ij}))

with a convex, decreasing f and h(y) = y, as in RankSVM and RankNet. For the pairwise disagreement,
none of these losses is calibrated on all distributions of low noise, and hence none on P_f, on
P_DAG or always (DMJ10, Theorems 11 and 12; DMJ13, Theorems 2 and 3). In the first form, the
logistic and the exponential loss are calibrated if the odds of preferences follow a Bradley-Terry
model, ``E[Y_ij] / E[Y_ji] = exp(r_i - r_j)``; their minimizers are then r and r/2. This includes
binary relevances that are independent given the query, with ``r_i = log(p_i / (1 - p_i))``, for
which the hinge loss still fails. The losses serve as baselines, and as losses of
:class:`~skcalrank.rankers.DifferenceGraphRanker`, which is consistent because it applies them to
the net preferences of many judgments.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ..columns.types import Array, Floats, Ints
from ..data import check
from ._base import EXPONENT
from ._pointwise import rounded_hinge, softplus


class PreferenceLoss(ABC):
    """Base class of losses with one term per preference, ``f(s_winner - s_loser)``.

    f is the convex, decreasing function of DMJ10, Theorems 11 and 12. A subclass defines f and its
    first two derivatives.

    Attributes
    ----------
    name : str
        Name in ``PREFERENCE_LOSSES``.

    See Also
    --------
    skcalrank.rankers.DifferenceGraphRanker : A consistent ranker that minimizes these losses.
    Loss : Base class of order-preserving losses.

    Examples
    --------
    Document 0 is preferred to documents 1 and 2, and its score is between their scores:

    >>> import numpy as np
    >>> from skcalrank.losses import PreferenceSquaredHinge
    >>> s, winner, loser = np.array([1.0, 2.0, 0.0]), np.array([0, 0]), np.array([1, 2])
    >>> loss = PreferenceSquaredHinge()
    >>> loss.value_and_gradient(s, winner, loser, stated=np.array([1.0, 1.0]))
    (4.0, array([-4.,  4.,  0.]))
    """

    name: ClassVar[str]

    # Whether h(y_ij) is the margin of a term instead of its weight.
    margin: ClassVar[bool] = False

    def stated(self, weight: Floats) -> Floats:
        """Return h of the weights of preferences.

        Parameters
        ----------
        weight : ndarray
            Non-negative weights ``y_ij``, 0 where there is no preference.

        Returns
        -------
        stated : ndarray of the same shape
            ``h(y_ij)``, the weights themselves unless a subclass has another h.
        """
        return weight

    @abstractmethod
    def terms(self, ahead: Floats) -> Floats:
        """Return the loss of every preference.

        Parameters
        ----------
        ahead : ndarray of shape (n_preferences,)
            Score of the winner minus the score of the loser, minus the margin if there is one.

        Returns
        -------
        terms : ndarray of shape (n_preferences,)
            A new array.
        """

    @abstractmethod
    def slopes(self, ahead: Floats) -> Floats:
        """Return the first derivative of each term.

        Parameters
        ----------
        ahead : ndarray of shape (n_preferences,)
            As in :meth:`terms`.

        Returns
        -------
        slopes : ndarray of shape (n_preferences,)
            A new array of non-positive numbers.
        """

    @abstractmethod
    def curvatures(self, ahead: Floats) -> Floats:
        """Return the second derivative of each term.

        Parameters
        ----------
        ahead : ndarray of shape (n_preferences,)
            As in :meth:`terms`.

        Returns
        -------
        curvatures : ndarray of shape (n_preferences,)
            Non-negative numbers.
        """

    def value_and_gradient(
        self,
        s: Floats,
        winner: Ints,
        loser: Ints,
        stated: Floats,
        *,
        factor: Floats | None = None,
        margin: bool = False,
    ) -> tuple[float, Floats]:
        """Return the sum of the loss over all preferences, and its gradient in the scores.

        Parameters
        ----------
        s : ndarray of shape (n_documents,)
            Scores.
        winner, loser : ndarray of int of shape (n_preferences,)
            Documents that win and lose.
        stated : ndarray of shape (n_preferences,)
            Values ``h(y_ij)``: the weights of the terms, or their margins if `margin` is True.
        factor : ndarray of shape (n_preferences,), default=None
            Additional weights of the terms, in both forms.
        margin : bool, default=False
            Whether the terms are ``f(s_i - s_j - h(y_ij))`` instead of ``h(y_ij) f(s_i - s_j)``.

        Returns
        -------
        value : float
            Sum of the terms.
        gradient : ndarray of shape (n_documents,)
            Derivatives of the sum with respect to the scores.
        """
        ahead, weight = s[winner] - s[loser], stated
        if margin:
            ahead, weight = ahead - stated, np.ones(len(stated))
        if factor is not None:
            weight = factor * weight
        terms, slopes = self.terms(ahead) * weight, self.slopes(ahead) * weight
        gradient: Array = np.bincount(winner, slopes, len(s)) - np.bincount(loser, slopes, len(s))
        return float(terms.sum()), gradient


@dataclass(frozen=True)
class PreferenceHinge(PreferenceLoss):
    """Hinge loss ``(1 - x)_+`` with a rounded corner.

    It is the loss of RankSVM [Joa02]_. It is not consistent for the pairwise disagreement, even on
    distributions of low noise (DMJ10, Theorems 11 and 12).

    Parameters
    ----------
    corner_width : float, default=1e-3
        Width of the rounded corner, in (0, 1], in units of the scores: between
        ``1 - corner_width`` and 1, the loss is a parabola.

    Raises
    ------
    ValueError
        If ``corner_width`` is out of its range.

    See Also
    --------
    PreferenceSquaredHinge : Squared hinge loss.
    skcalrank.rankers.PairwiseHingeRanker : A ranker with the hinge loss of single preferences.

    References
    ----------
    .. [Joa02] Joachims: Optimizing Search Engines using Clickthrough Data, KDD 2002.
    """

    name: ClassVar[str] = "hinge"
    corner_width: float = 1e-3

    def __post_init__(self) -> None:
        check.number("corner_width", self.corner_width, "> 0 and <= 1")

    def terms(self, ahead: Floats) -> Floats:
        return rounded_hinge(1.0 - ahead, self.corner_width)

    def slopes(self, ahead: Floats) -> Floats:
        return -np.clip((1.0 - ahead) / self.corner_width, 0.0, 1.0)

    def curvatures(self, ahead: Floats) -> Floats:
        return ((ahead < 1.0) & (ahead > 1.0 - self.corner_width)) / self.corner_width


@dataclass(frozen=True)
class PreferenceLogistic(PreferenceLoss):
    """Logistic loss ``log(1 + exp(-x))``.

    It is the loss of RankNet [BSR05]_. It is not consistent for the pairwise disagreement on all
    distributions of low noise (DMJ10, Theorems 11 and 12). It is consistent if preferences follow a
    Bradley-Terry model, whose strengths are its minimizer, and if binary relevances are independent
    given the query.

    See Also
    --------
    PairwiseLogistic : Order-preserving pairwise loss of targets.
    skcalrank.PairwiseLogisticRanker : A ranker with the logistic loss of single preferences.

    References
    ----------
    .. [BSR05] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to Rank using
       Gradient Descent, ICML 2005.
    """

    name: ClassVar[str] = "logistic"

    def terms(self, ahead: Floats) -> Floats:
        return softplus(-ahead)

    def slopes(self, ahead: Floats) -> Floats:
        return -expit(-ahead)

    def curvatures(self, ahead: Floats) -> Floats:
        return expit(ahead) * expit(-ahead)


@dataclass(frozen=True)
class PreferenceExponential(PreferenceLoss):
    """Exponential loss ``exp(-x)``.

    It is not consistent for the pairwise disagreement on all distributions of low noise (DMJ10,
    Theorems 11 and 12). It is consistent if preferences follow a Bradley-Terry model, half of
    whose strengths are its minimizer. For x < -250, the loss is ``exp(250)``.

    See Also
    --------
    PairwiseExponential : Order-preserving pairwise loss of targets.
    """

    name: ClassVar[str] = "exponential"

    def terms(self, ahead: Floats) -> Floats:
        return np.exp(-np.maximum(ahead, -EXPONENT))

    def slopes(self, ahead: Floats) -> Floats:
        return -self.terms(ahead)

    curvatures = terms


@dataclass(frozen=True)
class PreferenceSquaredHinge(PreferenceLoss):
    """Squared hinge loss ``(1 - x)_+^2``.

    It is not consistent for the pairwise disagreement, even on distributions of low noise (DMJ10,
    Theorems 11 and 12).

    See Also
    --------
    PreferenceHinge : Hinge loss with a rounded corner.
    """

    name: ClassVar[str] = "squared_hinge"

    def terms(self, ahead: Floats) -> Floats:
        return np.maximum(1.0 - ahead, 0.0) ** 2

    def slopes(self, ahead: Floats) -> Floats:
        return -2.0 * np.maximum(1.0 - ahead, 0.0)

    def curvatures(self, ahead: Floats) -> Floats:
        return 2.0 * (ahead < 1.0)
