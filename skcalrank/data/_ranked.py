"""Scores turned into positions, query by query, under a policy for ties.

A measure reads a :class:`Ranked` batch by batch: in each :class:`Block` the documents
of a query stand in the order of their positions, and a document that shares its score
with others knows the positions that it shares. The mean over those positions is the
exact expectation over random breaking of ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrays import along_rows
from ._lazily import lazy_property
from ._queries import Bucket, Queries
from ._types import Array, Bools, Floats, Ints

TIES = ("average", "stable", "reversed", "worst", "best")


@dataclass
class Block:
    """Queries side by side, their documents in ranked order.

    Attributes
    ----------
    ids : ndarray of shape (n_block,)
        Which queries.
    rows : ndarray of shape (n_block, width)
        The documents at positions 1, 2, ..., in grouped order; ``n_rows`` where a
        query has no further document.
    sizes : ndarray of shape (n_block, 1)
        The numbers of documents.
    runs : ndarray of int or None
        Where runs of equal scores begin in ``rows.ravel()``, each row beginning one. None
        when no query of the block has ties that matter.
    """

    ids: Ints
    rows: Ints
    sizes: Ints
    runs: Any = None

    @property
    def tied(self) -> bool:
        """Whether documents share positions."""
        return self.runs is not None

    @lazy_property
    def start(self) -> Ints:
        """A document shares the positions ``start + 1, ..., stop`` with those of equal score."""
        return np.repeat(self.run_start, self.run_length).reshape(self.rows.shape)

    @lazy_property
    def stop(self) -> Ints:
        """See `start`."""
        ends = self.run_start + self.run_length
        return np.repeat(ends, self.run_length).reshape(self.rows.shape)

    @lazy_property
    def mean_position(self) -> Floats:
        """The mean of the positions from 1 that each document shares."""
        means = self.run_start + (self.run_length + 1) / 2
        return np.repeat(means, self.run_length).reshape(self.rows.shape)

    @lazy_property
    def run_length(self) -> Ints:
        """Number of documents of each run."""
        # As np.diff with append, in a fifth of its time.
        lengths: Ints = np.concatenate((self.runs[1:], [self.rows.size])) - self.runs
        return lengths

    @lazy_property
    def run_row(self) -> Ints:
        """Query of the block that each run belongs to."""
        # Every query begins a run.
        rows: Ints = self.runs // self.rows.shape[1]
        return rows

    @lazy_property
    def run_start(self) -> Ints:
        """Number of positions before each run."""
        starts: Ints = self.runs - self.run_row * self.rows.shape[1]
        return starts

    def sum_of_runs(self, values: Floats) -> Floats:
        """Sum over the documents of each run, of an array shaped as `rows`."""
        return np.add.reduceat(values.ravel(), self.runs)

    def sum_of_queries(self, of_runs: Floats) -> Floats:
        """Sum over the runs of each query."""
        sums: Array = np.bincount(self.run_row, of_runs, len(self.rows))
        return sums

    def gather(self, values: Floats) -> Floats:
        """The values of the documents in ranked order, 0 where there is none."""
        out = values.take(self.rows, mode="clip")
        width = self.rows.shape[1]
        if self.sizes.min() < width:
            np.copyto(out, 0.0, where=np.arange(width) >= self.sizes)
        return out

    @property
    def positions(self) -> Ints:
        """Positions from 1, of shape (1, width)."""
        return np.arange(1, self.rows.shape[1] + 1)[None, :]


class Ranked:
    """Documents ranked by decreasing score within their query.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Finite scores, in grouped order.
    queries : Queries
    ties : {"average", "stable", "reversed", "worst", "best"}, default="average"
        Equal scores share their positions, stand in row order or its reverse, or in the order of
        their labels that is worst or best for the measure.
    labels : ndarray of shape (n_rows,), default=None
        What "worst" and "best" mean: lower or higher labels first.
    """

    def __init__(
        self, scores: Floats, queries: Queries, ties: str = "average", labels: Floats | None = None
    ) -> None:
        self.queries = queries
        self._scores = scores
        self.ties = ties
        self._keys = queries.extend(scores, np.negative)
        self._labels: Any = None if labels is None else queries.extend(labels)
        self._done: dict[int | None, list[Block]] = {}

    def with_labels(self, labels: Floats) -> Ranked:
        """The same scores, with another meaning of "worst" and "best"."""
        return Ranked(self._scores, self.queries, self.ties, labels)

    def blocks(self, k: int | None = None) -> list[Block]:
        """Batches that between them hold every query once.

        With ``k`` only the first ``k`` positions are asked for; batches may hold more.
        """
        k = None if k is None else int(k)
        if k not in self._done:
            if None in self._done:
                self._done[k] = [_first(block, k) for block in self._done[None]]
            else:
                self._done[k] = list(self._make_blocks(k))
        return self._done[k]

    def _make_blocks(self, k: int | None) -> Iterator[Block]:
        mostly_tied = False
        for bucket in self.queries.buckets():
            if k is None or mostly_tied or bucket.width <= 2 * k:
                yield self._sort(bucket, k)
                continue
            block, tied = self._select(bucket, k)
            # Where ties abound, selecting first is work done twice.
            mostly_tied = tied.mean() > 0.5
            if len(block.ids):
                yield block
            if tied.any():
                yield self._sort(bucket.keep(tied), k)

    def _select(self, bucket: Bucket, k: int) -> tuple[Block, Bools]:
        """The first k documents, and the queries where ties reach among them."""
        keys = bucket.pad(self._keys, np.inf)
        chosen = np.flatnonzero(keys <= np.partition(keys, k - 1, axis=1)[:, k - 1 : k])
        clear = np.ones(len(keys), dtype=bool)
        if len(chosen) > k * len(keys):
            query = chosen // bucket.width
            clear = np.bincount(query, minlength=len(keys)) == k
            chosen = chosen[clear[query]]
        start_of_row = np.flatnonzero(clear)[:, None] * bucket.width
        places = chosen.reshape(-1, k)
        top = keys.ravel()[places]
        by_key = np.argsort(top, axis=1)
        rows = along_rows(places, by_key)
        rows += bucket.first[clear] - start_of_row
        top.sort(axis=1)
        distinct = (top[:, 1:] != top[:, :-1]).all(axis=1)
        if distinct.all() and clear.all():
            return Block(bucket.ids, rows, bucket.sizes), ~clear
        clear[clear] = distinct
        ids, sizes = bucket.ids[clear], bucket.sizes[clear]
        return Block(ids, rows[distinct], sizes), ~clear

    def _sort(self, bucket: Bucket, k: int | None = None) -> Block:
        keys = bucket.pad(self._keys, np.inf)
        if self.ties in ("worst", "best"):
            labels = bucket.pad(self._labels, 0.0)
            labels = labels if self.ties == "worst" else -labels
            by_label = np.argsort(labels, axis=1, kind="stable")
            by_key = np.argsort(along_rows(keys, by_label), axis=1, kind="stable")
            order = along_rows(by_label, by_key)
        elif self.ties == "reversed":
            order = bucket.width - 1 - np.argsort(keys[:, ::-1], axis=1, kind="stable")
        else:
            order = np.argsort(keys, axis=1, kind=None if self.ties == "average" else "stable")
        runs = None
        if self.ties != "average":
            order = order[:, :k]
        else:
            if k is not None and k < keys.shape[1]:
                # Positions that documents among the first k share may reach beyond k.
                last = np.take_along_axis(keys, order[:, k - 1 : k], axis=1)
                reach = np.count_nonzero(keys <= last, axis=1)
                order = order[:, : reach[np.isfinite(last[:, 0])].max(initial=k)]
            runs = _runs(along_rows(keys, order), bucket.sizes)
        rows = bucket.first + order
        if bucket.ragged:
            np.copyto(rows, self.queries.n_rows, where=order >= bucket.sizes)
        return Block(bucket.ids, rows, bucket.sizes, runs)


def _first(block: Block, k: int | None) -> Block:
    """The first k positions; with shared positions, which may reach beyond k, all."""
    return block if block.tied else replace(block, rows=block.rows[:, :k])


def _runs(keys: Floats, sizes: Ints) -> Ints | None:
    """Where runs of equal keys begin in the raveled keys; None when all runs are single."""
    new = np.ones(keys.shape, dtype=bool)
    np.not_equal(keys[:, 1:], keys[:, :-1], out=new[:, 1:])
    runs = np.flatnonzero(new)
    # Missing documents share a key, but nobody looks at them.
    missing = np.maximum(keys.shape[1] - sizes - 1, 0).sum()
    return None if new.size - len(runs) == missing else runs


def positions(scores: Floats, queries: Queries) -> Ints:
    """1-based positions by decreasing score; equal scores stand in row order.

    Both arrays are in grouped order.
    """
    out = np.empty(queries.n_rows + 1, dtype=np.intp)
    for block in Ranked(scores, queries, ties="stable").blocks():
        out[block.rows] = block.positions
    return out[:-1]
