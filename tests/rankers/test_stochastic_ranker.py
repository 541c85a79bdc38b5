"""Stochastic gradients of aggregated judgments: they lead to the exact solution."""

import numpy as np
import pytest
from judged import chunks_of_queries, make
from scipy.sparse import csr_matrix
from sklearn.base import clone

from skcalrank import AggregatedRanker, OrderPreservingRanker, PreferenceTarget, sample_comparisons
from skcalrank.losses import LOSSES, Logistic, get_loss
from skcalrank.rankers import StochasticAggregatedRanker


def exact(measure="ndcg@3", *, loss="pairwise_squared", alpha=1.0, **params):
    inner = OrderPreservingRanker(measure, loss=loss, alpha=alpha)
    return AggregatedRanker("borda", inner, row_weight="judgments", **params)


def stochastic(measure="ndcg@3", **params):
    return StochasticAggregatedRanker("borda", measure, random_state=0, **params)


@pytest.mark.long
@pytest.mark.product
@pytest.mark.parametrize(
    "loss", ["squared", "pairwise_squared", "pairwise_logistic", "bregman_kl", "softmax"]
)
@pytest.mark.parametrize("order", [None, 3])
def test_stochastic_gradients_lead_to_the_exact_solution(loss, order, rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    if loss == "bregman_kl":
        loss = get_loss("bregman_kl", eta=4.0)
    best = exact(loss=loss, alpha=2.0, order=order, n_draws=10**4).fit(X, y).coef_
    errors = []
    for n_updates in (150, 5_000):
        found = stochastic(order=order, loss=loss, alpha=2.0, n_updates=n_updates)
        errors.append(np.linalg.norm(found.fit(X, y).coef_ - best) / np.linalg.norm(best))
    assert errors[1] < 0.06
    assert errors[1] < errors[0]
    assert found.n_iter_ == 5_000


@pytest.mark.long
def test_stochastic_gradients_with_weights_and_sparse_features(rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    weight = rng.uniform(0.2, 3, len(y))
    best = exact(loss="squared", alpha=2.0).fit(X, y, sample_weight=weight)
    found = stochastic(loss="squared", alpha=2.0, n_updates=10_000)
    found.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.predict(X), best.predict(X), atol=0.03)
    found = found.set_params(n_updates=500).fit(X, y, sample_weight=weight)
    sparse = clone(found).fit(csr_matrix(X), y, sample_weight=weight)
    np.testing.assert_allclose(sparse.predict(csr_matrix(X)), found.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared", "pairwise_logistic"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_few_queries_of_large_weight(method, loss, rng):
    X, y, qid, _ = make(rng, sizes=(6,) * 60, n_comparisons=600)
    heavy = np.isin(qid, [5, 17, 40])
    best = exact("dcg", loss=loss).fit(X, y, sample_weight=np.where(heavy, 1000.0, 1.0))
    ranker = stochastic("dcg", loss=loss, n_updates=1000)
    getattr(ranker, method)(X, y, sample_weight=np.where(heavy, 1000.0, 1.0))
    np.testing.assert_allclose(ranker.coef_, best.coef_, atol=0.05 * np.abs(best.coef_).max())


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared", "pairwise_logistic"])
def test_features_of_documents_without_weight(loss, rng):
    X, y, _, _ = make(rng, sizes=(6,) * 60, n_comparisons=600)
    weight = np.ones(len(y))
    weight[::6] = 0.0
    ranker = stochastic("dcg", loss=loss, n_updates=200)
    expected = clone(ranker).fit(X, y, sample_weight=weight).coef_
    X[::6] *= 1000.0
    found = ranker.fit(X, y, sample_weight=weight).coef_
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_weights_are_relative_to_their_mean(rng):
    X, y, _, _ = make(rng)
    alone = stochastic(alpha=1.0, step=0.01, n_updates=200).fit(X, y).coef_
    for weight in (0.25, 1000.0):
        ranker = stochastic(alpha=weight, step=0.01 / weight, n_updates=200)
        ranker.fit(X, y, sample_weight=np.full(len(y), weight))
        np.testing.assert_allclose(ranker.coef_, alone, rtol=1e-9)


def test_weights_of_documents_that_were_not_judged_alone_are_refused(rng):
    X, y, qid, _ = make(rng)
    judged = np.isin(qid, qid[np.concatenate([y.winner, y.loser])])
    X, y = np.vstack([X, X]), PreferenceTarget.from_comparisons(y.winner, y.loser, [*qid, *-qid])
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="sample_weight must be positive for a document that"):
            getattr(stochastic(), method)(X, y, sample_weight=np.repeat([0.0, 1.0], len(judged)))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_steps_that_are_too_long_are_told(method, rng):
    X, y, _, _ = make(rng)
    ranker = stochastic(n_updates=300).fit(X, y)
    before = ranker.predict(X)
    with pytest.raises(ValueError, match="step must be so small that coefficients stay finite"):
        getattr(ranker.set_params(step=1e3, alpha=0.0), method)(X, y)
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_partial_fit_goes_on(rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    ranker = stochastic(loss="squared", n_updates=2000)
    once = clone(ranker).fit(X, y).coef_
    best = exact(loss="squared").fit(X, y).coef_
    for number in range(4):
        ranker.partial_fit(X, y)
        if number == 0:
            assert np.array_equal(ranker.coef_, once)
    assert ranker.n_iter_ == 8000
    assert np.linalg.norm(ranker.coef_ - best) < np.linalg.norm(once - best)
    assert clone(ranker).fit(X, y).n_iter_ == 2000
    with pytest.raises(ValueError, match="2 features"):
        ranker.partial_fit(X[:, :2], y)


def test_label_form(rng):
    X, r = rng.normal(size=(40, 3)), 4
    relevance = X @ rng.normal(size=(3, r))
    y = sample_comparisons(relevance, n_comparisons=4000, random_state=0)
    ranker = stochastic("ndcg@10", n_updates=3000, loss="squared").fit(X, y)
    assert ranker.predict(X).shape == (40, r)
    assert ranker.coef_.shape == (r, 3)
    truth = np.argsort(np.argsort(relevance, axis=1), axis=1)
    found = np.argsort(np.argsort(ranker.predict(X), axis=1), axis=1)
    assert np.corrcoef(truth.ravel(), found.ravel())[0, 1] > 0.8


@pytest.mark.parametrize("alpha", [1.0, 20.0])
def test_the_penalty_means_the_same_to_every_solver_in_label_form(alpha, rng):
    X = rng.normal(size=(40, 2))
    y = PreferenceTarget.from_orders(rng.random((40, 4)).argsort(axis=1) + 1)
    best = exact("ndcg@10", alpha=alpha).fit(X, y)
    scorer = exact("ndcg@10", alpha=alpha, loss=LOSSES["pairwise_squared"]()).fit(X, y)
    np.testing.assert_allclose(best.coef_, scorer.coef_, rtol=1e-6)
    slow = stochastic("ndcg@10", alpha=alpha, n_updates=5000)
    np.testing.assert_allclose(slow.fit(X, y).coef_, best.coef_, atol=0.01)


def test_large_penalties_do_not_hold_intercepts(rng):
    X, target = rng.normal(size=(30, 2)), PreferenceTarget.from_orders([[1, 2, 3]] * 30)
    few, many = (
        StochasticAggregatedRanker("borda", "spearman", alpha=alpha, random_state=0).fit(X, target)
        for alpha in (1.0, 1e6)
    )
    np.testing.assert_allclose(np.ptp(many.intercept_), np.ptp(few.intercept_), rtol=0.01)


def test_partial_fit_wants_the_form_of_before(rng):
    X, y, _, _ = make(rng)
    labels = [
        PreferenceTarget.from_orders(rng.random((len(X), r)).argsort(axis=1) + 1) for r in (3, 4)
    ]
    for first, second, message in (
        (y, labels[0], "y must have no items per row, as in the chunks before, got 3"),
        (labels[0], y, "y must have 3 items per row, as in the chunks before, got none"),
        (labels[0], labels[1], "y must have 3 items per row.* got 4"),
    ):
        ranker = stochastic(n_updates=5).fit(X, first)
        before = ranker.predict(X)
        with pytest.raises(ValueError, match=message):
            ranker.partial_fit(X, second)
        np.testing.assert_array_equal(ranker.predict(X), before)
        assert ranker.n_items_ == first.n_items


@pytest.mark.parametrize(
    "changed",
    [{"measure": "dcg@3"}, {"structure": "win_rate"}, {"order": 2}, {"loss": "squared"}],
    ids=str,
)
def test_what_is_learned_stays_the_same_over_chunks(changed, rng):
    X, y, _, _ = make(rng)
    ranker = stochastic(n_updates=20)
    parts = list(chunks_of_queries(y, rng, 2))
    ranker.partial_fit(X[parts[0]], y[parts[0]])
    coef = ranker.coef_.copy()
    with pytest.raises(ValueError, match=r"of this chunk must be .*Begin with a new ranker"):
        ranker.set_params(**changed).partial_fit(X[parts[1]], y[parts[1]])
    assert np.array_equal(ranker.coef_, coef)


BAD = [
    ({"structure": "elo"}, "'structure' parameter"),
    ({"order": 0}, "'order' parameter"),
    ({"alpha": -1}, "'alpha' parameter"),
    ({"n_updates": 0}, "'n_updates' parameter"),
    ({"batch_size": 2.5}, "'batch_size' parameter"),
    ({"step": 0.0}, "'step' parameter"),
    ({"fit_intercept": "yes"}, "'fit_intercept' parameter"),
    ({"loss": "hinge"}, "Unknown loss"),
    ({"measure": "kendall"}, "no score-based surrogate"),
    ({"loss": Logistic(eta=0.1)}, "eta must be at least 1.* got 0.1"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=str)
def test_bad_parameters(params, message, rng):
    X, y, _, _ = make(rng)
    with pytest.raises(ValueError, match=message):
        stochastic().set_params(**params).fit(X, y)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_fit_that_fails_changes_no_prediction(method, rng):
    X, y, _, _ = make(rng)
    ranker = stochastic(n_updates=5).fit(X, y)
    before = ranker.predict(X)
    ranker.set_params(structure_options={"unknown": 1})
    with pytest.raises((TypeError, ValueError)):
        getattr(ranker, method)(X, y)
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_updates_that_fail_halfway_are_undone(rng):
    X, y, _, _ = make(rng)
    calls = []

    def structure(target):
        calls.append(target)
        if len(calls) == 5:
            raise RuntimeError("no scores")
        return target.net_preference()

    # Judgments are aggregated 1024 draws at a time: the third time is within the updates.
    ranker = StochasticAggregatedRanker(structure, order=2, n_updates=200, random_state=0)
    before, n_iter = ranker.fit(X, y).predict(X), ranker.n_iter_
    with pytest.raises(RuntimeError, match="no scores"):
        ranker.set_params(n_updates=2000).partial_fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), before)
    assert ranker.n_iter_ == ranker._descent.n_updates == n_iter


@pytest.mark.parametrize("order", [None, 1, 3])
def test_work_is_linear_in_draws_times_order(order, rng):
    X, y, _, _ = make(rng, n_comparisons=60)
    seen = []

    def structure(target):
        seen.append(len(target.winner))
        return target.net_preference()

    fit = StochasticAggregatedRanker(structure, order=order, n_updates=500, random_state=0).fit
    fit(X, y)
    # Each comparison is a judgment. All of a query are aggregated once, whatever the draws are.
    n_draws = 1024 * np.ceil(500 * 8 / 1024)
    assert sum(seen) <= (len(y.winner) if order is None else n_draws * order)


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
def test_one_query_of_many_distinct_labels(rng):
    X, y = rng.normal(size=(200, 3)), rng.permutation(200) * 1.0
    ranker = StochasticAggregatedRanker(n_updates=500, random_state=0)
    ranker.fit(X, y, np.zeros(200))
    again = clone(ranker).fit(X, y, np.zeros(200))
    np.testing.assert_array_equal(ranker.coef_, again.coef_)


def test_large_targets_need_a_loss_with_its_eta(rng):
    X, y, _, _ = make(rng)
    ranker = StochasticAggregatedRanker(measure="dcg", loss="logistic", n_updates=5)
    with pytest.raises(ValueError, match="loss must have an eta, got 'logistic'"):
        ranker.fit(X, y)
    assert ranker.set_params(loss=Logistic(eta=1e4)).fit(X, y).n_iter_ == 5


def test_progress_is_printed(rng, capsys):
    X, y, _, _ = make(rng)
    stochastic(n_updates=1500, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"[StochasticAggregatedRanker] update {n} of 1500" for n in (1000, 1500)]
