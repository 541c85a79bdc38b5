"""Shared code of displays: axes, names, styled artists."""

from collections.abc import Iterable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np

from ..columns import texts
from ..columns.types import Axes, Floats, Self
from ..data import check


@dataclass(kw_only=True, eq=False, repr=False)
class Display:
    """Base class of displays, which store arrays and a name, and plot them on request."""

    name: str | None = None

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


@dataclass(kw_only=True, eq=False, repr=False)
class IntervalDisplay(Display):
    """Base class of displays of values with intervals, from top to bottom, with a name for each."""

    #: Attributes of the names and of the values.
    _drawn: ClassVar[tuple[str, str]]
    low: Floats
    high: Floats
    interval_name: str | None = None

    def _label(self, ax: Any) -> None:
        """Name the axis of the values, and draw what is beside them."""
        raise NotImplementedError

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        point_kwargs: dict[str, Any] | None = None,
        interval_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot values and intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on. If None, new axes are made.
        name : str, default=None
            Title. If None, the title of the display.
        point_kwargs : dict, default=None
            Style of the values, for matplotlib's ``plot``.
        interval_kwargs : dict, default=None
            Style of the intervals, for matplotlib's ``hlines``.

        Returns
        -------
        display : ComparisonDisplay or LeaderboardDisplay
        """
        names, value = (getattr(self, attribute) for attribute in self._drawn)
        ax = self._open(ax, [value], name, self.name)
        place = np.arange(len(names))
        points = styled("lines.Line2D", point_kwargs, marker="o", linestyle="none", color="C0")
        (self.points_,) = ax.plot(value, place, **points)
        known = np.isfinite(self.low) & np.isfinite(self.high)
        ends = place[known], np.asarray(self.low)[known], np.asarray(self.high)[known]
        lines = styled(
            "collections.LineCollection", interval_kwargs, color=self.points_.get_color()
        )
        self.intervals_ = ax.hlines(*ends, **lines)
        if self.interval_name is not None:
            name_band(ax, self.intervals_, self.interval_name)
        ax.set(yticks=place, yticklabels=list(map(literal, names)))
        ax.set_ylim(len(names) - 0.5, -0.5)
        self._label(ax)
        return self


def literal(name: Any) -> str:
    """Return a name to draw as it is, although matplotlib reads mathematics between dollars."""
    from matplotlib import rcParams

    text = texts.latex(name) if rcParams["text.usetex"] else texts.line(name).replace("$", r"\$")
    # Legends leave out what begins with an underscore.
    return f" {text}" if text.startswith("_") else text


def styled(artist: str, style: dict[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """Return a style of an artist, such as "lines.Line2D", with aliases resolved, over defaults."""
    from matplotlib.cbook import normalize_kwargs

    return defaults | normalize_kwargs(style or {}, resolve_name(f"matplotlib.{artist}"))


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
    (line,) = ax.plot(x, y, **styled("lines.Line2D", style, **defaults))
    return line
