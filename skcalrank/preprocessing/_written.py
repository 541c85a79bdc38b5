"""Fitted columns of a table as plain Python types."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._column_kinds import Category, Column, Date, Duration, Flag, LeftOut, Number, Text
from ._words import Words

_ENDS = ("low", "high")
_NUMBERS = ("from_text", "offset", *_ENDS)

# What each kind of column is made of, besides its name.
_PARTS: dict[type[Column], tuple[str, ...]] = {
    Number: _NUMBERS,
    Flag: _NUMBERS,
    Duration: _NUMBERS,
    Category: ("levels", "rare"),
    Date: ("first", "last", "parts"),
    Text: (),
    LeftOut: ("example",),
}
_CLASSES = {cls.kind: cls for cls in _PARTS if cls is not LeftOut}


def column_to_dict(column: Column) -> dict[str, Any]:
    """Return a fitted column as plain Python types, but for its name and its levels."""
    parts = {name: getattr(column, name) for name in _PARTS[type(column)]}
    if isinstance(column, Text):
        words = column.words
        parts = {
            "words": list(words.rows),
            "n_flags": words.n_flags,
            "by_letters": words.by_letters,
            "table": words.table.tolist(),
        }
        if column.category is not None:
            parts |= {name: getattr(column.category, name) for name in _PARTS[Category]}
    return {"name": column.name, "kind": column.kind, **parts}


def column_from_dict(written: Mapping[str, Any]) -> Column:
    """Return the fitted column that :func:`column_to_dict` has written."""
    cls = _CLASSES.get(written["kind"], LeftOut)
    column: Any = cls.__new__(cls)
    column.name = written["name"]
    for part in _PARTS[cls]:
        # Where numbers end is only told, and not known of the columns of an array.
        setattr(column, part, written.get(part, np.nan) if part in _ENDS else written[part])
    if cls is LeftOut:
        column.kind = written["kind"]
    elif cls is Category:
        column.number_levels()
    elif cls is Text:
        words = Words.__new__(Words)
        words.rows = {word: row for row, word in enumerate(written["words"])}
        words.n_flags, words.by_letters = written["n_flags"], written["by_letters"]
        words.table = np.array(written["table"]).reshape(len(words.rows), -1)
        column.words = words
        if "levels" in written:
            column.category = column_from_dict({**written, "kind": Category.kind})
    return column
