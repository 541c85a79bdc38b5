"""Templates of losses of single preferences, and order-preserving spaces beside low noise."""

import numpy as np
import pytest
from laws import LEMMA_10, PD, random_laws
from scipy.optimize import minimize
from scipy.special import expit

from skcalrank.calibration import (
    LabelDistribution,
    calibration_gap,
    find_counterexample,
    low_noise_condition,
    score_condition,
)
from skcalrank.losses import PREFERENCE_LOSSES, PreferenceTemplate

LOGISTIC = (
    lambda x: np.logaddexp(0, -x),
    lambda x: -expit(-x),
    lambda x: expit(x) * expit(-x),
)
# Not of the package: slopes 0 and -2, and a slope that grows without bound to the left only.
SMOOTH = {
    "root": (
        lambda x: np.sqrt(1 + x**2) - x,
        lambda x: x / np.sqrt(1 + x**2) - 1,
        lambda x: (1 + x**2) ** -1.5,
    ),
    "steep": (
        lambda x: np.exp(-2 * np.maximum(x, -300)),
        lambda x: -2 * np.exp(-2 * np.maximum(x, -300)),
        lambda x: 4 * np.exp(-2 * np.maximum(x, -300)),
    ),
    "logistic": LOGISTIC,
}
H = {"identity": None, "root": np.sqrt, "square": np.square, "log": np.log1p}


@pytest.mark.parametrize("margin", [False, True])
def test_template_of_a_loss_of_the_package_is_that_loss(margin, rng):
    template = PreferenceTemplate(*LOGISTIC, margin=margin)
    named = f"{'margin' if margin else 'preference'}_logistic"
    for law in [LEMMA_10, *random_laws(25, rng, r=3, preferences=True)]:
        own, ours = (calibration_gap(of, "sort", PD, law) for of in (template, named))
        assert own.gap == pytest.approx(ours.gap, abs=1e-9)
        assert own.regret == pytest.approx(ours.regret)
        if np.isfinite(ours.gap):
            assert own.certificate == "tangents"


@pytest.mark.parametrize("of", [(phi, h) for phi in SMOOTH for h in H], ids="-".join)
def test_minimizer_is_that_of_the_sum_over_outcomes(of, rng):
    phi, h = of
    for margin in (False, True):
        template = PreferenceTemplate(*SMOOTH[phi], h=H[h], margin=margin)
        stated = H[h] or np.positive
        for drawn in random_laws(6, rng, r=3, preferences=True):
            # Small weights, and preferences for either of two documents: the minimum is attained.
            y, p = drawn.labels / 16, drawn.probabilities
            law = LabelDistribution(
                np.concatenate([y, y.swapaxes(1, 2)]), np.append(0.7 * p, 0.3 * p)
            )

            def risk(s, law=law, template=template, stated=stated):
                ahead = s[:, None] - s
                total = 0.0
                for p, y in zip(law.probabilities, law.labels):
                    if template.margin:
                        total += p * template.phi(ahead - stated(y))[y > 0].sum()
                    else:
                        total += p * (stated(y) * template.phi(ahead))[y > 0].sum()
                return total + 1e-9 * s.sum() ** 2

            best = law.surrogate_minimizer(template, PD)
            found = minimize(risk, np.zeros(3), tol=1e-10)
            assert risk(best - best.mean()) <= found.fun + 1e-6


# Counterexamples of weights as they are need a longer search.
LONGER = [pytest.param((phi, "identity"), marks=pytest.mark.slow, id=phi) for phi in SMOOTH]


@pytest.mark.parametrize(
    "of", [*LONGER, *((phi, h) for phi in SMOOTH for h in H if h != "identity")], ids="-".join
)
def test_no_template_is_calibrated_under_low_noise(of):
    # DMJ10, Theorems 11 and 12.
    phi, h = of
    for margin in (False, True):
        template = PreferenceTemplate(*SMOOTH[phi], h=H[h], margin=margin)
        options = {"condition": "low_noise", "n_tries": 4000, "random_state": 0}
        law = find_counterexample(template, "sort", PD, **options)
        assert law is not None
        assert low_noise_condition(law.expected_targets(PD, pairs=True))


def test_value_and_gradient_agree(rng):
    template = PreferenceTemplate(*SMOOTH["root"])
    s, winner, loser = rng.normal(size=4), np.array([0, 1, 3]), np.array([1, 2, 0])
    value, gradient = template.value_and_gradient(s, winner, loser, np.array([1.0, 2.0, 0.5]))
    for i, step in enumerate(1e-6 * np.eye(4)):
        ahead = template.value_and_gradient(s + step, winner, loser, np.array([1.0, 2.0, 0.5]))[0]
        assert (ahead - value) / 1e-6 == pytest.approx(gradient[i], abs=1e-4)
    assert all(not loss.margin for loss in PREFERENCE_LOSSES.values())


@pytest.mark.parametrize(
    ("functions", "options", "message"),
    [
        ((lambda x: 1 - x, lambda x: -1 + 0 * x, lambda x: 0 * x), {}, "assumption A"),
        ((np.exp, np.exp, np.exp), {}, "phi must be convex and non-increasing"),
        ((LOGISTIC[0], LOGISTIC[2], LOGISTIC[2]), {}, "slope must be the derivative"),
        (
            (lambda x: np.maximum(1 - x, 0), lambda x: -1.0 * (x < 1), lambda x: 0 * x),
            {},
            "phi must be differentiable, without corners",
        ),
        (LOGISTIC, {"h": np.cos}, r"h must increase from h\(0\) = 0, got 1 at 0"),
        (LOGISTIC, {"h": lambda y: np.minimum(y, 1)}, "h must increase"),
    ],
)
def test_refused(functions, options, message):
    with pytest.raises(ValueError, match=message):
        PreferenceTemplate(*functions, **options)


def orders_of_xia(share, weight):
    """The orders 1, 2, 3 and 2, 3, 1: weight 1 for neighbors, another one for the ends."""
    first = np.array([[0, 1, weight], [0, 0, 1], [0, 0, 0]])
    second = np.array([[0, 0, 0], [weight, 0, 1], [1, 0, 0]])
    return LabelDistribution([first, second], [share, 1 - share])


def test_no_weight_of_far_pairs_turns_order_preserving_spaces_into_low_noise():
    # DMJ10, section 3.1: low noise with the first order best needs a weight of 2 or more, and less
    # than the ratio of the probabilities.
    for share in (0.51, 0.6, 0.66, 0.75, 0.9):
        for weight in np.linspace(0.05, 12, 48):
            law = orders_of_xia(share, weight)
            EY = law.expected_targets(PD, pairs=True)
            first_is_best = (law.bayes_positions(PD) == [1, 2, 3]).all()
            low = bool(low_noise_condition(EY)) and first_is_best and bool((EY - EY.T)[0, 1] > 1e-9)
            assert low == (2 - 1e-9 <= weight < share / (1 - share) - 1e-9)
    # P_f holds there with other weights, so that scores are enough where low noise says nothing.
    law = orders_of_xia(0.75, 1.0)
    EY = law.expected_targets(PD, pairs=True)
    assert not low_noise_condition(EY)
    assert score_condition(EY, law.expected_targets(PD))
