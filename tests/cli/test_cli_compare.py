"""Models and scores beside rankers on the command line, and reports in files."""

import gzip
import re
import sys
import xml.dom.minidom as minidom
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from commands import COLUMNS, fail, run, table

from skcalrank import NDCGRanker, SpearmanRanker, load_letor
from skcalrank._cli import main
from skcalrank._cli._rankers import make_ranker
from skcalrank._cli._report import Compared, conclusions, report
from skcalrank.evaluation import compare, compare_values, cross_compare
from skcalrank.persistence import save_model

MEASURES = ["ndcg@10", "spearman"]


@pytest.fixture
def systems(folder, tmp_path, monkeypatch):
    """Two models and a file of scores, their scores of the test file, and that file."""
    monkeypatch.setenv("COLUMNS", "500")
    train, test = (load_letor(folder / f"{name}.txt") for name in ("train", "test"))
    found = {}
    for name, ranker in {"a": NDCGRanker(), "b": SpearmanRanker(alpha=1e6)}.items():
        save_model(ranker.fit(*train), tmp_path / f"{name}.skops")
        found[name] = ranker.predict(test.X)
    found["other"] = np.random.default_rng(0).normal(size=len(test.y))
    (tmp_path / "other.txt").write_text("\n".join(map(repr, found["other"].tolist())))
    argv = ["--models", str(tmp_path / "a.skops"), str(tmp_path / "b.skops")]
    return found, test, [*argv, "--scores", str(tmp_path / "other.txt")]


def marks_of(result):
    return {
        (row.system, row.measure): "+" if row.difference > 0 else "-"
        for row in result.differences
        if row.p_adjusted < 0.05
    }


def test_models_and_scores(capsys, path, systems):
    found, test, argv = systems
    out = run(capsys, "compare", path("test.txt"), *argv, "--measures", *MEASURES)
    heads, rows = table(out)
    assert heads == [["a", "b", "other", "constant", "ideal"]]
    result = compare(test.y, found, MEASURES, qid=test.qid)
    marks = marks_of(result)
    assert marks["other", "spearman"] == "-"
    for row in result.estimates:
        cell = rows[row.measure][list(found).index(row.system)]
        assert cell.replace("*", "").startswith(f"{row.mean:.3f}".replace("0.", "."))
        assert cell[-1] == marks.get((row.system, row.measure), cell[-1])
    said = " ".join(out.split())
    assert "Evaluated on" in said
    assert "worse than a at p < .05: paired t-test, Holm-corrected for 4 tests" in said
    other = run(
        capsys, "compare", path("test.txt"), *argv, "--baseline", "other", "--test", "wilcoxon"
    )
    assert "worse than other at p < .05: Wilcoxon signed-rank test" in " ".join(other.split())


def test_rankers_models_and_scores(capsys, path, systems):
    files = path("train.txt"), path("test.txt")
    argv = ["--rankers", "ndcg", "--measures", "spearman"]
    heads, rows = table(run(capsys, "compare", *files, *systems[2], *argv))
    assert heads[0][:4] == ["ndcg", "a", "b", "other"]
    # The model is the ranker that was just fitted.
    assert rows["spearman"][0] == rows["spearman"][1]
    assert len(rows["seconds"]) == 1


def test_one_file_is_cross_validated(capsys, path, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "500")
    argv = ["--rankers", "ndcg", "spearman", "--measures", *MEASURES, "--folds", "3"]
    report = str(tmp_path / "report.csv")
    out = run(capsys, "compare", path("train.txt"), *argv, "--report", report)
    heads, rows = table(out)
    assert heads == [["ndcg", "spearman", "constant", "ideal"]]
    X, y, qid = load_letor(path("train.txt"))
    rankers = {"ndcg": NDCGRanker(), "spearman": SpearmanRanker()}
    result = cross_compare(rankers, X, y, qid, MEASURES, cv=3)
    for name, values in zip(MEASURES, result.values.swapaxes(0, 1)):
        for cell, value in zip(rows[name], np.nanmean(values, axis=1)):
            assert cell.startswith(f"{value:.3f}".replace("0.", "."))
    assert rows["ndcg@10"][0].endswith("*")
    assert Path(report).read_text() == result.to_csv()
    said = " ".join(out.split())
    assert "features, by 3 folds of whole queries." in said
    assert "corrected resampled t-test" in said
    assert "Holm-corrected for 2 tests, over the folds." in said


@pytest.mark.long
def test_one_table_with_text_and_other_packages(capsys, frames, monkeypatch, tmp_path):
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("COLUMNS", "500")
    frame = frames["train"].assign(color=np.where(frames["train"]["f0"] > 0, "red", "blue"))
    frame.to_csv(tmp_path / "all.csv", index=False)
    argv = [*COLUMNS, "--rankers", "ndcg", "ndcg+trees", "lightgbm", "--measures", "spearman"]
    out = run(capsys, "compare", str(tmp_path / "all.csv"), *argv)
    heads, rows = table(out)
    assert heads[0][:3] == ["ndcg", "ndcg+trees", "lightgbm"]
    assert len({cell.split("±")[0] for cell in rows["spearman"][:3]}) == 3
    assert "7 features, by 5 folds" in " ".join(out.split())


def test_models_read_tables(capsys, path, systems, frames, tmp_path):
    frames["test"].to_csv(tmp_path / "test.csv", index=False)
    argv = [*systems[2][-2:], "--measures", "spearman"]
    of_table = run(capsys, "compare", str(tmp_path / "test.csv"), *COLUMNS, *argv)
    of_lines = run(capsys, "compare", path("test.txt"), *argv)
    assert table(of_table)[1] == table(of_lines)[1]


def test_reports(capsys, path, systems, tmp_path):
    pytest.importorskip("matplotlib")
    found, test, argv = systems
    names = [str(tmp_path / f"r{suffix}") for suffix in (".html", ".csv", ".md", ".tex")]
    argv = ["compare", path("test.txt"), *argv, "--measures", "spearman"]
    printed = run(capsys, *argv, "--report", *names)
    assert printed == run(capsys, *argv)
    page, values, markdown, latex = (Path(name).read_text(encoding="utf-8") for name in names)
    result = compare(test.y, found, ["spearman"], qid=test.qid)
    both = "means", "differences"
    assert markdown == "\n\n".join(result.to_markdown(table=t) for t in both) + "\n"
    assert latex == "\n\n".join(result.to_latex(table=t) for t in both) + "\n"
    assert values == result.to_csv()
    # Means, differences, and one plot for each of two systems.
    assert page.count("<svg") == page.count("</svg>") == 4
    assert all(result.to_html(table=t) in page for t in both)
    # Nothing is loaded from elsewhere, and the page is well-formed where it is drawn.
    assert not re.findall(r"<(?:script|link|img)|url\(http|@import", page)
    for plot in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        minidom.parseString(plot)
    # A system is a row, about as high as two lines of text; the axis takes the rest.
    height = float(re.search(r'<svg[^>]* height="([0-9.]+)pt"', page)[1])
    assert 3 * 24 < height < 3 * 24 + 108


def test_all_pairs(capsys, path, systems):
    found, test, argv = systems
    argv = [*argv, "--measures", "spearman", "--pairs", "all"]
    out = run(capsys, "compare", path("test.txt"), *argv)
    result = compare(test.y, found, ["spearman"], qid=test.qid, pairs="all")
    assert len(result.differences) == 3
    for row in result.differences:
        assert f"spearman, {row.system} - {row.other}: " in out
    said = " ".join(out.split())
    assert "better than at p < .05: paired t-test, Holm-corrected for 3 tests" in said
    assert "+ and -" not in said
    heads, rows = table(out)
    assert " ".join(heads[0][:6]) == "a a b b c other"
    better = {
        pair: row.p_adjusted < 0.05
        for row in result.differences
        for pair in [(row.system, row.other)[:: 1 if row.difference > 0 else -1]]
    }
    for name, cell in zip(found, rows["spearman"]):
        letters = [at for at, other in zip("abc", found) if better.get((name, other))]
        assert cell.lstrip(".0123456789±-").lstrip("*") == "".join(letters)
    assert any(better.values())
    argv = ["--rankers", "ndcg", "spearman", "map", "--pairs", "all", "--measures", "ndcg@10"]
    out = run(capsys, "compare", path("train.txt"), *argv)
    assert "ndcg@10, map - spearman: " in out


def test_scores_in_columns_of_the_table(capsys, path, systems, frames, tmp_path):
    found, _, argv = systems
    frame = frames["test"].assign(bm25=found["other"], linear=found["a"], shop="x")
    frame.loc[3, "gap"] = 1.0
    file = str(tmp_path / "board.csv")
    frame.to_csv(file, index=False)
    measures = ["--measures", *MEASURES]
    out = run(capsys, "compare", file, *COLUMNS, "--scores", "bm25", argv[-1], "linear", *measures)
    heads, rows = table(out)
    assert heads[0][:3] == ["bm25", "other", "linear"]
    # The file beside them holds what the first column does.
    assert all(row[0] == row[1] for row in rows.values())
    direct = table(run(capsys, "compare", path("test.txt"), *argv, *measures))[1]
    cells = [[row[place].rstrip("*+-") for row in direct.values()] for place in (2, 0)]
    assert cells == [[row[place].rstrip("*+-") for row in rows.values()] for place in (0, 2)]
    told = run(capsys, "evaluate", "--scores", "bm25", file, *COLUMNS, *measures)
    assert told == run(capsys, "evaluate", "--scores", argv[-1], path("test.txt"), *measures)
    for name, words in {
        "bm26": "has no column 'bm26' (did you mean 'bm25'?)",
        "shop": "'shop'",
        "gap": f"{file}, column 'gap', row 1: scores must be finite, got nan",
    }.items():
        assert words in fail(capsys, "compare", file, *COLUMNS, "--scores", name)


def test_a_report_of_one_system_has_no_differences(capsys, path, systems, tmp_path):
    name = str(tmp_path / "one.md")
    argv = [*systems[2][-2:], "--measures", "spearman", "--report", name]
    run(capsys, "compare", path("test.txt"), *argv)
    assert "difference" not in Path(name).read_text(encoding="utf-8")


def test_a_page_needs_matplotlib(capsys, path, systems, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    argv = ["compare", path("test.txt"), *systems[2], "--report", str(tmp_path / "r.html")]
    assert "pip install matplotlib" in fail(capsys, *argv)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "or TRAIN and TEST, or TEST and --models or --scores; files come before"),
        (["--scores", "SCORES", "TEST"], "files come before the options"),
        (["TEST", "TEST", "TEST"], "give one file to cross-validate rankers"),
        (["TEST", "--scores", "SCORES", "--rankers", "ndcg"], "give TRAIN and TEST"),
        (["TEST", "--test", "permutation"], "--test: cross-validation has a t-test of its own"),
        (["TEST", "--baseline", "x"], "baseline must be"),
        (["TEST", "--qrels", "SCORES"], "unrecognized arguments: --qrels"),
        (["TEST", "--scores", "SCORES", "--baseline", "x"], "baseline must be one of 'other'"),
        (["TEST", "--scores", "SCORES", "--report", "r.pdf"], "the suffix must be one of .html"),
        (["TEST", "--scores", "SCORES", "--report", "SCORES.csv"], "which is read"),
        (["TEST", "--models", "TEST"], "test.txt"),
        (["TEST", "--scores", "MISSING"], "MISSING"),
    ],
)
def test_what_cannot_be_compared(capsys, path, systems, tmp_path, argv, words):
    (tmp_path / "other.csv").write_bytes((tmp_path / "other.txt").read_bytes())
    names = {
        "TEST": path("test.txt"),
        "SCORES": systems[2][-1],
        "SCORES.csv": str(tmp_path / "other.csv"),
    }
    argv = [names.get(word, word) for word in argv]
    if "which is read" in words:
        argv[2] = names["SCORES.csv"]
    assert words in fail(capsys, "compare", *argv)


@pytest.mark.parametrize("suffix", [".run", ".gz"])
def test_a_run_belongs_to_another_command(capsys, path, tmp_path, suffix):
    run_file = tmp_path / f"bm25{suffix}"
    lines = b"7 Q0 a 1 0.5 bm25\n7 Q0 b 2 0.25 bm25\n"
    run_file.write_bytes(gzip.compress(lines) if suffix == ".gz" else lines)
    words = f"{run_file} is a TREC run: skcalrank compare-runs compares runs against judgments"
    for argv in ([str(run_file)], [path("test.txt"), "--scores", str(run_file)]):
        assert words in fail(capsys, "compare", *argv)


def test_files_of_one_name_go_by_their_path(capsys, path, systems, tmp_path):
    (tmp_path / "more").mkdir()
    other = tmp_path / "more" / "other.txt"
    other.write_bytes((tmp_path / "other.txt").read_bytes())
    argv = ["--scores", systems[2][-1], str(other), "--measures", "spearman"]
    out = run(capsys, "compare", path("test.txt"), *argv)
    assert table(out)[0][0][:2] == [systems[2][-1], str(other)]
    assert "Systems are equal on every query" in " ".join(out.split())


def test_missing_values_choose_the_rankers(capsys, tmp_path, rng):
    prices = rng.random(240)
    rows = [
        f"{round(price + rng.random())} qid:{i // 8} 1:{price:.3f}"
        for i, price in enumerate(prices)
    ]
    path = tmp_path / "gaps.txt"
    path.write_text("\n".join(["1 qid:0 1:nan", *rows]))
    argv = ["compare", str(path), "--folds", "2", "--measures", "ndcg@10"]
    peer = "lightgbm" if find_spec("lightgbm") else "ndcg+trees"
    out = run(capsys, *argv)
    assert table(out)[0] == [["auto", peer, "constant", "ideal"]]
    assert "Values are missing, so the rankers that take them are compared" in " ".join(out.split())
    message = fail(capsys, *argv, "--rankers", "ndcg")
    assert "feature 1 has no value" in message


def test_differences_are_printed_with_intervals(capsys, path, systems):
    found, test, argv = systems
    measures = ["spearman", "ndcg@5"]
    out = run(capsys, "compare", path("test.txt"), *argv, "--measures", *measures)
    result = compare(test.y, found, measures, qid=test.qid)
    head = "Differences with 95 % intervals over queries (not corrected) and p (corrected):\n"
    lines = out.partition(head)[2].partition("\n\n")[0].split("\n")
    assert len(lines) == len(result.differences)
    by_measure = sorted(result.differences, key=lambda row: measures.index(row.measure))
    for line, row in zip(lines, by_measure):
        assert line.startswith(f"{row.measure}, {row.system} - {row.other}: ")
        assert re.search(r"p (=|<) [1.]", line)


def test_differences_of_many_measures_are_in_the_report(capsys, path, systems):
    measures = ["spearman", "ndcg@5", "ndcg@10", "dcg@5"]
    out = run(capsys, "compare", path("test.txt"), *systems[2], "--measures", *measures)
    assert "\nspearman, b - a: " in out
    assert "ndcg@5, b - a" not in out
    assert "\nThose of the other measures are in a --report.\n" in out


def values_of(pairs="baseline", **systems):
    values = {name: {"m": np.array(values)} for name, values in systems.items()}
    return compare_values(values, pairs=pairs)


def test_conclusions():
    x = np.arange(12) % 4 / 8
    noise = np.resize([0.05, -0.05, 0.02, -0.01], 12)
    with pytest.warns(UserWarning, match="by the same number"):
        result = values_of(a=x + 0.2, b=x, c=x + 0.195 + noise)
    p = {row.system: f"{row.p_adjusted:.3f}".lstrip("0") for row in result.differences}
    assert np.isnan(result.differences[0].p)  # a constant difference has no t-test
    assert conclusions(result) == f"a has the highest m; c is level (p = {p['c']})."
    several = values_of(a=x + 0.2, c=x + 0.195 + noise, d=x + 0.19 + noise, e=x + noise)
    p = several.differences[1].p_adjusted
    assert conclusions(several) == (
        f"a has the highest m; c and d are level (p >= {f'{p:.3f}'.lstrip('0')}), "
        "e is behind (p < .001)."
    )
    result = values_of(b=x, a=x + 0.2 + noise, c=x + noise / 2)
    assert conclusions(result) == (
        "a has the highest m; b is behind (p < .001); no test compares a with c (--pairs all does)."
    )
    with pytest.warns(UserWarning, match="by the same number"):
        told = conclusions(values_of(b=x, a=x + 0.25, c=x + noise / 2))
    assert told == "a has the highest m; no test compares a with c (--pairs all does)."
    values = {"b": x, "a": x + 0.2 + noise, "c": x + noise / 2, "d": x - noise}
    told = conclusions(values_of(**values))
    assert told.endswith("; no test compares a with c and d (--pairs all does).")
    told = conclusions(values_of(**values, pairs="all"))
    assert told == "a has the highest m; b, c and d are behind (p < .001)."
    with pytest.warns(UserWarning, match="equal on every query"):
        result = values_of(a=x, b=x, c=x - 0.2 + noise)
    assert conclusions(result) == "a and b have the highest m; c is behind (p < .001)."
    with pytest.warns(UserWarning, match="equal on every query"):
        result = values_of(a=x, b=x)
    assert conclusions(result) == "All systems have the same m."
    assert conclusions(values_of(a=x)) == ""


@pytest.mark.parametrize(
    ("level", "mark", "said"), [(1 - 2 / 2**6, "", "a is level"), (0.96, "-", "a is behind")]
)
def test_a_p_value_at_the_level_is_no_difference(level, mark, said):
    # Of 64 sign flips, two give so large a difference.
    values = {"b": {"m": np.arange(1.0, 7.0)}, "a": {"m": np.zeros(6)}}
    comparison = compare_values(values, test="permutation", confidence_level=level)
    text = report(Compared("", comparison, [], []), Namespace(report=[]))
    assert f"b has the highest m; {said} (p = .031)." in text
    assert table(text)[1]["m"][1] == ".000" + mark


def test_a_comparison_is_read_without_theory(capsys, path, systems):
    out = " ".join(run(capsys, "compare", path("test.txt"), *systems[2]).split())
    assert " ".join(out.partition("a has the highest ndcg@10; ")[2].split()[:3]) == "b is level"
    assert out.index("has the highest") < out.index("the ranker is calibrated for the measure")
    assert "Fisher" not in out
    assert "what_is_calibrated" in out


def test_both_uncertainties_are_named(capsys, path, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "r.html"
    argv = ["--rankers", "ndcg", "spearman", "--measures", "ndcg@10", "--folds", "3"]
    out = run(capsys, "compare", path("train.txt"), *argv, "--report", str(page))
    said = " ".join(out.split())
    assert "mean ± standard error over queries" in said
    assert "Intervals here and in reports are over the folds" in said
    assert "Differences with 95 % intervals over folds:" in said
    written = page.read_text(encoding="utf-8")
    assert "Intervals are over the folds" in written
    assert "the standard errors that the command prints are over queries" in written


@pytest.mark.filterwarnings("always:Most queries of")
@pytest.mark.parametrize(
    "argv", [["evaluate", "MODEL", "FILE"], ["compare", "FILE", "--models", "MODEL"]]
)
def test_values_of_training_data_are_told(capsys, path, systems, argv):
    for name in ("train.txt", "test.txt"):
        words = {"MODEL": systems[2][1], "FILE": path(name)}
        assert main([words.get(word, word) for word in argv]) == 0
        _, err = capsys.readouterr()
        told = f"Most queries of {path(name)} have the names and numbers of rows of queries that"
        assert (told in err) == (name == "train.txt")


@pytest.mark.filterwarnings("always:Most queries of")
def test_the_same_file_twice_is_told(capsys, path):
    argv = ["--rankers", "ndcg", "--measures", "ndcg@10"]
    for name in ("train.txt", "test.txt"):
        assert main(["compare", path("train.txt"), path(name), *argv]) == 0
        told = "rows of queries that the rankers were fitted to" in capsys.readouterr().err
        assert told == (name == "train.txt")


def test_rankers_of_other_packages_take_no_cutoff():
    with pytest.raises(ValueError, match="take no cutoff or regressor, write 'lightgbm'"):
        make_ranker("lightgbm@5")
