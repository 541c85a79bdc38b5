"""Lines of LETOR files whose numbers are plain decimals, parsed by Arrow."""

from importlib.util import find_spec
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from ...columns.types import Floats, Ints

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
