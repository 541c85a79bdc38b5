"""Judgments grouped by query, so that some of them can be chosen for all queries at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints
from ..data import OneQueryWarning, Queries, factorized, is_settled
from ..judgments import ClickSessions, PreferenceTarget
from ._tally import Tally


@dataclass
class Judgments(ABC):
    """Judgments of all queries.

    Query ``q`` has the judgments ``ptr[q]:ptr[q + 1]``, possibly none. The rows of the documents
    are in grouped order.
    """

    queries: Queries
    ptr: np.ndarray

    @abstractmethod
    def _with(self, ids: Ints, judgments: Ints, ptr: Ints) -> Judgments:
        """Select queries by index, with some of their judgments, to which `ptr` points."""

    @abstractmethod
    def choose(self, chosen: np.ndarray) -> PreferenceTarget | ClickSessions:
        """Return the target of the chosen judgments, for which structures do not warn."""

    @property
    def counts(self) -> np.ndarray:
        """Number of judgments of each query."""
        return np.diff(self.ptr)

    def keep(self, ids: Ints) -> Judgments:
        """Select queries by index; repeated indices duplicate the query."""
        return self._with(ids, *arrays.ranges(self.ptr, ids))

    def draw(self, order: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw a random subset of `order` judgments of each query, of which there are as many."""
        return (self.ptr[:-1, None] + random_subsets(self.counts, order, rng)).ravel()

    def sample(self, ids: np.ndarray, order: int, rng: np.random.RandomState) -> Judgments:
        """Select queries with a random subset of `order` of their judgments, of which are more."""
        drawn = self.ptr[ids][:, None] + random_subsets(self.counts[ids], order, rng)
        return self._with(ids, drawn.ravel(), np.arange(len(ids) + 1) * order)


@dataclass
class PairJudgments(Judgments):
    """Judgments that are sets of preferences.

    The pairs that are compared are those of ``first`` and ``second``, places in grouped order,
    ascending. Judgment ``j`` has the preferences ``preference_ptr[j]:preference_ptr[j + 1]``, whose
    ``slot`` is twice the number of the pair, plus one if ``first`` is preferred.
    """

    first: np.ndarray
    second: np.ndarray
    slot: np.ndarray
    weight: np.ndarray
    preference_ptr: np.ndarray

    @classmethod
    def of(cls, y: PreferenceTarget, queries: Queries) -> PairJudgments:
        """Return the judgments of a target, grouped by the given queries."""
        n = queries.n_rows
        place = queries.ungroup(np.arange(n))
        winner, loser = place[y.winner], place[y.loser]
        query = queries.repeat(np.arange(queries.n_queries))[winner]
        judgment = factorized(y.judgment)[0] if y.judgment.dtype == object else y.judgment
        order = np.lexsort((judgment, query))
        begin = arrays.run_starts(query[order], judgment[order])
        winner, loser = winner[order], loser[order]
        forward = winner < loser
        first = np.where(forward, winner, loser)
        key, pair = np.unique(first * n + (winner + loser - first), return_inverse=True)
        judged = np.bincount(query[order][begin], minlength=queries.n_queries)
        return cls(
            Queries(queries.ptr, names=queries.names),
            np.append(0, np.cumsum(judged)),
            key // n,
            key % n,
            2 * pair.ravel() + forward,
            y.weight[order],
            np.append(begin, len(order)),
        )

    def _with(self, ids: Ints, judgments: Ints, ptr: Ints) -> PairJudgments:
        queries = self.queries.some(ids)
        preferences, preference_ptr = arrays.ranges(self.preference_ptr, judgments)
        pair, forward = np.divmod(self.slot[preferences], 2)
        moved = np.repeat(queries.ptr[:-1] - self.queries.ptr[ids], np.diff(preference_ptr[ptr]))
        n = queries.n_rows
        key, pair = np.unique(
            (self.first[pair] + moved) * n + self.second[pair] + moved, return_inverse=True
        )
        slot, weight = 2 * pair.ravel() + forward, self.weight[preferences]
        return PairJudgments(queries, ptr, key // n, key % n, slot, weight, preference_ptr)

    def choose(self, chosen: Ints) -> Chosen:
        return Chosen(self, chosen)

    def tally(
        self, slot: Ints, weight: Floats, n_judgments: Ints, *, silent: bool = False
    ) -> Tally:
        """Return the tally of preferences, given by their slots."""
        counts = np.bincount(slot, weight, 2 * len(self.first))
        losses, wins = counts[::2], counts[1::2]
        seen = np.flatnonzero(wins + losses)
        pairs = self.first[seen], self.second[seen]
        return Tally(self.queries, *pairs, wins[seen], losses[seen], n_judgments, None, silent)


class Chosen(PreferenceTarget):
    """Some judgments of a target, in grouped order, and their tally."""

    def __init__(self, judgments: PairJudgments, chosen: Ints) -> None:
        preferences, ptr = arrays.ranges(judgments.preference_ptr, chosen)
        slot, weight = judgments.slot[preferences], judgments.weight[preferences]
        queries = judgments.queries
        query = np.repeat(np.arange(queries.n_queries), judgments.counts)[chosen]
        n_judgments = np.bincount(query, minlength=queries.n_queries)
        self.tally = judgments.tally(slot, weight, n_judgments, silent=True)
        ends = np.column_stack([judgments.second, judgments.first]).ravel()
        super().__init__(
            ends[slot],
            ends[slot ^ 1],
            weight,
            np.repeat(chosen, np.diff(ptr)),
            queries.n_rows,
            queries.codes,
        )


@dataclass
class SessionJudgments(Judgments):
    """Judgments that are click sessions, sorted by query."""

    sessions: ClickSessions

    @classmethod
    def of(cls, y: ClickSessions, queries: Queries) -> SessionJudgments:
        """Return the judgments of a target, grouped by the given queries."""
        place = queries.ungroup(np.arange(queries.n_rows))
        query = queries.codes[y.shown_rows[y.ptr[:-1]]]
        ptr = np.append(0, np.cumsum(np.bincount(query, minlength=queries.n_queries)))
        grouped = Queries(queries.ptr, names=queries.names)
        sessions = y.renumbered(grouped.codes, place[y.shown_rows])
        return cls(grouped, ptr, sessions.choose(np.argsort(query, kind="stable")))

    def _with(self, ids: Ints, judgments: Ints, ptr: Ints) -> SessionJudgments:
        queries = self.queries.some(ids)
        sessions = self.sessions.choose(judgments)
        moved = np.repeat(queries.ptr[:-1] - self.queries.ptr[ids], np.diff(sessions.ptr[ptr]))
        sessions = sessions.renumbered(queries.codes, sessions.shown_rows + moved)
        return SessionJudgments(queries, ptr, sessions)

    def choose(self, chosen: Ints) -> ClickSessions:
        return self.sessions.choose(chosen)


def judgments_of(y: PreferenceTarget | ClickSessions, queries: Queries) -> Judgments:
    """Return the judgments of comparisons or click sessions, grouped by the given queries."""
    if isinstance(y, ClickSessions):
        return SessionJudgments.of(y, queries)
    return PairJudgments.of(y, queries)


def tally_of(y: Any, structure: str) -> Tally:
    """Return the tally of all judgments of a target; error messages name `structure`."""
    if isinstance(y, Chosen):
        return y.tally
    if not isinstance(y, PreferenceTarget):
        raise TypeError(
            f"y must be a PreferenceTarget for {structure}, got {type(y).__name__}: make one with "
            "PreferenceTarget.from_frame, of a table of winners and losers, from_comparisons, "
            "from_orders, from_relevance or from_matrix, or use cascade for clicks."
        )
    if not len(y):
        raise ValueError(f"y must have at least one row for {structure}, got none.")
    queries = y.queries()
    judgments = PairJudgments.of(y, queries)
    tally = judgments.tally(judgments.slot, judgments.weight, judgments.counts)
    tally = replace(tally, queries=queries, n_items=y.n_items)
    pairs = np.ones(len(tally.first))
    met = tally.row_sums(pairs, pairs)
    never = (met == 0) & queries.repeat(queries.max(met) > 0)
    # Rankers do not learn from these documents, and matrices show them.
    told = is_settled(OneQueryWarning) or structure in ("mean_adjacency", "log_odds")
    if never.any() and not told:
        place = int(np.argmax(never))
        name = y.document_name(place if queries.order is None else int(queries.order[place]))
        text = f"has documents that were never compared, such as {name}: their scores say nothing."
        tally.warn_of(queries.max(never) > 0, f"{text} Compare them, or leave them out.")
    return tally


def random_subsets(counts: Ints, order: int, rng: np.random.RandomState) -> Ints:
    """Draw `order` of `counts` numbers without replacement, for each count of an array."""
    out = np.empty((len(counts), order), dtype=np.intp)
    many = counts > 2 * order
    out[~many] = _smallest_keys(counts[~many], order, rng)
    out[many] = _first_distinct(counts[many], order, rng)
    return out


def _first_distinct(counts: Ints, order: int, rng: np.random.RandomState) -> Ints:
    """Draw numbers until `order` of them are distinct; most of them are at once."""
    out = np.floor(rng.random_sample((len(counts), order)) * counts[:, None]).astype(np.intp)
    open_ = np.arange(len(counts))
    while len(open_):
        rows = np.sort(out[open_], axis=1)
        again = np.zeros(rows.shape, dtype=bool)
        again[:, 1:] = rows[:, 1:] == rows[:, :-1]
        fresh = rng.random_sample(int(again.sum())) * np.repeat(counts[open_], again.sum(axis=1))
        rows[again] = np.floor(fresh)
        out[open_] = rows
        open_ = open_[again.any(axis=1)]
    return out


def _smallest_keys(counts: Ints, order: int, rng: np.random.RandomState) -> Ints:
    """Draw the numbers with the smallest random keys."""
    things = Queries(np.append(0, np.cumsum(counts)))
    keys = things.extend(rng.random_sample(things.n_rows))
    out = np.empty((len(counts), order), dtype=np.intp)
    for bucket in things.buckets:
        out[bucket.ids] = np.argpartition(bucket.pad(keys, np.inf), order - 1, axis=1)[:, :order]
    return out
