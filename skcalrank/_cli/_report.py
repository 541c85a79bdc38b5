"""Test whether systems differ, print the comparison, and write it to files, one a page of plots."""

from __future__ import annotations

import csv
import html
import io
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from .._version import __version__
from ..evaluation import Comparison, compare_values
from ._files import output, refuse_overwriting
from ._results import Result, count_line, results_table
from ._text import paragraphs

_BY_FOLDS = " Intervals are over the folds; the command prints standard errors over queries."

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;"
    "color:#222;background:#fff}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}"
    "th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}caption{text-align:left;color:#555}"
    "svg{max-width:100%;height:auto}small{color:#555}"
)

# Number of systems whose differences are plotted query by query, for each measure.
_MOST_SYSTEMS = 6


class Compared(NamedTuple):
    """Systems that were measured, and what is shown beside them without a test."""

    text: str
    measures: dict  # by name; None for measures of runs
    results: list[Result]
    references: list[Result]
    legends: list[str]
    comparison: Comparison | None = None  # where the test is that of cross-validation


def check_reports(args, *inputs):
    """Raise if a report has no format, cannot be drawn, or would replace a file that is read."""
    for path in args.report:
        if Path(path).suffix not in REPORTS:
            raise ValueError(f"--report {path}: the suffix must be one of {', '.join(REPORTS)}")
        if Path(path).suffix == ".html":
            _require_matplotlib()
        refuse_overwriting(path, *inputs)


def names_of(paths, taken=()) -> list[str]:
    """Return the names of files without suffix, or their paths where the names are not unique."""
    stems = [Path(path).stem for path in paths]
    counts = Counter([*stems, *taken])
    return [stem if counts[stem] == 1 else path for stem, path in zip(stems, paths)]


def report(compared, args) -> str:
    """Return the table and what it says, and write the reports."""
    comparison, notes = compared.comparison, []
    if comparison is None:
        comparison, notes = _tested(compared.results, args)
    by_folds = comparison.fold_values is not None
    about = compared.text + _BY_FOLDS * by_folds
    for path in args.report:
        with output(path) as file:
            file.write(REPORTS[Path(path).suffix](comparison, about))
    in_report = " The report holds intervals over the folds." * bool(by_folds and args.report)
    return paragraphs(
        f"{compared.text} The table holds mean ± standard error over queries.{in_report} Higher is "
        "better in every row.",
        results_table(
            compared.results + compared.references, compared.measures, _marks(comparison)
        ),
        _about_test(comparison),
        *compared.legends,
        count_line(compared.results[0]),
        *notes,
    )


def _tested(results, args) -> tuple[Comparison, list[str]]:
    """Compare the values, and return the warnings of the library as notes."""
    values = {result.name: result.values for result in results}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        comparison = compare_values(values, baseline=args.baseline, test=args.test)
    return comparison, [str(warning.message) for warning in caught]


def _marks(comparison) -> dict:
    """Return ``+`` or ``-``, better or worse than the baseline, by system and measure."""
    return {
        (row.system, row.measure): "+" if row.difference > 0 else "-"
        for row in comparison.differences
        if row.p_adjusted < 1 - comparison.confidence_level
    }


def _about_test(comparison) -> str:
    if not comparison.differences:
        return ""
    sample = "queries that count" if comparison.fold_values is None else "folds"
    return (
        f"+ and - better and worse than {comparison.baseline} at p < .05: "
        f"{comparison.test_title}, over the {sample}."
    )


# -- files -------------------------------------------------------------------------


def _require_matplotlib():
    """Raise if matplotlib is not installed, which draws the plots of a page."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "--report of a page needs matplotlib: pip install matplotlib, or give another suffix"
        ) from error


def _page(comparison, text) -> str:
    """Return the page."""
    elements = [
        f"<h1>{html.escape(' and '.join(comparison.measures))}</h1>",
        f"<p>{html.escape(text)}</p>",
        comparison.to_html(),
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


def _plots(comparison, measure) -> str:
    """Return the plots by one measure: means, differences, and differences query by query."""
    others = [system for system in comparison.systems if system != comparison.baseline]
    height = 1.2 + 0.35 * len(comparison.systems)
    plots = [_svg(comparison, (6, height), measure, kind="means")]
    if others:
        plots.append(_svg(comparison, (6, height), measure, kind="differences"))
    for system in others[:_MOST_SYSTEMS]:
        plots.append(_svg(comparison, (6, 3), measure, kind="queries", system=system))
    return f"<h2>{html.escape(measure)}</h2>\n" + "\n".join(plots)


def _svg(comparison, size, measure, **which) -> str:
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


def _numbers(comparison) -> str:
    """Return the frame of the comparison as a table."""
    head, *rows = csv.reader(io.StringIO(comparison.to_csv()))
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = ("".join(f"<td>{html.escape(_short(cell))}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _short(cell) -> str:
    try:
        return f"{float(cell):.4g}" if "." in cell else cell
    except ValueError:
        return cell


#: How a report is written, by the suffix of its file.
REPORTS = {
    ".html": _page,
    ".csv": lambda comparison, _: comparison.to_csv(),
    ".md": lambda comparison, _: comparison.to_markdown() + "\n",
    ".tex": lambda comparison, _: comparison.to_latex() + "\n",
}
