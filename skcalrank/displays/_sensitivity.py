"""Plot of an offline estimate against the strength of position bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..data.types import Floats
from ._base import Display, draw_band, draw_line, drawn, literal


@dataclass(kw_only=True, eq=False, repr=False)
class PropensitySensitivityDisplay(Display):
    """Plot of the estimated value of a ranking, if position bias were weaker or stronger.

    Use :meth:`from_sensitivity` to make a display. Where the curve of the candidate crosses that of
    the lists as shown, the log cannot tell which is better without better propensities.

    Parameters
    ----------
    exponent : ndarray of shape (n_exponents,)
        Powers that the propensities were raised to; 1 is as assumed.
    value, low, high : ndarray of shape (n_exponents,)
        Estimated value of the candidate, and both ends of its interval.
    shown : ndarray of shape (n_exponents,), default=None
        Estimated value of the lists as shown. If None, it is not plotted.
    name : str, default=None
        Name of the curve in the legend.

    Attributes
    ----------
    line_, shown_ : matplotlib Line2D
        The curves of the candidate and of the lists as shown (or None).
    band_ : matplotlib PolyCollection
        The intervals.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.evaluation.propensity_sensitivity : The values.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skcalrank import sample_sessions
    >>> from skcalrank.displays import PropensitySensitivityDisplay
    >>> from skcalrank.evaluation import propensity_sensitivity
    >>> p, qid, theta = np.tile([0.1, 0.2, 0.6], 500), np.repeat(np.arange(500), 3), [1, 0.5, 0.3]
    >>> y = sample_sessions(
    ...     p, qid, n_sessions=5000, model="position", propensity=theta, random_state=0)
    >>> values = propensity_sensitivity(p, y, propensity=theta)
    >>> display = PropensitySensitivityDisplay.from_sensitivity(values, name="by relevance")
    >>> bool((display.low > display.shown).all())
    True
    >>> plt.show()
    """

    exponent: Floats
    value: Floats
    low: Floats
    high: Floats
    shown: Floats | None = None
    name: str | None = None

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        band_kwargs: dict[str, Any] | None = None,
        shown_kwargs: dict[str, Any] | None = None,
    ) -> PropensitySensitivityDisplay:
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on. If None, new axes are made.
        name : str, default=None
            Name of the curve in the legend. If None, the name of the display.
        curve_kwargs : dict, default=None
            Style of the curve, for matplotlib's ``plot``.
        band_kwargs : dict, default=None
            Style of the band, for matplotlib's ``fill_between``.
        shown_kwargs : dict, default=None
            Style of the curve of the lists as shown, for matplotlib's ``plot``.

        Returns
        -------
        display : PropensitySensitivityDisplay
        """
        ax = self._open(ax)
        label = (self.name if name is None else name) or "candidate"
        self.line_ = draw_line(
            ax, self.exponent, self.value, curve_kwargs, label=literal(label), marker="."
        )
        self.band_ = draw_band(self.line_, self.low, self.high, band_kwargs, alpha=0.15)
        self.shown_ = None
        if self.shown is not None:
            style = {"label": "as shown", "color": "0.4", "linestyle": "--"}
            self.shown_ = draw_line(ax, self.exponent, self.shown, shown_kwargs, **style)
        ax.set(xlabel="exponent of the propensities", ylabel="estimated value")
        ax.legend()
        return self

    @classmethod
    @drawn(plot)
    def from_sensitivity(
        cls, sensitivity: Any, *, name: str | None = None
    ) -> PropensitySensitivityDisplay:
        """Plot values for several strengths of position bias.

        Parameters
        ----------
        sensitivity : Sensitivity
            As :func:`skcalrank.evaluation.propensity_sensitivity` returns it.
        name : str, default=None
            Name of the curve in the legend.
        ax, curve_kwargs, band_kwargs, shown_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : PropensitySensitivityDisplay
        """
        exponent, value, low, high, shown = sensitivity
        return cls(exponent=exponent, value=value, low=low, high=high, shown=shown, name=name)
