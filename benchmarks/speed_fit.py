"""A whole fit of NDCGRanker against one X'X + X'y on the same array.

    python benchmarks/speed_fit.py

1,000,000 documents, 136 features, float64 and float32, made here. Fits include the validation of
the input and the targets of the measure, under the default pairwise squared loss in closed form:

* NDCGRanker(); the same with scikit-learn's Ridge inside takes as long;
* seven measures jointly, one pass over X for the normal equations of all of them
  (LeastSquaresRankerCV with one penalty, without its scores), and with five-fold scores of each;
* scikit-learn's Ridge, on the targets of NDCG@10, without queries.

Further tables have NDCGRanker() beside Ridge at 300,000 documents.

Each call has one row: the least time of all rounds on one thread, and on all cores. Calls take
turns, and each is run once more, untimed, before it is timed: Ridge copies X, and the first touch
of memory that the machine has taken back in the meantime took longer than the fit. The ratio is
that of the least times, its range that of the ratios round by round. Peak memory is what X and the
arrays of a fit hold at most.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import contextmanager

import numpy as np
from _common import (
    describe_environment,
    logarithms,
    n_cores,
    parser,
    peak_bytes,
    print_table,
    say,
)
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from skcalrank import LeastSquaresRankerCV, NDCGRanker
from skcalrank.data import Queries
from skcalrank.measures import AUC, Precision, Recall, get_measure
from skcalrank.rankers import _cv

N_ROWS, FEW_ROWS, N_FEATURES = 1_000_000, 300_000, 136
SEVEN = {
    "precision@5": Precision(k=5, relevance_level=1),
    "recall@10": Recall(k=10, relevance_level=1),
    "auc": AUC(relevance_level=1),
    **{name: name for name in ("ndcg@10", "dcg@10", "eru", "spearman")},
}
LIMIT, FIT, RIDGE = "X'X + X'y", "NDCGRanker()", "scikit-learn's Ridge"
SEVEN_AT_ONCE, SCORED = "seven measures, one pass", "seven measures, with their scores"
# Bounds of the ratios to the limit; None: shown for comparison.
ASKED = {
    "float64": {FIT: 1.5, SEVEN_AT_ONCE: 2.0, SCORED: None, RIDGE: None},
    "float32": {FIT: 2.0, SEVEN_AT_ONCE: 2.0, SCORED: None, RIDGE: None},
}


def make_data(dtype, n_rows=N_ROWS, seed=0):
    """Queries of about 120 documents, grades 0 to 4 that depend on the features."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(4.65, 0.6, n_rows // 60).astype(int), 5, 900)
    qid = np.repeat(np.arange(len(sizes)), sizes)[:n_rows]
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=dtype)
    X += 1
    noisy = X[:, :10].sum(axis=1) + 3 * rng.standard_normal(n_rows)
    return X, np.digitize(noisy, np.quantile(noisy, [0.53, 0.85, 0.97, 0.99])), qid


@contextmanager
def without_scores():
    """Fits of LeastSquaresRankerCV that solve for every penalty of every split, and stop there."""

    def solve(rows, splits, models, measures, n_models):
        deque(models, maxlen=0)
        return np.zeros((len(measures), n_models, len(splits)))

    scored, _cv.held_out_scores = _cv.held_out_scores, solve
    try:
        yield
    finally:
        _cv.held_out_scores = scored


def timed(call):
    """Seconds of a call, by the clock."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_rounds(calls, rounds):
    """Seconds by call and number of threads, shape (rounds,). Each call is timed after itself."""
    numbers = sorted({1, n_cores()})
    seconds = {name: {n: [] for n in numbers} for name in calls}
    for turn in range(rounds):
        for name, call in calls.items():
            call()
            for n in numbers[:: 1 - 2 * (turn % 2)]:
                with threadpool_limits(n):
                    seconds[name][n].append(timed(call))
    return {name: {n: np.array(s) for n, s in of.items()} for name, of in seconds.items()}


def make_calls(dtype, n_rows):
    """What is timed, and peak memory of a fit in multiples of X."""
    X, y, qid = make_data(dtype, n_rows)
    ndcg, queries = get_measure("ndcg@10"), Queries.from_qid(qid)
    targets = queries.ungroup(ndcg.targets(queries.group(y.astype(float)), queries)).astype(dtype)
    seven = LeastSquaresRankerCV(SEVEN, alphas=[1.0])

    def unscored():
        with without_scores():
            seven.fit(X, y, qid)

    calls = {
        LIMIT: lambda: (X.T @ X, X.T @ targets),
        FIT: lambda: NDCGRanker().fit(X, y, qid),
        SEVEN_AT_ONCE: unscored,
        SCORED: lambda: seven.fit(X, y, qid),
        RIDGE: lambda: Ridge().fit(X, targets),
    }
    peak = 1 + peak_bytes(calls[FIT]) / X.nbytes
    return calls, peak


def print_seconds(calls, rounds, asked):
    """Print a row for each call."""
    seconds = in_rounds({"logarithms in cache": logarithms, **calls}, rounds)
    limit = seconds[LIMIT][1]
    rows = []
    for name, of_call in seconds.items():
        one, *more = (values.min() for values in of_call.values())
        ratio = of_call[1] / limit
        compared = [f"{one / limit.min():.2f}", f"{ratio.min():.2f} to {ratio.max():.2f}"]
        beside = compared if name in asked else ["1" if name == LIMIT else "", ""]
        faster = [cell for least in more for cell in (f"{least:.3f}", f"{one / least:.2f}")]
        rows.append([name, f"{one:.3f}", *beside, asked.get(name) or "", *faster])
    on_all = [cell for n in [*seconds[LIMIT]][1:] for cell in (f"s, {n} threads", "times faster")]
    print_table(["", "s, 1 thread", f"times {LIMIT}", "range", "goal", *on_all], rows)


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--rows", type=int, default=N_ROWS)
    options.add_argument("--rounds", type=int, default=5)
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn"))
    say(f"Least of {args.rounds} rounds, {N_FEATURES} features")
    for name, asked in ASKED.items():
        for n_rows in sorted({args.rows, min(args.rows, FEW_ROWS)}, reverse=True):
            with threadpool_limits(1):
                calls, peak = make_calls(np.dtype(name).type, n_rows)
            said = f"the peak memory of a fit, X included, is {peak:.2f} times that of X"
            say(f"\n{n_rows:,} rows of {name}: {said}")
            shown = (
                calls if n_rows == args.rows else {key: calls[key] for key in (LIMIT, FIT, RIDGE)}
            )
            print_seconds(shown, args.rounds, asked)


if __name__ == "__main__":
    main()
