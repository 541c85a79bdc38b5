"""Columns that are suspicious beside the labels and the queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..data import Queries, qid_array, warn
from ..data.tables import Coded, Values
from ..data.types import Floats, Ints
from ._kinds import Category, Column

# A column that orders so many pairs of unequal labels without an error is suspicious.
_PAIRS = 50

# Rows of whole queries on which most columns are seen to make an error.
_FIRST_ROWS = 5000


def holds_qid(values: Values, qid: Any) -> bool:
    """Return whether a column holds the identifiers of the queries."""
    qid = qid_array(qid)
    if isinstance(values, np.ndarray) and qid.dtype.kind in "biufM":
        of_times = values.dtype.kind in "mM", qid.dtype.kind == "M"
        return of_times[0] == of_times[1] and bool(np.array_equal(values, qid))
    few = Coded(values.levels, values.codes[:20]) if isinstance(values, Coded) else values[:20]
    return _names(few) == _names(qid[: len(_names(few))]) and _names(values) == _names(qid)


def _names(values: Any) -> list[str]:
    """Return values as text: the qid may be that of a column of numbers, or the other way round."""
    if isinstance(values, Coded):
        values = values.values()
    return [str(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]


def warn_of_labels(columns: Iterable[tuple[Column, Floats]], y: Floats, queries: Queries) -> None:
    """Warn of the columns that order documents by their labels without an error."""
    codes = queries.codes
    if _n_pairs(codes, y) < _PAIRS or queries.n_queries == len(y):
        return
    last = int(np.searchsorted(queries.ptr, min(_FIRST_ROWS, len(y))))
    first = codes < max(last, 1)
    for column, values in columns:
        if column.kind in ("text", "category") and not _has_few_levels(column, y):
            continue
        x = values if values.ndim == 1 else values[:, 0]
        x = _label_of_level(x, y) if column.kind == "category" else x
        if _orders(x[first], y[first], codes[first]) and _orders(x, y, codes, _PAIRS):
            warn(
                f"Column {column.name!r} of X orders all documents by their labels without an "
                "error. If it is known only after the label, as clicks or sales are, leave it out: "
                f"columns={{{column.name!r}: 'drop'}}, or X without it."
            )


def _n_pairs(codes: Ints, y: Floats) -> int:
    """Return the number of pairs of documents of a query with different labels."""
    sizes = np.bincount(codes).astype(float)
    _, grade = np.unique(y, return_inverse=True)
    equal = np.unique(codes.astype(np.int64) * (grade.max() + 1) + grade, return_counts=True)[1]
    return int((sizes**2).sum() - (equal.astype(float) ** 2).sum()) // 2


def _has_few_levels(column: Column, y: Floats) -> bool:
    """Return whether a column has as few levels as there are labels; more may fit by chance."""
    return isinstance(column, Category) and column.n_codes <= len(np.unique(y))


def _label_of_level(codes: Floats, y: Floats) -> Floats:
    """Return the mean label of the level of each row."""
    level = np.nan_to_num(codes, nan=-1.0).astype(np.intp) + 1
    return (np.bincount(level, y) / np.maximum(np.bincount(level), 1))[level]


def _orders(x: Floats, y: Floats, codes: Ints, n_pairs: int = 0) -> bool:
    """Return whether x, or -x, orders `n_pairs` or more of unequal labels without an error."""
    known = ~np.isnan(x)
    x, y, codes = x[known], y[known], codes[known]
    if n_pairs and (not len(y) or _n_pairs(codes, y) < n_pairs):
        return False
    order = np.lexsort((x, codes))
    x, y, codes = x[order], y[order], codes[order]
    same = codes[1:] == codes[:-1]
    ties = same & (x[1:] == x[:-1])
    if (y[1:] != y[:-1])[ties].any():
        return False
    steps = np.diff(y)[same]
    return bool((steps >= 0).all() or (steps <= 0).all())
