"""Trees of scikit-learn that boost the losses of the package."""

import numpy as np
import pytest
from boosting_cases import boosted, made_queries
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import BoostedRanker
from skcalrank.boosting import lightgbm_objective
from skcalrank.losses import LOSSES
from skcalrank.measures import get_measure


@pytest.fixture(scope="module")
def data():
    X, y, qid = made_queries(30, seed=0)
    return np.round(X, 1), y, qid


def test_squared_losses_are_those_of_the_regressor(data):
    X, y, qid = data
    given = {"loss": "squared", "query_weight": "documents", "n_estimators": 23}
    ranker = BoostedRanker(engine="sklearn", validation_fraction=None, random_state=0, **given)
    ranker.set_params(measure=get_measure("dcg", gain="linear")).fit(X, y, qid)
    trees = HistGradientBoostingRegressor(max_iter=23, max_leaf_nodes=15, early_stopping=False)
    np.testing.assert_allclose(ranker.predict(X), trees.fit(X, y).predict(X), rtol=1e-5)
    assert ranker.booster_.n_iter_ == ranker.best_iteration_ == 23


@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_decrease_the_loss(loss, data):
    X, y, qid = data
    objective = lightgbm_objective("ndcg@10", loss, query_weight="pairs")
    sizes, values = np.bincount(qid), []
    for n_estimators in (1, 5, 20):
        ranker = boosted("sklearn", loss=loss, validation_fraction=None, n_estimators=n_estimators)
        scores = ranker.fit(X, y, qid).predict(X)
        gradient, _ = objective(y, scores, None, sizes)
        values.append(np.abs(gradient).sum())
    assert values[2] < values[1] < values[0]


def test_trees_split_values_that_were_left_out_as_the_others():
    X, y, qid = made_queries(60, seed=1)
    ranker = boosted("sklearn", n_estimators=5, validation_fraction=None).fit(X, y, qid)
    assert len(np.unique(X[:, 0])) > 255
    (tree,) = ranker.booster_._predictors[0]
    cuts = tree.nodes["num_threshold"][tree.nodes["is_leaf"] == 0]
    assert len(cuts) > 5
    # Not at a value, where rounding would tell the side.
    assert not np.isin(cuts, X).any()


def test_missing_values_and_constant_columns_are_taken():
    X, y, qid = made_queries(20, seed=0)
    X[::3, 0], X[:, 1], X[:, 2] = np.nan, 7.0, np.nan
    ranker = boosted("sklearn").fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.6
    assert ranker.feature_importances_[[1, 2]].tolist() == [0.0, 0.0]


def test_a_column_of_no_categories_is_taken():
    pandas = pytest.importorskip("pandas")
    X, y, qid = made_queries(20, seed=0)
    nothing = pandas.Categorical([None] * len(X), categories=["new", "old"])
    frame = pandas.DataFrame({"size": X[:, 0], "kind": nothing, "age": X[:, 1]})
    ranker = boosted("sklearn").fit(frame, y, qid)
    assert ranker.feature_importances_[1] == 0
    new = frame.assign(kind=pandas.Categorical(["new"] * len(X)))
    np.testing.assert_array_equal(ranker.predict(new), ranker.predict(frame))


def test_columns_of_too_many_categories_are_named():
    pandas = pytest.importorskip("pandas")
    X, y, qid = made_queries(30, seed=0)
    frame = pandas.DataFrame({"size": X[:, 0], "name": [f"name {i}" for i in range(len(X))]})
    with pytest.raises(ValueError, match=r"at most 255 categories .* got 360 in column 1"):
        boosted("sklearn").fit(frame, y, qid)


def test_importances_are_those_of_the_columns_as_given():
    pandas = pytest.importorskip("pandas")
    X, y, qid = made_queries(30, seed=0)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    kinds = pandas.Categorical(np.where(X[:, 0] > 0.5, "new", "old"))
    ranker = boosted("sklearn").fit(frame.assign(f=kinds, a=0.0), y, qid)
    assert ranker.categorical_features_ == [5]
    assert ranker.feature_importances_[0] == 0
    assert ranker.feature_importances_[5] > 0.1
