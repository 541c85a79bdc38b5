"""What certificates of losses of a user's own prove: nothing wrong, in any unit of the scores."""

import numpy as np
import pytest
from laws import random_laws
from made_losses import Made, gap_on_grid, in_units, random_loss

from skcalrank.calibration import LabelDistribution, calibration_gap, find_counterexample
from skcalrank.measures import DCG

UNITS = [1e-6, 1e-3, 1e3, 1e6, 2.0, 12.0, 30.0]
FORMS = {
    "squared": (lambda v, s: (s - v) ** 2, lambda v, s: 2 * (s - v)),
    "poisson": (lambda v, s: np.exp(s) - v * s, lambda v, s: np.exp(s) - v),
    "logarithmic": (lambda v, s: (s - np.log1p(v)) ** 2, lambda v, s: 2 * (s - np.log1p(v))),
}
LINEAR = DCG(k=1, gain="linear")


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_gaps_do_not_depend_on_the_units_of_scores(form, rng):
    laws = list(random_laws(10, rng, r=3, n_grades=3))
    plain = [calibration_gap(in_units(1.0, *FORMS[form]), "sort", "dcg@2", law) for law in laws]
    verdicts = {one.calibrated for one in plain}
    assert verdicts == ({True, False} if form == "logarithmic" else {True})
    for c in UNITS:
        for law, expected in zip(laws[-5:], plain[-5:]):
            result = calibration_gap(in_units(c, *FORMS[form]), "sort", "dcg@2", law)
            assert result.calibrated is expected.calibrated
            assert result.gap == pytest.approx(expected.gap, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_gaps_are_measured_in_units_of_the_loss(size, rng):
    loss = Made(lambda v, s: size * (s - v) ** 2, lambda v, s: size * 2 * (s - v))
    for law in random_laws(10, rng, r=3, n_grades=3):
        expected = calibration_gap("squared", "sort", "dcg@2", law)
        result = calibration_gap(loss, "sort", "dcg@2", law)
        assert result.calibrated
        assert result.gap == pytest.approx(size * expected.gap)


@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-5])
def test_small_gains_are_no_counterexample(size):
    measure = DCG(k=2, gain=[0, size, 2 * size])
    loss = Made(*FORMS["squared"])
    assert find_counterexample(loss, "sort", measure, n_tries=30, random_state=0) is None


@pytest.mark.long
@pytest.mark.parametrize("c", [1e-6, 12.0, 1e6])
def test_no_counterexample_in_other_units(c):
    loss = in_units(c, *FORMS["poisson"])
    assert find_counterexample(loss, "sort", "dcg@2", n_tries=30, random_state=0) is None
    rows = {"form": "rows", "r": 4, "random_state": 0}
    assert find_counterexample(loss, "sort", "dcg@2", n_tries=6, **rows) is None
    queries = find_counterexample(loss, "sort", "recall@1", **rows)
    regret = queries.regret("recall@1", queries.minimizer(loss, "recall@1"))
    assert regret == pytest.approx(0.0091, abs=5e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)
def test_no_certificate_is_wrong(seed):
    # Ten times 21 losses, two thirds of them not convex, against dynamic programming on a grid.
    rng = np.random.default_rng(seed)
    scores = np.unique(np.r_[np.linspace(-400, 400, 20001), np.linspace(-40, 40, 20001)])
    proven = {False: 0, True: 0}
    for number in range(21):
        dips = number % 3 > 0
        loss = random_loss(rng, dips)
        (law,) = random_laws(1, rng, r=int(rng.integers(2, 5)), n_grades=3)
        result = calibration_gap(loss, "sort", LINEAR, law)
        if result.certificate == "not proven" or np.isinf(result.gap):
            continue
        gap, error = gap_on_grid(loss, law, LINEAR, scores)
        assert result.certificate == "tangents"
        assert result.gap == pytest.approx(gap, abs=2 * error + 1e-6, rel=1e-4)
        assert result.calibrated == (gap > error) or gap <= 2 * error
        proven[dips] += 1
    # Convex losses get a certificate, and some of the others do, which are convex where it matters.
    assert proven[False] >= 5
    assert 1 <= proven[True] <= 11


@pytest.mark.parametrize(
    ("depth", "middle", "width"),
    [(50.0, lambda v: 5.0 - v, 0.02), (1e6, lambda v: 200.0 * (3.0 - v), 30.0)],
)
def test_a_second_well_is_not_missed(depth, middle, width):
    # The risk looks convex around the mean targets; its minimum is elsewhere, upside down.
    def bell(v, s):
        return depth * np.exp(-(((s - middle(v)) / width) ** 2) / 2)

    loss = Made(
        lambda v, s: (s - v) ** 2 - bell(v, s),
        lambda v, s: 2 * (s - v) + bell(v, s) * (s - middle(v)) / width**2,
    )
    law = LabelDistribution([[1, 0, 1], [1, 2, 0]], [0.87, 0.13])
    result = calibration_gap(loss, "sort", LINEAR, law)
    assert result.certificate == "not proven"
    assert result.calibrated is None


def test_a_well_between_documents_is_not_missed():
    # Convex in the score of each document while the others are fixed near the minimum, but not
    # along the line to scores in the other order.
    class Differences(Made):
        separable = False

        def evaluate(self, v, s, queries):
            ahead = s.reshape(-1, 2) @ [1.0, -1.0]
            target = v.reshape(-1, 2) @ [1.0, -1.0]
            return (ahead - target) ** 2 - 9 * np.exp(-((ahead + 4) ** 2)) + self._common(s)

        def derivatives(self, v, s, queries):
            ahead = s.reshape(-1, 2) @ [1.0, -1.0]
            target = v.reshape(-1, 2) @ [1.0, -1.0]
            slope = 2 * (ahead - target) + 18 * (ahead + 4) * np.exp(-((ahead + 4) ** 2))
            return (slope[:, None] * [1.0, -1.0]).ravel() + 2 * s, np.ones_like(s)

        def _common(self, s):
            return (s.reshape(-1, 2) ** 2).sum(axis=1)

    law = LabelDistribution([[1, 0], [0, 1]], [0.8, 0.2])
    result = calibration_gap(Differences(None, None), "sort", LINEAR, law)
    assert result.certificate == "not proven"


@pytest.mark.long
def test_counterexamples_that_are_not_proven_are_marked():
    corner = Made(lambda v, s: np.abs(s - v), lambda v, s: np.sign(s - v))
    law = find_counterexample(corner, "sort", "dcg@1", r=2, random_state=0)
    assert law.certificate == "not proven"
    assert repr(law).endswith("), not proven")
    assert calibration_gap(corner, "sort", "dcg@1", law).calibrated is None
    for loss, certificate in (("squared", "exact"), (Made(*FORMS["logarithmic"]), "tangents")):
        measure = "err" if loss == "squared" else "dcg@1"
        law = find_counterexample(loss, "sort", measure, r=4, random_state=0)
        assert law.certificate == certificate
        assert calibration_gap(loss, "sort", measure, law).calibrated is False
        assert "proven" not in repr(law)
    assert LabelDistribution([[0, 1]]).certificate is None


def test_marking_leaves_the_law_of_the_user_alone():
    ours = LabelDistribution([[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 1]], [0.3, 0.2, 0.5])
    law = find_counterexample("squared", "sort", "map", draw=lambda _: ours)
    assert law.certificate == "exact"
    assert ours.certificate is None
