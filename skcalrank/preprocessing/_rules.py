"""Rules by which fit decides, from its values, what a column of a table holds."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ..columns.arrays import is_number
from ..columns.tables import Values, coded
from ..data import holds_qid, warn, warn_of_row_numbers
from ._column_kinds import Category, Column, Date, Duration, Flag, LeftOut, Number, Text
from ._summaries import Levels, Moments, Numbers, Seconds, Summary
from ._values import NUMBERS, iter_present, moments_of, numbers_of
from ._words import words_of

#: Kinds that a user can choose for a column.
CHOICES = ("number", "category", "text", "date", "drop")

# Text of digits with more levels is a number, and recurring text of several words is read by its
# words as well.
_MOST_CODES = 100

# A rule about the variety of values needs at least so many of them.
_ENOUGH = 20

# Smallest share of distinct values of an identifier, and of text that does not recur.
_OF_IDENTIFIERS, _OF_TEXT = 0.95, 0.2

# Share of the rows that the most frequent texts need for a category that is not mostly rare ones.
_COVERED = 0.5

# Names of things, such as titles of films, are at most so large a share of the texts that their
# words could make. Others recur by chance, and a level says no more than its words.
_OF_COMBINED = 0.01

# Text has blanks in most values, and more words in the mean than names have.
_WITH_BLANKS, _MEAN_BLANKS = 0.8, 1.5

# So large a share of a sample of levels has one look if the others are strays, such as '-'.
_ALIKE, _SAMPLE = 0.9, 1000

# At most so many units stand behind numbers; codes end in many letters.
_MOST_UNITS = 5

# A number with decimals, separators, a currency or a unit.
_FORMATTED = re.compile(
    r"\(?[$€£¥₹~<>]?\s?[+-]?(\d{1,3}([,.'\s]\d{3})+|\d+)([.,](\d+|-+))?\s?"
    r"(?P<unit>[^\W\d_]{1,4}|[$€£¥₹%°])?\)?"
)

# A date that is not in ISO's order, with or without a time.
_DATED = re.compile(
    r"(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2})([\s,T]+\d{1,2}[:.]\d\d.*)?"
)

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{3}|\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def summarized(
    names: Iterable[Any], values: Iterable[Values], choices: Mapping[Any, str] | None, qid: Any
) -> list[Summary]:
    """Return what the kinds of columns depend on, for columns of some names."""
    choices = choices or {}
    return [_summary(name, rows, choices.get(name), qid) for name, rows in zip(names, values)]


def _summary(name: Any, values: Values, choice: str | None, qid: Any) -> Summary:
    if choice == "drop":
        return Summary({}, has_missing=False)
    is_qid = choice is None and qid is not None and holds_qid(values, qid)
    try:
        return Summary.of(_as_chosen(name, values, choice), is_qid)
    except TypeError as error:
        raise _no_kind(name, iter_present(values)) from error


def _as_chosen(name: Any, values: Values, choice: str | None) -> Values:
    """Return the values as numbers, dates or levels if a user has set this kind."""
    if choice is None:
        return values
    if choice in ("category", "text"):
        return coded(values)
    read: Any = moments_of if choice == "date" else partial(numbers_of, from_text=True)
    numbers = read(values)
    if numbers is None:
        raise _refused(name, choice, next(v for v in iter_present(values) if read([v]) is None))
    return numbers.view("M8[us]") if choice == "date" else numbers


def column_of(name: Any, summary: Summary, choice: str | None, max_categories: int) -> Column:
    """Return the fitted column for what its values are."""
    if choice == "drop":
        return LeftOut(name, "drop")
    if summary.is_qid:
        warn(
            f"Column {name!r} of X is left out: it holds the qid. To keep it, set columns="
            f"{{{name!r}: 'category'}}."
        )
        return LeftOut(name, "identifier")
    try:
        extent: Any = summary.extent()
    except TypeError as error:
        raise _no_kind(name, summary.examples()) from error
    if extent is None:
        return LeftOut(name, "constant")
    if choice is not None:
        column = _chosen(name, extent, choice, max_categories)
    elif isinstance(extent, Levels):
        column = _of_levels(name, extent, summary.has_missing, max_categories)
    else:
        column = _of_extent(name, extent, summary.has_missing)
    if column.category is not None:
        column.category.has_missing = summary.has_missing
    return column


def _chosen(name: Any, extent: Any, choice: str, max_categories: int) -> Column:
    """Return the column of the kind that a user has set."""
    if choice == "number":
        return _from_text(name, extent)
    if choice == "date":
        return Date(name, extent)
    if choice == "category":
        return Category(name, extent, max_categories)
    if not extent.all_are(str):
        raise _refused(name, choice, next(v for v in extent.values if not isinstance(v, str)))
    return Text(name, extent)


def _of_extent(name: Any, extent: Numbers | Moments, has_missing: bool) -> Column:
    """Return the column for numbers, durations or dates."""
    if isinstance(extent, Numbers):
        _refuse_infinity(name, extent)
    if extent.is_one() and not has_missing:
        return LeftOut(name, "constant", extent.examples()[0])
    if isinstance(extent, Moments):
        return Date(name, extent)
    if isinstance(extent, Seconds):
        return Duration(name, extent.low, extent.high)
    if extent.is_binary and not extent.is_one():
        return Flag(name, extent.low, extent.high)
    if not has_missing and extent.are_consecutive():
        warn_of_row_numbers(name, f" with columns={{{name!r}: 'drop'}}")
    return Number(name, extent.low, extent.high)


def _of_levels(name: Any, levels: Levels, has_missing: bool, max_categories: int) -> Column:
    """Return the column for levels of any type."""
    if levels.is_one() and not has_missing and levels.values[0] not in (np.inf, -np.inf):
        return LeftOut(name, "constant", levels.values[0])
    if levels.all_are(str):
        return _of_strings(name, levels, max_categories)
    # In a type for categories, numbers are names.
    may_be_numbers = levels.all_are(bool, np.bool_) or not levels.is_category
    for kind in (Moments, Seconds, Numbers) if may_be_numbers else (Moments, Seconds):
        extent = kind.of_levels(levels)
        if extent is not None:
            return _of_extent(name, extent, has_missing)
    if any(isinstance(level, (date, timedelta, complex)) for level in levels.values):
        raise _no_kind(name, levels.values)
    if may_be_numbers:
        _warn_of_look(name, levels.values)
    return Category(name, levels, max_categories)


def _of_strings(name: Any, levels: Levels, max_categories: int) -> Column:
    """Return the column for strings: dates, numbers, text, categories or an identifier."""
    texts = levels.values
    broken = [text for text in texts if "\0" in text and is_number(text.replace("\0", ""))]
    if broken:
        raise ValueError(
            f"Column {name!r} of X must hold numbers without a NUL byte, got {broken[0]!r}: "
            "repair the file."
        )
    if all(map(_ISO.fullmatch, texts)) and (moments := Moments.of_levels(levels)) is not None:
        warn(
            f"Column {name!r} of X holds text such as {texts[0]!r}, which is read as dates. "
            f"Say so by columns={{{name!r}: 'date'}}, or set columns={{{name!r}: 'category'}}."
        )
        return Date(name, moments)
    if len(texts) > _MOST_CODES and all(map(_is_number, texts)):
        warn(
            f"Column {name!r} of X holds text such as {texts[0]!r}, which is read as numbers. "
            f"Say so by columns={{{name!r}: 'number'}}, or set columns={{{name!r}: 'category'}}."
        )
        return _from_text(name, Numbers.of(numbers_of(texts, from_text=True)))
    if len(texts) < _ENOUGH or (not levels.is_category and _warn_of_look(name, texts)):
        return Category(name, levels, max_categories)
    share, blanks = len(texts) / levels.counts.sum(), [text.count(" ") for text in texts]
    with_blanks = np.mean(np.minimum(blanks, 1))
    if with_blanks >= _WITH_BLANKS and np.mean(blanks) >= _MEAN_BLANKS:
        covered = np.sort(levels.counts)[-max_categories:].sum() / levels.counts.sum()
        recurs = share <= _OF_TEXT and covered >= _COVERED
        if not recurs or len(texts) > _MOST_CODES:
            codes = Category(name, levels, max_categories) if recurs and _are_names(texts) else None
            return Text(name, levels, codes)
    elif share > _OF_IDENTIFIERS and with_blanks < 1 - _WITH_BLANKS:
        warn(
            f"Column {name!r} of X is left out: {share:.0%} of its texts, such as "
            f"{texts[0]!r}, are distinct, as identifiers are. To keep it, set columns="
            f"{{{name!r}: 'category'}}."
        )
        return LeftOut(name, "identifier", texts[0])
    return Category(name, levels, max_categories)


def _warn_of_look(name: Any, levels: list[Any]) -> bool:
    """Warn of a category whose levels look like numbers or dates, and return whether they do."""
    looks = [_look(level) for level in levels[:_SAMPLE]]
    for kind in ("numbers", "dates"):
        alike = [level for level, (found, _) in zip(levels, looks) if found == kind]
        strays = [level for level, (found, _) in zip(levels, looks) if found != kind]
        units = {unit for found, unit in looks if found == kind}
        are_few = len(alike) < max(_ENOUGH, _ALIKE * len(looks))
        may_be_codes = kind == "numbers" and len(levels) <= _MOST_CODES
        are_codes = may_be_codes and all(isinstance(level, str) for level in alike)
        if are_few or are_codes or len(units) > _MOST_UNITS:
            continue
        but = f", but not {strays[0]!r}" if strays else ""
        warn(
            f"Column {name!r} of X is read as a category of {len(levels)} levels, of which most "
            f"look like {kind}, such as {alike[0]!r}{but}. Make {kind} of the column, with missing "
            f"values where there are none, or set columns={{{name!r}: 'category'}}."
        )
        return True
    return False


def _look(level: Any) -> tuple[str, str]:
    """Return "numbers", "dates" or "", and the unit of a number."""
    if isinstance(level, NUMBERS):
        return "numbers", ""
    if not isinstance(level, str):
        return "", ""
    text = level.strip()
    number = _FORMATTED.fullmatch(text)
    # Digits that begin with 0 are a code.
    if number and (_is_number(text) or not text.isdigit()):
        return "numbers", number["unit"] or ""
    return ("dates" if _DATED.fullmatch(text) else ""), ""


def _are_names(texts: list[str]) -> bool:
    """Return whether texts are few of those that as many of their words could make."""
    words = list(map(words_of, texts))
    log_combined = np.mean(list(map(len, words))) * np.log(max(1, len({*chain(*words)})))
    return bool(np.log(len(texts) / _OF_COMBINED) <= log_combined)


def _is_number(text: str) -> bool:
    """Return whether a text is what Python prints for the number that it stands for."""
    try:
        return str(float(text)) == text or str(int(text)) == text
    except ValueError:
        return False


def _from_text(name: Any, numbers: Any) -> Column:
    _refuse_infinity(name, numbers)
    return Number(name, numbers.low, numbers.high, from_text=True)


def _refuse_infinity(name: Any, numbers: Numbers) -> None:
    if np.isinf(numbers.low) or np.isinf(numbers.high):
        raise ValueError(f"Input X contains infinity in column {name!r}.")


def _refused(name: Any, choice: Any, value: Any) -> ValueError:
    return ValueError(
        f"columns[{name!r}] must suit the values of the column, got {choice!r} for {value!r} "
        f"({type(value).__name__}): convert the column, or choose another kind."
    )


def _no_kind(name: Any, values: Iterable[Any]) -> ValueError:
    types = sorted({type(value).__name__ for value in values})
    return ValueError(
        f"Column {name!r} of X must hold numbers, text, truth values, dates or durations, got "
        f"{' and '.join(types[:3])}. Convert it, in pandas for example by X[{name!r}].astype(str)."
    )
