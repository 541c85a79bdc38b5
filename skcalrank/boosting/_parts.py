"""Rows in an order that depends on their contents only, and the choice of held-out queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from ..data import Floats, Queries, hash_rows, is_frame
from ..measures import Measure


class Part(NamedTuple):
    """Rows in which each query is contiguous.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Relevances.
    queries : Queries
    weight : ndarray of shape (n_rows,) or None
    table : array-like
        X as the user passed it.
    rows : ndarray of int of shape (n_rows,)
        Numbers of these rows in `table`.
    labels : ndarray of shape (n_rows,) or None
        Labels for an objective of the engine; None for `y`.
    """

    X: Any
    y: Floats
    queries: Queries
    weight: Any
    table: Any
    rows: np.ndarray
    labels: Any = None

    def given(self) -> Any:
        """Return the rows in the form in which the user passed them."""
        return _safe_indexing(self.table, self.rows)

    def take(self, kept) -> Part:
        """Return the rows for which the mask `kept` is true."""
        sizes, kept = np.bincount(self.queries.codes[kept]), np.flatnonzero(kept)
        return self._replace(
            X=self.X[kept],
            y=self.y[kept],
            queries=Queries(np.append(0, sizes[sizes > 0].cumsum())),
            weight=None if self.weight is None else self.weight[kept],
            rows=self.rows[kept],
        )


def part_of(problem, table) -> Part:
    """Return the rows of a problem, sorted by hashes of their contents within each query.

    The result does not depend on the order of the rows, nor on the names of the queries. `table` is
    X as the user passed it, which is kept if it is a data frame.
    """
    X, weight = problem.X, problem.weight
    y = problem.in_order(problem.y)
    key = _row_keys(X, y, weight)
    codes = problem.queries.codes
    of_query = problem.queries.sum(problem.queries.group(key))
    rows = np.lexsort((key, codes, of_query[codes]))
    heads = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    queries = Queries(np.append(heads, len(rows)))
    of_rows = None if weight is None else weight[rows]
    return Part(X[rows], y[rows], queries, of_rows, table if is_frame(table) else X, rows)


def _row_keys(X, y, weight):
    """Return a hash of each row, which depends on its values and not on its position."""
    beside = y[:, None] if weight is None else np.column_stack([y, weight])
    key = hash_rows(X) ^ (hash_rows(beside) << np.uint64(1))
    # Hashes are summed over queries. Without the square, exchanging values between the rows of a
    # query would not change the sum.
    key ^= key >> np.uint64(31)
    return key * key


def held_out(part: Part, measure: Measure, fraction: float, rng, n_folds: int) -> list:
    """Return a mask of held-out rows for each fold: whole queries, or rows of a single query.

    Among the queries on which the measure can differ between rankings, at least one is held out
    and at least one is not. Folds are disjoint as long as there are enough queries. If `rng` is
    None, the draw depends on the contents of the rows only.
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
    """Return the `n` units of a fold, which begins where the previous fold ends."""
    return units[(number * n + np.arange(n)) % max(len(units), 1)]


def held_as_given(part: Part, folds, n_models: int) -> list:
    """Return a mask of held-out rows for each model, from fold numbers of the user's rows.

    Rows with -1 train every model. Folds numbered `n_models` or more belong to the last model.
    """
    folds = np.asarray(folds)
    if folds.shape != part.rows.shape or folds.dtype.kind not in "iu":
        raise ValueError(
            f"folds must be integers of shape (n_samples={len(part.rows)},), got {folds.dtype} of "
            f"shape {folds.shape}."
        )
    folds = np.minimum(folds[part.rows], n_models - 1)
    if (part.queries.max(folds) != -part.queries.max(-folds)).any():
        raise ValueError("folds must be equal within each query: hold out whole queries.")
    return [folds == number for number in range(n_models)]


def _tells_rankings_apart(part, measure):
    """Return a mask of the queries with different labels on which the measure is defined."""
    labels, queries = measure.labels(part.y), part.queries
    differ = queries.max(labels) + queries.max(-labels) > 0
    if part.weight is not None:
        differ &= queries.max(part.weight) > 0
    return differ & ~measure.undefined(labels, queries)
