"""Exported rankers: an evaluator of the format computes what predict returns."""

import json
import re
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from exported import assert_json_scores
from sklearn import ensemble
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import Lasso, PoissonRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from skcalrank import (
    AveragePrecisionRanker,
    ExternalRanker,
    NDCGRanker,
    OrderPreservingRanker,
    QueryKFold,
    RankingTarget,
    SpearmanRanker,
    StackingRanker,
)
from skcalrank.export import to_elasticsearch, to_engine, to_json, to_opensearch, to_sql
from skcalrank.metrics import get_scorer
from skcalrank.pipeline import QueryPipeline, make_query_pipeline
from skcalrank.preprocessing import QuantileHinges, QueryContext, QueryScaler, signed_log1p
from skcalrank.structured import LowRankLossClassifier

#: As hard to quote as names of columns get.
NAMES = ["a b", 'c"d', "CASE", "ä"]


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(120, 4)) * [1.0, 5.0, 0.1, 3.0] + [0.0, 2.0, 0.0, 10.0]
    # What single precision holds, as engines do.
    X = X.astype(np.float32).astype(float)
    return X, rng.integers(0, 4, 120), np.repeat(np.arange(12), 10)


def logs():
    return FunctionTransformer(signed_log1p, feature_names_out="one-to-one")


def splines(**options):
    return SplineTransformer(4, degree=1, knots="quantile", **options)


def column(X, name):
    return X[:, NAMES.index(name)]


def records(X):
    return [dict(zip(NAMES, row)) for row in X.tolist()]


def score_in(connection, expression, X):
    names = ", ".join('"' + name.replace('"', '""') + '" DOUBLE' for name in NAMES)
    connection.execute(f"CREATE TABLE documents (number INTEGER, {names})")
    rows = [(number, *row) for number, row in enumerate(X.tolist())]
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", rows)
    found = connection.execute(f"SELECT {expression} FROM documents ORDER BY number").fetchall()
    return np.array(found, dtype=float).ravel()


def score_of_plugin(text, X):
    """Scores in single precision, as the plugin's LinearRanker and NaiveAdditiveDecisionTree."""
    model = json.loads(text)["model"]["model"]
    found, X = json.loads(model["definition"]), X.astype(np.float32)
    if model["type"] == "model/linear":
        return sum(np.float32(weight) * column(X, name) for name, weight in found.items())
    return np.array([sum((leaf(tree, row) for tree in found), np.float32(0)) for row in X])


def leaf(node, row):
    while "leaf" not in node:
        left, right = node["children"]
        assert {"nodeid", "depth", "missing"} <= set(node)
        assert (node["yes"], node["no"]) == (left["nodeid"], right["nodeid"])
        value = row[NAMES.index(node["split"])]
        node = left if np.float32(node["split_condition"]) > value else right
    return np.float32(node["leaf"])


def assert_same_order(found, expected, tolerance=1e-6):
    """Scores are equal up to a constant."""
    assert np.ptp(found - expected) <= tolerance * max(1.0, np.abs(expected).max())


LINEAR = {
    "nothing": [],
    "standard": [StandardScaler()],
    "standard without mean": [StandardScaler(with_mean=False)],
    "robust": [RobustScaler()],
    "robust without center": [RobustScaler(with_centering=False)],
    "largest": [MaxAbsScaler()],
    "range": [MinMaxScaler((-1, 3))],
    "selection": [VarianceThreshold(1.0)],
    "columns": [
        ColumnTransformer(
            [("one", StandardScaler(), [2, 0]), ("all", "passthrough", slice(1, 2))],
            remainder="drop",
        )
    ],
    "mask": [ColumnTransformer([("some", MinMaxScaler(), [True, False, False, True])])],
    "passed on": [
        make_pipeline("passthrough"),
        make_pipeline(StandardScaler(), "passthrough"),
        None,
    ],
    "union": [FeatureUnion([("a", MinMaxScaler()), ("b", make_pipeline(StandardScaler()))])],
}
BENT = {
    "clipped range": [MinMaxScaler((1, 3), clip=True)],
    "logs": [logs()],
    "hinges": [QuantileHinges()],
    "hinges of scaled": [StandardScaler(), QuantileHinges(3), StandardScaler()],
    "hinges of logs": [logs(), MinMaxScaler(), QuantileHinges()],
    "splines": [splines()],
    "splines of logs": [logs(), splines(include_bias=False), StandardScaler()],
}
every_linear = pytest.mark.parametrize("steps", LINEAR.values(), ids=LINEAR)
every_curve = pytest.mark.parametrize(
    "steps", [*LINEAR.values(), *BENT.values()], ids=[*LINEAR, *BENT]
)


def fitted(steps, problem, ranker=None):
    X, y, qid = problem
    return make_query_pipeline(*steps, ranker or NDCGRanker()).fit(X, y, qid)


# scikit-learn 1.6 warns of the form of columns chosen by a mask, when it is read.
masks = pytest.mark.filterwarnings(r"ignore:\s*The format of the columns:FutureWarning")


def wider(X):
    """Rows beyond those of fit, where curves are flat."""
    return np.vstack([X, 3 * X - 5]).astype(np.float32).astype(float)


@pytest.fixture
def database():
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@masks
@every_curve
def test_json_and_sql_compute_the_scores(steps, problem, database):
    pipe, X = fitted(steps, problem), wider(problem[0])
    expected = pipe.predict(X)
    assert_json_scores(to_json(pipe, feature_names=NAMES), records(X), expected)
    found = score_in(database, to_sql(pipe, feature_names=NAMES), X)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_parts_of_named_columns(problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid = problem
    frame = pandas.DataFrame(X, columns=NAMES)
    slices = [slice(NAMES[1], NAMES[1]), slice(NAMES[2], None), slice(None, NAMES[1])]
    empty = [[], [False] * 4]
    parts = [(str(each), StandardScaler(), each) for each in (*slices, *empty, slice(1, 3))]
    pipe = fitted([ColumnTransformer(parts)], (frame, y, qid))
    assert_json_scores(to_json(pipe), records(X), pipe.predict(frame), 1e-12)


def test_a_regressor_that_was_fitted_to_named_columns(problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid = problem
    frame = pandas.DataFrame(X, columns=NAMES)
    ranker = NDCGRanker(Lasso(1e-3)).fit(frame, y, qid)
    assert_json_scores(to_json(ranker), records(X), ranker.predict(frame), 1e-12)


def test_duckdb_computes_the_scores(problem):
    duckdb = pytest.importorskip("duckdb")
    pipe, X = fitted([logs(), QuantileHinges()], problem), wider(problem[0])
    found = score_in(duckdb.connect(), to_sql(pipe, feature_names=NAMES), X)
    np.testing.assert_allclose(found, pipe.predict(X), rtol=1e-9, atol=1e-9)


def test_sql_of_integers_divides_no_integers(problem, database):
    X, y, qid = problem
    X = np.round(X * 3)
    pipe = make_query_pipeline(QuantileHinges(), NDCGRanker()).fit(X, y, qid)
    expression = to_sql(pipe, feature_names=NAMES)
    database.execute('CREATE TABLE documents ("a b" INT, "c""d" INT, "CASE" INT, "ä" INT)')
    rows = X.astype(int).tolist()
    database.executemany("INSERT INTO documents VALUES (?, ?, ?, ?)", rows)
    found = database.execute(f"SELECT {expression} FROM documents ORDER BY rowid").fetchall()
    np.testing.assert_allclose(np.ravel(found), pipe.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1e-30])
def test_sql_has_logarithms_of_small_values(size, problem, database):
    X, _, qid = problem
    pipe = fitted([logs()], (X * size, X[:, 0] > 0, qid))
    scores = score_in(database, to_sql(pipe, feature_names=NAMES), X * size)
    np.testing.assert_allclose(scores, pipe.predict(X * size), rtol=1e-9, atol=1e-9)
    assert np.ptp(scores) > 0.01


def test_sql_is_null_where_a_column_is(problem, database):
    expression = to_sql(fitted([QuantileHinges()], problem), feature_names=list("abcd"))
    assert database.execute(
        f"SELECT {expression} FROM (SELECT NULL AS a, 1 AS b, 1 AS c, 1 AS d)"
    ).fetchall() == [(None,)]


def test_sql_quotes_as_told(problem):
    expression = to_sql(fitted([], problem), feature_names=["`", "b", "c", "d"], quote="`")
    assert "* ````" in expression
    with pytest.raises(ValueError, match="quote must be one character, got ''"):
        to_sql(fitted([], problem), feature_names=NAMES, quote="")


@masks
@every_linear
def test_the_plugin_computes_the_scores_of_linear_rankers(steps, problem):
    pipe = fitted(steps, problem)
    text = to_elasticsearch(pipe, "mine", feature_names=NAMES, feature_set=[*NAMES, "more"])
    assert text == to_opensearch(pipe, "mine", feature_names=NAMES)
    assert json.loads(text)["model"]["name"] == "mine"
    assert_same_order(score_of_plugin(text, problem[0]), pipe.predict(problem[0]))


def inner_rankers():
    yield "inside", NDCGRanker(make_pipeline(StandardScaler(), Lasso(1e-3)))
    yield "descent", OrderPreservingRanker(loss="logistic")
    yield "precision of pairs", AveragePrecisionRanker(relevance_level=1)
    views = [("a", NDCGRanker()), ("b", make_query_pipeline(QuantileHinges(), NDCGRanker()))]
    yield "stack", StackingRanker(views)


@pytest.mark.parametrize("ranker", dict(inner_rankers()).values(), ids=dict(inner_rankers()))
def test_rankers_of_any_kind_are_folded(ranker, problem):
    X, y, qid = problem
    ranker.fit(X, y, qid)
    assert_json_scores(to_json(ranker, feature_names=NAMES), records(X), ranker.predict(X), 1e-9)


def test_searches_are_exported(problem):
    X, y, qid = problem
    grid = {"alpha": [0.1, 10.0]}
    search = GridSearchCV(NDCGRanker(), grid, scoring=get_scorer("ndcg"), cv=QueryKFold(2))
    search.fit(X, RankingTarget(y, qid))
    assert_json_scores(to_json(search, feature_names=NAMES), records(X), search.predict(X), 1e-9)


# -- trees -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("engine", ENGINES)
def test_the_plugin_computes_the_scores_of_trees(engine, problem):
    X, y, qid = problem
    # Values on thresholds, and thresholds between values.
    X = np.round(X, 1).astype(np.float32).astype(float)
    ranker = boosted(engine, n_models=2).fit(X, y, qid)
    text = to_elasticsearch(ranker, "trees", feature_names=NAMES)
    assert json.loads(text)["model"]["model"]["type"] == "model/xgboost+json"
    X = wider(X)
    assert_same_order(score_of_plugin(text, X), ranker.predict(X))


def regressors():
    yield "sklearn", lambda _: HistGradientBoostingRegressor(max_iter=5)
    yield "lightgbm", lambda lib: lib.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    yield "xgboost", lambda lib: lib.XGBRegressor(n_estimators=5, n_jobs=1)


@pytest.mark.parametrize(("name", "make"), regressors(), ids=dict(regressors()))
def test_the_plugin_computes_the_scores_of_regressors(name, make, problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid = problem
    frame = pandas.DataFrame(X, columns=["a_b", "c", "d", "e"])
    ranker = NDCGRanker(make(pytest.importorskip(name))).fit(frame, y, qid)
    text = to_elasticsearch(ranker, "trees", feature_names=NAMES)
    assert_same_order(score_of_plugin(text, X), ranker.predict(frame))


@pytest.mark.parametrize("threshold", [0.1, -0.1, 1e-50, -1e-50, 0.0, 2.0**24 + 1, 1e300, -1e300])
def test_rows_of_single_precision_stay_on_their_side(threshold):
    # A tree of one split of double precision, as LightGBM and scikit-learn have them.
    near = np.float32(np.clip(threshold, -1e38, 1e38))
    around = [np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf)]
    X = np.array([near, *around, -1.0, 1.0], dtype=np.float32)[:, None]
    lightgbm = pytest.importorskip("lightgbm")
    ranker = boosted("lightgbm", n_estimators=1, validation_fraction=None)
    rows = np.repeat([[-1.0], [1.0]], 30, axis=0)
    ranker.fit(rows, np.repeat([0, 1], 30), np.tile(np.arange(30), 2))
    text = ranker.booster_.model_to_string()
    text = re.sub("(?m)^threshold=.*$", f"threshold={threshold!r}", text)
    # The text also contains sizes of trees, which no longer fit.
    text = re.sub("(?m)^tree_sizes=.*\n", "", text)
    ranker.booster_ = lightgbm.Booster(model_str=text)
    body = json.loads(to_elasticsearch(ranker, "one", feature_names=["a"]))
    [tree] = json.loads(body["model"]["model"]["definition"])
    left, right = tree["children"]
    below = X[:, 0] < np.float32(tree["split_condition"])
    found = np.where(below, left["leaf"], right["leaf"])
    np.testing.assert_allclose(found, ranker.predict(X.astype(float)), rtol=1e-12)


def test_the_text_of_a_library_is_that_of_the_trees(problem):
    X, y, qid = problem
    lightgbm, xgboost = map(pytest.importorskip, ("lightgbm", "xgboost"))
    ranker = boosted("lightgbm").fit(X, y, qid)
    twin = lightgbm.Booster(model_str=to_engine(ranker))
    np.testing.assert_array_equal(twin.predict(X), ranker.predict(X))
    ranker = boosted("xgboost").fit(X, y, qid)
    twin = xgboost.Booster(model_file=bytearray(to_engine(ranker), "utf-8"))
    np.testing.assert_array_equal(twin.predict(xgboost.DMatrix(X)), ranker.predict(X))


# -- what cannot be written --------------------------------------------------------------


def refused():
    pairs = AveragePrecisionRanker(surrogate="pairwise", relevance_level=1)
    yield "pairs", pairs, r"map of pairs .* fit with surrogate='score'"
    yield "scaler", [QueryScaler()], "QueryScaler reads all documents of the query"
    yield "context", [QueryContext()], "QueryContext reads all documents of the query"
    nested = ColumnTransformer([("one", QueryScaler(), [0])])
    yield "nested", [nested], "QueryScaler reads all documents of the query"
    # Its other member reads whole queries.
    remedy = r"its rankers, named_rankers_\['a'\], or fit a StackingRanker with normalize='pooled'"
    views = [("a", NDCGRanker()), ("b", make_query_pipeline(QueryScaler(), NDCGRanker()))]
    yield "stack", StackingRanker(views, normalize="query"), remedy
    yield "link", NDCGRanker(PoissonRegressor()), "function of a sum that is linear .* to_onnx"
    yield "neighbors", NDCGRanker(KNeighborsRegressor(3)), r"no coef_.* to_onnx"
    yield "step", [PCA()], "PCA is not a step .* replace it by one of StandardScaler"
    yield "function", [FunctionTransformer(np.log1p)], "use signed_log1p"
    yield "late logs", [MinMaxScaler(), logs()], "before any other step"
    yield "cubic", [SplineTransformer()], "set degree=1"
    yield "slopes", [splines(extrapolation="linear")], "extrapolation='constant'"
    yield "twice", [QuantileHinges(), QuantileHinges()], "put it before the other steps"
    parts = [("a", "passthrough")]
    yield "weights", [FeatureUnion(parts, transformer_weights={"a": 2.0})], "transformer_weights"
    weighted = ColumnTransformer([("a", "passthrough", [0])], transformer_weights={"a": 2.0})
    yield "weights of columns", [weighted], "ColumnTransformer has transformer_weights"


REFUSED = {name: case for name, *case in refused()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("ranker", "match"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("write", [to_json, to_sql])
def test_what_cannot_be_written_says_why(ranker, match, write, problem):
    X, y, qid = problem
    X = np.abs(X) if "log1p" in match else X
    model = (
        ranker
        if hasattr(ranker, "predict")
        else QueryPipeline([(f"s{i}", step) for i, step in enumerate([*ranker, NDCGRanker()])])
    )
    model.fit(X, y, qid)
    with pytest.raises(ValueError, match=f"(?s){match}"):
        write(model, feature_names=NAMES)


def test_equal_knots_are_refused(problem):
    X, y, qid = problem
    X[20:] = 0.0
    with pytest.raises(ValueError, match="Use QuantileHinges"):
        to_json(fitted([splines()], (X, y, qid)), feature_names=NAMES)


def test_label_rankings_have_no_single_score(label_data):
    with pytest.raises(ValueError, match="4 scores for each row, the label-ranking form"):
        to_json(SpearmanRanker().fit(*label_data), feature_names=["a", "b", "c"])


def test_classifiers_have_no_scores(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match="predicts classes"):
        to_json(LowRankLossClassifier().fit(X, y), feature_names=NAMES)


def test_names_are_asked_for_and_checked(problem):
    pipe = fitted([StandardScaler()], problem)
    with pytest.raises(ValueError, match="not fitted to named columns: pass feature_names="):
        to_json(pipe)
    with pytest.raises(
        ValueError, match=r"must be 4 names that differ, got \['a', 'a', 'b', 'c'\]"
    ):
        to_json(pipe, feature_names=list("aabc"))
    with pytest.raises(ValueError, match=r"got none named CASE, c\"d"):
        to_elasticsearch(pipe, "m", feature_names=NAMES, feature_set=["a b", "ä"])


def test_names_of_a_frame_are_known(problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid = problem
    pipe = fitted([StandardScaler()], (pandas.DataFrame(X, columns=NAMES), y, qid))
    assert [column["name"] for column in json.loads(to_json(pipe))["columns"]] == NAMES


@pytest.mark.parametrize("steps", [[logs()], [QuantileHinges()]])
def test_the_plugin_has_no_curves(steps, problem):
    with pytest.raises(ValueError, match=r"bends or takes logarithms of .*c\"d.* use to_sql"):
        to_elasticsearch(fitted(steps, problem), "m", feature_names=NAMES)


def test_trees_that_are_no_splits_of_numbers_say_so(problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid = problem
    started = boosted(FIRST, start=NDCGRanker(), n_estimators=3)
    started.fit(X, y, qid)
    if started.start_scale_:
        for write in (to_elasticsearch, lambda ranker, *_, **__: to_engine(ranker)):
            with pytest.raises(ValueError, match=r"start=None, or use to_json or\s+to_onnx"):
                write(started, "m", feature_names=NAMES)
    frame = pandas.DataFrame(X, columns=NAMES).assign(kind=["x", "y"] * 60)
    kinds = boosted(FIRST, n_estimators=3).fit(frame, y + 2 * (frame["kind"] == "x"), qid)
    with pytest.raises(ValueError, match=r"splits? columns of categories.* use to_json"):
        to_elasticsearch(kinds, "m")
    scaled = fitted([StandardScaler()], problem, boosted(FIRST, n_estimators=3))
    with pytest.raises(ValueError, match="steps before them make"):
        to_elasticsearch(scaled, "m", feature_names=NAMES)


@pytest.mark.parametrize("write", [to_json, to_sql])
def test_trees_that_do_not_add_up_say_so(write, problem):
    xgboost = pytest.importorskip("xgboost")
    X, y, qid = problem
    dropping = xgboost.XGBRegressor(n_estimators=9, booster="dart", rate_drop=0.5, n_jobs=1)
    ranker = NDCGRanker(dropping).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"do not add up to the scores .* to_engine"):
        write(ranker, feature_names=NAMES)


def linked():
    """Yield regressors of trees that predict a function of what the trees add up to."""
    yield "sklearn", "HistGradientBoostingRegressor", {"loss": "poisson", "max_iter": 5}
    for options in ({"objective": "poisson"}, {"objective": "cross_entropy"}, {"reg_sqrt": True}):
        yield "lightgbm", "LGBMRegressor", {"n_estimators": 5, "verbose": -1, **options}
    for objective in ("count:poisson", "reg:logistic", "reg:tweedie"):
        yield "xgboost", "XGBRegressor", {"n_estimators": 5, "objective": objective}


@pytest.mark.every_case
@pytest.mark.parametrize(("library", "name", "options"), linked())
def test_trees_with_a_link_are_not_exported(library, name, options, problem):
    X, _, qid = problem
    y = (np.abs(X[:, 0]) > 0.7).astype(float)  # which every objective takes, and trees find
    module = ensemble if library == "sklearn" else pytest.importorskip(library)
    around = NDCGRanker(getattr(module, name)(**options), loss="squared")
    stack = StackingRanker([("trees", around), ("line", NDCGRanker())])
    message = f"{name} predicts a function of the sum of its trees"
    for ranker in (around.fit(X, y, qid), stack.fit(X, y, qid)):
        for write in (to_json, to_sql):
            with pytest.raises(ValueError, match=message):
                write(ranker, feature_names=NAMES)
    with pytest.raises(ValueError, match=message):
        to_elasticsearch(around, "m", feature_names=NAMES)


@pytest.mark.parametrize("best", [None, 3])
def test_trees_of_which_the_mean_is_predicted(best, problem):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = problem
    rows = {"bagging_freq": 1, "bagging_fraction": 0.5, "min_child_samples": 3}
    forest = lightgbm.LGBMRegressor(
        n_estimators=9, boosting_type="rf", verbose=-1, n_jobs=1, **rows
    )
    ranker = ExternalRanker(forest).fit(X, y, qid)
    ranker.estimator_.booster_.best_iteration = best or 0  # as early stopping does
    scores = ranker.predict(X)
    np.testing.assert_allclose(scores, ranker.estimator_.predict(X))
    np.testing.assert_allclose(ranker.contributions(X, qid).sum(axis=1), scores, rtol=1e-12)
    assert_json_scores(to_json(ranker, feature_names=NAMES), records(X), scores)
    text = to_elasticsearch(ranker, "m", feature_names=NAMES)
    np.testing.assert_allclose(score_of_plugin(text, X), scores, rtol=1e-5)
    stack = StackingRanker([("trees", ranker), ("line", NDCGRanker())]).fit(X, y, qid)
    expected = stack.predict(X, qid)
    assert_json_scores(to_json(stack, feature_names=NAMES), records(X), expected)


def test_rounds_after_the_best_are_not_exported(problem):
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = problem
    stopped = xgboost.XGBRegressor(early_stopping_rounds=2, learning_rate=0.9, n_jobs=1)
    stopped.fit(X, y, eval_set=[(X[::2], -y[::2])], verbose=False)
    assert stopped.best_iteration + 1 < stopped.get_booster().num_boosted_rounds()
    found = score_of_plugin(to_elasticsearch(stopped, "m", feature_names=NAMES), X)
    assert_same_order(found, stopped.predict(X))


def test_text_of_a_library_is_one_model(problem):
    X, y, qid = problem
    with pytest.raises(ValueError, match="adds up 2 models"):
        to_engine(boosted("lightgbm", n_models=2, n_estimators=3).fit(X, y, qid))
    with pytest.raises(ValueError, match="have no text"):
        to_engine(boosted("sklearn", n_estimators=3).fit(X, y, qid))
    with pytest.raises(ValueError, match="pass a BoostedRanker"):
        to_engine(NDCGRanker().fit(X, y, qid))


# -- trees as JSON ---------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_json_holds_trees_and_their_start(engine, n_models, problem):
    X, _, qid = problem
    y = np.digitize(
        X @ [1.0, 0.2, 10.0, -0.3], [-1.0, 0.0, 1.0]
    )  # a sum, which few trees do not find
    ranker = boosted(engine, n_models=n_models, start=NDCGRanker()).fit(X, y, qid)
    assert np.any(ranker.start_scale_)
    assert_json_scores(to_json(ranker, feature_names=NAMES), records(X), ranker.predict(X), 1e-6)


def test_json_adds_the_rankers_of_a_stack(problem):
    X, _, qid = problem
    # A line for the linear ranker, and a step of a bent feature for the trees.
    y = np.digitize(X[:, 0], [0.0, 1.0]) + (np.abs(X[:, 2]) > 0.07)
    views = [("linear", fitted([StandardScaler()], problem)), ("trees", boosted(FIRST))]
    ranker = StackingRanker(views).fit(X, y, qid)
    assert (ranker.weights_ > 0).all()
    assert_json_scores(to_json(ranker, feature_names=NAMES), records(X), ranker.predict(X), 1e-6)
    with pytest.raises(ValueError, match="adds trees to other scores"):
        to_elasticsearch(ranker, "m", feature_names=NAMES)
    with pytest.raises(ValueError, match=r"a statement: pass table='\.\.\.'"):
        to_sql(ranker, feature_names=NAMES)


def test_json_of_trees_has_names_of_selected_features(problem):
    X, y, qid = problem
    X[:, 1] = 0.0
    trees = boosted(FIRST, n_estimators=3)
    pipe = fitted([VarianceThreshold()], (X, y, qid), trees)
    assert_json_scores(to_json(pipe, feature_names=NAMES), records(X), pipe.predict(X), 1e-6)
    with pytest.raises(ValueError, match="trees split columns that the steps before them make"):
        to_json(fitted([StandardScaler()], problem, trees), feature_names=NAMES)


def test_trees_in_a_pipeline_inside_a_ranker_are_exported(problem):
    X, y, qid = problem
    trees = make_pipeline(HistGradientBoostingRegressor(max_iter=3))
    ranker = NDCGRanker(trees, loss="squared").fit(X, y, qid)
    found = score_of_plugin(to_elasticsearch(ranker, "trees", feature_names=NAMES), X)
    assert_same_order(found, ranker.predict(X))
