"""What each model of a ranker boosts, and how its trees are grown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from ..data import Floats
from ..losses import Loss, get_loss
from ._engine import Engine
from ._engines import grades_for
from ._growth import Fit, Fitted, Rounds, score_of, with_unit_curvature
from ._objectives import make_problem
from ._parameters import is_own
from ._parts import Part

# Spreads below this share of the scores are rounding.
_ROUNDING = 1e-6


class Aim(NamedTuple):
    """What a model boosts; each as the parameter of the ranker."""

    loss: str | Loss
    targets: str
    query_weight: str | None


#: What every other model boosts.
_SQUARES = Aim("pairwise_squared", "grades", "documents")


def aims_of(ranker: Any) -> list[Aim]:
    """Return what each model boosts, by turns the loss of the ranker and squares of the grades."""
    own = Aim(ranker.loss, ranker.targets, ranker.query_weight)
    return [_SQUARES if number % 2 else own for number in range(ranker.n_models)]


class Model(NamedTuple):
    """The trees of a model, and the start that they begin at.

    Attributes
    ----------
    booster : object of the engine
    start : ranker or None
    start_scale : float
        What the scores of the start are multiplied by.
    weight : float
        What the sum of both is multiplied by.
    """

    booster: Any
    start: Any
    start_scale: float
    weight: float = 1.0

    def scores(self, engine: Engine, X, kinds, n_jobs, given, qid) -> Floats:
        """Return the scores of rows; `given` are they as the user gave them, for a start."""
        scores = engine.predict(self.booster, X, kinds, n_jobs)
        if self.start is not None:
            scores = scores + self.start_scale * self.start.predict(given, qid)
        return self.weight * scores

    def contributions(self, engine: Engine, X, kinds) -> Floats:
        """Return the scores as exact sums over the features, the last one constant."""
        parts = engine.contributions(self.booster, X, kinds)
        if self.start is None:
            return self.weight * parts
        if not hasattr(self.start, "coef_"):
            raise ValueError(
                f"The trees begin at scores of {type(self.start).__name__}, which is not linear "
                "in the features (no coef_): fit without start, or with a closed form."
            )
        table = X.toarray() if issparse(X) else X
        parts[:, :-1] += self.start_scale * table * self.start.coef_
        parts[:, -1] += self.start_scale * self.start.intercept_
        return self.weight * parts


def spread(scores: Floats, part: Part) -> float:
    """Return the root mean square of scores within queries; 1 where they do not vary."""
    weight = part.weight
    if weight is None or not weight.any():
        weight = np.ones(len(scores))
    queries = part.queries
    mean = queries.sum(weight * scores) / np.maximum(queries.sum(weight), np.finfo(float).tiny)
    within = scores - queries.repeat(mean)
    found = np.sqrt(weight @ within**2 / weight.sum())
    return float(found) if found > _ROUNDING * np.abs(scores).max() else 1.0


def grow_models(
    ranker: Any, engine: Engine, problem, part: Part, folds: list, valid: Part | None, rng
) -> list[Fitted]:
    """Return the trees of each model.

    They are grown on all rows but those of its fold, if it has one, and stopped on `valid` or on
    the fold. Without `rng`, seeds are the numbers of the models.
    """
    found = []
    for number, (aim, held) in enumerate(zip(aims_of(ranker), folds)):
        seed = number if rng is None else int(rng.randint(2**31 - 1))
        train, stop = (part, valid) if held is None else _parted(ranker, part, held, valid)
        # One after the other: each holds a model.
        fits = _fits(ranker, engine, problem, aim, train, stop, seed, number)
        found.append(reduce(lambda best, fit: fit if fit.best > best.best else best, fits))
    return found


def _parted(ranker, part, held, valid):
    """Return the rows to train on, and those to stop early on or None."""
    fraction = ranker.validation_fraction
    if held.all() or not held.any():
        raise ValueError(
            f"validation_fraction={fraction!r} of n_samples={len(held)} rows leaves none to stop "
            "early on, or none to train on: pass more, or set validation_fraction=None and "
            "n_estimators."
        )
    if valid is None and fraction:
        valid = part.take(held)
    return part.take(~held), valid


def _fits(ranker, engine, problem, aim, train, valid, seed, number) -> Iterator[Fitted]:
    """Yield the fit from no start, and from each one that may be better."""
    settings = {"seed": seed} | {
        name: getattr(ranker, name) for name in ("learning_rate", "max_leaves", "n_jobs")
    }
    measure = problem.measure
    fit = Fit(
        engine=engine,
        params=engine.params(settings, ranker.engine_params or {}),
        problem=_boosted(problem, train, aim),
        own=aim.loss if is_own(aim.loss) else None,
        kinds=ranker.categorical_features_,
        rounds=Rounds(
            most=ranker.n_estimators,
            patience=ranker.n_iter_no_change,
            verbose=int(ranker.verbose),
            name=measure.full_name,
            model=f"model {number + 1} " if ranker.n_models > 1 else "",
        ),
    )
    train, valid = _labeled(measure, train, aim), _labeled(measure, valid, aim)
    score = None if valid is None else score_of(measure, valid)
    yield fit.run(train, valid, score)
    if ranker.start is not None:
        yield from fit.from_start(_fitted_start(ranker, train), train, valid, score)


def _labeled(measure, part, aim):
    """Return a part with the labels that an objective of the engine reads."""
    if part is None or not is_own(aim.loss):
        return part
    return part._replace(labels=grades_for(aim.loss, measure.labels(part.y)))


def _boosted(problem, part, aim):
    """Return the problem of the loss; for objectives of the engine, one that they resemble."""
    own, measure, queries = is_own(aim.loss), problem.measure, part.queries
    loss = get_loss("pairwise_logistic" if own else aim.loss)
    query_weight = None if own else aim.query_weight
    targets = _targets(measure, part, aim, own)
    made = make_problem(measure, loss, targets, queries, part.weight, query_weight)
    return with_unit_curvature(made)


def _targets(measure, part, aim, own):
    if own and not measure.has_score_targets():
        return part.y - part.y.min()
    labels = measure.labels(part.y)
    if aim.targets == "grades":
        return labels
    if aim.targets == "separable":
        return measure.separable_targets(labels)
    return measure.score_targets(labels, part.queries)


def _fitted_start(ranker, part):
    given = {} if part.weight is None else {"sample_weight": part.weight}
    return clone(ranker.start).fit(part.given(), part.y, part.queries.codes, **given)
