"""Search engines: what their plugins take a missing feature for does not change the order."""

import json

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted, pickled
from external_cases import TREES, tree_ranker
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV

from skcalrank import NDCGRanker, QueryKFold, RankingTarget
from skcalrank.export import to_elasticsearch, to_opensearch
from skcalrank.metrics import get_scorer
from skcalrank.pipeline import make_query_pipeline

NAMES, QID = list("abcd"), np.repeat(np.arange(60), 8)


def made(missing):
    """Features, of which the first three lack values, that are 0 or NaN, and grades."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(480, 4))) + 0.5
    X[:, 3] -= 1.5  # 0 is in the middle of it
    X = X.astype(np.float32).astype(float)
    worth = X @ [1.0, -0.7, 0.8, 0.5]
    gaps = rng.random((480, 4)) < [0.3, 0.2, 0.1, 0.0]
    worth -= gaps @ [1.0, 0.5, 1.0, 0.0]
    X[gaps] = missing
    return X, np.digitize(worth + 0.3 * rng.normal(size=480), [-0.5, 0.5, 1.5]), gaps


# -- the rules of plugins ------------------------------------------------------------------------


def of_zero(node):
    """A missing feature is 0."""
    return node["yes"] if np.float32(node["split_condition"]) > 0 else node["no"]


def of_missing(node):
    """A missing feature goes where the model says."""
    return node["missing"]


def of_no(node):
    """A missing feature is NaN, which is below no threshold."""
    return node["no"]


def scores_of(text, X, rule):
    """Scores in single precision by a plugin that has a rule for features without a value."""
    trees = json.loads(json.loads(text)["model"]["model"]["definition"])

    def leaf(node, row):
        while "leaf" not in node:
            x = row[NAMES.index(node["split"])]
            below = np.float32(node["split_condition"]) > x
            way = rule(node) if np.isnan(x) else node["yes" if below else "no"]
            node = next(child for child in node["children"] if child["nodeid"] == way)
        return np.float32(node["leaf"])

    rows = X.astype(np.float32)
    return np.array([sum((leaf(tree, row) for tree in trees), np.float32(0)) for row in rows])


def assert_same_order(scores, expected):
    assert np.ptp(scores - expected) <= 1e-5 * np.ptp(expected)


def search():
    trees = NDCGRanker(HistGradientBoostingRegressor(max_iter=8), loss="squared")
    grid = {"estimator__max_iter": [8]}
    return GridSearchCV(trees, grid, scoring=get_scorer("ndcg"), cv=QueryKFold(2))


CASES = {engine: lambda engine=engine: boosted(engine, n_models=2) for engine in ENGINES}
CASES |= {f"external {engine}": lambda engine=engine: tree_ranker(engine) for engine in TREES}
CASES |= {
    "pipeline": lambda: make_query_pipeline(boosted(ENGINES[-1])),
    "search": search,
}
every_case = pytest.mark.parametrize("make", CASES.values(), ids=CASES)


def fitted(make, X, y):
    ranker = make()
    if isinstance(ranker, GridSearchCV):
        return ranker.fit(X, RankingTarget(y, QID))
    return pickled(ranker.fit(X, y, QID))


@every_case
@pytest.mark.parametrize("rule", [of_zero, of_missing])
def test_trained_on_zeros(make, rule):
    X, y, gaps = made(0.0)
    ranker = fitted(make, X, y)
    text = to_elasticsearch(ranker, "m", feature_names=NAMES)
    assert text == to_opensearch(ranker, "m", feature_names=NAMES)
    asked = np.where(gaps, np.nan, X)
    assert_same_order(scores_of(text, asked, rule), ranker.predict(X))
    # A column that had values everywhere in fit counts as 0 where a document lacks it.
    asked[::3, 3], X[::3, 3] = np.nan, 0.0
    assert_same_order(scores_of(text, asked, rule), ranker.predict(X))


@every_case
def test_trained_on_missing_values(make):
    X, y, _ = made(np.nan)
    ranker = fitted(make, X, y)
    text = to_elasticsearch(ranker, "m", feature_names=NAMES)
    assert_same_order(scores_of(text, X, of_missing), ranker.predict(X))
    # The other rules are not those of the model.
    for rule in (of_zero, of_no):
        gap = np.ptp(scores_of(text, X, rule) - ranker.predict(X))
        assert gap > 0.1 * np.ptp(ranker.predict(X))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_feature_set_that_defaults_to_zero(engine):
    # What OpenSearch 3.2 to 3.5 needs, whose rule is "no".
    X, y, gaps = made(0.0)
    ranker = boosted(engine).fit(X, y, QID)
    text = to_opensearch(ranker, "m", feature_names=NAMES)
    assert_same_order(scores_of(text, X, of_no), ranker.predict(X))
    wrong = scores_of(text, np.where(gaps, np.nan, X), of_no) - ranker.predict(X)
    assert np.ptp(wrong) > 0.1 * np.ptp(ranker.predict(X))


def test_trees_that_no_ranker_has_fitted():
    X, y, _ = made(np.nan)
    trees = HistGradientBoostingRegressor(max_iter=8).fit(X, y)
    text = to_elasticsearch(trees, "m", feature_names=NAMES)
    assert_same_order(scores_of(text, X, of_missing), trees.predict(X))
