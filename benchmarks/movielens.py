"""The experiment of the paper on the value-regularized linear loss, on MovieLens-100K.

    python benchmarks/movielens.py --data DIR --cells DIR

J. Duchi, L. Mackey and M. Jordan, "On the consistency of ranking algorithms" (ICML 2010), section
4 and Table 1. A query is a user; linear scorers are trained on sampled pairs of films that the user
has rated, weighted by the difference of the ratings, with the pairwise hinge, the pairwise logistic
and the value-regularized linear loss. Test loss: mean of that weight over 40,000 sampled test
pairs, a pair in the right order counting 0. 15 runs; DIR (or SKCALRANK_DATA) holds ml-100k.

As in the paper: ratings in five parts, three to train, one to choose lambda for each loss on its
own, one to test; nu = 1e-4; sums over pairs plus lambda ||w||^2; no intercept. Features: age of the
film, its genres, the user's mean rating by genre, the film's mean rating, the ratings that similar
and dissimilar users gave it, all of them from the ratings of the training part alone.

What the paper leaves open, and what is done here:

* Parts are random parts of the ratings, drawn three times; each is the test part once, and the next
  one is the validation part.
* A pair is drawn by a user, each with the same chance, and two of the user's films with different
  ratings (equal ones have weight 0). Were every pair drawn with the same chance, the many pairs of
  busy users would make all losses lower by .06. Smaller training sets are the beginning of larger
  ones, and lambda is chosen on 40,000 validation pairs.
* A sampled pair is a graph of its own (section 3.1), so a rating is regularized as often as it was
  drawn: in terms of this library a pair is a query of two documents.
* By genre: the mean over the film's genres of the user's mean rating in each. Similar and
  dissimilar users: means of their ratings of the film, weighted by the positive and the negative
  part of Pearson's correlation over the n films that both rated, times min(n, 50) / 50. Where
  nothing is known, the user's, the film's or the overall mean is used. Features are standardized
  on the training part.
* Whether a training rating is counted in its own features. The paper says "other movies" of the
  mean by genre and of the similarity, and does not say so of the film's mean. "worded" does just
  that: the film's mean gives a little of the label away, in training only. In "left-out" no rating
  is counted in its own features. "centered" is "left-out" with features centered within each user,
  which losses of differences do not see, but the value regularizer does.
* The values of lambda. When lambda dwarfs the sum over pairs, all three losses give the same
  direction, sum y_ij (x_i - x_j), so the upper end of the grid decides how much of the difference
  between them is left. Both are shown: powers of ten from 0.1 to 100, and on to a million.

Standard errors are over runs, which share ratings.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, parser, print_table, say
from _loaders import MOVIELENS, load_movielens
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skcalrank import PairwiseLogisticRanker
from skcalrank.metrics import pairwise_disagreement_loss
from skcalrank.rankers import PairwiseHingeRanker, ValueRegularizedRanker

N_PARTS = 5
N_TEST_PAIRS = 40_000
NU = 1e-4
ALPHAS = 10.0 ** np.arange(-1, 7)
LARGEST = (1e2, 1e6)

LOSSES = {
    "hinge": PairwiseHingeRanker(),
    "logistic": PairwiseLogisticRanker(),
    "linear": ValueRegularizedRanker(nu=NU, fit_intercept=False),
}

LINEAR = list(LOSSES).index("linear")

#: Column of the film's mean among the features.
FILM_MEAN = -3

#: Table 1 of the paper: mean and standard error of each loss, by number of training pairs.
PRINTED = {
    20_000: {"hinge": (0.478, 0.008), "logistic": (0.479, 0.010), "linear": (0.465, 0.006)},
    40_000: {"hinge": (0.477, 0.008), "logistic": (0.478, 0.010), "linear": (0.464, 0.006)},
    80_000: {"hinge": (0.480, 0.007), "logistic": (0.478, 0.009), "linear": (0.462, 0.005)},
    120_000: {"hinge": (0.477, 0.008), "logistic": (0.477, 0.009), "linear": (0.463, 0.006)},
    160_000: {"hinge": (0.474, 0.007), "logistic": (0.474, 0.007), "linear": (0.461, 0.004)},
}

FEATURES = {
    "worded": "a training rating is counted in its film's mean, and in no other feature of its own",
    "left-out": "no rating is counted in its own features",
    "centered": "no rating is counted in its own features, which are centered within the user",
}


# -- features -----------------------------------------------------------------------------


class Known(NamedTuple):
    """Ratings of the training part, as matrices of users and films."""

    ratings: np.ndarray  # 0 where there is none
    rated: np.ndarray  # 1 or 0
    mean: float

    @classmethod
    def of(cls, data, train):
        ratings = np.zeros((len(data.users.number), len(data.films.number)))
        rated = np.zeros_like(ratings)
        ratings[data.user[train], data.film[train]] = data.y[train]
        rated[data.user[train], data.film[train]] = 1.0
        return cls(ratings, rated, data.y[train].mean())


def features(data, train, kind):
    """Features of every rating, standardized; those of all parts come from the training part."""
    known = Known.of(data, train)
    # 1 where the rating is among the known ones and is to be taken out of its own features.
    own = train * 1.0
    film_mean = mean_of_film(data, known, own)
    X = np.column_stack(
        [
            age_of_film(data),
            data.X,
            mean_by_genre(data, known, own),
            mean_of_film(data, known, 0.0 * own) if kind == "worded" else film_mean,
            means_of_neighbors(data, known, own, film_mean),
        ]
    )
    if kind == "centered":
        X = X - means_by_user(X, data, train)
    return StandardScaler().fit(X[train]).transform(X)


def mean(total, count, otherwise):
    """Total over count, or another value where nothing was counted."""
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), otherwise)


def age_of_film(data):
    """Years from the release to the rating."""
    days = data.time.astype("datetime64[D]") - data.films.released[data.film]
    years = days / np.timedelta64(1, "D") / 365.25
    return np.where(np.isnan(years), np.nanmean(years), years)


def mean_of_film(data, known, own):
    total = known.ratings.sum(axis=0)[data.film] - own * data.y
    return mean(total, known.rated.sum(axis=0)[data.film] - own, known.mean)


def mean_by_genre(data, known, own):
    """Mean over the film's genres of the user's mean rating in each."""
    of_user = mean(
        known.ratings.sum(axis=1)[data.user] - own * data.y,
        known.rated.sum(axis=1)[data.user] - own,
        known.mean,
    )
    mine = own[:, None] * data.X
    total = (known.ratings @ data.films.genres)[data.user] - mine * data.y[:, None]
    count = (known.rated @ data.films.genres)[data.user] - mine
    by_genre = mean(total, count, of_user[:, None])
    return (by_genre * data.X).sum(axis=1) / data.X.sum(axis=1)


def means_of_neighbors(data, known, own, otherwise):
    """Mean ratings of the film by similar and by dissimilar users."""
    ratings, rated = known.ratings, known.rated
    totals, squares = ratings @ rated.T, ratings**2 @ rated.T
    # Of two users over the films that both have rated.
    sums = np.stack([rated @ rated.T, totals, totals.T, squares, squares.T, ratings @ ratings.T])
    out = np.empty((len(data.y), 2))
    by_film = np.argsort(data.film, kind="stable")
    for rows in np.split(by_film, np.flatnonzero(np.diff(data.film[by_film])) + 1):
        film, user, y = data.film[rows[0]], data.user[rows][:, None], data.y[rows][:, None]
        others = np.flatnonzero(rated[:, film])
        theirs = ratings[others, film]
        this = np.broadcast_arrays(1.0, y, theirs, y**2, theirs**2, y * theirs)
        alike = similarity(*(sums[:, user, others] - own[rows][:, None] * np.stack(this)))
        alike *= user != others
        for column, weight in enumerate((np.maximum(alike, 0.0), np.maximum(-alike, 0.0))):
            out[rows, column] = mean(weight @ theirs, weight.sum(axis=1), otherwise[rows])
    return out


def similarity(n, x, y, xx, yy, xy):
    """Pearson's correlation from sums over n films, less where there are few."""
    spread = np.maximum(n * xx - x**2, 0.0) * np.maximum(n * yy - y**2, 0.0)
    correlation = np.where(spread > 0, (n * xy - x * y) / np.sqrt(spread + (spread == 0)), 0.0)
    return correlation * np.minimum(n, 50) / 50


def means_by_user(X, data, train):
    """Means of the features over the training ratings of each user, for all ratings."""
    n = len(data.users.number)
    count = np.maximum(np.bincount(data.user[train], minlength=n), 1)
    totals = [np.bincount(data.user[train], column[train], n) for column in X.T]
    return (np.column_stack(totals) / count[:, None])[data.user]


# -- one run ------------------------------------------------------------------------------


def draw_pairs(data, part, n, rng):
    """Pairs of ratings of a user that differ, of shape (n, 2)."""
    rows = np.flatnonzero(part)
    rows = rows[np.argsort(data.user[rows], kind="stable")]
    _, first, count = np.unique(data.user[rows], return_index=True, return_counts=True)
    first, count = first[count > 1], count[count > 1]
    kept = np.empty((0, 2), dtype=int)
    while len(kept) < n:
        user = rng.integers(len(count), size=2 * n)
        one, other = rng.integers(count[user]), rng.integers(count[user] - 1)
        pair = rows[first[user][:, None] + np.column_stack([one, other + (other >= one)])]
        kept = np.concatenate([kept, pair[data.y[pair[:, 0]] != data.y[pair[:, 1]]]])
    return kept[:n]


def problem(X, y, pairs):
    """A pair is a query of two documents."""
    return X[pairs.ravel()], y[pairs.ravel()], np.repeat(np.arange(len(pairs)), 2)


def one_run(data, kind, number, sizes, threads):
    """Test loss and lambda, by number of pairs, largest lambda and loss; the film's mean alone."""
    repeat, test = divmod(number, N_PARTS)
    part = np.random.default_rng(repeat).permutation(len(data.y)) % N_PARTS
    part = (part - test) % N_PARTS
    rng = np.random.default_rng([repeat, test])
    out = np.empty((len(sizes), len(LARGEST), len(LOSSES), 2))
    with threadpool_limits(threads):
        X = features(data, part > 1, kind)
        testing = problem(X, data.y, draw_pairs(data, part == 0, N_TEST_PAIRS, rng))
        validation = problem(X, data.y, draw_pairs(data, part == 1, N_TEST_PAIRS, rng))
        pairs = draw_pairs(data, part > 1, max(PRINTED), rng)
        for row, size in enumerate(sizes):
            training = problem(X, data.y, pairs[:size])
            for column, ranker in enumerate(LOSSES.values()):
                out[row, :, column] = chosen(ranker, training, validation, testing)
        X, y, qid = testing
        return out, pairwise_disagreement_loss(y, X[:, FILM_MEAN], qid=qid)


def chosen(ranker, training, validation, testing):
    """Test loss and lambda for each largest lambda."""
    fitted = [clone(ranker).set_params(alpha=alpha).fit(*training) for alpha in ALPHAS]
    losses = np.array([-one.score(*validation) for one in fitted])
    best = [np.argmin(np.where(largest >= ALPHAS, losses, np.inf)) for largest in LARGEST]
    return [(-fitted[b].score(*testing), ALPHAS[b]) for b in best]


# -- what is printed ----------------------------------------------------------------------


def number(value, digits=3):
    """``.465``, without the zero."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def print_losses(losses, sizes):
    """Mean (standard error) beside the printed ones; losses of shape (runs, sizes, losses)."""
    rows = []
    for size, of_runs in zip(sizes, np.swapaxes(losses, 0, 1)):
        ours = [f"{number(of.mean(), 4)} ({number(error(of), 4)})" for of in of_runs.T]
        printed = [f"{number(mean)} ({number(se)})" for mean, se in PRINTED[size].values()]
        leads = (of_runs.argmin(axis=1) == LINEAR).sum()
        rows.append([f"{size:,}", *ours, *printed, f"{leads} of {len(of_runs)}"])
    columns = [*LOSSES, *(f"printed {name}" for name in LOSSES), "runs that linear leads"]
    print_table(["train pairs", *columns], rows)


def error(values):
    """Standard error of the mean."""
    return values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan


def print_verdict(losses, sizes):
    """Where the linear loss is lowest, and how far the means are from the printed ones."""
    means = losses.mean(axis=0)
    ahead = np.delete(means, LINEAR, axis=1).min(axis=1) - means[:, LINEAR]
    printed = np.array([[mean for mean, _ in PRINTED[size].values()] for size in sizes])
    far = np.abs(means - printed).max(axis=0)
    said = ", ".join(f"{name} {number(of, 4)}" for name, of in zip(LOSSES, far))
    say(
        f"Linear is lowest at {(ahead > 0).sum()} of {len(sizes)} numbers of pairs; the better of "
        f"the others minus linear: {ahead.min():+.4f} to {ahead.max():+.4f}. Farthest from the "
        f"printed means: {said}."
    )


def print_alphas(alphas, largest):
    """Median lambda of each loss, and how often it is the largest allowed."""
    alphas = alphas.reshape(-1, len(LOSSES))
    said = ", ".join(
        f"{name} {np.median(of):,g} ({np.mean(of == largest):.0%} at the largest)"
        for name, of in zip(LOSSES, alphas.T)
    )
    say(f"Median of the chosen lambda: {said}.")


def main():
    """Run and print."""
    options = parser(__doc__, data=True, cells=True)
    options.add_argument("--runs", type=int, default=15, help="runs (default 15)")
    options.add_argument("--jobs", type=int, default=2, help="runs at a time (default 2)")
    options.add_argument(
        "--pairs", type=int, nargs="+", choices=list(PRINTED), default=list(PRINTED), metavar="N"
    )
    options.add_argument(
        "--features", nargs="+", choices=list(FEATURES), default=["worded", "left-out"]
    )
    args = options.parse_args()
    data = load_movielens(data_folder(args.data, MOVIELENS))
    print(describe_environment("numpy", "scipy", "scikit-learn", threads=args.threads))
    runs = f"{args.runs} runs, {args.jobs} at a time"
    say(f"{len(data.y):,} ratings; {runs}, {N_TEST_PAIRS:,} test pairs, nu {NU:g}")
    cells = Cells(args.cells, "-".join(map(str, args.pairs)))
    for kind in args.features:
        start = time.perf_counter()
        results, alone = zip(
            *Parallel(args.jobs, verbose=10)(
                delayed(cells)(
                    f"{kind}-{number}", one_run, data, kind, number, args.pairs, args.threads
                )
                for number in range(args.runs)
            )
        )
        results = np.array(results)
        print(f"{time.perf_counter() - start:.0f} s")
        say(f"\nFeatures {kind}: {FEATURES[kind]}")
        say(f"Ranking by the film's mean alone: {number(np.mean(alone), 4)}")
        for column, largest in enumerate(LARGEST):
            say(f"\nlambda up to {largest:,.0f}\n")
            print_losses(results[:, :, column, :, 0], args.pairs)
            print_verdict(results[:, :, column, :, 0], args.pairs)
            print_alphas(results[:, :, column, :, 1], largest)


if __name__ == "__main__":
    main()
