"""Tables of a comparison, by measures: means of the systems, or differences of pairs."""

import math
from collections import defaultdict
from string import ascii_lowercase
from typing import Any

from ..data import check
from ._table import Cell, Table

# The smallest p-value that is written; smaller ones are below it.
_LEAST_P = 0.001


def table_of(comparison: Any, digits: int, interval: bool, table: str) -> Table:
    """Return a table of a comparison, one of `TABLES`."""
    check.count("digits", digits, least=0)
    check.option("table", table, TABLES)
    return TABLES[table](comparison, digits, interval)


def _of_means(comparison: Any, digits: int, interval: bool) -> Table:
    """Return a row for each system, with the mean of each measure."""
    names, marks = names_and_marks(comparison)
    best = _best(comparison, digits)
    cells: dict[str, list[Cell]] = defaultdict(list)
    for row in comparison.estimates:
        number, ends = _number(row.mean, digits), _ends(row, digits) if interval else ""
        of_cell = marks.get((row.system, row.measure), ""), number == best[row.measure]
        cells[names[row.system]].append(Cell(number, ends, *of_cell))
    more = of_systems(comparison)
    for values in more.values():
        for system, value in values.items():
            cells[names[system]].append(Cell(_number(value, digits)))
    heads = ["system", *comparison.measures, *more]
    return Table(heads, list(cells.items()), comparison.caption(interval=interval))


def _of_differences(comparison: Any, digits: int, interval: bool) -> Table:
    """Return a row for each tested pair, with the difference by each measure and its test."""
    if not comparison.differences:
        raise ValueError("table must be 'means' for a single system, got 'differences'.")
    pairs: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for row in comparison.differences:
        number, ends = _number(row.difference, digits), _ends(row, digits) if interval else ""
        pairs[row.system, row.other].append(Cell(number, ends, p=p_text(row.p_adjusted)))
    rows = [(" - ".join(pair), cells) for pair, cells in pairs.items()]
    caption = comparison.caption(interval=interval, table="differences")
    return Table(["difference", *comparison.measures], rows, caption)


#: Tables by name.
TABLES = {"means": _of_means, "differences": _of_differences}


def of_systems(comparison: Any) -> dict[str, dict[str, float]]:
    """Return what tables tell of systems beside measures, by head of the column and system."""
    out: dict[str, dict[str, float]] = defaultdict(dict)
    if comparison.judged_:
        out["judged docs"] = comparison.judged_
    for row in comparison.estimates if comparison.corrections else ():
        correction = comparison.corrections[row.system, row.measure]
        for name in ("human", "judge"):
            out[f"{row.measure}, {name} alone"][row.system] = getattr(correction, name)
    return out


def names_and_marks(comparison: Any) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
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
