"""Rankers with a surrogate on pairs, every setting in both forms of the data."""

import numpy as np
import pytest
from definitions import disagreement, preferences
from pair_cases import (
    EVERY_LINEAR,
    LINEAR,
    PREDS,
    every_linear,
    every_maker,
    every_pred,
    every_setting,
    map_ranker,
    over,
    pd_ranker,
    setting,
)
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    RankingTarget,
)
from skcalrank.preds import PredResult, sort_positions

# -- every setting in both forms of the data -------------------------------------------


@pytest.fixture
def ranker(which):
    return setting(*which)


def per_query(qid):
    """Rows of each query, in order of first appearance."""
    return [np.flatnonzero(qid == q) for q in dict.fromkeys(qid.tolist())]


@every_setting
def test_what_the_methods_return(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    matrices = ranker.surrogate_values(X, qid)
    results = ranker.solve(X, qid)
    positions, scores = ranker.rank(X, qid), ranker.predict(X, qid)
    queries = per_query(qid)
    assert isinstance(matrices, list)
    assert [m.shape for m in matrices] == [(len(q), len(q)) for q in queries]
    assert all(isinstance(result, PredResult) for result in results)
    assert positions.shape == scores.shape == y.shape
    assert scores.dtype == np.float64
    assert positions.dtype.kind == "i"
    for rows, result in zip(queries, results, strict=True):
        assert np.array_equal(result.positions, positions[rows])
        assert np.array_equal(result.positions, sort_positions(scores[rows]))
    assert np.array_equal(ranker.top_k(X, qid, k=1), [q[positions[q] == 1][0] for q in queries])
    assert -np.inf < ranker.score(X, y, qid) < np.inf


@every_setting
def test_positions_are_those_of_the_matrices(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    for matrix, result in zip(ranker.surrogate_values(X, qid), ranker.solve(X, qid)):
        last = np.maximum(result.positions[:, None], result.positions)
        value = {
            AveragePrecisionRanker: (np.tril(matrix) / last).sum(),
            PairwiseDisagreementRanker: disagreement(matrix, result.positions),
        }[type(ranker)]
        assert result.value == pytest.approx(value, abs=1e-10)


@over(*EVERY_LINEAR, *((make, pred, "network") for make, preds in PREDS.items() for pred in preds))
def test_order_of_the_rows_to_be_ranked(ranker, data, rng):
    X, y, qid = data
    ranker.fit(X, y, qid)
    expected = ranker.rank(X, qid)
    together = np.argsort(qid, kind="stable")
    for rows in (rng.permutation(len(y)), together, together[::-1]):
        assert np.array_equal(ranker.rank(X[rows], qid[rows]), expected[rows])


@over(*EVERY_LINEAR)
def test_order_of_the_rows_to_be_learned_from(ranker, data, rng):
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
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_without_qid_all_rows_are_one_query(ranker, data):
    X, y = (part[:9] for part in data[:2])
    one = clone(ranker).fit(X, y)
    two = clone(ranker).fit(X, y, np.zeros(9))
    assert np.array_equal(one.rank(X), two.rank(X, np.zeros(9)))
    assert one.score(X, y) == pytest.approx(two.score(X, y, np.zeros(9)))
    assert len(one.surrogate_values(X)) == 1


@pytest.mark.product
@every_pred
@pytest.mark.parametrize(
    "estimator",
    [None, KernelRidge(kernel="rbf"), DecisionTreeRegressor(max_depth=3)],
    ids=["ridge", "kernel", "tree"],
)
def test_label_form(ranker, estimator, label_data):
    X, y = label_data
    ranker.set_params(estimator=estimator, alpha="auto").fit(X, y)
    matrices, positions = ranker.surrogate_values(X), ranker.rank(X)
    assert matrices.shape == (40, 4, 4)
    assert np.array_equal(sort_positions(ranker.predict(X)), positions)
    assert positions.shape == y.shape
    assert np.array_equal(positions, [result.positions for result in ranker.solve(X)])
    assert np.array_equal(ranker.rank(X[:1])[0], positions[0])
    assert ranker.top_k(X, k=2).shape == (40, 2)
    if isinstance(ranker, AveragePrecisionRanker):
        assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    assert np.isfinite(ranker.score(X, y))


@every_maker
@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
def test_label_form_is_multi_output_regression(make, label_data):
    X, y = label_data
    y = (y > 0) * 1.0
    expected = {
        map_ranker: [np.outer(row, row) / max(row.sum(), 1) for row in y],
        pd_ranker: [preferences(row) for row in y],
    }[make]
    expected = Ridge(0.3).fit(X, np.reshape(expected, (40, 16))).predict(X).reshape(40, 4, 4)
    for params in ({"alpha": 0.3}, {"estimator": Ridge(0.3)}):
        found = make(**params).fit(X, y).surrogate_values(X)
        np.testing.assert_allclose(found, expected, atol=1e-10)
    assert make(estimator=SVR()).fit(X, y).rank(X).shape == (40, 4)


# -- targets, weights, containers ------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_the_automatic_penalty_is_the_one_of_the_fit(weight, data, label_data):
    X, Y = label_data
    of_labels = PairwiseDisagreementRanker(surrogate="pairwise").fit(X, Y)
    assert of_labels.alpha_ == of_labels.estimator_.alpha
    X, y, qid = data
    of_documents = PairwiseDisagreementRanker(surrogate="pairwise")
    assert of_documents.fit(X, y, qid, np.full(len(y), weight)).alpha_ == weight


@pytest.mark.product
@pytest.mark.parametrize("weights", ["difference", "unit"])
@pytest.mark.parametrize("features", LINEAR)
def test_preferences_of_relevances_are_the_relevances(weights, features, data, label_data):
    X, y, qid = data
    ranker = setting(pd_ranker, "exact", features).set_params(weights=weights)
    preferred = PreferenceTarget.from_relevance(y, qid, weights=weights)
    one, two = clone(ranker).fit(X, y, qid), clone(ranker).fit(X, preferred)
    for a, b in zip(one.surrogate_values(X, qid), two.surrogate_values(X, qid), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert np.array_equal(one.rank(X, qid), two.rank(X, qid))
    assert one.score(X, y, qid) == pytest.approx(two.score(X, preferred))
    X, y = label_data
    preferred = PreferenceTarget.from_relevance(y, weights=weights)
    both = [clone(ranker).fit(X, target).surrogate_values(X) for target in (y, preferred)]
    np.testing.assert_allclose(*both, atol=1e-10)


def test_orders_are_relevances_turned_round(rng):
    X, positions = rng.normal(size=(30, 2)), np.array([rng.permutation(5) + 1.0 for _ in range(30)])
    targets = {"unit": -positions, "difference": PreferenceTarget.from_orders(positions)}
    both = [pd_ranker(weights=w).fit(X, y).surrogate_values(X) for w, y in targets.items()]
    np.testing.assert_allclose(*both, atol=1e-12)
    positions[:, 2] = np.nan
    unranked = pd_ranker().fit(X, PreferenceTarget.from_orders(positions)).surrogate_values(X)
    assert np.abs(unranked[:, 2]).max() < 1e-12


@every_linear
def test_a_constant_weight_counts_as_often(ranker, data):
    X, y, qid = data
    exact = 5e-8 if ranker.pair_features == "bilinear" else 1e-10
    ranker.set_params(alpha=1.0)
    fitted = clone(ranker).fit(X, y, qid)
    once = clone(ranker).fit(X, y, qid, np.ones(len(y)))
    thrice = clone(ranker).set_params(alpha=3 * ranker.alpha).fit(X, y, qid, np.full(len(y), 3.0))
    for other in (once, thrice):
        for a, b in zip(fitted.surrogate_values(X, qid), other.surrogate_values(X, qid)):
            np.testing.assert_allclose(a, b, atol=exact)
        assert np.array_equal(other.rank(X, qid), fitted.rank(X, qid))


@every_pred
def test_constant_weight_of_rows_changes_nothing_in_the_score(ranker, data):
    X, y, qid = data
    ranker.fit(X, y, qid)
    expected = ranker.score(X, y, qid)
    assert ranker.score(X, y, qid, np.full(len(y), 7.0)) == pytest.approx(expected)


@every_linear
def test_a_query_of_weight_zero_is_ranked_but_not_learned_from(ranker, data):
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
    assert all(m.dtype == np.float64 for m in single.surrogate_values(X, qid))


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
    # Label ranking does not use pair features, so missing values are accepted.
    assert pd_ranker(estimator=boosted).fit(X, y).rank(X).shape == y.shape


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
@every_setting
def test_queries_of_one_document_and_without_relevant_ones(ranker, rng):
    X, qid = rng.normal(size=(8, 2)), np.array([0, 0, 0, 1, 2, 2, 2, 2])
    y = np.array([0, 0, 0, 1, 1, 0, 2, 0])
    assert np.array_equal(clone(ranker).fit(X, y, qid).rank(X, qid)[3], 1)
    nothing = clone(ranker).fit(X, np.zeros(8), qid)
    for matrix in nothing.surrogate_values(X, qid):
        assert np.isfinite(matrix).all()


@pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning")
@pytest.mark.parametrize("features", ["bilinear", "concat", "tree", "network"])
@every_maker
def test_only_queries_of_one_document(make, features, rng):
    X, y, qid = rng.normal(size=(6, 2)), np.array([1, 0, 1, 0, 1, 1]), np.arange(6)
    ranker = setting(make, None, features).fit(X, y, qid)
    assert ranker.rank(X, qid).tolist() == [1] * 6


@over(*EVERY_LINEAR)
def test_degenerate_features(ranker, data):
    X, y, qid = data
    for flat in (np.ones_like(X), np.zeros_like(X), X[:, :1], np.repeat(X[:, :1], 3, axis=1)):
        ranker = clone(ranker).fit(flat, y, qid)
        matrices = ranker.surrogate_values(flat, qid)
        assert all(np.isfinite(matrix).all() for matrix in matrices)
        assert ranker.rank(flat, qid).max() == 9
