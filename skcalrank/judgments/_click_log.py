"""Tables of click logs, read into numbers of rows, positions and clicks."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from ..columns import arrays, tables
from ..columns.types import Array, Bools, Ints, Self
from ..data import check_own_qid, warn

# Integers in a range of up to so many numbers for each row are counted instead of sorted.
_DENSE = 4

# Numbers from here on are taken for times, not for positions.
_FIRST_TIME = 2.0**24


class ClickLog(NamedTuple):
    """Impressions of a log: a row of X, a position, and whether the document was clicked.

    * `row` (n_impressions,): number of the row that holds the document; -1 if none does.
    * `position` (n_impressions,)
    * `clicked` (n_impressions,)
    * `session`, `query`, `pair` (n_impressions,): number of the session, of the query, and of the
      distinct query and document.
    * `qid`, `document` (n_rows,): identifiers of the rows.
    * `ids`: session, query and document of each impression, for messages.
    """

    row: Ints
    position: Ints
    clicked: Bools
    session: Ints
    query: Ints
    pair: Ints
    qid: Array
    document: Array
    ids: tuple[tables.Coded, tables.Coded, tables.Coded]

    @classmethod
    def read(
        cls, frame: Any, columns: Sequence[str], rows: Any = None, session: str | None = None
    ) -> Self:
        """Read the columns of query, document, position and click, and of the session if named."""
        query, document, position, clicked = columns
        q = identifiers(frame, query, "frame")
        d = identifiers(frame, document, "frame")
        s = tables.Coded([], q.codes) if session is None else identifiers(frame, session, "frame")
        at, is_click = _positions(frame, position), _clicked(frame, clicked)
        pair, first = _distinct(q, d)
        shown = [ids._replace(codes=ids.codes[first]) for ids in (q, d)]
        if rows is None:
            row = pair
            qid, ids = (check_own_qid(names.values()) for names in shown)
        else:
            of_rows = [identifiers(rows, column, "rows") for column in (query, document)]
            for column, log, table in zip((query, document), (q, d), of_rows):
                refuse_twins([*log.listed(), *table.listed()], f"Column {column!r}", {})
            row_of_pair = _rows_of(*shown, *of_rows)
            if (lost := row_of_pair < 0).any():
                one = int(first[np.argmax(lost)])
                count = f"{lost.sum()} of {len(lost)} documents"
                tell_lost(count, lost[pair].mean(), _name(q, one), _name(d, one))
            row = row_of_pair[pair]
            qid, ids = check_own_qid(rows[query]), check_own_qid(rows[document])
        return cls(row, at, is_click, s.codes, q.codes, pair, qid, ids, (s, q, d))

    def by_session(self) -> tuple[Ints, Ints]:
        """Return the order by session and position, and pointers to the sessions.

        The rows of one session and query are a session.
        """
        keys = self.session, self.query, self.position
        order = np.arange(len(self.row)) if _is_sorted(keys) else _order(*keys)
        session, query, position = (key[order] for key in keys)
        new = (session[1:] != session[:-1]) | (query[1:] != query[:-1])
        ptr = np.concatenate([[0], np.flatnonzero(new) + 1, [len(order)]])
        again = np.flatnonzero(~new & (position[1:] == position[:-1]))
        if len(again):
            raise ValueError(
                f"frame must show one document at each position, got two at position "
                f"{position[again[0]]} of {self._search(order[again[0]])}. {_APART}"
            )
        number = _small(np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)))
        pair = self.pair[order]
        by_document = _order(number, pair)
        twice = (np.diff(number[by_document]) == 0) & (np.diff(pair[by_document]) == 0)
        if twice.any():
            impression = order[by_document[np.argmax(twice)]]
            raise ValueError(
                f"frame must show a document once in a session, got "
                f"{self._search(impression)} twice. {_APART}"
            )
        return order, ptr

    def _search(self, impression: int) -> str:
        """Return the names of the session, query and document of an impression."""
        names = ("session", "query", "document")
        return ", ".join(f"{name} {_name(ids, impression)}" for name, ids in zip(names, self.ids))


_APART = "If it is two searches, give them sessions of their own."


def _is_sorted(keys: Sequence[Ints]) -> bool:
    """Return whether rows are in lexicographic order of several keys."""
    tied = np.ones(max(len(keys[0]) - 1, 0), dtype=bool)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return False
        tied &= key[1:] == key[:-1]
    return True


def _order(*keys: Ints) -> Ints:
    """Return the order of rows by several keys, numbers from 0 on, in time linear in the rows.

    The indices of a transposed sparse matrix are in the order of its columns.
    """
    n = len(keys[0])
    ptr, ones = _small(np.arange(n + 1)), np.ones(n, dtype=bool)
    order = ptr[:-1]
    for key in keys[::-1]:
        order = order[csr_matrix((ones, key[order], ptr)).tocsc().indices]
    return order


def _small(numbers: Ints) -> Ints:
    """Return integers in 32 bits if they fit, which are sorted in half the time."""
    return numbers.astype(np.int32) if numbers.max(initial=0) < 2**31 - 1 else numbers


def _distinct(*ids: tables.Coded) -> tuple[Ints, Ints]:
    """Return numbers of the combinations of identifiers, by first appearance, and where that is."""
    order = _order(*(column.codes for column in ids))
    begin = arrays.run_starts(*(column.codes[order] for column in ids))
    first, number = order[begin], np.empty_like(order)
    by_appearance = np.argsort(first)
    place = np.empty_like(first)
    place[by_appearance] = np.arange(len(first))
    number[order] = np.repeat(place, np.diff(begin, append=len(order)))
    return number, first[by_appearance]


def _name(ids: tables.Coded, row: int) -> str:
    """Return the identifier of a row, for messages."""
    return repr(ids.listed()[ids.codes[row]])


def _column(table: Any, column: str, name: str) -> Any:
    """Return the values of a column, or raise ValueError."""
    columns = tables.column_names(table)
    if columns is None or not hasattr(table, "shape"):
        raise TypeError(
            f"{name} must be a DataFrame of pandas or polars, or a table of pyarrow, got "
            f"{type(table).__name__}."
        )
    if column not in columns:
        raise ValueError(
            f"{name} must have a column {column!r}, got columns "
            f"{', '.join(map(repr, columns[:20]))}."
        )
    if columns.count(column) > 1:
        raise ValueError(f"{name} must have one column {column!r}, got {columns.count(column)}.")
    if not table.shape[0]:
        raise ValueError(f"{name} must have a row at least, got none.")
    (values,) = tables.columns_of(table, [column])
    return values


def identifiers(table: Any, column: str, name: str, *, distinct: bool = True) -> tables.Coded:
    """Return the identifiers of a column, none of which may be missing.

    They are `distinct` if no two are the same as text.
    """
    values = _column(table, column, name)
    try:
        ids = _counted(values) or tables.coded(values)
    except TypeError as error:
        raise ValueError(
            f"Column {column!r} of {name} must hold hashable identifiers: {error}."
        ) from error
    missing = ids.codes < 0
    if missing.any():
        raise ValueError(
            f"Column {column!r} of {name} must hold an identifier in every row, got a missing "
            f"value in row {int(np.argmax(missing))} ({missing.sum()} such rows): drop them, as "
            f"dropna(subset=[{column!r}]) does."
        )
    if getattr(ids.levels, "inferred_type", None) != "string":  # many categories of text
        with arrays.beginning(f"Column {column!r} of {name} must hold text in UTF-8: "):
            levels, of_level = tables.coded(list(map(plain_name, ids.listed())))
        ids = tables.Coded(levels, of_level[ids.codes])
        if distinct and len({*map(type, ids.levels)}) > 1:
            refuse_twins(ids.levels, f"Column {column!r} of {name}", {})
    return ids._replace(codes=_small(ids.codes))


def refuse_twins(names: Iterable[Any], what: str, known: dict[str, Any]) -> None:
    """Raise for a name that is another one as text, of these and of the known, which they join.

    Numbers in text may be written as floats: 5.0 is 5.
    """
    for name in dict.fromkeys(names):
        text = str(name)
        whole = text.removesuffix(".0")
        first = known.setdefault(whole if whole.isdecimal() else text, name)
        if first != name:
            raise ValueError(
                f"{what} must have different names as text, got {first!r} and {name!r}: convert "
                "both to one text, as read_csv(dtype=str) does for whole columns."
            )


def _counted(values: Any) -> tables.Coded | None:
    """Return integers of a small range as levels with codes, without sorting them; else None."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        return None
    low, high = float(values.min()), float(values.max())
    if not high - low < _DENSE * len(values) + 1000 or abs(low) > 2.0**52:  # also if NaN
        return None
    numbers = values.astype(np.int64)
    if values.dtype.kind == "f" and (numbers != values).any():
        return None
    occurs = np.bincount(numbers - int(low)) > 0
    codes = np.cumsum(occurs) - 1
    return tables.Coded((np.flatnonzero(occurs) + int(low)).tolist(), codes[numbers - int(low)])


def plain_name(value: Any) -> Any:
    """Return a value that has its name as text: bytes as text, and a whole float as an integer."""
    value = value.item() if isinstance(value, np.floating) else value
    if isinstance(value, bytes):
        return value.decode()
    is_whole = isinstance(value, float) and abs(value) < 2.0**53 and value.is_integer()
    return int(value) if is_whole else value


def numbers_in(
    table: Any, column: str, what: str, remedy: str = "Convert it to numbers", name: str = "frame"
) -> Any:
    """Return the numbers of a column; a remedy is that of words."""
    values = _column(table, column, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    listed = values.values() if isinstance(values, tables.Coded) else list(values)
    row = next((row for row, value in enumerate(listed) if not _is_number(value)), None)
    if row is None:
        return np.array(listed, dtype=np.float64)
    if arrays.is_missing(listed[row]):
        remedy = "Fill it in, or leave out the row"
    elif arrays.is_number(str(listed[row])):
        remedy = "Convert it to numbers"
    raise ValueError(
        f"Column {column!r} of {name} must hold {what}, got {listed[row]!r} in row {row}. {remedy}."
    )


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, (Real, Decimal, np.bool_))
    return is_one and not isinstance(value, np.timedelta64)  # which numpy counts among the integers


def _positions(frame: Any, column: str) -> Ints:
    """Return positions, which are integers from 1."""
    values = numbers_in(frame, column, "positions, which are integers")
    # Arrays have an entry for each position up to the last one, so times would fill the memory.
    wrong = ~((values >= 1) & (values < _FIRST_TIME) & (values == np.floor(values)))
    if wrong.any():
        row = int(np.argmax(wrong))
        hint = " Add 1 to positions that count from 0." if values[row] == 0 else ""
        hint = " Rank times within sessions." if values[row] >= _FIRST_TIME else hint
        raise ValueError(
            f"Column {column!r} of frame must hold positions, integers from 1 on, got "
            f"{values[row]:g} in row {row}.{hint}"
        )
    return values.astype(np.int32)


def _clicked(frame: Any, column: str) -> Bools:
    """Return whether each document was clicked."""
    remedy = f"Pass whether it is the word for a click, as frame[{column!r}] == 'yes'"
    values = numbers_in(frame, column, "booleans, or 0 and 1", remedy)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Column {column!r} of frame must hold booleans, or 0 and 1, got {values[row]:g} in "
            f"row {row}. Of numbers of clicks, pass whether they are > 0."
        )
    return np.asarray(values != 0)


def refuse_repeated(of_q: tables.Coded, of_d: tables.Coded) -> None:
    """Raise if two rows hold the same document of a query."""
    number, first = _distinct(of_q, of_d)
    if len(first) < len(number):
        row = int(np.argmax(np.bincount(number)[number] > 1))
        again = int(np.flatnonzero(number == number[row])[1])
        raise ValueError(
            f"rows must hold a document of a query once, got document {_name(of_d, row)} of query "
            f"{_name(of_q, row)} in rows {row} and {again}."
        )


def _rows_of(q: tables.Coded, d: tables.Coded, of_q: tables.Coded, of_d: tables.Coded) -> Ints:
    """Return the row of each query and document of the log, -1 if none has them.

    `of_q` and `of_d` are the query and the document of each row.
    """
    refuse_repeated(of_q, of_d)
    n_shown = len(q.codes)
    of_log = zip((q, d), (_renamed(of_q, q), _renamed(of_d, d)))
    both = [ids._replace(codes=np.append(ids.codes, codes)) for ids, codes in of_log]
    known = np.all([ids.codes[n_shown:] >= 0 for ids in both], axis=0)
    kept = np.append(np.ones(n_shown, dtype=bool), known)
    number, _ = _distinct(*(ids._replace(codes=ids.codes[kept]) for ids in both))
    row_of = np.full(len(number), -1)
    row_of[number[n_shown:]] = np.flatnonzero(known)
    return row_of[:n_shown]


def tell_lost(count: str, share: float, query: str, document: str) -> None:
    """Warn of documents of the log that are in no row, and raise ValueError if all are.

    `share` is that of their impressions; `query` and `document` are those of one of them.
    """
    if share == 1:
        raise ValueError(
            f"rows must hold documents of the log, got none, not even document {document} of "
            f"query {query}: identifiers must have the same type in both."
        )
    warn(
        f"{count} of the log are not in rows, as document {document} of query {query}: their "
        f"impressions ({share:.2g} of all) are left out."
    )


def _renamed(ids: tables.Coded, by: tables.Coded) -> Ints:
    """Return the codes that identifiers have in another column, -1 where it lacks them."""
    code = {level: number for number, level in enumerate(by.listed())}
    return np.asarray([code.get(level, -1) for level in ids.listed()], dtype=np.intp)[ids.codes]


def concatenated(
    lists: Any, name: str, what: str = "row number", unit: str = "session"
) -> tuple[Ints, Ints]:
    """Return integers of several lists, one list after the other, and the sizes of the lists."""
    if len(getattr(lists, "shape", ())) == 2:  # also tables of polars and pyarrow
        matrix = arrays.as_array(lists, name)
        return integers(matrix.ravel(), name, what), np.full(len(matrix), matrix.shape[1])
    lists = lists.to_pylist() if hasattr(lists, "to_pylist") else lists  # pyarrow
    lists = [np.atleast_1d(arrays.as_array(values, name)) for values in lists]
    if any(values.ndim != 1 for values in lists):
        raise ValueError(f"{name} must hold one list of {what}s for each {unit}.")
    sizes = np.fromiter(map(len, lists), dtype=int, count=len(lists))
    # Unsigned integers beside signed ones would become floats.
    lists = [integers(values, name, what) for values in lists]
    return np.concatenate(lists) if lists else np.zeros(0, dtype=np.intp), sizes


def integers(values: Array, name: str, what: str) -> Ints:
    """Return integers in the type of indices."""
    if values.size and values.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold {what}s, which are integers, got dtype {values.dtype}.")
    if values.dtype.kind == "u" and (most := values.max(initial=0)) > np.iinfo(np.intp).max:
        raise ValueError(f"{name} must hold {what}s, got {most}.")
    return values.astype(np.intp)
