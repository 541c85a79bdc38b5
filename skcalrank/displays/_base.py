"""What displays share: constructors that plot, axes, styled artists, names of measures."""

from __future__ import annotations

import functools
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..measures import Measure

__all__ = [
    *("Display", "draw_at_lower_end", "draw_band", "draw_line", "drawn"),
    *("check_regret", "measure_label", "styled"),
]


def check_matplotlib_support(caller: str) -> None:
    """Raise ImportError, with the remedy, where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib: install it with `pip install skcalrank[plot]`."
        ) from error


def drawn(plot, *, without=()):
    """Return a decorator of constructors: the display is drawn as soon as it is made.

    The constructor takes what its arrays are computed from, and returns the display. The parameters
    of `plot` are added to its signature, except those in `without`, and are passed to `plot`. A
    `name` that the constructor declares itself is passed to the constructor.
    """
    shared = [p for p in signature(plot).parameters.values() if p.name not in ("self", *without)]

    def decorate(make):
        own = signature(make).parameters
        passed_on = {p.name for p in shared} - set(own)

        @functools.wraps(make)
        def make_and_plot(cls, *args, **options):
            check_matplotlib_support(f"{cls.__name__}.{make.__name__}")
            style = {name: options.pop(name) for name in passed_on & set(options)}
            return make(cls, *args, **options).plot(**style)

        first = [p for p in own.values() if p.name != "name"]
        last = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in shared]
        make_and_plot.__signature__ = signature(make).replace(parameters=first + last)
        return make_and_plot

    return decorate


class Display:
    """Arrays first, pictures later."""

    ax_: Any
    figure_: Any

    def _open(self, ax):
        """Return the axes to draw on: `ax`, or new ones."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def styled(artist: type, given: dict | None, **defaults) -> dict:
    """Style of an artist: what was given, under whatever alias, before the defaults."""
    from matplotlib.cbook import normalize_kwargs

    return defaults | normalize_kwargs(given or {}, artist)


def draw_line(ax, x, y, given, **defaults):
    """Draw a line."""
    from matplotlib.lines import Line2D

    (line,) = ax.plot(x, y, **styled(Line2D, given, **defaults))
    return line


def draw_band(line, low, high, given, **defaults):
    """Shade the area between two edges around a line, in the color of the line."""
    from matplotlib.collections import PolyCollection

    style = styled(PolyCollection, given, color=line.get_color(), linewidth=0, **defaults)
    return line.axes.fill_between(line.get_xdata(), low, high, **style)


def draw_at_lower_end(ax, x, marker, color):
    """Draw markers at the lower end of the vertical axis, for values that a log scale lacks."""
    lower_end = {"transform": ax.get_xaxis_transform(), "clip_on": False}
    (markers,) = ax.plot(x, 0.0 * x, marker, color=color, **lower_end)
    return markers


def measure_label(measure) -> str:
    """What axes call a measure: its name, with the cutoff."""
    if not isinstance(measure, Measure):
        return str(measure)
    k = getattr(measure, "k", None)
    return measure.name if k is None else f"{measure.name}@{k}"


def check_regret(values, name: str, rounding: float = 1e-12) -> np.ndarray:
    """Finite regrets; what differs from 0 by rounding only is 0."""
    values = check_array(np.asarray(values), ensure_2d=False, dtype=np.float64, input_name=name)
    scale = max(1.0, values.max())
    if values.min() < -1e-9 * scale:
        raise ValueError(f"{name} holds {values.min():g}: a regret is not negative.")
    return np.where(values > rounding * scale, values, 0.0)
