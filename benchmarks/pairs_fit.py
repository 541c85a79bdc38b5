"""The bilinear fit on all pairs of documents, without building the pairs.

    python benchmarks/pairs_fit.py

2,000 queries, 250,000 documents, d = 46 and 136, made here: fit of AveragePrecisionRanker and
PairwiseDisagreementRanker with ``surrogate="pairwise"``, relevances as labels. Beside it is
Ridge on the Kronecker features of the pairs of a few queries, built one by one: the coefficients
are equal up to the difference shown. Its time and memory for all pairs are extrapolated. Peak
memory is what the arrays of a fit hold at most, beyond X.
"""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
from _common import describe_environment, parser, peak_bytes, print_table, say
from sklearn.linear_model import Ridge

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker

N_QUERIES, N_ROWS = 2_000, 250_000
LABELS = {"map": "MAP", "pd": "pairwise disagreement"}
RANKERS = {"map": AveragePrecisionRanker, "pd": PairwiseDisagreementRanker}


def make_data(d, seed=0):
    """Correlated features, about 125 documents per query, a fifth of them relevant."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(4.6, 0.6, N_QUERIES)
    sizes = np.clip((sizes * N_ROWS / sizes.sum()).astype(int), 5, 900)
    mixing = np.eye(d) + rng.normal(size=(d, d)) / np.sqrt(d)
    X = rng.normal(size=(sizes.sum(), d)) @ mixing + 0.3
    y = (X[:, :5].sum(axis=1) + 4 * rng.normal(size=len(X)) > 5).astype(float)
    return X, y, np.repeat(np.arange(N_QUERIES), sizes), sizes


def ranker(name):
    """A pairwise ranker with the bilinear surrogate."""
    return RANKERS[name](surrogate="pairwise", alpha=1.0)


def pairs_of_query(X, y, name):
    """Kronecker features and targets of the pairs of one query."""
    products = np.einsum("ia,jb->ijab", X, X).reshape(len(X), len(X), -1)
    if name == "map":
        values, keep = np.outer(y, y) / max(y.sum(), 1), np.ones((len(X), len(X)), dtype=bool)
    else:
        values, keep = np.maximum(y[:, None] - y, 0), ~np.eye(len(X), dtype=bool)
    return products[keep], values[keep]


def built(X, y, sizes, name):
    """Ridge on all pairs: coefficients, seconds, number of pairs."""
    bounds = np.append(0, np.cumsum(sizes))
    parts = [pairs_of_query(X[a:b], y[a:b], name) for a, b in pairwise(bounds)]
    features, targets = (np.concatenate(part) for part in zip(*parts))
    start = time.perf_counter()
    coef = Ridge(alpha=1.0, fit_intercept=False).fit(features, targets).coef_
    return coef, time.perf_counter() - start, len(targets)


def row(d, name, asked, rounds):
    """One line of the table."""
    X, y, qid, sizes = make_data(d)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        fitted = ranker(name).fit(X, y, qid)
        seconds.append(time.perf_counter() - start)
    # A part small enough to build: five queries, or the first documents of one.
    few = np.flatnonzero(qid < 5) if d < 100 else np.arange(40)
    few_sizes = np.bincount(qid[few])
    coef, seconds_few, pairs_few = built(X[few], y[few], few_sizes, name)
    ours = ranker(name).fit(X[few], y[few], qid[few]).coef_
    difference = np.abs(ours.ravel() - coef).max() / np.abs(coef).max()
    pairs = int((sizes.astype(float) ** 2).sum())
    return [
        f"{LABELS[name]}, d={d}",
        f"{pairs / 1e6:.1f}",
        f"{np.median(seconds):.2f}",
        asked,
        f"{fitted.n_iter_}",
        f"{peak_bytes(lambda: ranker(name).fit(X, y, qid)) / 1e6:.0f}",
        f"{difference:.0e}",
        f"{seconds_few * pairs / pairs_few / 60:.0f}",
        f"{pairs * d * d * 8 / 1e9:,.0f}",
    ]


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--rounds", type=int, default=3)
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn"))
    say(f"{N_QUERIES:,} queries, about {N_ROWS:,} documents\n")
    rows = [
        row(d, name, asked, args.rounds if d < 100 else 1)
        for d, asked in ((46, "1"), (136, "30"))
        for name in RANKERS
    ]
    headers = ["", "M pairs", "fit s", "goal", "iterations", "MB beyond X", "difference"]
    print_table([*headers, "all pairs built, extrapolated: min", "GB"], rows)


if __name__ == "__main__":
    main()
