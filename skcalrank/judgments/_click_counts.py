"""Clicks and impressions of documents at positions, as a target that is sliced by rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..columns import arrays, index_of, row_order, tables
from ..columns.types import Array, ArrayLike, Ints, Self
from ..data import check_own_qid
from ._click_log import ClickLog, identifiers, refuse_repeated, refuse_twins, tell_lost
from ._clicks import ClickSessions, ClickTarget, warn_of_clicks_alone

# Counts are summed up once so many of them wait.
_WAITING = 1 << 20

# Counts and positions are below: sums of them are integers.
_MOST = 2.0**53


class ClickCounts(ClickTarget):
    """Clicks and impressions of each document at each position.

    For users who examine positions independently, this is all that a click log tells, however long
    it is: use it in place of :class:`ClickSessions` for logs that do not fit in memory, or that a
    database has summed up. It has a length and is sliced by rows like an array.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        Query of each row.
    shown_rows, position : array-like of int of shape (n_counts,)
        Row of a document, and the position where it was shown, from 1 on.
    impressions, clicks : array-like of shape (n_counts,)
        How often the document was shown there, and clicked. Counts of the same row and position
        are added, and those without impressions left out.

    Attributes
    ----------
    qid : ndarray of shape (n_rows,)
        Query of each row.
    shown_rows, position, impressions, clicks : ndarray of shape (n_counts,)
        The counts, once for each row and position.
    document : ndarray of shape (n_rows,) or None
        Identifier of the document of each row, if the target was made of tables.

    Raises
    ------
    ValueError
        If a row or position does not exist, or there are fewer impressions than clicks.

    Warns
    -----
    UserWarning
        If there are 20 impressions or more, and as many clicks.

    See Also
    --------
    ClickSessions : Sessions with their order, for the cascade model and for subsets of sessions.
    skcalrank.aggregation.position_based : Estimates of relevance from counts.
    skcalrank.aggregation.fit_propensities : Propensities from counts.

    Examples
    --------
    >>> from skcalrank import ClickCounts
    >>> from skcalrank.aggregation import position_based
    >>> y = ClickCounts([1, 1], [0, 0, 1], [1, 2, 1], impressions=[10, 10, 4], clicks=[6, 3, 1])
    >>> y
    ClickCounts(2 rows, 24 impressions, 10 clicks)
    >>> position_based(y, [1.0, 0.5]).relevance
    array([0.6 , 0.25])
    """

    _remedy = "turn them into one score per row with skcalrank.aggregation.position_based."

    def __init__(
        self,
        qid: ArrayLike,
        shown_rows: ArrayLike,
        position: ArrayLike,
        impressions: ArrayLike,
        clicks: ArrayLike,
    ) -> None:
        self.qid = check_own_qid(qid)
        self.index = index_of(qid)
        names = "shown_rows", "position", "impressions", "clicks"
        given = dict(zip(names, (shown_rows, position, impressions, clicks)))
        row_order(**given)
        columns = {name: arrays.as_array(values, name) for name, values in given.items()}
        n = len(columns["shown_rows"])
        for name, values in columns.items():
            whole = values.dtype.kind in "biuf" and (values == np.floor(values)).all()
            if values.shape != (n,) or not (whole or not n):
                raise ValueError(
                    f"{name} must hold an integer for each of {n} counts, got shape "
                    f"{values.shape} of {values.dtype}."
                )
        rows, at, shown, clicked = columns.values()
        for name, wrong, what in (
            ("shown_rows", (rows < 0) | (rows >= len(self.qid)), f"0 to {len(self.qid) - 1}"),
            ("position", (at < 1) | (at >= _MOST), "1 on"),
            ("impressions", (shown < 0) | (shown >= _MOST), "0 on"),
            ("clicks", (clicked < 0) | (clicked > shown), "0 to the number of impressions"),
        ):
            if wrong.any():
                value = float(columns[name][np.argmax(wrong)])
                raise ValueError(f"{name} must hold integers from {what}, got {value:g}.")
        # Databases may list documents at positions where nobody saw them.
        self.shown_rows, self.position, self.impressions, self.clicks = _summed(
            *(values[shown > 0].astype(np.int64) for values in columns.values())
        )
        warn_of_clicks_alone(self)

    @classmethod
    def unchecked(cls, qid: Array, document: Array | None, *counts: Ints) -> Self:
        """Return click counts built from the arrays of the attributes, without validation.

        Parameters
        ----------
        qid, document : ndarray of shape (n_rows,)
            As described in the attributes of the class.
        *counts : ndarray of int of shape (n_counts,)
            Rows, positions, impressions and clicks.

        Returns
        -------
        counts : ClickCounts
        """
        out = cls.__new__(cls)
        out.qid, out.document = qid, document
        out.shown_rows, out.position, out.impressions, out.clicks = _summed(*counts)
        return out

    @classmethod
    def from_frames(
        cls,
        frames: Any,
        *,
        query: str,
        document: str,
        position: str,
        clicked: str,
        rows: Any = None,
    ) -> Self:
        """Count the clicks of a log that is read in chunks.

        Memory is that of a chunk and of the counts: it grows with the number of distinct queries,
        documents and positions, and not with that of sessions.

        Parameters
        ----------
        frames : iterable of DataFrames or tables, or one of them
            Parts of the log, which has a row for each document shown: of pandas or polars, tables
            of pyarrow, or batches as ``pyarrow.parquet.ParquetFile(path).iter_batches()`` yields
            them. A session may be divided between parts.
        query, document, position, clicked : str
            Names of the columns, as in :meth:`ClickSessions.from_frame`.
        rows : DataFrame or table, default=None
            Query and document of each row of X, as in :meth:`ClickSessions.from_frame`.

        Returns
        -------
        counts : ClickCounts

        Raises
        ------
        ValueError
            If there is no part, a column or a value is missing, a position or click is out of
            range, two queries or documents, such as 5 in a part and "5" in another, are the same
            as text, or `rows` have nothing of the log, or a document twice. Documents that a
            session shows twice are not noticed.

        Warns
        -----
        UserWarning
            If documents of the log are not in `rows`, whose impressions are left out, or there are
            20 impressions or more, and as many clicks.

        Examples
        --------
        >>> import pandas as pd
        >>> from skcalrank import ClickCounts
        >>> log = pd.DataFrame({
        ...     "text": ["tea"] * 4, "product": ["green", "black", "black", "green"],
        ...     "place": [1, 2, 1, 2], "click": [False, True, True, True]})
        >>> y = ClickCounts.from_frames(
        ...     [log[:2], log[2:]], query="text", document="product", position="place",
        ...     clicked="click")
        >>> y
        ClickCounts(2 rows, 4 impressions, 3 clicks)
        """
        names = query, document, position, clicked
        places = _Places(rows, query, document)
        summed = waiting = tuple(np.zeros((4, 0), dtype=np.int64))
        read, lost, n = False, 0, 0
        for frame in _parts(frames):
            log, read = ClickLog.read(frame, names), True
            row = places.of(log)[log.pair]
            known = row >= 0
            lost, n = lost + len(row) - known.sum(), n + len(row)
            part = row[known], log.position[known], np.ones(known.sum()), log.clicked[known]
            part = _summed(*(values.astype(np.int64) for values in part))
            waiting = tuple(map(np.append, waiting, part))
            if len(waiting[0]) > max(_WAITING, len(summed[0])):
                summed = _summed(*map(np.append, summed, waiting))
                waiting = tuple(np.zeros((4, 0), dtype=np.int64))
        if not read:
            raise ValueError("frames must hold a part of the log at least, got none.")
        places.tell_lost(lost, n)
        out = cls.unchecked(*places.columns(), *map(np.append, summed, waiting))
        out.index = index_of(rows)
        warn_of_clicks_alone(out)
        return out

    def __repr__(self) -> str:
        return (
            f"ClickCounts({len(self)} rows, {self.impressions.sum()} impressions, "
            f"{self.clicks.sum()} clicks{self._never_shown()})"
        )

    def __getitem__(self, key: Any) -> Self:
        rows, shown, left = self._selected(key)
        others = self.position[left], self.impressions[left], self.clicks[left]
        return self._sliced(self.unchecked(self.qid[rows], None, shown, *others), rows)

    def _arrays(self) -> tuple[Array, ...]:
        return self.shown_rows, self.position, self.impressions, self.clicks

    @property
    def n_judgments(self) -> Ints:
        """Number of impressions of each query, of shape (n_queries,)."""
        queries = self.queries()
        n = np.bincount(queries.codes[self.shown_rows], self.impressions, queries.n_queries)
        return n.astype(np.intp)

    @property
    def evidence(self) -> Ints:
        """Number of impressions of each row, of shape (n_rows,)."""
        return np.bincount(self.shown_rows, self.impressions, len(self)).astype(np.intp)


def check_clicks(y: Any, caller: str, **rows: Any) -> None:
    """Raise unless y holds clicks, for a function that does not need sessions.

    `rows` are arguments that correspond to the rows of y.
    """
    if not isinstance(y, (ClickSessions, ClickCounts)):
        raise TypeError(
            f"sessions must be ClickSessions or ClickCounts for {caller}, got {type(y).__name__}: "
            "make them with ClickSessions.from_frame."
        )
    if not len(y):
        raise ValueError(f"sessions must have at least one row for {caller}, got none.")
    row_order(sessions=y, **rows)


class _Places:
    """The row of each query and document, in the order of `rows`, or of the log without them."""

    def __init__(self, rows: Any, query: str, document: str) -> None:
        self.grows = rows is None
        self.lost: dict[tuple[Any, Any], None] = {}
        columns = [identifiers(rows, name, "rows") for name in (query, document) if not self.grows]
        if columns:
            refuse_repeated(*columns)
        pairs = list(zip(*(column.values() for column in columns)))
        self.names: list[tuple[str, dict[str, Any]]] = [(query, {}), (document, {})]
        self._check_names(*zip(*pairs))
        self.row = {pair: row for row, pair in enumerate(pairs)}

    def of(self, log: ClickLog) -> Ints:
        """Return the row of each distinct query and document of a part, -1 if none has them."""
        first = np.unique(log.pair, return_index=True)[1]
        q, d = (ids._replace(codes=ids.codes[first]).values() for ids in log.ids[1:])
        self._check_names(q, d)
        if self.grows:
            rows = [self.row.setdefault(pair, len(self.row)) for pair in zip(q, d)]
        else:
            rows = [self.row.get(pair, -1) for pair in zip(q, d)]
            self.lost.update((pair, None) for pair, row in zip(zip(q, d), rows) if row < 0)
        return np.array(rows, dtype=np.int64)

    def _check_names(self, *columns: Iterable[Any]) -> None:
        """Raise if two queries, or documents, of `rows` or any parts are the same as text."""
        for names, (column, known) in zip(columns, self.names):
            refuse_twins(names, f"Column {column!r}", known)

    def tell_lost(self, n_lost: int, n: int) -> None:
        """Warn if impressions are of documents that are in no row, raise ValueError if all are."""
        if self.lost:
            q, d = next(iter(self.lost))
            tell_lost(f"{len(self.lost)} documents", n_lost / n, repr(q), repr(d))

    def columns(self) -> tuple[Array, Array]:
        """Return the query and the document of each row."""
        q, d = zip(*self.row)
        return check_own_qid(list(q)), check_own_qid(list(d))


def _parts(frames: Any) -> Iterable[Any]:
    """Return the parts of a log, of which there may be one."""
    for frame in [frames] if tables.column_names(frames) is not None else frames:
        frame = arrays.subscriptable(frame)
        if tables.n_rows_of(frame):
            yield frame


def _summed(rows: Ints, position: Ints, *values: Ints) -> tuple[Ints, ...]:
    """Return sums of values of the same row and position, in the order of both."""
    order = np.lexsort((position, rows))
    rows, position = rows[order], position[order]
    begin = arrays.run_starts(rows, position)
    sums = (np.add.reduceat(v[order], begin) if len(begin) else v for v in values)
    return rows[begin], position[begin], *sums
