"""Click sessions, as a target that is sliced by rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import arrays
from ._queries import check_own_qid, plain
from ._targets import Judgments, chosen_rows
from .types import Array, ArrayLike, Bools, Ints


class ClickSessions(Judgments):
    """Click sessions: for each, the documents that were shown and the position of the click.

    A session shows documents of one query from top to bottom, and at most one document is
    clicked. The target carries its queries. It has a length and is sliced by rows like an array,
    so that every splitter of scikit-learn accepts it as ``y``.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        Query of each row.
    shown_rows : sequence of arrays of int, or array-like of shape (n_sessions, n_shown)
        Row numbers in the order shown. In a matrix, -1 fills the end of shorter lists.
    clicked_position : array-like of int of shape (n_sessions,)
        1 if the document shown first was clicked, 2 for the second, and so on; 0 if nothing was
        clicked.

    Attributes
    ----------
    qid : ndarray of shape (n_rows,)
        Query of each row.
    shown_rows : ndarray of shape (n_shown,)
        Row numbers of the documents shown, one session after the other.
    ptr : ndarray of shape (n_sessions + 1,)
        Session ``s`` shows ``shown_rows[ptr[s]:ptr[s + 1]]``.
    clicked_position : ndarray of shape (n_sessions,)
        Position of the click of each session, 0 if there is none.

    Raises
    ------
    ValueError
        If a row does not exist, a session is empty, shows a document twice or shows documents of
        several queries, or a click is outside the list.

    See Also
    --------
    skcalrank.aggregation.cascade : Turn click sessions into one score per row.
    PreferenceTarget : Weighted preferences between documents.

    Notes
    -----
    A document above the click, or in a session without a click, was examined and not clicked. A
    document below the click was not examined.

    Slicing keeps this information for the rows that are left, so that their clicks and
    examinations are the same as in the whole target. If the clicked document of a session is
    removed, the documents below it are removed from the session too, and the session becomes
    one without a click. A session without documents is removed. Each row can be selected only
    once, because a session cannot show a document twice.

    Examples
    --------
    >>> from skcalrank import ClickSessions
    >>> y = ClickSessions(["a", "a", "a"], [[2, 0, 1], [0, 1], [1]], [2, 0, 0])
    >>> y
    ClickSessions(3 rows, 3 sessions)
    >>> y[[0, 1]].shown_rows
    array([0, 1, 0, 1, 1])
    """

    _remedy = "turn the sessions into one score per row with skcalrank.aggregation.cascade."

    def __init__(
        self,
        qid: ArrayLike,
        shown_rows: ArrayLike | Iterable[ArrayLike],
        clicked_position: ArrayLike,
    ) -> None:
        self.qid: Array = check_own_qid(qid)
        self.shown_rows, self.ptr = _flat_rows(shown_rows, len(self.qid))
        self.clicked_position = _positions(clicked_position, np.diff(self.ptr))
        self._check_one_query()
        self._check_shown_once()

    @classmethod
    def unchecked(
        cls, qid: Array, shown_rows: Ints, ptr: Ints, clicked_position: Ints
    ) -> ClickSessions:
        """Return click sessions built from the arrays of the attributes, without validation.

        Parameters
        ----------
        qid, shown_rows, ptr, clicked_position : ndarray
            As described in the attributes of the class. They are not copied.

        Returns
        -------
        sessions : ClickSessions
        """
        out = cls.__new__(cls)
        out.qid, out.shown_rows, out.ptr = qid, shown_rows, ptr
        out.clicked_position = clicked_position
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

    def __len__(self) -> int:
        return len(self.qid)

    def __repr__(self) -> str:
        return f"ClickSessions({len(self)} rows, {self.n_sessions} sessions)"

    def __getitem__(self, key: Any) -> ClickSessions:
        rows = chosen_rows(key, len(self), "ClickSessions")
        if len(np.unique(rows)) < len(rows):
            raise ValueError(
                "Rows of ClickSessions must be selected at most once, because a session cannot "
                "show a document twice, got a row twice. Do not use a bootstrap."
            )
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        shown, session = place[self.shown_rows], self._session_of_shown
        left = shown >= 0
        clicked = self._is_click
        lost = np.zeros(self.n_sessions, dtype=bool)
        lost[session[clicked & ~left]] = True
        left &= self.examined | ~lost[session]
        # A click stays with its document, at the new position among the documents that are left.
        clicked &= left
        before = np.append(0, np.cumsum(left))[self.ptr[:-1]]
        position = np.zeros(self.n_sessions, dtype=int)
        position[session[clicked]] = np.cumsum(left)[clicked] - before[session[clicked]]
        sizes = np.bincount(session[left], minlength=self.n_sessions)
        ptr = np.append(0, np.cumsum(sizes[sizes > 0]))
        sessions = self.unchecked(self.qid[rows], shown[left], ptr, position[sizes > 0])
        sessions.origin = self.origin_of(rows)
        return sessions

    def _arrays(self) -> tuple[Array, ...]:
        return self.shown_rows, self.ptr, self.clicked_position

    # -- properties of the sessions -------------------------------------------------

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return len(self.clicked_position)

    @property
    def is_silent(self) -> bool:
        """Whether no session has a click."""
        return not self.clicked_position.any()

    @property
    def n_judgments(self) -> Ints:
        """Number of sessions of each query, of shape (n_queries,)."""
        queries = self.queries()
        return np.bincount(
            queries.codes[self.shown_rows[self.ptr[:-1]]], minlength=queries.n_queries
        )

    @property
    def evidence(self) -> Ints:
        """Number of sessions in which each row was examined, of shape (n_rows,)."""
        return self.counts()[1]

    @property
    def examined(self) -> Bools:
        """Whether each shown document was examined, of shape (n_shown,).

        In the cascade model, a user reads from the top down to the click, or to the end of the
        list if nothing is clicked.
        """
        last = np.where(self.clicked_position, self.clicked_position, np.diff(self.ptr))
        return self._position_of_shown <= np.repeat(last, np.diff(self.ptr))

    @property
    def _is_click(self) -> Bools:
        clicked = np.repeat(self.clicked_position, np.diff(self.ptr))
        is_click: Bools = self._position_of_shown == clicked
        return is_click

    @property
    def _session_of_shown(self) -> Ints:
        return np.repeat(np.arange(self.n_sessions), np.diff(self.ptr))

    @property
    def _position_of_shown(self) -> Ints:
        return np.arange(1, len(self.shown_rows) + 1) - np.repeat(self.ptr[:-1], np.diff(self.ptr))

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
            np.bincount(self.shown_rows[self._is_click], minlength=len(self)),
            np.bincount(self.shown_rows[self.examined], minlength=len(self)),
        )


def _flat_rows(shown_rows: ArrayLike | Iterable[ArrayLike], n_rows: int) -> tuple[Ints, Ints]:
    """Return the shown rows, one session after the other, and pointers to the sessions."""
    rows, sizes = _concatenated(shown_rows)
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


def _concatenated(shown_rows: Any) -> tuple[Ints, Ints]:
    if getattr(shown_rows, "ndim", 1) == 2:
        matrix = arrays.as_array(shown_rows, "shown_rows")
        rows, sizes = matrix.ravel(), np.full(len(matrix), matrix.shape[1])
    else:
        lists = [np.atleast_1d(arrays.as_array(rows, "shown_rows")) for rows in shown_rows]
        if any(rows.ndim != 1 for rows in lists):
            raise ValueError("shown_rows must hold one list of row numbers for each session.")
        sizes = np.fromiter(map(len, lists), dtype=int, count=len(lists))
        lists = [rows for rows in lists if len(rows)]
        rows = np.concatenate(lists) if lists else np.zeros(0, dtype=int)
    if rows.dtype.kind not in "iu" and rows.size:
        raise ValueError(
            f"shown_rows must hold row numbers, which are integers, got dtype {rows.dtype}."
        )
    return rows.astype(np.intp), sizes


def _positions(clicked_position: ArrayLike, sizes: Ints) -> Ints:
    position = arrays.as_array(clicked_position, "clicked_position")
    if position.shape != sizes.shape:
        raise ValueError(
            f"clicked_position must have shape ({len(sizes)},), one position per session, got "
            f"{position.shape}."
        )
    if position.dtype.kind not in "iu" and position.size:
        raise ValueError(
            f"clicked_position must hold integers, got dtype {position.dtype}. 1 is the document "
            "shown first, and 0 means no click: replace None and NaN by 0."
        )
    outside = (position < 0) | (position > sizes)
    if outside.any():
        session = np.flatnonzero(outside)[0]
        raise ValueError(
            f"clicked_position[{session}] must be from 0 to {sizes[session]}, the number of "
            f"documents of session {session}, got {position[session]}. 1 is the document shown "
            "first, and 0 means no click."
        )
    return position.astype(np.intp)
