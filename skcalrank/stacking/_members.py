"""The rankers of a stack: their fits, with scores of held-out rows, and the scale of these."""

from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ..boosting import fit_held_out
from ..data import Queries, Rows
from ..data.types import Floats
from ..pipeline import handed_to
from ._mixing import Plan
from ._views import fit_in_two, fits_in_two

# Spreads below this share of the largest score of a query are rounding errors.
_ROUNDING = 1e-9


def scaled(scores: Floats, queries: Queries, spread: float, by_query: bool) -> Floats:
    """Return scores to be added to others, in the order of the rows.

    With `by_query`, those of each query have mean 0 and standard deviation 1; else they are divided
    by `spread`, the root mean square of held-out scores around their query means.
    """
    if not by_query:
        return scores / spread
    away = queries.centered(scores)
    squares = queries.mean(queries.group(away**2))
    largest = queries.max(queries.group(np.abs(scores)))
    unit = np.sqrt(squares)[queries.codes]
    there = unit > _ROUNDING * largest[queries.codes]
    return np.divide(away, unit, out=np.zeros_like(away), where=there)


def fit_members(members: list, plan: Plan, by_query: bool, n_jobs, verbose: bool) -> list[tuple]:
    """Return each fitted ranker, its scaled out-of-fold scores, and their spread.

    Scores of rows that are not held out of the ranker are NaN.
    """
    fits = Parallel(n_jobs=n_jobs)(
        delayed(_timed_fit)(verbose, name, ranker, plan, folds)
        for (name, ranker), folds in zip(members, plan.of_member)
    )
    return [(ranker, *_scaled(scores, plan, by_query)) for ranker, scores in fits]


def _timed_fit(verbose, name, ranker, plan, folds):
    """Return a fitted ranker and its out-of-fold scores; print the time if `verbose`."""
    start = perf_counter()
    (first, n_folds), rows, n_rows = folds, plan.rows, plan.rows.n_rows
    if n_folds:
        # It is stopped early on its own folds, and not fitted again.
        model = np.where(plan.folds < first + n_folds, np.maximum(plan.folds - first, -1), -1)
        n_rows = int((model < 0).sum())
        fitted = fit_held_out(ranker, rows.as_given(), rows.y, rows.codes, rows.weight, model)
    else:
        fitted = _fit_in_parts(name, ranker, rows, plan.splits)
    if verbose:
        print(f"[StackingRanker] {name} of {n_rows} rows, total={perf_counter() - start:6.1f}s")
    return fitted


def _scaled(scores, plan, by_query):
    known = ~np.isnan(scores)
    queries, weight = plan.held_out(known)
    spread = queries.spread(scores[known], weight)
    scores[known] = scaled(scores[known], queries, spread, by_query)
    return scores, spread


# -- fits of rankers of any library ------------------------------------------------------------


def _fit(name: str, ranker: Any, rows: Rows) -> Any:
    """Return a clone of a ranker or regressor, fitted to rows with their queries and weights."""
    with config_context(enable_metadata_routing=True):
        ranker = clone(ranker)
        params = _queries_for(ranker, rows) | _weights_for(name, ranker, rows)
        return ranker.fit(rows.as_given(), rows.y, **params)


def _fit_in_parts(name: str, ranker: Any, rows: Rows, splits: list) -> tuple[Any, Floats]:
    """Return a ranker fitted to all rows, and out-of-fold scores.

    Scores are NaN for rows that no split holds out.
    """
    scores = np.full(rows.n_rows, np.nan)
    in_two = len(splits) == 1 and _is_cut_between_queries(rows.codes, *splits[0])
    if in_two and fits_in_two(ranker):
        train, test = splits[0]
        fitted, scores[test] = fit_in_two(ranker, rows, train)
        return fitted, scores
    fits = [_fit(name, ranker, rows.take(train)) for train, _ in splits]
    for (_, test), fitted in zip(splits, fits):
        tested = rows.take(test)
        scores[test] = scores_of(fitted, tested.as_given(), tested.queries, True)
    if in_two and hasattr(ranker, "merge"):
        # Adds the moments of the held-out rows, instead of computing those of all rows again.
        return fits[0].merge(_fit(name, ranker, tested)), scores
    return _fit(name, ranker, rows), scores


def _is_cut_between_queries(codes, train, test):
    """Return whether a split puts each row into one part, and cuts no query."""
    apart = len(np.intersect1d(codes[train], codes[test])) == 0
    return apart and bool((train != test).all())


def _queries_for(ranker, rows):
    """Return the keyword argument with the queries for a ranker; none for regressors."""
    taken = handed_to(ranker, "fit", qid=rows.qid)
    names = signature(ranker.fit).parameters.keys()
    if not taken and "group" in names:
        return {"group": rows.queries.sizes}
    return taken or ({"group_id": rows.qid} if "group_id" in names else {})


def _weights_for(name, ranker, rows):
    if rows.weight is None:
        return {}
    taken = handed_to(ranker, "fit", sample_weight=rows.weight)
    if not taken:
        raise TypeError(
            f"sample_weight must be None with {name!r}: {type(ranker).__name__}.fit does not take "
            "weights. Leave it out, or choose rankers that take them."
        )
    if any(cls.__name__ == "XGBRanker" for cls in type(ranker).__mro__):
        # XGBRanker takes one weight for each query.
        return {"sample_weight": rows.queries.mean(rows.weight)}
    return taken


def scores_of(ranker: Any, X: Any, queries: Queries, named: bool) -> Floats:
    """Return the scores by a fitted ranker or regressor, which gets a qid if it takes one."""
    codes = queries.codes if named else None
    with config_context(enable_metadata_routing=True):
        scores = ranker.predict(X, **handed_to(ranker, "predict", qid=codes))
    return np.asarray(scores, dtype=float).reshape(-1)
