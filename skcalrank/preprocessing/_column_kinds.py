"""What the columns of a table hold: how each kind of column becomes numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ..columns import is_missing
from ..columns.tables import Coded, Values, coded
from ..columns.types import Array, Floats
from ..data import UnseenLevelsWarning, warn
from ._summaries import Levels, Moments
from ._values import (
    DAY,
    NAT,
    NUMBERS,
    by_level,
    calendar,
    iter_present,
    level_of,
    moments_of,
    numbers_of,
    seconds_of,
)
from ._words import Words

#: Code of a level that was not seen in fit. A missing value is NaN.
UNSEEN = -1.0

# Up to so many rows without a seen level are silent, and up to so many with one new level: a query
# may be about it, and few queries have as many documents.
_FEW_UNSEEN, _OF_ONE_LEVEL = 5, 1000

# What is told of numbers: where they end.
_ENDS = ("low", "high")


class Column(ABC):
    """A fitted column of a table.

    * `name`: name of the column, or its number if the table has no names.
    * `category`: reader of codes in the first column of numbers, None if that holds no codes.
    * `stored`: names of the attributes that the column is made of, besides its name.
    """

    kind: ClassVar[str]
    stored: ClassVar[tuple[str, ...]] = ()
    category: Category | None = None

    def __init__(self, name: Any) -> None:
        self.name = name

    @property
    def n_outputs(self) -> int:
        """Number of columns of numbers."""
        return len(self.output_names(""))

    def output_names(self, name: str) -> list[str]:
        """Return the names of the columns of numbers of a column of some name."""
        return [name]

    @abstractmethod
    def read(self, values: Values) -> Floats:
        """Return the numbers of rows, of shape (n,) or (n, n_outputs)."""

    @abstractmethod
    def about(self) -> str:
        """Return what fit has seen."""

    def refuse(self, value: Any, expected: str, remedy: str) -> ValueError:
        """Return the error for a value that the column cannot read."""
        return ValueError(
            f"Column {self.name!r} of X must hold {expected}, as in fit, got {value!r} "
            f"({type(value).__name__}). {remedy}"
        )

    def refuse_first(
        self, values: Values, read: Callable[[list[Any]], Any], expected: str, remedy: str
    ) -> ValueError:
        """Return the error for the first value of which `read` returns None."""
        value = next(value for value in iter_present(values) if read([value]) is None)
        return self.refuse(value, expected, remedy)


class LeftOut(Column):
    """A column without numbers: a constant, an identifier, or one that is dropped by hand."""

    stored = ("example",)

    def __init__(self, name: Any, kind: str, example: Any = None) -> None:
        super().__init__(name)
        self.kind = kind  # type: ignore[misc]
        self.example = "" if example is None else repr(level_of(example))

    def output_names(self, name: str) -> list[str]:
        del name
        return []

    def read(self, values: Values) -> Floats:
        del values
        return np.empty((0, 0))

    def about(self) -> str:
        return self.example and f"such as {self.example}"


class Number(Column):
    """A column of numbers, less an offset; with `from_text`, text is read as numbers too."""

    kind = "number"
    stored = ("from_text", "offset", *_ENDS)
    unit: ClassVar[str] = "numbers"

    def __init__(self, name: Any, low: float, high: float, *, from_text: bool = False) -> None:
        super().__init__(name)
        self.low, self.high, self.from_text = low, high, from_text
        # Single precision, which some libraries of trees have, would make values equal. Its steps
        # are 2 ** 29 times those of double precision, of which the last would overflow.
        steps = np.spacing(max(abs(low), abs(high)) / 2) * 2.0**30
        self.offset = low if high - low < steps * 2.0**12 else 0.0

    def read(self, values: Values) -> Floats:
        numbers = self.numbers_of(values)
        if numbers is None:
            raise self.refuse_first(
                values,
                self.numbers_of,
                self.unit,
                f"Convert the column to {self.unit}, or fit again with columns={{{self.name!r}: "
                "'category'}.",
            )
        return numbers - self.offset if self.offset else numbers

    def numbers_of(self, values: Values) -> Floats | None:
        """Return the numbers of rows without the offset, or None if a value is none."""
        return numbers_of(values, from_text=self.from_text)

    def about(self) -> str:
        return f"{self.low:g} to {self.high:g}"


class Flag(Number):
    """A column of 0 and 1, or of truth values."""

    kind = "flag"
    unit = "flags (0 and 1, or truth values)"

    def about(self) -> str:
        return "0 or 1"


class Duration(Number):
    """A column of durations or times of the day, in seconds."""

    kind = "duration"
    unit = "durations"

    def numbers_of(self, values: Values) -> Floats | None:
        """Return the seconds of rows, or None if a value is none."""
        return seconds_of(values)

    def about(self) -> str:
        return f"{self.low:g} to {self.high:g} seconds"


class Category(Column):
    """A column of levels: codes by decreasing frequency in fit, rare levels sharing the last.

    * `has_missing`: whether a level was missing in fit.
    """

    kind = "category"
    stored = ("levels", "rare")
    has_missing = False

    def __init__(self, name: Any, levels: Levels, max_categories: int) -> None:
        super().__init__(name)
        number: Counter[Any] = Counter()
        for value, count in zip(levels.values, levels.counts.tolist()):
            number[level_of(value)] += count
        by_number = sorted(number, key=lambda level: (-number[level], _sort_key(level)))
        n_kept = max_categories - 1 if len(by_number) > max_categories else len(by_number)
        self.levels, self.rare = by_number[:n_kept], by_number[n_kept:]
        self.number_levels()

    @property
    def category(self) -> Category:  # type: ignore[override]
        """The column itself, which reads codes."""
        return self

    def number_levels(self) -> None:
        """Set the code of each level."""
        self.codes: dict[Any, float] = {level: float(i) for i, level in enumerate(self.levels)}
        self.codes.update(dict.fromkeys(self.rare, float(len(self.levels))))

    def __getstate__(self) -> dict[str, Any]:
        # Model files write the keys of a dict as text, which may make several levels one.
        return {name: value for name, value in vars(self).items() if name != "codes"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.number_levels()

    @property
    def n_levels(self) -> int:
        """Number of levels in fit."""
        return len(self.levels) + len(self.rare)

    @property
    def n_codes(self) -> int:
        """Number of codes, with the one that rare levels share."""
        return len(self.levels) + bool(self.rare)

    def read(self, values: Values) -> Floats:
        if isinstance(values, np.ndarray):
            values = coded(values)
        codes = by_level(values, self._read)
        unseen = codes == UNSEEN
        if self.codes and unseen.any() and not (codes >= 0).any():
            self._warn_of_unseen(values, unseen)
        return codes

    def _read(self, values: list[Any]) -> Floats:
        codes = self.codes
        try:
            found = [codes.get(value, UNSEEN) for value in values]
        except TypeError:
            found = [UNSEEN] * len(values)
        for row, code in enumerate(found):
            if code == UNSEEN:
                found[row] = self._code(values[row])
        return np.array(found, dtype=np.float64)

    def _code(self, value: Any) -> float:
        if is_missing(value):
            return np.nan
        try:
            return self.codes.get(level_of(value), UNSEEN)
        except TypeError as error:
            raise self.refuse(value, "levels", "Convert the column to text.") from error

    def _warn_of_unseen(self, values: Any, unseen: Array) -> None:
        rows = values.values() if isinstance(values, Coded) else values
        new = {level_of(value) for value, is_new in zip(rows, unseen.tolist()) if is_new}
        drifts = not {_type_of(level) for level in new} & {_type_of(v) for v in self.codes}
        if not drifts and unseen.sum() <= (_OF_ONE_LEVEL if len(new) == 1 else _FEW_UNSEEN):
            return
        given, seen = min(new, key=_sort_key), self.levels[0]
        warn(
            f"Column {self.name!r} of X must have levels that fit has seen, got none of them: such "
            f"as {given!r} ({type(given).__name__}), where fit has seen {seen!r} "
            f"({type(seen).__name__}). All count as new. Convert the column to the form that it "
            "had in fit.",
            UnseenLevelsWarning,
        )

    def about(self) -> str:
        examples = ", ".join(map(repr, self.levels[:3]))
        return f"{self.n_levels} levels: {examples}" + (", ..." if self.n_levels > 3 else "")


class Date(Column):
    """A column of dates and times: days since the first, and the parts that vary."""

    kind = "date"
    stored = ("first", "last", "parts")

    def __init__(self, name: Any, moments: Moments) -> None:
        super().__init__(name)
        self.first, self.last, self.parts = moments.first, moments.last, moments.varying()

    def output_names(self, name: str) -> list[str]:
        return [name, *(f"{name}_{part}" for part in self.parts)]

    def read(self, values: Values) -> Floats:
        moments = moments_of(values)
        if moments is None:
            remedy = "Convert the column to dates, or to text such as '2026-01-31'."
            raise self.refuse_first(values, moments_of, "dates", remedy)
        parts = calendar(moments, self.parts)
        out = np.column_stack([(moments - self.first) / DAY, *parts.values()])
        missing = moments == NAT
        if missing.any():
            out[missing] = np.nan
        return out

    def about(self) -> str:
        first, last = (np.datetime64(day, "us").astype("M8[D]") for day in (self.first, self.last))
        return f"{first} to {last}, as days" + "".join(f", {part}" for part in self.parts)


class Text(Column):
    """A column of strings of several words: codes if it has a `category`, then its words."""

    kind = "text"

    def __init__(self, name: Any, levels: Levels, category: Category | None = None) -> None:
        super().__init__(name)
        self.category = category
        # Sums depend on the order, which follows from the type of the column.
        order = sorted(range(len(levels.values)), key=levels.values.__getitem__)
        self.words = Words.fit([levels.values[k] for k in order], levels.counts[order])

    def output_names(self, name: str) -> list[str]:
        return [name] * (self.category is not None) + self.words.outputs(name)

    def read(self, values: Values) -> Floats:
        values = values.tolist() if isinstance(values, np.ndarray) else values
        words = by_level(values, self._read)
        if self.category is None:
            return words
        return np.column_stack([self.category.read(values), words])

    def _read(self, values: list[Any]) -> Floats:
        return self.words.read([self._text(value) for value in values])

    def _text(self, value: Any) -> str | None:
        if isinstance(value, str) or value is None:
            return value
        if is_missing(value):
            return None
        raise self.refuse(value, "text", "Convert the column to text.")

    def about(self) -> str:
        levels = "" if self.category is None else f", {self.category.n_levels} levels"
        return f"{self.words.n_outputs} columns of words{levels}"


def read_by_trees(X: Any, categories: Mapping[int, Category]) -> Any:
    """Return the rows of a matrix with the codes of categories that trees read.

    A level that fit has not seen is NaN, for which trees have no rule. Where levels were missing in
    fit, missing is the code 0, and those of other levels are larger by 1; elsewhere it is NaN, too.

    * `categories`: readers of codes by the number of their column.
    """
    columns, shifts = list(categories), [of.has_missing for of in categories.values()]
    codes = X[:, columns] if columns else np.zeros(0)
    if not any(shifts) and not (codes < 0).any():
        return X
    matrix = X.copy()
    known = np.where(codes < 0, np.nan, codes + shifts)
    matrix[:, columns] = np.where(np.isnan(codes) & shifts, 0.0, known)
    return matrix


def _type_of(level: Any) -> str:
    return "number" if isinstance(level, NUMBERS) else type(level).__name__


def _sort_key(level: Any) -> tuple[Any, ...]:
    if isinstance(level, (int, float)):
        return "", level, ""
    return type(level).__name__, 0, level if isinstance(level, str) else repr(level)


# -- columns as plain Python types -------------------------------------------------------

_CLASSES = {cls.kind: cls for cls in (Number, Flag, Duration, Category, Date, Text)}


def column_to_dict(column: Column) -> dict[str, Any]:
    """Return a fitted column as plain Python types, but for its name and its levels."""
    parts = {name: getattr(column, name) for name in column.stored}
    if isinstance(column, Text):
        words = column.words
        parts = {
            "words": list(words.rows),
            "n_flags": words.n_flags,
            "by_letters": words.by_letters,
            "table": words.table.tolist(),
        }
        if column.category is not None:
            parts |= {name: getattr(column.category, name) for name in Category.stored}
    return {"name": column.name, "kind": column.kind, **parts}


def column_from_dict(written: Mapping[str, Any]) -> Column:
    """Return the fitted column that :func:`column_to_dict` has written."""
    cls = _CLASSES.get(written["kind"], LeftOut)
    column: Any = cls.__new__(cls)
    column.name = written["name"]
    for part in cls.stored:
        # Where numbers end is only told, and not known of the columns of an array.
        setattr(column, part, written.get(part, np.nan) if part in _ENDS else written[part])
    if cls is LeftOut:
        column.kind = written["kind"]
    elif cls is Category:
        column.number_levels()
    elif cls is Text:
        rows = {word: row for row, word in enumerate(written["words"])}
        table = np.array(written["table"] or np.empty((0, 1)))
        column.words = Words(rows, written["n_flags"], written["by_letters"], table)
        if "levels" in written:
            column.category = column_from_dict({**written, "kind": Category.kind})
    return column
