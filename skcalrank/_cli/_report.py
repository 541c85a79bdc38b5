"""Tables and legends, as text."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ._rankers import calibration_mark
from ._results import summary


class Column(NamedTuple):
    """Head and cells of one column, from top to bottom."""

    head: str
    cells: list[str]


def results_table(results, measures, width, *, marks=None) -> str:
    """Return a table of measures by results.

    `marks`, by ranker and measure, follow the mark of calibration in a cell.
    """
    columns = [_column(result, measures, marks or {}) for result in results]
    labels = list(measures)
    if any(result.seconds is not None for result in results):
        labels.append("fit seconds")
        columns = [_filled(column, len(labels)) for column in columns]
    return format_table(labels, columns, width)


def _column(result, measures, given) -> Column:
    marks = [
        calibration_mark(result.ranker, measure) + given.get((result.name, name), "")
        for name, measure in measures.items()
    ]
    room = max(map(len, marks))
    values = [_estimate(*summary(result.values[name])) for name in measures]
    cells = [value + mark.ljust(room) for value, mark in zip(values, marks)]
    if result.seconds is not None:
        cells.append(f"{result.seconds:#.3g}" + " " * room)
    return Column(result.name, cells)


def _filled(column, n_cells) -> Column:
    return Column(column.head, column.cells + [""] * (n_cells - len(column.cells)))


def _estimate(mean, error) -> str:
    """Format mean and standard error, to three significant digits of the mean."""
    if np.isnan(mean):
        return "-"
    decimals = next((d for d, bound in ((3, 1.0005), (2, 10), (1, 100)) if abs(mean) < bound), 0)
    spread = "" if np.isnan(error) else _number(error, decimals)
    return _number(mean, decimals) + (f"±{spread}" if float(spread or 0) else "")


def _number(value, decimals) -> str:
    """Format a number without the zero before the point and the sign of zero."""
    text = f"{round(float(value), decimals) + 0.0:.{decimals}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def format_table(labels, columns, width) -> str:
    """Format columns of text beside their labels, in several blocks if `width` demands it."""
    room = max(map(len, labels))
    blocks: list[list[Column]] = []
    used = width + 1
    for column in columns:
        needed = 1 + max(map(len, (column.head, *column.cells)))
        if used + needed > width:
            blocks.append([])
            used = room
        blocks[-1].append(column)
        used += needed
    return "\n\n".join(_block(labels, block) for block in blocks)


def _block(labels, columns) -> str:
    texts = [["", *labels], *([column.head, *column.cells] for column in columns)]
    widths = [max(map(len, text)) for text in texts]
    lines = [
        " ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:]))])
        for first, *rest in zip(*texts)
    ]
    lines.insert(1, "-" * len(lines[0].rstrip()))
    return "\n".join(line.rstrip() for line in lines)


def count_line(result) -> str:
    """Say on how many queries each measure is defined."""
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
