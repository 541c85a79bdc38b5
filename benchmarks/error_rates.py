"""How often tests and intervals of comparisons are wrong, by simulation.

    python benchmarks/error_rates.py [--families 2000] [--queries 50]

Systems see the relevance of documents through noise of one size, each through its own: their values
are exchangeable, so that every rejection is a false one. Rates are those of single tests at a level
of 5 %, of families with at least one false rejection after the correction, and of intervals that
hold the true mean, which is taken over 400,000 queries. Two learners of equal quality, each fitted
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
        rows.append([test, *(f"{100 * rate:.1f} %" for rate in rates)])
    say(f"\nFalse rejections at 5 %, {n_queries} queries, {n_families} families of 4 x 4 tests:")
    print_table(["test", *MEASURES, "any of 16", "any, Holm", "any, BH"], rows)


def coverage(rng, n_families, sizes, shares):
    """Print how often intervals hold the true mean."""
    rows = []
    for share in shares:
        truth = values_of(rng, N_TRUE, share, 1)[0].mean(-1)
        for n in sizes:
            pool = values_of(rng, n_families * n, share, 1)
            for interval in ("student", "bca"):
                hit = np.zeros(len(MEASURES))
                for family in np.split(pool, n_families, axis=-1):
                    result = compare_values(
                        as_dict(family), interval=interval, n_resamples=RESAMPLES
                    )
                    hit += [
                        low <= m <= high for m, (*_, low, high, _) in zip(truth, result.estimates)
                    ]
                shown = [f"{100 * rate:.1f} %" for rate in hit / n_families]
                rows.append([f"{share:g}", n, interval, *shown])
    say("\nIntervals at 95 % that hold the true mean, by share of relevant documents:")
    print_table(["relevant", "queries", "interval", *MEASURES], rows)


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
    rows = [[name, f"{100 * count / n_repeats:.1f} %"] for name, count in wrong.items()]
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
        learners(rng, args.families // 2)


if __name__ == "__main__":
    main()
