"""Latency of small calls: 100 documents of 136 features, and one query of a table.

    python benchmarks/speed_latency.py

One query is ranked at a time in service, so what a call costs before it computes anything counts.
Ratios are of the same process: the calls and `Ridge.predict` take turns, and each ratio is the
median of the ratios round by round, with the quartiles. The second table is `TabularRanker` on data
frames beside `LGBMRanker.predict` on the same frame (columns of text as categories) and beside the
bare boosters on the matrix, with as many trees. The third is why the first of 23 documents has its
score, beside the SHAP values of the bare boosters. The fourth is `BoostedRanker` with each of its
libraries, beside a call of the library alone. The fifth is the CPU time and the number of modules
that `import skcalrank` adds to scikit-learn's linear_model, metrics, model_selection and pipeline,
in new processes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from _common import describe_environment, in_turns, parser, print_table
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from skcalrank import BoostedRanker, NDCGRanker, TabularRanker
from skcalrank.inspection import explain_order
from skcalrank.metrics import ndcg_score

N_DOCUMENTS, N_FEATURES, FEW = 100, 136, 20
GOALS = {"predict": 2.2, "rank": 4.5, "score": 12, f"predict of {FEW}": 2.5}
SECONDS, MODULES = 0.12, 80
EXPLAINED = 40  # milliseconds for a query

IMPORT = """
import sys, time
import sklearn.linear_model, sklearn.metrics, sklearn.model_selection, sklearn.pipeline
n, start = len(sys.modules), time.process_time()
import skcalrank
print(time.process_time() - start, len(sys.modules) - n)
"""
# An installed package is compiled.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def made_calls(rng):
    """Calls by name, each with the call of scikit-learn that it is measured by."""
    X = rng.normal(size=(40 * N_DOCUMENTS, N_FEATURES))
    qid = np.repeat(np.arange(40), N_DOCUMENTS)
    y = rng.integers(0, 5, len(qid))
    ranker, ridge = NDCGRanker().fit(X, y, qid), Ridge().fit(X, y)
    query, labels, names = X[:N_DOCUMENTS], y[:N_DOCUMENTS], qid[:N_DOCUMENTS]
    few, scores = X[:FEW], ranker.predict(query)
    of_query, of_few = (lambda: ridge.predict(query)), (lambda: ridge.predict(few))
    return {
        "predict": (lambda: ranker.predict(query), of_query),
        "rank": (lambda: ranker.rank(query, names), of_query),
        "score": (lambda: ranker.score(query, labels, names), of_query),
        "ndcg_score": (lambda: ndcg_score(labels, scores, qid=names), of_query),
        f"predict of {FEW}": (lambda: ranker.predict(few), of_few),
    }


def made_table(rng, n_queries, n_numbers, n_categories):
    """A data frame, labels that depend on some columns, and queries of 23 rows."""
    n = 23 * n_queries
    numbers = {f"number{k}": rng.normal(size=n) for k in range(n_numbers)}
    codes = {f"category{k}": rng.integers(0, 30, n) for k in range(n_categories)}
    value = sum(list(numbers.values())[:4]) + sum((code % 5) / 2 for code in codes.values())
    y = np.digitize(value + rng.normal(size=n), np.quantile(value, [0.5, 0.7, 0.9]))
    texts = {
        name: np.array([f"level {k}" for k in range(30)])[code] for name, code in codes.items()
    }
    return pd.DataFrame(numbers | texts), y, np.repeat(np.arange(n_queries), 23)


def served_rankers(rng):
    """Rankers of tables with rows, the matrix of these, and LightGBM with its rows."""
    for n_numbers, n_categories in ((4, 3), (18, 7), (136, 0)):
        X, y, qid = made_table(rng, 300, n_numbers, n_categories)
        texts = [name for name in X if name.startswith("category")]
        theirs = X.astype(dict.fromkeys(texts, "category")) if texts else X.to_numpy()
        X = X if texts else theirs
        ranker = TabularRanker(n_jobs=1).fit(X, y, qid)
        boosters = [member.booster_ for member in ranker.boosted_.values()]
        n_trees = sum(booster.num_trees() for booster in boosters)
        peer = lightgbm.LGBMRanker(n_estimators=n_trees, num_leaves=15, n_jobs=1, verbose=-1)
        peer.fit(theirs, y, group=np.full(300, 23))
        for n in (23,) if texts else (23, 100):
            matrix = X[:n] if ranker.encoder_ is None else ranker.encoder_.transform(X[:n])
            name = f"{n} x {X.shape[1]}, {n_trees} trees"
            yield name, ranker, X[:n], matrix, partial(peer.predict, theirs[:n], num_threads=1)


def of_boosters(ranker, matrix, **options):
    """A call of the boosters of a ranker alone."""
    boosters = [member.booster_ for member in ranker.boosted_.values()]
    # Some may read further columns of the query, to the right of the matrix.
    twice = np.hstack([matrix, matrix])
    calls = [
        partial(booster.predict, np.ascontiguousarray(twice[:, : booster.num_feature()]))
        for booster in boosters
    ]
    return lambda: [call(num_threads=1, **options) for call in calls]


def served_calls(rankers):
    """Calls of rankers of tables by name, with the calls of LightGBM that they are measured by."""
    for name, ranker, X, matrix, peer in rankers:
        call = partial(ranker.predict, X, np.zeros(len(X)))
        yield name, call, peer, of_boosters(ranker, matrix, raw_score=True)


def explained_calls(rankers):
    """Pairs of calls by name: an explanation of a document, and the SHAP values of the boosters."""
    for name, ranker, X, matrix, _ in rankers:
        if len(X) == 23:
            # Trees of weight 0 would not be asked; the scorer is compiled again.
            ranker.weights_ = np.maximum(ranker.weights_, 1e-3)
            ranker = pickle.loads(pickle.dumps(ranker))
            call = partial(explain_order, ranker, X, 0, qid=np.zeros(23))
            yield name, (call, of_boosters(ranker, matrix, pred_contrib=True))


def boosted_calls(rng, n_trees=60):
    """Pairs of calls for 20 rows of 7 numbers by library: of `BoostedRanker` and of its model."""
    X = rng.normal(size=(6000, 7))
    y, qid = np.digitize(X[:, 0] + np.abs(X[:, 1]), [0.5, 1.5]), np.repeat(np.arange(300), 20)
    few = X[:FEW]
    alone = {
        "lightgbm": lambda model: model.predict(few, raw_score=True, num_threads=1),
        "xgboost": lambda model: model.predict(xgboost.DMatrix(few), output_margin=True),
        "sklearn": lambda model: model.predict(few),
    }
    options = {"n_jobs": 1, "n_estimators": n_trees, "validation_fraction": None}
    pairs = {}
    for engine, call in alone.items():
        ranker = BoostedRanker(engine=engine, **options).fit(X, y, qid)
        pairs[engine] = partial(ranker.predict, few), partial(call, ranker.booster_)
    return pairs


def of_the_import(rounds):
    """CPU seconds, one for each new process, and the number of modules that it adds."""
    command = [sys.executable, "-c", IMPORT]
    # The first process compiles, and fills the caches of the system.
    lines = [
        subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True, text=True).stdout
        for _ in range(rounds + 1)
    ][1:]
    cpu, modules = np.array([line.split() for line in lines], dtype=float).T
    return cpu, int(modules[0])


def served(args, rankers):
    """The header and the rows of the table of rankers of tables."""
    calls = list(served_calls(rankers))
    pairs = {}
    for name, ours, peer, bare in calls:
        pairs[name], pairs[f"{name}, bare"] = (ours, peer), (ours, bare)
    rounds = max(args.rounds // 3, 1)
    with threadpool_limits(args.threads):
        times = dict(zip(pairs, in_turns(pairs, rounds, max(args.number // 4, 1))))
    rows = []
    for name, *_ in calls:
        (ours, peer), (again, bare) = times[name], times[f"{name}, bare"]
        cells = [f"{1e3 * np.median(one):.2f}" for one in (ours, peer, bare)]
        ratios = [f"{np.median(ours / peer):.2f}", f"{np.median(again / bare):.1f}"]
        rows.append([name, *cells, *ratios])
    header = ["query", "TabularRanker, ms", "LGBMRanker, ms", "bare boosters, ms"]
    return [*header, "of LGBMRanker", "of the boosters"], rows


def explained(args, rankers):
    """The header and the rows of the table of explanations."""
    pairs = dict(explained_calls(rankers))
    with threadpool_limits(args.threads):
        times = in_turns(pairs, max(args.rounds // 3, 1), max(args.number // 10, 1))
    rows = [
        [
            name,
            *(f"{1e3 * np.median(one):.1f}" for one in (ours, bare)),
            f"{np.median(ours / bare):.2f}",
            f"{EXPLAINED}",
        ]
        for name, (ours, bare) in zip(pairs, times)
    ]
    return ["query", "explain_order, ms", "SHAP values alone, ms", "ratio", "goal, ms"], rows


def boosted(args):
    """The header and the rows of the table of libraries of trees."""
    calls = boosted_calls(np.random.default_rng(0))
    with threadpool_limits(args.threads):
        times = in_turns(calls, args.rounds, args.number)
    rows = [
        [
            name,
            *(f"{1e3 * np.median(one):.2f}" for one in pair),
            f"{np.median(pair[0] / pair[1]):.2f}",
        ]
        for name, pair in zip(calls, times)
    ]
    return ["60 trees, 20 x 7", "BoostedRanker, ms", "the library, ms", "ratio"], rows


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=101, help="rounds of the calls")
    options.add_argument("--number", type=int, default=20, help="calls in a row")
    options.add_argument("--imports", type=int, default=9, help="rounds of the import")
    args = options.parse_args()
    print(
        describe_environment(
            "numpy", "scikit-learn", "lightgbm", "xgboost-cpu", "pandas", threads=args.threads
        )
    )
    calls = made_calls(np.random.default_rng(0))
    with threadpool_limits(args.threads):
        times = in_turns(calls, args.rounds, args.number)
    rows = []
    for name, (ours, theirs) in zip(calls, times):
        low, middle, high = np.quantile(ours / theirs, [0.25, 0.5, 0.75])
        rows.append(
            [
                name,
                *(f"{1e6 * np.median(one):.0f}" for one in (ours, theirs)),
                f"{middle:.2f} ({low:.2f} to {high:.2f})",
                f"{GOALS[name]:g}" if name in GOALS else "",
            ]
        )
    print_table(["call", "us", "Ridge.predict, us", "ratio", "goal"], rows)
    print()
    rankers = list(served_rankers(np.random.default_rng(0)))
    print_table(*served(args, rankers))
    print()
    print_table(*explained(args, rankers))
    print()
    print_table(*boosted(args))
    cpu, modules = of_the_import(args.imports)
    spread = f"{np.median(cpu):.2f} ({cpu.min():.2f} to {cpu.max():.2f})"
    rows = [["CPU seconds", spread, f"{SECONDS:g}"], ["modules", str(modules), f"{MODULES}"]]
    print()
    print_table(["import skcalrank", "added", "goal"], rows)


if __name__ == "__main__":
    main()
