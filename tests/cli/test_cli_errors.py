"""Errors of commands on bad files: message and exit code."""

import gzip
import importlib.util
import io
import os
import subprocess
import sys
import warnings
from zipfile import ZipFile

import numpy as np
import pytest
import sklearn
from boosting_cases import NEEDS_LIGHTGBM
from commands import COLUMNS, fail, run
from sklearn.preprocessing import StandardScaler

from skcalrank import NDCGRanker
from skcalrank._cli import main
from skcalrank.persistence import save_model

pytest.importorskip("skops")

# -- what is wrong -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["fit", "TRAIN"], "--model"),
        (["fit", "TRAIN", "--model", "NOWHERE/m"], "does not exist"),
        (["fit", "TRAIN", "--model", "FOLDER"], "it is a folder"),
        (["predict", "MODEL", "TEST", "--output", "FOLDER"], "Is a directory"),
        (["fit", "MISSING", "--model", "NEW"], "No such file"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "nope"], "Unknown ranker"),
        pytest.param(
            ["fit", "TRAIN", "--model", "NEW", "--ranker", "lightgbm", "--alpha", "1"],
            "penalties of Ridge, which lightgbm does not use",
            marks=NEEDS_LIGHTGBM,
        ),
        (["predict", "MODEL", "TEST", "--format", "trec", "--tag", "a b"], "not one word"),
        (["predict", "MODEL", "TEST", "--format", "trec", "--tag", ""], "not one word"),
        (["fit", "TRAIN", "--model", "NEW", "--chunk-rows", "²"], "integer >= 1"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "ndcg+trees", "--alpha", "1"], "Ridge"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "map", "--alphas", "1"], "give --alpha"),
        (["fit", "TRAIN", "--model", "NEW", "--alpha", "1", "--alphas", "1"], "one of the two"),
        (["fit", "TRAIN", "--model", "NEW", "--alpha", "-1"], "'alpha' parameter of NDCGRanker"),
        (["fit", "TRAIN", "--model", "NEW", "--max-grade", "4"], "for the ranker err"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "err", "--chunk-rows", "9"], "--max-grade"),
        (["fit", "TRAIN", "--model", "NEW", "--chunk-rows", "0"], "integer >= 1"),
        (["fit", "TRAIN", "--model", "NEW", "--alphas", "1", "--chunk-rows", "9"], "all rows"),
        (["fit", "TRAIN", "--model", "NEW", "--n-features", "2"], "line 1 has feature 6"),
        (["predict", "TRAIN", "TEST"], "not a model file"),
        (["predict", "MISSING", "TEST"], "No such file"),
        (["predict", "MODEL", "MISSING"], "No such file"),
        (["predict", "MODEL", "TEST", "--top-k", "3"], "--format trec"),
        (["predict", "MODEL", "TEST", "--output", "NOWHERE/x"], "No such file"),
        (["evaluate"], "give MODEL and FILE"),
        (["evaluate", "MODEL"], "give MODEL and FILE"),
        (["evaluate", "MODEL", "TEST", "--scores", "TEST"], "give MODEL and FILE"),
        (["evaluate", "--run", "TEST"], "--qrels and --run must be given together"),
        (["evaluate", "--run", "TEST", "--qrels", "TEST", "--measures", "auc"], "every document"),
        (["evaluate", "--scores", "TRAIN", "TEST"], "one score per line"),
        (["evaluate", "MODEL", "TEST", "--measures", "ndgc"], "Unknown measure"),
        (["info", "TEST"], "not a model file"),
    ],
)
def test_bad_input(capsys, path, model, new, tmp_path, argv, words):
    names = {
        "TRAIN": path("train.txt"),
        "TEST": path("test.txt"),
        "MISSING": path("missing.txt"),
        "MODEL": model[0],
        "NEW": new,
        "FOLDER": str(tmp_path),
    }
    nowhere = str(tmp_path / "nowhere")
    argv = [names.get(word, word.replace("NOWHERE", nowhere)) for word in argv]
    message = fail(capsys, *argv)
    assert "skcalrank: error: " in message
    assert words in message
    assert not (tmp_path / "new.skops").exists()


@pytest.mark.parametrize(
    ("n_queries", "command", "words"),
    [
        (3, ["compare"], "--folds must be at most the number of queries, 3, got 5"),
        (1, ["compare"], "one query cannot be divided into folds: give TRAIN and TEST"),
        (3, ["fit", "--alphas", "1", "--model"], "--folds must be at most the number of queries"),
        (1, ["fit", "--alphas", "1", "--model"], "cannot be divided into folds: give --alpha"),
    ],
)
def test_fewer_queries_than_folds(capsys, tmp_path, n_queries, command, words):
    file = tmp_path / "few.txt"
    file.write_text("".join(f"{i % 2} qid:{i // 2} 1:{i}\n" for i in range(2 * n_queries)))
    command = [*command, str(tmp_path / "new.skops")] if command[-1] == "--model" else command
    assert words in fail(capsys, command[0], str(file), *command[1:])


def test_features_must_be_those_of_the_model(capsys, path, model, frames, new, tmp_path):
    other = tmp_path / "wide.txt"
    other.write_text("1 qid:1 9:1\n")
    assert "n_features" in fail(capsys, "predict", model[0], str(other))
    file = str(tmp_path / "train.csv")
    frames["train"].to_csv(file, index=False)
    run(capsys, "fit", file, "--model", new, *COLUMNS)
    message = fail(capsys, "predict", new, path("test.txt"))
    assert f"error: {path('test.txt')} has numbered features" in message
    assert "f0, f1" in message
    frames["test"].drop(columns="f3").to_csv(file, index=False)
    assert "no column 'f3'" in fail(capsys, "predict", new, file, *COLUMNS)
    # A model without names takes the columns of numbers as they stand.
    out = run(capsys, "predict", model[0], path("train.txt"))
    frames["train"].to_csv(file, index=False)
    drop_label = ["--qid-column", "query", "--label-column", "grade"]
    named = run(capsys, "predict", model[0], file, *drop_label)
    np.testing.assert_allclose(
        [float(v) for v in named.split()], [float(v) for v in out.split()], rtol=1e-9
    )


def test_scores_are_as_many_as_rows(capsys, path, tmp_path):
    (tmp_path / "scores.txt").write_text("1\n2\n")
    argv = ["--scores", str(tmp_path / "scores.txt"), path("test.txt")]
    assert "must hold 215 scores, one per row of" in fail(capsys, "evaluate", *argv)


def test_scores_may_be_compressed(capsys, path, model, tmp_path):
    scores = run(capsys, "predict", model[0], path("test.txt"))
    (tmp_path / "scores.txt.gz").write_bytes(gzip.compress(f"\ufeff{scores}".encode()))
    argv = ["--scores", str(tmp_path / "scores.txt.gz"), path("test.txt"), "--measures", "ndcg"]
    expected = run(capsys, "evaluate", model[0], path("test.txt"), "--measures", "ndcg")
    assert run(capsys, "evaluate", *argv) == expected


@pytest.mark.parametrize("name", ["a.txt.gz", "a.csv.gz"])
def test_corrupt_files(capsys, new, tmp_path, name):
    content = bytearray(gzip.compress(b"1 qid:1 1:1\n" * 1000 + bytes(range(256))))
    content[12:20] = b"\xff" * 8  # no code of deflate
    (tmp_path / name).write_bytes(content)
    assert "cannot read" in fail(capsys, "fit", str(tmp_path / name), "--model", new)


def test_more_features_than_memory(capsys, path, new):
    argv = ["fit", path("train.txt"), "--model", new, "--n-features", "99999999999"]
    assert "not enough memory: Unable to allocate" in fail(capsys, *argv)


@pytest.mark.filterwarnings("ignore:Most queries of")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_encodings_that_lack_a_character(capsys, frames, new, tmp_path, monkeypatch, command):
    file = str(tmp_path / "train.csv")
    frame = frames["train"]
    frame.assign(query="q\u00e9" + frame["query"].astype(str)).to_csv(file, index=False)
    run(capsys, "fit", file, "--model", new, *COLUMNS)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    more = ["--format", "trec"] if command == "predict" else ["--per-query"]
    assert main([command, new, file, *COLUMNS, *more]) == 2
    monkeypatch.undo()
    assert r"'\xe9', which cannot be written in ascii: set PYTHONIO" in capsys.readouterr().err


def test_labels_alone_are_enough_for_scores(capsys, frames, tmp_path):
    frame, file = frames["test"][["query", "grade"]], tmp_path / "labels.csv"
    frame.to_csv(file, index=False)
    (tmp_path / "scores.txt").write_text("\n".join(map(str, frame["grade"])))
    argv = ["--scores", str(tmp_path / "scores.txt"), str(file), "--measures", "ndcg"]
    assert "ndcg 1.0000" in run(capsys, "evaluate", *argv, *COLUMNS)


def test_warnings_are_one_line(capsys, path, model):
    with ZipFile(model[0]) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    version = f'"scikit-learn": "{sklearn.__version__}"'.encode()
    texts["skcalrank.json"] = texts["skcalrank.json"].replace(version, b'"scikit-learn": "0.99"')
    with ZipFile(model[0], "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["predict", model[0], path("test.txt")]) == 0
    err = capsys.readouterr().err
    assert err.startswith("skcalrank: warning: ")
    assert "0.99" in err
    assert err.count("skcalrank:") == 1


def test_names_that_a_run_cannot_hold(capsys, frames, new, tmp_path):
    file = str(tmp_path / "train.csv")
    frames["train"].assign(docid="two words").to_csv(file, index=False)
    run(capsys, "fit", file, "--model", new, *COLUMNS)
    assert main(["predict", new, file, *COLUMNS, "--format", "trec"]) == 2
    assert "must be one word, got 'two words'" in capsys.readouterr().err
    frames["train"].assign(query="#1").to_csv(file, index=False)
    assert main(["predict", new, file, *COLUMNS, "--format", "trec"]) == 2
    assert "'#1' cannot name a query of a TREC run" in capsys.readouterr().err


def test_documents_without_a_name_in_a_table(capsys, frames, new, tmp_path):
    pandas, file = pytest.importorskip("pandas"), tmp_path / "few.csv"
    frame = frames["train"].head(4).assign(docid=["a", None, "b", "7"])
    files = [str(file)]
    frame.to_csv(file, index=False)
    if importlib.util.find_spec("pyarrow"):
        files.append(str(tmp_path / "few.parquet"))
        frame.assign(docid=pandas.Categorical(frame["docid"])).to_parquet(files[1])
    run(capsys, "fit", str(file), "--model", new, *COLUMNS)
    for table_file in files:
        message = fail(capsys, "predict", new, table_file, *COLUMNS, "--format", "trec")
        assert "row 2 must name its document, as other rows do" in message
        assert run(capsys, "predict", new, table_file, *COLUMNS)  # scores name no documents


def test_rows_without_a_query_in_a_table(capsys, frames, new, tmp_path):
    file, frame = str(tmp_path / "train.csv"), frames["train"]
    frame.assign(query=frame["query"].map({0: "NA", 1: "007"})).to_csv(file, index=False)
    message = fail(capsys, "fit", file, "--model", new, *COLUMNS)
    assert "row 1, column 'query' has no value" in message
    assert "NA" in message


def test_a_folder_of_parts_is_named_once(capsys, frames, new, tmp_path):
    for part in range(2):
        frames["train"].iloc[::-1][part::2].to_csv(tmp_path / f"part-{part}.csv", index=False)
    argv = ["--model", new, *COLUMNS, "--chunk-rows", "5"]
    message = fail(capsys, "fit", str(tmp_path), *argv)
    assert "was in an earlier chunk" in message
    assert message.count("part-0") == 1


def test_words_among_numbers_are_named(capsys, frames, new, tmp_path, monkeypatch):
    monkeypatch.setattr("skcalrank.datasets._csv_files._BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("skcalrank.datasets._csv_files._N_BLOCKS", 1)
    file, frame = str(tmp_path / "train.csv"), frames["train"].astype({"f3": object})
    frame.loc[frame.index[-1], "f3"] = "oops"
    frame.to_csv(file, index=False)
    argv = [file, "--model", new, *COLUMNS, "--chunk-rows", "5"]
    assert "row 184, column 'f3' is not a number: could not convert string to float" in fail(
        capsys, "fit", *argv
    )
    frames["train"].assign(grade="bad").to_csv(file, index=False)
    assert "row 1, column 'grade' is not a number: could not convert" in fail(capsys, "fit", *argv)


def test_an_index_is_no_feature(capsys, frames, new, tmp_path):
    frames["train"].to_csv(tmp_path / "train.csv")
    message = fail(capsys, "fit", str(tmp_path / "train.csv"), "--model", new, *COLUMNS)
    assert "has no name" in message
    assert "index=False" in message


def test_labels_are_not_read_to_predict(capsys, frames, new, tmp_path):
    file = str(tmp_path / "train.csv")
    frames["train"].to_csv(file, index=False)
    run(capsys, "fit", file, "--model", new, *COLUMNS)
    expected = run(capsys, "predict", new, file, *COLUMNS).split()
    frames["train"].assign(grade="unknown").to_csv(file, index=False)
    for more in ([], ["--chunk-rows", "7"]):
        scores = run(capsys, "predict", new, file, *COLUMNS, *more).split()
        np.testing.assert_allclose(*([float(s) for s in each] for each in (scores, expected)))


def test_models_that_score_nothing(capsys, path, new):
    save_model(StandardScaler().fit(np.eye(3)), new)
    assert "must hold a model with predict, got StandardScaler" in fail(
        capsys, "predict", new, path("test.txt")
    )
    assert "class" in run(capsys, "info", new)


def test_models_of_fixed_items(capsys, path, new):
    save_model(NDCGRanker().fit(np.eye(3), np.eye(3)), new)
    assert "ranks 3 fixed items" in fail(capsys, "predict", new, path("test.txt"))


def test_extras_that_are_missing(capsys, path, new, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setattr("skcalrank._cli._fit.Reader", None)  # nothing is read before
    message = fail(capsys, "fit", path("train.txt"), "--model", new)
    assert "pip install skops" in message


# -- how it ends -------------------------------------------------------------------


def test_progress_on_a_terminal_only(capsys, path, model, monkeypatch):
    argv = ["predict", model[0], path("test.txt"), "--chunk-rows", "50"]
    quiet = run(capsys, *argv)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(argv) == 0
    seen = capsys.readouterr()
    assert seen.out == quiet
    assert "rows/s" in seen.err
    assert seen.err.endswith("\r\x1b[K")


def test_interrupt(capsys, path, new, monkeypatch):
    def stop(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("skcalrank._cli._fit.save_model", stop)
    assert main(["fit", path("train.txt"), "--model", new]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
def test_nobody_reads(path, model):
    command = [sys.executable, "-m", "skcalrank", "predict", model[0], path("test.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
def test_what_is_written_after_the_reader_has_gone_is_discarded(path, model, monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["predict", model[0], path("test.txt")]) == 1
        out.write("later")
        out.flush()


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "info"])
def test_help(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    out = run(capsys, command, "--help")
    assert "example" in out
    assert max(map(len, out.split("\n"))) <= 80


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("dup.csv", "qid,label,x,x\n1,1,2,3\n", "{path} has several columns 'x': give every"),
        ("hdr.csv", "qid,label,x\n", "{path} has no rows: behind the header, write one"),
        ("none.csv", "", "{path} has no rows: write a header and"),
        ("a.png", "\x89PNG", "{path} is not a file of LETOR lines, line 1: "),
        ("a.csv", "a;b,c\n1;2,3\n", "{path} has no column 'qid', 'label': its columns are a;b, c."),
    ],
)  # fmt: skip
def test_a_sentence_about_a_file_is_whole(capsys, new, tmp_path, name, content, words):
    (tmp_path / name).write_text(content, encoding="latin-1")
    message = fail(capsys, "fit", str(tmp_path / name), "--model", new)
    assert f"error: {words.format(path=tmp_path / name)}" in message


def test_separators_and_encodings(capsys, frames, new, tmp_path):
    file, more = str(tmp_path / "train.csv"), [*COLUMNS, "--drop", "docid"]
    frame = frames["train"].assign(city="Köln")
    frame.to_csv(file, index=False, sep=";", encoding="cp1252")
    assert "--encoding" in fail(capsys, "fit", file, "--model", new, *more)
    for sep in ([], ["--sep", ";"]):
        run(capsys, "fit", file, "--model", new, *more, *sep, "--encoding", "cp1252")
    frame.to_csv(file, index=False, sep="\t", encoding="utf-16")
    run(capsys, "fit", file, "--model", new, *more, "--sep", r"\t")


def test_features_from_zero_on_the_command_line(capsys, new, tmp_path):
    rows = "".join(f"{q % 2} qid:{q // 4} 0:{q} 1:{q % 3 + 1} # d{q}\n" for q in range(40))
    (tmp_path / "train.txt").write_text(rows)
    (tmp_path / "test.txt").write_text("1 qid:1 1:5 # a\n0 qid:1 1:2 # b\n")
    run(capsys, "fit", str(tmp_path / "train.txt"), "--model", new)
    scores = [
        run(capsys, "predict", new, str(tmp_path / "test.txt"), *more)
        for more in ([], ["--zero-based"], ["--zero-based", "--format", "trec"])
    ]
    assert scores[0] == scores[1]
    (tmp_path / "train.txt").write_text("1 qid:1 0:1 1:2\n0 qid:1 0:nan 1:2\n")
    message = fail(capsys, "fit", str(tmp_path / "train.txt"), "--model", new)
    assert "line 2, feature 0 has no value" in message
    assert set(scores[2].split()) > {"a", "b"}  # documents of comments


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that takes no files")
def test_a_model_that_cannot_be_written_is_told_before_the_table_is_read(capsys, tmp_path):
    message = fail(capsys, "fit", str(tmp_path / "none.csv"), "--model", "/proc/x.skops")
    assert "cannot write /proc/x.skops" in message
