"""Seconds and memory of aggregating 1.6 million comparisons, and Bradley-Terry against choix.

    python benchmarks/speed_aggregation.py

10,000 queries of 70 to 130 documents with grades 0 to 4, made here; the comparisons are drawn by
the Bradley-Terry-Luce model. Order k = 100 is the U-statistic: the mean of the NDCG@10 targets over
20 random subsets of 100 judgments of each query (160 on average), with mean log-odds as structure.
Times are whole calls, from the target to one score per row, medians over interleaved rounds; peak
memory is what the arrays of a call hold at most beside the target.

choix fits one query after the other. Its time covers the fits alone, from lists that exist already;
the queries have a maximum of the likelihood, and every method is run at a tolerance at which it
agrees with ours to 1e-6.

Needs ``pip install choix``.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from _common import (
    describe_environment,
    optional,
    parser,
    peak_bytes,
    print_table,
    print_threads,
    say,
)
from threadpoolctl import threadpool_limits

from skcalrank import PreferenceTarget, sample_comparisons
from skcalrank.aggregation import STRUCTURES, bradley_terry, mean_log_odds, mean_over_subsets
from skcalrank.measures import get_measure

N_QUERIES, N_COMPARISONS = 10_000, 1_600_000
ORDER, N_DRAWS = 100, 20
# Seconds.
ASKED = {"mean_log_odds": 2, "order 100, 20 draws": 20}
# Queries, documents of each, comparisons of each.
CHOIX_SIZES = ((500, 10, 100), (300, 20, 200), (50, 50, 1000))


def make_relevances(seed=0):
    """Grades and queries."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(N_QUERIES), rng.integers(70, 131, N_QUERIES))
    return rng.choice(5, len(qid), p=[0.53, 0.32, 0.12, 0.02, 0.01]), qid


def interleaved(calls, rounds):
    """Seconds of each call, in rounds that run all of them."""
    seconds = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


# -- structures --------------------------------------------------------------------------


def ndcg_targets(scores, queries):
    """NDCG@10 targets of scores minus their minimum in the query."""
    low = -queries.max(-scores)
    return get_measure("ndcg@10").score_targets(scores - queries.repeat(low), queries)


def calls_on(y):
    """What is timed on a target: every structure of comparisons, and the U-statistic."""
    names = [name for name in STRUCTURES if name not in ("cascade", "position_based")]  # of clicks
    calls = {name: lambda f=STRUCTURES[name]: f(y) for name in names}
    calls[f"order {ORDER}, {N_DRAWS} draws"] = lambda: mean_over_subsets(
        y, mean_log_odds, ORDER, ndcg_targets, n_draws=N_DRAWS, random_state=0
    )
    return calls


def time_structures(rounds):
    """Print the seconds of all structures, and peak memory against the number of comparisons."""
    r, qid = make_relevances()
    sizes = [N_COMPARISONS // 4, N_COMPARISONS // 2, N_COMPARISONS]
    targets = [sample_comparisons(r, qid, n_comparisons=n, random_state=0) for n in sizes]
    seconds = interleaved(calls_on(targets[-1]), rounds)
    memory = [{name: peak_bytes(f) for name, f in calls_on(y).items()} for y in targets]
    rows = [
        [
            name,
            f"{np.median(values):.2f}",
            ASKED.get(name, ""),
            *[f"{of_size[name] / 1e6:.0f}" for of_size in memory],
        ]
        for name, values in seconds.items()
    ]
    say(f"{N_COMPARISONS:,} comparisons, {N_QUERIES:,} queries, {len(qid):,} documents\n")
    headers = [f"MB at {n / 1e6:.1f}M" for n in sizes]
    print_table(["", "s", "goal", *headers], rows)
    print_threads(calls_on(targets[-1]), rounds)


# -- Bradley-Terry against choix ---------------------------------------------------------


def make_queries(n_queries, m, n, seed=0):
    """Comparisons of queries whose likelihood has a maximum: a cycle of wins runs through each."""
    rng = np.random.default_rng(seed)
    rows = np.arange(n_queries * m)
    qid, following = rows // m, rows + 1 - m * (rows % m == m - 1)
    y = sample_comparisons(
        rng.normal(size=len(rows)), qid, n_comparisons=n_queries * (n - m), random_state=seed
    )
    winner, loser = np.append(y.winner, rows), np.append(y.loser, following)
    return PreferenceTarget.from_comparisons(winner, loser, qid)


def as_lists(y, m):
    """What choix reads: (winner, loser) pairs of each query."""
    out = [[] for _ in range(len(y) // m)]
    for winner, loser in zip(y.winner.tolist(), y.loser.tolist()):
        out[winner // m].append((winner % m, loser % m))
    return out


def choix_methods(choix, m):
    """Maximum likelihood by each method of choix."""
    return {
        "ilsr_pairwise": lambda data: choix.ilsr_pairwise(m, data, alpha=0, tol=1e-8),
        "mm_pairwise": lambda data: choix.mm_pairwise(m, data, alpha=0, tol=1e-10),
        "opt_pairwise": lambda data: choix.opt_pairwise(m, data, alpha=0, tol=1e-8),
    }


def compare_with_choix(choix, rounds):
    """Print seconds, their ratio, and the largest difference of a score."""
    rows = []
    for n_queries, m, n in CHOIX_SIZES:
        y = make_queries(n_queries, m, n)
        data, own = as_lists(y, m), bradley_terry(y, alpha=0).reshape(-1, m)
        calls = {"bradley_terry": lambda y=y: bradley_terry(y, alpha=0)}
        gaps = {}
        for name, fit in choix_methods(choix, m).items():
            calls[name] = lambda fit=fit, data=data: [fit(pairs) for pairs in data]
            theirs = np.array(calls[name]())
            theirs -= theirs.mean(axis=1, keepdims=True)
            gaps[name] = f"{np.abs(theirs - own).max():.0e}"
        seconds = interleaved(calls, rounds)
        ours = seconds["bradley_terry"]
        for name, values in seconds.items():
            ratio = f"{np.median(values / ours):.1f}" if name in gaps else ""
            shape = f"{n_queries} x {m} documents, {n} comparisons"
            rows.append([shape, name, f"{np.median(values):.3f}", ratio, gaps.get(name, "")])
    print_table(["queries", "method", "s", "times ours (goal 5)", "difference (goal 1e-6)"], rows)


def main():
    """Run and print."""
    arguments = parser(__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=5)
    args = arguments.parse_args()
    warnings.filterwarnings("ignore", "Query", UserWarning)
    choix = optional("choix")
    with threadpool_limits(args.threads):
        print(describe_environment("numpy", "scipy", "choix", threads=args.threads))
        time_structures(args.rounds)
        if choix is not None:
            print()
            compare_with_choix(choix, max(1, args.rounds // 2))


if __name__ == "__main__":
    main()
