"""Why boosted trees put a document before another."""

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries
from scipy.sparse import csr_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import NDCGRanker
from skcalrank.displays import ContributionDisplay
from skcalrank.inspection import explain_order

every_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(scope="module")
def data():
    return made_queries(30, seed=0)


@every_engine
@pytest.mark.parametrize("start", [None, NDCGRanker()], ids=["trees", "start"])
def test_contributions_sum_to_the_difference_of_the_scores(engine, start, data):
    X, y, qid = data
    ranker = boosted(engine, start=start).fit(X, y, qid)
    scores = ranker.predict(X)
    np.testing.assert_allclose(ranker.contributions(X).sum(axis=1), scores, atol=1e-5)
    found = explain_order(ranker, X, 3, 1, qid=qid)
    assert found.total == pytest.approx(scores[3] - scores[1], abs=1e-5)
    found = explain_order(ranker, X, 20, qid=qid)
    assert found.total == pytest.approx(scores[20] - scores[15:30].mean(), abs=1e-5)
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
    ranker = boosted(FIRST).fit(frame, y, qid)
    two = explain_order(ranker, frame, 0, 1)
    assert two.values.tolist() == frame.iloc[0].tolist()
    assert two.reference.tolist() == frame.iloc[1].tolist()
    assert list(two.to_frame().columns) == ["value", "reference", "contribution"]
    text = str(explain_order(ranker, frame, 0, qid=qid))
    assert "weight" not in text
    assert frame["kind"][0] in text


def test_behind_a_pipeline_and_drawn(data):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y, qid = data
    trees = boosted(FIRST)
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
    with pytest.raises(ValueError, match=r"begin at scores of BoostedRanker, .*not linear"):
        explain_order(ranker, X, 0, 1)


def test_linear_trees_have_no_parts(data):
    X, y, qid = data
    ranker = boosted("lightgbm", engine_params={"linear_tree": True}).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"no parts of these scores: .*linear trees"):
        explain_order(ranker, X, 0, 1)
