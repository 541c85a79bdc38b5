"""The tree of the exact map of pairwise disagreement."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skcalrank.preds import feedback_arc_positions

MODULE = "skcalrank.preds._linear_ordering"


def fence(r, rng):
    """Preferences along a fence of six of r documents, of which orders contradict two."""
    U, documents = np.zeros((r, r)), rng.permutation(r)
    first, second = documents[:3], documents[3:6]
    U[np.ix_(second, first)] = 1.3
    U[second, first], U[first, second] = 0.0, 1.3
    return U


def paley(p):
    """A tournament: i beats j if j - i is a square."""
    i = np.arange(p)
    return np.isin((i - i[:, None]) % p, i[1:] ** 2 % p) + 0.0


def ternary(r, rng):
    """Net preferences -1, 0 and 1 at random."""
    net = np.triu(rng.integers(-1, 2, (r, r)), 1)
    return np.maximum(net - net.T, 0)


@pytest.fixture
def tree(monkeypatch):
    """The tree on components of any size, without a search that would know the best order."""
    pytest.importorskip("highspy")
    monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 0)
    monkeypatch.setattr(f"{MODULE}._PATIENCE", 0)
    return monkeypatch


@pytest.mark.parametrize("branches", [True, False])
def test_branching_proves_what_triangles_do_not(branches, tree, rng):
    if not branches:
        tree.setattr(f"{MODULE}._branching_pair", lambda *_: None)
    with nullcontext() if branches else pytest.warns(ConvergenceWarning, match="1 of 1 orders"):
        result = feedback_arc_positions(fence(8, rng), time_limit=None)
    assert result.value == pytest.approx(2.6)
    assert result.proven == branches
    assert (result.bound == result.value) if branches else (1.9 < result.bound < 2.6)


@pytest.mark.usefixtures("tree")
def test_the_tree_finds_what_sums_over_subsets_find(monkeypatch, rng):
    drawn = [draw(r, rng) for r in (6, 7, 8, 9, 9, 9) for draw in (fence, ternary)]
    drawn += [scale * U + 0.3 * U[::-1] for scale, U in zip(rng.random(len(drawn)), drawn)]
    results = [feedback_arc_positions(U) for U in drawn]
    again = [feedback_arc_positions(U) for U in drawn]
    assert all(result.proven for result in results)
    for one, two in zip(results, again):
        assert np.array_equal(one.positions, two.positions)
        assert one[1:] == two[1:]
    monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 14)
    best = [feedback_arc_positions(U).value for U in drawn]
    np.testing.assert_allclose([result.value for result in results], best, atol=1e-9)


def test_bounds_hold_wherever_the_tree_is_left(tree):
    bounds = []
    for limit in (1, 5, 20, 60, 100, 400):
        # A clock that goes on by a second whenever it is read.
        tree.setattr(f"{MODULE}.time.monotonic", itertools.count().__next__)
        with pytest.warns(ConvergenceWarning, match="1 of 1 orders are not proven best"):
            result = feedback_arc_positions(0.7 * paley(11), time_limit=limit)
        assert result.bound <= 14 + 1e-9 <= result.value + 2e-9
        assert not result.proven
        bounds.append(result.bound)
    # The tree is left at different places.
    assert len(np.unique(np.round(bounds, 6))) >= 3
    assert (np.diff(bounds) >= -1e-9).all()
