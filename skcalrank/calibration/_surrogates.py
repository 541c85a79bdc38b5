"""Conditional risks of surrogates, and their minima where a given order is predicted.

A *surrogate* is a loss together with its input: targets of a measure, preferences, or targets of
pairs. Under a distribution of the labels each becomes a convex function of the surrogate values u.
Each class computes the smallest value of its function on the closed set of u from which a
prediction map can give an order.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array, hstack

from ..columns.types import Floats, Ints
from ..data import Queries
from ..losses import LOSSES, PREFERENCE_LOSSES, PreferenceHinge, PreferenceLoss, get_loss
from ..measures import Measure, PairMeasure, PairwiseDisagreement, get_measure
from ._cones import algorithm_cones, distance_to_cone, projected_newton, sorted_cones
from ._numeric import NumericalRisk
from ._orders import all_positions, pooled
from ._risk import ConditionalRisk


class TargetRisk(ConditionalRisk):
    """Risk of an order-preserving loss, a function of the mean targets."""

    smooth = True

    def __init__(self, loss: Any, targets: Floats, probabilities: Floats) -> None:
        self.loss = loss.scaled_to(targets.ravel(), Queries.equal(*targets.shape))
        squared = {"squared": 1.0, "pairwise_squared": float(targets.shape[1])}
        self.aims = targets, squared.get(loss.name)
        # Clip rounding errors, because a loss may be undefined outside the range of its targets.
        self.targets = np.clip(probabilities @ targets, targets.min(axis=0), targets.max(axis=0))
        self.infimum = float(self._infima(self.targets[None])[0])
        self.error = 1e-13 * float(self.risk(np.zeros((1, len(self.targets))))[0])

    def _infima(self, targets: Floats) -> Floats:
        return self.loss.infimum(targets.ravel(), Queries.equal(*targets.shape))

    def _minimizers(self, targets: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            out = self.loss.minimizer(targets.ravel(), Queries.equal(*targets.shape))
        return out.reshape(targets.shape)

    def _evaluate(self, targets: Floats, scores: Floats) -> Floats:
        targets = np.broadcast_to(targets, scores.shape).ravel()
        return self.loss.evaluate(targets, scores.ravel(), Queries.equal(*scores.shape))

    def risk(self, u: Floats) -> Floats:
        return self._evaluate(self.targets, u)

    def gradient(self, u: Floats) -> Floats:
        """Return the gradient of the risk for every row of a stack of scores."""
        targets = np.broadcast_to(self.targets, u.shape).ravel()
        queries = Queries.equal(*u.shape)
        return self.loss.derivatives(targets, u.ravel(), queries)[0].reshape(u.shape)

    def minimizer(self) -> Floats:
        return self._minimizers(self.targets[None])[0]

    def least(self, positions: Ints, pred: str) -> tuple[Floats, Floats, Floats]:
        # On {u sorted as sigma} the best u is constant over blocks of documents. The loss is affine
        # in the targets, convex, order-preserving and symmetric in the documents, so on such u it
        # depends on the mean target of each block, and the best blocks are those of isotonic
        # regression. The difference between the losses of targets and of block means is a
        # constant there, which is computed at equal scores.
        order = np.argsort(positions, axis=1)
        means = np.empty(order.shape)
        np.put_along_axis(means, order, pooled(self.targets[order]), axis=1)
        equal = np.zeros(means.shape)
        saved = self._evaluate(means, equal) - self._infima(means)
        least = self.risk(equal) - saved
        return least, least, self._minimizers(means)


class PreferenceRisk(ConditionalRisk):
    """Risk of smooth losses of single preferences, ``sum_t weight_t f(s_i - s_j - margin_t)``."""

    smooth = True

    def __init__(self, loss: Any, preferences: Floats, probabilities: Floats, margin: bool) -> None:
        self.loss = loss
        matrices = preferences if margin else np.tensordot(probabilities, preferences, 1)[None]
        outcome, winner, loser = np.nonzero(matrices)
        identity = np.eye(matrices.shape[1])
        self.ahead = identity[winner] - identity[loser]
        weight = matrices[outcome, winner, loser]
        self.weight = probabilities[outcome] if margin else weight
        self.margin = weight if margin else np.zeros(len(weight))
        # The risk does not change with a common shift, so the first score is fixed at 0.
        self._best = self._solve(identity[None, 1:], free=True)[0]
        self.infimum = float(self.risk(self._best[None])[0])
        self.error = 1e-10 * self.infimum

    def _solve(self, cones: Floats, free: bool = False) -> Floats:
        """Return the scores of least risk on every cone.

        If `free`, steps may be negative, so that each cone is a linear space.
        """
        loss, weight, margin, lead = self.loss, self.weight, self.margin, cones @ self.ahead.T

        def ahead_of(steps: Floats) -> Floats:
            return np.einsum("nk,nkt->nt", steps, lead)

        def risk(steps: Floats) -> Floats:
            return loss.terms(ahead_of(steps) - margin) @ weight

        def derivatives(steps: Floats) -> tuple[Floats, Floats]:
            x = ahead_of(steps) - margin
            gradient = np.einsum("nt,nkt->nk", loss.slopes(x) * weight, lead)
            curved = np.einsum("nt,nkt->nkt", loss.curvatures(x) * weight, lead)
            return gradient, np.einsum("nkt,nlt->nkl", curved, lead)

        lowest, start = -np.inf if free else 0.0, np.zeros(lead.shape[:2])
        steps = projected_newton(risk, derivatives, ahead_of, start, lowest, margin=margin)
        return np.einsum("nk,nki->ni", steps, cones)

    def risk(self, u: Floats) -> Floats:
        return self.loss.terms(u @ self.ahead.T - self.margin) @ self.weight

    def gradient(self, u: Floats) -> Floats:
        """Return the gradient of the risk for every row of a stack of scores."""
        return (self.loss.slopes(u @ self.ahead.T - self.margin) * self.weight) @ self.ahead

    def minimizer(self) -> Floats:
        return self._best

    def least(self, positions: Ints, pred: str) -> tuple[Floats, Floats, Floats]:
        scores = self._solve(sorted_cones(positions))
        least = self.risk(scores)
        return least, least, scores


class SharpHinge(PreferenceHinge):
    """The hinge ``(1 - x)_+`` with its corner, which linear programs can handle."""

    def terms(self, ahead: Floats) -> Floats:
        return np.maximum(1.0 - ahead, 0.0)


class HingeRisk(PreferenceRisk):
    """Risk of the hinge, minimized by a linear program."""

    smooth = False

    def _solve(self, cones: Floats, free: bool = False) -> Floats:
        n, k = cones.shape[:2]
        lead = block_diag([csr_array((cone @ self.ahead.T).T) for cone in cones])
        n_slack = n * len(self.weight)
        ends = np.arange(n_slack + 1)
        slack = csr_array((np.ones(n_slack), ends[:-1], ends), shape=(n_slack, n_slack))
        cost = np.concatenate([np.zeros(n * k), np.tile(self.weight, n)])
        above, margins = -hstack([lead, slack]).tocsr(), -np.tile(1.0 + self.margin, n)
        bounds = [(None if free else 0.0, None)] * (n * k) + [(0.0, None)] * n_slack
        result = linprog(cost, A_ub=above, b_ub=margins, bounds=bounds, method="highs")
        return np.einsum("nk,nki->ni", result.x[: n * k].reshape(n, k), cones)


# Prediction maps with known cones, each a method of the risk below, by objective.
_MAPS_OF_PAIRS: Any = {"map": ("exact", "diagonal"), "disagreement": ("exact", "topological")}


class PairRisk(ConditionalRisk):
    """Risk of least squares on the targets of pairs, the squared distance from their means."""

    def __init__(self, measure: PairMeasure, targets: Floats, probabilities: Floats) -> None:
        self.measure, self.means = measure, np.tensordot(probabilities, targets, 1)
        self.basis = measure.pair_basis(all_positions(len(self.means)))
        # Ignore entries that the prediction does not depend on.
        self.entries = np.ptp(self.basis, axis=0) > 0
        self.aims = targets * self.entries, 1.0
        self.error = 1e-13 * float(self.risk(np.zeros((1, *self.means.shape)))[0])
        self.objective = measure.objective
        self.preds = _MAPS_OF_PAIRS.get(self.objective, ("exact",))

    def risk(self, u: Floats) -> Floats:
        return (((u - self.means) ** 2) * self.entries).sum(axis=(1, 2))

    def minimizer(self) -> Floats:
        return self.means

    def least(self, positions: Ints, pred: str) -> tuple[Floats, Floats, Floats]:
        nearest = np.array([getattr(self, pred)(sigma) for sigma in positions])
        least = self.risk(nearest)
        return least, least, nearest

    def ahead_of_others(self, sigma: Ints) -> Floats:
        """Return the matrices whose products with u are what sigma is better by than others."""
        better = self.measure.pair_basis(sigma) - self.basis
        return better[np.abs(better).max(axis=(1, 2)) > 0]

    def exact(self, sigma: Ints) -> Floats:
        """Return the nearest u for which no order is better than sigma."""
        return distance_to_cone(self.means, self.ahead_of_others(sigma))

    def diagonal(self, sigma: Ints) -> Floats:
        """Return the nearest u with a diagonal sorted by sigma, other entries unchanged."""
        order = np.argsort(sigma)
        out = self.means.copy()
        out[order, order] = pooled(self.means[order, order][None])[0]
        return out

    def topological(self, sigma: Ints) -> Floats:
        """Return the nearest u from which Algorithm 1 can give sigma."""
        candidates = [distance_to_cone(self.means, cone) for cone in algorithm_cones(sigma)]
        return candidates[np.argmin(self.risk(np.array(candidates)))]


def preferences_of(distribution: Any, measure: Any) -> Floats:
    """Return the preferences of each outcome, of the measure or differences of its labels."""
    if measure.reads_preferences:
        return distribution.targets(measure, pairs=True)
    labels = measure.labels(distribution.labels.ravel()).reshape(distribution.labels.shape)
    unit = PairwiseDisagreement("unit")
    if measure.objective != "disagreement":
        measure = PairwiseDisagreement()
    return (unit if measure.same_targets_as(unit) else measure).pair_targets(labels)


def targets_of(distribution: Any, measure: Measure, loss: Any) -> Floats:
    """Return the targets of each outcome, in the form that the loss requires."""
    targets = distribution.targets(measure)
    if get_measure(measure).shape != "pairs":
        return targets
    return loss.standardize(targets.ravel(), distribution.queries).reshape(targets.shape)


def _of_targets(distribution: Any, measure: Measure, loss: Any) -> ConditionalRisk:
    loss = get_loss(loss)
    # The theorems hold for the losses of the package, not for custom ones or subclasses.
    risk = TargetRisk if type(loss) in LOSSES.values() else NumericalRisk
    return risk(loss, targets_of(distribution, measure, loss), distribution.probabilities)


def _of_preferences(
    distribution: Any, measure: Any, loss: PreferenceLoss, margin: bool
) -> PreferenceRisk:
    preferences = loss.stated(preferences_of(distribution, measure))
    risk = HingeRisk if isinstance(loss, SharpHinge) else PreferenceRisk
    return risk(loss, preferences, distribution.probabilities, margin)


def _of_values(distribution: Any, measure: PairwiseDisagreement) -> TargetRisk:
    """Return the risk ``sum_{i->j} y_ij (s_j - s_i) + sum_i s_i^2``.

    It is least squares on half the net preference.
    """
    preferences = preferences_of(distribution, measure)
    net = preferences.sum(axis=2) - preferences.sum(axis=1)
    return TargetRisk(get_loss("squared"), net / 2, distribution.probabilities)


def _of_pairs(distribution: Any, measure: PairMeasure) -> PairRisk:
    return PairRisk(measure, distribution.targets(measure, pairs=True), distribution.probabilities)


#: Functions from a distribution and a measure to the conditional risk, by name of the surrogate.
SURROGATES: dict[str, Callable[..., ConditionalRisk]] = {
    **{name: partial(_of_targets, loss=name) for name in LOSSES},
    **{
        f"{form}_{name}": partial(_of_preferences, loss=loss(), margin=form == "margin")
        for form in ("preference", "margin")
        for name, loss in (PREFERENCE_LOSSES | {"hinge": SharpHinge}).items()
    },
    "value_regularized": _of_values,
    "pairs": _of_pairs,
}


def conditional_risk(surrogate: Any, distribution: Any, measure: Any) -> ConditionalRisk:
    """Return the risk of a surrogate, a name or a loss, under a distribution of the labels."""
    measure = distribution.resolve(measure)
    if isinstance(surrogate, str) and surrogate in SURROGATES:
        return SURROGATES[surrogate](distribution, measure)
    if hasattr(surrogate, "stated"):  # a loss of single preferences
        risk = _of_preferences(distribution, measure, surrogate, surrogate.margin)
        risk.certificate = "tangents"
        return risk
    try:
        loss = get_loss(surrogate)
    except ValueError as error:
        raise ValueError(
            f"surrogate must be one of {', '.join(SURROGATES)}, or a Loss, got {surrogate!r}."
        ) from error
    return _of_targets(distribution, measure, loss)
