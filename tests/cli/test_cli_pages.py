"""Commands of the page on the user's own data do what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from commands import run

from skcalrank.datasets import make_offers

pytest.importorskip("skops")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

PAGE = Path(__file__).parents[2] / "doc" / "your_data.rst"


def commands():
    """Arguments of the commands, and what the page shows of their output."""
    for block in re.findall(r"code-block:: console\n((?:\n| .*\n)*)", PAGE.read_text()):
        lines = block.replace("\\\n", "").split("$ skcalrank ")[1:]
        yield from (line.partition("\n")[::2] for line in lines)


@pytest.mark.long
def test_commands_of_the_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, qid = make_offers(n_queries=150, random_state=0)
    X.assign(search=[f"search-{i}" for i in qid], grade=y).to_parquet("offers.parquet")
    shown = 0
    for command, output in commands():
        printed = run(capsys, *shlex.split(command))
        assert " ".join(output.split()) in " ".join(printed.split())
        shown += bool(output.strip())
    assert shown
    assert len(Path("offers.run").read_text().splitlines()) == len(X)
