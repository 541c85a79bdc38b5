"""Rounds of boosting with early stopping on a measure, and with shrunken start scores."""

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

#: Shrinkages of the start scores that are tried, besides 0 (no start).
SHRINKAGES = (0.5, 1.0)

# Log-odds beyond this size are probabilities of 0 or 1 in double precision.
_LARGEST_ODDS = 30.0


class Grown(NamedTuple):
    """Trees of one training run, and the value of the measure after each round."""

    model: Any
    n_rounds: int
    scores: np.ndarray


class Fitted(NamedTuple):
    """Trees, with the fitted start ranker and the factor of its scores."""

    grown: Grown
    start: Any = None
    scale: float = 0.0

    @property
    def best(self) -> float:
        """Best value of the measure; -inf without a value."""
        return float(np.nan_to_num(self.grown.scores, nan=-np.inf).max(initial=-np.inf))


class Rounds(NamedTuple):
    """Number of rounds, early stopping and progress lines.

    Attributes
    ----------
    most : int
        Maximum number of rounds.
    patience : int
        Number of rounds without a better value of the measure after which training stops.
    verbose : int
        A progress line is printed every `verbose` rounds; 0 prints nothing.
    name : str
        Name of the measure in these lines.
    model : str
        Beginning of these lines.
    """

    most: int
    patience: int
    verbose: int
    name: str
    model: str = ""

    def grow(self, trees: Growing, score: Callable[[np.ndarray], float] | None) -> Grown:
        """Grow trees and keep the rounds up to the best score; without `score`, all rounds."""
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
    """Return a function of scores: the mean of the measure over the queries of a part."""
    weight = part.weight
    if weight is None or weight.any():
        score = PreparedScore(measure, part.y, part.queries, weight)
        if score.is_defined:
            return score
    warn(
        f"{measure.name} is undefined (0/0) on all validation queries: the first round is kept. "
        "Pass validation queries with labels that differ.",
        UndefinedMetricWarning,
    )
    return lambda _: np.nan


def with_unit_curvature(problem: Problem) -> Problem:
    """Return the problem with weights scaled to a mean curvature of 1 at scores of 0.

    Options of the libraries that are compared with sums of curvatures then count documents.
    """
    _, curvature = problem.derivatives(np.zeros(len(problem.targets)))
    mean = curvature.mean()
    if not mean > np.finfo(np.float32).tiny * 2:
        return problem
    weight = np.ones(len(curvature)) if problem.weight is None else problem.weight
    return problem._replace(weight=weight / mean)


def best_scale(problem: Problem, scores: np.ndarray) -> float:
    """Return the factor >= 0 of the scores at which the loss is smallest."""
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
    """Settings of a fit that do not depend on the start.

    Attributes
    ----------
    engine : Engine
    params : dict
        Options of the engine.
    problem : Problem
        Loss on the training rows.
    own : str or None
        Name of an objective of the engine, used in place of the loss.
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
        """Return trees added to `scale` times the scores of `start`, or to 0 without a start."""
        rows = _rows(train, start, scale)
        followed = None if valid is None else _rows(valid, start, scale)
        objective = self.problem.derivatives if self.own is None else self.own
        trees = self.engine.start(self.params, objective, rows, followed, self.kinds)
        return Fitted(self.rounds.grow(trees, score), start, scale)

    def from_start(self, start, train, valid, score) -> Iterator[Fitted]:
        """Yield one fit for each shrinkage of the scores of a fitted start ranker."""
        scale = best_scale(self.problem, _scores(start, train))
        for shrinkage in SHRINKAGES if scale else ():
            yield self.run(train, valid, score, start, shrinkage * scale)


def _scores(ranker, part):
    return ranker.predict(part.given(), part.queries.codes)


def _rows(part, start, scale):
    begin = None if start is None else scale * _scores(start, part)
    labels = part.y if part.labels is None else part.labels
    return Rows(part.X, labels, part.queries.sizes, part.weight, begin)
