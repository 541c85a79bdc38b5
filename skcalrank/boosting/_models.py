"""Models of a BoostedRanker: what each of them boosts, and its training."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from ..data import Floats
from ..losses import Loss, get_loss
from ..measures import Measure
from ._engine import Engine
from ._engines import grades_for
from ._growth import Fit, Fitted, Rounds, score_of, with_unit_curvature
from ._objectives import make_problem
from ._parameters import is_own
from ._parts import Part

# Spreads below this share of the largest score are rounding errors.
_ROUNDING = 1e-6


class Aim(NamedTuple):
    """Loss, targets and query weight of a model, as in the parameters of the ranker."""

    loss: str | Loss
    targets: str
    query_weight: str | None


#: Aim of every second model.
_SQUARES = Aim("pairwise_squared", "grades", "documents")


def aims_of(ranker: Any) -> list[Aim]:
    """Return the aim of each model: in turn that of the ranker, and squared errors of grades."""
    own = Aim(ranker.loss, ranker.targets, ranker.query_weight)
    return [_SQUARES if number % 2 else own for number in range(ranker.n_models)]


class Model(NamedTuple):
    """Trees, with the start ranker to whose scores they are added.

    Attributes
    ----------
    booster : object
        Model of the engine.
    start : ranker or None
    start_scale : float
        Factor of the scores of the start.
    weight : float
        Factor of the sum of trees and start.
    """

    booster: Any
    start: Any
    start_scale: float
    weight: float = 1.0

    def scores(self, engine: Engine, X, kinds, n_jobs, given, qid) -> Floats:
        """Return the scores of the rows `X`; `given` are these rows as the user passed them."""
        scores = engine.predict(self.booster, X, kinds, n_jobs)
        if self.start is not None:
            scores = scores + self.start_scale * self.start.predict(given, qid)
        return self.weight * scores

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


def spread(scores: Floats, part: Part) -> float:
    """Return the root mean square of scores around their query mean; 1 if it is zero."""
    weight = part.weight
    if weight is None or not weight.any():
        weight = np.ones(len(scores))
    queries = part.queries
    mean = queries.sum(weight * scores) / np.maximum(queries.sum(weight), np.finfo(float).tiny)
    within = scores - queries.repeat(mean)
    found = np.sqrt(weight @ within**2 / weight.sum())
    return float(found) if found > _ROUNDING * np.abs(scores).max() else 1.0


def grow_models(
    ranker: Any, engine: Engine, measure: Measure, part: Part, folds: list, valid: Part | None, rng
) -> list[Fitted]:
    """Return the fitted trees of each model.

    `folds` holds a mask of the rows to hold out of each model, or None. A model is stopped early
    on `valid`, or else on its held-out rows. Without `rng`, its seed is its number.
    """
    found = []
    for number, (aim, held) in enumerate(zip(aims_of(ranker), folds)):
        seed = number if rng is None else int(rng.randint(2**31 - 1))
        train, stop = (part, valid) if held is None else _parted(ranker, part, held, valid)
        # One fit at a time, so that at most two models are in memory.
        fits = _fits(ranker, engine, measure, aim, train, stop, seed, number)
        found.append(reduce(lambda best, fit: fit if fit.best > best.best else best, fits))
    return found


def _parted(ranker, part, held, valid):
    """Return the training rows, and the rows for early stopping or None."""
    fraction = ranker.validation_fraction
    if held.all() or not held.any():
        raise ValueError(
            f"validation_fraction={fraction!r} of n_samples={len(held)} rows must leave rows both "
            "to train on and to stop early on. Pass more rows, or set validation_fraction=None "
            "and n_estimators."
        )
    if valid is None and fraction:
        valid = part.take(held)
    return part.take(~held), valid


def _fits(ranker, engine, measure, aim, train, valid, seed, number) -> Iterator[Fitted]:
    """Yield the fit without start, then one for each shrinkage of the start."""
    settings = {"seed": seed} | {
        name: getattr(ranker, name) for name in ("learning_rate", "max_leaves", "n_jobs")
    }
    fit = Fit(
        engine=engine,
        params=engine.params(settings, ranker.engine_params or {}),
        problem=_boosted(measure, train, aim),
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
    """Return the part with labels for the objective of the engine, if there is one."""
    if part is None or not is_own(aim.loss):
        return part
    return part._replace(labels=grades_for(aim.loss, measure.labels(part.y)))


def _boosted(measure, part, aim):
    """Return the problem of the loss; for objectives of the engine, a similar one.

    In the second case it only scales the start.
    """
    own, queries = is_own(aim.loss), part.queries
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
