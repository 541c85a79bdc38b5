"""Directions within a cone."""

import numpy as np
import pytest

from skcalrank.calibration._cones import newton_steps, projected_newton


def test_newton_steps_go_uphill_where_little_or_nothing_is_curved(rng):
    root = rng.normal(size=(20, 3, 2)) * np.logspace(-155, 0, 20)[:, None, None]
    hessian = np.append(root @ root.transpose(0, 2, 1), np.zeros((1, 3, 3)), axis=0)
    gradient = np.append(root.sum(axis=2), np.full((1, 3), 1e-300), axis=0)
    held = np.zeros(gradient.shape, dtype=bool)
    steps = newton_steps(gradient, hessian, held)
    assert ((steps * gradient).sum(axis=1) > 0).all()


def test_moves_are_cut_to_the_reach_and_never_lengthened():
    # From 0, scores move by 2 at most; the last cone begins at its minimum.
    lowest, tried = np.array([[1.0, -1.5], [30.0, -15.0], [0.0, 0.0]]), []

    def risk(steps):
        tried.append(steps.copy())
        return ((steps - lowest) ** 2).sum(axis=1)

    def derivatives(steps):
        return 2 * (steps - lowest), np.tile(2 * np.eye(2), (3, 1, 1))

    start = np.zeros(lowest.shape)
    found = projected_newton(risk, derivatives, lambda steps: steps, start, -np.inf)
    first = np.array([[1.0, -1.5], [2.0, -1.0], [0.0, 0.0]])
    assert tried[1] == pytest.approx(first)
    assert found == pytest.approx(lowest)
