"""Files of LETOR lines, read in chunks of whole queries."""

import sys
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...columns.types import Floats, Ints
from ...data import each
from .. import _files as files
from .._container import RankingData
from .._files import Block
from . import _lines as parsing
from ._lines import Form

# Blocks that are parsed side by side, before the next ones are read.
_N_BLOCKS = 32

# Blocks are not smaller than this.
_LEAST_BYTES = 1 << 13

# The qid of a row without one.
_NO_QID = np.iinfo(np.int64).min

# An index and the colon behind it are mostly this short.
_INDEX = 16


class Lines(NamedTuple):
    """The lines of the rows of a chunk: numbers from 1, bytes, docids, and the first feature."""

    numbers: Ints
    n_bytes: float
    docids: list[bytes | None]
    first_feature: int  # 0 or 1


class _Parsed(NamedTuple):
    """Rows of a block up to the first that cannot be parsed, whose qid comes last."""

    X: Any
    y: np.ndarray
    qid: np.ndarray
    numbers: np.ndarray  # of the lines
    n_bytes: int  # of the block
    docids: list[bytes | None]
    documents: list[bytes | None]  # docids, or other names in comments
    bad: tuple[int, bytes] | None = None


def read_chunks(
    path: str | Path, form: Form, chunk_rows: int
) -> Iterator[tuple[RankingData, Lines]]:
    """Return an iterator over chunks of whole queries, each with the lines of its rows.

    The first line and the group sizes are checked now, the other lines when they are reached.
    """
    path = Path(path)
    source: Path | bytes = path
    if chunk_rows == sys.maxsize and not path.is_file():
        source = files.read_bytes(path)
    else:
        files.refuse_pipe(path)
    with closing(files.line_blocks(source, _LEAST_BYTES)) as first_blocks:
        row = next((row for block in first_blocks for row in parsing.rows_of(block)), None)
    if row is None:
        raise ValueError(f"{path} has no rows.")
    # Of few rows, a block takes little more memory than the chunk.
    blocks = partial(files.line_blocks, source, max(_LEAST_BYTES, chunk_rows * len(row[1])))
    sizes = None
    if not _names_qid(path, row):
        sizes = group_sizes(path, sum(len(parsing.rows_of(b)) for b in files.line_blocks(source)))
    n_features = form.n_features
    if n_features is None and chunk_rows < sys.maxsize:
        unsaid, has_zero, last = form.zero_based == "auto", False, -1
        for block in blocks():
            has_zero |= unsaid and parsing.has_zero(block.content)
            last = max(last, *map(_last_feature, block.content.split(b"\n")))
        form = form._replace(zero_based=has_zero) if unsaid else form
        if last < 0 and form.featured:
            parsing.refuse_bare(path, np.empty((1, 0)))
        n_features = max(1, last + 1 - form.first)
    return _chunks(path, blocks, form, form._replace(n_features=n_features), chunk_rows, sizes)


def _names_qid(path: Path, row: tuple[int, bytes]) -> bool:
    """Whether a row names its query; raise unless it can be parsed."""
    form = Form(labelled=False, zero_based=True)
    try:
        return len(parsing.parse_block(row[1], form)[2]) == 1
    except ValueError as error:
        files.refuse_damaged(path)
        raise parsing.refusal(path, row, form) from error


def _last_feature(line: bytes) -> int:
    """Return the last feature of a row, which is its largest; -1 without one."""
    line = line.partition(b"#")[0] if b"#" in line else line
    end = line.rfind(b":")
    index = line[max(0, end - _INDEX) : max(0, end)].rsplit(None, 1)[-1:]
    number = index[0].removeprefix(b"+") if index else b""
    return int(number) if number.isdigit() else -1


def _chunks(
    path: Path, blocks: Any, form: Form, wide: Form, chunk_rows: int, sizes: Ints | None
) -> Iterator[tuple[RankingData, Lines]]:
    seen: set[Any] = set()
    with closing(_parsed_blocks(blocks, wide, chunk_rows)) as parsed_blocks:
        for chunk in files.whole_queries(_with_queries(parsed_blocks, sizes), chunk_rows):
            _, parsed, rows = chunk[-1]
            if rows.stop > len(parsed.y):
                files.refuse_damaged(path)
                if wide.zero_based == "auto" and not seen and parsing.has_zero(parsed.bad[1]):
                    form, wide = (of._replace(zero_based=True) for of in (form, wide))
                    yield from _chunks(path, blocks, form, wide, chunk_rows, sizes)
                    return
                raise parsing.refusal(path, parsed.bad, wide)
            lines = Lines(
                np.concatenate([p.numbers[rows] for _, p, rows in chunk]),
                sum(p.n_bytes * (rows.stop - rows.start) / len(p.numbers) for _, p, rows in chunk),
                list(chain.from_iterable(p.docids[rows] for _, p, rows in chunk)),
                wide.first,
            )
            where = f"{path}, lines {lines.numbers[0]} to {lines.numbers[-1]}"
            X, y, names = zip(*((p.X[rows], p.y[rows], p.qid[rows]) for _, p, rows in chunk))
            qid = np.concatenate([of_block[rows] for of_block, _, rows in chunk])
            n_rows, n_named = len(qid), np.count_nonzero(np.concatenate(names) != _NO_QID)
            if n_named != (n_rows if sizes is None else 0):
                raise ValueError(f"{where}: {n_rows} rows, and {n_named} of them name a qid.")
            files.refuse_cut_queries(qid, seen, where)
            X = parsing.stacked(X, wide)
            if chunk_rows == sys.maxsize and form.featured:
                parsing.refuse_bare(path, X)
            X = parsing.matrix(path, X, form, lines.numbers)
            named = list(chain.from_iterable(p.documents[rows] for _, p, rows in chunk))
            ids = parsing.ids_of(named, qid)
            about = f"Read from {path.name}."
            yield RankingData(X, np.concatenate(y), qid, description=about, ids=ids), lines


def _with_queries(parsed_blocks: Any, sizes: Ints | None) -> Iterator[tuple[np.ndarray, _Parsed]]:
    """Yield blocks behind the queries of their rows, which group sizes give unless None."""
    ends = None if sizes is None else np.cumsum(sizes)
    n_before = 0
    for parsed in parsed_blocks:
        after = n_before + np.arange(len(parsed.qid))
        yield parsed.qid if ends is None else np.searchsorted(ends, after, side="right"), parsed
        n_before += len(after)


def _parsed_blocks(blocks: Any, form: Form, chunk_rows: int) -> Generator[_Parsed, None, None]:
    """Yield the rows of a file, up to the first that cannot be parsed."""
    with closing(blocks()) as waiting:
        while True:
            done: deque[_Parsed] = deque()
            each(lambda block: _parsed(block, form), _batch(waiting, chunk_rows), done.append)
            if not done:
                return
            while done:
                parsed = done.popleft()
                yield parsed
                if parsed.bad is not None:
                    return


def _batch(blocks: Iterator[Block], n_rows: int) -> Iterator[Block]:
    """Yield blocks of about so many rows."""
    for block in islice(blocks, _N_BLOCKS):
        yield block
        n_rows -= block.n_lines
        if n_rows <= 0:
            return


def _parsed(block: Block, form: Form) -> _Parsed:
    try:
        X, y, qid = parsing.parse_block(block.content, form)
    except ValueError:
        rows = parsing.rows_of(block)
        good = parsing.first_bad(rows, form)
        X, y, qid = parsing.parse_block(b"".join(line for _, line in rows[:good]), form)
        query = _query(rows[good][1])[len(b"qid:") :]
        last = int(query) if query.isdigit() and len(query) <= 18 else _NO_QID
        qid = np.append(_of_all_rows(block, y, qid), last)
        numbers = np.array([number for number, _ in rows])
        nameless: list[bytes | None] = [None] * len(rows)
        return _Parsed(X, y, qid, numbers, len(block.content), nameless, nameless, rows[good])
    if len(y) == block.n_lines:
        numbers = np.arange(block.first, block.first + len(y))
    else:
        numbers = np.array([number for number, _ in parsing.rows_of(block)])
    names = parsing.documents(block, len(y))
    return _Parsed(X, y, _of_all_rows(block, y, qid), numbers, len(block.content), *names)


def _of_all_rows(block: Block, y: Floats, qid: Ints) -> Ints:
    """Return the qid of all rows, in place of those of the rows that name one."""
    if len(qid) == len(y):
        return qid
    names = np.full(len(y), _NO_QID)
    if len(qid):
        lines = (line for _, line in parsing.rows_of(block)[: len(y)])
        names[[_query(line).startswith(b"qid") for line in lines]] = qid
    return names


def _query(line: bytes) -> bytes:
    """Return the second word of a row, which names its query."""
    return [*line.partition(b"#")[0].split(None, 2), b"", b""][1]


def group_file(path: Path) -> Path | None:
    """Return the file with the group sizes of a file, if there is one."""
    name = f"{files.without_packing(path)}.query"
    candidates = (Path(name + suffix) for suffix in ("", *files.OPENERS))
    return next((file for file in candidates if file.exists()), None)


def group_sizes(path: Path, n_rows: int) -> np.ndarray:
    """Return the group sizes in the file beside a file; raise unless they sum to its rows."""
    file = group_file(path)
    if file is None:
        raise ValueError(
            f"{path} has lines without qid:..., and there is no "
            f"{files.without_packing(path).name}.query with group sizes beside it: add one, or a "
            "qid to each line."
        )
    sizes: list[int] = []
    n_grouped = 0
    for word in (word for _, line in files.byte_lines(file) for word in line.split()):
        if not word.isdigit() or len(word) > 18:
            raise ValueError(
                f"{file} holds {word.decode(errors='replace')!r}, which is not a group size."
            )
        n_grouped += int(word)
        if n_grouped <= n_rows and int(word):
            sizes.append(int(word))
    if n_grouped != n_rows:
        raise ValueError(
            f"The group sizes in {file.name} sum to {n_grouped}, but {path.name} has {n_rows} rows."
        )
    return np.array(sizes, dtype=np.intp)
