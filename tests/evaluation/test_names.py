"""Queries and documents of runs and judgments have one name, whatever type they come in."""

import itertools
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from commands import run

from skcalrank import NDCGRanker
from skcalrank.evaluation import evaluate_run, load_qrels, load_run, to_qrels, to_run

ELEVEN = [
    *(11, 11.0, Decimal(11), Decimal("11.0"), Fraction(11), "11", b"11"),
    *(kind(11) for kind in (np.int8, np.uint64, np.float16, np.float32, np.float64)),
    *(np.str_("11"), np.bytes_(b"11")),
]
SCORED = namedtuple("ScoredDoc", ["query_id", "doc_id", "score"])
#: Names by their types, and what they are as text.
NAMES = {
    "whole": ([1, 2, 1, 3], ["1", "2", "1", "3"]),
    "float": ([1.0, 2.0, 1.0, -3.0], ["1", "2", "1", "-3"]),
    "fraction": ([1.5, 2.0, 1.5, 0.25], ["1.5", "2", "1.5", "0.25"]),
    "bytes": ([b"a", b"11.0", b"a", "é".encode()], ["a", "11.0", "a", "é"]),
    "text": (["a", "11.0", "a", "é"], ["a", "11.0", "a", "é"]),
}


def expected(queries, documents):
    scores = {}
    for query, document, score in zip(queries, documents, (4.0, 3.0, 2.0, 1.0)):
        scores.setdefault(query, {})[document] = score
    return scores


@pytest.mark.parametrize(("query", "document"), itertools.product(ELEVEN, [11.0, b"11"]))
def test_a_number_is_one_name_in_any_type(query, document):
    for name in (query, document):
        assert load_run({name: {name: 1}}) == load_qrels({"11": {"11": 1}}) == {"11": {"11": 1}}
    assert load_run([SCORED(query, document, 0.5)]) == {"11": {"11": 0.5}}
    assert evaluate_run({document: {query: 1}}, {query: {document: 0.5}}, ["map"]) == {"map": 1.0}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("source", ["arrays", "lists", "objects", "pandas", "polars", "parquet"])
def test_sources_of_one_run_give_one_run(tmp_path, kind, source):
    names, texts = NAMES[kind]
    documents, of_documents = names[::-1], texts[::-1]
    scores = [4.0, 3.0, 2.0, 1.0]
    if source in ("arrays", "lists", "objects"):
        dtype = object if source == "objects" else None
        make = list if source == "lists" else lambda values: np.array(values, dtype=dtype)
        assert to_run(scores, make(names), make(documents)) == expected(texts, of_documents)
        assert to_qrels(scores, make(names), make(documents)) == expected(texts, of_documents)
        return
    library = pytest.importorskip("polars" if source == "polars" else "pandas")
    frame = library.DataFrame({"qid": names, "docid": documents, "score": scores})
    if source == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "run.parquet")
        frame = tmp_path / "run.parquet"
    assert load_run(frame) == load_qrels(frame) == expected(texts, of_documents)


def test_a_missing_row_does_not_rename_the_documents():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"qid": [1, 1, 2], "docid": [1, 2, 1], "score": [3.0, 2.0, 1.0]})
    merged = pandas.DataFrame({"qid": [1, 2, 3]}).merge(frame, how="left").dropna()
    joined = frame.merge(pandas.DataFrame({"docid": [1, 2, 5]}), how="outer").dropna()
    for changed in (merged, joined, frame.astype(float), frame.astype("Int64")):
        changed = changed.sort_values(["qid", "docid"])
        assert evaluate_run(changed.assign(relevance=1), frame, ["map"]) == {"map": 1.0}


def test_text_in_a_file_stays_as_it_is(tmp_path):
    (tmp_path / "run").write_text("11.0 Q0 11.0 1 2 x\n11 Q0 11 1 2 x\n")
    (tmp_path / "run.csv").write_text("qid,docid,score\n11.0,11.0,2\n11,11,2\n")
    run = {"11.0": {"11.0": 2.0}, "11": {"11": 2.0}}
    assert load_run(tmp_path / "run") == run
    pytest.importorskip("pandas")
    assert load_run(tmp_path / "run.csv") == run


def test_bytes_and_text_of_one_name_are_one_query():
    rows = [SCORED(b"q", "a", 1.0), SCORED("q", b"b", 0.5), SCORED("q", 3.0, 0.25)]
    assert load_run(rows) == {"q": {"a": 1.0, "b": 0.5, "3": 0.25}}
    with pytest.raises(ValueError, match="document a appears twice in query q"):
        load_run([*rows, SCORED("q", b"a", 1.0)])
    with pytest.raises(ValueError, match="document a appears twice in query q"):
        load_run({"q": {"a": 1.0, b"a": 2.0}})
    with pytest.raises(ValueError, match="query q appears twice"):
        load_run({"q": {"a": 1.0}, b"q": {"b": 2.0}})
    with pytest.raises(ValueError, match="document 1 appears twice in query 7"):
        to_run([1, 2], [7, 7], [1.0, "1"])


@pytest.mark.parametrize("large", [2.0**53, 1e300, np.float32(2**24), -(2.0**60)])
def test_numbers_that_have_lost_digits_are_no_names(large):
    for source in ({large: {"a": 1}}, {"a": {large: 1}}, [SCORED(large, "a", 1.0)]):
        with pytest.raises(ValueError, match="too large for a float to hold all its digits"):
            load_run(source)
    with pytest.raises(ValueError, match=r"ids\[1\] is .*: read names as integers or text"):
        to_run([1.0, 2.0], [1, 1], np.array([1, large], dtype=type(large)))
    assert load_run({2**60: {2.0**53 - 1: 1}}) == {"1152921504606846976": {"9007199254740991": 1}}


def test_numbers_of_any_size_that_have_all_their_digits():
    names = [Decimal("1e30"), Decimal("Infinity"), Decimal("0.10"), Fraction(1, 3), -0.0]
    assert list(load_run({name: {"a": 1.0} for name in names})) == [
        *("1" + "0" * 30, "Infinity", "0.10", "1/3", "0")
    ]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_columns_of_few_digits(dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"qid": ["a", "a"], "docid": [1.0, 2047.0], "score": [2.0, 1.0]})
    assert load_run(frame.astype({"docid": dtype})) == {"a": {"1": 2.0, "2047": 1.0}}
    large = frame.assign(docid=[1.0, 2.0 ** (24 if dtype == "float32" else 11)])
    assert load_run(large)["a"].keys() > {"1"}
    with pytest.raises(ValueError, match=r"row 2, column 'docid' is .* too large for a float"):
        load_run(large.astype({"docid": dtype}))


def test_bytes_that_are_no_text():
    with pytest.raises(ValueError, match=r"run\[b'\\xff'\] is not text in UTF-8"):
        load_run({b"\xff": {"a": 1.0}})
    with pytest.raises(ValueError, match="run, entry 0, column 'doc_id' is not text in UTF-8"):
        load_run([SCORED("q", b"\xff", 1.0)])


def test_runs_that_are_written_name_documents_as_runs_that_are_read(capsys, tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    pytest.importorskip("skops")
    from skcalrank import persistence

    frame = pandas.DataFrame(
        {"qid": [1.0, 1, 2, 2], "docid": [7.0, 8, 7, 9], "x": [0.0, 1, 2, 3], "label": [0, 1, 0, 1]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    model = str(tmp_path / "m.skops")
    persistence.save_model(NDCGRanker().fit(frame[["x"]], frame.label, frame.qid), model)
    text = run(capsys, "predict", model, str(tmp_path / "t.parquet"), "--format", "trec")
    (tmp_path / "run").write_text(text)
    qrels = frame.rename(columns={"label": "relevance"})
    assert evaluate_run(qrels, tmp_path / "run", ["map", "judged"]) == {"map": 1.0, "judged": 1.0}
