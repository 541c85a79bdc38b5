"""Scores turned into positions, query by query, under a policy for ties.

A measure reads a :class:`Ranked` batch by batch: in each :class:`Block` the documents
of a query stand in the order of their positions, and a document that shares its score
with others knows the positions that it shares. The mean over those positions is the
exact expectation over random breaking of ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ._queries import Queries

__all__ = ["TIES", "Block", "Ranked", "positions"]

TIES = ("average", "stable", "worst", "best")


class Block(NamedTuple):
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
    start, stop : ndarray of shape (n_block, width) or None
        The document shares the positions ``start + 1, ..., stop`` with those of equal
        score. None when no query of the block has ties that matter.
    """

    ids: np.ndarray
    rows: np.ndarray
    sizes: np.ndarray
    start: np.ndarray | None
    stop: np.ndarray | None

    def gather(self, values: np.ndarray) -> np.ndarray:
        """The values of the documents in ranked order, 0 where there is none."""
        out = values.take(self.rows, mode="clip")
        width = self.rows.shape[1]
        if self.sizes.min() < width:
            np.copyto(out, 0.0, where=np.arange(width) >= self.sizes)
        return out

    @property
    def positions(self) -> np.ndarray:
        """Positions from 1, of shape (1, width)."""
        return np.arange(1, self.rows.shape[1] + 1)[None, :]


class Ranked:
    """Documents ranked by decreasing score within their query.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Finite scores, in grouped order.
    queries : Queries
    ties : {"average", "stable", "worst", "best"}, default="average"
        Equal scores share their positions, stand in row order, or in the order of
        their labels that is worst or best for the measure.
    labels : ndarray of shape (n_rows,), default=None
        What "worst" and "best" mean: lower or higher labels first.
    """

    def __init__(self, scores, queries: Queries, ties="average", labels=None):
        self.queries = queries
        self._scores = scores
        self.ties = ties
        self._keys = queries.extend(-scores)
        self._labels = None if labels is None else queries.extend(labels)
        self._done: dict[int | None, list[Block]] = {}

    def with_labels(self, labels: np.ndarray) -> Ranked:
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

    def _make_blocks(self, k) -> Iterator[Block]:
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

    def _select(self, bucket, k):
        """The first k documents, and the queries where ties reach among them."""
        keys = bucket.pad(self._keys, np.inf)
        chosen = np.flatnonzero(keys <= np.partition(keys, k - 1, axis=1)[:, k - 1 : k])
        clear = np.ones(len(keys), dtype=bool)
        if len(chosen) > k * len(keys):
            query = chosen // bucket.width
            clear = np.bincount(query, minlength=len(keys)) == k
            chosen = chosen[clear[query]]
        rows = bucket.first[clear] + chosen.reshape(-1, k) % bucket.width
        top = self._keys[rows]
        by_key = np.argsort(top, axis=1)
        top = np.take_along_axis(top, by_key, axis=1)
        distinct = (top[:, 1:] != top[:, :-1]).all(axis=1)
        clear[clear] = distinct
        part = bucket.keep(clear)
        rows = np.take_along_axis(rows, by_key, axis=1)[distinct]
        return Block(part.ids, rows, part.sizes, None, None), ~clear

    def _sort(self, bucket, k=None) -> Block:
        keys = bucket.pad(self._keys, np.inf)
        if self.ties in ("worst", "best"):
            labels = bucket.pad(self._labels, 0.0)
            labels = labels if self.ties == "worst" else -labels
            by_label = np.argsort(labels, axis=1, kind="stable")
            by_key = np.argsort(np.take_along_axis(keys, by_label, axis=1), axis=1, kind="stable")
            order = np.take_along_axis(by_label, by_key, axis=1)
        else:
            order = np.argsort(keys, axis=1, kind=None if self.ties == "average" else "stable")
        start = stop = None
        if self.ties != "average":
            order = order[:, :k]
        else:
            keys = np.take_along_axis(keys, order, axis=1)
            if k is not None and k < keys.shape[1]:
                # Positions that documents among the first k share may reach beyond k.
                reach = np.count_nonzero(keys <= keys[:, k - 1 : k], axis=1)
                reach = reach[np.isfinite(keys[:, k - 1])].max(initial=k)
                order, keys = order[:, :reach], keys[:, :reach]
            start, stop = _shared_positions(keys)
        rows = bucket.first + order
        np.copyto(rows, self.queries.n_rows, where=order >= bucket.sizes)
        return Block(bucket.ids, rows, bucket.sizes, start, stop)


def _first(block: Block, k: int | None) -> Block:
    """The first k positions; with shared positions, which may reach beyond k, all."""
    return block if block.start is not None else block._replace(rows=block.rows[:, :k])


def _shared_positions(keys):
    """First position minus one, and last position, of each run of equal keys in a row."""
    n, width = keys.shape
    # Each row of `new` ends with a mark of its own, so that no run crosses rows.
    new = np.ones((n, width + 1), dtype=bool)
    np.not_equal(keys[:, 1:], keys[:, :-1], out=new[:, 1:-1])
    # Missing documents share a key, but nobody looks at them.
    if (new[:, 1:-1] | np.isinf(keys[:, 1:])).all():
        return None, None
    marks = np.flatnonzero(new)
    lengths = np.diff(marks, append=0)
    is_end = np.cumsum(np.count_nonzero(new, axis=1)) - 1
    starts, lengths = np.delete(marks, is_end), np.delete(lengths, is_end)
    row_start = np.arange(n)[:, None] * (width + 1)
    start = np.repeat(starts, lengths).reshape(n, width) - row_start
    stop = np.repeat(starts + lengths, lengths).reshape(n, width) - row_start
    return start, stop


def positions(scores: np.ndarray, queries: Queries) -> np.ndarray:
    """1-based positions by decreasing score; equal scores stand in row order.

    Both arrays are in grouped order.
    """
    out = np.empty(queries.n_rows + 1, dtype=np.intp)
    for block in Ranked(scores, queries, ties="stable").blocks():
        out[block.rows] = block.positions
    return out[:-1]
