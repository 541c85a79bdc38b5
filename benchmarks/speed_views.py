"""Linear rankers of a table: one pass over chunks of queries, or one ranker after the other.

    python benchmarks/speed_views.py

`TabularRanker(trees=None)` learns from scaled numbers, their logarithms and hinges, in all six
columns for each of the table, which it makes chunk by chunk for all three at once. The same three
as pipelines of a `StackingRanker` are fitted one after the other to all of their columns. Each fit
is the second of its process, after one to few rows. Memory is what the peak of the process grows by
in the fit, beyond the table itself; the goal is half the table and 64 MB. Scores are compared.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np
from _common import describe_environment, parser, print_table
from sklearn.preprocessing import FunctionTransformer

from skcalrank import LeastSquaresRanker, StackingRanker, TabularRanker
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, QueryScaler, signed_log1p

SHAPES = ((20_000, 136), (80_000, 136), (200_000, 25))
SIZE, FEW = 100, 2000
UNIT = 1 if sys.platform == "darwin" else 1024


def rankers():
    """Both forms of the ranker by name."""
    logs = FunctionTransformer(signed_log1p, feature_names_out="one-to-one")
    curves = {"scaled": QueryScaler(), "logs": logs, "hinges": QuantileHinges()}
    views = [
        (name, make_query_pipeline(LinearColumns(curve), LeastSquaresRanker("ndcg@10")))
        for name, curve in curves.items()
    ]
    return {
        "chunks": TabularRanker(trees=None),
        "one by one": StackingRanker(views, targets="grades"),
    }


def made(n_rows, n_features):
    """Rows of queries of 100 documents, and grades that depend on some features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    value = X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n_rows)
    return X, np.digitize(value, [0.5, 1.5, 2.5]), np.arange(n_rows) // SIZE


def fit_here(name, n_rows, n_features):
    """Fit in this process, and print CPU seconds, bytes, and scores of some rows."""
    X, y, qid = made(n_rows, n_features)
    ranker = rankers()[name].fit(X[:FEW, :5], y[:FEW], qid[:FEW])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    ranker.fit(X, y, qid)
    seconds = time.process_time() - start
    grown = UNIT * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    print(seconds, grown, *ranker.predict(X[:SIZE], qid[:SIZE]).tolist())


def fits(name, shape, rounds):
    """CPU seconds and bytes of fits in new processes, and the scores of the last."""
    command = [sys.executable, __file__, "--fit", name, *map(str, shape)]
    lines = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(rounds)
    ]
    values = np.array(lines, dtype=float)
    return values[:, 0], values[:, 1], values[-1, 2:]


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--rounds", type=int, default=5, help="processes of each row")
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn"))
    rows = []
    for shape in SHAPES:
        scores = {}
        for name in rankers():
            seconds, grown, scores[name] = fits(name, shape, args.rounds)
            table = 8 * shape[0] * shape[1] / 1e6
            rows.append(
                [
                    f"{shape[0]:,} x {shape[1]}, {name}",
                    f"{np.median(seconds):.2f} ({seconds.min():.2f} to {seconds.max():.2f})",
                    f"{table:.0f}",
                    f"{np.median(grown) / 1e6:.0f}",
                    f"{table / 2 + 64:.0f}" if name == "chunks" else "",
                ]
            )
        first, second = scores.values()
        rows[-1].append(f"{np.abs(first - second).max() / np.abs(second).max():.0e}")
        rows[-2].append("")
    columns = ["rows and features", "CPU s", "MB of the table", "MB of the fit", "goal"]
    print_table([*columns, "scores differ by"], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        fit_here(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
