"""Rank differentiability, where losses of single preferences are calibrated."""

from itertools import permutations

import numpy as np
import pytest
from laws import LEMMA_10, PD

from skcalrank.calibration import (
    LabelDistribution,
    calibration_gap,
    low_noise_condition,
    rank_differentiable_condition,
)

LOSSES = ("logistic", "exponential", "squared_hinge")


def mallows(r, rng, n=1):
    """A mixture of laws of Mallows with one center and several distances."""
    orders = np.array(list(permutations(range(r))))
    center = rng.permutation(r)
    inverted = sum(
        (orders[:, i] > orders[:, j]) != (center[i] > center[j]) for i in range(r) for j in range(i)
    )
    away = orders - center
    shares = 0
    for _ in range(n):
        distance = (inverted, np.abs(away).sum(axis=1), (away**2).sum(axis=1))[rng.integers(3)]
        weight = np.exp(-rng.exponential() * distance)
        shares = shares + rng.random() * weight / weight.sum()
    return LabelDistribution(-orders, shares / shares.sum())


def holds_by_definition(law):
    """Whether for each pair one document is ahead in every exchange of its labels."""
    chance = {}
    for y, p in zip(law.labels.tolist(), law.probabilities):
        chance[tuple(y)] = chance.get(tuple(y), 0.0) + p
    margin = np.inf
    r = law.n_documents
    for i in range(r):
        for j in range(i):
            gains = []
            for y in list(chance):
                swapped = list(y)
                swapped[i], swapped[j] = y[j], y[i]
                if y[i] != y[j]:
                    gain = chance[y] - chance.get(tuple(swapped), 0.0)
                    gains.append(gain if y[i] > y[j] else -gain)
            if gains:
                margin = min(margin, max(min(gains), -max(gains)))
    return margin


@pytest.mark.parametrize("n", [60, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_grades", [2, 3])
def test_condition_is_its_definition(n_grades, n, rng):
    held = 0
    for _ in range(n):
        r = int(rng.integers(2, 5))
        law = LabelDistribution.random(
            r,
            n_labels=int(rng.integers(1, 4)),
            n_grades=n_grades,
            random_state=rng.integers(1 << 31),
        )
        found = rank_differentiable_condition(law)
        margin = holds_by_definition(law)
        assert found.margin == pytest.approx(margin)
        assert found.holds == (margin >= -1e-10)
        held += found.holds
    assert n / 30 < held < 0.95 * n


def test_mixtures_of_mallows_laws_hold_it(rng):
    for r in (2, 3, 4):
        for _ in range(50):
            assert rank_differentiable_condition(mallows(r, rng, n=3))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [20, pytest.param(350, marks=pytest.mark.slow)])
def test_losses_of_single_preferences_are_calibrated_there(n, loss, rng):
    for number in range(n):
        law = mallows(3, rng, n=2)
        measure = ("kendall", PD)[number % 2]
        result = calibration_gap(f"preference_{loss}", "sort", measure, law)
        assert result.gap > 0 or result.regret < 1e-6


def test_not_everywhere_that_low_noise_holds(rng):
    # Low noise, where the losses fail, is another condition: in these laws it may hold alone.
    seen = set()
    for _ in range(100):
        law = LabelDistribution.random(3, n_grades=3, random_state=rng.integers(1 << 31))
        low = bool(low_noise_condition(law.expected_targets("kendall", pairs=True)))
        seen.add((low, bool(rank_differentiable_condition(law))))
    assert {(True, False), (False, False), (True, True)} <= seen


def test_refused():
    with pytest.raises(ValueError, match="distribution must be of relevances or orders"):
        rank_differentiable_condition(LEMMA_10)
    with pytest.raises(ValueError, match="tol must be a finite number >= 0"):
        rank_differentiable_condition(LabelDistribution([[0, 1]]), tol=-1)
