"""Offers that are made with text, dates, categories and missing values."""

import numpy as np
import pytest

from skcalrank.datasets import make_offers

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def offers():
    return make_offers(1000, (10, 30), random_state=0)


def mean_by(values, y):
    return pd.Series(y).groupby(np.asarray(values)).mean()


def has(X, word):
    return X["title"].str.contains(rf"\b{word}\b", case=False, na=False)


def test_rows_and_queries(offers):
    X, y, qid = offers
    sizes = np.bincount(qid)
    assert len(sizes) == 1000
    assert set(sizes.tolist()) == set(range(10, 31))
    assert len(X) == len(y) == sizes.sum()
    assert set(y.tolist()) == {0, 1, 2, 3, 4}
    assert offers.feature_names == list(X.columns)


def test_made_offers_are_reproducible():
    one, two, other = (make_offers(20, random_state=seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(one.X, two.X)
    np.testing.assert_array_equal(one.y, two.y)
    assert not one.X.equals(other.X)
    pd.testing.assert_frame_equal(one.X, make_offers(20, random_state=np.random.RandomState(0)).X)


def test_titles_have_words_of_decreasing_frequency(offers):
    titles = offers.X["title"].dropna()
    number = titles.str.lower().str.split().explode().value_counts()
    assert len(number) > 150
    assert number.iloc[0] > 5 * number.iloc[50] > 10 * number.iloc[-1] > 0
    assert titles.nunique() > 0.9 * len(titles)
    words = titles.str.split().str.len()
    assert 1 <= words.min() < words.max() <= 9


def test_one_word_tells(offers):
    X, y, _ = offers
    is_telling = has(X, "refurbished")
    assert 0.2 < is_telling.mean() < 0.3
    assert y[is_telling].mean() < 0.6 * y[~is_telling].mean()
    for word in ("new", "set", "with", "wood"):
        assert abs(y[has(X, word)].mean() / y.mean() - 1) < 0.1


def test_hours_and_weekdays_tell_and_the_date_does_not(offers):
    X, y, _ = offers
    known = X["listed"].notna().to_numpy()
    listed, y = X["listed"][known], y[known]
    by_hour, by_day, by_month = (
        mean_by(getattr(listed.dt, part), y) for part in ("hour", "day_of_week", "month")
    )
    assert by_hour.idxmax() in range(17, 23)
    assert by_hour.idxmin() in range(5, 11)
    assert by_day[[5, 6]].min() > 1.3 * by_day[range(5)].max()
    assert by_month.max() < 1.15 * by_month.min()


def test_categories_have_effects_of_their_own(offers):
    X, y, _ = offers
    assert X["category"].nunique() == 200
    large = X["category"].value_counts().index[:20]
    means = mean_by(X["category"].fillna(""), y)[large]
    assert means.max() > 1.5 * means.min()
    test = make_offers(1000, random_state=1)
    others = mean_by(test.X["category"].fillna(""), test.y)
    assert abs(np.corrcoef(means, others[means.index])[0, 1]) < 0.6


def test_the_price_matters_within_a_query(offers):
    X, y, qid = offers
    log_price = np.log(X["price"])
    away = log_price - log_price.groupby(qid).transform("mean")
    assert np.corrcoef(away, y)[0, 1] < 2 * np.corrcoef(log_price, y)[0, 1] < 0


def test_ratings_matter_by_their_number(offers):
    X, y, _ = offers
    np.testing.assert_array_equal(X["rating"].isna(), X["n_ratings"] == 0)
    few, many = X["n_ratings"].between(1, 3).to_numpy(), (X["n_ratings"] > 30).to_numpy()
    of_few, of_many = (np.corrcoef(X["rating"][part], y[part])[0, 1] for part in (few, many))
    assert of_many > 1.5 * of_few > 0


def test_the_table_is_messy(offers):
    X = offers.X
    assert X["sku"].is_unique
    shares = X.isna().mean()
    assert (shares[["title", "listed", "category", "rating", "in_stock"]] > 0.01).all()
    assert shares.max() < 0.1
    assert set(X["in_stock"].dropna()) == {True, False}


def test_too_few_queries():
    with pytest.raises(ValueError, match=r"n_queries must be an integer >= 1, got 0"):
        make_offers(0)
