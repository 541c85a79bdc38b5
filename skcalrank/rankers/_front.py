"""Values of several measures for many mixes of labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats

# Largest number of mixes on a grid.
_MOST = 20_000


@dataclass(frozen=True, eq=False)
class Front:
    """Values of several measures for many mixes of labels.

    Attributes
    ----------
    weights : ndarray of shape (n_mixes, n_labels)
        Weight of each label in each mix; the weights of a mix sum to 1.
    values : ndarray of shape (n_mixes, n_axes)
        Value of each measure for each mix, higher is better.
    label_names : list of str
        Names of the labels.
    axes : list of str
        Names of the measures.
    efficient : ndarray of bool of shape (n_mixes,)
        Whether a mix is on the Pareto front: no other mix is as good in every measure and better in
        one.

    See Also
    --------
    skcalrank.MultiLabelRanker.front : Method that returns a front.
    """

    weights: Floats
    values: Floats
    label_names: list[str]
    axes: list[str]
    efficient: Bools

    def choose(
        self,
        best: str,
        *,
        lose: Mapping[str, float] | None = None,
        least: Mapping[str, float] | None = None,
    ) -> int:
        """Return the number of the mix that is best in one measure under constraints on others.

        Parameters
        ----------
        best : str
            Name of the measure.
        lose : dict, default=None
            Largest share of the best value that may be lost, by name of the measure: .01 is one
            percent.
        least : dict, default=None
            Smallest value, by name of the measure.

        Returns
        -------
        number : int
            Row of `weights`.

        Raises
        ------
        ValueError
            If a measure is unknown or undefined, or no mix meets the constraints.
        """
        bounds = [(name, value) for name, value in (least or {}).items()]
        for name, share in (lose or {}).items():
            top = self._column(name).max()
            bounds.append((name, top - share * abs(top)))
        allowed = np.ones(len(self.values), dtype=bool)
        for name, bound in bounds:
            allowed &= self._column(name) >= bound
        if not allowed.any():
            raise ValueError(
                f"lose={lose!r} and least={least!r} must be met by some mix, and none does: relax "
                "them, or pass more mixes."
            )
        values = np.where(allowed, self._column(best), -np.inf)
        # Among equally good mixes, one with the largest sum over all measures.
        ties = np.flatnonzero(values == values.max())
        return int(ties[np.argmax(np.nansum(self.values[ties], axis=1))])

    def _column(self, name: str) -> Floats:
        """Return the values of a measure, or raise if it is unknown or has none."""
        if name not in self.axes:
            raise ValueError(f"measure must be one of {', '.join(self.axes)}, got {name!r}.")
        values = self.values[:, self.axes.index(name)]
        if np.isnan(values).any():
            raise ValueError(
                f"measure must be defined on some query of the front, got {name!r}: choose another."
            )
        return values

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with weights, values, and whether a mix is efficient."""
        import pandas as pd

        weights = pd.DataFrame(self.weights, columns=self.label_names)
        values = pd.DataFrame(self.values, columns=self.axes)
        table = pd.concat({"weight": weights, "value": values}, axis=1)
        table[("efficient", "")] = self.efficient
        return table


def efficient_rows(values: Floats) -> Bools:
    """Return the rows to which no other row is equal or better in all columns and better in one.

    Columns of measures that are undefined (NaN) do not count.
    """
    values, efficient = np.nan_to_num(values), np.ones(len(values), dtype=bool)
    for number, row in enumerate(values):
        efficient[number] = not ((values >= row).all(axis=1) & (values > row).any(axis=1)).any()
    return efficient


def mixes_of(mixes: Any, n_labels: int) -> Floats:
    """Return mixes as rows: the given ones, or all mixes on a grid of the given number of steps."""
    if not isinstance(mixes, Integral) or isinstance(mixes, bool):
        return arrays.checked(mixes, "mixes")
    steps = int(mixes)
    bars = combinations(range(steps + n_labels - 1), n_labels - 1)
    rows: list[Floats] = []
    for bar in bars:
        if len(rows) == _MOST:
            raise ValueError(
                f"mixes must give at most {_MOST:,} mixes, got {mixes} steps of {n_labels} labels: "
                "pass fewer steps, such as mixes=10."
            )
        rows.append(np.diff((-1, *bar, steps + n_labels - 1)) - 1.0)
    if steps < 1:
        raise ValueError(f"mixes must be a number of steps >= 1, or an array, got {mixes!r}.")
    return np.array(rows)[::-1] / steps
