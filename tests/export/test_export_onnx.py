"""ONNX graphs: onnxruntime computes what predict returns."""

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, pickled
from cases import every_ranker, labels_for
from external_cases import TREES, tree_ranker
from recipes import recipe
from sklearn.base import clone
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
    TabularRanker,
    sample_comparisons,
)
from skcalrank.export import register_converters, to_onnx
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, QueryScaler, signed_log1p

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")


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


@pytest.mark.parametrize("engine", TREES)
def test_rankers_of_other_libraries_are_converted(engine, problem):
    X, y, qid = problem
    assert_graph_predicts(tree_ranker(engine).fit(X, y, qid), X)


@pytest.mark.parametrize("ranker", every_ranker(), ids=lambda ranker: type(ranker).__name__)
def test_every_ranker_of_documents_is_converted(ranker, problem):
    X, y, qid = problem
    if "structure" in ranker.get_params():
        ranker.fit(X, sample_comparisons(y, qid, n_comparisons=20, random_state=0))
    else:
        ranker.fit(X, labels_for(ranker, y, qid), qid)
    if isinstance(ranker, TabularRanker):  # one query at a time
        scores = run(to_onnx(ranker), X[:10].astype(np.float32)).ravel()
        np.testing.assert_allclose(scores, ranker.predict(X[:10], qid=0), atol=3e-5)
    else:
        assert_graph_predicts(ranker, X)


def test_steps_that_skl2onnx_does_not_know_are_named(problem):
    pipe = make_query_pipeline(LinearColumns(), NDCGRanker()).fit(*problem)
    with pytest.raises(ValueError, match="contains LinearColumns, which skl2onnx does not"):
        to_onnx(pipe)


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


def test_trees_with_a_link_are_not_converted(problem):
    X, y, qid = problem
    trees = HistGradientBoostingRegressor(loss="poisson", max_iter=5)
    for regressor in (trees, make_pipeline(StandardScaler(), trees)):
        ranker = NDCGRanker(regressor, loss="squared").fit(X, y, qid)
        with pytest.raises(ValueError, match="predicts a function of the sum of its trees"):
            to_onnx(ranker)


@pytest.mark.product
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
    "passed on": [
        make_pipeline("passthrough"),
        make_pipeline(StandardScaler(), "passthrough"),
        None,
    ],
}


@pytest.mark.product
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("make", [make_query_pipeline, make_pipeline])
def test_pipelines_are_converted(steps, make, problem):
    X, y, qid = problem
    pipe = make(*steps, NDCGRanker())
    pipe.fit(X, y, **({"qid": qid} if make is make_query_pipeline else {"ndcgranker__qid": qid}))
    assert_graph_predicts(pipe, np.vstack([X, 3 * X - 5]))


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-30])
def test_logarithms_of_small_values(size, problem):
    X, _, qid = problem
    X = (X * size).astype(np.float32).astype(float)
    steps = FunctionTransformer(signed_log1p), StandardScaler(), NDCGRanker()
    assert_graph_predicts(make_query_pipeline(*steps).fit(X, X[:, 0] > 0, qid), X)


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


OWN = [("own", NDCGRanker())]


@pytest.mark.parametrize(
    ("ranker", "match"),
    [
        (AveragePrecisionRanker(surrogate="pairwise"), "fit with surrogate='score'"),
        (make_query_pipeline(QueryScaler(), NDCGRanker()), "QueryScaler reads all documents"),
        (StackingRanker(OWN, normalize="query"), "StackingRanker with normalize='pooled'"),
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


# -- stacks that read whole queries ----------------------------------------------------------

SCORERS = {f"trees of {trees}": (trees, "pooled", "") for trees in (*ENGINES, None)}
SCORERS |= {f"{trees} by query": (trees, "query", "") for trees in (FIRST, None)}
SCORERS |= {f"{trees} in query": (trees, "pooled", "in query") for trees in ENGINES}


@pytest.mark.product
@pytest.mark.parametrize(("trees", "normalize", "name"), SCORERS.values(), ids=SCORERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_graph_takes_the_documents_of_a_query(trees, normalize, name, dtype, problem):
    X, y, qid = problem
    X[::7, 1] = np.nan
    few = trees and boosted(trees, n_estimators=5)
    with recipe(name):
        ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, n_jobs=1).fit(X, y, qid)
    ranker.weights_ = np.ones(len(ranker.weights_))  # some member may have had none
    ranker = pickled(ranker)
    register_converters()
    graph = skl2onnx.to_onnx(ranker, X[:1].astype(dtype))
    X[3], X[10:20, 0] = X[4], X[10, 0]  # equal documents, and a feature that is constant
    queries = [X[qid == query] for query in range(12)]
    for query in (*queries, X[:1], np.repeat(X[:1], 3, axis=0)):
        expected = ranker.predict(query, qid=0)
        gaps = np.abs(run(graph, query.astype(dtype)).ravel() - expected)
        # Single precision may round z-scores next to a half up that double precision rounds down.
        z = 1e4 * QueryScaler().fit_transform(query, qid=np.zeros(len(query)))
        near = (np.abs(z % 1 - 0.5) < 0.02).any(axis=1)
        assert near.mean() <= 0.5
        assert (gaps[~near] < 3e-5).all()
    assert np.ptp(ranker.predict(X, qid)) > 0.01


def of_frame(columns):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(columns | {"x": rng.normal(size=120).astype(np.float32)})
    y, qid = (frame["x"] > 0) + rng.integers(0, 2, 120), np.repeat(np.arange(12), 10)
    return frame, y, qid


@pytest.mark.parametrize("ranker", [boosted(FIRST), TabularRanker(trees=None)])
def test_columns_that_are_left_out_keep_their_place(ranker):
    frame, y, qid = of_frame({"one": 1.0, "more": np.arange(120.0) % 7, "two": 2.0})
    ranker = clone(ranker).fit(frame, y, qid)
    assert ranker.encoder_.kinds_["one"] == "constant"
    graph = to_onnx(ranker)
    for query in range(12):
        rows = frame[qid == query]
        scores = run(graph, rows.to_numpy(np.float32)).ravel()
        np.testing.assert_allclose(scores, ranker.predict(rows, qid=0), atol=3e-5)


def test_columns_that_a_graph_does_not_read_are_named():
    kinds = ["x", "y", None] * 40
    frame, y, qid = of_frame({"brand": kinds, "day": np.arange("2026-01-01", 120, dtype="M8[D]")})
    for left, message in [
        ({"day": "drop"}, r"'brand' \(category\):"),
        ({"brand": "drop"}, r"'day' \(date\):"),
        ({}, r"'brand' \(category\), 'day' \(date\): .*'brand': 'drop', 'day': 'drop'"),
    ]:
        ranker = TabularRanker(trees=None, columns=left).fit(frame, y, qid)
        with pytest.raises(ValueError, match=f"all that the graph reads, got {message}"):
            to_onnx(ranker)


def test_numbers_that_single_precision_does_not_hold():
    frame, y, qid = of_frame({"time": 2.0**40 + np.arange(120) % 9})
    ranker = TabularRanker(trees=None).fit(frame, y, qid)
    with pytest.raises(ValueError, match="Column 'time' has numbers that single precision cannot"):
        to_onnx(ranker)
    register_converters()
    graph = skl2onnx.to_onnx(ranker, frame.to_numpy()[:1])
    scores = run(graph, frame.to_numpy()[:10]).ravel()
    np.testing.assert_allclose(scores, ranker.predict(frame[:10], qid=0), atol=1e-9)
