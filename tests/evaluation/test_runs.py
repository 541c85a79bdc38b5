"""Runs and judgments: read from many sources, and measured as trec_eval does."""

import bz2
import copy
import gzip
import lzma
import pickle
from collections import namedtuple
from itertools import permutations

import numpy as np
import pytest

from skcalrank import RankingTarget
from skcalrank.evaluation import (
    Qrels,
    Run,
    compare_values,
    evaluate_run,
    load_qrels,
    load_run,
    to_qrels,
    to_run,
)
from skcalrank.measures import NDCG, get_measure
from skcalrank.metrics import evaluate

THEIRS = {
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "map": "map",
    "map@10": "map_cut_10",
    "precision@5": "P_5",
    "recall@10": "recall_10",
    "precision": "set_P",
    "recall": "set_recall",
    "f1": "set_F",
    "mrr": "recip_rank",
    "bpref": "bpref",
}
RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"b": 0.5, "x": 0.25}}
SCORED = namedtuple("ScoredDoc", ["query_id", "doc_id", "score"])
QRELS = {"q1": {"a": 0, "b": 2, "z": 1}, "q2": {"x": 1, "b": 0}}


def made(rng, n_queries=20, n_documents=40, lowest=-1):
    """Judgments and a run that overlap, with ties, also in single precision only."""
    names = np.array([f"d{i}" for i in range(n_documents)])
    run, qrels = {}, {}
    for query in map(str, range(n_queries)):
        judged, found = (
            rng.choice(names, rng.integers(1, n_documents), replace=False).tolist() for _ in "ab"
        )
        qrels[query] = {d: int(rng.integers(lowest, 4)) for d in judged}
        run[query] = {d: rng.integers(0, 8) / 4 + rng.random() / 1e9 for d in found}
    return qrels, run


@pytest.mark.parametrize("level", [1, 2])
def test_values_are_those_of_trec_eval(rng, level):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = made(rng)
    ours = evaluate_run(qrels, run, list(THEIRS), relevance_level=level, average=False)
    names, (qrels, run) = set(THEIRS.values()), (load_qrels(qrels), load_run(run))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=level)
    for query, values in evaluator.evaluate(run).items():
        for name, their_name in THEIRS.items():
            assert ours[name][query] == pytest.approx(values[their_name], abs=1e-12), name


@pytest.mark.parametrize("ties", ["trec", "average"])
@pytest.mark.parametrize("at", ["", "@3"])
def test_f1_is_the_harmonic_mean_of_the_values_beside_it(rng, at, ties):
    names = [name + at for name in ("precision", "recall", "f1")]
    values = evaluate_run(*made(rng), names, ties=ties, average=False)
    precision, recall, f1 = (np.array(list(values[name].values())) for name in names)
    expected = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    np.testing.assert_allclose(f1, expected, atol=1e-12)


def test_queries_on_which_measures_are_undefined():
    qrels = QRELS | {"q2": {"x": 0}}
    assert evaluate_run(qrels, RUN, ["map", "bpref"]) == {"map": 0.125, "bpref": 0.0}
    for empty, means in (("zero", (0.125, 0.0)), ("skip", (0.25, 0.0)), ("one", (0.625, 0.5))):
        assert tuple(evaluate_run(qrels, RUN, ["map", "bpref"], empty=empty).values()) == means
    values = evaluate_run(qrels, RUN, ["bpref"], average=False, empty="skip")["bpref"]
    assert np.isnan(values["q2"])
    with pytest.raises(ValueError, match=r"bpref is undefined \(0/0\) on query 'q2'"):
        evaluate_run(qrels, RUN, ["bpref"], empty="error")


def test_judged_documents_are_a_share_of_those_retrieved():
    values = evaluate_run(QRELS, RUN, ["judged@1", "judged@2", "judged@9", "judged"], average=False)
    assert [v["q1"] for v in values.values()] == [1.0, 1.0, 2 / 3, 2 / 3]
    assert [v["q2"] for v in values.values()] == [1.0] * 4


def test_results_know_the_share_of_judged_documents():
    assert evaluate_run(QRELS, RUN, ["map"]).judged_ == 4 / 5
    values = evaluate_run(QRELS, RUN, ["map"], average=False, ties="average")
    assert values.judged_ == 4 / 5
    for same in (pickle.loads(pickle.dumps(values)), copy.deepcopy(values)):
        assert (same, same.judged_) == (values, 4 / 5)
    # Queries without judgments, and judged ones that the run lacks, do not count.
    more, judged = RUN | {"q9": {"a": 1.0}}, QRELS | {"q3": {"a": 1}}
    assert evaluate_run(judged, more, ["map"], complete=True).judged_ == 4 / 5
    assert np.isnan(evaluate_run({"q": {"a": 1}}, {"q": {}, "p": {"a": 0.5}}, ["map"]).judged_)


@pytest.mark.parametrize("average", [True, False])
def test_runs_without_a_judged_document_are_told(average):
    other = {query: {f"doc-{d}": s for d, s in of.items()} for query, of in RUN.items()}
    words = "names documents such as 'doc-a', and the judgments such as 'a'"
    with pytest.warns(UserWarning, match=words):
        values = evaluate_run(QRELS, other, ["map"], average=average)
    assert values.judged_ == 0
    # One document is enough, whatever its relevance.
    other["q2"]["b"] = 0.0
    assert evaluate_run(QRELS, other, ["map"], average=average).judged_ == 1 / 6


def test_comparisons_of_runs_know_the_shares_of_judged_documents(rng):
    qrels, run = made(rng)
    shorter = {query: dict(list(of.items())[:1]) for query, of in run.items()}
    values = {
        name: evaluate_run(qrels, scores, ["map"], average=False)
        for name, scores in {"run": run, "shorter": shorter}.items()
    }
    result = compare_values(values)
    assert result.judged_ == {name: of.judged_ for name, of in values.items()}
    row = result.to_markdown(digits=3, interval=False).splitlines()[3]
    assert row.split("|")[-2].strip() == f"{values['shorter'].judged_:.3f}"
    assert result.to_csv().splitlines()[0].endswith(",p_adjusted,judged")
    unknown = compare_values({name: dict(of) for name, of in values.items()})
    assert unknown.judged_ is None
    assert "judged" not in unknown.to_csv() + unknown.to_html()
    pytest.importorskip("pandas")
    assert result.to_frame()["judged"].tolist() == list(result.judged_.values())


def test_queries_that_the_run_lacks():
    qrels = QRELS | {"q3": {"a": 1}}
    measures = ["map", "mrr", "precision", "recall@2", "bpref", "judged@2", "ndcg@3"]
    with pytest.warns(UserWarning, match="1 judged queries are not in the run"):
        without = evaluate_run(qrels, RUN, measures)
    assert without == evaluate_run(QRELS, RUN, measures)
    complete = evaluate_run(qrels, RUN, measures, complete=True)
    assert complete == pytest.approx({name: 2 / 3 * value for name, value in without.items()})
    # Queries without judgments say nothing.
    assert evaluate_run(QRELS, RUN | {"q9": {"a": 1}}, measures) == without


@pytest.mark.parametrize("empty", ["zero", "skip", "error"])
def test_queries_whose_judgments_are_empty_are_not_judged(empty):
    measures = ["map", "ndcg@3", "bpref", "judged@2", "recall@2"]
    expected = evaluate_run(QRELS, RUN, measures, average=False, empty=empty)
    for qrels in ({"none": {}} | QRELS, QRELS | {"none": {}}):
        for of_query in ({}, {"none": {}}, {"none": {"a": 1.0}}):
            for complete in (False, True):
                values = evaluate_run(
                    Qrels(qrels),
                    Run(RUN | of_query),
                    measures,
                    average=False,
                    empty=empty,
                    complete=complete,
                )
                assert (values, values.judged_) == (expected, expected.judged_)


def test_equal_scores_by_name_by_order_or_in_expectation():
    run = {"1": {"a": 1.0, "b": 1.0 + 1e-12, "c": 1.0}}
    qrels = {"1": {"a": 1}}
    for ties, mrr in (
        ("trec", 1 / 3),  # c, b, a: Z to A, in single precision
        ("trec10", 1 / 3),  # b, c, a: Z to A, in double precision
        ("stable", 1 / 2),  # b, a, c: the order of the run
    ):
        assert evaluate_run(qrels, run, ["mrr"], ties=ties)["mrr"] == mrr
    second = {"1": {"c": 1}}
    assert evaluate_run(second, run, ["mrr"])["mrr"] == 1
    assert evaluate_run(second, run, ["mrr"], ties="trec10")["mrr"] == 1 / 2
    assert evaluate_run(qrels, run, ["mrr"], ties="average")["mrr"] == pytest.approx(5 / 12)


def test_expectations_over_ties_are_means_over_orders():
    measures = ["ndcg@2", "ndcg", "map", "map@3", "precision@2", "recall@3", "mrr", "err@3"]
    qrels = {"1": {"a": 1, "c": 2, "e": 3, "x": 2, "y": 0}}
    scores = {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 0.0, "f": 0.0}
    found = evaluate_run(qrels, Run({"1": scores}), measures, ties="average", average=True)
    orders = []
    for middle in permutations("bcd"):
        for last in permutations("ef"):
            run = Run({"1": {d: -float(n) for n, d in enumerate(["a", *middle, *last])}})
            orders.append(list(evaluate_run(qrels, run, measures).values()))
    np.testing.assert_allclose(list(found.values()), np.mean(orders, axis=0))


def test_a_run_of_all_documents_is_measured_as_its_scores(rng):
    y, qid = rng.integers(0, 3, size=60), np.repeat([3, 1, 2], 20)
    scores = np.round(rng.normal(size=60), 1)
    run, qrels = to_run(scores, qid), to_qrels(RankingTarget(y, qid))
    measures = ["ndcg@10", "map", "mrr", "err"]
    options = {"gain": "exponential", "empty": "skip", "ties": "average"}
    found = evaluate_run(qrels, run, measures, average=False, **options)
    objects = {m: m for m in measures} | {
        m: get_measure(m, relevance_level=1) for m in ("map", "mrr")
    }
    expected = evaluate(y, scores, objects, qid=qid, average=False)
    for name in measures:
        assert list(found[name]) == ["3", "1", "2"]
        np.testing.assert_allclose(list(found[name].values()), expected[name])


@pytest.mark.parametrize("measure", ["err@10", "ndcg@10", "map", "dcg", "rbp", "bpref"])
def test_the_value_of_a_list_does_not_depend_on_the_others(measure):
    qrels = {"few": {"a": 0, "b": 1}, "high": {"c": 4}}
    run = {"few": {"a": 1.2, "b": 1.0}, "high": {"c": 1.0}}
    whole = evaluate_run(qrels=qrels, run=run, measures=[measure], average=False)[measure]
    with pytest.warns(UserWarning, match="1 judged queries"):
        alone = evaluate_run(
            qrels=qrels, run={"few": run["few"]}, measures=[measure], average=False
        )[measure]
    assert alone["few"] == whole["few"]


def test_runs_can_be_compared(rng):
    qrels, run = made(rng)
    _, other = made(rng)
    values = {
        name: evaluate_run(qrels, each, ["map", "bpref"], average=False)
        for name, each in {"a": run, "b": other}.items()
    }
    result = compare_values(values)
    assert result.queries.tolist() == list(qrels)
    assert [row.n for row in result.differences] == [20, 20]


def test_measures_with_options_of_their_own():
    measures = {"linear": "ndcg@3", "exponential": NDCG(k=3)}
    found = evaluate_run(QRELS, RUN, measures)
    by_gain = evaluate_run(QRELS, RUN, ["ndcg@3"], gain="exponential")
    assert found["exponential"] == by_gain["ndcg@3"] != found["linear"]


# -- which is which ------------------------------------------------------------------

QREL = namedtuple("Qrel", ["query_id", "doc_id", "relevance", "iteration"])
THEIR_RUN, THEIR_QRELS = (
    type(name, (), {"to_dict": lambda _, values=values: values})
    for name, values in {"Run": RUN, "Qrels": QRELS}.items()
)  # as in ranx
WHOLE, PARTS = {"q": {"a": 3, "b": 2.0}}, {"q": {"a": 0.75, "b": 1}}


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
@pytest.mark.parametrize(
    "run",
    [
        Run(RUN),
        load_run(RUN),
        to_run([1, 2], ["q1", "q1"], list("ab")),
        THEIR_RUN(),
        [SCORED("q1", "a", 1)],
    ],
)
@pytest.mark.parametrize(
    "qrels",
    [
        *(
            Qrels(QRELS),
            load_qrels(QRELS),
            to_qrels([1, 2], ["q1", "q1"], list("ab")),
            THEIR_QRELS(),
        ),
        [QREL("q1", "a", 1, "0")],
    ],
)
def test_what_says_that_it_is_a_run_is_not_taken_for_judgments(qrels, run):
    assert evaluate_run(qrels, QRELS, ["map"], complete=True)
    assert evaluate_run(RUN, run, ["map"], complete=True)
    words = "(must hold judgments, got Run: pass .* as qrels= and scores as run=)|relevance, got"
    for call in (
        lambda: evaluate_run(run, qrels, ["map"]),
        lambda: evaluate_run(qrels=run, run=RUN, measures=["map"]),
        lambda: load_qrels(run),
    ):
        with pytest.raises(ValueError, match=f"^qrels.*({words})"):
            call()
    words = "(must hold scores, got Qrels: pass .* as qrels= and scores as run=)|score, got"
    for call in (
        lambda: evaluate_run(QRELS, qrels, ["map"]),
        lambda: evaluate_run(qrels=QRELS, run=qrels, measures=["map"]),
        lambda: load_run(qrels),
    ):
        with pytest.raises(ValueError, match=f"^run.*({words})"):
            call()


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
@pytest.mark.parametrize("first_and_second", [(WHOLE, WHOLE), (PARTS, WHOLE), (PARTS, PARTS)])
@pytest.mark.parametrize("kind", ["dicts", "frames", "tables"])
def test_two_sources_that_could_be_either_are_told(kind, first_and_second):
    sources = first_and_second
    if kind != "dicts":
        pandas = pytest.importorskip("pandas")
        columns = ["q_id", "doc_id", "score"]
        sources = [pandas.DataFrame(rows_of(of), columns=columns) for of in first_and_second]
    if kind == "tables":
        sources = map(pytest.importorskip("pyarrow").Table.from_pandas, sources)
    first, second = sources
    with pytest.warns(UserWarning, match="Pass qrels= and run=") as caught:
        value = evaluate_run(first, second, ["map"])
    told = [warning for warning in caught if warning.category is UserWarning]
    assert [warning.filename for warning in told] == [__file__]
    # A name or a type says which is which, and so does a column.
    assert evaluate_run(qrels=first, run=second, measures=["map"]) == value
    assert evaluate_run(first, measures=["map"], run=second) == value
    assert evaluate_run(load_qrels(first), second, ["map"]) == value
    assert evaluate_run(first, load_run(second), ["map"]) == value
    if kind == "frames":
        assert evaluate_run(first.rename(columns={"score": "label"}), second, ["map"]) == value


@pytest.mark.parametrize("values", [load_qrels(QRELS), load_run(RUN)])
def test_copies_and_pickles_say_what_they_are(values):
    for same in (pickle.loads(pickle.dumps(values)), copy.deepcopy(values), copy.copy(values)):
        assert (type(same), same) == (type(values), values)


def test_whole_numbers_before_scores_that_are_not_are_judgments():
    # Of no other order, and of no other pair, is there no warning.
    assert evaluate_run(WHOLE, PARTS, ["map"]) == {"map": 1.0}


# -- sources -------------------------------------------------------------------------

LINES = "".join(
    f"{q} Q0 {d} {rank} {s} tag\n"
    for q, scores in RUN.items()
    for rank, (d, s) in enumerate(scores.items())
)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_compressed_files(tmp_path, suffix, pack):
    path = tmp_path / f"run.txt{suffix}"
    path.write_bytes(pack(b"\xef\xbb\xbf" + LINES.encode()))
    assert load_run(path) == load_run(str(path)) == RUN
    lines = "".join(f"{q}\t0\t{d}\t{y}\n" for q, docs in QRELS.items() for d, y in docs.items())
    path.write_bytes(pack(lines.encode()))
    found = load_qrels(path)
    assert found == QRELS
    assert all(type(v) is int for documents in found.values() for v in documents.values())


def test_names_in_lines_end_at_blanks_of_ascii(tmp_path):
    run = {"q\u3000#1": {"d\xa0#1": 2.0, "x\x1c\x85": 1.0}}
    lines = [f"{q}\x0bQ0\f{d} 1 {s} t" for q, of in run.items() for d, s in of.items()]
    (tmp_path / "run").write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert load_run(tmp_path / "run") == run


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 Q0 a b 1 0.5 t", "line 2: its rank must be a number, .* got 'b': a name must be one"),
        ("1 Q0 a 1 0.5", "line 2: it must have 6 or 3 words, got 5"),
        ("1 Q0 a 1 x t more", "line 2: could not convert"),
        ("1 Q0 \xff 1 1 t", "line 2: 'utf-8' codec"),
    ],
)
def test_lines_that_are_no_lines_of_a_run(tmp_path, line, words):
    (tmp_path / "run").write_bytes(f"# a comment\n{line}\n".encode("latin-1"))
    with pytest.raises(ValueError, match=words):
        load_run(tmp_path / "run")


def test_words_after_a_relevance_are_an_error_as_in_trec_eval(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1 more\n")
    with pytest.raises(ValueError, match="line 1: it must have 4 or 3 words, got 5"):
        load_qrels(tmp_path / "qrels")


def test_tables_of_recommendations():
    pandas = pytest.importorskip("pandas")
    ratings = pandas.DataFrame({"user_id": [7, 7], "item_id": ["a", "b"], "rating": [4, 1]})
    assert load_qrels(ratings) == {"7": {"a": 4, "b": 1}}
    shown = ratings.rename(columns={"rating": "score"})
    assert evaluate_run(ratings, shown, ["ndcg@10"])["ndcg@10"] == 1.0


def rows_of(values):
    return [(q, d, v) for q, documents in values.items() for d, v in documents.items()]


@pytest.mark.parametrize(
    "columns",
    [
        ("qid", "docid", "score"),
        ("q_id", "doc_id", "score"),
        ("query_id", "doc_id", "score"),
        ("qid", "docno", "score"),
        ("user_id", "item_id", "score"),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "csv", "tsv.gz", "parquet", "polars", "pyarrow"])
def test_tables(tmp_path, columns, kind):
    pandas = pytest.importorskip("pandas")
    # Names that look like numbers stay as they are.
    run = {"01": {"1": 0.5, "002": 0.25}, "2": {"1": 1.0}}
    frame = pandas.DataFrame(rows_of(run), columns=list(columns))
    frame["rank"] = 1
    path = tmp_path / f"run.{kind}"
    if kind == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    elif kind == "polars":
        frame = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind != "frame":
        frame.to_csv(path, index=False, sep="\t" if kind.startswith("tsv") else ",")
    assert load_run(frame if kind in ("frame", "polars", "pyarrow") else path) == run


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz"])
@pytest.mark.parametrize("columns", [("qid", "docid"), ("query_id", "doc_id")])
def test_names_in_tables_are_text_also_where_they_look_missing(tmp_path, columns, suffix):
    pandas = pytest.importorskip("pandas")
    run = {"NA": {"null": 2, "nan": 1}, "None": {"N/A": 1, "a": 0}}
    frame = pandas.DataFrame(rows_of(run), columns=[*columns, "score"])
    path, sep = tmp_path / f"run{suffix}", "\t" if suffix.startswith(".tsv") else ","
    frame.to_csv(path, index=False, sep=sep)
    assert load_run(path) == load_qrels(path) == load_run(frame) == run
    for column, words in [
        *((name, "has no value: every row must name a query and a document") for name in columns),
        ("score", "must be a number, got None"),
    ]:
        frame.assign(**{column: frame[column].where([True, False, True, True])}).to_csv(
            path, index=False, sep=sep
        )
        with pytest.raises(ValueError, match=f"line 3, column '{column}' {words}"):
            load_run(path)


# -- text files, told by what is in them -----------------------------------------------

#: A file, who reads it, and what it holds. The forms are those of files in public repositories.
FORMS = {
    "BEIR": ("query-id\tcorpus-id\tscore\nPLAIN-2\tMED-2427\t2\nPLAIN-2\tMED-10\t0\n", load_qrels,
             {"PLAIN-2": {"MED-2427": 2, "MED-10": 0}}),
    "BEIR without header": ("q1\td1\t1\nq1\td2\t0\n", load_qrels, {"q1": {"d1": 1, "d2": 0}}),
    "MS MARCO judgments": ("1048585\t0\t7187158\t1\n2\t0\t4339068\t1\n", load_qrels,
                           {"1048585": {"7187158": 1}, "2": {"4339068": 1}}),
    "MS MARCO run": ("2\t71\t1\n2\t43\t2\n3\t71\t1\n", load_run,
                     {"2": {"71": -1.0, "43": -2.0}, "3": {"71": -1.0}}),
    "ranks with a header": ("qid pid rank\n2 43 2\n2 71 1\n", load_run,
                            {"2": {"43": -2.0, "71": -1.0}}),
    "scores in three words": ("q a .5\nq b 1\n", load_run, {"q": {"a": 0.5, "b": 1.0}}),
    "whole scores that fall": ("q a 25\nq b 3\nq c 3\n", load_run,
                               {"q": {"a": 25.0, "b": 3.0, "c": 3.0}}),
    "Quepid": ('query,docid,rating\n"milk, whole",7,3\n"say ""hi""",8,0\n', load_qrels,
               {"milk, whole": {"7": 3}, 'say "hi"': {"8": 0}}),
    "semicolons": ("query;docid;rating\nmilk, whole;7;3\n", load_qrels, {"milk, whole": {"7": 3}}),
    "blanks between tabs": ("red shoes\td 1\t3\n", load_qrels, {"red shoes": {"d 1": 3}}),
    "judgment list": ("# qid:1: rambo\n4\tqid:1 #\t7555\tRambo\n3\tqid:1 #\t1370\tRambo III\n",
                      load_qrels, {"1": {"7555": 4, "1370": 3}}),
    "LETOR": ("2 qid:10 1:0.03 2:0.6 #docid = GX1 inc = 1\n0 qid:10 1:0 #docid = GX2\n",
              load_qrels, {"10": {"GX1": 2, "GX2": 0}}),
    "ranx JSON": ('{\n  "q1": {"d1": 0.5,\n "d2": 2}\n}', load_run, {"q1": {"d1": 0.5, "d2": 2.0}}),
    "JSON in one line": ('{"q1": {"d1": 1}, "q2": {"d1": 0}}', load_qrels,
                         {"q1": {"d1": 1}, "q2": {"d1": 0}}),
    "JSON of lists": ('{"q1": ["d2", "d1"], "q2": ["d1"]}', load_run,
                      {"q1": {"d2": -1.0, "d1": -2.0}, "q2": {"d1": -1.0}}),
    "JSON of records": ('[{"query": "q", "docid": 7, "rating": 3, "x": []}]', load_qrels,
                        {"q": {"7": 3}}),
    "JSON lines of records": (
        '{"query_id": "q", "doc_id": "a", "score": 0.5}\n\n{"query_id": "q", "doc_id": "b", '
        '"score": 1}\n', load_run, {"q": {"a": 0.5, "b": 1.0}}),
    "JSON lines of queries": ('{"q1": {"d1": 1}}\n{"q2": {"d1": 0}}\n', load_qrels,
                              {"q1": {"d1": 1}, "q2": {"d1": 0}}),
    "words after the tag": ("q Q0 d 1 0.5 my tag 3\n", load_run, {"q": {"d": 0.5}}),
}  # fmt: skip


@pytest.mark.parametrize("name", ["file", "file.txt", "file.tsv", "file.csv", "file.json.gz"])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_told_by_what_is_in_it(tmp_path, form, name):
    text, reader, values = FORMS[form]
    pack = gzip.compress if name.endswith(".gz") else bytes
    for content in (text, "\ufeff" + text.replace("\n", "\r\n")):
        (tmp_path / name).write_bytes(pack(content.encode()))
        assert reader(tmp_path / name) == values


@pytest.mark.parametrize(
    ("text", "reader", "words"),
    [
        # A name of two words moved the rank to the place of the score.
        ("q1 Q0 doc 7 1 0.9 t\n", load_run, "line 1: it has 7 words, .* may be 7 and 1, or 1 and"),
        ("q1 Q0 d 1 2 t\nq1 Q0 a 2 b 3 4 t u\n", load_run, "line 2: .* may be 2 and b, or 3 and 4"),
        ("q a 2\nq b 1\n", load_run, "may be a rank.* or a score.*'qid pid rank' or 'qid"),
        ("q a 3\nq b 5\n", load_run, "may be a rank"),
        ("q a 1\nr a 2\nr b 1\n", load_run, "may be a rank"),
        ("q 0 d 1\n", load_run, "got 4, as lines of qrels have: load_qrels reads them"),
        ("q Q0 d 1 .5 t\n", load_qrels, "got 6, as lines of run have: load_run reads them"),
        ("q a .5\nq b 1 .5\n", load_run, "line 2: it must have 3 words, as lines before, got 4"),
        ("1 qid:1 1:3\n", load_qrels, "line 1: it names no document in a comment"),
        ("1 qid:1 1:3 # a\n", load_run, "line 1"),
        ("qid,docid,score\na,b,0,75\n", load_run, "line 2 has 4 fields, and the header has 3: "),
        ("qid,docid,rel\na,b,1,\na,Li, 2001,1\n", load_qrels, "line 3 has 4 fields, .* hold ','"),
        ("query;docid;rating\na;b;1;2;3\n", load_qrels, "line 2 has 5 fields, .* hold ';'"),
        ("query,docid,rating\na,b\n", load_qrels, "line 2 has 2 fields, and the header has 3"),
        ("query,docid,rating\na,b,c\n", load_qrels, "line 2, column 'rating' must be a number"),
        ("query,docid,stars\na,b,c\n", load_qrels, r"column of the value .*rating\), got columns"),
        ('query,docid,rating\n"a,b,c\n', load_qrels, "line 2 has 1 fields"),
        ('{"q": {"a": 1,\n "a": 2}}', load_run, "line 1: 'a' appears twice in one object"),
        ('{"q": {"a": 1}}\n{"q": {"b": 2}}', load_run, "'q' appears twice"),
        ('{"q": {"a": 1},\n "r": [}', load_run, "line 2, column 8: Expecting value in JSON"),
        ('{"q": {"a": 1}}\n\n{"r": [}', load_run, "line 3, column 8: Expecting value in JSON"),
        ('{"q": ["a"]}', load_qrels, r"qrels\['q'\] must be a dict of values by document, got"),
        ('{"q": {"a": NaN}}', load_run, r"run\['q'\]\['a'\] must be finite"),
        ("[" * 100_000, load_run, "line 1: "),
        ("", load_run, "must hold a document at least"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_told_says_its_line_and_a_way(tmp_path, text, reader, words):
    (tmp_path / "file.txt").write_text(text)
    with pytest.raises(ValueError, match=f"(?s)file.txt.*{words}"):
        reader(tmp_path / "file.txt")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.json"])
def test_an_empty_file_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"\n") if name.endswith("gz") else b"")
    for reader in (load_run, load_qrels):
        with pytest.raises(ValueError, match=f"{name}.* must h"):
            reader(tmp_path / name)


def test_ways_out_of_a_file_of_ranks_or_scores(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "run.tsv"
    path.write_text("q\ta\t2\nq\tb\t1\n")
    names = ["qid", "pid", "rank"]
    ranks = load_run(pandas.read_csv(path, sep=r"\s+", names=names, dtype=str))
    assert ranks == {"q": {"a": -2.0, "b": -1.0}}
    for third, run in [("rank", ranks), ("score", {"q": {"a": 2.0, "b": 1.0}})]:
        (tmp_path / third).write_text(f"qid pid {third}\n{path.read_text()}".replace("\t", " "))
        assert load_run(tmp_path / third) == run


def test_lists_tuples_and_records_in_memory():
    order = {"q": {"b": -1.0, "a": -2.0}}
    assert load_run({"q": ["b", "a"]}) == load_run([("q", "b", -1), ["q", "a", -2.0]]) == order
    records = [{"query": "q", "docid": "b", "rank": 1}, {"query": "q", "docid": "a", "rank": 2}]
    assert load_run(records) == order
    assert load_qrels([{"query-id": "q", "corpus-id": "a", "score": 1}]) == {"q": {"a": 1}}


# -- objects ---------------------------------------------------------------------------


def test_objects_of_other_packages():
    assert load_run(SCORED(*row) for row in rows_of(RUN)) == RUN
    assert load_qrels([QREL(*row, "0") for row in rows_of(QRELS)]) == QRELS

    class Run:
        def to_dict(self):
            return RUN

    assert load_run(Run()) == RUN
    assert load_qrels({1: {2: np.float32(0.5), "3": np.int64(2)}}) == {"1": {"2": 0.5, "3": 2}}
    assert load_run(load_run(RUN)) == RUN


def test_runs_and_judgments_of_arrays():
    qid, ids = [7, 7, 8, 7], ["a", "b", "a", "c"]
    run = to_run([0.5, 0.75, 0.1, 0.5], qid, ids, k=2)
    assert run == {"7": {"b": 0.75, "a": 0.5}, "8": {"a": 0.1}}
    assert list(run["7"]) == ["b", "a"]
    assert to_run([[0.5], [0.75], [0.1], [0.5]], qid, ids, k=2) == run
    mixed = np.array([1, "1", 2], dtype=object)
    assert to_qrels([1, 0, 0.5, 2], qid, ids) == {"7": {"a": 1, "b": 0, "c": 2}, "8": {"a": 0.5}}
    for call, words in [
        (lambda: to_run([1.0, 2.0], [1, 1], ["a", "a"]), "document a appears twice in query 1"),
        (lambda: to_run([1, 2, 3], mixed), "queries 1 and '1' have the same name as text"),
        (
            lambda: to_qrels([1, 2, 3], mixed),
            "qid and ids: queries 1 and '1' have the same name as text",
        ),
        (lambda: to_run([1.0, 2.0], [1, 1], ["a"]), r"ids must have one name per row, got .*\(1,"),
        (lambda: to_run([1.0, np.nan], [1, 1]), "y_score"),
        (lambda: to_run([1, 2], [1, 1], ["a", None]), r"ids\[1\] has no value"),
        (lambda: to_run([2**60, 2**60 + 1], [1, 1]), "y_score must stay distinct in double"),
        (lambda: to_run([[1.0, 2.0]], [1]), r"y_score must have the shape \(1,\), got \(1, 2\)"),
        (lambda: to_run([1.0], [1], k=0), "k must be an integer >= 1, .* got 0"),
        (lambda: to_qrels([1, 0]), "to_qrels needs the queries of the rows"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({}, "run must hold a document at least"),
        ({"q": {}}, "run must hold a document at least"),
        (
            {"q": [1.0]},
            r"run\['q'\] must be a dict of values by document, or .* in order, got \[1.0\]",
        ),
        ({None: {"a": 1.0}}, "keys of run must name queries, got None"),
        ({np.nan: {"a": 1.0}}, "keys of run must name queries, got nan"),
        ({"q": {None: 1.0}}, r"keys of run\['q'\] must name documents, got None"),
        ({"q": {"a": "x"}}, r"run\['q'\]\['a'\] must be a number, got 'x'"),
        ({"q": {"a": np.nan}}, r"run\['q'\]\['a'\] must be finite, got nan"),
        ({1: {"a": 1.0}, "1": {"a": 1.0}}, "query 1 appears twice"),
        ({1: {"a": 1.0}, "1": {"b": 1.0}}, "query 1 appears twice"),
        ({1: {2: 1.0, "2": 1.0}}, "document 2 appears twice in query 1"),
        ([SCORED(1, "a", 1.0), SCORED("1", "b", 1.0)], "run: queries 1 and '1' have the same"),
        ([SCORED(None, "a", 1.0)], "run, entry 0, column 'query_id' has no value"),
        ([SCORED("q", np.nan, 1.0)], "run, entry 0, column 'doc_id' has no value"),
        ({"q": {"a": None}}, r"run\['q'\]\['a'\] must be a number, got None"),
        (5, "A run must be a path, a DataFrame, a dict of dicts or tuples .* got int"),
        ([("q", "a")], "run, entry 0 must have query_id, doc_id and score, got"),
        ({"q": ["a", "b", "a"]}, "run: document a appears twice in query q"),
        ([{"qid": "q", "docid": "a"}], r"run, entry 0 must have a column of the value \(score"),
        ([{None: "q", "docid": "a"}], r"entry 0 must have a column of the query .* columns None,"),
    ],
)
def test_what_is_no_run(source, words):
    with pytest.raises(ValueError, match=words):
        load_run(source)


def test_what_is_no_table_of_a_run(tmp_path):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"run must have a column of the query \(qid, query_id"):
        load_run(pandas.DataFrame({"a": [1]}))
    frame = pandas.DataFrame({"qid": ["a", None], "docid": ["1", "2"], "score": [1, 2]})
    with pytest.raises(ValueError, match="run, row 2, column 'qid' has no value"):
        load_run(frame)
    with pytest.raises(ValueError, match="run, row 2, column 'qid' has no value"):
        load_run(frame.astype({"qid": "string"}))
    with pytest.raises(ValueError, match="run: queries 1 and '1' have the same name as text"):
        load_run(frame.assign(qid=np.array([1, "1"], dtype=object)))
    for name in ("qid", "docid", "score"):
        twice = pandas.concat([frame.assign(qid="a"), frame[[name]]], axis=1)
        words = f"run must have one column '{name}', got columns qid, docid, score, {name}"
        with pytest.raises(ValueError, match=words):
            load_run(twice)
        twice.to_csv(tmp_path / "twice.csv", index=False)
        with pytest.raises(ValueError, match=words.partition("must")[2]):
            load_run(tmp_path / "twice.csv")
    frame = frame.assign(qid="a", score=[0.5, np.inf])
    frame.to_csv(tmp_path / "r.csv", index=False)
    with pytest.raises(
        ValueError, match=r"r.csv, line 3, column 'score' must be finite, got 'inf'"
    ):
        load_run(tmp_path / "r.csv")
    with pytest.raises(FileNotFoundError):
        load_run(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("measures", "options", "words"),
    [
        (["auc"], {}, "got auc, which needs a score for every document"),
        (["judged@0"], {}, "judged"),
        ("map", {}, "measures must be a list or a dict, got 'map'"),
        ([], {}, "measures must hold at least one measure, got none"),
        ({}, {"average": False}, "measures must hold at least one measure, got none"),
        (["map"], {"ties": "best"}, "ties must be one of 'trec', 'trec10', 'stable', 'average'"),
        (["map"], {"empty": "no"}, "empty must .* got 'no'"),
        (["map"], {"relevance_level": 0}, "number > 0, as documents .* have relevance 0, got 0"),
        ([get_measure("map", relevance_level=-1)], {}, "relevance_level must .* > 0, .* got -1"),
        (["bpref"], {"relevance_level": 0}, "relevance_level must .* > 0, .* got 0"),
        (["bpref"], {"ties": "average"}, "for bpref, which has no expectation over ties"),
        (["judged@5"], {"ties": "average"}, "for judged@k, which has no expectation"),
    ],
)
def test_what_runs_cannot_be_measured_by(measures, options, words):
    with pytest.raises(ValueError, match=words):
        evaluate_run(QRELS, RUN, measures, **options)


def test_runs_without_a_judged_query_are_refused():
    for complete in (False, True):
        with pytest.raises(ValueError, match=r"a query in common, .* such as 'q1' and '9'"):
            evaluate_run(QRELS, {"9": {"a": 0.5}}, ["map"], complete=complete)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("bprf", " (did you mean 'bpref'?)"),
        ("judgd@5", " (did you mean 'judged@5'?)"),
        ("bpref@5", " (did you mean 'bpref'?)"),
        ("P@5", " (did you mean 'precision@5'?)"),
        ("rho", ""),
    ],
)
def test_unknown_measures_are_answered_by_those_of_runs(name, meant):
    run = {"q": {"a": 1.0}}
    with pytest.raises(ValueError, match="Unknown measure") as caught:
        evaluate_run(qrels=run, run=run, measures=[name])
    text = str(caught.value)
    assert text.startswith(f"Unknown measure {name!r}{meant}: choose one of bpref, ")
    assert "judged@k" in text
    assert "spearman" not in text


def test_no_cutoff_of_judged_documents():
    run = {"q": {"a": 1.0}}
    with pytest.raises(ValueError, match="cutoff after @ must be an integer >= 1, got 'judged@0'"):
        evaluate_run(qrels=run, run=run, measures=["judged@0"])
