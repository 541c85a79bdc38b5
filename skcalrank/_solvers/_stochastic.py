r"""Stochastic gradients with a penalty that is solved for, and an averaged iterate.

.. math:: w_{t+1} = \operatorname{argmin}_w \langle w, g_t \rangle + \lambda \|w\|^2
    + \frac{1}{2\eta_t} \|w - w_t\|^2 = \frac{w_t - \eta_t g_t}{1 + 2 \eta_t \lambda}

(DMJ13, eq. 25). Its error after t updates depends neither on how many terms the objective has, nor
on what it costs to evaluate all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import issparse


@dataclass
class AveragedDescent:
    """State of the descent: the iterate, and the average of all, in which the t-th weighs t."""

    shape: tuple[int, ...]  # of the coefficients, (d,) or (d, n_outputs)
    fit_intercept: bool
    n_updates: int = 0
    coef: np.ndarray = field(init=False)
    intercept: np.ndarray = field(init=False)
    mean_coef: np.ndarray = field(init=False)
    mean_intercept: np.ndarray = field(init=False)

    def __post_init__(self):
        self.coef, self.mean_coef = np.zeros(self.shape), np.zeros(self.shape)
        self.intercept = np.zeros(self.shape[1:])
        self.mean_intercept = np.zeros(self.shape[1:])

    def update(self, X, slope_of, step, penalty):
        """Take a step on some rows.

        From their scores `slope_of` returns the gradient in them, an unbiased estimate of that of
        the objective; `step` returns the length from the number of updates so far.
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
        # Weights 1, 2, 3, ...: the first iterates are forgotten soon.
        share = 2.0 / (self.n_updates + 1.0)
        self.mean_coef += share * (self.coef - self.mean_coef)
        self.mean_intercept += share * (self.intercept - self.mean_intercept)
