"""Tables of results: one layout, and its writers for a terminal, Markdown, LaTeX and HTML."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..columns import texts
from ..columns.types import Self


class Cell(NamedTuple):
    """A number as text, with its interval, marks and p-value.

    A number is bold if it is the best of its column.
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


class Table(NamedTuple):
    """Heads of columns, rows and caption of a table, as text without a format.

    The first head is that of the names of the rows. Heads, names and caption are escaped where the
    table is written.
    """

    heads: list[str]
    rows: list[tuple[str, list[Cell]]]
    caption: str = ""

    @classmethod
    def of_columns(cls, names: Iterable[str], columns: Mapping[str, Iterable[Any]]) -> Self:
        """Return a table of named rows, without a head of their own, from columns by their heads.

        What is no cell is the text of one.
        """
        cells = (
            [c if isinstance(c, Cell) else Cell(c) for c in column] for column in columns.values()
        )
        return cls(["", *columns], list(zip(names, map(list, zip(*cells)))))

    def to_text(self, width: int = 100) -> str:
        """Return a table for a terminal, in blocks of columns if it is wider than `width`."""
        names = [texts.line(name) for name in (self.heads[0], *(name for name, _ in self.rows))]
        blocks: list[list[list[str]]] = []
        used = width + 1
        for head, cells in zip(self.heads[1:], zip(*(cells for _, cells in self.rows))):
            room = max(len(cell.marks) for cell in cells)
            column = [cell._replace(marks=cell.marks.ljust(room)).text("%s") for cell in cells]
            column.insert(0, texts.line(head))
            needed = 1 + max(map(len, column))
            if used + needed > width:
                blocks.append([names])
                used = max(map(len, names))
            blocks[-1].append(column)
            used += needed
        return "\n\n".join(filter(None, [*map(_ruled, blocks), texts.line(self.caption)]))

    def to_markdown(self) -> str:
        """Return a Markdown table with aligned columns, and the caption below."""
        rows = [[*map(texts.markdown, self.heads)]]
        rows += [
            [texts.markdown(name), *(cell.text("**%s**") for cell in cells)]
            for name, cells in self.rows
        ]
        head, *lines = (f"| {line} |" for line in texts.aligned(rows, " | "))
        first, *widths = (max(map(len, column)) for column in zip(*rows))
        rule = "|".join(["", "-" * (first + 2), *("-" * (w + 1) + ":" for w in widths), ""])
        return "\n".join([head, rule, *lines, "", texts.markdown(self.caption)])

    def to_latex(self) -> str:
        """Return a LaTeX ``tabular`` inside a ``table`` with a caption."""
        first, *others = self.heads
        heads = " & ".join(map(texts.latex, [first.capitalize(), *others]))
        # Outside of math mode a minus would be a hyphen.
        style: Any = r"\textbf{%s}", "$^{%s}$", "%s", _latex_number
        lines = [
            " & ".join([texts.latex(name), *(cell.text(*style) for cell in cells)]) + r" \\"
            for name, cells in self.rows
        ]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{texts.latex(self.caption)}}}",
                rf"\begin{{tabular}}{{l{'r' * len(others)}}}",
                r"\toprule",
                rf"{heads} \\",
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def to_html(self) -> str:
        """Return an HTML ``table`` element, which does not need a style sheet."""
        heads = "".join(f"<th>{texts.html(name)}</th>" for name in self.heads)
        style: Any = "<b>%s</b>", "<sup>%s</sup>", "<small>%s</small>", texts.html
        rows = "".join(
            f"<tr><th>{texts.html(name)}</th>"
            f"{''.join(f'<td>{cell.text(*style)}</td>' for cell in cells)}</tr>\n"
            for name, cells in self.rows
        )
        caption = f"<caption>{texts.html(self.caption)}</caption>\n" if self.caption else ""
        return (
            f"<table>\n{caption}<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
        )


def _ruled(columns: list[list[str]]) -> str:
    """Return columns, the first of names, as lines with a rule below the heads."""
    head, *lines = (line.rstrip() for line in texts.aligned(zip(*columns), " "))
    return "\n".join([head, "-" * len(head), *lines])


def _latex_number(text: str) -> str:
    return re.sub(r"-(?=\d)", "$-$", text).replace("<", "$<$")
