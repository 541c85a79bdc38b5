"""Rankers of many partial judgements: their risks written out, and their limits."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold

from skcalrank import (
    AggregatedRanker,
    ClickSessions,
    DifferenceGraphRanker,
    ERRRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
    get_scorer,
    sample_comparisons,
    sample_sessions,
)
from skcalrank.aggregation import STRUCTURES, borda, cascade, mean_log_odds
from skcalrank.data import Queries
from skcalrank.linear_model import GramRidge
from skcalrank.losses import LOSSES, PREFERENCE_LOSSES, Logistic, get_loss
from skcalrank.measures import ERR, NDCG
from skcalrank.metrics import err_score

CLOSE = {"rtol": 1e-6, "atol": 1e-8}


def make(rng, sizes=(4, 3, 5, 2, 6), n_comparisons=120, d=3):
    """Queries in mixed order, and comparisons of their documents."""
    qid = rng.permutation(np.repeat(np.arange(len(sizes)) + 5, sizes))
    X = rng.normal(size=(len(qid), d))
    relevance = X @ rng.normal(size=d) + rng.normal(size=len(qid))
    y = sample_comparisons(relevance, qid, n_comparisons=n_comparisons, random_state=0)
    return X, y, qid, relevance


def subset(y, judgements):
    """The target with some of its judgements."""
    keep = np.isin(y.judgment, judgements)
    return PreferenceTarget.from_comparisons(
        y.winner[keep], y.loser[keep], y.qid, weight=y.weight[keep], judgment=y.judgment[keep]
    )


def targets_of(scores, qid, k=3):
    """``G(s - min s) / Z`` by loops."""
    out = np.zeros(len(scores))
    for q in set(qid.tolist()):
        rows = qid == q
        gain = 2.0 ** (scores[rows] - scores[rows].min()) - 1
        ideal = sum(g / np.log2(i + 2) for i, g in enumerate(sorted(gain, reverse=True)[:k]))
        out[rows] = gain / ideal if ideal else 0.0
    return out


def mean_targets(y, structure, order, k=3):
    """Mean of the targets over all subsets of each query, by enumeration."""
    qid, out = y.qid, np.zeros(len(y))
    for q in set(qid.tolist()):
        rows = qid == q
        mine = np.unique(y.judgment[np.isin(y.winner, np.flatnonzero(rows))])
        n = len(mine) if order is None else min(order, len(mine))
        subsets = list(combinations(mine, n))
        found = [targets_of(structure(subset(y, np.array(s))), qid, k)[rows] for s in subsets]
        out[rows] = np.mean(found, axis=0)
    return out


def counts(y):
    """Judgements of the query of every row, over its documents."""
    share = y.n_judgments / y.queries().sizes
    return share[y.queries().codes]


@pytest.mark.parametrize("order", [None, 1, 2, 3])
def test_targets_are_means_over_subsets(order, rng):
    X, y, _, _ = make(rng, sizes=(3, 4, 2), n_comparisons=14)
    ranker = AggregatedRanker("borda", order, "ndcg@3", n_draws=1000, loss="squared").fit(X, y)
    np.testing.assert_allclose(ranker.targets_, mean_targets(y, borda, order), **CLOSE)
    assert (ranker.standard_error_ == 0).all()


@pytest.mark.parametrize("order", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_closed_form_is_the_minimum_of_the_risk(order, weighted, rng):
    """The explicit sum over queries and subsets, minimised by brute force."""
    X, y, qid, _ = make(rng, sizes=(3, 4, 2), n_comparisons=14)
    weight = rng.uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    terms = []
    for q in dict.fromkeys(qid.tolist()):
        rows = np.flatnonzero(qid == q)
        mine = np.unique(y.judgment[np.isin(y.winner, rows)])
        n = len(mine) if order is None else min(order, len(mine))
        subsets = list(combinations(mine, n))
        for s in subsets if len(mine) else ():
            target = targets_of(borda(subset(y, np.array(s))), qid)[rows]
            terms.append((rows, target, len(mine) / len(rows) / len(subsets)))

    def risk(w):
        total = 0.7 * np.sum(w[:-1] ** 2)
        for rows, target, share in terms:
            total += share * np.sum(weight[rows] * (X[rows] @ w[:-1] + w[-1] - target) ** 2)
        return total

    ranker = AggregatedRanker(
        "borda", order, "ndcg@3", loss="squared", alpha=0.7, n_draws=1000
    ).fit(X, y, sample_weight=weight if weighted else None)
    best = minimize(risk, np.zeros(4), tol=1e-14)
    np.testing.assert_allclose(ranker.coef_, best.x[:-1], rtol=1e-4, atol=1e-5)
    assert ranker.intercept_ == pytest.approx(best.x[-1], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_the_mean_target(loss, rng):
    """Losses are affine in the targets: the mean loss has its minimum at that of the mean."""
    X, y, qid, _ = make(rng, sizes=(3, 4, 2), n_comparisons=14)
    queries = Queries.from_qid(qid)
    share = queries.group(counts(y))
    ranker = AggregatedRanker("borda", 2, "ndcg@3", loss=loss, alpha=0.3, n_draws=1000).fit(X, y)
    targets = queries.group(mean_targets(y, borda, 2))
    used = get_loss(loss).scaled_to(targets, queries)

    def value(w):
        s = queries.group(X @ w[:-1] + w[-1])
        return used.evaluate(targets, s, queries, share).sum() + 0.3 * np.sum(w[:-1] ** 2)

    at = np.append(ranker.coef_, ranker.intercept_)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(30):
            assert value(at + size * rng.normal(size=4)) >= value(at) * (1 - 1e-9)


def test_draws_are_unbiased_and_their_error_is_told(rng):
    X, y, _, _ = make(rng, sizes=(3, 4, 2), n_comparisons=30)
    exact = AggregatedRanker("borda", 3, "ndcg@3", n_draws=10**5, loss="squared").fit(X, y)
    drawn = AggregatedRanker("borda", 3, "ndcg@3", n_draws=60, random_state=1, loss="squared")
    drawn.fit(X, y)
    assert (exact.standard_error_ == 0).all()
    error = drawn.standard_error_
    assert (error > 0).sum() >= 7
    assert (np.abs(drawn.targets_ - exact.targets_) <= 5 * error + 1e-12).all()
    again = clone(drawn).fit(X, y)
    assert np.array_equal(again.targets_, drawn.targets_)


@pytest.mark.parametrize("structure", [s for s in STRUCTURES if s != "cascade"])
def test_every_structure(structure, rng):
    X, y, qid, _ = make(rng, n_comparisons=4000)
    by_name = AggregatedRanker(structure).fit(X, y)
    by_function = AggregatedRanker(STRUCTURES[structure]).fit(X, y)
    assert np.array_equal(by_name.predict(X), by_function.predict(X))
    assert by_name.score(X, y) == pytest.approx(
        by_name.score(X, STRUCTURES[structure](y) - STRUCTURES[structure](y).min(), qid), abs=0.2
    )
    assert by_name.score(X, y) > 0.6
    assert by_name.rank(X, qid).shape == (len(y),)


def test_score_is_the_measure_of_the_aggregated_judgements(rng):
    X, y, qid, _ = make(rng)
    ranker = AggregatedRanker("mean_log_odds", measure="ndcg@3").fit(X, y)
    s = mean_log_odds(y)
    for q in set(qid.tolist()):
        s[qid == q] -= s[qid == q].min()
    assert ranker.score(X, y) == pytest.approx(ranker.score(X, s, qid))


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared", "pairwise_logistic", "bregman_kl"])
@pytest.mark.parametrize("order", [None, 3])
def test_stochastic_gradients_lead_to_the_exact_solution(loss, order, rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    if loss == "bregman_kl":
        loss = get_loss("bregman_kl", eta=4.0)
    ranker = AggregatedRanker("borda", order, "ndcg@3", loss=loss, alpha=2.0, n_draws=10**4)
    exact = ranker.fit(X, y).coef_.copy()
    errors = []
    for n_updates in (300, 10_000):
        found = clone(ranker).set_params(solver="sgd", n_updates=n_updates, random_state=0)
        errors.append(np.linalg.norm(found.fit(X, y).coef_ - exact) / np.linalg.norm(exact))
    assert errors[1] < 0.06
    assert errors[1] < errors[0]
    assert found.n_iter_ == 10_000


def test_stochastic_gradients_with_weights_and_sparse_features(rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    weight = rng.uniform(0.2, 3, len(y))
    ranker = AggregatedRanker("borda", measure="ndcg@3", loss="squared", alpha=2.0)
    exact = clone(ranker).fit(X, y, sample_weight=weight)
    found = clone(ranker).set_params(solver="sgd", n_updates=10_000, random_state=0)
    found.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=0.03)
    sparse = clone(found).fit(csr_matrix(X), y, sample_weight=weight)
    np.testing.assert_allclose(sparse.predict(csr_matrix(X)), found.predict(X), rtol=1e-6)


def test_partial_fit_goes_on(rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    ranker = AggregatedRanker(
        "borda", measure="ndcg@3", loss="squared", solver="sgd", n_updates=2000, random_state=0
    )
    once = clone(ranker).fit(X, y).coef_
    exact = AggregatedRanker("borda", measure="ndcg@3", loss="squared").fit(X, y).coef_
    for number in range(4):
        ranker.partial_fit(X, y)
        if number == 0:
            assert np.array_equal(ranker.coef_, once)
    assert ranker.n_iter_ == 8000
    assert np.linalg.norm(ranker.coef_ - exact) < np.linalg.norm(once - exact)
    assert clone(ranker).fit(X, y).n_iter_ == 2000
    assert not hasattr(AggregatedRanker(), "partial_fit")
    with pytest.raises(ValueError, match="2 features"):
        ranker.partial_fit(X[:, :2], y)


@pytest.mark.parametrize("solver", ["exact", "sgd"])
def test_label_form(solver, rng):
    X, r = rng.normal(size=(40, 3)), 4
    relevance = X @ rng.normal(size=(3, r))
    y = sample_comparisons(relevance, n_comparisons=4000, random_state=0)
    ranker = AggregatedRanker("borda", solver=solver, n_updates=3000, loss="squared")
    ranker.fit(X, y)
    assert ranker.predict(X).shape == (40, r)
    assert ranker.coef_.shape == (r, 3)
    truth = np.argsort(np.argsort(relevance, axis=1), axis=1)
    found = np.argsort(np.argsort(ranker.predict(X), axis=1), axis=1)
    assert np.corrcoef(truth.ravel(), found.ravel())[0, 1] > 0.8


def test_any_regressor(rng):
    X, y, _, _ = make(rng)
    forest = RandomForestRegressor(10, random_state=0)
    ranker = AggregatedRanker(estimator=forest).fit(X, y)
    assert ranker.feature_importances_.shape == (3,)
    assert ranker.estimator_.n_estimators == 10
    same = AggregatedRanker(estimator=Ridge(3.0)).fit(X, y).predict(X)
    np.testing.assert_allclose(AggregatedRanker(alpha=3.0).fit(X, y).predict(X), same)


def test_queries_without_judgements_teach_nothing(rng):
    X, y, qid, _ = make(rng)
    lonely = PreferenceTarget.from_comparisons(
        y.winner, y.loser, np.append(qid, [99, 99, 98]), judgment=y.judgment
    )
    wider = np.vstack([X, rng.normal(size=(3, 3))])
    one, two = AggregatedRanker().fit(X, y), AggregatedRanker().fit(wider, lonely)
    np.testing.assert_allclose(one.coef_, two.coef_, **CLOSE)
    with pytest.raises(ValueError, match="no judgement"):
        AggregatedRanker().fit(X, PreferenceTarget.from_comparisons([], [], qid))


def test_relevances_are_one_judgement(rng):
    X, _, qid, relevance = make(rng)
    by_relevance = AggregatedRanker("borda").fit(X, relevance, qid)
    target = PreferenceTarget.from_relevance(relevance, qid)
    np.testing.assert_allclose(by_relevance.coef_, AggregatedRanker("borda").fit(X, target).coef_)


def test_inside_a_search(rng):
    X, y, qid, _ = make(rng, sizes=(5,) * 12, n_comparisons=600)
    search = GridSearchCV(
        AggregatedRanker(), {"order": [None, 5], "alpha": [0.1, 10]}, cv=GroupKFold(3)
    ).fit(X, y, groups=qid)
    assert search.best_score_ > 0.5
    ranker = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(ranker.predict(X), search.predict(X))
    assert get_scorer("ndcg@3", gain="linear")(ranker, X, np.abs(X[:, 0]), qid=qid) > 0


def test_clicks(rng):
    qid = np.repeat(np.arange(30), 6)
    X = rng.normal(size=(180, 3))
    p = 1 / (1 + np.exp(1.5 - 1.5 * X[:, 0]))
    y = sample_sessions(p, qid, n_sessions=20_000, random_state=0)
    ranker = AggregatedRanker("cascade", measure="ndcg@3").fit(X, y)
    assert np.corrcoef(ranker.predict(X), X[:, 0])[0, 1] > 0.9
    assert AggregatedRanker("cascade", 20, "ndcg@3", random_state=0).fit(X, y).score(X, y) > 0.8
    # ERR of the cascade model is about these probabilities themselves.
    err = ERRRanker(Ridge(), loss="squared").fit(X, y)
    np.testing.assert_allclose(err.coef_, Ridge().fit(X, cascade(y)).coef_, rtol=1e-6)
    assert err.score(X, y) > ERRRanker(Ridge()).fit(-X, y).score(X, y)
    with pytest.raises(ValueError, match=r"expects relevances.*ClickSessions"):
        PairwiseLogisticRanker().fit(X, y)


BAD = [
    ({"structure": "elo"}, "structure='elo'.*mean_log_odds"),
    ({"order": 0}, "order=0"),
    ({"order": 2.5}, r"order=2\.5"),
    ({"alpha": -1}, "alpha=-1"),
    ({"n_draws": 0}, "n_draws=0"),
    ({"solver": "newton"}, "solver='newton'"),
    ({"solver": "sgd", "n_updates": 0}, "n_updates=0"),
    ({"solver": "sgd", "step": 0.0}, r"step=0\.0"),
    ({"solver": "sgd", "estimator": Ridge()}, "leave the estimator None"),
    ({"loss": "logistic", "estimator": Ridge()}, "leave the estimator None"),
    ({"loss": "hinge"}, "Unknown loss"),
    ({"measure": "mrr"}, "no score-based surrogate|relevance_level"),
    ({"solver": "sgd", "loss": Logistic(eta=0.1)}, "eta=0.1 is below"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=str)
def test_bad_parameters(params, message, rng):
    X, y, _, _ = make(rng)
    with pytest.raises(ValueError, match=message):
        AggregatedRanker("borda").set_params(**params).fit(X, y)


def test_comparisons_where_sessions_are_wanted(rng):
    X, y, _, _ = make(rng)
    with pytest.raises(TypeError, match="cascade aggregates ClickSessions"):
        AggregatedRanker("cascade").fit(X, y)
    sessions = ClickSessions([1, 1, 1], [[0, 1, 2]], [2])
    with pytest.raises(TypeError):
        AggregatedRanker("borda").fit(X[:3], sessions)


# -- the difference graph --------------------------------------------------------------


@pytest.mark.parametrize("loss", PREFERENCE_LOSSES)
def test_difference_graph_loss(loss, rng):
    X, y, qid, _ = make(rng, n_comparisons=200)
    weight = rng.uniform(0.2, 2, len(y))
    ranker = DifferenceGraphRanker(edge_loss=loss, alpha=0.5).fit(X, y, sample_weight=weight)
    matrix = np.zeros((len(y), len(y)))
    np.add.at(matrix, (y.winner, y.loser), y.weight)
    net = np.maximum(matrix - matrix.T, 0)
    mean = np.array([weight[qid == q].mean() for q in qid])
    net *= weight[:, None] * weight / mean[:, None]
    f = {
        "logistic": lambda x: np.logaddexp(0, -x),
        "hinge": lambda x: np.maximum(1 - x, 0),
        "exponential": lambda x: np.exp(-x),
        "squared_hinge": lambda x: np.maximum(1 - x, 0) ** 2,
    }[loss]

    def value(w):
        s = X @ w
        return np.sum(net * f(s[:, None] - s)) + 0.5 * np.sum(w**2)

    at = value(ranker.coef_)
    for size in (1e-2, 0.1, 1.0):
        for _ in range(50):
            assert value(ranker.coef_ + size * rng.normal(size=3)) >= at * (1 - 1e-5)


@pytest.mark.parametrize("loss", PREFERENCE_LOSSES)
def test_difference_graph_is_consistent_where_ranknet_is_not(loss):
    weight = [0.5, 2.0, 1.0, 0.15]
    y = PreferenceTarget.from_comparisons([0, 0, 2, 1], [1, 2, 0, 2], [0] * 3, weight=weight)
    found = DifferenceGraphRanker(edge_loss=loss, alpha=1e-5, max_iter=5000).fit(np.eye(3), y)
    assert found.rank(np.eye(3), [0] * 3).tolist() == [1, 2, 3]


def test_difference_graph_in_label_form(rng):
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 4))
    one = DifferenceGraphRanker().fit(X, Y)
    two = DifferenceGraphRanker().fit(X, PreferenceTarget.from_relevance(Y))
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"'edge_loss' .*Got 'huber'"):
        DifferenceGraphRanker(edge_loss="huber").fit(X, Y)


def test_ndcg_measure_object(rng):
    X, y, _, _ = make(rng)
    one = AggregatedRanker(measure=NDCG(k=3, gain="linear")).fit(X, y)
    assert one.score(X, y) > 0.5


@pytest.mark.parametrize("alpha", [1.0, 20.0])
def test_the_penalty_means_the_same_to_every_solver_in_label_form(alpha, rng):
    X = rng.normal(size=(40, 2))
    y = PreferenceTarget.from_orders(rng.random((40, 4)).argsort(axis=1) + 1)
    exact = AggregatedRanker("borda", alpha=alpha).fit(X, y)
    scorer = AggregatedRanker("borda", alpha=alpha, loss=LOSSES["pairwise_squared"]()).fit(X, y)
    np.testing.assert_allclose(exact.coef_, scorer.coef_, rtol=1e-6)
    slow = AggregatedRanker("borda", alpha=alpha, solver="sgd", n_updates=5000, random_state=0)
    np.testing.assert_allclose(slow.fit(X, y).coef_, exact.coef_, atol=0.01)


def test_partial_fit_leaves_nothing_of_an_exact_fit(rng):
    X, y, _, _ = make(rng)
    online = AggregatedRanker(n_updates=20, random_state=0).fit(X, y).set_params(solver="sgd")
    fresh = clone(online).fit(X, y)
    online.partial_fit(X, y)
    assert not hasattr(online, "estimator_") and not hasattr(online, "targets_")
    np.testing.assert_array_equal(online.predict(X), fresh.predict(X))
    np.testing.assert_array_equal(online.coef_, fresh.coef_)


def test_partial_fit_wants_the_form_of_before(rng):
    X, y, _, _ = make(rng)
    labels = [
        PreferenceTarget.from_orders(rng.random((len(X), r)).argsort(axis=1) + 1) for r in (3, 4)
    ]
    for first, second, message in (
        (y, labels[0], "this chunk has 3 items in a row, and y of the chunks before had none"),
        (labels[0], y, "this chunk has no items in a row, and y of the chunks before had 3"),
        (labels[0], labels[1], "this chunk has 4 items in a row.* had 3"),
    ):
        ranker = AggregatedRanker("borda", solver="sgd", n_updates=5, random_state=0).fit(X, first)
        before = ranker.predict(X)
        with pytest.raises(ValueError, match=message):
            ranker.partial_fit(X, second)
        np.testing.assert_array_equal(ranker.predict(X), before)
        assert ranker.n_items_ == first.n_items


@pytest.mark.parametrize("params", [{"order": 2}, {"solver": "sgd"}])
def test_a_scale_that_depends_on_the_subset_is_an_error(params, rng):
    X, _, qid, relevance = make(rng)
    p = 1 / (1 + np.exp(-relevance))
    y = sample_sessions(p, qid, n_sessions=60, random_state=0)
    with pytest.raises(ValueError, match="measure='err' has no max_grade"):
        AggregatedRanker("cascade", measure="err", **params).fit(X, y)
    ranker = AggregatedRanker("cascade", 2, ERR(max_grade=1), n_draws=10_000).fit(X, y)
    cats = qid == qid[0]
    part = clone(ranker).fit(X[cats], y[cats])
    np.testing.assert_allclose(part.targets_, ranker.targets_[cats], **CLOSE)


@pytest.mark.parametrize("params", [{}, {"order": 2}, {"solver": "sgd"}])
@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (lambda y: np.zeros(len(y) + 1), "it must give one for each"),
        (lambda y: np.full(len(y), np.nan), "not finite"),
        (lambda y: ["a"] * len(y), "not finite numbers"),
    ],
)
def test_structures_of_users_are_checked(params, structure, message, rng):
    X, y, _, _ = make(rng)
    with pytest.raises(ValueError, match=message):
        AggregatedRanker(structure, **params).fit(X, y)
    with pytest.raises(ValueError, match=message):
        AggregatedRanker(**params).fit(X, y).set_params(structure=structure).score(X, y)


def test_options_that_are_no_dict_are_an_error(rng):
    X, y, _, _ = make(rng)
    with pytest.raises(TypeError, match="structure_options=3: give a dict"):
        AggregatedRanker(structure_options=3).fit(X, y)


def test_targets_above_one_want_a_loss_with_its_eta_under_sgd(rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker(measure="dcg", loss="logistic", solver="sgd", n_updates=5)
    with pytest.raises(ValueError, match="takes eta=1 where loss='logistic' has none"):
        ranker.fit(X, y)
    assert ranker.set_params(loss=Logistic(eta=1e4)).fit(X, y).n_iter_ == 5


def test_a_ranker_of_clicks_is_scored_on_grades_by_their_own_scale(rng):
    X, _, qid, relevance = make(rng)
    grades = np.clip(np.round(relevance) + 2, 0, 4)
    y = sample_sessions(grades / 5, qid, n_sessions=200, random_state=0)
    ranker = ERRRanker().fit(X, y)
    expected = err_score(grades, ranker.predict(X), qid=qid)
    assert expected > 0.1
    assert ranker.score(X, grades, qid) == pytest.approx(expected)
    ranker = ERRRanker(max_grade=5).fit(X, y)
    expected = err_score(grades, ranker.predict(X), qid=qid, max_grade=5)
    assert ranker.score(X, grades, qid) == pytest.approx(expected)


# -- chunks of queries, with a regressor that has partial_fit ------------------------------


def chunks_of_queries(y, rng, n_chunks=3):
    """Rows in chunks of whole queries, in any order."""
    for names in np.array_split(rng.permutation(np.unique(y.qid)), n_chunks):
        yield np.flatnonzero(np.isin(y.qid, names))


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
@pytest.mark.parametrize("order", [None, 2])
def test_chunks_are_one_fit(loss, order, rng):
    X, y, qid, _ = make(rng, n_comparisons=60)
    weight = rng.uniform(0.2, 2, len(y))
    # As many draws as list every subset: the targets are exact.
    ranker = AggregatedRanker(
        "borda", order, "ndcg@3", estimator=GramRidge(0.7), loss=loss, n_draws=10**4
    )
    whole, chunks = clone(ranker).fit(X, y, sample_weight=weight), clone(ranker)
    for rows in chunks_of_queries(y, rng):
        assert chunks.partial_fit(X[rows], y[rows], sample_weight=weight[rows]) is chunks
        np.testing.assert_allclose(chunks.targets_, whole.targets_[rows], **CLOSE)
    np.testing.assert_allclose(chunks.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert chunks.score(X, y) == pytest.approx(whole.score(X, y))
    assert np.array_equal(chunks.rank(X, qid), whole.rank(X, qid))
    ridge = clone(ranker).set_params(estimator=Ridge(0.7)).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(chunks.coef_, ridge.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "changed",
    [{"measure": "dcg@3"}, {"structure": "win_rate"}, {"order": 2}, {"loss": "squared"}],
    ids=str,
)
@pytest.mark.parametrize("solver", ["exact", "sgd"])
def test_what_is_learnt_stays_the_same_over_chunks(solver, changed, rng):
    X, y, _, _ = make(rng)
    inner = GramRidge() if solver == "exact" else None
    ranker = AggregatedRanker("borda", estimator=inner, solver=solver, n_updates=20, random_state=0)
    parts = list(chunks_of_queries(y, rng, 2))
    ranker.partial_fit(X[parts[0]], y[parts[0]])
    coef = ranker.coef_.copy()
    with pytest.raises(ValueError, match=r"of this chunk is .*Begin with a new ranker"):
        ranker.set_params(**changed).partial_fit(X[parts[1]], y[parts[1]])
    assert np.array_equal(ranker.coef_, coef)


def test_sessions_in_chunks_are_one_fit(rng):
    qid = np.repeat(np.arange(6), 5)
    X = rng.normal(size=(30, 3))
    y = sample_sessions(1 / (1 + np.exp(-X[:, 0])), qid, n_sessions=300, random_state=0)
    whole, chunks = (AggregatedRanker("cascade", estimator=GramRidge()) for _ in range(2))
    for rows in np.array_split(np.arange(30), 3):
        chunks.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(chunks.coef_, whole.fit(X, y).coef_, rtol=1e-8, atol=1e-10)


def test_label_form_in_chunks_is_one_fit(rng):
    X = rng.normal(size=(40, 3))
    y = PreferenceTarget.from_orders(rng.random((40, 4)).argsort(axis=1) + 1)
    whole, chunks = (AggregatedRanker("borda", estimator=GramRidge()) for _ in range(2))
    for rows in np.array_split(rng.permutation(40), 3):
        chunks.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(chunks.coef_, whole.fit(X, y).coef_, rtol=1e-8, atol=1e-10)


def test_chunks_after_a_fit(rng):
    X, y, qid, _ = make(rng)
    first = qid < 7
    ranker = AggregatedRanker(estimator=GramRidge()).fit(X[first], y[first])
    ranker.partial_fit(X[~first], y[~first])
    whole = AggregatedRanker(estimator=GramRidge()).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, whole.coef_, rtol=1e-8)
    before = ranker.coef_.copy()
    with pytest.raises(ValueError, match=r"Query . was in an earlier chunk"):
        ranker.partial_fit(X[first], y[first])
    with pytest.raises(ValueError, match="no judgement"):
        ranker.partial_fit(X[:3], PreferenceTarget.from_comparisons([], [], [97, 98, 98]))
    assert np.array_equal(ranker.coef_, before)
    np.testing.assert_allclose(ranker.fit(X, y).coef_, whole.coef_)


def test_relevances_in_chunks_are_one_fit(rng):
    X, qid = rng.normal(size=(12, 3)), np.repeat(np.arange(4), 3)
    y = rng.permuted(np.tile([0, 1, 2], (4, 1)), axis=1).ravel()
    y[3:6] = 1  # no judgement: beside other queries this one counts nothing
    whole, chunks = (AggregatedRanker("borda", estimator=GramRidge()) for _ in range(2))
    for rows in (slice(6), slice(6, 12)):
        chunks.partial_fit(X[rows], y[rows], qid[rows])
    np.testing.assert_allclose(chunks.coef_, whole.fit(X, y, qid).coef_, rtol=1e-8, atol=1e-10)
    # Alone in a chunk it would count something.
    for ranker in (AggregatedRanker("borda", estimator=GramRidge()), chunks):
        with pytest.raises(ValueError, match=r"no judgement \(relevances that are alike"):
            ranker.partial_fit(X[3:6], y[3:6], qid[3:6] + 10)


def test_chunks_after_a_regressor_without_them(rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker(estimator=Ridge()).fit(X, y).set_params(estimator=GramRidge())
    fresh = AggregatedRanker(estimator=GramRidge()).fit(X, y)
    np.testing.assert_allclose(ranker.partial_fit(X, y).coef_, fresh.coef_)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "params",
    [{"solver": "sgd", "n_updates": 5}, {"estimator": GramRidge()}, {}],
    ids=["sgd", "regressor", "scorer"],
)
def test_a_fit_that_fails_changes_no_prediction(params, method, rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker("borda", random_state=0, **params).fit(X, y)
    before = ranker.predict(X)
    if not hasattr(ranker, method):
        pytest.skip("fits at once")
    ranker.set_params(structure_options={"unknown": 1})
    with pytest.raises((TypeError, ValueError)):
        getattr(ranker, method)(X, y)
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_who_adds_chunks(rng):
    X, y, _, _ = make(rng)
    assert hasattr(AggregatedRanker(estimator=GramRidge()), "partial_fit")
    assert hasattr(AggregatedRanker(solver="sgd"), "partial_fit")
    assert not hasattr(AggregatedRanker(), "partial_fit")
    assert not hasattr(AggregatedRanker(estimator=Ridge()), "partial_fit")
    # Regressors that learn by steps may see queries again.
    by_steps = AggregatedRanker(estimator=SGDRegressor(random_state=0, eta0=1e-3))
    steps = [by_steps.partial_fit(X, y).coef_.copy() for _ in range(2)]
    assert not np.allclose(*steps)


def test_a_descent_after_chunks_begins_anew(rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker(estimator=GramRidge(), n_updates=20, random_state=0)
    ranker.partial_fit(X, y).set_params(estimator=None, solver="sgd").partial_fit(X, y)
    fresh = clone(ranker).fit(X, y)
    np.testing.assert_array_equal(ranker.coef_, fresh.coef_)
    exact = AggregatedRanker(estimator=GramRidge()).fit(X, y)
    ranker.set_params(estimator=GramRidge(), solver="exact").partial_fit(X, y)
    np.testing.assert_allclose(ranker.coef_, exact.coef_)
