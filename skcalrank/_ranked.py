"""Scores turned into positions, query by query, under a policy for ties.

A measure reads a :class:`Ranked` batch by batch: in each :class:`Block` the documents
of a query stand in the order of their positions, and a document that shares its score
with others knows the positions that it shares. The mean over those positions is the
exact expectation over random breaking of ties.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

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
        self.ties = ties
        # One more cell than rows: where a batch is padded, it reads plus infinity.
        self._keys = np.append(-scores, np.inf)
        self._labels = None if labels is None else np.append(labels, 0.0)
        self._done: dict[int | None, list[Block]] = {}

    def blocks(self, k: int | None = None) -> list[Block]:
        """Batches that between them hold every query once.

        With ``k`` only the first ``k`` positions are asked for; batches may hold more.
        """
        if k not in self._done:
            if None in self._done:
                self._done[k] = [_first(block, k) for block in self._done[None]]
            else:
                self._done[k] = list(self._make_blocks(k))
        return self._done[k]

    def _make_blocks(self, k) -> Iterator[Block]:
        for bucket in self.queries.buckets():
            if k is not None and bucket.rows.shape[1] > 2 * k:
                yield from self._top(bucket, k)
            else:
                yield self._sort(*bucket)

    def _top(self, bucket, k):
        """Select instead of sorting; sort where ties reach across position k or above."""
        keys = self._keys[bucket.rows]
        top = np.argpartition(keys, k - 1, axis=1)[:, :k]
        top_keys = np.take_along_axis(keys, top, axis=1)
        by_key = np.argsort(top_keys, axis=1)
        top = np.take_along_axis(top, by_key, axis=1)
        top_keys = np.take_along_axis(top_keys, by_key, axis=1)
        tied = (top_keys[:, 1:] == top_keys[:, :-1]).any(axis=1)
        tied |= np.count_nonzero(keys <= top_keys[:, -1:], axis=1) > k
        rows = np.take_along_axis(bucket.rows, top, axis=1)
        if not tied.any():
            yield Block(bucket.ids, rows, bucket.sizes, None, None)
            return
        yield self._sort(*(part[tied] for part in bucket))
        if not tied.all():
            clear = ~tied
            yield Block(bucket.ids[clear], rows[clear], bucket.sizes[clear], None, None)

    def _sort(self, ids, rows, sizes) -> Block:
        keys = self._keys[rows]
        if self.ties in ("worst", "best"):
            labels = self._labels[rows]
            by_label = np.argsort(
                labels if self.ties == "worst" else -labels, axis=1, kind="stable"
            )
            rows = np.take_along_axis(rows, by_label, axis=1)
            keys = np.take_along_axis(keys, by_label, axis=1)
        kind = None if self.ties == "average" else "stable"
        order = np.argsort(keys, axis=1, kind=kind)
        rows = np.take_along_axis(rows, order, axis=1)
        if self.ties != "average":
            return Block(ids, rows, sizes, None, None)
        keys = np.take_along_axis(keys, order, axis=1)
        return Block(ids, rows, sizes, *_shared_positions(keys))


def _first(block: Block, k: int) -> Block:
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
