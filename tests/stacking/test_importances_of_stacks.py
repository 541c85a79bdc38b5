"""Importances of the columns of a table in a stack."""

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Ridge
from tables import FORMS, labels, made_columns

from skcalrank import NDCGRanker, StackingRanker, TabularRanker, load_digits_queries

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)
TABLE = FORMS["records"](COLUMNS)


@pytest.mark.parametrize("trees", [*ENGINES, None])
def test_columns_of_the_table_share_the_importance(trees):
    few = trees and boosted(trees, n_estimators=5)
    ranker = TabularRanker("ndcg@5", trees=few, n_jobs=1).fit(TABLE, Y, QID)
    ranker.weights_ = np.ones(len(ranker.weights_))
    importances = dict(zip(COLUMNS, ranker.feature_importances_))
    assert sum(importances.values()) == pytest.approx(1)
    assert importances["one"] == 0
    assert min(importances["stars"], importances["brand"]) > importances["used"]


def test_linear_rankers_share_the_variance_within_queries():
    # Between queries the second column varies more than the first, which orders no documents.
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 10)
    X = rng.normal(size=(2000, 3))
    X[:, 1] += 100 * qid
    y = X @ [2.0, 1.0, 0.0] + rng.normal(size=2000)
    y = np.digitize(y - np.repeat(y.reshape(200, 10).mean(axis=1), 10), [-2, 0, 2])
    stack = StackingRanker([("linear", NDCGRanker(alpha=0.0))]).fit(X, y, qid)
    stack.weights_[:] = 1.0
    within = X - np.repeat(X.reshape(200, 10, 3).mean(axis=1), 10, axis=0)
    variances = ((within * stack.rankers_[0].coef_) ** 2).sum(axis=0)
    np.testing.assert_allclose(stack.feature_importances_, variances / variances.sum(), rtol=1e-8)


def test_curves_of_a_number_are_one_column():
    X, y, qid = load_digits_queries(n_queries=30, n_documents=10)
    ranker = TabularRanker("ndcg@5", trees=None).fit(X, y, qid)
    ranker.weights_[:] = 0.0, 0.0, 1.0
    columns, last = (step for _, step in ranker.linear_.hinges.steps)
    terms = columns.transform(X) * last.coef_
    sums = np.zeros(X.shape)
    np.add.at(sums.T, columns.curve_.features_, terms.T)
    within = sums - np.repeat(sums.reshape(30, 10, -1).mean(axis=1), 10, axis=0)
    expected = (within**2).sum(axis=0)
    np.testing.assert_allclose(ranker.feature_importances_, expected / expected.sum(), rtol=1e-8)


def test_rankers_count_by_their_weights():
    X, y, qid = load_digits_queries(n_queries=30, n_documents=10)
    trees = ExtraTreesRegressor(5, random_state=0)
    stack = StackingRanker([("linear", NDCGRanker()), ("trees", trees)]).fit(X, y, qid)
    of_each = []
    for weights in ([1.0, 0.0], [0.0, 1.0], [3.0, 1.0]):
        stack.weights_[:] = weights
        of_each.append(stack.feature_importances_)
    np.testing.assert_allclose(of_each[1], stack.rankers_[1].feature_importances_)
    np.testing.assert_allclose(of_each[2], 0.75 * of_each[0] + 0.25 * of_each[1])


def test_a_ranker_without_importances_is_named():
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    stack = StackingRanker([("ridge", Ridge())]).fit(X, y, qid)
    assert not hasattr(stack, "feature_importances_")
    with pytest.raises(AttributeError, match=r"which 'ridge' \(ExternalRanker\) does not have"):
        _ = stack.feature_importances_
    assert not hasattr(StackingRanker(), "feature_importances_")


def test_features_are_selected_by_importance():
    X, y, qid = load_digits_queries(n_queries=30, n_documents=10)
    ranker = TabularRanker("ndcg@5", trees=None).fit(X, y, qid)
    selected = SelectFromModel(ranker, prefit=True, threshold=0.02).transform(X)
    assert selected.shape[1] == (ranker.feature_importances_ >= 0.02).sum()
    assert 0 < selected.shape[1] < X.shape[1]
