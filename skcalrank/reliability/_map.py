"""The map from scores of queries to values between 0 and 1, which keeps the order exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from ..columns.types import Bools, Floats
from ..data import Queries, runs

# Penalties of the terms of queries, of which the held-out loss chooses one.
_PENALTIES = (0.3, 3.0, 30.0, 300.0, 3e4)

# Share of the values that tells documents apart whose values would be equal otherwise.
_STRICT = 1e-6

# Means and spreads below this share of the largest score of a query are rounding.
_ROUNDING = 1e-9

# Covariates are cut here, in standard deviations: sums of larger ones may be undefined.
_FAR = 1e30

# Scores and their standardized values, whose slopes are not negative.
_OF_DOCUMENT = 2


def covariates(scores: Floats, queries: Queries, level: Floats | None) -> Floats:
    """Return what the map is linear in, in grouped order.

    The score, the score standardized within the query, and of the query: mean, spread and maximum
    of the scores, the logarithm of the number of documents, and the level.
    """
    mean, largest = queries.mean(scores), queries.max(np.abs(scores))
    mean = np.where(np.abs(mean) <= _ROUNDING * largest, 0.0, mean)  # of centered scores
    centered = scores - queries.repeat(mean)
    unit = np.where(largest > 0, largest, 1.0)  # squares of large scores overflow
    spread = unit * np.sqrt(queries.mean((centered / queries.repeat(unit)) ** 2))
    is_flat = spread <= _ROUNDING * largest
    z = np.where(queries.repeat(is_flat), 0.0, centered)
    z = z / queries.repeat(np.where(is_flat, 1.0, spread))
    of_query = [mean, spread, queries.max(scores), np.log(queries.sizes)]
    of_query += [] if level is None else [level]
    return np.column_stack([scores, z, queries.repeat(np.column_stack(of_query))])


def levels(probabilities: Floats, queries: Queries) -> Floats:
    """Return the mean logit of each query."""
    return queries.mean(logit(np.clip(probabilities, 1e-3, 1 - 1e-3)))


@dataclass(frozen=True)
class QueryMap:
    """Logits that are linear in covariates of documents and queries, with increasing scores.

    * `center`, `scale` (n_covariates,): units of the covariates.
    * `coef` (n_covariates + 1,): slopes, and the constant.
    * `held_out_loss`: mean log loss on held-out queries.
    """

    center: Floats
    scale: Floats
    coef: Floats
    held_out_loss: float
    isotonic: Any = None

    @classmethod
    def fitted(cls, columns: Floats, targets: Floats, weight: Floats, tests: list[Bools]) -> Any:
        """Return the map that minimizes the log loss of targets in [0, 1].

        The penalty is chosen on the held-out documents of the masks `tests`.
        """
        weight = weight * (len(weight) / weight.sum())
        largest = np.abs(columns).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # squares may overflow, or be 0
        center, scale = unit * (columns / unit).mean(axis=0), unit * (columns / unit).std(axis=0)
        scale = np.where(scale > _ROUNDING * largest, scale, 1.0)
        design = _design(columns, center, scale)
        losses = np.zeros(len(_PENALTIES))
        for test in tests:
            train, start = ~test, None
            for number, penalty in enumerate(_PENALTIES):
                parts = design[train], targets[train], weight[train]
                start = _minimizer(*parts, penalty, start)
                logits = design[test] @ start
                losses[number] += weight[test] @ (_softplus(logits)[0] - targets[test] * logits)
        best = int(np.argmin(losses))
        coef = _minimizer(design, targets, weight, _PENALTIES[best], None)
        return cls(center, scale, coef, float(losses[best] / len(weight)))

    def logits(self, columns: Floats) -> Floats:
        """Return the logits of covariates."""
        return _design(columns, self.center, self.scale) @ self.coef

    def values(self, columns: Floats, scores: Floats, queries: Queries) -> Floats:
        """Return values in (0, 1) in the order of the scores of each query."""
        logits = self.logits(columns)
        made = expit(logits) if self.isotonic is None else self.isotonic.predict(logits)
        return strictly(np.clip(made, 0.0, 1.0), scores, queries)


def isotonic(logits: Floats, targets: Floats, weight: Floats) -> IsotonicRegression:
    """Return the increasing step function of the logits that is closest to the targets."""
    steps = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return steps.fit(logits, targets, sample_weight=weight)


def _design(columns: Floats, center: Any, scale: Any) -> Floats:
    units = np.clip((columns - center) / scale, -_FAR, _FAR)
    return np.column_stack([units, np.ones(len(columns))])


def _softplus(logits: Floats) -> tuple[Floats, Floats]:
    """Return log(1 + exp(x)) and its derivative; three times as fast as logaddexp and expit."""
    small = np.exp(-np.abs(logits))
    return np.maximum(logits, 0) + np.log1p(small), np.where(logits > 0, 1.0, small) / (1 + small)


def _minimizer(
    design: Floats, targets: Floats, weight: Floats, penalty: float, start: Floats | None
) -> Floats:
    """Return the coefficients of least penalized loss, with slopes that are not negative."""
    n = design.shape[1]
    penalties = np.full(n, float(penalty))
    penalties[[0, -1]] = 1e-6
    design = np.asfortranarray(design)
    start = np.append(0.5, np.zeros(n - 1)) if start is None else start

    def objective(coef: Floats) -> tuple[Any, Floats]:
        logits = design @ coef
        values, p = _softplus(logits)
        slope = design.T @ (weight * (p - targets)) + penalties * coef
        return weight @ (values - targets * logits) + penalties @ coef**2 / 2, slope

    bounds = [(1e-6, None), (0.0, None)] + [(None, None)] * (n - _OF_DOCUMENT)
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def strictly(values: Floats, scores: Floats, queries: Queries) -> Floats:
    """Return values in (0, 1) that are ordered within a query exactly as the scores.

    * `values` (n_documents,): values in [0, 1], in the order of the scores up to rounding, and
      equal where a map is flat.
    * `scores` (n_documents,): scores, whose ties are kept.
    """
    order, starts = runs(-scores, queries)
    lengths = np.diff(starts, append=len(order))
    increasing = values[np.lexsort((values, queries.repeat(np.arange(queries.n_queries))))]
    of_runs = Queries(np.append(np.searchsorted(starts, queries.ptr[:-1]), len(starts)))
    step = _STRICT / (of_runs.repeat(of_runs.sizes) + 1)
    out = np.empty(len(values))
    out[order] = np.repeat((1 - _STRICT) * increasing[starts] + step * of_runs.places, lengths)
    return out
