"""Lines of LETOR files, parsed in blocks."""

import io
import re
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack

from ...columns.types import Floats, Ints
from .._files import LARGE_BYTES, Block

# Arrow and Python read the same numbers from texts of these characters, or Arrow refuses them.
_DECIMALS = b"0123456789.-+eE"
_ROWS = bytes.maketrans(b": ", b",\n")
_LARGEST = 1 << 30


class Form(NamedTuple):
    """Options of reading rows; see :func:`~skcalrank.datasets.load_letor`."""

    n_features: int | None = None
    dtype: Any = np.float64
    sparse: bool = False
    labelled: bool = True  # whether the labels have to be numbers
    zero_based: Any = "auto"  # True, False, or as if False until a feature 0 is found
    featured: bool = True  # whether a file has to have a feature

    @property
    def first(self) -> int:
        """Number of the first feature."""
        return 0 if self.zero_based is True else 1


def parse_plain(content: bytes, form: Form) -> Any:
    """Return X, y and the qid of rows, or None where a line has more than plain decimals.

    X is an array where all rows have all features, else a CSR matrix; of singles where `form` says
    so, else of doubles. After None, the reader of scikit-learn finds out what is wrong, if anything
    is.
    """
    if find_spec("pyarrow") is None:
        return None
    labels, queries, features = _split(content)
    qid = _queries(queries, len(labels))
    if qid is None or b"".join(labels).translate(None, _DECIMALS):
        return None
    try:
        y = np.array(list(map(float, labels)))
        numbers = _numbers(b"\n".join(filter(None, features)))
    except ValueError:
        return None
    if numbers is None or (form.labelled and not np.isfinite(y).all()):
        return None
    index, values = numbers
    with np.errstate(over="ignore"):
        if np.dtype(form.dtype) == np.float32:
            values = values.astype(np.float32)
    if not np.isfinite(values).all():
        return None
    X = _array_of(index, values, features, form)
    X = _csr_of(index, values, features, form) if X is None else X
    return None if X is None else (X, y, qid)


def _split(content: bytes) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return the labels of rows, the queries of those that name one, and the features."""
    labels, queries, features = [], [], []
    lines = content.split(b"\n")
    if b"#" in content:
        lines = [line.partition(b"#")[0] for line in lines]
    for line in lines:
        label, _, rest = line.strip().partition(b" ")
        if not label:
            continue
        if rest.startswith(b"qid:"):
            query, _, rest = rest.partition(b" ")
            queries.append(query)
        labels.append(label)
        features.append(rest)
    return labels, queries, features


def _queries(queries: list[bytes], n_rows: int) -> np.ndarray | None:
    """Return the queries if all rows name one or none does, in plain numbers; None otherwise."""
    names = b"".join(queries).split(b"qid:")[1:]  # more than queries where one holds a second qid:
    is_plain = b"".join(names).isdigit() and all(0 < len(name) <= 18 for name in names)
    if (names and not is_plain) or not len(names) == len(queries) in (0, n_rows):
        return None
    return np.array(list(map(int, names)), dtype=np.int64)


def _numbers(words: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """Return indices and values of words ``index:value``; raise for any other word."""
    if not words or len(words) > _LARGEST or words.translate(None, _DECIMALS + b": \n"):
        return None
    import pyarrow
    from pyarrow import csv

    types = {"index": pyarrow.int32(), "value": pyarrow.float64()}
    table = csv.read_csv(
        pyarrow.BufferReader(words.translate(_ROWS)),
        csv.ReadOptions(use_threads=False, column_names=[*types], block_size=len(words) + 1),
        csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(check_utf8=False, column_types=types, null_values=[]),
    )
    return _array(table["index"], np.int32), _array(table["value"], np.float64)


def _array(column: Any, dtype: Any) -> np.ndarray:
    # Arrow's own conversion imports pandas, which takes longer than most files. Its memory cannot
    # be written to, so it is copied.
    chunks = [(np.frombuffer(c.buffers()[1], dtype), c.offset, len(c)) for c in column.chunks]
    return np.concatenate([values[first : first + n] for values, first, n in chunks])


def _array_of(index: Ints, values: Floats, features: list[bytes], form: Form) -> Any:
    """Return values as an array; None unless every row has all features in order."""
    width = len(index) // len(features)
    if form.sparse or form.n_features not in (None, width) or width * len(features) != len(index):
        return None
    rows = index.reshape(-1, width)
    # As many first features as rows, and each row begins with one.
    is_array = (rows == np.arange(form.first, form.first + width, dtype=index.dtype)).all()
    starts = map(bytes.startswith, features, repeat(b"%d:" % form.first))
    if not (is_array and all(starts)):
        return None
    return values.reshape(rows.shape) + 0.0  # -0 becomes 0, as by a sparse matrix


def _csr_of(index: Ints, values: Floats, features: list[bytes], form: Form) -> Any:
    """Return values as a CSR matrix; None where the indices of a row do not ascend."""
    # Every word has one colon, or it was refused.
    ends = np.cumsum(list(map(bytes.count, features, repeat(b":"))))
    ascend = index[1:] > index[:-1]
    ascend[ends[(ends > 0) & (ends < len(index))] - 1] = True
    index -= form.first
    width = int(index.max()) + 1 if form.n_features is None else form.n_features
    if index.min() < 0 or index.max() >= width or not ascend.all():
        return None
    return csr_matrix((values, index, np.r_[0, ends]), shape=(len(ends), width))


# Python takes an underscore for a part of a number; this finds one before the comment of a line.
_UNDERSCORE = re.compile(rb"^[^#\n_]*_[^\s#]*", re.MULTILINE)

# The name of a document in a comment, such as "# docid = GX000" of LETOR, or its first word.
_DOCID = re.compile(rb"#.*?\bdocid[ \t]*=[ \t]*(\S+)")
_FIRST_WORD = re.compile(rb"#[ \t]*([^\s#]\S*)")

# A label, a query and a first index are mostly this short.
_START = 64

# A missing value in LETOR 4.0, and a row with a feature 0, which comes first.
_NULL = re.compile(rb":NULL(?=\s|$)")
_ZERO = re.compile(rb"\s*[^\s#]+\s+(?:qid:\S+\s+)?0:").match


def parse_block(content: bytes, form: Form) -> tuple[Any, Floats, Ints]:
    """Return X, as CSR matrix or array of all features, y, and the qid of the rows with one."""
    if b"N" in content and b":NULL" in content:  # one letter is found sooner, if at all
        content = _NULL.sub(b":nan", content)
    X, y, qid = parse_plain(content, form) or _parse(content, form)
    return _converted(X, form), y, qid


def _parse(content: bytes, form: Form) -> tuple[Any, Floats, Ints]:
    X, y, qid = _parse_numbers(content, form)
    if b"_" in content and (bad := _UNDERSCORE.search(content)):
        word = bad[0].split()[-1].decode(errors="replace")
        raise ValueError(f"could not convert to numbers: {word!r}")
    if form.labelled and not np.isfinite(y).all():
        raise ValueError(f"the label is {y[~np.isfinite(y)][0]}, and must be a number")
    infinite = np.isinf(X.data)
    if infinite.any():
        raise ValueError(
            f"feature {X.indices[infinite][0] + form.first} is {X.data[infinite][0]} as {X.dtype}: "
            "it must be finite, or nan where it is missing"
        )
    return X, y, qid


def _parse_numbers(content: bytes, form: Form) -> tuple[Any, Floats, Ints]:
    # The import takes a while, and most users never read such a file.
    from sklearn.datasets import load_svmlight_file

    with io.BytesIO(content) as file:
        try:
            return load_svmlight_file(
                file,
                n_features=form.n_features,
                dtype=np.float32 if np.dtype(form.dtype) == np.float32 else np.float64,
                query_id=True,
                zero_based=form.zero_based is True,
            )
        except ValueError as error:
            if "Invalid index 0" not in str(error):
                raise
            raise ValueError(
                "it has feature 0: pass zero_based=True, on the command line --zero-based"
            ) from error
        except OverflowError as error:
            raise ValueError(f"{error}: a qid has 64 bits, and a feature 31") from error


def _converted(X: Any, form: Form) -> Any:
    """Return features that are doubles, or singles, as another type that has all their values."""
    dtype = np.dtype(form.dtype)
    if X.dtype == dtype:
        return X
    values = X.data if issparse(X) else X
    with np.errstate(invalid="ignore"):
        data = values.astype(dtype)
    # From 2^53 on, several integers have the same double.
    lost = (data != values) | (np.abs(values) >= 2.0**53)
    if lost.any():
        feature = (X.indices[lost] if issparse(X) else np.nonzero(lost)[1])[0] + form.first
        raise ValueError(f"feature {feature} is {values[lost][0]:.17g}, which does not fit {dtype}")
    return type(X)((data, X.indices, X.indptr), shape=X.shape) if issparse(X) else data


def has_zero(content: bytes) -> bool:
    """Return whether a row has a feature 0."""
    return any(line.find(b"0:", 0, _START) >= 0 and _ZERO(line) for line in content.split(b"\n"))


def refuse_bare(path: Path, X: Any) -> None:
    """Raise for rows without a feature."""
    if X.shape[0] and not (X.nnz if issparse(X) else X.size):
        raise ValueError(
            f"{path} has no features, as a judgment list: read it with "
            f"skcalrank.evaluation.load_qrels({str(path)!r}), on the command line --qrels {path}."
        )


def first_bad(rows: list[tuple[int, bytes]], form: Form) -> int:
    """Return the place among rows of the first one that cannot be parsed."""
    lines = [line for _, line in rows]
    # Each time as many rows from the start as the bisection looks at.
    return bisect_left(range(len(rows)), True, key=lambda n: _reason(lines[: n + 1], form) != "")


def refusal(path: Path, row: tuple[int, bytes], form: Form) -> ValueError:
    """Return an error that names the line of a row that cannot be parsed."""
    number, line = row
    # Where only n_features is in the way, the row can be parsed without.
    free = Form(labelled=False, zero_based=form.zero_based)
    if form.n_features is not None and not _reason([line], free):
        width = parse_block(line, free)[0].shape[1]
        if width > form.n_features:
            return ValueError(
                f"{path}, line {number} has feature {width - 1 + form.first}, which is above "
                f"n_features={form.n_features}: pass n_features >= {width}, or None."
            )
    reason = _reason([line], form)
    return ValueError(f"{path} is not a file of LETOR lines, line {number}: {reason}")


def _reason(lines: list[bytes], form: Form) -> str:
    """Return why rows cannot be parsed; nothing if they can."""
    try:
        parse_block(b"".join(lines), form)
    except ValueError as error:
        return str(error)
    return ""


def rows_of(block: Block) -> list[tuple[int, bytes]]:
    """Return the lines of a block that are rows, and their numbers."""
    lines = block.content.split(b"\n")
    return [(n, line + b"\n") for n, line in enumerate(lines, block.first) if is_row(line)]


def is_row(line: bytes) -> bool:
    """Whether a line is more than space and a comment."""
    text = line.lstrip()
    return bool(text) and not text.startswith(b"#")


def document_of(line: bytes) -> bytes | None:
    """Return the document that the comment of a line names: its docid, else its first word."""
    match = _DOCID.search(line) or _FIRST_WORD.search(line)
    return match and match[1]


def documents(block: Block, n_rows: int) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return the docids in comments, and the names there by which all rows can be told."""
    nameless: list[bytes | None] = [None] * n_rows
    if b"#" not in block.content:
        return nameless, nameless
    has_docid = b"docid" in block.content
    pattern = _DOCID if has_docid else _FIRST_WORD
    names = pattern.findall(block.content)
    if len(names) != n_rows or n_rows != block.n_lines:
        matches = (pattern.search(line) for _, line in rows_of(block))
        names = [match and match[1] for match in matches]
    return names if has_docid else nameless, names


def ids_of(names: list[Any], qid: Ints) -> np.ndarray | None:
    """Return documents as text; None if a row has none, or a query names one twice."""
    if None in names:
        return None
    n_rows = len(qid)
    if len(set(names)) < n_rows and len(set(zip(qid.tolist(), names))) < n_rows:
        return None
    with suppress(UnicodeDecodeError):
        return np.array(b"\n".join(names).decode().split("\n"), dtype=object)
    return None


def stacked(blocks: tuple[Any, ...], form: Form) -> Any:
    """Return one matrix of all rows: an array if all are, with the same features."""
    width = max(block.shape[1] for block in blocks)
    if len(blocks) == 1:
        X = blocks[0]
    elif all(isinstance(block, np.ndarray) and block.shape[1] == width for block in blocks):
        X = np.concatenate(blocks)
    else:
        X = vstack([_as_csr(block, width) for block in blocks], format="csr")
    return _as_scikit_learn_has_it(X, form) if form.sparse else X


def _as_scikit_learn_has_it(X: Any, form: Form) -> Any:
    """Return a CSR matrix of the class and the types that scikit-learn returns."""
    like, _, _ = _parse_numbers(b"0\n", form)
    X = type(like)(X)
    X.indices = X.indices.astype(np.promote_types(X.indices.dtype, like.indices.dtype), copy=False)
    X.indptr = X.indptr.astype(np.promote_types(X.indptr.dtype, like.indptr.dtype), copy=False)
    return X


def _as_csr(X: Any, width: int) -> Any:
    """Return rows as a CSR matrix, which holds all values of an array, zeros too."""
    n_rows, n_features = X.shape
    if isinstance(X, np.ndarray):
        indices = np.tile(np.arange(n_features), n_rows), np.arange(n_rows + 1) * n_features
        return csr_matrix((X.ravel(), *indices), shape=(n_rows, width))
    X.resize((n_rows, width))
    return X


def matrix(path: Path, X: Any, form: Form, numbers: Iterable[int]) -> Any:
    """Return X as `form` asks for; raise if one large feature fills the memory with zeros."""
    if form.sparse or isinstance(X, np.ndarray):
        return X
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    is_sparse = X.nnz * 1000 < X.shape[0] * X.shape[1]
    if form.n_features is None and n_bytes > LARGE_BYTES and is_sparse:
        row = np.searchsorted(X.indptr, X.indices.argmax(), side="right") - 1
        raise ValueError(
            f"{path}, line {next(islice(numbers, int(row), None))} has feature {X.shape[1]}: with "
            f"all features up to it {X.shape[0]} rows take {n_bytes / 2**30:.1f} GiB, most of them "
            "zeros. Pass sparse=True, or n_features to have them nevertheless."
        )
    return X.toarray()
