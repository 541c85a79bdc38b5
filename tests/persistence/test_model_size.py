"""Model files hold what scores are computed by, and little else."""

import pickle

import joblib
import numpy as np
import pytest
from boosting_cases import ENGINES
from tables import FORMS, labels, made_columns

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker, TabularRanker
from skcalrank.linear_model import GramRidge
from skcalrank.persistence import load_model, save_model

pytest.importorskip("skops")

MOST = 1.5


def made(n_features, n_queries=60):
    """Queries of 25 documents whose labels depend on three of the features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25 * n_queries, n_features))
    value = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    return X, np.digitize(value, [0.5, 1.5]), np.repeat(np.arange(n_queries), 25)


def own_size(booster, path):
    """Bytes of the file that the library itself writes."""
    if hasattr(booster, "save_model"):
        path = path.with_suffix(".ubj" if "xgboost" in type(booster).__module__ else ".txt")
        booster.save_model(str(path))
    else:
        joblib.dump(booster, path, compress=("zlib", 6))
    return path.stat().st_size


@pytest.mark.long
@pytest.mark.product
@pytest.mark.parametrize("n_features", [5, 100])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_of_a_stack_is_little_more_than_its_trees(engine, n_features, tmp_path):
    X, y, qid = made(n_features)
    trees = BoostedRanker(engine=engine, n_estimators=100, learning_rate=0.02, max_leaf_nodes=15)
    ranker = TabularRanker(trees=trees, random_state=0, n_jobs=1).fit(X, y, qid)
    save_model(ranker, tmp_path / "model.skops")
    of_trees = sum(own_size(one.booster_, tmp_path / "trees") for one in ranker.boosted_.values())
    assert (tmp_path / "model.skops").stat().st_size <= MOST * of_trees


@pytest.fixture
def ranker():
    return TabularRanker("ndcg@5", trees=None).fit(*made(30))


def pickled(ranker, folder):
    del folder
    return pickle.loads(pickle.dumps(ranker))


def filed(ranker, folder):
    save_model(ranker, folder / "model.skops")
    return load_model(folder / "model.skops")


@pytest.mark.parametrize("read", [pickled, filed], ids=["pickle", "file"])
def test_what_is_read_is_equal(ranker, read, tmp_path):
    X, _, qid = made(30)
    twin = read(ranker, tmp_path)
    np.testing.assert_array_equal(twin.predict(X, qid), ranker.predict(X, qid))
    np.testing.assert_array_equal(twin.feature_importances_, ranker.feature_importances_)
    for view, other in zip(ranker.linear_.values(), twin.linear_.values()):
        regressor, its_twin = (one.steps[-1][1].estimator_ for one in (view, other))
        np.testing.assert_array_equal(its_twin.coef_, regressor.coef_)
        np.testing.assert_array_equal(its_twin.penalty_scale_, regressor.penalty_scale_)


@pytest.mark.parametrize("read", [pickled, filed], ids=["pickle", "file"])
def test_rankers_of_a_table_share_its_reader(read, tmp_path):
    columns = made_columns(80)
    table, (y, qid) = FORMS["records"](columns), labels(columns)
    trees = BoostedRanker(engine=ENGINES[0], n_estimators=3)
    ranker = TabularRanker(trees=trees, n_jobs=1).fit(table, y, qid)
    twin = read(ranker, tmp_path)
    readers = [one.encoder_ for one in twin.boosted_.values()]
    readers += [one.steps[0][1].encoder_ for one in twin.linear_.values()]
    assert all(reader is twin.encoder_ for reader in readers)
    np.testing.assert_array_equal(twin.predict(table, qid), ranker.predict(table, qid))
    # What was stored is a copy.
    assert ranker.linear_.hinges.steps[0][1].encoder_ is ranker.encoder_
    assert ranker.boosted_.by_grades.encoder_ is ranker.encoder_


def test_linear_views_of_a_stack_learn_no_further_rows(ranker):
    X, y, qid = made(30)
    columns, last = (step for _, step in ranker.linear_.hinges.steps)
    rows = columns.transform(X)
    regressor = last.estimator_
    calls = {
        "partial_fit": lambda: regressor.partial_fit(rows, y),
        "merge": lambda: regressor.merge(regressor),
        "merge with it": lambda: GramRidge().fit(rows, y * 1.0).merge(regressor),
        "path": lambda: regressor.path([1.0]),
        "partial_fit of its ranker": lambda: last.partial_fit(rows, y, qid + 1000),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match="fit the ranker outside the stack"):
            call()
        assert np.isfinite(last.predict(rows)).all(), name
    # From the start it learns as ever.
    np.testing.assert_allclose(
        regressor.fit(rows, y).coef_, GramRidge(**regressor.get_params()).fit(rows, y).coef_
    )


def test_rankers_of_the_users_own_go_on_learning():
    X, y, qid = made(4)
    stack = StackingRanker([("linear", NDCGRanker())]).fit(X, y, qid)
    before = stack.rankers_[0].coef_.copy()
    stack.rankers_[0].partial_fit(-X, y, qid + 1000)
    assert np.abs(stack.rankers_[0].coef_).max() < np.abs(before).max()
