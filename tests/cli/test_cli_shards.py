"""Commands read a table in several files as they read it in one."""

import re
from functools import partial

import numpy as np
import pytest
from commands import COLUMNS, fail, run

from skcalrank import TabularRanker

pytest.importorskip("skops")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def tables(frames, tmp_path_factory):
    """The training and the test table, each as one file and as shards that cut queries."""
    folder, names = tmp_path_factory.mktemp("tables"), {}
    for name, frame in frames.items():
        (folder / name).mkdir()
        names[name] = str(folder / f"{name}.csv")
        frame.to_csv(names[name], index=False)
        for number, start in enumerate(range(0, len(frame), 17)):
            part = folder / name / f"part-{number}.csv"
            frame[start : start + 17].to_csv(part, index=False)
    return folder, names


def forms(folder, name):
    parts = [f"{folder}/{name}/part-{i}.csv" for i in range(len(list((folder / name).iterdir())))]
    return {"folder": [f"{folder}/{name}"], "pattern": [f"{folder}/{name}/*.csv"], "files": parts}


@pytest.mark.parametrize("form", ["folder", "pattern", "files"])
def test_fit_predict_and_evaluate(capsys, tables, tmp_path, form):
    folder, names = tables
    models = [str(tmp_path / "one.skops"), str(tmp_path / "several.skops")]
    train, test = (forms(folder, name)[form] for name in ("train", "test"))
    options = [*COLUMNS, "--drop", "docid", "--chunk-rows", "20"]
    run(capsys, "fit", names["train"], "--model", models[0], *options)
    run(capsys, "fit", *train, "--model", models[1], *options)
    scores = [
        run(capsys, "predict", model, *paths, *COLUMNS)
        for model in models
        for paths in ([names["test"]], test)
    ]
    assert scores[0].count("\n") > 100
    assert set(scores) == {scores[0]}
    (tmp_path / "scores.txt").write_text(scores[0])
    by_model, by_scores = (
        ["evaluate", models[1]],
        ["evaluate", "--scores", f"{tmp_path}/scores.txt"],
    )
    expected = run(capsys, *by_model, names["test"], *COLUMNS)
    assert run(capsys, *by_model, *test, *COLUMNS) == expected
    assert run(capsys, *by_scores[:1], *test, *by_scores[1:], *COLUMNS) == expected
    trained_on = {"folder": "train", "pattern": "*.csv", "files": "part-0.csv, part-1.csv"}
    assert trained_on[form] in run(capsys, "info", models[1])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "txt"])
def test_auto_in_chunks(capsys, path, frames, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("skcalrank._cli._rankers.TabularRanker", partial(TabularRanker, trees=None))
    options = [*COLUMNS, "--drop", "docid"] if suffix != "txt" else []
    train, models = str(tmp_path / f"train.{suffix}"), [str(tmp_path / f"{n}.skops") for n in "ab"]
    frame = frames["train"].assign(kind=frames["train"].docid.str[-1])
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(train)
    elif suffix == "csv":
        frame.drop(columns="kind").to_csv(train, index=False)  # in chunks, of numbers alone
    else:
        train = path("train.txt")
    told = [
        run(capsys, "fit", train, "--model", model, "--ranker", "auto", *options, *chunks)
        for model, chunks in zip(models, [[], ["--chunk-rows", "20"]])
    ]
    assert [text.split(", in ")[0] for text in told[1:]] == [told[0].split(", in ")[0]]
    scores = [run(capsys, "predict", model, train, *options[:4]) for model in models]
    np.testing.assert_allclose(*(np.array(s.split(), dtype=float) for s in scores), atol=1e-9)


def test_compare_and_convert(capsys, tables, tmp_path):
    folder, names = tables
    options = ["--rankers", "ndcg", *COLUMNS, "--drop", "docid"]
    sources = [(names["train"], names["test"]), (f"{folder}/train", f"{folder}/test/*.csv")]
    found = [run(capsys, "compare", *paths, *options).splitlines() for paths in sources]
    found = [[line for line in lines if re.search(r"\d±", line)] for lines in found]
    assert len(found[0]) > 4
    assert found[0] == found[1]
    pytest.importorskip("pyarrow")
    written = []
    for number, paths in enumerate([[names["test"]], forms(folder, "test")["files"]]):
        path = tmp_path / f"{number}.csv"
        run(capsys, "convert", *paths, str(path), *COLUMNS)
        written.append(path.read_text())
    assert written[0] == written[1]


def test_what_is_no_table(capsys, tables, tmp_path):
    folder, names = tables
    model, part = str(tmp_path / "m.skops"), f"{folder}/train/part-0.csv"
    lines = tmp_path / "a.txt"
    lines.write_text("1 qid:1 1:1\n")
    words = {
        (str(lines), names["train"]): "must be files of one format, .csv",
        (str(lines), str(lines)): "must have each file once",
        (str(tmp_path),): "must hold tables, got 1 files of other names",
        (f"{folder}/*.pq",): f"No file matches {folder}/*.pq",
        (part, f"{folder}/train"): "must have each file once, got",
    }
    for paths, reason in words.items():
        assert reason in fail(capsys, "fit", *paths, "--model", model)
    assert "one folder, or one pattern in quotes" in fail(capsys, "compare", part, part, part)
    pytest.importorskip("pyarrow")
    for command in (["convert", f"{folder}/train", part], ["convert", f"{folder}/train/*", part]):
        assert "is read and cannot be written" in fail(capsys, *command, *COLUMNS)
    shuffled = [part, f"{folder}/train/part-2.csv", f"{folder}/train/part-1.csv"]
    options = ["--model", model, "--chunk-rows", "5", *COLUMNS, "--drop", "docid"]
    assert "partition_by_query" in fail(capsys, "fit", *shuffled, *options)
