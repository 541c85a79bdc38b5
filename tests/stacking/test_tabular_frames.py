"""TabularRanker on data frames."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from sklearn.model_selection import cross_val_score

from skcalrank import (
    BoostedRanker,
    QueryKFold,
    RankingTarget,
    StackingRanker,
    TabularRanker,
    get_scorer,
    load_digits_queries,
)
from skcalrank.data import MissingQidError
from skcalrank.metrics import ndcg_score


def offers(n_queries=60, seed=0):
    """A frame of numbers, categories, text and missing values, grades, and text queries."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"query {number}" for number in range(n_queries)], 10)
    rows = rng.permutation(len(qid))
    qid, n = qid[rows], len(qid)
    shop, text = rng.choice(["Ada", "Bell", "Cook"], n), rng.choice(["new", "old"], n)
    price, rating = rng.lognormal(size=n), rng.normal(size=n)
    worth = (shop == "Ada") + (text == "new") - np.log(price) + rating + rng.normal(size=n)
    X = pandas.DataFrame(
        {
            "shop": pandas.Categorical(shop),
            "price": price,
            "rating": np.where(rng.random(n) < 0.3, np.nan, rating),
            "state": np.where(rng.random(n) < 0.1, None, text),
            "empty": np.nan,
        }
    )
    return X, np.clip(np.round(worth), 0, 4), qid


def small(**params):
    trees = params.pop("trees", FIRST)
    few = trees and boosted(trees, n_estimators=20, n_iter_no_change=5)
    return TabularRanker("ndcg@5", trees=few, random_state=0, n_jobs=1, **params)


@pytest.mark.product
@pytest.mark.parametrize("trees", [FIRST, None, "sklearn"])
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_a_table_as_it_is(trees, container):
    X, y, qid = offers()
    if container == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    test = np.isin(qid, np.unique(qid)[:20])
    rows = [np.flatnonzero(part) for part in (~test, test)]
    train, held = (X[part] if container == "polars" else X.iloc[part] for part in rows)
    ranker = small(trees=trees).fit(train, y[~test], qid[~test])
    value = ndcg_score(y[test], ranker.predict(held, qid[test]), qid=qid[test], k=5)
    assert value > 0.75
    with pytest.raises(MissingQidError):
        ranker.predict(held)
    assert list(ranker.feature_names_in_) == ["shop", "price", "rating", "state", "empty"]


def test_a_category_that_fit_has_not_seen():
    X, y, qid = offers()
    ranker = small().fit(X, y, qid)
    new = X.assign(shop="Dunn")
    assert np.isfinite(ranker.predict(new, qid)).all()


def test_dates_are_learned_from():
    X, y, qid = offers()
    days = np.random.default_rng(0).integers(0, 300, len(y))
    y = np.digitize(days, [100, 200]).astype(float)
    y[::20] = 1
    X["day"] = np.datetime64("2026-01-01") + days
    assert small(trees=None).fit(X, y, qid).score(X, y, qid) > 0.9


def test_a_column_that_holds_a_list_is_named():
    X, y, qid = offers(10)
    X["mixed"] = [["new"], *X["state"][1:]]
    with pytest.raises(ValueError, match=r"'mixed' of X must hold .* got list and str\. Convert"):
        small(trees=None).fit(X, y, qid)


def test_columns_that_are_all_constant_are_named():
    X, y, qid = offers(10)
    X = X[["price", "empty"]].assign(price=2.5)
    with pytest.raises(ValueError, match=r"only 'price' \(constant\), 'empty' \(constant\)"):
        small(trees=None).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"two different values, .* only: 0, 1"):
        small(trees=None).fit(X.to_numpy(), y, qid)


@pytest.mark.parametrize("dtype", ["string", "object", "category", "Float64", "float32"])
@pytest.mark.parametrize("make", [lambda: small(trees=None), lambda: boosted(FIRST)])
def test_columns_without_values_change_no_order(make, dtype):
    pandas = pytest.importorskip("pandas")

    X, y, qid = offers(20)
    X["void"] = pandas.Series([None] * len(X), dtype=dtype)
    ranker = make().fit(X, y, qid)
    assert np.isfinite(ranker.predict(X, qid)).all()


def test_cross_validation_is_one_statement():
    X, y, qid = offers()
    folds = {"cv": QueryKFold(3), "scoring": get_scorer("ndcg@5")}
    values = cross_val_score(small(), X, RankingTarget(y, qid), **folds)
    assert values.min() > 0.7


def test_neither_order_nor_names_matter():
    X, y, qid = offers(30)
    expected = small().fit(X, y, qid).predict(X, qid)
    rows = np.random.default_rng(1).permutation(len(y))
    again = small().fit(X.iloc[rows], y[rows], qid[rows]).predict(X, qid)
    np.testing.assert_allclose(again, expected, atol=1e-6)


# -- few queries -------------------------------------------------------------------------

# Held-out rows of a single query may all have the same label.
FEW = pytest.mark.filterwarnings("ignore:ndcg is undefined")


@pytest.mark.long
@pytest.mark.product
@FEW
@pytest.mark.parametrize("trees", ["lightgbm", "sklearn", None])
@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_few_queries_are_enough(n_queries, trees):
    if trees == "lightgbm":
        pytest.importorskip("lightgbm")
    X, y, qid = load_digits_queries(n_queries, 30)
    ranker = TabularRanker(trees=trees).fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.9
    assert ranker.weights_.sum() > 0


@FEW
@pytest.mark.parametrize("n_members", [2, 3, 4])
def test_as_many_queries_as_members_that_stop_early(n_members):
    # One fold for each member would leave no query to train on.
    X, y, qid = load_digits_queries(n_members, 30)
    trees = [
        (str(number), BoostedRanker(engine="sklearn", n_estimators=5, random_state=number))
        for number in range(n_members)
    ]
    stack = StackingRanker(trees).fit(X, y, qid)
    assert len(stack.rankers_) == n_members
    assert np.isfinite(stack.predict(X, qid)).all()
