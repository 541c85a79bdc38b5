"""Explanations of the scores of tables: every cell is shown as the table has it."""

from datetime import date, timedelta

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from sklearn.linear_model import Ridge

from skcalrank import BoostedRanker, ExternalRanker, TabularRanker
from skcalrank.inspection import explain_order

pd = pytest.importorskip("pandas")


@pytest.fixture
def problem(rng):
    n = 200
    numbers = np.where(rng.random(n) < 0.2, None, rng.integers(0, 9, n))
    numbers[:2] = [None, 4]
    X = pd.DataFrame(
        {
            "stars": pd.array(numbers, dtype="Int64"),
            "brand": rng.choice(["u", "v", None], n),
            "listed": [date(2024, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 700, n)],
            "new": rng.random(n) < 0.5,
        }
    )
    y = np.digitize(X["stars"].fillna(4).to_numpy(float) + 2 * (X["brand"] == "u"), [3, 6])
    return X, y.astype(float), np.repeat(np.arange(20), 10)


def test_missing_numbers_are_in_no_mean_of_any_container(rng):
    X, qid = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    y = (X.sum(axis=1) + rng.normal(size=60) > 0).astype(float)
    X[1, 1] = np.nan
    for rows in (X, pd.DataFrame(X, columns=["a", "b"])):
        ranker = BoostedRanker(engine="sklearn", n_estimators=5, min_samples_leaf=3).fit(
            rows, y, qid
        )
        found = explain_order(ranker, rows, 0, qid=qid).reference.astype(float)
        np.testing.assert_allclose(found, np.nanmean(X[:10], axis=0))


@pytest.mark.parametrize("second", [1, None])
def test_cells_of_every_kind_are_shown(problem, second):
    X, y, qid = problem
    ranker = boosted(FIRST).fit(X, y, qid)
    found = explain_order(ranker, X, 0, second, qid=qid)
    scores = ranker.predict(X)
    other = scores[1] if second else scores[:10].mean()
    assert found.total == pytest.approx(scores[0] - other, abs=1e-6)
    text = str(found)
    assert "missing" in text
    assert str(X["listed"][0]) in text
    assert list(found.feature_names) == ["stars", "brand", "listed", "new"]
    if second is None:
        assert found.reference[0] == pytest.approx(X["stars"][:10].astype(float).mean())
        assert found.reference[1] is None


def test_values_of_the_matrix_add_up_to_columns(problem):
    X, y, qid = problem
    ranker = boosted(FIRST).fit(X.assign(constant=1), y, qid)
    parts = ranker.contributions(X.assign(constant=1))
    assert parts.shape == (len(X), 6)
    assert not parts[:, 4].any()
    np.testing.assert_allclose(parts.sum(axis=1), ranker.predict(X.assign(constant=1)), atol=1e-5)
    assert ranker.feature_importances_.shape == (5,)
    assert ranker.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("second", [1, None])
def test_columns_that_fit_left_out_are_no_features(second, problem):
    X, y, qid = problem
    X = X.assign(constant=1)
    dropped = {"brand": "drop"}
    for ranker in (boosted(FIRST, columns=dropped), TabularRanker(trees=None, columns=dropped)):
        ranker.fit(X, y, qid)
        found = explain_order(ranker, X, 0, second, qid=qid)
        assert list(found.feature_names) == ["stars", "listed", "new"]
        scores = ranker.predict(X, qid)
        other = scores[1] if second else scores[:10].mean()
        assert found.total == pytest.approx(scores[0] - other, abs=1e-6)


def test_contributions_take_the_qid_everywhere(problem):
    X, y, qid = problem
    for ranker in (boosted(FIRST), ExternalRanker(Ridge()), TabularRanker(trees=None)):
        parts = ranker.fit(X, y, qid).contributions(X, qid=qid)
        assert parts.shape == (len(X), 5)
    with pytest.raises(ValueError, match="qid"):
        boosted(FIRST).fit(X, y, qid).contributions(X, qid=qid[:-1])
