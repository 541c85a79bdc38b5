"""ONNX graphs: onnxruntime computes what predict returns."""

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import PoissonRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler

from skcalrank import (
    AveragePrecisionRanker,
    NDCGRanker,
    SpearmanRanker,
    StackingRanker,
    sample_comparisons,
    tabular_ranker,
)
from skcalrank.export import register_converters, to_onnx
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QuantileHinges, QueryScaler, signed_log1p
from skcalrank.testing import all_rankers

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

RANKERS = {name: cls for name, cls in all_rankers() if name != "LowRankLossClassifier"}


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(120, 4)) * [1.0, 5.0, 0.1, 3.0] + [0.0, 2.0, 0.0, 10.0]
    # Values that single precision holds, on thresholds and between them.
    X = np.round(X, 1).astype(np.float32).astype(float)
    return X, rng.integers(0, 2, 120), np.repeat(np.arange(12), 10)


def run(graph, X):
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=providers)
    return session.run(None, {"X": X})[0]


def assert_graph_predicts(model, X, graph=None, dtype=np.float32):
    found = run(to_onnx(model) if graph is None else graph, X.astype(dtype))
    expected = model.predict(X)
    assert found.shape == (len(X), 1 if expected.ndim == 1 else expected.shape[1])
    assert np.abs(found.reshape(expected.shape) - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_of_documents_is_converted(name, problem):
    X, y, qid = problem
    ranker = RANKERS[name](**({"n_updates": 100} if name.startswith("Stochastic") else {}))
    if "Aggregated" in name:
        y = sample_comparisons(y, qid, n_comparisons=20, random_state=0)
        ranker.fit(X, y)
    else:
        ranker.fit(X, y, qid)
    assert_graph_predicts(ranker, X)


def regressors():
    yield HistGradientBoostingRegressor(max_iter=5)
    yield RandomForestRegressor(3, random_state=0)
    yield KNeighborsRegressor(3)
    yield PoissonRegressor()
    yield make_pipeline(StandardScaler(), GramRidge())
    yield make_pipeline(FunctionTransformer(signed_log1p), QuantileHinges(), GramRidge())


@pytest.mark.parametrize("regressor", regressors(), ids=lambda r: type(r).__name__)
def test_regressors_inside_a_ranker_are_converted(regressor, problem):
    X, y, qid = problem
    assert_graph_predicts(NDCGRanker(regressor, loss="squared").fit(X, y, qid), X)


@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_trees_of_every_engine_are_converted(engine, n_models, problem):
    X, y, qid = problem
    X[::7, 1] = np.nan
    ranker = boosted(engine, n_models=n_models).fit(X, y, qid)
    X[::5, 2] = np.nan
    assert_graph_predicts(ranker, X)


@pytest.mark.parametrize("engine", ENGINES)
def test_trees_that_begin_at_a_ranker_are_converted(engine, problem):
    X, y, qid = problem
    y = (X[:, 0] > 0) + y
    ranker = boosted(engine, n_models=2, start=NDCGRanker()).fit(X, y, qid)
    assert np.any(ranker.start_scale_)
    assert_graph_predicts(ranker, X)


STEPS = {
    "scaled": [StandardScaler()],
    "logs": [FunctionTransformer(signed_log1p), StandardScaler()],
    "hinges": [QuantileHinges(3)],
    "splines": [SplineTransformer(4, degree=1)],
    "splines without the last": [SplineTransformer(3, degree=1, include_bias=False)],
    "columns": [
        ColumnTransformer([("a", QuantileHinges(), [1, 0]), ("b", StandardScaler(), [3])]),
    ],
    "identity": [FunctionTransformer()],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("make", [make_query_pipeline, make_pipeline])
def test_pipelines_are_converted(steps, make, problem):
    X, y, qid = problem
    pipe = make(*steps, NDCGRanker())
    pipe.fit(X, y, **({"qid": qid} if make is make_query_pipeline else {"ndcgranker__qid": qid}))
    assert_graph_predicts(pipe, np.vstack([X, 3 * X - 5]))


def test_stacks_are_converted(problem):
    X, y, qid = problem
    members = {
        "linear": NDCGRanker(),
        "trees": boosted(FIRST),
        "bent": make_query_pipeline(QuantileHinges(), NDCGRanker()),
        "forest": ExtraTreesRegressor(3, random_state=0),
    }
    stack = StackingRanker(list(members.items())).fit(X, y, qid)
    stack.weights_ = np.array([0.1, 0.2, 0.3, 0.4])
    assert_graph_predicts(stack, X)


def test_label_rankings_have_a_score_for_each_item(label_data):
    X, y = label_data
    assert_graph_predicts(SpearmanRanker().fit(X, y), X)
    assert_graph_predicts(SpearmanRanker(RandomForestRegressor(3)).fit(X, y), X)


def test_the_output_has_a_name(problem):
    X, y, qid = problem
    [output] = to_onnx(NDCGRanker().fit(X, y, qid)).graph.output
    assert output.name == "score"


def test_skl2onnx_converts_rankers_that_are_registered(problem):
    X, y, qid = problem
    register_converters()
    register_converters()
    pipe = make_pipeline(FunctionTransformer(signed_log1p), QuantileHinges(), NDCGRanker())
    pipe.fit(X, y, ndcgranker__qid=qid)
    for model in (pipe, boosted(FIRST).fit(X, y, qid)):
        for dtype in (np.float32, np.float64):
            graph = skl2onnx.to_onnx(model, X[:1].astype(dtype))
            assert_graph_predicts(model, X, graph, dtype)


@pytest.mark.parametrize(
    ("ranker", "match"),
    [
        (AveragePrecisionRanker(surrogate="pairwise"), "fit with surrogate='score'"),
        (make_query_pipeline(QueryScaler(), NDCGRanker()), "QueryScaler reads all documents"),
        (tabular_ranker(trees=None), "StackingRanker with normalize='pooled'"),
    ],
)
def test_what_needs_the_query_says_so(ranker, match, problem):
    X, y, qid = problem
    with pytest.raises(ValueError, match=match):
        to_onnx(ranker.fit(X, y, qid))


def test_columns_of_a_frame_may_be_inputs(problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid = problem
    frame = pandas.DataFrame(X, columns=list("abcd"))
    columns = ColumnTransformer([("some", StandardScaler(), ["c", "a"])])
    pipe = make_query_pipeline(columns, NDCGRanker()).fit(frame, y, qid)
    floats = skl2onnx.common.data_types.FloatTensorType
    graph = to_onnx(pipe, initial_types=[(name, floats([None, 1])) for name in "abcd"])
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    given = {name: X[:, [i]].astype(np.float32) for i, name in enumerate("abcd")}
    [found] = session.run(None, given)
    np.testing.assert_allclose(found.ravel(), pipe.predict(frame), atol=1e-6)
