"""Linear scorers: solutions are minima of the documented objectives."""

import numpy as np
import pytest
from cases import make_data
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from skcalrank import (
    LeastSquaresRanker,
    OrderPreservingRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
)
from skcalrank.data import Queries
from skcalrank.datasets import make_subset_ranking
from skcalrank.losses import LOSSES, PreferenceHinge, PreferenceLogistic, get_loss
from skcalrank.measures import DCG, ERR, get_measure
from skcalrank.rankers import PairwiseHingeRanker, ValueRegularizedRanker

every_loss = pytest.mark.parametrize("loss", LOSSES)
FORMS = ("subset", "label")
# Those that no solver of scikit-learn is handed.
BY_DESCENT = (
    "logistic",
    "exponential",
    "squared_hinge",
    "differentiable_hinge",
    "pairwise_logistic",
    "pairwise_exponential",
    "bregman_kl",
    "softmax",
)


def problem(form, rng):
    """Data of either form; their documents as queries, and X of each document."""
    if form == "subset":
        X, y, qid = make_data(rng)
        return X, y, qid, np.ones(len(y))
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, size=(40, 4)).astype(float)
    return X, y, None, np.ones(len(y))


def objective(ranker, X, y, qid, weight):
    """The printed objective as a function of the stacked coefficients."""
    if qid is None:
        queries, flat, n_outputs = Queries.equal(*y.shape), y.ravel(), y.shape[1]
        spread = np.repeat(weight, n_outputs)
    else:
        queries, flat, n_outputs = Queries.from_qid(qid), None, 1
        flat, spread = queries.group(y), queries.group(weight)
    measure = get_measure(ranker.measure)
    v = measure.score_targets(measure.labels(flat), queries)
    loss = get_loss(ranker.loss).scaled_to(v, queries)

    def value(w):
        w = w.reshape(X.shape[1] + 1, n_outputs)
        s = (X @ w[:-1] + w[-1]).ravel()
        s = queries.group(s)
        total = loss.evaluate(v, s, queries, spread).sum()
        return total + ranker.alpha * np.sum(w[:-1] ** 2)

    return value


def stacked(ranker):
    coef = np.atleast_2d(ranker.coef_)
    return np.vstack([coef.T, np.broadcast_to(ranker.intercept_, (1, len(coef)))]).ravel()


@pytest.mark.product
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
@every_loss
def test_no_neighbor_is_better(loss, form, weighted, rng):
    X, y, qid, weight = problem(form, rng)
    if weighted:
        weight = rng.uniform(0.2, 2, len(weight))
    ranker = OrderPreservingRanker("dcg@3", loss=loss, alpha=0.3, tol=1e-8)
    ranker.fit(X, y, qid, sample_weight=weight if weighted else None)
    value = objective(ranker, X, y, qid, weight)
    at = stacked(ranker)
    least = value(at)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            assert value(at + size * rng.normal(size=len(at))) >= least - 1e-10 * abs(least)
    far = minimize(value, rng.normal(size=len(at)), method="L-BFGS-B", options={"maxfun": 10**5})
    assert least <= far.fun * (1 + 1e-8)
    assert least == pytest.approx(far.fun, rel=1e-4)


def test_squared_is_ridge_and_pairwise_squared_the_least_squares_ranker(rng):
    X, y, qid = make_data(rng)
    for loss in ("squared", "pairwise_squared"):
        ours = OrderPreservingRanker("ndcg@3", loss=loss, alpha=2.0).fit(X, y, qid)
        theirs = LeastSquaresRanker("ndcg@3", estimator=Ridge(2.0), loss=loss).fit(X, y, qid)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
        assert ours.n_iter_ == 1


def test_logistic_on_binary_targets_is_logistic_regression(rng):
    X, y, qid = make_data(rng)
    y = (y > 0) * 1.0
    ours = OrderPreservingRanker("precision@3", loss="logistic", alpha=0.5, tol=1e-10).fit(
        X, y, qid
    )
    theirs = LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], rel=1e-5)
    # The same loss up to a constant, by another solver.
    other = OrderPreservingRanker("precision@3", loss="bregman_logistic", alpha=0.5).fit(X, y, qid)
    np.testing.assert_allclose(other.coef_, ours.coef_, rtol=1e-5)


def test_squared_hinge_is_a_support_vector_machine(rng):
    X, y, qid = make_data(rng)
    y = (y > 0) * 1.0
    t, alpha = 1.5, 0.4
    ours = OrderPreservingRanker("precision@3", loss="squared_hinge", alpha=alpha, threshold=t).fit(
        X, y, qid
    )
    # s = t/2 (1 + f): the loss is t^2/4 that of f, and |w|^2 is t^2/4 |w_f|^2.
    machine = LinearSVC(C=1 / (2 * alpha), intercept_scaling=1e3, tol=1e-10, max_iter=100_000)
    machine.fit(X, y)
    np.testing.assert_allclose(ours.coef_, t / 2 * machine.coef_[0], rtol=1e-3)
    assert ours.intercept_ == pytest.approx(t / 2 * (1 + machine.intercept_[0]), rel=1e-3)


@pytest.mark.parametrize("loss", BY_DESCENT)
def test_scales_of_the_features_are_no_burden(loss, rng):
    X, y, qid = make_data(rng, sizes=(9,) * 30)
    scale = np.array([1e-4, 1.0, 1e3, 1e6])
    plain = OrderPreservingRanker("dcg@3", loss=loss, alpha=1e-9).fit(X, y, qid)
    scaled = OrderPreservingRanker("dcg@3", loss=loss, alpha=1e-15).fit(X * scale + scale, y, qid)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-2, atol=1e-3)
    assert scaled.n_iter_ < 60


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_features_far_from_zero(loss, rng):
    # Dates, say.
    for form in FORMS:
        X, y, qid, _ = problem(form, rng)
        plain = OrderPreservingRanker("dcg@3", loss=loss, tol=1e-9).fit(X, y, qid)
        moved = OrderPreservingRanker("dcg@3", loss=loss, tol=1e-9).fit(X + 2.0**22, y, qid)
        np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-3, atol=1e-5)


def test_an_item_that_is_always_relevant(rng):
    # With an intercept, coefficients of constant items are 0; without one, they are not.
    X = rng.normal(size=(40, 3)) + 1.0
    y = np.column_stack([np.ones(40), X[:, 0] > 1, np.zeros(40)])
    ranker = OrderPreservingRanker("precision@1", loss="logistic", alpha=1.0).fit(X, y)
    np.testing.assert_allclose(ranker.coef_[[0, 2]], 0.0, atol=1e-4)
    assert ranker.intercept_[0] > 10 > -10 > ranker.intercept_[2]
    ranker.set_params(fit_intercept=False, tol=1e-10).fit(X, y)
    pulled = (X.T @ (1 / (1 + np.exp(X @ ranker.coef_[0])))) / 2
    np.testing.assert_allclose(ranker.coef_[0], pulled, rtol=1e-6)
    np.testing.assert_allclose(ranker.coef_[2], -ranker.coef_[0], rtol=1e-6)


@every_loss
def test_correlated_features_are_no_burden(loss, rng):
    X, y, qid = make_data(rng, sizes=(9,) * 30)
    X = np.column_stack([X, X @ rng.normal(size=(4, 3)) + 1e-4 * rng.normal(size=(len(X), 3))])
    assert OrderPreservingRanker("dcg@3", loss=loss, alpha=1e-3).fit(X, y, qid).n_iter_ < 60


@every_loss
def test_every_loss_reaches_the_bayes_value(loss):
    # Scores of a type of document are free, so that only the loss decides.
    data = make_subset_ranking(6000, 6, 8, n_types=6, n_grades=3, random_state=3)
    best = data.law.bayes_value("dcg@3")
    ranker = OrderPreservingRanker("dcg@3", loss=loss, alpha=1e-3).fit(*data)
    assert best - data.law.value("dcg@3", ranker.predict(data[0])) < 2e-3 * best
    worst = data.law.value("dcg@3", -ranker.predict(data[0]))
    assert best - worst > 0.1 * best


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("form", FORMS)
@every_loss
def test_warm_start(loss, form, rng):
    X, y, qid, _ = problem(form, rng)
    cold = OrderPreservingRanker("dcg@3", loss=loss, tol=1e-7).fit(X, y, qid)
    warm = clone(cold).set_params(warm_start=True).fit(X, y, qid)
    first = warm.n_iter_
    warm.fit(X, y, qid)
    assert warm.n_iter_ <= min(first, 3)
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), rtol=1e-3, atol=1e-4)
    # Other features than before: nothing to start from.
    warm.fit(X[:, :2], y, qid)
    assert warm.coef_.shape[-1] == 2


@pytest.mark.parametrize("factor", [1e3, 1e5])
@pytest.mark.parametrize("loss", BY_DESCENT)
def test_warm_starts_from_other_units_reach_the_minimum(loss, factor, rng):
    X, y, qid = make_data(rng)
    cold = OrderPreservingRanker("dcg@3", loss=loss, alpha=1e-3).fit(factor * X, y, qid)
    warm = clone(cold).set_params(warm_start=True).fit(X, y, qid).fit(factor * X, y, qid)
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", BY_DESCENT)
def test_too_few_iterations_are_told(loss, rng):
    X, y, qid = make_data(rng)
    ranker = OrderPreservingRanker("dcg@3", loss=loss, alpha=1e-3, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        ranker.fit(X, y, qid)
    assert ranker.n_iter_ == 1


def test_verbose(rng, capsys):
    X, y, qid = make_data(rng)
    ranker = OrderPreservingRanker("dcg@3", loss="pairwise_logistic", verbose=1).fit(X, y, qid)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == ranker.n_iter_
    values = [float(line.split()[3].rstrip(",")) for line in lines]
    assert values == sorted(values, reverse=True)


@pytest.mark.filterwarnings("ignore:alpha='auto' is made for fewer columns")
@every_loss
def test_many_sparse_features(loss, rng):
    X, y, qid = make_data(rng)
    wide = np.zeros((len(y), 2500))
    wide[:, ::625] = X
    dense, sparse = (
        OrderPreservingRanker("dcg@3", loss=loss, tol=1e-8).fit(Z, y, qid)
        for Z in (X, csr_matrix(wide))
    )
    np.testing.assert_allclose(sparse.predict(csr_matrix(wide)), dense.predict(X), atol=2e-4)


def test_eta_and_measure_in_force(rng):
    X, y, qid = make_data(rng)
    ranker = OrderPreservingRanker("dcg@3", loss="logistic").fit(X, y, qid)
    assert ranker.loss_.eta == 3.0
    ranker = OrderPreservingRanker("dcg@3", loss="exponential", eta=10.0).fit(X, y, qid)
    assert ranker.loss_.eta == 10.0
    ranker = OrderPreservingRanker("err", loss="logistic").fit(X, y, qid)
    assert ranker.record_.measure == ERR(max_grade=2.0)
    assert ranker.score(X, y, qid) > 0
    by_object = OrderPreservingRanker(DCG(k=3), loss=get_loss("logistic", eta=4.0)).fit(X, y, qid)
    assert by_object.loss_.eta == 4.0


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
@pytest.mark.parametrize("alpha", [0.5, 0.0])
def test_one_class_only(alpha, rng):
    X, y, qid = make_data(rng)
    for labels in (0 * y, 0 * y + 1):
        for loss in ("logistic", "bregman_logistic", "squared_hinge", "bregman_kl"):
            ranker = OrderPreservingRanker("precision@3", loss=loss, alpha=alpha).fit(
                X, labels, qid
            )
            assert np.isfinite(ranker.predict(X)).all()


BAD = [
    ({"alpha": -1.0}, "'alpha' .*Got -1.0"),
    ({"max_iter": 0}, "'max_iter' .*Got 0"),
    ({"tol": 0.0}, "'tol' .*Got 0.0"),
    ({"loss": "hinge"}, "Unknown loss 'hinge'"),
    ({"measure": "ndgc"}, "Unknown measure 'ndgc'"),
    ({"measure": "kendall"}, "kendall has no score-based surrogate"),
    ({"loss": "logistic", "eta": 0.5}, r"eta must be at least 1, the largest target, got 0\.5"),
    ({"loss": "pairwise_squared", "eta": 0.5}, r"no such option"),
    ({"loss": "squared_hinge", "threshold": 0}, "'threshold' .*Got 0"),
    ({"loss": "differentiable_hinge", "smoothing": 0.7}, r"\'smoothing\' .*Got 0\.7"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=str)
def test_bad_parameters(params, message, rng):
    X, y, qid = make_data(rng)
    ranker = OrderPreservingRanker("ndcg@3").set_params(**params)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y, qid)


# -- baselines -------------------------------------------------------------------------


def differences(X, target):
    """Rows of winner minus loser, half of them turned round, and labels and weights."""
    Z = X[target.winner] - X[target.loser]
    sign = np.where(np.arange(len(Z)) % 2, -1, 1)
    return Z * sign[:, None], sign, target.weight


@pytest.mark.parametrize("weights", ["difference", "unit"])
def test_ranksvm_is_a_support_vector_machine_on_differences(weights, rng):
    X, y, qid = make_data(rng)
    Z, sign, weight = differences(X, PreferenceTarget.from_relevance(y, qid, weights=weights))
    machine = LinearSVC(
        C=0.5, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0
    ).fit(Z, sign, sample_weight=weight)
    ranker = PairwiseHingeRanker(alpha=1.0, weights=weights).fit(X, y, qid)
    np.testing.assert_allclose(ranker.coef_, machine.coef_[0], rtol=1e-2, atol=1e-2)

    def exact(w):
        return np.sum(weight * np.maximum(1 - sign * (Z @ w), 0)) + np.sum(w**2)

    assert exact(ranker.coef_) < exact(machine.coef_[0]) * (1 + 1e-4)


@pytest.mark.parametrize("weights", ["difference", "unit"])
def test_ranknet_is_logistic_regression_on_differences(weights, rng):
    X, y, qid = make_data(rng)
    Z, sign, weight = differences(X, PreferenceTarget.from_relevance(y, qid, weights=weights))
    expected = LogisticRegression(C=0.25, fit_intercept=False, tol=1e-10).fit(Z, sign, weight)
    ranker = PairwiseLogisticRanker(alpha=2.0, weights=weights, tol=1e-9).fit(X, y, qid)
    np.testing.assert_allclose(ranker.coef_, expected.coef_[0], rtol=1e-5)
    assert ranker.intercept_ == 0.0


BASELINES = {
    PairwiseHingeRanker: PreferenceHinge(corner_width=0.3),
    PairwiseLogisticRanker: PreferenceLogistic(),
}


@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cls", BASELINES)
def test_baselines_minimize_their_objective(cls, form, margin, rng):
    X, y, qid, _ = problem(form, rng)
    target = PreferenceTarget.from_relevance(y, qid)
    weight = rng.uniform(0.2, 2, len(X))
    ranker = cls(alpha=0.3, margin=margin, tol=1e-8)
    if cls is PairwiseHingeRanker:
        ranker.set_params(corner_width=0.3)
    by_preferences = clone(ranker).fit(X, target, sample_weight=weight)
    ranker.fit(X, y, qid, sample_weight=weight)
    np.testing.assert_allclose(by_preferences.predict(X), ranker.predict(X), rtol=1e-3, atol=1e-4)
    n_outputs = 1 if form == "subset" else y.shape[1]
    documents = weight if form == "subset" else np.repeat(weight, n_outputs)
    mean = documents if form == "label" else np.array([weight[qid == q].mean() for q in qid])
    w, l = target.winner, target.loser
    factor = documents[w] * documents[l] / mean[w]

    def value(w_):
        w_ = w_.reshape(X.shape[1] + 1, n_outputs)
        s = (X @ w_[:-1] + w_[-1]).ravel()
        total, _ = BASELINES[cls].value_and_gradient(
            s, w, l, target.weight, factor=factor, margin=margin
        )
        return total + 0.3 * np.sum(w_[:-1] ** 2)

    at = stacked(ranker)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            assert value(at + size * rng.normal(size=len(at))) >= value(at) * (1 - 1e-9)


def test_the_counterexample_of_dmj10():
    """A low-noise distribution on which the baselines rank document 3 at or above document 2."""
    weight = [0.5, 2.0, 1.0, 0.15]
    y = PreferenceTarget.from_comparisons([0, 0, 2, 1], [1, 2, 0, 2], [0] * 3, weight=weight)
    X, qid = np.eye(3), [0] * 3
    logistic = PairwiseLogisticRanker(alpha=1e-8).fit(X, y)
    hinge = PairwiseHingeRanker(alpha=1e-6, max_iter=10_000).fit(X, y)
    assert logistic.rank(X, qid).tolist() == [1, 3, 2]
    assert logistic.coef_[2] > logistic.coef_[1] + 0.1
    assert abs(hinge.coef_[2] - hinge.coef_[1]) < 1e-2
    assert ValueRegularizedRanker(alpha=1e-8).fit(X, y).rank(X, qid).tolist() == [1, 2, 3]


@pytest.mark.parametrize("cls", [PairwiseHingeRanker, PairwiseLogisticRanker])
def test_baselines_without_preferences_and_with_bad_ones(cls, rng):
    X, y, qid = make_data(rng)
    with pytest.raises(ValueError, match=r"'weights' .*Got 'ratio'"):
        cls(weights="ratio").fit(X, y, qid)
    none = PreferenceTarget.from_comparisons([], [], qid)
    with pytest.raises(ValueError, match="y must hold at least one judgment"):
        cls().fit(X, none)


def test_rankers_of_relevances_refuse_preferences(rng):
    X, y, qid = make_data(rng)
    with pytest.raises(ValueError, match="expects relevances"):
        OrderPreservingRanker().fit(X, PreferenceTarget.from_relevance(y, qid))
