"""Bradley-Terry probabilities of comparisons that come later.

    python benchmarks/later_comparisons.py --data DIR

Log loss of the probabilities that `bradley_terry` gives to comparisons it has not seen; a coin has
0.693. From each source a few comparisons per document are drawn to learn from, and 4,000 to be
judged by; figures are means over the draws. `alpha=0` is maximum likelihood, with alpha=0.1 where
there is no maximum, and `auto` is the default.

Made tournaments have normal strengths of the deviation given. In the others a voter is drawn, and
two alternatives that the voter ranks or rates apart: PrefLib (folder preflib-small), SUSHI (sushi),
and the 30 and 150 films rated most often in MovieLens 100k (ml-100k), in DIR or SKCALRANK_DATA.
"""

from __future__ import annotations

import warnings

import numpy as np
from _common import data_file, data_folder, describe_environment, parser, print_table
from _loaders import MOVIELENS, SUSHI, load_movielens, load_sushi
from scipy.special import expit
from threadpoolctl import threadpool_limits

from skcalrank import PreferenceTarget
from skcalrank.aggregation import bradley_terry
from skcalrank.datasets import load_preflib

ALPHAS = (0, 0.3, 1.0, 3.0, "auto")
GAMES = (2, 6, 30)
PREFLIB = [
    f"preflib-small/{name}"
    for name in ("cities.soi", "education_courses.soi", "netflix.soc", "shirt.soc", "skaters.toc")
]
N_JUDGED = 4000


def opponents(rng, m, n):
    """Two different documents, n times."""
    first = rng.integers(0, m, n)
    return first, (first + rng.integers(1, m, n)) % m


def made(m, deviation):
    """Comparisons of documents with normal strengths, which a draw has in common."""

    def draw(rng, numbers):
        s = deviation * rng.normal(size=m)
        for n in numbers:
            first, second = opponents(rng, m, n)
            ahead = rng.random(n) < expit(s[first] - s[second])
            yield np.where(ahead, first, second), np.where(ahead, second, first)

    return m, draw


def of_voters(values):
    """Comparisons of what voters rank or rate, higher is better and NaN is unknown."""
    m = values.shape[1]

    def draw_some(rng, n):
        voter, (first, second) = rng.integers(0, len(values), n), opponents(rng, m, n)
        a, b = values[voter, first], values[voter, second]
        apart = (a > b) | (a < b)
        pairs = np.where(a > b, first, second), np.where(a > b, second, first)
        return np.array(pairs)[:, apart]

    def draw(rng, numbers):
        for n in numbers:
            found = draw_some(rng, 4 * n)
            while found.shape[1] < n:
                found = np.hstack([found, draw_some(rng, 4 * n)])
            yield found[:, :n]

    return m, draw


def most_rated(folder, n_items):
    """Ratings of (users, items) of the items that are rated most often, NaN where there is none."""
    data = load_movielens(folder)
    count = np.bincount(data.film)
    ratings = np.full((data.user.max() + 1, len(count)), np.nan)
    ratings[data.user, data.film] = data.y
    return ratings[:, np.argsort(-count, kind="stable")[:n_items]]


def sources(folder):
    for m in (4, 20, 60):
        for deviation in (0.2, 0.5, 1.0, 2.0):
            yield f"made, {m} of deviation {deviation}", made(m, deviation)
    for name in PREFLIB:
        positions = load_preflib(data_file(folder, name)).positions
        yield name.partition("/")[2], of_voters(-np.asarray(positions, dtype=float))
    yield "sushi", of_voters(-load_sushi(folder)[1])
    for n_items in (30, 150):
        yield f"ml-100k, {n_items} films", of_voters(most_rated(folder, n_items))


def log_loss(scores, winner, loser):
    return np.logaddexp(0, scores[loser] - scores[winner]).mean()


def losses(m, draw, games, seed):
    """Log loss under every penalty, of one draw."""
    rng = np.random.default_rng(seed)
    learned, judged = draw(rng, [max(m * games // 2, 1), N_JUDGED])
    y = PreferenceTarget.from_comparisons(*learned, np.zeros(m))
    return [log_loss(bradley_terry(y, alpha=alpha), *judged) for alpha in ALPHAS]


def main():
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--draws", type=int, default=40)
    args = arguments.parse_args()
    folder = data_folder(args.data, [*PREFLIB, SUSHI, *MOVIELENS])
    print(describe_environment("numpy", "scipy", threads=args.threads), end="\n\n")
    warnings.filterwarnings("ignore", message=".*no single maximum of the likelihood")
    rows = []
    for name, source in sources(folder):
        for games in GAMES:
            with threadpool_limits(args.threads):
                each = [losses(*source, games, seed) for seed in range(args.draws)]
            rows.append([name, str(games), *(f"{value:.3f}" for value in np.mean(each, axis=0))])
    print_table(["source", "per document", *(f"alpha={alpha}" for alpha in ALPHAS)], rows)


if __name__ == "__main__":
    main()
