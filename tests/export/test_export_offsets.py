"""Columns of numbers far from 0, such as times in microseconds: no export rounds them off."""

import json

import numpy as np
import pytest
from exported import EVERY_READER, in_databases
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from skcalrank import BoostedRanker, NDCGRanker
from skcalrank.export import to_elasticsearch, to_json, to_sql
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges

QID = np.repeat(np.arange(30), 12)
FAR = {"microseconds": 1_700_000_000_000_000, "ids": 10**16, "negative": -(10**16)}

CASES = {
    "table": lambda: [LinearColumns()],
    "hinges of a table": lambda: [LinearColumns(QuantileHinges())],
    "scaled": lambda: [StandardScaler()],
    "filled, scaled": lambda: [SimpleImputer(), StandardScaler()],
    "filled, scaled, hinges": lambda: [SimpleImputer(), StandardScaler(), QuantileHinges()],
    "robust": lambda: [SimpleImputer(), RobustScaler()],
    "two centers": lambda: [
        SimpleImputer(add_indicator=True),
        FeatureUnion([("a", StandardScaler()), ("b", make_pipeline(RobustScaler()))]),
    ],
}


def problem(far, lacking, seed=1):
    rng = np.random.default_rng(seed)
    steps = 2 * rng.integers(0, 50, len(QID))  # as floats near 1e16 are even
    y = np.clip(np.round(steps / 40 + rng.normal(size=len(QID)) * 0.3), 0, 3).astype(int)
    times = [FAR[far] + int(t) for t in steps]
    if lacking:
        times[3::17] = [None] * len(times[3::17])
    columns = {"u": rng.normal(size=len(QID)).tolist(), "i": times}
    return [dict(zip(columns, row)) for row in zip(*columns.values())], y


def fitted(case, far, lacking):
    rows, y = problem(far, lacking)
    # Integers for rankers of tables, which read them exactly.
    frame = pytest.importorskip("pandas").DataFrame(rows)
    ranker = make_query_pipeline(*CASES[case](), NDCGRanker()).fit(frame, y, QID)
    return ranker, rows, frame, y


def scores_in(connection, sql, rows):
    connection.execute("CREATE TABLE t (k INTEGER, u DOUBLE, i BIGINT)")
    marked = [[k, *row.values()] for k, row in enumerate(rows)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", marked)
    return np.array([x for _, x in sorted(connection.execute(sql).fetchall())])


in_sqlite, in_duckdb = in_databases(scores_in)


def assert_scores(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.ptp(expected))


@pytest.mark.parametrize("lacking", [False, True], ids=["full", "lacking"])
@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("case", CASES)
def test_every_format_computes_the_scores(case, far, lacking):
    ranker, rows, frame, _ = fitted(case, far, lacking and case != "scaled")
    expected = ranker.predict(frame, QID)
    for read in EVERY_READER:
        assert_scores(read(to_json(ranker), rows, QID), expected)
    statement = to_sql(ranker, table="t", keep=["k"])
    for database in (in_sqlite, in_duckdb):
        for sql in (f"SELECT k, {to_sql(ranker)} FROM t", statement):
            assert_scores(database(sql, rows), expected)


@pytest.mark.parametrize("far", FAR)
def test_the_start_of_trees(far):
    start, rows, frame, y = fitted("table", far, True)
    ranker = BoostedRanker(n_estimators=5, engine="sklearn", n_models=1, start=start)
    expected = ranker.fit(frame, y, QID).predict(frame, QID)
    assert_scores(in_sqlite(to_sql(ranker, table="t", keep=["k"]), rows), expected)
    for read in EVERY_READER:
        assert_scores(read(to_json(ranker), rows, QID), expected)


@pytest.mark.parametrize("clip", [False, True])
def test_a_unit_interval_far_from_zero(clip):
    rows, y = problem("microseconds", False)
    frame = pytest.importorskip("pandas").DataFrame(rows)
    low, width = frame.min(), frame.max() - frame.min()
    ranker = make_query_pipeline(MinMaxScaler(clip=clip), NDCGRanker()).fit(frame, y, QID)
    # The scaler itself rounds off differences of large numbers.
    expected = ranker[-1].predict(((frame - low) / width).to_numpy())
    assert_scores(in_sqlite(f"SELECT k, {to_sql(ranker)} FROM t", rows), expected)
    np.testing.assert_allclose(ranker.predict(frame, QID), expected, atol=0.1)


def test_the_plugin_has_one_weight_for_a_feature_with_two_centers():
    far = np.linspace(0, 9, 40)[:, None] + 1e12
    zero = SimpleImputer(strategy="constant", fill_value=0)
    union = FeatureUnion([("a", StandardScaler()), ("b", RobustScaler())])
    ranker = make_query_pipeline(zero, union, NDCGRanker()).fit(far, np.arange(40) % 3, [0] * 40)
    body = json.loads(to_elasticsearch(ranker, "mine", feature_names=["a"]))
    [weight] = json.loads(body["model"]["model"]["definition"]).values()
    a, b = ranker[-1].coef_
    scales = [step.scale_[0] for _, step in ranker[1].transformer_list]
    assert weight == pytest.approx(a / scales[0] + b / scales[1])


def test_columns_near_zero_are_read_as_they_are(rng):
    X = rng.normal(loc=[0, 1000], size=(40, 2))
    ranker = make_query_pipeline(StandardScaler(), NDCGRanker())
    text = to_json(ranker.fit(X, np.arange(40) % 3, [0] * 40), feature_names=["a", "b"])
    assert [column["offset"] for column in json.loads(text)["columns"]] == [0.0, 0.0]
