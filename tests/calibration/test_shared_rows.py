"""Queries that share rows: regret of the best function of a single row."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AUCRanker,
    AveragePrecisionRanker,
    NDCGRanker,
    PrecisionRanker,
    RecallRanker,
)
from skcalrank.calibration import LabelDistribution, SharedRows, find_counterexample
from skcalrank.losses import LOSSES, PointwiseLoss, get_loss
from skcalrank.measures import ERR
from skcalrank.metrics import measure_score

RELEVANCE = [0.9, 0.5, 1.0, 0.0]
QUERIES = SharedRows.independent(
    [[0, 2, 2, 2], [1, 3, 3, 3], [0, 1, 3, 3]], RELEVANCE, [0.4, 0.4, 0.2]
)


@pytest.mark.parametrize(
    ("measure", "ranker", "expected"),
    [
        ("recall@1", RecallRanker(DecisionTreeRegressor(), k=1), 0.0933),
        ("auc", AUCRanker(DecisionTreeRegressor()), 0.0667),
        ("map", AveragePrecisionRanker(DecisionTreeRegressor()), 0.0544),
        ("ndcg", NDCGRanker(DecisionTreeRegressor()), 0.0107),
        ("precision@1", PrecisionRanker(DecisionTreeRegressor(), k=1), 0.0),
    ],
)
def test_what_stays_is_what_a_saturated_regressor_keeps(measure, ranker, expected):
    X, y, qid, weight = QUERIES.data()
    ranker.set_params(loss="squared").fit(X, y, qid, sample_weight=weight)
    fitted = ranker.predict(np.eye(4), [0] * 4)
    scores = QUERIES.minimizer("squared", measure)
    np.testing.assert_allclose(fitted, scores, atol=1e-7)
    assert QUERIES.regret(measure, scores) == pytest.approx(expected, abs=6e-5)
    assert QUERIES.regret(measure, RELEVANCE) == 0


def test_regret_by_definition(rng):
    # Over all outcomes and all orders of every query.
    scores, total = rng.normal(size=4), 0.0
    for kinds, share in zip(QUERIES.documents, QUERIES.probabilities):
        values = {}
        for order in permutations(range(4)):
            values[order] = 0.0
            for y in product((0, 1), repeat=4):
                p = np.prod([RELEVANCE[k] if b else 1 - RELEVANCE[k] for k, b in zip(kinds, y)])
                recall = y[order[0]] / sum(y) if any(y) else 0.0
                values[order] += p * recall
        ranked = [o for o in values if (np.diff(scores[kinds][list(o)]) <= 0).all()]
        total += share * (max(values.values()) - max(values[o] for o in ranked))
    assert QUERIES.regret("recall@1", scores) == pytest.approx(total)


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9])
def test_regret_is_that_of_the_order(size, rng):
    scores = rng.normal(size=4)
    expected = QUERIES.regret("recall@1", scores)
    assert expected > 0
    assert QUERIES.regret("recall@1", scores * size) == expected
    assert QUERIES.regret("recall@1", scores + 1e8) == expected


def test_scores_may_be_infinite():
    queries = SharedRows.independent([[0, 1, 2]], [0.2, 0.5, 0.7])
    assert queries.regret("precision@1", [0.5, np.inf, -np.inf]) == pytest.approx(0.2)
    assert queries.regret("precision@1", [-np.inf, -np.inf, np.inf]) == 0


def test_data_are_the_population():
    X, y, qid, weight = QUERIES.data()
    scores = np.array([0.3, 0.2, 0.1, 0.4])
    values = measure_score("dcg@1", y, X @ scores, qid=qid, average=False)
    expected = [law.value("dcg@1", scores[d]) for d, law in zip(QUERIES.documents, QUERIES.laws)]
    assert (weight[::4] * values).mean() == pytest.approx(QUERIES.probabilities @ expected)


@pytest.mark.parametrize(
    "surrogate", [*LOSSES, "preference_logistic", "preference_squared_hinge", "margin_exponential"]
)
def test_no_other_scores_have_less_risk(surrogate):
    queries = SharedRows.independent([[0, 1, 2], [0, 2, 2]], [0.8, 0.5, 0.3], [0.6, 0.4])

    def risk(scores):
        total = 0.0
        for share, law, row in zip(queries.probabilities, queries.laws, queries.documents):
            given = get_loss(surrogate) if surrogate in LOSSES else surrogate
            if surrogate in LOSSES:
                given = given.scaled_to(law.targets("recall@1").ravel(), law.queries)
            total += share * law.surrogate_regret(given, "recall@1", scores[row])
        return total

    scores = queries.minimizer(surrogate, "recall@1")
    other = minimize(risk, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-6})
    assert risk(scores) <= other.fun + 1e-9


def test_all_queries_have_one_scale():
    # The largest label of a query is not the highest grade of the scale.
    laws = [LabelDistribution(labels, [1.0]) for labels in ([[0, 1]], [[3, 0]])]
    queries, scaled = SharedRows([[0, 1], [0, 1]], laws), ERR(max_grade=3)
    expected = queries.minimizer("squared", scaled)
    np.testing.assert_allclose(queries.minimizer("squared", "err"), expected, atol=1e-9)
    assert queries.regret("err", [0.0, 1.0]) == queries.regret(scaled, [0.0, 1.0]) > 0.2


def test_a_loss_of_ones_own_has_the_same_minimizer():
    own = type("Own", (LOSSES["pairwise_squared"],), {})()
    closed, found = (QUERIES.minimizer(s, "ndcg@2") for s in ("pairwise_squared", own))
    np.testing.assert_allclose(found - found[0], closed - closed[0], atol=1e-6)


@pytest.mark.parametrize(
    ("surrogate", "measure"),
    [
        ("squared", "recall@1"),
        ("squared", "map"),
        ("logistic", "auc"),
        ("squared", "ndcg"),
        pytest.param("pairwise_squared", "recall@1", marks=pytest.mark.slow),
    ],
)
def test_counterexamples_of_rows_are_found(surrogate, measure):
    options = {"form": "rows", "r": 4, "random_state": 0}
    queries = find_counterexample(surrogate, "sort", measure, **options)
    scores = queries.minimizer(surrogate, measure)
    assert queries.regret(measure, scores) > 0.001
    relevance = queries.minimizer("squared", "precision@1")
    assert queries.regret(measure, relevance) == pytest.approx(0, abs=1e-12)
    assert repr(find_counterexample(surrogate, "sort", measure, **options)) == repr(queries)


def test_rows_that_no_function_orders_are_no_counterexample():
    # Two queries of the same rows want opposite orders: every function of a row has a regret.
    laws = [LabelDistribution(labels, [1.0]) for labels in ([[1, 0]], [[0, 1]])]
    opposite = SharedRows([[0, 1], [0, 1]], laws, [0.4, 0.6])
    relevance = opposite.minimizer("squared", "precision@1")
    assert opposite.regret("precision@1", relevance) == pytest.approx(0.4)
    options = {"form": "rows", "draw": lambda _: opposite, "n_tries": 2}
    assert find_counterexample("squared", "sort", "precision@1", **options) is None


class OwnPoisson(PointwiseLoss):
    """exp(s) - v s."""

    name = "own_poisson"

    def terms(self, v, s):
        return np.exp(np.minimum(s, 250.0)) - v * s

    def slopes(self, v, s):
        return np.exp(np.minimum(s, 250.0)) - v

    def curvatures(self, v, s):
        return np.exp(np.minimum(s, 250.0))

    def least(self, v):
        return v - v * np.log(v)

    def minimizer(self, v, queries):
        return np.log(v)

    def constant(self, largest=1.0):
        return np.inf


def test_equal_relevances_have_equal_scores():
    # The search starts at the minimum, whose slopes are nothing but rounding errors.
    for documents in ([[2, 2, 1, 2], [1, 2, 2, 1]], [[3, 0, 1, 0], [3, 3, 0, 0]]):
        for share in (0.07, 0.13, 0.5):
            rows = SharedRows.independent(documents, np.full(4, 0.8), [share, 1 - share])
            scores = rows.minimizer(OwnPoisson(), "dcg@2")
            np.testing.assert_allclose(scores, np.log(0.8), atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("measure", ["precision@2", "dcg@2"])
def test_none_is_found_for_separable_measures(measure):
    options = {"form": "rows", "r": 3, "n_tries": 30, "random_state": 0}
    for loss in ("squared", "logistic"):
        assert find_counterexample(loss, "sort", measure, **options) is None


def test_queries_without_a_better_order_are_no_counterexamples():
    alike = SharedRows.independent([[0, 0], [1, 1]], [0.0, 1.0], [0.5, 0.5])
    options = {"form": "rows", "n_tries": 1, "draw": lambda _: alike}
    assert find_counterexample("squared", "sort", "ndcg", **options) is None
    # Where all are alike, Newton's method ends at a loss of 0, which rounding errors are.
    alike = SharedRows.independent([[1, 2, 1], [2, 2, 1]], [0.6, 0.6, 0.6], [0.63, 0.37])
    assert find_counterexample("bregman_logistic", "sort", "dcg@2", **options) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SharedRows([[0, -1]], [LabelDistribution([[0, 1]])]), "integers >= 0"),
        (lambda: SharedRows([[0, 1]], []), "one distribution of relevances for each"),
        (lambda: SharedRows.independent([[0, 1]], [0.5]), "a probability for each kind"),
        (lambda: QUERIES.regret("ndcg", [0.0]), r"scores must have shape \(\d,\), got \(1,\)"),
        (lambda: QUERIES.minimizer("preference_hinge", "ndcg"), "must be convex, of scores"),
        (lambda: QUERIES.minimizer("pairs", "map"), "must be convex, of scores"),
        (lambda: find_counterexample("squared", "sort", "ndcg", form="row"), "form"),
        (
            lambda: find_counterexample("squared", "sort", "map", form="rows", condition="dag"),
            "condition must be None",
        ),
        (lambda: find_counterexample("pairs", "exact", "map", form="rows"), "must be 'sort'"),
    ],
)
def test_bad_arguments_of_rows_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Newton's method finds no minimum of a loss that is flat around it.
SEARCHED = [loss for loss in LOSSES if loss != "differentiable_hinge"]


@pytest.mark.product
@pytest.mark.parametrize("loss", SEARCHED)
@pytest.mark.parametrize("measure", ["precision@1", "dcg@2"])
def test_losses_of_rows_have_no_counterexample_of_rows(loss, measure):
    of_rows = get_loss(loss).of_rows
    options = {"form": "rows", "r": 4, "n_tries": 15 if of_rows else 100, "random_state": 0}
    assert (find_counterexample(loss, "sort", measure, **options) is None) == of_rows


def test_documents_of_the_caller_may_change_later():
    documents, laws = np.array([[0, 1], [1, 2]]), [LabelDistribution([[2.0, 0.0], [1.0, 0.0]])] * 2
    shared = SharedRows(documents, laws)
    expected = shared.minimizer("squared", "ndcg")
    documents[:] = 0
    np.testing.assert_array_equal(shared.minimizer("squared", "ndcg"), expected)
