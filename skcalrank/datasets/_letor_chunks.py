"""Files of LETOR lines, read in chunks of whole queries."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import each
from ._chunks import refuse_cut_queries, whole_queries
from ._container import RankingData
from ._files import Block, line_blocks, refuse_damaged, refuse_pipe
from ._letor_groups import group_sizes
from ._letor_lines import Form, first_bad, is_row, matrix, parse_block, refusal, rows_of, stacked

# Blocks that are parsed side by side, before the next ones are read.
_N_BLOCKS = 32

# Blocks are not smaller than this.
_LEAST_BYTES = 1 << 13

# The qid of a row without one.
_NO_QID = np.iinfo(np.int64).min

# An index and the colon behind it are mostly this short.
_INDEX = 16


class Lines:
    """The lines of the rows of a chunk.

    Attributes
    ----------
    numbers : ndarray of int
        The number of each line in its file, counted from 1.
    lines : list of bytes
    n_bytes : float
        Their share of the file.
    """

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts
        self.n_bytes = sum(len(p.block.content) * len(p.y) / p.n_rows for p in parts)
        self.numbers = np.concatenate([part.numbers() for part in parts])

    @property
    def lines(self) -> list[bytes]:
        """Return the lines."""
        return [line for part in self._parts for _, line in part.lines()]


class _Part(NamedTuple):
    """Rows of one block: parsed, or one that cannot be, with the error about it."""

    block: Block
    first: int  # number of rows of the block before these
    n_rows: int  # of the whole block
    X: Any
    y: np.ndarray
    qid: np.ndarray
    error: ValueError | None = None

    def cut(self, start, stop) -> _Part:
        """Return some of the rows."""
        X, y, qid = (each[start:stop] for each in (self.X, self.y, self.qid))
        return self._replace(first=self.first + start, X=X, y=y, qid=qid)

    def lines(self) -> list[tuple[int, bytes]]:
        """Return the numbers and the texts of the rows."""
        return rows_of(self.block)[self.first : self.first + len(self.y)]

    def numbers(self) -> np.ndarray:
        """Return the numbers of the lines of the rows."""
        if self.n_rows != self.block.n_lines:
            return np.array([number for number, _ in self.lines()])
        return np.arange(len(self.y)) + self.block.first + self.first


class _Place(NamedTuple):
    """The query of each row, and the number of rows of the file before it."""

    qid: np.ndarray
    row: np.ndarray


def read_chunks(
    path: str | Path, form: Form, chunk_rows: int
) -> Iterator[tuple[RankingData, Lines]]:
    """Return an iterator over chunks of whole queries, each with the lines of its rows.

    The first line and the group sizes are checked now, the other lines when they are reached.
    """
    path = Path(path)
    refuse_pipe(path)
    row = _first_row(path)
    # Of few rows, a block takes little more memory than the chunk.
    blocks = partial(line_blocks, path, max(_LEAST_BYTES, chunk_rows * len(row[1])))
    sizes = None if _names_qid(path, row) else group_sizes(path)
    n_features = form.n_features
    if n_features is None and (chunk_rows < sys.maxsize or sizes is not None):
        n_features = _largest_feature(blocks())
    if sizes is not None:
        sizes = group_sizes(path, _n_rows(blocks()))
    return _chunks(path, blocks, form, form._replace(n_features=n_features), chunk_rows, sizes)


def _first_row(path) -> tuple[int, bytes]:
    with closing(line_blocks(path, _LEAST_BYTES)) as blocks:
        for block in blocks:
            if rows := rows_of(block):
                return rows[0]
    raise ValueError(f"{path} has no rows.")


def _names_qid(path, row) -> bool:
    """Whether a row names its query; raise unless it can be parsed."""
    form = Form(labelled=False)
    try:
        return len(parse_block(row[1], form)[2]) == 1
    except ValueError as error:
        refuse_damaged(path)
        raise refusal(path, row, form, error) from error


def _largest_feature(blocks) -> int:
    return max(1, *(max(map(_last_feature, block.content.split(b"\n"))) for block in blocks))


def _last_feature(line: bytes) -> int:
    """Return the last feature of a row, which is its largest; 0 without one."""
    line = line.partition(b"#")[0] if b"#" in line else line
    end = line.rfind(b":")
    index = line[max(0, end - _INDEX) : max(0, end)].rsplit(None, 1)[-1:]
    number = index[0].removeprefix(b"+") if index else b""
    return int(number) if number.isdigit() else 0


def _n_rows(blocks) -> int:
    return sum(sum(map(is_row, block.content.split(b"\n"))) for block in blocks)


def _chunks(path, blocks, form, wide, chunk_rows, sizes):
    held: deque = deque()
    seen: set = set()
    with closing(_parts(path, blocks, wide, chunk_rows)) as rows:
        for chunk in whole_queries(_places(rows, chunk_rows, sizes, held), chunk_rows):
            parts = _taken(held, len(chunk.qid))
            if parts[-1].error is not None:
                refuse_damaged(path)
                # An exception in a variable would keep this frame, and all that it refers to.
                raise parts.pop().error
            lines = Lines(parts)
            where = f"{path}, lines {lines.numbers[0]} to {lines.numbers[-1]}"
            _check_names(where, np.concatenate([part.qid for part in parts]), sizes)
            refuse_cut_queries(chunk.qid, seen, where)
            X = matrix(path, stacked([part.X for part in parts], wide), form, lines.numbers)
            y = np.concatenate([part.y for part in parts])
            yield RankingData(X, y, chunk.qid, description=f"Read from {path.name}."), lines


def _check_names(where, qid, sizes):
    """Raise unless all rows name a qid, or, with group sizes, none does."""
    n_named = np.count_nonzero(qid != _NO_QID)
    if n_named != (len(qid) if sizes is None else 0):
        raise ValueError(f"{where}: {len(qid)} rows, and {n_named} of them name a qid.")


def _taken(held, n_rows) -> list[_Part]:
    """Take the first rows out of those held."""
    taken = []
    while n_rows:
        part = held.popleft()
        n = len(part.y)
        if n > n_rows:
            held.appendleft(part.cut(n_rows, n))
            part = part.cut(0, n_rows)
        taken.append(part)
        n_rows -= len(part.y)
    return taken


def _places(parts, chunk_rows, sizes, held) -> Iterator[_Place]:
    """Yield the queries of at most `chunk_rows` rows at a time, and hold what was parsed."""
    ends = None if sizes is None else np.cumsum(sizes)
    n_before = 0
    for part in parts:
        held.append(part)
        rows = n_before + np.arange(len(part.y))
        # Group sizes may be zero.
        qid = part.qid if ends is None else np.searchsorted(ends, rows, side="right")
        for start in range(0, len(rows), chunk_rows):
            stop = start + chunk_rows
            yield _Place(qid[start:stop], rows[start:stop])
        n_before += len(rows)


def _parts(path, blocks, form, chunk_rows) -> Iterator[_Part]:
    """Yield the rows of a file, up to the first that cannot be parsed."""
    with closing(blocks()) as waiting:
        while some := _next_blocks(waiting, chunk_rows):
            parsed: deque[_Part] = deque()
            each(lambda block: _parsed(path, block, form), some, parsed.extend)
            while parsed:
                part = parsed.popleft()
                if part.n_rows:
                    yield part
                if part.error is not None:
                    return


def _next_blocks(blocks, n_rows) -> list[Block]:
    """Return blocks of about so many rows."""
    found: list[Block] = []
    for block in blocks:
        found.append(block)
        n_rows -= block.n_lines
        if n_rows <= 0 or len(found) == _N_BLOCKS:
            break
    return found


def _parsed(path, block, form) -> list[_Part]:
    """Return the rows of a block; of one with a bad row, those before it, and that row."""
    try:
        X, y, qid = parse_block(block.content, form)
    except ValueError as error:
        return _before_error(path, block, form, error)
    return [_Part(block, 0, len(y), X, y, _of_all_rows(block, y, qid))]


def _before_error(path, block, form, error):
    rows = rows_of(block)
    bad = first_bad(rows, form)
    X, y, qid = parse_block(b"".join(line for _, line in rows[:bad]), form)
    good = _Part(block, 0, len(rows), X, y, _of_all_rows(block, y, qid))
    query = _query(rows[bad][1])[len(b"qid:") :]
    name = int(query) if query.isdigit() and len(query) <= 18 else _NO_QID
    refused = refusal(path, rows[bad], form, error)
    return [good, _Part(block, bad, len(rows), None, np.zeros(1), np.array([name]), refused)]


def _of_all_rows(block, y, qid):
    """Return the qid of all rows, in place of those of the rows that name one."""
    if len(qid) == len(y):
        return qid
    found = np.full(len(y), _NO_QID)
    if len(qid):
        named = [_query(line).startswith(b"qid") for _, line in rows_of(block)[: len(y)]]
        found[named] = qid
    return found


def _query(line: bytes) -> bytes:
    """Return the second word of a row, which names its query."""
    return [*line.partition(b"#")[0].split(None, 2), b"", b""][1]
