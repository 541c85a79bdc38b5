"""Aggregation of comparisons before learning: figures 2, 3 and 4 of DMJ13.

    python benchmarks/aggregation.py --data DIR --cells DIR [--plot FILE]
    python benchmarks/aggregation.py --sets made --cells DIR --minutes 120 --jobs 2 --runs 50 \\
        --sgd-runs 20

Comparisons of documents of a query are drawn by the Bradley-Terry-Luce model of their grades, the
query uniformly, the pair uniformly within it. Linear scorers are learned from n of them:

* *order k*: least squares on the NDCG targets ``G(s)/Z(s)`` of the mean log-odds s of k of them,
  the U-statistic risk of order k (eq. 19 and 28), for several k; "all" is complete aggregation;
* *order k, Bradley-Terry*: the same with penalized maximum likelihood as the structure. The scores
  of few comparisons have the scale of those of many, where a mean over all other documents, most of
  them never compared, is far smaller; the gains 2^s - 1 are then next to linear.
* *logistic*: the pairwise logistic loss of the comparisons (eq. 29);
* *limit*: least squares on the targets of the limit of the mean log-odds (eq. 27), which needs
  more than comparisons.

The risk is one minus the NDCG, gains 2^s - 1 of the limit scores minus their minimum, no cutoff,
mean over the queries, as in the paper: the queries are the population, and the comparisons are
random. Bands are 95 % over runs, which draw the comparisons anew. lambda ||w||^2 is added to the
mean over the comparisons.

Sets: the three parts of the MSLR sample (89 queries; its features as quantiles) from DIR or
SKCALRANK_DATA, and 10,000 queries of 80 to 120 documents with 136 features made here: normal
features, grades as skewed as those of MSLR (53, 32, 12, 2, 1 %), of a latent relevance that is
linear in 30 features, a few products and thresholds, and noise. No linear scorer has zero risk.
On the sample n is scaled by 89 / 10,000, so that a query has as many comparisons as in the paper.

With `--minutes`, cells are begun until the time is over, run by run, so that all figures have about
as many runs; what is there is printed. The same command goes on where it ended, one file a cell.
"""

from __future__ import annotations

import time

import numpy as np
from _common import (
    Cells,
    data_file,
    data_folder,
    describe_environment,
    optional,
    parser,
    print_table,
    say,
)
from joblib import Parallel, delayed
from sklearn.preprocessing import QuantileTransformer
from threadpoolctl import threadpool_limits

from skcalrank import (
    AggregatedRanker,
    OrderPreservingRanker,
    PairwiseLogisticRanker,
    load_letor,
    sample_comparisons,
)
from skcalrank.measures import NDCG
from skcalrank.metrics import measure_score
from skcalrank.rankers import StochasticAggregatedRanker

FILES = [
    "MSLR-sample/mslr_fold1_train_sample.reconstructed.txt",
    "MSLR-sample/mslr_fold1_valid_sample.txt",
    "MSLR-sample/mslr_fold1_test_sample.txt",
]
PAPER_QUERIES = 10_000
SIZES = (200_000, 400_000, 800_000, 1_600_000)
ORDERS = (1, 2, 5, 10, 20, 50, 100, None)
# Of the second structure, which costs a maximum likelihood for each subset.
FEWER_ORDERS = (5, 20, 100, None)
PENALTY = {"alpha": 0.3}
MEASURE = NDCG()
LAMBDA = 1e-6
LAMBDAS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)
# Comparisons and orders of figure 2.
CASES_2 = [(400_000, k) for k in (1, 10, 100)] + [(n, 100) for n in SIZES if n != 400_000]
UPDATES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)


# -- data --------------------------------------------------------------------------------


class Set:
    """Documents, their grades, and the limit of the structure."""

    def __init__(self, name, X, grades, qid):
        self.name, self.X, self.grades, self.qid = name, X, grades, qid
        self.n_queries = len(np.unique(qid))
        limit = np.empty(len(grades))
        for rows in np.split(np.arange(len(qid)), np.flatnonzero(np.diff(qid)) + 1):
            m, r = len(rows), grades[rows]
            # Eq. 27; from its minimum, which is what gains are of.
            limit[rows] = (m * r - r.sum()) / (m - 1)
            limit[rows] -= limit[rows].min()
        self.limit = limit

    def sample(self, n, seed):
        return sample_comparisons(self.grades, self.qid, n_comparisons=n, random_state=seed)

    def risk(self, ranker):
        return 1.0 - measure_score(MEASURE, self.limit, ranker.predict(self.X), qid=self.qid)


def mslr_sample(folder):
    """All three parts, features as quantiles."""
    parts = [load_letor(data_file(folder, name), n_features=136) for name in FILES]
    X, y, qid = (np.concatenate([part[i] for part in parts]) for i in range(3))
    qid = np.unique(qid, return_inverse=True)[1]
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    keep = np.bincount(qid)[qid] > 1
    X = QuantileTransformer(n_quantiles=100, random_state=0).fit_transform(X[keep]) - 0.5
    return Set("MSLR sample", X, y[keep], qid[keep])


def made(n_queries, d=136, seed=0):
    """Grades of a latent relevance that no linear scorer has in full."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(80, 121, n_queries))
    X = rng.standard_normal((len(qid), d))
    latent = X[:, :30] @ rng.normal(size=30)
    for i, j in rng.integers(0, 30, size=(20, 2)):
        latent += rng.normal() * X[:, i] * X[:, j]
    for i in range(30, 40):
        latent += 2.0 * (X[:, i] > 1.0)
    latent += 2.0 * rng.standard_normal(len(qid))
    grades = np.digitize(latent, np.quantile(latent, [0.53, 0.85, 0.97, 0.99])).astype(float)
    return Set(f"made, {n_queries:,} queries", X, grades, qid)


# -- rankers -----------------------------------------------------------------------------


def regression(order, n, *, lam=LAMBDA, seed=0, **options):
    ranker = OrderPreservingRanker(MEASURE, loss="squared", alpha=lam * n)
    options = {"row_weight": "judgments"} | options  # the risk of the paper
    return AggregatedRanker(ranker=ranker, order=order, random_state=seed, **options)


def learners(n, seed, draws):
    """Every ranker of figure 3 by its name."""
    for order in ORDERS:
        yield f"k={name_of(order)}", regression(order, n, seed=seed, n_draws=draws)
    for order in FEWER_ORDERS:
        other = {"structure": "bradley_terry", "structure_options": PENALTY}
        ranker = regression(order, n, seed=seed, n_draws=min(draws, 2), **other)
        yield f"B-T k={name_of(order)}", ranker
    yield "logistic", PairwiseLogisticRanker(alpha=LAMBDA * n)


def name_of(order):
    return "all" if order is None else str(order)


def on_limit(data):
    """Least squares on the targets of the limit, queries weighed alike."""
    from sklearn.linear_model import Ridge

    from skcalrank import LeastSquaresRanker

    sizes = np.bincount(data.qid)[data.qid]
    ranker = LeastSquaresRanker(MEASURE, estimator=Ridge(LAMBDA * data.n_queries), loss="squared")
    return ranker.fit(data.X, data.limit, data.qid, sample_weight=1.0 / sizes)


# -- figures -----------------------------------------------------------------------------


def band(values):
    """Mean and half width of the 95 % band of the mean."""
    values = np.asarray(values)
    if len(values) < 2:
        return f"{values.mean():.4f}"
    return f"{values.mean():.4f} ± {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def risks(data, n, seed, draws):
    """NDCG risk of every ranker of figure 3, fitted to comparisons that a seed draws."""
    y = data.sample(n, seed)
    rankers = learners(n, seed, draws)
    return {name: data.risk(ranker.fit(data.X, y)) for name, ranker in rankers}


def figure_3(data, args, keep):
    """NDCG risk against k and n."""
    say(f"\nFigure 3, {data.name}: NDCG risk, {args.runs} runs, lambda = {LAMBDA:g}")
    limit = data.risk(on_limit(data))
    curves = {}
    for n in args.sizes:
        n_here = scaled(n, data)
        found = {}
        for _, values in kept(keep, args, (cell_3(data, args, n, run) for run in range(args.runs))):
            for name, risk in values.items():
                found.setdefault(name, []).append(risk)
        if not found:
            continue
        curves[n_here] = found
        print(f"  n = {n_here:,}: {len(found['logistic'])} runs", flush=True)
    if not curves:
        return curves, limit
    columns = [f"n = {n:,}" for n in curves]
    names = list(found)
    rows = [[name, *(band(found[name]) for found in curves.values())] for name in names]
    print_table(["", *columns], [*rows, ["limit", *[f"{limit:.4f}"] * len(columns)]])
    for n, found in curves.items():
        gap = {name: np.subtract(found["logistic"], found[name]) for name in names[:-1]}
        better = [name for name, values in gap.items() if values.mean() > 0]
        best = max(gap, key=lambda name: gap[name].mean())
        say(
            f"  n = {n:,}: regression is better than logistic at {', '.join(better) or 'no k'}; "
            f"most at {best}, by {band(gap[best])}"
        )
    return curves, limit


def risks_by_lambda(data, n, seed, draws):
    """NDCG risk for each lambda."""
    y = data.sample(n, seed)
    rankers = {lam: regression(100, n, lam=lam, seed=seed, n_draws=draws) for lam in LAMBDAS}
    return {lam: data.risk(ranker.fit(data.X, y)) for lam, ranker in rankers.items()}


def figure_4(data, args, keep):
    """NDCG risk against lambda, n = 800,000 and k = 100."""
    n = scaled(800_000, data)
    say(f"\nFigure 4, {data.name}: NDCG risk at n = {n:,}, k = 100, {args.runs} runs")
    found = {lam: [] for lam in LAMBDAS}
    for _, values in kept(keep, args, (cell_4(data, args, run) for run in range(args.runs))):
        for lam, risk in values.items():
            found[lam].append(risk)
    if not found[LAMBDA]:
        return found
    print_table(
        [f"lambda = {lam:g}" for lam in LAMBDAS], [[band(values) for values in found.values()]]
    )
    return found


def figure_2(data, args, keep):
    """Optimality gap against the number of stochastic gradients, one comparison set each."""
    last = checkpoints(args)
    say(f"\nFigure 2, {data.name}: gap of the risk after t updates, over that of w = 0")
    rows, curves = [], {}
    for n, k in CASES_2:
        n_here = scaled(n, data)
        cells = (cell_2(data, args, n, k, run) for run in range(args.sgd_runs))
        found = [values for _, values in kept(keep, args, cells)]
        if not found:
            continue
        gaps = np.mean(found, axis=0)
        rows.append([f"n = {n_here:,}, k = {k}", *(f"{gap:.3g}" for gap in gaps)])
        curves[n_here, k] = gaps
    print_table(["", *(f"t = {t:,}" for t in last)], rows)
    return curves


# -- cells -------------------------------------------------------------------------------


def cell_2(data, args, n, k, run):
    """Name, function and arguments of a cell of figure 2."""
    n_here, at = scaled(n, data), checkpoints(args)
    return f"2-{data.name}-{n_here}-{k}-{at[-1]}-{run}", gap_curve, data, n_here, k, at, run


def cell_3(data, args, n, run):
    """Name, function and arguments of a cell of figure 3."""
    n_here = scaled(n, data)
    return f"3-{data.name}-{n_here}-{run}", risks, data, n_here, run, args.draws


def cell_4(data, args, run):
    """Name, function and arguments of a cell of figure 4."""
    n_here = scaled(800_000, data)
    return f"4-{data.name}-{n_here}-{run}", risks_by_lambda, data, n_here, run, args.draws


def checkpoints(args):
    """Numbers of updates at which figure 2 looks."""
    return [t for t in UPDATES if t <= args.updates]


def all_cells(data, args):
    """Cells of all figures, run by run."""
    for run in range(max(args.runs, args.sgd_runs)):
        if run < args.runs:
            yield from (cell_3(data, args, n, run) for n in args.sizes)
            yield cell_4(data, args, run)
        if run < args.sgd_runs:
            yield from (cell_2(data, args, n, k, run) for n, k in CASES_2)


def fill(data, args, keep):
    """Compute the cells that are begun before the time is over."""
    end = np.inf if args.minutes is None else args.started + 60 * args.minutes

    def one(cell):
        if time.time() < end:
            with threadpool_limits(args.threads):
                keep(*cell)

    missing = (cell for cell in all_cells(data, args) if not keep.holds(cell[0]))
    Parallel(args.jobs)(delayed(one)(cell) for cell in missing)


def kept(keep, args, cells):
    """Names and values of cells; of those that are there, if the time is limited."""
    return [(c[0], keep(*c)) for c in cells if args.minutes is None or keep.holds(c[0])]


def gap_curve(data, n, k, checkpoints, seed):
    """Risk above its minimum after so many updates; the mean target has the same gaps."""
    y = data.sample(n, seed)
    exact = regression(k, n, seed=seed).fit(data.X, y)
    weight = (y.n_judgments / np.bincount(data.qid))[data.qid] / n

    def risk(coef, intercept):
        residual = data.X @ coef + intercept - exact.targets_
        return np.sum(weight * residual**2) + LAMBDA * np.sum(coef**2)

    least = risk(exact.coef_, exact.intercept_)
    whole = risk(np.zeros(data.X.shape[1]), 0.0) - least
    out, done = [], 0
    ranker = StochasticAggregatedRanker(
        measure=MEASURE,
        order=k,
        loss="squared",
        alpha=LAMBDA * n,
        batch_size=1,
        random_state=seed,
    )
    for checkpoint in checkpoints:
        ranker.set_params(n_updates=checkpoint - done).partial_fit(data.X, y)
        done = checkpoint
        out.append((risk(ranker.coef_, ranker.intercept_) - least) / whole)
    return np.array(out)


def scaled(n, data):
    """As many comparisons of a query as in the paper."""
    return round(n * data.n_queries / PAPER_QUERIES)


def main():
    """Run and print."""
    options = parser(__doc__, data=True, cells=True)
    options.add_argument("--runs", type=int, default=5, help="runs of figures 3 and 4 (paper: 50)")
    options.add_argument("--sgd-runs", type=int, default=3, help="runs of figure 2 (paper: 20)")
    options.add_argument("--draws", type=int, default=5, help="random subsets of a query")
    options.add_argument("--updates", type=int, default=UPDATES[-1], help="of figure 2")
    options.add_argument("--queries", type=int, default=PAPER_QUERIES, help="of the made set")
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    options.add_argument(
        "--sets", nargs="+", choices=["sample", "made"], default=["sample", "made"]
    )
    options.add_argument("--minutes", type=float, help="begin no cell after these (needs --cells)")
    options.add_argument("--jobs", type=int, default=1, help="cells at a time (needs --cells)")
    options.add_argument("--plot", metavar="FILE", help="draw the figures (matplotlib)")
    args = options.parse_args()
    if args.cells is None and (args.minutes is not None or args.jobs > 1):
        options.error("--minutes and --jobs need --cells, which holds what was computed")
    args.started = time.time()
    folder = data_folder(args.data, FILES) if "sample" in args.sets else None
    print(describe_environment("numpy", "scipy", "scikit-learn", threads=args.threads))
    keep = Cells(args.cells, f"draws={args.draws}")
    drawn = {}
    with threadpool_limits(args.threads):
        makers = {"sample": lambda: mslr_sample(folder), "made": lambda: made(args.queries)}
        for name in args.sets:
            data = makers[name]()
            say(f"\n{data.name}: {data.n_queries:,} queries, {len(data.qid):,} documents x 136")
            start = time.perf_counter()
            if args.cells is not None:
                fill(data, args, keep)
            figures = figure_2, figure_3, figure_4
            drawn[data.name] = tuple(figure(data, args, keep) for figure in figures)
            print(f"  {time.perf_counter() - start:.0f} s")
    if args.plot:
        plot(args.plot, drawn)


def plot(path, drawn):
    """A row of panels for each set: figure 2, figure 3 for every n, figure 4."""
    if optional("matplotlib") is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(22, 4 * len(drawn)), layout="constrained")
    panels = figure.subplots(len(drawn), 6, squeeze=False)
    for row, (name, (two, three, four)) in zip(panels, drawn.items()):
        for (n, k), gaps in two.items():
            row[0].loglog(UPDATES[: len(gaps)], gaps, label=f"n={n:,}, k={k}")
        row[0].set(title=f"{name}: optimality gap", xlabel="updates")
        row[0].legend(fontsize="x-small")
        curves, limit = three
        for ax, (n, found) in zip(row[1:5], curves.items()):
            for prefix, orders, label in (
                ("k=", ORDERS, "mean log-odds"),
                ("B-T k=", FEWER_ORDERS, "Bradley-Terry"),
            ):
                values = np.array([found[prefix + name_of(order)] for order in orders])
                error = 1.96 * values.std(axis=1) / np.sqrt(max(values.shape[1] - 1, 1))
                at = [ORDERS.index(order) for order in orders]
                ax.errorbar(at, values.mean(axis=1), error, marker=".", label=label)
            ax.axhline(np.mean(found["logistic"]), color="C3", linestyle="--", label="logistic")
            ax.axhline(limit, color="0.5", linestyle=":", label="limit")
            ax.set_xticks(range(len(ORDERS)), [name_of(order) for order in ORDERS])
            ax.set(title=f"n = {n:,}", xlabel="k", ylabel="NDCG risk")
            ax.legend(fontsize="x-small")
        row[5].plot([f"{lam:g}" for lam in four], [np.mean(v) for v in four.values()], marker=".")
        row[5].set(title="k = 100", xlabel="lambda", ylabel="NDCG risk")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
