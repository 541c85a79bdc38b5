"""Rows by the ten million, a chunk at a time: speed and memory of `partial_fit`.

    python benchmarks/streaming.py

NDCGRanker(estimator=GramRidge()) sees 10,000,000 x 136 rows in single precision as chunks of whole
queries that are generated one by one (queries of 100 documents, grades 0 to 4), and then, for
comparison, as many rows as `--in-memory` says in one fit. Peak memory is that of the process,
Python and its libraries included; the stream is run first, because the system only reports the
largest so far. Rows per second cover the fits alone; another column includes generating.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from _common import describe_environment, parser, print_table, say
from threadpoolctl import threadpool_limits

from skcalrank import NDCGRanker
from skcalrank.linear_model import GramRidge

N_FEATURES, SIZE, MOST_GB = 136, 100, 1.0


def chunks(n_rows, chunk_rows, seed=0):
    """X, y, qid of whole queries, in which grades depend on the features."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, chunk_rows):
        rows = min(chunk_rows, n_rows - start)
        X = rng.standard_normal((rows, N_FEATURES), dtype=np.float32)
        noisy = X[:, :10].sum(axis=1) + 3 * rng.standard_normal(rows, dtype=np.float32)
        y = np.digitize(noisy, [0.3, 4.5, 8.2, 10.1])
        yield X, y, (start + np.arange(rows)) // SIZE


def peak_gb():
    """Of this process, so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def streamed(n_rows, chunk_rows):
    """The ranker, seconds of its fits, and seconds of all."""
    ranker, fitting, begin = NDCGRanker(estimator=GramRidge()), 0.0, time.perf_counter()
    for X, y, qid in chunks(n_rows, chunk_rows):
        start = time.perf_counter()
        ranker.partial_fit(X, y, qid)
        fitting += time.perf_counter() - start
    start = time.perf_counter()
    _ = ranker.coef_
    end = time.perf_counter()
    return ranker, fitting + end - start, end - begin


def whole(n_rows, chunk_rows):
    """The same of one fit to all rows."""
    begin = time.perf_counter()
    # Written where they will stay: the parts and the whole would take twice the memory.
    X, y, qid = np.empty((n_rows, N_FEATURES), np.float32), np.empty(n_rows), np.empty(n_rows, int)
    first = 0
    for part in chunks(n_rows, chunk_rows):
        rows = slice(first, first + len(part[1]))
        X[rows], y[rows], qid[rows] = part
        first = rows.stop
    start = time.perf_counter()
    ranker = NDCGRanker(estimator=GramRidge()).fit(X, y, qid)
    end = time.perf_counter()
    return ranker, end - start, end - begin


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--chunk-rows", type=int, default=100_000)
    options.add_argument("--in-memory", type=int, default=1_000_000, metavar="ROWS")
    args = options.parse_args()
    if args.chunk_rows % SIZE:
        options.error(f"--chunk-rows {args.chunk_rows}: a multiple of {SIZE}, whole queries")
    print(describe_environment("numpy", "scikit-learn", threads=args.threads))
    say(f"{N_FEATURES} features in single precision, chunks of {args.chunk_rows:,} rows")
    rows, rankers = [], {}
    jobs = {
        "stream": (streamed, args.rows),
        "stream, as many": (streamed, args.in_memory),
        "in memory": (whole, args.in_memory),
    }
    with threadpool_limits(args.threads, "blas"):
        for name, (run, n_rows) in jobs.items():
            rankers[name], fitting, total = run(n_rows, args.chunk_rows)
            size, asked = 4e-9 * n_rows * N_FEATURES, MOST_GB if name == "stream" else ""
            cells = [f"{n_rows:,}", f"{size:.2f}", f"{peak_gb():.2f}", asked]
            rows.append([name, *cells, f"{n_rows / fitting / 1e6:.2f}", f"{total:.1f}"])
    columns = ["", "rows", "GB of X", "peak GB", "goal", "M rows/s", "s with generating"]
    print_table(columns, rows)
    one, other = (rankers[name].coef_ for name in ("stream, as many", "in memory"))
    gap = abs(one - other).max() / abs(other).max()
    say(f"stream and memory: coefficients differ by {gap:.1e} of the largest")


if __name__ == "__main__":
    main()
