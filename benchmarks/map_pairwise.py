"""MAP on correlated relevances: the score form keeps a regret, the pairwise one loses it.

    python benchmarks/map_pairwise.py

Every query has the same four kinds of document, shuffled, with features that a linear map
separates. With probability 1/6 the third alone is relevant, with 1/2 the second and the third, with
1/3 the first. The first document has a larger mean target y_i / |y|_1 than the second (1/3 against
1/4), and yet it belongs behind it, since the second is relevant together with the third. The
expected AP of every order follows by enumeration, so regrets are exact. Means and standard errors
over repetitions.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from _common import describe_environment, parser, print_table, say

from skcalrank import AveragePrecisionRanker
from skcalrank.measures import AveragePrecision

LABELS = np.array([[0.0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 0]])
PROBABILITIES = np.array([1 / 6, 1 / 2, 1 / 3])
R = LABELS.shape[1]
RANKERS = {
    "score form (Cor. 5)": AveragePrecisionRanker(alpha=1e-3),
    "pairwise, diagonal map": AveragePrecisionRanker(
        surrogate="pairwise", pred="diagonal", alpha=1e-3
    ),
    "pairwise, exact map": AveragePrecisionRanker(surrogate="pairwise", pred="exact", alpha=1e-3),
}


def expected_ap():
    """Expected average precision of every order, keyed by the positions."""
    measure = AveragePrecision()
    targets = np.einsum("m,mij->ij", PROBABILITIES, measure.pair_targets(LABELS))
    orders = np.array(list(permutations(range(1, R + 1))))
    values = (targets * measure.pair_basis(orders)).sum(axis=(1, 2))
    return {tuple(order.tolist()): value for order, value in zip(orders, values)}


def sample(n_queries, rng):
    """Queries with their documents shuffled."""
    features = np.linalg.qr(rng.normal(size=(R, R)))[0]
    kinds = rng.permuted(np.tile(np.arange(R), (n_queries, 1)), axis=1)
    intents = rng.choice(len(LABELS), size=n_queries, p=PROBABILITIES)
    y = LABELS[intents[:, None], kinds]
    return features, features[kinds.ravel()], y.ravel(), np.repeat(np.arange(n_queries), R)


def regrets(n_queries, repetitions, values):
    """Regret of each ranker on one query with a document of each kind, by repetition."""
    out = {name: [] for name in RANKERS}
    for seed in range(repetitions):
        features, X, y, qid = sample(n_queries, np.random.default_rng(seed))
        for name, ranker in RANKERS.items():
            positions = ranker.fit(X, y, qid).rank(features, np.zeros(R))
            out[name].append(max(values.values()) - values[tuple(positions.tolist())])
    return {name: np.array(found) for name, found in out.items()}


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--repetitions", type=int, default=20)
    args = options.parse_args()
    values = expected_ap()
    print(describe_environment("numpy", "scikit-learn"))
    say(f"Best expected AP {max(values.values()):.4f}; {args.repetitions} repetitions.\n")
    rows = []
    for n_queries in (30, 100, 300, 1_000, 3_000, 10_000, 30_000):
        found = regrets(n_queries, args.repetitions, values)
        spread = np.sqrt(args.repetitions)
        cells = [f"{v.mean():.4f} ± {v.std() / spread:.4f}" for v in found.values()]
        rows.append([f"{n_queries:,}", *cells])
    print_table(["queries", *(f"regret, {name}" for name in RANKERS)], rows)


if __name__ == "__main__":
    main()
