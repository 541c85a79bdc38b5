"""Tables of a comparison, by measures, of means or differences: Markdown, LaTeX and HTML."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any, NamedTuple

from ..data import check, texts

# The smallest p-value that is written; smaller ones are below it.
_LEAST_P = 0.001


class Cell(NamedTuple):
    """A mean or a difference as text, with its interval, marks and p-value.

    A mean is bold if it is the best of its column.
    """

    number: str
    interval: str = ""
    marks: str = ""
    bold: bool = False
    p: str = ""

    def text(
        self,
        bold: str,
        marks: str = "%s",
        interval: str = "%s",
        escaped: Callable[[str], str] = str,
    ) -> str:
        """Return the cell, with its parts in the given formats."""
        number = escaped(self.number)
        text = bold % number if self.bold else number
        text += marks % self.marks if self.marks else ""
        text += f" {interval % escaped(self.interval)}" if self.interval else ""
        return f"{text}, {escaped(self.p)}" if self.p else text


class Layout(NamedTuple):
    """Heads of columns, rows and caption of a table, as text without a format.

    The first head is that of the names of the rows.
    """

    heads: list[str]
    rows: list[tuple[str, list[Cell]]]
    caption: str

    @classmethod
    def of(cls, comparison: Any, digits: int, interval: bool, table: str) -> Layout:
        """Return the layout of a table of a comparison, one of `TABLES`."""
        check.count("digits", digits, least=0)
        check.option("table", table, TABLES)
        return TABLES[table](comparison, digits, interval)

    @classmethod
    def of_means(cls, comparison: Any, digits: int, interval: bool) -> Layout:
        """Return a row for each system, with the mean of each measure."""
        names, marks = _names_and_marks(comparison)
        best = _best(comparison, digits)
        cells = {
            (row.system, row.measure): Cell(
                _number(row.mean, digits),
                _ends(row, digits) if interval else "",
                marks.get((row.system, row.measure), ""),
                _number(row.mean, digits) == best[row.measure],
            )
            for row in comparison.estimates
        }
        rows = [
            (names[system], [cells[system, measure] for measure in comparison.measures])
            for system in comparison.systems
        ]
        heads = ["system", *comparison.measures]
        if comparison.judged_:
            heads.append("judged docs")
            for (_, row), share in zip(rows, comparison.judged_.values()):
                row.append(Cell(_number(share, digits)))
        return cls(heads, rows, comparison.caption(interval=interval))

    @classmethod
    def of_differences(cls, comparison: Any, digits: int, interval: bool) -> Layout:
        """Return a row for each tested pair, with the difference by each measure and its test."""
        if not comparison.differences:
            raise ValueError("table must be 'means' for a single system, got 'differences'.")
        pairs: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        for row in comparison.differences:
            number, ends = _number(row.difference, digits), _ends(row, digits) if interval else ""
            pairs[row.system, row.other].append(Cell(number, ends, p=p_text(row.p_adjusted)))
        rows = [(" - ".join(pair), cells) for pair, cells in pairs.items()]
        caption = comparison.caption(interval=interval, table="differences")
        return cls(["difference", *comparison.measures], rows, caption)


#: Layouts by the name of the table.
TABLES = {"means": Layout.of_means, "differences": Layout.of_differences}


def _names_and_marks(comparison: Any) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the names of the rows, and the marks of significance by system and measure."""
    significant = [
        row for row in comparison.differences if row.p_adjusted < 1 - comparison.confidence_level
    ]
    if all(row.other == comparison.baseline for row in comparison.differences):
        names = {system: system for system in comparison.systems}
        above = -comparison.margin
        signs = {(r.system, r.measure): "+" if r.difference > above else "-" for r in significant}
        return names, signs
    letters = {system: _letter(number) for number, system in enumerate(comparison.systems)}
    worse: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in significant:
        better, other = (row.system, row.other)[:: 1 if row.difference > 0 else -1]
        worse[better, row.measure].add(other)
    marks = {
        key: "".join(letter for system, letter in letters.items() if system in others)
        for key, others in worse.items()
    }
    return {system: f"{letter} {system}" for system, letter in letters.items()}, marks


def _letter(number: int) -> str:
    """Return a, ..., z, aa, ab, ..."""
    head, last = divmod(number, len(ascii_lowercase))
    return (_letter(head - 1) if head else "") + ascii_lowercase[last]


def _best(comparison: Any, digits: int) -> dict[str, str]:
    """Return the largest mean of each measure as text; equal texts are all set in bold."""
    means: dict[str, float] = {}
    for row in comparison.estimates:
        if not math.isnan(row.mean) and len(comparison.systems) > 1:
            means[row.measure] = max(row.mean, means.get(row.measure, -math.inf))
    return {m: _number(means[m], digits) if m in means else "" for m in comparison.measures}


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _ends(row: Any, digits: int) -> str:
    return f"[{_number(row.low, digits)}, {_number(row.high, digits)}]"


def p_text(p: float) -> str:
    """Return a p-value with its sign of equality; "no p" where there is no test."""
    if math.isnan(p):
        return "no p"
    return f"p < {_LEAST_P}" if p < _LEAST_P else f"p = {p:.3f}"


def to_markdown(layout: Layout) -> str:
    """Return a Markdown table with aligned columns, and the caption below."""
    rows = [[*map(texts.markdown, layout.heads)]]
    rows += [
        [texts.markdown(name), *(cell.text("**%s**") for cell in cells)]
        for name, cells in layout.rows
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |"
        for row in rows
    ]
    rule = "|".join(["", "-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:]), ""])
    return "\n".join([lines[0], rule, *lines[1:], "", texts.markdown(layout.caption)])


def to_latex(layout: Layout) -> str:
    """Return a LaTeX ``tabular`` inside a ``table`` with a caption."""
    first, *measures = layout.heads
    heads = " & ".join(map(texts.latex, [first.capitalize(), *measures]))
    # Outside of math mode a minus would be a hyphen.
    style: Any = r"\textbf{%s}", "$^{%s}$", "%s", _latex_number
    lines = [
        " & ".join([texts.latex(name), *(cell.text(*style) for cell in cells)]) + r" \\"
        for name, cells in layout.rows
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{texts.latex(layout.caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * len(measures)}}}",
            r"\toprule",
            rf"{heads} \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _latex_number(text: str) -> str:
    return re.sub(r"-(?=\d)", "$-$", text).replace("<", "$<$")


def to_html(layout: Layout) -> str:
    """Return an HTML ``table`` element, which does not need a style sheet."""
    heads = "".join(f"<th>{texts.html(name)}</th>" for name in layout.heads)
    style: Any = "<b>%s</b>", "<sup>%s</sup>", "<small>%s</small>", texts.html
    rows = "".join(
        f"<tr><th>{texts.html(name)}</th>"
        f"{''.join(f'<td>{cell.text(*style)}</td>' for cell in cells)}</tr>\n"
        for name, cells in layout.rows
    )
    return (
        f"<table>\n<caption>{texts.html(layout.caption)}</caption>\n"
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
    )
