"""Seconds per evaluation of an order-preserving loss and its gradient, against linear algebra.

A linear scorer evaluates ``X @ w``, a loss of the scores, and ``X.T @ g``, again and again. The
table has the loss and its gradient beside those two products, in one process and on one thread;
then the curvature that boosted trees ask for, and the memory that the arrays of one evaluation
hold at most, beside that of the scores. "naive" builds all pairs of a query at a time. A second
table has all losses on one thread and on all cores.

Goal: exponential and squared pairwise within 1.5 times the two products, pairwise logistic within
8 times, and no matrix of all pairs beyond a block.

    python benchmarks/speed_losses.py
"""

from time import perf_counter

import numpy as np
from _common import describe_environment, parser, peak_bytes, print_table, print_threads, say
from scipy.special import expit
from threadpoolctl import threadpool_limits

from skcalrank.data import Queries
from skcalrank.losses import LOSSES, get_loss

BARS = {"pairwise_squared": 1.5, "pairwise_exponential": 1.5, "pairwise_logistic": 8.0}


def main():
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=250_000)
    options.add_argument("--features", type=int, default=136)
    options.add_argument("--repeats", type=int, default=15)
    args = options.parse_args()
    with threadpool_limits(args.threads):
        print(describe_environment("numpy", "scipy", threads=args.threads))
        run(args)


def run(args):
    rng = np.random.default_rng(0)
    queries, v = make_queries(args.rows, rng)
    X = rng.normal(size=(queries.n_rows, args.features))
    w = rng.normal(size=args.features) / np.sqrt(args.features)
    s, slope = X @ w, rng.normal(size=queries.n_rows)
    pairs = int((queries.sizes.astype(float) * (queries.sizes - 1)).sum())
    say(
        f"{queries.n_rows:,} rows x {args.features}, {queries.n_queries:,} queries of 40 to 210 "
        f"documents, {pairs / 1e6:.0f} million ordered pairs, 48 % of targets above 0"
    )
    calls = {"X @ w, X.T @ g": lambda: (X @ w, X.T @ slope)}
    for name in LOSSES:
        loss = get_loss(name).scaled_to(v, queries)
        calls[name] = lambda loss=loss: loss.value_and_gradient(v, s, queries)
        calls[f"{name}, curvature"] = lambda loss=loss: loss.derivatives(v, s, queries)
    calls["pairwise_logistic, naive"] = lambda: naive(v, s, queries)
    best = timed(calls, args.repeats)
    base = best["X @ w, X.T @ g"]
    rows = [("X @ w, X.T @ g", f"{1e3 * base:.1f}", "1.00", "", "", "")]
    for name in LOSSES:
        memory = peak_bytes(calls[name]) / s.nbytes
        rows.append(
            (
                name,
                f"{1e3 * best[name]:.1f}",
                f"{best[name] / base:.2f}",
                f"{BARS[name]}" if name in BARS else "",
                f"{best[f'{name}, curvature'] / base:.2f}",
                f"{memory:.1f}",
            )
        )
    slow = best["pairwise_logistic, naive"]
    rows.append(("pairwise_logistic, naive", f"{1e3 * slow:.1f}", f"{slow / base:.2f}", "", "", ""))
    print_table(("", "ms", "ratio", "goal", "ratio with curvature", "memory / scores"), rows)
    print_threads({name: call for name, call in calls.items() if "naive" not in name}, args.repeats)


def make_queries(n_rows, rng):
    """Ragged queries, and NDCG-like targets of grades as skewed as those of MSLR."""
    sizes = []
    while sum(sizes) < n_rows:
        sizes.append(int(rng.integers(40, 211)))
    queries = Queries(np.append(0, np.cumsum(sizes)))
    grades = rng.choice(5, p=[0.52, 0.32, 0.13, 0.02, 0.01], size=queries.n_rows)
    gain = 2.0**grades - 1
    return queries, gain / queries.repeat(np.maximum(queries.sum(gain), 1.0) / 5)


def naive(v, s, queries):
    """All pairs of a query at a time, as the definition has it."""
    value, gradient = 0.0, np.empty_like(s)
    for a, b in zip(queries.ptr, queries.ptr[1:]):
        gap = s[a:b, None] - s[None, a:b]
        value += (v[a:b, None] * np.logaddexp(0.0, -gap)).sum() - v[a:b].sum() * np.log(2)
        pulled = v[a:b, None] * expit(-gap)
        gradient[a:b] = pulled.sum(axis=0) - pulled.sum(axis=1)
    return value, gradient


def timed(calls, repeats):
    """Best time of each call, all of them in turn, so that drift of the machine meets all."""
    best = dict.fromkeys(calls, np.inf)
    for turn in range(repeats):
        for name, call in calls.items():
            if "naive" in name and turn > 1:
                continue
            start = perf_counter()
            call()
            best[name] = min(best[name], perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
