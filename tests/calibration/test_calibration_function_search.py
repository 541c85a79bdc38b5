"""Calibration functions of MAP, ERR and pairwise disagreement, by search over a grid."""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
from definitions import average_precision, disagreement, err

from skcalrank.calibration import (
    LabelDistribution,
    calibration_function,
    calibration_gap,
    inconsistency_level,
)

PD = "neg_pairwise_disagreement"
SORTED = [("squared", "map"), ("squared", "err"), ("value_regularized", PD)]
LEVELS = {
    ("map", 3): 1 / 18, ("map", 4): 1 / 12, ("err", 3): 1 / 48, ("err", 4): 7 / 192,
    (PD, 3): 1 / 3, (PD, 4): 1.0,
}  # fmt: skip
#: Laws that are enumerated, by number of documents: numbers of outcomes, in how many parts.
GRIDS = {3: {2: 24, 3: 24, 4: 8}, 4: {2: 24, 3: 12}}


def worth(measure, labels, positions):
    if measure == "map":
        return np.nan_to_num(average_precision(labels, positions))
    return (
        err(labels, positions, max_grade=1)
        if measure == "err"
        else -disagreement(labels, positions)
    )


def target(measure, labels):
    """What least squares regresses: y / |y|, stop probabilities, or half the net preference."""
    if measure == "map":
        return labels / max(labels.sum(), 1)
    return labels / 2 if measure == "err" else (labels.sum(axis=1) - labels.sum(axis=0)) / 2


def all_labels(measure, r):
    if measure != PD:
        return [np.array(y, dtype=float) for y in product((0, 1), repeat=r)]
    before = np.triu(np.ones((r, r)), 1)
    return [before[np.ix_(order, order)] for order in permutations(range(r))]


def all_laws(n_labels, n_outcomes, parts):
    """Every distribution over the outcomes in multiples of 1 / `parts`, one in each row."""
    cuts = combinations(range(1, parts), n_outcomes - 1)
    shares = np.diff([[0, *cut, parts] for cut in cuts]) / parts
    chosen = np.array(list(combinations(range(n_labels), n_outcomes)))
    laws = np.zeros((len(chosen), len(shares), n_labels))
    np.put_along_axis(
        laws,
        np.broadcast_to(chosen[:, None], (*laws.shape[:2], n_outcomes)),
        np.broadcast_to(shares, (len(chosen), *shares.shape)),
        axis=2,
    )
    return laws.reshape(-1, n_labels)


def distances(values):
    """Squared distance of every row from the non-increasing ones, by the min-max formula."""
    r = values.shape[-1]
    total = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    fit = np.empty_like(values)
    for k in range(r):
        means = [
            np.max([(total[..., b] - total[..., a]) / (b - a) for b in range(k + 1, r + 1)], axis=0)
            for a in range(k + 1)
        ]
        fit[..., k] = np.min(means, axis=0)
    return ((values - fit) ** 2).sum(axis=-1)


@cache
def searched(measure, r):
    """Regret of each order per distribution, and smallest surrogate regret that predicts it."""
    labels = all_labels(measure, r)
    orders = np.array(list(permutations(range(r))))
    values = np.array([[worth(measure, y, np.argsort(o) + 1) for o in orders] for y in labels])
    laws = np.concatenate([all_laws(len(labels), *grid) for grid in GRIDS[r].items()])
    expected = laws @ values
    means = laws @ [target(measure, y) for y in labels]
    return expected.max(axis=1)[:, None] - expected, distances(means[:, orders])


@pytest.mark.parametrize("r", [3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("surrogate", "measure"), SORTED)
def test_no_law_of_the_grid_is_below_and_some_are_near(surrogate, measure, r):
    regret, excess = searched(measure, r)
    eps = np.linspace(0.02, 0.9, 12) * regret.max()
    least = np.array([excess[regret >= one - 1e-12].min() for one in eps])
    h = calibration_function(surrogate, "sort", measure, r, eps)
    assert (h <= least + 1e-12).all()
    assert (least <= h + 0.08 * least.max()).all()


@pytest.mark.parametrize("r", [3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("surrogate", "measure"), SORTED)
def test_level_is_the_largest_regret_without_excess(surrogate, measure, r):
    regret, excess = searched(measure, r)
    level = inconsistency_level(surrogate, "sort", measure, r)
    assert level == pytest.approx(LEVELS[measure, r], abs=1e-12)
    assert regret[excess < 1e-20].max() == pytest.approx(level, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["map", PD])
def test_exact_maps_of_pairs_at_four_documents(measure, rng):
    labels, found = np.array(all_labels(measure, 4)), []
    for _ in range(40):
        few = rng.choice(len(labels), size=3, replace=False)
        result = calibration_gap(
            "pairs", "exact", measure, LabelDistribution(labels[few], rng.dirichlet(np.ones(3)))
        )
        found.append((result.regret, result.gap))
    eps, gap = np.array(found)[np.isfinite(found).all(axis=1)].T
    h = calibration_function("pairs", "exact", measure, 4, eps)
    assert (h > 0).all()
    assert (h <= gap + 1e-9).all()
