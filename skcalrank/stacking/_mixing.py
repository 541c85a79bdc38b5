"""Fits of rankers that tell their scores of rows that they have not seen, and how to add these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import _safe_indexing

from ..boosting import held_out, part_of
from ..data import Floats, Queries, rows_as_numbers
from ..rankers import make_splits
from ._members import Rows, stops_early, within

# Share of the queries that is held out for each model that stops early, and for all of them.
_FRACTION, _MOST = 0.2, 0.5


class Plan(NamedTuple):
    """Rows in an order of their own, and which of them are held out of what.

    Attributes
    ----------
    rows : Rows
    targets : ndarray of shape (n_rows,)
    folds : ndarray of int of shape (n_rows,), or None
        Of one split: -1 for rows that train everything, else the fold that they are in.
    of_member : list of (int, int)
        Of one split: the first fold of each ranker that stops early, and how many it has; (0, 0)
        of others.
    splits : list of (ndarray of bool, ndarray of bool)
        Rows to train on and rows to score, of each split.
    """

    rows: Rows
    targets: Floats
    folds: np.ndarray | None
    of_member: list[tuple[int, int]]
    splits: list[tuple[np.ndarray, np.ndarray]]


def make_plan(members: list, problem, X, targets: Floats, cv, qid, rng) -> Plan:
    """Return rows and folds, for members of (name, ranker) and targets in grouped order."""
    numbers = rows_as_numbers(X)
    part = part_of(problem._replace(X=numbers), numbers)
    given = part.X if numbers is X else _safe_indexing(X, part.rows)
    rows = Rows(given, part.y, part.queries.codes, part.weight)
    targets = problem.queries.ungroup(targets)[part.rows]
    if cv is not None:
        place = np.argsort(part.rows)
        splits = [
            _masks(split, place) for split in make_splits(cv, problem._replace(X=numbers), qid)
        ]
        return Plan(rows, targets, None, [(0, 0)] * len(members), splits)
    alone = part.queries.n_queries == 1
    counts = [0 if alone or not stops_early(ranker) else ranker.n_models for _, ranker in members]
    n_folds = max(sum(counts), 1)
    folds = np.full(len(part.y), -1)
    drawn = held_out(part, problem.measure, min(_FRACTION, _MOST / n_folds), rng, n_folds)
    for number, held in enumerate(drawn):
        folds[held] = number
    if (folds >= 0).all() or (folds < 0).all():
        raise ValueError(
            f"n_samples={len(folds)} rows of n_queries={part.queries.n_queries} leave none to "
            "learn from when some are held out to learn how to mix: pass more queries, or one "
            "ranker alone."
        )
    starts = np.cumsum([0, *counts[:-1]])
    of_member = [(int(start), n) for start, n in zip(starts, counts)]
    return Plan(rows, targets, folds, of_member, [(folds < 0, folds >= 0)])


def _masks(split, place):
    """Return the rows to train on and to score of a split, in another order."""
    test = np.zeros(len(place), dtype=bool)
    test[place[split.test]] = True
    if split.train is None:
        return ~test, test
    train = np.zeros(len(place), dtype=bool)
    train[place[split.train]] = True
    return train, test


def weights_of(scores: Floats, plan: Plan) -> Floats:
    """Return non-negative weights under which held-out scores add up to the targets.

    Each fold of held-out rows has least squares of its own over the rankers that were not trained
    on it, whose weights are averaged over the folds. Where none is positive, all count alike.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_members)
        NaN where a ranker was trained on the row.
    """
    found = [_least_squares(*each, plan) for each in _folds(scores, plan)]
    weights = np.mean(found, axis=0)
    return weights if weights.any() else np.full(scores.shape[1], 1.0 / scores.shape[1])


def _folds(scores, plan) -> Iterator[tuple[np.ndarray, np.ndarray, Floats]]:
    """Yield rows, and the rankers that were not trained on them."""
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
    # The triangle has the same least squares, and as few rows as there are rankers.
    triangle = np.linalg.qr(np.sqrt(weight)[:, None] * centered, mode="r")
    out = np.zeros(scores.shape[1])
    out[there] = nnls(triangle[:, 1:], triangle[:, 0])[0]
    return out
