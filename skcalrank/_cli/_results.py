"""Values per query of every system, and their table."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ..metrics import evaluate
from ._rankers import calibration_mark
from ._text import Column, format_table


class Result(NamedTuple):
    """The values of a system, or of a reference."""

    name: str
    values: dict[str, np.ndarray]  # per query, NaN where it does not count; by measure
    ranker: Any = None  # None for scores, runs and references
    seconds: float | None = None  # of fit


def measure_scores(name, scores, data, measures, *, empty="skip", **more) -> Result:
    """Measure scores by all measures, from one sort."""
    values = evaluate(
        data.y, scores, list(measures.values()), qid=data.qid, empty=empty, average=False
    )
    return Result(name, {key: values[measure] for key, measure in measures.items()}, **more)


def references(data, measures, *, empty="skip") -> list[Result]:
    """Measure equal scores, whose expectation over ties is that of random order, and the labels."""
    return [
        measure_scores("constant", np.zeros(len(data.y)), data, measures, empty=empty),
        measure_scores("ideal", data.y, data, measures, empty=empty),
    ]


def summary(values) -> tuple[float, float]:
    """Return mean and standard error over the queries that count; NaN where there are too few."""
    values = values[~np.isnan(values)]
    n = len(values)
    mean = values.mean() if n else np.nan
    return mean, values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan


def results_table(results, measures, marks) -> str:
    """Return a table of measures by results.

    `marks`, by system and measure, follow the mark of calibration in a cell.
    """
    timed = any(result.seconds is not None for result in results)
    columns = [_column(result, measures, marks, timed) for result in results]
    return format_table([*measures, *["fit seconds"] * timed], columns)


def _column(result, measures, marks, timed) -> Column:
    signs = [
        calibration_mark(result.ranker, measure) + marks.get((result.name, name), "")
        for name, measure in measures.items()
    ]
    room = max(map(len, signs))
    values = [_estimate(*summary(result.values[name])) for name in measures]
    cells = [value + sign.ljust(room) for value, sign in zip(values, signs)]
    if timed:
        cells.append("" if result.seconds is None else f"{result.seconds:#.3g}" + " " * room)
    return Column(result.name, cells)


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


def count_line(result) -> str:
    """Say on how many queries each measure is defined."""
    n_queries = len(next(iter(result.values.values())))
    by_count: dict[int, list[str]] = {}
    for name, values in result.values.items():
        by_count.setdefault(int((~np.isnan(values)).sum()), []).append(name)
    on_all = by_count.pop(n_queries, [])
    if not by_count:
        return f"All {n_queries} queries count."
    counts = [f"{n} of {n_queries} for {', '.join(names)}" for n, names in by_count.items()]
    rest = f"; all {n_queries} for {', '.join(on_all)}" if on_all else ""
    return (
        f"Queries that count: {'; '.join(counts)} (on the other queries the measure is 0/0){rest}."
    )
