"""Rankers with a surrogate on pairs: Bayes-optimal by enumeration, and as estimators."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from cases import make_data
from definitions import all_positions, average_precision, disagreement, err, preferences
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skcalrank import (
    AveragePrecisionRanker,
    MissingQidError,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
)
from skcalrank.preds import PredResult
from skcalrank.rankers import _pair_base as pair_base
from skcalrank.testing import expected_failed_checks


def map_ranker(**params):
    return AveragePrecisionRanker(surrogate="pairwise", **params)


def pd_ranker(**params):
    return PairwiseDisagreementRanker(surrogate="pairwise", **params)


# -- Bayes-optimal by enumeration ------------------------------------------------------
#
# Each kind of instance has a law over labels of its own and one-hot features; there is a row
# for each label of the law, weighted by its probability. Least squares then gives the expected
# targets of every kind exactly.


def rows_of(laws):
    """X and weights for laws of the form (labels, probabilities)."""
    kinds = np.repeat(np.arange(len(laws)), [len(labels) for labels, _ in laws])
    return np.eye(len(laws))[kinds], np.concatenate([p for _, p in laws])


def learn(ranker, laws, target=np.asarray):
    """The ranking of each kind of instance that is learnt from their laws."""
    X, weight = rows_of(laws)
    y = target(np.concatenate([labels for labels, _ in laws]))
    ranker = clone(ranker).set_params(estimator=LinearRegression(fit_intercept=False))
    return ranker.fit(X, y, sample_weight=weight).rank(np.eye(len(laws)))


def map_regret(law, positions):
    """Best expected average precision of any ranking, minus the one of the ranking given."""
    labels, probabilities = law
    rankings = np.vstack([positions, all_positions(len(positions))])
    table = [[average_precision(y, p) for y in labels] for p in rankings]
    values = np.nan_to_num(np.array(table)) @ probabilities
    return values.max() - values[0]


def mean_preferences(law):
    labels, probabilities = law
    return np.tensordot(probabilities, labels, 1)


def pd_regret(mean, positions):
    rankings = all_positions(len(mean))
    losses = (mean * (rankings[:, :, None] > rankings[:, None, :])).sum(axis=(1, 2))
    return disagreement(mean, positions) - losses.min()


def draw_binary(r, rng):
    n = rng.integers(1, 6)
    return rng.integers(0, 2, (n, r)), rng.dirichlet(np.ones(n))


def draw_dags(r, rng):
    """Weighted DAGs as matrices: each of the edges of a random order, or not."""
    n = rng.integers(1, 6)
    out = np.zeros((n, r, r))
    for matrix in out:
        order = rng.permutation(r)
        weights = np.triu(rng.integers(0, 4, (r, r)) * (rng.random((r, r)) < 0.7), 1)
        matrix[np.ix_(order, order)] = weights
    return out, rng.dirichlet(np.ones(n))


def draw_orders(r, rng):
    """Unit preferences of complete orders."""
    n = rng.integers(1, 6)
    orders = [rng.permutation(r) for _ in range(n)]
    return np.array([preferences(o, "unit") for o in orders]), rng.dirichlet(np.ones(n))


def draw_many(draw, r, rng, condition=None, n=40):
    laws = []
    while len(laws) < n:
        law = draw(r, rng)
        if condition is None or condition(law):
            laws.append(law)
    return laws


sizes = pytest.mark.parametrize("r", [2, 3, 4, 5])


@sizes
@pytest.mark.parametrize("pred", [None, "exact", "auto"])
def test_map_is_bayes_optimal_under_every_law(r, pred, rng):
    laws = draw_many(draw_binary, r, rng)
    for law, positions in zip(laws, learn(map_ranker(pred=pred), laws)):
        assert map_regret(law, positions) < 1e-10


@sizes
@pytest.mark.parametrize("pred", [None, "exact", "auto"])
@pytest.mark.parametrize("draw", [draw_dags, draw_orders])
def test_disagreement_is_bayes_optimal_under_every_law(r, pred, draw, rng):
    laws = draw_many(draw, r, rng)
    found = learn(pd_ranker(pred=pred), laws, PreferenceTarget.from_matrices)
    for law, positions in zip(laws, found):
        assert pd_regret(mean_preferences(law), positions) < 1e-10


@sizes
@pytest.mark.parametrize("weights", ["difference", "unit"])
def test_disagreement_of_relevances_is_bayes_optimal(r, weights, rng):
    laws = [(rng.integers(0, 4, (5, r)), rng.dirichlet(np.ones(5))) for _ in range(40)]
    found = learn(pd_ranker(pred="exact", weights=weights), laws)
    for (labels, probabilities), positions in zip(laws, found):
        law = np.array([preferences(y, weights) for y in labels]), probabilities
        assert pd_regret(mean_preferences(law), positions) < 1e-10


def has_no_cycle(mean):
    """Whether documents can be taken away one by one, each beaten by none of the rest."""
    left = list(range(len(mean)))
    while left:
        free = [j for j in left if not any(mean[i, j] > mean[j, i] + 1e-9 for i in left)]
        if not free:
            return False
        left.remove(free[0])
    return True


@sizes
def test_algorithm_one_is_optimal_on_p_dag(r, rng):
    for draw in (draw_dags, draw_orders):
        laws = draw_many(draw, r, rng, lambda law: has_no_cycle(mean_preferences(law)))
        ranker = pd_ranker(pred="topological")
        found = learn(ranker, laws, PreferenceTarget.from_matrices)
        for law, positions in zip(laws, found):
            assert pd_regret(mean_preferences(law), positions) < 1e-10


@sizes
def test_any_topological_order_is_optimal_on_p_dag(r, rng):
    laws = draw_many(draw_dags, r, rng, lambda law: has_no_cycle(mean_preferences(law)), n=15)
    for mean in map(mean_preferences, laws):
        edges = np.argwhere(mean > mean.T + 1e-9)
        orders = [p for p in all_positions(r) if all(p[i] < p[j] for i, j in edges)]
        assert orders
        assert max(pd_regret(mean, p) for p in orders) < 1e-8


def pair_means(law):
    """``E[Y_i Y_j / |Y|_1]``."""
    return sum(p * np.outer(y, y) / max(y.sum(), 1) for y, p in zip(*law))


def reinforces(law):
    """Whether a law is in P_reinforce, by a margin that rounding does not reach."""
    u = pair_means(law)
    documents = range(len(u))
    for i in documents:
        for j in documents:
            rest = sum(max(u[j, g] - u[i, g], 0) for g in documents if g not in (i, j))
            if i != j and u[i, i] >= u[j, j] and u[i, i] < u[j, j] + rest + 1e-9:
                return False
    return True


@sizes
def test_diagonal_is_optimal_on_p_reinforce(r, rng):
    laws = draw_many(draw_binary, r, rng, reinforces, n=25)
    ranker = map_ranker(pred="diagonal")
    for law, positions in zip(laws, learn(ranker, laws)):
        assert map_regret(law, positions) < 1e-10


# CUG13, proof of Theorem 3.3: documents 1 and 2 are relevant together, or 3 and 4 are. The
# ranking 1 > 3 > 2 > 4 mixes the two, 1 > 2 > 3 > 4 keeps them apart.
TOGETHER = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([0.5, 0.5])
MIXED, APART = np.array([1, 3, 2, 4]), np.array([1, 2, 3, 4])


def test_printed_counterexample():
    labels, half = TOGETHER
    gap = np.mean([average_precision(y, MIXED) - average_precision(y, APART) for y in labels])
    assert gap == pytest.approx(-1 / 24, abs=1e-15)
    gap = np.mean([err(y, MIXED, max_grade=1) - err(y, APART, max_grade=1) for y in labels])
    assert gap == pytest.approx(1 / 48, abs=1e-15)
    # One score per document sees no difference between the two.
    X, score = np.ones((2, 1)), AveragePrecisionRanker()
    scores = score.fit(X, labels, sample_weight=half).predict(X[:1])[0]
    np.testing.assert_allclose(scores, scores[0], atol=1e-12)
    assert map_regret(TOGETHER, MIXED) == pytest.approx(1 / 24)
    for pred in ("exact", "beam"):
        assert map_regret(TOGETHER, learn(map_ranker(pred=pred), [TOGETHER])[0]) < 1e-12


def test_score_form_of_map_fails_on_the_counterexample():
    # A little mass on single documents makes the scores decrease in the order 1, 3, 2, 4.
    labels = np.vstack([TOGETHER[0], np.eye(4, dtype=int)])
    law = labels, np.array([0.497, 0.497, 0.003, 0.001, 0.002, 0.0])
    by_score = learn(AveragePrecisionRanker(), [law])[0]
    by_diagonal = learn(map_ranker(pred="diagonal"), [law])[0]
    assert by_score.tolist() == by_diagonal.tolist() == MIXED.tolist()
    assert map_regret(law, by_score) == pytest.approx(1 / 24, abs=2e-3)
    assert map_regret(law, learn(map_ranker(pred="exact"), [law])[0]) < 1e-12


# 40% hold 1 > 2 > 3, 37% 3 > 1 > 2, 23% 2 > 3 > 1: a majority for 1 > 2 > 3 > 1. The majority
# for 3 > 1 is smallest, yet 2 loses more than 3 does.
CONDORCET = np.array([[3, 2, 1], [2, 1, 3], [1, 3, 2]]), np.array([0.4, 0.37, 0.23])


@pytest.mark.parametrize("pred", [None, "exact", "topological", "local_search"])
def test_net_preference_fails_on_a_cycle_and_pairs_do_not(pred):
    labels, probabilities = CONDORCET
    mean = sum(p * preferences(y, "unit") for y, p in zip(labels, probabilities))
    assert not has_no_cycle(mean)
    by_score = learn(PairwiseDisagreementRanker(weights="unit"), [CONDORCET])[0]
    by_pairs = learn(pd_ranker(weights="unit", pred=pred), [CONDORCET])[0]
    assert by_score.tolist() == [1, 3, 2]
    assert by_pairs.tolist() == [1, 2, 3]
    assert pd_regret(mean, by_pairs) < 1e-12
    assert pd_regret(mean, by_score) == pytest.approx(0.26)


def as_subset(law):
    """Documents that know who they are; a query for each label of the law."""
    labels, probabilities = law
    n, r = labels.shape[:2]
    qid = np.repeat(np.arange(n), r)
    return np.tile(np.eye(r), (n, 1)), qid, np.repeat(probabilities, r)


@pytest.mark.parametrize("r", [2, 4, 5])
def test_subset_form_is_bayes_optimal(r, rng):
    for law in draw_many(draw_binary, r, rng, n=8):
        X, qid, weight = as_subset(law)
        ranker = map_ranker(pred="exact", alpha=1e-9).fit(X, law[0].ravel(), qid, weight)
        assert map_regret(law, ranker.rank(X[:r], qid[:r])) < 1e-8
    for law in draw_many(draw_dags, r, rng, n=8):
        X, qid, weight = as_subset(law)
        y = PreferenceTarget.from_matrix(law[0].reshape(-1, r), qid)
        ranker = pd_ranker(pred="exact", alpha=1e-9).fit(X, y, sample_weight=weight)
        assert pd_regret(mean_preferences(law), ranker.rank(X[:r], qid[:r])) < 1e-8


# -- every setting in both forms of the data -------------------------------------------


def products(first, second):
    return np.hstack([first * second, first - second])


PREDS = {
    map_ranker: (None, "diagonal", "exact", "beam", "auto"),
    pd_ranker: (None, "topological", "exact", "local_search", "auto"),
}
FEATURES = {
    "bilinear": {"alpha": 0.1},
    "concat": {"pair_features": "concat"},
    "difference": {"pair_features": "difference", "alpha": 0.1},
    "callable": {"pair_features": products},
    "tree": {
        "pair_features": "concat",
        "estimator": DecisionTreeRegressor(max_depth=4, random_state=0),
    },
    "network": {
        "pair_features": "concat",
        "estimator": MLPRegressor(
            hidden_layer_sizes=3, activation="tanh", tol=0.1, n_iter_no_change=1, random_state=0
        ),
    },
}
LINEAR = ("bilinear", "concat", "difference", "callable")


def setting(make, pred=None, features="bilinear", **params):
    """A pairwise ranker that takes graded labels."""
    ranker = make(pred=pred, **FEATURES[features] | params)
    return ranker.set_params(relevance_level=1) if make is map_ranker else ranker


def over(*which):
    """Parametrize by pairs of a map and features; each test has a ranker of its own."""
    names = [f"{make.__name__}-{pred}-{features}" for make, pred, features in which]
    return pytest.mark.parametrize("which", which, ids=names)


@pytest.fixture
def ranker(which):
    return setting(*which)


EVERY_PRED = [(make, pred, "bilinear") for make, preds in PREDS.items() for pred in preds]
EVERY_SETTING = EVERY_PRED + [(m, None, f) for m in PREDS for f in FEATURES if f != "bilinear"]
EVERY_LINEAR = EVERY_PRED + [(m, None, f) for m in PREDS for f in LINEAR if f != "bilinear"]
# With squared loss on differences the symmetric targets of MAP have no linear effect: all ties.
UNTIED = [w for w in EVERY_LINEAR if w != (map_ranker, None, "difference")]
every_setting, every_pred, every_linear = (
    over(*which) for which in (EVERY_SETTING, EVERY_PRED, EVERY_LINEAR)
)
every_maker = pytest.mark.parametrize("make", PREDS)


@pytest.fixture
def data(rng):
    return make_data(rng, sizes=(6, 1, 9, 4, 7, 5))


@pytest.fixture
def label_data(rng):
    X = rng.normal(size=(40, 3))
    return X, np.clip(np.round(X @ rng.normal(size=(3, 4)) + 0.7), 0, 3)


def per_query(qid):
    """Rows of each query, in order of first appearance."""
    return [np.flatnonzero(qid == q) for q in dict.fromkeys(qid.tolist())]


@every_setting
def test_what_the_methods_return(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    matrices = ranker.decision_function(X, qid)
    results = ranker.solve(X, qid)
    positions, scores = ranker.rank(X, qid), ranker.predict(X, qid)
    queries = per_query(qid)
    assert isinstance(matrices, list)
    assert [m.shape for m in matrices] == [(len(q), len(q)) for q in queries]
    assert all(isinstance(result, PredResult) for result in results)
    assert positions.shape == scores.shape == y.shape
    assert scores.dtype == np.float64
    assert positions.dtype.kind == "i"
    assert np.array_equal(scores, -positions)
    for rows, result in zip(queries, results, strict=True):
        assert np.array_equal(result.positions, positions[rows])
    assert np.array_equal(ranker.top_k(X, qid, k=1), [q[positions[q] == 1][0] for q in queries])
    assert -np.inf < ranker.score(X, y, qid) < np.inf


@every_setting
def test_positions_are_those_of_the_matrices(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    for matrix, result in zip(ranker.decision_function(X, qid), ranker.solve(X, qid)):
        last = np.maximum(result.positions[:, None], result.positions)
        value = {
            AveragePrecisionRanker: (np.tril(matrix) / last).sum(),
            PairwiseDisagreementRanker: disagreement(matrix, result.positions),
        }[type(ranker)]
        assert result.value == pytest.approx(value, abs=1e-10)


@over(*UNTIED, *((make, pred, "network") for make, preds in PREDS.items() for pred in preds))
def test_order_of_the_rows_to_be_ranked(ranker, data, rng):
    X, y, qid = data
    ranker.fit(X, y, qid)
    expected = ranker.rank(X, qid)
    together = np.argsort(qid, kind="stable")
    for rows in (rng.permutation(len(y)), together, together[::-1]):
        assert np.array_equal(ranker.rank(X[rows], qid[rows]), expected[rows])


@over(*UNTIED)
def test_order_of_the_rows_to_be_learnt_from(ranker, data, rng):
    X, y, qid = data
    expected = clone(ranker).fit(X, y, qid).rank(X, qid)
    for rows in (rng.permutation(len(y)), np.argsort(qid, kind="stable")):
        other = clone(ranker).fit(X[rows], y[rows], qid[rows])
        assert np.array_equal(other.rank(X, qid), expected)
        assert np.array_equal(other.rank(X[rows], [f"q{q}" for q in qid[rows]]), expected[rows])


@every_setting
def test_a_query_is_ranked_by_itself(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    expected = ranker.rank(X, qid)
    for rows in per_query(qid):
        assert np.array_equal(ranker.rank(X[rows], qid[rows]), expected[rows])


@every_pred
def test_without_qid_all_rows_are_one_query(ranker, data):
    X, y = (part[:9] for part in data[:2])
    one = clone(ranker).fit(X, y)
    two = clone(ranker).fit(X, y, np.zeros(9))
    assert np.array_equal(one.rank(X), two.rank(X, np.zeros(9)))
    assert one.score(X, y) == pytest.approx(two.score(X, y, np.zeros(9)))
    assert len(one.decision_function(X)) == 1


@every_pred
@pytest.mark.parametrize(
    "estimator",
    [None, KernelRidge(kernel="rbf"), DecisionTreeRegressor(max_depth=3)],
    ids=["ridge", "kernel", "tree"],
)
def test_label_form(ranker, estimator, label_data):
    X, y = label_data
    ranker.set_params(estimator=estimator, alpha=1.0).fit(X, y)
    matrices, positions = ranker.decision_function(X), ranker.rank(X)
    assert matrices.shape == (40, 4, 4)
    assert np.array_equal(ranker.predict(X), -positions)
    assert positions.shape == y.shape
    assert np.array_equal(positions, [result.positions for result in ranker.solve(X)])
    assert np.array_equal(ranker.rank(X[:1])[0], positions[0])
    assert ranker.top_k(X, k=2).shape == (40, 2)
    if isinstance(ranker, AveragePrecisionRanker):
        assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    assert np.isfinite(ranker.score(X, y))


@every_maker
def test_label_form_is_multi_output_regression(make, label_data):
    X, y = label_data
    y = (y > 0) * 1.0
    expected = {
        map_ranker: [np.outer(row, row) / max(row.sum(), 1) for row in y],
        pd_ranker: [preferences(row) for row in y],
    }[make]
    expected = Ridge(0.3).fit(X, np.reshape(expected, (40, 16))).predict(X).reshape(40, 4, 4)
    for params in ({"alpha": 0.3}, {"estimator": Ridge(0.3)}):
        found = make(**params).fit(X, y).decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-10)
    assert make(estimator=SVR()).fit(X, y).rank(X).shape == (40, 4)


# -- targets, weights, containers ------------------------------------------------------


@pytest.mark.parametrize("weights", ["difference", "unit"])
@pytest.mark.parametrize("features", LINEAR)
def test_preferences_of_relevances_are_the_relevances(weights, features, data, label_data):
    X, y, qid = data
    ranker = setting(pd_ranker, "exact", features).set_params(weights=weights)
    preferred = PreferenceTarget.from_relevance(y, qid, weights=weights)
    one, two = clone(ranker).fit(X, y, qid), clone(ranker).fit(X, preferred)
    for a, b in zip(one.decision_function(X, qid), two.decision_function(X, qid), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert np.array_equal(one.rank(X, qid), two.rank(X, qid))
    assert one.score(X, y, qid) == pytest.approx(two.score(X, preferred))
    X, y = label_data
    preferred = PreferenceTarget.from_relevance(y, weights=weights)
    both = [clone(ranker).fit(X, target).decision_function(X) for target in (y, preferred)]
    np.testing.assert_allclose(*both, atol=1e-10)


def test_orders_are_relevances_turned_round(rng):
    X, positions = rng.normal(size=(30, 2)), np.array([rng.permutation(5) + 1.0 for _ in range(30)])
    targets = {"unit": -positions, "difference": PreferenceTarget.from_orders(positions)}
    both = [pd_ranker(weights=w).fit(X, y).decision_function(X) for w, y in targets.items()]
    np.testing.assert_allclose(*both, atol=1e-12)
    positions[:, 2] = np.nan
    unranked = pd_ranker().fit(X, PreferenceTarget.from_orders(positions)).decision_function(X)
    assert np.abs(unranked[:, 2]).max() < 1e-12


@every_linear
def test_a_constant_weight_counts_as_often(ranker, data):
    X, y, qid = data
    exact = 5e-8 if ranker.pair_features == "bilinear" else 1e-10
    fitted = clone(ranker).fit(X, y, qid)
    once = clone(ranker).fit(X, y, qid, np.ones(len(y)))
    thrice = clone(ranker).set_params(alpha=3 * ranker.alpha).fit(X, y, qid, np.full(len(y), 3.0))
    for other in (once, thrice):
        for a, b in zip(fitted.decision_function(X, qid), other.decision_function(X, qid)):
            np.testing.assert_allclose(a, b, atol=exact)
        assert np.array_equal(other.rank(X, qid), fitted.rank(X, qid))


@every_pred
def test_constant_weight_of_rows_changes_nothing_in_the_score(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    expected = ranker.score(X, y, qid)
    assert ranker.score(X, y, qid, np.full(len(y), 7.0)) == pytest.approx(expected)


@every_linear
def test_a_query_of_weight_zero_is_ranked_but_not_learnt_from(ranker, data):
    X, y, qid = data
    inside = qid != qid[0]
    one = clone(ranker).fit(X[inside], y[inside], qid[inside])
    two = clone(ranker).fit(X, y, qid, inside * 1.0)
    assert np.array_equal(one.rank(X, qid), two.rank(X, qid))


@every_setting
def test_containers_and_precision(ranker, data):
    X, y, qid = data
    expected = clone(ranker).fit(X, y, qid).rank(X, qid)
    lists = clone(ranker).fit(X.tolist(), y.tolist(), qid.tolist())
    assert np.array_equal(lists.rank(X.tolist(), qid.tolist()), expected)
    carried = clone(ranker).fit(X, RankingTarget(y, qid))
    assert np.array_equal(carried.rank(X, qid), expected)
    single = clone(ranker).fit(X.astype(np.float32), y, qid)
    assert all(m.dtype == np.float64 for m in single.decision_function(X, qid))


@every_linear
def test_sparse_features(ranker, data):
    X, y, qid = data
    X = X * (np.abs(X) > 0.5)
    expected = clone(ranker).fit(X, y, qid).rank(X, qid)
    found = clone(ranker).fit(csr_matrix(X), y, qid).rank(csr_matrix(X), qid)
    assert np.array_equal(found, expected)


def test_missing_features_where_the_regressor_takes_them(data, label_data):
    X, y, qid = data
    boosted = HistGradientBoostingRegressor(max_iter=3)
    X[3, 1] = np.nan
    ranker = pd_ranker(estimator=boosted, pair_features="concat").fit(X, y, qid)
    assert ranker.rank(X, qid).max() == 9
    with pytest.raises(ValueError, match="contains NaN"):
        pd_ranker().fit(X, y, qid)
    X, y = label_data
    X[3, 1] = np.nan
    # Items have no pair features, so they are no reason to refuse.
    assert pd_ranker(estimator=boosted).fit(X, y).rank(X).shape == y.shape


@every_setting
def test_queries_of_one_document_and_without_relevant_ones(ranker, rng):
    X, qid = rng.normal(size=(8, 2)), np.array([0, 0, 0, 1, 2, 2, 2, 2])
    y = np.array([0, 0, 0, 1, 1, 0, 2, 0])
    assert np.array_equal(clone(ranker).fit(X, y, qid).rank(X, qid)[3], 1)
    nothing = clone(ranker).fit(X, np.zeros(8), qid)
    for matrix in nothing.decision_function(X, qid):
        assert np.isfinite(matrix).all()


@pytest.mark.parametrize("features", ["bilinear", "concat", "tree", "network"])
@every_maker
def test_only_queries_of_one_document(make, features, rng):
    X, y, qid = rng.normal(size=(6, 2)), np.array([1, 0, 1, 0, 1, 1]), np.arange(6)
    ranker = setting(make, None, features).fit(X, y, qid)
    assert ranker.rank(X, qid).tolist() == [1] * 6


@pytest.mark.parametrize("features", LINEAR)
@every_maker
def test_degenerate_features(make, features, data):
    X, y, qid = data
    for flat in (np.ones_like(X), np.zeros_like(X), X[:, :1], np.repeat(X[:, :1], 3, axis=1)):
        ranker = setting(make, None, features).fit(flat, y, qid)
        matrices = ranker.decision_function(flat, qid)
        assert all(np.isfinite(matrix).all() for matrix in matrices)
        assert ranker.rank(flat, qid).max() == 9


# -- queries that are missing ----------------------------------------------------------

METHODS = {
    "predict": lambda ranker, X, _y: ranker.predict(X),
    "rank": lambda ranker, X, _y: ranker.rank(X),
    "top_k": lambda ranker, X, _y: ranker.top_k(X),
    "score": lambda ranker, X, y: ranker.score(X, y),
    "solve": lambda ranker, X, _y: ranker.solve(X),
    "decision_function": lambda ranker, X, _y: ranker.decision_function(X),
}
every_method = pytest.mark.parametrize("method", METHODS)


@every_method
@every_maker
def test_queries_must_not_be_forgotten(make, method, data):
    X, y, qid = data
    ranker = setting(make, None, "bilinear").fit(X, y, qid)
    with pytest.raises(MissingQidError, match=r"was fitted with a qid, and .* got none"):
        METHODS[method](ranker, X, y)


@every_method
@every_maker
def test_not_fitted(make, method, data):
    X, y, _ = data
    with pytest.raises(NotFittedError):
        METHODS[method](make(), X, y)


def test_scores_of_the_score_surrogate_need_no_queries(data):
    X, y, qid = data
    ranker = PairwiseDisagreementRanker().fit(X, y, qid)
    assert ranker.predict(X).shape == y.shape


# -- work: processes, progress, time ---------------------------------------------------


def assert_same_results(results, others):
    for one, two in zip(results, others, strict=True):
        assert np.array_equal(one.positions, two.positions)
        assert one[1:] == two[1:]


@pytest.fixture
def eager(monkeypatch):
    """Processes for any work, tasks of few queries, and few of them held at a time."""
    monkeypatch.setattr(pair_base, "_WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(pair_base, "_TASK", 1e-5)
    monkeypatch.setattr(pair_base, "_RUN_CELLS", 100)


@every_maker
def test_processes_change_nothing(make, data, label_data, request):
    X, y, qid = data
    serial = setting(make, None, "bilinear").fit(X, y, qid)
    results, label = serial.solve(X, qid), clone(serial).fit(*label_data).rank(label_data[0])
    request.getfixturevalue("eager")
    parallel = clone(serial).set_params(n_jobs=2).fit(X, y, qid)
    assert_same_results(parallel.solve(X, qid), results)
    assert np.array_equal(parallel.fit(*label_data).rank(label_data[0]), label)


@every_maker
def test_processes_are_for_much_work(make, data, monkeypatch):
    used = []
    monkeypatch.setattr(pair_base, "Parallel", lambda n: used.append(n) or list)
    monkeypatch.setattr(pair_base, "delayed", lambda function: function)
    X, y, qid = data
    ranker = setting(make, None, "bilinear", n_jobs=2).fit(X, y, qid)
    few = ranker.predict(X, qid)
    assert not used
    # Work of all queries together; the second time it is too little again.
    seconds = ranker._pred().cost
    work = sum(seconds(int(r)) for r in np.unique(qid, return_counts=True)[1])
    for worth, expected in ((0.9 * work, [2]), (1.1 * work, [2])):
        monkeypatch.setattr(pair_base, "_WORTH_PROCESSES", worth)
        assert np.array_equal(ranker.predict(X, qid), few)
        assert used == expected
    ranker.set_params(n_jobs=None).predict(X, qid)
    assert used == [2]


@pytest.mark.parametrize("eagerly", [False, True])
@every_pred
def test_queries_together_are_queries_one_by_one(ranker, data, label_data, eagerly, request):
    if eagerly:
        request.getfixturevalue("eager")
    X, y, qid = data
    pred = ranker._pred()
    solver = partial(pred.solve, **ranker._pred_options(pred))
    for given, options in (((X, y, qid), {"qid": qid}), (label_data, {})):
        matrices = ranker.fit(*given).decision_function(given[0], **options)
        assert_same_results(ranker.solve(given[0], **options), map(solver, matrices))


@pytest.mark.parametrize("cells", [1, 30, 1000])
def test_matrices_are_held_in_bounded_runs(cells, rng, monkeypatch):
    monkeypatch.setattr(pair_base, "_RUN_CELLS", cells)
    sizes, held = rng.integers(1, 5, 50), []

    def matrices():
        for number, r in enumerate(sizes):
            held.append(r * r)
            yield np.full((r, r), number)

    seen = []
    for numbers, stack in pair_base._stacks(matrices(), sizes):
        assert stack.shape[1:] == (sizes[numbers[0]],) * 2
        assert np.array_equal(stack[:, 0, 0], numbers)
        seen.extend(numbers)
        # What is held and not yet handed on: a run, and the query that fills it.
        assert sum(held) - sum(sizes[seen] ** 2) < cells + 16
    assert sorted(seen) == list(range(50))


@every_pred
def test_progress(ranker, data, label_data, capsys):
    X, y, qid = data
    ranker.set_params(verbose=1).fit(X, y, qid)
    assert capsys.readouterr().out == ""
    ranker.predict(X, qid)
    lines = capsys.readouterr().out.splitlines()
    name = type(ranker).__name__
    assert lines == [f"[{name}] ranked {n}/6 queries" for n in range(1, 7)]
    ranker.fit(*label_data).predict(label_data[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"[{name}] ranked 4/40 queries"
    assert lines[-1] == f"[{name}] ranked 40/40 queries"
    assert len(lines) == 10
    ranker.set_params(verbose=0).predict(label_data[0])
    assert capsys.readouterr().out == ""


def test_progress_of_the_fit(data, capsys):
    X, y, qid = data
    ranker = map_ranker(verbose=2, relevance_level=1).fit(X, y, qid)
    assert capsys.readouterr().out.count("bilinear fit: iteration") == ranker.n_iter_ > 0


@pytest.fixture
def hard(rng):
    """Two queries of 35 documents with preferences at random, learnt by heart."""
    X, qid = np.tile(np.eye(35), (2, 1)), np.repeat([0, 1], 35)
    return X, PreferenceTarget.from_matrix(rng.random((70, 35)) * (1 - X), qid), qid


@pytest.mark.parametrize("pred", [None, "auto", "exact"])
@pytest.mark.parametrize("method", ["predict", "rank", "top_k", "solve", "score"])
def test_time_limit_that_is_hit_warns_once(pred, method, hard, monkeypatch):
    monkeypatch.setattr("skcalrank.preds._feedback_arc._AUTO_UP_TO", 40)
    X, y, qid = hard
    ranker = pd_ranker(pred=pred, alpha=1e-6, time_limit=1e-3).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if method == "score":
            ranker.score(X, y)
        else:
            getattr(ranker, method)(X, qid)
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    message = str(warning.message)
    assert message.startswith("The time limit was hit on 2 of 2 queries")
    assert "largest gap is" in message


def test_time_limit_gives_positions_with_their_gap(hard):
    X, y, qid = hard
    ranker = pd_ranker(pred="exact", alpha=1e-6, time_limit=1e-3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        results = ranker.solve(X, qid)
    for result in results:
        assert sorted(result.positions) == list(range(1, 36))
        assert not result.proven
        assert 0 < result.gap < np.inf


@pytest.mark.parametrize("pred", ["topological", "local_search"])
def test_heuristics_have_no_time_to_run_out_of(pred, hard):
    X, y, qid = hard
    ranker = pd_ranker(pred=pred, alpha=1e-6, time_limit=1e-3).fit(X, y)
    assert ranker.rank(X, qid).max() == 35


# -- parameters ------------------------------------------------------------------------

BAD = {
    "surrogate": (map_ranker(), {"surrogate": "pairs"}, "'surrogate' .*Got 'pairs'"),
    "pred of map": (
        map_ranker(),
        {"pred": "topological"},
        "pred must be one of 'exact', .*'topological'",
    ),
    "pred of pd": (
        pd_ranker(),
        {"pred": "beam"},
        "pred must be one of 'topological', .*got 'beam'",
    ),
    "pair_features": (pd_ranker(), {"pair_features": "sum"}, "'pair_features' .*Got 'sum'"),
    "pred of a score": (
        map_ranker(),
        {"surrogate": "score", "pred": "diagonal"},
        "pred='diagonal' is a map of pairs.*surrogate='pairwise'",
    ),
    "estimator": (
        pd_ranker(),
        {"estimator": Ridge()},
        "estimator is not used by pair_features='bilinear'",
    ),
    "alpha": (pd_ranker(), {"alpha": -1.0}, "'alpha' .*Got -1.0"),
    "alpha nan": (pd_ranker(), {"alpha": float("nan")}, "'alpha' .*Got nan"),
    "alpha word": (pd_ranker(), {"alpha": "1"}, "'alpha' .*Got '1'"),
    "weights": (pd_ranker(), {"weights": "kendall"}, "'weights' .*Got 'kendall'"),
    "features of no shape": (
        pd_ranker(),
        {"pair_features": lambda first, _second: first.sum()},
        r"pair_features returned shape \(\)",
    ),
    "graded": (map_ranker(), {}, "relevance_level"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name, data):
    ranker, params, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        clone(ranker).set_params(**params).fit(*data)


@pytest.mark.parametrize("name", ["surrogate", "pred of map", "pair_features", "alpha", "weights"])
def test_bad_parameters_in_label_form(name, label_data):
    ranker, params, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        clone(ranker).set_params(**params).fit(*label_data)


def test_more_bad_calls(data):
    X, y, qid = data
    with pytest.raises(ValueError, match=r"'time_limit' .*Got -1"):
        pd_ranker(time_limit=-1).fit(X, y, qid)
    with pytest.raises(ValueError, match="solve runs the map of pairs"):
        PairwiseDisagreementRanker().fit(X, y, qid).solve(X, qid)
    with pytest.raises(ValueError, match="expects relevances as y, got PreferenceTarget"):
        map_ranker().fit(X, PreferenceTarget.from_relevance(y, qid))
    with pytest.raises(ValueError, match="X has 2 features"):
        pd_ranker().fit(X, y, qid).rank(X[:, :2], qid)
    large = map_ranker(pred="exact", relevance_level=1).fit(X, y)
    for n in (32, 1100):
        with pytest.raises(ValueError, match=rf"{n} documents have too many.*'auto'"):
            large.rank(np.resize(X, (n, X.shape[1])))


def test_a_fit_that_fails_changes_no_map(data):
    X, y, qid = data
    ranker = pd_ranker().fit(X, y, qid)
    before = ranker.predict(X, qid)
    ranker.set_params(surrogate="score", estimator=Ridge(-1.0))
    with pytest.raises(ValueError, match="alpha"):
        ranker.fit(X, y, qid)
    assert np.array_equal(ranker.predict(X, qid), before)


def test_a_second_fit_forgets_the_first(data, label_data):
    X, y, qid = data
    ranker = pd_ranker().fit(X, y, qid)
    assert ranker.n_iter_ > 0
    ranker.fit(*label_data)
    assert not hasattr(ranker, "n_iter_")
    assert ranker.rank(label_data[0]).shape == label_data[1].shape
    ranker.fit(X, y, qid).set_params(surrogate="score").fit(X, y, qid)
    assert not hasattr(ranker, "n_iter_")


@pytest.mark.parametrize("features", ["bilinear", "concat", "tree"])
def test_coefficients_are_delegated(features, data, label_data):
    X, y, qid = data
    ranker = setting(pd_ranker, None, features).fit(X, y, qid)
    if features == "tree":
        assert ranker.feature_importances_.shape == (8,)
        assert not hasattr(ranker, "coef_")
        return
    assert ranker.coef_.shape == {"bilinear": (4, 4), "concat": (8,)}[features]
    assert not hasattr(ranker, "feature_importances_")
    assert pd_ranker().fit(*label_data).coef_.shape == (12, 3)


def wins(matrix):
    return matrix.sum(axis=1)


def test_score_function_is_a_callable_or_a_name(data):
    X, y, qid = data
    ranker = PairwiseDisagreementRanker(score_function=wins).fit(X, y, qid)
    assert ranker.score(X, y, qid) <= 0
    with pytest.raises(ValueError, match=r"'score_function' .*a callable. Got 'wins'"):
        PairwiseDisagreementRanker(score_function="wins").fit(X, y, qid)


@every_setting
def test_copies_and_pickles(ranker, data):
    X, y, qid = data
    fresh = clone(ranker)
    assert repr(fresh) == repr(ranker)
    assert fresh.get_params().keys() == ranker.get_params().keys()
    ranker.fit(X, y, qid)
    for other in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        assert np.array_equal(other.rank(X, qid), ranker.rank(X, qid))
        assert other.score(X, y, qid) == ranker.score(X, y, qid)
    assert ranker._repr_html_()


# -- in the tools of scikit-learn ------------------------------------------------------


@pytest.fixture
def many(rng):
    return make_data(rng, sizes=rng.integers(3, 9, size=18))


TOOLS = {
    "map": (map_ranker(relevance_level=1), get_scorer("map", relevance_level=1)),
    "pd": (pd_ranker(), get_scorer("neg_pairwise_disagreement")),
    "built": (
        pd_ranker(pair_features="concat", estimator=DecisionTreeRegressor(max_depth=3)),
        get_scorer("ndcg@3"),
    ),
    "own": (map_ranker(relevance_level=1), None),
}
every_tool = pytest.mark.parametrize(("ranker", "scoring"), TOOLS.values(), ids=TOOLS)
GRIDS = {
    AveragePrecisionRanker: {"alpha": [0.1, 10.0], "pred": ["diagonal", "beam"]},
    PairwiseDisagreementRanker: {"pred": ["topological", "local_search"]},
}


def grid_of(pipe):
    name, ranker = pipe.steps[-1]
    return {f"{name}__{key}": values for key, values in GRIDS[type(ranker)].items()}


def scores_by_hand(estimator, scoring, X, y, qid):
    out = []
    for train, test in QueryKFold(3).split(X, groups=qid):
        fitted = clone(estimator).fit(X[train], RankingTarget(y[train], qid[train]))
        target = RankingTarget(y[test], qid[test])
        out.append((scoring or type(fitted).score)(fitted, X[test], target))
    return out


@every_tool
@pytest.mark.parametrize("routing", [False, True], ids=["carried", "routed"])
def test_cross_validation(ranker, scoring, routing, many):
    X, y, qid = many
    estimator = clone(ranker).set_params(**fixed_seed(ranker))
    if scoring is not None:
        estimator = make_pipeline(StandardScaler(), estimator)
    expected = scores_by_hand(estimator, scoring, X, y, qid)
    with config_context(enable_metadata_routing=routing):
        call = {"y": y, "params": {"qid": qid}} if routing else {"y": RankingTarget(y, qid)}
        found = cross_val_score(estimator, X, cv=QueryKFold(3), scoring=scoring, **call)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def fixed_seed(ranker):
    return {} if ranker.estimator is None else {"estimator__random_state": 0}


@every_tool
@pytest.mark.parametrize("routing", [False, True], ids=["carried", "routed"])
def test_grid_search(ranker, scoring, routing, many):
    X, y, qid = many
    pipe = make_pipeline(StandardScaler(), clone(ranker).set_params(**fixed_seed(ranker)))
    scoring = scoring or get_scorer("map", relevance_level=1)
    with config_context(enable_metadata_routing=routing):
        cv = QueryKFold(3) if routing else GroupKFold(3)
        search = GridSearchCV(pipe, grid_of(pipe), cv=cv, scoring=scoring)
        if routing:
            search.fit(X, y, qid=qid)
        else:
            search.fit(X, RankingTarget(y, qid), groups=qid)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        best = search.best_estimator_
        assert np.array_equal(best[-1].rank(best[0].transform(X), qid), -best.predict(X, qid=qid))


@pytest.mark.parametrize(
    "scoring", [None, get_scorer("neg_pairwise_disagreement")], ids=["own", "s"]
)
def test_preferences_in_a_grid_search(scoring, many):
    X, y, qid = many
    target = PreferenceTarget.from_relevance(y, qid)
    grid = {"pred": ["topological", "exact"], "alpha": [0.1, 10.0]}
    searches = [
        GridSearchCV(pd_ranker(), grid, cv=GroupKFold(3), scoring=scoring).fit(X, t, groups=qid)
        for t in (target, RankingTarget(y, qid))
    ]
    np.testing.assert_allclose(*(s.cv_results_["mean_test_score"] for s in searches), rtol=1e-9)
    found = cross_val_score(pd_ranker(), X, target, cv=QueryKFold(3), scoring=scoring)
    assert (found <= 0).all()


def test_grid_over_the_score_function(many):
    X, y, qid = many
    grid = {"score_function": ["net_preference", wins]}
    search = GridSearchCV(PairwiseDisagreementRanker(), grid, cv=GroupKFold(3))
    search.fit(X, RankingTarget(y, qid), groups=qid)
    assert search.best_params_["score_function"] in grid["score_function"]


def test_label_form_in_the_tools(label_data):
    X, y = label_data
    target = PreferenceTarget.from_relevance(y)
    grid = {"estimator__alpha": [0.1, 10.0], "pred": ["topological", "exact"]}
    ranker = pd_ranker(estimator=Ridge())
    search = GridSearchCV(ranker, grid, cv=3).fit(X, target)
    other = GridSearchCV(ranker, grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    )


# -- scikit-learn's own checks ---------------------------------------------------------


def checked():
    """Every setting but the exact maps, which have no business on 200 rows of one query."""
    for make, pred, features in EVERY_SETTING:
        if pred != "exact" and features in ("bilinear", "concat", "difference"):
            yield setting(make, pred, features)


@parametrize_with_checks(list(checked()), expected_failed_checks=expected_failed_checks)
def test_estimator_checks(estimator, check):
    check(estimator)
