"""Distributions of labels, by enumeration."""

import numpy as np
import pytest
from cases import INSTANCES, draw_labels
from definitions import (
    all_positions,
    definition,
    disagreement,
    orders_of_ties,
    preferences,
    stable_positions,
)
from laws import LEMMA_10, PD, random_laws

from skcalrank import AveragePrecisionRanker, NDCGRanker, PairwiseDisagreementRanker
from skcalrank.calibration import (
    LabelDistribution,
    calibration_gap,
    dag_condition,
    find_counterexample,
)
from skcalrank.losses import get_loss
from skcalrank.measures import get_measure


def draw_law(measure, rng, r=None):
    n, r = rng.integers(1, 5), r or rng.integers(2, 5)
    return LabelDistribution(draw_labels(measure, (n, r), rng), rng.dirichlet(np.ones(n)))


def values_by_definition(measure, law):
    """Expected value of every order; 0/0 counts 0."""
    table = [
        [definition(measure, y, p) for y in law.labels] for p in all_positions(law.n_documents)
    ]
    return np.nan_to_num(np.array(table)) @ law.probabilities


@pytest.mark.every_case
@pytest.mark.parametrize("measure", INSTANCES, ids=repr)
def test_values_are_those_of_the_definition(measure, rng):
    for r in (2, 3, 4):
        law = draw_law(measure, rng, r)
        expected = values_by_definition(measure, law)
        np.testing.assert_allclose(law.order_values(measure), expected, atol=1e-12)
        assert law.bayes_value(measure) == pytest.approx(expected.max(), abs=1e-12)
        best = all_positions(r)[expected >= expected.max() - 1e-9]
        assert np.array_equal(law.bayes_positions(measure), best)
        value_of = dict(zip(map(tuple, all_positions(r).tolist()), expected))
        scores = np.round(rng.normal(size=(5, r)))
        scores[0] = [-np.inf, *rng.choice([-np.inf, np.inf, 0.0], r - 1)]
        for ties, over in {"average": np.mean, "worst": np.min, "best": np.max}.items():
            each = [over([value_of[tuple(p)] for p in orders_of_ties(s)]) for s in scores]
            np.testing.assert_allclose(law.value(measure, scores, ties=ties), each, atol=1e-12)
        for ties, last_first in (("stable", False), ("reversed", True)):
            order = [stable_positions(s, last_first=last_first) for s in scores]
            each = [value_of[tuple(positions)] for positions in order]
            np.testing.assert_allclose(law.value(measure, scores, ties=ties), each, atol=1e-12)
        worst = expected.max() - law.value(measure, scores, ties="worst")
        np.testing.assert_allclose(law.target_regret(measure, scores), worst, atol=1e-12)
        assert law.value(measure, -best[0]) == pytest.approx(expected.max(), abs=1e-12)


def test_values_of_preferences(rng):
    for law in random_laws(20, rng, r=4, preferences=True):
        mean = np.tensordot(law.probabilities, law.labels, 1)
        expected = [-disagreement(mean, p) for p in all_positions(4)]
        np.testing.assert_allclose(law.order_values(PD), expected, atol=1e-12)
        np.testing.assert_allclose(law.expected_targets(PD, pairs=True), mean)
        net = mean.sum(axis=1) - mean.sum(axis=0)
        np.testing.assert_allclose(law.expected_targets(PD), net, atol=1e-12)
        shares = [-disagreement(y / max(y.sum(), 1), [4, 3, 2, 1]) for y in law.labels]
        shared = get_measure(PD, normalize=True)
        value = law.value(shared, [1.0, 2.0, 3.0, 4.0])
        assert value == pytest.approx(law.probabilities @ shares, abs=1e-12)


def test_relevances_and_their_preferences_are_one(rng):
    labels = rng.integers(0, 3, size=(3, 4))
    for weights in ("difference", "unit"):
        measure = get_measure(PD, weights=weights)
        law = LabelDistribution(labels, [0.2, 0.3, 0.5])
        same = LabelDistribution([preferences(y, weights) for y in labels], law.probabilities)
        np.testing.assert_allclose(law.order_values(measure), same.order_values(measure))
        np.testing.assert_allclose(law.expected_targets(measure), same.expected_targets(measure))


@pytest.mark.parametrize(
    "ranker",
    [NDCGRanker(k=None), AveragePrecisionRanker(), PairwiseDisagreementRanker()],
    ids=lambda r: type(r).__name__,
)
def test_expected_targets_are_what_a_ranker_learns(ranker, rng):
    law = LabelDistribution(rng.integers(0, 2, size=(4, 5)), rng.dirichlet(np.ones(4)))
    ranker.set_params(loss="squared", **({"alpha": 1e-9} if hasattr(ranker, "alpha") else {}))
    ranker.fit(np.ones((4, 1)), law.labels, sample_weight=law.probabilities)
    u = ranker.surrogate_values(np.ones((1, 1)))[0]
    np.testing.assert_allclose(u, law.expected_targets(ranker._measure()), atol=1e-7)


def test_random_distributions():
    laws = [LabelDistribution.random(4, n_labels=5, random_state=s) for s in (0, 0, 1)]
    assert np.array_equal(laws[0].labels, laws[1].labels)
    assert not np.array_equal(laws[0].labels, laws[2].labels)
    law = LabelDistribution.random(3, n_labels=100, n_grades=4, random_state=0)
    assert set(law.labels.ravel()) == {0, 1, 2, 3}
    np.testing.assert_allclose(law.probabilities, 0.01)
    graphs = LabelDistribution.random(5, n_labels=30, preferences=True, random_state=0)
    assert graphs.labels.shape == (30, 5, 5)
    assert all(dag_condition(matrix) for matrix in graphs.labels)
    assert set(graphs.labels.ravel()) == {0, 1, 2, 4, 8, 16}
    # Every pair is met both ways: the orders are random.
    assert ((graphs.labels > 0).any(axis=0) | np.eye(5, dtype=bool)).all()


@pytest.mark.parametrize("preferences", [False, True])
def test_repr_is_code(preferences):
    law = LabelDistribution.random(3, preferences=preferences, random_state=3)
    again = eval(repr(law))
    assert np.array_equal(again.labels, law.labels)
    assert np.array_equal(again.probabilities, law.probabilities)


def test_labels_are_copied():
    labels, probabilities = np.array([[1.0, 0.0]]), np.array([1.0])
    law = LabelDistribution(labels, probabilities)
    labels[:], probabilities[:] = 5.0, 0.0
    assert law.labels.max() == 1
    assert law.probabilities.max() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0],), "labels must have shape"),
        (([[1], [0]],), "labels must have shape"),
        ((np.zeros((2, 3, 4)),), "labels must have shape"),
        (([[1, np.nan]],), "labels contains NaN"),
        ((-np.ones((1, 2, 2)),), "non-negative preferences, got -1"),
        ((np.ones((1, 2, 2)),), "preferred to itself"),
        (([[1, 0]], [0.5, 0.5]), "probabilities must have shape"),
        (([[1, 0], [0, 1]], [0.5, 0.6]), "got a sum of 1.1"),
        (([[1, 0], [0, 1]], [1.5, -0.5]), "smallest one of -0.5"),
    ],
)
def test_bad_distributions_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        LabelDistribution(*arguments)


BINARY = get_measure("map", relevance_level=None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda law: law.value("ndcg", [1, 2]), "scores must have shape"),
        (lambda law: law.value("ndcg", [1, 2, np.nan]), "got NaN"),
        (lambda law: law.value("ndcg", [1, 2, 3], ties="random"), "ties must .* got 'random'"),
        (lambda law: law.value(BINARY, [1, 2, 3]), "relevance_level"),
        (
            lambda law: law.expected_targets("ndcg", pairs=True),
            "targets of pairs, which ndcg has not",
        ),
        (lambda law: law.expected_targets("kendall"), "no score-based"),
        (
            lambda law: law.surrogate_minimizer("hinge", "ndcg"),
            "surrogate must be one of.*got 'hinge'",
        ),
        (lambda law: law.surrogate_minimizer(get_loss, "ndcg"), "surrogate must be one of"),
        (lambda law: law.surrogate_minimizer("pairs", "ndcg"), "must have targets of pairs"),
        (lambda law: law.surrogate_regret("squared", "ndcg", [1, 2]), "u must have shape"),
        (lambda law: law.surrogate_regret("pairs", PD, [1, 2, 3]), "u must have shape"),
        (lambda law: law.surrogate_regret("squared", "ndcg", [1, 2, np.inf]), "u contains inf"),
        (
            lambda law: calibration_gap("squared", "exact", "ndcg", law),
            "pred must be one of 'sort', .*'exact'",
        ),
        (
            lambda law: calibration_gap("pairs", "diagonal", PD, law),
            "pred must be one of 'exact', .*'diagonal'",
        ),
        (lambda _law: find_counterexample("squared", "sort", "ndcg", condition="noise"), "'dag'"),
        (lambda _law: LabelDistribution.random(1), "r must .* got 1"),
        (lambda _law: LabelDistribution.random(3, n_labels=0), "n_labels must .* 1 to 100, got 0"),
        (lambda _law: LabelDistribution.random(3, n_labels=101), "n_labels must .* got 101"),
        (lambda _law: LabelDistribution.random(3, n_grades=1), "n_grades must .* got 1"),
        (lambda _law: LEMMA_10.bayes_value("ndcg"), "labels that are preferences"),
        (lambda _law: LabelDistribution(np.eye(9)).bayes_value("map"), "at most 8"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(LabelDistribution([[2, 1, 0], [0, 0, 1]]))


def test_eight_documents(rng):
    law = LabelDistribution(rng.integers(0, 3, (3, 8)))
    for measure in ("ndcg", "err", PD):
        best = law.bayes_positions(measure)
        values = law.value(measure, -best[:3])
        np.testing.assert_allclose(values, law.bayes_value(measure), atol=1e-12)
    assert law.target_regret("ndcg", law.expected_targets("ndcg")) < 1e-12


def test_missing_labels_of_frames_are_named():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="Input labels contains NaN"):
        LabelDistribution(pd.DataFrame({"a": [0, None], "b": [1, 0]}).astype("Int64"))
