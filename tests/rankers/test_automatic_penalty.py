"""The ridge penalty that rankers choose by themselves."""

import pickle

import numpy as np
import pytest
from cases import make_data
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    SpearmanRanker,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.data import Queries
from skcalrank.linear_model import GramRidge
from skcalrank.losses import LOSSES
from skcalrank.rankers import DifferenceGraphRanker, PairwiseHingeRanker, ValueRegularizedRanker

NEAR = {"rtol": 1e-7, "atol": 1e-9}
CLOSED = [NDCGRanker(loss=loss) for loss in SQUARED_LOSSES]
DESCENT = [
    *(OrderPreservingRanker("ndcg@5", loss=loss, tol=1e-9) for loss in sorted(LOSSES)),
    ValueRegularizedRanker(tol=1e-9),
    ValueRegularizedRanker(regularizer="cosh", tol=1e-9),
    PairwiseHingeRanker(corner_width=0.5, tol=1e-9),
    PairwiseLogisticRanker(tol=1e-9),
]
PAIRS = [
    PairwiseDisagreementRanker(surrogate="pairwise", pair_features="concat"),
    AveragePrecisionRanker(surrogate="pairwise", pair_features="concat", relevance_level=1),
]
every = pytest.mark.parametrize("ranker", [*CLOSED, *DESCENT, *PAIRS], ids=str)
every_closed = pytest.mark.parametrize("ranker", CLOSED, ids=str)


@pytest.fixture
def data(rng):
    return make_data(rng, (4, 7, 1, 5, 9, 3, 8, 6))


def within_queries(X, qid, weight):
    """Weighted sums of squares about the weighted means of queries."""
    total = np.zeros(X.shape[1])
    for q in np.unique(qid):
        w, part = weight[qid == q], X[qid == q]
        if w.sum():
            total += w @ (part - np.average(part, axis=0, weights=w)) ** 2
    return total


# -- what it is ----------------------------------------------------------------------------


@every_closed
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_ridge_of_scaled_features(ranker, weighted, data, rng):
    X, y, qid = data
    weight = rng.uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    fitted = clone(ranker).fit(X, y, qid, weight if weighted else None)
    sizes = np.bincount(qid)[qid]
    counted = weight if ranker.loss == "squared" else weight * sizes
    squares = within_queries(X, qid, counted)
    np.testing.assert_allclose(fitted.penalty_scale_, squares, rtol=1e-10)
    # Seven queries have several documents.
    assert fitted.alpha_ == pytest.approx(3 / np.sqrt(7))
    unit = np.sqrt(squares)
    ridge = clone(ranker).set_params(estimator=Ridge(fitted.alpha_))
    ridge.fit(X / unit, y, qid, weight if weighted else None)
    np.testing.assert_allclose(fitted.coef_, ridge.coef_ / unit, **NEAR)


@every_closed
def test_the_unit_of_a_constant_feature_is_one(ranker, data):
    X, y, qid = data
    fitted = clone(ranker).fit(np.column_stack([X, np.full(len(y), 7.0)]), y, qid)
    assert fitted.penalty_scale_[-1] == 1
    np.testing.assert_allclose(
        fitted.penalty_scale_[:-1], clone(ranker).fit(X, y, qid).penalty_scale_
    )


@pytest.mark.parametrize("loss", SQUARED_LOSSES)
def test_label_ranking_form(loss, rng):
    X, Y = rng.normal(size=(40, 3)) * [1, 10, 100], rng.random((40, 4))
    fitted = SpearmanRanker(loss=loss).fit(X, Y)
    assert fitted.alpha_ == pytest.approx(0.3 / np.sqrt(40))
    np.testing.assert_allclose(fitted.penalty_scale_, 40 * X.var(axis=0), rtol=1e-10)
    ridge = SpearmanRanker(Ridge(40 * fitted.alpha_), loss=loss)
    ridge.fit(StandardScaler().fit_transform(X), Y)
    np.testing.assert_allclose(fitted.coef_ * X.std(axis=0), ridge.coef_, **NEAR)


def test_one_query(rng):
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    assert NDCGRanker().fit(X, y, np.zeros(50)).alpha_ == 3.0
    X, y = np.tile(X, (50, 1)), np.tile(y, 50)
    assert NDCGRanker().fit(X, y, np.zeros(2500)).alpha_ == pytest.approx(3 / 5)


@every
@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_documents_count_as_queries_beside_no_other_query_only(ranker, n_queries, rng):
    X, y, qid = make_data(rng, (150,) + (12,) * (n_queries - 1))
    counted = 1.5 if n_queries == 1 else n_queries
    assert clone(ranker).fit(X, y, qid).alpha_ == pytest.approx(3 / np.sqrt(counted))


@every
def test_two_documents_are_a_query_and_one_is_none(ranker, rng):
    X, y, qid = make_data(rng, (2, 2, 1, 2, 1))
    assert clone(ranker).fit(X, y, qid).alpha_ == pytest.approx(3 / np.sqrt(3))


def test_queries_that_teach_nothing_do_not_count(data):
    X, y, qid = data
    weight = np.where(qid == qid[-1], 0.0, 1.0)
    left = weight > 0
    alone = NDCGRanker().fit(X[left], y[left], qid[left])
    fitted = NDCGRanker().fit(X, y, qid, weight)
    assert fitted.alpha_ == alone.alpha_
    np.testing.assert_allclose(fitted.coef_, alone.coef_, **NEAR)


@pytest.mark.parametrize("surrogate", ["score", "pairwise"])
def test_rows_that_rank_no_pair_do_not_count(surrogate, rng):
    X, y = rng.normal(size=(70, 3)), rng.random((70, 4))
    y[30:50], y[50:, 1:] = np.nan, np.nan
    ranker = PairwiseDisagreementRanker(weights="unit", surrogate=surrogate)
    alone = clone(ranker).fit(X[:30], y[:30])
    assert ranker.fit(X, y).alpha_ == alone.alpha_ == pytest.approx(0.3 / np.sqrt(30))
    np.testing.assert_allclose(ranker.predict(X), alone.predict(X), rtol=1e-9)


@pytest.mark.parametrize("n_zeros", [0, 1500, 2500])
@pytest.mark.parametrize("make", [NDCGRanker, PairwiseLogisticRanker])
@pytest.mark.filterwarnings("ignore:alpha='auto' is made for fewer columns")
def test_sparse_features_far_from_zero(make, n_zeros, rng):
    X, y, qid = make_data(rng, (10,) * 20)
    weight, far = rng.random(len(X)), np.hstack([X, np.zeros((len(X), n_zeros))])
    far[:, 0] += 1e7
    expected = make().fit(far, y, qid, weight).coef_
    found = make().fit(csr_matrix(far), y, qid, weight).coef_
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_it_vanishes_as_queries_come(rng):
    found = []
    for n_queries in (25, 100):
        X, y, qid = make_data(rng, (5,) * n_queries)
        found.append(DCGRanker().fit(X, y, qid).alpha_)
    assert found[0] == pytest.approx(2 * found[1])


def test_a_number_is_that_of_ridge(data):
    fitted = OrderPreservingRanker(loss="pairwise_logistic", alpha=2.0).fit(*data)
    assert fitted.alpha_ == 2.0
    assert (fitted.penalty_scale_ == 1).all()


# -- losses that are solved by descent -----------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
def test_squared_losses_count_as_least_squares(loss, data):
    ours = OrderPreservingRanker("ndcg@5", loss=loss).fit(*data)
    theirs = LeastSquaresRanker("ndcg@5", loss=loss).fit(*data)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, **NEAR)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.penalty_scale_, theirs.penalty_scale_)


@pytest.mark.parametrize("ranker", DESCENT, ids=str)
def test_the_penalty_is_that_of_the_attributes(ranker, data):
    # The same penalty as a number, of features in units of the scale.
    X, y, qid = data
    fitted = clone(ranker).fit(X, y, qid)
    unit = np.sqrt(fitted.penalty_scale_)
    again = clone(ranker).set_params(alpha=fitted.alpha_).fit(X / unit, y, qid)
    np.testing.assert_allclose(again.coef_ / unit, fitted.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("ranker", DESCENT, ids=str)
def test_the_scale_is_half_the_curvature_at_zero(ranker, data):
    # A sum of twice as many queries, or of weights twice as large, has twice the curvature.
    X, y, qid = data
    once = clone(ranker).fit(X, y, qid).penalty_scale_
    weighted = clone(ranker).fit(X, y, qid, np.full(len(y), 2.0)).penalty_scale_
    np.testing.assert_allclose(weighted, 2 * once, rtol=1e-6)


def test_the_scale_is_measured_downhill(data):
    # At zero the exponential loss is curved four times as much as the logistic loss. Downhill it is
    # curved less, uphill, where no solution lies, far more.
    logistic, exponential = (
        DifferenceGraphRanker(edge_loss=loss).fit(*data).penalty_scale_
        for loss in ("logistic", "exponential")
    )
    assert (2 * logistic < exponential).all()
    assert (exponential < 4 * logistic).all()


# -- what it does not depend on ------------------------------------------------------------


@every
def test_units_do_not_matter(ranker, data):
    X, y, qid = data
    scale = np.array([1e6, 1.0, 1e-6, -3.0])
    plain, scaled = (clone(ranker).fit(Z, y, qid) for Z in (X, X * scale))
    for Z, other in ((X, X * scale), (X + 1, (X + 1) * scale)):
        one, two = (r.surrogate_values(A, qid) for r, A in ((plain, Z), (scaled, other)))
        for a, b in zip(one, two):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ranker", [*CLOSED, *DESCENT], ids=str)
def test_units_of_what_is_known_of_queries_do_not_matter(ranker, data):
    X, y, qid = data
    X[:, ::2] = X[qid - 10, ::2]
    scale = np.array([1e6, 1.0, 1e-6, -3.0])
    plain, scaled = (
        Queries.from_qid(qid).centered(clone(ranker).fit(Z, y, qid).predict(Z, qid))
        for Z in (X, X * scale)
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-4, atol=1e-6)


@every
def test_order_and_names_do_not_matter(ranker, data, rng):
    X, y, qid = data
    plain = clone(ranker).fit(X, y, qid)
    turn, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    names = np.array([f"query {q}" for q in qid], dtype=object)
    other = clone(ranker).fit(X[turn][:, columns], y[turn], names[turn])
    assert other.alpha_ == plain.alpha_
    if not isinstance(ranker, type(PAIRS[0])) and ranker not in PAIRS:
        np.testing.assert_allclose(other.coef_, plain.coef_[columns], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(other.penalty_scale_, plain.penalty_scale_[columns], rtol=1e-6)


@pytest.mark.parametrize("container", [csr_matrix, np.asfortranarray], ids=lambda c: c.__name__)
@pytest.mark.parametrize("ranker", [*CLOSED, DESCENT[2], DESCENT[5]], ids=str)
def test_containers(ranker, container, data):
    X, y, qid = data
    plain, other = (clone(ranker).fit(Z, y, qid) for Z in (X, container(X)))
    np.testing.assert_allclose(other.penalty_scale_, plain.penalty_scale_, rtol=1e-8)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-5, atol=1e-7)


@every_closed
def test_constant_and_wide_features(ranker, data, rng):
    X, y, qid = data
    of_query = 1e-6 * rng.normal(size=(8, 1))[qid - 10]
    wide = np.hstack([X, np.ones((len(y), 1)), of_query, rng.normal(size=(len(y), 1100))])
    fitted = clone(ranker).fit(wide, y, qid)
    assert isinstance(fitted.estimator_, Ridge)
    narrow = GramRidge(fitted.alpha_, penalty_scale="squares")
    by_moments = clone(ranker).set_params(estimator=narrow).fit(wide, y, qid)
    np.testing.assert_allclose(fitted.predict(wide), by_moments.predict(wide), rtol=1e-6, atol=1e-8)
    for coef in (fitted.coef_, by_moments.coef_):
        assert abs(coef[X.shape[1]]) < 1e-12
    with pytest.raises(ValueError, match="call partial_fit from the first chunk on"):
        fitted.partial_fit(wide, y, qid + 100)
    with pytest.raises(ValueError, match="call partial_fit from the first chunk on"):
        fitted.merge(by_moments)


# -- chunks --------------------------------------------------------------------------------


@every_closed
def test_chunks_and_parts_are_one_fit(ranker, data):
    X, y, qid = data
    whole = clone(ranker).fit(X, y, qid)
    parts = [qid == q for q in np.unique(qid)]
    chunks = clone(ranker)
    for rows in parts:
        chunks.partial_fit(X[rows], y[rows], qid[rows])
    fits = [clone(ranker).fit(X[rows], y[rows], qid[rows]) for rows in parts]
    for other in (chunks, fits[0].merge(*fits[1:]), pickle.loads(pickle.dumps(chunks))):
        assert other.alpha_ == pytest.approx(whole.alpha_)
        np.testing.assert_allclose(other.penalty_scale_, whole.penalty_scale_, rtol=1e-9)
        np.testing.assert_allclose(other.coef_, whole.coef_, **NEAR)


@every_closed
@pytest.mark.filterwarnings("ignore:The qid differs in nearly every row")
def test_documents_of_all_chunks_count_for_one_query(ranker, rng):
    X, y, qid = make_data(rng, (150, *[1] * 50))
    is_long = np.bincount(qid)[qid] > 1
    parts = [is_long, ~is_long]
    one, other = (clone(ranker).partial_fit(X[rows], y[rows], qid[rows]) for rows in parts)
    assert one.alpha_ == pytest.approx(3 / np.sqrt(1.5))
    assert one.merge(other).alpha_ == pytest.approx(3 / np.sqrt(2))
    one.partial_fit(X[~is_long], y[~is_long], qid[~is_long])
    assert one.alpha_ == pytest.approx(3 / np.sqrt(2))


def test_a_number_after_auto(data):
    X, y, qid = data
    first = qid < np.median(qid)
    ranker = NDCGRanker().partial_fit(X[first], y[first], qid[first])
    ranker.set_params(alpha=5.0).partial_fit(X[~first], y[~first], qid[~first])
    np.testing.assert_allclose(ranker.coef_, NDCGRanker(Ridge(5.0)).fit(X, y, qid).coef_, **NEAR)
    assert ranker.alpha_ == 5.0
    ranker.set_params(alpha="auto")
    late = ranker.merge(NDCGRanker().fit(X, y, qid + 1000))
    assert late.alpha_ == 5.0


# -- the search ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SQUARED_LOSSES)
def test_a_search_tries_multiples(loss, data):
    X, y, qid = data
    auto = LeastSquaresRanker("ndcg@5", loss=loss).fit(X, y, qid)
    folds = list(GroupKFold(3).split(X, y, qid))
    search = LeastSquaresRankerCV("ndcg@5", loss=loss, cv=folds).fit(X, y, qid)
    tried = np.asarray(search.cv_results_["param_alpha"], dtype=float)
    np.testing.assert_allclose(tried / auto.alpha_, np.logspace(-2, 2, 17))
    np.testing.assert_allclose(search.penalty_scale_, auto.penalty_scale_, rtol=1e-9)
    best = GramRidge(search.alpha_, penalty_scale="squares")
    expected = LeastSquaresRanker("ndcg@5", estimator=best, loss=loss).fit(X, y, qid)
    np.testing.assert_allclose(search.predict(X), expected.predict(X), **NEAR)
    scaled = LeastSquaresRankerCV("ndcg@5", loss=loss, cv=folds)
    scaled.fit(X * [1e6, 1, 1e-6, 2], y, qid)
    assert scaled.best_score_ == pytest.approx(search.best_score_)


def test_given_penalties_are_those_of_ridge(data):
    search = LeastSquaresRankerCV("ndcg@5", alphas=[2.0], cv=3).fit(*data)
    assert search.alpha_ == 2.0
    assert (search.penalty_scale_ == 1).all()


# -- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ["Auto", -1.0, None, np.inf])
def test_what_is_no_penalty(alpha, data):
    for ranker in (NDCGRanker(alpha=alpha), OrderPreservingRanker(alpha=alpha)):
        with pytest.raises(ValueError, match=r"'alpha' parameter .* must be .*'auto'"):
            ranker.fit(*data)


def test_a_penalty_beside_an_estimator(data):
    with pytest.raises(ValueError, match=r"alpha=1\.0 has no effect .* alpha='auto'"):
        NDCGRanker(Ridge(), alpha=1.0).fit(*data)


@pytest.mark.parametrize("ranker", [PrecisionRanker(k=2), OrderPreservingRanker("precision@2")])
def test_many_sparse_columns_need_another_penalty(ranker, rng):
    X = csr_matrix(rng.poisson(0.2, size=(30, 600)).astype(float))
    Y = rng.integers(0, 2, (30, 5))
    with pytest.warns(UserWarning, match=r"fewer columns than rows, got sparse X of shape \(30, 6"):
        clone(ranker).fit(X, Y)
    with pytest.warns(UserWarning, match=r"fewer columns than rows, got sparse X of shape \(30, 5"):
        clone(ranker).fit(X[:, :501], Y)
    clone(ranker).set_params(alpha=1.0).fit(X, Y)  # without a word
    clone(ranker).fit(X.toarray(), Y)
    clone(ranker).fit(X[:, :500], Y)
