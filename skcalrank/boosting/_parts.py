"""Rows in an order of their own, and which queries are held out to stop early on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from ..data import Floats, Queries, hash_rows, is_frame
from ..measures import Measure


class Part(NamedTuple):
    """Rows whose queries stand together.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Relevances.
    queries : Queries
    weight : ndarray of shape (n_rows,) or None
    table : array-like
        X as the user gave it.
    rows : ndarray of int of shape (n_rows,)
        Where the rows stand there.
    labels : ndarray of shape (n_rows,) or None
        What an objective of the engine reads.
    """

    X: Any
    y: Floats
    queries: Queries
    weight: Any
    table: Any
    rows: np.ndarray
    labels: Any = None

    def given(self) -> Any:
        """Return the rows as the user gave them."""
        return _safe_indexing(self.table, self.rows)

    def take(self, kept) -> Part:
        """Return the rows of a mask."""
        sizes, kept = np.bincount(self.queries.codes[kept]), np.flatnonzero(kept)
        return self._replace(
            X=self.X[kept],
            y=self.y[kept],
            queries=Queries(np.append(0, sizes[sizes > 0].cumsum())),
            weight=None if self.weight is None else self.weight[kept],
            rows=self.rows[kept],
        )


def part_of(problem, table) -> Part:
    """Return the rows of a problem by their contents: in whatever order they and queries came.

    `table` is X as the user gave it, which is kept of a data frame only.
    """
    X, weight = problem.X, problem.weight
    y = problem.queries.ungroup(problem.y)
    key = _row_keys(X, y, weight)
    codes = problem.queries.codes
    of_query = problem.queries.sum(problem.queries.group(key))
    rows = np.lexsort((key, codes, of_query[codes]))
    heads = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    queries = Queries(np.append(heads, len(rows)))
    of_rows = None if weight is None else weight[rows]
    return Part(X[rows], y[rows], queries, of_rows, table if is_frame(table) else X, rows)


def _row_keys(X, y, weight):
    """Return a number of each row that depends on what it holds, and not on where it stands."""
    beside = y[:, None] if weight is None else np.column_stack([y, weight])
    key = hash_rows(X) ^ (hash_rows(beside) << np.uint64(1))
    # Numbers of a query are summed: without a square, which of its rows holds a value is lost.
    key ^= key >> np.uint64(31)
    return key * key


def held_out(part: Part, measure: Measure, fraction: float, rng, n_folds: int) -> list:
    """Return which rows each fold holds out: whole queries, or documents where there is one query.

    Of the queries that tell rankings apart one at least is held out, and one is not. Folds are
    disjoint as long as there are others. `rng` is None for a draw by contents.
    """
    n_units, unit = part.queries.n_queries, part.queries.codes
    if n_units == 1:
        n_units, unit = len(part.y), np.arange(len(part.y))
        tells = np.ones(n_units, dtype=bool)
    else:
        tells = _tells_rankings_apart(part, measure)
    drawn = np.arange(n_units) if rng is None else rng.permutation(n_units)
    told, silent = drawn[tells[drawn]], drawn[~tells[drawn]]
    n_told = min(max(round(fraction * len(told)), 1), max(len(told) - 1, 0))
    n_silent = round(fraction * len(silent))
    folds = np.zeros((n_folds, n_units), dtype=bool)
    for number, held in enumerate(folds):
        held[_dealt(told, n_told, number)] = held[_dealt(silent, n_silent, number)] = True
    return [held[unit] for held in folds]


def _dealt(units, n, number):
    """Return the n units of a fold, which goes on where the fold before it ends."""
    return units[(number * n + np.arange(n)) % max(len(units), 1)]


def held_as_given(part: Part, folds, n_models: int) -> list:
    """Return which rows each model is not trained on, for numbers of folds of the rows as given.

    Rows of -1 train every model; those of the last folds are held out of the last model.
    """
    folds = np.asarray(folds)
    if folds.shape != part.rows.shape or folds.dtype.kind not in "iu":
        raise ValueError(
            f"folds must be whole numbers, one for each of n_samples={len(part.rows)} rows, got "
            f"{folds.dtype} of shape {folds.shape}."
        )
    folds = np.minimum(folds[part.rows], n_models - 1)
    if (part.queries.max(folds) != -part.queries.max(-folds)).any():
        raise ValueError("folds must be equal within each query: hold out whole queries.")
    return [folds == number for number in range(n_models)]


def _tells_rankings_apart(part, measure):
    """Return the queries with labels that differ, on which the measure is defined."""
    labels, queries = measure.labels(part.y), part.queries
    differ = queries.max(labels) + queries.max(-labels) > 0
    if part.weight is not None:
        differ &= queries.max(part.weight) > 0
    return differ & ~measure.undefined(labels, queries)
