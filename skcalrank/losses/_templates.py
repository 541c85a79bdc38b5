r"""Templates of losses for custom functions (CUG13, eq. 4 and 5), and one without a guarantee."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from ..columns.types import Bools, Floats, Ints
from ..data import Queries
from ._base import Slopes, Weights
from ._pairwise import PairwiseLoss
from ._pointwise import PointwiseLoss
from ._preferences import PreferenceLoss

Function = Callable[[Any], Any]

# Scores at which the conditions on the functions are checked.
_GRID = np.linspace(-5.0, 5.0, 401)
_STEP = 1e-5

# Distance at which slopes are those at infinity, and the ratio to the slope at 0 that says so.
_ENDS, _STEEP = 1e6, 1e3

# Each step of the grid is halved this often, and a change that is left, as a share, is a jump.
_HALVINGS, _JUMP = 40, 1e-6


class _PairFunction(PairwiseLoss):
    """Base class of losses with a term ``w(v_i, v_j) phi(s_i - s_j)`` for each ordered pair."""

    _long: ClassVar[bool] = True

    phi: Function
    slope: Function

    def _paid(self, target: Floats) -> Floats:
        """Return w of all pairs of a stack of queries of equal size, or an array to broadcast."""
        return target[:, :, None]

    @abstractmethod
    def _curvatures(self, ahead: Floats) -> Floats:
        """Return the second derivative of phi, or what boosting uses in its place."""

    def _pairs(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None
    ) -> Iterator[tuple[Ints, Bools, Ints, Floats, Floats]]:
        """Yield batches of queries with the weighted targets and score differences of all pairs.

        A batch is the numbers of its queries, the mask of documents that are not padding, their
        rows, and two arrays over pairs (i, j): ``w_ij w(v_i, v_j)`` and ``s_i - s_j``.
        """
        weights = np.ones(len(s)) if weight is None else weight
        share = 1.0 if weight is None else queries.repeat(1.0 / queries.mean_weight(weight))
        extended = [queries.extend(x) for x in (v, s, weights, weights * share)]
        for bucket in queries.pair_buckets:
            present = np.arange(bucket.width) < bucket.sizes
            target, score, first, second = (bucket.pad(x, 0.0) for x in extended)
            pair = (first * present)[:, :, None] * (second * present)[:, None, :]
            pair[:, np.arange(bucket.width), np.arange(bucket.width)] = 0.0
            documents = (bucket.first + np.arange(bucket.width))[present]
            ahead = (score[:, :, None] - score[:, None, :]) * (pair > 0)
            yield bucket.ids, present, documents, pair * self._paid(target), ahead

    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Floats | None) -> Floats:
        out = np.zeros(queries.n_queries)
        for ids, _, _, paid, ahead in self._pairs(v, s, queries, weight):
            out[ids] = (paid * self.phi(ahead)).sum(axis=(1, 2))
        return out

    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        gradient, curvature = np.empty(len(s)), np.empty(len(s))
        for _, present, documents, paid, ahead in self._pairs(v, s, queries, weight):
            slopes, curves = paid * self.slope(ahead), paid * self._curvatures(ahead)
            gradient[documents] = (slopes.sum(axis=2) - slopes.sum(axis=1))[present]
            curvature[documents] = (curves.sum(axis=2) + curves.sum(axis=1))[present]
        return gradient, curvature

    def constant(self, largest: float = 1.0) -> float:
        return np.inf


@dataclass(frozen=True)
class PairwiseTemplate(_PairFunction):
    r"""Pairwise loss :math:`\sum_{i<j} v_i \varphi(s_i - s_j) + v_j \varphi(s_j - s_i)`.

    The loss is order-preserving for every convex, non-increasing, differentiable :math:`\varphi`
    with :math:`\varphi'(0) < 0`, provided that the minimum is attained (CUG13, section 3). A corner
    ties documents that must differ: the hinge is not order-preserving. The conditions on
    :math:`\varphi` are checked at 401 score differences from -5 to 5, of which two may have another
    derivative, and the slope may not jump between them. No regret bound is claimed.

    Parameters
    ----------
    phi : callable
        Function :math:`\varphi` of an array of score differences that returns an array of losses.
    slope, curvature : callable
        First and second derivative of `phi`.
    name : str, default="pairwise_template"
        Name of the loss.

    Raises
    ------
    ValueError
        If a condition fails, the slope jumps, or `slope` or `curvature` is not the derivative that
        it should be.

    See Also
    --------
    BregmanTemplate : Bregman divergence of a custom potential and link.
    PairwiseObjective : Function that need not be convex, without a guarantee.
    PointwiseLoss : Base class of custom losses with one term per document.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import PairwiseTemplate
    >>> loss = PairwiseTemplate(
    ...     lambda x: np.exp(-2 * x), lambda x: -2 * np.exp(-2 * x), lambda x: 4 * np.exp(-2 * x)
    ... )
    >>> law = LabelDistribution([[0, 1, 1], [1, 0, 1]], [0.75, 0.25])
    >>> law.surrogate_minimizer(loss, "precision@1").argsort()
    array([0, 1, 2])
    """

    phi: Function
    slope: Function
    curvature: Function
    name: str = "pairwise_template"  # type: ignore[misc]

    def __post_init__(self) -> None:
        _check_falling(self)

    def _curvatures(self, ahead: Floats) -> Floats:
        return self.curvature(ahead)

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        return self.evaluate(v, self.minimizer(v, queries), queries)

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        def risk(s: Floats) -> tuple[float, Floats]:
            return self.value_and_gradient(v, s, queries)

        return minimize(risk, np.zeros(len(v)), jac=True, method="L-BFGS-B", tol=1e-14).x


@dataclass(frozen=True)
class PairwiseObjective(_PairFunction):
    r"""Loss of pairs :math:`\sum_{i \ne j} w(v_i, v_j) \varphi(s_i - s_j)` without a guarantee.

    Unlike in :class:`PairwiseTemplate`, :math:`\varphi` need not be convex, and the weight may
    depend on both targets. Rankers claim no guarantee:
    :func:`~skcalrank.calibration.find_counterexample` tests whether minimizing the loss leads to
    the best order. In boosted trees :math:`|\varphi'|` replaces the second derivative, which may be
    negative.

    If :math:`w(a, b) - w(b, a) = a - b`, as by default, and :math:`\varphi(x) + \varphi(-x)` is
    constant, then the mean loss is a constant plus the sum of
    :math:`(U_i - U_j)\,\varphi(s_i - s_j)` over pairs i < j, with mean targets U. Scores far
    apart in the order of U bring every term near its infimum if :math:`\varphi` decreases, while
    scores in a wrong order keep away from it, so that the loss is calibrated for the measure whose
    targets weigh the pairs.

    Parameters
    ----------
    phi : callable
        Function :math:`\varphi` of an array of score differences that returns an array of losses.
    slope : callable
        First derivative of `phi`, which is checked at 401 score differences from -5 to 5.
    weight : callable, default=None
        Function w of two arrays of targets, those of i and of j, that returns non-negative weights
        of the pairs (i, j). If None, :math:`\max(v_i - v_j, 0)`.
    name : str, default="pairwise_objective"
        Name of the loss.

    Raises
    ------
    ValueError
        If `slope` is not the derivative of `phi`, `phi` does not fall from -5 to 5, or a weight is
        negative; in :meth:`infimum` and :meth:`minimizer`, which are not known.

    See Also
    --------
    PairwiseTemplate : Convex function of score differences, for which an order is guaranteed.
    skcalrank.BoostedRanker : Trees that minimize the loss.

    Examples
    --------
    A loss that is flat for pairs far in the wrong order. The argument above proves it calibrated;
    "not proven" is about the smallest value that the search finds:

    >>> from scipy.special import expit
    >>> from skcalrank.calibration import LabelDistribution, calibration_gap
    >>> from skcalrank.losses import PairwiseObjective
    >>> loss = PairwiseObjective(lambda x: expit(-x), lambda x: -expit(x) * expit(-x))
    >>> law = LabelDistribution([[2, 1, 0], [0, 2, 1]], [0.6, 0.4])
    >>> found = calibration_gap(loss, "sort", "dcg@2", law)
    >>> bool(found.gap > 0), found.certificate
    (True, 'not proven')
    """

    _positive_only: ClassVar[bool] = False

    phi: Function
    slope: Function
    weight: Callable[[Floats, Floats], Floats] | None = None
    name: str = "pairwise_objective"  # type: ignore[misc]

    def __post_init__(self) -> None:
        _check_derivative("slope", self.phi, self.slope(_GRID))
        ends = self.phi(_GRID[[0, -1]])
        if not ends[0] > ends[1]:
            raise ValueError(
                "phi must be smaller for score differences in the right order, which are positive, "
                f"got {ends[0]:g} at -5 and {ends[1]:g} at 5."
            )

    def _paid(self, target: Floats) -> Floats:
        first, second = target[:, :, None], target[:, None, :]
        if self.weight is None:
            return np.maximum(first - second, 0.0)
        weight = np.asarray(self.weight(first, second), dtype=float)
        if not weight.min(initial=0.0) >= 0:
            raise ValueError(f"weight must return non-negative numbers, got {weight.min():g}.")
        return weight

    def _curvatures(self, ahead: Floats) -> Floats:
        return np.abs(self.slope(ahead))

    def infimum(self, v: Floats, queries: Queries) -> Floats:
        raise self._unknown("infimum")

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        raise self._unknown("minimizer")

    def _unknown(self, what: str) -> ValueError:
        return ValueError(
            f"loss must be convex for its {what}, got {self.name!r}, which need not be. Use "
            "skcalrank.calibration.calibration_gap, which minimizes the mean loss numerically."
        )


@dataclass(frozen=True)
class BregmanTemplate(PointwiseLoss):
    r"""Bregman divergence :math:`\sum_i \psi(v_i) - \psi(g_i) - \psi'(g_i)(v_i - g_i)`.

    Here :math:`g_i = g(s_i)`. The loss is order-preserving for every strictly convex,
    differentiable :math:`\psi` and every increasing, continuous, invertible link g such that the
    closure of its range contains all targets (CUG13, eq. 5). If the potential is
    :math:`\mu`-strongly convex, then :math:`c = 2/\sqrt\mu` (Theorem 5.3). As a function of the
    scores, the loss need not be convex.
    The conditions are checked at 401 scores from -5 to 5, of which two may have another derivative,
    and neither g nor :math:`\psi'` may jump between them.

    Parameters
    ----------
    potential : tuple of three callables
        :math:`\psi, \psi', \psi''`, functions of an array that return an array.
    link : tuple of three callables
        :math:`g, g', g^{-1}`, functions of an array that return an array.
    mu : float, default=None
        Modulus of strong convexity of the potential on the targets. If None, no regret bound is
        claimed.
    name : str, default="bregman_template"
        Name of the loss.

    Raises
    ------
    ValueError
        If a condition fails, or a derivative does not match its function.

    See Also
    --------
    BregmanKL : Relative entropy with a link of the softmax type.
    PairwiseTemplate : Pairwise loss of a custom function of score differences.

    Examples
    --------
    The squared loss of scores on a logarithmic scale:

    >>> import numpy as np
    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.losses import BregmanTemplate
    >>> loss = BregmanTemplate(
    ...     (lambda v: v**2, lambda v: 2 * v, lambda v: 2 + 0 * v), (np.exp, np.exp, np.log), mu=2.0
    ... )
    >>> loss.minimizer(np.array([0.5, 1.0]), None).round(3)
    array([-0.693,  0.   ])
    """

    potential: tuple[Function, Function, Function]
    link: tuple[Function, Function, Function]
    mu: float | None = None
    name: str = "bregman_template"  # type: ignore[misc]

    def __post_init__(self) -> None:
        psi, first, second = self.potential
        g, rise, inverse = self.link
        reached = g(_GRID)
        _check_continuous("link must be continuous", g)
        _check_continuous(
            "potential must be differentiable, without corners", lambda s: first(g(s))
        )
        _check_derivative("the second of link", g, rise(_GRID))
        _check_derivative("the second of potential", psi, first(reached), reached)
        _check_derivative("the third of potential", first, second(reached), reached)
        if not (np.diff(reached) > 0).all() or not np.allclose(inverse(reached), _GRID):
            raise ValueError(
                "link must be (g, g', inverse of g) of an increasing function g, got functions for "
                "which g does not increase or the third function is not its inverse."
            )
        if not (second(reached) > 0).all():
            raise ValueError(
                "potential must be strictly convex on the values of the link, got a second "
                f"derivative of {second(reached).min():g}."
            )
        if self.mu is not None and not 0 < self.mu <= second(reached).min() * (1 + 1e-9):
            raise ValueError(
                "mu must be positive and at most the smallest second derivative of the potential, "
                f"{second(reached).min():g}, got {self.mu!r}."
            )

    def terms(self, v: Floats, s: Floats) -> Floats:
        psi, first, _ = self.potential
        at = self.link[0](s)
        return psi(v) - psi(at) - first(at) * (v - at)

    def slopes(self, v: Floats, s: Floats) -> Floats:
        at = self.link[0](s)
        return self.potential[2](at) * self.link[1](s) * (at - v)

    def curvatures(self, v: Floats, s: Floats) -> Floats:
        return self.potential[2](self.link[0](s)) * self.link[1](s) ** 2

    def least(self, v: Floats) -> Floats:
        return np.zeros(np.shape(v))

    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        with np.errstate(divide="ignore"):
            return self.link[2](v)

    def constant(self, largest: float = 1.0) -> float:
        return np.inf if self.mu is None else 2.0 / np.sqrt(self.mu)


@dataclass(frozen=True)
class PreferenceTemplate(PreferenceLoss):
    r"""Loss of single preferences, :math:`\sum_{i \to j} h(y_{ij}) \varphi(s_i - s_j)`.

    With ``margin=True`` it is :math:`\sum_{i \to j} \varphi(s_i - s_j - h(y_{ij}))` (DMJ10, eq. 9
    and 13). None of these losses is calibrated for pairwise disagreement on all distributions of
    low noise (Theorems 11 and 12), for any convex :math:`\varphi` and increasing h: on some, scores
    in a wrong order or tied come arbitrarily close to the least mean loss, and
    :func:`~skcalrank.calibration.find_counterexample` finds one.

    The conditions on :math:`\varphi` are checked at 401 score differences from -5 to 5, of which
    two may have another derivative. Assumption A of DMJ10, that :math:`\varphi` has the slope 0 at
    infinity or an infinite one at minus infinity, is checked at a distance of a million.

    Parameters
    ----------
    phi : callable
        Convex, non-increasing function of an array of score differences.
    slope, curvature : callable
        First and second derivative of `phi`.
    h : callable, default=None
        Increasing function of weights with h(0) = 0. If None, h(y) = y.
    margin : bool, default=False
        Whether h gives the margins of terms instead of their weights.
    name : str, default="preference_template"
        Name of the loss.

    Raises
    ------
    ValueError
        If a condition fails, or `slope` or `curvature` is not the derivative that it should be.

    See Also
    --------
    PairwiseTemplate : Pairwise loss of targets, which is calibrated.
    PreferenceLoss : Base class of losses of single preferences.

    Examples
    --------
    RankNet with the roots of the weights is as wrong on DMJ10, Lemma 10, as RankNet is:

    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcalrank.calibration import find_counterexample
    >>> from skcalrank.losses import PreferenceTemplate
    >>> loss = PreferenceTemplate(
    ...     lambda x: np.logaddexp(0, -x), lambda x: -expit(-x), lambda x: expit(x) * expit(-x),
    ...     h=np.sqrt,
    ... )
    >>> pd = "neg_pairwise_disagreement"
    >>> law = find_counterexample(loss, "sort", pd, condition="low_noise", random_state=0)
    >>> law is None
    False
    """

    phi: Function
    slope: Function
    curvature: Function
    h: Function | None = None
    margin: bool = False  # type: ignore[misc]
    name: str = "preference_template"  # type: ignore[misc]

    def __post_init__(self) -> None:
        _check_falling(self)
        with np.errstate(over="ignore"):
            ends = np.abs(self.slope(np.array([-_ENDS, 0.0, _ENDS])))
        if not (ends[2] <= ends[1] / _STEEP or ends[0] >= ends[1] * _STEEP):
            raise ValueError(
                "phi must have the slope 0 at infinity or an infinite one at minus infinity "
                f"(DMJ10, assumption A), got the slopes {-ends[0]:g} at {-_ENDS:g} and "
                f"{-ends[2]:g} at {_ENDS:g}. For a linear loss, see ValueRegularizedRanker."
            )
        stated = self.stated(np.linspace(0.0, 5.0, 101))
        if stated[0] != 0 or not (np.diff(stated) > 0).all():
            raise ValueError(
                f"h must increase from h(0) = 0, got {stated[0]:g} at 0 and {stated[-1]:g} at 5."
            )

    def stated(self, weight: Floats) -> Floats:
        return weight if self.h is None else self.h(weight)

    def terms(self, ahead: Floats) -> Floats:
        return np.array(self.phi(ahead))

    def slopes(self, ahead: Floats) -> Floats:
        return np.array(self.slope(ahead))

    def curvatures(self, ahead: Floats) -> Floats:
        return self.curvature(ahead)


def _check_falling(loss: PairwiseTemplate | PreferenceTemplate) -> None:
    """Raise ValueError unless phi is smooth, convex and falling, as far as tried."""
    slopes, curvatures = loss.slope(_GRID), loss.curvature(_GRID)
    _check_derivative("slope", loss.phi, slopes)
    _check_continuous("phi must be differentiable, without corners", loss.slope)
    _check_derivative("curvature", loss.slope, curvatures)
    middle = slopes[len(_GRID) // 2]
    if (slopes > 1e-12).any() or (np.diff(slopes) < -1e-9).any() or not middle < 0:
        raise ValueError(
            "phi must be convex and non-increasing with a negative slope at 0, got the slopes "
            f"{slopes[0]:g}, {middle:g} and {slopes[-1]:g} at -5, 0 and 5. If it is not convex, "
            "use PairwiseObjective, which guarantees no order."
        )


def _check_derivative(
    name: str, function: Callable[..., Any], values: Floats, at: Floats = _GRID
) -> None:
    """Raise ValueError unless `values` are the derivatives of a function at the points `at`."""
    width = _STEP * (1.0 + np.abs(at))
    # At both ends of the range, the differences may leave the domain of the function, so that two
    # wrong derivatives are accepted.
    right, left = function(at + width), function(at - width)
    differences = (right - left) / (2 * width)
    wrong = ~(np.abs(values - differences) <= 1e-3 * (1.0 + np.abs(values)))
    if wrong.sum() > 2:
        where = int(wrong.argmax())
        raise ValueError(
            f"{name} must be the derivative of the function before it, {differences[where]:g} at "
            f"{at[where]:g}, got {values[where]:g}."
        )


def _check_continuous(condition: str, function: Callable[..., Any]) -> None:
    """Raise ValueError if a function jumps at a score between those of the grid."""
    left, right = _GRID[:-1], _GRID[1:]
    before, after = function(left), function(right)
    # A jump is in the half in which the function changes more, and does not become smaller.
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        value = function(middle)
        in_left = np.abs(value - before) > np.abs(after - value)
        left, before = np.where(in_left, left, middle), np.where(in_left, before, value)
        right, after = np.where(in_left, middle, right), np.where(in_left, value, after)
    change = np.abs(after - before)
    # Changes at the smallest distances are also those of rounding.
    jumps = change > _JUMP * np.maximum(np.abs(before), np.abs(after))
    jumps &= change > 1e-9 * np.abs(function(_GRID)).max()
    if jumps.any():
        at = int((change * jumps).argmax())
        what = "value" if condition.startswith("link") else "slope"
        raise ValueError(
            f"{condition}, got a {what} that jumps from {before[at]:g} to {after[at]:g} at "
            f"{right[at]:.3g}."
        )
