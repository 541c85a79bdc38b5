r"""The number of queries that a promise needs, and its threshold as one weighted quantile.

A query spreads a mass of 1 over its documents, and loses the mass of those that are cut. Let
:math:`S(t)` be the mass that n calibration queries keep at the threshold t, which does not increase
in t. If they and a new query are exchangeable, the largest t with
:math:`S(t) \ge (n + 1)(1 - \alpha)` loses at most :math:`\alpha` of the new query in expectation:
conformal risk control, [ABF24]_.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from ..columns.types import ArrayLike, Floats

# Sums of masses differ by rounding from what they would be in another order.
_ROUNDING = 1e-9

# Halvings of an interval until its ends are neighbors.
_HALVINGS = 60


@dataclass(frozen=True)
class Promise:
    """A mean loss that is promised of new queries.

    * `alpha`: mean loss that is promised, in (0, 1).
    * `confidence_level`: probability, over draws of the calibration queries, that the mean loss is
      at most `alpha`. If None, it is so on average over these draws.
    """

    alpha: float
    confidence_level: float | None = None

    @property
    def n_needed(self) -> int:
        """Least number of queries that can promise anything but to cut nothing."""
        if self.confidence_level is None:
            least = 1 / self.alpha - 1
        else:
            least = np.log1p(-self.confidence_level) / np.log1p(-self.alpha)
        return max(int(np.ceil(least - _ROUNDING)), 1)

    def least_kept(self, n: int) -> float:
        """Return the least mass that n calibration queries must keep, at most n.

        n must be at least `n_needed`.
        """
        if self.confidence_level is None:
            return min((n + 1) * (1 - self.alpha), n)
        # The p-values increase with the loss, and jump up right after a multiple of 1 / n.
        low, high = 0.0, self.alpha
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.holds(middle, n) else (low, middle)
        return n * (1 - low)

    def holds(self, loss: ArrayLike, n: int) -> Any:
        """Return whether mean losses over n queries are so low that the promise can be made."""
        return p_value(loss, n, self.alpha) <= 1 - (self.confidence_level or 0.0) + _ROUNDING

    def threshold(self, values: Floats, masses: Floats, n: int) -> float:
        """Return the largest value such that documents of it and above keep enough mass."""
        order = np.argsort(-values, kind="stable")
        place = np.searchsorted(np.cumsum(masses[order]), self.least_kept(n) * (1 - _ROUNDING))
        return float(values[order[min(int(place), len(order) - 1)]])

    def safe_threshold(self, candidates: Floats, tuning: Floats, losses: Floats, n: int) -> float:
        """Return the lowest threshold that a sequence of tests accepts; infinity if none is.

        The sequence starts at the candidate that looks safest on other queries, and goes down until
        the first test fails: the first threshold that breaks the promise is accepted with a
        probability of 1 - confidence_level at most, so that the number of tests does not matter.

        * `candidates` (n_candidates,): decreasing thresholds, which do not depend on the queries
          that are tested.
        * `tuning` (n_candidates,): p-values on other queries.
        * `losses` (n_candidates,): mean losses of the queries that are tested.
        * `n`: number of queries that are tested.
        """
        start = int(np.argmin(tuning))
        n_accepted = int(np.argmin(np.append(self.holds(losses[start:], n), False)))
        return float(candidates[start + n_accepted - 1]) if n_accepted else np.inf


def p_value(loss: ArrayLike, n: int, alpha: float) -> Floats:
    """Return the Hoeffding-Bentkus p-value of "the mean loss is above alpha"."""
    mean = np.minimum(np.asarray(loss, dtype=float), alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(mean > 0, mean * np.log(mean / alpha), 0.0)
    entropy = entropy + (1 - mean) * np.log((1 - mean) / (1 - alpha))
    bentkus = np.e * binom.cdf(np.ceil(n * mean - _ROUNDING), n, alpha)
    return np.minimum(np.exp(-n * entropy), np.minimum(bentkus, 1.0))
