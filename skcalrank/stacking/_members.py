"""Fits of rankers of any library, and the scale of their scores."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..boosting import BoostedRanker
from ..data import Floats, Queries
from ..pipeline import handed_to
from ._views import fit_in_two, fits_in_two


class Rows(NamedTuple):
    """Rows of fit, sorted so that each query is contiguous.

    Attributes
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
    codes : ndarray of int of shape (n_rows,)
        Query of each row, numbered from 0 in ascending order.
    weight : ndarray of shape (n_rows,) or None
    """

    X: Any
    y: Floats
    codes: np.ndarray
    weight: Floats | None

    def take(self, kept: np.ndarray) -> Rows:
        """Return the rows for which the mask `kept` is true."""
        weight = None if self.weight is None else self.weight[kept]
        X = _safe_indexing(self.X, np.flatnonzero(kept))
        return Rows(X, self.y[kept], self.codes[kept], weight)


# Spreads below this share of the largest score are rounding errors.
_ROUNDING = 1e-9


def stops_early(ranker: Any) -> bool:
    """Return whether a ranker holds out queries to stop its trees early."""
    by_itself = isinstance(ranker, BoostedRanker) and ranker.eval_set is None
    return by_itself and bool(ranker.validation_fraction)


def fit_member(name: str, ranker: Any, rows: Rows) -> Any:
    """Return a clone of a ranker or regressor, fitted to rows with their queries and weights."""
    with config_context(enable_metadata_routing=True):
        ranker = clone(ranker)
        given = _queries_for(ranker, rows.codes) | _weights_for(name, ranker, rows)
        return ranker.fit(rows.X, rows.y, **given)


def fit_in_parts(name: str, ranker: Any, rows: Rows, splits: list) -> tuple[Any, Floats]:
    """Return a ranker fitted to all rows, and out-of-fold scores.

    Scores are NaN for rows that no split holds out.
    """
    scores = np.full(len(rows.y), np.nan)
    in_two = len(splits) == 1 and _is_cut_between_queries(rows.codes, *splits[0])
    if in_two and fits_in_two(ranker):
        train, test = splits[0]
        fitted, scores[test] = fit_in_two(ranker, *rows, train)
        return fitted, scores
    fits = [fit_member(name, ranker, rows.take(train)) for train, _ in splits]
    for (_, test), fitted in zip(splits, fits):
        held = rows.take(test)
        scores[test] = scores_of(fitted, held.X, Queries.from_qid(held.codes), held.codes)
    if in_two and hasattr(ranker, "merge"):
        # Adds the moments of the held-out rows, instead of computing those of all rows again.
        return fits[0].merge(fit_member(name, ranker, held)), scores
    return fit_member(name, ranker, rows), scores


def _is_cut_between_queries(codes, train, test):
    """Return whether a split puts each row into one part, and cuts no query."""
    apart = len(np.intersect1d(codes[train], codes[test])) == 0
    return apart and bool((train != test).all())


def _queries_for(ranker, codes):
    """Return the keyword argument with the queries for a ranker; none for regressors."""
    taken = handed_to(ranker, "fit", qid=codes)
    named = signature(ranker.fit).parameters.keys()
    if not taken and "group" in named:
        return {"group": np.bincount(codes - codes[0])}
    return taken or ({"group_id": codes} if "group_id" in named else {})


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
        heads = np.flatnonzero(np.diff(rows.codes, prepend=-1))
        sums = np.add.reduceat(rows.weight, heads)
        return {"sample_weight": sums / np.diff(np.append(heads, len(rows.codes)))}
    return taken


def scores_of(ranker: Any, X: Any, queries: Queries, qid: Any) -> Floats:
    """Return the scores by a fitted ranker or regressor, which gets the qid if it takes one."""
    codes = None if qid is None else queries.codes
    with config_context(enable_metadata_routing=True):
        scores = ranker.predict(X, **handed_to(ranker, "predict", qid=codes))
    return np.asarray(scores, dtype=float).reshape(-1)


class Scale(NamedTuple):
    """Scale of the scores of a ranker before they are added to others.

    Attributes
    ----------
    by_query : bool
        If True, the scores of each query are scaled to mean 0 and standard deviation 1; if False,
        they are divided by `spread`.
    spread : float
        Root mean square of held-out scores around their query means.
    """

    by_query: bool
    spread: float

    def of(self, scores: Floats, queries: Queries) -> Floats:
        """Return the scaled scores, in the order of the rows."""
        if not self.by_query:
            return scores / self.spread
        away = within(scores, queries)
        squares = queries.sum(queries.group(away**2)) / queries.sizes
        largest = queries.max(queries.group(np.abs(scores)))
        unit = np.sqrt(squares)[queries.codes]
        there = unit > _ROUNDING * largest[queries.codes]
        return np.divide(away, unit, out=np.zeros_like(away), where=there)


def within(values: Floats, queries: Queries, weight: Floats | None = None) -> Floats:
    """Return values of rows minus the (weighted) mean of their query."""
    weight = np.ones(len(values)) if weight is None else weight
    sums = queries.sum(queries.group(weight * values))
    total = queries.sum(queries.group(weight))
    mean = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return values - mean[queries.codes]


def scale_of_scores(
    scores: Floats, queries: Queries, weight: Floats | None, by_query: bool
) -> Scale:
    """Return the scale of held-out scores; its spread is 1 if they do not vary."""
    away = within(scores, queries, weight)
    found = float(np.sqrt(np.average(away**2, weights=weight)))
    spread = found if found > _ROUNDING * np.abs(scores).max(initial=0.0) else 1.0
    return Scale(by_query, spread)
