"""Commands that fit, apply and evaluate one ranker do what the library does, on every format."""

import csv
import gzip
import io
import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from cases import holds_generator
from commands import COLUMNS, fail, run, table
from sklearn.datasets import dump_svmlight_file
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    ERRRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    TabularRanker,
    load_letor,
)
from skcalrank._cli import main
from skcalrank._cli._files import Reader
from skcalrank._cli._rankers import REGRESSORS, ranker_in
from skcalrank.measures import NDCG
from skcalrank.metrics import evaluate, predict_with_queries
from skcalrank.persistence import load_model, read_header, save_model

pytest.importorskip("skops")

READING = {"zero_based": False, "chunk_rows": None, "dtype": "float64", "doc_column": ""}
READING.update(features=None, drop=[], columns={}, sep=None, encoding=None)


@pytest.mark.parametrize("chunks", [[], ["--chunk-rows", "40"]])
def test_rows_without_feature_zero_are_numbered_as_those_of_fit(capsys, tmp_path, new, rng, chunks):
    X, qid = rng.normal(size=(240, 4)), np.repeat(np.arange(30), 8)
    y = (X[:, 2] > 0) + (X[:, 2] > 1)
    X[qid >= 20, 0] = 0
    train, test = (str(tmp_path / name) for name in ("train.txt", "test.txt"))
    for file, rows in ((train, qid < 20), (test, qid >= 20)):
        dump_svmlight_file(X[rows], y[rows], file, query_id=qid[rows])
    best = r"ndcg@5 +1\.0000? "
    for files in ((train, test), (test, train)):
        out = run(capsys, "compare", *files, "--rankers", "ndcg", "--measures", "ndcg@5")
        assert re.search(best, out)
    run(capsys, "fit", train, "--model", new, *chunks)
    out = run(capsys, "evaluate", new, test, "--measures", "ndcg@5", *chunks)
    assert re.search(best, out)
    run(capsys, "fit", test, "--model", new)
    assert "line 1: it has feature 0" in fail(capsys, "evaluate", new, train)


# -- fit ---------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize(
    ("argv", "ranker"),
    [
        ([], NDCGRanker()),
        (["--ranker", "ndcg@3", "--alpha", "100"], NDCGRanker(k=3, alpha=100.0)),
        (
            ["--ranker", "map", "--relevance-level", "2"],
            AveragePrecisionRanker(relevance_level=2.0),
        ),
        (["--ranker", "err", "--max-grade", "4"], ERRRanker(max_grade=4.0)),
        pytest.param(
            ["--ranker", "ndcg+trees"],
            NDCGRanker(REGRESSORS["trees"]()),
            marks=holds_generator,
        ),
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
        "first_feature": 1,
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
    monkeypatch.setattr("skcalrank._cli._files.WHOLE_BYTES", limit)
    monkeypatch.setattr("skcalrank._cli._files.CHUNK_ROWS", 1)
    args = Namespace(**READING, qid_column="", label_column="")
    assert len(list(Reader(path("train.txt"), args))) == n_parts
    assert len(list(Reader(path("train.txt"), args, whole=True))) == 1


@pytest.mark.parametrize("suffix", [".txt.gz", ".csv.gz"])
def test_compressed_files_are_larger_than_they_look(path, frames, tmp_path, monkeypatch, suffix):
    lines = Path(path("train.txt")).read_bytes()
    if suffix == ".csv.gz":
        lines = frames["train"].drop(columns="docid").to_csv(index=False).encode()
    packed = tmp_path / f"train{suffix}"
    packed.write_bytes(gzip.compress(lines))
    monkeypatch.setattr("skcalrank._cli._files.CHUNK_ROWS", 1)
    args = Namespace(**READING, qid_column="query", label_column="grade")
    for limit, n_parts in ((len(lines) - 1, 30), (len(lines), 1)):
        monkeypatch.setattr("skcalrank._cli._files.WHOLE_BYTES", limit)
        assert len(list(Reader(packed, args))) == n_parts


def test_options_of_reading(capsys, path, new):
    run(capsys, "fit", path("train.txt"), "--model", new, "--n-features", "9", "--dtype", "float32")
    ranker = load_model(new)
    assert ranker.n_features_in_ == 9
    assert not ranker.coef_[6:].any()


@pytest.mark.product
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
    ranker = NDCGRanker().fit(*load_letor(path("train.txt")))
    model = load_model(new)
    assert list(model.feature_names_in_) == [f"f{i}" for i in range(6)]
    np.testing.assert_allclose(ranker_in(model).coef_, ranker.coef_, rtol=1e-9)
    scores = ranker.predict(load_letor(path("test.txt")).X)
    out = run(capsys, "predict", new, files["test"], *COLUMNS, *chunks)
    np.testing.assert_allclose([float(line) for line in out.split()], scores, rtol=1e-9)
    argv = ["--format", "trec", "--top-k", "1"]
    first = run(capsys, "predict", new, files["test"], *COLUMNS, *argv).split("\n")[0]
    assert first.startswith(f"30 Q0 d{scores[load_letor(path('test.txt')).qid == 30].argmax()} 1 ")


@pytest.mark.filterwarnings("default")
def test_columns_left_out_are_said(capsys, frames, tmp_path, new):
    file = str(tmp_path / "train.csv")
    frame = frames["train"]
    titles, sold = [f"words {i}" for i in range(len(frame))], [True, None] * (len(frame) // 2)
    more = {"title": titles, "sold": [*sold, *[None] * (len(frame) % 2)], "brand": "x"}
    frame.assign(**more).to_csv(file, index=False)
    assert main(["fit", file, "--model", new, *COLUMNS, "--chunk-rows", "50"]) == 0
    assert capsys.readouterr().err == (
        f"skcalrank: warning: Columns of {file} that do not hold numbers are left out: "
        "title, sold, brand. To keep them, fit with --ranker auto, or without --chunk-rows.\n"
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
        "# head\n0 qid:5 1:1 #docid = GX-1 inc = 1 prob = 0.1\n1 qid:5 1:2 # docid = 2\n"
        "# between\n1 qid:6 1:1 # docid=GX-2\n"
    )
    for chunk_rows in ("1", "100"):
        argv = ["--format", "trec", "--chunk-rows", chunk_rows]
        lines = run(capsys, "predict", file, str(other), *argv).splitlines()
        assert {line.split()[2] for line in lines} == {"GX-1", "2", "GX-2"}


@pytest.mark.every_case
@pytest.mark.parametrize("form", ["trec", "csv"])
@pytest.mark.parametrize("nameless", [1, 2, 3])
def test_documents_have_names_in_all_rows_or_in_none(capsys, model, tmp_path, nameless, form):
    file, _ = model
    other, order = tmp_path / "named.txt", tmp_path / "order"
    rows = [f"1 qid:{row} 1:1" + f" # docid = D{row}" * (row != nameless) for row in (1, 2, 3)]
    other.write_text("\n".join(rows))
    for chunk_rows in ("1", "100"):
        argv = ["predict", file, str(other), "--chunk-rows", chunk_rows, "--output", str(order)]
        message = fail(capsys, *argv, "--format", form)
        assert f"row {nameless} must name its document, as other rows do" in message
        assert not order.exists()


def test_predict_an_order_as_csv(capsys, frames, new, tmp_path):
    argv = [*COLUMNS, "--drop", "docid"]
    frame = frames["test"].drop(columns="grade")
    frame["docid"] = ["=a, " + name for name in frame["docid"]]  # written as they are
    for name, data in {"train": frames["train"], "test": frame}.items():
        data.to_csv(tmp_path / f"{name}.csv", index=False)
    run(capsys, "fit", str(tmp_path / "train.csv"), "--model", new, *argv)
    told = ["predict", new, str(tmp_path / "test.csv"), *COLUMNS[:2], "--format", "csv"]
    text = run(capsys, *told, "--top-k", "3", "--chunk-rows", "20")
    assert text.startswith("query,docid,score,rank\n")
    assert text.count("query") == 1
    rows = list(csv.DictReader(io.StringIO(text)))
    ranker, qid = load_model(new), frame["query"].to_numpy()
    best = ranker.top_k(frame, qid, k=3)
    assert [row["query"] for row in rows] == [str(name) for name in qid[best]]
    assert [row["docid"] for row in rows] == frame["docid"].iloc[best].tolist()
    assert [int(row["rank"]) for row in rows] == ranker.rank(frame, qid)[best].tolist()
    scores = predict_with_queries(ranker, frame, qid)[best]
    np.testing.assert_allclose([float(row["score"]) for row in rows], scores, rtol=1e-12)
    # Without a column of documents they are the numbers of the rows.
    text = run(capsys, *told, "--doc-column", "none").splitlines()
    assert text[0] == "query,none,score,rank"
    assert {line.split(",")[1] for line in text[1:]} == {str(n + 1) for n in range(len(frame))}


@pytest.mark.filterwarnings("always:.*repeat a document")
@pytest.mark.parametrize("form", ["trec", "csv"])
def test_a_document_that_comes_again_is_told(capsys, model, tmp_path, form):
    file, _ = model
    other = tmp_path / "named.txt"
    names = "AA AB", "CC CC", "DD DE", "FG FG", "AA DD"
    lines = [
        f"1 qid:{qid} 1:{at} # docid = {name}\n"
        for qid, pair in enumerate(names)
        for at, name in enumerate(pair.split())
    ]
    other.write_text("".join(lines))
    argv = ["predict", file, str(other), "--chunk-rows", "2"]
    assert main([*argv, "--format", form]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 10 + (form == "csv")
    assert err.count("warning") == 1
    assert "2 rows of 2 queries repeat a document of their query, such as CC in query 1." in err
    assert "--doc-column" in err
    assert run(capsys, *argv)  # scores alone name no documents
    assert run(capsys, *argv, "--format", form, "--top-k", "1")


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_are_written_and_not_replaced(capsys, path, model, tmp_path):
    pipe, (file, _) = tmp_path / "pipe", model
    os.mkfifo(pipe)
    expected = run(capsys, "predict", file, path("test.txt"))
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        run(capsys, "predict", file, path("test.txt"), "--output", str(pipe))
        assert reader.stdout.read() == expected
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no descriptors by name")
@pytest.mark.parametrize(
    "argv",
    [
        ["fit", "FILE", "--model", "NEW"],
        ["predict", "MODEL", "FILE", "--format", "trec"],
        ["evaluate", "MODEL", "FILE"],
        ["compare", "FILE", "--rankers", "ndcg"],
        ["convert", "FILE", "OUT"],
    ],
    ids=lambda argv: argv[0],
)
def test_letor_lines_are_read_from_a_pipe(path, model, new, tmp_path, argv):
    content = b"".join(Path(path("train.txt")).read_bytes().splitlines(True)[:40])
    read, into = os.pipe()
    assert os.write(into, content) == len(content)
    os.close(into)
    names = {"FILE": f"/dev/fd/{read}", "MODEL": model[0], "NEW": new}
    try:
        assert main([names.get(a, a).replace("OUT", str(tmp_path / "out.txt")) for a in argv]) == 0
    finally:
        os.close(read)


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


def test_evaluate_takes_grades_from_1_for_relevant(capsys, path, model):
    argv = ["evaluate", model[0], path("test.txt")]
    out = run(capsys, *argv)
    assert "ndcg@10" in out
    assert "map" in out
    assert run(capsys, *argv, "--relevance-level", "1") == out
    assert run(capsys, *argv, "--relevance-level", "2") != out


def test_gain(capsys, path, model):
    X, y, qid = load_letor(path("test.txt"))
    argv = ["evaluate", model[0], path("test.txt"), "--measures", "ndcg@5", "--empty", "zero"]
    measure = NDCGRanker(k=5, gain="linear")._measure()
    scores = model[1].predict(X)
    value = evaluate(y, scores, {"it": measure}, qid=qid, empty="zero")["it"]
    assert f" {value:.4f} " in run(capsys, *argv, "--gain", "linear")
    assert f" {value:.4f} " not in run(capsys, *argv)


def test_rankers_are_trained_for_the_gain(capsys, path, new):
    X, y, qid = load_letor(path("train.txt"))
    for name, ranker in (
        ("ndcg@5", NDCGRanker(k=5, gain="linear")),
        ("dcg", DCGRanker(gain="linear")),
        ("auto@5", TabularRanker(NDCG(5, gain="linear"), random_state=0)),
    ):
        run(capsys, "fit", path("train.txt"), "--model", new, "--ranker", name, "--gain", "linear")
        np.testing.assert_allclose(
            predict_with_queries(load_model(new), X, qid),
            predict_with_queries(ranker.fit(X, y, qid), X, qid),
        )
    argv = ["compare", path("train.txt"), path("test.txt"), "--rankers", "ndcg@5"]
    argv += ["--measures", "ndcg@5", "--gain", "linear"]
    test = load_letor(path("test.txt"))
    value = NDCGRanker(k=5, gain="linear").fit(X, y, qid).score(*test)
    assert f" {value:.3f}"[2:] in run(capsys, *argv)


@pytest.mark.filterwarnings("default")
def test_amounts_are_told_the_option(capsys, tmp_path, rng):
    file = tmp_path / "sales.txt"
    file.write_text("".join(f"{9 * i}.5 qid:{i // 9} 1:{rng.normal()}\n" for i in range(90)))
    assert main(["compare", str(file), "--rankers", "ndcg", "--measures", "ndcg@5"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Give --gain linear, or labels on a scale of grades." in said


# -- info --------------------------------------------------------------------------


def test_info(capsys, path, new):
    run(capsys, "fit", path("train.txt"), "--model", new, "--alpha", "7")
    out = run(capsys, "info", new, "--coefficients", "3")
    coef = load_model(new).coef_
    for words in (
        "NDCGRanker",
        "alpha         7.0",
        "penalty         7\n",
        "loss used       'pairwise_squared'\n",
        "ndcg@10",
        "Fisher-consistent",
        "\ntrained on ",
    ):
        assert words in out
    rows = [line.split() for line in out.splitlines()[-3:]]
    largest = np.argsort(-np.abs(coef))[:3]
    assert rows == [[str(i + 1), f"{coef[i]:+.4g}"] for i in largest]
    assert "coefficient\n" not in run(capsys, "info", new, "--coefficients", "0")


@holds_generator
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
