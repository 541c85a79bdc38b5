"""The linear program over inequalities of orders, with the optional solver highspy."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from ..columns.types import Floats


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

        class Silent(highspy.Highs):  # type: ignore[misc]
            # Called when the model is made, before any option can be set; it prints.
            def enableCallbacks(self) -> None:
                self.setOptionValue("output_flag", False)

        self.model = Silent()
        # Each run starts from the last basis.
        for name, value in (("presolve", "off"), ("solver", "simplex"), ("parallel", "off")):
            self.model.setOptionValue(name, value)
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
        left = self.gain - self.rows.T @ multipliers
        bound = np.abs(multipliers).sum() + np.maximum(left * self.low, left * self.high).sum()
        return np.array(self.model.getSolution().col_value), float(bound)
