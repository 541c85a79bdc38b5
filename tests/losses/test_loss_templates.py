"""Losses around functions of one's own: those of the package are cases, conditions are checked."""

import numpy as np
import pytest
from scipy.special import expit

from skcalrank import BoostedRanker, OrderPreservingRanker
from skcalrank.calibration import (
    LabelDistribution,
    calibration_gap,
    find_counterexample,
    regret_bound,
)
from skcalrank.data import Queries
from skcalrank.losses import (
    BregmanTemplate,
    PairwiseObjective,
    PairwiseTemplate,
    PreferenceLogistic,
    get_loss,
)

EXPONENTIAL = PairwiseTemplate(
    lambda x: np.exp(-x), lambda x: -np.exp(-x), lambda x: np.exp(-x), name="own"
)
SQUARE = (lambda v: v**2, lambda v: 2 * v, lambda v: 2 + 0 * v)
IDENTITY = (lambda s: s, lambda s: 1 + 0 * s, lambda v: v)
SQUARED = BregmanTemplate(SQUARE, IDENTITY, mu=2.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("own", "loss"), [(EXPONENTIAL, "pairwise_exponential"), (SQUARED, "squared")]
)
def test_losses_of_the_package_are_cases(own, loss, weighted, rng):
    queries = Queries(np.array([0, 3, 4, 9]))
    v, s = rng.random(9), rng.normal(size=9)
    weight = 0.5 + rng.random(9) if weighted else None
    theirs = get_loss(loss)
    np.testing.assert_allclose(
        own.evaluate(v, s, queries, weight), theirs.evaluate(v, s, queries, weight), atol=1e-12
    )
    for ours, others in zip(
        own.derivatives(v, s, queries, weight), theirs.derivatives(v, s, queries, weight)
    ):
        np.testing.assert_allclose(ours, others, atol=1e-12)
    value, gradient = own.value_and_gradient(v, s, queries, weight)
    assert value == pytest.approx(theirs.evaluate(v, s, queries, weight).sum())
    np.testing.assert_allclose(gradient, theirs.derivatives(v, s, queries, weight)[0], atol=1e-12)
    np.testing.assert_allclose(own.infimum(v, queries), theirs.infimum(v, queries), atol=1e-7)


def test_far_scores_of_short_queries_do_not_overflow(rng):
    # Queries of other sizes are evaluated side by side, filled up with documents of score 0.
    queries, v, s = Queries(np.array([0, 3, 4, 9])), rng.random(9), rng.normal(size=9)
    for far in (-1000.0, 1000.0):
        values = EXPONENTIAL.evaluate(v, s + far, queries)
        np.testing.assert_allclose(values, EXPONENTIAL.evaluate(v, s, queries), rtol=1e-9)


@pytest.mark.parametrize("own", [EXPONENTIAL, SQUARED])
def test_templates_are_calibrated(own):
    assert find_counterexample(own, "sort", "dcg@2", n_tries=10, random_state=0) is None
    law = LabelDistribution([[0, 1, 1], [1, 0, 1]], [0.7, 0.3])
    assert calibration_gap(own, "sort", "precision@1", law).calibrated


def test_templates_are_fitted(rng):
    X = rng.normal(size=(60, 2))
    y, qid = (X[:, 0] + rng.normal(size=60) > 0).astype(int), np.arange(60) // 6
    for own, loss in ((EXPONENTIAL, "pairwise_exponential"), (SQUARED, "squared")):
        fits = [OrderPreservingRanker("precision@1", loss=x).fit(X, y, qid) for x in (own, loss)]
        np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-3)


def test_bound_of_a_bregman_template():
    assert regret_bound("precision@1", SQUARED, 0.01, r=5) == pytest.approx(np.sqrt(0.02))
    assert regret_bound("precision@1", BregmanTemplate(SQUARE, IDENTITY), 0.0, r=5) == np.inf
    assert EXPONENTIAL.constant() == np.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PairwiseTemplate(np.exp, np.exp, np.exp), "convex and non-increasing"),
        (
            lambda: PairwiseTemplate(lambda x: -(x**3), lambda x: -3 * x**2, lambda x: -6 * x),
            "convex and non-increasing",
        ),
        (
            lambda: PairwiseTemplate(
                lambda x: x**2 / 20 - x / 4, lambda x: x / 10 - 0.25, lambda x: 0.1 + 0 * x
            ),
            "got the slopes -0.75, -0.25 and 0.25 at -5, 0 and 5",
        ),
        (
            lambda: PairwiseTemplate(lambda x: np.exp(-x), np.exp, np.exp),
            "slope must be the derivative",
        ),
        (
            lambda: BregmanTemplate(SQUARE, (lambda s: -s, lambda s: -1 + 0 * s, lambda v: -v)),
            "g does not increase",
        ),
        (
            lambda: BregmanTemplate(
                (lambda v: -(v**2), lambda v: -2 * v, lambda v: -2 + 0 * v), IDENTITY
            ),
            "potential must be strictly convex",
        ),
        (
            lambda: BregmanTemplate((*SQUARE[:2], lambda v: 3 + 0 * v), IDENTITY),
            "the third of potential must be the derivative",
        ),
        (lambda: BregmanTemplate(SQUARE, IDENTITY, mu=3.0), "mu must be positive and at most"),
        (
            lambda: BregmanTemplate(
                # A corner at 1, and a link that leaves out the values from 0 to 1.
                (
                    lambda v: v**2 + np.maximum(v - 1, 0),
                    lambda v: 2 * v + (v > 1),
                    lambda v: 2 + 0 * v,
                ),
                IDENTITY,
            ),
            "potential must be differentiable.* jumps from 2 to 3 at 1",
        ),
        (
            lambda: BregmanTemplate(
                SQUARE, (lambda s: s + (s > 0), lambda s: 1 + 0 * s, lambda v: v - (v > 0.5))
            ),
            "link must be continuous, got a value that jumps from 0 to 1 at",
        ),
    ],
)
def test_conditions_of_templates_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def hinge(corner, low=0.0):
    """The hinge with a corner, below which its slope is -1, and above which it is `low`."""
    return PairwiseTemplate(
        lambda x: np.maximum(corner - x, low * (corner - x)),
        lambda x: np.where(x < corner, -1.0, -low),
        lambda x: 0.0 * x,
    )


@pytest.mark.every_case
@pytest.mark.parametrize("corner", [1.0, 0.0, 0.3, -4.99, np.pi / 3, 1e-9])
@pytest.mark.parametrize("low", [0.0, 0.5, 0.999])
def test_a_corner_is_refused(corner, low):
    # CUG13 need a derivative: the hinge ties documents that must differ.
    with pytest.raises(ValueError, match=r"phi must be differentiable, .* jumps from -1 to -0"):
        hinge(corner, low)


def test_steep_slopes_and_jumps_of_the_curvature_are_no_corners():
    squared_hinge = PairwiseTemplate(
        lambda x: np.maximum(1 - x, 0) ** 2,
        lambda x: -2 * np.maximum(1 - x, 0),
        lambda x: 2.0 * (x < 1),
    )
    # The hinge, rounded off within a thousandth of its corner.
    rounded = PairwiseTemplate(
        lambda x: np.logaddexp(0, 1e3 * (0.987 - x)) / 1e3,
        lambda x: -np.exp(-np.logaddexp(0, 1e3 * (x - 0.987))),
        lambda x: 250 / np.cosh(np.minimum(500 * np.abs(x - 0.987), 99)) ** 2,
    )
    law = LabelDistribution([[0, 1, 1], [1, 0, 1]], [0.7, 0.3])
    assert calibration_gap(squared_hinge, "sort", "precision@1", law).calibrated
    assert rounded.slope(np.array([0.0])) == -1.0


SIGMOID = (lambda x: expit(-x), lambda x: -expit(x) * expit(-x))


@pytest.mark.parametrize("weighted", [False, True])
def test_an_objective_is_the_sum_over_pairs(weighted, rng):
    queries, v, s = (
        Queries(np.array([0, 3, 4, 9])),
        rng.integers(5, size=9) * 1.0,
        rng.normal(size=9),
    )
    weight = 0.5 + rng.random(9) if weighted else None
    loss = PairwiseObjective(*SIGMOID)
    w, expected = np.ones(9) if weight is None else weight, np.zeros(3)
    for query, (a, b) in enumerate([(0, 3), (3, 4), (4, 9)]):
        for i in range(a, b):
            for j in range(a, b):
                term = max(v[i] - v[j], 0.0) / (1.0 + np.exp(s[i] - s[j]))
                expected[query] += w[i] * w[j] / w[a:b].mean() * term
    np.testing.assert_allclose(loss.evaluate(v, s, queries, weight), expected, atol=1e-12)
    gradient, curvature = loss.derivatives(v, s, queries, weight)
    moved = [
        [loss.evaluate(v, s + sign * 1e-6 * unit, queries, weight).sum() for sign in (1, -1)]
        for unit in np.eye(9)
    ]
    np.testing.assert_allclose(gradient, np.diff(moved)[:, 0] / -2e-6, atol=1e-7)
    assert (curvature >= np.abs(gradient) - 1e-12).all()


def test_trees_minimize_an_objective(rng):
    X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    y = np.clip(np.round(1.5 + X[:, 0]), 0, 3).astype(int)
    ranker = BoostedRanker(
        "ndcg@5", loss=PairwiseObjective(*SIGMOID), targets="grades", n_estimators=20
    )
    assert ranker.fit(X, y, qid).score(X, y, qid) > 0.9


def test_an_objective_says_what_is_not_known():
    loss, queries = PairwiseObjective(*SIGMOID), Queries(np.array([0, 2]))
    for method in (loss.infimum, loss.minimizer):
        with pytest.raises(ValueError, match="calibration_gap"):
            method(np.ones(2), queries)
    for weight in (lambda a, b: a - b, lambda a, b: np.nan * (a - b)):
        wrong = PairwiseObjective(*SIGMOID, weight=weight)
        with pytest.raises(ValueError, match="weight must return non-negative"):
            wrong.evaluate(np.array([1.0, 0.0]), np.zeros(2), queries)
    with pytest.raises(ValueError, match="slope must be the derivative"):
        PairwiseObjective(SIGMOID[0], lambda x: expit(x))
    with pytest.raises(ValueError, match="phi must be smaller"):
        PairwiseObjective(expit, lambda x: expit(x) * expit(-x))
    with pytest.raises(ValueError, match="use PairwiseObjective"):
        PairwiseTemplate(*SIGMOID, lambda x: expit(x) * expit(-x) * (expit(x) - expit(-x)))


def test_a_loss_of_preferences_is_named_as_such():
    with pytest.raises(ValueError, match="PairwiseLogisticRanker"):
        get_loss(PreferenceLogistic())
