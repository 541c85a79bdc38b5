"""Rows of a ranking problem: features, labels, queries and weights, validated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..columns import arrays, mixed, tables
from ..columns.arrays import safe_indexing
from ..columns.types import Array, Bools, Floats, Ints
from . import check
from ._queries import Queries, join_qids
from ._workers import workers_of_fit

#: Weight of a query of n documents, as an exponent of n.
QUERY_WEIGHTS = {"pairs": 2, "documents": 1, "equal": 0}


def query_factors(queries: Queries, query_weight: str | None, summed_over: str) -> Floats | None:
    """Return the factor of the terms of each query; None if all factors are 1.

    * `query_weight`: weight that a query of n documents should have: n ** 2, n, or 1. If None, keep
      the weight that results from summing its terms.
    * `summed_over`: what the terms of a query belong to: the number of terms grows as n ** 2, or as
      n.
    """
    if query_weight is None:
        return None
    check.option("query_weight", query_weight, QUERY_WEIGHTS)
    power = QUERY_WEIGHTS[query_weight] - QUERY_WEIGHTS[summed_over]
    return queries.sizes.astype(float) ** power if power else None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a ranking problem, which the door of validation makes and nothing below it checks.

    * `X` (n_rows, d): features of the rows, in row order.
    * `y` (n_documents,): labels of the documents in grouped order, or judgments about them in row
      order. In the label-ranking form a row has `n_items` documents.
    * `queries`: documents by query.
    * `weight` (n_rows,): weights of the rows, in row order; None if all are 1.
    * `n_items`: number of items in the label-ranking form; None for rows that are documents.
    * `named`: whether the queries were given, by a qid or by a target that carries one.
    * `table`: all rows as the user passed them; None if `X` holds them.
    * `numbers` (n_rows,): number of each row among those that the user passed; None if these are
      all of them.
    * `items`: names of the items in the label-ranking form; None if they have none.

    What is drawn is drawn from the rows of all workers of the fit, and must be asked for by all of
    them.
    """

    X: Any
    y: Any
    queries: Queries
    weight: Floats | None = None
    n_items: int | None = None
    named: bool = False
    table: Any = None
    numbers: Ints | None = None
    items: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def missing(self) -> tuple[int, ...] | None:
        """Numbers of the columns with a missing value; None if X is not an array of numbers."""
        if not isinstance(self.X, np.ndarray) or self.X.dtype.kind not in "biuf":
            return None
        return tuple(np.flatnonzero(np.isnan(self.X.min(axis=0))).tolist())

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
        return tables.take_rows(self.table, self.numbers)

    def in_order(self, values: Array) -> Array:
        """Return values of documents in row order, of shape (n_rows,) or (n_rows, n_items)."""
        if self.n_items is None:
            return self.queries.ungroup(values)
        return np.reshape(values, (-1, self.n_items))

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
            if (names := self.queries.names) is not None:
                queries.hashes = self.queries.hashes[queries.names]  # once for each name
                queries.names = names[queries.names]
            y = queries.group(labels)
        else:
            queries, y = Queries.equal(len(rows), self.n_items), labels.ravel()
        return replace(
            self,
            X=safe_indexing(self.X, rows) if tables.is_frame(self.X) else self.X[rows],
            y=y,
            queries=queries,
            weight=None if self.weight is None else self.weight[rows],
            numbers=rows if self.numbers is None else self.numbers[rows],
        )

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the documents of parts with different queries, each of them contiguous."""
        sizes = np.concatenate([part.queries.sizes for part in parts])
        names = [part.queries.names for part in parts if part.queries.names is not None]
        weights = [part.weight for part in parts if part.weight is not None]
        named = len(names) == len(parts)
        return cls(
            arrays.stacked([part.X for part in parts]),
            np.concatenate([part.y for part in parts]),
            Queries(np.append(0, np.cumsum(sizes)), None, join_qids(names) if named else None),
            np.concatenate(weights) if len(weights) == len(parts) else None,
        )

    def of_all(self) -> Rows:
        """Return the rows of all workers, sorted by the names of queries."""
        if workers_of_fit().size == 1:
            return self
        rows: Rows = workers_of_fit().reduce(replace(self, table=None, numbers=None), Rows.joined)
        return replace(rows, named=self.named).by_names()

    def shared(self) -> Rows:
        """Return the rows, of a worker without rows the first query of another one."""
        workers = workers_of_fit()
        sizes = workers.gather(self.queries.n_queries)
        giver, takers = int(np.argmax(sizes)), [n for n, size in enumerate(sizes) if not size]
        if not takers:
            return self
        if sizes[giver] <= len(takers):
            raise ValueError(
                f"X must have more queries than workers to train on, got {sum(sizes)} for "
                f"{len(sizes)}: use fewer workers, or partitions of more queries."
            )
        is_given = self.queries.codes < len(takers)
        gift = None
        if workers.rank == giver:
            bare = replace(self, table=None, numbers=None)
            gift = [bare.take(self.queries.codes == n) for n in range(len(takers))]
        gifts: list[Rows] = workers.gather(gift)[giver]
        if workers.rank == giver:
            return self.take(~is_given)
        return gifts[takers.index(workers.rank)] if workers.rank in takers else self

    def weighted(self, *, documents: bool = False) -> Rows:
        """Return the rows without queries of weight 0, or without rows if each is a query.

        With `documents`, none of their rows has weight 0 either.
        """
        if self.weight is None or self.weight.all():
            return self
        used = self.weight > 0
        if self.n_items is None and not documents:
            used = (self.queries.max(self.queries.group(self.weight)) > 0)[self.queries.codes]
        return self if used.all() else self.take(used)

    def by_names(self, *, with_features: bool = True) -> Rows:
        """Return the rows with each query contiguous, in the order of the hashes of the names.

        `numbers` tells the rows, which are not copied if they are in order. Without features X has
        no columns.
        """
        rows = self if with_features else self.without_features()
        hashes, is_grouped = self.queries.hashes.view(np.int64), self.queries.order is None
        if self.n_items is not None or (is_grouped and (hashes[1:] >= hashes[:-1]).all()):
            numbers = np.arange(self.n_rows) if self.numbers is None else self.numbers
            return replace(rows, numbers=numbers)
        place = self.queries.name_ranks[self.queries.codes]
        return rows.take(np.argsort(place, kind="stable"))

    def without_table(self) -> Rows:
        """Return the rows without their table, unless it holds more than `X`."""
        keeps = isinstance(self.table, tables.EncodedTable) or tables.is_records(self.table)
        return self if keeps else replace(self, table=None)

    def without_features(self) -> Rows:
        """Return the rows with an X that has no columns."""
        return replace(self, X=np.empty((self.n_rows, 0)))

    def folds(self, n_folds: int | None = None, seed: int = 0) -> list[tuple[Ints, Ints]]:
        """Return (training rows, test rows) of folds of whole queries, or of rows of one query.

        If `n_folds` is None, of five folds or as many as there are units.
        """
        of_row, hashes = self._units()
        deal = partial(_dealt, n_folds, seed, "rows" if self._units_are_rows else "queries")
        n, of_unit = workers_of_fit().deal((hashes, self.n_rows), deal)
        fold = of_unit[of_row]
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n)]

    def held_out(
        self, share: float, seed: int = 0, *, n_folds: int = 1, informative: Bools | None = None
    ) -> list[Bools]:
        """Return a mask of held-out rows for each fold: whole queries, or rows of one query.

        A fold holds the units with the smallest keys that no earlier fold holds, so that folds are
        disjoint as long as there are enough units. The key of a query depends on its name and the
        seed alone, that of a row on its number.

        * `share`: share of the units in each fold.
        * `seed`: seed that draws other units.
        * `n_folds`: number of folds.
        * `informative` (n_queries,): queries that rankings are compared on, of which at least one
          is held out and at least one is not; None if all of them are.
        """
        of_row, hashes = self._units()
        if informative is None or len(informative) != len(hashes):
            informative = np.ones(len(hashes), dtype=bool)
        draw = partial(_drawn, share, n_folds, seed)
        return [mask[of_row] for mask in workers_of_fit().deal((hashes, informative), draw)]

    @property
    def _units_are_rows(self) -> bool:
        """Whether rows are held out, and not queries."""
        return self.n_items is not None or (self.queries.n_queries, workers_of_fit().size) == (1, 1)

    def _units(self) -> tuple[Ints, Array]:
        """Return the unit of each row that can be held out, and the hash of each unit."""
        if not self._units_are_rows:
            return self.queries.codes, self.queries.hashes
        workers, n_rows = workers_of_fit(), self.n_rows
        first = sum(workers.gather(n_rows)[: workers.rank])
        return np.arange(n_rows), np.arange(first, first + n_rows, dtype=np.uint64)


def seed_of(random_state: Any) -> int:
    """Return the seed of draws: 0 for None, the number itself, or a number that is drawn."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _dealt(
    n_folds: int | None, seed: int, units: str, parts: list[tuple[Array, int]]
) -> list[tuple[int, Ints]]:
    """Return the number of folds and the fold of each unit, for each worker.

    Parts are, of each worker, the hashes of units and the number of rows.
    """
    hashes, n_rows = zip(*parts)
    by_key = np.argsort(mixed(np.concatenate(hashes), seed), kind="stable")
    n = len(by_key)
    n_folds = min(5, n) if n_folds is None else n_folds
    if not 2 <= n_folds <= n:
        raise ValueError(
            f"cv must be between 2 and the number of {units}, {n} (n_samples={sum(n_rows)}), got "
            f"{n_folds}."
        )
    folds = np.empty(n, dtype=np.intp)
    folds[by_key] = np.arange(n) * n_folds // n
    return [(n_folds, part) for part in np.split(folds, _ends_of(hashes))]


def _ends_of(parts: Sequence[Array]) -> Ints:
    """Return where the parts of concatenated arrays end, but for the last."""
    return np.cumsum([len(part) for part in parts])[:-1]


def _drawn(
    share: float, n_folds: int, seed: int, parts: list[tuple[Array, Bools]]
) -> list[list[Bools]]:
    """Return the masks of the units of each worker, one for each fold.

    Parts are, of each worker, the hashes of units and whether rankings are compared on them.
    """
    by_worker, _ = zip(*parts)
    hashes, informative = map(np.concatenate, zip(*parts))
    by_key = np.argsort(mixed(hashes, seed), kind="stable")
    of_use, silent = by_key[informative[by_key]], by_key[~informative[by_key]]
    n_of_use = min(max(round(share * len(of_use)), 1), max(len(of_use) - 1, 0))
    drawn = [(of_use, n_of_use), (silent, round(share * len(silent)))]
    ends = _ends_of(by_worker)
    folds = [np.split(_fold(drawn, number, len(hashes)), ends) for number in range(n_folds)]
    return [list(masks) for masks in zip(*folds)]


def _fold(parts: Sequence[tuple[Ints, int]], number: int, n_units: int) -> Bools:
    """Return a mask of the units of a fold, which begins where the previous fold ends."""
    mask = np.zeros(n_units, dtype=bool)
    for units, n in parts:
        mask[units[(number * n + np.arange(n)) % max(len(units), 1)]] = True
    return mask
