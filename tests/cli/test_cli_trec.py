"""TREC runs and judgments are measured as trec_eval does."""

import csv
import io
from dataclasses import dataclass

import numpy as np
import pytest
from commands import fail, run, table

from skcalrank.measures import MEASURES, PositionalMeasure

TREC = {
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "map": "map",
    "map@10": "map_cut_10",
    "precision@5": "P_5",
    "recall@10": "recall_10",
    "mrr": "recip_rank",
    "r_precision": "Rprec",
    "hit@5": "success_5",
}


@pytest.fixture(scope="module")
def trec(tmp_path_factory):
    """A run and judgments that overlap: ties, unjudged and unretrieved documents and queries."""
    rng = np.random.default_rng(0)
    names = [f"d{i}" for i in range(40)]
    run, qrels = {}, {}
    for q in range(30):
        judged = rng.choice(names, rng.integers(1, 25), replace=False).tolist()
        found = rng.choice(names, rng.integers(1, 25), replace=False).tolist()
        if q != 7:
            qrels[f"q{q}"] = {d: int(rng.integers(-1, 4)) for d in judged}
        if q % 10 != 3:
            # Many are equal, and more so in single precision.
            run[f"q{q}"] = {d: float(rng.integers(0, 8)) / 4 + rng.random() / 1e9 for d in found}
    folder = tmp_path_factory.mktemp("trec")
    with open(folder / "run.txt", "w") as file:
        for q, scores in run.items():
            for rank, (d, s) in enumerate(scores.items()):
                print(q, "Q0", d, rank, s, "tag", file=file)
    with open(folder / "qrels.txt", "w") as file:
        for q, labels in qrels.items():
            for d, label in labels.items():
                print(q, 0, d, label, file=file)
    files = ["--run", str(folder / "run.txt"), "--qrels", str(folder / "qrels.txt")]
    return run, qrels, files


@dataclass(frozen=True)
class RankBiased(PositionalMeasure):
    name = "rbp"
    top_only = True

    def targets(self, y, queries):
        return y

    def basis(self, positions, sizes):
        return 0.2 * 0.8 ** (positions - 1.0)


def test_a_measure_that_is_registered_reads_runs(capsys, trec, monkeypatch):
    monkeypatch.setitem(MEASURES, "rbp", RankBiased)
    _, values = table(run(capsys, "evaluate", *trec[2], "--measures", "rbp", "mrr"))
    assert 0 < float(values["rbp"][0]) < 1
    monkeypatch.setattr(RankBiased, "top_only", False)
    message = fail(capsys, "evaluate", *trec[2], "--measures", "rbp")
    assert "got rbp, which needs a score for every document. Choose " in message


@pytest.mark.parametrize("level", [1, 2])
def test_runs_are_measured_as_by_trec_eval(capsys, trec, level):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run_scores, qrels, files = trec
    argv = ["--measures", *TREC, "--relevance-level", str(level)]
    text = run(capsys, "evaluate", *files, *argv, "--per-query")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()), relevance_level=level)
    theirs = evaluator.evaluate(run_scores)
    ours = {row["qid"]: row for row in csv.DictReader(io.StringIO(text))}
    assert ours.keys() == theirs.keys()
    assert len(ours) == 26
    for query, values in theirs.items():
        for name, their_name in TREC.items():
            assert float(ours[query][name]) == pytest.approx(values[their_name], abs=1e-9), name


def test_what_runs_and_judgments_do_not_share(capsys, trec):
    argv = ["evaluate", *trec[2], "--measures", "ndcg@5", "map"]
    out = " ".join(run(capsys, *argv).split())
    assert "3 judged queries have no line in the run: they are left out" in out
    assert "1 queries of the run are not judged" in out
    assert "count among the relevant ones" in out
    complete = " ".join(run(capsys, *argv, "--complete").split())
    assert "they count 0" in complete
    mean, _, n = map(float, out.split("ndcg@5 ")[1].split()[:3])
    less, _, more = map(float, complete.split("ndcg@5 ")[1].split()[:3])
    assert (n, more) == (26, 29)
    assert less == pytest.approx(mean * 26 / 29, abs=1e-4)


def test_a_perfect_run_of_some_documents(capsys, tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 1 0.5 x\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 1\n1 0 c 0\n")
    argv = ["--run", str(tmp_path / "run"), "--qrels", str(tmp_path / "qrels")]
    names = ["recall", "map", "precision@2", "mrr", "err"]
    _, rows = table("\n" + run(capsys, "evaluate", *argv, "--measures", *names))
    # b is relevant, and is never found.
    means = {name: float(cells[0]) for name, cells in rows.items()}
    assert means == {"recall": 0.5, "map": 0.5, "precision@2": 0.5, "mrr": 1.0, "err": 0.5}


def test_byte_order_marks(capsys, tmp_path):
    (tmp_path / "run").write_text("\ufeff1 Q0 a 1 0.5 x\n2 Q0 a 1 0.5 x\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("\ufeff1 0 a 1\n2 0 b 1\n", encoding="utf-8")
    argv = ["--run", str(tmp_path / "run"), "--qrels", str(tmp_path / "qrels")]
    out = run(capsys, "evaluate", *argv, "--measures", "mrr", "--per-query")
    assert out == "qid,mrr\n1,1.0\n2,0.0\n"


@pytest.mark.parametrize(
    ("run_text", "qrels_text", "words"),
    [
        ("1 Q0 a 1 x tag\n", "1 0 a 1\n", "line 1"),
        ("1 Q0 a 1 nan tag\n", "1 0 a 1\n", "line 1: nan is not finite"),
        ("\n1 Q0 a 1\n", "1 0 a 1\n", "line 2: it must have 6 or 3 words, got 4"),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 3 t\n", "1 0 a 1\n", "document a appears twice in query 1"),
        ("1 Q0 a 1 2 t\n", "2 0 a 1\n", "must have a query in common"),
        ("1 Q0 a 1 2 t\n", "", "must hold a document at least"),
        ("1 Q0 a 1 2 t\n", "1 0 a\n", "lines must be 'query 0 document relevance'"),
    ],
)
def test_bad_runs(capsys, tmp_path, run_text, qrels_text, words):
    (tmp_path / "run").write_text(run_text)
    (tmp_path / "qrels").write_text(qrels_text)
    argv = ["--run", str(tmp_path / "run"), "--qrels", str(tmp_path / "qrels")]
    assert words in fail(capsys, "evaluate", *argv)
