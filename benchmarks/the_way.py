"""The way of a call through the package: modules entered, calls made, and moves between rooms.

    python benchmarks/the_way.py

A trace of the second call with the same arguments, by frames of Python inside skcalrank alone:
what scikit-learn and numpy do between them is not counted. Each start of a comprehension and each
turn of a generator is a call, and a move if its caller is in another room. Queries of 10 documents,
600 rows, 5 features; the table has a column of categories, one of text and missing values. Behind
some calls are the numbers that the package allows itself: a way that grows is one more thing to
know for everyone who reads the code.
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
#: Most modules and moves.
GOALS = {"NDCGRanker().fit": (25, 60), "predict": (10, 10)}
N_QUERIES, N_DOCUMENTS = 60, 10


def way(call):
    """Numbers of modules, calls and moves of a second call."""
    modules, n_calls, n_moves = set(), 0, 0

    def note(frame, event, _):
        nonlocal n_calls, n_moves
        room = room_of(frame)
        if event == "call" and room:
            modules.add(frame.f_code.co_filename)
            n_calls += 1
            caller = frame.f_back
            while caller is not None and not room_of(caller):
                caller = caller.f_back
            n_moves += caller is not None and room_of(caller) != room

    call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return len(modules), n_calls, n_moves


def room_of(frame):
    """The room that a frame runs in; empty outside of the package."""
    name = frame.f_code.co_filename
    return Path(name).relative_to(ROOT).parts[0] if name.startswith(ROOT) else ""


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
    print_table(["call", "modules", "calls", "moves", "modules / moves"], rows)


if __name__ == "__main__":
    main()
