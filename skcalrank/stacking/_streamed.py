"""Features that are read chunk by chunk, several times, beside labels and queries in memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from ..columns import arrays, tables
from ..columns.tables import EncodedTable
from ..columns.types import Bools, Floats, Ints
from ..data import Workers, check, refuse_lazy
from ..preprocessing import (
    Summary,
    TableEncoder,
    encoded,
    fit_summaries,
    refuse_names,
    summarized,
)


class Streamed:
    """The features of all rows, in chunks of whole queries.

    * `ranker`: the one that is fitted, for errors.
    * `chunks`: tuples (X, y, qid) or (X, y, qid, sample_weight), to be iterated several times, or a
      function that returns an iterator over them.
    * `columns`: kinds of columns by name.
    * `most_rows`: maximum number of rows whose features may be in memory.

    * `encoder` (TableEncoder or None): reader of the columns, if X are tables.
    * `y`, `qid`, `weight` (ndarray of shape (n_rows,)): labels, queries and weights of the rows,
      which are in the order of the chunks, sorted by query in each; the weight is None without
      weights.
    * `shape` (tuple of int): number of rows, and of columns of the matrix.
    """

    def __init__(self, ranker: Any, chunks: Any, columns: Any, most_rows: int) -> None:
        self._chunks, self.most_rows = _again(chunks), most_rows
        first = next(iter(self._tuples()), None)
        if first is None:
            raise ValueError("chunks must have rows, got none.")
        self.encoder: Any = None
        if columns or tables.has_columns(first[0]):
            self.encoder = TableEncoder(columns)
            fit_summaries(self.encoder, first[0], self._summaries)
            if not len(self.encoder.sources_):
                raise ValueError("X must have a column that is a feature, got none.")
        # Arrays have the same number of columns in every chunk.
        self._checker = clone(ranker)
        self._learn()

    def table(self) -> EncodedTable:
        """Return what stands for the table: a matrix of zeros that takes no memory."""
        return EncodedTable(
            np.broadcast_to(np.zeros((), self._dtype), self.shape), self.encoder, self
        )

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield the matrix of each chunk, behind the number of its first row."""
        start = 0
        for matrix, *_ in self._read():
            yield start, matrix
            start += len(matrix)
        if start != len(self.y):
            raise ValueError(
                f"chunks must be the same each time, got {len(self.y)} rows and then {start}."
            )

    def take(self, rows: Ints) -> Floats:
        """Return the matrix of some rows."""
        out = np.empty((len(rows), self.shape[1]), self._dtype)
        order = np.argsort(rows)
        for start, matrix in self.blocks():
            first, last = np.searchsorted(rows, [start, start + len(matrix)], sorter=order)
            out[order[first:last]] = matrix[rows[order[first:last]] - start]
        return out

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        """Yield the chunks that have rows."""
        for chunk in self._chunks():
            if not (isinstance(chunk, tuple) and len(chunk) in (3, 4)):
                raise ValueError(
                    "chunks must hold tuples (X, y, qid) or (X, y, qid, sample_weight), got "
                    f"{type(chunk).__name__}."
                )
            X, y, *_ = chunk
            refuse_lazy("fit_chunks", X=X, y=y)
            if issparse(X):
                raise ValueError(
                    "chunks must have a dense X, got a sparse matrix: use X.toarray()."
                )
            if tables.n_rows_of(X):
                yield chunk

    def _summaries(self, names: list[str], choices: dict[str, str]) -> list[Summary]:
        """Return the summary of each column of all chunks."""
        out: Any = None
        for number, (X, y, qid, *_) in enumerate(self._tuples()):
            given, qid = tables.column_names(X), check.carried_qid(y, qid)
            with arrays.beginning(f"Invalid chunk {number + 1}: "):
                if given is None:
                    columns = tables.columns_of(tables.as_array(X))
                else:
                    refuse_names(X, given, names)
                    columns = tables.columns_of(X, names)
                chunk = summarized(names, columns, choices, qid)
            out = chunk if out is None else list(map(Summary.merge, zip(out, chunk)))
        return out

    def _read(self) -> Iterator[tuple[Any, ...]]:
        """Yield the matrix, labels, queries and weights of each chunk, sorted by query."""
        checks: dict[str, Any] = {"ensure_all_finite": "allow-nan"}
        for number, (X, y, qid, *rest) in enumerate(self._tuples()):
            weight = rest[0] if rest else None
            qid = check.carried_qid(y, qid, X=X, sample_weight=weight)
            rows = {"X": X, "y": y, "qid": qid, "sample_weight": weight}
            check.equally_many(f"The parts of chunk {number + 1}", **rows)
            if y is None or qid is None:
                missing = "labels" if y is None else "a qid"
                raise ValueError(f"chunks must have {missing}, got none in chunk {number + 1}.")
            with arrays.beginning(f"Invalid chunk {number + 1}: "):
                if self.encoder is None:
                    matrix = check.features(self._checker, X, reset=not number, **checks)
                else:
                    matrix = encoded(X, self.encoder).matrix
            queries = check.queries(qid, len(matrix))
            order = slice(None) if queries.order is None else queries.order
            if weight is not None:
                weight = np.asarray(weight)
                weight = (weight if weight.ndim else np.full(len(matrix), weight))[order]
            yield matrix[order], np.asarray(y)[order], queries, weight

    def _learn(self) -> None:
        """Read everything once: labels, queries and weights."""
        labels, qids, weights = [], [], []
        seen: set[Any] = set()
        dtype = np.dtype(bool)
        for matrix, y, queries, weight in self._read():
            names = set(queries.names.tolist())
            if again := names & seen:
                raise ValueError(
                    f"Query {min(again, key=str)!r} was in an earlier chunk: all rows of a query "
                    "must be in one chunk. skcalrank.dask.partition_by_query brings them together."
                )
            seen |= names
            labels.append(check.one_form(y, queries.names))
            qids.append(np.repeat(queries.names, queries.sizes))
            weights.append(weight)
            width, dtype = matrix.shape[1], np.result_type(dtype, matrix)
        if any(weight is None for weight in weights) and any(w is not None for w in weights):
            raise ValueError("chunks must all have a sample_weight, or none.")
        self._dtype = dtype if dtype.kind == "f" else np.dtype(float)
        if len({qid.dtype.kind for qid in qids}) > 1:  # numbers would become text
            qids = [qid.astype(object) for qid in qids]
        self.y, self.qid = np.concatenate(labels), np.concatenate(qids)
        self.weight = None if weights[0] is None else np.concatenate(weights)
        self.shape = len(self.y), width


class OverChunks(Workers):
    """The chunks of a streamed table as the workers of a fit that sums over them."""

    size = 2  # or more

    def __init__(self, streamed: Streamed, used: Bools) -> None:
        self._streamed, self._used = streamed, used
        self._matrix: Any = None

    def rows(self, _: Any) -> Floats:
        """Return the rows of the present chunk."""
        return self._matrix

    def total(self, part: Callable[[], Any], add: Callable[[list[Any]], Any]) -> Any:
        """Return the sum of a function of :meth:`rows` over all chunks."""
        out: list[Any] = []
        for start, matrix in self._streamed.blocks():
            self._matrix = matrix[self._used[start : start + len(matrix)]]
            out = [add([*out, part()])] if len(self._matrix) else out
        return out[0]


def _again(chunks: Any) -> Callable[[], Iterable[Any]]:
    """Return a function that returns the chunks anew each time."""
    if callable(chunks):
        return chunks
    try:
        is_used_up = iter(chunks) is chunks
    except TypeError:
        is_used_up = True
    if is_used_up:
        raise ValueError(
            "chunks must be iterable several times, as a list is, or a function that returns an "
            "iterator, such as lambda: load_table(folder, chunk_rows=100_000), got "
            f"{type(chunks).__name__}."
        )
    return lambda: chunks
