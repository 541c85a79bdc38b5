"""The columns of numbers of linear rankers: their queries, and their names."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import Pipeline

from skcalrank import NDCGRanker, RankingTarget
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, QueryScaler

QID = np.repeat(np.arange(20), 10)
CURVES = {"none": None, "hinges": QuantileHinges(4), "scaler": QueryScaler()}


@pytest.fixture
def data(rng):
    return rng.normal(size=(len(QID), 3)), rng.integers(0, 3, len(QID))


@pytest.mark.every_case
@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_both_in_one_call(data, curve):
    X, y = data
    taken = {"qid": QID} if isinstance(curve, QueryScaler) else {}
    expected = LinearColumns(curve).fit(X, y, QID).transform(X, **taken)
    for y_of, named in ((y, {"qid": QID}), (RankingTarget(y, QID), {})):
        np.testing.assert_array_equal(
            LinearColumns(curve).fit_transform(X, y_of, **named), expected
        )


@pytest.mark.parametrize("routing", [False, True])
def test_a_pipeline_of_scikit_learn_passes_the_qid(data, routing):
    X, y = data
    ours = make_query_pipeline(LinearColumns(QueryScaler()), NDCGRanker()).fit(X, y, QID)
    pipe = Pipeline([("columns", LinearColumns(QueryScaler())), ("ranker", NDCGRanker())])
    with sklearn.config_context(enable_metadata_routing=routing):
        named = {"qid": QID} if routing else {}
        pipe.fit(X, y if routing else RankingTarget(y, QID), **named)
        X = pipe[:-1].transform(X, qid=QID) if routing else pipe[0].transform(X, qid=QID)
        np.testing.assert_array_equal(pipe[-1].predict(X), ours.predict(data[0], QID))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(data, library):
    frames = pytest.importorskip(library)
    X, y = data
    columns = LinearColumns(QueryScaler()).set_output(transform=library)
    frame = columns.fit_transform(frames.DataFrame(dict(zip("abc", X.T))), y, QID)
    assert list(frame.columns) == list("abc")
    np.testing.assert_array_equal(np.asarray(frame), QueryScaler().fit_transform(X, qid=QID))
