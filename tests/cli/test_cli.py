"""The command line prints what a direct computation gives, and says what is wrong."""

import gzip
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from boosting_cases import NEEDS_LIGHTGBM
from cases import holds_generator
from commands import fail, run, table, write_letor
from scipy.stats import ttest_rel
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

import skcalrank
from skcalrank import (
    AveragePrecisionRanker,
    BoostedRanker,
    DCGRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    load_letor,
)
from skcalrank._cli import main
from skcalrank._cli._rankers import RANKERS, REGRESSORS, calibration_mark, make_measure, make_ranker
from skcalrank.data import openmp_threads
from skcalrank.evaluation import Table
from skcalrank.measures import MEASURES as ALL_MEASURES
from skcalrank.metrics import evaluate, measure_score


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """A terminal wide enough for every table in one block."""
    monkeypatch.setenv("COLUMNS", "500")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Names of the training file and of the test file, which is compressed."""
    folder = write_letor(tmp_path_factory.mktemp("letor"))
    zipped = folder / "test.txt.gz"
    zipped.write_bytes(gzip.compress((folder / "test.txt").read_bytes()))
    return str(folder / "train.txt"), str(zipped)


def shown(values):
    """Mean and standard error of per-query values below 1, as they are printed."""
    values = values[~np.isnan(values)]
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    return f"{mean:.3f}±{error:.3f}".replace("0.", ".")


# -- compare -----------------------------------------------------------------------


def test_compare_values_and_significance(capsys, files):
    names = ["ndcg@10", "spearman", "kendall", "err@5"]
    argv = ["--measures", *names, "--rankers", "dcg,precision,ndcg@5", "--relevance-level", "1"]
    out = run(capsys, "compare", *files, *argv)
    heads, rows = table(out)
    assert heads == [["dcg", "precision", "ndcg@5", "constant", "ideal"]]
    train, test = map(load_letor, files)
    values = []
    for ranker in (DCGRanker(), PrecisionRanker(relevance_level=1), NDCGRanker(k=5)):
        scores = ranker.fit(*train).predict(test.X)
        values.append(evaluate(test.y, scores, names, qid=test.qid, average=False))
    tests = {
        (place, name): ttest_rel(found[name], values[0][name], nan_policy="omit")
        for place, found in enumerate(values)
        if place
        for name in names
    }
    # Of the eight tests, Holm's method compares the smallest p-value with .05 / 8, and so on.
    p = sorted(test.pvalue for test in tests.values())
    n_rejected = next(n for n, value in enumerate(p) if value * (len(p) - n) >= 0.05)
    marks = ""
    for name in names:
        for place, (cell, found) in enumerate(zip(rows[name], values)):
            test, mark = tests.get((place, name)), ""
            if test is not None and test.pvalue in p[:n_rejected]:
                mark = "+" if test.statistic > 0 else "-"
            assert cell.replace("*", "") == shown(found[name]) + mark
            marks += mark
    assert "-" in marks
    assert len(rows["seconds"]) == 3
    assert all(float(s) > 0 for s in rows["seconds"])
    said = " ".join(out.split())
    assert "29 of 30 for ndcg@10" in said
    assert "all 30 for spearman" in said
    assert "worse than dcg at p < .05: paired t-test, Holm-corrected for 8 tests" in said


def test_compare_default_takes_grades_from_1_for_relevant(capsys, files):
    argv = ["compare", *files]
    out = run(capsys, *argv)
    heads, rows = table(out)
    assert {"ndcg", "pd", "map", "auc", "constant", "ideal"} <= {
        name for head in heads for name in head
    }
    assert {"map", "ndcg@10"} <= set(rows)
    assert table(run(capsys, *argv, "--relevance-level", "2"))[1]["map"] != rows["map"]


def test_relevance_level_reaches_binary_measures_and_rankers(capsys, files):
    argv = ["--relevance-level", "2", "--measures", "map", "ndcg@10", "--rankers", "map", "dcg"]
    _, rows = table(run(capsys, "compare", *files, *argv))
    train, test = map(load_letor, files)
    scores = AveragePrecisionRanker(relevance_level=2).fit(*train).predict(test.X)
    for measure, cell in ((make_measure("map", 2), "map"), ("ndcg@10", "ndcg@10")):
        values = measure_score(measure, test.y, scores, qid=test.qid, average=False)
        assert rows[cell][0].rstrip("°") == shown(values)
    assert rows["map"][3] == "1.000"


def test_err_is_on_the_scale_of_both_files(capsys, files, tmp_path):
    test = tmp_path / "test.txt"
    test.write_text("1 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 1:1\n")
    _, rows = table(run(capsys, "compare", files[0], str(test), "--measures", "err"))
    # Grades go up to 3 in training: the document of grade 1 stops with probability 1/8.
    assert rows["err"][-1] == ".125"


def test_empty_policy(capsys, files):
    _, rows = table(run(capsys, "compare", *files, "--measures", "ndcg", "--empty", "zero"))
    assert rows["ndcg"][-1].startswith(f"{29 / 30:.3f}"[1:])
    message = fail(capsys, "compare", *files, "--measures", "ndcg", "--empty", "error")
    assert "undefined" in message


@pytest.mark.parametrize("n_features", [4, 6, 8])
def test_features_of_the_test_file_agree_with_training(capsys, files, tmp_path, n_features):
    lines = gzip.decompress(Path(files[1]).read_bytes()).decode().splitlines()
    other = tmp_path / "other.txt"
    kept = [
        " ".join([part for part in line.split() if part.split(":")[0] not in ("5", "6")])
        for line in lines
    ]
    last = {4: "", 6: " 6:0", 8: " 8:1"}[n_features]
    other.write_text("\n".join(line + last for line in kept))
    argv = ["--rankers", "dcg", "--measures", "spearman"]
    out = run(capsys, "compare", files[0], str(other), *argv)
    train, test = load_letor(files[0]), load_letor(files[1])
    X = np.where(np.arange(6) < 4, test.X, 0)
    values = measure_score(
        "spearman", test.y, DCGRanker().fit(*train).predict(X), qid=test.qid, average=False
    )
    assert table(out)[1]["spearman"][0] == shown(values)
    assert ("features above 6, which" in " ".join(out.split())) == (n_features == 8)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_peers(capsys, files, name):
    pytest.importorskip(name)
    heads, rows = table(run(capsys, "compare", *files, "--rankers", f"dcg,{name},dcg+forest"))
    assert heads[0][:3] == ["dcg", name, "dcg+forest"]
    constant = float(rows["spearman"][-2].split("±")[0])
    assert float(rows["spearman"][1].split("±")[0]) > constant


def test_peer_that_is_not_installed(capsys, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    message = fail(capsys, "compare", *files, "--rankers", "ndcg", "lightgbm")
    assert "pip install lightgbm" in message


def test_peer_wants_grades(capsys, files, tmp_path):
    pytest.importorskip("lightgbm")
    (tmp_path / "train.txt").write_text("0.5 qid:1 1:1\n0 qid:1 1:2\n")
    argv = ("compare", str(tmp_path / "train.txt"), files[1], "--rankers", "lightgbm")
    assert "y must be whole numbers from 0 to 30" in fail(capsys, *argv)


# -- what is wrong -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "COMMAND"),
        (["demo", "--queries", "9"], "integer >= 10"),
        (["demo", "--queries", "5000"], "1797"),
        (["compare"], "give one file to cross-validate"),
        (["compare", "TRAIN", "--folds", "31"], "number of queries"),
        (["compare", "TRAIN", "--measures", "ndgc"], "Unknown measure 'ndgc'"),
        (["compare", "TRAIN", "--measures", "auc@3"], "no cutoff"),
        (["compare", "TRAIN", "--rankers", "ndgc"], "Unknown ranker 'ndgc'"),
        (["compare", "TRAIN", "--rankers", "ndcg+oaks"], "+trees or +forest"),
        (["compare", "TRAIN", "--rankers", "auc@3"], "AUCRanker has no cutoff"),
        (["compare", "TRAIN", "--test", "wilcoxon"], "a t-test of its own"),
        (["compare", "TRAIN", "TEST", "--rankers", "nope"], "Unknown ranker"),
        (["compare", "TRAIN", "MISSING"], "No such file"),
        (["compare", "TRAIN", "TEST", "--empty", "nan"], "--empty"),
        (["compare", "TRAIN", "TEST", "--relevance-level", "high"], "--relevance-level"),
    ],
)
def test_bad_input(capsys, files, argv, words):
    names = {"TRAIN": files[0], "TEST": files[1]}
    message = fail(capsys, *(names.get(word, word) for word in argv))
    assert "skcalrank: error: " in message
    assert words in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has no rows"),
        (b"these are words\n", "qid:Q"),
        (b"1 1:0.5\n0 1:0.25\n", "without qid"),
        (bytes(range(256)), "is not a file of LETOR lines, line 1"),
    ],
)
@pytest.mark.parametrize("suffix", [".txt", ".gz", ".xz"])
def test_bad_file(capsys, files, tmp_path, content, words, suffix):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(gzip.compress(content) if suffix == ".gz" else content)
    message = fail(capsys, "compare", files[0], str(path))
    assert str(path) in message
    assert words in message or suffix == ".xz"
    assert len(message) < 600 + len(str(path))


# -- what a person sees ------------------------------------------------------------


def progress(capsys, *argv):
    """The table that a comparison prints, without seconds, and the lines of its progress."""
    assert main(["compare", *argv, "--rankers", "ndcg", "dcg", "--measures", "ndcg@10"]) == 0
    out, err = capsys.readouterr()
    return re.sub("fit seconds.*", "", out), err


def test_progress_on_a_terminal_or_where_it_is_asked_for(capsys, monkeypatch, files):
    monkeypatch.setenv("COLUMNS", "60")
    # Programs that call the command may take what is on stderr for a fault.
    piped, nothing = progress(capsys, files[0])
    assert nothing == ""
    asked, lines = progress(capsys, files[0], "--verbose")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    seen, line = progress(capsys, files[0])
    assert asked == piped == seen
    first, *fits = lines.splitlines()
    assert first == "fitting 2 rankers in 5 folds"
    names = [f"{name}, split {number} of 5" for name in ("ndcg", "dcg") for number in range(1, 6)]
    assert [fit.partition(", ndcg@10=0.")[0] for fit in fits] == [
        f"{done}/10 {name}" for done, name in enumerate(names, 1)
    ]
    assert all(re.search(r", total= +[0-9.]+s$", fit) for fit in fits)
    shown = line.split("\r\x1b[K")
    assert shown[-1] == ""
    assert all(
        any(text.startswith(f"{done}/10 {name}") for text in shown)
        for done, name in enumerate(names, 1)
    )
    # A longer line would stay on the screen.
    assert max(len(text) for text in shown if "split" in text) < 60


def test_progress_of_fits_to_one_file(capsys, files):
    piped, nothing = progress(capsys, *files)
    asked, lines = progress(capsys, *files, "--verbose")
    assert nothing == ""
    assert lines.splitlines() == ["fitting 1/2 ndcg", "fitting 2/2 dcg"]
    assert asked == piped


def test_progress_without_a_standard_error(capsys, monkeypatch, files):
    piped, _ = progress(capsys, files[0])
    monkeypatch.setattr(sys, "stderr", None)  # as in programs without a console
    assert progress(capsys, files[0], "--verbose") == (piped, "")


class Counted(Ridge):
    """Ridge regression that notes how many threads OpenMP would start in its fit."""

    found: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.found.append(openmp_threads())
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("cells", [1.0, 1e9])
def test_small_tables_take_one_thread(capsys, files, tmp_path, monkeypatch, cells):
    pytest.importorskip("skops")
    monkeypatch.setattr("skcalrank.trees._engine._CELLS", cells)
    monkeypatch.setitem(REGRESSORS, "trees", Counted)
    monkeypatch.setattr("skcalrank._cli._fit.save_model", lambda *_, **__: None)
    argv = ["--rankers", "ndcg+trees", "--measures", "ndcg@10"]
    with threadpool_limits(2, "openmp"):
        most = openmp_threads()
        Counted.found.clear()
        run(capsys, "compare", files[0], *argv)
        run(capsys, "compare", *files, *argv)
        run(capsys, "fit", files[0], "--ranker", "ndcg+trees", "--model", str(tmp_path / "m"))
    assert len(Counted.found) >= 7
    assert {*Counted.found} == {most if cells == 1 else 1}


def test_table_is_cut_to_the_width():
    columns = {f"ranker{i}": ["1.000", ".5"] for i in range(6)}
    text = Table.of_columns(["ndcg", "auc"], columns).to_text(30)
    assert max(map(len, text.split("\n"))) <= 30
    assert len(text.split("\n\n")) == 2
    assert all(f"ranker{i}" in text for i in range(6))


def test_terminal_that_knows_ascii_only(monkeypatch, files):
    class Ascii:
        text = ""

        def write(self, text):
            text.encode("ascii")
            self.text += text

        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Ascii())
    argv = ["compare", files[0], "--rankers", "map", "--measures", "map", "--relevance-level", "1"]
    assert main(argv) == 0
    assert "+-" in sys.stdout.text
    assert "'" in sys.stdout.text


@pytest.mark.parametrize("command", [[], ["demo"], ["compare"], ["compare-runs"], ["convert"]])
def test_help(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    out = run(capsys, *command, "--help")
    assert "example" in out
    assert max(map(len, out.split("\n"))) <= 80


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["compare-run"]])
def test_what_runs_no_command_imports_no_numbers(argv):
    code = (
        "import sys; from skcalrank._cli import main; main(sys.argv[1:]); "
        "print(*{'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
    assert "compare-runs" in done.stdout + done.stderr or argv == ["--version"]


def test_version_from_the_shell():
    command = [sys.executable, "-m", "skcalrank", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"skcalrank {skcalrank.__version__}\n"
    assert done.stderr == ""


def test_the_module_ends_with_the_code_of_the_command(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["skcalrank", "evaluate", "nothing.txt", "none.txt"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("skcalrank", run_name="__main__")
    assert end.value.code == 2
    assert "nothing.txt" in capsys.readouterr().err


# -- what is calibrated for what ---------------------------------------------------


@pytest.mark.parametrize(
    ("ranker", "measure", "mark"),
    [
        ("ndcg", "ndcg@10", "*"),
        ("ndcg", "ndcg@5", ""),
        ("ndcg@5", "ndcg@5", "*"),
        ("ndcg+forest", "ndcg@10", "*"),
        ("ndcg", "dcg@10", ""),
        ("dcg", "ndcg@10", ""),
        ("dcg", "dcg@3", "*"),
        ("precision", "precision@1", "*"),
        ("precision", "rbp", "*"),
        ("rbp", "precision@3", "*"),
        ("recall", "recall@3", "*"),
        ("recall", "map", ""),
        ("eru", "eru@7", "*"),
        ("auc", "auc", "*"),
        ("spearman", "spearman", "*"),
        ("map", "map", "°"),
        ("map", "map@5", ""),
        ("err", "err@10", "°"),
        ("pd", "neg_pairwise_disagreement", "°"),
        ("pd", "kendall", ""),
        ("kendall", "kendall", "°"),
        ("kendall", "neg_pairwise_disagreement", ""),
    ],
)
def test_calibration_mark(ranker, measure, mark):
    assert calibration_mark(make_ranker(ranker, 1), make_measure(measure, 1)) == mark


def test_every_ranker_is_calibrated_for_a_measure_and_no_reference_is():
    for name in RANKERS:
        ranker = make_ranker(name)
        cutoff = "@10" if name == "ndcg" else ""
        marks = [
            calibration_mark(
                ranker, make_measure(measure + cutoff * ALL_MEASURES[measure].has_cutoff)
            )
            for measure in ALL_MEASURES
        ]
        # For these two measures, the same order is optimal.
        assert sum(map(bool, marks)) == 1 + (name in ("precision", "rbp"))
    assert calibration_mark(None, make_measure("auc")) == ""


@pytest.mark.parametrize(
    ("ranker", "measure"),
    [
        (PairwiseLogisticRanker(), "neg_pairwise_disagreement"),
        pytest.param(BoostedRanker(loss="lambdarank"), "ndcg@10", marks=NEEDS_LIGHTGBM),
        (make_ranker("auto"), "ndcg@10"),
    ],
)
def test_no_mark_without_a_theorem(ranker, measure):
    assert calibration_mark(ranker, make_measure(measure)) == ""
    assert isinstance(make_ranker("kendall"), PairwiseDisagreementRanker)


@holds_generator
def test_auto_is_the_ranker_of_tables(capsys, files, tmp_path):
    pytest.importorskip("skops")
    model, scores = str(tmp_path / "auto.skops"), tmp_path / "scores.txt"
    printed = run(capsys, "fit", files[0], "--model", model, "--ranker", "auto@5")
    assert "Fitted auto@5" in printed
    run(capsys, "predict", model, files[1], "--output", str(scores))
    data, test = (load_letor(file) for file in files)
    ranker = skcalrank.TabularRanker("ndcg@5", random_state=0)
    expected = ranker.fit(*data).predict(test.X, test.qid)
    np.testing.assert_allclose(np.loadtxt(scores), expected, atol=1e-9)
    about = run(capsys, "info", model)
    assert "weights         scaled " in about
    assert "(of scores divided by their spread; need not sum to 1)" in about
    assert "No coefficients are shown: TabularRanker does not have one" in about
    found = run(capsys, "compare", *files, "--rankers", "ndcg", "auto", "--measures", "ndcg@5")
    assert "auto" in found
    message = fail(capsys, "fit", files[0], "--model", model, "--ranker", "auto", "--alpha", "1")
    assert "which auto does not use" in message
