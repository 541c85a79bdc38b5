"""What displays share: axes, style, names of measures."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..measures import Measure

__all__ = ["Display", "check_matplotlib_support", "check_regret", "measure_label", "styled"]


def check_matplotlib_support(caller: str) -> None:
    """Raise ImportError, with the remedy, where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib: install it with `pip install skcalrank[plot]`."
        ) from error


class Display:
    """Arrays first, pictures later."""

    ax_: Any
    figure_: Any

    def _open(self, ax):
        """The axes to draw on: those given, or new ones."""
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
