r"""The largest convex function below a calibration function, inverted.

For least squares with a squared distance of scale c, a predicted order and a better one, with the
gains g of the better one and targets T under each label, and rows C of the cone of the surrogate
values that give the predicted order, a price :math:`\lambda` of the surrogate regret leaves

.. math:: \max_{p, d:\ C (T^\top p + d) \ge 0} \langle g, p \rangle - \lambda c \|d\|^2
    = \min_{y \ge 0}\ \max_l\ (g + T C^\top y)_l + \frac{\|C^\top y\|^2}{4 \lambda c} .

The largest target regret of a mean surrogate regret s is the minimum over all prices of
:math:`\lambda s` plus the largest of these values. Every price and every y give a bound that
holds, whether or not the programs are solved exactly.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from ..columns.types import Floats
from ._function import Family

# Prices are searched over this many powers of e below the largest one that can be best.
_PRICES = 25.0


def largest_regret(family: Family, regret: float) -> float:
    """Return the largest target regret of any laws and values with a mean surrogate regret."""
    if regret == 0:
        return family.level()
    programs = [_Program(family, cone, gain) for _, cone, gain in family.pairs(0.0)]
    most = max((program.upper for program in programs), default=0.0)
    if most <= 0:
        return 0.0

    def bound(log_price: float) -> float:
        price, largest = np.exp(log_price), 0.0
        # Known multipliers bound the value of a program, which often need not be solved.
        for program in sorted(programs, key=lambda one: -one.value(price)):
            if program.value(price) <= largest:
                break
            program.solve(price)
            largest = max(largest, program.value(price))
        return price * regret + largest

    top = np.log(most / regret)
    found = minimize_scalar(
        bound, bounds=(top - _PRICES, top), method="bounded", options={"xatol": 1e-4}
    )
    return float(min(found.fun, most))


class _Program:
    """Program of one predicted order and a better one."""

    def __init__(self, family: Family, cone: Floats, gain: Floats) -> None:
        self.gain, self.moves = gain, cone @ family.targets.reshape(len(gain), -1).T
        self.size = cone @ cone.T / (4.0 * family.scale)
        self.y, self.upper = np.zeros(len(cone)), float(gain.max())

    def value(self, price: float, y: Any = None) -> float:
        """Return the value at multipliers, the best known ones by default."""
        y = self.y if y is None else y
        return float((self.gain + y @ self.moves).max() + y @ self.size @ y / price)

    def solve(self, price: float) -> None:
        """Improve the multipliers for a price."""
        # In units in which the quadratic term does not depend on the price.
        root = np.sqrt(price)
        size, moves = self.size, root * self.moves
        start = np.append(self.y / root, (self.gain + self.y @ self.moves).max())
        limits = np.hstack([-moves.T, np.ones((len(self.gain), 1))])
        result = minimize(
            lambda x: (x[-1] + x[:-1] @ size @ x[:-1], np.append(2 * size @ x[:-1], 1.0)),
            start,
            jac=True,
            bounds=[(0.0, None)] * len(self.y) + [(None, None)],
            constraints={
                "type": "ineq",
                "fun": lambda x: limits @ x - self.gain,
                "jac": lambda _: limits,
            },
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 200},
        )
        y = np.maximum(root * result.x[:-1], 0.0)
        if self.value(price, y) < self.value(price):
            self.y = y
