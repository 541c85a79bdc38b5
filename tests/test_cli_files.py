"""Commands that fit, apply and evaluate one ranker do what the library does, on every format."""

import csv
import gzip
import importlib.util
import io
import os
import subprocess
import sys
import warnings
from argparse import Namespace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import StandardScaler
from test_cli import fail, run, table, write_letor
from threadpoolctl import threadpool_limits

from skcalrank import (
    AveragePrecisionRanker,
    ERRRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    load_letor,
)
from skcalrank._cli import _models, _readers, main
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import evaluate
from skcalrank.persistence import load_model, read_header, save_model

pytest.importorskip("skops")


@pytest.fixture(autouse=True)
def one_thread():
    """Small data wait for threads, mostly."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_letor(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def frames(folder):
    """The same as tables, with a column of words, and documents that have names."""
    pandas = pytest.importorskip("pandas")
    frames = {}
    for name in ("train", "test"):
        X, y, qid = load_letor(folder / f"{name}.txt")
        frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(6)])
        frame["query"], frame["grade"] = qid, y.astype(int)
        frame["docid"] = [f"d{i}" for i in range(len(y))]
        frames[name] = frame
    return frames


COLUMNS = ["--qid-column", "query", "--label-column", "grade"]


@pytest.fixture
def path(folder):
    """Full names of files in the folder."""
    return lambda name: str(folder / name)


@pytest.fixture
def model(folder, tmp_path):
    """A model file, and its ranker."""
    ranker = NDCGRanker(GramRidge()).fit(*load_letor(folder / "train.txt"))
    save_model(ranker, tmp_path / "model.skops")
    return str(tmp_path / "model.skops"), ranker


@pytest.fixture
def new(tmp_path):
    return str(tmp_path / "new.skops")


# -- fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "ranker"),
    [
        ([], NDCGRanker(GramRidge())),
        (["--ranker", "ndcg@3", "--alpha", "100"], NDCGRanker(GramRidge(100.0), k=3)),
        (
            ["--ranker", "map", "--relevance-level", "2"],
            AveragePrecisionRanker(GramRidge(), relevance_level=2.0),
        ),
        (["--ranker", "err", "--max-grade", "4"], ERRRanker(GramRidge(), max_grade=4.0)),
        (["--ranker", "ndcg+trees"], NDCGRanker(HistGradientBoostingRegressor(random_state=0))),
    ],
)
@pytest.mark.parametrize("chunks", [[], ["--chunk-rows", "25"]])
def test_fit(capsys, path, new, argv, ranker, chunks):
    train, test = load_letor(path("train.txt")), load_letor(path("test.txt"))
    whole_only = "trees" in argv[-1] if argv else False
    command = ["fit", path("train.txt"), "--model", new, *argv, *chunks]
    if whole_only and chunks:
        assert "--chunk-rows: ndcg+trees needs all rows" in fail(capsys, *command)
        return
    out = run(capsys, *command)
    assert f"to {len(train.y)} rows of 30 queries, 6 features" in " ".join(out.split())
    ranker.fit(*train)
    np.testing.assert_allclose(load_model(new).predict(test.X), ranker.predict(test.X), rtol=1e-10)
    assert repr(load_model(new)) == repr(ranker)
    assert read_header(new)["notes"] == {
        "ranker": argv[1] if argv and argv[0] == "--ranker" else "ndcg@10",
        "trained_on": "train.txt",
        "n_rows": len(train.y),
        "n_queries": 30,
    }


def test_fit_chooses_a_penalty(capsys, path, new):
    argv = ["--ranker", "dcg", "--alphas", "0.1", "100", "1e6", "--folds", "3"]
    out = run(capsys, "fit", path("train.txt"), "--model", new, *argv)
    train = load_letor(path("train.txt"))
    ranker = LeastSquaresRankerCV("dcg", alphas=[0.1, 100, 1e6], cv=3).fit(*train)
    assert load_model(new).alpha_ == ranker.alpha_
    for alpha, score in zip((0.1, 100, 1e6), ranker.cv_results_["mean_test_score"]):
        mark = " *" if alpha == ranker.alpha_ else ""
        assert f"alpha {alpha:<5g} {score:.4f}{mark}" in out


@pytest.mark.parametrize(("limit", "n_parts"), [(1 << 28, 1), (100, 30)])
def test_large_files_are_read_in_chunks(path, monkeypatch, limit, n_parts):
    monkeypatch.setattr(_readers, "WHOLE_BYTES", limit)
    monkeypatch.setattr(_readers, "CHUNK_ROWS", 1)
    args = Namespace(
        chunk_rows=None, dtype="float64", qid_column="", label_column="", doc_column=""
    )
    assert len(list(_readers.Reader(path("train.txt"), args))) == n_parts
    assert len(list(_readers.Reader(path("train.txt"), args, whole=True))) == 1


def test_options_of_reading(capsys, path, new):
    run(capsys, "fit", path("train.txt"), "--model", new, "--n-features", "9", "--dtype", "float32")
    ranker = load_model(new)
    assert ranker.n_features_in_ == 9
    assert not ranker.coef_[6:].any()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("chunks", [[], ["--chunk-rows", "25"]])
def test_tables(capsys, path, frames, tmp_path, new, suffix, chunks):
    files = {}
    for name, frame in frames.items():
        files[name] = str(tmp_path / f"{name}{suffix}")
        # Features are known by name, wherever they stand.
        frame = frame if name == "train" else frame[frame.columns[::-1]]
        if suffix == ".parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(files[name])
        else:
            frame.to_csv(files[name], index=False)
    run(capsys, "fit", files["train"], "--model", new, *COLUMNS, *chunks)
    ranker = NDCGRanker(GramRidge()).fit(*load_letor(path("train.txt")))
    assert list(load_model(new).feature_names_in_) == [f"f{i}" for i in range(6)]
    np.testing.assert_allclose(load_model(new).coef_, ranker.coef_, rtol=1e-10)
    scores = ranker.predict(load_letor(path("test.txt")).X)
    out = run(capsys, "predict", new, files["test"], *COLUMNS, *chunks)
    np.testing.assert_allclose([float(line) for line in out.split()], scores, rtol=1e-9)
    argv = ["--format", "trec", "--top-k", "1"]
    first = run(capsys, "predict", new, files["test"], *COLUMNS, *argv).split("\n")[0]
    assert first.startswith(f"30 Q0 d{scores[load_letor(path('test.txt')).qid == 30].argmax()} 1 ")


@pytest.mark.filterwarnings("default")
def test_columns_left_out_are_said(capsys, frames, tmp_path, new):
    file = str(tmp_path / "train.csv")
    frames["train"].assign(title="words").to_csv(file, index=False)
    assert main(["fit", file, "--model", new, *COLUMNS]) == 0
    assert capsys.readouterr().err == (
        f"skcalrank: warning: Columns of {file} that do not hold numbers are left out: title.\n"
    )


def test_compare_reads_tables(capsys, path, frames, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    files = [str(tmp_path / f"{name}.csv") for name in frames]
    for file, frame in zip(files, frames.values()):
        frame.to_csv(file, index=False)
    argv = ["--rankers", "ndcg", "dcg", "--measures", "ndcg@10", "spearman"]
    of_tables = table(run(capsys, "compare", *files, *COLUMNS, *argv))[1]
    of_lines = table(run(capsys, "compare", path("train.txt"), path("test.txt"), *argv))[1]
    del of_tables["seconds"], of_lines["seconds"]
    assert of_tables == of_lines
    assert "give a table" in fail(capsys, "compare", files[0], path("test.txt"), *COLUMNS, *argv)


# -- predict -----------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [[], ["--chunk-rows", "1"]])
def test_predict(capsys, path, model, tmp_path, chunks):
    file, ranker = model
    scores = ranker.predict(load_letor(path("test.txt")).X)
    out = run(capsys, "predict", file, path("test.txt"), *chunks)
    np.testing.assert_allclose([float(line) for line in out.splitlines()], scores, rtol=1e-12)
    output = tmp_path / "scores.txt"
    assert run(capsys, "predict", file, path("test.txt"), "--output", str(output), *chunks) == ""
    assert output.read_text() == out


def test_predict_a_run(capsys, path, model):
    file, ranker = model
    X, _, qid = load_letor(path("test.txt"))
    argv = ["--format", "trec", "--top-k", "4", "--tag", "mine", "--chunk-rows", "20"]
    lines = run(capsys, "predict", file, path("test.txt"), *argv).splitlines()
    rows, place, scores = ranker.top_k(X, qid, k=4), ranker.rank(X, qid), ranker.predict(X)
    expected = [[str(qid[r]), "Q0", str(r + 1), str(place[r]), "mine"] for r in rows]
    words = [line.split() for line in lines]
    assert [[*w[:4], w[5]] for w in words] == expected
    np.testing.assert_allclose([float(w[4]) for w in words], scores[rows], rtol=1e-12)


def test_documents_of_letor_comments(capsys, model, tmp_path):
    file, _ = model
    other = tmp_path / "named.txt"
    other.write_text(
        "# head\n0 qid:5 1:1 #docid = GX-1 inc = 1 prob = 0.1\n1 qid:5 1:2\n# between\n"
        "1 qid:6 1:1 # docid=GX-2\n"
    )
    for chunk_rows in ("1", "100"):
        argv = ["--format", "trec", "--chunk-rows", chunk_rows]
        lines = run(capsys, "predict", file, str(other), *argv).splitlines()
        assert {line.split()[2] for line in lines} == {"GX-1", "2", "GX-2"}


def test_models_of_pairs_see_whole_queries(capsys, path, new):
    train, test = load_letor(path("train.txt")), load_letor(path("test.txt"))
    ranker = AveragePrecisionRanker(surrogate="pairwise", relevance_level=1).fit(*train)
    save_model(ranker, new)
    out = run(capsys, "predict", new, path("test.txt"), "--chunk-rows", "1")
    scores = ranker.predict(test.X, test.qid)
    np.testing.assert_allclose([float(line) for line in out.split()], scores, rtol=1e-9)


def test_what_fails_leaves_the_output_as_it_was(capsys, model, tmp_path):
    output, bad = tmp_path / "scores.txt", tmp_path / "bad.txt"
    output.write_text("before")
    bad.write_text("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:3 1:x\n")
    argv = ["predict", model[0], str(bad), "--chunk-rows", "1", "--output", str(output)]
    assert "line 3" in fail(capsys, *argv)
    assert output.read_text() == "before"
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        *("bad.txt", "model.skops", "scores.txt")
    ]


def test_the_input_may_be_the_output(capsys, path, model, tmp_path):
    file = tmp_path / "test.txt"
    file.write_bytes(Path(path("test.txt")).read_bytes())
    expected = run(capsys, "predict", model[0], str(file))
    run(capsys, "predict", model[0], str(file), "--output", str(file))
    assert file.read_text() == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_are_written_and_not_replaced(capsys, path, model, tmp_path):
    pipe, (file, _) = tmp_path / "pipe", model
    os.mkfifo(pipe)
    expected = run(capsys, "predict", file, path("test.txt"))
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        run(capsys, "predict", file, path("test.txt"), "--output", str(pipe))
        assert reader.stdout.read() == expected
    assert pipe.is_fifo()


def test_no_standard_output(capsys, path, model, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["predict", model[0], path("test.txt")]) == 2
    monkeypatch.undo()
    assert "give a file to --output" in capsys.readouterr().err


# -- evaluate ----------------------------------------------------------------------


NAMES = ["ndcg@10", "spearman", "err@5"]


@pytest.mark.parametrize("source", ["model", "scores"])
def test_evaluate(capsys, path, model, tmp_path, source):
    file, ranker = model
    X, y, qid = load_letor(path("test.txt"))
    argv = [file, path("test.txt")]
    if source == "scores":
        output = str(tmp_path / "scores.txt")
        run(capsys, "predict", *argv, "--output", output)
        argv = ["--scores", output, path("test.txt")]
    values = evaluate(y, ranker.predict(X), NAMES, qid=qid, average=False)
    # The highest grade of ERR is that of the file, not of a chunk.
    out = run(capsys, "evaluate", *argv, "--measures", *NAMES, "--chunk-rows", "1")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[2:5]}
    for name in NAMES:
        found = values[name][~np.isnan(values[name])]
        error = found.std(ddof=1) / np.sqrt(len(found))
        assert rows[name] == [f"{found.mean():.4f}", f"{error:.4f}", str(len(found))]
    assert rows["ndcg@10"][2] == "29"
    assert rows["spearman"][2] == "30"


def test_evaluate_per_query(capsys, path, model, tmp_path):
    file, ranker = model
    X, y, qid = load_letor(path("test.txt"))
    values = evaluate(y, ranker.predict(X), NAMES, qid=qid, average=False)
    argv = ["evaluate", file, path("test.txt"), "--measures", *NAMES, "--per-query"]
    text = run(capsys, *argv)
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["qid", *NAMES]
    assert [row[0] for row in rows] == list(map(str, range(30, 60)))
    found = np.array([[float(cell or "nan") for cell in row[1:]] for row in rows]).T
    np.testing.assert_allclose(found, [values[name] for name in NAMES], rtol=1e-9)
    assert rows[-1][1] == ""
    assert "std. error" in run(capsys, *argv, str(tmp_path / "values.csv"))
    assert (tmp_path / "values.csv").read_text() == text


def test_evaluate_leaves_binary_measures_out(capsys, path, model):
    argv = ["evaluate", model[0], path("test.txt")]
    out = run(capsys, *argv)
    assert "ndcg@10" in out
    assert "map" not in out
    assert "--relevance-level brings" in out
    assert "map" in run(capsys, *argv, "--relevance-level", "2")
    assert "--relevance-level L" in fail(capsys, *argv, "--measures", "map")


def test_gain(capsys, path, model):
    X, y, qid = load_letor(path("test.txt"))
    argv = ["evaluate", model[0], path("test.txt"), "--measures", "ndcg@5", "--empty", "zero"]
    measure = NDCGRanker(k=5, gain="linear")._measure()
    scores = model[1].predict(X)
    value = evaluate(y, scores, {"it": measure}, qid=qid, empty="zero")["it"]
    assert f" {value:.4f} " in run(capsys, *argv, "--gain", "linear")
    assert f" {value:.4f} " not in run(capsys, *argv)


# -- info --------------------------------------------------------------------------


def test_info(capsys, path, new):
    run(capsys, "fit", path("train.txt"), "--model", new, "--alpha", "7")
    out = run(capsys, "info", new, "--coefficients", "3")
    coef = load_model(new).coef_
    for words in (
        "NDCGRanker",
        "GramRidge(alpha=7.0)",
        "ndcg@10",
        "Fisher-consistent",
        "train.txt",
    ):
        assert words in out
    rows = [line.split() for line in out.splitlines()[-3:]]
    largest = np.argsort(-np.abs(coef))[:3]
    assert rows == [[str(i + 1), f"{coef[i]:+.4g}"] for i in largest]
    assert "coefficient\n" not in run(capsys, "info", new, "--coefficients", "0")


def test_info_of_other_models(capsys, path, new, frames):
    train = load_letor(path("train.txt"))
    frame = frames["train"]
    X = frame[[f"f{i}" for i in range(6)]]
    for ranker, words in (
        (NDCGRanker(HistGradientBoostingRegressor(max_iter=3)).fit(*train), "6, by number"),
        (LeastSquaresRankerCV("auc", alphas=[2.0]).fit(X, train.y > 1, train.qid), "2, chosen"),
        (ERRRanker().fit(X, train.y, train.qid), "6, by name: f0, f1, f2, f3, f4, f5"),
    ):
        save_model(ranker, new)
        assert words in run(capsys, "info", new)


# -- what is wrong -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["fit", "TRAIN"], "--model"),
        (["fit", "TRAIN", "--model", "NOWHERE/m"], "there is no folder"),
        (["fit", "TRAIN", "--model", "FOLDER"], "it is a folder"),
        (["predict", "MODEL", "TEST", "--output", "FOLDER"], "Is a directory"),
        (["fit", "MISSING", "--model", "NEW"], "No such file"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "nope"], "Unknown ranker"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "lightgbm"], "model files of its own"),
        (
            ["fit", "TRAIN", "--model", "NEW", "--ranker", "map"],
            "map is binary, and the labels hold 2: give --relevance-level L",
        ),
        (
            ["fit", "TRAIN", "--model", "NEW", "--ranker", "recall", "--alphas", "1", "2"],
            "recall is binary, and the labels hold 2: give --relevance-level L",
        ),
        (["predict", "MODEL", "TEST", "--format", "trec", "--tag", "a b"], "not one word"),
        (["predict", "MODEL", "TEST", "--format", "trec", "--tag", ""], "not one word"),
        (["fit", "TRAIN", "--model", "NEW", "--chunk-rows", "²"], "integer from 1"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "ndcg+trees", "--alpha", "1"], "Ridge"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "map", "--alphas", "1"], "give --alpha"),
        (["fit", "TRAIN", "--model", "NEW", "--alpha", "1", "--alphas", "1"], "one of the two"),
        (["fit", "TRAIN", "--model", "NEW", "--alpha", "-1"], "'alpha' parameter of GramRidge"),
        (["fit", "TRAIN", "--model", "NEW", "--max-grade", "4"], "for the ranker err"),
        (["fit", "TRAIN", "--model", "NEW", "--ranker", "err", "--chunk-rows", "9"], "--max-grade"),
        (["fit", "TRAIN", "--model", "NEW", "--chunk-rows", "0"], "integer from 1"),
        (["fit", "TRAIN", "--model", "NEW", "--alphas", "1", "--chunk-rows", "9"], "all rows"),
        (["fit", "TRAIN", "--model", "NEW", "--n-features", "2"], "cannot read"),
        (["predict", "TRAIN", "TEST"], "no model file"),
        (["predict", "MISSING", "TEST"], "No such file"),
        (["predict", "MODEL", "MISSING"], "No such file"),
        (["predict", "MODEL", "TEST", "--top-k", "3"], "--format trec"),
        (["predict", "MODEL", "TEST", "--output", "NOWHERE/x"], "No such file"),
        (["evaluate"], "give MODEL and FILE"),
        (["evaluate", "MODEL"], "give MODEL and FILE"),
        (["evaluate", "MODEL", "TEST", "--scores", "TEST"], "give MODEL and FILE"),
        (["evaluate", "--run", "TEST"], "--qrels go together"),
        (["evaluate", "--run", "TEST", "--qrels", "TEST", "--measures", "auc"], "every document"),
        (["evaluate", "--scores", "TRAIN", "TEST"], "one score per line"),
        (["evaluate", "MODEL", "TEST", "--measures", "ndgc"], "Unknown measure"),
        (["info", "TEST"], "no model file"),
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


def test_features_must_be_those_of_the_model(capsys, path, model, frames, new, tmp_path):
    other = tmp_path / "wide.txt"
    other.write_text("1 qid:1 9:1\n")
    assert "n_features" in fail(capsys, "predict", model[0], str(other))
    file = str(tmp_path / "train.csv")
    frames["train"].to_csv(file, index=False)
    run(capsys, "fit", file, "--model", new, *COLUMNS)
    message = fail(capsys, "predict", new, path("test.txt"))
    assert "numbered features" in message
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
    assert "holds 2 scores" in fail(capsys, "evaluate", *argv)


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
    assert "more memory than there is: Unable to allocate" in fail(capsys, *argv)


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
    assert r"'\xe9', which its encoding ascii has not: set PYTHONIO" in capsys.readouterr().err


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
    assert "'two words': it has spaces" in capsys.readouterr().err


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
        out = run(capsys, "predict", new, table_file, *COLUMNS, "--format", "trec")
        assert {line.split()[2] for line in out.splitlines()} == {"a", "2", "b", "7"}


def test_rows_without_a_query_in_a_table(capsys, frames, new, tmp_path):
    file, frame = str(tmp_path / "train.csv"), frames["train"]
    frame.assign(query=frame["query"].map({0: "NA", 1: "007"})).to_csv(file, index=False)
    message = fail(capsys, "fit", file, "--model", new, *COLUMNS)
    assert "no value in column 'query'" in message
    assert "NA" in message


def test_words_among_numbers_are_named(capsys, frames, new, tmp_path):
    file, frame = str(tmp_path / "train.csv"), frames["train"].astype({"f3": object})
    frame.loc[frame.index[-1], "f3"] = "oops"
    frame.to_csv(file, index=False)
    argv = [file, "--model", new, *COLUMNS, "--chunk-rows", "5"]
    assert "column 'f3': could not convert string to float: 'oops'" in fail(capsys, "fit", *argv)
    frames["train"].assign(grade="bad").to_csv(file, index=False)
    assert "column 'grade': could not convert" in fail(capsys, "fit", *argv)


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
    assert "holds StandardScaler, which scores nothing" in fail(
        capsys, "predict", new, path("test.txt")
    )
    assert "class" in run(capsys, "info", new)


def test_models_of_fixed_items(capsys, path, new):
    save_model(NDCGRanker().fit(np.eye(3), np.eye(3)), new)
    assert "ranks 3 fixed items" in fail(capsys, "predict", new, path("test.txt"))


def test_extras_that_are_missing(capsys, path, new, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setattr(_models, "Reader", None)  # nothing is read before
    message = fail(capsys, "fit", path("train.txt"), "--model", new)
    assert "pip install 'skcalrank[files]'" in message


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

    monkeypatch.setattr(_models, "save_model", stop)
    assert main(["fit", path("train.txt"), "--model", new]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
def test_nobody_reads(path, model):
    command = [sys.executable, "-m", "skcalrank", "predict", model[0], path("test.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "info"])
def test_help(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    out = run(capsys, command, "--help")
    assert "example" in out
    assert max(map(len, out.split("\n"))) <= 100
