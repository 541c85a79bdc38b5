"""The command that ranks items by votes."""

import json

import pytest
from commands import fail

from skcalrank._cli import main

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def votes(tmp_path):
    games = [("Ann", "Bob", "w"), ("Ann", "Cid", "w"), ("Cid", "Bob", "d"), ("Cid", "Bob", "w")] * 9
    games += [("Bob", "Ann", "w"), ("Ann", "Cid", "l"), ("Bob", "Cid", "l"), ("Dee", "Ann", "w")]
    path = tmp_path / "games.csv"
    pd.DataFrame(games, columns=["white", "black", "result"]).to_csv(path, index=False)
    return str(path)


OPTIONS = ["--a", "white", "--b", "black", "--outcome", "result", "--outcomes"]
WORDS = ["w=a", "d=tie", "l=b"]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("suffix", ["csv", "json", "html"])
def test_the_table_is_printed_and_written(capsys, votes, tmp_path, suffix):
    out = tmp_path / f"board.{suffix}"
    more = ["--order-effect", "--output", str(out)]
    assert main(["leaderboard", votes, *OPTIONS, *WORDS, *more]) == 0
    text, errors = capsys.readouterr()
    assert errors.startswith("skcalrank: warning: 1 item without a finite score, such as 'Dee'")
    assert text.index("Ann") < text.index("Bob") < text.index("Dee")
    assert "won its vote against group 1" in text
    assert "order_effect:" in text
    assert f"Written:{out}" in "".join(text.split())
    written = out.read_text(encoding="utf-8")
    assert "won its vote against group 1" in written
    if suffix == "json":
        items = json.loads(written)["items"]
        assert [row["item"] for row in items][-1] == "Dee"
        assert "score" not in items[-1]
        assert items[0]["rank"] == 1
        assert json.loads(written)["coefficients"][0]["name"] == "order_effect"
    if suffix == "csv":
        assert written.splitlines()[1].startswith("Ann,1,1,")
        assert written.splitlines()[-1].startswith("Dee,,,,,,,,1,")


def test_names_in_files_are_text(tmp_path):
    names = ["日本", "=cmd()", "a,b"]
    games = [(a, b, word) for a in names for b in names if a != b for word in ("a", "b")]
    pd.DataFrame(games, columns=["model_a", "model_b", "winner"]).to_parquet(tmp_path / "v.parquet")
    out = tmp_path / "board.csv"
    assert main(["leaderboard", str(tmp_path / "v.parquet"), "--output", str(out)]) == 0
    assert sorted(pd.read_csv(out, encoding="utf-8")["item"]) == ["'=cmd()", "a,b", "日本"]
    assert b"\r" not in out.read_bytes()


@pytest.mark.filterwarnings("default")
def test_numbers_are_named_as_they_are_written(capsys, votes):
    games = pd.read_csv(votes)
    games["result"] = games["result"].map({"w": 1, "d": 3, "l": 2})
    games.to_csv(votes, index=False)
    assert "'2' (" in fail(capsys, "leaderboard", votes, *OPTIONS[:6])
    assert main(["leaderboard", votes, *OPTIONS, "1=a", "3=tie", "2=b"]) == 0


def test_what_is_wrong_is_told(capsys, votes, tmp_path):
    assert "'d' (9 rows)" in fail(capsys, "leaderboard", votes, *OPTIONS[:6])
    assert "as left=a" in fail(capsys, "leaderboard", votes, *OPTIONS, "x=c")
    assert "must end in .csv" in fail(capsys, "leaderboard", votes, "--output", "a.txt")
    assert "which is read" in fail(
        capsys, "leaderboard", votes, *OPTIONS, *WORDS, "--output", votes
    )
    assert "must be a table" in fail(capsys, "leaderboard", str(tmp_path / "none.txt"))


@pytest.mark.parametrize("option", ["a", "b", "outcome", "covariates", "cluster", "weight"])
def test_a_column_that_is_missing_is_told_with_its_option(capsys, votes, option):
    message = fail(capsys, "leaderboard", votes, *OPTIONS, *WORDS, f"--{option}", "nope")
    assert "games.csv has no column 'nope': its columns are white, black, result." in message
    assert message.rstrip().endswith(f"Choose among these by {option} (--{option}).")
