"""TREC runs beside each other, compared as the library compares them."""

import csv
from pathlib import Path

import numpy as np
import pytest
from commands import fail, run, table

from skcalrank import load_letor
from skcalrank.evaluation import compare_values, evaluate_run, to_qrels, to_run

NAMES = ["map", "ndcg@5", "bpref"]


@pytest.fixture
def runs(folder, tmp_path, monkeypatch):
    """Two runs and judgments, as files and as dicts, and the words of a command."""
    monkeypatch.setenv("COLUMNS", "500")
    _, y, qid = load_letor(folder / "test.txt")
    noise = np.random.default_rng(0).normal(size=(2, len(y)))
    scores = {"good": y + noise[0], "bad": noise[1]}
    made = {name: to_run(scores[name], qid, k=5) for name in scores}
    for name, queries in made.items():
        lines = [f"{q} Q0 {d} 0 {s!r} x" for q, docs in queries.items() for d, s in docs.items()]
        (tmp_path / f"{name}.run").write_text("\n".join(lines))
    qrels = to_qrels(y, qid)
    lines = [f"{q} 0 {d} {y}" for q, docs in qrels.items() for d, y in docs.items()]
    (tmp_path / "qrels").write_text("\n".join(lines))
    files = [str(tmp_path / f"{name}.run") for name in made]
    return made, qrels, ["compare-runs", *files, "--qrels", str(tmp_path / "qrels")]


def test_runs(capsys, runs, tmp_path):
    made, qrels, argv = runs
    argv += ["--measures", *NAMES, "--gain", "linear", "--relevance-level", "2", "--empty", "zero"]
    out = run(capsys, *argv)
    heads, rows = table(out)
    assert heads == [["good", "bad"]]
    options = {"gain": "linear", "relevance_level": 2, "empty": "zero", "average": False}
    values = {name: evaluate_run(made[name], qrels, NAMES, **options) for name in made}
    result = compare_values(values)
    for row in result.estimates:
        cell = rows[row.measure][list(made).index(row.system)]
        assert cell.startswith(f"{row.mean:.3f}".replace("0.", "."))
    assert rows["map"][1].endswith("-")
    said = " ".join(out.split())
    assert "2 runs against" in said
    assert "worse than good at p < .05: paired t-test, Holm-corrected for 3 tests" in said
    assert "documents without a judgment are not relevant" in said
    report = str(tmp_path / "r.csv")
    assert run(capsys, *argv, "--report", report) == out
    with open(report) as file:
        reported = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in reported] == [row.mean for row in result.estimates]
    assert reported[0]["p"] == ""
    assert float(reported[-1]["p_adjusted"]) == result.differences[-1].p_adjusted


def test_the_baseline_and_the_test_are_chosen(capsys, runs):
    argv = [*runs[2], "--measures", "map", "--baseline", "bad", "--test", "wilcoxon"]
    out = run(capsys, *argv)
    assert table(out)[1]["map"][0].endswith("+")
    assert "better and worse than bad at p < .05: Wilcoxon signed-rank test" in " ".join(
        out.split()
    )


def test_one_run_is_measured(capsys, runs):
    first = runs[2][1]
    out = run(capsys, "compare-runs", first, *runs[2][3:])
    heads, rows = table(out)
    assert heads == [["good"]]
    assert list(rows) == ["ndcg@10", "precision@10", "recall@100", "map", "mrr"]
    assert "1 run against" in out
    assert "p < .05" not in out


def test_runs_of_one_name_go_by_their_path(capsys, runs, tmp_path):
    (tmp_path / "more").mkdir()
    other = tmp_path / "more" / "good.run"
    other.write_bytes(Path(runs[2][1]).read_bytes())
    out = run(capsys, *runs[2][:2], str(other), *runs[2][3:], "--measures", "map")
    assert table(out)[0] == [[runs[2][1], str(other)]]


def test_runs_of_different_queries(capsys, runs, tmp_path):
    _, qrels, argv = runs
    first = next(iter(qrels))
    lines = (tmp_path / "good.run").read_text().splitlines()
    (tmp_path / "good.run").write_text("\n".join(x for x in lines if x.split()[0] != first))
    message = fail(capsys, *argv, "--measures", "map")
    assert "bad.run has other queries than" in message
    assert "add --complete, which counts 0 for judged queries that are missing" in message
    assert "2 runs" in run(capsys, *argv, "--measures", "map", "--complete")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "give TREC runs, and their judgments with --qrels; files come before the options"),
        (["RUN"], "give TREC runs, and their judgments with --qrels"),
        (["--qrels", "QRELS"], "give TREC runs"),
        (["RUN", "--qrels", "MISSING"], "No such file"),
        (["MISSING", "--qrels", "QRELS"], "No such file"),
        (["LETOR", "--qrels", "QRELS"], "cannot read"),
        (["RUN", "--qrels", "RUN"], "cannot read"),
        (["RUN", "--qrels", "QRELS", "--measures", "auc"], "a score for every document"),
        (["RUN", "--qrels", "QRELS", "--measures", "mpa"], "Unknown measure 'mpa'"),
        (["RUN", "--qrels", "QRELS", "--baseline", "x"], "baseline must be one of 'good'"),
        (["RUN", "--qrels", "QRELS", "--report", "r.pdf"], "the suffix must be one of .html"),
        (["COPY.csv", "--qrels", "QRELS", "--report", "COPY.csv"], "which is read"),
        (["RUN", "--qrels", "QRELS", "--rankers", "ndcg"], "unrecognized arguments: --rankers"),
    ],
)
def test_what_cannot_be_compared(capsys, path, runs, tmp_path, argv, words):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(Path(runs[2][1]).read_bytes())
    names = {
        "RUN": runs[2][1],
        "QRELS": runs[2][-1],
        "LETOR": path("test.txt"),
        "COPY.csv": str(copy),
    }
    assert words in fail(capsys, "compare-runs", *(names.get(word, word) for word in argv))
