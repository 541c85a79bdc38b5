"""A whole fit of NDCGRanker against one X'X + X'y on the same array.

    python benchmarks/speed_fit.py

250,000 documents, 136 features, float64 and float32, made here. The fit is the default: pairwise
squared loss in closed form, scikit-learn's Ridge inside, validation of the input included. Times
are medians over interleaved rounds in one process, the ratio is the median of the ratios round by
round; peak memory is what X and the arrays of a fit hold at most.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _common import describe_environment, peak_bytes, print_table
from sklearn.linear_model import Ridge

from skcalrank import NDCGRanker

N_ROWS, N_FEATURES = 250_000, 136


def make_data(dtype, n_rows=N_ROWS, seed=0):
    """Queries of about 120 documents, grades 0 to 4 that depend on the features."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(4.65, 0.6, n_rows // 60).astype(int), 5, 900)
    qid = np.repeat(np.arange(len(sizes)), sizes)[:n_rows]
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=dtype)
    X += 1
    noisy = X[:, :10].sum(axis=1) + 3 * rng.standard_normal(n_rows)
    return X, np.digitize(noisy, np.quantile(noisy, [0.53, 0.85, 0.97, 0.99])), qid


def measure(dtype, rounds):
    """Seconds of the limit, of the fit, and of scikit-learn's Ridge on the raw labels."""
    X, y, qid = make_data(dtype)
    target = y.astype(dtype)
    calls = {
        "limit": lambda: (X.T @ X, X.T @ target),
        "fit": lambda: NDCGRanker().fit(X, y, qid),
        "Ridge": lambda: Ridge().fit(X, target),
    }
    seconds = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def peak_memory(dtype):
    """What X and the arrays of a fit hold at most, as a multiple of X."""
    X, y, qid = make_data(dtype)
    return 1 + peak_bytes(lambda: NDCGRanker().fit(X, y, qid)) / X.nbytes


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    print(describe_environment("numpy", "scikit-learn"))
    print(f"{N_ROWS:,} x {N_FEATURES}\n")
    rows = []
    for dtype, asked in (("float64", 2), ("float32", 3)):
        seconds = measure(np.dtype(dtype).type, args.rounds)
        ratio = np.median(seconds["fit"] / seconds["limit"])
        medians = [f"{np.median(seconds[n]):.3f}" for n in ("limit", "fit", "Ridge")]
        memory = peak_memory(np.dtype(dtype).type)
        rows.append([dtype, *medians, f"{ratio:.2f}", f"{asked}", f"{memory:.2f}", "1.5"])
    headers = [
        "dtype",
        "X'X + X'y s",
        "fit s",
        "Ridge s",
        "fit / limit",
        "asked",
        "peak / X",
        "asked",
    ]
    print_table(headers, rows)


if __name__ == "__main__":
    main()
