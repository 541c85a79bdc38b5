"""Choice of the held-out rows of a stack, and the weights of its rankers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..boosting import BoostedRanker, check_fit_part, held_out
from ..data import EvalSet, Queries, Rows, has_method, tables, workers_of_fit
from ..data.types import Bools, Floats, Ints
from ..rankers import BaseRanker, check_partitions, make_splits
from ._chunks import fitted_together
from ._streamed import Streamed
from ._views import ranker_behind, stops_early

# Share of the queries held out of each model that stops early, and its maximum over all models.
_FRACTION, _MOST = 0.2, 0.5

# Scores and targets vary by rounding errors if they vary by less than this share of the largest.
ROUNDING = 1e-9

# Distance of two columns of length one below which they differ by rounding errors.
_SAME = 1e-5


class Plan(NamedTuple):
    """Rows sorted by the names of queries, and what is held out of each ranker."""

    rows: Rows
    targets: Floats  # of the mixture
    folds: Any  # of each row, -1 if it trains every ranker; None if `cv` is given
    of_member: list[tuple[int, int]]  # first fold and number of folds; (0, 0) without early stops
    splits: list[tuple[np.ndarray, np.ndarray]]  # masks of the rows to train on and to score
    evals: dict[str, EvalSet]  # queries on which rankers of trees are stopped early
    method: str  # of the rankers, "fit", or "fit_targets" if the labels of the rows are targets
    X: Any  # features of all rows as given, of which `rows.numbers` are those of the plan
    together: list[int]  # numbers of the rankers that are fitted in one pass over chunks of rows
    sampled: np.ndarray | None = None  # rows of `sample`, if X is `Streamed`
    sample: Any = None  # plan of the rows whose features are in memory

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
    method: str,
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
        return Plan(rows, targets, None, of_member, splits, evals, method, given.X, together)
    counts = [
        0 if alone or evals or not stops_early(ranker) else ranker_behind(ranker).n_models
        for _, ranker in members
    ]
    most_rows = np.inf if streamed is None else streamed.most_rows
    folds, sampled = _folds(rows, measure, max(sum(counts), 1), seed, most_rows)
    all_held_out, any_held_out = _amount_of(folds)
    if all_held_out and sum(counts) > 1:
        # Of so few queries, one fold is held out of all rankers, which stop early within the rest.
        counts = [0] * len(members)
        folds, sampled = _folds(rows, measure, 1, seed, most_rows)
        all_held_out, any_held_out = _amount_of(folds)
    if all_held_out or not any_held_out:
        raise ValueError(
            f"n_samples={len(folds)} rows of n_queries={rows.queries.n_queries} are too few to "
            "hold some out for the weights of the mixture. Pass more queries, or fit one ranker "
            "alone."
        )
    starts = np.cumsum([0, *counts[:-1]])
    of_member = [(int(start), n) for start, n in zip(starts, counts)]
    splits = [(folds < 0, folds >= 0)]
    X = given.X if streamed is None else streamed
    plan = Plan(rows, targets, folds, of_member, splits, evals, method, X, together)
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
        elif type(ranker) is not BoostedRanker or not stops_early(ranker):
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
    table = tables.EncodedTable(X, plan.X.encoder, X)
    rows = replace(rows, X=X, table=table, numbers=None)
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


def _amount_of(folds: Ints) -> tuple[bool, bool]:
    """Return whether all rows of all workers are held out, and whether any is."""
    all_of, any_of = zip(*workers_of_fit().gather(((folds >= 0).all(), (folds >= 0).any())))
    return all(all_of), any(any_of)


def _masks(split: Any, rows: Rows) -> tuple[Bools, Bools]:
    """Return masks of the rows to train on and of the rows to score."""
    test = np.zeros(rows.n_rows, dtype=bool)
    test[split.test] = True
    train = ~test
    if split.train is not None:
        train[:] = False
        train[split.train] = True
    return train[rows.numbers], test[rows.numbers]


def weights_of(scores: Floats, plan: Plan) -> Floats:
    """Return the non-negative weights of the rankers, by least squares on held-out scores.

    Weights are fitted for each fold of held-out rows, over the rankers not trained on it, and
    averaged over the folds. If none is positive, all rankers get the same weight. Scores of shape
    (n_rows, n_members) are NaN if the ranker was trained on the row.
    """
    folds = workers_of_fit().total(lambda: _held_out_folds(scores, plan), _of_several)
    weights = np.mean([fold.weights() for fold in folds if fold.has_rows], axis=0)
    return weights if weights.any() else np.full(scores.shape[1], 1.0 / scores.shape[1])


class _Fold(NamedTuple):
    """A fold of held-out rows.

    * `members` (n_members,): rankers that have scored all of these rows.
    * `triangle` (n_terms, 1 + n_members): triangular factor of the targets beside the scores,
      centered and weighted.
    """

    has_rows: bool
    members: Bools
    triangle: Floats

    def weights(self) -> Floats:
        """Return the non-negative weights by which the scores come closest to the targets.

        Rankers whose scores are the same but for a factor share alike: rounding would choose one.
        """
        scores = self.triangle[:, 1:][:, self.members]
        sizes = np.linalg.norm(scores, axis=0)
        sizes[sizes == 0] = 1.0
        units = scores / sizes
        is_same = np.linalg.norm(units[:, :, None] - units[:, None, :], axis=0) < _SAME
        first, of_first, counts = np.unique(
            is_same.argmax(axis=1), return_inverse=True, return_counts=True
        )
        targets = self.triangle[:, 0]
        shares = nnls(units[:, first], targets)[0] / counts
        # What the order of the rows rounds to 0 or to more would decide between all and none.
        shares[shares <= ROUNDING * np.linalg.norm(targets)] = 0.0
        out = np.zeros(len(self.members))
        out[self.members] = shares[of_first] / sizes
        return out


def _held_out_folds(scores: Floats, plan: Plan) -> list[_Fold]:
    """Return the folds of held-out rows."""
    known = ~np.isnan(scores)
    if plan.folds is None:
        masks = [known.all(axis=1)]
    else:
        n_folds = max(1, *(first + n for first, n in plan.of_member))
        masks = [plan.folds == number for number in range(n_folds)]
    return [_fold(plan, mask, scores[mask], known[mask].all(axis=0)) for mask in masks]


def _fold(plan: Plan, mask: Any, scores: Floats, members: Any) -> _Fold:
    """Return the fold of the rows of a mask."""
    queries, weight = plan.held_out(mask)
    weight = np.ones(len(scores)) if weight is None else weight
    columns = np.column_stack([plan.targets[mask], np.where(members, scores, 0.0)])
    centered = queries.centered(columns, weight)
    largest, varied = (np.abs(of).max(axis=0, initial=0.0) for of in (columns, centered))
    centered[:, varied <= ROUNDING * largest] = 0.0
    # The triangular factor gives the same solution, with one row for each ranker.
    triangle: Any = np.linalg.qr(np.sqrt(weight)[:, None] * centered, mode="r")
    return _Fold(bool(mask.any()), members, triangle)


def _of_several(parts: Sequence[list[_Fold]]) -> list[_Fold]:
    """Return the folds of the rows of all workers."""
    return [_joined(folds) if len(folds) > 1 else folds[0] for folds in zip(*parts)]


def _joined(folds: Any) -> Any:
    has_rows, members, triangles = zip(*folds)
    triangle: Any = np.linalg.qr(np.vstack(triangles), mode="r")
    return _Fold(any(has_rows), np.logical_and.reduce(members), triangle)
