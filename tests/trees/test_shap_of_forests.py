"""SHAP values of scikit-learn's trees and forests are those of their definition."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from boosting_cases import made_queries
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from skcalrank import NDCGRanker
from skcalrank.inspection import explain_order

X, Y, QID = made_queries(20, seed=0, n_features=4)
MODELS = {
    "tree": (DecisionTreeRegressor(max_depth=5, random_state=0), lambda m: ([m], 1.0)),
    "forest": (
        RandomForestRegressor(3, max_depth=5, random_state=0),
        lambda m: (m.estimators_, 1 / 3),
    ),
    "extra trees": (
        ExtraTreesRegressor(3, max_depth=5, random_state=0),
        lambda m: (m.estimators_, 1 / 3),
    ),
    "boosting": (
        GradientBoostingRegressor(n_estimators=4, learning_rate=0.3, random_state=0),
        lambda m: (m.estimators_[:, 0], 0.3),
    ),
}


def expected(tree, row, known, node=0):
    """Mean of a tree over the rows of fit, along the splits on columns that are not known."""
    below = tree.children_left[node], tree.children_right[node]
    if below[0] < 0:
        return tree.value[node, 0, 0]
    if tree.feature[node] in known:
        value = np.float32(row[tree.feature[node]])
        if np.isnan(value):
            return expected(tree, row, known, below[int(not tree.missing_go_to_left[node])])
        return expected(tree, row, known, below[int(value > tree.threshold[node])])
    weights = [tree.weighted_n_node_samples[way] for way in below]
    return np.average([expected(tree, row, known, way) for way in below], weights=weights)


def by_definition(trees, factor, row):
    """Mean change of the expected score as each column becomes known."""
    n_columns, values = len(row), np.zeros(len(row))
    for size in range(n_columns):
        for known in combinations(range(n_columns), size):
            for column in set(range(n_columns)) - set(known):
                after = [expected(m.tree_, row, {*known, column}) for m in trees]
                before = [expected(m.tree_, row, known) for m in trees]
                gain = factor * (np.sum(after) - np.sum(before))
                values[column] += gain / n_columns / comb(n_columns - 1, size)
    return values


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_values_are_those_of_the_definition(name, gaps):
    model, trees_of = MODELS[name]
    rows = X.copy()
    if gaps:
        if name == "boosting":
            pytest.skip("it does not take missing values")
        rows[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    ranker = NDCGRanker(model).fit(rows, Y, QID)
    trees, factor = trees_of(ranker.estimator_)
    parts = explain_order(ranker, rows, 3, 1).contributions
    difference = by_definition(trees, factor, rows[3]) - by_definition(trees, factor, rows[1])
    np.testing.assert_allclose(parts, difference, atol=1e-12)
    assert np.abs(parts).max() > 1e-4


def test_sparse_rows_are_those_of_arrays():
    ranker = NDCGRanker(MODELS["forest"][0]).fit(X, Y, QID)
    if not ranker.__sklearn_tags__().input_tags.sparse:
        pytest.skip("forests of this version do not say that they take sparse rows")
    dense = explain_order(ranker, X, 3, 1).contributions
    sparse = explain_order(ranker, csr_matrix(X), 3, 1).contributions
    np.testing.assert_array_equal(sparse, dense)
