"""Columns of numbers that are suspicious beside the labels and the queries."""

from typing import Any

import numpy as np

from ..columns import arrays, tables
from ..columns.types import Array, Floats, Ints
from ._exceptions import is_settled, settle, warn
from ._queries import Queries, qid_array

# A column that orders so many pairs of unequal labels without an error is suspicious.
_PAIRS = 50

# Rows of whole queries on which most columns are seen to make an error.
_FIRST_ROWS = 200

#: Consecutive integers count the rows if there are at least so many.
SHORTEST_RUN = 20


class LabelOrder:
    """The order of documents by their labels, which columns of numbers may repeat.

    * `y` (n_rows,), `queries`: labels in row order, and the queries of the rows.
    """

    def __init__(self, y: Floats, queries: Queries) -> None:
        self._order, self._labels = np.lexsort((y, queries.codes)), y
        self._y, self._codes = y[self._order], queries.codes[self._order]
        self.is_told = queries.n_queries < len(y) and _n_pairs(self._codes, self._y) >= _PAIRS
        last = int(np.searchsorted(queries.ptr, min(_FIRST_ROWS, len(y))))
        self._n_first = int(np.searchsorted(self._codes, max(last, 1)))

    def is_of(self, x: Floats) -> bool:
        """Return whether x, or -x, orders many pairs of labels, or of classes, without error."""
        if not self.is_told:
            return False
        n = self._n_first
        first = x[self._order[:n]], self._y[:n], self._codes[:n]
        splits = _splits(*first[:2]) is not False and _splits(x, self._labels)
        if not (splits or _orders(*first)):
            return False
        x = x[self._order]
        known = ~np.isnan(x)
        x, y, codes = x[known], self._y[known], self._codes[known]
        if splits:
            return _n_pairs(codes, x) >= _PAIRS
        return len(y) > 0 and _n_pairs(codes, y) >= _PAIRS and _orders(x, y, codes)


def _n_pairs(codes: Ints, y: Floats) -> int:
    """Return the number of pairs of documents of a query with different labels."""
    sizes = np.bincount(codes).astype(float)
    _, grade = np.unique(y, return_inverse=True)
    equal = np.unique(codes.astype(np.int64) * (grade.max() + 1) + grade, return_counts=True)[1]
    return int((sizes**2).sum() - (equal.astype(float) ** 2).sum()) // 2


def _orders(x: Floats, y: Floats, codes: Ints) -> bool:
    """Return whether x rises, or falls, from label to label; rows go by query and label.

    A missing value hides the labels beside it.
    """
    starts = arrays.run_starts(codes, y)
    low, high = np.fmin.reduceat(x, starts), np.fmax.reduceat(x, starts)
    same = codes[starts[1:]] == codes[starts[:-1]]
    falls, rises = (high[:-1] >= low[1:])[same], (low[:-1] <= high[1:])[same]
    return not (falls.any() and rises.any())


def _splits(x: Floats, y: Floats) -> bool | None:
    """Return whether x has two values, and all labels beside one of them are above the others.

    Return None if x has fewer values.
    """
    low, high = np.fmin.reduce(x), np.fmax.reduce(x)
    if not low < high:
        return None
    at_low, at_high = x == low, x == high
    below, above = y[at_low], y[at_high]
    is_split = below.max() < above.min() or above.max() < below.min()
    return bool(is_split and (at_low | at_high | np.isnan(x)).all())


def holds_qid(values: Any, qid: Any) -> bool:
    """Return whether a column holds the identifiers of the queries."""
    qid = qid_array(qid)
    if isinstance(values, np.ndarray) and qid.dtype.kind in "biufM":
        of_times = values.dtype.kind in "mM", qid.dtype.kind == "M"
        return of_times[0] == of_times[1] and bool(np.array_equal(values, qid))
    is_coded = isinstance(values, tables.Coded)
    few = tables.Coded(values.levels, values.codes[:20]) if is_coded else values[:20]
    return _names(few) == _names(qid[: len(_names(few))]) and _names(values) == _names(qid)


def _names(values: Any) -> list[str]:
    """Return values as text: the qid may be that of a column of numbers, or the other way round."""
    if isinstance(values, tables.Coded):
        values = values.values()
    return [str(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]


def are_whole(numbers: Array) -> bool:
    """Return whether numbers are integers, of which none is missing."""
    return numbers.dtype.kind != "f" or bool((numbers == np.floor(numbers)).all())


def _are_consecutive(x: Array) -> bool:
    if len(x) < SHORTEST_RUN or not are_whole(x[:SHORTEST_RUN]) or not are_whole(x):
        return False
    return float(x.max()) - float(x.min()) + 1 == len(x) == len(np.unique(x))


def warn_of_label(name: Any, remedy: str = "") -> None:
    """Warn of a column that orders documents by their labels, or splits them by a label."""
    warn(
        f"Column {name!r} of X orders all documents by their labels, or by whether a label is "
        "above some value, without an error. If it is known only after the label, as clicks or "
        f"sales are, leave it out{remedy}."
    )


def warn_of_row_numbers(name: Any, remedy: str = "") -> None:
    """Warn of a column that holds numbers of rows."""
    warn(
        f"Column {name!r} of X holds consecutive integers, each once, as numbers of rows do. "
        f"Leave it out{remedy} unless it is a feature."
    )


class _Told(Warning):
    """Stands for leaks of a frame, which the fits inside of a fit need not tell again."""


def warn_of_leaks(X: Any, y: Floats | None, queries: Queries, qid: Any) -> None:
    """Warn of the columns of numbers of a table that are the labels, the qid, or row numbers.

    * `X`: table that no encoder has read, which tells of its columns itself; others are passed by.
    * `y` (n_rows,): labels in row order; None if a row has several.
    * `qid` (n_rows,): identifiers of the queries; None if there are none.
    """
    names = None if is_settled(_Told) else tables.column_names(X)
    is_read = isinstance(X, tables.EncodedTable)
    if names or is_read:
        settle(_Told)
    if not names or is_read:
        return
    labels = None if y is None else LabelOrder(y, queries)
    # One number for all rows may equal the name of their one query by chance.
    qid = None if qid is None or queries.n_queries == 1 else qid_array(qid)
    for name, values in zip(names, tables.columns_of(X)):
        if not (isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
            continue
        if qid is not None and holds_qid(values, qid):
            warn(f"Column {name!r} of X holds the qid. Leave it out unless it is a feature.")
        elif _are_consecutive(values):
            warn_of_row_numbers(name)
        if labels is not None and labels.is_of(values):
            warn_of_label(name)
