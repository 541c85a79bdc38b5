"""The linear program over inequalities of orders, with the optional solver highspy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from ..data.types import Floats


class Relaxation:
    """A linear program that goes on from its last basis when rows or bounds change.

    Its rows are inequalities ``-1 <= row @ y <= 1``. Bounds are computed from the multipliers of
    the rows, so that they do not rest on tolerances of the solver.

    Parameters
    ----------
    highspy : module
    gain : ndarray of shape (n_pairs,)
        Net preferences.
    """

    def __init__(self, highspy: Any, gain: Floats) -> None:
        self.highspy, self.gain, n = highspy, gain, len(gain)
        self.model = _silent(highspy)
        self.model.addVars(n, np.full(n, -1.0), np.ones(n))
        self.model.changeColsCost(n, np.arange(n, dtype=np.int32), -gain)
        self.low: Floats = np.full(n, -1.0)
        self.high: Floats = np.ones(n)
        self.rows = csr_matrix((0, n))

    def add(self, rows: csr_matrix) -> None:
        """Add rows."""
        n = rows.shape[0]
        starts, columns = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self.model.addRows(n, -np.ones(n), np.ones(n), rows.nnz, starts, columns, rows.data)
        self.rows = vstack([self.rows, rows], format="csr")

    def restrict(self, low: Floats, high: Floats) -> None:
        """Set the bounds of the numbers of the pairs."""
        columns = np.flatnonzero((low != self.low) | (high != self.high)).astype(np.int32)
        self.low, self.high = low, high
        if len(columns):
            self.model.changeColsBounds(len(columns), columns, low[columns], high[columns])

    def drop_basic(self) -> None:
        """Delete the rows that do not hold the solution."""
        basic = self.highspy.HighsBasisStatus.kBasic
        loose = np.array([s == basic for s in self.model.getBasis().row_status], dtype=bool)
        rows = np.flatnonzero(loose).astype(np.int32)
        if len(rows):
            self.model.deleteRows(len(rows), rows)
            self.rows = self.rows[~loose]

    def solve(self, seconds: float) -> tuple[Any, float]:
        """Return the solution and its bound; None and -inf if there is none, or inf on timeout."""
        if seconds <= 0:
            return None, np.inf
        if seconds < np.inf:
            self.model.setOptionValue("time_limit", self.model.getRunTime() + seconds)
        self.model.run()
        status, known = self.model.getModelStatus(), self.highspy.HighsModelStatus
        if status != known.kOptimal:
            return None, -np.inf if status == known.kInfeasible else np.inf
        multipliers = -np.array(self.model.getSolution().row_dual)
        # The gains of the pairs that the multipliers leave.
        self.left = self.gain - self.rows.T @ multipliers
        most = np.maximum(self.left * self.low, self.left * self.high)
        bound = float(np.abs(multipliers).sum() + most.sum())
        return np.array(self.model.getSolution().col_value), bound

    def fix(self, slack: float) -> None:
        """Fix numbers of pairs whose other end takes more than the slack from the last bound."""
        fixed = (2.0 * np.abs(self.left) > slack) & (self.low < self.high)
        up = self.left > 0
        low = np.where(fixed & up, 1.0, self.low)
        high = np.where(fixed & ~up, -1.0, self.high)
        self.restrict(low, high)


def _silent(highspy: Any) -> Any:
    """Return a model that prints nothing and starts each run from its basis."""

    class Silent(highspy.Highs):  # type: ignore[misc]
        # Called when the model is made, before any option can be set; it prints.
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)

    model = Silent()
    for name, value in (("presolve", "off"), ("solver", "simplex"), ("parallel", "off")):
        model.setOptionValue(name, value)
    return model
