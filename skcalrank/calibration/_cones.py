"""Minimization of convex functions on polyhedral cones of scores and of matrices of pairs."""

from collections.abc import Callable, Iterator
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ..columns.types import Bools, Floats, Ints

# Largest numbers of Newton iterations and of halvings of a step. Only minima at infinity need many
# iterations; they end when the decrease is a rounding error.
_ITERATIONS = 100
_HALVINGS = 60
# Relative rounding error of the risk.
_ROUNDING = 1e-15
# Steps up to this far above their lower bound are moved onto it.
_NEARLY = 1e-4


def sorted_cones(positions: Ints) -> Floats:
    """Return cones of sorted scores: ``steps @ cone`` for all steps >= 0 of shape (r - 1,).

    The first document scores 0, and each step is the decrease to the next one. The matrices have
    shape (n, r - 1, r).
    """
    return -1.0 * (np.arange(1, positions.shape[1])[:, None] < positions[:, None, :])


def projected_newton(
    risk: Callable[..., Any],
    derivatives: Callable[..., Any],
    scores_of: Callable[..., Any],
    steps: Floats,
    lowest: Any,
    scale: float = 0.0,
    margin: Any = 0.0,
) -> Floats:
    """Return the steps of least risk that are at least `lowest`, on all cones at once.

    `derivatives` returns gradients and positive semidefinite Hessians. Where the risk is nearly
    flat, moves are unbounded, so they are limited in proportion to the scores minus the `margin`.
    `scale` is the size of the terms whose difference is the risk, for rounding errors.
    """
    value = risk(steps)
    for _ in range(_ITERATIONS):
        gradient, hessian = derivatives(steps)
        # Steps near their lower bound move onto it, or they would shorten the moves of all others.
        bound = (steps <= lowest + _NEARLY) & (gradient > 0)
        towards = np.where(bound, lowest - steps, -newton_steps(gradient, hessian, bound))
        reach = 2.0 * (1.0 + largest(scores_of(steps) - margin))
        towards /= np.maximum(largest(scores_of(towards)) / reach, 1.0)[:, None]
        rounding = _ROUNDING * (np.abs(value) + scale)
        # Halve the moves until the risk decreases sufficiently.
        length = np.ones((len(steps), 1))
        for _ in range(_HALVINGS):
            trial = np.maximum(steps + length * towards, lowest)
            reached = risk(trial)
            promised = (gradient * (steps - trial)).sum(axis=1)
            worse = ~(reached - value <= rounding - 1e-4 * promised)
            if not worse.any():
                break
            length[worse] /= 2
        better = reached < value
        if not (value - reached > rounding).any():
            break
        steps[better], value[better] = trial[better], reached[better]
    return steps


def largest(x: Floats) -> Floats:
    """Return the largest absolute value of each row."""
    return np.abs(x).max(axis=1, initial=0.0)


def newton_steps(gradient: Floats, hessian: Floats, bound: Bools) -> Floats:
    """Return the inverse Hessian times the gradient, with 0 for bound coordinates."""
    k = gradient.shape[1]
    hessian = np.where(bound[:, :, None] | bound[:, None, :], 0.0, hessian)
    # The ridge keeps the matrix regular where no term is curved and the gradient is 0.
    ridge = 1e-14 * np.trace(hessian, axis1=1, axis2=2) + np.finfo(float).tiny
    hessian = hessian + (bound + ridge[:, None])[:, :, None] * np.eye(k)
    return np.linalg.solve(hessian, np.where(bound, 0.0, gradient)[:, :, None])[:, :, 0]


def distance_to_cone(point: Floats, constraints: Floats) -> Floats:
    """Return the nearest point whose inner products with all constraints are non-negative.

    By Moreau's theorem the difference is the best non-negative combination of the constraints.
    """
    rows = constraints.reshape(len(constraints), -1)
    multipliers, _ = nnls(rows.T, -point.ravel(), maxiter=100 * len(rows) + 100)
    return point + (multipliers @ rows).reshape(point.shape)


def algorithm_cones(sigma: Ints) -> Iterator[Floats]:
    """Yield cones whose union is the set of u on which Algorithm 1 can return an order.

    Each cone is given by its constraints on u. Either all edges agree with the order. Or the
    heaviest edge that disagrees is the lightest edge of a cycle: Algorithm 1 deletes it and all
    lighter edges, and the remaining ones agree.
    """
    r = len(sigma)
    order = np.argsort(sigma)
    # Net preference of the document at place a over the one at place b, as a function of u.
    at = np.eye(r)[order]
    ahead = np.einsum("ai,bj->abij", at, at)
    net = ahead - ahead.swapaxes(2, 3)
    first, second = np.triu_indices(r, 1)
    forward = net[first, second]
    yield forward
    for a, b in zip(first, second):
        inside = range(a + 1, b)
        for way in chain.from_iterable(combinations(inside, n) for n in range(1, b - a)):
            path = [a, *way, b]
            lightest = net[b, a]
            heavier = [net[i, j] - lightest for i, j in pairwise(path)]
            yield np.concatenate([lightest + forward, heavier])
