"""Shared code of displays: constructors that plot, axes, styled artists, names of measures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from ..data import arrays, check, plain, texts
from ..data.types import Array, Floats, Ints

Shown = TypeVar("Shown")


def check_matplotlib_support(caller: str) -> None:
    """Raise an ImportError with the remedy if matplotlib is not installed."""
    remedy = f"{caller} requires matplotlib: install it with `pip install skcalrank[plot]`."
    check.installed("matplotlib", remedy)


def drawn(
    plot: Callable[..., Any],
    *,
    options_of: Callable[..., Any] | None = None,
    without: Collection[str] = (),
) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Return a decorator for constructors of displays that also plots the new display.

    The signature of the constructor gains the parameters of `plot`, except those in `without`; they
    are passed to `plot`. A `name` that the constructor declares itself is passed to the
    constructor. If the constructor takes ``**options``, the signature lists the keyword-only
    parameters of `options_of` in their place.
    """

    def decorate(make: Callable[..., Any]) -> Any:
        made_of = signature(make).parameters
        public = _public_signature(make, options_of, plot, without)
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


def _public_signature(make: Any, options_of: Any, plot: Any, without: Any) -> Any:
    """Return the signature of a constructor with the parameters of `options_of` and `plot`."""
    whole, options = signature(make), signature(options_of).parameters if options_of else {}
    style = {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in signature(plot).parameters.items()}
    public = {name: p for name, p in whole.parameters.items() if p.kind is not p.VAR_KEYWORD}
    public |= {name: p for name, p in options.items() if p.kind is p.KEYWORD_ONLY}
    public |= {name: p for name, p in style.items() if name not in ("self", *without)}
    return whole.replace(parameters=list(public.values()))


class Display:
    """Base class of displays, which store arrays and plot them on request."""

    ax_: Any
    figure_: Any

    def _open(self, ax: Any) -> Any:
        """Return the axes to plot on, `ax` or new ones, and store them."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
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


def draw_line(ax: Any, x: Any, y: Any, style: dict[str, Any] | None, **defaults: Any) -> Any:
    """Return a new line through the points."""
    from matplotlib.lines import Line2D

    (line,) = ax.plot(x, y, **styled(Line2D, style, **defaults))
    return line


def draw_band(line: Any, low: Floats, high: Any, style: Any, **defaults: float) -> Any:
    """Return a new shaded band between two edges, in the color of a line."""
    from matplotlib.collections import PolyCollection

    style = styled(PolyCollection, style, color=line.get_color(), linewidth=0, **defaults)
    return line.axes.fill_between(line.get_xdata(), low, high, **style)


def draw_zeros(ax: Any, x: Array, marker: str, color: Any) -> Any:
    """Return markers at the lower end of a logarithmic axis, which cannot show zeros."""
    lower_end = {"transform": ax.get_xaxis_transform(), "clip_on": False}
    (markers,) = ax.plot(x, 0.0 * x, marker, color=color, **lower_end)
    return markers


def measure_label(measure: Any) -> str:
    """Return the name of a measure, with its cutoff, for axes and legends."""
    return str(getattr(measure, "full_name", measure))


def check_regret(values: Any, name: str, rounding: float = 1e-12) -> np.ndarray:
    """Return finite regrets, in which rounding errors are replaced by 0."""
    values = arrays.checked(values, name, ensure_2d=False)
    scale = max(1.0, values.max())
    if values.min() < -1e-9 * scale:
        raise ValueError(f"{name} must be non-negative regrets, got {values.min():g}.")
    return np.where(values > rounding * scale, values, 0.0)


def paired_regrets(rounding: float = 1e-12, **values: Any) -> dict[str, np.ndarray]:
    """Return valid regrets of the same points, by name; `rounding` is that of the first."""
    (first, a), (second, b) = values.items()
    a, b = check_regret(a, first, rounding).ravel(), check_regret(b, second).ravel()
    if len(a) != len(b):
        raise ValueError(
            f"{first} and {second} must have one value each for every point, got {len(a)} and "
            f"{len(b)} values."
        )
    return {first: a, second: b}


def rows_of_query(query: int | str | None, qid: Any, n_rows: int) -> Ints:
    """Return the rows of a query."""
    queries = check.queries(qid, n_rows)
    number = 0
    if query is not None:
        names = [] if queries.names is None else [plain(name) for name in queries.names]
        if query not in names:
            known = ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)
            raise ValueError(
                f"query must be one of {known or 'qid, which is None'}, got {query!r}."
            )
        number = names.index(query)
    return np.flatnonzero(queries.codes == number)


def item_names_of(item_names: Any, n: int) -> Array:
    """Return names of so many rows or items as an array."""
    names = np.asarray(item_names)
    if names.shape != (n,):
        raise ValueError(f"item_names must have {n} names, got shape {names.shape}.")
    return names
