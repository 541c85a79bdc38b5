"""TREC runs beside each other, compared as the library compares them."""

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import fail, run, table

from skcalrank import load_letor
from skcalrank._cli import main
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
    argv += ["--measures", *NAMES, "--relevance-level", "2"]
    out = run(capsys, *argv)
    heads, rows = table(out)
    assert heads == [["good", "bad"]]
    options = {"relevance_level": 2, "average": False}
    values = {name: evaluate_run(qrels, made[name], NAMES, **options) for name in made}
    result = compare_values(values)
    for row in result.estimates:
        cell = rows[row.measure][list(made).index(row.system)]
        assert cell.startswith(f"{row.mean:.3f}".replace("0.", "."))
    assert rows["map"][1].endswith("-")
    said = " ".join(out.split())
    assert "2 runs against" in said
    assert "worse than good at p < .05: paired t-test, Holm-corrected for 3 tests" in said
    assert "measured as trec_eval does." in said
    assert "Documents without a judgment are not relevant" in said
    report = str(tmp_path / "r.csv")
    assert run(capsys, *argv, "--report", report) == out
    with open(report) as file:
        reported = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in reported] == [row.mean for row in result.estimates]
    assert reported[0]["p"] == ""
    assert float(reported[-1]["p_adjusted"]) == result.differences[-1].p_adjusted


GAIN = "the gain is 2^label - 1 (trec_eval: --gain linear)"
SKIP = "queries without a relevant document are left out (--empty zero)"


@pytest.mark.parametrize(
    ("measures", "options", "but"),
    [
        (["map", "ndcg@5"], [], ""),
        (["map", "ndcg@5"], ["--gain", "linear", "--empty", "zero"], ""),
        (["map", "ndcg@5"], ["--gain", "exponential"], f", but {GAIN}"),
        (["map"], ["--gain", "exponential"], ""),
        (["map", "dcg@5"], ["--empty", "skip"], f", but {SKIP}; trec_eval has no dcg@5"),
        (["map"], ["--empty", "one"], f", but {SKIP.replace('are left out', 'count 1')}"),
        (["ndcg"], ["--gain", "exponential", "--empty", "skip"], f", but {GAIN}; {SKIP}"),
        (["err@5", "judged@5", "map"], [], ", but trec_eval has no err@5 and no judged@5"),
    ],
)
def test_conventions_other_than_those_of_trec_eval_are_named(capsys, runs, measures, options, but):
    _, _, (_, *files, _, qrels) = runs
    asked = ["--qrels", qrels, "--measures", *measures, *options]
    said = " ".join(run(capsys, "compare-runs", *files, *asked).split())
    assert f"measured as trec_eval does{but}. The table" in said
    said = " ".join(run(capsys, "evaluate", "--run", files[0], *asked).split())
    assert f"Measured as trec_eval does{but}. " in said


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
    assert list(rows) == ["ndcg@10", "precision@10", "recall@100", "map", "mrr", "judged_docs"]
    assert "1 run against" in out
    assert "p < .05" not in out


def test_the_share_of_judged_documents_is_reported(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "all.run").write_text("".join(f"q{q} Q0 a 1 {q} x\n" for q in range(8)))
    lines = "".join(f"q{q} Q0 {d} 1 1 x\n" for q in range(8) for d in "abcz")
    (tmp_path / "half.run").write_text(lines + "q9 Q0 a 1 1 x\n")
    (tmp_path / "qrels").write_text("".join(f"q{q} 0 {d} 1\n" for q in range(8) for d in "ay"))
    report = [str(tmp_path / f"r.{suffix}") for suffix in ("csv", "md", "tex", "html")]
    files = [str(tmp_path / f"{name}.run") for name in ("all", "half")]
    argv = ["compare-runs", *files, "--qrels", str(tmp_path / "qrels"), "--measures", "map", "mrr"]
    out = run(capsys, *argv, "--test", "permutation", "--report", *report)
    assert table(out)[1]["judged_docs"] == ["1.000", ".250"]
    said = " ".join(out.split())
    assert "Judged docs: the share of judged documents among those that were retrieved." in said
    assert "half: 1 queries of the run are not judged: they are left out." in said
    texts = [Path(path).read_text() for path in report]
    assert [row["judged"] for row in csv.DictReader(io.StringIO(texts[0]))] == ["1.0"] * 2 + [
        "0.25"
    ] * 2
    for text in texts[1:]:
        assert all(words in text for words in ("judged docs", "0.2500", "Judged docs: the share"))


@pytest.mark.filterwarnings("always")
def test_runs_that_name_other_documents_are_told(capsys, tmp_path):
    (tmp_path / "good.run").write_text("1 Q0 7 1 2 x\n2 Q0 8 1 1 x\n")
    (tmp_path / "bad.run").write_text("1 Q0 7.0 1 2 x\n2 Q0 8.0 1 1 x\n")
    (tmp_path / "qrels").write_text("1 0 7 1\n2 0 8 1\n")
    good, bad, qrels = (str(tmp_path / name) for name in ("good.run", "bad.run", "qrels"))
    for argv in (
        ["compare-runs", good, bad, "--qrels", qrels],
        ["evaluate", "--run", bad, "--qrels", qrels],
    ):
        assert main([*argv, "--measures", "map"]) == 0
        out, err = capsys.readouterr()
        assert f"warning: Not one document that {bad} retrieved is judged" in err
        assert "names documents such as '7.0', and the judgments such as '7'" in err
        assert good not in err
    assert "0 of 2 retrieved documents are judged." in " ".join(out.split())


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
        (["RUN", "--qrels", "QRELS", "--relevance-level", "0"], "relevance_level must be"),
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


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such names")
def test_names_of_files_stay_text_in_reports(capsys, runs, tmp_path):
    pytest.importorskip("matplotlib")
    *_, (_, good, bad, _, qrels) = runs
    names = [
        "=HYPERLINK(1)",
        "+cmd",
        "<script>alert(1)<",
        "a\nb",
        "\x1b[2J",
        r"$\foo$",
        "a_$x_1_2$",
    ]
    files = [tmp_path / f"{name}.txt" for name in names]
    for file in files:
        file.write_bytes(Path(good if file is files[0] else bad).read_bytes())
    reports = [str(tmp_path / f"r{suffix}") for suffix in (".html", ".csv", ".md", ".tex")]
    argv = ["--qrels", qrels, "--measures", "map", "--report", *reports]
    out = run(capsys, "compare-runs", *map(str, files), *argv)
    assert "\x1b" not in out.partition("a b")[2]
    assert "a b" in out
    page, values, markdown, latex = (Path(report).read_text(encoding="utf-8") for report in reports)
    assert "<script" not in page + markdown
    assert page.count(r"$\foo$") >= 4
    systems = [row["system"] for row in csv.DictReader(io.StringIO(values))]
    assert [system.removeprefix("'") for system in systems] == names
    assert not any(system.startswith(("=", "+")) for system in systems)
    # A table of means, and one of the differences to the first.
    assert len(markdown.splitlines()) == 2 * len(names) + 8
    assert len(latex.splitlines()) == 2 * len(names) + 20
