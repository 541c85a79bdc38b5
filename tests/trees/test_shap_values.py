"""SHAP values of scikit-learn's histogram trees are those of their definition."""

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from boosting_cases import boosted, made_queries
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import NDCGRanker
from skcalrank.inspection import explain_order

N_COLUMNS = 5


@cache
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, N_COLUMNS))
    X[:, 2] = rng.integers(0, 6, 300)
    X[rng.random(X.shape) < 0.1] = np.nan
    known = np.nan_to_num(X)
    return X, (2 + known[:, 0]) * (known[:, 2] % 2) + np.abs(known[:, 1]) + known[:, 3]


@cache
def grown(categories, **options):
    defaults = {"max_iter": 5, "max_leaf_nodes": 9, "min_samples_leaf": 5, "early_stopping": False}
    kinds = [2] if categories else None
    model = HistGradientBoostingRegressor(**defaults | options, categorical_features=kinds)
    return model.fit(*problem())


def goes_left(node, values, bitsets):
    value = values[node["feature"]]
    if node["is_categorical"]:
        if np.isnan(value):
            return node["missing_go_to_left"]
        code = int(value)
        return bitsets[node["bitset_idx"]][code // 32] >> np.uint32(code % 32) & 1
    return node["missing_go_to_left"] if np.isnan(value) else value <= node["num_threshold"]


def expected(model, row, known):
    """Mean of the model over the rows of fit, along the splits on columns that are not known."""
    # Columns of categories come first in the trees.
    order = [0, 1, 2, 3, 4] if model.is_categorical_ is None else [2, 0, 1, 3, 4]
    values, total = row[order], model._baseline_prediction.item()
    for (tree,) in model._predictors:

        def mean(number, tree=tree):
            node = tree.nodes[number]
            if node["is_leaf"]:
                return node["value"]
            ways = node["left"], node["right"]
            if order[node["feature_idx"]] in known:
                fields = {name: node[name] for name in tree.nodes.dtype.names}
                fields["feature"] = node["feature_idx"]
                left = goes_left(fields, values, tree.raw_left_cat_bitsets)
                return mean(ways[not left])
            counts = [tree.nodes[way]["count"] for way in ways]
            return np.average([mean(way) for way in ways], weights=counts)

        total += mean(0)
    return total


def by_definition(model, row):
    """Mean change of the expected score as each column becomes known."""
    columns, values = range(N_COLUMNS), np.zeros(N_COLUMNS)
    means = {
        known: expected(model, row, known)
        for size in range(N_COLUMNS + 1)
        for known in combinations(columns, size)
    }
    for known, mean in means.items():
        for column in set(columns) - set(known):
            gain = means[tuple(sorted((*known, column)))] - mean
            values[column] += gain / N_COLUMNS / comb(N_COLUMNS - 1, len(known))
    return values


@pytest.mark.product
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("leaves", [3, 9])
def test_values_are_those_of_the_definition(categories, leaves):
    model, X = grown(categories, max_leaf_nodes=leaves), problem()[0][:8]
    if categories:
        assert any(tree.nodes["is_categorical"].any() for (tree,) in model._predictors)
    ranker = ranker_of(model)
    for row in range(1, 8):
        difference = by_definition(model, X[row]) - by_definition(model, X[0])
        parts = explain_order(ranker, X, row, 0).contributions
        np.testing.assert_allclose(parts, difference, atol=1e-12)


def ranker_of(model):
    """A ranker around a regressor that is fitted already."""
    ranker = NDCGRanker(HistGradientBoostingRegressor(max_iter=1)).fit(*problem_of_queries())
    ranker.estimator_ = model
    return ranker


def problem_of_queries():
    X, y = problem()
    return X, np.digitize(y, [0.5, 1.5]), np.repeat(np.arange(30), 10)


def test_trees_without_splits_have_no_parts():
    model = grown(False, min_samples_leaf=299)
    assert explain_order(ranker_of(model), problem()[0], 3, 1).contributions.tolist() == [0.0] * 5


@pytest.mark.parametrize("n_rows", [1, 40, 450])
def test_rows_have_the_parts_that_they_have_in_any_batch(n_rows):
    X, y, qid = made_queries(30, seed=0)
    ranker = boosted("sklearn").fit(X, y, qid)
    parts, whole = ranker.contributions(X[:n_rows]), ranker.contributions(X)
    np.testing.assert_array_equal(parts, whole[:n_rows])
    np.testing.assert_allclose(parts.sum(axis=1), ranker.predict(X[:n_rows]), atol=1e-12)


def test_a_refit_is_explained_anew():
    X, y, qid = made_queries(30, seed=0)
    ranker = boosted("sklearn").fit(X, y, qid)
    before = ranker.contributions(X)
    ranker.fit(-X, y, qid)
    after = ranker.contributions(X)
    assert np.ptp(after - before) > 0
    np.testing.assert_allclose(after.sum(axis=1), ranker.predict(X), atol=1e-12)
