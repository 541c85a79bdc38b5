"""Latency of small calls: 100 documents of 136 features, beside `Ridge.predict`.

    python benchmarks/speed_latency.py

One query is ranked at a time in service, so what a call costs before it computes anything counts.
Ratios are of the same process: the calls and `Ridge.predict` take turns, and each ratio is the
median of the ratios round by round, with the quartiles. The second table is the CPU time and the
number of modules that `import skcalrank` adds to scikit-learn's linear_model, metrics,
model_selection and pipeline, in new processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
from _common import describe_environment, parser, print_table
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from skcalrank import NDCGRanker
from skcalrank.metrics import ndcg_score

N_DOCUMENTS, N_FEATURES, FEW = 100, 136, 20
GOALS = {"predict": 2.2, "rank": 4.5, "score": 12, f"predict of {FEW}": 2.5}
SECONDS, MODULES = 0.12, 80

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


def seconds(call, number):
    """Mean CPU time of some calls in a row."""
    start = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - start) / number


def measure(calls, rounds, number):
    """Times of all calls and of those beside them; shape (n_calls, 2, rounds)."""
    for pair in calls.values():
        for call in pair:
            seconds(call, number)
    times = [
        [[seconds(call, number) for call in pair] for pair in calls.values()] for _ in range(rounds)
    ]
    return np.moveaxis(times, 0, -1)


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


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=101, help="rounds of the calls")
    options.add_argument("--number", type=int, default=20, help="calls in a row")
    options.add_argument("--imports", type=int, default=9, help="rounds of the import")
    args = options.parse_args()
    print(describe_environment("numpy", "scipy", "scikit-learn", threads=args.threads))
    calls = made_calls(np.random.default_rng(0))
    with threadpool_limits(args.threads):
        times = measure(calls, args.rounds, args.number)
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
    cpu, modules = of_the_import(args.imports)
    spread = f"{np.median(cpu):.2f} ({cpu.min():.2f} to {cpu.max():.2f})"
    rows = [["CPU seconds", spread, f"{SECONDS:g}"], ["modules", str(modules), f"{MODULES}"]]
    print()
    print_table(["import skcalrank", "added", "goal"], rows)


if __name__ == "__main__":
    main()
