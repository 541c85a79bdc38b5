"""Regret bounds of maps that are not calibrated: a level, and what the surrogate regret adds."""

from itertools import permutations, product

import numpy as np
import pytest
from laws import PD

from skcalrank.calibration import (
    LabelDistribution,
    calibration_function,
    calibration_gap,
    inconsistency_level,
    regret_bound,
)
from skcalrank.measures import DCG

# Every map and surrogate of the page of calibration that has a level, and some that have none.
PAIRS = [
    ("map", "squared", "sort"),
    ("map", "pairwise_squared", "sort"),
    ("map", "squared", "diagonal"),
    ("map@2", "squared", "sort"),
    ("err", "squared", "sort"),
    ("mrr", "squared", "sort"),
    ("hit@2", "squared", "sort"),
    ("r_precision", "squared", "sort"),
    (PD, "squared", "sort"),
    (PD, "squared", "topological"),
    ("kendall", "squared", "topological"),
]
each_pair = pytest.mark.parametrize("of", PAIRS, ids="-".join)


def surrogate_of(loss, pred):
    return loss if pred == "sort" else "pairs"


@each_pair
def test_bound_begins_at_the_level(of):
    measure, loss, pred = of
    for r in (2, 3):
        level = inconsistency_level(surrogate_of(loss, pred), pred, measure, r)
        bound = regret_bound(measure, loss, [0.0, 1e-12, 1e-6, 0.1], r=r, pred=pred)
        assert bound[0] == pytest.approx(level, abs=1e-9)
        assert bound[1] == pytest.approx(level, abs=1e-4)
        assert (np.diff(bound) >= -1e-12).all()


def attack(measure, loss, pred, r, n, rng):
    """Compare the regrets of distributions, and their means, with the bound."""
    labels = np.array(list(product((0, 1), repeat=r)))
    if measure in ("kendall", PD):
        labels = np.array(list(permutations(range(r))))
    if measure == PD:
        labels = 1.0 * (labels[:, :, None] < labels[:, None, :])
    surrogate, found = surrogate_of(loss, pred), []
    for number in range(n):
        law = LabelDistribution(labels, rng.dirichlet(np.full(len(labels), (0.1, 0.4)[number % 2])))
        largest = np.ptp(law.order_values(measure))
        for eps in (None, 0.5 * largest or None, 0.9 * largest or None):
            gap = calibration_gap(surrogate, pred, measure, law, eps=eps)
            if np.isfinite(gap.gap):
                found.append((gap.gap, gap.regret))
    if not found:
        return
    excess, regret = np.array(found).T
    grid = np.append(0.0, np.geomspace(1e-6, max(excess.max(), 1e-5), 12))
    bound = regret_bound(measure, loss, grid, r=r, pred=pred)
    # The bound is concave, so it is above its interpolation: where that is not enough, compute it.
    above = np.flatnonzero(regret > np.interp(excess, grid, bound))
    # Gaps have rounding errors.
    exact = regret_bound(measure, loss, excess[above] + 1e-15, r=r, pred=pred)
    assert (regret[above] <= exact * (1 + 1e-9) + 1e-12).all()
    mean = regret_bound(measure, loss, excess.mean(), r=r, pred=pred)
    assert regret.mean() <= mean * (1 + 1e-9)


@each_pair
def test_bound_is_never_broken(of, rng):
    attack(*of, 3, 12, rng)


@pytest.mark.slow
@each_pair
def test_bound_is_never_broken_by_many_laws(of, rng):
    for r, n in ((2, 100), (3, 150), (4, 30 if PD not in of and "topological" not in of else 0)):
        if n:
            attack(*of, r, n, rng)


@pytest.mark.parametrize("of", [PAIRS[0], PAIRS[2], PAIRS[4], PAIRS[9]], ids="-".join)
def test_bound_is_the_largest_convex_function_inverted(of):
    measure, loss, pred = of
    surrogate = surrogate_of(loss, pred)
    level = inconsistency_level(surrogate, pred, measure, 3)
    eps = np.append(level, np.geomspace(max(level, 1e-2) * 1.01, 0.6, 25))
    h = calibration_function(surrogate, pred, measure, 3, eps)
    eps, h = eps[np.isfinite(h)], h[np.isfinite(h)]
    bound = regret_bound(measure, loss, h, r=3, pred=pred)
    assert (bound >= eps * (1 - 1e-6)).all()
    # Mixtures of two laws of the grid attain chords, which are nearly the bound.
    share = np.linspace(0, 1, 201)[:, None, None]
    x = (share * h + (1 - share) * h[:, None]).ravel()
    y = (share * eps + (1 - share) * eps[:, None]).ravel()
    best = np.array([y[x <= at * (1 + 1e-12) + 1e-15].max() for at in h])
    assert (best <= bound * (1 + 1e-6)).all()
    assert (best >= 0.99 * bound)[1:].all()


def test_calibrated_bounds_are_roots():
    for measure, pred in (("precision@1", "sort"), ("map", "exact")):
        root = regret_bound(measure, "squared", 0.01, r=3, pred=pred)
        assert root == regret_bound(measure, "squared", 0.01, r=3)
    # The reciprocal rank of one relevant document is positional, with the discounts 1, 1/2, 1/3.
    discounts = DCG(gain="linear", discount=np.reciprocal)
    for s in (1e-4, 1e-2):
        own = regret_bound("mrr", "squared", s, r=3, pred="sort", labels=np.eye(3))
        assert own == pytest.approx(regret_bound(discounts, "squared", s, r=3), rel=1e-4)


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        ("logistic", {"r": 3}, "loss must be 'squared' or 'pairwise_squared' for pred='sort'"),
        ("squared", {"r": 6}, "r must be .*5"),
        ("squared", {"r": 3, "margin": 0.1}, "margin and results must be None for pred='sort'"),
        ("squared", {"r": 3, "labels": [[0, 1]]}, "labels must be of r=3 documents, got 2"),
        ("squared", {"r": 3, "pred": "no such"}, "pred must be one of 'exact', 'diagonal'"),
    ],
)
def test_refused(loss, options, message):
    with pytest.raises(ValueError, match=message):
        regret_bound("map", loss, 0.1, **{"pred": "sort"} | options)


def test_options_that_are_not_read_are_refused():
    with pytest.raises(ValueError, match="labels must be None for pred=None"):
        regret_bound("map", "squared", 0.1, r=3, labels=np.eye(3))
    with pytest.raises(ValueError, match="pred must be None for vectors, got 'sort'"):
        regret_bound(np.eye(3), "squared", 0.1, r=None, pred="sort")
    for name in ("eta", "threshold", "smoothing", "max_target", "best_value", "max_pair"):
        with pytest.raises(ValueError, match=f"{name} must be None for pred='sort', which is not"):
            regret_bound("map", "squared", 0.1, r=3, pred="sort", **{name: 0.4})
        with pytest.raises(ValueError, match=f"{name} must be None for vectors, got 0.4"):
            regret_bound(np.eye(3), "squared", 0.1, r=None, **{name: 0.4})


def test_labels_and_sizes():
    both = regret_bound("map", "squared", 0.01, r=[2, 3], pred="sort")
    assert both == regret_bound("map", "squared", 0.01, r=3, pred="sort")
    # Of one relevant document, the reciprocal rank is positional.
    one = regret_bound("mrr", "squared", [0.0, 0.01], r=3, pred="sort", labels=np.eye(3))
    assert one[0] == 0.0
    assert one[1] < regret_bound("mrr", "squared", 0.01, r=3, pred="sort")
