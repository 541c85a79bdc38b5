"""Targets that carry the query of each row through slicing and splitting."""

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..columns import arrays, index_of, row_order, tables
from ..columns.types import Array, ArrayLike, Ints, Self
from ._exceptions import MissingQidError
from ._queries import Queries, check_qid, join_qids


class Origin(NamedTuple):
    """Place of each row in its query, before any rows were removed.

    * `place` (n_rows,): 0-based number of the row within its query. Distinguishes a row that is
      there twice from two different rows.
    * `size` (n_rows,): number of rows that the query of the row had.
    * `total` (int): number of rows of all queries.
    """

    place: Ints
    size: Ints
    total: int

    @classmethod
    def of(cls, queries: Queries) -> Self:
        """Return the origin of the rows of complete queries."""
        size = queries.ungroup(queries.repeat(queries.sizes))
        return cls(queries.ungroup(queries.places - 1), size, queries.n_rows)

    def rows(self, rows: Ints) -> Self:
        """Return the origin of the selected rows."""
        return self._replace(place=self.place[rows], size=self.size[rows])

    def arrived(self, queries: Queries) -> tuple[Ints, Ints]:
        """Return the number of distinct rows left in each query, and its original size."""
        size = queries.max(queries.group(self.size))
        first = np.cumsum(size) - size
        is_there = np.zeros(int(size.sum()), dtype=np.intp)
        is_there[queries.repeat(first) + queries.group(self.place)] = 1
        return np.add.reduceat(is_there, first), size


class Target:
    """Base class of targets that carry their queries.

    * `qid` (n_rows,): query of each row; None in the label-ranking form, and if all rows are one
      query.
    * `n_items`: number of items that every row ranks in the label-ranking form, else None.
    * `origin`: places of the rows in the target that they were taken from; None if no row was
      removed.
    * `index`: index of what the target was made of, which the rows beside it must have in the same
      order.
    """

    qid: Array | None
    n_items: int | None = None
    origin: Origin | None = None
    index: Any = None

    if TYPE_CHECKING:

        def __len__(self) -> int: ...

    def queries(self) -> Queries:
        """Group the documents by query."""
        if self.n_items is not None:
            return Queries.equal(len(self), self.n_items)
        return Queries.equal(1, len(self)) if self.qid is None else Queries.from_qid(self.qid)

    def origin_of(self, rows: Ints) -> Origin | None:
        """Return the origin of the selected rows; None in the label-ranking form.

        There every row is a complete query, which selecting rows cannot cut.
        """
        if self.n_items is not None or not len(self):
            return None
        if self.origin is None:
            self.origin = Origin.of(self.queries())
        return self.origin.rows(rows)

    @property
    def is_part(self) -> bool:
        """Whether rows of the target that these were taken from are missing."""
        return self.origin is not None and len(self) < self.origin.total

    def _index_at(self, rows: Ints) -> Any:
        """Return the index of the selected rows; None without an index."""
        return None if self.index is None else self.index[rows]

    def check_qid_beside(self, qid: ArrayLike | None) -> None:
        """Raise if a qid that was passed with this target, or None, contradicts the target.

        Parameters
        ----------
        qid : array-like of shape (n_rows,) or None
            The qid that was passed; None if there was none.

        Raises
        ------
        ValueError
            If the target cannot be used with this qid.
        """


# Functions of numpy that write into their first argument.
_WRITERS = (np.copyto, np.put, np.place, np.putmask)


class RankingTarget(Target, np.ndarray):
    """Relevances that carry the query of each row.

    Use it as y for tools of scikit-learn that do not pass a qid. An ndarray that keeps its queries
    through row slicing, pickling and every splitter of scikit-learn, with metadata routing switched
    off: pipelines pass ``y`` on untouched, splitters slice it and scorers receive it. The values
    and the qid are copied.

    Slices and selections of rows remember how many rows their queries had, so that rankers and
    metrics issue a :class:`~skcalrank.data.CutQueriesWarning` if rows of a query are missing.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Relevances, higher is better.
    qid : array-like of shape (n_rows,) or scalar
        Query identifier of each row, of any hashable type, in any order.

    Attributes
    ----------
    qid : ndarray of shape (n_rows,) or None
        Query identifier of each row; None if the identifiers were lost.

    Raises
    ------
    ValueError
        If ``y`` is not one-dimensional, or ``y`` and ``qid`` differ in length.

    See Also
    --------
    PreferenceTarget : Weighted preferences between documents.
    ClickSessions : Lists of shown documents and clicks.
    MultiLabelTarget : Several labels of each document.

    Notes
    -----
    Slicing, ``copy``, ``astype``, ``take`` and ``np.concatenate`` keep the queries. Operations
    that change values or rows, such as arithmetic (``y + 1``), sorting, assignment and
    reshaping, lose the queries, and rankers and metrics then raise a
    :class:`~skcalrank.data.MissingQidError`. Functions of numpy that return a plain array, such as
    ``np.where``, return an array without queries.

    Three kinds of changes cannot be detected: a random generator that shuffles in place, writing
    through ``flat`` or a view, and the `out` of arithmetic, which includes ``y += 1``. Index with
    a permutation instead of shuffling in place.

    Examples
    --------
    >>> from skcalrank import RankingTarget
    >>> y = RankingTarget([2, 0, 1], qid=["a", "a", "b"])
    >>> y[[0, 2]]
    RankingTarget([2, 1], qid=['a', 'b'])
    """

    def __new__(cls, y: ArrayLike, qid: ArrayLike) -> Self:
        row_order(y=y, qid=qid)
        values = arrays.as_array(y, "y")
        arrays.refuse_rounding(y, "y")
        if values.ndim != 1:
            raise ValueError(
                f"RankingTarget expects y of shape (n_rows,), got {values.shape}. In the "
                "label-ranking form, y of shape (n, r), every row is a query of its own "
                "and no qid is needed."
            )
        # Copies: changes of the target must not change the caller's arrays, nor the reverse.
        out = values.copy().view(cls)
        out.qid = np.array(check_qid(qid, len(values)))
        out.index = index_of(qid, y)
        return out

    def __array_finalize__(self, obj: Any) -> None:
        # The array that a numpy function makes of this one need not have the same rows.
        self._forget()

    def __getitem__(self, key: Any) -> Any:
        out = super().__getitem__(key)
        if isinstance(out, RankingTarget) and self.qid is not None and out.ndim == 1:
            rows = np.arange(len(self))[key]
            if rows.shape == out.shape:
                out.qid, out.origin = self.qid[rows], self.origin_of(rows)
                out.index = self._index_at(rows)
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        self._forget()
        super().__setitem__(key, value)

    def _forget(self) -> None:
        # Writing to rows may move them, as shuffling in place does.
        self.qid = self.origin = self.index = None

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        written = [*args[:1]] if func in _WRITERS else [kwargs.get("out")]
        for target in written:
            if isinstance(target, RankingTarget):
                target.qid = target.origin = target.index = None
        out = super().__array_function__(func, types, args, kwargs)
        if func is not np.concatenate or np.ndim(out) != 1:
            return out
        parts = args[0]
        if all(isinstance(part, RankingTarget) and part.qid is not None for part in parts):
            whole = RankingTarget(out, join_qids([part.qid for part in parts]))
            whole.origin = _joined([part.origin_of(np.arange(len(part))) for part in parts])
            return whole
        return out

    def check_qid_beside(self, qid: ArrayLike | None) -> None:
        """Raise MissingQidError if the queries were lost and no qid replaces them."""
        if self.qid is None and qid is None:
            raise MissingQidError(
                "y must carry the query of each row, got a RankingTarget that lost its qid: "
                "arithmetic, sorting and reshaping drop it. Build it again: RankingTarget(y, qid)."
            )

    def _with_qid(self, out: Any) -> Any:
        if isinstance(out, RankingTarget) and out.shape == self.shape:
            out.qid, out.origin, out.index = copy(self.qid), self.origin, self.index
        return out

    def copy(self, order: Any = "C") -> Any:
        """Return a copy that keeps the queries."""
        return self._with_qid(super().copy(order))

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a copy of another dtype that keeps the queries."""
        return self._with_qid(super().astype(dtype, *args, **kwargs))

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        """Return rows by their numbers, keeping the queries."""
        return self[np.arange(len(self)).take(indices, mode=mode)]

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort in place, which loses the queries."""
        self._forget()
        super().sort(*args, **kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> None:
        """Partition in place, which loses the queries."""
        self._forget()
        super().partition(*args, **kwargs)

    def put(self, *args: Any, **kwargs: Any) -> None:
        """Assign to rows, which loses the queries."""
        self._forget()
        super().put(*args, **kwargs)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_ranking_target, (np.asarray(self), self.qid, self.origin, self.index)

    def __repr__(self) -> str:
        if self.ndim != 1 or self.qid is None:
            return np.array_repr(np.asarray(self)).replace("array", "RankingTarget", 1)
        y, qid = (np.array2string(np.asarray(a), separator=", ") for a in (self, self.qid))
        return f"RankingTarget({y}, qid={qid})"


def _rebuild_ranking_target(
    values: Array, qid: Array | None, origin: Origin | None, index: Any = None
) -> RankingTarget:
    out = values.view(RankingTarget)
    out.qid, out.origin, out.index = qid, origin, index
    return out


def _joined(origins: list[Origin | None]) -> Origin | None:
    """Return the origin of concatenated targets; empty targets have None as their origin."""
    known = [origin for origin in origins if origin is not None]
    if not known:
        return None
    place, size, total = zip(*known)
    return Origin(np.concatenate(place), np.concatenate(size), max(total))


class Judgments(Target, ABC):
    """Base class of targets that hold judgments about rows instead of one label per row.

    Such a target has a length and is sliced by rows like an array, so that every splitter of
    scikit-learn accepts it as ``y``.
    """

    # How to get an array from the judgments, for the error of an implicit conversion.
    _remedy = ""

    # Whether an error about the order of rows asks for the order of this target.
    leads_rows = True

    @abstractmethod
    def __getitem__(self, key: Any) -> Self:
        """Select rows."""

    @abstractmethod
    def _arrays(self) -> tuple[Array, ...]:
        """Return the arrays that define the judgments; equal targets have equal arrays and qid."""

    @property
    @abstractmethod
    def is_silent(self) -> bool:
        """Whether no document is preferred to another one, so that there is nothing to learn."""

    @property
    @abstractmethod
    def n_judgments(self) -> Ints:
        """Number of judgments of each query, of shape (n_queries,)."""

    @property
    def shape(self) -> tuple[int]:
        """Shape ``(n_rows,)``, so that scikit-learn slices the target like an array."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1: the target is sliced by rows only."""
        return 1

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be converted to an array: {self._remedy}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (
            len(self) == len(other)
            and self.n_items == other.n_items
            and _as_list(self.qid) == _as_list(other.qid)
            and all(map(np.array_equal, self._arrays(), other._arrays()))
        )

    __hash__ = None  # type: ignore[assignment]


def _as_list(qid: Array | None) -> list[Any] | None:
    return None if qid is None else tables.listed(qid)


def chosen_rows(key: Any, n_rows: int, kind: str) -> Ints:
    """Return the row numbers that an index selects; `kind` names the class in errors."""
    if isinstance(key, tuple):
        key = tuple(k for k in key if k is not Ellipsis)
        if len(key) != 1:
            raise IndexError(f"{kind} must be indexed by rows only, got {len(key)} indices.")
        key = key[0]
    rows = np.atleast_1d(np.arange(n_rows)[key])
    if rows.ndim != 1 or key is None:
        raise IndexError(f"{kind} must be indexed by a one-dimensional selection of rows.")
    return rows
