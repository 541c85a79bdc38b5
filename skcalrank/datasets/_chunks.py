"""Chunks of a file that end where a query ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np


def whole_queries(parts: Iterable, n_rows: int) -> Iterator:
    """Join and cut parts into chunks of `n_rows` rows, and more up to where a query ends.

    Parts are named tuples of columns, arrays or None, with at most `n_rows` rows and a ``qid``.
    """
    held = None
    for part in parts:
        held = part if held is None else _joined(held, part)
        ends = np.flatnonzero(held.qid[1:] != held.qid[:-1]) + 1
        ends = ends[ends >= n_rows]
        if len(ends):
            yield _rows(held, slice(0, ends[0]))
            # A copy, which does not keep the rows before it in memory.
            held = _rows(held, slice(ends[0], None), np.copy)
    if held is not None:
        yield held


def _rows(part, which, of=np.asarray):
    return type(part)(*(None if column is None else of(column[which]) for column in part))


def _joined(part, other):
    pairs = zip(part, other)
    return type(part)(*(None if a is None else np.concatenate([a, b]) for a, b in pairs))


def refuse_cut_queries(qid, seen: set, where):
    """Raise for a query of an earlier chunk, and add the queries of this chunk."""
    names = set(np.unique(qid).tolist())
    again = names & seen
    if again:
        raise ValueError(
            f"{where}: query {min(again)!r} was in an earlier chunk. Chunks hold whole queries, "
            "so all rows of a query must be adjacent: sort the file by query, or read it whole."
        )
    seen |= names
