"""Local search of minimum feedback arc sets: descent, crossover, and what they are given."""

import numpy as np
import pytest
from definitions import all_positions, disagreement
from matrices import MATRICES, assert_one_by_one

from skcalrank.preds import feedback_arc_positions

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


@pytest.mark.parametrize("room", [1, 1000], ids=["shuffled parts", "crossovers"])
def test_a_search_with_time_reaches_the_best_of_all_orders(room, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._insertion._CROSS_UP_TO", room)
    for r in (3, 5, 7):
        positions = all_positions(r)
        for _ in range(5):
            U = rng.normal(size=(r, r))
            best = (U * (positions[:, :, None] > positions[:, None, :])).sum(axis=(1, 2)).min()
            assert searched(U, time_limit=60.0).value == pytest.approx(best)


@pytest.mark.parametrize("room", [1, 1000], ids=["shuffled parts", "crossovers"])
def test_a_time_limit_lets_local_search_go_on(room, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._insertion._CROSS_UP_TO", room)
    monkeypatch.setattr("skcalrank.preds._feedback_arc._PATIENCE", 3)
    stack = rng.random((2, 40, 40))
    short, long = searched(stack), searched(stack, time_limit=60.0)
    assert (long.value < short.value).all()
    assert (long.value - long.bound >= -1e-9).all()
    np.testing.assert_allclose(long.bound, short.bound)


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_seed_repeats_the_search(limit, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._feedback_arc._PATIENCE", 1)
    stack = rng.random((3, 16, 16))
    results = [searched(stack, time_limit=limit, random_state=seed) for seed in (0, 0, 1)]
    assert np.array_equal(results[0].positions, results[1].positions)
    assert_one_by_one(lambda U: searched(U, time_limit=limit, random_state=5), stack)
    instance = searched(stack, time_limit=limit, random_state=np.random.RandomState(0))
    assert np.array_equal(instance.positions, results[0].positions)
    assert searched(stack, time_limit=limit, random_state=None).positions.shape == (3, 16)


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
