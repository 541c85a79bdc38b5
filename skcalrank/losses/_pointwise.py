"""Losses that are sums over documents (CUG13, eq. 3)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log1p, xlogy

from ..columns.types import Floats
from ..data import Queries, check
from ._base import EXPONENT, Loss, LossInParts, LossWithEta, Slopes, Value, Weights, log

# Scores at which slopes of a loss are compared with differences of its terms, and half their width.
_SCORES, _STEP = np.array([-2.1, -0.7, 0.3, 1.2, 2.6]), 1e-5


class PointwiseLoss(LossInParts):
    """Base class of losses with one term per document, ``terms(v_i, s_i)`` (CUG13, eq. 3).

    A subclass defines the terms, their first two derivatives, their smallest values, the minimizer
    and the constant of the regret bound. The loss is order-preserving if its terms are convex in
    the score and affine in the target, up to a part without scores, and if the minimizer strictly
    increases with the target. :func:`skcalrank.calibration.find_counterexample` searches for
    violations without assuming any of these conditions.

    See Also
    --------
    PairwiseTemplate : Pairwise loss of a custom function of score differences.
    BregmanTemplate : Bregman divergence of a custom potential and link.

    Examples
    --------
    A custom loss, the negative log-likelihood of a Poisson distribution:

    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import PointwiseLoss
    >>> class Poisson(PointwiseLoss):
    ...     name = "poisson"
    ...
    ...     def terms(self, v, s):
    ...         return np.exp(s) - v * s
    ...
    ...     def slopes(self, v, s):
    ...         return np.exp(s) - v
    ...
    ...     def curvatures(self, v, s):
    ...         return np.exp(s)
    ...
    ...     def least(self, v):
    ...         return v - v * np.log(np.where(v > 0, v, 1.0))
    ...
    ...     def minimizer(self, v, queries):
    ...         return np.log(v, out=np.full(len(v), -np.inf), where=v > 0)
    ...
    ...     def constant(self, largest=1.0):
    ...         return np.inf  # no bound is claimed
    >>> law = LabelDistribution([[0, 1, 1], [1, 0, 1]], [0.75, 0.25])
    >>> np.exp(law.surrogate_minimizer(Poisson(), "precision@1"))
    array([0.25, 0.75, 1.  ])
    """

    separable: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True

    @abstractmethod
    def terms(self, v: Floats, s: Floats) -> Floats:
        """Return the loss of each document, of shape (n_documents,).

        Parameters
        ----------
        v, s : ndarray of shape (n_documents,)
            Targets and scores.
        """

    @abstractmethod
    def slopes(self, v: Floats, s: Floats) -> Floats:
        """Return the first derivative of each term in the score, of shape (n_documents,).

        Parameters
        ----------
        v, s : ndarray of shape (n_documents,)
            Targets and scores.
        """

    @abstractmethod
    def curvatures(self, v: Floats, s: Floats) -> Floats:
        """Return the second derivative of each term in the score.

        Parameters
        ----------
        v, s : ndarray of shape (n_documents,)
            Targets and scores.

        Returns
        -------
        curvatures : ndarray of shape (n_documents,)
            Non-negative numbers.
        """

    @abstractmethod
    def least(self, v: Floats) -> Floats:
        """Return the infimum of each term over all scores, of shape (n_documents,).

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            Targets.
        """

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        return queries.sum(_weighted(self.terms(v, s), weight))

    def _value_and_gradient(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Value:
        value = _weighted(self.terms(v, s), weight).sum()
        return float(value), _weighted(self.slopes(v, s), weight)

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        return _weighted(self.slopes(v, s), weight), _weighted(self.curvatures(v, s), weight)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return queries.sum(self.least(v))

    def check_slopes(self, v: Floats) -> None:
        if type(self).__module__.startswith(__name__.partition(".")[0] + ".") or not len(v):
            return
        v, kind = np.full(len(_SCORES), v.max()), type(self).__name__
        slopes = np.asarray(self.slopes(v, _SCORES))
        expected = (self.terms(v, _SCORES + _STEP) - self.terms(v, _SCORES - _STEP)) / (2 * _STEP)
        wrong = ~(np.abs(slopes - expected) <= 1e-3 * (1.0 + np.abs(expected)))
        if slopes.shape != v.shape or wrong.any():
            at = int(wrong.argmax())
            raise ValueError(
                f"slopes of {kind} must be the derivative of its terms in the score, "
                f"{expected[at]:.4g} for the target {v[at]:.4g} at {_SCORES[at]:g}, got "
                f"{slopes.ravel()[at]:.4g}."
            )


def _weighted(values: Floats, weight: Floats | None) -> Floats:
    return values if weight is None else values * weight


@dataclass(frozen=True)
class Squared(PointwiseLoss):
    r"""Squared error :math:`\sum_i (v_i - s_i)^2`, with :math:`c = \sqrt 2` (CUG13, Table 2).

    The minimizer of its risk is the mean target, which may have either sign. It is the
    least-squares surrogate of RAT13, Theorem 3.

    See Also
    --------
    PairwiseSquared : Squared error of score differences.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.losses import Squared
    >>> Squared().terms(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.5, 0.8])).round(2)
    array([0.01, 0.  , 0.04])
    """

    name: ClassVar[str] = "squared"
    family: ClassVar[str | None] = "squared"
    _positive_only: ClassVar[bool] = False

    def terms(self, v: Floats, s: Floats) -> Floats:
        return (v - s) ** 2

    def slopes(self, v: Floats, s: Floats) -> Floats:
        return 2.0 * (s - v)

    def curvatures(self, v: Floats, s: Floats) -> Floats:
        return np.full(np.shape(s), 2.0)

    def least(self, v: Floats) -> Floats:
        return np.zeros(np.shape(v))

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return np.array(v, dtype=float)

    def constant(self, largest: float = 1.0) -> float:
        return np.sqrt(2.0)


@dataclass(frozen=True)
class _TwoSided(LossWithEta, PointwiseLoss):
    """Base class of losses ``v f(-s) + (eta - v) f(s)``, as of weighted binary classification.

    The theory requires ``eta > max_i U_i``; training requires ``eta`` to be at least every target.
    """

    def scaled_to(self, v: Floats, queries: Queries) -> Loss:
        super().scaled_to(v, queries)
        return self._with_eta(v.max(initial=0.0))

    def _rest(self, v: Floats) -> Floats:
        # Means of targets may pass eta by rounding.
        return np.maximum(self.eta - v, 0.0)


@dataclass(frozen=True)
class Logistic(_TwoSided):
    r"""Logistic loss, :math:`\sum_i v_i \log(1+e^{-s_i}) + (\eta - v_i) \log(1+e^{s_i})`.

    :math:`c = \sqrt\eta` (CUG13, Table 2), and the minimizer is :math:`\log(v/(\eta - v))`. It is
    the loss of logistic regression in which every row occurs in both classes, with the weights v
    and eta - v.

    Parameters
    ----------
    eta : float, default=None
        Positive, and at least every target. If None, the largest target in fit. The theory
        requires eta to be greater than the mean targets, and the regret bound grows with its
        square root.

    Raises
    ------
    ValueError
        If ``eta`` is not positive; in :meth:`scaled_to`, if a target is negative or above ``eta``.

    See Also
    --------
    BregmanLogistic : The same loss minus its infimum.
    PairwiseLogistic : Logistic loss of score differences.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import Logistic
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> s = law.surrogate_minimizer(Logistic(eta=1.0), "precision@1")
    >>> 1 / (1 + np.exp(-s))
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "logistic"
    family: ClassVar[str | None] = "logistic"

    def terms(self, v: Floats, s: Floats) -> Floats:
        return self.eta * softplus(s) - v * s

    def slopes(self, v: Floats, s: Floats) -> Floats:
        return self.eta * expit(s) - v

    def curvatures(self, v: Floats, s: Floats) -> Floats:
        return self.eta * expit(s) * expit(-s)

    def least(self, v: Floats) -> Floats:
        rest = self._rest(v)
        return xlogy(self.eta, self.eta) - xlogy(v, v) - xlogy(rest, rest)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return log(v) - log(self._rest(v))

    def constant(self, largest: float = 1.0) -> float:
        return np.sqrt(self.eta)


@dataclass(frozen=True)
class Exponential(_TwoSided):
    r"""Exponential loss, :math:`\sum_i v_i e^{-s_i} + (\eta - v_i) e^{s_i}`.

    :math:`c = \sqrt\eta` (CUG13, Table 2), and the minimizer is half the minimizer of the logistic
    loss. Scores are clipped to [-250, 250], so that the loss stays finite.

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
    PairwiseExponential : Exponential loss of score differences.
    """

    name: ClassVar[str] = "exponential"

    def _parts(self, v: Floats, s: Floats) -> tuple[Floats, Floats]:
        s = np.clip(s, -EXPONENT, EXPONENT)
        return v * np.exp(-s), self._rest(v) * np.exp(s)

    def terms(self, v: Floats, s: Floats) -> Floats:
        falling, rising = self._parts(v, s)
        return falling + rising

    def slopes(self, v: Floats, s: Floats) -> Floats:
        falling, rising = self._parts(v, s)
        return rising - falling

    curvatures = terms

    def least(self, v: Floats) -> Floats:
        return 2.0 * np.sqrt(v * self._rest(v))

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return (log(v) - log(self._rest(v))) / 2

    def constant(self, largest: float = 1.0) -> float:
        return np.sqrt(self.eta)


@dataclass(frozen=True)
class SquaredHinge(_TwoSided):
    r"""Squared hinge loss, :math:`\sum_i v_i (t-s_i)_+^2 + (\eta - v_i) (s_i)_+^2`.

    :math:`c = \sqrt{2\eta}/t` with the threshold t > 0 (CUG13, Table 2). It is the loss of a
    linear support vector machine with squared hinge loss, in which every row occurs in both
    classes and scores are shifted by t/2.

    Parameters
    ----------
    eta : float, default=None
        Positive, and at least every target. If None, the largest target in fit.
    threshold : float, default=1.0
        Positive threshold t: minimizers are between 0 and t, in units of the scores.

    Raises
    ------
    ValueError
        If ``eta`` or ``threshold`` is not a positive number; in :meth:`scaled_to`, if a target is
        negative or above ``eta``.

    See Also
    --------
    DifferentiableHinge : Hinge loss with a rounded corner.

    Examples
    --------
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import SquaredHinge
    >>> law = LabelDistribution([[0, 1], [1, 0]], [0.75, 0.25])
    >>> law.surrogate_minimizer(SquaredHinge(eta=1.0, threshold=2.0), "precision@1")
    array([0.5, 1.5])
    """

    name: ClassVar[str] = "squared_hinge"
    threshold: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check.number("threshold", self.threshold, "> 0")

    @property
    def largest_curvature(self) -> float:
        """Largest second derivative of a term."""
        return 2.0 * self.eta

    def _parts(self, s: Floats) -> tuple[Floats, Floats]:
        return np.maximum(self.threshold - s, 0.0), np.maximum(s, 0.0)

    def terms(self, v: Floats, s: Floats) -> Floats:
        below, above = self._parts(s)
        return v * below**2 + (self.eta - v) * above**2

    def slopes(self, v: Floats, s: Floats) -> Floats:
        below, above = self._parts(s)
        return 2.0 * ((self.eta - v) * above - v * below)

    def curvatures(self, v: Floats, s: Floats) -> Floats:
        return 2.0 * (v * (s < self.threshold) + (self.eta - v) * (s > 0))

    def least(self, v: Floats) -> Floats:
        return self.threshold**2 * v * (self.eta - v) / self.eta

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        return self.threshold * v / self.eta

    def constant(self, largest: float = 1.0) -> float:
        return np.sqrt(2.0 * self.eta) / self.threshold


@dataclass(frozen=True)
class DifferentiableHinge(_TwoSided):
    r"""Hinge loss with a rounded corner, :math:`\sum_i v_i h_a(1-s_i) + (\eta - v_i) h_a(s_i)`.

    :math:`h_a(x)` is 0 for :math:`x \le 0`, :math:`x^2/(2a)` for :math:`0 \le x \le a`, and
    :math:`x - a/2` for :math:`x \ge a`. The constant :math:`c = 2\sqrt{\eta/a}` for
    :math:`0 < a \le 1/2` is sharp. (CUG13, Table 2, prints twice this constant, and a range on
    another scale, on which the bound can fail.)

    Parameters
    ----------
    eta : float, default=None
        Positive, and at least every target. If None, the largest target in fit.
    smoothing : float, default=0.5
        Width a of the rounded corner, in (0, 1/2], in units of the scores.

    Raises
    ------
    ValueError
        If ``eta`` is not a positive number, or ``smoothing`` is out of its range; in
        :meth:`scaled_to`, if a target is negative or above ``eta``.

    See Also
    --------
    SquaredHinge : Squared hinge loss.

    Notes
    -----
    Proof of :math:`c = 2\sqrt{\eta/a}`. Divide the loss and the targets by :math:`\eta`, and let
    W(q) be the smallest risk of a document of mean target q. With l the smaller of q and 1 - q,

    .. math:: W = l \, (1 - a/2) - \frac{a \, l^2}{2 (1 - l)}, \qquad
        W'' = -\frac{a}{(1 - l)^3} \le -a ,

    and at l = 1/2 the slope from the left, 1 - 2a, is non-negative for :math:`a \le 1/2`.
    Therefore W is strongly concave with modulus a. Among all scores that order two documents of
    mean targets p and q wrongly, equal scores have the smallest risk, :math:`2 W((p + q)/2)`,
    because the risk is affine in the targets. It exceeds W(p) + W(q) by at least
    :math:`a (p - q)^2 / 4`, so that :math:`c^2 = 4/a`, times :math:`\eta`. Equality is attained in
    the limit q = 0, p -> 0.
    """

    name: ClassVar[str] = "differentiable_hinge"
    smoothing: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check.number("smoothing", self.smoothing, "> 0 and <= 0.5")

    @property
    def largest_curvature(self) -> float:
        """Largest second derivative of a term."""
        return self.eta / self.smoothing

    def terms(self, v: Floats, s: Floats) -> Floats:
        a = self.smoothing
        return v * rounded_hinge(1.0 - s, a) + (self.eta - v) * rounded_hinge(s, a)

    def slopes(self, v: Floats, s: Floats) -> Floats:
        a = self.smoothing
        return (self.eta - v) * np.clip(s / a, 0.0, 1.0) - v * np.clip((1.0 - s) / a, 0.0, 1.0)

    def curvatures(self, v: Floats, s: Floats) -> Floats:
        a = self.smoothing
        right = (s > 0) & (s < a)
        left = (s > 1.0 - a) & (s < 1.0)
        return ((self.eta - v) * right + v * left) / a

    def least(self, v: Floats) -> Floats:
        a = self.smoothing
        low, high = np.minimum(v, self.eta - v), np.maximum(v, self.eta - v)
        return low * (1.0 - a / 2) - a * low**2 / (2 * high)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        rest = self.eta - v
        near = self.smoothing * np.minimum(v, rest) / np.maximum(v, rest)
        return np.where(v < rest, near, np.where(v > rest, 1.0 - near, 0.5))

    def constant(self, largest: float = 1.0) -> float:
        return 2.0 * np.sqrt(self.eta / self.smoothing)


def softplus(x: Floats) -> Floats:
    """Return ``log(1 + exp(x))``, without overflow for large x."""
    return np.maximum(x, 0.0) + log1p(np.exp(-np.abs(x)))


def rounded_hinge(x: Floats, a: float) -> Floats:
    """Return ``max(x, 0)`` with its corner rounded on (0, a): ``x^2/(2a)``, then ``x - a/2``."""
    x = np.maximum(x, 0.0)
    return np.where(x < a, x**2 / (2 * a), x - a / 2)
