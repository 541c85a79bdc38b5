"""Training of the models of a BoostedRanker: what each boosts, its rounds, and its start."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from ..data import Rows, warn
from ..data.types import Bools, Floats
from ..losses import get_loss
from ..measures import Measure
from ..metrics import PreparedScore
from ._engine import Engine, Growing
from ._engines import grades_for, is_objective
from ._objectives import Problem, make_problem

# Shrinkages of the start scores that are tried, besides 0 (no start).
_SHRINKAGES = (0.5, 1.0)

# Log-odds beyond this size are probabilities of 0 or 1 in double precision.
_LARGEST_ODDS = 30.0

# Loss, targets and query weight of every second model.
_SQUARES = ("pairwise_squared", "grades", "documents")


class Model(NamedTuple):
    """Trees, with the start ranker to whose scores they are added."""

    booster: Any
    n_rounds: int
    validation_scores: Floats  # measure after each round; empty without validation
    start: Any = None
    start_scale: float = 0.0  # factor of the scores of the start
    weight: float = 1.0  # factor of the sum of trees and start

    @property
    def best(self) -> float:
        """Best value of the measure; -inf without a value."""
        return float(np.nan_to_num(self.validation_scores, nan=-np.inf).max(initial=-np.inf))

    def contributions(self, engine: Engine, X, kinds) -> Floats:
        """Return the share of each feature in the scores, and last a constant."""
        parts = engine.contributions(self.booster, X, kinds)
        if self.start is None:
            return self.weight * parts
        if not hasattr(self.start, "coef_"):
            raise ValueError(
                f"start must be linear in the features (coef_) for contributions, got "
                f"{type(self.start).__name__}. Fit without start, or with a closed form."
            )
        table = X.toarray() if issparse(X) else X
        parts[:, :-1] += self.start_scale * table * self.start.coef_
        parts[:, -1] += self.start_scale * self.start.intercept_
        return self.weight * parts


def grow_models(
    ranker: Any, engine: Engine, measure: Measure, rows: Rows, masks: list, valid: Rows | None, rng
) -> list[Model]:
    """Return the models of a ranker.

    `masks` holds a mask of the rows to hold out of each model, or None. A model is stopped early
    on `valid`, or else on its held-out rows. Without `rng`, its seed is its number.
    """
    models = []
    for number, mask in enumerate(masks):
        seed = number if rng is None else int(rng.randint(2**31 - 1))
        train, stop = (rows, valid) if mask is None else _split(ranker, rows, mask, valid)
        training = _Training(ranker, engine, measure, number, seed, train, stop)
        # One at a time, so that at most two are in memory.
        models.append(reduce(lambda a, b: b if b.best > a.best else a, training.models()))
    return models


def held_out(rows: Rows, measure: Measure, share: float, rng, n_folds: int) -> list[Bools]:
    """Return a mask of held-out rows for each fold: whole queries, or rows of a single query.

    Among the queries with different labels on which the measure is defined, at least one is held
    out and at least one is not. Without `rng`, the draw depends on the contents of the rows only.
    """
    labels, queries = measure.labels(rows.y), rows.queries
    informative = queries.max(labels) + queries.max(-labels) > 0
    if rows.weight is not None:
        informative &= queries.max(rows.weight) > 0
    informative &= ~measure.undefined(labels, queries)
    seed = None if rng is None else int(rng.randint(2**31 - 1))
    return rows.held_out(share, seed, n_folds=n_folds, informative=informative)


def _split(ranker, rows, mask, valid):
    """Return the training rows, and the rows for early stopping or None."""
    fraction = ranker.validation_fraction
    if mask.all() or not mask.any():
        raise ValueError(
            f"validation_fraction={fraction!r} of n_samples={len(mask)} rows must leave rows both "
            "to train on and to stop early on. Pass more rows, or set validation_fraction=None "
            "and n_estimators."
        )
    if valid is None and fraction:
        valid = rows.take(mask)
    return rows.take(~mask), valid


class _Training:
    """Training of one model, on `train`, with early stopping on `valid` unless it is None.

    The first model and every second boost the loss of the ranker, the others squares of grades.
    """

    def __init__(self, ranker, engine, measure, number, seed, train, valid):
        self.ranker, self.engine, self.measure = ranker, engine, measure
        self.train, self.valid = train, valid
        self.title = f"model {number + 1} " if ranker.n_models > 1 else ""
        settings = {"seed": seed} | {
            name: getattr(ranker, name) for name in ("learning_rate", "max_leaves", "n_jobs")
        }
        self.params = engine.params(settings, ranker.engine_params or {})
        loss, targets, query_weight = ranker.loss, ranker.targets, ranker.query_weight
        if number % 2:
            loss, targets, query_weight = _SQUARES
        # Name of an objective of the engine. The problem, a similar one, then scales the start.
        self.objective = loss if is_objective(loss) else None
        if self.objective is not None:
            loss, query_weight = "pairwise_logistic", None
        self.problem = _problem(measure, train, get_loss(loss), targets, query_weight)
        self.score = None if valid is None else _score_of(measure, valid)

    def models(self) -> Iterator[Model]:
        """Yield the model without start, then one for each shrinkage of the start."""
        yield self._grow()
        if self.ranker.start is None:
            return
        train, valid = self.train, self.valid
        weights = {} if train.weight is None else {"sample_weight": train.weight}
        start = clone(self.ranker.start)
        start.fit(train.as_given(), train.y, train.queries.codes, **weights)
        scores = [start.predict(rows.as_given(), rows.queries.codes) for rows in (train, valid)]
        scale = _best_scale(self.problem, scores[0])
        for shrinkage in _SHRINKAGES if scale else ():
            yield self._grow(start, shrinkage * scale, scores)

    def _grow(self, start=None, scale=0.0, scores=(None, None)) -> Model:
        """Return trees added to `scale` times the scores of `start`, or to 0 without a start."""
        trees = self.engine.growing(
            self.engine,
            self.params,
            self.problem.derivatives if self.objective is None else self.objective,
            self.ranker.categorical_features_,
            *map(self._labeled, (self.train, self.valid)),
            tuple(None if values is None else scale * values for values in scores),
        )
        return Model(*self._rounds(trees), start, scale)

    def _labeled(self, rows):
        """Return rows with the labels that an objective of the engine reads."""
        if rows is None or self.objective is None:
            return rows
        return replace(rows, y=grades_for(self.objective, self.measure.labels(rows.y)))

    def _rounds(self, trees: Growing) -> tuple[Any, int, Floats]:
        """Grow trees and keep the rounds up to the best value; without validation, all rounds."""
        values: list[float] = []
        best, n_best, since = -np.inf, 1, 0
        for number in range(1, self.ranker.n_estimators + 1):
            trees.grow()
            if self.score is not None:
                values.append(self.score(trees.followed()))
            self._tell(number, values)
            if self.score is None or values[-1] > best:
                best, n_best, since = (values or [best])[-1], trees.n_rounds(), number
            elif number - since >= self.ranker.n_iter_no_change:
                break
        return trees.cut(n_best), n_best, np.array(values)

    def _tell(self, number, values):
        if self.ranker.verbose and number % int(self.ranker.verbose) == 0:
            value = f"  {self.measure.full_name} {values[-1]:.5f}" if values else ""
            print(f"{self.title}round {number}{value}")


def _problem(measure, rows, loss, targets, query_weight) -> Problem:
    """Return the problem with weights scaled to a mean curvature of 1 at scores of 0.

    Options of the libraries that are compared with sums of curvatures then count documents.
    """
    values = _targets(measure, rows, targets)
    problem = make_problem(measure, loss, values, rows.queries, rows.weight, query_weight)
    _, curvature = problem.derivatives(np.zeros(len(values)))
    mean = curvature.mean()
    if not mean > np.finfo(np.float32).tiny * 2:
        return problem
    weight = np.ones(len(curvature)) if problem.weight is None else problem.weight
    return problem._replace(weight=weight / mean)


def _targets(measure, rows, targets):
    labels = measure.labels(rows.y)
    if targets == "grades":
        return labels
    if targets == "separable":
        return measure.separable_targets(labels)
    if measure.has_score_targets():
        return measure.score_targets(labels, rows.queries)
    return rows.y - rows.y.min()  # with an objective of the engine


def _score_of(measure, rows) -> Callable[[Floats], float]:
    """Return a function of scores: the mean of the measure over the queries of rows."""
    if rows.weight is None or rows.weight.any():
        score = PreparedScore(measure, rows.y, rows.queries, rows.weight)
        if score.is_defined:
            return score
    warn(
        f"{measure.name} is undefined (0/0) on all validation queries: the first round is kept. "
        "Pass validation queries with labels that differ.",
        UndefinedMetricWarning,
    )
    return lambda _: np.nan


def _best_scale(problem: Problem, scores: Floats) -> float:
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
