"""Why boosted trees put a document before another."""

import numpy as np
import pytest
from boosting_cases import boosted, every_engine, made_queries
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import NDCGRanker
from skcalrank.displays import ContributionDisplay
from skcalrank.inspection import explain_order

# A median of trees is no mean of targets.
pytestmark = pytest.mark.filterwarnings("ignore:AdaBoostRegressor does not estimate")


@pytest.fixture(scope="module")
def data():
    return made_queries(30, seed=0)


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("start", [None, NDCGRanker()], ids=["trees", "start"])
def test_contributions_sum_to_the_difference_of_the_scores(engine, start, data):
    X, y, qid = data
    ranker = boosted(engine, start=start).fit(X, y, qid)
    scores = ranker.predict(X)
    np.testing.assert_allclose(ranker.contributions(X).sum(axis=1), scores, atol=1e-9)
    found = explain_order(ranker, X, 3, 1, qid=qid)
    assert found.total == pytest.approx(scores[3] - scores[1], abs=1e-9)
    found = explain_order(ranker, X, 20, qid=qid)
    assert found.total == pytest.approx(scores[20] - scores[15:30].mean(), abs=1e-9)
    np.testing.assert_array_equal(found.values, X[20])
    np.testing.assert_allclose(found.reference, X[15:30].mean(axis=0))


@every_engine
def test_features_that_were_not_split_add_nothing(engine, data):
    X, y, qid = data
    X = np.column_stack([X, np.zeros(len(X))])
    ranker = boosted(engine).fit(X, y, qid)
    assert explain_order(ranker, X, 0, 1).contributions[-1] == 0


def test_tables_name_categories(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "new", "old")})
    ranker = boosted("lightgbm").fit(frame, y, qid)
    two = explain_order(ranker, frame, 0, 1)
    assert two.values.tolist() == frame.iloc[0].tolist()
    assert two.reference.tolist() == frame.iloc[1].tolist()
    assert list(two.to_frame().columns) == ["value", "reference", "contribution"]
    text = str(explain_order(ranker, frame, 0, qid=qid))
    assert "weight" not in text
    head, *lines = text.splitlines()[1:]
    assert head.split() == ["feature", "value", "reference", "contribution"]
    total = explain_order(ranker, frame, 0, qid=qid).total
    assert lines[-1].endswith(f"{total:+.4g}")
    assert frame["kind"][0] in text


def test_behind_a_pipeline_and_drawn(data):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y, qid = data
    trees = boosted("lightgbm")
    pipe = make_pipeline(StandardScaler(), trees).fit(X, y, boostedranker__qid=qid)
    display = ContributionDisplay.from_estimator(pipe, X, 0, 1, n_features=3)
    assert len(display.bars_) == 4
    pyplot.close("all")


def test_sparse_rows_are_those_of_arrays(data):
    X, y, qid = data
    X = np.where(X < 0.5, 0, X)
    ranker = boosted("lightgbm").fit(X, y, qid)
    dense = explain_order(ranker, X, 0, 1).contributions
    np.testing.assert_allclose(explain_order(ranker, csr_matrix(X), 0, 1).contributions, dense)


def test_a_start_without_parts_is_named(data):
    X, y, qid = data

    start = boosted("lightgbm", n_estimators=3, validation_fraction=None)
    ranker = boosted("lightgbm", start=start, n_estimators=3).fit(X, y, qid)
    assert ranker.start_ is not None
    with pytest.raises(ValueError, match=r"start must be linear .* got BoostedRanker"):
        explain_order(ranker, X, 0, 1)


def test_linear_trees_have_no_parts(data):
    X, y, qid = data
    ranker = boosted("lightgbm", engine_params={"linear_tree": True}).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"cannot split these scores .*linear trees"):
        explain_order(ranker, X, 0, 1)


# -- trees of scikit-learn ---------------------------------------------------------------------

HISTOGRAMS = HistGradientBoostingRegressor(max_iter=5, random_state=0)
TREES = [
    HISTOGRAMS,
    RandomForestRegressor(3, random_state=0),
    ExtraTreesRegressor(3, max_depth=4, random_state=0),
    GradientBoostingRegressor(n_estimators=5, random_state=0),
    GradientBoostingRegressor(n_estimators=5, init="zero", random_state=0),
    DecisionTreeRegressor(max_depth=4, random_state=0),
]


@pytest.mark.product
@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
@pytest.mark.parametrize("trees", TREES, ids=repr)
def test_rankers_around_trees_are_explained(trees, loss, data):
    X, y, qid = data
    ranker = NDCGRanker(trees, loss=loss).fit(X, y, qid)
    scores = ranker.predict(X)
    found = explain_order(ranker, X, 3, 1, qid=qid)
    assert found.total == pytest.approx(scores[3] - scores[1])
    assert found.contributions.shape == (X.shape[1],)
    found = explain_order(ranker, X, 20, qid=qid)
    assert found.total == pytest.approx(scores[20] - scores[15:30].mean())


def test_tables_of_numbers_are_explained(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    pipe = make_pipeline(NDCGRanker(HISTOGRAMS)).fit(frame, y, ndcgranker__qid=qid)
    found = explain_order(pipe, frame, 3, 1)
    assert found.feature_names.tolist() == list("abcdef")
    np.testing.assert_allclose(
        found.contributions,
        explain_order(NDCGRanker(HISTOGRAMS).fit(X, y, qid), X, 3, 1).contributions,
    )


def test_categories_that_are_not_numbers_are_refused(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    kinds = pandas.Categorical(np.where(X[:, 1] > 0, "new", "old"))
    frame = pandas.DataFrame({"size": X[:, 0], "kind": kinds})
    trees = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype")
    ranker = NDCGRanker(trees).fit(frame, y, qid)
    with pytest.raises(ValueError, match="categories that are not numbers: encode them first"):
        explain_order(ranker, frame, 0, 1)
    encoded = boosted("sklearn", n_estimators=3).fit(frame, y, qid)
    scores = encoded.predict(frame)
    explained = explain_order(encoded, frame, 0, 1)
    assert explained.total == pytest.approx(scores[0] - scores[1], abs=1e-12)


def test_models_that_do_not_add_up_trees_are_named(data):
    X, y, qid = data
    ranker = NDCGRanker(AdaBoostRegressor(n_estimators=2, random_state=0)).fit(X, y, qid)
    with pytest.raises(ValueError, match="sums of trees, got AdaBoostRegressor"):
        explain_order(ranker, X, 0, 1)
    start = GradientBoostingRegressor(n_estimators=2, init=Ridge())
    with pytest.raises(ValueError, match="gradient boosting without another init"):
        explain_order(NDCGRanker(start).fit(X, y, qid), X, 0, 1)


def test_parts_that_do_not_sum_to_the_scores_are_refused(data, monkeypatch):
    X, y, qid = data
    ranker = NDCGRanker(HISTOGRAMS).fit(X, y, qid)
    monkeypatch.setattr(type(ranker), "surrogate_values", lambda *_: np.arange(2.0))
    with pytest.raises(ValueError, match="do not sum to its scores"):
        explain_order(ranker, X, 0, 1)
