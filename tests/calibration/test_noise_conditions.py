"""Noise conditions against definitions written as loops, on random distributions."""

from itertools import permutations

import numpy as np
import pytest

from skcalrank.calibration import (
    CONDITIONS,
    LabelDistribution,
    c_phi,
    dag_condition,
    low_noise_condition,
    regret_bound,
    reinforce_condition,
    score_condition,
)

N_LAWS, TOL = 300, 1e-10

# On so many of the laws a condition holds: a test of one outcome only would prove little.
HOLD = {"reinforce": 238, "dag": 244, "low noise": 108, "scores": 160}


def laws(preferences):
    """Random distributions, sparse enough that the conditions sometimes hold."""
    for seed in range(N_LAWS):
        rng = np.random.default_rng(seed)
        r = int(rng.integers(2, 6))
        n = int(rng.integers(1, 4) if preferences else rng.integers(2, 7))
        yield LabelDistribution.random(
            r, n_labels=n, n_grades=2, preferences=preferences, random_state=seed
        )


def reinforces(u):
    """P_reinforce, RAT13, section 6."""
    r = len(u)
    u = np.array([[u[max(i, j), min(i, j)] for j in range(r)] for i in range(r)])
    slack = [
        u[i, i] - u[j, j] - sum(max(u[j, g] - u[i, g], 0) for g in range(r) if g not in (i, j))
        for i in range(r)
        for j in range(r)
        if i != j and u[i, i] >= u[j, j]
    ]
    return min(slack, default=np.inf)


def is_acyclic(EY):
    """P_DAG, RAT13, section 7.2: some order has no edge against it."""
    r = len(EY)
    return any(
        all(EY[a, b] >= EY[b, a] for i, a in enumerate(order) for b in order[i + 1 :])
        for order in permutations(range(r))
    )


def has_low_noise(EY):
    """DMJ10, Definition 8."""
    r, d = len(EY), EY - EY.T
    slack = [
        d[i, k] - d[i, j] - d[j, k]
        for i, j, k in permutations(range(r), 3)
        if d[i, j] > TOL and d[j, k] > TOL
    ]
    return min(slack, default=np.inf)


def scores_agree(EY, Ef):
    """P_f, RAT13, Theorem 6."""
    pairs = permutations(range(len(EY)), 2)
    ahead = [Ef[i] - Ef[j] for i, j in pairs if EY[i, j] > EY[j, i] + TOL]
    return min(ahead, default=np.inf)


@pytest.mark.long
def test_reinforce_condition_is_its_definition():
    found = []
    for law in laws(preferences=False):
        u = law.expected_targets("map", pairs=True)
        condition, margin = reinforce_condition(u), reinforces(u)
        assert condition.margin == pytest.approx(margin, abs=1e-12)
        assert condition.holds == (margin >= -TOL)
        found.append(condition.holds)
    assert sum(found) == HOLD["reinforce"]


def preference_laws():
    for law in laws(preferences=True):
        yield law.expected_targets("neg_pairwise_disagreement", pairs=True)


def test_dag_condition_is_its_definition():
    found = []
    for EY in preference_laws():
        condition = dag_condition(EY)
        assert condition.holds == is_acyclic(EY)
        net = EY - EY.T
        if condition.holds and (net > 0).any():
            assert condition.margin == pytest.approx(net[net > TOL].min())
        found.append(condition.holds)
    assert sum(found) == HOLD["dag"]


def test_low_noise_condition_is_its_definition():
    found = []
    for EY in preference_laws():
        condition, margin = low_noise_condition(EY), has_low_noise(EY)
        assert condition.margin == pytest.approx(margin, abs=1e-12)
        assert condition.holds == (margin >= -TOL)
        found.append(condition.holds)
    assert sum(found) == HOLD["low noise"]


def test_score_condition_is_its_definition():
    found = []
    for law in laws(preferences=True):
        EY = law.expected_targets("neg_pairwise_disagreement", pairs=True)
        Ef = law.expected_targets("neg_pairwise_disagreement")
        condition, margin = score_condition(EY, Ef), scores_agree(EY, Ef)
        assert condition.margin == pytest.approx(margin, abs=1e-12)
        assert condition.holds == (margin > TOL)
        found.append(condition.holds)
    assert sum(found) == HOLD["scores"]


@pytest.mark.parametrize("condition", [dag_condition, low_noise_condition])
def test_negative_preferences_are_refused(condition):
    for EY in (-np.ones((3, 3)), [[0, 1], [-0.5, 0]]):
        with pytest.raises(ValueError, match="swap winner and loser"):
            condition(EY)
    with pytest.raises(ValueError, match="non-negative"):
        score_condition(-np.ones((2, 2)), [0, 1])
    for u in (-np.eye(3), [[0.5, 9], [-0.1, 0.5]]):
        with pytest.raises(ValueError, match=r"u must hold non-negative.*got -"):
            reinforce_condition(u)
    assert reinforce_condition([[0.5, -9], [0.1, 0.2]])  # The upper triangle is not read.
    assert CONDITIONS["P_reinforce"](-np.eye(2)).margin == 0  # Estimates may be negative.


@pytest.mark.parametrize("tol", [-1, -1e-300, np.inf, np.nan, None])
def test_tolerances_are_finite_and_not_negative(tol):
    for check in (dag_condition, low_noise_condition, reinforce_condition):
        with pytest.raises(ValueError, match="tol must be a finite number >= 0"):
            check(np.eye(3), tol=tol)


def test_powers_of_the_discount_are_numbers():
    with pytest.raises(ValueError, match="p must be a number"):
        c_phi("ndcg@10", 5, p=True)
    assert c_phi("ndcg@10", 5, p=1) > c_phi("ndcg@10", 5, p=np.inf)


@pytest.mark.parametrize("distance", [1e-3, 0.05, 3.0])
def test_bound_of_vectors_is_in_proportion_to_their_distance(distance):
    beta = np.array([[0.0, 0.0], [0.6, 0.8], [0.0, 0.0]]) * distance
    assert regret_bound(beta, "squared", 4.0, r=None) == pytest.approx(2 * distance)
