"""Memory and CPU of fits by rows and by features, beside LightGBM's lambdarank.

    python benchmarks/scaling_memory.py
    python benchmarks/scaling_memory.py --rows 50000 100000 200000 --closed-rows 400000

Queries of 100 documents in single precision, with grades 0 to 4 that depend on some features. Each
fit is a process of its own, after one to few rows. Memory is what the peak of the process grows by
in the fit, beyond the table, labels and queries, which it holds before. Rankers with trees have 100
rounds without early stopping, of 31 leaves, all libraries on one thread; the column of rounds is
their CPU time by round. Exponents are slopes of the logarithms of the figures over the sizes that
all are fitted to, closed forms of further rows left out; "<--" marks those in rows that are above
lambdarank's by more than .05.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
from itertools import pairwise

import lightgbm
import numpy as np
from _common import describe_environment, parser, print_table, say

from skcalrank import BoostedRanker, NDCGRanker, TabularRanker
from skcalrank.boosting import group_sizes

SIZE, FEW, N_ROUNDS, EXCESS = 100, 2_000, 100, 0.05
UNIT = 1 if sys.platform == "darwin" else 1024
REFERENCE = "lambdarank"


def trees(**params):
    """A boosted ranker of 100 rounds."""
    return BoostedRanker(
        engine="lightgbm",
        n_estimators=N_ROUNDS,
        validation_fraction=None,
        max_leaf_nodes=31,
        n_jobs=1,
        **params,
    )


def lambdarank(X, y, qid):
    """Trees of LightGBM for its own objective."""
    data = lightgbm.Dataset(X, y, group=group_sizes(qid))
    options = {"objective": REFERENCE, "num_threads": 1, "verbosity": -1}
    return lightgbm.train(options | {"force_row_wise": True}, data, N_ROUNDS)


#: What is fitted, and the number of its rounds in all.
FITS = {
    REFERENCE: (lambdarank, N_ROUNDS),
    "BoostedRanker()": (lambda *rows: trees().fit(*rows), N_ROUNDS),
    "TabularRanker()": (lambda *rows: TabularRanker(trees=trees()).fit(*rows), 2 * N_ROUNDS),
    "TabularRanker(trees=None)": (lambda *rows: TabularRanker(trees=None).fit(*rows), None),
    "NDCGRanker()": (lambda *rows: NDCGRanker().fit(*rows), None),
}


def made(n_rows, n_features):
    """X in single precision, grades and queries."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    value = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + rng.standard_normal(n_rows)
    return X, np.digitize(value, [0.5, 1.5, 2.5, 3.5]), np.arange(n_rows) // SIZE


def fit_here(name, n_rows, n_features):
    """Fit in this process, and print CPU seconds and the bytes that the peak grows by."""
    X, y, qid = made(n_rows, n_features)
    fit, _ = FITS[name]
    few = slice(FEW)
    fit(X[few], y[few], qid[few])
    gc.collect()
    before = UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    fit(X, y, qid)
    seconds = time.process_time() - start
    print(seconds, UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def measured(name, shape):
    """CPU seconds and bytes of a fit in a new process."""
    command = [sys.executable, __file__, "--fit", name, *map(str, shape)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(word) for word in out.splitlines()[-1].split()]


def table_of(shapes, along, further=()):
    """Rows of a table for sizes that grow along an axis, and for further ones of closed forms."""
    sizes = np.array([shape[along] for shape in shapes], dtype=float)
    limits = None
    for name, (_, n_rounds) in FITS.items():
        own = [*shapes, *(further if n_rounds is None else ())]
        figures = np.array([measured(name, shape) for shape in own])
        common = np.log(np.maximum(figures[: len(shapes)], 1e-3)).T
        slopes = [np.polyfit(np.log(sizes), of, 1)[0] for of in common]
        limits = slopes if limits is None else limits
        for shape, (seconds, grown) in zip(own, figures):
            table = 4e-6 * shape[0] * shape[1]
            per_round = "" if n_rounds is None else f"{1e3 * seconds / n_rounds:.1f}"
            cells = [f"{table:.0f}", f"{grown / 1e6:.0f}", f"{seconds:.2f}", per_round]
            told = ["", ""]
            if shape == shapes[-1]:
                told = [
                    f"{slope:.2f}" + (" <--" if along == 0 and slope > limit + EXCESS else "")
                    for slope, limit in zip(slopes[::-1], limits[::-1])
                ]
            yield [f"{name}, {shape[0]:,} x {shape[1]}", *cells, *told]


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--rows", type=int, nargs="+", default=[100_000, 400_000])
    options.add_argument("--closed-rows", type=int, nargs="*", default=[2_000_000])
    options.add_argument("--features", type=int, nargs="+", default=[34, 68, 136])
    args = options.parse_args()
    for name, values, least in (("rows", args.rows, 2), ("features", args.features, 1)):
        if any(a >= b for a, b in pairwise(values)) or len(values) < least:
            options.error(f"--{name}: {least} sizes or more, in ascending order")
    print(describe_environment("numpy", "scikit-learn", "lightgbm", threads=1))
    columns = ["", "MB of the table", "MB of the fit", "CPU s", "CPU ms by round"]
    columns += ["exponent of memory", "exponent of CPU"]
    n_columns = args.features[-1]
    by_rows, further = ([(n, n_columns) for n in of] for of in (args.rows, args.closed_rows))
    say("\nBy rows:\n")
    print_table(columns, table_of(by_rows, 0, further))
    if len(args.features) > 1:
        say("\nBy features:\n")
        print_table(columns, table_of([(args.rows[0], d) for d in args.features], 1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        fit_here(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
