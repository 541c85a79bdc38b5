"""Numbers near the ends of double and single precision: right values, or an error."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils.fixes import parse_version, sp_version

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
)
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import (
    kendall_score,
    ndcg_score,
    pairwise_disagreement_loss,
)
from skcalrank.rankers import (
    DifferenceGraphRanker,
    PairwiseHingeRanker,
    StochasticAggregatedRanker,
    ValueRegularizedRanker,
)

QID = np.repeat(np.arange(20), 6)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 3))
    return X, np.clip(np.round(X[:, 0] + rng.normal(size=120)), 0, 3)


# -- weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e308, 1e-308])
def test_extreme_weights(size, data):
    X, y = data
    weight = np.where(np.arange(120) < 60, 1.0, 0.25)
    scores = X[:, 0]
    for metric in (ndcg_score, kendall_score):
        expected = metric(y, scores, qid=QID, sample_weight=weight)
        value = metric(y, scores, qid=QID, sample_weight=weight * size)
        assert value == pytest.approx(expected, rel=1e-12)
    target = PreferenceTarget.from_relevance(y, QID)
    expected = pairwise_disagreement_loss(target, scores, sample_weight=weight)
    value = pairwise_disagreement_loss(target, scores, sample_weight=weight * size)
    assert value == pytest.approx(expected, rel=1e-12)
    for ranker in (NDCGRanker(), PairwiseLogisticRanker(), LeastSquaresRankerCV()):
        with pytest.raises(ValueError, match=r"largest sample_weight must .*Divide the weights"):
            ranker.fit(X, y, QID, weight * size)
    with pytest.raises(ValueError, match="largest sample_weight"):
        GramRidge().fit(X, y, weight * size)


# -- labels of a fit -----------------------------------------------------------------------

IN_PROPORTION = {
    "bilinear": PairwiseDisagreementRanker(surrogate="pairwise", pred="topological"),
    "concat": PairwiseDisagreementRanker(
        surrogate="pairwise", pred="topological", pair_features="concat"
    ),
    "net preference": PairwiseDisagreementRanker(),
    "dcg": DCGRanker(gain="linear"),
    "eru": ExpectedRankUtilityRanker(loss="squared"),
    "value": ValueRegularizedRanker(),
}


@pytest.mark.product
@pytest.mark.parametrize("name", IN_PROPORTION)
@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e280])
def test_coefficients_are_in_proportion_to_the_labels(name, size, data):
    X, y = data
    ranker = IN_PROPORTION[name]

    def fitted(y):
        ranker.fit(X, y, QID)
        coef = getattr(ranker, "coef_", None)
        return np.ravel(ranker.estimator_.coef_ if coef is None else coef), ranker.rank(X, QID)

    (coef, order), (scaled, same_order) = fitted(y), fitted(y * size)
    np.testing.assert_allclose(scaled / size, coef, rtol=1e-6)
    assert np.array_equal(order, same_order)


@pytest.mark.parametrize(
    "ranker",
    [
        PairwiseLogisticRanker(alpha=1.0),
        PairwiseHingeRanker(alpha=1.0),
        DifferenceGraphRanker(edge_loss="squared_hinge", alpha=1.0),
        OrderPreservingRanker("eru", loss="pairwise_logistic", alpha=1.0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_labels_that_vanish_beside_the_penalty_still_order(ranker, data):
    X, y = data
    limit, tiny = (ranker.fit(X, y * size, QID).coef_ / size for size in (1e-9, 1e-300))
    np.testing.assert_allclose(tiny, limit, rtol=1e-4)


@pytest.mark.parametrize("ranker", [NDCGRanker(gain="linear"), IN_PROPORTION["bilinear"]], ids=str)
def test_labels_whose_sums_overflow_are_refused(ranker, data):
    X, y = data
    with pytest.raises(ValueError, match=r"got 3e\+300: divide y by the largest"):
        ranker.fit(X, y * 1e300, QID)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e280])
def test_only_the_order_of_labels_counts_with_unit_weights(size, data):
    X, y = data
    ranker = PairwiseDisagreementRanker(weights="unit")
    coef = ranker.fit(X, y, QID).coef_
    np.testing.assert_array_equal(ranker.fit(X, y * size, QID).coef_, coef)


@pytest.mark.parametrize("size", [-1e280, 1e280])
def test_targets_of_one_sign_may_be_large(size, data):
    X, y = data
    coef = GramRidge().fit(X, y).coef_
    np.testing.assert_allclose(GramRidge().fit(X, y * size).coef_ / size, coef, rtol=1e-9)


# -- features ------------------------------------------------------------------------------

LINEAR = {
    "ridge": NDCGRanker(alpha=0),
    "squared": NDCGRanker(alpha=0, loss="squared"),
    "GramRidge": NDCGRanker(GramRidge(0.0)),
    "least squares": NDCGRanker(LinearRegression()),
    "logistic": OrderPreservingRanker("ndcg", loss="pairwise_logistic", alpha=0.0),
    "cv": LeastSquaresRankerCV(alphas=[0.0]),
}


SMALLEST_SPARSE = 1e-100 if sp_version >= parse_version("1.12") else 1e-25


@pytest.mark.pairs
@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
@pytest.mark.parametrize(("dtype", "size"), [("f", 1e-25), ("f", 1e25), ("d", 1e-100)])
def test_coefficients_are_in_proportion_to_one_over_the_features(
    name, container, dtype, size, data
):
    X, y = data
    X = X.astype(dtype)
    if container is csr_matrix and name == "squared" and size <= SMALLEST_SPARSE:
        pytest.skip("the solver of scikit-learn for sparse features stops at absolute limits")
    coef = LINEAR[name].fit(container(X), y, QID).coef_
    scaled = LINEAR[name].fit(container((X * size).astype(dtype)), y, QID).coef_
    np.testing.assert_allclose(scaled * size, coef, rtol=1e-3, atol=1e-4 * np.abs(coef).max())


@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
@pytest.mark.parametrize("size", [1e-30, 1e-10, 1e10])
def test_the_penalty_of_ridge_is_in_squares_of_the_features(loss, size, data):
    X, y = data
    coef = NDCGRanker(Ridge(2.0), loss=loss).fit(X, y, QID).coef_
    scaled = NDCGRanker(Ridge(2.0 * size**2), loss=loss).fit(X * size, y, QID).coef_
    np.testing.assert_allclose(scaled * size, coef, rtol=1e-9)


@pytest.mark.parametrize("features", ["bilinear", "concat"])
def test_pairs_of_small_features_in_single_precision(features, data):
    X, y = (part.astype("f") for part in data)
    ranker = AveragePrecisionRanker(
        surrogate="pairwise", alpha=0.0, pair_features=features, pred="diagonal", relevance_level=1
    )
    coef = ranker.fit(X, y, QID).estimator_.coef_
    scaled = ranker.fit(X * np.float32(1e-25), y, QID).estimator_.coef_
    scaled = scaled * 1e-25 ** (2 if features == "bilinear" else 1)
    np.testing.assert_allclose(scaled, coef, rtol=1e-3, atol=1e-4 * np.abs(coef).max())


@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
@pytest.mark.parametrize(("size", "what"), [(1e-160, "underflow"), (1e160, "overflow")])
def test_squares_out_of_range_are_refused(container, size, what, data):
    X, y = data
    X = container(X * np.array([size, 1, 1]))
    for ranker in (NDCGRanker(), NDCGRanker(GramRidge(0.0)), PairwiseLogisticRanker()):
        with pytest.raises(ValueError, match=rf"Squares of X must .*{what}"):
            ranker.fit(X, y, QID)
    with pytest.raises(ValueError, match=rf"Squares of X must .*{what}"):
        GramRidge().fit(X, y)
    pairs = PairwiseDisagreementRanker(surrogate="pairwise")
    if size > 1:
        with pytest.raises(ValueError, match=r"fourth power is in range, .* Scale the features"):
            pairs.fit(X, y, QID)


CONSTANT = [
    NDCGRanker(),
    NDCGRanker(GramRidge()),
    NDCGRanker(loss="squared"),
    OrderPreservingRanker(),
    LeastSquaresRankerCV(alphas=[1.0], cv=2),
]


@pytest.mark.parametrize("ranker", CONSTANT, ids=repr)
@pytest.mark.parametrize(("size", "weight"), [(1e150, 1e17), (1e-140, 1e-20), (1e100, 1e130)])
def test_weights_of_a_constant_times_its_squares_may_overflow(ranker, size, weight):
    X, y, qid = np.full((4, 1), size), [0, 1, 0, 2], [0, 0, 1, 1]
    coef = clone(ranker).fit(X, y, qid, sample_weight=np.full(4, weight)).coef_
    np.testing.assert_array_equal(coef, 0)


@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("mean", [1e-160, 1e-310])
def test_a_spread_may_be_infinitely_larger_than_its_mean(container, mean):
    y, qid = [0, 1, 0], [0, 0, 0]
    found = NDCGRanker().fit(container([[1.0], [-1.0], [mean]]), y, qid).coef_
    np.testing.assert_allclose(found, NDCGRanker().fit([[1.0], [-1.0], [0.0]], y, qid).coef_)


@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("size", "weight"), [(1e150, 1e17), (1e200, 1.0)])
def test_curvatures_that_overflow_are_refused(container, size, weight):
    X, y, qid = container(np.full((9, 2), size)), np.arange(9.0) % 3, np.zeros(9)
    ranker = StochasticAggregatedRanker(n_updates=5, random_state=0)
    with pytest.raises(ValueError, match=r"[Ss]quares .*overflow"):
        ranker.fit(X, y, qid, sample_weight=np.full(9, weight))


PRODUCTS = [
    ExpectedRankUtilityRanker(),
    ExpectedRankUtilityRanker(loss="squared"),
    PairwiseDisagreementRanker(),
    PairwiseDisagreementRanker(surrogate="pairwise"),
    ValueRegularizedRanker(),
]


@pytest.mark.every_case
@pytest.mark.parametrize("ranker", PRODUCTS, ids=repr)
def test_products_of_large_labels_and_weights(ranker):
    # Features that depend on each other; labels and weights of which squares are not in range.
    X, y = np.array([[-1.0, -1], [-1, -1], [-1, 0], [-1, -1]]), np.array([0, 1, 2, 0.0])
    ranker = clone(ranker).set_params(alpha=1e-9)
    one = clone(ranker).fit(X, y, np.zeros(4)).predict(X, np.zeros(4))
    for weight in (1e17, 1e150):
        given = np.full(4, weight)
        large = clone(ranker).fit(X, 1e150 * y, np.zeros(4), sample_weight=given)
        scale = 1.0 if "pairwise" in repr(ranker) else 1e150
        found = large.predict(X, np.zeros(4)) / scale
        np.testing.assert_allclose(found - found[2], one - one[2], rtol=1e-5)
    with pytest.raises(ValueError, match=r"Products of X.* y .*overflow"):
        clone(ranker).fit(1e9 * X, 1e150 * y, np.zeros(4), sample_weight=np.full(4, 1e150))


def test_features_of_zeros_are_none_that_underflow(data):
    X, y = data
    X = np.column_stack([X, np.zeros(120), np.full(120, 1e-140)])
    for features in (X, csr_matrix(X), X.astype("f")):
        for loss in ("squared", "pairwise_squared"):
            assert NDCGRanker(GramRidge(1.0), loss=loss).fit(features, y, QID).coef_[3] == 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_feature_of_single_precision_may_be_negative(sign, rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    X[:, 1] = sign * 1e25 * np.abs(X[:, 1])
    qid, X = np.repeat(np.arange(12), 5), X.astype("f")
    ranker = NDCGRanker(Ridge(solver="svd"), loss="squared")
    expected = ranker.fit(X.astype(float), y, qid).coef_
    np.testing.assert_allclose(ranker.fit(X, y, qid).coef_, expected, rtol=1e-4)
