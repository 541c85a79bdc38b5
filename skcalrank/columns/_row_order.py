"""The order of rows that carry a pandas index, and of columns that have names."""

from itertools import combinations
from typing import Any

from .._dask import is_lazy
from ._columns import column_names
from .arrays import refuse_stand_ins


def row_order(**rows: Any) -> None:
    """Raise ValueError if two arguments have the same unique pandas index in different orders.

    Rows correspond by position. An index named "qid" carries queries and not names of rows; a
    target has the index of what it was made of. The same holds for the columns of two tables, such
    as labels and scores of the same items. Raise an error for what is no array or table at all.
    """
    refuse_stand_ins(**rows)
    _column_order(rows)
    indexed = [(name, index) for name, v in rows.items() if (index := index_of(v)) is not None]
    # Users cannot reorder judgments, and X has names of columns: reorder the other argument.
    indexed.sort(key=lambda of: (not getattr(rows[of[0]], "leads_rows", False), of[0] != "X"))
    for (first, a), (second, b) in combinations(indexed, 2):
        if a is b or a.equals(b) or len(a) != len(b) or not (a.is_unique and b.is_unique):
            continue
        if a.nlevels != b.nlevels or len(a.difference(b)):
            continue
        given = "pass" if hasattr(rows[second], "to_numpy") else "build the target of"
        raise ValueError(
            f"{second} must have its rows in the order of {first}, got the same pandas index in "
            f"another order. If rows correspond by position, {given} {second}.to_numpy(); if they "
            f"correspond by index, {given} {second}.loc[{first}.index]."
        )


def _column_order(tables: dict[str, Any]) -> None:
    """Raise ValueError if two tables have the same columns in different orders."""
    named = [(name, column_names(v) or []) for name, v in tables.items() if hasattr(v, "columns")]
    for (first, a), (second, b) in combinations(named, 2):
        if a != b and len(a) == len(b) == len(set(a)) and set(a) == set(b):
            raise ValueError(
                f"{second} must have its columns in the order of {first}, got the same names in "
                f"another order: pass {second}[{first}.columns]."
            )


def index_of(*values: Any) -> Any:
    """Return the first pandas index of several values that carries not a qid alone, or None."""
    for value in values:
        index: Any = getattr(value, "index", None)
        if hasattr(index, "is_unique") and not is_lazy(value) and list(index.names) != ["qid"]:
            return index
    return None
