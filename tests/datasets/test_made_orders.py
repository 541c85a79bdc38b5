"""Generated orders with a known distribution."""

import copy
import pickle
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
from skcalrank.datasets import LabelRankingData, make_label_ranking
from skcalrank.measures import PairwiseDisagreement as Disagreement
from skcalrank.measures import Precision
from skcalrank.metrics import kendall_score, measure_score
from skcalrank.preds import topological_positions

LAWS = {
    "default": {},
    "two items": {"n_items": 2},
    "one order": {"n_orders": 1},
    "many orders": {"n_items": 4, "n_orders": 7},
    "one type": {"n_types": 1},
    "cyclic": {"n_items": 3, "cyclic": True},
    "cyclic with others": {"n_items": 4, "cyclic": True},
    "two cycles": {"n_items": 6, "n_types": 3, "cyclic": True},
}
SMALL_LAWS = {name: o for name, o in LAWS.items() if o.get("n_items", 5) <= 5}


def of_law(laws):
    return pytest.mark.parametrize("options", laws.values(), ids=laws)


def all_positions(r):
    return 1 + np.array(list(permutations(range(r))))


def counted_preferences(law, row):
    """Sum over the orders of the type, pair by pair."""
    kind, r = law.types[row], law.orders.shape[2]
    out = np.zeros((r, r))
    for probability, order in zip(law.probabilities[kind], law.orders[kind]):
        for i in range(r):
            for j in range(r):
                out[i, j] += probability * (order[i] < order[j])
    return out


@of_law(LAWS)
def test_made_orders(options):
    X, positions = data = make_label_ranking(60, n_features=4, random_state=0, **options)
    r = options.get("n_items", 5)
    law = data.law
    assert X.shape == (60, 4)
    assert positions.shape == (60, r)
    assert len(data.item_names) == r
    np.testing.assert_array_equal(np.sort(positions, axis=1), np.tile(np.arange(1, r + 1), (60, 1)))
    np.testing.assert_array_equal(np.sort(law.orders, axis=2)[0, 0], np.arange(1, r + 1))
    np.testing.assert_allclose(law.probabilities.sum(axis=1), 1)
    assert (law.probabilities > 0).all()
    # Every instance has the features of its type and one of its orders.
    for kind in range(len(law.orders)):
        assert len(np.unique(X[law.types == kind], axis=0)) <= 1
    assert (law.orders[law.types] == positions[:, None]).all(axis=2).any(axis=1).all()


def test_made_orders_are_reproducible():
    one, two, other = (make_label_ranking(20, random_state=s) for s in (0, 0, 1))
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.X, other.X)
    twin = make_label_ranking(20, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(one.positions, twin.positions)


@of_law(LAWS)
def test_orders_follow_the_law(options):
    _, positions = data = make_label_ranking(20_000, random_state=1, **options)
    shown = (positions[:, :, None] < positions[:, None, :]).astype(float)
    for kind in np.unique(data.law.types):
        rows = data.law.types == kind
        error = 5 * 0.5 / np.sqrt(rows.sum())
        expected = data.law.expected_preferences()[rows][0]
        np.testing.assert_allclose(shown[rows].mean(axis=0), expected, atol=error)


@of_law(LAWS)
def test_expectations_by_counting(options):
    law = make_label_ranking(5, random_state=2, **options).law
    r = law.orders.shape[2]
    preferences = law.expected_preferences()
    assert preferences.shape == (5, r, r)
    for row, matrix in enumerate(preferences):
        np.testing.assert_allclose(matrix, counted_preferences(law, row), atol=1e-12)
    before = 1 - preferences.sum(axis=2) + r - 1
    np.testing.assert_allclose(law.expected_positions(), before, atol=1e-12)


MEASURES = ["kendall", "spearman", Disagreement(weights="unit"), Precision(1, relevance_level=-1)]


@pytest.mark.every_case
@pytest.mark.product
@of_law(LAWS)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_value_by_enumeration(measure, options, rng):
    law = make_label_ranking(6, random_state=3, **options).law
    r = law.orders.shape[2]
    for scores in (rng.normal(size=(6, r)), rng.integers(0, 2, (6, r)) * 1.0):
        expected = 0.0
        for row, kind in enumerate(law.types):
            for probability, order in zip(law.probabilities[kind], law.orders[kind]):
                value = measure_score(measure, -order[None], scores[row : row + 1])
                expected += probability * value / 6
        assert law.value(measure, scores) == pytest.approx(expected, abs=1e-12)


def test_value_of_kendall_is_scipys(rng):
    law = make_label_ranking(4, random_state=3).law
    scores = rng.normal(size=(4, 5))
    taus = [
        law.probabilities[kind] @ [kendalltau(order, -s)[0] for order in law.orders[kind]]
        for kind, s in zip(law.types, scores)
    ]
    assert law.value("kendall", scores) == pytest.approx(np.mean(taus))


@of_law(LAWS)
def test_value_is_the_limit_of_the_metric(options):
    data = make_label_ranking(20_000, random_state=4, **options)
    scores = -data.law.bayes_positions()
    taus = kendall_score(-data.positions, scores, average=False)
    error = 5 * taus.std() / np.sqrt(20_000) + 1e-9
    assert abs(taus.mean() - data.law.bayes_value()) < error


@pytest.mark.every_case
@pytest.mark.product
@of_law(SMALL_LAWS)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_bayes_value_by_enumeration(measure, options):
    law = make_label_ranking(10, random_state=5, **options).law
    candidates = all_positions(law.orders.shape[2])
    best = {}
    for kind in np.unique(law.types):
        # Every candidate against every order of the type.
        values = [
            measure_score(
                measure, np.tile(-order, (len(candidates), 1)), -candidates, average=False
            )
            for order in law.orders[kind]
        ]
        best[kind] = (law.probabilities[kind] @ values).max()
    best = np.array([best[kind] for kind in law.types])
    assert law.bayes_value(measure) == pytest.approx(best.mean(), abs=1e-12)
    positions = law.bayes_positions(measure)
    assert law.value(measure, -positions) == pytest.approx(law.bayes_value(measure), abs=1e-12)


def test_bayes_value_of_hard_measures_is_unknown():
    law = make_label_ranking(10, random_state=0).law
    with pytest.raises(ValueError, match="mrr: the best positions are known for"):
        law.bayes_value("mrr")


def majority(law):
    """For each type, whether i is above j more often than below."""
    before = law.orders[..., :, None] < law.orders[..., None, :]
    return np.einsum("tk,tkij->tij", law.probabilities, before) > 0.5


@pytest.mark.parametrize("r", [3, 4, 5, 6, 7, 9])
def test_cyclic_laws_are_cyclic(r):
    law = make_label_ranking(10, r, cyclic=True, n_types=20, random_state=r).law
    for edges in majority(law).astype(int):
        # Closed walks of three steps; the rest of the pairs is decided the same way by all.
        assert np.trace(edges @ edges @ edges) == 3 * (r // 3)
        assert (edges + edges.T + np.eye(r, dtype=int) == 1).all()


@pytest.mark.parametrize("n_orders", [1, 2, 3, 5])
def test_other_laws_have_a_majority_order(n_orders):
    law = make_label_ranking(200, 6, n_orders=n_orders, random_state=0).law
    assert (law.probabilities[:, 0] >= 0.5).all()
    np.testing.assert_array_equal(law.bayes_positions(), law.orders[law.types, 0])
    for row in range(5):
        positions = topological_positions(law.expected_preferences()[row])
        np.testing.assert_array_equal(positions, law.bayes_positions()[row])


@pytest.mark.product
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [3, 4, 6])
def test_scores_lose_on_every_cyclic_type(r, seed):
    data = make_label_ranking(8, r, cyclic=True, random_state=seed)
    law = data.law
    np.testing.assert_array_equal(law.bayes_positions(), law.orders[law.types, 0])
    by_mean = law.bayes_positions("spearman")
    assert (by_mean != law.bayes_positions()).any(axis=1).all()
    # Each triple puts b before a, which a share 1 - q of the orders, above 0.62, contradicts.
    gap = law.bayes_value() - law.value("kendall", -by_mean)
    assert gap > (r // 3) * 2 * 0.24 / (r * (r - 1) / 2)


def test_pairs_reach_what_scores_cannot():
    X, positions = data = make_label_ranking(3000, 3, n_types=3, cyclic=True, random_state=0)
    target = PreferenceTarget.from_orders(positions)
    best = data.law.bayes_value()
    for pred in ("exact", "topological"):
        pairs = PairwiseDisagreementRanker(surrogate="pairwise", pred=pred).fit(X, target)
        assert best - data.law.value("kendall", pairs.predict(X)) < 1e-9
    for scores in (
        SpearmanRanker(kernel="linear").fit(X, -positions),
        PairwiseDisagreementRanker(weights="unit").fit(X, -positions),
    ):
        assert best - data.law.value("kendall", scores.predict(X)) > 0.1
        assert data.law.value("spearman", scores.predict(X)) == data.law.bayes_value("spearman")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, r"n_samples must .*got 0"),
        ({"n_items": 1}, "n_items must be an integer >= 2, got 1"),
        ({"n_items": 2, "cyclic": True}, "n_items must be an integer >= 3, got 2"),
        ({"n_features": 0}, r"n_features must .*got 0"),
        ({"n_types": 0}, r"n_types must .*got 0"),
        ({"n_orders": 0}, r"n_orders must .*got 0"),
        ({"n_orders": 2.5}, r"n_orders must .*got 2.5"),
        ({"n_samples": True}, r"n_samples must .*got True"),
        ({"n_orders": 4, "cyclic": True}, "n_orders=4: with cyclic=True"),
    ],
)
def test_made_orders_have_bounds(options, message):
    with pytest.raises(ValueError, match=message):
        make_label_ranking(**options)


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_container_survives(clone):
    data = make_label_ranking(12, random_state=0)
    twin = clone(data)
    assert isinstance(twin, LabelRankingData)
    assert repr(twin) == repr(data) == "LabelRankingData(12 rows, 10 features, 5 items)"
    np.testing.assert_array_equal(twin.positions, data.positions)
    assert twin.item_names == data.item_names
    assert twin.law.bayes_value() == data.law.bayes_value()
