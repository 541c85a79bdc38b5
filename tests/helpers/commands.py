"""Run commands, read their tables, and make files for them."""

import numpy as np
from sklearn.datasets import dump_svmlight_file

from skcalrank import make_subset_ranking
from skcalrank._cli import main

COLUMNS = ["--qid-column", "query", "--label-column", "grade"]


def write_letor(folder):
    """A training and a test file with graded labels; the test ends in an empty query."""
    X, y, qid = make_subset_ranking(60, (3, 12), 6, n_intents=1, n_grades=4, random_state=0)
    X += np.random.RandomState(0).normal(size=X.shape)
    y[qid == 59] = 0
    for name, rows in (("train.txt", qid < 30), ("test.txt", qid >= 30)):
        path = str(folder / name)
        dump_svmlight_file(X[rows], y[rows], path, zero_based=False, query_id=qid[rows])
    return folder


def run(capsys, *argv):
    """Output of a command that succeeds without a message on stderr."""
    assert main(list(argv)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def fail(capsys, *argv):
    """Error message of a command that fails."""
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def table(out):
    """Column heads of a printed table, and its cells by the label of the row."""
    lines = out.split("\n")
    rule = next(i for i, line in enumerate(lines) if line and not line.strip("-"))
    blank = lines.index("", rule)
    heads = lines[lines.index("", 0) + 1 : rule]
    labels = {"fit seconds": "seconds", "judged docs": "judged_docs"}
    for label, word in labels.items():
        lines = [line.replace(label, word) for line in lines]
    rows = [line.split() for line in lines[rule + 1 : blank]]
    return [head.split() for head in heads], {name: cells for name, *cells in rows}
