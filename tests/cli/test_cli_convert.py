"""Files are converted to other formats and back."""

import sys
from pathlib import Path

import numpy as np
import pytest
from commands import COLUMNS, fail, run

from skcalrank import load_letor
from skcalrank._cli import main
from skcalrank.datasets import load_table

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.mark.product
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".csv.gz", ".txt.xz", ".txt"])
@pytest.mark.parametrize("chunks", [[], ["--chunk-rows", "50"]])
def test_there_and_back(capsys, path, tmp_path, suffix, chunks):
    there, back = str(tmp_path / f"there{suffix}"), str(tmp_path / "back.txt.bz2")
    out = run(capsys, "convert", path("train.txt"), there, *chunks)
    assert "of 30 queries, 6 features, in" in out
    run(capsys, "convert", there, back, *chunks)
    for one, two in zip(load_letor(path("train.txt")), load_letor(back)):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv.xz"])
def test_every_bit_there_and_back(capsys, tmp_path, suffix):
    doubles = np.frombuffer(np.random.default_rng(0).bytes(8 * 6000), float)
    X = doubles[np.isfinite(doubles)][:5000].reshape(-1, 5)
    lines = [
        f"{i % 3} qid:{i // 9} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1))
        for i, row in enumerate(X.tolist())
    ]
    file, there, back = (str(tmp_path / f"a{end}") for end in (".txt", suffix, ".txt.gz"))
    Path(file).write_text("\n".join(lines))
    run(capsys, "convert", file, there)
    run(capsys, "convert", there, back)
    np.testing.assert_array_equal(load_letor(back).X, X)


def test_names_of_documents(capsys, tmp_path):
    lines = "2 qid:7 1:0.5 2:nan # docid = GX-1\n0 qid:7 1:1e-05 2:1e+22 # docid = GX-2\n"
    there, back = str(tmp_path / "there.parquet"), tmp_path / "back.txt"
    (tmp_path / "a.txt").write_text(lines)
    run(capsys, "convert", str(tmp_path / "a.txt"), there)
    X, _, _ = load_table(there)
    assert list(X.columns) == ["f1", "f2"]
    assert X["f2"].isna().tolist() == [True, False]
    run(capsys, "convert", there, str(back))
    assert back.read_text() == lines.replace("1e-05", "0.00001")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".txt"])
@pytest.mark.parametrize("begin", ["# docid = ", "# "], ids=["named", "nameless"])
def test_names_of_documents_do_not_depend_on_chunks(capsys, tmp_path, suffix, begin):
    source, there, back = (tmp_path / name for name in ("a.txt", f"there{suffix}", "back.txt"))
    lines = "".join(
        f"1 qid:{query} 1:0.5 {begin if query == 1 else '# docid = '}{name}\n"
        for query, name in ((1, "1"), (1, "2"), (2, "17"), (2, "11"))
    )
    source.write_text(lines)
    argv = ["convert", str(source), str(there), "--chunk-rows"]
    if begin == "# ":
        message = fail(capsys, *argv, "2")
        assert "documents have names behind row 2 alone: give --chunk-rows 4" in message
    run(capsys, *argv, "4" if begin == "# " else "2")
    run(capsys, "convert", str(there), str(back))
    assert back.read_text() == lines.replace(" # 1", " # docid = 1").replace(" # 2", " # docid = 2")


def test_columns_of_tables(capsys, frames, tmp_path):
    frame = frames["train"].assign(docid="a document")
    frame.to_parquet(tmp_path / "a.parquet")
    argv = ["convert", str(tmp_path / "a.parquet")]
    run(capsys, *argv, str(tmp_path / "b.csv"), *COLUMNS)
    X, _, _ = load_table(tmp_path / "b.csv", qid="query", label="grade")
    assert X.columns.tolist() == [f"f{i}" for i in range(6)]
    assert "must be one word" in fail(capsys, *argv, str(tmp_path / "b.txt"), *COLUMNS)
    frame.assign(query="q" + frame["query"].astype(str)).to_parquet(tmp_path / "a.parquet")
    assert "must be whole numbers, got 'q0'" in fail(
        capsys, *argv, str(tmp_path / "b.txt"), *COLUMNS
    )
    assert not (tmp_path / "b.txt").exists()


def test_what_cannot_be_written(capsys, path, tmp_path):
    file = path("train.txt")
    assert "give another file" in fail(capsys, "convert", file, file)
    assert "it is a folder" in fail(capsys, "convert", file, str(tmp_path))


def test_time_left_on_a_terminal(capsys, path, tmp_path, monkeypatch):
    there = str(tmp_path / "there.parquet")
    run(capsys, "convert", path("train.txt"), there)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["convert", there, str(tmp_path / "back.txt"), "--chunk-rows", "50"]) == 0
    seen = capsys.readouterr().err
    assert "% of the file, " in seen
    assert "100% of the file, 0 s left" in seen
