"""The scale of features and gains does not change which ranker is learned."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skcalrank import (
    DCGRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    sample_comparisons,
)
from skcalrank.data import NotAMeanWarning
from skcalrank.losses import LOSSES, get_loss
from skcalrank.rankers import (
    DifferenceGraphRanker,
    PairwiseHingeRanker,
    StochasticAggregatedRanker,
    ValueRegularizedRanker,
)

QID = np.repeat(np.arange(40), 10)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(400, 3))
    return X, (X[:, 1] + 0.3 * rng.normal(size=400) > 0.5) * 1.0


def centred_ridge(X, y, alpha=1.0):
    """Ridge on a copy of X that is centered within queries of ten documents."""
    mean = np.repeat(X.reshape(40, 10, -1).mean(axis=1), 10, axis=0)
    target = y - np.repeat(y.reshape(40, 10).mean(axis=1), 10)
    weight = np.sqrt(10.0)
    return Ridge(alpha, fit_intercept=False).fit((X - mean) * weight, target * weight).coef_


@pytest.mark.parametrize("scales", [(1e6, 1, 1), (1e-3, 1e3, 1), (1, 0, 1)], ids=str)
def test_a_feature_of_large_values_does_not_drown_the_others(scales, data):
    X, y = data
    X = X * np.array(scales, dtype=float)
    coef = PrecisionRanker(alpha=1.0).fit(X, y, QID).coef_
    np.testing.assert_allclose(coef * scales, centred_ridge(X, y) * scales, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("offset", "dtype", "tol"), [(1e8, "d", 1e-5), (1e3, "f", 1e-2)])
def test_sparse_features_far_from_zero(offset, dtype, tol, data):
    X, y = data
    X = (X + offset).astype(dtype)
    dense, sparse = (PrecisionRanker().fit(A, y, QID).coef_ for A in (X, csr_matrix(X)))
    np.testing.assert_allclose(sparse, dense, rtol=tol, atol=tol * np.abs(dense).max())


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_gains_whose_squares_overflow(dtype, data):
    X, y = data
    X = X.astype(dtype)
    coef = DCGRanker().fit(X, 600 * y, QID).coef_
    small = DCGRanker().fit(X, y, QID).coef_
    np.testing.assert_allclose(coef / 2.0**600, small, rtol=1e-5)


DESCENTS = [
    PairwiseLogisticRanker(),
    PairwiseHingeRanker(),
    DifferenceGraphRanker(),
    ValueRegularizedRanker(),
    OrderPreservingRanker(),
    OrderPreservingRanker(loss="pairwise_logistic"),
    OrderPreservingRanker(loss="squared_hinge"),
    StochasticAggregatedRanker("borda", n_updates=300, random_state=0),
]


@pytest.mark.product
@pytest.mark.parametrize("offset", [1e9, 1e12])
@pytest.mark.parametrize("n_features", [3, 2100])
@pytest.mark.parametrize("ranker", DESCENTS, ids=repr)
def test_descent_does_not_see_an_offset(ranker, n_features, offset, data, rng):
    _, y = data
    X = rng.normal(size=(400, n_features))
    if isinstance(ranker, StochasticAggregatedRanker):
        y = sample_comparisons(y + X[:, 1], QID, n_comparisons=600, random_state=0)
    far = X + offset
    near = far - offset  # exact, with what the offset has rounded
    near -= near.mean(axis=0)
    near, moved = (clone(ranker).fit(A, y, QID).coef_ for A in (near, far))
    np.testing.assert_allclose(moved, near, rtol=2e-3, atol=2e-3 * np.abs(near).max())


@pytest.mark.product
@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("n_features", [3, 2100])
@pytest.mark.parametrize("ranker", DESCENTS[:-1], ids=repr)
def test_descent_does_not_see_units(ranker, n_features, unit, data, rng):
    _, y = data
    X = rng.normal(size=(400, n_features))
    units = np.where(np.arange(n_features) == 1, unit, 1.0)
    one, other = (clone(ranker).fit(A, y, QID).coef_ for A in (X, X * units))
    np.testing.assert_allclose(other * units, one, rtol=2e-3, atol=2e-3 * np.abs(one).max())


@pytest.mark.product
@pytest.mark.parametrize(("n_features", "alpha"), [(3, 0.0), (3, 1e-8), (2100, 1e-4)])
@pytest.mark.parametrize("ranker", DESCENTS[:-1], ids=repr)
def test_descent_learns_nothing_from_constant_features(ranker, n_features, alpha, data, rng):
    _, y = data
    y = np.where(rng.random(400) < 0.2, 1 - y, y)  # what no scores separate
    X = rng.normal(size=(400, n_features)) * np.where(np.arange(n_features) < 3, 1, 1e-3)
    wider = np.column_stack([X, np.tile([0.0, 0.1, 1e8 / 3, 1.7e12 + 0.1], (400, 1))])
    one, other = (clone(ranker).set_params(alpha=alpha).fit(A, y, QID).coef_ for A in (X, wider))
    other, nothing = np.split(other, [n_features])
    np.testing.assert_allclose(other, one, rtol=2e-3, atol=2e-3 * np.abs(one).max())
    assert not nothing.any()


SQUARES = [
    NDCGRanker(loss="squared"),
    NDCGRanker(kernel="linear"),
    OrderPreservingRanker(loss="squared"),
]


@pytest.mark.product
@pytest.mark.parametrize("n_levels", [20, 1100])
@pytest.mark.parametrize(
    "ranker",
    [
        NDCGRanker(loss="squared"),
        NDCGRanker(kernel="linear"),
        OrderPreservingRanker(loss="squared"),
    ],
    ids=repr,
)
def test_sparse_squares_see_levels_beside_a_price(ranker, n_levels, rng):
    level = rng.permutation(np.resize(np.arange(n_levels), 2400))
    X = np.column_stack([np.eye(n_levels)[level], 1e5 * rng.lognormal(size=2400)])
    y, qid = (
        np.clip(np.round(rng.normal(size=n_levels)[level] + 1), 0, 3),
        np.repeat(range(240), 10),
    )
    if ranker.get_params().get("kernel") == "linear":
        y, qid = np.column_stack([y, 3 - y]), None
    dense, sparse = (clone(ranker).set_params(alpha=1.0).fit(A, y, qid) for A in (X, csr_matrix(X)))
    scores, limit = dense.surrogate_values(X), 1e-3
    np.testing.assert_allclose(
        sparse.surrogate_values(X), scores, rtol=limit, atol=limit * np.ptp(scores)
    )


def test_what_rounding_hides_is_told_with_the_remedy(data):
    X, y = data
    with pytest.warns(NotAMeanWarning, match="learned nothing: subtract from each feature its"):
        NDCGRanker().fit(X + 1e15, y, QID).predict(X + 1e15, QID)


@pytest.mark.every_case
@pytest.mark.parametrize("alpha", ["auto", 1.0])
@pytest.mark.parametrize("loss", [name for name in LOSSES if get_loss(name).separable])
def test_large_features_of_documents_of_weight_0_do_not_matter(loss, alpha, data, rng):
    X, y = data
    weight = np.where(rng.random(len(y)) < 0.2, 0.0, 1.0)
    far = np.where(weight[:, None] == 0, 1e6 * X, X)
    ranker = OrderPreservingRanker("dcg@5", loss=loss, alpha=alpha)
    near, moved = (clone(ranker).fit(A, y, QID, sample_weight=weight).coef_ for A in (X, far))
    np.testing.assert_allclose(moved, near, rtol=1e-5)


def test_dependent_columns_in_single_precision_take_few_steps(rng):
    qid, level = np.repeat(np.arange(40), 10), rng.integers(0, 4, 400)
    X = np.column_stack([np.eye(4)[level], rng.normal(size=(400, 3)) * [1, 10, 0.1] + [0, 50, 1]])
    X = np.column_stack([X, X[:, 4] + X[:, 6]]).astype(np.float32)
    y = np.clip(np.round(X[:, 4] + 0.3 * level + 0.5 * rng.normal(size=400)), 0, 4)
    ranker = OrderPreservingRanker(loss="exponential", alpha=1e-8)
    single, double = (clone(ranker).fit(rows, y, qid) for rows in (X, X.astype(float)))
    assert single.n_iter_ < 3 * double.n_iter_
    assert single.score(X, y, qid) > double.score(X, y, qid) - 0.01
