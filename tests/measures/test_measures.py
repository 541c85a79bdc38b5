"""Properties of every registered measure, by enumeration."""

from itertools import combinations

import numpy as np
import pytest
from cases import INSTANCES, draw_labels, grades
from definitions import DEFINITIONS, all_positions, definition, orders_of_ties, stable_positions
from laws import random_laws

from skcalrank.calibration import LabelDistribution
from skcalrank.data import TIES, Queries
from skcalrank.measures import (
    ERR,
    MEASURES,
    NDCG,
    AveragePrecision,
    HitRate,
    PairMeasure,
    PositionalMeasure,
    ReciprocalRank,
    get_measure,
)
from skcalrank.metrics import get_scorer, measure_score

every_measure = pytest.mark.parametrize("measure", INSTANCES, ids=repr)
LOW_RANK = [m for m in INSTANCES if isinstance(m, (PositionalMeasure, PairMeasure))]
# By default every measure is enumerated for the first size.
SIZES = (4, 1, 2, 3, 5)


@pytest.fixture(params=[1 << 12, 0], ids=["at_once", "in_blocks"])
def both_sorts(request, monkeypatch):
    """Both ways to sort: few rows are sorted at once, others in batches of queries."""
    monkeypatch.setattr("skcalrank.data._ranked._FEW_ROWS", request.param)


def values(measure, y, scores, **policies):
    """Value of every row, each one query; with qid, since a single column would be flattened."""
    qid = np.repeat(np.arange(len(y)), y.shape[1])
    return measure_score(measure, y.ravel(), scores.ravel(), qid=qid, average=False, **policies)


def labels_and_positions(measure, r, rng, n_labels=8):
    """Label vectors (none relevant, all relevant and others) times all positions."""
    y = np.vstack(
        [draw_labels(measure, (n_labels, r), rng), np.full((2, r), [[0], [grades(measure).max()]])]
    )
    positions = all_positions(r)
    return np.repeat(y, len(positions), axis=0), np.tile(positions, (len(y), 1))


def score_from(positions):
    return -positions.astype(float)


def test_definitions_are_of_measures():
    assert set(DEFINITIONS) <= set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_the_name_leads_to_the_measure(name):
    cls = MEASURES[name]
    assert type(get_measure(name)) is cls
    if cls.has_cutoff:
        assert get_measure(f"{name}@3") == cls(k=3)
        assert vars(get_measure(name))["k"] is None
    assert cls.shape in ("documents", "pairs", None)


@pytest.mark.parametrize("name", MEASURES)
def test_capabilities_are_those_of_the_parameters(name):
    cls = MEASURES[name]
    parameters = set(vars(cls()))
    assert cls.has_cutoff == ("k" in parameters)
    assert cls.has_gain <= ("gain" in parameters)
    assert cls.is_binary == ("relevance_level" in parameters)
    assert cls.is_scaled.fget is MEASURES["ndcg"].is_scaled.fget or "max_grade" in parameters
    assert cls.basis_fields <= parameters
    assert (cls.calibration == "always") == (cls.shape == "documents")
    assert (cls.calibration is not None) == cls.has_score_targets()


@pytest.mark.parametrize("name", ["hit", "mrr"])
def test_the_first_relevant_at_the_first_position_is_precision(name, rng):
    first, precision = get_measure(name, k=1), get_measure("precision@1")
    assert first.same_targets_as(precision)
    assert first.condition == "always"
    assert not get_measure(name, k=2).same_targets_as(precision)
    assert not get_measure(name, k=1, relevance_level=2).same_targets_as(precision)
    assert get_measure(name, k=2).condition == get_measure(name).condition == "independence"
    for law in random_laws(20, rng, r=4):
        np.testing.assert_allclose(law.order_values(first), law.order_values(precision))


def test_full_name_and_labels_follow_the_parameters():
    assert get_measure("ndcg@7").full_name == "ndcg@7"
    assert get_measure("ndcg").full_name == get_measure("ndcg").name == "ndcg"
    assert get_measure("map", relevance_level=None).needs_binary_labels
    assert not get_measure("map").needs_binary_labels
    assert not get_measure("dcg").needs_binary_labels
    assert not ERR().is_scaled
    assert ERR(max_grade=3).is_scaled


SAME = [(a, b) for a, b in combinations(INSTANCES, 2) if a.same_targets_as(b)]


def test_same_targets_is_an_equivalence():
    names = {frozenset((a.name, b.name)) for a, b in SAME}
    assert {frozenset({"dcg"}), frozenset({"kendall", "neg_pairwise_disagreement"})} <= names
    assert not any({"ndcg"} == set(pair) for pair in names)
    assert all(b.same_targets_as(a) for a, b in SAME)


@pytest.mark.parametrize("pair", SAME, ids=repr)
def test_one_ranking_is_best_for_measures_of_the_same_targets(pair, rng):
    # ERR on two scales has one best ranking only where its relevances are independent.
    n = 1 if pair[0].calibration == "independence" else 3
    for _ in range(10):
        law = LabelDistribution(draw_labels(pair[0], (n, 4), rng), rng.dirichlet(np.ones(n)))
        best = [{tuple(p) for p in law.bayes_positions(measure).tolist()} for measure in pair]
        # A cutoff, for which more orders are best, does not take this one away.
        assert best[0] & best[1]


@pytest.mark.every_case
@pytest.mark.usefixtures("both_sorts")
@pytest.mark.product
@every_measure
@pytest.mark.parametrize("r", SIZES)
def test_equals_its_definition_on_all_positions(measure, r, rng):
    y, positions = labels_and_positions(measure, r, rng)
    expected = [definition(measure, a, p) for a, p in zip(y, positions)]
    np.testing.assert_allclose(values(measure, y, score_from(positions)), expected, atol=1e-12)


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("measure", LOW_RANK, ids=repr)
@pytest.mark.parametrize("r", SIZES)
def test_is_offset_plus_targets_times_basis(measure, r, rng):
    y, positions = labels_and_positions(measure, r, rng)
    queries = Queries.equal(*y.shape)
    labels = measure.labels(y.ravel())
    defined = ~measure.undefined(labels, queries)
    if measure.shape == "documents":
        targets = measure.targets(labels, queries).reshape(y.shape)
        basis = measure.basis(positions, np.full((len(y), 1), r))
        product = (targets * basis).sum(axis=1)
        assert (basis >= 0).all()
        assert (targets >= 0).all()
    else:
        targets = measure.pair_targets(labels.reshape(y.shape))
        product = (targets * measure.pair_basis(positions)).sum(axis=(1, 2))
    expected = np.array([definition(measure, a, p) for a, p in zip(y, positions)])
    assert np.array_equal(defined, ~np.isnan(expected))
    value = measure.offset(labels, queries) + product
    np.testing.assert_allclose(value[defined], expected[defined], atol=1e-12)


@pytest.mark.parametrize("measure", [m for m in LOW_RANK if m.shape == "documents"], ids=repr)
def test_discount_does_not_increase(measure):
    for r in (1, 2, 5, 12):
        (discount,) = measure.basis(np.arange(1, r + 1)[None], np.array([[r]]))
        assert (np.diff(discount) <= 1e-15).all()
        assert discount[0] > 0 or r == 1


POLICIES = {"average": np.mean, "worst": np.min, "best": np.max}


@pytest.mark.every_case
@pytest.mark.usefixtures("both_sorts")
@pytest.mark.product
@every_measure
@pytest.mark.parametrize("r", SIZES)
def test_ties_by_enumeration(measure, r, rng):
    y = draw_labels(measure, (12, r), rng)
    scores = rng.integers(0, 3, size=y.shape).astype(float)
    scores[0] = 0.0
    by_order = [[definition(measure, a, p) for p in orders_of_ties(s)] for a, s in zip(y, scores)]
    for ties, reduce in POLICIES.items():
        expected = [reduce(v) for v in by_order]
        got = values(measure, y, scores, ties=ties)
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=ties)
    for ties, last_first in (("stable", False), ("reversed", True)):
        order = [stable_positions(s, last_first=last_first) for s in scores]
        expected = [definition(measure, a, p) for a, p in zip(y, order)]
        np.testing.assert_allclose(values(measure, y, scores, ties=ties), expected, atol=1e-12)


def few_ties(r, rng):
    """Scores with one tie of three documents and two ties of two."""
    scores = rng.permutation(r).astype(float)
    for block in np.split(rng.permutation(r)[: min(7, r)], [3, 5]):
        scores[block] = scores[block[:1]].mean() if len(block) else 0.0
    return scores


@pytest.mark.usefixtures("both_sorts")
@every_measure
def test_ties_in_large_queries(measure, rng):
    # Wide enough for selecting the first k instead of sorting.
    y = draw_labels(measure, (4, 30), rng)
    scores = np.array([few_ties(30, rng) for _ in y])
    by_order = [[definition(measure, a, p) for p in orders_of_ties(s)] for a, s in zip(y, scores)]
    for ties, reduce in POLICIES.items():
        expected = [reduce(v) for v in by_order]
        got = values(measure, y, scores, ties=ties)
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=ties)


@pytest.mark.usefixtures("both_sorts")
@pytest.mark.product
@every_measure
@pytest.mark.parametrize("ties", TIES)
def test_many_queries_equal_one_at_a_time(measure, ties, rng):
    sizes = rng.permutation(np.r_[1, 1, 2, 3, 5, 8, 8, 13, 21, 40, 41, 75])
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    y = draw_labels(measure, len(qid), rng)
    scores = rng.integers(0, 30, size=len(qid)).astype(float)
    together = measure_score(measure, y, scores, qid=qid, ties=ties, average=False)
    alone = [
        measure_score(measure, y[one], scores[one], qid=qid[one], ties=ties, average=False)[0]
        for one in (qid == q for q in dict.fromkeys(qid.tolist()))
    ]
    np.testing.assert_allclose(together, alone, atol=1e-12)
    if ties in ("stable", "reversed"):
        one = qid == qid[0]
        order = stable_positions(scores[one], last_first=ties == "reversed")
        expected = definition(measure, y[one], order)
        np.testing.assert_allclose(together[0], expected, atol=1e-12)


@pytest.mark.every_case
@every_measure
def test_separable_is_true_to_fact(measure, rng):
    if not measure.has_score_targets():
        assert not measure.separable
        labels = measure.labels(np.array([0.0, 1.0]))
        with pytest.raises(ValueError, match="surrogate"):
            measure.score_targets(labels, Queries.equal(1, 2))
        return
    changes = False
    for _ in range(50):
        one, other = draw_labels(measure, (2, 4), rng)
        one[0] = other[0]
        y = np.vstack([one, other])
        targets = measure.score_targets(measure.labels(y.ravel()), Queries.equal(2, 4))
        changes |= abs(targets[0] - targets[4]) > 1e-12
    assert measure.separable == (not changes)


@pytest.mark.every_case
@pytest.mark.parametrize("targets", ["measure", "separable"])
@every_measure
def test_linear_is_true_to_fact(measure, targets, rng):
    able = measure.has_score_targets() if targets == "measure" else measure.has_separable_targets()
    if not able or not measure.is_scaled or not isinstance(getattr(measure, "gain", ""), str):
        assert not able or not measure.is_linear(targets)
        return
    queries = Queries(np.array([0, 2, 5, 9]))
    draws = np.reshape([0.2, 2.0], (2, 1, 1)) * rng.random((2, 2, 9))

    def values(y):
        y = measure.labels(y) if not measure.needs_binary_labels else y
        if targets == "separable":
            return measure.separable_targets(y)
        return measure.score_targets(y, queries)

    gaps = [
        0.3 * values(low) + 0.7 * values(high) - values(0.3 * low + 0.7 * high)
        for low, high in draws
    ]
    assert measure.is_linear(targets) == bool(np.abs(gaps).max() < 1e-12)


@pytest.mark.every_case
@every_measure
def test_positive_only_is_true_to_fact(measure):
    y = np.array([-1.0, 0.0, 1.0])
    if getattr(measure, "relevance_level", 0) is None:
        y = np.array([0.0, 1.0, 2.0])  # binary: an error of its own
        with pytest.raises(ValueError, match="relevance_level"):
            measure.labels(y)
    elif measure.positive_only:
        with pytest.raises(ValueError, match=r"must be non-negative.*-1"):
            measure.labels(y)
    else:
        measure.labels(y)


def test_largest_label_is_the_grade_of_err():
    y, scores = np.array([[0, 1, 2, 3]]), np.array([[0.4, 0.3, 0.2, 0.1]])
    expected = definition(ERR(max_grade=3), y[0], [1, 2, 3, 4])
    assert measure_score(ERR(), y, scores) == pytest.approx(expected, abs=1e-15)


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
def test_grades_beyond_integers_normalize_ndcg():
    y, scores = np.array([[0.5, 1.25, 0.0, 70.0]]), np.array([[4.0, 3.0, 2.0, 1.0]])
    for gain in ("linear", "exponential"):
        measure = get_measure("ndcg@3", gain=gain)
        expected = definition(measure, y[0], [1, 2, 3, 4])
        np.testing.assert_allclose(measure_score(measure, y, scores), expected, rtol=1e-12)


def test_ideal_ranking_is_one_and_worst_auc_zero(rng):
    y = rng.integers(0, 4, size=(50, 12)).astype(float)
    y[:, 0] = 3
    assert measure_score("ndcg@5", y, y, ties="worst") == pytest.approx(1.0, abs=1e-15)
    assert measure_score(get_measure("auc", relevance_level=2), y, -y) == pytest.approx(
        0.0, abs=1e-15
    )


@pytest.mark.parametrize("make", [get_measure, get_scorer])
def test_two_cutoffs_must_be_equal(make):
    with pytest.raises(ValueError, match=r"k must be 5 for 'ndcg@5', got k=10. Leave one out"):
        make("ndcg@5", k=10)
    with pytest.raises(ValueError, match=r"k must be 5 for 'precision@5', got k=None"):
        make("precision@5", k=None)
    assert make("ndcg@5", k=5) == make("ndcg", k=5) == make("ndcg@5")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("cls", [ERR, HitRate, ReciprocalRank, AveragePrecision])
def test_values_do_not_depend_on_what_a_surrogate_regresses(cls, ties, rng):
    class Other(cls):
        def score_targets(self, y, queries):
            return np.full(len(y), 0.5)

    y, scores = rng.integers(0, 2, (20, 5)).astype(float), rng.integers(0, 3, (20, 5))
    found = values(Other(k=3), y, scores, ties=ties)
    np.testing.assert_array_equal(found, values(cls(k=3), y, scores, ties=ties))


def test_a_class_is_no_measure():
    message = r"measure must be a name or a Measure, got the class NDCG: did you mean NDCG\(\)\?"
    with pytest.raises(ValueError, match=message):
        get_measure(NDCG)
    with pytest.raises(ValueError, match=message):
        measure_score(NDCG, [0, 1], [0, 1], convention="sklearn")
