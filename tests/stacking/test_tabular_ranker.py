"""tabular_ranker on data frames."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from skcalrank import MissingQidError, QueryKFold, RankingTarget, get_scorer, tabular_ranker
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
    ranker = tabular_ranker("ndcg@5", random_state=0, n_jobs=1, **params)
    if params.get("trees", "auto") is None:
        return ranker
    few = {"n_estimators": 20, "n_iter_no_change": 5}
    return ranker.set_params(
        **{
            f"{name}__{option}": value
            for name in ("by_documents", "by_pairs")
            for option, value in few.items()
        }
    )


@pytest.mark.parametrize("trees", ["auto", None, "sklearn"])
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


def test_dates_are_named():
    X, y, qid = offers(10)
    X["day"] = np.datetime64("2026-11-22")
    with pytest.raises(ValueError, match="got dates or times in 'day'"):
        small(trees=None).fit(X, y, qid)


@pytest.mark.parametrize("value", [1.5, True, ("new",)])
def test_a_column_of_mixed_types_is_named(value):
    X, y, qid = offers(10)
    X["mixed"] = [value, *X["state"][1:]]
    kinds = " and ".join(sorted(["str", type(value).__name__]))
    with pytest.raises(ValueError, match=rf"'mixed' of X must hold .* got {kinds}\. Convert it"):
        small(trees=None).fit(X, y, qid)


def test_columns_that_are_all_constant_are_named():
    X, y, qid = offers(10)
    X = X[["price", "empty"]].assign(price=[None, *[2.5] * 99])
    with pytest.raises(ValueError, match=r"two different values, .* only: 'price', 'empty'"):
        small(trees=None).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"two different values, .* only: 0, 1"):
        small(trees=None).fit(X.to_numpy(), y, qid)


@pytest.mark.parametrize("dtype", ["string", "object", "category", "Float64", "float32"])
@pytest.mark.parametrize("make", [lambda: small(trees=None), lambda: boosted(FIRST)])
def test_columns_without_values_change_no_order(make, dtype):
    import pandas

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


def test_parts_and_parameters():
    ranker = tabular_ranker("recall@5", trees=FIRST, n_jobs=2)
    assert [name for name, _ in ranker.rankers] == [
        "scaled",
        "logs",
        "hinges",
        "by_documents",
        "by_pairs",
    ]
    assert ranker.get_params()["by_pairs__engine"] == FIRST
    assert ranker.get_params()["by_documents__measure"] == "recall@5"
    assert [name for name, _ in clone(tabular_ranker(trees=None)).rankers] == [
        "scaled",
        "logs",
        "hinges",
    ]
    with pytest.raises(ValueError, match=r"trees must be one of .*, None, got 'forest'"):
        tabular_ranker(trees="forest")
    with pytest.raises(ValueError, match=r"must be positional .* got 'map'"):
        tabular_ranker("map")
