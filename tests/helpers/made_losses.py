"""Losses of a user's own, and the calibration gap of sums over documents on a grid of scores."""

import numpy as np
from definitions import all_positions

from skcalrank.losses import PointwiseLoss


class Made(PointwiseLoss):
    """A loss with given terms and slopes, and nothing else."""

    name = "made"

    def __init__(self, terms, slopes, constant=np.inf):
        self.terms, self.slopes, self._constant = terms, slopes, constant

    terms = slopes = None

    def curvatures(self, v, s):
        return np.ones_like(s)

    def least(self, v):
        raise AssertionError

    def minimizer(self, v, queries):
        raise AssertionError

    def constant(self, largest=1.0):
        return self._constant


def in_units(c, terms, slopes):
    """Return a loss of c times the scores."""
    return Made(lambda v, s: terms(v, c * s), lambda v, s: c * slopes(v, c * s))


def random_loss(rng, dips):
    """Return a sum of softplus terms for each of the grades 0, 1, 2, minus a bell if `dips`.

    A bell may be narrower than a hundredth of its distance from the other minima.
    """
    sign = np.where(rng.random((3, 4)) < 0.5, -1.0, 1.0)
    sign[:, :2] = 1.0, -1.0
    rate = sign * 10 ** rng.uniform(-1.5, 1, (3, 4))
    center = rng.normal(size=(3, 4)) * 10 ** rng.uniform(-1, 1.2)
    weight = 10 ** rng.uniform(-1, 1, (3, 4))
    depth = dips * 10 ** rng.uniform(-2, 2.5, 3) * (rng.random(3) < 0.6)
    middle = rng.normal(size=3) * 10 ** rng.uniform(-1, 1.7)
    width = 10 ** rng.uniform(-1.3, 1.5, 3)

    def of(v, s):
        grade = np.rint(v).astype(int)
        x = rate[grade] * (s[:, None] - center[grade])
        bell = (s - middle[grade]) / width[grade]
        return grade, x, bell

    def terms(v, s):
        grade, x, bell = of(v, s)
        terms = (weight[grade] * np.logaddexp(0, x)).sum(axis=1)
        return terms - depth[grade] * np.exp(-(bell**2) / 2)

    def slopes(v, s):
        grade, x, bell = of(v, s)
        logistic = np.exp(-np.logaddexp(0, -x))
        slopes = (weight[grade] * rate[grade] * logistic).sum(axis=1)
        return slopes + (depth * 1.0 / width)[grade] * np.exp(-(bell**2) / 2) * bell

    return Made(terms, slopes)


def gap_on_grid(loss, law, measure, scores):
    """Return the calibration gap over scores of a grid, and the error of the grid.

    For each suboptimal order the best scores are found by dynamic programming.
    """
    targets, n = law.targets(measure), len(scores)
    risk = np.zeros((law.n_documents, n))
    for p, row in zip(law.probabilities, targets):
        for document, v in enumerate(row):
            risk[document] += p * loss.terms(np.full(n, v), scores)
    orders = np.array(all_positions(law.n_documents))
    regrets = [law.target_regret(measure, -positions) for positions in orders]
    wrong = orders[np.array(regrets) > 1e-9]
    gap = np.inf
    for order in np.argsort(wrong, axis=1):
        least = np.zeros(n)
        for document in order[::-1]:
            least = np.minimum.accumulate(least + risk[document])
        gap = min(gap, least[-1] - risk.min(axis=1).sum())
    at = np.clip(risk.argmin(axis=1), 1, n - 2)
    near = risk[np.arange(len(risk))[:, None], at[:, None] + [-1, 0, 1]]
    return gap, np.ptp(near, axis=1).sum()
