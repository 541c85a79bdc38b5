"""Lines of LETOR files: parsed, and gathered to chunks of whole queries."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._container import RankingData
from ._files import OPENERS, open_bytes, read_bytes

__all__ = ["Form", "group_sizes", "parse", "read_chunks", "refuse_cut_queries"]


class Form(NamedTuple):
    """How the rows are wanted; see :func:`~skcalrank.datasets.load_letor`."""

    n_features: int | None = None
    dtype: Any = np.float64
    sparse: bool = False


def parse(content: bytes, form: Form):
    """X as a CSR matrix, y, and the qid of those rows that name one."""
    # Most users never read such a file, and the import takes a while.
    from sklearn.datasets import load_svmlight_file

    with io.BytesIO(content) as file:
        try:
            return load_svmlight_file(
                file, n_features=form.n_features, dtype=form.dtype, query_id=True, zero_based=False
            )
        except OverflowError as error:
            raise ValueError(f"{error}: a qid has 64 bits, and a feature 31") from error


def group_sizes(path: Path) -> tuple[str, np.ndarray]:
    """Name and content of the file of group sizes beside a file."""
    stem = path.with_suffix("") if path.suffix in OPENERS else path
    candidates = [Path(f"{stem}.query{suffix}") for suffix in ("", *OPENERS)]
    found = next((c for c in candidates if c.exists()), None)
    if found is None:
        raise ValueError(
            f"{path} has lines without qid:..., and there is no {candidates[0].name} with "
            "group sizes beside it: nothing says which rows are a query."
        )
    words = read_bytes(found).split()
    bad = [word for word in words if not word.isdigit()]
    if bad:
        raise ValueError(
            f"{found} holds {bad[0].decode(errors='replace')!r}, which is no group size."
        )
    return found.name, np.array(words, dtype=np.intp)


# -- chunks ------------------------------------------------------------------------


class _Chunk(NamedTuple):
    """Consecutive lines, the number of the first, and the queries that sizes tell."""

    first: int
    lines: list[bytes]
    queries: list


def read_chunks(path, form: Form, chunk_rows) -> Iterator[tuple[RankingData, list[bytes]]]:
    """Chunks of whole queries, each with the lines it was parsed from.

    What the first lines tell is checked now, the rest when it is reached.
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, and a file is read more than once: save it first."
        )
    sizes = None
    if not _names_qid(path):
        source, sizes = group_sizes(path)
    if form.n_features is None or sizes is not None:
        n_rows, n_features = _scan(path)
        if sizes is not None and sizes.sum() != n_rows:
            raise ValueError(
                f"The group sizes in {source} sum to {sizes.sum()}, but {path.name} has "
                f"{n_rows} rows."
            )
        form = form._replace(n_features=form.n_features or n_features)
    return _chunks(path, form, chunk_rows, sizes)


def _names_qid(path) -> bool:
    """Whether the first row does; it is one that can be parsed."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if _qid(line) is not None:
                _, _, qid = _parse_chunk(path, _Chunk(number, [line], []), Form())
                return len(qid) == 1
    raise ValueError(f"{path} has no rows.")


def _scan(path) -> tuple[int, int]:
    """Number of rows, and the largest feature."""
    n_rows, highest = 0, 1
    with open_bytes(path) as file:
        for line in file:
            if _qid(line) is not None:
                n_rows += 1
                highest = max(highest, _last_feature(line))
    return n_rows, highest


def _chunks(path, form, chunk_rows, sizes):
    seen: set = set()
    with open_bytes(path) as file:
        for chunk in _gather(file, chunk_rows, sizes):
            X, y, qid = _parse_chunk(path, chunk, form)
            where = f"{path}, lines {chunk.first} to {chunk.first + len(chunk.lines) - 1}"
            if len(qid) != (0 if chunk.queries else len(y)):
                raise ValueError(f"{where}: {len(y)} rows, and {len(qid)} of them name a qid.")
            qid = np.array(chunk.queries) if chunk.queries else qid
            refuse_cut_queries(qid, seen, where)
            X = X if form.sparse else X.toarray()
            yield RankingData(X, y, qid, description=f"Read from {path.name}."), chunk.lines


def _gather(file: Iterable[bytes], chunk_rows, sizes) -> Iterator[_Chunk]:
    """Lines of about ``chunk_rows`` rows, up to where a query ends."""
    by_size = None
    if sizes is not None:
        by_size = chain.from_iterable(repeat(q, size) for q, size in enumerate(sizes.tolist()))
    chunk, n_rows, last = _Chunk(1, [], []), 0, None
    for number, line in enumerate(file, 1):
        name: Any = _qid(line)
        if name is not None:
            name = name if by_size is None else next(by_size)
            if n_rows >= chunk_rows and name != last:
                yield chunk
                chunk, n_rows = _Chunk(number, [], []), 0
            n_rows, last = n_rows + 1, name
            if by_size is not None:
                chunk.queries.append(name)
        chunk.lines.append(line)
    yield chunk


def _parse_chunk(path, chunk: _Chunk, form):
    try:
        return parse(b"".join(chunk.lines), form)
    except ValueError:
        bad = _first_bad(chunk.lines, form)
        try:
            parse(chunk.lines[bad], form)
        except ValueError as error:
            raise ValueError(
                f"{path} is no file of LETOR lines, line {chunk.first + bad}: {error}"
            ) from error
        raise


def _first_bad(lines, form) -> int:
    """Where the first line stands that cannot be parsed."""
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            parse(b"".join(lines[low:middle]), form)
            low = middle
        except ValueError:
            high = middle
    return low


def refuse_cut_queries(qid, seen: set, where):
    """Raise for a query of an earlier chunk, and take note of those of this one."""
    names = set(np.unique(qid).tolist())
    again = names & seen
    if again:
        raise ValueError(
            f"{where}: query {min(again)!r} was in an earlier chunk. Chunks hold whole queries, "
            "so all rows of a query must stand together: sort the file by query, or read it whole."
        )
    seen |= names


def _qid(line: bytes) -> bytes | None:
    """What names the query of a row, empty where nothing does; None where there is no row."""
    head = line.split(None, 2)
    if not head or head[0].startswith(b"#"):
        return None
    if len(head) > 1 and head[1].startswith(b"qid:"):
        return head[1].partition(b"#")[0]
    return b""


def _last_feature(line: bytes) -> int:
    """The last feature of a row, which is its largest; 0 without one."""
    index = line.partition(b"#")[0].rpartition(b":")[0].rsplit(None, 1)[-1:]
    return int(index[0]) if index and index[0].isdigit() else 0
