"""Commands do not write over what they read, and say where a value is missing."""

import gzip
import os
import sys
from pathlib import Path

import pytest
from cases import holds_generator
from commands import COLUMNS, fail, run

from skcalrank._cli import main
from skcalrank.persistence import load_model

pytest.importorskip("skops")

needs_links = pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")

# -- outputs ---------------------------------------------------------------------------

COMMANDS = {
    "fit": (["fit", "TRAIN", "--model", "OUT"], ["TRAIN"]),
    "predict": (["predict", "MODEL", "TRAIN", "--output", "OUT"], ["MODEL", "TRAIN"]),
    "evaluate": (["evaluate", "MODEL", "TRAIN", "--per-query", "OUT"], ["MODEL", "TRAIN"]),
    "scores": (
        ["evaluate", "--scores", "SCORES", "TRAIN", "--per-query", "OUT"],
        ["SCORES", "TRAIN"],
    ),
    "run": (
        ["evaluate", "--run", "RUN", "--qrels", "QRELS", "--per-query", "OUT"],
        ["RUN", "QRELS"],
    ),
}
CASES = [(name, each) for name, (_, inputs) in COMMANDS.items() for each in inputs]


@pytest.fixture
def files(folder, model, tmp_path):
    train = tmp_path / "train.txt"
    train.write_bytes((folder / "train.txt").read_bytes())
    texts = {"SCORES": "1\n", "RUN": "1 Q0 a 1 0.5 tag\n", "QRELS": "1 0 a 1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {"TRAIN": train, "MODEL": Path(model[0]), **{name: tmp_path / name for name in texts}}


def way_to(kind, path):
    """Another name of a file."""
    other = path.with_name(f"other-{path.name}")
    if kind == "itself":
        return str(path)
    if kind == "roundabout":
        return os.path.join(path.parent, ".", "..", path.parent.name, path.name)
    (other.symlink_to if kind == "symlink" else lambda to: os.link(to, other))(path)
    return str(other)


@pytest.mark.product
@needs_links
@pytest.mark.parametrize("kind", ["itself", "roundabout", "symlink", "hard link"])
@pytest.mark.parametrize(("command", "victim"), CASES)
def test_an_input_is_not_written_over(capsys, files, command, victim, kind):
    before = {name: path.read_bytes() for name, path in files.items()}
    out = way_to(kind, files[victim])
    argv = [str({**files, "OUT": out}.get(word, word)) for word in COMMANDS[command][0]]
    message = fail(capsys, *argv)
    assert f"{out} is {files[victim]}, which is read" in message
    assert {name: path.read_bytes() for name, path in files.items()} == before


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_group_sizes_are_not_written_over(capsys, files, tmp_path, suffix):
    lines = files["TRAIN"].read_text().splitlines()
    files["TRAIN"].write_text("\n".join(" ".join(line.split()[:1]) + " 1:1" for line in lines))
    sizes = tmp_path / f"train.txt.query{suffix}"
    sizes.write_bytes((gzip.compress if suffix else bytes)(str(len(lines)).encode()))
    before = sizes.read_bytes()
    assert "which is read" in fail(capsys, "fit", str(files["TRAIN"]), "--model", str(sizes))
    argv = ["predict", str(files["MODEL"]), str(files["TRAIN"]), "--output", str(sizes)]
    assert "which is read" in fail(capsys, *argv)
    assert sizes.read_bytes() == before


@needs_links
def test_the_standard_output_may_be_an_input_too(capsys, files, monkeypatch):
    before = files["TRAIN"].read_bytes()
    with open(files["TRAIN"], "a") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["predict", str(files["MODEL"]), str(files["TRAIN"])]) == 2
        monkeypatch.undo()
    assert "the standard output is" in capsys.readouterr().err
    assert files["TRAIN"].read_bytes() == before


def test_devices_are_read_and_written(capsys, files):
    argv = ["predict", str(files["MODEL"]), str(files["TRAIN"]), "--output", os.devnull]
    assert run(capsys, *argv) == ""
    assert "/dev/null has no rows" in fail(capsys, *argv[:2], os.devnull, *argv[3:])


@needs_links
def test_a_link_leads_to_the_model(capsys, files, tmp_path):
    target, link = tmp_path / "v1.skops", tmp_path / "latest.skops"
    link.symlink_to(target)
    run(capsys, "fit", str(files["TRAIN"]), "--model", str(link))
    assert link.is_symlink()
    assert load_model(target).n_features_in_ == 6


# -- missing values --------------------------------------------------------------------


def with_hole(files, number, old, new):
    lines = files["TRAIN"].read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if old in line and i >= number)
    head, _, rest = lines[first].partition(old)
    lines[first] = head + new + " ".join(["", *rest.split()[1:]])
    lines.insert(0, "# head")
    files["TRAIN"].write_text("\n".join(lines))
    return first + 2


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Most queries of")
@holds_generator
@pytest.mark.parametrize("more", [[], ["--chunk-rows", "20"]])
def test_a_missing_feature_of_a_line(capsys, files, new, more):
    line, train = with_hole(files, 50, " 3:", " 3:nan"), str(files["TRAIN"])
    words = (
        f"train.txt: line {line}, feature 3 has no value (nan): fill it in, or use auto or +trees"
    )
    assert words in fail(capsys, "fit", train, "--model", new, *more)
    assert words in fail(
        capsys, "predict", str(files["MODEL"]), train, "--output", f"{new}.txt", *more
    )
    assert words in fail(capsys, "evaluate", str(files["MODEL"]), train, *more)
    argv = ["compare", train, train, "--measures", "ndcg", "--rankers", "ndcg+trees"]
    assert words in fail(capsys, *argv, "ndcg")
    run(capsys, *argv)
    run(capsys, "fit", train, "--model", new, "--ranker", "ndcg+trees")
    assert "nan" not in run(capsys, "predict", new, train)


@pytest.mark.filterwarnings("ignore:Most queries of")
@holds_generator
@pytest.mark.parametrize("more", [[], ["--chunk-rows", "20"]])
def test_a_missing_feature_of_a_table(capsys, frames, new, model, tmp_path, more):
    file, frame = str(tmp_path / "t.csv"), frames["train"].copy()
    frame.loc[frame.index[99], "f3"] = None
    frame.to_csv(file, index=False)
    words = "t.csv: row 100, column 'f3' has no value (nan): fill it in, or use auto or +trees"
    # Models without names, and chunks, are of numbers.
    argv = ["predict", model[0], file, *COLUMNS, "--output", f"{new}.txt"]
    assert words in fail(capsys, *argv, *more)
    argv = ["fit", file, "--model", new, *COLUMNS]
    if more:
        assert words in fail(capsys, *argv, *more)
        return
    for ranker in ("ndcg", "ndcg+trees"):
        run(capsys, *argv, "--ranker", ranker)
        assert "nan" not in run(capsys, "predict", new, file, *COLUMNS)
    argv = ["compare", file, file, *COLUMNS, "--measures", "ndcg", "--rankers", "ndcg"]
    assert "1 features" not in run(capsys, *argv)


@pytest.mark.parametrize("more", [[], ["--chunk-rows", "20"]])
def test_a_missing_label(capsys, frames, files, new, tmp_path, more):
    file, frame = str(tmp_path / "t.csv"), frames["train"].copy()
    frame["grade"] = frame["grade"].astype(object)
    frame.loc[frame.index[99], "grade"] = None
    frame.to_csv(file, index=False)
    words = "t.csv, row 100, column 'grade' has no value: every row needs a label"
    for argv in (["fit", file, "--model", new], ["evaluate", str(files["MODEL"]), file]):
        assert words in fail(capsys, *argv, *COLUMNS, *more)
    run(capsys, "predict", str(files["MODEL"]), file, *COLUMNS, *more)
    lines = files["TRAIN"].read_text().splitlines()
    lines[99] = "nan" + lines[99].lstrip("0123456789.")
    files["TRAIN"].write_text("\n".join(lines))
    train = str(files["TRAIN"])
    words = "train.txt is not a file of LETOR lines, line 100: the label is nan"
    assert words in fail(capsys, "fit", train, "--model", new, *more)
    # Labels are not needed to predict.
    run(capsys, "predict", str(files["MODEL"]), train, *more)


# -- lines of scores and runs ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\nx\n", "line 2: could not convert"),
        ("1\n\n1_0\n", "line 3: '1_0' is not a number"),
        ("nan\n", "line 1: scores must be finite, got nan"),
        ("1\n-inf\n", "line 2: scores must be finite, got -inf"),
    ],
)
def test_scores(capsys, files, text, words):
    files["SCORES"].write_text(text)
    message = fail(capsys, "evaluate", "--scores", str(files["SCORES"]), str(files["TRAIN"]))
    assert f"cannot read {files['SCORES']}: {words}" in message


@pytest.mark.parametrize("name", ["RUN", "QRELS"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1 Q0 a 1 2_0 tag\n", "line 1"),
        (b"\n1 Q0 caf\xe9 1 0.5 tag\n", "line 2"),
        (gzip.compress(b"1 Q0 a 1 2 tag\n" * 99, mtime=0)[:30], "cannot read"),
    ],
    # A compressed content has its time.
    ids=["number", "encoding", "cut"],
)
def test_runs_and_judgments(capsys, files, tmp_path, name, content, words):
    if name == "QRELS" and b"tag" in content:
        content = content.replace(b" 1 2_0 tag", b" 2_0").replace(b" 1 0.5 tag", b" 1")
    bad = tmp_path / ("bad.txt.gz" if words == "cannot read" else "bad.txt")
    bad.write_bytes(content)
    names = {**files, name: bad}
    message = fail(capsys, "evaluate", "--run", str(names["RUN"]), "--qrels", str(names["QRELS"]))
    assert f"cannot read {bad}: " in message
    assert words in message


def test_how_much_of_a_file_has_been_read(capsys, files, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    argv = ["predict", str(files["MODEL"]), str(files["TRAIN"]), "--chunk-rows", "100"]
    assert main(argv) == 0
    shares = capsys.readouterr().err
    assert "100% of the file" in shares
    assert shares.count("% of the file") > 1
