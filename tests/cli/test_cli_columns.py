"""The columns of a table that are features are those that the options choose."""

import pytest
from commands import fail, run

from skcalrank.persistence import load_model

pytest.importorskip("skops")
pytest.importorskip("pandas")


@pytest.fixture(params=["csv", "parquet"])
def offers(request, frames, tmp_path):
    """A table with an identifier and with two columns of text."""
    frame = frames["train"].assign(sku=[f"id{i}" for i in range(len(frames["train"]))], shop="a")
    frame["search_id"] = "q" + frame.pop("query").astype(str)
    file = tmp_path / f"offers.{request.param}"
    if request.param == "csv":
        frame.to_csv(file, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(file)
    return str(file)


QUERIES = ["--qid-column", "search_id", "--label-column", "grade"]


@pytest.mark.parametrize("command", ["fit", "compare", "evaluate", "predict", "convert"])
def test_a_wrong_name_is_told_with_all_columns(capsys, offers, new, command):
    argv = {
        "fit": [offers, "--model", new],
        "evaluate": ["--scores", offers, offers],
        "predict": [new, offers],
        "convert": [offers, f"{new}.csv"],
    }
    if command == "convert":
        pytest.importorskip("pyarrow")
    if command == "predict":
        run(capsys, "fit", offers, "--model", new, *QUERIES, "--features", "f0")
    argv = argv.get(command, [offers])
    message = fail(capsys, command, *argv, "--label-column", "grade")
    assert "cannot read" not in message
    assert "has no column 'qid': its columns are f0, f1, f2, f3, f4, f5, grade, docid" in message
    assert "sku, shop, search_id" in message
    assert "Choose among these by qid (--qid-column)." in message
    message = fail(capsys, command, *argv, "--qid-column", "serach_id", "--label-column", "grade")
    assert "has no column 'serach_id' (did you mean 'search_id'?)" in message


def test_features_and_columns_to_drop(capsys, offers, new):
    argv = ["fit", offers, "--model", new, *QUERIES]
    run(capsys, *argv, "--features", "f3", "f1")
    assert load_model(new).feature_names_in_.tolist() == ["f3", "f1"]
    run(capsys, *argv, "--drop", "sku", "shop", "f0")
    assert load_model(new).feature_names_in_.tolist() == ["f1", "f2", "f3", "f4", "f5"]
    scores = run(capsys, "predict", new, offers, *QUERIES)
    assert len(scores.split()) > 100
    out = run(capsys, "compare", offers, *QUERIES, "--rankers", "ndcg", "--features", "f3", "f1")
    assert "2 features" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--drop", "skv"], "has no column 'skv' (did you mean 'sku'?): its columns are f0,"),
        (["--features", "f1", "f9"], "has no column 'f9': its columns are f0,"),
        (["--features", "f1", "grade"], "'grade' cannot be a feature: it holds the labels"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_columns_that_cannot_be_chosen(capsys, offers, new, options, words, command):
    argv = [offers, "--model", new] if command == "fit" else [offers]
    message = fail(capsys, command, *argv, *QUERIES, *options)
    assert words in message
    assert "--qid-column" not in message
    if "has no column" in words:
        assert f"Choose among these by {options[0][2:]} ({options[0]})." in message


@pytest.mark.parametrize("option", ["--drop", "--features"])
def test_numbered_features_are_not_chosen_by_name(capsys, path, new, option):
    for argv in (["fit", path("train.txt"), "--model", new], ["compare", path("train.txt")]):
        assert "numbered features, and not named ones (x)" in fail(capsys, *argv, option, "x")


def test_the_test_file_needs_the_chosen_columns_alone(capsys, offers, frames, tmp_path):
    file = tmp_path / "test.csv"
    frame = frames["test"].rename(columns={"query": "search_id"})
    frame[["search_id", "grade", "f1"]].to_csv(file, index=False)
    argv = [offers, str(file), *QUERIES, "--rankers", "ndcg", "--measures", "ndcg@10"]
    out = run(capsys, "compare", *argv, "--features", "f1")
    assert "1 features" in " ".join(out.split())
    message = fail(capsys, "compare", *argv, "--drop", "sku", "shop")
    assert "no column 'f0'" in message
    assert "Choose among these" not in message
