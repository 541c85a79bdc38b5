"""Lines of LETOR files: parsed, and gathered to chunks of whole queries."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from ..data import each
from ._chunks import refuse_cut_queries, whole_queries
from ._container import RankingData
from ._files import (
    LARGE_BYTES,
    open_bytes,
    plain_or_compressed,
    read_bytes,
    refuse_pipe,
    without_packing,
)
from ._letor_arrow import parse_plain

# What Python takes for a part of a number, before the comment of a line.
_UNDERSCORE = re.compile(rb"^[^#\n_]*_[^\s#]*", re.MULTILINE)

# Lines that are parsed at a time: of so many bytes, which the cache of a core holds.
_BLOCK_BYTES = 1 << 20

# Of a line, the label, the query and an index are mostly this short.
_HEAD = 64


class Form(NamedTuple):
    """How the rows are wanted; see :func:`~skcalrank.datasets.load_letor`."""

    n_features: int | None = None
    dtype: Any = np.float64
    sparse: bool = False
    labelled: bool = True  # whether the labels have to be numbers


def parse(content: bytes, form: Form):
    """X as a CSR matrix, y, and the qid of those rows that name one."""
    X, y, qid = _parse_numbers(content, form)
    if b"_" in content and (bad := _UNDERSCORE.search(content)):
        word = bad[0].split()[-1].decode(errors="replace")
        raise ValueError(f"could not convert to numbers: {word!r}")
    if form.labelled and not np.isfinite(y).all():
        raise ValueError(f"the label is {y[~np.isfinite(y)][0]}, and must be a number")
    infinite = np.isinf(X.data)
    if infinite.any():
        raise ValueError(
            f"feature {X.indices[infinite][0] + 1} is {X.data[infinite][0]} as {X.dtype}: it must "
            "be finite, or nan where it is missing"
        )
    return _converted(X, np.dtype(form.dtype)), y, qid


def check_dtype(dtype):
    """Raise unless features can be of a type."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biu" and dtype not in (np.float32, np.float64):
        raise ValueError(
            f"dtype={str(dtype)!r}: the features can be float64, float32, or integers of any size."
        )


def _parse_numbers(content, form):
    # Most users never read such a file, and the import takes a while.
    from sklearn.datasets import load_svmlight_file

    with io.BytesIO(content) as file:
        try:
            return load_svmlight_file(
                file,
                n_features=form.n_features,
                dtype=np.float32 if np.dtype(form.dtype) == np.float32 else np.float64,
                query_id=True,
                zero_based=False,
            )
        except OverflowError as error:
            raise ValueError(f"{error}: a qid has 64 bits, and a feature 31") from error


def _converted(X, dtype):
    """Return a matrix of doubles, or of singles, as another type that has all its values."""
    if X.dtype == dtype:
        return X
    with np.errstate(invalid="ignore"):
        data = X.data.astype(dtype)
    # Above 2^53 a double may stand for other integers, too.
    lost = (data != X.data) | (np.abs(X.data) >= 2.0**53)
    if lost.any():
        feature, value = X.indices[lost][0] + 1, X.data[lost][0]
        raise ValueError(f"feature {feature} is {value:.17g}, which does not fit {dtype}")
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def parse_whole(path: Path, source: Path | bytes, form: Form):
    """Parse the lines of a whole file; an error names the first that cannot be."""
    try:
        with _open(source) as file:
            return _parse_blocks(iter(lambda: file.readlines(_BLOCK_BYTES), []), form)
    except ValueError as error:
        if rows := list(_rows_of(source)):
            _parse_chunk(path, _lines_of(rows), form)
        reason = error.__cause__ or error
        raise ValueError(f"{path} is not a file of LETOR lines: {reason}") from error


def _open(source: Path | bytes) -> Any:
    """Open a file, or the content of what cannot be read again."""
    return io.BytesIO(source) if isinstance(source, bytes) else open_bytes(source)


def _parse_blocks(blocks: Iterable, form: Form):
    """Parse runs of lines side by side, and return what `parse` makes of all of them."""
    parsed: list = []
    each(lambda lines: _parse_block(lines, form), blocks, parsed.append)
    parts, y, qid = zip(*(parsed or [parse(b"", form)]))
    X = parts[0] if len(parts) == 1 else _stacked(parts)
    X = _as_scikit_learn_has_it(X, form) if form.sparse else X
    return X, np.concatenate(y), np.concatenate(qid)


def _as_scikit_learn_has_it(X, form):
    """Return a CSR matrix of the class and the types that its version and settings tell."""
    like, _, _ = _parse_numbers(b"0\n", form)
    X = type(like)(X)
    X.indices = X.indices.astype(np.promote_types(X.indices.dtype, like.indices.dtype), copy=False)
    X.indptr = X.indptr.astype(np.promote_types(X.indptr.dtype, like.indptr.dtype), copy=False)
    return X


def _parse_block(lines, form):
    return parse_plain(lines, form) or parse(b"".join(lines), form)


def _stacked(parts):
    """Return one matrix of all rows: an array if all are, with the same features."""
    width = max(part.shape[1] for part in parts)
    if all(isinstance(part, np.ndarray) and part.shape[1] == width for part in parts):
        return np.concatenate(parts)
    return vstack([_as_csr(part, width) for part in parts], format="csr")


def _as_csr(part, width):
    """Return rows as a CSR matrix, which holds all values of an array, zeros too."""
    n_rows, n_features = part.shape
    if isinstance(part, np.ndarray):
        indices = np.tile(np.arange(n_features), n_rows)
        ends = np.arange(n_rows + 1) * n_features
        return csr_matrix((part.ravel(), indices, ends), shape=(n_rows, width))
    part.resize((n_rows, width))
    return part


def _rows_of(source):
    with _open(source) as file:
        for number, line in enumerate(file, 1):
            if _qid(line) is not None:
                yield number, line, None


def matrix(path: Path, X, form: Form, numbers: Iterable[int]):
    """Return X as wanted; raise where one large feature would fill the memory with zeros."""
    if form.sparse or isinstance(X, np.ndarray):
        return X
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    is_sparse = X.nnz * 1000 < X.shape[0] * X.shape[1]
    if form.n_features is None and n_bytes > LARGE_BYTES and is_sparse:
        largest = X.indices.argmax()
        row = np.searchsorted(X.indptr, largest, side="right") - 1
        raise ValueError(
            f"{path}, line {next(islice(numbers, int(row), None))} has feature {X.shape[1]}: with "
            f"all features up to it {X.shape[0]} rows take {n_bytes / 2**30:.1f} GiB, most of them "
            "zeros. Pass sparse=True, or n_features to have them nevertheless."
        )
    return X.toarray()


def line_numbers(source: Path | bytes) -> Iterator[int]:
    """Yield the numbers of the lines that are rows."""
    return (number for number, _, _ in _rows_of(source))


def group_file(path: Path) -> Path | None:
    """Return the file with the group sizes of a file, if there is one."""
    return plain_or_compressed(Path(f"{without_packing(path)}.query"))


def group_sizes(path: Path, n_rows: int | None = None) -> np.ndarray:
    """Return the group sizes in the file beside a file; raise unless they sum to its rows."""
    found = group_file(path)
    if found is None:
        raise ValueError(
            f"{path} has lines without qid:..., and there is no {without_packing(path).name}.query "
            "with group sizes beside it: nothing says which rows are a query."
        )
    words = read_bytes(found).split()
    bad = [word for word in words if not word.isdigit() or len(word) > 18]
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


class Lines(NamedTuple):
    """Lines that are rows, their numbers in the file, and what names their query."""

    numbers: np.ndarray
    lines: np.ndarray
    qid: np.ndarray


def read_chunks(path, form: Form, chunk_rows) -> Iterator[tuple[RankingData, Lines]]:
    """Chunks of whole queries, each with the lines of its rows.

    What the first lines tell is checked now, the rest when it is reached.
    """
    path = Path(path)
    refuse_pipe(path)
    sizes = None if _names_qid(path) else group_sizes(path)
    n_features = form.n_features
    if (n_features is None and chunk_rows < sys.maxsize) or sizes is not None:
        n_rows, n_features = _scan(path)
        sizes = None if sizes is None else group_sizes(path, n_rows)
    return _chunks(path, form, form.n_features or n_features, chunk_rows, sizes)


def _names_qid(path) -> bool:
    """Whether the first row does; it is one that can be parsed."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if _qid(line) is not None:
                form = Form(labelled=False)
                _, _, qid = _parse_chunk(path, _lines_of([(number, line, None)]), form)
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


def _chunks(path, form, n_features, chunk_rows, sizes):
    seen: set = set()
    wide = form._replace(n_features=n_features)
    with open_bytes(path) as file:
        for chunk in whole_queries(_blocks(file, chunk_rows, sizes), chunk_rows):
            X, y, qid = _parse_chunk(path, chunk, wide)
            where = f"{path}, lines {chunk.numbers[0]} to {chunk.numbers[-1]}"
            if len(qid) != (len(y) if sizes is None else 0):
                raise ValueError(f"{where}: {len(y)} rows, and {len(qid)} of them name a qid.")
            qid = qid if sizes is None else chunk.qid.astype(int)
            refuse_cut_queries(qid, seen, where)
            X = matrix(path, X, form, chunk.numbers)
            yield RankingData(X, y, qid, description=f"Read from {path.name}."), chunk


def _blocks(file: Iterable[bytes], n_rows, sizes) -> Iterator[Lines]:
    """Return runs of `n_rows` rows; without sizes, the lines tell the queries."""
    rows: Iterator[tuple[int, bytes, Any]] = (
        (n, line, name) for n, line in enumerate(file, 1) if (name := _qid(line)) is not None
    )
    if sizes is not None:
        queries = chain.from_iterable(repeat(q, size) for q, size in enumerate(sizes.tolist()))
        rows = ((n, line, query) for (n, line, _), query in zip(rows, queries))
    for row in rows:
        yield _lines_of([row, *islice(rows, n_rows - 1)])


def _lines_of(rows) -> Lines:
    return Lines(*(np.array(column, dtype=object) for column in zip(*rows)))


def _parse_chunk(path, chunk: Lines, form):
    lines = chunk.lines
    n_rows = 1 + _BLOCK_BYTES * len(lines) // (1 + sum(map(len, lines)))
    try:
        blocks = [lines[i : i + n_rows] for i in range(0, len(lines), n_rows)]
        return _parse_blocks(blocks, form)
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
    head = line[:_HEAD].split(None, 2)
    if len(head) < 3:  # else the first two words are whole
        head = line.split(None, 2)
    if not head or head[0].startswith(b"#"):
        return None
    if len(head) > 1 and head[1].startswith(b"qid:"):
        return head[1].partition(b"#")[0]
    return b""


def _last_feature(line: bytes) -> int:
    """The last feature of a row, which is its largest; 0 without one."""
    line = line.partition(b"#")[0]
    end = line.rfind(b":")
    index = line[max(0, end - _HEAD) : max(0, end)].rsplit(None, 1)[-1:]
    return int(index[0]) if index and index[0].isdigit() else 0
