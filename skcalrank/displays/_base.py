"""Shared code of displays: axes, names, styled artists."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..columns import texts
from ..data import check


class Display:
    """Base class of displays, which store arrays and plot them on request."""

    name: str | None

    @classmethod
    def _check_support(cls, method: str) -> None:
        """Raise an ImportError with the remedy if matplotlib is not installed."""
        remedy = "requires matplotlib: install it with `pip install skcalrank[plot]`."
        check.installed("matplotlib", f"{cls.__name__}.{method} {remedy}")

    def _open(self, ax: Any, values: Iterable[Any], *titles: str | None) -> Any:
        """Return the axes to plot on, `ax` or new ones, and store them.

        Their title is the first that is not None. Raise a ValueError if no number of the arrays to
        draw is finite.
        """
        self._check_support("plot")
        import matplotlib.pyplot as plt

        if not any(np.isfinite(of).any() for of in values):
            kind = type(self).__name__
            raise ValueError(f"{kind} must have a finite value to draw, got none: pass other rows.")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        for title in [title for title in titles if title is not None][:1]:
            ax.set_title(title)
        return ax


def literal(name: Any) -> str:
    """Return a name to draw as it is, although matplotlib reads mathematics between dollars."""
    from matplotlib import rcParams

    text = texts.latex(name) if rcParams["text.usetex"] else texts.line(name).replace("$", r"\$")
    # Legends leave out what begins with an underscore.
    return f" {text}" if text.startswith("_") else text


def styled(artist: type, style: dict[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """Return a style of an artist, with aliases resolved, over the defaults."""
    from matplotlib.cbook import normalize_kwargs

    return defaults | normalize_kwargs(style or {}, artist)


def draw_intervals(
    display: Any,
    names: list[str],
    value: Any,
    point_kwargs: dict[str, Any] | None,
    interval_kwargs: dict[str, Any] | None,
) -> tuple[Any, Any]:
    """Return new points and intervals of a display, from top to bottom, with a name for each."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    ax, place = display.ax_, np.arange(len(names))
    points = styled(Line2D, point_kwargs, marker="o", linestyle="none", color="C0")
    (drawn,) = ax.plot(value, place, **points)
    known = np.isfinite(display.low) & np.isfinite(display.high)
    ends = place[known], np.asarray(display.low)[known], np.asarray(display.high)[known]
    intervals = ax.hlines(*ends, **styled(LineCollection, interval_kwargs, color=drawn.get_color()))
    if display.interval_name is not None:
        name_band(ax, intervals, display.interval_name)
    ax.set(yticks=place, yticklabels=list(map(literal, names)))
    ax.set_ylim(len(names) - 0.5, -0.5)
    return drawn, intervals


def name_band(ax: Any, band: Any, text: str) -> None:
    """Name a band, or intervals, in the legend, once for all bands of the axes with this name."""
    if band.get_label().startswith("_") and text not in ax.get_legend_handles_labels()[1]:
        band.set_label(text)
    ax.legend()


def spanned(counts: Any) -> str:
    """Return the smallest and the largest count, or the only one."""
    return " to ".join(map(str, sorted({int(np.min(counts)), int(np.max(counts))})))


def draw_line(ax: Any, x: Any, y: Any, style: dict[str, Any] | None, **defaults: Any) -> Any:
    """Return a new line through the points."""
    from matplotlib.lines import Line2D

    (line,) = ax.plot(x, y, **styled(Line2D, style, **defaults))
    return line
