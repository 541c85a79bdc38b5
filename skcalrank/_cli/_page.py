"""A comparison as one page of HTML, with plots."""

from __future__ import annotations

import csv
import html
import io

from .._version import __version__

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


def require_matplotlib():
    """Raise if matplotlib is not installed, which draws the plots of a page."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "--report of a page needs matplotlib: pip install matplotlib, or give another suffix"
        ) from error


def page(comparison, text) -> str:
    """Return the page."""
    parts = [
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
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
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
