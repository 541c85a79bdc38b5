"""Tables of a comparison (systems by measures) in Markdown, LaTeX and HTML."""

from __future__ import annotations

import math
from collections import defaultdict
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data import check, texts

if TYPE_CHECKING:
    from ._comparison import Comparison


class Cell(NamedTuple):
    """A mean as text, with its interval and marks; bold if it is the best of its column."""

    mean: str
    interval: str = ""
    marks: str = ""
    bold: bool = False

    def text(self, bold: str, marks: str = "%s", interval: str = "%s") -> str:
        """Return the cell, with its parts in the given formats."""
        mean = bold % self.mean if self.bold else self.mean
        marked = mean + (marks % self.marks if self.marks else "")
        return f"{marked} {interval % self.interval}" if self.interval else marked


class Layout(NamedTuple):
    """Heads of columns, rows and caption of a table, as text without a format."""

    heads: list[str]
    rows: list[tuple[str, list[Cell]]]
    caption: str

    @classmethod
    def of(cls, comparison: Any, digits: int, interval: bool) -> Layout:
        """Return the layout of a comparison."""
        check.count("digits", digits, least=0)
        names, marks = _names_and_marks(comparison)
        best = _best(comparison, digits)
        cells = {
            (row.system, row.measure): Cell(
                _number(row.mean, digits),
                f"[{_number(row.low, digits)}, {_number(row.high, digits)}]" if interval else "",
                marks.get((row.system, row.measure), ""),
                _number(row.mean, digits) == best[row.measure],
            )
            for row in comparison.estimates
        }
        rows = [
            (names[system], [cells[system, measure] for measure in comparison.measures])
            for system in comparison.systems
        ]
        heads = list(comparison.measures)
        if comparison.judged_:
            heads.append("judged docs")
            for (_, row), share in zip(rows, comparison.judged_.values()):
                row.append(Cell(_number(share, digits)))
        return cls(heads, rows, comparison.caption(interval=interval))


def _names_and_marks(comparison: Comparison) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the names of the rows, and the marks of significance by system and measure."""
    significant = [
        row for row in comparison.differences if row.p_adjusted < 1 - comparison.confidence_level
    ]
    if all(row.other == comparison.baseline for row in comparison.differences):
        names = {system: system for system in comparison.systems}
        signs = {(r.system, r.measure): "+" if r.difference > 0 else "-" for r in significant}
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


def _best(comparison: Comparison, digits: int) -> dict[str, str]:
    """Return the largest mean of each measure as text; equal texts are all set in bold."""
    means: dict[str, float] = {}
    for row in comparison.estimates:
        if not math.isnan(row.mean) and len(comparison.systems) > 1:
            means[row.measure] = max(row.mean, means.get(row.measure, -math.inf))
    return {m: _number(means[m], digits) if m in means else "" for m in comparison.measures}


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def to_markdown(layout: Layout) -> str:
    """Return a Markdown table with aligned columns, and the caption below."""
    rows = [["system", *map(texts.markdown, layout.heads)]]
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
    heads = " & ".join(["System", *map(texts.latex, layout.heads)])
    # Outside of math mode a minus would be a hyphen.
    style = r"\textbf{%s}", "$^{%s}$"
    lines = [
        " & ".join([texts.latex(name), *(cell.text(*style) for cell in cells)]) + r" \\"
        for name, cells in layout.rows
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{texts.latex(layout.caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * len(layout.heads)}}}",
            r"\toprule",
            rf"{heads} \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def to_html(layout: Layout) -> str:
    """Return an HTML ``table`` element, which does not need a style sheet."""
    heads = "".join(f"<th>{texts.html(name)}</th>" for name in ["system", *layout.heads])
    style = "<b>%s</b>", "<sup>%s</sup>", "<small>%s</small>"
    rows = "".join(
        f"<tr><th>{texts.html(name)}</th>"
        f"{''.join(f'<td>{cell.text(*style)}</td>' for cell in cells)}</tr>\n"
        for name, cells in layout.rows
    )
    return (
        f"<table>\n<caption>{texts.html(layout.caption)}</caption>\n"
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
    )
