"""Values of metrics near the ends of number ranges, of ties and of cutoffs."""

from functools import partial

import numpy as np
import pytest

from skcalrank import (
    get_scorer,
)
from skcalrank.data import Queries
from skcalrank.measures import DCG, ERR, PositionalMeasure
from skcalrank.metrics import (
    dcg_score,
    err_score,
    eru_score,
    kendall_score,
    measure_score,
    ndcg_score,
    pairwise_disagreement_loss,
    spearman_score,
)


@pytest.mark.parametrize("small", [1e-17, 1e-300, 1e-310])
def test_small_labels_have_gains_in_proportion(small):
    y = np.array([3.0, 2, 1]) * small
    gains = DCG().targets(y, Queries.equal(1, 3))
    np.testing.assert_allclose(gains, y * np.log(2), rtol=1e-12 if small > 1e-305 else 1e-10)
    for scores in ([3, 2, 1], [1, 2, 3], [1, 1, 1]):
        value = ndcg_score([3, 2, 1], scores, gain="linear")
        assert ndcg_score(y, scores) == pytest.approx(value, rel=1e-12)
        assert ndcg_score(y, scores, gain="linear") == pytest.approx(value, rel=1e-12)


def test_gains_of_grades_are_whole_numbers():
    y = np.arange(50.0)
    assert DCG().targets(y, Queries.equal(1, 50)).tolist() == [2**g - 1 for g in range(50)]
    around = np.nextafter(1.0, [0, 1, 2])
    assert (np.diff(DCG().targets(around, Queries.equal(1, 3))) >= 0).all()


@pytest.mark.parametrize("ties", [False, True])
def test_small_stop_probabilities_add_up(ties):
    y = np.array([3.0, 2, 1]) * 1e-17
    stop = ERR(max_grade=1).stop_probability(y)
    np.testing.assert_allclose(stop, y * np.log(2) / 2, rtol=1e-12)
    positions = np.full(3, (1 + 1 / 2 + 1 / 3) / 3) if ties else 1 / np.arange(1, 4)
    value = err_score(y, [0, 0, 0] if ties else [3, 2, 1], max_grade=1)
    assert value == pytest.approx(stop @ positions, rel=1e-12)


@pytest.mark.parametrize("size", [1e308, 1e-310])
def test_ratios_of_extreme_labels(size):
    y, scores = np.array([1, 1, 1, 1, 0.0]), [5, 4, 3, 1, 2]
    for normalized in (
        lambda y: ndcg_score(y, scores, gain="linear"),
        lambda y: ndcg_score(y, scores, k=2, gain="linear"),
        lambda y: pairwise_disagreement_loss(y, scores, normalize=True),
        lambda y: pairwise_disagreement_loss(y, scores, weights="unit"),
        lambda y: kendall_score(y, scores),
        lambda y: spearman_score(y, scores),
    ):
        assert normalized(y * size) == pytest.approx(normalized(y), rel=1e-12)


def test_labels_of_both_signs_at_the_end_of_the_range():
    y = [1.5e308, 1e308, -1e308]
    assert kendall_score(y, [3, 2, 1]) == spearman_score(y, [3, 2, 1]) == 1
    expected = pairwise_disagreement_loss([1.5, 1, -1], [1, 3, 2], normalize=True)
    assert pairwise_disagreement_loss(y, [1, 3, 2], normalize=True) == pytest.approx(expected)


def test_values_that_overflow_are_refused_and_means_of_large_ones_are_not():
    for metric in (partial(dcg_score, gain="linear"), eru_score):
        with pytest.raises(ValueError, match="overflows: divide the labels by the largest"):
            metric([1e308] * 4, [4, 3, 2, 1])
        assert metric([1e308] * 3, [1, 1, 1], qid=[0, 1, 2]) == pytest.approx(1e308)
    with pytest.raises(ValueError, match="overflows: divide the labels"):
        pairwise_disagreement_loss([1e308, 1e308, 0], [0, 0, 1])


def test_ties_are_broken_by_what_the_measure_gains():
    class Reversed(PositionalMeasure):
        name = "reversed"

        def targets(self, y, queries):
            return 3.0 - y

        def basis(self, positions, sizes):
            return 1.0 / positions

    worst, mean, best = (
        measure_score(Reversed(), [[0, 3, 1]], [[0, 0, 0]], ties=t)
        for t in ("worst", "average", "best")
    )
    assert worst < mean < best == 3 + 2 / 2


def test_cutoff_as_a_small_integer(rng):
    y, s = rng.integers(0, 4, (1, 300)), rng.normal(size=(1, 300))
    assert ndcg_score(y, s, k=np.int8(100)) == ndcg_score(y, s, k=100)


def test_labels_far_from_zero(rng):
    y, s = rng.integers(0, 5, (1, 500)) * 1.0, rng.normal(size=(1, 500))
    assert pairwise_disagreement_loss(1e14 + y, s) == pairwise_disagreement_loss(y, s)
    assert kendall_score(1e14 + y, s) == kendall_score(y, s)


@pytest.mark.long
def test_err_of_equal_scores_asks_for_the_first_k_only(rng):
    y = rng.integers(0, 4, 60)
    orders = [rng.permutation(60) for _ in range(1500)]
    values = [err_score([y], [order], k=5) for order in orders]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(err_score([y], np.zeros((1, 60)), k=5) - np.mean(values)) < 5 * error


def test_more_labels_in_a_query_than_small_integers_count():
    y = np.arange(40_000.0)[None]
    assert kendall_score(y, y) == 1
    assert kendall_score(y, -y) == -1


@pytest.mark.parametrize("metric", [kendall_score, spearman_score])
def test_measures_of_the_whole_order_take_no_cutoff(metric):
    with pytest.raises(ValueError, match=f"k must be None for {metric.__name__}"):
        metric([1, 0, 2], [1, 0, 2], k=2)


def test_scorers_ask_for_what_they_need():
    requests = get_scorer("ndcg").get_metadata_routing().score.requests
    assert requests == {"qid": True, "sample_weight": None}
