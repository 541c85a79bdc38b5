"""Tables of hundreds of columns and thousands of levels: every reader computes the scores."""

import json
from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, NEEDS_LIGHTGBM, boosted, pickled
from exported import EVERY_READER, in_databases
from recipes import recipe
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skcalrank import NDCGRanker, TabularRanker
from skcalrank.export import to_engine, to_json, to_onnx, to_sql
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import read_by_trees

N, ASKED = 2400, 200
QID = np.repeat(np.arange(N // 10), 10)


def made(n_columns, n_levels, n=N):
    """Columns with gaps, labels, and columns of rows to be scored, some with a new level."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_columns)) * np.exp(rng.normal(size=n_columns))
    X = X.astype(np.float32).astype(float)  # what engines hold
    y = np.digitize(X[:, 0] / X[:, 0].std() + rng.normal(size=n), [-1, 0.5, 1.5])
    columns = {f"c{k}": [None if x > 2 else x for x in X[:, k].tolist()] for k in range(n_columns)}
    if n_levels:
        codes = rng.permutation(np.append(np.arange(n_levels), rng.integers(0, 9, n - n_levels)))
        columns["level"] = [f"it's {code}" if code % 50 else None for code in codes]
        y = y + (codes < 9)
    asked = {name: values[:ASKED] for name, values in columns.items()}
    if n_levels:
        asked["level"] = ["new", *asked["level"][1:]]
    return columns, y, asked


def records(columns):
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def scores_in(connection, sql, columns):
    text = {name: any(isinstance(x, str) for x in values) for name, values in columns.items()}
    typed = [f"{name} {'VARCHAR' if text[name] else 'DOUBLE'}" for name in columns]
    connection.execute(f"CREATE TABLE t (id INTEGER, qid INTEGER, {', '.join(typed)})")
    marks = ", ".join("?" * (2 + len(columns)))
    rows = [[k, k // 10, *row] for k, row in enumerate(zip(*columns.values()))]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    return np.array([x for *_, x in sorted(connection.execute(sql).fetchall())])


in_sqlite, in_duckdb = in_databases(scores_in)


def trees(engine, n_estimators=30):
    return boosted(engine, n_estimators=n_estimators, random_state=0)


def tabular(engine, name=""):
    ranker = TabularRanker(trees=engine and trees(engine), n_jobs=1, random_state=0)

    def fit(table, y):
        with recipe(name):
            ranker.fit(table, y, QID[: len(y)])
        ranker.weights_ = np.ones(len(ranker.weights_))
        return pickled(ranker)

    return fit


def of_frames(*steps):
    def fit(table, y):
        frame = pytest.importorskip("pandas").DataFrame(table)
        return make_query_pipeline(*steps, NDCGRanker()).fit(frame, y, QID[: len(y)])

    return fit


def one_hot():
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((numbers, ["c0"]), (levels, ["level"]))


CASES = {}
for engine in ENGINES:
    CASES[f"{engine}, 300 columns"] = 300, 0, lambda X, y, e=engine: trees(e).fit(X, y, QID)
    CASES[f"{engine}, 2000 levels"] = 2, 2000, lambda X, y, e=engine: trees(e).fit(X, y, QID)
    CASES[f"stack of {engine}, 300 columns"] = 300, 0, tabular(engine)
    CASES[f"stack of {engine}, 2000 levels"] = 2, 2000, tabular(engine)
CASES |= {
    "stack in query, 300 columns and 2000 levels": (300, 2000, tabular(FIRST, "both in query")),
    "one hot, 2000 levels": (1, 2000, of_frames(one_hot())),
}


@cache
def case(name):
    n_columns, n_levels, fit = CASES[name]
    table, y, asked = made(n_columns, n_levels)
    ranker = fit(records(table), y)
    is_pipe = name.startswith("one hot")
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame(asked) if is_pipe else records(asked)
    return ranker, asked, ranker.predict(rows, QID[:ASKED])


every_case = pytest.mark.parametrize("name", CASES)


def assert_scores(found, name, expected):
    # XGBoost adds its trees in single precision.
    tolerance = (1e-6 if "xgboost" in name else 1e-9) * np.ptp(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    assert np.ptp(expected) > 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Skipping features|Found unknown categories")
@every_case
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_databases(name, database):
    ranker, asked, expected = case(name)
    sql = to_sql(ranker, table="t", qid="qid", keep=["id"])
    assert_scores(database(sql, asked), name, expected)


@pytest.mark.slow
@every_case
def test_readers_of_json(name):
    ranker, asked, expected = case(name)
    text = to_json(ranker)
    for read in EVERY_READER:
        assert_scores(read(text, records(asked), QID[:ASKED]), name, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if "levels" not in name])
def test_onnxruntime(name):
    pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    ranker, asked, expected = case(name)
    graph = to_onnx(ranker).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    X = np.array(list(asked.values()), dtype=np.float32).T  # None is NaN
    parts = [session.run(None, {"X": query})[0] for query in np.split(X, ASKED // 10)]
    np.testing.assert_allclose(np.concatenate(parts).ravel(), expected, rtol=0, atol=1e-5)


@pytest.mark.slow
@NEEDS_LIGHTGBM
@pytest.mark.parametrize("name", ["lightgbm, 300 columns", "lightgbm, 2000 levels"])
def test_text_of_lightgbm(name):
    import lightgbm

    ranker, asked, expected = case(name)
    matrix = ranker.encoder_.transform(records(asked))
    matrix = read_by_trees(matrix, ranker.encoder_.categories_)
    twin = lightgbm.Booster(model_str=to_engine(ranker))
    np.testing.assert_array_equal(twin.predict(matrix), expected)


@pytest.mark.long
def test_hundreds_of_columns():
    # SQLite has 2000 columns in a step of a statement.
    table, y, asked = made(420, 0, n=120)
    ranker = tabular(None)(records(table), y)
    sql = to_sql(ranker, table="t", qid="qid", keep=["id"])
    expected = ranker.predict(records(asked), QID[:120])
    np.testing.assert_allclose(in_sqlite(sql, asked), expected, rtol=0, atol=1e-9)
    assert np.ptp(expected) > 0.1


def test_a_thousand_levels():
    table, y, asked = made(1, 1000, n=1100)
    table, asked = ({**of, "c0": np.arange(float(len(of["c0"])))} for of in (table, asked))
    ranker = of_frames(one_hot())(table, y)
    expected = ranker.predict(pytest.importorskip("pandas").DataFrame(asked), QID[:ASKED])
    columns = json.loads(to_json(ranker))["columns"]
    assert max(len(column.get("levels", ())) for column in columns) > 900
    sql = f"SELECT id, {to_sql(ranker)} AS score FROM t"
    np.testing.assert_allclose(in_sqlite(sql, asked), expected, rtol=0, atol=1e-9)
