"""Shared code of displays: constructors that plot, axes, names, styled artists."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from ..data import check, texts

Shown = TypeVar("Shown")


def check_matplotlib_support(caller: str) -> None:
    """Raise an ImportError with the remedy if matplotlib is not installed."""
    remedy = f"{caller} requires matplotlib: install it with `pip install skcalrank[plot]`."
    check.installed("matplotlib", remedy)


def drawn(
    plot: Callable[..., Any], *, options_of: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Return a decorator for constructors of displays that also plots the new display.

    The signature of the constructor gains the parameters of `plot`, which are passed to `plot`. A
    `name` that the constructor declares itself is passed to the constructor. If the constructor
    takes ``**options``, the signature lists the keyword-only parameters of `options_of` in their
    place.
    """

    def decorate(make: Callable[..., Any]) -> Any:
        made_of = signature(make).parameters
        public = _public_signature(make, options_of, plot)
        to_plot = signature(plot).parameters.keys() - made_of.keys()

        @functools.wraps(make)
        def make_and_plot(cls: type[Any], *args: Any, **options: Any) -> Display:
            public.bind(cls, *args, **options)
            check_matplotlib_support(f"{cls.__name__}.{make.__name__}")
            style = {name: options.pop(name) for name in to_plot & options.keys()}
            display = make(cls, *args, **options)
            if style.get("name") is not None and hasattr(display, "name"):
                display.name = style.pop("name")
            return display.plot(**style)

        constructor: Any = make_and_plot
        constructor.__signature__ = public
        return constructor

    return decorate


def _public_signature(make: Any, options_of: Any, plot: Any) -> Any:
    """Return the signature of a constructor with the parameters of `options_of` and `plot`."""
    whole, options = signature(make), signature(options_of).parameters if options_of else {}
    style = {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in signature(plot).parameters.items()}
    public = {name: p for name, p in whole.parameters.items() if p.kind is not p.VAR_KEYWORD}
    public |= {name: p for name, p in options.items() if p.kind is p.KEYWORD_ONLY}
    public |= {name: p for name, p in style.items() if name != "self"}
    return whole.replace(parameters=list(public.values()))


class Display:
    """Base class of displays, which store arrays and plot them on request."""

    ax_: Any
    figure_: Any

    def _open(self, ax: Any, values: Iterable[Any], title: str | None = None) -> Any:
        """Return the axes to plot on, `ax` or new ones, and store them.

        Set their title, if there is one. Raise a ValueError if no number of the arrays to draw is
        finite.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if not any(np.isfinite(of).any() for of in values):
            kind = type(self).__name__
            raise ValueError(f"{kind} must have a finite value to draw, got none: pass other rows.")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        if title is not None:
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
