"""Text that others have named, in reports: ``texts.html(name)``.

Systems are named after files, and features, queries and documents after what tables hold. In a
report, a name is a line of text, and neither a formula, markup nor mathematics.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .arrays import is_number

# Characters without a picture that rule the terminal or the order of others, and halves of a
# character, which files cannot hold.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HALVES = re.compile("[\ud800-\udfff]")

# What begins a formula in a spreadsheet, in full width too, and what separates cells in some.
_FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_QUOTED = re.compile('[",;\t\r\n]')

_MARKDOWN = re.compile(r"[|\\`*_~$\[\]]|<(?=[A-Za-z/!?])")

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    # Behind the end of a row, these would be its options.
    **{character: f"{{{character}}}" for character in "[]*"},
}


def line(text: Any) -> str:
    """Return text as one line, each white space one blank."""
    # Some of the white space is among the characters that are left out.
    return " ".join(printable(" ".join(str(text).split())).split())


def printable(text: str) -> str:
    """Return text of several lines, without characters that rule a terminal."""
    lines = (_UNSEEN.sub("", part) for part in _HALVES.sub("\ufffd", text).split("\n"))
    return "\n".join(lines)


def others(count: int) -> str:
    """Return how many others are not named."""
    return f"{count} other{'s' * (count != 1)}"


def aligned(rows: Iterable[Sequence[str]], gap: str) -> list[str]:
    """Return rows as lines: first cells begin, and the others end, at one place in all lines."""
    rows = list(rows)
    first, *others = (max(map(len, column)) for column in zip(*rows))
    return [gap.join([row[0].ljust(first), *map(str.rjust, row[1:], others)]) for row in rows]


def html(text: Any) -> str:
    """Return text for HTML."""
    return escape(line(text))


def markdown(text: Any) -> str:
    """Return text for a cell of a table in Markdown."""
    return _MARKDOWN.sub(lambda match: "&lt;" if match[0] == "<" else rf"\{match[0]}", line(text))


def latex(text: Any) -> str:
    """Return text for LaTeX."""
    escaped = "".join(_LATEX.get(character, character) for character in line(text))
    return re.sub("-(?=-)", "-{}", escaped)  # no dash


def csv(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV; None and NaN are empty cells.

    Text that a spreadsheet would compute has an apostrophe before it.
    """
    return "".join(",".join(map(_csv_cell, row)) + "\n" for row in rows)


def _csv_cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if not isinstance(value, str):
        value = repr(float(value)) if isinstance(value, float) else str(value)
    elif _FORMULA.match(value) and not is_number(value):
        value = f"'{value}"
    value = _HALVES.sub("\ufffd", value)
    return '"{}"'.format(value.replace('"', '""')) if _QUOTED.search(value) else value
