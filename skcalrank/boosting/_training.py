"""Training of the models of a BoostedRanker: what each boosts, its rounds, and its start."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from ..columns import hash_rows
from ..columns.types import Array, Bools, Floats
from ..data import NotAMeanWarning, Rows, say, warn, workers_of_fit
from ..losses import get_loss
from ..measures import Measure, OfTargets
from ..metrics import PreparedScore
from ..trees import TREE_OPTIONS, Engine, Growing, Rounds, Task, Values, is_objective, threads
from ._constraints import Columns, interactions, monotonic
from ._engine_checks import grades_for
from ._model import Model
from ._objectives import Problem, make_problem

# Shrinkages of the start scores that are tried, besides 0 (no start).
_SHRINKAGES = (0.5, 1.0)

# Largest difference of the measure between workers that have the same trees, where rounding makes
# or breaks ties.
_ROUNDING = 0.01

# Least rows of a leaf, one after the other, where those of the libraries, 20, leave no split.
_SMALLER_LEAVES = (10, 5, 2, 1)

# Log-odds beyond this size are probabilities of 0 or 1 in double precision.
_LARGEST_ODDS = 30.0

# Number of rows above which a fold holds no larger share: their mean hardly gains from more.
_MOST_HELD_OUT = 200_000

# Columns are unlike where their distribution functions are so far apart, over a sample of rows.
_UNLIKE, _ENOUGH_QUERIES, _SAMPLED = 0.4, 20, 5000

# Loss, targets and query weight of every second model.
_SQUARES = ("pairwise_squared", "grades", "documents")


def categories_of(ranker: Any) -> list[int]:
    """Return the numbers of the columns of the matrix that hold codes of categories."""
    return [] if ranker.encoder_ is None else ranker.encoder_.categorical_


def grow_models(
    ranker: Any,
    engine: Engine,
    measure: Measure,
    rows: Rows,
    masks: Sequence[Any],
    evals: dict[str, Any],
    seed: int,
    callbacks: Sequence[Any],
) -> list[Model]:
    """Return the models of a ranker.

    `masks` holds a mask of the rows to hold out of each model, or None. A model is stopped early
    on the last of `evals`, rows by name, or else on its held-out rows. Its seed is `seed` and its
    number.
    """
    models: list[Model] = []
    columns = Columns.of(ranker)
    settings = {name: getattr(ranker, name) for name in TREE_OPTIONS} | {
        "monotonic_cst": monotonic(ranker.monotonic_cst, columns),
        "interaction_cst": interactions(ranker.interaction_cst, columns),
    }
    # Rows of an eval_set have labels, also where targets are learned.
    has_labels = bool(evals) and isinstance(measure, OfTargets)
    stopped_by: Any = measure.measure if has_labels else measure  # type: ignore[attr-defined]
    for number, mask in enumerate(masks):
        train, followed = (rows, evals) if mask is None else _split(ranker, rows, mask)
        train, share = train.shared(), ranker.subsample
        if share is not None and share * train.n_rows < 1:
            raise ValueError(f"subsample must keep a row of {train.n_rows}, got {share!r}.")
        scores = {name: _score_of(stopped_by, stop) for name, stop in followed.items()}
        n_jobs = threads(ranker.n_jobs, train.X.size)
        of_model = settings | {"random_state": (seed + number) % 2**31, "n_jobs": n_jobs}
        sets = train, list(followed.values()), scores
        training = _Training(ranker, engine, of_model, measure, number, *sets, callbacks)
        # One at a time, so that at most two are in memory.
        models.append(reduce(lambda a, b: b if b.best > a.best else a, training.models()))
    return models


def held_out(rows: Rows, measure: Measure, share: float, seed: int, n_folds: int) -> list[Bools]:
    """Return a mask of held-out rows for each fold: whole queries, or rows of a single query.

    Among the queries with different labels on which the measure is defined, at least one is held
    out and at least one is not; a fold has about 200,000 rows at most.
    """
    labels, queries = measure.labels(rows.y), rows.queries
    informative = queries.max(labels) + queries.max(-labels) > 0
    if rows.weight is not None:
        informative &= queries.max(rows.weight) > 0
    informative &= ~measure.undefined(labels, queries)
    share = min(share, _MOST_HELD_OUT / workers_of_fit().reduce(rows.n_rows, sum))
    return rows.held_out(share, seed, n_folds=n_folds, informative=informative)


def warn_of_training_queries(
    name: str, rows: Rows, training: Rows, has_labels: bool, is_one_of_several: bool
) -> None:
    """Warn if most queries of an evaluation set are in the training rows, row by row.

    Labels are compared too, if the training rows have labels and not targets.
    """

    def keys(rows: Rows) -> Array:
        of_row = rows.queries.group(hash_rows(rows.X))
        if has_labels:
            of_row += hash_rows(rows.y[:, None]) << np.uint64(1)
        # Without the square, values that two rows of a query exchange would not change the sum.
        return rows.queries.sum(of_row**2)

    known = workers_of_fit().reduce(np.isin(keys(rows), keys(training)), np.logical_or.reduce)
    if 2 * known.sum() > len(known):
        remedy = (
            "Pass other queries, or leave eval_set out: a share of the queries is then held out."
        )
        if is_one_of_several:
            remedy = "The last set stops the training: put validation queries last."
        # Numbers in the text would repeat the warning for each fit of a stack or search.
        warn(
            f"Most queries of eval_set {name!r} are queries of fit, row by row, so that training "
            f"stops on what it has learned by heart. {remedy}",
            UserWarning,
        )


def warn_of_other_columns(name: str, rows: Rows, training: Rows) -> None:
    """Warn if most columns of an evaluation set are distributed unlike those of the training rows.

    Columns of a query need many queries to tell.
    """
    sets, enough = (rows, training), min(of.queries.n_queries for of in (rows, training))
    if enough < _ENOUGH_QUERIES or any(issparse(of.X) for of in sets):
        return
    some = (of.X[:: 1 + of.n_rows // _SAMPLED].T for of in sets)
    distances = np.array([_distance(*columns) for columns in zip(*some)])
    if (distances > _UNLIKE).mean() > 0.5:
        warn(
            f"Most columns of eval_set {name!r} have other values than in X, as if a step before "
            "the ranker had transformed X only. QueryPipeline transforms eval_set; with Pipeline "
            'pass X_val=, y_val=, qid_val=, and transform_input=["X_val"]. If the queries come '
            "from elsewhere on purpose, filter this warning."
        )


def _distance(values: Floats, others: Floats) -> float:
    """Return the largest distance of two empirical distribution functions, without missing values.

    0 if all values of one are missing.
    """
    both = [np.sort(column[~np.isnan(column)]) for column in (values, others)]
    if not all(map(len, both)):
        return 0.0
    at = np.concatenate(both)
    one, other = (np.searchsorted(column, at, side="right") / len(column) for column in both)
    return float(np.abs(one - other).max())


def _split(ranker: Any, rows: Rows, mask: Bools) -> tuple[Rows, dict[str, Rows]]:
    """Return the training rows, and the held-out rows by name."""
    fraction = ranker.validation_fraction
    n_out, n_in = workers_of_fit().reduce((mask.sum(), (~mask).sum()), sums)
    if not n_in or not n_out:
        raise ValueError(
            f"validation_fraction={fraction!r} of n_samples={n_in + n_out} rows must leave rows "
            "both to train on and to stop early on. Pass more rows, or set "
            "validation_fraction=None and n_estimators."
        )
    return rows.take(~mask), {"validation": rows.take(mask).of_all()} if fraction else {}


def sums(values: list[tuple[Any, ...]]) -> list[Any]:
    return [sum(numbers) for numbers in zip(*values)]


def _joined(sets: list[Rows]) -> Rows | None:
    """Return the rows of several sets, one after the other, or None without any."""
    if len(sets) < 2:
        return sets[0] if sets else None
    are_sparse = [issparse(rows.X) for rows in sets]
    if any(are_sparse) != all(are_sparse):
        raise ValueError("X of the sets of eval_set must all be sparse, or none, got both.")
    return Rows.joined([replace(rows, weight=None) for rows in sets])


@dataclass(eq=False)
class _Training:
    """Training of one model, on `train`, with early stopping on the last of `followed`, if any.

    The first model and every second boost the loss of the ranker, the others squares of grades.
    """

    ranker: Any
    engine: Engine
    settings: dict[str, Any]
    measure: Measure
    number: int
    train: Rows
    followed: list[Rows]
    scores: dict[str, Any]
    callbacks: Sequence[Any]

    def __post_init__(self) -> None:
        ranker, train = self.ranker, self.train
        self.ends = np.cumsum([rows.n_rows for rows in self.followed], dtype=np.intp)[:-1]
        self.params = self.engine.params(self.settings, ranker.engine_params or {})
        loss, targets, query_weight = ranker.loss, ranker.targets, ranker.query_weight
        if self.number % 2:
            loss, targets, query_weight = _SQUARES
        # Name of an objective of the engine. The problem, a similar one, then scales the start.
        self.objective = loss if is_objective(loss) else None
        if self.objective is not None:
            loss, query_weight = "pairwise_logistic", None
        self.problem = _problem(self.measure, train, get_loss(loss), targets, query_weight)

    def models(self) -> Iterator[Model]:
        """Yield the model without start, then one for each shrinkage of the start."""
        yield self._grow()
        if self.ranker.start is None:
            return
        train = self.train
        weights = {} if train.weight is None else {"sample_weight": train.weight}
        start = clone(self.ranker.start)
        fit = start.fit_targets if isinstance(self.measure, OfTargets) else start.fit
        fit(train.as_given(), train.y, train.qid, **weights)
        own, *others = [
            start.predict(rows.as_given(), rows.qid) for rows in (train, *self.followed)
        ]
        scores = own, np.concatenate(others)
        scale = _best_scale(self.problem, own)
        for shrinkage in _SHRINKAGES if scale else ():
            yield self._grow(start, shrinkage * scale, scores)

    def _grow(self, start: Any = None, scale: float = 0.0, scores: Any = (None, None)) -> Model:
        """Return trees added to `scale` times the scores of `start`, or to 0 without a start.

        Where no tree finds a split, smaller leaves are tried, unless the user has set their size.
        """
        trees, least = (start, scale, scores), self.settings["min_samples_leaf"]
        model, params = self._trees(*trees), self.params
        if start is not None or self._splits(model.booster):
            return model
        gradient, _ = self.problem.derivatives(np.zeros(self.train.n_rows))
        if not workers_of_fit().reduce(gradient.any(), any):
            return model  # labels have no order
        for leaf in _SMALLER_LEAVES if least is None else ():
            settings = self.settings | {"min_samples_leaf": leaf}
            self.params = self.engine.params(settings, self.ranker.engine_params or {})
            smaller = self._trees(*trees)
            if self._splits(smaller.booster):
                return smaller
        self.params = params
        warn(
            f"Trees found no split of {self.train.n_rows} rows to train on with "
            f"min_samples_leaf={_SMALLER_LEAVES[-1] if least is None else least}, and predict one "
            "value: pass smaller leaves, more queries, or columns that differ within queries.",
            NotAMeanWarning,
        )
        return model

    def _splits(self, booster: Any) -> bool:
        """Return whether a tree has a split."""
        return self.engine.splits(booster, self.train.X, categories_of(self.ranker))

    def _trees(self, start: Any, scale: float, scores: Any) -> Model:
        with self.engine.connected(workers_of_fit()) as network:
            objective = self._derivatives if self.objective is None else self.objective
            rows = self._labeled(self.train), self._labeled(_joined(self.followed))
            starts = [None if values is None else scale * values for values in scores]
            kinds = categories_of(self.ranker)
            task = Task(self.params | network, objective, kinds, *rows, starts)
            trees = self.engine.growing(self.engine, task)
            try:
                n_rounds, values = self._rounds(trees)
                curves = {name: np.array(of) for name, of in values.items()}
                last = list(curves.values())[-1] if curves else np.zeros(0)
                return Model(trees.cut(n_rounds), n_rounds, last, start, scale, curves)
            finally:
                trees.close()

    def _derivatives(self, scores: Floats) -> tuple[Floats, Floats]:
        derivatives = self.problem.derivatives(scores)
        # The libraries would wait for a worker without end that has failed up to here.
        workers_of_fit().gather(None)
        return derivatives

    def _labeled(self, rows: Rows | None) -> Rows | None:
        """Return rows with the labels that an objective of the engine reads."""
        if rows is None or self.objective is None:
            return rows
        return replace(rows, y=grades_for(self.objective, self.measure.labels(rows.y)))

    def _rounds(self, trees: Growing) -> tuple[int, Values]:
        """Grow trees; return the best number of rounds, and the values after each round.

        Without validation it is the number of all rounds.
        """
        values: Values = {name: [] for name in self.scores}
        best, n_best, since = -np.inf, 1, 0
        n_rounds, measure = self.ranker.n_estimators, self.measure.full_name
        rounds = Rounds()
        if self.callbacks:
            options = self.engine.module, self.params, n_rounds
            rounds = self.engine.rounds(self.callbacks, trees.model, measure, *options)
        for number in range(1, n_rounds + 1):
            if rounds.before(number - 1) and number > 1:
                break
            trees.grow()
            latest = self._follow(trees, values)
            self._tell(number, values)
            stops = rounds.after(number - 1, values)
            if latest is None or latest > best:
                best = best if latest is None else latest
                n_best, since = trees.n_rounds(), number
            elif number - since >= self.ranker.n_iter_no_change:
                break
            if stops:
                break
        rounds.end()
        return self._agreed(n_best, "the best round"), values

    def _follow(self, trees: Growing, values: dict[str, list[float]]) -> float | None:
        """Add the values after the last round; return that of the last set, None without sets."""
        if not values:
            return None
        parts = np.split(trees.followed(), self.ends)
        latest = [score(part) for score, part in zip(self.scores.values(), parts)]
        for name, value in zip(values, self._agreed(latest, "the measure")):
            values[name].append(value)
        return values[name][-1]

    def _agreed(self, value: Any, what: str) -> Any:
        """Return the value of the first worker, from which those of others differ by rounding."""
        values = workers_of_fit().gather(value)
        close: dict[str, Any] = {"rtol": _ROUNDING, "atol": _ROUNDING, "equal_nan": True}
        if len(values) > 1 and not np.allclose(values, values[0], **close):
            raise RuntimeError(
                f"{what} must be equal on all workers, got {values}: they grow different trees. "
                "Check that all of them have the same versions of the libraries."
            )
        return values[0]

    def _tell(self, number: int, values: dict[str, list[float]]) -> None:
        every = workers_of_fit().rank == 0 and int(self.ranker.verbose)
        if every and number % every == 0:
            told = f"model {self.number + 1} " if self.ranker.n_models > 1 else ""
            told += f"round {number}"
            for name, of_set in values.items():
                title = f"{name} " if len(values) > 1 else ""
                told += f"  {title}{self.measure.full_name} {of_set[-1]:.5f}"
            say(told)


def _problem(measure: Measure, rows: Rows, loss: Any, targets: str, query_weight: Any) -> Problem:
    """Return the problem with weights scaled to a mean curvature of 1 at scores of 0.

    Options of the libraries that are compared with sums of curvatures then count documents.
    """
    values = _targets(measure, rows, targets)
    problem = make_problem(measure, loss, values, rows.queries, rows.weight, query_weight)
    _, curvature = problem.steady(np.zeros(len(values)))
    used = curvature if rows.weight is None else curvature[rows.queries.group(rows.weight) > 0]
    total, n = workers_of_fit().reduce((used.sum(), len(used)), sums)
    mean = total / n if n else 0.0
    if not mean > np.finfo(np.float64).tiny:
        return problem
    weight = np.ones(len(curvature)) if problem.weight is None else problem.weight
    return replace(problem, weight=weight / mean)


def _targets(measure: Measure, rows: Rows, targets: str) -> Floats:
    labels = measure.labels(rows.y)
    if targets == "grades":
        return labels
    if targets == "separable":
        return measure.separable_targets(labels)
    if measure.has_score_targets():
        return measure.score_targets(labels, rows.queries)
    return rows.y - rows.y.min()  # with an objective of the engine


def _score_of(measure: Measure, rows: Rows) -> Callable[[Floats], float]:
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
    loss = problem.loss
    spread = float(scores.max() - scores.min())

    def slope(factor: float) -> float:
        given = problem.targets, factor * scores, problem.queries, problem.weight
        _, gradient = loss.value_and_gradient(*given)
        return float(gradient @ scores)

    if spread == 0 or slope(0.0) >= 0:
        return 0.0
    most = np.inf if loss.family == "squared" else _LARGEST_ODDS / spread
    high = 1.0 / spread
    while slope(high) < 0 and high < most:
        high = min(2.0 * high, most)
    return high if slope(high) < 0 else float(brentq(slope, 0.0, high, rtol=1e-6))
