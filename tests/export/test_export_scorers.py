"""Stacks and boosted trees as JSON: readers without the package compute what predict returns."""

import json
import subprocess
from datetime import timedelta
from functools import cache
from importlib.resources import files
from runpy import run_path

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, pickled
from exported import NODE, READERS, by_node, by_python, every_reader
from external_cases import TREES, tree_ranker
from recipes import recipe
from schemas import faults
from tables import FORMS, labels, made_columns

from skcalrank import StackingRanker, TabularRanker, load_digits_queries
from skcalrank.export import to_json

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)
KINDS = {"maker": "text", "size": "number", 'co"de': "category"}
NEW = range(0, 160, 7)


def rows(seed=0, new=()):
    """The made table with more kinds of columns, of which some rows have new values."""
    rng = np.random.default_rng(seed)
    levels = [None if k < 2 else f"l'{k**2 // 40}" for k in rng.integers(0, 40, 160)]
    makers = rng.choice(["Ångström", "müller_2", "İzmir", "ab", "straße", None], 160).tolist()
    codes = [[1, "1", 2.5, True, None][k] for k in rng.integers(0, 5, 160)]
    brands = list(COLUMNS["brand"])
    seen = list(COLUMNS["seen"])
    for row in new:
        levels[row], brands[row], makers[row], codes[row] = "new", "NEW", "Ångsträße!", "2.5"
        seen[row] = seen[row] and seen[row] + timedelta(days=-800, microseconds=row)
    table = {**COLUMNS, "brand": brands, "seen": seen, "level": levels, "maker": makers}
    return FORMS["records"](
        {**table, "size": [str(k / 4) for k in rng.integers(0, 9, 160)], 'co"de': codes}
    )


#: Numbers at the ends of double precision, which a request may hold though fit has seen none.
EXTREMES = [1e300, -1.7e308, 1e154, 5e-324, 1.7e308, -1e-310, None, -1e300, 0.0]


@cache
def stack(trees, normalize="pooled", name=""):
    few = trees and boosted(trees, n_estimators=8, min_samples_leaf=4)
    ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, columns=KINDS, n_jobs=1)
    with recipe(name):
        ranker.fit(rows(), Y, QID)
    ranker.weights_ = np.ones(len(ranker.weights_))  # some member may have had none
    return pickled(ranker)


@cache
def trees_alone(engine):
    ranker = boosted(engine, n_models=2, min_samples_leaf=4, columns=KINDS)
    return ranker.fit(rows(), Y, QID)


@cache
def trees_of_others(engine):
    return pickled(tree_ranker(engine, columns=KINDS).fit(rows(), Y, QID))


CASES = {f"stack of {trees}": (stack, trees) for trees in (*ENGINES, None)}
CASES |= {f"{trees} by query": (stack, trees, "query") for trees in (FIRST, None)}
CASES |= {f"{trees} in query": (stack, trees, "pooled", "in query") for trees in ENGINES}
CASES |= {f"{engine} alone": (trees_alone, engine) for engine in ENGINES}
CASES |= {f"{engine} external": (trees_of_others, engine) for engine in TREES}


@pytest.fixture(params=CASES, scope="module")
def ranker(request):
    fit, *options = CASES[request.param]
    return fit(*options)


# -- readers -------------------------------------------------------------------------------


@pytest.mark.product
@every_reader
@pytest.mark.parametrize("of", ["fit", "new", "one document", "every finite number"])
def test_readers_compute_the_scores(ranker, read, of):
    table, qid = (rows() if of == "fit" else rows(1, NEW)), QID
    if of == "every finite number":
        for row, number in zip(table[::3], EXTREMES * 6):
            row["price"] = number
    if of == "one document":
        qid = np.arange(len(QID))
    expected = ranker.predict(table, qid)
    scores = read(to_json(ranker), table, qid)
    # XGBRanker begins its sums in single precision at a base_score.
    tolerance = 1e-6 if "XGBRanker" in repr(ranker) else 1e-9
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)
    if of != "one document":
        assert np.ptp(expected) > 0.1


@pytest.mark.product
@every_reader
@pytest.mark.parametrize("trees", [FIRST, None])
def test_readers_take_the_columns_of_an_array(trees, read):
    X, y, qid = load_digits_queries(n_queries=20, n_documents=8)
    X[::7] = np.nan
    few = trees and boosted(trees, n_estimators=4)
    ranker = TabularRanker(trees=few, n_jobs=1).fit(X, y, qid)
    names = [f'a "{k}" \\' for k in range(X.shape[1])]
    with pytest.raises(ValueError, match="not fitted to named columns: pass feature_names="):
        to_json(ranker)
    text = to_json(ranker, feature_names=names)
    table = [dict(zip(names, map(float, row))) for row in np.where(np.isnan(X), 0.5, X)]
    scores = read(text, table, qid)
    expected = ranker.predict(np.where(np.isnan(X), 0.5, X), qid)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.product
@every_reader
@pytest.mark.parametrize("kind", ["category", "number"])
def test_readers_take_columns_of_one_kind(kind, read):
    values = ["x", "y", None, 3.0, 1.5] if kind == "category" else [1.0, 2.0, None, 3.0, 1.5]
    table = [{"only": values[(k + k // 7) % 5]} for k in range(160)]
    y = [row["only"] in ("x", 2.0) for row in table]
    ranker = TabularRanker(trees=None).fit(table, np.array(y) + 1.0 * (Y > 1), QID)
    assert ranker.encoder_.kinds_ == {"only": kind}
    expected = ranker.predict(table, QID)
    np.testing.assert_allclose(read(to_json(ranker), table, QID), expected, rtol=0, atol=1e-9)


@every_reader
def test_readers_take_texts_that_recur(read):
    rng = np.random.default_rng(0)
    titles = [" ".join(rng.choice([f"w{k}" for k in range(60)], 4)) for _ in range(120)]
    table = [{"a": titles[k]} for k in rng.integers(0, 120, 640).tolist()]
    y, qid = rng.integers(0, 3, 640) + np.array(["w1" in row["a"] for row in table]), QID.repeat(4)
    trees = boosted(FIRST, n_estimators=4, min_samples_leaf=4)
    ranker = TabularRanker(trees=trees, n_jobs=1).fit(table, y, qid)
    assert ranker.encoder_.categorical_ == [0]
    document = json.loads(to_json(ranker))
    assert faults(document, SCHEMA) == []
    table[0]["a"], table[1]["a"] = None, "w1 that is new"
    scores = read(json.dumps(document), table, qid)
    np.testing.assert_allclose(scores, ranker.predict(table, qid), rtol=0, atol=1e-9)


@pytest.mark.parametrize("normalize", ["pooled", "query"])
def test_no_documents_have_no_scores(normalize):
    text = to_json(stack(None, normalize))
    assert run_path(str(READERS / "read_scorer.py"))["scores"](json.loads(text), []) == []


def test_the_reader_is_short():
    assert len((READERS / "read_scorer.py").read_text().splitlines()) <= 131


def test_a_number_that_is_a_text_is_an_error():
    ranker = trees_alone(FIRST)
    table = rows()
    table[0]["price"] = "cheap"
    with pytest.raises(ValueError, match="price must be a number, got 'cheap'"):
        by_python(to_json(ranker), table, QID)
    if NODE:
        with pytest.raises(subprocess.CalledProcessError) as error:
            by_node(to_json(ranker), table, QID)
        assert "price must be a number, got cheap" in error.value.stderr


# -- the schema ----------------------------------------------------------------------------

SCHEMA = json.loads((files("skcalrank.export") / "scorer.schema.json").read_text())


def test_what_is_written_has_the_schema(ranker):
    document = json.loads(to_json(ranker))
    assert faults(document, SCHEMA) == []
    assert {column["kind"] for column in document["columns"]} >= {"number", "category", "text"}


def test_the_schema_describes_every_part():
    document = json.loads(to_json(stack(FIRST)))
    for part in document:
        rest = {name: value for name, value in document.items() if name != part}
        assert faults(rest, SCHEMA) == [f"$ lacks {part}"]
    assert faults(document | {"more": 1}, SCHEMA) == ["$ has more"]
    document["trees"][0][0]["roots"][0] = "0"
    assert faults(document, SCHEMA) == ["$.trees[0][0].roots[0] is '0'"]


# -- what has this format ------------------------------------------------------------------


def test_searches_and_stacks_have_the_format():
    X, y, qid = load_digits_queries(n_queries=20, n_documents=8)
    names = [f"x{k}" for k in range(X.shape[1])]
    trees = boosted(FIRST, n_estimators=2)
    for ranker in (trees, StackingRanker(), StackingRanker([("trees", trees)])):
        assert json.loads(to_json(ranker.fit(X, y, qid), feature_names=names))["format"] == 2


def test_levels_that_json_does_not_hold():
    table = [{**row, "level": row["level"] and row["level"].encode()} for row in rows()]
    ranker = boosted(FIRST, n_estimators=2, columns={**KINDS, "level": "category"})
    ranker.fit(table, Y, QID)
    with pytest.raises(ValueError, match="Categories must be text, truth values or numbers"):
        to_json(ranker)
