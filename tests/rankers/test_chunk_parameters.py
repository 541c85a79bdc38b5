"""Parameters that change between chunks, or differ between rankers that are merged."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor

from skcalrank import (
    AggregatedRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
)
from skcalrank.data import OneQueryWarning
from skcalrank.linear_model import GramRidge
from skcalrank.rankers import StochasticAggregatedRanker

QID = np.repeat(np.arange(30), 6)
FIRST, SECOND = slice(0, 90), slice(90, 180)
LOSSES = ["squared", "centered", "pairwise_squared"]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(180, 3))
    return X, np.clip(np.round(X[:, 0] + rng.normal(size=180)), 0, 3)


def parts(data, part):
    X, y = data
    return X[part], y[part], QID[part]


def same(ranker, other):
    np.testing.assert_allclose(ranker.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(ranker.intercept_, other.intercept_, rtol=1e-9, atol=1e-12)


@pytest.mark.pairs
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "change",
    [
        {"estimator__alpha": 1e6},
        {"estimator": GramRidge(1e6)},
        {"estimator__fit_intercept": False},
        {"estimator": GramRidge(0.5, fit_intercept=False)},
    ],
    ids=str,
)
def test_statistics_take_the_parameters_of_the_last_chunk(loss, first, change, data):
    ranker = NDCGRanker(GramRidge(1.0), loss=loss)
    getattr(ranker, first)(*parts(data, FIRST))
    before = ranker.coef_.copy()
    ranker.set_params(**change)
    assert np.array_equal(ranker.coef_, before)
    ranker.partial_fit(*parts(data, SECOND))
    same(ranker, NDCGRanker(ranker.estimator, loss=loss).fit(*data, QID))


@pytest.mark.parametrize("loss", LOSSES)
def test_label_form_takes_the_parameters_of_the_last_chunk(loss, rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 4, (40, 5))
    ranker = LeastSquaresRanker("spearman", estimator=GramRidge(1.0), loss=loss)
    ranker.fit(X[:20], y[:20]).set_params(estimator__alpha=100.0).partial_fit(X[20:], y[20:])
    same(ranker, LeastSquaresRanker("spearman", estimator=GramRidge(100.0), loss=loss).fit(X, y))


def test_aggregated_rankers_take_the_parameters_of_the_last_chunk(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    targets = [PreferenceTarget.from_relevance(y[s], QID[s]) for s in (slice(0, 30), slice(30, 60))]
    ranker = AggregatedRanker("borda", NDCGRanker(GramRidge(1.0)))
    ranker.fit(X[:30], targets[0]).set_params(ranker__estimator__alpha=1e4)
    ranker.partial_fit(X[30:], targets[1])
    whole = AggregatedRanker("borda", NDCGRanker(GramRidge(1e4)))
    same(ranker, whole.fit(X, PreferenceTarget.from_relevance(y, QID[:60])))


def test_merged_rankers_have_the_parameters_of_the_first(data):
    first, second = (
        NDCGRanker(GramRidge(a)).fit(*parts(data, s)) for a, s in ((1.0, FIRST), (7.0, SECOND))
    )
    same(first.merge(second), NDCGRanker(GramRidge(1.0)).fit(*data, QID))
    same(second.merge(first), NDCGRanker(GramRidge(7.0)).fit(*data, QID))
    first.set_params(estimator__alpha=1e5)
    same(first.merge(second), NDCGRanker(GramRidge(1e5)).fit(*data, QID))


def test_a_ranker_without_qid_is_not_merged_with_one_that_has_it(data):
    X, y, qid = parts(data, FIRST)
    with_qid = NDCGRanker(GramRidge()).fit(X, y, qid)
    with pytest.warns(OneQueryWarning):
        without = NDCGRanker(GramRidge()).fit(*parts(data, SECOND)[:2])
    for one, other in ((with_qid, without), (without, with_qid)):
        with pytest.raises(ValueError, match=r"some without.*Fit all of them with a qid"):
            one.merge(other)


def test_rankers_of_other_columns_are_not_merged(data):
    frame = pytest.importorskip("pandas").DataFrame(data[0], columns=list("abc"))
    first = NDCGRanker(GramRidge()).fit(frame[FIRST], data[1][FIRST], QID[FIRST])
    second = NDCGRanker(GramRidge()).fit(frame[SECOND], data[1][SECOND], QID[SECOND])
    turned = NDCGRanker(GramRidge()).fit(frame[list("cba")][SECOND], data[1][SECOND], QID[SECOND])
    nameless = NDCGRanker(GramRidge()).fit(*parts(data, SECOND))
    same(first.merge(second), NDCGRanker(GramRidge()).fit(*data, QID))
    same(first.merge(nameless), nameless.merge(first))
    with pytest.raises(ValueError, match="got a, b, c and c, b, a: fit all of them to the same"):
        first.merge(turned)


def test_only_like_models_are_merged(data):
    X, y, qid = parts(data, FIRST)
    with pytest.raises(TypeError, match="others must be GramRidge models"):
        GramRidge().fit(X, y).merge(SGDRegressor().fit(X, y))
    gram = NDCGRanker(GramRidge()).fit(X, y, qid)
    other = NDCGRanker(SGDRegressor(), loss="pairwise_squared").fit(*parts(data, SECOND))
    with pytest.raises(TypeError, match="others must be GramRidge models"):
        gram.merge(other)


def test_regressors_that_learn_by_steps_take_the_next_ones_with_new_parameters(data):
    X, y = data
    ranker = ExpectedRankUtilityRanker(SGDRegressor(random_state=0))
    ranker.partial_fit(*parts(data, FIRST)).set_params(estimator__eta0=1e-9)
    before = ranker.coef_.copy()
    ranker.partial_fit(*parts(data, SECOND))
    np.testing.assert_allclose(ranker.coef_, before, atol=1e-6)
    plain = SGDRegressor(random_state=0).partial_fit(X[FIRST], y[FIRST])
    plain.set_params(eta0=1e-9).partial_fit(X[SECOND], y[SECOND])
    np.testing.assert_allclose(ranker.coef_, plain.coef_, rtol=1e-12)


OTHERS = {
    "type": (GramRidge(), {"estimator": SGDRegressor()}),
    "type by steps": (SGDRegressor(), {"estimator": MLPRegressor()}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_regressor_of_another_type_is_refused(name, data):
    estimator, change = OTHERS[name]
    ranker = ExpectedRankUtilityRanker(estimator, loss="squared").fit(*parts(data, FIRST))
    before = ranker.predict(data[0])
    with pytest.raises(ValueError, match="begin with a new ranker"):
        ranker.set_params(**change).partial_fit(*parts(data, SECOND))
    assert np.array_equal(ranker.predict(data[0]), before)


STUBBORN = [SGDRegressor(), MultiOutputRegressor(SGDRegressor()), MLPRegressor(max_iter=5)]


@pytest.mark.parametrize("estimator", STUBBORN, ids=lambda e: type(e).__name__)
def test_changes_that_fitted_parts_would_not_notice_are_refused(estimator, rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 4, (40, 5))
    ranker = LeastSquaresRanker("spearman", estimator=estimator).partial_fit(X, y)
    ranker.partial_fit(X, y)
    inner = "estimator__estimator__" if hasattr(estimator, "estimator") else "estimator__"
    with pytest.raises(ValueError, match=r"alpha'\] were changed after rows were seen"):
        ranker.set_params(**{f"{inner}alpha": 3.0}).partial_fit(X, y)


@pytest.mark.parametrize("estimator", STUBBORN, ids=lambda e: type(e).__name__)
def test_random_generators_of_the_regressor_do_not_count_as_changes(estimator, rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 4, (40, 5))
    inner = "estimator__" if hasattr(estimator, "estimator") else ""
    drawn = {f"{inner}random_state": np.random.RandomState(0)}
    ranker = LeastSquaresRanker("spearman", estimator=clone(estimator).set_params(**drawn))
    ranker.partial_fit(X, y).partial_fit(X, y)


def test_another_score_of_preferences_is_refused(data):
    def wins(matrix):
        return matrix.sum(axis=1)

    ranker = PairwiseDisagreementRanker(GramRidge()).fit(*parts(data, FIRST))
    with pytest.raises(ValueError, match="score_function of this chunk must be"):
        ranker.set_params(score_function=wins).partial_fit(*parts(data, SECOND))
    other = PairwiseDisagreementRanker(GramRidge(), score_function=wins).fit(*parts(data, SECOND))
    with pytest.raises(ValueError, match="score_function of a ranker to be merged must be"):
        ranker.set_params(score_function="net_preference").merge(other)


def test_an_intercept_is_neither_added_to_updates_nor_dropped(rng):
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 3, 12)
    y = PreferenceTarget.from_relevance(y, QID[:12])
    ranker = StochasticAggregatedRanker("borda", "dcg", loss="squared", n_updates=5, random_state=0)
    ranker.fit(X, y)
    with pytest.raises(ValueError, match=r"fit_intercept must not be changed.*got False"):
        ranker.set_params(fit_intercept=False).partial_fit(X, y)
    pairwise = StochasticAggregatedRanker("borda", n_updates=5, random_state=0).fit(X, y)
    pairwise.set_params(fit_intercept=False).partial_fit(X, y)
