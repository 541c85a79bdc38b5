"""Local search of minimum feedback arc sets: descent, crossover, and what they are given."""

import numpy as np
import pytest
from definitions import all_positions, disagreement
from matrices import MATRICES

from skcalrank.preds import feedback_arc_positions
from skcalrank.preds._insertion import OrderSearch

every_kind = pytest.mark.parametrize("kind", MATRICES)


def searched(U, **options):
    return feedback_arc_positions(U, method="local_search", **options)


def best_move(U, positions):
    """Largest amount by which a move of one document lowers the disagreement."""
    order, gains = np.argsort(positions), []
    for document in range(len(U)):
        rest = order[order != document]
        moved = (np.insert(rest, gap, document) for gap in range(len(order)))
        gains += [disagreement(U, 1 + np.argsort(other)) for other in moved]
    return disagreement(U, positions) - min(gains)


@pytest.mark.product
@every_kind
@pytest.mark.parametrize("together", [32, 0], ids=["stacks", "alone"])
def test_no_move_improves_an_order(kind, together, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._feedback_arc._STACKS_UP_TO", together)
    for r in (2, 3, 5, 9, 14):
        stack = np.array([MATRICES[kind](r, rng) for _ in range(3)])
        result = searched(stack)
        assert all(best_move(*pair) <= 1e-9 for pair in zip(stack, result.positions))
        assert result.value == pytest.approx([*map(disagreement, stack, result.positions)])
        assert (result.value - result.bound >= -1e-9).all()


def test_crossed_orders_reach_the_best_of_all_orders(rng):
    for r in (3, 5, 7):
        positions = all_positions(r)
        for _ in range(5):
            U = rng.normal(size=(r, r))
            net = U - U.T
            best = (net * (positions[:, :, None] > positions[:, None, :])).sum(axis=(1, 2)).min()
            search = OrderSearch(net, rng)
            search.run(np.inf, 10 * r)
            order = np.argsort(search.best)
            assert disagreement(net, 1 + order) == pytest.approx(best)


def test_crossing_goes_on_from_a_descent(rng):
    for U in rng.random((2, 40, 40)):
        search = OrderSearch(U - U.T, rng)
        short = search.loss
        search.run(np.inf, 120)
        assert search.loss < short
        assert np.array_equal(np.sort(search.best), np.arange(40))


def test_a_seed_repeats_the_search(rng):
    U = rng.random((40, 40))
    found = []
    for seed in (0, 0, 1):
        search = OrderSearch(U - U.T, np.random.default_rng(seed))
        search.run(np.inf, 40)
        found.append(search)
    assert found[0].loss == found[1].loss
    assert all(map(np.array_equal, found[0].orders, found[1].orders))
    assert not all(map(np.array_equal, found[0].orders, found[2].orders))


@pytest.mark.parametrize("method", ["exact", "local_search"])
def test_a_seed_is_an_integer_an_instance_or_none(method, rng):
    stack = rng.random((3, 16, 16))
    results = [
        feedback_arc_positions(stack, method=method, random_state=seed).value
        for seed in (0, np.random.RandomState(0), None)
    ]
    np.testing.assert_allclose(results, np.tile(results[0], (3, 1)))


def test_a_bad_seed_is_refused():
    with pytest.raises(ValueError, match="cannot be used to seed"):
        searched(np.ones((3, 3)), random_state="seed")


@every_kind
def test_the_scale_does_not_matter(kind, rng):
    for r in (6, 12, 40):
        U = MATRICES[kind](r, rng)
        scaled = searched(8 * U)
        assert np.array_equal(scaled.positions, searched(U).positions)
        assert scaled.value == pytest.approx(8 * searched(U).value)
