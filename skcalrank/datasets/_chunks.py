"""Chunks of a file that end where a query ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

# A block of rows with its qid, and the slice of those that are in a chunk.
Cut = tuple[np.ndarray, Any, slice]


def whole_queries(blocks: Iterable[tuple[np.ndarray, Any]], n_rows: int) -> Iterator[list[Cut]]:
    """Cut blocks of rows, each behind its qid, into chunks of whole queries.

    A chunk has `n_rows` rows, and more up to where a query ends.
    """
    chunk: list[Cut] = []
    n_chunk, last = 0, None
    for qid, block in blocks:
        if not len(qid):
            continue
        if n_chunk >= n_rows and qid[0] != last:
            yield chunk
            chunk, n_chunk = [], 0
        start, last = 0, qid[-1]
        for begin in (np.flatnonzero(qid[1:] != qid[:-1]) + 1).tolist():
            if n_chunk + begin - start >= n_rows:
                yield [*chunk, (qid, block, slice(start, begin))]
                chunk, n_chunk, start = [], 0, begin
        chunk.append((qid, block, slice(start, len(qid))))
        n_chunk += len(qid) - start
    if chunk:
        yield chunk


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
