"""Statements of SQL: SQLite and DuckDB compute what predict returns."""

import sqlite3
from contextlib import closing
from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, pickled
from exported import in_databases
from external_cases import TREES, tree_ranker
from recipes import recipe

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker, TabularRanker
from skcalrank.export import to_sql
from skcalrank.stacking import scorer_of

N, QID = 200, np.repeat([f'query\'s "{k}"' for k in range(20)], 10)

#: Columns, with names that are hard to quote, or that the statement uses itself.
TYPES = {
    'pri"ce': "DOUBLE",
    "m0": "BIGINT",
    "used": "BOOLEAN",
    "bra'nd": "VARCHAR",
    "score": "VARCHAR",
    "zip code": "BIGINT",
    "large": "DOUBLE",
    "small": "DOUBLE",
}


def columns(seed=0, new=()):
    """Columns of Python values, None where missing, and new levels in some rows."""
    rng = np.random.default_rng(seed)

    def lacking(values, share=0.15):
        return [None if gap else value for value, gap in zip(values, rng.random(N) < share)]

    table = {
        'pri"ce': lacking(np.round(rng.lognormal(2, 1, N), 2).tolist()),
        "m0": lacking(rng.integers(-3, 9, N).tolist()),
        "used": lacking((rng.random(N) < 0.5).tolist()),
        "bra'nd": lacking(rng.choice(["acme's", 'b "b"', "01", "Été\n", "\\"], N).tolist()),
        "score": lacking([f"l{k**2 // 40}" for k in rng.integers(0, 40, N)]),
        "zip code": lacking(rng.choice([10, 20, 30], N).tolist()),
        "large": (2.0**40 + rng.integers(0, 9, N)).tolist(),
        "small": (rng.normal(size=N) * 1e-30).tolist(),
    }
    for row in new:
        table["bra'nd"][row], table["score"][row], table["zip code"][row] = "new", "NEW", 40
    return table


#: Numbers at the ends of double precision, which a request may hold though fit has seen none.
EXTREMES = [1e300, -1e300, 1.7e308, -1.7e308, 1e154, 1e-300, -1e-310, 5e-324, 0.0, None]


def with_extremes():
    """Columns of which one has numbers of every size."""
    table, rng = columns(2), np.random.default_rng(1)
    for row in range(0, N, 3):
        table['pri"ce'][row] = EXTREMES[rng.integers(len(EXTREMES))]
    return table


def records(table):
    return [dict(zip(table, row)) for row in zip(*table.values())]


def grades():
    table = columns()
    worth = [(m or 0) + 5 * (b == "acme's") for m, b in zip(table["m0"], table["bra'nd"])]
    return np.digitize(worth + np.random.default_rng(1).normal(size=N), [1, 4, 8])


KINDS = {"zip code": "category"}


@cache
def stack(trees, normalize="pooled", name=""):
    few = trees and boosted(trees, n_estimators=8, min_samples_leaf=4)
    ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, columns=KINDS, n_jobs=1)
    with recipe(name):
        ranker.fit(records(columns()), grades(), QID)
    ranker.weights_ = np.ones(len(ranker.weights_))  # some member may have had none
    return pickled(ranker)


@cache
def trees_alone(engine):
    ranker = boosted(engine, n_models=2, min_samples_leaf=4, columns=KINDS)
    return ranker.fit(records(columns()), grades(), QID)


@cache
def trees_of_others(engine):
    ranker = tree_ranker(engine, columns=KINDS)
    return pickled(ranker.fit(records(columns()), grades(), QID))


@cache
def linear():
    views = [("one", NDCGRanker(alpha=0.1)), ("two", NDCGRanker(alpha=10.0))]
    return StackingRanker(views).fit(np.arange(400.0).reshape(N, 2) % 7, grades(), QID)


# -- databases -----------------------------------------------------------------------------


def scores_in(connection, sql, table, qid):
    """Scores in the order of the rows."""
    types = {**TYPES, "id": "INTEGER", 'q"id': "VARCHAR"}
    table = {**table, "id": list(range(N)), 'q"id': list(qid)}
    names = ['"' + name.replace('"', '""') + '"' for name in table]
    typed = ", ".join(f"{name} {types[column]}" for name, column in zip(names, table))
    connection.execute(f"CREATE TABLE t ({typed})")
    marks = ", ".join("?" * len(names))
    rows = [list(row) for row in zip(*table.values())]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    rows = connection.execute(sql).fetchall()
    assert {(query, number) for query, number, _ in rows} == set(zip(qid, range(N)))
    return np.array([score for *_, score in sorted(rows, key=lambda row: row[1])])


in_sqlite, in_duckdb = in_databases(scores_in)


every_database = pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
TABLE = {"table": "main.t", "qid": 'q"id', "keep": ["id"]}

CASES = {f"stack of {trees}": (stack, trees) for trees in (*ENGINES, None)}
CASES |= {f"{trees} by query": (stack, trees, "query") for trees in (FIRST, None)}
CASES |= {f"{trees} in query": (stack, trees, "pooled", "in query") for trees in ENGINES}
CASES |= {f"{engine} alone": (trees_alone, engine) for engine in ENGINES}
CASES |= {f"{engine} external": (trees_of_others, engine) for engine in TREES}


@pytest.mark.product
@every_database
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("of", ["fit", "new", "one document", "every finite number"])
def test_databases_compute_the_scores(case, database, of):
    fit, *options = CASES[case]
    ranker = fit(*options)
    table = columns() if of == "fit" else columns(2, range(0, N, 7))
    table = with_extremes() if of == "every finite number" else table
    qid = QID if of != "one document" else np.array([f"q{k}" for k in range(N)])
    expected = ranker.predict(records(table), qid)
    scores = database(to_sql(ranker, **TABLE), table, qid)
    # XGBoost adds its trees in single precision.
    tolerance = 1e-6 if "xgboost" in options else 1e-9
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)
    if of != "one document":
        assert np.ptp(expected) > 0.1


@every_database
def test_deep_trees(database):
    # Every split cuts a document off, so that the trees are as deep as they can be.
    X = 1.5 ** np.arange(N)[:, None]
    ranker = BoostedRanker(
        engine=FIRST,
        max_leaf_nodes=120,
        min_samples_leaf=1,
        n_estimators=60,
        validation_fraction=None,
    )
    ranker.set_params(n_jobs=1, learning_rate=0.5, max_bins=255, l2_regularization=0.0)
    ranker.fit(X, np.arange(N) % 10 + np.arange(N) // 20, np.arange(N) // 100)
    table = {**columns(), 'pri"ce': X.ravel().tolist()}
    sql = to_sql(ranker, feature_names=['pri"ce'], **TABLE)
    np.testing.assert_allclose(database(sql, table, QID), ranker.predict(X), atol=1e-9)


@every_database
def test_a_statement_of_an_expression(database):
    ranker = linear()
    names = ["m0", 'pri"ce']
    table = {**columns(), "m0": [k % 7 for k in range(N)], 'pri"ce': [k / 4 for k in range(N)]}
    X = np.column_stack([table[name] for name in names])
    sql = to_sql(ranker, feature_names=names, **TABLE)
    np.testing.assert_allclose(database(sql, table, QID), ranker.predict(X), atol=1e-9)


@pytest.mark.product
@every_database
@pytest.mark.parametrize("names", [["bra'nd", "zip code"], ['pri"ce', "m0"]])
def test_columns_of_one_kind(names, database):
    table = {name: values for name, values in columns().items() if name in names}
    chosen = {name: kind for name, kind in KINDS.items() if name in names}
    ranker = TabularRanker(trees=None, columns=chosen).fit(records(table), grades(), QID)
    scores = database(to_sql(ranker, **TABLE), table, QID)
    np.testing.assert_allclose(scores, ranker.predict(records(table), QID), atol=1e-9)


def test_a_table_may_be_a_query():
    sql = to_sql(stack(FIRST), **{**TABLE, "table": "(SELECT * FROM t WHERE id < 1000)"})
    expected = stack(FIRST).predict(records(columns()), QID)
    np.testing.assert_allclose(in_sqlite(sql, columns(), QID), expected, atol=1e-9)


def test_a_missing_column_is_an_error():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE products (id)")
        with pytest.raises(sqlite3.OperationalError, match=r"no such column: t\.pri"):
            connection.execute(to_sql(trees_alone(FIRST), table="products"))


def test_lists_of_codes_are_no_joins():
    # DuckDB makes a join of each IN with several values, and of hundreds takes minutes.
    levels, qid = np.tile(list("abcdef"), 40), np.repeat(range(20), 12)
    rows = [{"level": level} for level in levels]
    for engine in ENGINES:
        ranker = boosted(engine, columns={"level": "category"}, validation_fraction=None)
        ranker.fit(rows, np.isin(levels, ["a", "c", "e"]) * 1.0, qid)
        assert any(len(codes) > 1 for of in forests_of(ranker) for codes in of.codes.values())
        assert " IN (" not in to_sql(ranker, table="t")


def forests_of(ranker):
    return [forest for trees in scorer_of(ranker).trees for forest in trees.written()]


def test_dialects_with_backticks():
    sql = to_sql(stack(FIRST), **TABLE, quote="`")
    assert sql.startswith('WITH skcalrank_0 AS (SELECT t.`q"id` AS o0, t.`id` AS o1, ')
    assert r" WHEN 'acme\'s' THEN " in sql


# -- what cannot be written ------------------------------------------------------------------


def test_an_expression_is_of_one_document():
    for ranker in (stack(FIRST), stack(None), trees_alone(FIRST)):
        with pytest.raises(ValueError, match=r"a statement: pass table='\.\.\.'.* and qid="):
            to_sql(ranker)


def test_the_query_is_asked_for_where_scores_depend_on_it():
    with pytest.raises(ValueError, match=r"other documents of the query, got None: pass qid="):
        to_sql(stack(None), table="t")
    assert " q " not in to_sql(trees_alone(FIRST), table="t")


@pytest.mark.parametrize("options", [{"qid": "q"}, {"keep": ["id"]}])
def test_columns_are_those_of_a_table(options):
    with pytest.raises(
        ValueError, match=r"qid and keep are columns of a table, got .*: pass table"
    ):
        to_sql(linear(), feature_names=["a", "b"], **options)


def test_keep_is_a_list():
    with pytest.raises(ValueError, match=r"keep must be a list of names .* got 'id': \['id'\]"):
        to_sql(trees_alone(FIRST), table="t", keep="id")


KINDS_WITHOUT_FORM = {
    "date": lambda k: f"2024-0{k % 9 + 1}-1{k % 7}",
    "text": lambda k: f"word{k} of {k % 7} and {k % 3}",
    "duration": lambda k: np.timedelta64(k % 50, "s"),
    "number": lambda k: str(k % 50),
}


@pytest.mark.parametrize("kind", KINDS_WITHOUT_FORM)
def test_columns_that_databases_read_in_ways_of_their_own_are_named(kind):
    value = KINDS_WITHOUT_FORM[kind]
    table = [{**row, "the col": value(k)} for k, row in enumerate(records(columns()))]
    chosen = {} if kind == "duration" else {"the col": kind}
    ranker = TabularRanker(trees=None, columns=chosen).fit(table, grades(), QID)
    said = rf"got 'the col' \({'text' if kind == 'number' else kind}\).* use to_json"
    with pytest.raises(ValueError, match=said):
        to_sql(ranker, table="t", qid="q")
    without = TabularRanker(trees=None, columns={"the col": "drop"}).fit(table, grades(), QID)
    assert "the col" not in to_sql(without, table="t", qid="q")
    both = [
        {**row, "then": np.datetime64("2026-01-01") + np.timedelta64(k, "D")}
        for k, row in enumerate(table)
    ]
    ranker = TabularRanker(trees=None, columns=chosen).fit(both, grades(), QID)
    with pytest.raises(ValueError, match=r"'then' \(date\).*'the col': 'drop', 'then': 'drop'"):
        to_sql(ranker, table="t", qid="q")


def test_levels_of_text_and_of_numbers_in_one_column():
    table = records(columns())
    mixed = [
        {**row, "score": row["score"] and (k % 3 or row["score"])} for k, row in enumerate(table)
    ]
    ranker = TabularRanker(trees=None).fit(mixed, grades(), QID)
    with pytest.raises(ValueError, match=r"'score' has levels of text and of numbers, .* one type"):
        to_sql(ranker, table="t", qid="q")
