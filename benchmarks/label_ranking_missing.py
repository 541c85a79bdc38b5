"""Label ranking from partial orders: what is left if labels are missing?

    python benchmarks/label_ranking_missing.py --data DIR

Each label of a training order is removed with probability 0, .3 or .6, as in Cheng, Huehn and
Huellermeier (ICML 2009); rows that compare nothing afterwards are dropped, and test orders stay
complete. Kendall's tau in 5 folds on eight label-ranking sets. DIR (or SKCALRANK_DATA) holds the
folder label-ranking; `--only` takes some of the sets.

All rankers of the package get the labels with NaN for what is missing:

* pairs: a regression for each of the r(r-1)/2 differences, on the rows that rank both items, and
  the order that contradicts the estimates least;
* scores: the sum over the pairs of each item, regressed on the rows that rank both, and a sort;
* pairs, missing as 0: the same pairs from a PreferenceTarget, in which a pair that a row does not
  compare counts as a preference of weight 0.

Beside them k nearest neighbors of each pair (the same ranker around KNeighborsRegressor), and
scikit-lr, if it is installed: k nearest neighbors with the Mallows and the Plackett-Luce model, and
its decision tree. k is picked among 5, 10, 20 and 50 by 3 folds of the training part, for Kendall's
tau on the items that are ranked, everywhere alike; a k above the number of rows is left out.

Features are standardized in each training part; regressors have the fixed settings of
label_ranking.py. Standard errors are of the mean over folds, which share training rows, as there.
CPU seconds are of fit and prediction of all folds, the search for k included.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from _common import (
    data_folder,
    describe_environment,
    optional,
    parser,
    print_table,
    say,
)
from label_ranking import REGRESSORS, SMALL_SETS, Results, number, problem, shown
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
from skcalrank.metrics import get_scorer, kendall_score

SHARES = (0.0, 0.3, 0.6)
USED = ("Ridge", "KernelRidge", "random forest")
N_NEIGHBORS = (5, 10, 20, 50)


def rankers() -> dict[str, Any]:
    """Rankers of labels in which NaN is missing, by name."""
    out = {}
    for name in USED:
        out[f"{name}: pairs"] = pairs(REGRESSORS[name], pair_targets="differences")
        out[f"{name}: scores"] = PairwiseDisagreementRanker(clone(REGRESSORS[name]), weights="unit")
    neighbors = pairs(KNeighborsRegressor(), pair_targets="differences")
    folds, grid = KFold(3, shuffle=True, random_state=0), {"estimator__n_neighbors": N_NEIGHBORS}
    out["nearest neighbors: pairs"] = GridSearchCV(
        neighbors, grid, scoring=get_scorer("kendall"), cv=folds
    )
    return out


def pairs(regressor, **options):
    """The pairwise surrogate of unit preferences."""
    return PairwiseDisagreementRanker(
        clone(regressor), surrogate="pairwise", weights="unit", **options
    )


@cache
def has_scikit_lr():
    """Whether scikit-lr is installed; if not, say so once."""
    return optional("sklr") is not None


def peers() -> dict[str, Any]:
    """Rankers of scikit-lr, which take positions without gaps, by name."""
    if not has_scikit_lr():
        return {}
    from sklr.neighbors import KNeighborsLabelRanker
    from sklr.tree import DecisionTreeLabelRanker

    def score(model, X, positions):
        return kendall_score(-positions, -model.predict(X))

    folds = KFold(3, shuffle=True, random_state=0)
    out: dict[str, Any] = {
        f"scikit-lr: nearest neighbors, {model}": GridSearchCV(
            KNeighborsLabelRanker(model=model),
            {"n_neighbors": N_NEIGHBORS},
            scoring=score,
            cv=folds,
        )
        for model in ("mallows", "plackett_luce")
    }
    return out | {"scikit-lr: decision tree": DecisionTreeLabelRanker(random_state=0)}


def without_gaps(positions):
    """Positions from 1 among the items that each row ranks; NaN stays."""
    order = np.argsort(np.argsort(positions, axis=1), axis=1) + 1.0
    return np.where(np.isnan(positions), np.nan, order)


def run_fold(data, share, train, test, seed):
    """Kendall's tau and CPU seconds of every method in one fold."""
    positions = data.positions[train].astype(float)
    positions[np.random.default_rng(seed).random(positions.shape) < share] = np.nan
    kept = np.isfinite(positions).sum(axis=1) > 1
    positions = without_gaps(positions[kept])
    scale = StandardScaler().fit(data.X[train][kept])
    X, X_test = scale.transform(data.X[train][kept]), scale.transform(data.X[test])
    stated = PreferenceTarget.from_orders(positions)
    tau, seconds = {}, {}

    def judge(name, model, labels, sign=1):
        start = time.process_time()
        scores = sign * model.fit(X, labels).predict(X_test)
        seconds[name] = time.process_time() - start
        tau[name] = kendall_score(-data.positions[test], scores)

    for name, model in rankers().items():
        judge(name, model, -positions)
    for name in USED:
        judge(f"{name}: pairs, missing as 0", pairs(REGRESSORS[name]), stated)
    for name, model in peers().items():
        judge(name, model, positions, sign=-1)
    return tau, seconds


def cross_validate(data, share, n_splits):
    """Run all folds of a set."""
    folds = KFold(n_splits, shuffle=True, random_state=0).split(data.X)
    with warnings.catch_warnings():
        # A kernel matrix may be close to singular; scikit-learn then solves by least squares.
        warnings.filterwarnings("ignore", message="Singular matrix")
        # k above the number of rows, and Plackett-Luce models of scikit-lr that did not converge.
        warnings.filterwarnings("ignore", message="Scoring failed|One or more of the test scores")
        warnings.filterwarnings("ignore", message="The parameter vector of the Plackett-Luce")
        done = [run_fold(data, share, *fold, seed) for seed, fold in enumerate(folds)]
    tau = {name: np.array([fold[0][name] for fold in done]) for name in done[0][0]}
    seconds = {name: sum(fold[1][name] for fold in done) for name in done[0][1]}
    return Results(tau, {}, 1 / (n_splits - 1)), seconds


def print_share(share, results, seconds):
    """A row per method, a column per set, at one share of missing labels."""
    sets, methods = list(results), list(next(iter(results.values())).tau)
    means = {m: [results[s].mean(m) for s in sets] for m in methods}
    best = {s: max(number(means[m][c]) for m in methods) for c, s in enumerate(sets)}
    rows = []
    for method in methods:
        cells = [number(mean) for mean in means[method]]
        cells = [f"{'*' if cell == best[s] else ''}{cell}" for cell, s in zip(cells, sets)]
        total = sum(seconds[s][method] for s in sets)
        rows.append([method, *cells, number(np.mean(means[method])), f"{total:.1f}"])
    say(f"\n{share:.0%} of the labels missing:\n")
    print_table(["Kendall's tau", *sets, "mean", "CPU s"], rows)


def print_gaps(results):
    """Paired differences between methods, at each share, and where they exceed two errors."""
    first = next(iter(results[SHARES[0]].values())).tau
    own = [m for m in first if m.endswith(": pairs")]
    comparisons = [(f"{n}: pairs", f"{n}: scores") for n in USED]
    comparisons += [(f"{n}: pairs", f"{n}: pairs, missing as 0") for n in USED]
    comparisons += [(m, peer) for m in own for peer in first if peer.startswith("scikit-lr")]
    rows = []
    for better, worse in comparisons:
        cells = []
        for of_set in results.values():
            gaps = [(r.tau[better] - r.tau[worse], r) for r in of_set.values()]
            sure = [np.sign(g.mean()) for g, r in gaps if abs(g.mean()) > 2 * r.error(g)]
            mean = np.mean([g.mean() for g, _ in gaps])
            cells.append(f"{number(mean, 3, True)} ({sure.count(1)} : {sure.count(-1)})")
        rows.append([f"{better} - {worse}", *cells])
    say(
        "\nMean difference over the sets (on how many the first is better : worse by two errors):\n"
    )
    print_table(["missing", *(f"{share:.0%}" for share in results)], rows)


def main():
    """Run and print."""
    options = parser(__doc__, data=True)
    options.add_argument(
        "--only", nargs="+", choices=SMALL_SETS, default=list(SMALL_SETS), metavar="SET"
    )
    options.add_argument("--folds", type=int, default=5, help="number of folds (default 5)")
    args = options.parse_args()
    folder = data_folder(args.data, [f"label-ranking/{name}.txt" for name in args.only])
    packages = ("numpy", "scipy", "scikit-learn", "scikit-lr")
    print(describe_environment(*packages, threads=args.threads))
    say(f"{args.folds} folds")
    for name in USED:
        say(f"{name}: {shown(REGRESSORS[name])}")
    results, seconds = {}, {}
    with threadpool_limits(args.threads):
        for share in SHARES:
            results[share], seconds[share] = {}, {}
            for name in args.only:
                data = problem(folder, name)
                of_set = cross_validate(data, share, args.folds)
                results[share][name], seconds[share][name] = of_set
                print(f"{name}, {share:.0%} missing: done", flush=True)
    for share in SHARES:
        print_share(share, results[share], seconds[share])
    print_gaps(results)


if __name__ == "__main__":
    main()
