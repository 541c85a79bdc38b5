"""Lines of LETOR files: parsed, and gathered to chunks of whole queries."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._chunks import refuse_cut_queries, whole_queries
from ._container import RankingData
from ._files import open_bytes, plain_or_compressed, read_bytes, without_packing


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


def group_sizes(path: Path, n_rows: int | None = None) -> np.ndarray:
    """Return the group sizes in the file beside a file; raise unless they sum to its rows."""
    beside = Path(f"{without_packing(path)}.query")
    found = plain_or_compressed(beside)
    if found is None:
        raise ValueError(
            f"{path} has lines without qid:..., and there is no {beside.name} with "
            "group sizes beside it: nothing says which rows are a query."
        )
    words = read_bytes(found).split()
    bad = [word for word in words if not word.isdigit()]
    if bad:
        raise ValueError(
            f"{found} holds {bad[0].decode(errors='replace')!r}, which is no group size."
        )
    sizes = np.array(words, dtype=np.intp)
    if n_rows is not None and sizes.sum() != n_rows:
        raise ValueError(
            f"The group sizes in {found.name} sum to {sizes.sum()}, but {path.name} has {n_rows} "
            "rows."
        )
    return sizes


# -- chunks ------------------------------------------------------------------------


class _Lines(NamedTuple):
    """Lines that are rows, their numbers in the file, and what names their query."""

    numbers: np.ndarray
    lines: np.ndarray
    qid: np.ndarray


def read_chunks(path, form: Form, chunk_rows) -> Iterator[tuple[RankingData, list[bytes]]]:
    """Chunks of whole queries, each with the lines of its rows.

    What the first lines tell is checked now, the rest when it is reached.
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, and a file is read more than once: save it first."
        )
    sizes = None if _names_qid(path) else group_sizes(path)
    if form.n_features is None or sizes is not None:
        n_rows, n_features = _scan(path)
        sizes = None if sizes is None else group_sizes(path, n_rows)
        form = form._replace(n_features=form.n_features or n_features)
    return _chunks(path, form, chunk_rows, sizes)


def _names_qid(path) -> bool:
    """Whether the first row does; it is one that can be parsed."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if _qid(line) is not None:
                _, _, qid = _parse_chunk(path, _lines_of([(number, line, None)]), Form())
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
        for chunk in whole_queries(_blocks(file, chunk_rows, sizes), chunk_rows):
            X, y, qid = _parse_chunk(path, chunk, form)
            where = f"{path}, lines {chunk.numbers[0]} to {chunk.numbers[-1]}"
            if len(qid) != (len(y) if sizes is None else 0):
                raise ValueError(f"{where}: {len(y)} rows, and {len(qid)} of them name a qid.")
            qid = qid if sizes is None else chunk.qid.astype(int)
            refuse_cut_queries(qid, seen, where)
            X = X if form.sparse else X.toarray()
            yield RankingData(X, y, qid, description=f"Read from {path.name}."), chunk.lines


def _blocks(file: Iterable[bytes], n_rows, sizes) -> Iterator[_Lines]:
    """Return runs of `n_rows` rows; without sizes, the lines tell the queries."""
    rows: Iterator[tuple[int, bytes, Any]] = (
        (n, line, name) for n, line in enumerate(file, 1) if (name := _qid(line)) is not None
    )
    if sizes is not None:
        queries = chain.from_iterable(repeat(q, size) for q, size in enumerate(sizes.tolist()))
        rows = ((n, line, query) for (n, line, _), query in zip(rows, queries))
    for row in rows:
        yield _lines_of([row, *islice(rows, n_rows - 1)])


def _lines_of(rows) -> _Lines:
    return _Lines(*(np.array(column, dtype=object) for column in zip(*rows)))


def _parse_chunk(path, chunk: _Lines, form):
    try:
        return parse(b"".join(chunk.lines), form)
    except ValueError:
        bad = _first_bad(chunk.lines, form)
        try:
            parse(chunk.lines[bad], form)
        except ValueError as error:
            raise ValueError(
                f"{path} is not a file of LETOR lines, line {chunk.numbers[bad]}: {error}"
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
