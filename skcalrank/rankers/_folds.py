"""Cross-validated ridge regression of ranking targets from the moments of folds.

The training moments of a split are merged from those of the other folds, so all splits together
cost one pass over the rows. Each penalty then costs a matrix product and the measure.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .._solvers import Moments, merge_all, product_of_rows, ridge_path
from ..columns import KEPT_CELLS, PART_CELLS
from ..columns.types import Floats, Ints
from ..data import CutQueriesWarning, Queries, Ranked, Rows, each, qid_array, warn, workers_of_fit
from ._plan import Plan
from ._regression import moments_of


class Split(NamedTuple):
    """Rows to score, and rows to train on (None means all other rows)."""

    test: np.ndarray
    train: np.ndarray | None


def make_splits(cv: Any, rows: Rows, qid: Any = None) -> list[Split]:
    """Return the splits of a splitter or list, or folds of queries (of rows, if one query).

    Warn of splits that cut queries.
    """
    if cv is None or isinstance(cv, Integral):
        splits = [Split(test, None) for _, test in rows.folds(None if cv is None else int(cv))]
    else:
        splits = [_check_split(split, rows.n_rows) for split in _given(cv, rows, qid)]
    if not splits:
        raise ValueError("cv must yield at least one split, got none.")
    _warn_of_cuts(splits, rows)
    return splits


def _given(cv: Any, rows: Rows, qid: Any) -> Iterator[Any] | list[tuple[Any, Any]]:
    """Return the pairs (train, test) of a splitter or a list."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ValueError(
            f"cv must be a number of folds, a splitter or a list of (train, test), got {cv!r}."
        )
    if workers_of_fit().size > 1:
        raise ValueError(
            f"cv must be a number of folds for dask collections, got {cv!r}: a splitter needs all "
            "rows in memory."
        )
    if not hasattr(cv, "split"):
        return cv
    return cv.split(rows.X, rows.in_order(rows.y), groups=None if qid is None else qid_array(qid))


def _check_split(part: tuple[Any, Any], n_rows: int) -> Split:
    """Return a split as arrays of row numbers, or raise if a part is empty or missing."""
    numbers = np.arange(n_rows)
    try:
        train, test = (numbers[np.asarray(rows) if len(rows) else []] for rows in part)
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"cv must yield pairs (train, test) of rows, got {part!r}.") from error
    if not len(train) or not len(test):
        raise ValueError(
            "Both parts of a split of cv must hold rows, got "
            f"{len(train)} to train on and {len(test)} to test on."
        )
    is_whole = (np.bincount(np.append(train, test), minlength=n_rows) == 1).all()
    # Holding the training rows of every split would take more memory than X.
    return Split(test, None if is_whole else train)


def _warn_of_cuts(splits: list[Split], rows: Rows) -> None:
    """Warn if a split holds only a part of a query, provided that queries are named."""
    if not rows.named or _disjoint_folds(splits, rows) is not None:
        return
    codes, sizes = rows.codes, rows.queries.sizes
    cut = np.zeros(len(sizes), dtype=bool)
    for split in splits:
        for numbers in (split.test, _training_rows(split, rows)):
            # A row that is drawn twice counts once.
            counts = np.bincount(codes[np.unique(numbers)], minlength=len(sizes))
            cut |= (counts > 0) & (counts < sizes)
    if cut.any():
        warn(
            f"cv cuts {cut.sum()} of {len(cut)} queries, so that scores are those of shorter "
            "lists: use QueryKFold, GroupKFold, or a number of folds.",
            CutQueriesWarning,
        )


def _disjoint_folds(splits: list[Split], rows: Rows) -> Ints | None:
    """Return the number of the split that tests each row, or -1 for none.

    Return None if folds overlap or cut a query.
    """
    fold = np.full(rows.n_rows, -1)
    for number, (test, train) in enumerate(splits):
        if train is not None or (fold[test] >= 0).any():
            return None
        fold[test] = number
    if rows.n_items is None:
        codes, of_query = rows.codes, np.empty(rows.queries.n_queries, dtype=int)
        of_query[codes] = fold
        if (of_query[codes] != fold).any():
            return None
    return fold


def all_moments(rows: Rows, measures: Any, loss: str, relative: bool) -> Callable[..., Any]:
    """Return the moments of X and of the targets of the measures, as a function of rows."""
    targets = [measure.score_targets(measure.labels(rows.y), rows.queries) for measure in measures]
    return moments_of(rows, np.hstack([rows.columns(values) for values in targets]), loss, relative)


def training_moments(
    rows: Rows, splits: list[Split], measures: Any, plan: Plan, relative: bool = False
) -> tuple[Moments, Any]:
    """Return the moments of all rows, and an iterator over those of the training rows of splits.

    The plan weighs queries. If `relative`, penalties are in units of the features.
    """
    if workers_of_fit().size > 1:
        return _trained(_outside(_totals(rows, splits, measures, plan, relative), merge_all))
    moments = all_moments(plan.weighed(rows), measures, plan.loss, relative)
    fold = _disjoint_folds(splits, rows)
    if fold is None:
        # Targets and centers of a cut query are computed from its training rows.
        trained = (plan.weighed(rows.take(_training_rows(split, rows))) for split in splits)
        return moments(), (all_moments(part, measures, plan.loss, relative)() for part in trained)
    by_fold = np.argsort(fold, kind="stable")
    never, *parts = np.split(by_fold, np.searchsorted(fold[by_fold], np.arange(len(splits))))
    outside = moments(never) if len(never) else None
    return _trained(_outside(parts, lambda numbers: moments(np.concatenate(numbers)), outside))


def _trained(turns: Iterator[Any]) -> tuple[Moments, Iterator[Moments]]:
    """Return the moments of all rows, and an iterator over those of the training rows."""
    first, left = next(turns)
    return first.merge(left), chain([first], (part for part, _ in turns))


def _totals(rows: Rows, splits: Any, measures: Any, plan: Plan, relative: Any) -> list[Moments]:
    """Return the moments of each fold, of the rows of all workers."""

    def of_folds() -> Any:
        moments = all_moments(plan.weighed(rows), measures, plan.loss, relative)
        return [moments(split.test) if len(split.test) else None for split in splits]

    return workers_of_fit().total(of_folds, _added)


def _added(parts: Any) -> Any:
    """Return the moments of each fold, from lists of those of some rows, None for no rows."""
    by_fold = [[moments for moments in fold if moments is not None] for fold in zip(*parts)]
    return [merge_all(fold) if fold else None for fold in by_fold]


def _outside(parts: list[Any], pool: Any, outside: Any = None) -> Iterator[tuple[Moments, Moments]]:
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


def _training_rows(split: Split, rows: Rows) -> Ints:
    """Return the numbers of the training rows of a split."""
    if split.train is not None:
        return split.train
    return np.setdiff1d(np.arange(rows.n_rows), split.test)


def held_out_scores(
    rows: Rows, splits: list[Split], models: Iterator[Any], measures: list[Any], n_models: int
) -> np.ndarray:
    """Return the mean of each measure on test rows, for the models that regress its targets.

    `models` yields as many of them for each split, see :func:`models_of`. The result has shape
    (n_measures, n_models, n_splits), with NaN where a measure is undefined on every query.
    """

    def sums() -> Floats:
        """Return the sums of weighted values, and of weights, by measure, model and split."""
        gained, counted = out = np.zeros((2, len(measures), n_models, len(splits)))
        y = rows.in_order(rows.y)
        for pieces in _batches(_parts(rows, splits, models)):
            weight, values = _values(rows, y, pieces, measures)
            weight = np.where(np.isnan(values), 0.0, weight)
            values = weight * np.nan_to_num(values)
            starts = np.cumsum([0] + [len(piece.sizes) for piece in pieces[:-1]])
            by_piece = [np.add.reduceat(each, starts, axis=-1) for each in (values, weight)]
            for number, piece in enumerate(pieces):
                gained[..., piece.split] += by_piece[0][..., number]
                counted[..., piece.split] += by_piece[1][..., number]
        return out

    gained, counted = workers_of_fit().total(sums, partial(np.sum, axis=0))
    with np.errstate(invalid="ignore"):
        return gained / counted


class _Piece(NamedTuple):
    """Test rows of one split as whole queries: their sizes, and scores of shape (rows, -1)."""

    split: int
    rows: np.ndarray
    sizes: np.ndarray
    scores: np.ndarray


def _parts(rows: Rows, splits: list[Split], models: Iterator[Any]) -> Iterator[_Piece]:
    """Yield the test rows of all splits with their scores, in pieces of bounded size."""
    codes = rows.codes
    # The models end first, as whoever yields them may tell of the last one then.
    for number, ((coefs, levels), split) in enumerate(zip(models, splits)):
        test = split.test
        if not len(test):
            continue  # other workers hold these rows
        if rows.n_items is not None:
            queries = Queries.equal(len(test), 1)
        else:
            test = test[np.argsort(codes[test], kind="stable")]
            queries = Queries.from_qid(codes[test])
        for _, part, some in queries.parts(PART_CELLS // len(levels)):
            scores = product_of_rows(rows.X, coefs, test[part]) + levels
            yield _Piece(number, test[part], some.sizes, scores)


def models_of(training: Iterator[Any], alphas: Floats, relative: bool) -> Iterator[Any]:
    """Yield coefficients and levels for every penalty, computing some splits in parallel."""

    def solve(moments: Moments) -> tuple[Floats, Floats]:
        coefs = ridge_path(moments, alphas, scale=moments.penalty_scale() if relative else None)
        levels = (moments.level - moments.mean @ coefs).ravel()
        return coefs.transpose(1, 0, 2).reshape(len(moments.mean), -1), levels

    for first in training:
        models: list[tuple[np.ndarray, np.ndarray]] = []
        n_at_once = max(1, PART_CELLS // (first.gram.size + len(alphas) * first.moment.size))
        each(solve, chain([first], islice(training, n_at_once - 1)), models.append)
        yield from models


def _batches(pieces: Iterator[Any]) -> Iterator[list[_Piece]]:
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


def _values(rows: Rows, y: Floats, pieces: list[_Piece], measures: Any) -> tuple[Floats, Floats]:
    """Return the weight of each query, and its value for each measure and penalty.

    Values have shape (n_measures, n_alphas, n_queries), with NaN where a measure is undefined.
    """
    numbers = np.concatenate([piece.rows for piece in pieces])
    sizes = np.concatenate([piece.sizes for piece in pieces])
    scores = np.concatenate([piece.scores for piece in pieces])
    weight = np.ones(len(numbers)) if rows.weight is None else rows.weight[numbers]
    y = y[numbers].ravel()
    if rows.n_items is None:
        queries = Queries(np.append(0, np.cumsum(sizes)))
        weight = queries.mean(weight)
    else:
        queries = Queries.equal(len(numbers), rows.n_items)
    scores = scores.reshape(len(numbers), -1, len(measures), rows.n_items or 1)
    # Documents on the last axis, so that the scores of a measure and alpha are contiguous.
    scores = scores.transpose(2, 1, 0, 3).reshape(len(measures), scores.shape[1], -1)
    values = np.empty((*scores.shape[:2], queries.n_queries))

    def evaluate(measure: Any, scores: Floats, values: Floats) -> None:
        labels = measure.labels(y)
        targets, offset = measure.score_targets(labels, queries), measure.offset(labels, queries)

        def of_model(a: int) -> None:
            ranked = Ranked(scores[a], queries, "average")
            values[a] = measure.evaluate_targets(targets, offset, ranked)

        each(of_model, range(len(scores)))
        values[:, measure.undefined(labels, queries)] = np.nan

    for of_measure in zip(measures, scores, values):
        evaluate(*of_measure)
    return weight, values
