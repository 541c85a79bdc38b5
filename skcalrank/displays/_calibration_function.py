"""How little surrogate regret a target regret can have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..calibration import LabelDistribution, calibration_function
from ..data import ArrayLike, Floats, check_count
from ..losses import Loss
from ..measures import Measure, get_measure
from ..preds import Pred
from ._base import Display, check_regret, draw_line, drawn, measure_label


@dataclass(kw_only=True, eq=False, repr=False)
class CalibrationFunctionDisplay(Display):
    """Smallest surrogate regret against the target regret that it allows.

    Use :meth:`from_surrogate` or :meth:`from_values` to make one.

    Parameters
    ----------
    target_regret : ndarray of shape (n_points,)
        Target regrets, increasing.
    surrogate_regret : ndarray of shape (n_points,)
        Smallest surrogate regret from which each is possible.
    name : str, default=None
        Name of the curve in the legend; None = it has no entry.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    level_ : matplotlib Line2D or None
        Where the curve leaves 0, of a surrogate that is not calibrated.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank.displays import CalibrationFunctionDisplay
    >>> display = CalibrationFunctionDisplay.from_values([0.0, 0.1, 0.2], [0.0, 0.0, 0.02])
    >>> float(display.level)
    0.1
    >>> plt.show()
    """

    target_regret: Floats
    surrogate_regret: Floats
    name: str | None = None

    @property
    def level(self) -> float:
        """Largest target regret drawn that costs no surrogate regret."""
        return float(self.target_regret[self.surrogate_regret == 0].max(initial=0.0))

    def plot(
        self, ax: Any = None, *, name: str | None = None, line_kwargs: dict[str, Any] | None = None
    ) -> CalibrationFunctionDisplay:
        """Draw the curve, and a dotted line where it leaves 0.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`.
        line_kwargs : dict, default=None
            Style of the curve, for matplotlib's ``plot``.
        """
        ax = self._open(ax)
        label = self.name if name is None else name
        x, y = self.target_regret, self.surrogate_regret
        self.line_ = draw_line(ax, x, y, line_kwargs, label=label)
        self.level_ = None
        if self.level > 0:
            color = self.line_.get_color()
            self.level_ = ax.axvline(self.level, color=color, linestyle=":", linewidth=1)
        ax.set(xlabel="target regret", ylabel="smallest surrogate regret")
        if label is not None:
            ax.legend()
        return self

    @classmethod
    @drawn(plot)
    def from_values(
        cls, target_regret: ArrayLike, surrogate_regret: ArrayLike, *, name: str | None = None
    ) -> CalibrationFunctionDisplay:
        """Draw given values.

        Parameters
        ----------
        target_regret, surrogate_regret : array-like of shape (n_points,)
        ax, name, line_kwargs
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If the arrays differ in length, hold negative or infinite values, or none at all.
        """
        return cls(**_values(target_regret, surrogate_regret), name=name)

    @classmethod
    @drawn(plot)
    def from_surrogate(
        cls,
        surrogate: str | Loss,
        pred: str | Pred,
        measure: str | Measure,
        *,
        r: int = 3,
        largest: float | None = None,
        n_points: int = 41,
        name: str | None = None,
    ) -> CalibrationFunctionDisplay:
        """Draw the calibration function of a surrogate with a prediction map.

        Parameters
        ----------
        surrogate, pred, measure, r
            As in :func:`skcalrank.calibration.calibration_function`.
        largest : float, default=None
            Largest target regret; None = half of the largest that there is.
        n_points : int, default=41
            Number of target regrets, from 0.
        name : str, default=None
            Name of the curve in the legend; None = surrogate, map and measure.
        ax, line_kwargs
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            As in :func:`skcalrank.calibration.calibration_function`.

        Examples
        --------
        >>> from skcalrank.displays import CalibrationFunctionDisplay
        >>> display = CalibrationFunctionDisplay.from_surrogate(
        ...     "squared", "sort", "map", n_points=19, largest=0.18
        ... )
        >>> round(display.level, 3)
        0.05
        """
        measure = get_measure(measure)
        check_count("n_points", n_points, least=2)
        top = _largest(measure, r) / 2 if largest is None else largest
        eps = np.linspace(0, top, n_points)
        h: Any = calibration_function(surrogate, pred, measure, r, eps)
        possible = np.isfinite(h)
        if name is None:
            given = surrogate if isinstance(surrogate, str) else surrogate.name
            name = f"{given}, {getattr(pred, 'name', pred)}, {measure_label(measure)}"
        return cls(**_values(eps[possible], h[possible]), name=name)


def _largest(measure, r):
    """Largest target regret: that of the worst order of labels that are certain."""
    labels = [np.tri(r, r, -1)] if measure.reads_preferences else product((0, 1), repeat=r)
    return max(np.ptp(LabelDistribution([y]).order_values(measure)) for y in labels)


def _values(target, surrogate):
    """Return validated values, as the parameters of a display."""
    target = check_regret(target, "target_regret").ravel()
    surrogate = check_regret(surrogate, "surrogate_regret").ravel()
    if len(surrogate) != len(target):
        raise ValueError(
            f"target_regret has {len(target)} values, surrogate_regret {len(surrogate)}: "
            "give both for every point."
        )
    order = np.argsort(target)
    return {"target_regret": target[order], "surrogate_regret": surrogate[order]}
