"""The linear-ordering program of one component: bound, cutting planes, branching.

Nodes of the tree have pairs that are decided. The bound of an unfinished search is that of the best
node that is left, because the tree is searched in this order.
"""

from __future__ import annotations

import heapq
import itertools
import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from ..data.types import Floats, Ints
from ._fences import SIDE, fences
from ._insertion import OrderSearch
from ._relaxation import Relaxation
from ._triangles import TRIANGLE, DualAscent, Pairs

# Sweeps of the dual ascent before linear programs, and without a solver that starts warm; the
# number of cyclic triples from which on it pays, and of documents up to which it is held in memory.
_SWEEPS, _SWEEPS_ALONE = 90, 300
_CYCLIC, _ASCENT_UP_TO = 4_000, 300

# Violated triples of a pair that a round adds, and by how much they are violated; and the same of
# fences, and no fences.
_PER_PAIR, _VIOLATED = 3, 1e-5
_FENCES_PER_PAIR, _FENCE_VIOLATED = 4, 0.05
_NONE = np.zeros((0, 12), dtype=np.intp), np.zeros((0, 12))

# Rounds with fences go on while so many of them close this share of the gap.
_ROUNDS, _CLOSED = 5, 0.03

# Pairs that are tried for branching, and steps of the simplex method for each of their ends.
_TRIED, _STEPS = 8, 30

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
            _branch_and_cut(problem, Relaxation(highspy, problem.gain), triples)
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


def _branch_and_cut(problem: _Problem, program: Relaxation, triples: Ints) -> None:
    """Search the tree of fixed pairs, the node of the largest bound first."""
    program.add(triples, TRIANGLE, 1.0)
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
        pair, bounds = _branching_pair(problem, program, y, bound)
        if pair is None:
            return
        for end, reached in zip((-1.0, 1.0), bounds):
            low, high = program.low.copy(), program.high.copy()
            low[pair] = high[pair] = end
            if not problem.is_closed(reached):
                heapq.heappush(nodes, (-min(-outer, bound, reached), next(number), low, high))
    problem.bound = problem.kept


def _cut(problem: _Problem, program: Relaxation, is_root: bool) -> tuple[Any, float]:
    """Add violated inequalities until they help little, or no better order is possible.

    The first node has triangles alone until there are none. Returns None with -inf if no better
    order exists here, and with inf if time is over.
    """
    # Bounds of the last rounds that count as such.
    best, last, fenced = np.inf, [np.inf] * _ROUNDS, not is_root
    while True:
        y, bound = program.solve(problem.seconds)
        if y is None:
            return None, bound
        best = min(best, bound)
        if is_root:
            problem.bound = min(problem.bound, max(best, problem.kept))
        problem.round(y)
        if problem.is_closed(best):
            return y, best
        triples = _spread_triples(problem.pairs, y)
        if not fenced and not len(triples):
            problem.look(_LAST_SEARCH)
            fenced = True
        rows, coefficients = _spread_fences(problem.pairs, y) if fenced else _NONE
        stalls = fenced and last[0] - best < _CLOSED * (best - problem.kept)
        is_last = stalls or not len(triples) + len(rows)
        if not is_last:
            program.drop_basic()
        program.fix(bound - problem.kept - 2.0 * problem.step)
        if is_last:
            return y, best
        program.add(triples, TRIANGLE, 1.0)
        program.add(rows, coefficients, SIDE)
        last = [*last[1:], best] if fenced else last


def _spread_triples(pairs: Pairs, y: Floats) -> Ints:
    """Return violated triples, few of a pair."""
    triples = pairs.violated(y, _VIOLATED)
    return triples[pairs.spread(triples, _PER_PAIR)]


def _spread_fences(pairs: Pairs, y: Floats) -> tuple[Ints, Floats]:
    """Return the pairs and coefficients of violated fences, few of a pair."""
    rows, coefficients = fences(pairs, y, _FENCE_VIOLATED)
    kept = pairs.spread(rows, _FENCES_PER_PAIR)
    return rows[kept], coefficients[kept]


def _branching_pair(
    problem: _Problem, program: Relaxation, y: Floats, bound: float
) -> tuple[Any, Any]:
    """Return a pair both of whose ends bound much, and the bounds of the ends.

    A few steps are tried with the pairs that are least decided, of those the ones of large net
    preference.
    """
    open_pairs = program.low < program.high
    free = np.flatnonzero(open_pairs & (np.abs(y) < 1.0 - _UNIT))
    if not len(free):
        free = np.flatnonzero(open_pairs)
    if not len(free):
        return None, None
    first = np.lexsort((-np.abs(problem.gain[free]), np.round(np.abs(y[free]), 3)))[:_TRIED]
    bounds = program.probe(free[first], _STEPS)
    taken = np.clip(bound - bounds, problem.step * _UNIT, problem.gap * 2)
    chosen = int(taken.prod(axis=1).argmax())
    return free[first[chosen]], bounds[chosen]
