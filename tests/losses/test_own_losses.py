"""User-defined losses: claims of the tools are proved, or marked as unproved."""

import numpy as np
import pytest
from laws import random_laws
from made_losses import Made
from sklearn.isotonic import isotonic_regression

from skcalrank.calibration import (
    LabelDistribution,
    calibration_gap,
    find_counterexample,
    regret_bound,
)
from skcalrank.calibration._shape import frame_of
from skcalrank.losses import LOSSES, Squared

REVERSED = Made(lambda v, s: (s + v) ** 2, lambda v, s: 2 * (s + v))
LOG = Made(lambda v, s: (s - np.log1p(v)) ** 2, lambda v, s: 2 * (s - np.log1p(v)))
HINGE = Made(
    lambda v, s: v * np.maximum(1 - s, 0) + (1 - v) * np.maximum(1 + s, 0),
    lambda v, s: (1 - v) * (s > -1) - v * (s < 1),
)
TWO_WELLS = Made(lambda v, s: (s**2 - v) ** 2, lambda v, s: 4 * s * (s**2 - v))


def own(loss):
    """A loss of the package, wrapped so that the tools do not recognize it."""
    return type("Own", (LOSSES[loss],), {})()


@pytest.mark.every_case
@pytest.mark.parametrize("loss", LOSSES)
def test_numbers_agree_with_closed_forms(loss, rng):
    certificates = set()
    for measure, r, grades in (("ndcg@2", 3, 3), ("precision@1", 4, 2), ("map", 3, 2)):
        for law in random_laws(1, rng, r=r, n_grades=grades):
            closed = calibration_gap(loss, "sort", measure, law)
            found = calibration_gap(own(loss), "sort", measure, law)
            certificates.add(found.certificate)
            assert closed.certificate == "exact"
            assert found.calibrated == closed.calibrated
            assert found.gap == pytest.approx(closed.gap, abs=1e-9)
            # The numerical minimizer has the same risk as the formula.
            scores = law.surrogate_minimizer(own(loss), measure)
            assert law.surrogate_regret(loss, measure, scores) == pytest.approx(0, abs=1e-9)
            scores = np.clip(law.surrogate_minimizer(loss, measure), -300, 300)
            assert law.surrogate_regret(own(loss), measure, scores) == pytest.approx(0, abs=1e-9)
    assert certificates <= {"exact", "tangents"}


@pytest.mark.parametrize("width", [1.0, 100.0])
def test_a_loss_that_ignores_small_errors_is_found_out(width):
    def error(v, s):
        return np.sign(s - v) * np.maximum(np.abs(s - v) - width, 0)

    loss = Made(lambda v, s: error(v, s) ** 2, lambda v, s: 2 * error(v, s))
    laws = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25]), LabelDistribution([[1, 0]])
    for law in laws:
        # All slopes are 0 at equal scores, which any order is near.
        result = calibration_gap(loss, "sort", "precision@1", law)
        assert (result.gap, result.calibrated, result.certificate) == (0.0, False, "tangents")


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e3, 1e6])
def test_a_constant_does_not_change_the_unit_of_scores(constant):
    # Near the minimum, what is added rounds all changes of the loss to 0.
    def losses(scores):
        return (scores**2 + constant).sum(axis=1, keepdims=True)

    frame = frame_of(losses, np.ones(1), 2)
    assert (frame.origin, frame.size) == (0, 2 * constant)
    assert (frame.unit, frame.scale) == pytest.approx((1, 1))


def test_a_loss_that_sorts_upside_down_is_found_out():
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    result = calibration_gap(REVERSED, "sort", "precision@1", law)
    assert (result.gap, result.calibrated, result.certificate) == (0.0, False, "tangents")
    scores = law.surrogate_minimizer(REVERSED, "precision@1")
    np.testing.assert_allclose(scores, [-0.25, -0.75, -0.75])
    assert law.target_regret("precision@1", scores) == 0.5
    found = find_counterexample(REVERSED, "sort", "precision@1", n_tries=20, random_state=0)
    assert found.target_regret("precision@1", -found.expected_targets("precision@1")) > 0


def test_a_loss_that_is_not_affine_is_found_out():
    law = LabelDistribution([[3, 1], [0, 1]], [0.3, 0.7])
    assert not calibration_gap(LOG, "sort", "dcg@1", law)
    expected = 0.3 * np.log1p([7, 1]) + 0.7 * np.log1p([0, 1])
    np.testing.assert_allclose(law.surrogate_minimizer(LOG, "dcg@1"), expected)
    found = find_counterexample(LOG, "sort", "dcg@2", random_state=0)
    mean = found.probabilities @ np.log1p(found.targets("dcg@2"))
    assert found.target_regret("dcg@2", mean) > 0.01 * np.ptp(found.order_values("dcg@2"))


def test_gap_of_a_loss_that_is_not_affine(rng):
    # Least squares on E log(1 + v): its distance from the cones of suboptimal orders.
    alarms = 0
    for law in random_laws(30, rng, r=3, n_grades=3):
        result = calibration_gap(LOG, "sort", "dcg@2", law)
        mean = law.probabilities @ np.log1p(law.targets("dcg@2"))
        values, nearest = law.order_values("dcg@2"), np.inf
        for positions in LabelDistribution([[0, 0, 0]]).bayes_positions("dcg@2"):
            if values.max() - law.value("dcg@2", -positions) > 1e-9:
                order = np.argsort(positions)
                fit = isotonic_regression(mean[order], increasing=False)
                nearest = min(nearest, ((fit - mean[order]) ** 2).sum())
        assert result.gap == pytest.approx(nearest, abs=1e-9)
        alarms += result.gap == 0
    assert 0 < alarms < 15


def test_what_is_not_convex_is_not_proven():
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    result = calibration_gap(TWO_WELLS, "sort", "precision@1", law)
    assert result.certificate == "not proven"
    assert result.calibrated is None
    assert not result
    # Both wells have the same depth, and the left one is upside down.
    assert result.gap == pytest.approx(0, abs=1e-6)
    assert result.risk == pytest.approx(3 * 0.1875)


def test_corners_are_not_proven_and_not_missed():
    # Scores -1 or 1, the same for both documents: their order is anybody's guess.
    same = LabelDistribution([[1, 1], [0, 1], [0, 0]], [0.6, 0.2, 0.2])
    result = calibration_gap(HINGE, "sort", "precision@1", same)
    assert result.gap == pytest.approx(0, abs=1e-6)
    assert result.calibrated is not True
    other = LabelDistribution([[1, 0], [0, 1]], [0.8, 0.2])
    result = calibration_gap(HINGE, "sort", "precision@1", other)
    # (-1, 1) costs .8, every tie 2.
    assert result.gap == pytest.approx(2 - 0.8, abs=1e-6)


@pytest.mark.parametrize(
    ("terms", "slopes", "message"),
    [
        (lambda v, s: (s - v) ** 2, lambda v, s: 2 * (v - s), "derivatives .* must match"),
        (lambda v, s: -v * s, lambda v, s: -v + 0 * s, "has no minimum"),
        (lambda v, s: s - v * np.log(s), lambda v, s: 1 - v / s, "must be finite"),
    ],
)
def test_what_is_no_loss_is_named(terms, slopes, message):
    law = LabelDistribution([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match=message):
        law.surrogate_minimizer(Made(terms, slopes), "precision@1")


def test_a_subclass_is_not_taken_for_its_parent():
    class Backwards(Squared):
        def terms(self, v, s):
            return (v + s) ** 2

        def slopes(self, v, s):
            return 2.0 * (v + s)

    law = LabelDistribution([[0, 1], [1, 1]])
    assert not calibration_gap(Backwards(), "sort", "precision@1", law)


def test_no_bound_is_infinite_and_never_nan():
    for r, expected in ((1, 0.0), (5, np.inf)):
        for regret in (0.0, 0.1):
            assert regret_bound("ndcg@2", LOG, regret, r=r, max_target=0.0) == expected


@pytest.mark.parametrize("loss", [REVERSED, Made(Squared().terms, Squared().slopes)])
def test_a_bound_that_a_law_breaks_is_refused(loss):
    claimed = Made(loss.terms, loss.slopes, constant=0.5 if loss is not REVERSED else 1e6)
    with pytest.raises(ValueError, match="must bound the regret"):
        regret_bound("precision@1", claimed, 0.01, r=5)


def test_a_bound_that_holds_is_given():
    claimed = Made(Squared().terms, Squared().slopes, constant=np.sqrt(2))
    assert regret_bound("precision@1", claimed, 0.01, r=5) == pytest.approx(np.sqrt(0.02))
