"""Convex calibration dimension: known values, and its definition on labels drawn at random."""

from itertools import permutations

import numpy as np
import pytest
from cases import INSTANCES
from scipy.linalg import null_space

from skcalrank.calibration import LabelDistribution, calibration_dimension
from skcalrank.measures import PositionalMeasure

# Dimensions for 3 and 4 documents.
KNOWN = {
    "precision@1": (2, 3),
    "precision@2": (2, 3),
    "recall@2": (2, 3),
    "auc": (2, 3),
    "hit@2": (2, 5),
    "kendall": (3, 6),
    "neg_pairwise_disagreement": (3, 6),
    "map": (4, 8),
    "r_precision": (4, 9),
    "mrr": (4, 11),
    "err": (4, 11),
}


@pytest.mark.every_case
@pytest.mark.parametrize("measure", KNOWN)
def test_known_dimensions(measure):
    for r, known in zip((3, 4), KNOWN[measure]):
        found = calibration_dimension(measure, r)
        assert found == (known, known, r)
        assert found.scores_can_suffice == (known <= r)


@pytest.mark.parametrize("measure", INSTANCES, ids=repr)
def test_scores_are_enough_for_positional_measures_only_if_centered(measure):
    found = calibration_dimension(measure, 4)
    assert found.lower == found.upper
    if isinstance(measure, PositionalMeasure):
        assert found.upper in (0, 3)


def by_definition(values):
    """Largest lower bound over distributions of two labels and of all, and the rank above."""
    m = len(values)
    lower = 0
    supports = [np.full(m, 1 / m), *np.eye(m)]
    supports += [(np.eye(m)[i] + np.eye(m)[j]) / 2 for i in range(m) for j in range(i)]
    for p in supports:
        at = p @ values
        best = np.flatnonzero(at > at.max() - 1e-9)
        active = [values[:, best[0]] - values[:, t] for t in best]
        active += [np.eye(m)[y] for y in np.flatnonzero(p == 0)] + [np.ones(m)]
        free = null_space(np.array(active), rcond=1e-9).shape[1]
        lower = max(lower, (p > 0).sum() - free - 1)
    return lower, np.linalg.matrix_rank(values - values.mean(axis=1, keepdims=True), tol=1e-9)


@pytest.mark.parametrize("measure", ["map", "err", "hit@2", "recall@1"])
def test_bounds_are_those_of_the_definition(measure, rng):
    equal = 0
    for _ in range(60):
        r = rng.integers(2, 5)
        labels = np.unique(rng.integers(2, size=(rng.integers(1, 7), r)), axis=0)
        positions = np.array(list(permutations(range(1, r + 1))))
        values = np.array([LabelDistribution([y]).value(measure, -positions) for y in labels])
        found = calibration_dimension(measure, r, labels=labels)
        lower, upper = by_definition(values)
        assert found.lower <= found.upper <= upper <= found.upper + 1
        equal += found.lower >= lower
    assert equal > 40


def test_labels_in_every_order_but_with_own_frequencies():
    # Labels listed twice, and unevenly: the linear program finds the distribution with ties.
    labels = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]
    assert calibration_dimension("map", 3, labels=labels) == (4, 4, 3)
    # One label decides the best order alone: nothing is to be learned.
    assert calibration_dimension("map", 3, labels=[[1, 0, 0]]) == (0, 0, 3)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("map", 7), "r must be"),
        (("map", 1), "r must be"),
        (("no such", 3), "Unknown measure"),
    ],
)
def test_refused(args, message):
    with pytest.raises(ValueError, match=message):
        calibration_dimension(*args)
    with pytest.raises(ValueError, match="labels must be of r=3 documents, got 2"):
        calibration_dimension("map", 3, labels=[[0, 1]])
