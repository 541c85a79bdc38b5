"""Calibration functions: lower bounds for every distribution, attained, and 0 where theory says."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from skcalrank.calibration import (
    LabelDistribution,
    c_phi,
    calibration_function,
    calibration_gap,
    inconsistency_level,
    regret_bound,
)
from skcalrank.losses import LOSSES

PD = "neg_pairwise_disagreement"
LEAST_SQUARES = [
    ("squared", "sort", "precision@1"),
    ("pairwise_squared", "sort", "recall@1"),
    ("squared", "sort", "map"),
    ("squared", "sort", "err"),
    ("squared", "sort", "auc"),
    ("value_regularized", "sort", PD),
    ("pairs", "exact", "map"),
    ("pairs", "diagonal", "map"),
    ("pairs", "exact", PD),
    ("pairs", "topological", PD),
    ("pairs", "topological", "kendall"),
]


def all_labels(measure, r):
    if measure == "kendall":
        return np.array(list(permutations(range(r))))
    if measure != PD:
        return np.array(list(product((0, 1), repeat=r)))
    return np.array([np.triu(np.ones((r, r)), 1)[np.ix_(o, o)] for o in permutations(range(r))])


def laws(measure, r, rng, n):
    labels = all_labels(measure, r)
    for _ in range(n):
        yield LabelDistribution(labels, rng.dirichlet(np.full(len(labels), rng.choice([0.1, 0.5]))))


@pytest.mark.parametrize(("surrogate", "pred", "measure"), LEAST_SQUARES)
def test_no_law_is_below(surrogate, pred, measure, rng):
    for r, n in ((2, 10), (3, 30)):
        results = [calibration_gap(surrogate, pred, measure, x) for x in laws(measure, r, rng, n)]
        eps, gap = np.array([(x.regret, x.gap) for x in results if np.isfinite(x.gap)]).T
        assert (calibration_function(surrogate, pred, measure, r, eps) <= gap + 1e-9).all()


@pytest.mark.parametrize("r", [2, 3, 4])
@pytest.mark.parametrize("measure", ["precision@1", "precision@2", "dcg"])
def test_closed_form_of_positional_measures(measure, r):
    # The whole distance of two orders lies between two documents next to each other, or in pairs.
    eps = np.array([0.01, 0.1])
    h = calibration_function("squared", "sort", measure, r, eps)
    bound = eps**2 / (2 * c_phi(measure, r) ** 2) if c_phi(measure, r) else np.inf
    np.testing.assert_allclose(h, bound, rtol=1e-6)
    pairwise = calibration_function("pairwise_squared", "sort", measure, r, eps)
    np.testing.assert_allclose(pairwise, r * h, rtol=1e-6)


@pytest.mark.parametrize("measure", ["map", "err"])
def test_least_squares_against_another_solver(measure):
    # min |u - A p|^2 over laws p and sorted u, for every pair of orders, from the definition.
    labels = all_labels(measure, 3)
    each = [LabelDistribution([y]) for y in labels]
    targets = np.array([law.expected_targets(measure) for law in each]).T
    orders = np.array(list(permutations(range(3))))
    values = np.array([law.value(measure, -np.argsort(orders, axis=1)) for law in each]).T

    def excess(x):
        return ((x[:3] - targets @ x[3:]) ** 2).sum()

    least = np.inf
    for better in values[1:] - values[0]:
        if better.max() < 0.1:
            continue
        ways = [
            {"type": "eq", "fun": lambda x: x[3:].sum() - 1},
            {"type": "ineq", "fun": lambda x: -np.diff(x[:3])},
            {"type": "ineq", "fun": lambda x, better=better: better @ x[3:] - 0.1},
        ]
        start = np.r_[np.zeros(3), np.eye(8)[better.argmax()]]
        bounds = [(None, None)] * 3 + [(0, 1)] * 8
        found = minimize(excess, start, constraints=ways, bounds=bounds, tol=1e-12)
        least = min(least, found.fun)
    h = calibration_function("squared", "sort", measure, 3, 0.1)
    assert h == pytest.approx(least, rel=1e-4)


def test_exact_map_against_another_solver():
    # Targets y_i y_j / |y|; an order is worth their sum over the larger of the two positions.
    y = all_labels("map", 3)
    low = np.tril_indices(3)
    alpha = (y[:, low[0]] * y[:, low[1]] / np.maximum(y.sum(axis=1), 1)[:, None]).T
    positions = np.array(list(permutations((1, 2, 3))))
    basis = 1 / np.maximum(positions[:, low[0]], positions[:, low[1]])
    ahead, least = basis[0] - basis[1:], np.inf
    for better in basis[1:] - basis[0]:
        if (better @ alpha).max() < 0.1:
            continue
        ways = [
            {"type": "eq", "fun": lambda x: x[6:].sum() - 1},
            {"type": "ineq", "fun": lambda x: ahead @ x[:6]},
            {"type": "ineq", "fun": lambda x, gain=better @ alpha: gain @ x[6:] - 0.1},
        ]
        found = minimize(
            lambda x: ((x[:6] - alpha @ x[6:]) ** 2).sum(),
            np.r_[np.zeros(6), np.eye(8)[(better @ alpha).argmax()]],
            constraints=ways,
            bounds=[(None, None)] * 6 + [(0, 1)] * 8,
            tol=1e-12,
        )
        least = min(least, found.fun)
    h = calibration_function("pairs", "exact", "map", 3, [0.1, 0.2])
    assert h[0] == pytest.approx(least, rel=1e-4)
    np.testing.assert_allclose(h, 18 / 17 * np.array([0.01, 0.04]))


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared_hinge"])
def test_other_losses_reach_their_bound(loss):
    # For two documents with mean targets near 1/2, the bound is tight.
    eps = 0.01
    h = calibration_function(loss, "sort", "precision@1", 2, eps)
    bound = regret_bound("precision@1", loss, h, r=2, eta=1.0)
    assert eps * (1 - 1e-6) <= bound <= eps * 1.001


@pytest.mark.parametrize("measure", ["precision@1", "auc"])
def test_infinite_scores_of_one_loss_are_those_of_another(measure):
    # Where targets sum to eta, the relative entropy is the softmax loss, of scores without bound.
    labels, eps = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0.05, 0.2]
    h, other = (
        calibration_function(loss, "sort", measure, 3, eps, labels=labels)
        for loss in ("bregman_kl", "softmax")
    )
    assert other[0] > 0
    np.testing.assert_allclose(h, other, rtol=1e-5)


#: Of binary classification, by the difference of the probabilities (Bartlett et al., 2006).
OF_CLASSIFIERS = {
    "logistic": lambda t: ((1 + t) * np.log1p(t) + (1 - t) * np.log1p(-t)) / 2,
    "exponential": lambda t: 1 - np.sqrt(1 - t**2),
    "hinge": lambda t: t,
    "squared_hinge": lambda t: t**2,
}


@pytest.mark.parametrize("loss", OF_CLASSIFIERS)
def test_single_preferences_of_two_documents_are_binary_labels(loss):
    eps = np.array([0.05, 0.3, 0.9])
    h = calibration_function(f"preference_{loss}", "sort", PD, 2, eps)
    np.testing.assert_allclose(h, OF_CLASSIFIERS[loss](eps), rtol=1e-5)
    if "hinge" in loss:  # The margin 1 moves the corner from 1 to 2.
        h = calibration_function(f"margin_{loss}", "sort", PD, 2, eps)
        np.testing.assert_allclose(h, OF_CLASSIFIERS[loss](2 * eps), rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    "loss",
    ["logistic", "exponential", "squared_hinge", pytest.param("hinge", marks=pytest.mark.slow)],
)
def test_no_law_of_single_preferences_is_below(loss, rng):
    surrogate, eps = f"preference_{loss}", np.array([0.2, 0.5, 0.8])
    h = calibration_function(surrogate, "sort", PD, 3, eps)
    found = [calibration_gap(surrogate, "sort", PD, law) for law in laws(PD, 3, rng, 15)]
    for one, least in zip(eps, h):
        assert least <= min([x.gap for x in found if x.regret >= one], default=np.inf) + 1e-7
    # Not calibrated: a regret of one in five costs nothing.
    assert h[0] == pytest.approx(0, abs=1e-7)
    assert h[2] > 0.01


def test_numbers_of_ones_own_loss_are_those_of_the_program():
    own = type("Own", (LOSSES["squared"],), {})()
    h = calibration_function(own, "sort", "precision@1", 2, 0.2)
    assert h == pytest.approx(0.02, rel=1e-4)
    reversed_ = type(
        "Reversed",
        (LOSSES["squared"],),
        {"terms": lambda _, v, s: (v + s) ** 2, "slopes": lambda _, v, s: 2 * (v + s)},
    )()
    assert calibration_function(reversed_, "sort", "precision@1", 2, 0.2) == pytest.approx(0)


@pytest.mark.long
@pytest.mark.parametrize(("measure", "level"), [("map", 1 / 18), ("err", 1 / 48), ("ndcg@2", 0)])
def test_level_of_inconsistency_by_exhaustive_search(measure, level):
    assert inconsistency_level("squared", "sort", measure, 3) == pytest.approx(level, abs=1e-9)
    assert inconsistency_level("logistic", "sort", measure, 3) == pytest.approx(level, abs=1e-9)
    labels, largest = all_labels(measure, 3)[1:], 0.0
    shares = np.array([(i, j, 6 - i - j) for i in range(1, 6) for j in range(6 - i)]) / 6
    for chosen in combinations(range(len(labels)), 3):
        for share in shares:
            law = LabelDistribution(labels[list(chosen)], share)
            scores = np.round(law.expected_targets(measure), 12)
            largest = max(largest, law.target_regret(measure, scores))
    assert largest <= level + 1e-12
    assert largest >= 0.5 * level
    if level:
        h = calibration_function("squared", "sort", measure, 3, [0.99 * level, 1.2 * level])
        assert h[0] == pytest.approx(0, abs=1e-12)
        assert h[1] > 1e-6


def test_pairs_have_no_level():
    for r in (3, 4):
        assert inconsistency_level("pairs", "exact", "map", r) == 0
        assert inconsistency_level("pairs", "exact", PD, r) == 0
    assert inconsistency_level("squared", "sort", "map", 4) == pytest.approx(1 / 12)
    assert inconsistency_level("value_regularized", "sort", PD, 3) > 0.1


def test_function_increases_and_ends():
    eps = np.array([0.3, 0.0, 0.1, 5.0])
    h = calibration_function("squared", "sort", "map", 3, eps)
    assert h[1] == 0 < h[2] < h[0] < h[3] == np.inf
    assert isinstance(calibration_function("squared", "sort", "map", 3, 0.1), float)


def test_labels_of_ones_own():
    labels = [[1, 0, 2], [0, 1, 0]]
    h = calibration_function("squared", "sort", "dcg@1", 3, 0.5, labels=labels)
    gaps = [
        calibration_gap("squared", "sort", "dcg@1", LabelDistribution(labels, [p, 1 - p]))
        for p in np.linspace(0, 1, 101)
    ]
    assert h <= min(g.gap for g in gaps if g.regret >= 0.5) + 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calibration_function("squared", "sort", "map", 3, -0.1), "eps must be finite"),
        (lambda: calibration_function("squared", "sort", "map", 1, 0.1), "r must .* got 1"),
        (lambda: calibration_function("squared", "exact", "map", 3, 0.1), "pred must be one of"),
        (lambda: inconsistency_level("preference_hinge", "sort", PD, 3), "must be least squares"),
        (
            lambda: calibration_function("squared", "sort", "map", 3, 0.1, labels=[[0, 1]]),
            "labels must be of r=3",
        ),
        (
            lambda: inconsistency_level(type("O", (LOSSES["squared"],), {})(), "sort", "map", 3),
            "surrogate must be least squares or one of LOSSES",
        ),
    ],
)
def test_bad_arguments_of_the_function_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_orders_are_the_labels_of_both_measures_of_orders():
    """Tau falls by 2/3 for each of three pairs; relevances 0 and 1 alone would have no level."""
    levels = [inconsistency_level("value_regularized", "sort", of, 3) for of in ("kendall", PD)]
    assert levels[0] == pytest.approx(levels[1] * 2 / 3)
    assert levels[0] > 0.2
