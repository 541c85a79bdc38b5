"""The conditional risk of any loss, computed from its values for each outcome."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..columns.types import Bools, Floats, Ints
from ..data import Queries
from ._cones import largest, newton_steps, projected_newton, sorted_cones
from ._risk import ConditionalRisk
from ._shape import are_bowls, frame_of, grid

# Slopes of the risk up to this share of those of the losses count as zero.
_LEVEL = 1e-7
_ROUNDING = 1e-13

# A larger slack of the tangents, as a share of the size of the risk, means that there is a corner.
_CORNER = 1e-5

# The tangent at a solution bounds the risk on scores up to this multiple of those of the solution.
_BOX = 10.0

# Distances from 0 of the starting points for a loss that is not convex.
_STARTS = np.array([0.0, 0.1, 0.3, 1.0, 1.0, 3.0, 3.0, 10.0])

# Numbers of pairs of scores on which convexity is tested, and of scores for the derivatives.
_PAIRS, _POINTS = 60, 8

# Scores with a risk of more than this many times the size of the risk need not be convex.
_HIGH = 10.0

# Number of solutions to which the risk is followed on a line, and share of the grid that is used.
_LINES, _EVERY = 10, 40


class NumericalRisk(ConditionalRisk):
    """Risk of a loss that may be neither affine in the targets, nor convex, nor order-preserving.

    The risk is the mean over the outcomes. A minimum on a cone is certified by the tangent at it,
    which a convex risk is nowhere below. A loss that is found not to be convex is minimized from
    several starting points, without a certificate. Scores of the search are in the frame of the
    losses (:class:`Frame`).
    """

    certificate = "tangents"

    def __init__(self, loss: Any, targets: Floats, probabilities: Floats) -> None:
        self.loss = loss.scaled_to(targets.ravel(), Queries.equal(*targets.shape))
        self.aims = targets, None
        self.targets, which = np.unique(targets, axis=0, return_inverse=True)
        self.probabilities = np.bincount(which.ravel(), probabilities)
        self.n_documents = targets.shape[1]
        rng = np.random.RandomState(0)
        self._random = rng.normal(size=(len(_STARTS), self.n_documents))
        with np.errstate(all="ignore"):
            self._frame = frame_of(self._losses, self.probabilities, self.n_documents)
            self._check_finite()
        self._scale = self._frame.scale
        # Rounding errors of the difference of two risks.
        self.error = _ROUNDING * self._scale + 1e-15 * self._frame.size
        slopes = self._slopes_by_outcome(self._frame.scores(np.zeros((1, self.n_documents))))[0]
        self._steepness = self._frame.unit * float((self.probabilities @ np.abs(slopes)).max())
        self._check_slopes(rng)
        self.convex = self._looks_convex(rng)
        u = rng.normal(size=(_POINTS, self.n_documents))
        moved = np.abs(self._risk(u + 1.0) - self._risk(u))
        # If the risk does not change with a common shift of the scores, the shift is not searched.
        self._shifts = bool((moved > 1e-10 * self._scale + self.error).any())
        self._minimize()
        if self.convex and not self._is_bowl(self._best):
            self.convex = False
            self._minimize()
        self.smooth = self.convex

    def _minimize(self) -> None:
        """Find the smallest risk of all scores."""
        steps = np.triu(np.ones((self.n_documents, self.n_documents)))
        value, _, u = self._solve(steps[None], np.full(self.n_documents, -np.inf))
        self.infimum, self._best = float(value[0]), u[0]
        tied = float(self._risk(np.zeros((1, self.n_documents)))[0])
        if not self.infimum - tied > -1e9 * self._scale:
            raise ValueError(
                f"The loss {self.loss.name!r} has no minimum: it must be bounded below, got "
                f"{self.infimum:g} at scores {self.minimizer()}."
            )

    def _by_outcome(self, u: Floats, function: Callable[..., Any]) -> Floats:
        """Apply a function of targets, scores and queries to every pair of scores and outcome."""
        n, m = len(u), len(self.targets)
        scores = np.repeat(u, m, axis=0)
        queries = Queries.equal(n * m, self.n_documents)
        with np.errstate(all="ignore"):
            out = function(np.tile(self.targets, (n, 1)).ravel(), scores.ravel(), queries)
        return np.asarray(out, dtype=float).reshape(n, m, -1)

    def _losses(self, u: Floats) -> Floats:
        """Return the loss of scores under each outcome."""
        return self._by_outcome(u, self.loss.evaluate)[:, :, 0]

    def risk(self, u: Floats) -> Floats:
        risk = self._losses(u) @ self.probabilities
        return np.where(np.isnan(risk), np.inf, risk)

    def gradient(self, u: Floats) -> Floats:
        """Return the gradient of the risk for every row of a stack of scores."""
        return np.einsum("nmi,m->ni", self._slopes_by_outcome(u), self.probabilities)

    def _slopes_by_outcome(self, u: Floats) -> Floats:
        """Return the gradient of the loss under each outcome."""
        return self._by_outcome(u, lambda *rows: self.loss.derivatives(*rows)[0])

    def _risk(self, u: Floats) -> Floats:
        """Return the risk of scores in the frame."""
        return self.risk(self._frame.scores(u))

    def _gradient(self, u: Floats) -> Floats:
        """Return the gradient in the frame."""
        return self._frame.unit * self.gradient(self._frame.scores(u))

    def minimizer(self) -> Floats:
        return self._frame.scores(self._best)

    def least(self, positions: Ints, pred: str) -> tuple[Floats, Floats, Floats]:
        steps = sorted_cones(positions)
        level = np.ones((len(steps), 1, self.n_documents))
        lowest = np.append(-np.inf, np.zeros(self.n_documents - 1))
        least, lower, u = self._solve(np.concatenate([level, steps], axis=1), lowest)
        return least, lower, self._frame.scores(u)

    def certify(self, least: Floats, lower: Floats, u: Floats) -> tuple[float, str]:
        best = int(least.argmin())
        gap = float(least[best]) - self.infimum
        known = self.convex and gap <= _HIGH * self._scale
        if not known or not self._is_bowl_towards(u[np.argsort(least)[:_LINES]]):
            return gap if gap > self.error else 0.0, "not proven"
        # A convex risk is smallest where its slopes are 0, whatever the scale of its values is.
        slope = self._frame.unit * np.abs(self.gradient(u[best][None])).max()
        if slope <= _LEVEL * self._steepness:
            return 0.0, self.certificate
        proven = lower.min() - self.infimum > self.error
        return max(gap, 0.0), self.certificate if proven else "not proven"

    def _check_finite(self) -> None:
        """Raise unless the losses of small scores are finite."""
        tied = self._frame.scores(np.linspace(-3.0, 3.0, 7))
        losses = self._losses(np.repeat(tied[:, None], self.n_documents, axis=1))
        if not np.isfinite(losses).all():
            raise ValueError(
                f"The loss {self.loss.name!r} must be finite for all finite scores, got "
                f"{losses[~np.isfinite(losses)][0]} for scores from {tied[0]:g} to {tied[-1]:g}."
            )

    def _check_slopes(self, rng: np.random.RandomState) -> None:
        """Raise unless the derivatives match the values, wherever they exist."""
        u = rng.normal(size=(_POINTS, self.n_documents))
        width = 1e-5
        moved = u[:, None] + width * np.eye(self.n_documents)
        back = u[:, None] - width * np.eye(self.n_documents)
        ahead, here, behind = (
            self._risk(x.reshape(-1, self.n_documents)) for x in (moved, u, back)
        )
        here = np.repeat(here, self.n_documents)
        right, left = (ahead - here) / width, (here - behind) / width
        slopes = self._gradient(u).ravel()
        scale = np.abs(slopes) + np.abs(right) + self._scale + 1e-7 * self._frame.size
        with np.errstate(invalid="ignore"):
            wrong = np.abs((right + left) / 2 - slopes) > 1e-3 * scale
            wrong &= np.abs(right - left) < 1e-3 * scale
        if wrong.any():
            at, unit = int(wrong.argmax()), self._frame.unit
            scores = self._frame.scores(u[at // self.n_documents])
            raise ValueError(
                f"The derivatives of the loss {self.loss.name!r} must match its values, got "
                f"{slopes[at] / unit:g} for {(right + left)[at] / 2 / unit:g} in document "
                f"{at % self.n_documents} of scores {scores}."
            )

    def _looks_convex(self, rng: np.random.RandomState) -> bool:
        """Return whether the risk is convex on random pairs of scores."""
        ends = rng.normal(size=(2, _PAIRS, self.n_documents))
        ends *= 10.0 ** rng.uniform(-1, 1, size=(2, _PAIRS, 1))
        first, second, between = (self._risk(x) for x in (*ends, ends.mean(axis=0)))
        above = between - (first + second) / 2
        return bool((above <= 1e-10 * (np.abs(first) + np.abs(second) + self._scale)).all())

    def _is_bowl(self, best: Floats) -> bool:
        """Return whether the risk is convex in the score of each document, on a grid of scores."""
        steps = grid(_BOX * (1.0 + np.abs(best).max()))
        if self.loss.separable:
            terms = self._terms(steps)
            lowest = terms.min(axis=1).sum() >= self.infimum - self.error
            return lowest and self._are_bowls(steps, terms)
        return self._are_bowls_along(np.eye(self.n_documents), steps[::_EVERY])

    def _is_bowl_towards(self, u: Floats) -> bool:
        """Return whether the risk is convex on the lines from its minimum to other scores.

        A sum over documents is known from :meth:`_is_bowl`.
        """
        if self.loss.separable:
            return True
        ways = (u - self.minimizer()) / self._frame.unit
        ways = ways[np.abs(ways).max(axis=1) > 1e-9]
        return self._are_bowls_along(ways, grid(_BOX)[::_EVERY])

    def _are_bowls_along(self, ways: Floats, steps: Floats) -> bool:
        """Return whether the risk is convex on lines through its minimum."""
        u = self._best + steps[None, :, None] * ways[:, None]
        risk = self._risk(u.reshape(-1, self.n_documents)).reshape(len(ways), len(steps))
        return self._are_bowls(steps, risk)

    def _are_bowls(self, steps: Floats, values: Floats) -> bool:
        return are_bowls(steps, values, self._frame.sizes(steps), _HIGH * self._scale)

    def _terms(self, steps: Floats) -> Floats:
        """Return the mean of the term of each document, for scores in the frame."""
        targets, which = np.unique(self.targets, return_inverse=True)
        scores = np.tile(self._frame.scores(steps), len(targets))
        queries = Queries.equal(len(scores), 1)
        with np.errstate(all="ignore"):
            terms = self.loss.evaluate(np.repeat(targets, len(steps)), scores, queries)
        terms = np.asarray(terms, dtype=float).reshape(len(targets), -1)
        terms = terms[which.reshape(self.targets.shape)]
        return np.tensordot(self.probabilities, terms, 1)

    def _solve(self, bases: Floats, lowest: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the smallest risk of ``steps @ basis``, a certain lower bound, and the scores."""
        starts = self._random[:, None, : bases.shape[1]] * _STARTS[:, None, None]
        starts = np.where(lowest < 0, starts, np.abs(starts))
        best: Any = None
        for start in starts if not self.convex else starts[:1]:
            start = np.repeat(start, len(bases), axis=0)
            # Scores diverge for a loss that is not bounded below, or not finite.
            with np.errstate(all="ignore"):
                steps, loose = self._descend(bases, lowest, start)
            value = self._risk(_scores(steps, bases))
            if best is None:
                best, slack, u = value, loose, steps
            better = value < best
            best[better], slack[better], u[better] = value[better], loose[better], steps[better]
        for at in np.flatnonzero(~(slack <= _CORNER * self._scale)):
            u[at] = self._search(bases[at], lowest, u[at])
        scores = _scores(u, bases)
        best = self._risk(scores)
        return best, best - (slack if self.convex else np.inf), scores

    def _descend(self, bases: Floats, lowest: Floats, steps: Floats) -> tuple[Floats, Floats]:
        """Minimize by Newton's method on every cone; return the steps and the slack of tangents."""

        def scores_of(steps: Floats) -> Floats:
            return _scores(steps, bases)

        def risk(steps: Floats) -> Floats:
            return self._risk(scores_of(steps))

        def derivatives(steps: Floats) -> tuple[Floats, Floats]:
            gradient, hessian = self._derivatives(scores_of(steps))
            inner = np.einsum("nki,nij,nlj->nkl", bases, hessian, bases)
            return np.einsum("nki,ni->nk", bases, gradient), inner

        def model(steps: Floats) -> tuple[Floats, Floats]:
            gradient, hessian = derivatives(steps)
            if not self._shifts:
                gradient[:, 0] = hessian[:, 0] = hessian[:, :, 0] = 0.0
            return gradient, hessian

        def loose(steps: Floats) -> tuple[Floats, tuple[Floats, Floats, Bools]]:
            gradient, hessian = derivatives(steps)
            bound = (steps <= lowest) & (gradient > 0)
            box = _BOX * (1.0 + largest(scores_of(steps)))
            open_ = box * np.where(bound, 0.0, np.abs(gradient)).sum(axis=1)
            bound[:, 0] |= not self._shifts
            return open_, (gradient, hessian, bound)

        steps = projected_newton(risk, model, scores_of, steps, lowest, self._scale)
        slack, at = loose(steps)
        # Near the minimum, rounding hides progress in the values, so compare the gradients.
        for _ in range(2):
            trial = np.maximum(steps - newton_steps(*at), lowest)
            nearer, there = loose(trial)
            better = nearer < slack
            steps[better], slack[better] = trial[better], nearer[better]
            for old, new in zip(at, there):
                old[better] = new[better]
        return steps, slack + _ROUNDING * self._scale

    def _derivatives(self, u: Floats) -> tuple[Floats, Floats]:
        """Return gradients, and Hessians by differences, made positive semidefinite."""
        width = 1e-6 * (1.0 + np.abs(u))
        moved = u[:, None] + width[:, :, None] * np.eye(self.n_documents)
        gradient = self._gradient(u)
        ahead = self._gradient(moved.reshape(-1, self.n_documents)).reshape(moved.shape)
        with np.errstate(all="ignore"):
            hessian = (ahead - gradient[:, None]) / width[:, :, None]
        hessian = np.nan_to_num(hessian + hessian.transpose(0, 2, 1), posinf=0.0, neginf=0.0) / 2
        size, axes = np.linalg.eigh(hessian)
        return np.nan_to_num(gradient), np.einsum("nik,nk,njk->nij", axes, np.abs(size), axes)

    def _search(self, basis: Floats, lowest: Floats, start: Floats) -> Floats:
        """Return steps found from values alone, for a loss with corners."""

        def inside(steps: Floats) -> Floats:
            return np.where(lowest < 0, steps, np.abs(steps))

        def risk(steps: Floats) -> float:
            return self._risk(inside(steps)[None] @ basis)[0]

        options = {"xatol": 1e-9, "fatol": 1e-13 * self._scale, "maxfev": 300 * len(start)}
        result = minimize(risk, start, method="Nelder-Mead", options=options)
        return inside(result.x) if result.fun < risk(start) else start


def _scores(steps: Any, bases: Floats) -> Floats:
    """Return the scores ``steps @ basis`` of every cone."""
    return np.einsum("nk,nki->ni", steps, bases)
