"""Choice of the held-out rows of a stack, and the weights of its rankers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..boosting import adds_trees, check_fit_part, held_out, sums
from ..columns import arrays, tables
from ..columns.types import Bools, Floats, Ints
from ..data import EvalSet, Queries, Rows, has_method, workers_of_fit
from ..losses import Loss
from ..measures import Measure
from ..metrics import PreparedScore
from ..rankers import BaseRanker, check_partitions, make_splits
from ._chunks import fitted_together
from ._streamed import Streamed
from ._views import ranker_behind, stops_early

# Share of the queries held out of each model that stops early, and its maximum over all models.
_FRACTION, _MOST = 0.2, 0.5

# Scores and targets vary by rounding errors if they vary by less than this share of the largest.
ROUNDING = 1e-9

# Penalty on the squares of the weights, as a share of the curvature where they are 0: weights are
# finite where the order is perfect, and rankers that are the same share alike. The second one is
# that of a squared loss, whose weights are always finite.
_PENALTIES = 1e-3, 1e-9

# Decrease of the loss that ends Newton's method, as a share of the largest that there may be.
_PRECISION, _MOST_STEPS = 1e-16, 100


class Plan(NamedTuple):
    """Rows sorted by the names of queries, and what is held out of each ranker."""

    rows: Rows
    targets: Floats  # of the mixture
    folds: Any  # of each row, -1 if it trains every ranker; None if `cv` is given
    of_member: list[tuple[int, int]]  # first fold and number of folds; (0, 0) without early stops
    splits: list[tuple[np.ndarray, np.ndarray]]  # masks of the rows to train on and to score
    evals: dict[str, EvalSet]  # queries on which rankers of trees are stopped early
    of_targets: bool  # whether the labels of the rows are targets
    X: Any  # features of all rows as given, of which `rows.numbers` are those of the plan
    together: list[int]  # numbers of the rankers that are fitted in one pass over chunks of rows
    sampled: np.ndarray | None = None  # rows of `sample`, if X is `Streamed`
    sample: Any = None  # plan of the rows whose features are in memory

    @property
    def method(self) -> str:
        """Method that fits the rankers."""
        return "fit_targets" if self.of_targets else "fit"

    def held_out(self, mask: Bools) -> tuple[Queries, Floats | None]:
        """Return the queries and weights of the rows of a mask."""
        weight = self.rows.weight
        return Queries.from_qid(self.rows.codes[mask]), None if weight is None else weight[mask]


def make_plan(
    members: list[Any],
    rows_of_fit: Any,
    measure: Any,
    targets: Floats,
    cv: Any,
    qid: Any,
    seed: int,
    evals: dict[str, EvalSet],
    of_targets: bool,
) -> Plan:
    """Return the plan for (name, ranker) pairs, and targets in grouped order."""
    given = rows_of_fit.without_table()
    streamed = getattr(given.table, "table", None)
    streamed = streamed if isinstance(streamed, Streamed) else None
    rows = given if streamed is None else given.without_features()
    rows = rows if cv is not None else rows.weighted()
    alone = workers_of_fit().size == 1 and rows.queries.n_queries == 1
    together = [] if cv is not None or alone else fitted_together(members, given)
    if workers_of_fit().size > 1:
        _refuse_others([members[k] for k in range(len(members)) if k not in together], evals, cv)
    rows = rows.by_names(with_features=streamed is not None or len(together) < len(members))
    targets = given.in_order(targets)[rows.numbers]
    if cv is not None:
        splits = [_masks(split, rows) for split in make_splits(cv, given, qid)]
        of_member = [(0, 0)] * len(members)
        return Plan(rows, targets, None, of_member, splits, evals, of_targets, given.X, together)
    n_models = [
        0 if alone or evals or not stops_early(ranker) else ranker_behind(ranker).n_models
        for _, ranker in members
    ]
    most_rows = np.inf if streamed is None else streamed.most_rows
    # Of few queries, one fold is held out of all rankers, which stop early within the rest.
    for counts in (n_models, [0] * len(members)):
        folds, sampled = _folds(rows, measure, max(sum(counts), 1), seed, most_rows)
        of_workers = workers_of_fit().gather(((folds >= 0).all(), (folds >= 0).any()))
        all_held_out, any_held_out = zip(*of_workers)
        if not all(all_held_out) or sum(counts) <= 1:
            break
    if all(all_held_out) or not any(any_held_out):
        raise ValueError(
            f"n_samples={len(folds)} rows of n_queries={rows.queries.n_queries} are too few to "
            "hold some out for the weights of the mixture. Pass more queries, or fit one ranker "
            "alone."
        )
    of_member = [(int(start), n) for start, n in zip(np.cumsum([0, *counts[:-1]]), counts)]
    splits = [(folds < 0, folds >= 0)]
    X = given.X if streamed is None else streamed
    plan = Plan(rows, targets, folds, of_member, splits, evals, of_targets, X, together)
    if streamed is None:
        return plan
    # Linear views learn from chunks, and score held-out rows alone.
    return _with_sample(plan, folds >= 0 if len(together) == len(members) else sampled)


def _refuse_others(members: list[tuple[str, BaseRanker]], evals: dict[Any, Any], cv: Any) -> None:
    """Raise for rankers that workers cannot fit together, other than linear views."""
    if cv is not None:
        raise ValueError(
            f"cv must be None for dask collections, whose held-out queries are drawn by their "
            f"names, got {cv!r}: leave it out, or pass X.compute()."
        )
    others = []
    for name, ranker in members:
        if has_method(ranker, "merge"):
            check_partitions(ranker)
        elif not (adds_trees(ranker) and stops_early(ranker)):
            others.append(name)
        else:
            check_fit_part(ranker, False, None)
    if others:
        raise ValueError(
            "rankers must be linear views or closed forms such as NDCGRanker(), which learn from "
            "sums over the rows of all partitions, or a BoostedRanker with validation_fraction, "
            f"for dask collections, got {others}: leave these out, or pass X.compute()."
        )
    if evals:
        raise ValueError(
            "eval_set must be None for dask collections, because trees that are stopped on other "
            "queries would be fitted twice: leave it out, or pass X.compute()."
        )


def _with_sample(plan: Plan, sampled: Bools) -> Plan:
    """Return a plan with that of some of its rows, whose features are read."""
    rows, folds = plan.rows.take(sampled), plan.folds[sampled]
    X = plan.X.take(rows.numbers)
    rows = replace(rows, X=X, table=tables.EncodedTable(X, plan.X.encoder, X), numbers=None)
    splits = [(folds < 0, folds >= 0)]
    targets = plan.targets[sampled]
    sample = plan._replace(rows=rows, targets=targets, folds=folds, splits=splits, X=X)
    return plan._replace(sampled=np.flatnonzero(sampled), sample=sample)


def _folds(
    rows: Rows, measure: Any, n_folds: int, seed: int, most_rows: float
) -> tuple[Ints, Bools]:
    """Return the fold of each row, -1 if it is not held out, and a mask of about `most_rows` rows.

    The folds have their usual share of these rows, which are whole queries.
    """
    folds = np.full(rows.n_rows, -1)
    share, of_sample = min(_FRACTION, _MOST / n_folds), min(most_rows / rows.n_rows, 1.0)
    n_parts = n_folds if of_sample == 1.0 else max(int(1 / share), n_folds)
    drawn = held_out(rows, measure, share * of_sample, seed, n_parts)
    for number, mask in enumerate(drawn[:n_folds]):
        folds[mask] = number
    return folds, np.logical_or.reduce(drawn) | (of_sample == 1.0)


def _masks(split: Any, rows: Rows) -> tuple[Bools, Bools]:
    """Return masks of the rows to train on and of the rows to score."""
    train, test = np.zeros((2, rows.n_rows), dtype=bool)
    test[split.test] = True
    train[~test if split.train is None else split.train] = True
    return train[rows.numbers], test[rows.numbers]


# Number of held-out queries below which squares of the grades have the smaller errors.
FEW_QUERIES = 12


class HeldOut:
    """Held-out rows and their scores, of shape (n_rows, n_members).

    Scores are given as NaN for rows on which a ranker was trained, and count as 0 there.
    """

    def __init__(self, scores: Floats, plan: Plan) -> None:
        known: Bools = ~np.isnan(scores)
        mask: Any = known.any(axis=1)
        self.y, self.targets = plan.rows.y[mask], plan.targets[mask]
        self.queries, self.weight = plan.held_out(mask)
        self.known, self.scores = known[mask], np.where(known, scores, 0.0)[mask]
        folds = np.zeros(len(mask)) if plan.folds is None else plan.folds
        n_folds = max(1, *(first + n for first, n in plan.of_member))
        self.folds = [folds[mask] == number for number in range(n_folds)]

    def n_queries(self) -> int:
        """Return the number of held-out queries of all workers."""
        return int(workers_of_fit().total(lambda: self.queries.n_queries, sum))

    def weights(self, loss: Loss) -> Floats:
        """Return the weights >= 0 of the sum of scores at which the loss of all rows is smallest.

        If no ranker makes the loss smaller, all get the same weight.
        """
        n_members, derivatives = self.scores.shape[1], self._derivatives(loss)

        def of_all(weights: Floats) -> Any:
            return workers_of_fit().total(lambda: derivatives(weights), sums)

        weights = _minimizer(of_all, n_members, loss.family == "squared")
        return weights if weights.any() else np.full(n_members, 1.0 / n_members)

    def _derivatives(self, loss: Loss) -> Callable[[Floats], list[Floats]]:
        """Return the derivatives of the loss of these rows, as a function of the weights.

        They are the slopes, what these are sums of in absolute values, and the Hessian: exact for
        squares, else as if the curvatures of pairs were products.
        """
        queries, weight = self.queries, self.weight
        scores = queries.centered(self.scores, weight)
        sizes, varied = (np.abs(of).max(axis=0, initial=0.0) for of in (self.scores, scores))
        scores[:, varied <= ROUNDING * sizes] = 0.0
        # Rows count alike in short and in long queries.
        weight = loss.document_weights(queries, "documents", weight)
        of_scores = loss.prepare_derivatives(self.targets, queries, weight)
        # Products would count the pair of a document with itself, too.
        weight = np.ones(len(scores)) if weight is None else weight
        others = 1.0 - arrays.safe_divide(weight, queries.repeat(queries.sum(weight)))

        def derivatives(weights: Floats) -> list[Floats]:
            gradient, curvature = of_scores(scores @ weights)
            curvature = arrays.safe_divide(curvature, others)
            curved = curvature[:, None] * scores
            sums = queries.sum(curved)
            means = arrays.safe_divide(sums, queries.sum(curvature)[:, None])
            hessian = scores.T @ curved - sums.T @ means
            return [gradient @ scores, np.abs(gradient) @ np.abs(scores), hessian]

        return derivatives

    def measured(self, measure: Measure, weights: Floats) -> tuple[Floats, list[float]]:
        """Return the share of the folds that each ranker has scored, and values of the measure.

        These are of each ranker and, last, of the weighted sum. A ranker that has scored some folds
        is compared with the sum there: it gets the value of the sum plus this difference.
        """
        columns = np.column_stack([self.scores, self.scores @ weights])
        of_folds: list[Any] = workers_of_fit().total(
            lambda: [self._of_fold(fold, columns, measure) for fold in self.folds], sums
        )
        totals, counts, known = np.transpose(of_folds, (2, 0, 1))
        known = known > 0
        with np.errstate(invalid="ignore"):  # NaN where the measure is undefined
            gaps = (totals - known * totals[:, -1:]).sum(axis=0) / counts.sum(axis=0)
            values = totals[:, -1].sum() / counts[:, -1].sum() + gaps
        return (known.sum(axis=0) / known[:, -1].sum())[:-1], values.tolist()

    def _of_fold(self, fold: Bools, columns: Floats, measure: Measure) -> Floats:
        """Return the sum of a measure for each column, what to divide it by, and if it is known."""
        out = np.zeros((columns.shape[1], 3))
        out[:, 2] = known = np.append(self.known[fold].any(axis=0), fold.any())
        weight = None if self.weight is None else self.weight[fold]
        if (fold if weight is None else weight).any():
            queries = Queries.from_qid(self.queries.codes[fold])
            score = PreparedScore(measure, self.y[fold], queries, weight)
            out[known, :2] = [score.sums(column[fold]) for column in columns.T[known]]
        return out


def _minimizer(derivatives: Callable[[Floats], Any], size: int, is_square: bool) -> Floats:
    """Return the weights >= 0 at which a convex function with a small penalty is smallest.

    By Newton's method from 0; rounding errors count as 0. A square takes one step.
    """
    weights = np.zeros(size)
    slopes, sizes, hessian = derivatives(weights)
    units = np.where(np.diag(hessian) > 0, np.diag(hessian), 1.0)
    penalty, most = _PENALTIES[is_square] * units, float(sizes @ (sizes / units))
    for _ in range(_MOST_STEPS):
        factor: Any = np.linalg.cholesky(hessian + np.diag(penalty)).T
        slopes = slopes + penalty * weights
        aim = nnls(factor, factor @ weights - np.linalg.solve(factor.T, slopes))[0]
        down, length = float(slopes @ (aim - weights)), 1.0
        if is_square or down > -_PRECISION * most:
            break
        while True:
            reached = (1.0 - length) * weights + length * aim
            slopes, _, hessian = derivatives(reached)
            up = float((slopes + penalty * reached) @ (aim - weights))
            if up <= -down / 2:
                break
            length *= max(down / (down - up), 0.1)
        weights = reached
    return np.where((sizes > 0) & (aim * units > ROUNDING * sizes), aim, 0.0)
