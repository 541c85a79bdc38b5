"""Linear views are fitted in one pass over chunks of whole queries, whose columns are not kept."""

import tracemalloc

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from skcalrank import LeastSquaresRanker, StackingRanker, TabularRanker
from skcalrank.pipeline import QueryPipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, QueryScaler, signed_log1p

CURVES = {
    "scaled": QueryScaler(),
    "logs": FunctionTransformer(signed_log1p, feature_names_out="one-to-one"),
    "hinges": QuantileHinges(),
}


def rows_of(n_queries, n_numbers, *, categories=False, seed=0):
    """Rows of short queries and of one that is longer than a chunk, in mixed order."""
    rng = np.random.default_rng(seed)
    sizes = np.append(rng.integers(1, 40, n_queries), 2500)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = np.exp(rng.normal(size=(len(qid), n_numbers)))
    level = rng.integers(0, 120, len(qid))
    value = X[:, 0] - X[:, 1] + level % 3 + rng.normal(size=len(qid))
    X[rng.random(X.shape) < 0.1] = np.nan
    if categories:
        names = [None if k == 7 else f"level {k}" for k in level]
        X = np.column_stack([X.astype(object), np.array(names, dtype=object)])
    return X, np.digitize(value, [0, 2, 4]), qid


def one_by_one():
    """The views as pipelines, each of which is fitted alone to all of its columns."""
    ranker = LeastSquaresRanker("ndcg@10")
    views = {
        name: [("columns", LinearColumns(c)), ("ranker", ranker)] for name, c in CURVES.items()
    }
    return [(name, QueryPipeline(steps)) for name, steps in views.items()]


@pytest.mark.product
@pytest.mark.parametrize("method", ["fit", "fit_targets"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("categories", [False, True])
def test_views_are_those_that_are_fitted_one_by_one(categories, weighted, method):
    X, y, qid = rows_of(150, 5, categories=categories)
    weight = None
    if weighted:
        weight = np.where(qid == 3, 0.0, np.random.default_rng(1).random(len(qid)))
    together, apart = (
        StackingRanker(targets="grades"),
        StackingRanker(one_by_one(), targets="grades"),
    )
    for stack in (together, apart):
        getattr(stack, method)(X, y, qid, weight)
    np.testing.assert_allclose(together.weights_, apart.weights_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(together.spreads_, apart.spreads_, rtol=1e-9)
    for name, view in together.named_rankers_.items():
        own, other = view[-1], apart.named_rankers_[name][-1]
        assert own.alpha_ == other.alpha_
        np.testing.assert_allclose(own.coef_, other.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(view.predict(X, qid), apart.named_rankers_[name].predict(X, qid))
    np.testing.assert_allclose(together.predict(X, qid), apart.predict(X, qid), rtol=1e-9)


def test_views_of_other_columns_are_fitted_one_by_one():
    X, y, qid = rows_of(60, 3, categories=True)
    views = StackingRanker().fit(X, y, qid).named_rankers_
    rare = views["logs"].set_params(columns__max_categories=20)
    stack = StackingRanker([("all", views["hinges"]), ("rare", rare)]).fit(X, y, qid)
    counts = [view[0].indicators_[0].n_levels for view in stack.rankers_]
    assert counts[0] > 20 > counts[1]


def test_rankers_of_views_may_differ():
    X, y, qid = rows_of(60, 3)
    rankers = dict(zip(CURVES, [LeastSquaresRanker(alpha=5.0), LeastSquaresRanker("dcg"), None]))
    stacks = StackingRanker(), StackingRanker(one_by_one())
    for stack in stacks:
        stack.rankers = [
            (name, view.set_params(ranker=rankers[name]) if rankers[name] else view)
            for name, view in stack._members()
        ]
        stack.fit(X, y, qid)
    for name in CURVES:
        own, other = (stack.named_rankers_[name][-1] for stack in stacks)
        np.testing.assert_allclose(own.coef_, other.coef_, rtol=1e-8, atol=1e-10)


def test_order_of_queries_does_not_count():
    X, y, qid = rows_of(80, 4)
    order = np.argsort(np.random.default_rng(0).permutation(qid.max() + 1)[qid], kind="stable")
    ranker = TabularRanker(trees=None).fit(X, y, qid)
    other = TabularRanker(trees=None).fit(X[order], y[order], qid[order])
    np.testing.assert_array_equal(ranker.weights_, other.weights_)
    np.testing.assert_array_equal(ranker.predict(X, qid), other.predict(X, qid))


@pytest.mark.long
@pytest.mark.parametrize("is_frame", [False, True])
def test_columns_are_not_kept(is_frame):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 50)).astype(np.float32), rng.integers(0, 3, 60_000)
    qid = np.repeat(np.arange(1500), 40)
    if is_frame:
        X = pytest.importorskip("pandas").DataFrame(X).rename(columns="x{}".format)
    ranker = TabularRanker(trees=None).fit(X[:1000], y[:1000], qid[:1000])  # what is imported late
    tracemalloc.start()
    try:
        ranker.fit(X, y, qid)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The columns of the views are six times as many, and the matrix in double precision is 24 MB.
    assert peak < 30e6
