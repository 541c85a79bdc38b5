"""Five folds times 20 penalties: LeastSquaresRankerCV against GridSearchCV around the ranker.

    python benchmarks/speed_cv.py
    python benchmarks/speed_cv.py --rows 1000000

Both choose the penalty of NDCG@10 over the same folds of whole queries, on data made here with 136
features, under both losses, and score every penalty on every fold; the scores are compared one by
one. The search is run once, LeastSquaresRankerCV several times, in one process. "Training" is the
time of the search without its scoring: fits, the rows that are cut out for them, the last fit; of
LeastSquaresRankerCV, a fit that solves for every penalty of every fold and scores none. A second
table has it on one thread and on all cores.
"""

from __future__ import annotations

import time

import numpy as np
from _common import describe_environment, parser, print_table, print_threads, say
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from speed_fit import N_FEATURES, make_data, without_scores
from threadpoolctl import threadpool_limits

from skcalrank import LeastSquaresRankerCV, NDCGRanker, QueryKFold, RankingTarget, get_scorer

ALPHAS = np.logspace(-2, 6, 20)
ASKED = {"training": 150, "all": 40}


def timed(call):
    """Seconds of a call, and what it returns."""
    start = time.perf_counter()
    out = call()
    return time.perf_counter() - start, out


def search(X, y, qid, loss):
    """Seconds of the training and of all of the search, and the fitted search."""
    grid = GridSearchCV(
        NDCGRanker(estimator=Ridge(), loss=loss),
        {"estimator__alpha": ALPHAS},
        cv=QueryKFold(5),
        scoring=get_scorer("ndcg@10"),
    )
    total, grid = timed(lambda: grid.fit(X, RankingTarget(y, qid)))
    scoring = grid.cv_results_["mean_score_time"].sum() * grid.n_splits_
    return {"training": total - scoring, "all": total}, grid


def ours(X, y, qid, loss, rounds):
    """Seconds of the training and of all of a fit, round by round, and the fitted ranker."""
    ranker = LeastSquaresRankerCV("ndcg@10", alphas=ALPHAS, cv=QueryKFold(5), loss=loss)
    seconds = {"training": [], "all": []}
    for _ in range(rounds):
        with without_scores():
            seconds["training"].append(timed(lambda: ranker.fit(X, y, qid))[0])
        seconds["all"].append(timed(lambda: ranker.fit(X, y, qid))[0])
    return {name: np.array(values) for name, values in seconds.items()}, ranker


def largest_difference(grid, ranker):
    """Of the scores of all penalties on all folds."""
    names = [f"split{i}_test_score" for i in range(grid.n_splits_)]
    return max(np.abs(grid.cv_results_[n] - ranker.cv_results_[n]).max() for n in names)


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=250_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--dtypes", nargs="+", default=["float64", "float32"])
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn", threads=args.threads))
    say(f"{args.rows:,} x {N_FEATURES}, 5 folds x {len(ALPHAS)} penalties\n")
    rows, calls = [], {}
    with threadpool_limits(args.threads, "blas"):
        for dtype in args.dtypes:
            X, y, qid = make_data(np.dtype(dtype).type, args.rows)
            for loss in ("pairwise_squared", "squared"):
                mine, ranker = ours(X, y, qid, loss, args.rounds)
                name = f"{dtype}, {loss}"
                calls[name] = lambda ranker=ranker, X=X, y=y, qid=qid: ranker.fit(X, y, qid)
                theirs, grid = search(X, y, qid, loss)
                differs = f"{largest_difference(grid, ranker):.0e}"
                same = "same" if grid.best_index_ == ranker.best_index_ else "another"
                for part, asked in ASKED.items():
                    ratio = theirs[part] / mine[part]
                    seconds = f"{theirs[part]:.1f}", f"{np.median(mine[part]):.2f}"
                    spread = f"{ratio.min():.0f} to {ratio.max():.0f}"
                    median = f"{np.median(ratio):.0f}"
                    head = [f"{dtype}, {loss}, {part}", *seconds, median, spread, asked]
                    rows.append([*head, differs, same])
    headers = ["", "search s", "skcalrank s", "times faster", "range", "goal"]
    print_table([*headers, "scores differ by", "penalty"], rows)
    print_threads(calls, args.rounds)


if __name__ == "__main__":
    main()
