"""What displays share: constructors that plot, axes, styled artists, names of measures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from ..data import checked_array

Shown = TypeVar("Shown")


def check_matplotlib_support(caller: str) -> None:
    """Raise ImportError, with the remedy, where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib: install it with `pip install skcalrank[plot]`."
        ) from error


def drawn(
    plot: Callable[..., Any],
    *,
    options_of: Callable[..., Any] | None = None,
    without: Collection[str] = (),
) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Return a decorator of constructors: the display is drawn as soon as it is made.

    The constructor takes what its arrays are computed from, and returns the display. Its signature
    gains the parameters of `plot`, except those in `without`, and they are passed to `plot`; a
    `name` that the constructor declares itself is passed to the constructor. Where it takes
    ``**options``, the signature names them: the keyword-only parameters of `options_of`.
    """

    def decorate(make):
        own = signature(make).parameters
        public = _public_signature(make, options_of, plot, without)
        to_plot = signature(plot).parameters.keys() - own.keys()

        @functools.wraps(make)
        def make_and_plot(cls, *args, **given):
            public.bind(cls, *args, **given)
            check_matplotlib_support(f"{cls.__name__}.{make.__name__}")
            style = {name: given.pop(name) for name in to_plot & given.keys()}
            return make(cls, *args, **given).plot(**style)

        make_and_plot.__signature__ = public
        return make_and_plot

    return decorate


def _public_signature(make, options_of, plot, without):
    """Return the signature of a constructor, with the options of others."""
    own, options = signature(make), signature(options_of).parameters if options_of else {}
    style = {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in signature(plot).parameters.items()}
    named = {name: p for name, p in own.parameters.items() if p.kind is not p.VAR_KEYWORD}
    named |= {name: p for name, p in options.items() if p.kind is p.KEYWORD_ONLY}
    # The parameters of plot stay together, its name among them.
    kept = {name: p for name, p in named.items() if name != "name"}
    kept |= {name: p for name, p in style.items() if name not in ("self", *without)}
    return own.replace(parameters=list(kept.values()))


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


def draw_zeros(ax, x, marker, color):
    """Draw a marker for each zero at the lower end of the vertical axis: a log scale has none."""
    lower_end = {"transform": ax.get_xaxis_transform(), "clip_on": False}
    (markers,) = ax.plot(x, 0.0 * x, marker, color=color, **lower_end)
    return markers


def measure_label(measure) -> str:
    """Return what axes call a measure: its name, with the cutoff."""
    return str(getattr(measure, "full_name", measure))


def check_regret(values, name: str, rounding: float = 1e-12) -> np.ndarray:
    """Finite regrets; what differs from 0 by rounding only is 0."""
    values = checked_array(values, name, ensure_2d=False)
    scale = max(1.0, values.max())
    if values.min() < -1e-9 * scale:
        raise ValueError(f"{name} holds {values.min():g}: a regret is not negative.")
    return np.where(values > rounding * scale, values, 0.0)
