"""Results of the benchmarks: every script has a file, which the pages and README agree with."""

import ast
import datetime
import inspect
import json
import re
import runpy
import subprocess
import sys
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path.stem for path in (ROOT / "benchmarks").glob("*.py") if not path.stem.startswith("_")
)
RESULTS = {path.stem: path for path in (ROOT / "doc" / "benchmark_results").glob("*.json")}
# Options of the smallest run of scripts that need no data and no other package.
SMALLEST = {
    "consistency": "--repetitions 2 --largest 100",
    "error_rates": "--families 20 --queries 5",
    "map_pairwise": "--repetitions 2",
    "speed_cv": "--rows 3000 --rounds 1",
    "speed_fit": "--rows 3000 --rounds 1",
    "speed_losses": "--rows 2000 --features 5 --repeats 1",
    "streaming": "--rows 20000 --chunk-rows 5000 --in-memory 10000",
    "the_way": "",
}
NUMBER = r"(?<![\w.])\d*\.?\d+"


def read(name):
    return json.loads(RESULTS[name].read_text(encoding="utf-8"))


def tables(name):
    return [item for item in read(name)["shown"] if isinstance(item, dict)]


def numbers(text):
    return {float(number) for number in re.findall(NUMBER, text.replace(",", ""))}


def marked_tables(text):
    """Names of files of results, and the rows of the table below the comment that names them."""
    for found in re.finditer(r"<!-- figures: ([\w ]+) -->\n+", text):
        lines = takewhile(lambda line: line.startswith("|"), text[found.end() :].splitlines())
        yield found[1].split(), list(lines)[2:]


def test_every_script_has_results():
    commands = {read(name)["command"].split()[1] for name in RESULTS}
    assert commands == {f"benchmarks/{script}.py" for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_call_what_the_package_has(script):
    nodes = [*ast.walk(ast.parse((ROOT / "benchmarks" / f"{script}.py").read_text("utf-8")))]
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module)
    ours = [node for node in imports if node.module.startswith("skcalrank")]
    names = {
        alias.asname or alias.name: getattr(import_module(node.module), alias.name)
        for node in ours
        for alias in node.names
    }
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            # A list or a dict that is unpacked may hold whatever is missing.
            options = {option.arg: None for option in node.keywords if option.arg}
            is_open = len(options) < len(node.keywords) or any(
                isinstance(argument, ast.Starred) for argument in node.args
            )
            signature = inspect.signature(names[node.func.id])
            bind = signature.bind_partial if is_open else signature.bind
            bind(*node.args, **options)


@pytest.mark.slow
@pytest.mark.parametrize("script", SMALLEST)
def test_scripts_run(script, tmp_path):
    command = [sys.executable, ROOT / "benchmarks" / f"{script}.py", *SMALLEST[script].split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert "---" in done.stdout, "a table must be printed"


MINE = """
from sklearn.dummy import DummyRegressor
from skcalrank.datasets import make_offers

class Constant(DummyRegressor):
    def fit(self, X, y, group):
        assert sum(group) == len(X) == len(y)
        return super().fit(X, y)

def offers():
    X, y, qid = make_offers(60, 6, random_state=0)
    return X[["price", "category"]], y, qid
"""


@pytest.mark.slow
def test_a_ranker_and_a_table_of_a_user_go_through_the_protocol(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    script = ROOT / "benchmarks" / "quality_tables.py"
    command = [sys.executable, script, "--cells", "cells", "--draws", "1", "--table", "mine:offers"]
    for ranker, said in (("mine:Constant", "mine:Constant "), ("mine:No", "has no attribute 'No'")):
        asked = [*command, "--ranker", ranker]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert said in done.stdout + done.stderr, done.stderr
        assert bool(done.returncode) == (ranker == "mine:No"), done.stderr


def test_the_pages_show_all_results():
    pages = sorted((ROOT / "doc").glob("benchmarks*.rst"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert set(re.findall(r"^ *\.\. benchmark:: (\w+)$", text, flags=re.M)) == set(RESULTS)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_say_how_they_were_measured(name):
    found = read(name)
    assert re.fullmatch(r"python benchmarks/\w+\.py( [\w.-]+| '[^/]+')*", found["command"])
    datetime.date.fromisoformat(found["date"])
    assert re.match(r"Python 3\.\d+\.\d+, skcalrank ", found["environment"])
    assert tables(name)
    for table in tables(name):
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_figures_of_the_readme_are_in_the_results():
    for names, rows in marked_tables((ROOT / "README.md").read_text(encoding="utf-8")):
        assert rows, f"a table must follow the comment about {names}"
        shown = numbers("\n".join("|".join(row.split("|")[2:]) for row in rows))
        measured = numbers(json.dumps([table for name in names for table in tables(name)]))
        assert shown, f"the table about {names} has no figures"
        assert shown <= measured, f"{sorted(shown - measured)} are not in {names}"


def test_marked_tables_are_found():
    text = "<!-- figures: a_b c -->\n| x | y |\n|---|---|\n| m@10 | .71 (−.02) |\n\n| z |\n"
    assert list(marked_tables(text)) == [(["a_b", "c"], ["| m@10 | .71 (−.02) |"])]
    assert numbers(".71 (−.02), 1,200") == {0.71, 0.02, 1200.0}


def test_one_command_writes_all_results():
    source = (ROOT / "benchmarks" / "__main__.py").read_text(encoding="utf-8")
    assert set(re.findall(r'^    "(\w+)": \[', source, flags=re.M)) == set(RESULTS)


def test_options_of_a_script_run_it_alone(monkeypatch):
    called = []
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr("subprocess.call", lambda command: called.extend(command) or 0)
    words = "benchmarks --cells kept quality_tables --ranker mine:Class"
    monkeypatch.setattr("sys.argv", words.split())
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(ROOT / "benchmarks" / "__main__.py"), run_name="__main__")
    script, *options = called[1:]
    assert script.name == "quality_tables.py"
    assert options == ["--cells", "kept", "--ranker", "mine:Class"]
