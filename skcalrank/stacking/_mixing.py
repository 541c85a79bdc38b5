"""Choice of the held-out rows of a stack, and the weights of its rankers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import _safe_indexing

from ..boosting import held_out, part_of
from ..data import Floats, Queries, rows_as_numbers
from ..rankers import make_splits
from ._members import Rows, stops_early, within

# Share of the queries held out of each model that stops early, and its maximum over all models.
_FRACTION, _MOST = 0.2, 0.5


class Plan(NamedTuple):
    """Rows in an order that depends on their contents only, and the rows held out of each ranker.

    Attributes
    ----------
    rows : Rows
    targets : ndarray of shape (n_rows,)
        Targets of the mixture.
    folds : ndarray of int of shape (n_rows,), or None
        Held-out fold of each row, -1 for rows that train every ranker; None if `cv` is given.
    of_member : list of (int, int)
        For each ranker that stops early, its first fold and the number of its folds; (0, 0) for
        other rankers.
    splits : list of (ndarray of bool, ndarray of bool)
        Masks of the rows to train on and of the rows to score, for each split.
    """

    rows: Rows
    targets: Floats
    folds: np.ndarray | None
    of_member: list[tuple[int, int]]
    splits: list[tuple[np.ndarray, np.ndarray]]


def make_plan(members: list, rows_of_fit, measure, targets: Floats, cv, qid, rng) -> Plan:
    """Return the plan for (name, ranker) pairs, and targets in grouped order."""
    X = rows_of_fit.X
    numbers = rows_as_numbers(X)
    as_numbers = replace(rows_of_fit, X=numbers)
    part = part_of(as_numbers, numbers)
    given = part.X if numbers is X else _safe_indexing(X, part.rows)
    rows = Rows(given, part.y, part.queries.codes, part.weight)
    targets = rows_of_fit.in_order(targets)[part.rows]
    if cv is not None:
        place = np.argsort(part.rows)
        splits = [_masks(split, place) for split in make_splits(cv, as_numbers, qid)]
        return Plan(rows, targets, None, [(0, 0)] * len(members), splits)
    alone = part.queries.n_queries == 1
    counts = [0 if alone or not stops_early(ranker) else ranker.n_models for _, ranker in members]
    n_folds = max(sum(counts), 1)
    folds = np.full(len(part.y), -1)
    drawn = held_out(part, measure, min(_FRACTION, _MOST / n_folds), rng, n_folds)
    for number, held in enumerate(drawn):
        folds[held] = number
    if (folds >= 0).all() or (folds < 0).all():
        raise ValueError(
            f"n_samples={len(folds)} rows of n_queries={part.queries.n_queries} are too few to "
            "hold some out for the weights of the mixture. Pass more queries, or fit one ranker "
            "alone."
        )
    starts = np.cumsum([0, *counts[:-1]])
    of_member = [(int(start), n) for start, n in zip(starts, counts)]
    return Plan(rows, targets, folds, of_member, [(folds < 0, folds >= 0)])


def _masks(split, place):
    """Return the two masks of a split, in the order of the plan."""
    test = np.zeros(len(place), dtype=bool)
    test[place[split.test]] = True
    if split.train is None:
        return ~test, test
    train = np.zeros(len(place), dtype=bool)
    train[place[split.train]] = True
    return train, test


def weights_of(scores: Floats, plan: Plan) -> Floats:
    """Return the non-negative weights of the rankers, by least squares on held-out scores.

    Weights are fitted for each fold of held-out rows, over the rankers not trained on it, and
    averaged over the folds. If none is positive, all rankers get the same weight.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_members)
        Scaled scores; NaN if the ranker was trained on the row.
    plan : Plan

    Returns
    -------
    weights : ndarray of shape (n_members,)
    """
    found = [_least_squares(*each, plan) for each in _folds(scores, plan)]
    weights = np.mean(found, axis=0)
    return weights if weights.any() else np.full(scores.shape[1], 1.0 / scores.shape[1])


def _folds(scores, plan) -> Iterator[tuple[np.ndarray, np.ndarray, Floats]]:
    """Yield masks of the rows of a fold and of the rankers not trained on them, and `scores`."""
    if plan.folds is None:
        folds = [~np.isnan(scores).any(axis=1)]
    else:
        folds = [plan.folds == number for number in range(plan.folds.max() + 1)]
    for rows in folds:
        if rows.any():
            yield rows, ~np.isnan(scores[rows]).any(axis=0), scores


def _least_squares(rows, there, scores, plan):
    queries = Queries.from_qid(plan.rows.codes[rows])
    weight = plan.rows.weight
    weight = np.ones(int(rows.sum())) if weight is None else weight[rows]
    columns = [plan.targets[rows], *scores[np.ix_(rows, there)].T]
    centered = np.column_stack([within(each, queries, weight) for each in columns])
    # The triangular factor gives the same solution, with one row for each ranker.
    triangle = np.linalg.qr(np.sqrt(weight)[:, None] * centered, mode="r")
    out = np.zeros(scores.shape[1])
    out[there] = nnls(triangle[:, 1:], triangle[:, 0])[0]
    return out
