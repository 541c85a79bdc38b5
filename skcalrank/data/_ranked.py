"""Conversion of scores to positions, query by query, under a policy for ties.

Measures read a :class:`Ranked` in batches. In each :class:`Block` the documents of a query are
sorted by position, and documents of equal score share a range of positions. The mean over the
shared positions is the exact expectation over random breaking of ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ._properties import lazy_property
from ._queries import Bucket, Queries

# Up to so many rows are sorted at once; there are fewer of them than numbers of two bytes.
_FEW_ROWS = 1 << 12

TIES = ("average", "stable", "reversed", "worst", "best")


@dataclass
class Block:
    """A batch of queries with their documents in ranked order.

    * `ids` (n_block,): numbers of the queries.
    * `rows` (n_block, width): row numbers, in grouped order, of the documents at positions 1, 2,
      ...; ``n_rows`` where a query has no further document.
    * `sizes` (n_block, 1): number of documents of each query.
    * `runs`: indices into ``rows.ravel()`` at which runs of equal scores begin; each row begins a
      new run. None if no query of the block has ties that matter.
    """

    ids: Ints
    rows: Ints
    sizes: Ints
    runs: Any = None

    @property
    def tied(self) -> bool:
        """Whether some documents share positions."""
        return self.runs is not None

    @lazy_property
    def start(self) -> Ints:
        """Offset of the positions that each document shares, shaped as `rows`.

        A document shares the positions ``start + 1, ..., stop`` with documents of equal score.
        """
        return np.repeat(self.run_start, self.run_length).reshape(self.rows.shape)

    @lazy_property
    def stop(self) -> Ints:
        """Last position that a document shares, shaped as `rows`; see `start`."""
        return np.repeat(self.run_start + self.run_length, self.run_length).reshape(self.rows.shape)

    @lazy_property
    def mean_position(self) -> Floats:
        """Mean of the 1-based positions that each document shares, shaped as `rows`."""
        means = self.run_start + (self.run_length + 1) / 2
        return np.repeat(means, self.run_length).reshape(self.rows.shape)

    @lazy_property
    def run_length(self) -> Ints:
        """Length of each run, in documents."""
        # Equals np.diff with append, in a fifth of the time.
        return np.concatenate((self.runs[1:], [self.rows.size])) - self.runs

    @lazy_property
    def run_row(self) -> Ints:
        """Index, within the block, of the query that each run belongs to."""
        # Every query begins a run.
        return self.runs // self.rows.shape[1]

    @lazy_property
    def run_start(self) -> Ints:
        """Offset of each run: how many positions of its query come before it."""
        return self.runs - self.run_row * self.rows.shape[1]

    def sum_of_runs(self, values: Floats) -> Floats:
        """Return the sum of `values`, shaped as `rows`, over the documents of each run."""
        return np.add.reduceat(values.ravel(), self.runs)

    def gather(self, values: Floats) -> Floats:
        """Return the values of the documents in ranked order, 0 where there is no document."""
        out = values.take(self.rows, mode="clip")
        width = self.rows.shape[1]
        if self.sizes.min() < width:
            np.copyto(out, 0.0, where=np.arange(width) >= self.sizes)
        return out

    @property
    def positions(self) -> Ints:
        """Positions ``1, ..., width``, of shape (1, width)."""
        return np.arange(1, self.rows.shape[1] + 1)[None, :]


class Ranked:
    """Documents ranked by decreasing score within their query.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Finite scores, in grouped order.
    queries : Queries
    ties : {"average", "stable", "reversed", "worst", "best"}, default="average"
        Policy for equal scores: documents share their positions ("average"), are sorted in row
        order ("stable") or in reversed row order ("reversed"), or by their `labels`, lower first
        ("worst") or higher first ("best").
    labels : ndarray of shape (n_rows,), default=None
        Labels in grouped order, required for "worst" and "best".
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

    @lazy_property
    def is_short(self) -> bool:
        """Whether all rows are sorted by :attr:`runs` in less time than by blocks."""
        return self.ties == "average" and self.queries.n_rows <= _FEW_ROWS

    @lazy_property
    def runs(self) -> tuple[Ints, Ints]:
        """Rows in ranked order, query by query, and where runs of equal scores begin in it."""
        queries, keys = self.queries, self._keys[: self.queries.n_rows]
        order = keys.argsort()
        codes = np.repeat(np.arange(queries.n_queries, dtype=np.int16), queries.sizes)
        order = order[codes[order].argsort(kind="stable")]
        keys = keys[order]
        new = np.ones(len(keys), dtype=bool)
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        new[queries.ptr[:-1]] = True
        return order, np.flatnonzero(new)

    def with_labels(self, labels: Floats) -> Ranked:
        """Return the same ranking with other labels, which define "worst" and "best"."""
        return Ranked(self._scores, self.queries, self.ties, labels)

    def blocks(self, k: int | None = None) -> list[Block]:
        """Return batches that together contain every query once.

        With `k`, only the first `k` positions are guaranteed; batches may contain more.
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
        for bucket in self.queries.buckets:
            if k is None or mostly_tied or bucket.width <= 2 * k:
                yield self._sort(bucket, k)
                continue
            block, tied = self._select(bucket, k)
            # If most queries have ties, selecting the top documents first does the work twice.
            mostly_tied = tied.mean() > 0.5
            if len(block.ids):
                yield block
            if tied.any():
                yield self._sort(bucket.keep(tied), k)

    def _select(self, bucket: Bucket, k: int) -> tuple[Block, Bools]:
        """Return a block of the first k documents, and a mask of the queries left out.

        Queries with ties among their first k documents, or between positions k and k + 1, are
        left out.
        """
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
        rows = arrays.along_rows(places, np.argsort(top, axis=1))
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
            by_key = np.argsort(arrays.along_rows(keys, by_label), axis=1, kind="stable")
            order = arrays.along_rows(by_label, by_key)
        elif self.ties == "reversed":
            order = bucket.width - 1 - np.argsort(keys[:, ::-1], axis=1, kind="stable")
        else:
            order = np.argsort(keys, axis=1, kind=None if self.ties == "average" else "stable")
        runs = None
        if self.ties != "average":
            order = order[:, :k]
        else:
            if k is not None and k < keys.shape[1]:
                # Documents among the first k may share positions beyond k.
                last = np.take_along_axis(keys, order[:, k - 1 : k], axis=1)
                reach = np.count_nonzero(keys <= last, axis=1)
                order = order[:, : reach[np.isfinite(last[:, 0])].max(initial=k)]
            runs = _runs(arrays.along_rows(keys, order), bucket.sizes)
        rows = bucket.first + order
        if bucket.ragged:
            np.copyto(rows, self.queries.n_rows, where=order >= bucket.sizes)
        return Block(bucket.ids, rows, bucket.sizes, runs)


def _first(block: Block, k: int | None) -> Block:
    """Return the first k positions of a block; all if it has shared positions, also beyond k."""
    return block if block.tied else replace(block, rows=block.rows[:, :k])


def _runs(keys: Floats, sizes: Ints) -> Ints | None:
    """Return where runs of equal keys begin in the raveled keys; None if no keys are equal."""
    new = np.ones(keys.shape, dtype=bool)
    np.not_equal(keys[:, 1:], keys[:, :-1], out=new[:, 1:])
    runs = np.flatnonzero(new)
    # Missing documents share a key, which does not count as a tie.
    return None if new.size - len(runs) == np.maximum(keys.shape[1] - sizes - 1, 0).sum() else runs


def runs(scores: Floats, queries: Queries) -> tuple[Ints, Ints]:
    """Return rows in ranked order, query by query, and where runs of equal scores begin in it."""
    codes = queries.repeat(np.arange(queries.n_queries))
    order = np.lexsort((-scores, codes))
    return order, arrays.run_starts(scores[order], codes)


def mean_of_runs(by_position: Floats, order: Ints, starts: Ints) -> Floats:
    """Return for each document the mean value of the positions that it shares with its equals."""
    lengths = np.diff(starts, append=len(order))
    out = np.empty(len(order))
    out[order] = np.repeat(np.add.reduceat(by_position, starts) / lengths, lengths)
    return out


def positions(scores: Floats, queries: Queries) -> Ints:
    """Return 1-based positions by decreasing score, within queries; ties keep their row order.

    The scores and the positions are in grouped order.
    """
    out = np.empty(queries.n_rows + 1, dtype=np.intp)
    for block in Ranked(scores, queries, ties="stable").blocks():
        out[block.rows] = block.positions
    return out[:-1]
