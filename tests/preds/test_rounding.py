"""Values that differ by rounding alone decide no order: documents are reordered, noise is added."""

import numpy as np
import pytest
from matrices import MATRICES, posed

from skcalrank.preds import PREDS, Pred, solve_with_ties, sort_positions
from skcalrank.preds._stacks import without_rounding


def copeland(U):
    """Documents by the number of duels that they win."""
    return sort_positions((U > U.T).sum(axis=1))


PREDS_OF_PAIRS = [posed(pred) for pred in PREDS.values() if pred.shape == "pairs"]
OF_PAIRS = PREDS_OF_PAIRS + [
    Pred.from_positions(copeland, objective) for objective in ("map", "disagreement")
]
every_pred = pytest.mark.parametrize("pred", OF_PAIRS, ids=lambda pred: pred.key)
every_kind = pytest.mark.parametrize("kind", MATRICES)


def moved(stack, order):
    """The matrices with their documents in another order."""
    return stack[:, order[:, None], order]


def problem(pred, kind, r, rng):
    """Three matrices, of which MAP reads one triangle and the diagonal, and others no diagonal."""
    stack = np.array([MATRICES[kind](r, rng) for _ in range(3)])
    if pred.objective == "map":
        return stack + stack.swapaxes(1, 2)
    return stack * (1.0 - np.eye(r))


@pytest.mark.product
@every_pred
@every_kind
@pytest.mark.parametrize("size", [1.0, 0.1, 1 / 3, 1e9])
def test_neither_noise_nor_the_order_of_documents_changes_a_score(pred, kind, size, rng):
    for r in (2, 3, 5, 9, 16):
        stack = size * problem(pred, kind, r, rng)
        noise = (
            1e-16
            * np.abs(stack).max(axis=(1, 2), keepdims=True)
            * problem(pred, "negative", r, rng)
        )
        turn, order = rng.permuted(np.tile(np.arange(r), (3, 1)), axis=1), rng.permutation(r)
        _, expected = solve_with_ties(pred, stack, turn)
        _, scores = solve_with_ties(pred, moved(stack + noise, order), turn[:, order])
        np.testing.assert_array_equal(scores, expected[:, order])


@every_pred
@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 1e6])
def test_documents_that_differ_by_rounding_alone_share_a_score(pred, value, rng):
    U = value * (1 + 1e-16 * rng.uniform(-1, 1, (1, 6, 6)))
    U[:, 0, 0] = value
    _, scores = solve_with_ties(pred, U, np.arange(6)[None])
    np.testing.assert_array_equal(scores, np.full((1, 6), -3.5))


@pytest.mark.parametrize("pred", PREDS_OF_PAIRS, ids=lambda pred: pred.key)
def test_small_differences_decide(pred):
    # A billionth of the largest value is no rounding.
    U = np.ones((3, 3)) + 1e-9 * np.tri(3, k=-1) + 1e-9 * np.diag([0.0, 1.0, 2.0])
    assert pred.solve(U).positions.tolist() == [3, 2, 1]


def whole_of_connected(units):
    """Numbers for absolute values in units, by the definition."""
    out, last, number = {}, 0.0, 0.0
    for unit in sorted(units.ravel()):
        number = np.rint(unit) if unit - last > 0.5 else number
        out[unit], last = number, unit
    return np.vectorize(out.get)(units)


def test_connected_values_are_one_value(rng):
    # Steps of .3 units: chains of values pass from one multiple of the unit to the next.
    units = 0.3 * rng.integers(0, 60, (50, 5, 5))
    units[:, 0, 0] = 2.0**34
    expected = np.array([whole_of_connected(matrix) for matrix in units])
    assert (expected != np.rint(units)).any()
    sign = rng.choice([-1.0, 1.0], units.shape)
    settled = without_rounding(sign * units * 2.0**-34, units * 2.0**-34)
    np.testing.assert_array_equal(settled, sign * expected * 2.0**-34)
