"""Rows of a ranking problem: features, labels, queries and weights, validated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from . import check, tables
from ._hash import hash_rows, spread_bits
from ._queries import Queries
from .types import Array, Bools, Floats, Ints

#: Weight of a query of n documents, as an exponent of n.
QUERY_WEIGHTS = {"pairs": 2, "documents": 1, "equal": 0}


def query_factors(queries: Queries, query_weight: str | None, summed_over: str) -> Floats | None:
    """Return the factor of the terms of each query; None if all factors are 1.

    Parameters
    ----------
    queries : Queries
    query_weight : {"pairs", "documents", "equal"} or None
        Weight that a query of n documents should have: n ** 2, n, or 1. If None, keep the weight
        that results from summing its terms.
    summed_over : {"pairs", "documents"}
        What the terms of a query belong to: the number of terms grows as n ** 2, or as n.
    """
    if query_weight is None:
        return None
    check.option("query_weight", query_weight, QUERY_WEIGHTS)
    power = QUERY_WEIGHTS[query_weight] - QUERY_WEIGHTS[summed_over]
    return queries.sizes.astype(float) ** power if power else None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a ranking problem, which the door of validation makes and nothing below it checks.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, d)
        Features of the rows, in row order.
    y : ndarray of shape (n_documents,) or Judgments
        Labels of the documents in grouped order, or judgments about them in row order. In the
        label-ranking form a row has `n_items` documents.
    queries : Queries
        Documents by query.
    weight : ndarray of shape (n_rows,), default=None
        Weights of the rows, in row order; None if all are 1.
    n_items : int, default=None
        Number of items in the label-ranking form; None for rows that are documents.
    named : bool, default=False
        Whether the queries were given, by a qid or by a target that carries one.
    table : array or table, default=None
        All rows as the user passed them; None if `X` holds them.
    numbers : ndarray of shape (n_rows,), default=None
        Number of each row among those that the user passed; None if these are all of them.
    """

    X: Any
    y: Any
    queries: Queries
    weight: Floats | None = None
    n_items: int | None = None
    named: bool = False
    table: Any = None
    numbers: Ints | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def codes(self) -> Ints:
        """Number of the query of each row; in the label-ranking form, every row is a query."""
        return self.queries.codes if self.n_items is None else np.arange(self.n_rows)

    @property
    def qid(self) -> Array:
        """Identifiers of the queries of rows, which differ between queries of disjoint parts."""
        names = self.queries.names
        return self.codes if names is None else names[self.codes]

    def as_given(self) -> Any:
        """Return the rows in the form in which the user passed them."""
        if self.table is None or self.numbers is None:
            return self.X if self.table is None else self.table
        return _safe_indexing(self.table, self.numbers)

    def in_order(self, values: Array) -> Array:
        """Return values of documents in row order, of shape (n_rows,) or (n_rows, n_items)."""
        if self.n_items is None:
            return self.queries.ungroup(values)
        by_row: Array = values.reshape(-1, self.n_items)
        return by_row

    def columns(self, values: Array) -> Array:
        """Return values of documents in row order, with a column for each output."""
        return self.in_order(values).reshape(self.n_rows, -1)

    def document_weights(self) -> Floats | None:
        """Return the weights of the documents in grouped order, or None without weights."""
        if self.weight is None or self.n_items is None:
            return None if self.weight is None else self.queries.group(self.weight)
        return np.repeat(self.weight, self.n_items)

    def with_weight(self, factor: Floats) -> Rows:
        """Return the rows with weights multiplied by a factor for each row."""
        return replace(self, weight=factor if self.weight is None else factor * self.weight)

    def take(self, rows: Array) -> Rows:
        """Return some rows, selected by a mask or by their numbers; a query may be cut."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        labels = self.in_order(self.y)[rows]
        if self.n_items is None:
            queries = Queries.from_qid(self.queries.codes[rows])
            y = queries.group(labels)
        else:
            queries, y = Queries.equal(len(rows), self.n_items), labels.ravel()
        return replace(
            self,
            X=_safe_indexing(self.X, rows) if tables.is_frame(self.X) else self.X[rows],
            y=y,
            queries=queries,
            weight=None if self.weight is None else self.weight[rows],
            numbers=rows if self.numbers is None else self.numbers[rows],
        )

    # -- choices that depend on the contents of the rows only -------------------------------

    def keys(self) -> Array:
        """Return a hash of each row: of its features, labels and weight, not of its place."""
        beside = self.columns(self.y)
        if self.weight is not None:
            beside = np.column_stack([beside, self.weight])
        key = hash_rows(tables.rows_as_numbers(self.X)) ^ (hash_rows(beside) << np.uint64(1))
        # Keys are summed over queries. Without the square, exchanging values between the rows of a
        # query would not change the sum.
        key ^= key >> np.uint64(31)
        keys: Array = key * key
        return keys

    def by_contents(self) -> Rows:
        """Return the rows with each query contiguous, in an order that depends on contents only."""
        key, codes = self.keys(), self.queries.codes
        of_query = self.queries.sum(self.queries.group(key))
        rows = self.take(np.lexsort((key, codes, of_query[codes])))
        return replace(rows, queries=Queries(rows.queries.ptr))

    def folds(self, n_folds: int) -> list[tuple[Ints, Ints]]:
        """Return (training rows, test rows) of folds of whole queries, or of rows of one query."""
        key, unit = self._units()
        by_key = np.argsort(key, kind="stable")
        folds = np.empty(len(key), dtype=np.intp)
        for number, (_, test) in enumerate(KFold(n_folds).split(by_key)):
            folds[by_key[test]] = number
        of_row = folds[unit]
        return [(np.flatnonzero(of_row != n), np.flatnonzero(of_row == n)) for n in range(n_folds)]

    def held_out(
        self,
        share: float,
        seed: int | None = None,
        *,
        n_folds: int = 1,
        informative: Bools | None = None,
    ) -> list[Bools]:
        """Return a mask of held-out rows for each fold: whole queries, or rows of one query.

        A fold holds the units with the smallest keys that no earlier fold holds, so that folds are
        disjoint as long as there are enough units. The key of a unit depends on its own rows and
        the seed alone.

        Parameters
        ----------
        share : float
            Share of the units in each fold.
        seed : int, default=None
            Seed that draws other units.
        n_folds : int, default=1
            Number of folds.
        informative : ndarray of bool of shape (n_queries,), default=None
            Queries that rankings are compared on, of which at least one is held out and at least
            one is not; None if all of them are.
        """
        key, unit = self._units()
        if informative is None or self.queries.n_queries == 1:
            informative = np.ones(len(key), dtype=bool)
        if seed is not None:
            key = spread_bits(key + spread_bits(np.array([seed], dtype=np.uint64)))
        by_key = np.argsort(key, kind="stable")
        of_use, silent = by_key[informative[by_key]], by_key[~informative[by_key]]
        n_of_use = min(max(round(share * len(of_use)), 1), max(len(of_use) - 1, 0))
        parts = [(of_use, n_of_use), (silent, round(share * len(silent)))]
        return [self._mask(parts, number, len(key))[unit] for number in range(n_folds)]

    @staticmethod
    def _mask(parts: Sequence[tuple[Ints, int]], number: int, n_units: int) -> Bools:
        """Return a mask of the units of a fold, which begins where the previous fold ends."""
        mask = np.zeros(n_units, dtype=bool)
        for units, n in parts:
            mask[units[(number * n + np.arange(n)) % max(len(units), 1)]] = True
        return mask

    def _units(self) -> tuple[Array, Ints]:
        """Return the key of each unit that can be held out, and the unit of each row."""
        key = self.keys()
        if self.n_items is not None or self.queries.n_queries == 1:
            return key, np.arange(self.n_rows)
        return self.queries.sum(self.queries.group(key)), self.queries.codes
