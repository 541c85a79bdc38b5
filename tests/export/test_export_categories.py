"""Exported rankers of tables: categories and missing values count as they do in predict."""

import json
import sqlite3
import warnings
from contextlib import closing
from importlib.resources import files

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from exported import EVERY_READER, assert_json_scores, by_python
from schemas import faults
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from skcalrank import NDCGRanker, StackingRanker, TabularRanker
from skcalrank.export import to_elasticsearch, to_json, to_sql
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, signed_log1p

pd = pytest.importorskip("pandas")

SCHEMA = json.loads((files("skcalrank.export") / "scorer.schema.json").read_text())
NUMBERS, CATEGORIES = ["a b", "price"], ["bra'nd", "size"]


@pytest.fixture
def problem(rng):
    n = 200
    X = pd.DataFrame({name: np.round(rng.normal(2, 3, n), 3) for name in NUMBERS})
    X[CATEGORIES[0]] = rng.choice(["x", "it's", "rare", "z"], n, p=[0.4, 0.3, 0.02, 0.28])
    X[CATEGORIES[1]] = rng.choice([1, 2, 5], n).astype(float)
    y = rng.integers(0, 3, n) + (X[CATEGORIES[0]] == "x")
    return X, y, np.repeat(np.arange(20), 10)


def with_gaps(X, rng):
    """Return the table with missing values in all columns."""
    return X.mask(rng.random(X.shape) < 0.2, other=np.nan)


def one_hot(**options):
    return OneHotEncoder(sparse_output=False, **{"handle_unknown": "ignore", **options})


def encoded(numbers, categories):
    return make_column_transformer((numbers, NUMBERS), (categories, CATEGORIES))


def fill(**options):
    return SimpleImputer(**options)


def logs():
    return FunctionTransformer(signed_log1p, feature_names_out="one-to-one")


MOST = {"strategy": "most_frequent"}
TABLES = {
    "mean, one hot": encoded(fill(), one_hot()),
    "scaled, then filled": encoded(make_pipeline(StandardScaler(), fill()), one_hot()),
    "filled, then scaled": encoded(make_pipeline(fill(), MinMaxScaler()), one_hot()),
    "flags": encoded(make_pipeline(fill(add_indicator=True), StandardScaler()), one_hot()),
    "clipped": encoded(make_pipeline(fill(), MinMaxScaler((-1, 2), clip=True)), one_hot()),
    "logs": encoded(make_pipeline(fill(strategy="median"), logs()), one_hot()),
    "hinges": encoded(make_pipeline(fill(), QuantileHinges()), one_hot()),
    "splines": encoded(make_pipeline(fill(), SplineTransformer(4, degree=1)), one_hot()),
    "first dropped": encoded(fill(), one_hot(drop="first")),
    "rare ones together": encoded(fill(), one_hot(min_frequency=10)),
    "rare and unseen together": encoded(
        fill(), one_hot(min_frequency=10, handle_unknown="infrequent_if_exist")
    ),
    "first dropped, rare ones together": encoded(
        fill(), one_hot(min_frequency=10, drop="first", handle_unknown="infrequent_if_exist")
    ),
    "categories filled": encoded(fill(), make_pipeline(fill(**MOST), one_hot())),
    "text filled with a new category": make_column_transformer(
        (fill(strategy="constant", fill_value=-1.5), NUMBERS),
        (make_pipeline(fill(strategy="constant", fill_value="none"), one_hot()), CATEGORIES[:1]),
        (one_hot(), CATEGORIES[1:]),
    ),
}


def records(X):
    return X.astype(object).where(X.notna(), None).to_dict("records")


def score_of_sql(expression, X):
    names = ", ".join(f'"{name}"' for name in X)
    rows = [
        [None if value is None or value != value else value for value in row]
        for row in X.itertuples(index=False)
    ]
    marks = ", ".join("?" * X.shape[1])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE documents ({names})")
        connection.executemany(f"INSERT INTO documents VALUES ({marks})", rows)
        found = connection.execute(f"SELECT {expression} FROM documents ORDER BY rowid").fetchall()
    return np.array(found, dtype=float).ravel()


@pytest.mark.product
@pytest.mark.parametrize("gaps_in_fit", [True, False], ids=["gaps", "no gaps"])
@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_encoded_tables(columns, gaps_in_fit, problem, rng):
    X, y, qid = problem
    ranker = make_query_pipeline(columns, NDCGRanker())
    ranker.fit(with_gaps(X, rng) if gaps_in_fit else X, y, qid)
    X = with_gaps(X, rng)
    X.loc[:4, CATEGORIES[0]], X.loc[3:7, CATEGORIES[1]] = "unseen", 9.0
    expected = ranker.predict(X)
    assert np.ptp(expected) > 0.01
    assert_json_scores(to_json(ranker), records(X), expected, 1e-12)
    np.testing.assert_allclose(score_of_sql(to_sql(ranker), X), expected, atol=1e-12)


def test_linear_view_of_a_table(problem, rng):
    X, y, qid = problem
    views = TabularRanker("ndcg@10", trees=None).fit(with_gaps(X, rng), y, qid)
    for name in ("hinges", "logs"):
        view, rows = views.named_rankers_[name], with_gaps(X, rng)
        found = score_of_sql(to_sql(view), rows)
        np.testing.assert_allclose(found, view.predict(rows, qid), atol=1e-12)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_column_without_a_value(problem, rng):
    X, y, qid = problem
    X = X[NUMBERS].assign(empty=np.nan)
    for keep in (False, True):
        ranker = make_query_pipeline(fill(keep_empty_features=keep), NDCGRanker()).fit(X, y, qid)
        rows = with_gaps(X, rng)
        assert_json_scores(to_json(ranker), records(rows), ranker.predict(rows))


def test_features_that_must_have_a_value(problem):
    X, y, qid = problem
    columns = encoded("passthrough", one_hot(handle_unknown="error"))
    ranker = make_query_pipeline(columns, NDCGRanker()).fit(X, y, qid)
    document = json.loads(to_json(ranker))
    assert faults(document, SCHEMA) == []
    assert document["means"] == [None, None]
    assert [values[-1] for values in document["views"][0]["levels"]] == [None, None]
    rows = X.mask(np.eye(len(X), 4, dtype=bool))[:4]
    assert np.isnan(score_of_sql(to_sql(ranker), rows)).all()
    assert_json_scores(to_json(ranker), records(rows), np.full(4, np.nan), readers=EVERY_READER)


def test_truth_values(problem):
    X, y, qid = problem
    X = X[["price"]].assign(new=np.arange(len(X)) % 3 == 0)
    columns = make_column_transformer((one_hot(), ["new"]), ("passthrough", ["price"]))
    ranker = make_query_pipeline(columns, NDCGRanker()).fit(X, y, qid)
    [column] = [c for c in json.loads(to_json(ranker))["columns"] if c["kind"] == "category"]
    assert column["levels"] == [False, True]
    np.testing.assert_allclose(score_of_sql(to_sql(ranker), X), ranker.predict(X))


def test_large_integers_are_different_categories():
    ids = [2**53, 2**53 + 1, -1]
    X = pd.DataFrame({"id": pd.Series(ids * 10, dtype=object)})
    y, qid = np.tile([0, 1, 3], 10), np.repeat(range(10), 3)
    ranker = make_query_pipeline(fill(**MOST), one_hot(), NDCGRanker()).fit(X, y, qid)
    X.loc[3] = np.nan
    assert_json_scores(to_json(ranker), records(X), ranker.predict(X), 1e-12)
    np.testing.assert_allclose(score_of_sql(to_sql(ranker), X), ranker.predict(X), atol=1e-12)


@pytest.mark.parametrize(
    ("quote", "texts"), [('"', [r"'it''s \n'", "'\n'"]), ("`", [r"'it\'s \\n'", r"'\n'"])]
)
def test_sql_escapes_text_as_dialects_with_that_quote_do(quote, texts):
    X = pd.DataFrame({"c": [r"it's \n", "\n"] * 10})
    ranker = make_query_pipeline(one_hot(), NDCGRanker())
    ranker.fit(X, [0, 1] * 10, np.repeat(range(10), 2))
    for text in texts:
        assert f" WHEN {text} THEN " in to_sql(ranker, quote=quote)


def test_plugin_takes_what_is_missing_for_zero(problem, rng):
    X, y, qid = with_gaps(problem[0][NUMBERS], rng), *problem[1:]
    zero = make_query_pipeline(fill(strategy="constant", fill_value=0), NDCGRanker())
    text = to_elasticsearch(zero.fit(X, y, qid), "mine")
    weights = json.loads(json.loads(text)["model"]["model"]["definition"])
    found = X.fillna(0) @ [weights[name] for name in NUMBERS]
    assert np.ptp(found - zero.predict(X)) < 1e-12
    mean = make_query_pipeline(fill(), NDCGRanker()).fit(X, y, qid)
    with pytest.raises(ValueError, match="a b, price must count as 0 where missing"):
        to_elasticsearch(mean, "mine")


def gaps_that_matter(problem, rng):
    """Return a problem whose grades depend on missing categories, and rows with unseen ones."""
    X, _, qid = problem
    X = with_gaps(X, rng)
    kind = X[CATEGORIES[0]]
    y = 2 * kind.isna() + (kind == "x") + (X["price"] > 2)
    rows = with_gaps(problem[0], rng)
    rows.loc[:20, CATEGORIES[0]] = "unseen"
    return (X, y, qid), rows


@pytest.mark.parametrize("engine", ENGINES)
def test_trees_tell_unseen_categories_from_missing_ones(engine, problem, rng):
    data, rows = gaps_that_matter(problem, rng)
    # Beside a pipeline, which is written as a sum of functions of features.
    view = make_query_pipeline(LinearColumns(), NDCGRanker())
    ranker = StackingRanker([("trees", boosted(engine, n_estimators=20)), ("view", view)])
    ranker.fit(*data)
    ranker.weights_[:] = 1.0
    text = to_json(ranker)
    assert_json_scores(text, records(rows), ranker.predict(rows), 1e-6, EVERY_READER)
    none = records(rows.assign(**{CATEGORIES[0]: None}))
    qid = np.zeros(len(none))
    assert (by_python(text, records(rows), qid) < by_python(text, none, qid))[:21].all()


@pytest.mark.skipif("xgboost" not in ENGINES, reason="needs XGBoost")
def test_trees_that_know_different_categories(problem, rng):
    (X, y, qid), rows = gaps_that_matter(problem, rng)
    views = [("all", boosted("xgboost")), ("some", boosted("xgboost", validation_fraction=0.3))]
    stack = StackingRanker(views).fit(X, y, qid)
    some = (X[CATEGORIES[0]] != "z").to_numpy()
    stack.rankers_[1].fit(X[some], y[some], qid[some])
    stack.weights_[:] = 1.0
    assert_json_scores(to_json(stack), records(rows), stack.predict(rows), 1e-6)


def test_what_cannot_be_written(problem):
    X, y, qid = problem
    fits = {
        "bra'nd, size must be numbers in model/linear": encoded("passthrough", one_hot()),
        "SimpleImputer must replace NaN or None .* missing_values=-1": encoded(
            fill(missing_values=-1), one_hot()
        ),
        "OneHotEncoder must encode features as they are": make_column_transformer(
            (make_pipeline(MinMaxScaler(), one_hot()), ["size"])
        ),
    }
    for message, columns in fits.items():
        ranker = make_query_pipeline(columns, NDCGRanker()).fit(X, y, qid)
        with pytest.raises(ValueError, match=message):
            to_elasticsearch(ranker, "mine")


def test_categories_that_no_format_holds(problem):
    X, y, qid = problem
    days = X[["price"]].assign(
        day=pd.Series([0, 1] * 100).astype(object).map([b"a", b"b"].__getitem__)
    )
    columns = make_column_transformer((one_hot(), ["day"]), ("passthrough", ["price"]))
    ranker = make_query_pipeline(columns, NDCGRanker()).fit(days, y, qid)
    with pytest.raises(ValueError, match="Categories must be text, truth values or numbers"):
        to_json(ranker)
    both = X[["price"]].assign(kind=pd.Series([None, np.nan, "a", "b"] * 50, dtype=object))
    columns = make_column_transformer((one_hot(), ["kind"]), ("passthrough", ["price"]))
    ranker = make_query_pipeline(columns, NDCGRanker()).fit(both, y, qid)
    with pytest.raises(ValueError, match="kind has both None and NaN"):
        to_json(ranker)


@pytest.mark.parametrize("kinds", [["a", "a", "b", None], ["a", None, None, None]])
def test_none_that_an_imputer_leaves(kinds, problem):
    X, y, qid = problem
    X = pd.DataFrame({"kind": pd.Series(kinds * 50, dtype=object)})
    ranker = make_query_pipeline(fill(**MOST), one_hot(), NDCGRanker()).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"kind .*None.* by frame\.fillna\(np\.nan\) before fit"):
        to_sql(ranker)


def test_the_plugin_has_names_of_the_columns_that_trees_read(problem):
    X, y, qid = problem
    frame = X[NUMBERS].assign(one=1.0)[["one", *NUMBERS]]
    trees = boosted(FIRST, n_estimators=5).fit(frame, y + (X["price"] > 2), qid)
    body = json.loads(to_elasticsearch(trees, "mine", feature_set=NUMBERS))
    assert '"price"' in body["model"]["model"]["definition"]


@pytest.mark.parametrize("how", ["as category", "as date", "less an offset"])
def test_the_plugin_reads_numbers_as_they_are(how, problem):
    X, y, qid = problem
    day = np.array("2026-01-01", dtype="M8[D]") + 7 * (np.arange(len(X)) % 60)
    columns = {
        "as category": np.where(y > 0, "high", "low"),
        "as date": day,
        "less an offset": 2.0**40 + np.arange(len(X)) % 60,
    }
    frame = X[NUMBERS].assign(more=columns[how])
    y = y if how == "as category" else (np.arange(len(X)) % 60) // 15
    trees = boosted(FIRST, n_estimators=3, columns={"price": "drop"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column that tells the labels
        trees.fit(frame, y, qid)
    match = "columns of categories, such as 'more'" if "cat" in how else f"'more' is read {how}"
    with pytest.raises(ValueError, match=f"{match}.* use to_json"):
        to_elasticsearch(trees, "mine")
