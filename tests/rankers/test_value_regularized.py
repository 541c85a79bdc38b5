"""The value-regularized linear loss against its definition."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, RankingTarget
from skcalrank.metrics import pairwise_disagreement_loss
from skcalrank.rankers import ValueRegularizedRanker

REGULARIZERS = {
    "square": {"regularizer": "square"},
    "power below 2": {"regularizer": "power", "power": 1.5},
    "power above 2": {"regularizer": "power", "power": 5},
    "cosh": {"regularizer": "cosh"},
}

every_regularizer = pytest.mark.parametrize("options", REGULARIZERS.values(), ids=REGULARIZERS)


def value(options, z):
    """The regularizer as published."""
    if options["regularizer"] == "square":
        return z**2
    if options["regularizer"] == "cosh":
        return np.cosh(z) - 1
    return abs(z) ** options["power"] / options["power"]


def slope(options, z):
    if options["regularizer"] == "square":
        return 2 * z
    if options["regularizer"] == "cosh":
        return np.sinh(z)
    return np.sign(z) * abs(z) ** (options["power"] - 1)


class Case:
    """A problem in one of its forms, with the preferences spelt out."""

    def __init__(self, kind, rng):
        self.X, self.qid, self.n_items = rng.normal(size=(14, 3)) + 0.5, None, None
        if kind == "label form":
            self.y = rng.integers(0, 4, (14, 3)).astype(float)
            self.n_items = 3
        elif kind == "label preferences":
            matrices = rng.random((14, 3, 3)) * (rng.random((14, 3, 3)) < 0.6)
            self.y = PreferenceTarget.from_matrices(matrices * ~np.eye(3, dtype=bool))
            self.n_items = 3
        else:
            self.qid = rng.permutation(np.repeat(["a", "b", "c"], [7, 6, 1]))
            self.y = rng.integers(0, 4, 14).astype(float)
        if kind == "preferences":
            self.y = self._comparisons(rng)
            self.qid = None

    def _comparisons(self, rng):
        i, j = np.nonzero((self.qid[:, None] == self.qid) & ~np.eye(14, dtype=bool))
        drawn = rng.integers(0, len(i), 30)
        weight = rng.random(30)
        return PreferenceTarget.from_comparisons(i[drawn], j[drawn], self.qid, weight=weight)

    def edges(self, weights):
        """(winner, loser, weight) of documents numbered row by row."""
        if isinstance(self.y, PreferenceTarget):
            return list(zip(self.y.winner, self.y.loser, self.y.weight))
        y, r = self.y.ravel(), self.n_items or 1
        query = self.qid if self.qid is not None else np.repeat(np.arange(14), r)
        return [
            (i, j, 1.0 if weights == "unit" else y[i] - y[j])
            for i in range(len(y))
            for j in range(len(y))
            if query[i] == query[j] and y[i] > y[j]
        ]


KINDS = ("relevances", "preferences", "label form", "label preferences")
every_kind = pytest.mark.parametrize("kind", KINDS)


# -- the optimum ------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["difference", "unit"])
@pytest.mark.parametrize("convert", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@every_kind
def test_square_solves_the_printed_equations(kind, convert, weights, rng):
    case, nu, alpha = Case(kind, rng), 0.3, 0.7
    ranker = ValueRegularizedRanker(
        nu=nu, alpha=alpha, weights=weights, fit_intercept=False, tol=1e-13
    )
    ranker.fit(convert(case.X), case.y, qid=case.qid)
    r = case.n_items or 1
    # One-dimensional coefficients of every item, one after the other.
    right = np.zeros((r, 3))
    for i, j, weight in case.edges(weights):
        right[i % r] += weight * case.X[i // r] / 2
        right[j % r] -= weight * case.X[j // r] / 2
    left = nu * case.X.T @ case.X + alpha * np.eye(3)
    np.testing.assert_allclose(left @ np.atleast_2d(ranker.coef_).T, right.T, atol=1e-9)
    assert ranker.coef_.shape == ((3,) if case.n_items is None else (3, 3))
    assert ranker.n_iter_ == 1


def objective(case, options, w, *, nu, alpha, sample_weight, weights="difference"):
    """The published sum, pair by pair; a row of w is the scorer of an item."""
    w = w.reshape(case.n_items or 1, 4)
    scores = (case.X @ w[:, :3].T + w[:, 3]).ravel()
    documents = np.repeat(sample_weight, len(w))
    out = alpha * (w[:, :3] ** 2).sum()
    for i, j, weight in case.edges(weights):
        out += weight * (documents[j] * scores[j] - documents[i] * scores[i])
    return out + nu * sum(d * value(options, s) for d, s in zip(documents, scores))


@pytest.mark.product
@pytest.mark.parametrize("weighted", [False, True])
@every_regularizer
@every_kind
def test_the_gradient_is_zero_at_the_fit(kind, options, weighted, rng):
    case, nu, alpha = Case(kind, rng), 0.8, 0.5
    weight = rng.integers(0, 4, 14).astype(float) if weighted else None
    ranker = ValueRegularizedRanker(nu=nu, alpha=alpha, **options, tol=1e-7)
    ranker.fit(case.X, case.y, qid=case.qid, sample_weight=weight)
    found = np.column_stack([np.atleast_2d(ranker.coef_), np.ravel(ranker.intercept_)]).ravel()
    weight = np.ones(14) if weight is None else weight

    def risk(w):
        return objective(case, options, w, nu=nu, alpha=alpha, sample_weight=weight)

    def gradient(w):
        steps = 1e-5 * np.eye(len(w))
        return np.array([(risk(w + step) - risk(w - step)) / 2e-5 for step in steps])

    largest = np.abs(gradient(0 * found)).max()
    np.testing.assert_allclose(gradient(found), 0, atol=1e-5 * largest)
    assert risk(found) < risk(0 * found)


@pytest.mark.product
@pytest.mark.parametrize("nu", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("fit_intercept", [False, True])
@every_regularizer
@every_kind
def test_free_scores(kind, options, fit_intercept, nu, rng):
    # A feature for each row: reg'(s_i) = f_i / nu.
    case = Case(kind, rng)
    ranker = ValueRegularizedRanker(
        nu=nu, alpha=0.0, **options, fit_intercept=fit_intercept, tol=1e-7
    )
    scores = ranker.fit(np.eye(14), case.y, qid=case.qid).predict(np.eye(14))
    net = np.zeros(scores.size)
    for i, j, weight in case.edges("difference"):
        net[[i, j]] += weight, -weight
    found = nu * slope(options, scores.ravel())
    # Below a power of 2 the slope is steep at 0, where it shows how scores are rounded.
    rounding = nu * slope(options, 1e-7 * np.abs(scores).max())
    np.testing.assert_allclose(found, net, atol=1e-4 * np.abs(net).max() + rounding)


@every_kind
def test_square_is_ridge(kind, rng):
    case, nu, alpha = Case(kind, rng), 0.2, 1.5
    weight = rng.random(14)
    ranker = ValueRegularizedRanker(nu=nu, alpha=alpha).fit(case.X, case.y, case.qid, weight)
    if isinstance(case.y, PreferenceTarget):
        net = case.y.net_preference()
    else:
        net = PreferenceTarget.from_relevance(case.y, case.qid).net_preference()
    ridge = Ridge(alpha / nu).fit(case.X, net / (2 * nu), weight)
    np.testing.assert_allclose(ranker.predict(case.X), ridge.predict(case.X), rtol=1e-9)


@every_kind
def test_square_is_the_power_two(kind, rng):
    case = Case(kind, rng)
    square = ValueRegularizedRanker(nu=0.4, alpha=0.7).fit(case.X, case.y, case.qid)
    power = ValueRegularizedRanker(nu=0.8, alpha=0.7, regularizer="power", power=2, tol=1e-7)
    power.fit(case.X, case.y, case.qid)
    np.testing.assert_allclose(power.coef_, square.coef_, rtol=1e-7, atol=1e-7)


@every_kind
def test_square_is_the_score_surrogate(kind, rng):
    case, nu, alpha = Case(kind, rng), 0.2, 1.5
    ranker = ValueRegularizedRanker(nu=nu, alpha=alpha).fit(case.X, case.y, case.qid)
    other = PairwiseDisagreementRanker(Ridge(alpha / nu), loss="squared")
    other.fit(case.X, case.y, case.qid)
    np.testing.assert_allclose(2 * nu * ranker.predict(case.X), other.predict(case.X), rtol=1e-9)
    assert ranker.score(case.X, case.y, case.qid) == other.score(case.X, case.y, case.qid)


# -- both forms of input ----------------------------------------------------------------


@pytest.mark.parametrize("weights", ["difference", "unit"])
@every_regularizer
@pytest.mark.parametrize("kind", ["relevances", "label form"])
def test_preferences_are_those_of_the_relevances(kind, options, weights, rng):
    case = Case(kind, rng)
    spelt = PreferenceTarget.from_relevance(case.y, case.qid, weights=weights)
    ranker = ValueRegularizedRanker(**options, weights=weights, tol=1e-7)
    given = ranker.fit(case.X, case.y, case.qid).predict(case.X)
    np.testing.assert_allclose(ranker.fit(case.X, spelt).predict(case.X), given, rtol=1e-6)
    loss = pairwise_disagreement_loss(case.y, given, qid=case.qid, weights=weights)
    assert ranker.score(case.X, case.y, case.qid) == pytest.approx(-loss, abs=1e-12)


@every_regularizer
@every_kind
def test_a_weight_on_all_rows_divides_alpha(kind, options, rng):
    case = Case(kind, rng)
    ranker = ValueRegularizedRanker(nu=0.5, alpha=0.9, **options, tol=1e-7)
    ranker.fit(case.X, case.y, case.qid, sample_weight=np.full(14, 3.0))
    weighted = ranker.coef_
    ranker.set_params(alpha=0.3).fit(case.X, case.y, case.qid)
    np.testing.assert_allclose(weighted, ranker.coef_, rtol=1e-6, atol=1e-7)


@every_regularizer
def test_a_document_without_weight_still_wins_and_loses(options, rng):
    X, y = rng.normal(size=(5, 2)), np.array([3.0, 0, 1, 1, 2])
    ranker = ValueRegularizedRanker(**options, tol=1e-7)
    ranker.fit(X, y, np.zeros(5), sample_weight=[0, 1, 1, 1, 1])
    # The others keep their preferences against it, and nothing depends on where it is.
    moved = X.copy()
    moved[0] = 100.0
    found = ranker.coef_
    ranker.fit(moved, y, np.zeros(5), sample_weight=[0, 1, 1, 1, 1])
    np.testing.assert_allclose(ranker.coef_, found, rtol=1e-5)
    alone = ranker.fit(X[1:], y[1:], np.zeros(4)).coef_
    assert np.abs(alone - found).max() > 1e-3


# -- consistency ------------------------------------------------------------------------


def fitted_order(options, edges):
    winner, loser, weight = zip(*edges)
    y = PreferenceTarget.from_comparisons(winner, loser, [0, 0, 0], weight=weight)
    ranker = ValueRegularizedRanker(nu=1.0, alpha=0.0, **options, tol=1e-7)
    return ranker.fit(np.eye(3), y).rank(np.eye(3), [0, 0, 0]).tolist()


@every_regularizer
def test_low_noise_on_which_convex_losses_of_differences_fail(options):
    # DMJ10, Lemma 10: penalties a12, a13, a23 and a31.
    edges = [(0, 1, 0.5), (0, 2, 2.0), (1, 2, 0.15), (2, 0, 1.0)]
    assert fitted_order(options, edges) == [1, 2, 3]


@every_regularizer
def test_acyclic_preferences_against_the_net_preference(options):
    # The first is preferred to the second, but the second has the higher net preference, which
    # is what Theorem 13 says the loss orders by.
    assert fitted_order(options, [(0, 1, 0.1), (1, 2, 1.0)]) == [2, 1, 3]


# -- the solver -------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("nu", [1e-6, 1.0, 1e6])
@every_regularizer
def test_any_nu_and_scale_of_features_converges(options, nu, alpha, rng):
    X = rng.normal(size=(60, 4)) * [1e-3, 1.0, 1e3, 1.0]
    qid = np.repeat(np.arange(6), 10)
    y = rng.integers(0, 5, 60)
    ranker = ValueRegularizedRanker(nu=nu, alpha=alpha, **options).fit(X, y, qid)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.n_iter_ < 100


@every_regularizer
def test_deficient_features(options, rng):
    X = rng.normal(size=(20, 2))
    y, qid = rng.integers(0, 3, 20), np.repeat(np.arange(4), 5)
    ranker = ValueRegularizedRanker(nu=0.5, alpha=1e-8, **options, tol=1e-7)
    whole = ranker.fit(X, y, qid).predict(X)
    twice = np.column_stack([X, X[:, 0], np.full(20, 7.0), np.zeros(20)])
    np.testing.assert_allclose(ranker.fit(twice, y, qid).predict(twice), whole, atol=1e-5)


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
@every_regularizer
def test_nothing_is_preferred(options):
    X, y = [[0.0], [1.0], [2.0]], RankingTarget(np.ones(3), np.zeros(3))
    ranker = ValueRegularizedRanker(**options).fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), 0)
    assert ranker.score(X, y) == 0
    with pytest.raises(ValueError, match="nothing to learn from"):
        ranker.fit(X, PreferenceTarget.from_comparisons([], [], [0, 0, 0]))


@pytest.mark.parametrize("kind", ["relevances", "label preferences"])
@pytest.mark.parametrize("options", list(REGULARIZERS.values())[1:], ids=list(REGULARIZERS)[1:])
def test_warm_start(kind, options, rng):
    case = Case(kind, rng)
    ranker = ValueRegularizedRanker(nu=0.01, alpha=0.2, **options, warm_start=True)
    cold = ranker.fit(case.X, case.y, case.qid)
    steps, coef = cold.n_iter_, cold.coef_
    ranker.fit(case.X, case.y, case.qid)
    assert ranker.n_iter_ < steps
    np.testing.assert_allclose(ranker.coef_, coef, rtol=1e-4, atol=1e-6)


def test_too_few_iterations(rng):
    case = Case("relevances", rng)
    ranker = ValueRegularizedRanker(nu=0.01, regularizer="cosh", max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ranker.fit(case.X, case.y, case.qid)


# -- bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nu": 0}, "'nu' parameter .*Got 0 instead"),
        ({"nu": -1.0}, "'nu' .*Got -1.0"),
        ({"nu": np.inf}, "'nu' .*Got inf"),
        ({"nu": np.nan}, "'nu' .*Got nan"),
        ({"nu": "small"}, "'nu' .*Got 'small'"),
        ({"regularizer": "cube"}, "among {'square', 'power', 'cosh'}. Got 'cube'"),
        ({"regularizer": "power", "power": 1}, r"\'power\' .*in the range \(1.0, inf\). Got 1 "),
        ({"regularizer": "power", "power": np.inf}, "'power' .*Got inf"),
        (
            {"regularizer": "power", "power": 1.001, "nu": 1e-3},
            "nu and power must be so large .* got 0.001 and 1.001",
        ),
        ({"weights": "squared"}, "'weights' .*Got 'squared'"),
        ({"alpha": -1}, "'alpha' .*Got -1"),
        ({"max_iter": 0}, "'max_iter' .*Got 0"),
        ({"tol": 0}, "'tol' .*Got 0"),
    ],
)
def test_parameters_are_checked(options, message, rng):
    case = Case("relevances", rng)
    with pytest.raises(ValueError, match=message):
        ValueRegularizedRanker(**options).fit(case.X, case.y, case.qid)


def test_power_of_another_regularizer_is_an_error(rng):
    case = Case("relevances", rng)
    ranker = ValueRegularizedRanker(regularizer="cosh", power=3.0)
    with pytest.raises(ValueError, match=r"power=3\.0 has no effect with regularizer='cosh'"):
        ranker.fit(case.X, case.y, case.qid)
