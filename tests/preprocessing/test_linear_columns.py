"""The columns of numbers of linear rankers: their queries, and their names."""

import numpy as np
import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

from skcalrank import NDCGRanker, RankingTarget
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import (
    LinearColumns,
    QuantileHinges,
    QueryContext,
    QueryScaler,
    TableEncoder,
)

pd = pytest.importorskip("pandas")

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


def test_a_curve_may_write_to_what_it_is_given(data):
    X = data[0].copy()
    curve = PCA(copy=False, svd_solver="full")
    found = LinearColumns(curve).fit_transform(X)
    np.testing.assert_array_equal(X, data[0])
    np.testing.assert_allclose(found, PCA(svd_solver="full").fit_transform(X), atol=1e-12)


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


# -- names -------------------------------------------------------------------------------------


CLASHES = {
    "levels": {"c": ["missing", "rare", "x", "x", None, "missing"] * 3, "a": np.arange(18) ** 2},
    "a number": {"c": list("xyxyxyy"), "c_x": range(7), "c_x_2": np.arange(7) ** 2},
    "types": {"c": [1, "1", 1, "1", "a", "a", 1] * 2, "d": range(14)},
    "dates": {"d": pd.date_range("2024-01-01", periods=9, freq="37D"), "d_weekday": range(9)},
    "rare levels": {"c": [f"code {k}" for k in range(1001)] * 2, "d": [0, 1] * 1001},
    "columns": {"a": list("xyxy"), "a_b": ["x", "x", "y", "y"], "a_b_x": [1, 2, 3, 5]},
}


@pytest.mark.every_case
@pytest.mark.parametrize("columns", CLASHES.values(), ids=CLASHES)
def test_names_are_distinct(columns):
    frame = pd.DataFrame(columns)
    for reader in (
        TableEncoder(),
        *(LinearColumns(max_categories=most) for most in (2, 100, 1000)),
    ):
        names = reader.fit(frame).get_feature_names_out().tolist()
        assert len(set(names)) == len(names) == np.shape(reader.transform(frame))[1]
        reader.set_output(transform="pandas")
        assert reader.transform(frame).columns.tolist() == names


def test_columns_of_numbers_keep_their_names():
    frame = pd.DataFrame(CLASHES["a number"])
    names = LinearColumns().fit(frame).get_feature_names_out()
    assert names.tolist() == ["c_y", "c_x_3", "c_x", "c_x_2"]
    frame = pd.DataFrame(CLASHES["dates"])
    names = TableEncoder().fit(frame).get_feature_names_out().tolist()
    assert names[:2] + names[-1:] == ["d", "d_weekday_2", "d_weekday"]
    context = QueryContext(["mean"]).fit(
        frame[["d_weekday"]].assign(query_mean_d_weekday=1.0), qid=0
    )
    names = context.get_feature_names_out().tolist()
    assert names[:3] == ["d_weekday", "query_mean_d_weekday", "query_mean_d_weekday_2"]
    beside = LinearColumns(QueryScaler(append=True)).fit(np.eye(2), qid=0)
    assert beside.get_feature_names_out(["a", "a_in_query"])[2] == "a_in_query_2"
