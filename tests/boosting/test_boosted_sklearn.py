"""Trees of scikit-learn that boost the losses of the package."""

import numpy as np
import pytest
from boosting_cases import boosted, made_queries
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import BoostedRanker
from skcalrank.boosting import lightgbm_objective
from skcalrank.losses import LOSSES
from skcalrank.measures import get_measure
from skcalrank.preprocessing import TableEncoder, encoded


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


def rows_of_many_levels(n_queries, n_levels, seed):
    """A number, and a level that grades follow: none in some rows, and many in a single row."""
    rng = np.random.default_rng(seed)
    X, y, qid = made_queries(n_queries, seed)
    levels = (n_levels * rng.random(len(X)) ** 4).astype(int)
    rows = [{"size": x, "name": f"n{n}" if n % 7 else None} for x, n in zip(X[:, 0], levels)]
    return rows, y + 2 * (levels % 2), qid


@pytest.mark.parametrize(("n_levels", "options"), [(1000, {}), (40, {"max_bins": 16})])
def test_the_rarest_of_many_categories_are_one(n_levels, options):
    X, y, qid = rows_of_many_levels(100, n_levels, seed=0)
    other = rows_of_many_levels(20, 2 * n_levels, seed=1)
    ranker = boosted("sklearn", **options).fit(X, y, qid, eval_set=other)
    n_bins = options.get("max_bins", 255)
    # The pool of the encoder is the law: 255 codes, the last of which has the rarest levels.
    encoder = TableEncoder(max_categories=n_bins).fit(X)
    assert len(ranker.encoder_.categories_[1].levels) > n_bins + 10
    twin = clone(ranker).fit(encoded(X, encoder), y, qid, eval_set=other)
    np.testing.assert_allclose(ranker.validation_scores_, twin.validation_scores_, rtol=1e-12)
    for rows in (X, other[0]):
        np.testing.assert_allclose(ranker.predict(rows), twin.predict(rows), rtol=1e-9, atol=1e-12)
    assert ranker.feature_importances_[1] > 0.1


def rows_of_numbers(n_queries, n_levels, seed):
    """Rows of which some cells are missing, and each column has a cell beyond those of others."""
    X, y, qid = made_queries(n_queries, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    X[:, 5] = n_levels
    return X, y, qid


@pytest.mark.product
@pytest.mark.parametrize("made", [rows_of_numbers, rows_of_many_levels])
@pytest.mark.parametrize("n_levels", [3, 300])
@pytest.mark.parametrize("n_rounds", [1, 40])
def test_few_rows_have_the_scores_of_the_regressor_to_the_bit(made, n_levels, n_rounds):
    X, y, qid = made(40, n_levels, seed=0)
    ranker = boosted("sklearn", n_estimators=n_rounds, validation_fraction=None).fit(X, y, qid)
    other = made(20, 2 * n_levels, seed=1)[0]
    whole = ranker.predict(other)  # of more rows than are scored one level of the trees at a time
    assert len(whole) > 200
    for n_rows in (1, 2, 20, 100):
        np.testing.assert_array_equal(ranker.predict(other[:n_rows]), whole[:n_rows])
        np.testing.assert_array_equal(ranker.predict(other[-n_rows:]), whole[-n_rows:])


@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_trees_that_cannot_split_score_as_the_regressor():
    X, y, qid = made_queries(10, seed=0)
    ranker = boosted("sklearn", validation_fraction=None, min_samples_leaf=len(X)).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X[:5]), ranker.booster_.predict(X)[:5])


def test_trees_grown_further_are_scored_with_the_new_ones():
    X, y, qid = made_queries(10, seed=0)
    ranker = boosted("sklearn", validation_fraction=None, n_estimators=5).fit(X, y, qid)
    before = ranker.predict(X[:5])
    ranker.booster_.set_params(max_iter=7).fit(X, y)
    assert (ranker.predict(X[:5]) != before).any()
    np.testing.assert_array_equal(ranker.predict(X[:5]), ranker.booster_.predict(X)[:5])


def test_importances_are_those_of_the_columns_as_given():
    pandas = pytest.importorskip("pandas")
    X, y, qid = made_queries(30, seed=0)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    kinds = pandas.Categorical(np.where(X[:, 0] > 0.5, "new", "old"))
    ranker = boosted("sklearn").fit(frame.assign(f=kinds, a=0.0), y, qid)
    assert ranker.categorical_features_ == [5]
    assert ranker.feature_importances_[0] == 0
    assert ranker.feature_importances_[5] > 0.1
