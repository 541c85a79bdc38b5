"""Label ranking: are pairs worth what they cost beyond scores?

    python benchmarks/label_ranking.py --data DIR --cells DIR

Kendall's tau in 5 x 10-fold cross-validation on the SUSHI data, on eight label-ranking sets, and on
a made set whose majorities are cyclic. DIR (or SKCALRANK_DATA) holds the folders sushi and
label-ranking; `--only` takes some of the sets, `--quick` runs 5 folds once.

In every regressor of scikit-learn four rankers that differ in nothing else:

* pairs, exact: regress 1(i before j) on X, an output for each of the r(r-1) ordered pairs, and
  take the order that contradicts the estimates least (minimum weighted feedback arc set);
* pairs, Algorithm 1: the same fit, decoded by deleting the lightest edges until no cycle is left;
* Spearman: regress the positions (Borda), an output per item, and sort;
* net preference: regress the number of items behind minus those before, and sort.

Which regressor is best differs from set to set. A search over all of them, in Spearman's ranker and
by Kendall's tau of 3 folds of the training part, says what it costs not to know.

Peers: mean position of the k nearest neighbors, k picked among 5 to 200 by 5-fold cross-validation
on the training part for Kendall's tau; scikit-learn's multi-output regression of the positions.

`--kernels` runs one time 10 folds of rankers as they come instead: SpearmanRanker with the kernels
"linear", "gaussian", "auto" and None, which is the default, and the neighbors. The grid of widths
and penalties and the folds were chosen on four sets (authorship, glass, iris, stock) and on made
laws, by a protocol that was written before: the highest mean, and what is cheaper where the
difference is within one standard error. The other four did not enter any choice, but were seen once
before the draws of folds and the targets were settled. "auto" is to be at least the better kernel -
.01.

On complete orders without ties, Spearman's targets, net preferences and positions are affine in
one another, and so are all estimates that are affine in the targets: those rows agree but for
rounding. They are three names of one method, which the table shows rather than claims.

Policy: features are standardized in each training part. Regressors have fixed settings, the same
for pairs and scores, printed above the table; the SUSHI data, large and noisy, have their own.
Equal scores count their expectation. Folds of repeated cross-validation share training rows;
standard errors are sqrt((1/J + n_test/n_train) * variance over the J folds) (Nadeau and Bengio,
2003), which allows for that; the usual standard errors are 2.6 times smaller.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, parser, print_table, say
from _loaders import SUSHI, load_label_ranking, load_sushi
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
from skcalrank.datasets import make_label_ranking
from skcalrank.metrics import get_scorer, kendall_score

SMALL_SETS = ("authorship", "glass", "housing", "iris", "segment", "stock", "vehicle", "wine")
MADE = "made cyclic"

REGRESSORS = {
    "Ridge": Ridge(alpha=1.0),
    "KernelRidge": KernelRidge(alpha=0.1, kernel="rbf"),
    "random forest": RandomForestRegressor(50, max_features=1 / 3, random_state=0),
    "boosted trees": HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=8),
}

#: Much noise and little signal: all are held tighter.
SUSHI_REGRESSORS = REGRESSORS | {
    "KernelRidge": KernelRidge(alpha=10.0, kernel="rbf", gamma=0.005),
    "random forest": RandomForestRegressor(
        50, max_features=1 / 3, min_samples_leaf=20, random_state=0
    ),
    "boosted trees": HistGradientBoostingRegressor(
        max_iter=25, max_leaf_nodes=4, min_samples_leaf=50
    ),
}

EXACT, ALGORITHM = "pairs, exact", "pairs, Algorithm 1"
SCORES = {
    "Spearman": lambda regressor: SpearmanRanker(regressor),
    "net preference": lambda regressor: PairwiseDisagreementRanker(regressor, weights="unit"),
}
KERNELS = ("linear", "gaussian", "auto", None)
NEIGHBORS = "nearest neighbors"
SEARCH = "search over regressors"
N_NEIGHBORS = (5, 10, 20, 50, 100, 200)


class Problem(NamedTuple):
    """A set, with the regressors to use on it."""

    X: np.ndarray
    positions: np.ndarray
    regressors: dict
    law: Any = None


class Fold(NamedTuple):
    """Tau of each (regressor, method), and of each regressor how often the two maps differ."""

    tau: dict
    differ: dict


def problem(folder, name, kernels=False):
    """A set by its name; for kernels without regressors."""
    if kernels:
        return problem(folder, name)._replace(regressors={})
    if name == MADE:
        data = make_label_ranking(1000, 6, cyclic=True, random_state=0)
        return Problem(*data, REGRESSORS, data.law)
    if name == "sushi":
        return Problem(*load_sushi(folder), SUSHI_REGRESSORS)
    return Problem(*load_label_ranking(folder, name), REGRESSORS)


# -- one fold -----------------------------------------------------------------------------


def run_fold(data, train, test, threads):
    """Fit every ranker on the training part and judge it on the test part."""
    tau, differ = {}, {}

    def judge(name, scores):
        tau[name] = kendall_score(-data.positions[test], scores)

    with threadpool_limits(threads), warnings.catch_warnings():
        # A kernel matrix may be close to singular; scikit-learn then solves by least squares.
        warnings.filterwarnings("ignore", message="Singular matrix")
        for name, regressor in data.regressors.items():
            exact, cheap = both_maps(data, train, test, regressor)
            judge((name, EXACT), exact)
            judge((name, ALGORITHM), cheap)
            differ[name] = np.mean((exact != cheap).any(axis=1))
            for method, make in SCORES.items():
                model = make_pipeline(StandardScaler(), make(clone(regressor)))
                model.fit(data.X[train], -data.positions[train])
                judge((name, method), model.predict(data.X[test]))
        others = {}
        if data.regressors:
            others["", SEARCH] = regressor_search(data.regressors)
        else:
            others = {("kernel", str(kernel)): SpearmanRanker(kernel=kernel) for kernel in KERNELS}
        for name, model in (others | peers(data, len(train))).items():
            model.fit(data.X[train], -data.positions[train])
            judge(name, model.predict(data.X[test]))
    return Fold(tau, differ)


def both_maps(data, train, test, regressor):
    """Predictions of the pairwise surrogate, fitted once, by the exact map and Algorithm 1."""
    ranker = PairwiseDisagreementRanker(clone(regressor), surrogate="pairwise", pred="exact")
    model = make_pipeline(StandardScaler(), ranker)
    model.fit(data.X[train], PreferenceTarget.from_orders(data.positions[train]))
    exact = model.predict(data.X[test])
    # The fit does not depend on the map.
    model[-1].set_params(pred="topological")
    return exact, model.predict(data.X[test])


def regressor_search(regressors):
    """The regressor whose ranker is best on folds of the training part."""
    grid = {"spearmanranker__estimator": list(regressors.values())}
    folds = KFold(3, shuffle=True, random_state=0)
    ranker = make_pipeline(StandardScaler(), SpearmanRanker())
    return GridSearchCV(ranker, grid, scoring=get_scorer("kendall"), cv=folds)


def peers(data, n_train):
    """Regressions of the positions, and the nearest neighbors."""
    out = {
        (name, "scikit-learn on positions"): clone(data.regressors[name])
        for name in ("Ridge", "random forest")
        if name in data.regressors
    }
    # An inner training part has 4/5 of the rows.
    sizes = [k for k in N_NEIGHBORS if k <= n_train * 4 // 5]
    folds = KFold(5, shuffle=True, random_state=0)
    out["", NEIGHBORS] = GridSearchCV(
        KNeighborsRegressor(), {"n_neighbors": sizes}, scoring=get_scorer("kendall"), cv=folds
    )
    return {name: make_pipeline(StandardScaler(), model) for name, model in out.items()}


def run_folds(data, splits, args):
    """Run some folds, several at a time."""
    return Parallel(args.jobs)(
        delayed(run_fold)(data, train, test, args.threads) for train, test in splits
    )


# -- all folds ----------------------------------------------------------------------------


class Results(NamedTuple):
    """Of one set: tau of each method in each fold, shares, and the factor of the errors."""

    tau: dict
    differ: dict
    share: float

    def mean(self, name):
        return self.tau[name].mean()

    def error(self, values):
        """Standard error of a mean over folds that share training rows."""
        return np.sqrt((1 / len(values) + self.share) * values.var(ddof=1))

    def difference(self, regressor):
        """Exact map on pairs minus the best score surrogate: mean and standard error."""
        best = max(SCORES, key=lambda method: self.mean((regressor, method)))
        gap = self.tau[regressor, EXACT] - self.tau[regressor, best]
        return gap.mean(), self.error(gap)


def cross_validate(name, data, args):
    """Run all folds of a set; each repetition is a cell."""
    n_splits, n_repeats = (5, 1) if args.quick else (10, 1 if args.kernels else 5)
    cells = Cells(args.cells, f"{n_splits} folds{' of kernels' if args.kernels else ''}")
    splitter = RepeatedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=0)
    splits = list(splitter.split(data.X))
    folds = []
    for first in range(0, len(splits), n_splits):
        of_repeat = splits[first : first + n_splits]
        folds += cells(f"{name}-{first}", run_folds, data, of_repeat, args)
    return Results(
        {name: np.array([fold.tau[name] for fold in folds]) for name in folds[0].tau},
        {name: np.array([fold.differ[name] for fold in folds]) for name in folds[0].differ},
        1 / (n_splits - 1),
    )


# -- what is printed ----------------------------------------------------------------------


def shown(regressor):
    """Name and settings on one line."""
    return " ".join(str(regressor).split())


def number(value, digits=3, sign=False):
    """``.873``, without the zero."""
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def print_taus(results):
    """A row per method, a column per set; the best of a column is marked."""
    columns = list(results)
    methods = list(next(iter(results.values())).tau)
    best = {s: max(number(results[s].mean(m)) for m in methods) for s in columns}
    rows = []
    for method in methods:
        cells = []
        for name in columns:
            mean = number(results[name].mean(method))
            error = number(results[name].error(results[name].tau[method]))
            cells.append(f"{'*' if mean == best[name] else ''}{mean} ± {error}")
        rows.append([": ".join(filter(None, method)), *cells])
    print_table(["Kendall's tau", *columns], rows)


def print_differences(results):
    """Paired differences of pairs and scores in the same regressor."""
    rows = []
    for name, result in results.items():
        pairs = (result.difference(regressor) for regressor in result.differ)
        rows.append([name, *(f"{number(g, 4, True)} ± {number(e, 4)}" for g, e in pairs)])
    say("\nPairs with the exact map minus the best score surrogate, in the same regressor:\n")
    print_table(["set", *REGRESSORS], rows)


def print_kernels(results):
    """Paired differences of the default to the linear kernel, and to the better one of a set."""
    rows = []
    for name, result in results.items():
        linear, gaussian, _, default = (result.tau["kernel", str(kernel)] for kernel in KERNELS)
        better = max(linear, gaussian, key=np.mean)
        cells = (
            f"{number((default - x).mean(), 4, True)} ± {number(result.error(default - x), 4)}"
            for x in (linear, better)
        )
        rows.append([name, *cells])
    say("\nThe kernel of the default minus the others:\n")
    print_table(["set", "linear", "the better one"], rows)


def print_shares(results):
    rows = [
        [name, *(f"{result.differ[regressor].mean():.2%}" for regressor in result.differ)]
        for name, result in results.items()
    ]
    say("\nShare of test instances on which the exact map and Algorithm 1 give other orders:\n")
    print_table(["set", *REGRESSORS], rows)


def print_verdict(results):
    """Where pairs win, computed from the numbers."""
    outcome = {"win": [], "lose": [], "level": []}
    for name, result in results.items():
        for regressor in result.differ:
            gap, error = result.difference(regressor)
            key = "level" if abs(gap) <= 2 * error else "win" if gap > 0 else "lose"
            outcome[key].append((name, regressor, gap))
    total = sum(map(len, outcome.values()))
    say(
        f"\nOf {total} comparisons of a set and a regressor, beyond two standard errors (chance "
        f"alone would put about {0.05 * total:.0f} there):"
    )
    for key, verb in (("win", "pairs beat scores"), ("lose", "scores beat pairs")):
        cases = sorted(outcome[key], key=lambda case: -abs(case[2]))
        said = ", ".join(f"{s} with {m} ({number(g, 4, True)})" for s, m, g in cases)
        say(f"  {verb} in {len(cases)}{': ' if cases else ''}{said}.")
    widest = max((abs(gap) for *_, gap in outcome["level"]), default=0.0)
    say(f"  Level in {len(outcome['level'])}; the widest of these gaps is {number(widest, 4)}.")
    gains = [r.tau[m, EXACT] - r.tau[m, ALGORITHM] for r in results.values() for m in r.differ]
    widest = max((gain.mean() for gain in gains), key=abs)
    say(f"  The exact map gains at most {number(widest, 4, True)} on Algorithm 1.")


def main():
    """Run and print."""
    names = [*SMALL_SETS, "sushi", MADE]
    options = parser(__doc__, data=True, cells=True)
    options.add_argument("--quick", action="store_true", help="5 folds, once")
    options.add_argument("--kernels", action="store_true", help="rankers as they come, 10 folds")
    options.add_argument("--only", nargs="+", choices=names, default=names, metavar="SET")
    options.add_argument("--jobs", type=int, default=2, help="folds at a time (default 2)")
    args = options.parse_args()
    needed = [f"label-ranking/{name}.txt" for name in SMALL_SETS if name in args.only]
    needed += [SUSHI] if "sushi" in args.only else []
    folder = data_folder(args.data, needed) if needed else None
    print(describe_environment("numpy", "scipy", "scikit-learn", threads=args.threads))
    folds = "1 x 5" if args.quick else "1 x 10" if args.kernels else "5 x 10"
    say(f"{folds} folds, {args.jobs} at a time")
    for name, regressor in () if args.kernels else REGRESSORS.items():
        say(f"{name}: {shown(regressor)}; sushi: {shown(SUSHI_REGRESSORS[name])}")
    results = {}
    for name in args.only:
        start = time.perf_counter()
        data = problem(folder, name, args.kernels)
        results[name] = cross_validate(name, data, args)
        (n, d), r = data.X.shape, data.positions.shape[1]
        bayes = f", best possible tau {data.law.bayes_value():.3f}" if data.law else ""
        print(f"{time.perf_counter() - start:.0f} s")
        say(f"{name}: {n} x {d}, {r} items{bayes}")
    print()
    print_taus(results)
    if args.kernels:
        print_kernels(results)
        return
    print_differences(results)
    print_shares(results)
    print_verdict(results)


if __name__ == "__main__":
    main()
