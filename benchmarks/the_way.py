"""The way of a call through the package: modules entered, functions run, and calls made.

    python benchmarks/the_way.py

A trace of the second call with the same arguments, by frames of Python inside skcalrank alone:
what scikit-learn and numpy do between them is not counted. Each start of a comprehension and each
turn of a generator is a call. Queries of 10 documents, 600 rows, 5 features; the table has a column
of categories, one of text and missing values. Behind some calls are the numbers that the package
allows itself: a way that grows is one more thing to know for everyone who reads the code.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _common import describe_environment, optional, parser, print_table

import skcalrank
from skcalrank import NDCGRanker, TabularRanker
from skcalrank.metrics import ndcg_score

ROOT = str(Path(skcalrank.__file__).parent)
GOALS = {"NDCGRanker().fit": (18, 100, 170), "predict": (9, 28, 50)}
N_QUERIES, N_DOCUMENTS = 60, 10


def way(call):
    """Numbers of modules, functions and calls of a second call."""
    modules, functions, n_calls = set(), set(), 0

    def note(frame, event, _):
        nonlocal n_calls
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            modules.add(code.co_filename)
            # Python 3.10 has no qualified name.
            functions.add((code.co_filename, getattr(code, "co_qualname", code.co_name)))
            n_calls += 1

    call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return len(modules), len(functions), n_calls


def linear_calls(rng, y, qid):
    """Calls of a linear ranker and of a metric, by name."""
    X = rng.normal(size=(len(y), 5))
    ranker = NDCGRanker().fit(X, y, qid)
    scores = ranker.predict(X)
    return {
        "NDCGRanker().fit": lambda: NDCGRanker().fit(X, y, qid),
        "predict": lambda: ranker.predict(X),
        "rank": lambda: ranker.rank(X, qid),
        "score": lambda: ranker.score(X, y, qid),
        "ndcg_score": lambda: ndcg_score(y, scores, qid=qid),
    }


def table_calls(pandas, rng, y, qid):
    """Calls of the ranker for tables, by name."""
    n, worth = len(y), y + rng.normal(size=len(y))
    frame = pandas.DataFrame(
        {
            "shop": pandas.Categorical(rng.choice(["Ada", "Bell", "Cook"], n)),
            "price": rng.lognormal(size=n),
            "rating": np.where(rng.random(n) < 0.3, np.nan, worth),
            "state": np.where(rng.random(n) < 0.1, None, np.where(worth > 1, "new", "old")),
            "stock": rng.integers(0, 9, n),
        }
    )
    ranker = TabularRanker(n_jobs=1).fit(frame, y, qid)
    return {
        "TabularRanker().fit": lambda: TabularRanker(n_jobs=1).fit(frame, y, qid),
        "its predict": lambda: ranker.predict(frame, qid),
    }


def main():
    """Run and print."""
    parser(__doc__, threads=False).parse_args()
    print(describe_environment("numpy", "scikit-learn", "lightgbm"))
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    y = rng.integers(0, 4, len(qid))
    calls = linear_calls(rng, y, qid)
    pandas = optional("pandas")
    if pandas is not None:
        calls |= table_calls(pandas, rng, y, qid)
    rows = []
    for name, call in calls.items():
        goal = " / ".join(map(str, GOALS[name])) if name in GOALS else ""
        rows.append([name, *(f"{number:,}" for number in way(call)), goal])
    print_table(["call", "modules", "functions", "calls", "goal"], rows)


if __name__ == "__main__":
    main()
