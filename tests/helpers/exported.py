"""Readers of the JSON of rankers, which need no package, and databases."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from skcalrank.data import Queries
from skcalrank.preprocessing import TableEncoder
from skcalrank.stacking import CompiledScorer, View
from skcalrank.trees import Forest

READERS = Path(__file__).parents[2] / "doc" / "readers"
NODE = shutil.which("node")


def plain(value):
    """A value of a table as JSON has it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return None if value != value else value


def queries_of(table, qid):
    plain_rows = [{name: plain(value) for name, value in row.items()} for row in table]
    by_query = groupby(zip(qid, plain_rows), key=lambda pair: pair[0])
    return [[row for _, row in pairs] for _, pairs in by_query]


def by_python(text, table, qid):
    model, scores = json.loads(text), run_path(str(READERS / "read_scorer.py"))["scores"]
    return np.concatenate([scores(model, query) for query in queries_of(table, qid)])


SCRIPT = """
const { scores } = require(process.argv[1]);
const { model, queries } = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(queries.map((rows) => scores(model, rows))));
"""


def by_node(text, table, qid):
    told = json.dumps({"model": json.loads(text), "queries": queries_of(table, qid)})
    command = [NODE, "-e", SCRIPT, str(READERS / "read_scorer.js")]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    return np.concatenate([np.array(part, dtype=float) for part in json.loads(done.stdout)])


class ReadTrees:
    """The trees of a document, as a compiled scorer reads those of a library."""

    def __init__(self, written):
        self.forests = list(map(Forest.from_dict, written))
        columns = (column for forest in self.forests for column in forest.features)
        self.n_columns = 1 + max(columns, default=-1)

    def of_rows(self, matrix, n_jobs):
        del n_jobs
        return np.sum([forest.of_rows(matrix) for forest in self.forests], axis=0)

    def written(self):
        return self.forests


def read_view(written, shared):
    names = ("features", "starts", "ends")
    tables = [np.array(values, dtype=float) for values in written["levels"]]
    hinges = [np.array(written[name]) for name in names if name in written]
    coef = np.array(written["coefficients"])
    return View(written["kind"], *shared, tables, coef, written["intercept"], hinges)


def read_scorer(written):
    """The compiled scorer that a document describes, whose trees need no library."""
    columns, means = written["columns"], np.array(written["means"], dtype=float)
    numbers, places = (np.array(written[n], dtype=np.intp) for n in ("numbers", "categories"))
    shared = numbers, means if len(means) else None, places
    return CompiledScorer(
        [read_view(view, shared) for view in written["views"]],
        list(map(ReadTrees, written["trees"])),
        np.array(written["weights"]),
        np.array(written["spreads"]),
        written["by_query"],
        None if columns is None else TableEncoder.from_dicts(columns),
        numbers if written["in_query"] else None,
    )


def by_package(text, table, qid):
    scorer = read_scorer(json.loads(text))
    matrix = scorer.encoder.transform(table)
    return scorer.scores(matrix, Queries.from_qid(qid), [None] * len(scorer.trees))


#: Readers whose runtimes are installed.
EVERY_READER = [by_python, *([by_node] if NODE else []), by_package]

every_reader = pytest.mark.parametrize("read", EVERY_READER, ids=lambda read: read.__name__)


def assert_json_scores(text, table, expected, tolerance=1e-9, readers=(by_python, by_package)):
    """Every reader computes scores of documents that do not depend on each other."""
    for read in readers:
        scores = read(text, table, np.zeros(len(table)))
        np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)


def in_databases(run):
    """Return functions that call `run` with a connection to SQLite, and to DuckDB."""

    def in_sqlite(*args):
        with closing(sqlite3.connect(":memory:")) as connection:
            return run(connection, *args)

    def in_duckdb(*args):
        with pytest.importorskip("duckdb").connect() as connection:
            return run(connection, *args)

    return in_sqlite, in_duckdb
