"""The linear-ordering program of one component: bound, cutting planes, branching.

Nodes of the tree have pairs that are decided. The bound of an unfinished search is that of the best
node that is left, because the tree is searched in this order.
"""

import heapq
import itertools
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, vstack

from ..columns.types import Floats, Ints
from ._insertion import OrderSearch
from ._triangles import DualAscent, Pairs

# Sweeps of the dual ascent before linear programs, and without a solver that starts warm; the
# number of cyclic triples from which on it pays, and of documents up to which it is held in memory.
_SWEEPS, _SWEEPS_ALONE = 90, 300
_CYCLIC, _ASCENT_UP_TO = 4_000, 300

# By how much a triple is violated that is added.
_VIOLATED = 1e-5

# Orders for each document that do not improve the best one, after which the search before the
# bounds ends, and its share of the time.
_PATIENCE, _SHARE = 4, 0.25

# Numbers that are nearly integers, as a share of their unit; and rounding of a sum.
_UNIT, _ROUNDING = 1e-6, 1e-9


# The linear program over inequalities of orders, with the optional solver highspy.


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


def solve_exactly(net: Floats, deadline: float, rng: np.random.Generator) -> tuple[Ints, float]:
    """Return an order of a component, and a bound on what a better one could save."""
    problem = _Problem(net, deadline, rng)
    problem.look()
    highspy: Any = import_module("highspy") if find_spec("highspy") else None
    triples = problem.ascend(_SWEEPS if highspy else _SWEEPS_ALONE)
    if not problem.is_proven:
        if highspy:
            _branch_and_cut(problem, Relaxation(highspy, problem.gain), triples)
        else:
            _integer_program(problem, triples)
    gap = 0.0 if problem.is_proven else problem.gap
    return problem.search.best, gap * problem.scale


class _Problem:
    """A component, its best order, and the bound of what orders keep.

    Net preferences are scaled, because the tolerances of solvers are absolute.
    """

    def __init__(self, net: Floats, deadline: float, rng: np.random.Generator) -> None:
        self.deadline, self.scale = deadline, float(np.abs(net).mean())
        self.search = OrderSearch(net / self.scale, rng)
        self.pairs = Pairs(len(net))
        self.gain = self.search.net[self.pairs.i, self.pairs.j]
        self.total = self.bound = float(np.abs(self.gain).sum())
        # Losses of integer data differ by their greatest common divisor at the least.
        whole = (net == np.round(net)).all() and np.abs(net).max() < 2.0**53
        divisor = np.gcd.reduce(np.abs(net).astype(np.int64), axis=None) if whole else 0
        self.step = max(divisor / self.scale * (1.0 - _UNIT), _ROUNDING * self.total)
        edges = (net > 0) * 1.0
        # Whether many triples of documents are cyclic.
        self.is_hard = bool((edges @ edges * edges.T).sum() / 3.0 > _CYCLIC)

    @property
    def kept(self) -> float:
        """What the best order keeps."""
        return self.total - 2.0 * self.search.loss

    @property
    def gap(self) -> float:
        """What a better order could save, at most."""
        return max(0.5 * (self.bound - self.kept), 0.0)

    @property
    def is_proven(self) -> bool:
        return self.gap < self.step

    def is_closed(self, bound: float) -> bool:
        """Whether no order within the bound is better than the best one."""
        return bound - self.kept < 2.0 * self.step

    @property
    def seconds(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def ascend(self, sweeps: int) -> Ints:
        """Bound the problem by dual ascent if it is hard; return the triples of the bound."""
        if not self.is_hard or self.pairs.r > _ASCENT_UP_TO:
            return np.zeros((0, 3), dtype=np.intp)
        ascent = DualAscent(self.pairs, self.gain)
        for _ in range(sweeps):
            if self.is_proven or self.seconds <= 0:
                break
            self.bound = min(self.bound, ascent.sweep())
        return ascent.active()

    def look(self) -> None:
        """Search for better orders if the problem is hard."""
        # Programs of very many documents would not end, so that all time is left to the search.
        share = _SHARE if self.pairs.r <= _ASCENT_UP_TO else 1.0
        if self.is_hard:
            self.search.run(time.monotonic() + share * self.seconds, _PATIENCE * self.pairs.r)

    def round(self, y: Floats) -> None:
        """Let the order that a relaxed solution suggests descend."""
        self.search.add(self.pairs.order(y))


def _integer_program(problem: _Problem, triples: Ints) -> None:
    """Solve programs with violated inequalities, relaxed first and then in integers."""
    relaxed = is_new = True
    while is_new and not problem.is_proven:
        y, bound = _minimize(problem, triples, relaxed)
        if y is None:
            return
        problem.bound = min(problem.bound, bound)
        problem.round(y)
        violated = problem.pairs.violated(y, _VIOLATED)
        # If a relaxed solution violates nothing but is fractional, require integers; an integer
        # program would be the same again.
        is_new = relaxed or len(violated) > 0
        relaxed &= len(violated) > 0
        triples = np.concatenate([triples, violated])


def _minimize(problem: _Problem, triples: Ints, relaxed: bool) -> tuple[Any, float]:
    """Return the best numbers of pairs under inequalities and a bound, or None on timeout."""
    if not len(triples):
        return np.where(problem.gain > 0, 1.0, -1.0), problem.total
    left, gain = problem.seconds, problem.gain
    if left <= 0:
        return None, np.inf
    # Of x = (y + 1) / 2, with y in the inequalities from -1 to 1; in units in which the absolute
    # gap that the solver allows, 1e-6, is a tenth of the step.
    unit = min(1.0, problem.step / 1e-5)
    result = milp(
        -gain / unit,
        integrality=np.full(len(gain), 0 if relaxed else 1),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(problem.pairs.rows(triples), 0, 1),
        options={"mip_rel_gap": 0.0} | ({} if np.isinf(left) else {"time_limit": left}),
    )
    if result.status != 0:
        return None, np.inf
    bound = result.fun if relaxed else result.mip_dual_bound
    return 2.0 * result.x - 1.0, -2.0 * unit * bound - gain.sum()


def _branch_and_cut(problem: _Problem, program: Relaxation, triples: Ints) -> None:
    """Search the tree of fixed pairs, the node of the largest bound first."""
    program.add(problem.pairs.rows(triples))
    number = itertools.count()
    # Nodes by negative bound; the outer bound is what all that are left could reach.
    nodes = [(-problem.bound, next(number), program.low, program.high)]
    while nodes:
        outer, _, low, high = heapq.heappop(nodes)
        problem.bound = min(problem.bound, -outer)
        if problem.is_proven:
            return
        program.restrict(low, high)
        y, bound = _cut(problem, program, is_root=not nodes)
        if y is None and bound == np.inf:
            return
        if y is None or problem.is_closed(bound):
            continue
        pair = _branching_pair(problem, program, y)
        if pair is None:
            return
        for end in (-1.0, 1.0):
            low, high = program.low.copy(), program.high.copy()
            low[pair] = high[pair] = end
            heapq.heappush(nodes, (-min(-outer, bound), next(number), low, high))
    problem.bound = problem.kept


def _cut(problem: _Problem, program: Relaxation, is_root: bool) -> tuple[Any, float]:
    """Add violated triangles until there are none, or no better order is possible.

    Returns None with -inf if no better order exists here, and with inf if time is over.
    """
    while True:
        y, bound = program.solve(problem.seconds)
        if y is None:
            return None, bound
        if is_root:
            problem.bound = min(problem.bound, max(bound, problem.kept))
        problem.round(y)
        if problem.is_closed(bound):
            return y, bound
        triples = problem.pairs.violated(y, _VIOLATED)
        if not len(triples):
            return y, bound
        program.add(problem.pairs.rows(triples))


def _branching_pair(problem: _Problem, program: Relaxation, y: Floats) -> Any:
    """Return the pair that is least decided, or of several such the one of most net preference."""
    open_pairs = program.low < program.high
    free = np.flatnonzero(open_pairs & (np.abs(y) < 1.0 - _UNIT))
    free = np.flatnonzero(open_pairs) if not len(free) else free
    if not len(free):
        return None
    return free[np.lexsort((-np.abs(problem.gain[free]), np.round(np.abs(y[free]), 3)))[0]]
