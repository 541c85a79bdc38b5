"""A judge of all queries beside people for some: coverage, width, parts, peers, training.

    python benchmarks/judges.py --data DIR --cells DIR
    python benchmarks/judges.py --data DIR --cells DIR --part documents
    python benchmarks/judges.py --data DIR --cells DIR --part training --draws 20

The folder of data (or SKCALRANK_DATA) holds MQ2008, MSLR-sample, lightgbm-lambdarank and ml-100k.
Ten judges are simulated (`JUDGES`); none is a language model. Queries are drawn with replacement,
seeds 0, 1, 2, ..., so that the values of all queries are the truth: people judge the first n, the
judge all. Systems are scores of held-out folds: one ranker, one without every tenth column
("similar"), and one of every third column ("other"). Queries on which a measure is undefined are
left out, but for ``--part undefined``. Cells are kept, and read when they are there.

ppi_py is compared where it is installed: ``ppi_mean_ci``, whose unlabeled values are the others.

Training: of 60 % of the queries, people judge 10, 30 or 100, four kinds of judges with five
strengths of error all. Closed forms of ``NDCGRanker``, which are compared with the package.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, optional, parser, print_table, say
from _films import FILES as FILM_FILES
from _films import film_table
from _letor import SETS as LETOR
from _letor import joined
from scipy import stats
from scipy.optimize import nnls
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from skcalrank import NDCGRanker, QueryKFold
from skcalrank.data import Queries
from skcalrank.evaluation import RegressionMeans, compare
from skcalrank.measures import get_measure
from skcalrank.metrics import evaluate, ndcg_score

SIZES = (10, 20, 30, 50, 100)
MEASURES = ("ndcg@10", "map", "precision@5", "rbp")
TARGETS = ("mean", "other", "similar")

# Documents of a query that people judge, of 100 in all; draws at a time.
PARTS, BUDGET, CHUNK = (10, 5, 2, 1), 100, 50

NDCG_10 = get_measure("ndcg@10")

# Films of a user, and users.
MOST, N_USERS = 60, 400


class Pool(NamedTuple):
    """Rows sorted by query; `qid` counts from 0."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    level: float

    @property
    def n_queries(self):
        return int(self.qid[-1]) + 1


# -- sets and systems --------------------------------------------------------------------------


def _letor(name, level):
    def read(folder):
        parts = LETOR[name][1](folder)[0]
        # Files of one set may number their queries alike.
        whole = joined(*(part._replace(qid=part.qid + 10**6 * k) for k, part in enumerate(parts)))
        return _pool(whole.X, whole.y, whole.qid, level)

    return read


def _films(folder):
    rng = np.random.default_rng(0)
    drawn = rng.permutation(943)[:N_USERS] + 1

    def rows_of(user):
        rows = rng.permutation(np.flatnonzero(np.isin(user, drawn)))
        rows = rows[np.argsort(user[rows], kind="stable")]
        number = np.arange(len(rows)) - np.searchsorted(user[rows], user[rows])
        return rows[number < MOST]

    table, y, user = film_table(folder, rows_of)
    table = table.drop(columns="occupation").assign(gender=table.gender.cat.codes)
    return _pool(table.fillna(table.median()).to_numpy(float), y, user, 3)


def _pool(X, y, qid, level):
    qid = np.unique(qid, return_inverse=True)[1]
    kept = X.std(axis=0) > 0
    return Pool(scale(np.asarray(X[:, kept], dtype=float)), np.asarray(y, dtype=float), qid, level)


SETS = {
    "MQ2008": _letor("MQ2008", 1),
    "LightGBM": _letor("lightgbm-lambdarank", 2),
    "MSLR": _letor("MSLR-sample", 2),
    "MovieLens": _films,
}
FILES = [file for files, _ in LETOR.values() for file in files] + FILM_FILES


def systems(pool):
    """Scores of held-out folds: of all columns, without every tenth, and of every third."""
    columns = np.arange(pool.X.shape[1])
    out = {}
    for name, kept in {
        "first": columns,
        "similar": columns[columns % 10 != 3],
        "other": columns[columns % 3 == 0],
    }.items():
        out[name] = np.zeros(len(pool.y))
        for train, test in QueryKFold(3).split(pool.X, pool.y, pool.qid):
            X = pool.X[:, kept]
            ranker = NDCGRanker(k=10).fit(X[train], pool.y[train], pool.qid[train])
            out[name][test] = ranker.predict(X[test])
    return out


# -- judges ------------------------------------------------------------------------------------


def judges(pool, first):
    """Labels of all documents by ten judges; noise is in units of half the highest grade."""
    rng, y, top = np.random.default_rng(0), pool.y, pool.y.max()
    half = top / 2
    noise = half * rng.normal(size=(8, len(y)))
    order = np.lexsort((-first, pool.qid))
    depth = np.empty(len(y))
    depth[order] = np.arange(len(y)) - np.searchsorted(pool.qid, pool.qid)
    length = stats.norm.cdf(scale(pool.X[:, np.argmax(np.abs(pool.X).std(axis=0))]))
    raw = {
        "perfect": y,
        "good": y + 0.4 * noise[0],
        "noise": y + 1.0 * noise[1],
        "compress": half + 0.4 * (y - half) + 0.3 * noise[2],
        "inflate": np.maximum(y, y + half * (rng.random(len(y)) < 0.6)) + 0.3 * noise[3],
        "length": 0.5 * y + top * 0.6 * length + 0.3 * noise[4],
        "favors the first": y + top * 0.6 * (depth < 5) + 0.3 * noise[5],
        "query shift": y + half * rng.normal(size=pool.n_queries)[pool.qid] + 0.2 * noise[6],
        "adversarial": top - y + 0.4 * noise[7],
        "pure noise": rng.permutation(y),
    }
    return {name: np.clip(np.round(labels), 0, top) for name, labels in raw.items()}


def values_of(pool, labels, scores, measures=MEASURES):
    """Values of each query by target and measure; NaN where undefined."""
    chosen = {name: _measure(name, pool.level) for name in measures}
    by_system = {
        name: evaluate(labels, of, chosen, qid=pool.qid, average=False)
        for name, of in scores.items()
    }
    first = by_system["first"]
    return {
        (target, name): first[name] - (0 if target == "mean" else by_system[target][name])
        for target, name in product(TARGETS, measures)
    }


def _measure(name, level):
    measure = get_measure(name)
    return get_measure(name, relevance_level=level) if measure.is_binary else measure


# -- draws -------------------------------------------------------------------------------------


def draws(n_queries, n_draws):
    """Numbers of the queries of each draw, of shape (n_draws, n_queries)."""
    seeds = range(n_draws)
    return np.array([np.random.default_rng(s).integers(0, n_queries, n_queries) for s in seeds])


def outcome(human, alone, judge, truth):
    """Coverage and mean width of intervals with the judge, and of people alone; bias, gain."""
    n = human.shape[1]
    means = RegressionMeans.of(human, alone, judge, np.arange(judge.shape[1]) < n)
    low, high = means.ends(0.95)
    moments = means.moments
    half = stats.t.ppf(0.975, np.maximum(moments.n - 1, 1)) * moments.error(0.0)
    # Where values do not vary there is no interval; people alone have none either.
    known = ~np.isnan(low)
    covers = (low <= truth) & (truth <= high)
    alone_covers = np.abs(moments.mean - truth) <= half
    spread = np.nanstd(means.mean)
    return {
        "cover": covers[known].mean(),
        "people": alone_covers[known].mean(),
        "width": 2 * half[known].mean() and (high - low)[known].mean() / (2 * half[known].mean()),
        "mean width": (high - low)[known].mean(),
        "bias": (means.mean.mean() - truth) / spread if spread else 0.0,
        "n": int(known.sum()),
    }


def ask_intervals(pool, scores, labels, n_draws, undefined=False):
    """Outcomes by target, measure and number of human queries, for one judge."""
    people, judge = (values_of(pool, of, scores) for of in (pool.y, labels))
    out = {}
    for key, z in people.items():
        kept = slice(None) if undefined else ~np.isnan(z)
        z, f = z[kept], judge[key][kept]
        numbers = draws(len(z), n_draws)
        defined = ~np.isnan(z) & ~np.isnan(f)
        varies = defined.sum() > 2 and z[defined].std() > 0 and f[defined].std() > 0
        correlation = np.corrcoef(z[defined], f[defined])[0, 1] if varies else 0.0
        by_judge = f[numbers]
        for n in SIZES:
            human = z[numbers[:, :n]]
            found = outcome(human, human, by_judge, np.nanmean(z))
            out[(*key, n)] = found | {"correlation": correlation}
        of_judge = RegressionMeans.of(by_judge, by_judge, by_judge, np.ones(len(z), bool))
        low, high = of_judge.ends(0.95)
        out[(*key, "judge alone")] = float(
            np.mean((low <= np.nanmean(z)) & (np.nanmean(z) <= high))
        )
    return out


def ask_ppi(pool, scores, labels, n_draws):
    """Coverage and width of ppi_py, of ours and of people alone, for differences of NDCG@10."""
    from ppi_py import ppi_mean_ci

    people, judge = (values_of(pool, of, scores, ("ndcg@10",)) for of in (pool.y, labels))
    out = {}
    for target, n in product(TARGETS[1:], (10, 20, 30, 100)):
        z, f = people[target, "ndcg@10"], judge[target, "ndcg@10"]
        kept = ~np.isnan(z)
        z, f = z[kept], np.nan_to_num(f[kept])
        numbers, truth = draws(len(z), n_draws), z.mean()
        ours = outcome(z[numbers[:, :n]], z[numbers[:, :n]], f[numbers], truth)
        ends = []
        for of in numbers:
            human, other = f[of[:n]], f[of[n:]]
            with np.errstate(all="ignore"):
                low, high = ppi_mean_ci(z[of[:n]], human, other, alpha=0.05)
            ends.append((float(np.ravel(low)[0]), float(np.ravel(high)[0])))
        low, high = np.array(ends).T
        width = (high - low).mean() / ours["mean width"] if ours["mean width"] else np.nan
        out[target, n] = ours | {"ppi": ((low <= truth) & (truth <= high)).mean(), "ratio": width}
    return out


# -- parts of queries --------------------------------------------------------------------------


def ask_documents(pool, scores, labels, n_draws):
    """Outcomes by number of judgments and documents a query, for DCG@10 with linear gain.

    Documents are drawn among those that the first ten of a system hold: of one system for its mean,
    of both for the difference to another.
    """
    measure = get_measure("dcg@10", gain="linear")
    out = {}
    for target in ("mean", "other"):
        gains, is_counted = _counted(pool, scores, target)
        f = _sums(pool.qid, gains * labels)
        truth = _sums(pool.qid, gains * pool.y).mean()
        numbers = draws(pool.n_queries, n_draws)
        rows = _padded(pool.qid, is_counted)
        people, judge = (np.append(gains * of, 0.0)[rows] for of in (pool.y, labels))
        for m in PARTS:
            n = BUDGET // m
            parts = [
                _sampled(numbers[first : first + CHUNK, :n], rows, people, judge, m, first)
                for first in range(0, n_draws, CHUNK)
            ]
            alone, added = map(np.concatenate, zip(*parts))
            human = f[numbers[:, :n]] + added
            out[target, m] = outcome(human, alone, f[numbers], truth)
    _check_documents(pool, scores, labels, measure)
    return out


def _sampled(queries, rows, people, judge, m, seed):
    """Sums over m random documents of each query: of people's values, and of people less judge."""
    random = np.random.default_rng([seed, m]).random((*queries.shape, rows.shape[1]))
    none = rows[queries] == rows.max()
    random[none] = 2.0
    drawn = np.argpartition(random, m - 1, axis=-1)[..., :m]
    times = np.maximum(1.0, (~none).sum(-1) / m)
    own, other = (np.take_along_axis(of[queries], drawn, -1).sum(-1) for of in (people, judge))
    return times * own, times * (own - other)


def _counted(pool, scores, target):
    """Gain of one unit of each document, and whether it is among the first ten."""
    gains, counted = 0.0, False
    for name, sign in (("first", 1), (target, -1))[: 1 + (target != "mean")]:
        order = np.lexsort((-scores[name], pool.qid))
        depth = np.empty(len(pool.y))
        depth[order] = np.arange(len(pool.y)) - np.searchsorted(pool.qid, pool.qid)
        gains = gains + sign * (depth < 10) / np.log2(2 + depth)
        counted = counted | (depth < 10)
    return gains, counted


def _sums(qid, values):
    return np.bincount(qid, values)


def _padded(qid, is_counted):
    """Rows that count of each query, as a matrix; the number of rows where there are fewer."""
    rows = np.flatnonzero(is_counted)
    number = np.arange(len(rows)) - np.searchsorted(qid[rows], qid[rows])
    out = np.full((qid[-1] + 1, number.max() + 1), len(qid))
    out[qid[rows], number] = rows
    return out


def _check_documents(pool, scores, labels, measure):
    """The package gives the values of the simulation, for one draw without ties of scores."""
    _, counted = _counted(pool, scores, "mean")
    rng = np.random.default_rng(0)
    drawn = rng.permutation(pool.n_queries)[:30]
    rows = np.isin(pool.qid, drawn) & counted & (rng.random(len(pool.y)) < 0.5)
    people = np.where(rows, pool.y, np.nan)
    chances = np.full(len(pool.y), 0.5)
    result = compare(
        people, {"first": scores["first"]}, [measure], qid=pool.qid, judge=labels,
        judged_probability=chances, ties="stable",
    )  # fmt: skip
    gains, _ = _counted(pool, scores, "mean")
    z = _sums(pool.qid, gains * (labels + 2 * rows * (pool.y - labels)))
    human = _sums(pool.qid, rows) > 0
    assert np.allclose(result.values[0, 0, human], z[human], rtol=1e-9)


# -- training ----------------------------------------------------------------------------------


class Fits:
    """Fits of ``NDCGRanker`` to targets of the rows of some queries, from sums over queries."""

    def __init__(self, X, qid):
        self.qid, self.X = qid, X - _means(X, qid)
        ends = np.searchsorted(qid, np.arange(qid[-1] + 2))
        sizes = np.diff(ends)[:, None, None]
        rows = [self.X[first:last] for first, last in pairwise(ends)]
        self.grams = sizes * np.array([part.T @ part for part in rows])
        self.size, self.starts, self.known = sizes[:, :, 0], ends[:-1], {}

    def gram(self, queries):
        key = queries.tobytes()
        if key not in self.known:
            self.known[key] = self.grams[queries].sum(0)
        return self.known[key]

    def __call__(self, targets, queries, factor=1.0):
        """Coefficients, with the default penalty of so many queries times a factor."""
        each = self.size * np.add.reduceat(self.X * targets[:, None], self.starts)
        gram = self.gram(queries)
        n_queries = (self.size[queries] > 1).sum()
        penalty = 3 / np.sqrt(n_queries) * factor * np.diag(gram) + 1e-12
        return np.linalg.solve(gram + np.diag(penalty), each[queries].sum(0))


def _means(values, qid):
    counts = np.bincount(qid)
    sums = np.add.reduceat(values, np.searchsorted(qid, np.arange(len(counts))))
    return (sums / (counts if values.ndim == 1 else counts[:, None]))[qid]


def _targets(y, qid):
    """Targets of NDCG@10, less their mean over the query."""
    out = NDCG_10.score_targets(y, Queries.from_qid(qid))
    return out - _means(out, qid)


def training_judges(pool, rng):
    """Labels by four kinds of judges, each of five strengths of error."""
    y, top, n = pool.y, pool.y.max(), len(pool.y)
    half = top / 2
    length = stats.norm.cdf(pool.X[:, 0])
    out = {}
    for error in (0.25, 0.5, 1.0, 2.0, 4.0):
        noise = half * rng.normal(size=(4, n))
        shift = half * rng.normal(size=pool.n_queries)[pool.qid]
        out[f"noise {error}"] = y + error * noise[0]
        out[f"length {error}"] = y + error * top * length + 0.2 * noise[1]
        out[f"query shift {error}"] = y + error * shift + 0.4 * noise[2]
        out[f"compress {error}"] = half + (y - half) / (1 + error) + 0.35 * noise[3]
    return {name: np.clip(np.round(labels), 0, top) for name, labels in out.items()}


def mixtures(fits, by_judge, by_people, human, folds):
    """Coefficients of people alone, the judge alone, and the mixes of them with the corrected.

    The corrected ranker is l0 times the judge's, plus one of what it leaves of people's targets,
    less l1 times what it leaves of the judge's, at 1, 4 and 16 times the penalty. Weights are from
    held-out human queries: of the likelihood, or least squares.
    """
    everything = np.arange(len(fits.starts))
    held_out = np.zeros((5, len(fits.qid)))
    for fold in range(5):
        rows = folds[fits.qid] == fold
        held_out[0, rows] = fits.X[rows] @ fits(by_judge, everything[folds != fold])
    left = by_judge - held_out[0]
    mine = np.isin(fits.qid, human)
    of_people = by_people[mine]
    factors = nnls(np.column_stack([held_out[0], left])[mine], of_people)[0]
    rest = by_people - factors[0] * held_out[0] - factors[1] * left
    asked = [(by_people, 1.0), *((rest, factor) for factor in (1.0, 4.0, 16.0))]
    for number, (targets, factor) in enumerate(asked, 1):
        for fold in range(5):
            rows = mine & (folds[fits.qid] == fold)
            coef = fits(targets, human[folds[human] != fold], factor)
            held_out[number, rows] = fits.X[rows] @ coef
    judge = fits(by_judge, everything)
    coefs = np.array([judge, *(fits(targets, human, factor) for targets, factor in asked)])
    coefs[2:] += factors[0] * judge
    held_out[2:] += factors[0] * held_out[0]
    columns = held_out[:, mine].T
    norms = np.sqrt((columns**2).sum(0) * (of_people @ of_people))
    r = np.maximum(np.divide(of_people @ columns, norms, out=0.0 * norms, where=norms > 0), 0)
    likelihood = -mine.sum() / 8 * np.log(1 - r**2)
    weights = np.exp(likelihood - likelihood.max())
    squares = nnls(columns, of_people)[0]
    return {
        "people": coefs[1],
        "judge": judge,
        "likelihood": weights / weights.sum() @ coefs,
        "squares": squares @ coefs,
    }


def ask_training(pool, seed):
    """NDCG@10 of 40 % of the queries by judge, number of human queries and ranker, for one draw."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(pool.n_queries)
    train = np.isin(pool.qid, order[: int(0.6 * pool.n_queries)])
    qid = np.unique(pool.qid[train], return_inverse=True)[1]
    fits, people = Fits(pool.X[train], qid), _targets(pool.y[train], qid)
    if not seed:
        ranker = NDCGRanker(k=10).fit(pool.X[train], pool.y[train], qid)
        assert np.allclose(ranker.coef_, fits(people, np.arange(qid[-1] + 1)), atol=1e-7)
    drawn, folds = rng.permutation(qid[-1] + 1), rng.permutation(qid[-1] + 1) % 5
    folds[drawn] = np.arange(len(drawn)) % 5
    test = pool.X[~train], pool.y[~train], pool.qid[~train]

    def value(coef):
        return ndcg_score(test[1], test[0] @ coef, k=10, qid=test[2])

    out = {"all": value(fits(people, np.arange(qid[-1] + 1)))}
    for name, labels in training_judges(pool, rng).items():
        by_judge = _targets(labels[train], qid)
        correlation = np.corrcoef(people, by_judge)[0, 1]
        for n in (10, 30, 100):
            if n < len(drawn):
                coefs = mixtures(fits, by_judge, people, np.sort(drawn[:n]), folds)
                found = {key: value(coef) for key, coef in coefs.items()}
                out[name, n] = found | {"correlation": correlation}
    return out


def show_training(found):
    """Loss and gain against the better of people and judge, and the gap to all human labels."""
    rows = []
    for name, n, mix in product(SETS, (10, 30, 100), ("likelihood", "squares")):
        draws_of = [of for (of_set, _), of in found.items() if of_set == name]
        keys = [key for key in (draws_of[0] if draws_of else ()) if key[1] == n]
        if not keys:
            continue
        gains, gaps = [], []
        for key in keys:
            cells = {
                what: np.array([of[key][what] for of in draws_of]) for what in draws_of[0][key]
            }
            best = max(("people", "judge"), key=lambda what: cells[what].mean())
            gains.append((cells[mix] - cells[best]).mean())
            whole = np.array([of["all"] for of in draws_of]) - cells["people"]
            if cells["correlation"].mean() >= 0.75:
                gaps.append((cells[mix] - cells["people"]).mean() / whole.mean())
        rows.append([
            name, n, mix, f"{min(gains):+.4f}", f"{np.mean(gains):+.4f}",
            f"{sum(np.array(gains) < -0.005)} of {len(gains)}",
            f"{np.mean(gaps):.2f}" if gaps else "",
        ])  # fmt: skip
    head = ["set", "human queries", "weights", "worst", "mean", "below -.005"]
    print_table([*head, "gap closed, r >= .75"], rows)


# -- tables ------------------------------------------------------------------------------------

ASKED = {
    "queries": ask_intervals,
    "undefined": lambda *of: ask_intervals(*of, undefined=True),
    "documents": ask_documents,
    "ppi": ask_ppi,
    "training": ask_training,
}


def answers(part, folder, cells, n_draws, only=()):
    """Answers by set and judge, or by set and draw."""
    out = {}
    for name, read in SETS.items():
        if only and name not in only:
            continue
        pool = read(folder)
        if part == "training":
            for seed in range(n_draws):
                out[name, seed] = cells(f"{part}-{name}-{seed}", ask_training, pool, seed)
            continue
        scores = systems(pool)
        for judge, labels in judges(pool, scores["first"]).items():
            cell = f"{part}-{name}-{judge}-{n_draws}"
            out[name, judge] = cells(cell, ASKED[part], pool, scores, labels, n_draws)
    return out


def _bar(people, count):
    """The coverage that a cell must have: .92, or people alone - .015, less 2.6 of its errors."""
    bar = np.minimum(0.92, people - 0.015)
    return bar - 2.6 * np.sqrt(bar * (1 - bar) / count)


def show_queries(found):
    """Coverage by set and n over judges, measures and targets; width by judge."""
    rows, misses = [], []
    for name, n in product(SETS, SIZES):
        cells = {
            (judge, *key[:2]): of
            for (of_set, judge), by in found.items()
            for key, of in by.items()
            if of_set == name and key[2] == n and of["n"] >= 50
        }
        if not cells:
            continue
        cover, people, width = (
            np.array([of[what] for of in cells.values()]) for what in ("cover", "people", "width")
        )
        bar = _bar(people, np.array([of["n"] for of in cells.values()]))
        misses += [(name, n, *key, of) for (key, of), low in zip(cells.items(), cover < bar) if low]
        noise = [of["width"] for key, of in cells.items() if key[0] == "pure noise"]
        rows.append([
            name, n, f"{cover.min():.3f} to {cover.max():.3f}", f"{cover.mean():.3f}",
            f"{people.mean():.3f}", f"{width.mean():.2f}", f"{np.mean(noise):.3f}",
            f"{max(noise):.3f}", int((cover < bar).sum()),
        ])  # fmt: skip
    head = ["set", "n", "coverage", "mean", "people alone", "width", "pure noise", "at most"]
    print_table([*head, "cells below the bar"], rows)
    for name, n, judge, target, measure, of in misses:
        say(
            f"Below the bar: {name}, n = {n}, {judge}, {target}, {measure}: {of['cover']:.3f}, "
            f"people alone {of['people']:.3f}"
        )
    show_judges(found)


def show_judges(found):
    """Coverage, width and correlation of each judge at n = 30, and of the judge alone."""
    names = list(dict.fromkeys(judge for _, judge in found))
    rows = []
    for judge in names:
        mine = [by for (_, of), by in found.items() if of == judge]
        cells = [of for by in mine for key, of in by.items() if key[2] == 30]
        alone = [of for by in mine for key, of in by.items() if key[2] == "judge alone"]
        rows.append([
            judge, *(f"{np.mean([of[what] for of in cells]):.3f}" for what in ("cover", "people")),
            *(f"{np.mean([of[what] for of in cells]):.2f}" for what in ("width", "correlation")),
            f"{max(abs(of['bias']) for of in cells):.2f}", f"{np.mean(alone):.2f}",
        ])  # fmt: skip
    columns = ["judge, n = 30", "coverage", "people alone", "width", "correlation"]
    print_table([*columns, "largest bias / sd", "judge alone"], rows)
    for name, by_n in product(SETS, (30,)):
        near = [
            of["width"]
            for (of_set, _), by in found.items()
            for key, of in by.items()
            if of_set == name and key[2] == by_n and 0.72 <= abs(of["correlation"]) <= 0.78
        ]
        if near:
            say(
                f"{name}, n = 30, {len(near)} cells of correlation .72 to .78: width "
                f"{np.mean(near):.2f} on average, at most {max(near):.2f}"
            )


def show_documents(found):
    """Width of m documents a query beside ten, and coverage, by set."""
    rows = []
    for name, target in product(SETS, ("mean", "other")):
        mine = [by for (of_set, _), by in found.items() if of_set == name]
        tens = np.array([by[target, 10]["mean width"] for by in mine])
        for m in PARTS if mine else ():
            cells = [by[target, m] for by in mine]
            ratio = np.array([of["mean width"] for of in cells]) / tens
            cover = [of["cover"] for of in cells]
            rows.append([
                name, target, f"{BUDGET // m} x {m}", f"{ratio.mean():.2f}",
                f"{ratio.min():.2f} to {ratio.max():.2f}",
                f"{np.mean(cover):.3f}", f"{min(cover):.3f}",
            ])  # fmt: skip
    print_table(
        ["set", "target", "queries x documents", "width", "judges", "coverage", "lowest"], rows
    )


def show_ppi(found):
    """Coverage of ppi_py, ours and people alone, and how wide ppi_py is beside ours."""
    rows = []
    for target, n in product(TARGETS[1:], (10, 20, 30, 100)):
        cells = [by[target, n] for by in found.values()]
        means = (np.nanmean([of[what] for of in cells]) for what in ("ppi", "cover", "people"))
        lowest = (np.nanmin([of[what] for of in cells]) for what in ("ppi", "cover"))
        ratio = np.nanmean([of["ratio"] for of in cells])
        rows.append([target, n, *(f"{of:.3f}" for of in (*means, *lowest)), f"{ratio:.2f}"])
    columns = ["difference", "n", "ppi_py", "ours", "people alone"]
    print_table([*columns, "lowest, ppi_py", "lowest, ours", "width, ppi_py / ours"], rows)


SHOWN = {
    "queries": show_queries,
    "undefined": show_queries,
    "documents": show_documents,
    "ppi": show_ppi,
    "training": show_training,
}


def main():
    options = parser(__doc__, data=True, cells=True)
    options.add_argument("--part", choices=ASKED, default="queries", help="(default queries)")
    options.add_argument("--draws", type=int, default=1000, help="draws of a cell (default 1000)")
    options.add_argument("--only", nargs="*", default=(), choices=SETS, help="sets (default all)")
    options = options.parse_args()
    peers = ["ppi-python"] if options.part == "ppi" else []
    say(describe_environment("scipy", *peers, threads=options.threads))
    if options.part == "ppi" and optional("ppi_py") is None:
        return
    folder = data_folder(options.data, FILES)
    with threadpool_limits(options.threads):
        found = answers(
            options.part, folder, Cells(options.cells), options.draws, only=options.only
        )
    SHOWN[options.part](found)


if __name__ == "__main__":
    main()
