"""Cross-validated ridge regression of ranking targets from the moments of folds.

The training moments of a split are merged from those of the other folds, so all splits together
cost one pass over the rows. Each penalty then costs a matrix product and the measure.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import KFold

from .._solvers import (
    Moments,
    merge_all,
    product_of_rows,
    ridge_path,
)
from ..data import (
    CACHE_CELLS,
    KEPT_CELLS,
    PART_CELLS,
    CutQueriesWarning,
    Queries,
    Ranked,
    each,
    warn,
)
from ._problem import Problem, moments_of


class Split(NamedTuple):
    """Rows to score, and rows to train on (None means all other rows)."""

    test: np.ndarray
    train: np.ndarray | None


# -- splits --------------------------------------------------------------------------------


def make_splits(cv, problem: Problem, qid) -> list[Split]:
    """Return the splits of a splitter or list, or folds of queries (of rows, if one query)."""
    X, n_rows = problem.X, problem.X.shape[0]
    y = problem.queries.ungroup(problem.y)
    y = y if problem.n_items is None else y.reshape(n_rows, -1)
    if cv is None or isinstance(cv, Integral):
        cv = _default_folds(cv, problem)
    elif isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ValueError(
            f"cv must be a number of folds, a splitter or a list of (train, test), got {cv!r}."
        )
    elif hasattr(cv, "split"):
        cv = cv.split(X, y, groups=qid)
    splits = [_check_split(part, n_rows) for part in cv]
    if not splits:
        raise ValueError("cv must yield at least one split, got none.")
    return splits


def _default_folds(n_splits, problem):
    """Return pairs (train, test) of folds of queries, or of rows if there is one query."""
    of_rows = problem.n_items is not None or problem.queries.n_queries == 1
    n_units = problem.X.shape[0] if of_rows else problem.queries.n_queries
    n_splits = min(5, n_units) if n_splits is None else n_splits
    if not 2 <= n_splits <= n_units:
        raise ValueError(
            f"cv must be between 2 and the number of {'rows' if of_rows else 'queries'}, {n_units} "
            f"(n_samples={problem.X.shape[0]}), got {n_splits}."
        )
    queries = problem.queries
    key, unit = _contents(problem), np.arange(problem.X.shape[0])
    if not of_rows:
        key, unit = queries.sum(queries.group(key)), queries.codes
    return list(_folds_by(key, unit, n_splits))


def _folds_by(key, unit, n_splits):
    """Yield training and test rows of folds of units, assigned in the order of their keys."""
    by_key = np.argsort(key, kind="stable")
    for _, test in KFold(n_splits).split(by_key):
        tested = np.zeros(len(key), dtype=bool)
        tested[by_key[test]] = True
        yield np.flatnonzero(~tested[unit]), np.flatnonzero(tested[unit])


def _contents(problem):
    """Return a number for each row that depends on its values and not on its place."""
    X, n_rows = problem.X, problem.X.shape[0]
    beside = [problem.queries.ungroup(problem.y).reshape(n_rows, -1)]
    if problem.weight is not None:
        beside.append(problem.weight[:, None])
    # The hash of a query is the sum over its rows; all sums are integers modulo 2**64.
    factors = np.random.RandomState(0).randint(1, 2**63 - 1, X.shape[1] + 1000).astype(np.uint64)
    values = np.hstack(beside)
    out = _bits(values) @ np.resize(factors[X.shape[1] :], values.shape[1])
    factors = factors[: X.shape[1]]
    if issparse(X):
        sums = np.append(np.uint64(0), (_bits(X.data) * factors[X.indices]).cumsum())
        return out + sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    step = max(1, CACHE_CELLS // X.shape[1])

    def add(start):
        out[start : start + step] += _bits(X[start : start + step]) @ factors

    each(add, range(0, n_rows, step))
    return out


def _bits(values):
    """Return the bits of double-precision numbers as integers, with -0.0 as 0.0."""
    return (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _check_split(part, n_rows) -> Split:
    """Return a split as arrays of row numbers, or raise if a part is empty or missing."""
    try:
        train, test = part
    except (TypeError, ValueError):
        raise ValueError(f"cv must yield pairs (train, test) of rows, got {part!r}.") from None
    train, test = (np.flatnonzero(p) if np.asarray(p).dtype == bool else p for p in (train, test))
    train, test = np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)
    if not len(train) or not len(test):
        raise ValueError(
            "Both parts of a split of cv must hold rows, got "
            f"{len(train)} to train on and {len(test)} to test on."
        )
    used = np.zeros(n_rows, dtype=bool)
    used[train] = used[test] = True
    # Holding the training rows of every split would take more memory than X.
    complement = len(train) + len(test) == n_rows and used.all()
    return Split(test, None if complement else train)


def warn_of_cuts(splits, problem: Problem):
    """Warn if a split holds only a part of a query, provided that queries are named."""
    if not problem.has_qid or _disjoint_folds(splits, problem) is not None:
        return
    codes, sizes = problem.queries.codes, problem.queries.sizes
    cut = np.zeros(len(sizes), dtype=bool)
    for split in splits:
        for rows in (split.test, _training_rows(split, problem)):
            # A row that is drawn twice counts once.
            found = np.bincount(codes[np.unique(rows)], minlength=len(sizes))
            cut |= (found > 0) & (found < sizes)
    if cut.any():
        warn(
            f"cv cuts {cut.sum()} of {len(cut)} queries, so that scores are those of shorter "
            "lists: use QueryKFold, GroupKFold, or a number of folds.",
            CutQueriesWarning,
        )


def _disjoint_folds(splits, problem):
    """Return the number of the split that tests each row, or -1 for none.

    Return None if folds overlap or cut a query.
    """
    fold = np.full(problem.X.shape[0], -1)
    for number, (test, train) in enumerate(splits):
        if train is not None or (fold[test] >= 0).any():
            return None
        fold[test] = number
    if problem.n_items is None:
        codes, of_query = problem.queries.codes, np.empty(problem.queries.n_queries, dtype=int)
        of_query[codes] = fold
        if (of_query[codes] != fold).any():
            return None
    return fold


# -- moments -------------------------------------------------------------------------------


def all_moments(problem: Problem, measures, loss, relative):
    """Return the moments of X and of the targets of the measures, as a function of rows."""
    columns = []
    for measure in measures:
        targets = measure.score_targets(measure.labels(problem.y), problem.queries)
        if problem.n_items is None:
            columns.append(problem.queries.ungroup(targets)[:, None])
        else:
            columns.append(targets.reshape(-1, problem.n_items))
    return moments_of(problem, np.hstack(columns), loss, relative)


def training_moments(problem: Problem, splits, measures, loss, weighed, relative=False):
    """Return the moments of all rows, and an iterator over those of the training rows of splits.

    `weighed` returns a problem with its rows weighted by query. If `relative`, penalties are in
    units of the squares of the features.
    """
    moments = all_moments(weighed(problem), measures, loss, relative)
    fold = _disjoint_folds(splits, problem)
    if fold is None:
        # Targets and centers of a cut query are computed from its training rows.
        trained = (_take(problem, _training_rows(split, problem)) for split in splits)
        return moments(), (
            all_moments(weighed(part), measures, loss, relative)() for part in trained
        )
    by_fold = np.argsort(fold, kind="stable")
    bounds = np.searchsorted(fold[by_fold], np.arange(len(splits)))
    never, *parts = np.split(by_fold, bounds)
    outside = moments(never) if len(never) else None
    turns = _outside(parts, lambda rows: moments(np.concatenate(rows)), outside)
    first, own = next(turns)
    return first.merge(own), chain([first], (part for part, _ in turns))


def _outside(parts, pool, outside=None) -> Iterator[tuple[Moments, Moments]]:
    """Yield for each part the moments of all other parts, and its own.

    They are sums over the other parts; subtracting a part from the total would lose precision.
    """
    if len(parts) == 1:
        yield outside, pool(parts)
        return
    if pool is not merge_all:
        first = pool(parts[:1])
        if len(parts) * (first.gram.size + first.moment.size) <= KEPT_CELLS:
            parts, pool = [first, *(pool([part]) for part in parts[1:])], merge_all
    half = len(parts) // 2
    for mine, others in ((parts[:half], parts[half:]), (parts[half:], parts[:half])):
        pooled = pool(others)
        yield from _outside(mine, pool, pooled if outside is None else outside.merge(pooled))


def _training_rows(split, problem):
    """Return the training rows of a split."""
    if split.train is not None:
        return split.train
    return np.setdiff1d(np.arange(problem.X.shape[0]), split.test)


def _take(problem: Problem, rows) -> Problem:
    """Return the problem restricted to some rows."""
    weight = None if problem.weight is None else problem.weight[rows]
    if problem.n_items is not None:
        y = problem.y.reshape(-1, problem.n_items)[rows].ravel()
        queries = Queries.equal(len(rows), problem.n_items)
    else:
        queries = Queries.from_qid(problem.queries.codes[rows])
        y = queries.group(problem.queries.ungroup(problem.y)[rows])
    return problem._replace(X=problem.X[rows], y=y, queries=queries, weight=weight)


# -- held-out scores -----------------------------------------------------------------------


def held_out_scores(
    problem: Problem, splits, training, measures, alphas, relative=False
) -> np.ndarray:
    """Return the mean of each measure on test rows, for the models that regress its targets.

    `training` yields the moments of each split. If `relative`, penalties are in units of the
    squares of the features. The result has shape (n_measures, n_alphas, n_splits), with NaN where a
    measure is undefined on every query.
    """
    gained = np.zeros((len(measures), len(alphas), len(splits)))
    counted = np.zeros_like(gained)
    y = problem.queries.ungroup(problem.y)
    for pieces in _batches(_parts(problem, splits, training, alphas, relative)):
        weight, values = _values(problem, y, pieces, measures)
        weight = np.where(np.isnan(values), 0.0, weight)
        values = weight * np.nan_to_num(values)
        starts = np.cumsum([0] + [len(piece.sizes) for piece in pieces[:-1]])
        sums = np.add.reduceat(values, starts, axis=-1), np.add.reduceat(weight, starts, axis=-1)
        for number, piece in enumerate(pieces):
            gained[..., piece.split] += sums[0][..., number]
            counted[..., piece.split] += sums[1][..., number]
    with np.errstate(invalid="ignore"):
        return gained / counted


class _Piece(NamedTuple):
    """Test rows of one split as whole queries: their sizes, and scores of shape (rows, -1)."""

    split: int
    rows: np.ndarray
    sizes: np.ndarray
    scores: np.ndarray


def _parts(problem, splits, training, alphas, relative) -> Iterator[_Piece]:
    """Yield the test rows of all splits with their scores, in pieces of bounded size."""
    codes = problem.queries.codes if problem.n_items is None else None
    models = _models(training, alphas, relative)
    for number, (split, (coefs, levels)) in enumerate(zip(splits, models)):
        test = split.test
        if codes is None:
            queries = Queries.equal(len(test), 1)
        else:
            test = test[np.argsort(codes[test], kind="stable")]
            queries = Queries.from_qid(codes[test])
        for _, rows, those in queries.parts(PART_CELLS // len(levels)):
            scores = product_of_rows(problem.X, coefs, test[rows]) + levels
            yield _Piece(number, test[rows], those.sizes, scores)


def _models(training, alphas, relative) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield coefficients and levels for every penalty, computing some splits in parallel."""

    def solve(moments):
        scale = moments.penalty_scale() if relative else None
        coefs = ridge_path(moments, alphas, scale=scale)
        levels = (moments.level - moments.mean @ coefs).ravel()
        return coefs.transpose(1, 0, 2).reshape(len(moments.mean), -1), levels

    for first in training:
        models: list[tuple[np.ndarray, np.ndarray]] = []
        n_at_once = max(1, PART_CELLS // (first.gram.size + len(alphas) * first.moment.size))
        each(solve, chain([first], islice(training, n_at_once - 1)), models.append)
        yield from models


def _batches(pieces) -> Iterator[list[_Piece]]:
    """Yield lists of pieces, so that small pieces are ranked together."""
    batch, n_cells = [], 0
    for piece in pieces:
        batch.append(piece)
        n_cells += piece.scores.size
        if 2 * n_cells > PART_CELLS:
            yield batch
            batch, n_cells = [], 0
    if batch:
        yield batch


def _values(problem, y, pieces, measures):
    """Return the weight of each query, and its value for each measure and penalty.

    Values have shape (n_measures, n_alphas, n_queries), with NaN where a measure is undefined.
    """
    rows = np.concatenate([piece.rows for piece in pieces])
    sizes = np.concatenate([piece.sizes for piece in pieces])
    scores = np.concatenate([piece.scores for piece in pieces])
    weight = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    if problem.n_items is None:
        y, queries = y[rows], Queries(np.append(0, np.cumsum(sizes)))
        weight = queries.mean(weight)
    else:
        y = y.reshape(-1, problem.n_items)[rows].ravel()
        queries = Queries.equal(len(rows), problem.n_items)
    scores = scores.reshape(len(rows), -1, len(measures), problem.n_items or 1)
    # Documents on the last axis, so that the scores of a measure and alpha are contiguous.
    scores = scores.transpose(2, 1, 0, 3).reshape(len(measures), scores.shape[1], -1)
    values = np.empty((*scores.shape[:2], queries.n_queries))
    for m, measure in enumerate(measures):
        labels = measure.labels(y)
        targets, offset = measure.targets(labels, queries), measure.offset(labels, queries)

        def evaluate(a, m=m, measure=measure, targets=targets, offset=offset):
            ranked = Ranked(scores[m, a], queries, "average")
            values[m, a] = measure.evaluate_targets(targets, offset, ranked)

        each(evaluate, range(len(scores[m])))
        values[m][:, measure.undefined(labels, queries)] = np.nan
    return weight, values
