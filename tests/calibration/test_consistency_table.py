"""Every row of the table in doc/what_is_calibrated.rst as a test, in both forms of the data.

Fits are to populations, as in test_ranker_consistency.py: in the label-ranking form an instance has
one row, and with rows every document has its own. Both are as rich as any function.
"""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from definitions import all_positions
from laws import PD, random_laws
from row_laws import law_of
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skcalrank import (
    AveragePrecisionRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
)
from skcalrank.calibration import CONDITIONS, LabelDistribution, score_condition
from skcalrank.losses import LOSSES
from skcalrank.measures import MEASURES, get_measure
from skcalrank.preds import PREDS
from skcalrank.rankers import PairwiseHingeRanker, ValueRegularizedRanker
from skcalrank.structured import LowRankLossClassifier

WITH_TARGETS = [name for name, measure in MEASURES.items() if measure.has_score_targets()]
PROVED = [
    key for key, p in PREDS.items() if p.objective != "positional" and (p.exact or p.condition)
]
both_forms = pytest.mark.parametrize("form", ["label", "rows"])
FOLDER = Path(__file__).parents[1]
PAGE = FOLDER.parent / "doc" / "what_is_calibrated.rst"


def learned(ranker, law, form, *, order=False):
    """Scores, or positions, that a ranker learns from a law of the labels of some documents."""
    n, r = law.labels.shape[:2]
    weight, predict = 1e3 * law.probabilities, "rank" if order else "predict"
    preferences = law.labels.ndim == 3
    if form == "label":
        y = PreferenceTarget.from_matrices(law.labels) if preferences else law.labels
        ranker.fit(np.ones((n, 1)), y, sample_weight=weight)
        return getattr(ranker, predict)([[1.0]])[0]
    X, qid = np.tile(np.eye(r), (n, 1)), np.repeat(np.arange(n), r)
    if preferences:
        y = PreferenceTarget.from_matrix(law.labels.reshape(-1, r), qid)
        ranker.fit(X, y, sample_weight=np.repeat(weight, r))
    else:
        ranker.fit(X, law.labels.ravel(), qid, sample_weight=np.repeat(weight, r))
    return getattr(ranker, predict)(np.eye(r), np.zeros(r))


def regret(law, measure, positions):
    return law.target_regret(measure, -np.asarray(positions, dtype=float))


# -- any order-preserving loss, then a sort ------------------------------------------------


def apart(law, measure):
    """Whether mean targets differ by more than rounding."""
    gaps = np.diff(np.sort(law.expected_targets(measure)))
    return (gaps > 0.02 * np.abs(law.expected_targets(measure)).max()).all()


def clear_law(measure, rng):
    while True:
        law = law_of(measure, 3, rng)
        if apart(law, measure):
            return law


@pytest.mark.product
@both_forms
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", WITH_TARGETS)
def test_every_loss_leads_every_measure_to_its_best_order(name, loss, form, rng):
    measure = get_measure("err", max_grade=2) if name == "err" else get_measure(name)
    for _ in range(2):
        law = clear_law(measure, rng)
        scores = learned(OrderPreservingRanker(measure, loss=loss, alpha=1e-3), law, form)
        assert law.target_regret(measure, scores) < 1e-9


# -- pairs, and a map ------------------------------------------------------------------------


def laws_of(pred, rng, n):
    """Distributions that satisfy the condition of a prediction map."""
    of_map = pred.objective == "map"
    measure, check = get_measure("map" if of_map else PD), CONDITIONS.get(pred.condition)
    shape = {"n_labels": 4} | ({"n_grades": 2} if of_map else {"preferences": True})
    found = random_laws(40 * n, rng, r=4, **shape)
    kept = [x for x in found if not check or check(x.expected_targets(measure, pairs=True))]
    assert len(kept) >= n
    return measure, kept[:n]


@pytest.mark.product
@both_forms
@pytest.mark.parametrize("key", PROVED)
def test_maps_of_pairs_are_best_on_their_laws(key, form, rng):
    pred = PREDS[key]
    cls = AveragePrecisionRanker if pred.objective == "map" else PairwiseDisagreementRanker
    options = {"alpha": 1e-6}
    if form == "label":
        options = {"estimator": LinearRegression(fit_intercept=False)}
    ranker = cls(surrogate="pairwise", pred=pred.name, **options)
    measure, laws = laws_of(pred, rng, 8)
    for law in laws:
        assert regret(law, measure, learned(clone(ranker), law, form, order=True)) < 1e-6


# -- scores of preferences -----------------------------------------------------------------------

#: Rankers that regress the net preference.
OF_NET_PREFERENCE = [
    PairwiseDisagreementRanker(alpha=1e-6),
    ValueRegularizedRanker(alpha=1e-6),
    ValueRegularizedRanker(alpha=1e-6, regularizer="cosh"),
]


@pytest.mark.product
@both_forms
@pytest.mark.parametrize("ranker", OF_NET_PREFERENCE, ids=str)
def test_net_preferences_are_best_on_p_f(ranker, form, rng):
    found = 0
    for law in random_laws(60, rng, r=4, n_labels=3, preferences=True):
        EY, Ef = law.expected_targets(PD, pairs=True), law.expected_targets(PD)
        if score_condition(EY, Ef).margin > 0.02:
            found += 1
            assert regret(law, PD, learned(clone(ranker), law, form, order=True)) < 1e-6
    assert found >= 5


@both_forms
@pytest.mark.parametrize("ranker", OF_NET_PREFERENCE, ids=str)
def test_net_preferences_are_not_outside(ranker, form):
    # The first is preferred to the second, which has the higher net preference.
    labels = np.zeros((2, 3, 3))
    labels[0, 0, 1], labels[1, 1, 2] = 0.1, 1.0
    law = LabelDistribution(labels)
    order = learned(clone(ranker), law, form, order=True)
    assert regret(law, PD, order) == pytest.approx(0.05)


@pytest.mark.parametrize("ranker", [PairwiseHingeRanker(), PairwiseLogisticRanker()], ids=str)
def test_baselines_fail_under_low_noise(ranker):
    X, y = (
        np.eye(3),
        PreferenceTarget.from_comparisons(
            [0, 0, 1, 2], [1, 2, 2, 0], [0, 0, 0], weight=[0.5, 2.0, 0.15, 1.0]
        ),
    )
    scores = ranker.set_params(alpha=1e-6).fit(X, y).predict(X, [0, 0, 0])
    assert not (scores[0] > scores[1] + 1e-3 and scores[1] > scores[2] + 1e-3)


# -- hits and R-precision ----------------------------------------------------------------------


def values_of_orders(measure, r):
    """Value of every binary labels (a row, where the measure is defined) in every order."""
    labels = np.array(list(product([0.0, 1.0], repeat=r))[1:])
    return labels, np.array([LabelDistribution([y]).order_values(measure) for y in labels])


@pytest.mark.parametrize("r", [2, 3, 4, 5])
def test_hits_are_positional_for_the_first_and_all_but_the_last(r):
    for k in range(1, r):
        labels, values = values_of_orders(f"hit@{k}", r)
        # Rank of sum_i u_i phi(sigma(i)), up to a function of the labels (the sum over all i).
        spanned = np.linalg.matrix_rank(values - values.mean(axis=1, keepdims=True))
        assert (spanned < r) == (k in (1, r - 1))
    target = labels if r == 2 else labels * (labels.sum(axis=1) == 1)[:, None]
    hits = target @ (all_positions(r) <= r - 1).T
    found = values - hits
    np.testing.assert_allclose(found, found[:, :1] + np.zeros(len(hits[0])), atol=1e-12)


def test_hit_at_one_is_precision_at_one():
    np.testing.assert_array_equal(*(values_of_orders(m, 4)[1] for m in ("hit@1", "precision@1")))


@pytest.mark.parametrize("r", [3, 4])
def test_r_precision_is_precision_of_a_cutoff_that_the_labels_have(r):
    labels, values = values_of_orders("r_precision", r)
    assert np.linalg.matrix_rank(values - values.mean(axis=1, keepdims=True)) > r - 1
    for m in range(1, r + 1):
        _, cut = values_of_orders(f"precision@{m}", r)
        same = labels.sum(axis=1) == m
        np.testing.assert_allclose(values[same], cut[same], atol=1e-12)


def test_the_best_order_for_r_precision_is_an_assignment(rng):
    lost = []
    for law in random_laws(30, rng, r=4, n_labels=4, n_grades=2):
        relevant = law.labels.sum(axis=1)
        share = law.labels * (law.probabilities / np.maximum(relevant, 1))[:, None]
        of_number = relevant[:, None] == np.arange(1, 5)
        u = np.einsum("ni,nm->im", share, of_number)
        price = u[:, ::-1].cumsum(axis=1)[:, ::-1]
        documents, places = linear_sum_assignment(price, maximize=True)
        best = law.bayes_value("r_precision")
        assert price[documents, places].sum() == pytest.approx(best, abs=1e-12)
        assert regret(law, "r_precision", places + 1) < 1e-12
        lost.append(law.target_regret("r_precision", law.expected_targets("r_precision")))
    # Sorting is not optimal for all distributions.
    assert max(lost) > 0.01


def test_sorting_is_not_best_for_hits_of_dependent_relevances():
    # Two copies of one document, and another that is relevant when they are not.
    law = LabelDistribution([[1, 1, 0], [0, 0, 1]], [0.6, 0.4])
    assert regret(law, "hit@2", [1, 2, 3]) == pytest.approx(0.4)
    assert law.target_regret("hit@2", law.expected_targets("hit@2")) == pytest.approx(0.4)
    assert law.bayes_value("hit@2") == 1
    assert law.target_regret("mrr", law.expected_targets("mrr")) > 0.05


# -- the page -------------------------------------------------------------------------------------


def rows_of_the_table():
    table = PAGE.read_text().split(".. list-table::")[1].split("\nP_reinforce, P_f")[0]
    return [re.split(r"\n     - ", row) for row in table.split("   * - ")[2:]]


#: The tests above, or in other files, in the order of the rows.
TESTS = [
    "test_every_loss_leads_every_measure_to_its_best_order",
    "test_only_the_set_of_the_first_matters_for_precision",
    "test_every_loss_leads_every_measure_to_its_best_order",
    *["test_maps_of_pairs_are_best_on_their_laws"] * 2,
    "rankers/test_pair_rankers_optimality.py: test_map_with_a_cutoff_is_bayes_optimal",
    "rankers/test_pair_measures.py: test_consistent_by_enumeration",
    "test_net_preferences_are_best_on_p_f",
    "test_every_loss_leads_every_measure_to_its_best_order",
    "test_net_preferences_are_best_on_p_f",
    *["test_maps_of_pairs_are_best_on_their_laws"] * 2,
    "losses/test_difference_graph.py: test_difference_graph_is_consistent_where_ranknet_is_not",
    "datasets/test_made_orders.py: test_pairs_reach_what_scores_cannot",
    "rankers/test_aggregated_ranker.py: test_is_the_ranker_fitted_to_the_scores_of_the_structure",
    *["test_every_loss_leads_every_measure_to_its_best_order"] * 2,
    "test_the_best_order_for_r_precision_is_an_assignment",
    "structured/test_predictor.py: test_best_order_for_measures_of_the_top",
    "test_baselines_fail_under_low_noise",
    "test_a_loss_matrix_of_labels_is_that_of_its_classes",
    "structured/test_f_measure.py: test_classifier_learns_the_best_sets_of_a_law",
    "structured/test_predictor.py: test_best_candidate_of_any_loss_under_any_law",
]


def test_only_the_set_of_the_first_matters_for_precision(rng):
    for law in random_laws(200, rng, r=4, n_labels=4):
        for k, measure in ((1, "precision@1"), (2, "precision@2"), (3, "recall@3")):
            mean, values = law.expected_targets(measure), law.order_values(measure)
            orders = np.array(all_positions(4))
            inside = ((orders <= k) * mean).sum(axis=1)
            best = inside > np.sort(mean)[::-1][:k].sum() - 1e-12
            np.testing.assert_array_equal(best, values > values.max() - 1e-12)


def test_a_loss_matrix_of_labels_is_that_of_its_classes(rng):
    loss, law = rng.random((4, 4)), rng.dirichlet(np.ones(4), size=10)
    X, y = np.repeat(np.eye(10), 4, axis=0), np.tile(np.arange(4), 10)
    model = LowRankLossClassifier(loss, estimator=LinearRegression())
    chosen = model.fit(X, y, sample_weight=law.ravel()).predict(np.eye(10))
    np.testing.assert_array_equal(chosen, (law @ loss).argmin(axis=1))


def test_every_row_of_the_table_has_its_law():
    rows = rows_of_the_table()
    assert len(rows) == len(TESTS)
    for name in TESTS:
        file, _, test = name.rpartition(": ")
        path = FOLDER / file if file else Path(__file__)
        assert f"\ndef {test}(" in path.read_text()
    assert all(len(row) == 4 for row in rows)
    conditions = " ".join(row[2] for row in rows)
    assert all(pred.condition in conditions for pred in PREDS.values() if pred.condition)
