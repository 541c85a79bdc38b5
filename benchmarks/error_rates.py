"""How often tests and intervals of comparisons are wrong, by simulation.

    python benchmarks/error_rates.py [--families 2000] [--queries 50]

Systems see the relevance of documents through noise of one size, each through its own: their values
are exchangeable, so that every rejection is a false one. Rates are those of single tests at a level
of 5 %, of families with at least one false rejection after the correction, and of intervals that
hold the true mean, which is taken over 400,000 queries. Means of the lowest tenth of the values are
tested by the exchange of the two systems within queries. Ten systems that share most of their noise
are a family for Holm's correction and for max-T; in some families half of the systems or all are
better than the baseline. Two learners of equal quality, each fitted
on features of its own, are compared by cross-validation, by the corrected resampled
t-test and by a plain paired t-test over the values of held-out queries.
"""

from __future__ import annotations

import warnings

import numpy as np
from _common import describe_environment, parser, print_table, say
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from skcalrank import NDCGRanker
from skcalrank.evaluation import compare_values, cross_compare
from skcalrank.metrics import evaluate

N_SYSTEMS, N_DOCUMENTS, N_TRUE = 5, 20, 400_000
MEASURES = ["ndcg@10", "map", "mrr", "precision@1"]
TESTS = ("t", "wilcoxon", "permutation")
RESAMPLES = 2000


def values_of(rng, n_queries, share, n_systems=N_SYSTEMS):
    """Values of shape (n_systems, n_measures, n_queries)."""
    shape = (n_queries, N_DOCUMENTS)
    difficulty = rng.normal(size=(n_queries, 1))
    y = (rng.random(shape) < share).astype(float)
    values = []
    for _ in range(n_systems):
        scores = y * (1 + 0.5 * difficulty) + rng.normal(size=shape)
        found = evaluate(y, scores, MEASURES, empty="zero", average=False)
        values.append(list(found.values()))
    return np.array(values)


def as_dict(values):
    return {f"s{i}": dict(zip(MEASURES, found)) for i, found in enumerate(values)}


def rejections(rng, n_families, n_queries, share):
    """Print rates of false rejections."""
    pool = values_of(rng, n_families * n_queries, share)
    rows = []
    for test in TESTS:
        single, holm, bh = [], 0, 0
        for family in np.split(pool, n_families, axis=-1):
            options = {"test": test, "n_resamples": RESAMPLES, "random_state": rng.integers(2**31)}
            found = compare_values(as_dict(family), **options).differences
            p = np.array([row.p for row in found])
            single.append(p < 0.05)
            holm += any(row.p_adjusted < 0.05 for row in found)
            order = np.sort(p)
            bh += (order * len(p) / np.arange(1, len(p) + 1) < 0.05).any()
        by_measure = np.mean(single, axis=0).reshape(-1, len(MEASURES)).mean(0)
        rates = [*by_measure, np.mean(np.any(single, axis=1)), holm / n_families, bh / n_families]
        rows.append([test, *map(percent, rates)])
    say(f"\nFalse rejections at 5 %, {n_queries} queries, {n_families} families of 4 x 4 tests:")
    print_table(["test", *MEASURES, "any of 16", "any, Holm", "any, BH"], rows)


def coverage(rng, n_families, sizes, shares):
    """Print how often intervals hold the true mean."""
    rows = []
    for share in shares:
        truth = values_of(rng, N_TRUE, share, 1)[0].mean(-1)
        for n in sizes:
            pool = values_of(rng, n_families * n, share, 1)[0]
            for interval in ("student", "bootstrap-t"):
                # Each family and measure is a measure of one call: they share the resamples.
                values = {"a": by_number(pool.reshape(-1, n))}
                found = compare_values(values, interval=interval, n_resamples=RESAMPLES).estimates
                ends = np.array([(row.low, row.high) for row in found])
                low, high = ends.reshape(len(MEASURES), n_families, 2).transpose(2, 1, 0)
                hit = np.mean((low <= truth) & (truth <= high), axis=0)
                rows.append([f"{share:g}", n, interval, *map(percent, hit)])
    say("\nIntervals at 95 % that hold the true mean, by share of relevant documents:")
    print_table(["relevant", "queries", "interval", *MEASURES], rows)


def skewed(n_families, sizes):
    """Print how often intervals of few values of known laws hold the true mean."""
    laws = {
        "normal": (lambda rng, shape: rng.normal(size=shape), 0.0),
        "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0),
        "beta(.3, .7)": (lambda rng, shape: rng.beta(0.3, 0.7, size=shape), 0.3),
    }
    rows = []
    for law, (draw, mean) in laws.items():
        for seed, n in enumerate(sizes):
            values = draw(np.random.default_rng(seed), (n_families, n))
            hits = []
            for interval in ("student", "bootstrap-t"):
                options = {"interval": interval, "n_resamples": RESAMPLES}
                found = compare_values({"a": by_number(values)}, **options)
                hits.append(np.mean([row.low <= mean <= row.high for row in found.estimates]))
            rows.append([law, n, *map(percent, hits)])
    say("\nIntervals at 95 % of few values that hold the true mean:")
    print_table(["values", "queries", "student", "bootstrap-t"], rows)


def tails(n_families, sizes, tail=0.1):
    """Print how often tests and intervals of the lowest values are wrong."""
    laws = {
        "map": lambda rng, n: values_of(rng, n, 0.15, 2)[:, 1],
        "beta(2, 2)": lambda rng, n: rng.beta(2, 2, size=(2, n)),
        "1 / geometric": lambda rng, n: 1 / rng.geometric(0.3, size=(2, n)),
    }
    rows = []
    for law, draw in laws.items():
        true = np.sort(draw(np.random.default_rng(99), N_TRUE // 4)[0])
        true = true[: int(tail * len(true))].mean()
        for seed, n in enumerate(sizes):
            pool = draw(np.random.default_rng(seed), n_families * n)
            values = {name: by_number(of.reshape(-1, n)) for name, of in zip("ab", pool)}
            found = compare_values(values, tail=tail, correction=None, n_resamples=RESAMPLES)
            p = np.array([row.p for row in found.differences[n_families:]])
            means = found.estimates[n_families : 2 * n_families]
            known = not np.isnan(means[0].low)
            hit = np.mean([row.low <= true <= row.high for row in means])
            rate = np.mean(p < 0.05)
            rows.append([law, n, means[0].n, percent(rate), percent(hit) if known else "none"])
    say(f"\nLowest tenths of two equal systems, {n_families} data sets, at 5 %:")
    print_table(["values", "queries", "in the tail", "rejected", "intervals hold the mean"], rows)


def families_of_ten(n_families, n_queries, n_others=9, effect=0.5):
    """Print how often Holm's correction and max-T find differences, wrong and right ones.

    Differences to the baseline have standard deviation 1. Systems share a part of them, and the two
    measures of a system nine tenths of the rest.
    """
    rows = []
    for shared in (0.5, 0.9):
        for n_better in (0, 1, n_others):
            truth = effect * np.repeat(np.arange(n_others) < n_better, 2)
            rates = []
            for seed in range(n_families):
                values = family(np.random.default_rng(seed), n_queries, truth, shared)
                rates.append(list(of_corrections(values, truth, seed)))
            shown = ("none" if np.isnan(rate) else percent(rate) for rate in np.mean(rates, axis=0))
            rows.append([f"{shared:g}", n_better, *shown])
    say(
        f"\nTen systems, two measures, {n_queries} queries, better systems by {effect:g} standard "
        f"deviations, {n_families} families, at 5 %:"
    )
    heads = ["correlation", "better", "any wrong, Holm", "any wrong, max-T", "found, Holm"]
    print_table([*heads, "found, max-T", "max-T intervals hold all"], rows)


def family(rng, n, truth, shared):
    """Values of a baseline that is 0, and of systems by two measures."""
    of_systems = np.repeat(rng.normal(size=(len(truth) // 2, n)), 2, axis=0)
    alone = np.sqrt(0.9) * of_systems + np.sqrt(0.1) * rng.normal(size=(len(truth), n))
    columns = np.sqrt(shared) * rng.normal(size=n) + np.sqrt(1 - shared) * alone + truth[:, None]
    return {"base": by_number(np.zeros((2, n)))} | {
        f"s{number}": by_number(of) for number, of in enumerate(columns.reshape(-1, 2, n))
    }


def of_corrections(values, truth, seed):
    """Whether any is wrong, and the share of what is found, of both; whether intervals hold."""
    options = {"test": "permutation", "n_resamples": 1000, "random_state": seed}
    rows = compare_values(values, correction="max-t", **options).differences
    p = np.array([row.p for row in rows])
    order = np.argsort(p)
    holm = np.empty(len(p))
    holm[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    marked = np.array([holm, [row.p_adjusted for row in rows]]) < 0.05
    yield from (marked & (truth == 0)).any(1)
    yield from (of[truth > 0].mean() if truth.any() else np.nan for of in marked)
    yield all(row.low <= mean <= row.high for row, mean in zip(rows, truth))


def by_number(rows):
    """A dict of rows, as values by measure."""
    return {str(number): row for number, row in enumerate(rows)}


def percent(rate):
    """A rate as text."""
    return f"{100 * rate:.1f} %"


def learners(rng, n_repeats, n_queries=40, n_features=30):
    """Print how often a test separates two learners that are equally good."""
    names = ("corrected, five folds", "plain, held-out queries")
    wrong = dict.fromkeys(names, 0)
    halves = {"first": slice(n_features), "second": slice(n_features, None)}
    estimators = {
        name: make_pipeline(
            FunctionTransformer(columns_of, kw_args={"columns": half}), NDCGRanker()
        )
        for name, half in halves.items()
    }
    for _ in range(n_repeats):
        qid = np.repeat(np.arange(n_queries), 10)
        X = rng.normal(size=(len(qid), 2 * n_features))
        w = rng.normal(size=n_features)
        y = X @ np.append(w, w) + 3 * rng.normal(size=len(qid)) > 2
        result = cross_compare(estimators, X, y.astype(float), qid, ["ndcg"], empty="zero")
        wrong[names[0]] += result.differences[0].p < 0.05
        values = {name: {"m": v[0]} for name, v in zip(estimators, result.values)}
        wrong[names[1]] += compare_values(values).differences[0].p < 0.05
    say(f"\nTwo learners of one quality, {n_queries} queries, {n_repeats} data sets, at 5 %:")
    rows = [[name, percent(count / n_repeats)] for name, count in wrong.items()]
    print_table(["test", "separated"], rows)


def columns_of(X, columns):
    """Some columns of a matrix."""
    return X[:, columns]


def main():
    """Run and print."""
    args = parser(__doc__)
    args.add_argument("--families", type=int, default=2000, help="number of comparisons")
    args.add_argument("--queries", type=int, default=50, help="of each comparison")
    args = args.parse_args()
    print(describe_environment("numpy", "scipy", threads=args.threads))
    rng = np.random.default_rng(0)
    with threadpool_limits(args.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rejections(rng, args.families, args.queries, 0.15)
        coverage(rng, args.families, (20, 50, 200), (0.02, 0.15))
        skewed(args.families, (6, 10, 20, 50))
        tails(args.families // 2, (20, 50, 200, 500))
        families_of_ten(args.families // 2, args.queries)
        learners(rng, args.families // 2)


if __name__ == "__main__":
    main()
