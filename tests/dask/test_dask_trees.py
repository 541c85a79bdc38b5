"""Boosted rankers fitted to dask collections, without a cluster: in this process."""

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries
from dask_cases import as_dask, da, dd, pd, whole_queries
from sklearn.base import clone

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker, TabularRanker

LIBRARIES = [name for name in ENGINES if name != "sklearn"]
pytestmark = [
    pytest.mark.usefixtures("dask_in_this_thread"),
    pytest.mark.skipif(not LIBRARIES, reason="needs lightgbm or xgboost"),
]
every_library = pytest.mark.parametrize("engine", LIBRARIES)


def check_equal(ours, local):
    """Fitted rankers of the same trees."""
    for name in ("best_iteration_", "engine_", "n_features_in_", "start_", "model_weights_"):
        assert getattr(ours, name) == getattr(local, name)
    np.testing.assert_array_equal(ours.validation_scores_, local.validation_scores_)
    of_trees = [r.__getstate__()["booster_"] for r in (ours, local)]
    assert of_trees[0] == of_trees[1]


@every_library
def test_the_trees_are_those_in_memory(engine):
    X, y, qid = made_queries(60, seed=0)
    lazy = as_dask(whole_queries(qid), X, y, qid)
    ours, local = boosted(engine).fit(*lazy), boosted(engine).fit(X, y, qid)
    check_equal(ours, local)
    np.testing.assert_array_equal(ours.predict(lazy[0]).compute(), local.predict(X))
    assert ours.score(*lazy) == pytest.approx(local.score(X, y, qid))


def offers(rng, n_queries=40, size=12):
    """A table with missing numbers, text, categories and dates, and weights."""
    _, y, qid = made_queries(n_queries, seed=0, n_documents=size)
    n = len(y)
    frame = pd.DataFrame(
        {
            "price": np.where(rng.random(n) < 0.1, np.nan, y + rng.normal(size=n)),
            "brand": np.where(rng.random(n) < 0.8, np.array(list("abcd"))[y], None),
            "sold": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "title": [" ".join(rng.choice(["red", "old", "new", "big"], 3)) for _ in range(n)],
            "weight": rng.uniform(0.5, 2.0, n_queries)[qid],
            "y": y,
            "qid": [f"query {q}" for q in qid],
        }
    )
    return frame.astype({"brand": "category"})


@pytest.mark.product
@every_library
@pytest.mark.parametrize("n_models", [1, 2])
def test_tables_are_read_as_in_memory(engine, n_models, rng):
    frame = offers(rng)
    lazy = dd.from_pandas(frame.set_index(np.arange(len(frame))), npartitions=4)
    lazy = lazy.repartition(divisions=[0, 120, 240, 360, len(frame) - 1])
    names = ["price", "brand", "sold", "title"]
    ours, local = (
        boosted(engine, n_models=n_models, columns={"title": "category"}).fit(
            d[names], d["y"], d["qid"], sample_weight=d["weight"]
        )
        for d in (lazy, frame)
    )
    assert ours.encoder_.describe() == local.encoder_.describe()
    np.testing.assert_array_equal(ours.predict(frame[names]), local.predict(frame[names]))
    np.testing.assert_array_equal(ours.feature_names_in_, local.feature_names_in_)


@every_library
def test_queries_to_stop_on_may_be_lazy(engine):
    X, y, qid = made_queries(60, seed=0)
    train = qid < 40
    rows, stop = [X[train], y[train], qid[train]], [X[~train], y[~train], qid[~train]]
    local = boosted(engine).fit(*rows, eval_set=tuple(stop))
    lazy = as_dask(whole_queries(rows[2]), *rows)
    lazy_stop = tuple(as_dask(whole_queries(stop[2]), *stop))
    check_equal(boosted(engine).fit(*lazy, eval_set=tuple(stop)), local)
    check_equal(boosted(engine).fit(*lazy, eval_set={"new": lazy_stop}), local)


def test_partitions_without_rows_have_no_say():
    X, y, qid = made_queries(30, seed=0)
    sizes = (0, 150, 0, 300)
    lazy = [da.from_array(a, chunks=(sizes, *a.shape[1:])) for a in (X, y, qid)]
    check_equal(boosted(FIRST).fit(*lazy), boosted(FIRST).fit(X, y, qid))


def test_what_cannot_be_fitted_is_refused_and_changes_nothing():
    X, y, qid = made_queries(30, seed=0)
    ranker = boosted(FIRST).fit(X, y, qid)
    before = dict(vars(ranker))
    lazy = as_dask(150, X, y, qid)
    with pytest.raises(ValueError, match="query 10 in partitions 0 and 1: repartition by"):
        ranker.fit(*as_dask(160, X, y, qid))
    with pytest.raises(ValueError, match="callbacks must be None for dask collections"):
        ranker.fit(*lazy, callbacks=[print])
    with pytest.raises(ValueError, match="y must be non-negative"):
        ranker.fit(lazy[0], lazy[1] - 1, lazy[2])
    assert vars(ranker) == before
    for params, message in [
        ({"start": NDCGRanker()}, "start must be None for dask collections, got NDCGRanker"),
        ({"engine": "sklearn"}, "engine must be 'lightgbm' or 'xgboost' for dask collections"),
        ({"n_estimators": 0}, "n_estimators"),
    ]:
        with pytest.raises(ValueError, match=message):
            BoostedRanker(**params).fit(*lazy)


def test_stacks_are_those_in_memory(rng):
    frame = offers(rng)
    lazy = dd.from_pandas(frame.set_index(np.arange(len(frame))), npartitions=4)
    lazy = lazy.repartition(divisions=[0, 120, 240, 360, len(frame) - 1])
    names = ["price", "brand", "sold", "title"]
    stack = TabularRanker(trees=boosted(FIRST))
    ours, local = (
        clone(stack).fit(d[names], d["y"], d["qid"], sample_weight=d["weight"])
        for d in (lazy, frame)
    )
    np.testing.assert_array_equal(ours.weights_, local.weights_)
    qid = frame["qid"]
    np.testing.assert_array_equal(ours.predict(frame[names], qid), local.predict(frame[names], qid))
    scores = ours.predict(lazy[names], lazy["qid"]).compute()
    np.testing.assert_allclose(scores, local.predict(frame[names], qid))


def test_a_stack_of_any_rankers_is_fitted_in_this_process():
    X, y, qid = made_queries(30, seed=0)
    lazy = as_dask(150, X, y, qid)
    stack = StackingRanker([("trees", boosted(FIRST)), ("linear", NDCGRanker())])
    ours, local = clone(stack).fit(*lazy), clone(stack).fit(X, y, qid)
    np.testing.assert_array_equal(ours.predict(X), local.predict(X))
    stop = made_queries(20, seed=1)
    again = clone(stack).fit(*lazy, eval_set=tuple(as_dask(150, *stop)))
    local = clone(stack).fit(X, y, qid, eval_set=stop)
    np.testing.assert_array_equal(again.predict(X), local.predict(X))
