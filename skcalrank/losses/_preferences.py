r"""Convex losses of single preferences, which are calibrated for some laws only.

.. math:: \sum_{i \to j} h(y_{ij}) \, f(s_i - s_j) \quad\text{or}\quad
    \sum_{i \to j} f(s_i - s_j - h(y_{ij}))

for a convex, decreasing f and h(y) = y: RankSVM and RankNet. For the pairwise disagreement none is
calibrated on all laws of low noise, hence none on P_f, on P_DAG or always (DMJ10, Theorems 11 and
12; DMJ13, Theorems 2 and 3). The logistic and the exponential one are, in the first form, where
the odds of preferences are those of a Bradley-Terry model, ``E[Y_ij] / E[Y_ji] = exp(r_i - r_j)``:
they are least at r and at r/2. Binary relevances that are independent given the query are such a
case, with ``r_i = log(p_i / (1 - p_i))``; the hinge fails there too. The losses are here to be
compared with, and for :class:`~skcalrank.DifferenceGraphRanker`, which gives them net preferences
of many judgments and is consistent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ..data import Array, Floats, Ints
from ._base import EXPONENT
from ._pointwise import rounded_hinge, softplus


class PreferenceLoss(ABC):
    """A sum of one term for each preference, a function of how far its winner is ahead.

    The f of DMJ10, Theorems 11 and 12: convex and decreasing. A subclass gives it with two
    derivatives.

    Attributes
    ----------
    name : str
        Name in ``PREFERENCE_LOSSES``.

    Examples
    --------
    Document 0 is preferred to 1 and to 2, and has the middle score:

    >>> import numpy as np
    >>> from skcalrank.losses import PreferenceSquaredHinge
    >>> s, winner, loser = np.array([1.0, 2.0, 0.0]), np.array([0, 0]), np.array([1, 2])
    >>> loss = PreferenceSquaredHinge()
    >>> loss.value_and_gradient(s, winner, loser, stated=np.array([1.0, 1.0]))
    (4.0, array([-4.,  4.,  0.]))
    """

    name: ClassVar[str]

    @abstractmethod
    def terms(self, ahead: Floats) -> Floats:
        """Loss of every preference.

        Parameters
        ----------
        ahead : ndarray of shape (n_preferences,)
            Score of the winner minus that of the loser, minus the margin where there is one.

        Returns
        -------
        terms : ndarray of shape (n_preferences,)
            A new array.
        """

    @abstractmethod
    def slopes(self, ahead: Floats) -> Floats:
        """First derivative of each term.

        Parameters
        ----------
        ahead : ndarray of shape (n_preferences,)
            As in :meth:`terms`.

        Returns
        -------
        slopes : ndarray of shape (n_preferences,)
            A new array, nowhere positive.
        """

    @abstractmethod
    def curvatures(self, ahead: Floats) -> Floats:
        """Second derivative of each term.

        Parameters
        ----------
        ahead : ndarray of shape (n_preferences,)
            As in :meth:`terms`.

        Returns
        -------
        curvatures : ndarray of shape (n_preferences,)
            Not negative.
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
        """Loss summed over the preferences, and its gradient in the scores.

        Parameters
        ----------
        s : ndarray of shape (n_documents,)
            Scores.
        winner, loser : ndarray of int of shape (n_preferences,)
            Documents.
        stated : ndarray of shape (n_preferences,)
            ``h(y_ij)``, which multiplies the loss, or is the margin to be kept.
        factor : ndarray of shape (n_preferences,), default=None
            Multiplies the loss in both forms.
        margin : bool, default=False
            Which of the two forms.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_documents,)
        """
        ahead = s[winner] - s[loser]
        factors = [] if factor is None else [factor]
        if margin:
            ahead -= stated
        else:
            factors.append(stated)
        terms, slopes = self.terms(ahead), self.slopes(ahead)
        for values in factors:
            terms *= values
            slopes *= values
        gradient: Array = np.bincount(winner, slopes, len(s)) - np.bincount(loser, slopes, len(s))
        return float(terms.sum()), gradient


@dataclass(frozen=True)
class PreferenceHinge(PreferenceLoss):
    """Hinge, ``(1 - x)_+``, its corner rounded over ``corner_width``.

    The loss of RankSVM [Joa02]_. Not consistent for the pairwise disagreement even where the noise
    is low (DMJ10, Theorems 11 and 12).

    Parameters
    ----------
    corner_width : float, default=1e-3
        From (0, 1]: a parabola replaces the corner between ``1 - corner_width`` and 1, on the
        scale of the scores.

    Raises
    ------
    ValueError
        If ``corner_width`` is out of its range.

    References
    ----------
    .. [Joa02] Joachims: Optimizing Search Engines using Clickthrough Data, KDD 2002.
    """

    name: ClassVar[str] = "hinge"
    corner_width: float = 1e-3

    def __post_init__(self) -> None:
        if not isinstance(self.corner_width, Real) or not 0 < self.corner_width <= 1:
            raise ValueError(f"corner_width must be a number in (0, 1], got {self.corner_width!r}.")

    def terms(self, ahead: Floats) -> Floats:
        return rounded_hinge(1.0 - ahead, self.corner_width)

    def slopes(self, ahead: Floats) -> Floats:
        return -np.clip((1.0 - ahead) / self.corner_width, 0.0, 1.0)

    def curvatures(self, ahead: Floats) -> Floats:
        return ((ahead < 1.0) & (ahead > 1.0 - self.corner_width)) / self.corner_width


@dataclass(frozen=True)
class PreferenceLogistic(PreferenceLoss):
    """Logistic, ``log(1 + exp(-x))``: the loss of RankNet [BSR05]_.

    Not consistent for the pairwise disagreement on all laws of low noise (DMJ10, Theorems 11 and
    12). It is where preferences follow a Bradley-Terry model, whose strengths it is least at, and
    where binary relevances are independent given the query.

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
    """Exponential, ``exp(-x)``.

    Not consistent for the pairwise disagreement on all laws of low noise (DMJ10, Theorems 11 and
    12). It is where preferences follow a Bradley-Terry model: it is least at half of its strengths.
    A preference lost by more than 250 pays as one lost by 250.
    """

    name: ClassVar[str] = "exponential"

    def terms(self, ahead: Floats) -> Floats:
        return np.exp(-np.maximum(ahead, -EXPONENT))

    def slopes(self, ahead: Floats) -> Floats:
        return -self.terms(ahead)

    curvatures = terms


@dataclass(frozen=True)
class PreferenceSquaredHinge(PreferenceLoss):
    """Squared hinge, ``(1 - x)_+^2``.

    Not consistent for the pairwise disagreement even where the noise is low (DMJ10, Theorems 11
    and 12).
    """

    name: ClassVar[str] = "squared_hinge"

    def terms(self, ahead: Floats) -> Floats:
        return np.maximum(1.0 - ahead, 0.0) ** 2

    def slopes(self, ahead: Floats) -> Floats:
        return -2.0 * np.maximum(1.0 - ahead, 0.0)

    def curvatures(self, ahead: Floats) -> Floats:
        return 2.0 * (ahead < 1.0)
