"""Rounds of boosting, stopped by a measure, from a start that is shrunken as it suits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import UndefinedMetricWarning

from ..data import warn
from ..measures import Measure
from ..metrics import PreparedScore
from ._engine import Engine, Growing, Rows
from ._objectives import Problem
from ._parts import Part

#: What a start is multiplied by, beside 0, which means no start.
SHRINKAGES = (0.5, 1.0)

# Scores beyond are not told apart by logarithms of odds.
_LARGEST_ODDS = 30.0


class Grown(NamedTuple):
    """Trees of a fit."""

    model: Any
    n_rounds: int
    scores: np.ndarray


class Fitted(NamedTuple):
    """Trees, and the ranker whose scores they begin at."""

    grown: Grown
    start: Any = None
    scale: float = 0.0

    @property
    def best(self) -> float:
        """Best value of the measure."""
        return float(np.nan_to_num(self.grown.scores, nan=-np.inf).max(initial=-np.inf))


class Rounds(NamedTuple):
    """How long trees grow.

    Attributes
    ----------
    most : int
        Number of rounds that is never exceeded.
    patience : int
        Rounds without a better value of the measure after which growth stops.
    verbose : int
        How many rounds a line is printed for; 0 prints nothing.
    name : str
        What the measure is called there.
    model : str
        What the line begins with.
    """

    most: int
    patience: int
    verbose: int
    name: str
    model: str = ""

    def grow(self, trees: Growing, score: Callable[[np.ndarray], float] | None) -> Grown:
        """Grow trees to the round whose scores are best, or without a score to the last one."""
        scores: list[float] = []
        best, n_best = -np.inf, 1
        for number in range(1, self.most + 1):
            trees.grow()
            if score is not None:
                scores.append(score(trees.followed()))
            self._tell(number, scores)
            if score is None or scores[-1] > best:
                best, n_best, since = (scores or [best])[-1], trees.n_rounds(), number
            elif number - (since if np.isfinite(best) else 0) >= self.patience:
                break
        return Grown(trees.cut(n_best), n_best, np.array(scores))

    def _tell(self, number, scores):
        if self.verbose and number % self.verbose == 0:
            value = f"  {self.name} {scores[-1]:.5f}" if scores else ""
            print(f"{self.model}round {number}{value}")


def score_of(measure: Measure, part: Part) -> Callable[[np.ndarray], float]:
    """Return the mean of a measure over the queries of a part, as a function of their scores."""
    weight = part.weight
    if weight is None or weight.any():
        score = PreparedScore(measure, part.y, part.queries, weight)
        if score.is_defined:
            return score
    warn(
        f"{measure.name} is undefined (0/0) on all validation queries, so that nothing tells the "
        "rounds apart: the first one is kept.",
        UndefinedMetricWarning,
    )
    return lambda _: np.nan


def with_unit_curvature(problem: Problem) -> Problem:
    """Return a problem whose curvatures at the start are 1 in the mean.

    Options of the libraries that stand against sums of curvatures then count documents.
    """
    _, curvature = problem.derivatives(np.zeros(len(problem.targets)))
    mean = curvature.mean()
    if not mean > np.finfo(np.float32).tiny * 2:
        return problem
    weight = np.ones(len(curvature)) if problem.weight is None else problem.weight
    return problem._replace(weight=weight / mean)


def best_scale(problem: Problem, scores: np.ndarray) -> float:
    """Return the factor of scores under which the loss is least; 0 where they do not help."""
    targets, queries, weight, loss = problem
    spread = float(scores.max() - scores.min())

    def slope(factor):
        _, gradient = loss.value_and_gradient(targets, factor * scores, queries, weight)
        return float(gradient @ scores)

    if spread == 0 or slope(0.0) >= 0:
        return 0.0
    most = np.inf if loss.family == "squared" else _LARGEST_ODDS / spread
    high = 1.0 / spread
    while slope(high) < 0 and high < most:
        high = min(2.0 * high, most)
    return high if slope(high) < 0 else float(brentq(slope, 0.0, high, rtol=1e-6))


class Fit(NamedTuple):
    """How trees are fitted, whatever they start at.

    Attributes
    ----------
    engine : Engine
    params : dict
        Its options.
    problem : Problem
        The loss of the rows that are trained on.
    own : str or None
        An objective of the engine in place of the loss.
    kinds : list of int
        Columns of categories.
    rounds : Rounds
    """

    engine: Engine
    params: dict
    problem: Problem
    own: str | None
    kinds: list[int]
    rounds: Rounds

    def run(self, train, valid, score, start=None, scale=0.0) -> Fitted:
        """Return trees that begin at scaled scores of a ranker, or at nothing."""
        rows = _rows(train, start, scale)
        followed = None if valid is None else _rows(valid, start, scale)
        objective = self.problem.derivatives if self.own is None else self.own
        trees = self.engine.start(self.params, objective, rows, followed, self.kinds)
        return Fitted(self.rounds.grow(trees, score), start, scale)

    def from_start(self, start, train, valid, score) -> Iterator[Fitted]:
        """Yield the fits that begin at the scores of a fitted ranker, shrunken or not."""
        scale = best_scale(self.problem, _scores(start, train))
        for shrinkage in SHRINKAGES if scale else ():
            yield self.run(train, valid, score, start, shrinkage * scale)


def _scores(ranker, part):
    return ranker.predict(part.given(), part.queries.codes)


def _rows(part, start, scale):
    begin = None if start is None else scale * _scores(start, part)
    labels = part.y if part.labels is None else part.labels
    return Rows(part.X, labels, part.queries.sizes, part.weight, begin)
