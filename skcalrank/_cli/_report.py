"""Tables and legends, as text."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ._rankers import ALWAYS, CONDITIONALLY, calibration_mark
from ._results import summary


class Column(NamedTuple):
    """Heads, one below the other, and cells of one column."""

    heads: list[str]
    cells: list[str]


def results_table(groups, measures, width, *, marks=None) -> str:
    """Return a table of measures by groups of results, each of which shares a column.

    Cells get the `marks` of their ranker and measure, beside that of calibration.
    """
    columns = [_column(group, measures, marks or {}) for group in groups]
    labels = list(measures)
    if any(group[0].seconds is not None for group in groups):
        labels.append("fit seconds")
        columns = [_filled(column, len(labels)) for column in columns]
    return format_table(labels, columns, width)


def _column(group, measures, given) -> Column:
    marks = []
    for name, measure in measures.items():
        calibrated = {calibration_mark(result.ranker, measure) for result in group}
        mark = next((m for m in (ALWAYS, CONDITIONALLY) if m in calibrated), "")
        marks.append(mark + given.get((group[0].name, name), ""))
    room = max(map(len, marks))
    values = [_estimate(*summary(group[0].values[name])) for name in measures]
    cells = [value + mark.ljust(room) for value, mark in zip(values, marks)]
    if group[0].seconds is not None:
        cells.append(f"{group[0].seconds:#.3g}" + " " * room)
    return Column([result.name for result in group], cells)


def _filled(column, n_cells) -> Column:
    return Column(column.heads, column.cells + [""] * (n_cells - len(column.cells)))


def _estimate(mean, error) -> str:
    """Mean and standard error to three significant digits of the mean."""
    if np.isnan(mean):
        return "-"
    decimals = next((d for d, bound in ((3, 1.0005), (2, 10), (1, 100)) if abs(mean) < bound), 0)
    spread = "" if np.isnan(error) else _number(error, decimals)
    return _number(mean, decimals) + (f"±{spread}" if float(spread or 0) else "")


def _number(value, decimals) -> str:
    """Fixed point, without the zero before the point and the sign of zero."""
    text = f"{round(float(value), decimals) + 0.0:.{decimals}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def format_table(labels, columns, width) -> str:
    """Columns of text beside their labels, in several blocks when the width demands it."""
    room = max(map(len, labels))
    blocks: list[list[Column]] = []
    used = width + 1
    for column in columns:
        needed = 1 + max(map(len, (*column.heads, *column.cells)))
        if used + needed > width:
            blocks.append([])
            used = room
        blocks[-1].append(column)
        used += needed
    return "\n\n".join(_block(labels, block) for block in blocks)


def _block(labels, columns) -> str:
    n_heads = max(len(column.heads) for column in columns)
    texts = [[""] * n_heads + list(labels)]
    for column in columns:
        texts.append(column.heads + [""] * (n_heads - len(column.heads)) + column.cells)
    widths = [max(map(len, text)) for text in texts]
    lines = [
        " ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:]))])
        for first, *rest in zip(*texts)
    ]
    lines.insert(n_heads, "-" * len(lines[0].rstrip()))
    return "\n".join(line.rstrip() for line in lines)


def count_line(result) -> str:
    """On how many queries each measure is defined."""
    n_queries = len(next(iter(result.values.values())))
    by_count: dict[int, list[str]] = {}
    for name, values in result.values.items():
        by_count.setdefault(int((~np.isnan(values)).sum()), []).append(name)
    all_count = by_count.pop(n_queries, [])
    if not by_count:
        return f"All {n_queries} queries count."
    parts = [f"{count} of {n_queries} for {', '.join(names)}" for count, names in by_count.items()]
    rest = f"; all {n_queries} for {', '.join(all_count)}" if all_count else ""
    return (
        f"Queries that count: {'; '.join(parts)} (on the other queries the measure is 0/0){rest}."
    )
