"""Directions within a cone."""

import numpy as np

from skcalrank.calibration._cones import newton_steps


def test_newton_steps_go_uphill_where_little_or_nothing_is_curved(rng):
    root = rng.normal(size=(20, 3, 2)) * np.logspace(-155, 0, 20)[:, None, None]
    hessian = np.append(root @ root.transpose(0, 2, 1), np.zeros((1, 3, 3)), axis=0)
    gradient = np.append(root.sum(axis=2), np.full((1, 3), 1e-300), axis=0)
    held = np.zeros(gradient.shape, dtype=bool)
    steps = newton_steps(gradient, hessian, held)
    assert ((steps * gradient).sum(axis=1) > 0).all()
