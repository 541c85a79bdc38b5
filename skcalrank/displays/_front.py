"""Plot of the Pareto front of two measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rankers import Front
from ._base import Display, draw_line, drawn, literal


@dataclass(kw_only=True, eq=False, repr=False)
class FrontDisplay(Display):
    """Plot of two measures for many mixes of labels, with the Pareto front.

    Use :meth:`from_front` to make a display.

    Parameters
    ----------
    front : Front
        Returned by :meth:`skcalrank.MultiLabelRanker.front`.
    x, y : str
        Names of the measures on the axes.
    name : str, default=None
        Title of the axes. If None, there is no title.

    Attributes
    ----------
    mixes_ : matplotlib Line2D
        One point for each mix.
    line_ : matplotlib Line2D
        Line through the efficient mixes.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.MultiLabelRanker : Ranker of several labels.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skcalrank import MultiLabelRanker, MultiLabelTarget
    >>> from skcalrank.displays import FrontDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    >>> y = MultiLabelTarget(X[:, :2] > 0.5, qid, names=["relevance", "margin"])
    >>> front = MultiLabelRanker().fit(X, y).front(X, y, mixes=20)
    >>> display = FrontDisplay.from_front(front)
    >>> display.ax_.get_xlabel()
    'relevance'
    >>> plt.show()
    """

    front: Front
    x: str
    y: str
    name: str | None = None

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        mixes_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> FrontDisplay:
        """Plot the mixes and the front.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        mixes_kwargs, line_kwargs : dict, default=None
            Style of the points and of the line through the efficient mixes, for matplotlib's
            ``plot``.

        Returns
        -------
        display : FrontDisplay
        """
        ax = self._open(ax)
        places = [self.front.axes.index(axis) for axis in (self.x, self.y)]
        points = self.front.values[:, places]
        best = points[self.front.efficient]
        best = best[np.argsort(best[:, 0], kind="stable")]
        dots = {"linestyle": "", "marker": ".", "color": "0.7", "label": "mixes"}
        self.mixes_ = draw_line(ax, points[:, 0], points[:, 1], mixes_kwargs, **dots)
        dots = {"marker": "o", "markersize": 3, "label": "Pareto front"}
        self.line_ = draw_line(ax, best[:, 0], best[:, 1], line_kwargs, **dots)
        ax.set(xlabel=literal(self.x), ylabel=literal(self.y))
        name = self.name if name is None else name
        if name is not None:
            ax.set_title(name)
        ax.legend()
        return self

    @classmethod
    @drawn(plot)
    def from_front(cls, front: Front, x: str | None = None, y: str | None = None) -> FrontDisplay:
        """Plot two measures of a front.

        Parameters
        ----------
        front : Front
            Returned by :meth:`skcalrank.MultiLabelRanker.front`.
        x, y : str, default=None
            Names of the measures. If None, the first and the second.
        ax, name, mixes_kwargs, line_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : FrontDisplay

        Raises
        ------
        ValueError
            If a measure is unknown, or the front has only one.
        """
        if len(front.axes) < 2:
            raise ValueError(f"front must have at least two measures, got {front.axes[0]!r} only.")
        x, y = front.axes[0] if x is None else x, front.axes[1] if y is None else y
        for axis in (x, y):
            if axis not in front.axes:
                raise ValueError(f"x and y must be among {', '.join(front.axes)}, got {axis!r}.")
        return cls(front=front, x=x, y=y)
