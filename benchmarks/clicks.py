"""Rankers of clicks with position bias, judged by the labels behind them; offline evaluation.

    python benchmarks/clicks.py --data DIR --cells DIR
    python benchmarks/clicks.py --only intervals

*Rankers.* MQ2008 (three parts of five), the sample of MSLR-WEB10K (53 queries, logarithms) and a
made law (500 queries of 20) have grades. A document is relevant with probability .1 for the lowest
grade and 1 for the highest, with steps that double. A logger learned from the labels of five
queries orders the documents, and users click relevant documents that they examine. Position k is
examined with probability 1 / k to the power of the exponent. Rankers learn from the clicks and are
judged by NDCG@10 with the grades of other queries.

A case differs from the first one, exponent 1 and all documents shown in one order, in one respect:
the exponent; the exponent that the rankers assume; only ten documents shown; users of the cascade
model; random orders. Cells are written to the folder as they finish, and read where they exist.

*Intervals.* 300 queries of 10 documents and 10 sessions each are drawn anew 1,000 times; the table
shows how often the interval holds the value over 40,000 queries, and how often ``safety`` passes a
candidate that is exactly as good as the logger (at most .05 is promised).
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, optional, parser, print_table, say
from _letor import SETS, Part, has_relevant
from sklearn.isotonic import IsotonicRegression

from skcalrank import AggregatedRanker, BoostedRanker, DCGRanker, sample_sessions
from skcalrank.aggregation import position_based
from skcalrank.evaluation import offline_evaluate
from skcalrank.evaluation._choose import chosen_by_clicks, default_candidates
from skcalrank.measures import DCG
from skcalrank.metrics import dcg_score, ndcg_score

METHODS = (
    *("naive", "IPS", "clipped", "e / (e + 5)", "shrunk", "chosen", "trees, e / (e + 5)"),
    *("LightGBM position=", "XGBoost unbiased", "full labels"),
)
PICKED = {"m=5": "e / (e + 5)", "clipped": "clipped", "naive": "naive"}
BY_IMPRESSIONS = 10  # sessions of a query up to which trees see each impression


class Case(NamedTuple):
    """How users click, what is shown, and what rankers assume."""

    name: str
    exponent: float = 1.0
    assumed: float | None = None
    n_shown: int | None = None
    model: str = "position"
    random: bool = False
    sessions: tuple[int, ...] = (1, 10, 100)


CASES = (
    Case("exponent 1", sessions=(1, 10, 100, 1000)),
    Case("exponent .5", exponent=0.5),
    Case("exponent 2", exponent=2.0),
    Case("exponent 1, taken for .6", assumed=0.6, sessions=(10, 100)),
    Case("exponent 1, taken for 1.4", assumed=1.4, sessions=(10, 100)),
    Case("first ten shown", n_shown=10),
    Case("cascade users", model="cascade"),
    Case("random orders", random=True),
)


# -- data ----------------------------------------------------------------------------


def made(n_queries, seed):
    """Queries of 20 documents whose utility is linear in 6 of 40 features, up to a wave."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20 * n_queries, 40))
    utility = X[:, :6] @ np.linspace(1, 0.2, 6) + np.sin(2 * X[:, 6]) + rng.normal(size=len(X))
    y = np.digitize(utility, [0.5, 1.5, 2.5, 3.5]).astype(float)
    return Part(X, y, np.repeat(np.arange(n_queries), 20))


def parts(name, folder):
    """Training and test part of a data set."""
    if name == "made law":
        return made(500, 0), made(1000, 1)
    train, _, test = SETS[name][1](folder)[0]
    if name == "MSLR-sample":
        train, test = (Part(np.sign(X) * np.log1p(np.abs(X)), y, q) for X, y, q in (train, test))
    return train, test


def relevance(y, highest):
    return 0.1 + 0.9 * (2.0**y - 1) / (2.0**highest - 1)


def weak_logger(train, seed):
    """Scores of a ranker that saw the labels of five queries."""
    rng = np.random.default_rng(seed)
    judged = np.unique(train.qid)[has_relevant(train)]
    rows = np.isin(train.qid, rng.choice(judged, 5, replace=False))
    return (
        DCGRanker(gain="linear").fit(train.X[rows], train.y[rows], train.qid[rows]).predict(train.X)
    )


# -- methods -------------------------------------------------------------------------


def linear(targets, weight):
    def fit(train):
        return DCGRanker(gain="linear").fit_targets(
            train.X, targets, train.qid, sample_weight=weight
        )

    return fit


def rankers(train, y, theta, logger):
    """Fitted closed forms by name."""
    shown = np.bincount(y.shown_rows, minlength=len(y))
    ips = np.bincount(
        y.shown_rows, y.clicked / theta[y.position - 1], minlength=len(y)
    ) / np.maximum(shown, 1)
    counts = position_based(y, theta)
    curve = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    curve.fit(logger, np.minimum(counts.relevance, 1), counts.examinations)
    options = {"propensity": theta, "prior": curve.predict(logger)}
    yield "IPS", linear(ips, (shown > 0) * 1.0)(train)
    for name, ranker in default_candidates(theta).items():
        if name in PICKED:
            yield PICKED[name], ranker.fit(train.X, y)
    yield "shrunk", AggregatedRanker("position_based", structure_options=options).fit(train.X, y)


def trees(train, y, theta):
    """Boosted trees on the same targets."""
    boosted = BoostedRanker(
        DCG(gain="linear"), engine="lightgbm", n_estimators=100, n_jobs=1, random_state=0
    )
    options = {"propensity": theta}
    yield (
        "trees, e / (e + 5)",
        AggregatedRanker("position_based", boosted, structure_options=options).fit(train.X, y),
    )


def trees_of_impressions(train, y):
    """Peers that learn positions and scores together, from each impression."""
    X, label, sizes = train.X[y.shown_rows], y.clicked * 1, np.diff(y.ptr)
    lightgbm, xgboost = LIBRARIES
    if lightgbm:
        data = lightgbm.Dataset(X, label, group=sizes, position=y.position - 1)
        params = {"objective": "lambdarank", "num_leaves": 15, "verbose": -1, "num_threads": 1}
        yield "LightGBM position=", lightgbm.train(params, data, 100)
    if xgboost:
        ranker = xgboost.XGBRanker(
            objective="rank:ndcg", lambdarank_unbiased=True, n_estimators=100, max_depth=4,
            n_jobs=1, random_state=0,
        )  # fmt: skip
        ranker.fit(X, label, qid=np.repeat(np.arange(len(sizes)), sizes))
        yield "XGBoost unbiased", ranker


def cell(name, folder, case, n_sessions, seed):
    """NDCG@10 of every method, and which candidate was chosen."""
    train, test = parts(name, folder)
    logger = weak_logger(train, seed)
    p = relevance(train.y, max(train.y.max(), 1))
    size, n_queries = int(train.sizes.max()), len(train.sizes)
    position = np.arange(1, size + 1.0)
    options = {"propensity": position**-case.exponent} if case.model == "position" else {}
    y = sample_sessions(
        p, train.qid, n_sessions=n_sessions * n_queries, n_shown=case.n_shown, model=case.model,
        order_scores=None if case.random else 1e6 * logger, random_state=seed, **options,
    )  # fmt: skip
    theta = position ** -(case.exponent if case.assumed is None else case.assumed)
    fitted = dict(rankers(train, y, theta, logger))
    choice = chosen_by_clicks(train.X, y, default_candidates(theta), theta)
    fitted["chosen"] = choice.ranker
    fitted["full labels"] = DCGRanker(gain="linear").fit(train.X, p, train.qid)
    fitted |= dict(trees(train, y, theta))
    if n_sessions <= BY_IMPRESSIONS and case == CASES[0]:
        fitted |= dict(trees_of_impressions(train, y))
    values = {
        method: float(ndcg_score(test.y, ranker.predict(test.X), qid=test.qid, k=10))
        for method, ranker in fitted.items()
    }
    return {**values, "picked": choice.name}


# -- tables --------------------------------------------------------------------------


def run(names, folder, cells, seeds):
    """Values of all cells, seed by seed."""
    done = {}
    for seed in range(seeds):
        for case in CASES:
            for name in names:
                for n in case.sessions:
                    if n <= 100 or seed < 2:
                        key = name, case.name, n, seed
                        label = "; ".join(map(str, key))
                        done[key] = cells(label, cell, name, folder, case, n, seed)
    return done


def summary(values):
    """Mean and standard error over seeds."""
    if len(values) < 2:
        return "".join(f"{value:.3f}" for value in values)
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def show(names, done, seeds):
    for name in names:
        rows, differences = [], []
        for case in CASES:
            for n in case.sessions:
                at = [(name, case.name, n, seed) for seed in range(seeds)]
                found = [done[k] for k in at if k in done]
                if not found:
                    continue
                shown = [summary([v[m] for v in found if m in v]) for m in METHODS]
                naive = sum(v["picked"] == "naive" for v in found)
                rows.append([case.name, f"{n:,}", *shown, f"{naive} of {len(found)}"])
                pairs = [("e / (e + 5)", "IPS"), ("e / (e + 5)", "naive"), ("chosen", "naive"),
                         ("e / (e + 5)", "full labels")]  # fmt: skip
                differences.append(
                    [case.name, f"{n:,}"]
                    + [summary([v[a] - v[b] for v in found]) for a, b in pairs]
                )
        say(f"\n{name}: NDCG@10 of held-out queries by sessions of a query, mean ± s.e. of seeds.")
        print_table(["case", "sessions", *METHODS, "naive chosen"], rows)
        say(f"\n{name}: differences.")
        heads = ["default - IPS", "default - naive", "chosen - naive", "default - full labels"]
        print_table(["case", "sessions", *heads], differences)


# -- intervals -----------------------------------------------------------------------


class World(NamedTuple):
    """A law of queries with a logger and a candidate."""

    name: str
    exponent: float
    logger: float  # how strictly the logger orders
    sign: float = 1.0  # of the candidate: -1 ranks by the opposite of relevance
    level: float = -2.0


WORLDS = (
    World("candidate is better", 1.0, 1.0),
    World("candidate is better, strict logger", 1.0, 5.0),
    World("candidate is worse", 1.0, 1.0, -1.0),
    World("candidate is worse, strict logger", 1.0, 5.0, -1.0),
    World("rare clicks", 1.0, 1.0, 1.0, -4.0),
    World("rare clicks, candidate is worse, strict logger", 1.0, 5.0, -1.0, -4.0),
    World("exponent 2", 2.0, 1.0),
    World("exponent 2, candidate is worse, strict logger", 2.0, 5.0, -1.0),
)
ESTIMATORS = {"ratio": {}, "ips": {}, "snips": {}, "dr": {"prior": 0.1}}
THETA = np.arange(1, 11.0)


def drawn(world, n_queries, rng):
    """Relevances, queries, and scores of logger, candidate and a twin of the logger."""
    X = rng.normal(size=(10 * n_queries, 4))
    utility = X[:, 0] - X[:, 1]
    p = 1 / (1 + np.exp(-utility - world.level))
    logger, twin = (0.3 * utility + X[:, j] for j in (2, 3))
    candidate = world.sign * utility + 0.5 * X[:, 3]
    return p, np.repeat(np.arange(n_queries), 10), logger, candidate, twin


def intervals(replicates, seed=0):
    """Print coverage of intervals and errors of safety."""
    rows = []
    for world in WORLDS:
        rng = np.random.default_rng(seed)
        p, qid, _, candidate, _ = drawn(world, 40_000, rng)
        truth = dcg_score(p, candidate, qid=qid, k=5, gain="linear")
        theta, hits, sizes, passed = THETA**-world.exponent, {}, [], 0
        for _ in range(replicates):
            p, qid, logger, candidate, twin = drawn(world, 300, rng)
            y = sample_sessions(
                p, qid, n_sessions=3000, order_scores=world.logger * logger, model="position",
                propensity=theta, random_state=int(rng.integers(2**31)),
            )  # fmt: skip
            for name, options in ESTIMATORS.items():
                estimate = offline_evaluate(
                    candidate, y, "dcg@5", propensity=theta, estimator=name, **options
                )
                hits[name] = hits.get(name, 0) + (estimate.low <= truth <= estimate.high)
                if name == "ratio":
                    sizes.append(estimate.effective_sample_size)
            equal = offline_evaluate(twin, y, "dcg@5", propensity=theta, baseline=logger)
            passed += bool(equal.safety)
        shares = [f"{count / replicates:.3f}" for count in hits.values()]
        rows.append([world.name, *shares, f"{np.median(sizes):.0f}", f"{passed / replicates:.3f}"])
    say(
        f"\nCoverage of 95 % intervals in {replicates:,} replicates, and how often an equal passes."
    )
    print_table(["", *ESTIMATORS, "effective sample size", "safety"], rows)


def main():
    """Run and print."""
    options = parser(__doc__, data=True, threads=False, cells=True)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--replicates", type=int, default=1000)
    options.add_argument("--only", choices=("rankers", "intervals"), help="one part")
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn", "lightgbm", "xgboost-cpu"))
    warnings.simplefilter("ignore")
    if args.only != "intervals":
        names = ["MQ2008", "MSLR-sample", "made law"]
        folder = data_folder(args.data, [f for n in names[:2] for f in SETS[n][0]])
        show(names, run(names, folder, Cells(args.cells), args.seeds), args.seeds)
    if args.only != "rankers":
        intervals(args.replicates)


LIBRARIES = ()

if __name__ == "__main__":
    LIBRARIES = (optional("lightgbm"), optional("xgboost"))
    main()
