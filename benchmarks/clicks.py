"""Rankers of clicks with position bias, judged by the labels behind them; offline evaluation.

    python benchmarks/clicks.py --data DIR --cells DIR
    python benchmarks/clicks.py --only intervals
    python benchmarks/clicks.py --only errors
    python benchmarks/clicks.py --only fits

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

*Errors* of propensities by the number of queries, all alike or the k-th of them with 1 / k of the
sessions, and of relevances and of the probabilities of cascades: the share of estimates within 1.96
of them. *Fits.* Intervals with ``propensity="fit"`` beside those with the true propensities, for
logs whose order knows little of the relevance, and ``safety`` of a candidate that is as good as the
baseline, where one of the two is near the top of the log. Seeds are 0, 1, 2, ...
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from typing import NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, optional, parser, print_table, say
from _letor import SETS, Part, has_relevant
from sklearn.isotonic import IsotonicRegression

from skcalrank import AggregatedRanker, BoostedRanker, DCGRanker, sample_sessions
from skcalrank.aggregation import cascade, fit_propensities, position_based
from skcalrank.evaluation import offline_evaluate
from skcalrank.evaluation._click_ranker import chosen_by_clicks, default_candidates
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
    for name, ranker in default_candidates(train.X, theta).items():
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
    choice = chosen_by_clicks(train.X, y, default_candidates(train.X, theta), theta)
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


# -- fitted propensities -------------------------------------------------------------

DESIGNS = ((200, 10, 4000), (300, 6, 6000), (1000, 10, 20_000), (2000, 5, 20_000))
N_EQUAL = 2  # designs in which the candidate is also compared with one as good
N_QUERIES = (2, 5, 20)
BINS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def population(n_queries, size, seed):
    """Features, queries, relevances, and scores of a candidate that knows most of them."""
    X = np.random.default_rng(seed).normal(size=(n_queries * size, 4))
    utility = X[:, 0] - X[:, 1]
    p, qid = 1 / (1 + np.exp(1 - utility)), np.repeat(np.arange(n_queries), size)
    return X, qid, p, utility + 0.5 * X[:, 2]


def covered(design, seed, truth):
    """Whether intervals with the true and with fitted propensities hold the value."""
    X, qid, p, scores = population(*design[:2], seed)
    theta = 1 / np.arange(1.0, design[1] + 1)
    y = sample_sessions(
        p, qid, n_sessions=design[2], order_scores=2 * X[:, 2] - 0.5 * X[:, 0], model="position",
        propensity=theta, random_state=seed,
    )  # fmt: skip
    for propensity in (theta, "fit"):
        found = offline_evaluate(scores, y, "dcg@5", propensity=propensity)
        yield found.low <= truth <= found.high


def passed(design, seed):
    """Whether equals are safe: on top of the log and below it, propensities true and fitted."""
    X, qid, p, _ = population(*design[:2], seed)
    theta = 1 / np.arange(1.0, design[1] + 1)
    top, deep = (0.3 * (X[:, 0] - X[:, 1]) + X[:, j] for j in (2, 3))
    y = sample_sessions(
        p, qid, n_sessions=design[2], order_scores=2 * top, model="position", propensity=theta,
        random_state=seed,
    )  # fmt: skip
    fitted = fit_propensities(y)
    for scores, baseline in ((top, deep), (deep, top)):
        for propensity in (theta, fitted):
            options = {"propensity": propensity, "baseline": baseline}
            yield offline_evaluate(scores, y, "dcg@5", **options).safety.holds


def fits(replicates, cells):
    """Print coverage and errors of safety with fitted propensities."""
    rows = []
    for number, design in enumerate(DESIGNS):
        _, qid, p, scores = population(40_000, design[1], 10**6)
        truth = dcg_score(p, scores, qid=qid, k=5, gain="linear")
        shares = cells(
            f"fits {design} {replicates}",
            lambda d, t: np.mean([[*covered(d, seed, t)] for seed in range(replicates)], 0),
            *(design, truth),
        )
        if number < N_EQUAL:
            of_equals = cells(
                f"equals {design} {replicates}",
                lambda d: np.mean([[*passed(d, seed)] for seed in range(replicates)], 0),
                design,
            )
            shares = [*shares, *of_equals]
        name = "{} x {}, {:,} sessions".format(*design)
        rows.append([name, *(f"{v:.3f}" for v in shares), *[""] * (6 - len(shares))])
    say(f"\nCoverage of 95 % intervals, and how often an equal is safe, in {replicates:,} logs.")
    print_table(
        ["queries x documents", "covers, true propensities", "covers, fitted",
         "safe on top, true", "safe on top, fitted", "safe below, true", "safe below, fitted"],
        rows,
    )  # fmt: skip


def propensity_errors(replicates):
    """Print coverage of errors of propensities of positions 2 to 5, by the number of queries."""
    rows = []
    for n in N_QUERIES:
        for law in ("alike", "1 / k"):
            hits = []
            for seed in range(replicates):
                rng = np.random.default_rng(seed)
                p, share = rng.uniform(0.1, 0.9, 5 * n), 1 / np.arange(1.0, n + 1)
                y = sample_sessions(
                    p, np.repeat(np.arange(n), 5), n_sessions=2000 if law == "alike" else 8000,
                    order_scores=2 * p, model="position", random_state=seed,
                )  # fmt: skip
                if law != "alike":
                    share = share[y.shown_rows[y.ptr[:-1]] // 5]
                    y = y.choose(np.sort(rng.choice(8000, 2000, False, share / share.sum())))
                with contextlib.suppress(ValueError):  # not identified
                    found = fit_propensities(y)
                    error = np.abs(found.propensity - THETA[:5] ** -1.0)[1:]
                    hits.append(error <= 1.96 * found.standard_error[1:])
            rows.append([f"{n}, {law}", *(f"{v:.3f}" for v in np.mean(hits, axis=0)), len(hits)])
    say("\nShare of propensities within 1.96 standard errors, by queries; 2,000 sessions.")
    print_table(["queries", *(f"position {k}" for k in range(2, 6)), "logs"], rows)


def relevance_errors(replicates):
    """Print coverage of errors of relevances and of cascades, by the true value."""
    rows = []
    for model, of in (("position", lambda y: position_based(y, THETA[:6] ** -1.0)),
                      ("cascade", cascade)):  # fmt: skip
        for n_sessions in (300, 3000, 30_000):
            hits, number = np.zeros((2, len(BINS) - 1))
            for seed in range(replicates):
                rng = np.random.default_rng(seed)
                p = 10 ** rng.uniform(-2.5, 0, 300)
                y = sample_sessions(
                    p, np.repeat(np.arange(50), 6), n_sessions=n_sessions, order_scores=p,
                    model=model, random_state=seed,
                )  # fmt: skip
                found = of(y)
                seen = found.examinations > 0
                hit = np.abs(found[0] - p)[seen] <= 1.96 * found.standard_error[seen]
                at = np.digitize(p[seen], BINS[1:-1])
                hits += np.bincount(at, hit, len(hits))
                number += np.bincount(at, minlength=len(hits))
            rows.append([f"{model}, {n_sessions:,}", *(f"{v:.3f}" for v in hits / number)])
    say(
        "\nShare of relevances within 1.96 standard errors, by the true one; 50 queries of six, "
        f"{replicates} logs."
    )
    heads = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(BINS)]
    print_table(["users, sessions", *heads], rows)


def main():
    """Run and print."""
    options = parser(__doc__, data=True, threads=False, cells=True)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--replicates", type=int, default=1000)
    options.add_argument(
        "--only", choices=("rankers", "intervals", "errors", "fits"), help="one part"
    )
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn", "lightgbm", "xgboost-cpu"))
    warnings.simplefilter("ignore")
    if args.only in (None, "rankers"):
        names = ["MQ2008", "MSLR-sample", "made law"]
        folder = data_folder(args.data, [f for n in names[:2] for f in SETS[n][0]])
        show(names, run(names, folder, Cells(args.cells), args.seeds), args.seeds)
    if args.only in (None, "intervals"):
        intervals(args.replicates)
    if args.only in (None, "errors"):
        propensity_errors(args.replicates)
        relevance_errors(args.replicates // 10)
    if args.only in (None, "fits"):
        fits(args.replicates, Cells(args.cells))


LIBRARIES = ()

if __name__ == "__main__":
    LIBRARIES = (optional("lightgbm"), optional("xgboost"))
    main()
