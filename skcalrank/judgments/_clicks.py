"""Click sessions, as a target that is sliced by rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..columns import arrays, index_of, row_order
from ..columns.types import Array, ArrayLike, Bools, Floats, Ints, Self
from ..data import Judgments, Queries, check_own_qid, chosen_rows, plain, warn
from ._click_log import ClickLog, concatenated

# If so many impressions are all clicked, the others are missing from the log.
_MANY_SHOWN = 20

# Share of the lists that end with a click from which on the log seems to be cut there.
_ENDS_CLICKED = 0.95

# What the clicks of a log must come with.
_NOT_CLICKED = (
    "documents that were shown and not clicked, got clicks alone: what was examined cannot be told "
    "from what is relevant. Make the log of all documents shown, with clicked=0 without a click."
)


class ClickTarget(Judgments):
    """Base class of targets of clicks, of which each count or document shown has a row.

    * `document` (n_rows,): the document of each row, of a log that names them; else None.
    """

    qid: Array
    shown_rows: Ints
    document: Array | None = None

    def __len__(self) -> int:
        return len(self.qid)

    @property
    def is_silent(self) -> bool:
        """Whether no document was clicked."""
        return not self.clicks.any()  # type: ignore[attr-defined]

    def _never_shown(self) -> str:
        """Return how many rows were never shown, for a representation."""
        never = len(self) - len(np.unique(self.shown_rows))
        return f", {never} {'row' if never == 1 else 'rows'} never shown" if never else ""

    def _selected(self, key: Any) -> tuple[Ints, Ints, Bools]:
        """Return selected rows, the new numbers of the rows shown, and which of them are left."""
        kind = type(self).__name__
        rows = chosen_rows(key, len(self), kind)
        if len(np.unique(rows)) < len(rows):
            raise ValueError(
                f"Rows of {kind} must be selected at most once, because a list cannot show a "
                "document twice, got a row twice. Do not use a bootstrap."
            )
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        shown = place[self.shown_rows]
        return rows, shown[shown >= 0], shown >= 0

    def _sliced(self, out: Any, rows: Ints) -> Any:
        """Return a target of some rows with what is known of these."""
        out.document = None if self.document is None else self.document[rows]
        out.origin, out.index = self.origin_of(rows), self._index_at(rows)
        return out


class ClickSessions(ClickTarget):
    """Click sessions: for each, the documents that were shown and the positions of the clicks.

    A session shows documents of one query from top to bottom. The target carries its queries. It
    has a length and is sliced by rows like an array, so that every splitter of scikit-learn accepts
    it as ``y``. :meth:`from_frame` reads the table of a log.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        Query of each row.
    shown_rows : sequence of arrays of int, or array-like of shape (n_sessions, n_shown)
        Row numbers in the order shown. In a matrix, -1 fills the end of shorter lists.
    clicked_position : array-like of int of shape (n_sessions,), or sequence of arrays of int
        1 if the document shown first was clicked, 2 for the second, and so on; 0 if nothing was
        clicked. For several clicks, one array of positions for each session, empty without a
        click; in a matrix of shape (n_sessions, n_clicks), 0 fills the end of shorter rows.

    Attributes
    ----------
    qid : ndarray of shape (n_rows,)
        Query of each row.
    shown_rows : ndarray of shape (n_shown,)
        Row numbers of the documents shown, one session after the other.
    ptr : ndarray of shape (n_sessions + 1,)
        Session ``s`` shows ``shown_rows[ptr[s]:ptr[s + 1]]``.
    position : ndarray of shape (n_shown,)
        Position of each document shown, 1 for the first.
    clicked : ndarray of bool of shape (n_shown,)
        Whether each document shown was clicked.
    last_click : ndarray of shape (n_sessions,)
        Position of the last click of each session, before any rows were removed; 0 if there was
        none.
    document : ndarray of shape (n_rows,) or None
        Identifier of the document of each row, if the target was made of tables.

    Raises
    ------
    ValueError
        If a row does not exist, a session is empty, shows a document twice or shows documents of
        several queries, or a click is outside the list.

    Warns
    -----
    UserWarning
        If 20 documents or more were shown, and all of them were clicked.

    See Also
    --------
    skcalrank.aggregation.cascade : Scores of documents, for users who read to the click.
    ClickCounts : Counts of clicks at positions, for logs that do not fit in memory.
    PreferenceTarget : Weighted preferences between documents.

    Notes
    -----
    Slicing keeps positions and clicks of the rows that are left, and up to where the session was
    clicked, so that the estimates of these rows are the same as in the whole target. A session
    without documents is removed. Each row can be selected only once, because a session cannot show
    a document twice.

    Examples
    --------
    >>> from skcalrank import ClickSessions
    >>> y = ClickSessions(["a", "a", "a"], [[2, 0, 1], [0, 1], [1]], [2, 0, 0])
    >>> y
    ClickSessions(3 rows, 3 sessions)
    >>> y[[0, 1]].shown_rows
    array([0, 1, 0, 1, 1])
    """

    _remedy = (
        "learn from them with AggregatedRanker or skcalrank.evaluation.click_ranker, or turn them "
        "into one score per row with skcalrank.aggregation.cascade."
    )

    def __init__(
        self,
        qid: ArrayLike,
        shown_rows: ArrayLike | Iterable[ArrayLike],
        clicked_position: ArrayLike | Iterable[ArrayLike],
    ) -> None:
        row_order(shown_rows=shown_rows, clicked_position=clicked_position)
        self.qid = check_own_qid(qid)
        self.index = index_of(qid)
        self.shown_rows, self.ptr = _flat_rows(shown_rows, len(self.qid))
        self.position = Queries(self.ptr).places
        self.clicked = _clicks(clicked_position, self.ptr)
        self.last_click = _last(self.position * self.clicked, self.ptr)
        self._check_one_query()
        self._check_shown_once()
        warn_of_clicks_alone(self)

    @classmethod
    def unchecked(
        cls,
        qid: Array,
        shown_rows: Ints,
        ptr: Ints,
        clicked: Bools,
        position: Ints | None = None,
        last_click: Ints | None = None,
    ) -> Self:
        """Return click sessions built from the arrays of the attributes, without validation.

        Parameters
        ----------
        qid, shown_rows, ptr, clicked, position, last_click : ndarray
            As described in the attributes of the class. They are not copied. Without `position`
            and `last_click`, the sessions show all that they showed.

        Returns
        -------
        sessions : ClickSessions
        """
        out = cls.__new__(cls)
        out.qid, out.shown_rows, out.ptr, out.clicked = qid, shown_rows, ptr, clicked
        out.position = Queries(ptr).places if position is None else position
        out.last_click = _last(out.position * clicked, ptr) if last_click is None else last_click
        return out

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        session: str,
        query: str,
        document: str,
        position: str,
        clicked: str,
        rows: Any = None,
    ) -> Self:
        """Make click sessions of the table of a log, which has a row for each document shown.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or table of pyarrow
            The log, its rows in any order.
        session, query, document, position, clicked : str
            Names of the columns. Identifiers are of any hashable type. The rows of one session and
            query are a session. Positions count from 1 and may have gaps, where something else
            was shown. `clicked` holds booleans, or 0 and 1.
        rows : DataFrame or table, default=None
            Query and document of each row of X, under the same names: X, and scores, must have
            this order, and the index of pandas is remembered to check it. If None, the rows are
            the documents of the log, in the order in which they appear in it first: `qid` and
            `document` of the result tell for which rows X has to be made.

        Returns
        -------
        sessions : ClickSessions
            With one row for each of `rows`; its repr has the number of those never shown.

        Raises
        ------
        ValueError
            If a column or a value is missing, a position or click is out of range, a search shows
            a document or a position twice, two identifiers of a column, such as 5 and "5", are
            the same as text, or `rows` have nothing of the log, or a document twice.

        Warns
        -----
        UserWarning
            If documents of the log are not in `rows`, whose impressions are left out, or 20
            documents or more were shown, and all of them were clicked.

        Examples
        --------
        >>> import pandas as pd
        >>> from skcalrank import ClickSessions
        >>> log = pd.DataFrame({
        ...     "search": [1, 1, 2, 2], "text": ["tea", "tea", "tea", "tea"],
        ...     "product": ["green", "black", "black", "green"],
        ...     "place": [1, 2, 1, 2], "click": [False, True, True, True]})
        >>> names = dict(session="search", query="text", document="product", position="place")
        >>> y = ClickSessions.from_frame(log, **names, clicked="click")
        >>> y
        ClickSessions(2 rows, 2 sessions)
        >>> y.document.tolist()
        ['green', 'black']
        """
        log = ClickLog.read(frame, (query, document, position, clicked), rows, session)
        order, ptr = log.by_session()
        last_click = _last((log.position * log.clicked)[order], ptr)
        kept = order[log.row[order] >= 0]
        sizes = np.add.reduceat(log.row[order] >= 0, ptr[:-1], dtype=np.intp)
        ptr = np.append(0, np.cumsum(sizes[sizes > 0]))
        out = cls.unchecked(
            log.qid,
            log.row[kept],
            ptr,
            log.clicked[kept],
            log.position[kept],
            last_click[sizes > 0],
        )
        out.document, out.index = log.document, index_of(rows)
        warn_of_clicks_alone(out)
        return out

    def _check_one_query(self) -> None:
        codes = self.queries().codes
        first = self.shown_rows[self.ptr[:-1]]
        other = codes[self.shown_rows] != np.repeat(codes[first], np.diff(self.ptr))
        if other.any():
            session, row = self._session_of_shown[other][0], self.shown_rows[other][0]
            raise ValueError(
                f"Session {session} shows row {first[session]} of query "
                f"{plain(self.qid[first[session]])!r} and row {row} of query "
                f"{plain(self.qid[row])!r}. A session must show documents of one query."
            )

    def _check_shown_once(self) -> None:
        keys = np.sort(self._session_of_shown * len(self) + self.shown_rows)
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            session, row = divmod(int(twice[0]), len(self))
            raise ValueError(
                f"Session {session} shows row {row} twice: keep its first appearance only."
            )

    # -- interface of targets ------------------------------------------------------

    def __repr__(self) -> str:
        return f"ClickSessions({len(self)} rows, {self.n_sessions} sessions{self._never_shown()})"

    def __getitem__(self, key: Any) -> Self:
        rows, shown, left = self._selected(key)
        sizes = np.bincount(self._session_of_shown[left], minlength=self.n_sessions)
        ptr = np.append(0, np.cumsum(sizes[sizes > 0]))
        chosen = self._chosen(left, sizes > 0)
        return self._sliced(self.unchecked(self.qid[rows], shown, ptr, *chosen), rows)

    def _chosen(self, shown: Array, sessions: Array) -> tuple[Bools, Ints, Ints]:
        """Return clicks and positions of some documents shown, last clicks of some sessions."""
        return self.clicked[shown], self.position[shown], self.last_click[sessions]

    def _arrays(self) -> tuple[Array, ...]:
        return self.shown_rows, self.ptr, self.position, self.clicked, self.last_click

    def renumbered(self, qid: Array, shown_rows: Ints) -> Self:
        """Return the same sessions of rows with other numbers and queries.

        Parameters
        ----------
        qid : ndarray of shape (n_new_rows,)
            Query of each row.
        shown_rows : ndarray of shape (n_shown,)
            New row number of each document shown.

        Returns
        -------
        sessions : ClickSessions
        """
        return self.unchecked(
            qid, shown_rows, self.ptr, self.clicked, self.position, self.last_click
        )

    def choose(self, sessions: Ints) -> Self:
        """Return some of the sessions, of the same rows.

        Parameters
        ----------
        sessions : ndarray of int
            Numbers of sessions, in any order and any number of times.

        Returns
        -------
        sessions : ClickSessions
        """
        shown, ptr = arrays.ranges(self.ptr, sessions)
        chosen = self._chosen(shown, sessions)
        out = self.unchecked(self.qid, self.shown_rows[shown], ptr, *chosen)
        out.document, out.origin, out.index = self.document, self.origin, self.index
        return out

    # -- properties of the sessions -------------------------------------------------

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return len(self.last_click)

    @property
    def n_judgments(self) -> Ints:
        """Number of sessions of each query, of shape (n_queries,)."""
        queries = self.queries()
        return np.bincount(
            queries.codes[self.shown_rows[self.ptr[:-1]]], minlength=queries.n_queries
        )

    @property
    def impressions(self) -> Floats:
        """How often each document shown was shown there, 1, as in :class:`ClickCounts`."""
        return np.ones(len(self.shown_rows))

    @property
    def clicks(self) -> Bools:
        """How often each document shown was clicked there, as in :class:`ClickCounts`."""
        return self.clicked

    @property
    def evidence(self) -> Ints:
        """Number of sessions in which each row was examined, of shape (n_rows,)."""
        return self.counts()[1]

    @property
    def examined(self) -> Bools:
        """Whether each shown document was examined, of shape (n_shown,).

        In the cascade model, a user reads from the top down to the click, the last one if there are
        several, or to the end of the list if nothing is clicked.
        """
        last = np.repeat(self.last_click, np.diff(self.ptr))
        return (last == 0) | (self.position <= last)

    @property
    def _session_of_shown(self) -> Ints:
        return np.repeat(np.arange(self.n_sessions), np.diff(self.ptr))

    def counts(self) -> tuple[Ints, Ints]:
        """Return the number of clicks and of examinations of each row.

        Returns
        -------
        clicks : ndarray of int of shape (n_rows,)
            How often each row was clicked.
        examinations : ndarray of int of shape (n_rows,)
            How often each row was examined, see :attr:`examined`.
        """
        return (
            np.bincount(self.shown_rows[self.clicked], minlength=len(self)),
            np.bincount(self.shown_rows[self.examined], minlength=len(self)),
        )


def warn_of_clicks_alone(y: Any) -> None:
    """Warn if each of many documents shown was clicked, as in a log that holds clicks alone."""
    if y.impressions.sum() >= _MANY_SHOWN and _holds_clicks_alone(y):
        warn(f"A log should hold {_NOT_CLICKED}")


def refuse_clicks_alone(sessions: Any) -> None:
    """Raise ValueError if each document shown was clicked."""
    if _holds_clicks_alone(sessions):
        raise ValueError(f"sessions must hold {_NOT_CLICKED}")


def warn_of_cut_lists(sessions: Any) -> None:
    """Warn if nearly all lists end at their last click, below which users may have looked."""
    if not isinstance(sessions, ClickSessions):
        return
    last = sessions.ptr[1:] - 1
    of_several = (np.diff(sessions.ptr) > 1) & (sessions.last_click > 0)
    ends = sessions.clicked[last[of_several]]
    if len(ends) >= _MANY_SHOWN and ends.mean() >= _ENDS_CLICKED:
        warn(
            "Nearly all lists of sessions end with a click, as if documents below the last click "
            "were left out of the log: they were shown, and propensities of low positions come "
            "out too high without them. Log all documents shown."
        )


def _holds_clicks_alone(y: Any) -> bool:
    return len(y.clicks) > 0 and bool((y.clicks == y.impressions).all())


def _flat_rows(shown_rows: ArrayLike | Iterable[ArrayLike], n_rows: int) -> tuple[Ints, Ints]:
    """Return the shown rows, one session after the other, and pointers to the sessions."""
    rows, sizes = concatenated(shown_rows, "shown_rows")
    session = np.repeat(np.arange(len(sizes)), sizes)
    bad = (rows < -1) | (rows >= n_rows)
    if bad.any():
        raise ValueError(
            f"shown_rows must hold row numbers from 0 to {n_rows - 1}, or -1 at the end of a "
            f"list, got {rows[bad][0]} in shown_rows[{session[bad][0]}]."
        )
    shown = rows >= 0
    after = ~shown[:-1] & shown[1:] & (session[:-1] == session[1:])
    if after.any():
        raise ValueError(
            "shown_rows must hold -1 only at the end of a list, got a row number after -1 in "
            f"shown_rows[{session[:-1][after][0]}]. Close the gap."
        )
    sizes = np.bincount(session[shown], minlength=len(sizes))
    if not sizes.all():
        raise ValueError(
            f"shown_rows[{np.argmin(sizes)}] must not be empty. Leave out sessions that show "
            "nothing."
        )
    return rows[shown], np.append(0, np.cumsum(sizes))


def _clicks(clicked_position: Any, ptr: Ints) -> Bools:
    """Return whether each document shown was clicked."""
    is_matrix = getattr(clicked_position, "ndim", 1) == 2
    if not is_matrix and np.ndim(next(iter(clicked_position), 0)) == 0:  # one for each session
        position = arrays.as_array(clicked_position, "clicked_position")
        if position.dtype.kind not in "iu" and position.size:
            raise ValueError(
                f"clicked_position must hold integers, got dtype {position.dtype}. 1 is the "
                "document shown first, and 0 means no click: replace None and NaN by 0."
            )
        clicked_position = position[:, None]
    position, sizes = concatenated(clicked_position, "clicked_position", "position")
    session = np.repeat(np.arange(len(sizes)), sizes)
    if len(sizes) != len(ptr) - 1:
        raise ValueError(
            f"clicked_position must have shape ({len(ptr) - 1},), one position per session, or one "
            f"list of positions per session, got ({len(sizes)},)."
        )
    outside = (position < 0) | (position > np.diff(ptr)[session])
    if outside.any():
        wrong, value = session[outside][0], position[outside][0]
        raise ValueError(
            f"clicked_position[{wrong}] must be from 0 to {ptr[wrong + 1] - ptr[wrong]}, the "
            f"number of documents of session {wrong}, got {value}. 1 is the document shown "
            "first, and 0 means no click."
        )
    clicked = np.zeros(ptr[-1], dtype=bool)
    clicked[ptr[session[position > 0]] + position[position > 0] - 1] = True
    return clicked


def _last(position: Ints, ptr: Ints) -> Ints:
    """Return the largest number of each range."""
    return np.maximum.reduceat(position, ptr[:-1]) if len(position) else ptr[:-1]
