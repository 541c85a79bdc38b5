"""Chunks of a file that end where a query ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

# Rows of a part: the qid of the part, the part, and the slice of its rows.
Cut = tuple[np.ndarray, Any, slice]


def whole_queries(parts: Iterable[tuple[np.ndarray, Any]], n_rows: int) -> Iterator[list[Cut]]:
    """Cut parts, each behind the qid of its rows, into chunks of whole queries.

    A chunk has `n_rows` rows, and more up to where a query ends.
    """
    chunk: list[Cut] = []
    n_chunk, last = 0, None
    for qid, part in parts:
        if not len(qid):
            continue
        if n_chunk >= n_rows and qid[0] != last:
            yield chunk
            chunk, n_chunk = [], 0
        start, last = 0, qid[-1]
        for begin in (np.flatnonzero(qid[1:] != qid[:-1]) + 1).tolist():
            if n_chunk + begin - start >= n_rows:
                yield [*chunk, (qid, part, slice(start, begin))]
                chunk, n_chunk, start = [], 0, begin
        chunk.append((qid, part, slice(start, len(qid))))
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
