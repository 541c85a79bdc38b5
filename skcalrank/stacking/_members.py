"""The rankers of a stack: their fits, with scores of held-out rows, and the scale of these."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ..boosting import scores_of
from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ..data import (
    ALONE,
    Queries,
    Rows,
    among,
    call_step,
    has_method,
    takes_eval_set,
    timed,
    warning_once_in_jobs,
    workers_of_fit,
)
from ..rankers import is_ranker, with_held_out
from ._chunks import fit_views
from ._mixing import ROUNDING, Plan
from ._streamed import Streamed
from ._views import LinearView, fit_in_two, fit_stopped, ranker_behind, rows_for, table_for

# Held-out scores are rounding errors, too, if they vary by less than this share of what the ranker
# of all rows gives, and those of linear views if they do by less than that of the targets.
_NO_SIGNAL = 1e-6
_NO_REGRESSION = 1e-13

# The squares of larger scores may overflow.
_LARGE = 1e150


def scaled(scores: Floats, queries: Queries, spread: float, by_query: bool) -> Floats:
    """Return scores to be added to others, in the order of the rows.

    With `by_query`, those of each query have mean 0 and standard deviation 1; else they are divided
    by `spread`, the root mean square of held-out scores around their query means.
    """
    if not by_query:
        return scores / spread
    return queries.centered(scores) / units_within(scores, queries)


def units_within(scores: Floats, queries: Queries) -> Floats:
    """Return for each row the standard deviation of its query; infinite if it is rounding."""
    largest, scale = queries.max(queries.group(np.abs(scores))), np.ones(1)
    centered = queries.centered(scores)
    if largest.max() > _LARGE:
        scale = arrays.scale_of(largest)
        centered /= scale[queries.codes]
    units = scale * np.sqrt(queries.mean(queries.group(centered**2)))
    return np.where(units > ROUNDING * largest, units, np.inf)[queries.codes]


def fit_members(
    members: list[Any], plan: Plan, by_query: bool, n_jobs: int | None, verbose: bool
) -> list[tuple[Any, ...]]:
    """Return each fitted ranker, its scaled out-of-fold scores, and their spread.

    Scores of rows that are not held out of the ranker are NaN.
    """
    views = plan.together
    alone = [number for number in range(len(members)) if number not in views]
    fit, fit_together = (delayed(warning_once_in_jobs(f)) for f in (_timed_fit, _timed_views))
    # What has to be in memory is fitted to a sample if the table is not.
    small = plan if plan.sample is None else plan.sample
    tasks = [fit(verbose, *members[k], small, small.of_member[k]) for k in alone]
    if views:
        tasks.append(fit_together(verbose, [members[k] for k in views], plan))
    # Several workers fit the same ranker at a time.
    fits = Parallel(n_jobs=n_jobs if workers_of_fit().size == 1 else None)(tasks)
    if views:
        fits = [*fits[:-1], *fits[-1]]
    if plan.sample is not None:
        fits = [(ranker, _of_all(scores, plan)) for ranker, scores in fits]
    ordered = (fits[place] for place in np.argsort([*alone, *views]))
    return [(ranker, *_scaled(ranker, scores, plan, by_query)) for ranker, scores in ordered]


def _of_all(scores: Floats, plan: Plan) -> Floats:
    """Return scores of the rows of a sample, or of all, as those of all rows."""
    if len(scores) == plan.rows.n_rows:
        return scores
    out = np.full(plan.rows.n_rows, np.nan)
    out[plan.sampled] = scores
    return out


def _timed_views(verbose: bool, members: Any, plan: Plan) -> list[tuple[LinearView, Floats]]:
    """Return fitted views, each with its out-of-fold scores; print the time if `verbose`."""
    names, views = zip(*members)
    with timed(verbose, "StackingRanker", f"{', '.join(names)} of {plan.rows.n_rows} rows"):
        return fit_views(list(views), plan)


def _timed_fit(verbose: bool, name: str, ranker: Any, plan: Plan, folds: tuple[int, int]) -> Any:
    """Return a fitted ranker and its out-of-fold scores; print the time if `verbose`."""
    (first, n_folds), rows = folds, plan.rows
    if not n_folds:
        evals = plan.evals if takes_eval_set(ranker) else {}
        with timed(verbose, "StackingRanker", f"{name} of {rows.n_rows} rows"):
            if workers_of_fit().size > 1:
                return _fit_to_sums(ranker, rows, *plan.splits[0])
            return _fit_in_parts(ranker, rows, plan.splits, evals, plan.method)
    # It is stopped early on its own folds, and not fitted again.
    model = np.where(plan.folds < first + n_folds, np.maximum(plan.folds - first, -1), -1)
    with timed(verbose, "StackingRanker", f"{name} of {(model < 0).sum()} rows"):
        return fit_stopped(ranker, rows, model, of_targets=plan.of_targets)


def _scaled(ranker: Any, scores: Floats, plan: Plan, by_query: bool) -> tuple[Floats, float]:
    """Return out-of-fold scores, scaled, and their spread; 0 and 1 if they are rounding errors."""
    known = ~np.isnan(scores)
    queries, weight = plan.held_out(known)
    spread = queries.spread(scores[known], weight)
    if spread < _NO_SIGNAL and _is_rounding(ranker, spread, known, plan):
        scores[known], spread = 0.0, 1.0
    scores[known] = scaled(scores[known], queries, spread, by_query)
    return scores, spread


def _is_rounding(ranker: Any, spread: float, held_out: Bools, plan: Plan) -> bool:
    """Return whether a small spread of out-of-fold scores is far below what it is compared with."""
    if isinstance(plan.X, Streamed):
        return False  # so many queries teach something
    rows, scores = plan.rows.take(held_out), np.empty(0)
    if isinstance(ranker, LinearView):  # its scores have the unit of the targets
        of_targets = rows.queries.spread(plan.targets[held_out], rows.weight)
        if spread < _NO_REGRESSION * of_targets:
            return True
    if rows.table is None and not rows.X.shape[1]:
        rows = replace(rows, X=plan.X[rows.numbers])
    if rows.n_rows:  # other workers may hold them all
        scores = scores_of(ranker, rows_for(ranker, rows), rows.queries, True)
    return spread < _NO_SIGNAL * rows.queries.spread(scores, rows.weight)


def _fit(ranker: Any, rows: Rows, evals: dict[str, Any], method: str) -> Any:
    """Return a clone of a ranker, fitted to rows with their queries and weights."""
    ranker = clone(ranker)
    params: dict[str, Any] = {"qid": rows.qid, "sample_weight": rows.weight}
    if evals:
        params["eval_set"] = {
            key: rows._replace(X=table_for(ranker, rows.X)) for key, rows in evals.items()
        }
    return call_step(ranker, method, rows_for(ranker, rows), rows.y, **params)


def _fit_in_parts(
    ranker: Any, rows: Rows, splits: list[Any], evals: dict[str, Any], method: str
) -> tuple[Any, Floats]:
    """Return a ranker fitted to all rows, and out-of-fold scores.

    Scores are NaN for rows that no split holds out.
    """
    scores = np.full(rows.n_rows, np.nan)
    last = ranker_behind(ranker)
    in_two = len(splits) == 1 and _is_cut_between_queries(rows.codes, *splits[0])
    if in_two and last is not ranker and is_ranker(last) and has_method(last, "merge"):
        train, test = splits[0]
        fitted, scores[test] = fit_in_two(ranker, rows, train, method)
        return fitted, scores
    fits = [_fit(ranker, rows.take(train), evals, method) for train, _ in splits]
    for (_, test), fitted in zip(splits, fits):
        tested = rows.take(test)
        scores[test] = scores_of(fitted, rows_for(fitted, tested), tested.queries, True)
    of_all = partial(_fit, ranker, rows, evals, method)
    if in_two and has_method(ranker, "merge"):
        return with_held_out(fits[0], partial(_fit, ranker, tested, {}, method), of_all), scores
    return of_all(), scores


def _fit_to_sums(ranker: Any, rows: Rows, train: Bools, test: Bools) -> tuple[Any, Floats]:
    """Return a ranker that has `merge`, fitted to the rows of all workers, and its scores.

    Scores are NaN for rows that this worker does not hold out.
    """

    def fitted(mask: Bools) -> Any:
        if not mask.any():
            return None
        with among(ALONE):
            # A fit keeps no moments where the worker has fewer rows than columns.
            own = _fit(ranker, rows.take(mask), {}, "partial_fit")
        # The workers number their queries themselves, and differ in them.
        own.record_ = replace(own.record_, names=frozenset())
        return own

    parts = [workers_of_fit().total(partial(fitted, mask), _merged) for mask in (train, test)]
    scores, tested = np.full(rows.n_rows, np.nan), rows.take(test)
    if test.any():
        scores[test] = scores_of(parts[0], rows_for(parts[0], tested), tested.queries, True)
    return _merged(parts), scores


def _merged(parts: Sequence[Any]) -> Any:
    """Return a ranker that has seen the queries of several; None stands for one of no rows."""
    first, *others = [ranker for ranker in parts if ranker is not None] or [None]
    return first.merge(*others) if others else first


def _is_cut_between_queries(codes: Ints, train: Bools, test: Bools) -> bool:
    """Return whether a split puts each row into one part, and cuts no query."""
    apart = len(np.intersect1d(codes[train], codes[test])) == 0
    return apart and bool((train != test).all())
