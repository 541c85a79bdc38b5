"""Plot of a calibration function: the smallest surrogate regret for a target regret."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..calibration import LabelDistribution, calibration_function
from ..data import check
from ..data.types import ArrayLike, Floats
from ..losses import Loss
from ..measures import Measure, get_measure
from ..preds import Pred
from ._base import Display, draw_line, drawn, literal, measure_label, paired_regrets


@dataclass(kw_only=True, eq=False, repr=False)
class CalibrationFunctionDisplay(Display):
    """Plot of the calibration function of a surrogate.

    The calibration function is the smallest surrogate regret of all predictions with at least a
    given target regret. A surrogate is calibrated if it is positive for every positive target
    regret. Use :meth:`from_surrogate` or :meth:`from_values` to make a display.

    Parameters
    ----------
    target_regret : ndarray of shape (n_points,)
        Target regrets, increasing.
    surrogate_regret : ndarray of shape (n_points,)
        Smallest surrogate regret for each target regret.
    name : str, default=None
        Name of the curve in the legend. If None, it has no entry.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    level_ : matplotlib Line2D or None
        Dotted line at `level`; None for a surrogate that is calibrated.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.calibration.calibration_function : The values.
    RegretBoundDisplay : The bound on the target regret.

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
        """Largest plotted target regret with surrogate regret 0."""
        return float(self.target_regret[self.surrogate_regret == 0].max(initial=0.0))

    def plot(
        self, ax: Any = None, *, name: str | None = None, line_kwargs: dict[str, Any] | None = None
    ) -> CalibrationFunctionDisplay:
        """Plot the curve, and a dotted line at `level` if it is positive.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`.
        line_kwargs : dict, default=None
            Style of the curve, for matplotlib's ``plot``.

        Returns
        -------
        display : CalibrationFunctionDisplay
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
        cls, target_regret: ArrayLike, surrogate_regret: ArrayLike
    ) -> CalibrationFunctionDisplay:
        """Plot given values.

        Parameters
        ----------
        target_regret, surrogate_regret : array-like of shape (n_points,)
            As in :class:`CalibrationFunctionDisplay`, in any order.
        ax, name, line_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : CalibrationFunctionDisplay

        Raises
        ------
        ValueError
            If the arrays differ in length, hold negative or infinite values, or are empty.
        """
        return cls(**_sorted(target_regret, surrogate_regret))

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
    ) -> CalibrationFunctionDisplay:
        """Plot the calibration function of a surrogate with a prediction map.

        Parameters
        ----------
        surrogate, pred, measure, r
            As in :func:`skcalrank.calibration.calibration_function`.
        largest : float, default=None
            Largest target regret of the plot. If None, half of the largest possible one.
        n_points : int, default=41
            Number of target regrets, from 0.
        name : str, default=None
            Name of the curve in the legend. If None, surrogate, map and measure.
        ax, line_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : CalibrationFunctionDisplay

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
        check.count("n_points", n_points, least=2)
        top = _largest(measure, r) / 2 if largest is None else largest
        eps = np.linspace(0, top, n_points)
        h: Any = calibration_function(surrogate, pred, measure, r, eps)
        possible = np.isfinite(h)
        of_loss = surrogate if isinstance(surrogate, str) else surrogate.name
        name = literal(f"{of_loss}, {getattr(pred, 'name', pred)}, {measure_label(measure)}")
        return cls(**_sorted(eps[possible], h[possible]), name=name)


def _largest(measure: Any, r: int) -> float:
    """Return the largest target regret, which the worst order of certain labels has."""
    labels: Iterable[Any] = (
        [np.tri(r, r, -1)] if measure.reads_preferences else product((0, 1), repeat=r)
    )
    return max(float(np.ptp(LabelDistribution([y]).order_values(measure))) for y in labels)


def _sorted(target: Any, surrogate: Any) -> dict[str, Any]:
    """Return valid regrets, sorted by the first, as parameters of a display."""
    regrets = paired_regrets(target_regret=target, surrogate_regret=surrogate)
    order = np.argsort(regrets["target_regret"])
    return {name: values[order] for name, values in regrets.items()}
