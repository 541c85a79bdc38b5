"""The linear-ordering program of one component: bound, cutting planes, branching."""

from __future__ import annotations

import heapq
import itertools
import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from ..data.types import Floats, Ints
from ._insertion import OrderSearch
from ._triangles import DualAscent, Pairs, reduced

# Sweeps of the dual ascent before linear programs, and without a solver that starts warm; the
# number of cyclic triples from which on it pays, and of documents up to which it is held in memory.
_SWEEPS, _SWEEPS_ALONE = 90, 300
_CYCLIC, _ASCENT_UP_TO = 4_000, 300

# Violated triples of a pair that a round adds, and by how much they are violated.
_PER_PAIR, _VIOLATED = 3, 1e-5

# Orders for each document that do not improve the best one, after which a search ends: before the
# bounds, and when they leave a gap. The first one may take a share of the time.
_FIRST_SEARCH, _LAST_SEARCH = 4, 8
_SHARE = 0.25

# Numbers that are nearly integers, as a share of their unit; and rounding of a sum.
_UNIT, _ROUNDING = 1e-6, 1e-9


def solve_exactly(net: Floats, deadline: float, rng: np.random.Generator) -> tuple[Ints, float]:
    """Return an order of a component, and a bound on what a better one could save."""
    problem = _Problem(net, deadline, rng)
    # Programs of very many documents would not end, so that all time is left to the search.
    share = _SHARE if problem.pairs.r <= _ASCENT_UP_TO else 1.0
    problem.look(_FIRST_SEARCH if problem.is_hard else 0, share)
    highspy = _highspy()
    triples = problem.ascend(_SWEEPS if highspy else _SWEEPS_ALONE)
    if not problem.is_proven:
        if highspy:
            _branch_and_cut(problem, _Relaxation(highspy, problem, triples))
        else:
            _integer_program(problem, triples)
    gap = 0.0 if problem.is_proven else problem.gap
    return problem.search.best, gap * problem.scale


def _highspy() -> Any:
    """Return the optional solver, or None if it is not installed."""
    try:
        import highspy
    except ImportError:
        return None
    return highspy


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

    @property
    def is_hard(self) -> bool:
        """Whether many triples of documents are cyclic."""
        edges = (self.search.net > 0) * 1.0
        return bool((edges @ edges * edges.T).sum() / 3.0 > _CYCLIC)

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

    def look(self, patience: int, share: float = 1.0) -> None:
        """Search for better orders, until so many for each document in a row are none."""
        deadline = self.deadline
        if share < 1.0 and deadline < np.inf:
            deadline -= (1.0 - share) * self.seconds
        self.search.run(deadline, patience * self.pairs.r)

    def round(self, y: Floats) -> None:
        """Let the order that a relaxed solution suggests descend."""
        self.search.add(self.pairs.order(y))


def _integer_program(problem: _Problem, triples: Ints) -> None:
    """Solve programs with violated inequalities, relaxed first and then in integers."""
    relaxed = True
    while not problem.is_proven:
        y, bound = _minimize(problem, triples, relaxed)
        if y is None:
            return
        problem.bound = min(problem.bound, bound)
        problem.round(y)
        violated = problem.pairs.violated(y, _VIOLATED)
        # If a relaxed solution violates nothing but is fractional, require integers.
        relaxed &= len(violated) > 0
        triples = np.concatenate([triples, violated[: 20 * problem.pairs.r]])


def _minimize(problem: _Problem, triples: Ints, relaxed: bool) -> tuple[Any, float]:
    """Return the best numbers of pairs under inequalities and a bound, or None on timeout."""
    if not len(triples):
        return np.where(problem.gain > 0, 1.0, -1.0), problem.total
    left, gain, n = problem.seconds, problem.gain, len(triples)
    if left <= 0:
        return None, np.inf
    # Of x = (y + 1) / 2.
    signs, starts = np.tile([1.0, 1.0, -1.0], n), 3 * np.arange(n + 1)
    matrix = csr_matrix((signs, triples.ravel(), starts), shape=(n, len(gain)))
    result = milp(
        -gain,
        integrality=np.full(len(gain), 0 if relaxed else 1),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, 0, 1),
        options={"mip_rel_gap": 0.0} | ({} if np.isinf(left) else {"time_limit": left}),
    )
    if result.status != 0:
        return None, np.inf
    bound = result.fun if relaxed else result.mip_dual_bound
    return 2.0 * result.x - 1.0, -2.0 * bound - gain.sum()


class _Relaxation:
    """A linear program that goes on from its last basis when rows or bounds change."""

    def __init__(self, highspy: Any, problem: _Problem, triples: Ints) -> None:
        self.highspy, self.problem, n = highspy, problem, len(problem.pairs)
        self.model = _silent(highspy)
        self.model.addVars(n, np.full(n, -1.0), np.ones(n))
        self.model.changeColsCost(n, np.arange(n, dtype=np.int32), -problem.gain)
        self.low: Floats = np.full(n, -1.0)
        self.high: Floats = np.ones(n)
        self.triples = np.zeros((0, 3), dtype=np.intp)
        self.add(triples)

    def add(self, triples: Ints) -> None:
        """Add rows."""
        n = len(triples)
        starts = np.arange(0, 3 * n, 3, dtype=np.int32)
        columns, signs = triples.astype(np.int32).ravel(), np.tile([1.0, 1.0, -1.0], n)
        if n:
            self.model.addRows(n, np.full(n, -1.0), np.ones(n), 3 * n, starts, columns, signs)
            self.triples = np.concatenate([self.triples, triples])

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
            self.triples = self.triples[~loose]

    def solve(self) -> tuple[Any, float]:
        """Return the solution and its bound; None and -inf if there is none, or inf on timeout.

        The bound is computed from the multipliers, so that it does not rest on tolerances.
        """
        left = self.problem.seconds
        if left <= 0:
            return None, np.inf
        if left < np.inf:
            self.model.setOptionValue("time_limit", self.model.getRunTime() + left)
        self.model.run()
        status, known = self.model.getModelStatus(), self.highspy.HighsModelStatus
        if status != known.kOptimal:
            return None, -np.inf if status == known.kInfeasible else np.inf
        solution = self.model.getSolution()
        multipliers = -np.array(solution.row_dual)
        self.left = reduced(self.problem.gain, self.triples, multipliers)
        most = np.maximum(self.left * self.low, self.left * self.high)
        return np.array(solution.col_value), float(np.abs(multipliers).sum() + most.sum())

    def fix(self, bound: float) -> None:
        """Fix numbers of pairs that no better order can have at the other end."""
        slack = bound - self.problem.kept - 2.0 * self.problem.step
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


def _branch_and_cut(problem: _Problem, program: _Relaxation) -> None:
    """Search the tree of fixed pairs, the node of the largest bound first."""
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
        if y is None or bound - problem.kept < 2.0 * problem.step:
            continue
        pair = _branching_pair(problem, program, y)
        if pair is None:
            return
        for end in (-1.0, 1.0):
            low, high = program.low.copy(), program.high.copy()
            low[pair] = high[pair] = end
            heapq.heappush(nodes, (max(outer, -bound), next(number), low, high))
    problem.bound = problem.kept


def _cut(problem: _Problem, program: _Relaxation, is_root: bool) -> tuple[Any, float]:
    """Add violated inequalities until there are none, or no better order is possible.

    Returns None with -inf if no better order exists here, and with inf if time is over.
    """
    best = np.inf
    while True:
        y, bound = program.solve()
        if y is None:
            return None, bound
        best = min(best, bound)
        if is_root:
            problem.bound = min(problem.bound, max(best, problem.kept))
        problem.round(y)
        if best - problem.kept < 2.0 * problem.step:
            return y, best
        violated = problem.pairs.violated(y, _VIOLATED)
        if not len(violated):
            problem.look(_LAST_SEARCH if is_root else 0)
            program.fix(bound)
            return y, best
        program.drop_basic()
        program.fix(bound)
        program.add(problem.pairs.spread(violated, _PER_PAIR))


def _branching_pair(problem: _Problem, program: _Relaxation, y: Floats) -> int | None:
    """Return the pair that is least decided, and of those the one of the largest net preference."""
    free = np.flatnonzero((program.low < program.high) & (np.abs(y) < 1.0 - _UNIT))
    if not len(free):
        free = np.flatnonzero(program.low < program.high)
    if not len(free):
        return None
    return int(free[np.lexsort((-np.abs(problem.gain[free]), np.round(np.abs(y[free]), 3)))[0]])
