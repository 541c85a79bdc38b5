"""Exact MAP by layers of sets: best orders, bounds, and what a time limit leaves."""

import itertools
from functools import partial

import numpy as np
import pytest
from definitions import all_positions
from matrices import MATRICES, assert_one_by_one
from sklearn.exceptions import ConvergenceWarning

from skcalrank.preds import PREDS, map_positions
from skcalrank.preds._layers import assignment_bound, bound_of_rest


def mean_targets(r, rng):
    """Means of the targets of MAP under a law of a few label vectors."""
    y = (rng.random((2 * r, r)) < rng.uniform(0.1, 0.6, (2 * r, 1))) + 0.0
    y[:, 0] = np.maximum(y[:, 0], y.sum(axis=1) == 0)
    return np.einsum("n,ni,nj->ij", rng.dirichlet(np.ones(2 * r)) / y.sum(axis=1), y, y)


def symmetric(r, rng):
    U = rng.normal(size=(r, r))
    return U + U.T


KINDS = {**MATRICES, "law": mean_targets, "symmetric": symmetric}
every_kind = pytest.mark.parametrize("kind", KINDS)
ORDERS = np.arange(10)[None]


@pytest.fixture
def layers(monkeypatch):
    """Layers of sets for any number of documents."""
    monkeypatch.setattr("skcalrank.preds._map._ALL_SETS_UP_TO", 0)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second whenever it is read."""
    monkeypatch.setattr("skcalrank.preds._map.time.monotonic", itertools.count().__next__)


def values(U, k=None):
    """Value of every order, in the order of ``all_positions``."""
    positions = all_positions(len(U))
    last = np.maximum(positions[:, :, None], positions[:, None, :])
    return (np.tril(U) / np.where(last <= (k or len(U)), last, np.inf)).sum(axis=(1, 2))


def lower(U):
    """The symmetric matrix that the map reads."""
    return np.tril(U) + np.tril(U, -1).T


@pytest.mark.every_case
@every_kind
@pytest.mark.usefixtures("layers")
def test_layers_find_the_best_of_all_orders(kind, rng):
    for r in (1, 2, 3, 4, 5, 5, 6, 6, 7, 7):
        U = KINDS[kind](r, rng)
        result = map_positions(U)
        assert result.value == pytest.approx(values(U).max(), abs=1e-12)
        assert result.bound == result.value
        assert result.proven
        assert result.method == "exact"


@pytest.mark.product
@every_kind
@pytest.mark.parametrize("kept", [1, 1 << 22])
def test_layers_find_the_best_from_any_order(kind, kept, monkeypatch, rng):
    # With 1, sets are followed one at a time.
    monkeypatch.setattr("skcalrank.preds._layers._KEPT", kept)
    monkeypatch.setattr(
        "skcalrank.preds._map._beam", lambda w, _k: rng.permuted(ORDERS[:, : len(w[0])], axis=1)
    )
    for r in (3, 6, 9, 10):
        U = KINDS[kind](r, rng)
        best = map_positions(U).value
        with monkeypatch.context() as patch:
            patch.setattr("skcalrank.preds._map._ALL_SETS_UP_TO", 0)
            result = map_positions(U)
        assert sorted(result.positions) == list(range(1, r + 1))
        assert result.value == pytest.approx(best, abs=1e-12)
        assert result.proven


@pytest.mark.product
@every_kind
@pytest.mark.parametrize("k", [None, 4])
def test_layers_agree_with_all_sets(kind, k, monkeypatch, rng):
    stack = np.array([KINDS[kind](13, rng) for _ in range(3)])
    expected = map_positions(stack, k=k)
    monkeypatch.setattr("skcalrank.preds._map._ALL_SETS_UP_TO", 12)
    result = map_positions(stack, k=k)
    np.testing.assert_allclose(result.value, expected.value, atol=1e-12)
    assert result.proven.all()


@pytest.mark.every_case
@every_kind
@pytest.mark.parametrize("method", ["exact", "layers", "beam", "diagonal", "auto"])
def test_maps_with_a_cutoff_against_all_orders(kind, method, monkeypatch, rng):
    if method == "layers":
        monkeypatch.setattr("skcalrank.preds._map._ALL_SETS_UP_TO", 0)
        method = "exact"
    for r, k in ((1, 1), (2, 1), (4, 2), (5, 3), (6, 1), (6, 4), (6, 5), (6, 6), (3, 9)):
        U = KINDS[kind](r, rng)
        result, of_orders = map_positions(U, method=method, k=k), values(U, k)
        at = (all_positions(r) == result.positions).all(axis=1)
        assert result.value == pytest.approx(of_orders[at][0], abs=1e-12)
        assert result.bound >= of_orders.max() - 1e-12
        assert not result.proven or result.value == pytest.approx(of_orders.max(), abs=1e-9)
        assert result.proven or method not in ("exact", "auto")
        if k >= r:
            assert np.array_equal(result.positions, map_positions(U, method=method).positions)


def test_documents_behind_the_cutoff_are_in_order_of_what_they_would_add():
    U = np.diag([0.9, 0.1, 0.3, 0.2])
    U[3, 0] = 0.15
    for method in ("exact", "beam"):
        assert map_positions(U, k=1, method=method).positions.tolist() == [1, 4, 3, 2]


@pytest.mark.parametrize("kind", ["normal", "sparse", "law"])
@pytest.mark.usefixtures("layers")
def test_sets_with_equal_keys_are_told_apart(kind, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._layers.hash_keys", lambda n: np.ones(n, dtype=np.uint64))
    for r in (5, 6, 7):
        U = KINDS[kind](r, rng)
        assert map_positions(U).value == pytest.approx(values(U).max(), abs=1e-12)


@pytest.mark.every_case
@every_kind
def test_every_division_of_the_links_bounds_all_orders(kind, rng):
    for r in (1, 2, 4, 6):
        U = lower(KINDS[kind](r, rng))
        k = int(rng.integers(1, r + 1))
        diagonal, best = U.diagonal(), values(U, k).max()
        halves = (U - np.diag(diagonal)) / 2
        shift = rng.normal(size=(2, r, r))
        some, other = halves + shift - shift.swapaxes(1, 2)
        bound, slope = assignment_bound(diagonal, some, k)
        assert bound >= best - 1e-12
        assert assignment_bound(diagonal, halves, k)[0] >= best - 1e-12
        # The bound is convex.
        change = (slope * (other - some)).sum()
        assert assignment_bound(diagonal, other, k)[0] >= bound + change - 1e-9


@pytest.mark.every_case
@every_kind
def test_bounds_of_the_rest_are_above_all_orders_of_the_rest(kind, rng):
    for r, k in ((1, 1), (3, 3), (6, 6), (6, 4), (6, 5), (5, 2)):
        U = lower(KINDS[kind](r, rng))
        order = np.argsort(all_positions(r), axis=1)
        placed = np.tril(U[order[:, :, None], order[:, None, :]]).sum(axis=2) / np.arange(1, r + 1)
        placed[:, k:] = 0.0
        shift = rng.normal(size=(r, r))
        shares = U / 2 + shift - shift.T
        for size in range(k):
            inside, left = np.arange(size), np.arange(size, r)
            gains = U.diagonal()[left] + U[np.ix_(inside, left)].sum(axis=0)
            bound = bound_of_rest(gains[None], shares[None, size:, size:].copy(), size, k)[0]
            starts = (np.sort(order[:, :size]) == inside).all(axis=1)
            for document in left:
                rest = placed[starts & (order[:, size] == document), size:].sum(axis=1)
                assert bound[document - size] >= rest.max() - 1e-12


@pytest.mark.parametrize("kind", ["law", "symmetric", "tied"])
@pytest.mark.usefixtures("clock")
def test_a_time_limit_leaves_an_order_and_an_honest_bound(kind, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._layers._KEPT", 200)
    U = KINDS[kind](12, rng)
    best = map_positions(U).value
    monkeypatch.setattr("skcalrank.preds._map._ALL_SETS_UP_TO", 0)
    gaps = []
    for limit in (1e-9, 10, 305, 315, 10_000):
        result = PREDS["map_exact"].solve(U, time_limit=limit)
        assert result.value <= best + 1e-12 <= result.bound + 2e-12
        assert result.proven == (result.gap == 0)
        gaps.append(result.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0 == gaps[-1]


@pytest.mark.usefixtures("layers", "clock")
def test_the_time_limit_of_exact_map_is_of_a_query(rng):
    stack = np.array([KINDS[kind](9, rng) for kind in KINDS])
    for limit in (1, 20, 10_000):
        assert_one_by_one(partial(PREDS["map_exact"].solve, time_limit=limit), stack)


@pytest.mark.usefixtures("layers", "clock")
def test_a_time_limit_that_is_hit_warns_once(rng):
    stack = np.array([KINDS["symmetric"](9, rng) for _ in range(3)])
    with pytest.warns(ConvergenceWarning) as caught:
        result = map_positions(stack, time_limit=1)
    assert not result.proven.any()
    (warning,) = caught
    assert str(warning.message) == (
        f"3 of 3 orders are not proven best within time_limit=1 seconds; the largest gap is "
        f"{result.gap.max():.3g}. With time_limit=None the exact map has no limit."
    )


@pytest.mark.usefixtures("clock")
def test_shares_bound_many_documents_better_than_halves(rng):
    for r in (40, 100):
        U = mean_targets(r, rng)
        beam, exact = map_positions(U, method="beam"), PREDS["map_exact"].solve(U, time_limit=200)
        assert exact.value >= beam.value
        assert exact.gap < 0.4 * beam.gap


def test_thirty_documents_of_a_law_are_proven(rng):
    result = map_positions(mean_targets(30, rng))
    assert result.proven
    assert result.method == "exact"


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "1", True])
def test_time_limit_of_exact_map_is_positive(limit):
    with pytest.raises(ValueError, match=r"time_limit must be a number > 0, or None, got"):
        map_positions(np.ones((3, 3)), time_limit=limit)
