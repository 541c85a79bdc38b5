"""The central data type: rows grouped by query.

Queries differ in size. A :class:`Queries` object holds pointers to the rows of each query and
offers what ranking needs: reductions over the documents of a query, repeating a value per query
for its documents, and batches of queries of similar size, which numpy sorts together. There are
two orders of rows:

* *row order*: the order given by the user, in which queries may be interleaved;
* *grouped order*: queries in order of first appearance, and within a query the rows
  in the order given.

``group`` and ``ungroup`` convert an array from one order to the other; unless stated otherwise,
all other methods take and return arrays in grouped order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from numbers import Number
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..columns import CACHE_CELLS, arrays, by_hash, hash_names
from ..columns.types import Array, ArrayLike, Bools, Floats, Ints
from ._properties import lazy_property
from ._workers import workers_of_fit

Kind = TypeVar("Kind", bound=np.generic)

# Spreads below this share of the largest value are rounding errors.
_ROUNDING = 1e-9

# Share of the cells of a batch that padding may waste: more, smaller batches take more time.
_WASTE = 1 / 16


class Bucket(NamedTuple):
    """A batch of queries of similar size, to be padded to one matrix.

    * `ids` (n_bucket,): numbers of the queries.
    * `first` (n_bucket, 1): first row of each query, in grouped order.
    * `sizes` (n_bucket, 1): number of documents of each query.
    * `width`: number of documents of the largest query.
    * `ragged`: whether the queries differ in size.
    """

    ids: Ints
    first: Ints
    sizes: Ints

    width: int
    ragged: bool

    @classmethod
    def of(cls, ids: Ints, first: Ints, sizes: Ints) -> Bucket:
        """Return a batch of these queries."""
        width = int(sizes.max())
        return cls(ids, first, sizes, width, bool(sizes.min() < width))

    def keep(self, which: Array) -> Bucket:
        """Return a batch of some of the queries, selected by a mask or by index."""
        return self.of(self.ids[which], self.first[which], self.sizes[which])

    def pad(self, values: Floats, fill: float) -> Floats:
        """Return a matrix with the values of each query in a row, padded with `fill`.

        `values` must come from :meth:`Queries.extend`, which makes them long enough.
        """
        # A view of all runs of `width` values, from which the rows of the queries are copied.
        shape = (len(values) - self.width + 1, self.width)
        windows: Floats = np.ndarray(shape, values.dtype, values, strides=values.strides * 2)
        out: Floats = windows[self.first[:, 0]]
        if self.ragged:
            np.copyto(out, fill, where=np.arange(self.width) >= self.sizes)
        return out


class Queries:
    """Rows grouped by query.

    Parameters
    ----------
    ptr : ndarray of shape (n_queries + 1,)
        In grouped order, query ``q`` has the rows ``ptr[q]:ptr[q + 1]``, at least one.
    order : ndarray of shape (n_rows,), default=None
        Row numbers in grouped order; None if row order is grouped order.
    names : ndarray of shape (n_queries,), default=None
        Identifiers of the queries; None if there are no identifiers.
    """

    def __init__(self, ptr: Ints, order: Ints | None = None, names: Array | None = None) -> None:
        self.ptr = ptr
        self.order = order
        self.names = names
        self.sizes = np.diff(ptr)
        self.n_rows = int(ptr[-1])
        self.n_queries = len(ptr) - 1
        self._parts: dict[int, list[tuple[slice, slice, Queries]]] = {}

    @classmethod
    def from_qid(cls, qid: Array) -> Queries:
        """Group rows by identifiers that have been validated."""
        names: Any = None
        if qid.dtype == object:
            # Identifiers of different types need not compare with each other.
            qid, names = factorized(qid)
        heads = arrays.run_starts(qid)
        if len(heads) == 1:  # a request for one query
            return cls(np.array([0, len(qid)]), names=qid[heads] if names is None else names)
        codes, distinct = factorized(qid[heads])
        names = distinct if names is None else names
        ends = np.append(heads[1:], len(qid))
        if len(names) == len(heads):
            return cls(np.append(heads, len(qid)), names=names)
        codes = np.repeat(codes, ends - heads)
        ptr = np.append(0, np.bincount(codes).cumsum())
        return cls(ptr, np.argsort(codes, kind="stable"), names)

    @classmethod
    def equal(cls, n_queries: int, size: int) -> Queries:
        """Return queries of one size: the rows of a matrix, or one query of all rows."""
        return cls(np.arange(n_queries + 1) * size)

    def __repr__(self) -> str:
        return f"Queries({self.n_queries} queries, {self.n_rows} rows)"

    def name(self, query: int) -> Any:
        """Return the identifier of a query, or its number if there is none, for messages."""
        return plain(query if self.names is None else self.names[query])

    @lazy_property
    def hashes(self) -> Array:
        """Hash of the name of each query, or its number if there is none."""
        return hash_names(np.arange(self.n_queries) if self.names is None else self.names)

    @property
    def name_ranks(self) -> Ints:
        """Place of each query, from 0, in the order of hashes, which no order of rows changes."""
        return np.argsort(by_hash(self.hashes))

    def parts(self, n_rows: int) -> Iterator[tuple[slice, slice, Queries]]:
        """Yield parts of whole queries with about `n_rows` rows each.

        A part is a slice of the queries, a slice of the rows in grouped order, and a `Queries`
        object of these queries only. Working part by part is faster: temporary arrays of a part
        reuse memory, and temporary arrays of millions of rows are allocated anew each time.
        """
        first = 0
        while first < self.n_queries:
            last = int(np.searchsorted(self.ptr, self.ptr[first] + n_rows, side="right")) - 1
            last = min(max(last, first + 1), self.n_queries)
            names = np.arange(first, last) if self.names is None else self.names[first:last]
            ptr = self.ptr[first : last + 1]
            rows = slice(int(ptr[0]), int(ptr[-1]))
            yield slice(first, last), rows, Queries(ptr - ptr[0], names=names)
            first = last

    def kept_parts(self, n_rows: int) -> list[tuple[slice, slice, Queries]]:
        """Return a cached list of :meth:`parts`, whose `Queries` objects keep their batches."""
        if n_rows not in self._parts:
            everything = slice(0, self.n_queries), slice(0, self.n_rows), self
            whole = self.n_rows <= n_rows or self.n_queries == 1
            self._parts[n_rows] = [everything] if whole else list(self.parts(n_rows))
        return self._parts[n_rows]

    def some(self, which: Array) -> Queries:
        """Return some queries, by a mask or by their numbers; repeated numbers duplicate them."""
        names = np.arange(self.n_queries) if self.names is None else self.names
        return Queries(np.append(0, np.cumsum(self.sizes[which])), names=names[which])

    # -- from row order to grouped order and back ---------------------------------

    def group(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Return an array in grouped order, given in row order."""
        return values if self.order is None else values[self.order]

    def ungroup(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Return an array in row order, given in grouped order."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    @property
    def codes(self) -> Ints:
        """Number of the query of each row, in row order."""
        return self.ungroup(self.repeat(np.arange(self.n_queries)))

    @property
    def places(self) -> Ints:
        """Places 1, 2, ... of the rows within their queries, in grouped order."""
        return np.arange(1, self.n_rows + 1) - self.repeat(self.ptr[:-1])

    def indicator(self, weights: Floats, part: slice = slice(None)) -> csr_matrix:
        """Return a CSR matrix whose product with a matrix sums the rows of each query.

        Several times faster than ``np.add.reduceat`` along the rows of a matrix, and valid for
        sparse matrices too.

        * `weights` (n_rows,): factors of the rows, in grouped order.
        * `part`: queries to include.

        Returns `indicator` (n_part, n_rows): its columns are in row order.
        """
        first, last, _ = part.indices(self.n_queries)
        ptr = self.ptr[first : last + 1]
        rows = slice(int(ptr[0]), int(ptr[-1]))
        columns = np.arange(rows.start, rows.stop) if self.order is None else self.order[rows]
        return csr_matrix((weights[rows], columns, ptr - ptr[0]), shape=(last - first, self.n_rows))

    # -- ragged reductions, in grouped order --------------------------------------

    def sum(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Return the sum over the documents of each query."""
        return np.add.reduceat(values, self.ptr[:-1])

    def max(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Return the maximum over the documents of each query."""
        return np.maximum.reduceat(values, self.ptr[:-1])

    def mean(self, values: Array, weight: Floats | None = None) -> Floats:
        """Return the (weighted) mean over the documents of each query, 0 where all weigh 0."""
        if weight is None:
            return self.sum(values) / self.sizes
        return arrays.safe_divide(self.sum(weight * values), self.sum(weight))

    def mean_weight(self, weight: Floats) -> Floats:
        """Return the mean weight of each query, or 1 if all its weights are 0, as a divisor.

        A pair of documents has the weight ``w_i w_j`` divided by this mean, so that documents of
        constant weight c form pairs of weight c.
        """
        mean = self.mean(weight)
        return np.where(mean > 0, mean, 1.0)

    def repeat(self, per_query: NDArray[Kind]) -> NDArray[Kind]:
        """Return the value of its query for every document."""
        return np.repeat(per_query, self.sizes, axis=0)

    # -- variation within queries, in row order ------------------------------------

    def levels(self, values: Floats, weight: Floats | None = None) -> Floats:
        """Return for each row, or each column of rows, the (weighted) mean of its query."""
        if values.ndim > 1:
            return np.column_stack([self.levels(column, weight) for column in values.T])
        grouped = None if weight is None else self.group(weight)
        return self.ungroup(self.repeat(self.mean(self.group(values), grouped)))

    def centered(self, values: Floats, weight: Floats | None = None) -> Floats:
        """Return values minus the (weighted) mean of their query."""
        return values - self.levels(values, weight)

    def spread(self, values: Floats, weight: Floats | None = None) -> float:
        """Return the root mean square of centered values; 1 if they vary by rounding at most.

        Values are those of all workers of the fit.
        """
        if weight is None or not weight.any():
            weight = np.ones(len(values))
        largest = max(workers_of_fit().gather(np.abs(values).max(initial=0.0)))
        scale = float(arrays.scale_of(largest))
        values, weight = self.group(values) / scale, self.group(weight)
        squares = weight * (values - self.repeat(self.mean(values, weight))) ** 2
        sums, totals = zip(*workers_of_fit().gather((squares.sum(), weight.sum())))
        spread = scale * float(np.sqrt(sum(sums) / sum(totals)))
        return spread if spread > _ROUNDING * largest else 1.0

    # -- batches ------------------------------------------------------------------

    def extend(self, values: Floats, of: Callable[..., Any] = np.positive) -> Floats:
        """Return ``of(values)``, extended with the zeros that :meth:`Bucket.pad` needs."""
        out = np.zeros(self.n_rows + int(self.sizes.max(initial=0)))
        of(values, out=out[: self.n_rows])
        return out

    @lazy_property
    def buckets(self) -> list[Bucket]:
        """Batches of queries whose sizes differ by a factor of less than two."""
        return list(self._make_buckets())

    def _make_buckets(self) -> Iterator[Bucket]:
        width_class = np.log2(self.sizes).astype(np.int16)
        by_class = np.argsort(width_class, kind="stable")
        bounds = np.append(arrays.run_starts(width_class[by_class]), self.n_queries)
        for first, last in pairwise(bounds):
            step = max(1, CACHE_CELLS // int(self.sizes[by_class[first:last]].max()))
            for start in range(first, last, step):
                yield self._bucket(by_class[start : min(start + step, last)])

    @lazy_property
    def pair_buckets(self) -> list[Bucket]:
        """Batches of queries of nearly one size, whose pairs together fit in the cache."""
        return self.alike_buckets(CACHE_CELLS, 2)

    def alike_buckets(self, n_cells: int, power: int = 1) -> list[Bucket]:
        """Return batches of queries of nearly one size n.

        A batch is one query, or several for which the sum of ``n ** power`` is at most `n_cells`,
        of which padding to the largest one wastes at most a part.
        """
        by_size = np.argsort(self.sizes, kind="stable")
        sizes, first, out = self.sizes[by_size], 0, []
        while first < self.n_queries:
            # Queries are sorted by size, so the last query of a batch is its largest.
            widths = sizes[first : first + max(1, n_cells // int(sizes[first]) ** power)]
            cells = np.arange(1, len(widths) + 1) * widths**power
            fits = (cells <= n_cells) & (cells - np.cumsum(widths**power) <= _WASTE * n_cells)
            last = first + max(1, int(fits.sum()))
            out.append(self._bucket(by_size[first:last]))
            first = last
        return out

    def _bucket(self, ids: Ints) -> Bucket:
        return Bucket.of(ids, self.ptr[ids][:, None], self.sizes[ids][:, None])


def factorized(values: Array) -> tuple[Ints, Array]:
    """Return the number of each value, in order of first appearance, and the distinct values."""
    if values.dtype == object:
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(value, len(numbers)) for value in values]
        return np.array(codes, dtype=np.intp), np.fromiter(numbers, object, len(numbers))
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    number = np.empty_like(by_appearance)
    number[by_appearance] = np.arange(len(distinct))
    return number[codes.ravel()], distinct[by_appearance]


def qid_array(qid: ArrayLike, name: str = "qid") -> Array:
    """Return an array of identifiers from any container; values of different types stay distinct.

    For example, ``1`` and ``"1"`` are two identifiers. A single column is raveled.
    """
    if isinstance(qid, Sequence) and not isinstance(qid, (str, bytes)):
        qid = list(qid)
        if all(isinstance(value, list) and len(value) == 1 for value in qid):
            qid = [value for (value,) in qid]  # a column
        if not _survive_numpy(qid):
            return np.fromiter(qid, dtype=object, count=len(qid))
    out = arrays.as_array(qid, name)
    if out.dtype.kind in "SU" and not isinstance(qid, (list, np.ndarray)):
        # Polars gives strings a fixed width, and numpy drops null characters at their ends.
        out = np.asarray(qid, dtype=object)
    return out.ravel() if out.ndim == 2 and out.shape[-1] == 1 else out


def join_qids(parts: list[Array]) -> Array:
    """Concatenate arrays of identifiers; identifiers of different types stay distinct."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _survive_numpy(values: list[Any]) -> bool:
    """Return whether different values stay different in an array of numpy's choice of dtype."""
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        # numpy would make two strings of [1, "a"].
        return False
    (kind,) = kinds or {int}
    if issubclass(kind, (str, bytes)):
        # numpy drops null characters at the end.
        end = "\0" if issubclass(kind, str) else b"\0"
        return not any(value.endswith(end) for value in values)
    if issubclass(kind, int):
        # numpy rounds to double precision if only some integers are >= 2**63.
        return np.asarray(values).dtype.kind != "f"
    # numpy would make tuples, and other sequences, the rows of a matrix.
    return issubclass(kind, (float, list, np.generic, np.ndarray))


def is_scalar(qid: Any) -> bool:
    """Return whether a qid is the name of one query, which has all rows."""
    is_text = isinstance(qid, str)  # more often the name of a column
    return not is_text and (isinstance(qid, (bytes, Number)) or getattr(qid, "ndim", None) == 0)


def check_qid(qid: ArrayLike, n_rows: int, name: str = "qid") -> Array:
    """Return identifiers as an array of length `n_rows`; raise ValueError if they are invalid.

    A scalar is the name of one query. `name` is that of the argument.
    """
    if is_scalar(qid):
        if arrays.is_missing(qid):
            raise ValueError(f"{name} must be an identifier, got a missing value, {qid!r}: pass 0.")
        return np.full(n_rows, np.asarray(qid))
    qid = qid_array(qid, name)
    if qid.ndim != 1:
        hint = ""
        if qid.ndim == 0 and isinstance(text := qid.item(), str):
            hint = (
                f" Pass the column itself, such as frame[{text!r}], or [{text!r}] * len(X) if all "
                "rows are of this query."
            )
        raise ValueError(f"{name} must have shape (n_rows,), got {qid.shape}.{hint}")
    if len(qid) != n_rows:
        hint = (
            " These look like group sizes, because they sum to the number of rows: pass "
            "qid=np.repeat(np.arange(len(sizes)), sizes)."
            if n_rows and qid.dtype.kind in "iuf" and qid.sum() == n_rows
            else ""
        )
        raise ValueError(
            f"{name} must have {n_rows} entries, one for each of the rows, got {len(qid)}.{hint}"
        )
    missing = _missing(qid, name)
    if missing.any():
        raise ValueError(
            f"{name} must hold an identifier for every row, got a missing value (NaN, None, NaT "
            f"or infinity) in row {int(np.flatnonzero(missing)[0])}."
        )
    return qid


def check_own_qid(qid: ArrayLike, name: str = "qid") -> Array:
    """Return a copy of identifiers, whose length determines the number of rows."""
    names = qid_array(qid, name)
    if names.ndim == 0:
        hint = f" Pass the column itself, X[{qid!r}]." if isinstance(qid, str) else ""
        raise ValueError(f"{name} must hold one identifier per row, got {qid!r}.{hint}")
    return np.array(check_qid(names, len(names), name))


def _missing(values: Array, name: str) -> Bools:
    if values.dtype.kind in "fmM":
        return ~np.isfinite(values)
    if values.dtype == object:
        return np.array([_is_missing(v, name) for v in values], dtype=bool)
    return np.zeros(0, dtype=bool)


def _is_missing(value: Any, name: str) -> bool:
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"{name} must hold hashable values, got {value!r} of type {type(value).__name__}. "
            "Identify them by numbers, strings or tuples."
        ) from None
    is_number = isinstance(value, Number)
    try:
        if isinstance(value, tuple):
            return _holds_nan(value)
        return arrays.is_missing(value) or (is_number and bool(abs(value) == np.inf))
    except Exception:
        return False


def _holds_nan(part: Any) -> bool:
    """Return whether a part of a name is not equal to itself, as None and infinity are."""
    if isinstance(part, tuple):
        return any(map(_holds_nan, part))
    return part is not None and arrays.is_missing(part)


def plain(value: Any) -> Any:
    """Return a numpy scalar as a Python value, for error messages; other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value
