r"""Stochastic gradient descent with an implicit penalty and an averaged iterate.

.. math:: w_{t+1} = \operatorname{argmin}_w \langle w, g_t \rangle + \lambda \|w\|^2
    + \frac{1}{2\eta_t} \|w - w_t\|^2 = \frac{w_t - \eta_t g_t}{1 + 2 \eta_t \lambda}

(DMJ13, eq. 25). The error after t updates depends neither on the number of terms of the objective
nor on the cost of evaluating all of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse


class AveragedDescent:
    """State of the descent: the iterate, and the mean of all iterates with weights 1, 2, 3, ..."""

    def __init__(self, shape: tuple[int, ...], fit_intercept: bool) -> None:
        """Start at zero; coefficients have the shape (d,) or (d, n_outputs)."""
        self.fit_intercept, self.n_updates = fit_intercept, 0
        self.coef, self.mean_coef = np.zeros(shape), np.zeros(shape)
        self.intercept, self.mean_intercept = np.zeros(shape[1:]), np.zeros(shape[1:])

    def update(self, X: Any, slope_of: Any, step: Callable[..., Any], penalty: float) -> None:
        """Take one step with the gradient of some rows.

        `slope_of` maps the scores of the rows to the gradient in these scores, an unbiased
        estimate of the gradient of the objective. `step` maps the number of previous updates to
        the step length.
        """
        length = step(self.n_updates)
        slope = slope_of(X @ self.coef + self.intercept)
        gradient = X.T @ slope
        if issparse(gradient):
            gradient = gradient.toarray()
        self.coef = (self.coef - length * gradient) / (1.0 + 2.0 * length * penalty)
        if self.fit_intercept:
            self.intercept = self.intercept - length * slope.sum(axis=0)
        self.n_updates += 1
        # With the weights 1, 2, 3, ..., the influence of the first iterates fades quickly.
        share = 2.0 / (self.n_updates + 1.0)
        self.mean_coef += share * (self.coef - self.mean_coef)
        self.mean_intercept += share * (self.intercept - self.mean_intercept)
