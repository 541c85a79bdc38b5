"""Test whether systems differ, print the comparison, and write it to files, one a page of plots."""

import io
import re
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..columns import texts
from ..columns.types import Floats
from ..data import check
from ..evaluation import (
    ABOUT_JUDGED,
    Cell,
    Comparison,
    Moments,
    Table,
    are_corrected,
    names_and_marks,
    numbers_of,
    of_systems,
    p_text,
)
from ..metrics import evaluate
from ._files import output, refuse_overwriting
from ._rankers import ALWAYS, CONDITIONALLY, calibration_mark
from ._text import paragraphs, width

_CALIBRATED = (
    f"{ALWAYS} the ranker is calibrated for the measure of the row, {CONDITIONALLY} under a "
    "condition: with ever more data, and columns that tell all of the query, it becomes the best, "
    "which does not say how good it is here "
    "(what_is_calibrated in the documentation)."
)
_REFERENCES = (
    "constant: all scores are equal, which gives the exact mean over random orders. ideal: the "
    "labels are the scores."
)
_WHY_FOLDS = "are over the folds: they count what other training data would change, too"
_ON_SCREEN = f" Intervals here and in reports {_WHY_FOLDS}, and most are wider than these errors."
_IN_REPORT = (
    f" Intervals {_WHY_FOLDS}; the standard errors that the command prints are over queries, and "
    "mostly smaller."
)

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;"
    "color:#222;background:#fff}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}"
    "th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}caption{text-align:left;color:#555}"
    "svg{max-width:100%;height:auto}small{color:#555}"
)

# What a system is to the highest if a test does not tell them apart.
_LEVEL = "level"

# Number of measures of which conclusions are drawn, and up to which all differences are printed.
_FEW_MEASURES = 3

# Number of systems whose differences are plotted query by query, for each measure.
_MOST_SYSTEMS = 6


class Compared(NamedTuple):
    """Systems that were compared, and what is shown beside them without a test."""

    text: str
    comparison: Comparison
    notes: list[str]  # warnings of the library
    legends: list[str]
    measures: dict[str, Any] = {}  # by name, for marks of calibration
    rankers: dict[str, Any] = {}  # by the name of the system
    seconds: dict[str, Any] = {}  # of fit, by the name of the system
    references: dict[str, Any] = {}  # values of each measure, by name


def check_reports(args: Namespace, *inputs: str) -> None:
    """Raise if a report has no format, cannot be drawn, or would replace a file that is read."""
    remedy = "--report of a page needs matplotlib: pip install matplotlib, or give another suffix"
    for path in args.report:
        if Path(path).suffix not in REPORTS:
            raise ValueError(f"--report {path}: the suffix must be one of {', '.join(REPORTS)}")
        if Path(path).suffix == ".html":
            check.installed("matplotlib", remedy)
        refuse_overwriting(path, *inputs)


def names_of(paths: list[str], taken: tuple[Any, ...] | dict[str, Any] = ()) -> list[str]:
    """Return the names of files without suffix, or their paths where the names are not unique."""
    stems = [Path(path).stem for path in paths]
    counts = Counter([*stems, *taken])
    return [stem if counts[stem] == 1 else path for stem, path in zip(stems, paths)]


def tested(
    compare: Callable[..., Any], *values: Any, args: Namespace, **policies: Any
) -> tuple[Comparison, list[str]]:
    """Compare values or scores, and return the warnings of the library as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        policies |= {"baseline": args.baseline, "test": args.test, "pairs": args.pairs}
        comparison = compare(*values, **policies)
    return comparison, [str(warning.message) for warning in caught]


def references(data: Any, measures: Any, empty: str = "skip") -> dict[str, dict[str, Any]]:
    """Measure equal scores, whose expectation over ties is that of random order, and the labels."""
    policies = {"qid": data.qid, "empty": empty, "average": False}
    ends = {"constant": np.zeros(len(data.y)), "ideal": data.y}
    return {name: evaluate(data.y, scores, measures, **policies) for name, scores in ends.items()}


def report(compared: Compared, args: Namespace) -> str:
    """Return the table and what it says, and write the reports."""
    comparison = compared.comparison
    by_folds = comparison.fold_values is not None
    about = compared.text + _IN_REPORT * by_folds
    for path in args.report:
        with output(path) as file:
            file.write(REPORTS[Path(path).suffix](comparison, about))
    marks = [
        calibration_mark(ranker, measure)
        for ranker in compared.rankers.values()
        for measure in compared.measures.values()
    ]
    return paragraphs(
        f"{compared.text} The table holds mean ± standard error over queries. Higher is better in "
        f"every row.{_ON_SCREEN * by_folds}",
        _table(compared),
        conclusions(comparison),
        _about_test(comparison),
        _differences(comparison),
        _CALIBRATED if any(marks) else "",
        _REFERENCES if compared.references else "",
        ABOUT_JUDGED if comparison.judged_ else "",
        *compared.legends,
        _counts(comparison),
        *compared.notes,
    )


def _about_test(comparison: Comparison) -> str:
    if not comparison.differences:
        return ""
    sample = "queries that count" if comparison.fold_values is None else "folds"
    marks = f"+ and - better and worse than {texts.line(comparison.baseline)}"
    if any(row.other != comparison.baseline for row in comparison.differences):
        marks = "Letters name the systems that a system is better than"
    return (
        f"{marks} at p < .05: {comparison.test_title}, over the {sample}. "
        "Level: the test shows no difference."
    )


def conclusions(comparison: Comparison) -> str:
    """Say which system has the highest mean, and what tests say of it, for the first measures."""
    if not comparison.differences:
        return ""
    return " ".join(_conclusion(comparison, m) for m in comparison.measures[:_FEW_MEASURES])


def _conclusion(comparison: Comparison, measure: str) -> str:
    values = comparison.values[:, comparison.measures.index(measure)]
    # Those of the table on the screen, and not those of folds.
    means = np.array([summary(of_system)[0] for of_system in values])
    is_best = np.isclose(means, np.fmax.reduce(means), rtol=1e-12, atol=0)
    best = [name for name, of_name in zip(comparison.systems, is_best) if of_name]
    if is_best.all():
        return f"All systems have the same {measure}."
    if not best:
        return ""
    tested: dict[str, dict[str, float]] = {}
    for row in comparison.differences:
        others = {row.system, row.other} - set(best)
        if row.measure == measure and len(others) == 1 and not np.isnan(row.p_adjusted):
            (other,) = others
            # Means of folds, or over queries on which both are defined, may be in another order.
            is_lower = (row.difference < 0) == (row.system == other)
            sign = "behind" if is_lower else "ahead by the test"
            is_level = row.p_adjusted >= 1 - comparison.confidence_level
            tested.setdefault(_LEVEL if is_level else sign, {})[other] = row.p_adjusted
    head = f"{_joined(best)} {'has' if len(best) == 1 else 'have'} the highest {measure}"
    found = [head, ", ".join(_verdict(how, p) for how, p in tested.items())]
    pairs = ({row.system, row.other} for row in comparison.differences)
    met = set(best).union(*(pair for pair in pairs if pair & {*best}))
    others = [name for name in comparison.systems if name not in met]
    if others:
        found.append(f"no test compares {_joined(best)} with {_joined(others)} (--pairs all does)")
    return texts.line("; ".join(filter(None, found))) + "."


def _verdict(how: str, p: dict[str, float]) -> str:
    """Say how systems, with their p-values, are to the highest."""
    extreme, sign = (min, ">=") if how == _LEVEL else (max, "<=")
    bound = _p(extreme(p.values()))
    if len(p) > 1:
        bound = bound.replace("=", sign)
    return f"{_joined(list(p))} {'is' if len(p) == 1 else 'are'} {how} ({bound})"


def _joined(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _differences(comparison: Comparison) -> str:
    """Return a line for each tested difference, of all measures if they are few."""
    if not comparison.differences:
        return ""
    names = comparison.measures
    shown = names if len(names) <= _FEW_MEASURES else names[:1]
    lines = [
        f"{texts.line(name)}, {texts.line(row.system)} - {texts.line(row.other)}: "
        f"{_number(row.difference, 3)} [{_number(row.low, 3)}, {_number(row.high, 3)}], "
        f"{_p(row.p_adjusted)}"
        for name in shown
        for row in comparison.differences
        if row.measure == name
    ]
    unit = "queries" if comparison.fold_values is None else "folds"
    level = f"{100 * comparison.confidence_level:g} %"
    which = are_corrected(comparison.differences)
    corrected = " (not corrected) and p (corrected)" if which else ""
    head = f"Differences with {level} intervals over {unit}{corrected}:"
    rest = ["Those of the other measures are in a --report."] if len(shown) < len(names) else []
    return "\n".join([head, *lines, *rest])


def _table(compared: Compared) -> str:
    """Return a table of measures by systems; marks of calibration and of the test are in it."""
    comparison = compared.comparison
    heads, signs = names_and_marks(comparison)
    rows = dict(zip(comparison.systems, comparison.values))
    rows |= {name: list(values.values()) for name, values in compared.references.items()}
    more = {"fit seconds": compared.seconds} if compared.seconds else {}
    columns = {}
    for name, values in rows.items():
        marks = [
            calibration_mark(compared.rankers.get(name), compared.measures.get(measure))
            + signs.get((name, measure), "")
            for measure in comparison.measures
        ]
        cells = [Cell(_estimate(*summary(v)), marks=mark) for v, mark in zip(values, marks)]
        cells += [Cell(f"{of[name]:#.3g}" if name in of else "") for of in more.values()]
        shares = of_systems(comparison).values()
        columns[heads.get(name, name)] = cells + [
            Cell(_estimate(of[name], np.nan)) for of in shares
        ]
    names = [*comparison.measures, *more, *of_systems(comparison)]
    return Table.of_columns(names, columns).to_text(width())


def summary(values: Floats) -> tuple[float, float]:
    """Return mean and standard error over the queries that count; NaN where there are too few."""
    moments = Moments.of(values[None])
    return moments.mean[0], moments.error(0.0)[0]


def _estimate(mean: float, error: float) -> str:
    """Format mean and standard error, to three significant digits of the mean."""
    if np.isnan(mean):
        return "-"
    decimals = next((d for d, bound in ((3, 1.0005), (2, 10), (1, 100)) if abs(mean) < bound), 0)
    spread = "" if np.isnan(error) else _number(error, decimals)
    return _number(mean, decimals) + (f"±{spread}" if float(spread or 0) else "")


def _number(value: float, decimals: int) -> str:
    """Format a number without the zero before the point and the sign of zero."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{round(float(value), decimals) + 0.0:.{decimals}f}")


def _p(p: float) -> str:
    return p_text(p).replace("0.", ".")


def _counts(comparison: Comparison) -> str:
    """Say on how many queries each measure is defined for the first system."""
    n_queries = comparison.values.shape[-1]
    by_count: dict[int, list[str]] = {}
    for name, values in zip(comparison.measures, comparison.values[0]):
        by_count.setdefault(int((~np.isnan(values)).sum()), []).append(name)
    on_all = by_count.pop(n_queries, [])
    if not by_count:
        return f"All {n_queries} queries count."
    counts = [f"{n} of {n_queries} for {', '.join(names)}" for n, names in by_count.items()]
    rest = f"; all {n_queries} for {', '.join(on_all)}" if on_all else ""
    return (
        f"Queries that count: {'; '.join(counts)} (on the other queries the measure is 0/0){rest}."
    )


def _page(comparison: Comparison, text: str) -> str:
    """Return the page."""
    elements = [
        f"<h1>{texts.html(' and '.join(comparison.measures))}</h1>",
        f"<p>{texts.html(text)}</p>",
        _tables(comparison, comparison.to_html),
        *(_plots(comparison, measure) for measure in comparison.measures),
        "<h2>All numbers</h2>",
        _numbers(comparison),
        f"<p><small>skcalrank {__version__}</small></p>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Comparison of {len(comparison.systems)} systems</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(elements) + "\n</body>\n</html>\n"
    )


def _tables(comparison: Comparison, write: Callable[..., str]) -> str:
    """Return the table of means, and that of differences if there are any."""
    names = ["means", "differences"] if comparison.differences else ["means"]
    return "\n\n".join(write(table=name) for name in names)


def _plots(comparison: Comparison, measure: str) -> str:
    """Return the plots by one measure: means, differences, and differences query by query."""
    others = [system for system in comparison.systems if system != comparison.baseline]
    height = 1.2 + 0.35 * len(comparison.systems)
    plots = [_svg(comparison, (6, height), measure, kind="means")]
    if others:
        plots.append(_svg(comparison, (6, height), measure, kind="differences"))
    for system in others[:_MOST_SYSTEMS]:
        plots.append(_svg(comparison, (6, 3), measure, kind="queries", system=system))
    return f"<h2>{texts.html(measure)}</h2>\n" + "\n".join(plots)


def _svg(comparison: Comparison, size: tuple[int, float], measure: str, **which: str) -> str:
    """Return a plot as an element of the page."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    text = io.StringIO()
    # Text is written as text, and the same numbers give the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": f"{measure} {which}"}):
        figure = Figure(figsize=size, layout="constrained")
        comparison.plot(measure, ax=figure.add_subplot(), **which)
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _numbers(comparison: Comparison) -> str:
    """Return the frame of the comparison as a table."""
    heads, *rows = numbers_of(comparison)
    return Table(heads, [(name, list(map(_short, cells))) for name, *cells in rows]).to_html()


def _short(value: str | float | None) -> Cell:
    if value is None or value != value:
        return Cell("")
    return Cell(f"{value:.4g}" if isinstance(value, float) else str(value))


#: How a report is written, by the suffix of its file.
REPORTS: dict[str, Callable[..., str]] = {
    ".html": _page,
    ".csv": lambda comparison, _: comparison.to_csv(),
    ".md": lambda comparison, _: _tables(comparison, comparison.to_markdown) + "\n",
    ".tex": lambda comparison, _: _tables(comparison, comparison.to_latex) + "\n",
}
