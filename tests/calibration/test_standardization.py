"""Net preferences as standardization: calibrated with order-preserving losses on P_f."""

import numpy as np
import pytest
from laws import PD, random_laws

from skcalrank import OrderPreservingRanker
from skcalrank.boosting import lightgbm_objective
from skcalrank.calibration import LabelDistribution, calibration_gap, score_condition
from skcalrank.data import Queries
from skcalrank.losses import LOSSES, PairwiseTemplate, get_loss
from skcalrank.measures import DCG, PairwiseDisagreement

every_loss = pytest.mark.parametrize("loss", LOSSES)
UNIT = PairwiseDisagreement(weights="unit")


def inside(law, measure):
    """Whether net and mean preferences order all pairs alike, with a margin."""
    EY, Ef = law.expected_targets(measure, pairs=True), law.expected_targets(measure)
    return score_condition(EY, Ef).margin > 0.02


@every_loss
def test_every_loss_is_calibrated_on_p_f(loss, rng):
    laws = list(random_laws(60, rng, r=3, n_labels=3, preferences=True))
    results = [calibration_gap(loss, "sort", PD, law) for law in laws if inside(law, PD)]
    assert len(results) > 10
    assert all(result.calibrated for result in results)


@every_loss
def test_no_loss_is_outside(loss):
    # 3 beats 1 by one and 2 beats 3 by three: 2 > 3 > 1, and the net preference of 3 is the lowest.
    labels = np.zeros((2, 3, 3))
    labels[0, 2, 0], labels[1, 1, 2] = 1, 3
    result = calibration_gap(loss, "sort", PD, LabelDistribution(labels))
    assert result.gap == pytest.approx(0, abs=1e-9)
    assert not result.calibrated


def test_a_template_is_calibrated_on_p_f(rng):
    loss = PairwiseTemplate(
        lambda x: np.exp(-2 * x), lambda x: -2 * np.exp(-2 * x), lambda x: 4 * np.exp(-2 * x)
    )
    laws = [law for law in random_laws(12, rng, r=3, n_labels=3) if inside(law, UNIT)]
    assert len(laws) > 4
    for law in laws[:5]:
        s = law.surrogate_minimizer(loss, UNIT)
        assert law.target_regret(UNIT, np.round(s, 6)) < 1e-9


@pytest.mark.product
@every_loss
@pytest.mark.parametrize("form", ["labels", "rows"])
def test_the_ranker_is_optimal_on_p_f(loss, form, rng):
    laws = [law for law in random_laws(40, rng, r=3, n_labels=4) if inside(law, UNIT)][:3]
    for law in laws:
        ranker = OrderPreservingRanker(UNIT, loss=loss, alpha=1e-3)
        weight, n = 1e3 * law.probabilities, len(law.labels)
        if form == "labels":
            ranker.fit(np.ones((n, 1)), law.labels, sample_weight=weight)
            scores = ranker.predict([[1.0]])[0]
        else:
            X, qid = np.tile(np.eye(3), (n, 1)), np.repeat(np.arange(n), 3)
            ranker.fit(X, law.labels.ravel(), qid, sample_weight=np.repeat(weight, 3))
            scores = ranker.predict(np.eye(3))
        assert law.target_regret(UNIT, scores) < 1e-9


@every_loss
def test_targets_are_counted_from_the_lowest_of_each_query(loss):
    f, queries = np.array([-2.0, 0.0, 2.0, 1.0, 3.0]), Queries.from_qid(np.array([0, 0, 0, 1, 1]))
    v = get_loss(loss).standardize(f, queries)
    expected = f if "squared" in (loss, loss.removeprefix("pairwise_")) else [0, 2, 4, 1, 3]
    np.testing.assert_array_equal(v, expected)
    np.testing.assert_array_equal(f, [-2, 0, 2, 1, 3])


def test_objectives_of_boosting_take_net_preferences():
    y, scores = np.array([0.0, 1.0, 2.0]), np.array([0.3, -0.1, 0.2])
    gradient, _ = lightgbm_objective(PD, loss="pairwise_exponential")(y, scores, None, [3])
    loss, queries = get_loss("pairwise_exponential"), Queries.from_qid(np.zeros(3))
    np.testing.assert_allclose(gradient, loss.value_and_gradient(3 * y, scores, queries)[1])


@pytest.mark.parametrize("weights", ["difference", "unit"])
def test_net_preferences_are_of_the_normalized_ones(weights, rng):
    measure = PairwiseDisagreement(weights=weights, normalize=True)
    y = [*rng.integers(0, 3, size=(20, 4)), [1, 1, 1, 1], [1e300, 0, -1e300, 0]]
    for labels in np.array(y, dtype=float):
        pairs = measure.pair_targets(labels)
        net = measure.score_targets(labels, Queries.from_qid(np.zeros(4)))
        np.testing.assert_allclose(net, pairs.sum(axis=1) - pairs.sum(axis=0), atol=1e-15)
    # A query of large differences counts no more than others, so that 1 is best before 0.
    law = LabelDistribution([[0, 1], [9, 0]], [0.6, 0.4])
    ranker = OrderPreservingRanker(measure).fit(np.ones((2, 1)), law.labels, sample_weight=[3, 2])
    assert law.target_regret(measure, ranker.predict([[1.0]])[0]) == 0


class Below(DCG):
    """A user-defined positional measure with some negative targets."""

    name = "below"

    def score_targets(self, y, queries):
        return y - 1.0


def test_negative_targets_of_positional_measures_are_refused():
    # A shift of each query would make a target depend on more than the label of its document.
    X, y, qid = [[0.0], [1.0]], [0, 1], [0, 0]
    with pytest.raises(ValueError, match="Targets must be non-negative for the loss 'logistic'"):
        OrderPreservingRanker(Below(), loss="logistic").fit(X, y, qid)
    with pytest.raises(ValueError, match="Targets must be non-negative for the loss 'logistic'"):
        LabelDistribution([y]).surrogate_minimizer("logistic", Below())
