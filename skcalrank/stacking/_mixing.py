"""Choice of the held-out rows of a stack, and the weights of its rankers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..boosting import BoostedRanker, held_out
from ..data import Queries, Rows, tables
from ..data.types import Bools, Floats
from ..rankers import make_splits

# Share of the queries held out of each model that stops early, and its maximum over all models.
_FRACTION, _MOST = 0.2, 0.5


class Plan(NamedTuple):
    """Rows in an order that depends on their contents only, and what is held out of each ranker."""

    rows: Rows
    targets: Floats  # of the mixture
    folds: np.ndarray | None  # of each row, -1 if it trains every ranker; None if `cv` is given
    of_member: list[tuple[int, int]]  # first fold and number of folds; (0, 0) without early stops
    splits: list[tuple[np.ndarray, np.ndarray]]  # masks of the rows to train on and to score

    def held_out(self, mask: Bools) -> tuple[Queries, Floats | None]:
        """Return the queries and weights of the rows of a mask."""
        weight = self.rows.weight
        return Queries.from_qid(self.rows.codes[mask]), None if weight is None else weight[mask]


def make_plan(members: list, rows_of_fit, measure, targets: Floats, cv, qid, rng) -> Plan:
    """Return the plan for (name, ranker) pairs, and targets in grouped order."""
    X = rows_of_fit.X
    numbers = tables.rows_as_numbers(X)
    as_numbers = replace(rows_of_fit, X=numbers, table=None if numbers is X else X)
    rows = as_numbers.by_contents()
    targets = rows_of_fit.in_order(targets)[rows.numbers]
    if cv is not None:
        splits = [_masks(split, rows) for split in make_splits(cv, as_numbers, qid)]
        return Plan(rows, targets, None, [(0, 0)] * len(members), splits)
    alone = rows.queries.n_queries == 1
    counts = [0 if alone or not _stops_early(ranker) else ranker.n_models for _, ranker in members]
    n_folds = max(sum(counts), 1)
    folds = np.full(rows.n_rows, -1)
    drawn = held_out(rows, measure, min(_FRACTION, _MOST / n_folds), rng, n_folds)
    for number, mask in enumerate(drawn):
        folds[mask] = number
    if (folds >= 0).all() or (folds < 0).all():
        raise ValueError(
            f"n_samples={len(folds)} rows of n_queries={rows.queries.n_queries} are too few to "
            "hold some out for the weights of the mixture. Pass more queries, or fit one ranker "
            "alone."
        )
    starts = np.cumsum([0, *counts[:-1]])
    of_member = [(int(start), n) for start, n in zip(starts, counts)]
    return Plan(rows, targets, folds, of_member, [(folds < 0, folds >= 0)])


def _stops_early(ranker) -> bool:
    """Return whether a ranker holds out queries to stop its trees early."""
    by_itself = isinstance(ranker, BoostedRanker) and ranker.eval_set is None
    return by_itself and bool(ranker.validation_fraction)


def _masks(split, rows):
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
    weights = np.mean(list(_weights_of_folds(scores, plan)), axis=0)
    return weights if weights.any() else np.full(scores.shape[1], 1.0 / scores.shape[1])


def _weights_of_folds(scores, plan) -> Iterator[Floats]:
    """Yield the weights by each fold of held-out rows."""
    known = ~np.isnan(scores)
    if plan.folds is None:
        folds = [known.all(axis=1)]
    else:
        folds = [plan.folds == number for number in range(plan.folds.max() + 1)]
    for mask in folds:
        if mask.any():
            weights = np.zeros(scores.shape[1])
            members = known[mask].all(axis=0)
            weights[members] = _least_squares(plan, mask, scores[np.ix_(mask, members)])
            yield weights


def _least_squares(plan, mask, scores):
    """Return the non-negative weights by which centered scores come closest to the targets."""
    queries, weight = plan.held_out(mask)
    weight = np.ones(len(scores)) if weight is None else weight
    centered = queries.centered(np.column_stack([plan.targets[mask], scores]), weight)
    # The triangular factor gives the same solution, with one row for each ranker.
    triangle = np.linalg.qr(np.sqrt(weight)[:, None] * centered, mode="r")
    return nnls(triangle[:, 1:], triangle[:, 0])[0]
