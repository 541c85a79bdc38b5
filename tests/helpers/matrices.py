"""Matrices of surrogate values of pairs, and helpers for results of prediction maps."""

from dataclasses import replace
from functools import partial

import numpy as np
from definitions import all_positions, disagreement

from skcalrank.preds import PredResult


def tournament(r, rng):
    wins = np.triu(rng.integers(0, 2, (r, r)), 1) + 0.0
    return wins + np.tril(1 - wins.T, -1)


MATRICES = {
    "random": lambda r, rng: rng.random((r, r)),
    "normal": lambda r, rng: rng.normal(size=(r, r)),
    "negative": lambda r, rng: -rng.random((r, r)),
    "tied": lambda r, rng: rng.integers(0, 3, (r, r)) + 0.0,
    "zero": lambda r, _rng: np.zeros((r, r)),
    "constant": lambda r, _rng: np.full((r, r), -0.3),
    "one way": lambda r, rng: np.triu(rng.integers(0, 4, (r, r)), 1) + 0.0,
    "sparse": lambda r, rng: rng.integers(1, 4, (r, r)) * (rng.random((r, r)) < 0.3) + 0.0,
    "tournament": tournament,
}


def acyclic_matrix(r, rng):
    """An acyclic graph of net preferences under equal weights in both directions."""
    order = rng.permutation(r)
    net, both = np.triu(rng.integers(0, 3, (r, r)), 1), rng.integers(0, 9, (r, r))
    return (net + both + both.T)[np.ix_(order, order)] + 0.0


def chained(sizes, rng):
    """Strongly connected parts, each preferred to the later ones, in mixed order."""
    part = np.repeat(np.arange(len(sizes)), sizes)
    U = rng.random((len(part), len(part))) + 2.0 * (part[:, None] < part)
    for size, start in zip(sizes, np.cumsum(sizes) - sizes):
        for i in range(size if size > 2 else 0):
            U[start + i, start + (i + 1) % size] += 1.0
    order = rng.permutation(len(part))
    return U[np.ix_(order, order)], part[order]


def positions_of(result):
    """The positions in what a prediction map returns."""
    return getattr(result, "positions", result)


def assert_one_by_one(solve, stack):
    """Check that a stack of matrices gives exactly the results of its matrices one by one."""
    together, alone = solve(stack), [solve(U) for U in stack]
    if isinstance(together, PredResult):
        for one, other in zip(together.each(), alone, strict=True):
            assert one[1:] == other[1:]
            assert list(map(type, one)) == list(map(type, other))
        assert np.array_equal(together.gap, [result.gap for result in alone])
        together, alone = together.positions, [result.positions for result in alone]
    assert together.shape == stack.shape[:2]
    assert np.array_equal(together, alone)


def map_value(U, positions):
    r = len(positions)
    return sum(U[i][j] / max(positions[i], positions[j]) for i in range(r) for j in range(i + 1))


def basis_from_the_top(positions):
    """Each document counts the others behind it, over its position."""
    return (positions[..., :, None] < positions[..., None, :]) / positions[..., :, None]


def posed(pred):
    """A prediction map with a basis, if its problem needs one."""
    if pred.objective != "pairs":
        return pred
    return replace(pred, solve=partial(pred.solve, basis=basis_from_the_top))


#: Objectives as they are defined; that of scores with two discounts.
OBJECTIVES = {
    "positional": [
        lambda u, positions: sum(u / np.log2(1.0 + positions)),
        lambda u, positions: sum(u * (positions <= 2)),
    ],
    "map": [map_value],
    "disagreement": [disagreement],
    "pairs": [lambda U, positions: (U * basis_from_the_top(np.asarray(positions))).sum()],
}


def best_value(pred, value, U):
    """The value of the best order, by enumeration."""
    values = [value(U, positions) for positions in all_positions(len(U))]
    return max(values) if pred.larger_is_better else min(values)
