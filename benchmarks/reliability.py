"""Scores with a unit, and cut-offs with a promise: order, log loss, promises, sizes, cost.

    python benchmarks/reliability.py --data DIR --cells DIR

Answers are kept in the folder of cells, one for each question of a set, and are read when they are
there. The folder of data (or SKCALRANK_DATA) holds MQ2008, MSLR-sample, lightgbm-lambdarank and
ml-100k; digits come with scikit-learn.

Relevant are grades from 1, 2, 2, ratings from 4, and 1. Of MovieLens 400 users are queries, and
statistics of films come from the others. The made law: 900 queries of 4 to 400 documents, with an
effect of the query that one feature shows with noise, and scores that tell less in large queries;
every split draws it anew. Columns are standardized once, without labels.
"""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, parser, print_table, say
from _films import FILES as FILM_FILES
from _films import film_table
from _letor import SETS as LETOR
from _letor import joined
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from skcalrank import (
    BoostedRanker,
    CalibratedRankerCV,
    GuaranteedCutoff,
    NDCGRanker,
    QueryKFold,
    TabularRanker,
    load_digits_queries,
)
from skcalrank.metrics import document_calibration_error, ndcg_score, query_calibration_error
from skcalrank.reliability._promise import Promise

LOSSES = ("recall", "dcg", "first", "best")
ALPHAS = (0.05, 0.1, 0.2)
RULES = ("score", "target", "depth")
N_SPLITS = 200

# Splits in which thresholds are compared with those of the whole class.
N_WHOLE = 10
N_FOLDS = 5
N_TURNS = 2

# Films of a user in the promises, of up to 700.
MOST = 60


class Pool(NamedTuple):
    """Rows sorted by query; `qid` counts from 0."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    level: float

    def of(self, queries):
        """Rows of some of the queries."""
        rows = np.isin(self.qid, queries)
        return self.X[rows], self.y[rows], self.qid[rows]

    @property
    def n_queries(self):
        return int(self.qid[-1]) + 1


class FirstColumn(RegressorMixin, BaseEstimator):
    """A ranker whose scores are given, so that a split costs thresholds alone."""

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0]


GIVEN = FrozenEstimator(FirstColumn().fit(None, None))

# -- sets ------------------------------------------------------------------------------------


def _letor(name, level):
    def read(folder):
        parts = LETOR[name][1](folder)[0]
        # Files of one set may number their queries alike.
        whole = joined(*(part._replace(qid=part.qid + 10**6 * k) for k, part in enumerate(parts)))
        return _pool(whole.X, whole.y, whole.qid, level)

    return read


def _films(folder):
    drawn = np.random.default_rng(0).permutation(943)[:400] + 1

    def rows_of(user):
        rows = np.flatnonzero(np.isin(user, drawn))
        return rows[np.argsort(user[rows], kind="stable")]

    table, y, user = film_table(folder, rows_of)
    table = table.drop(columns="occupation").assign(gender=table.gender.cat.codes)
    return _pool(table.fillna(table.median()).to_numpy(float), y, user, 3)


def _digits(_):
    return _pool(*load_digits_queries(n_queries=200), 1)


def made_law(seed=0, n_queries=900):
    rng = np.random.default_rng(seed)
    sizes = np.clip(np.exp(rng.normal(3, 0.9, n_queries)), 4, 400).astype(int)
    qid, n = np.repeat(np.arange(n_queries), sizes), sizes.sum()
    effect, size = rng.normal(0, 1.2, n_queries)[qid], np.log(sizes)[qid]
    seen = effect + rng.normal(0, 0.8, n_queries)[qid]
    X = np.column_stack([rng.normal(size=(n, 7)), seen])
    utility = X[:, :4] @ [1, 0.8, 0.5, 0.3] + 0.6 * np.sin(2 * X[:, 4])
    spread = np.where(size > 3.5, 0.6, 1.6)
    y = rng.random(n) < expit(-1.2 + effect - 0.5 * (size - 3) + spread * utility)
    return _pool(X, y.astype(float), qid, 1)


def _pool(X, y, qid, level):
    qid = np.unique(qid, return_inverse=True)[1]
    return Pool(scale(np.asarray(X, dtype=float)), np.asarray(y, dtype=float), qid, level)


SETS = {
    "MQ2008": _letor("MQ2008", 1),
    "LightGBM": _letor("lightgbm-lambdarank", 2),
    "MSLR": _letor("MSLR-sample", 2),
    "MovieLens": _films,
    "digits": _digits,
    "made": lambda _: made_law(),
}
FILES = [file for files, _ in LETOR.values() for file in files] + FILM_FILES

WITH_EMPTY = ("LightGBM", "MQ2008", "made")

# -- order -------------------------------------------------------------------------------------


def rankers():
    """Rankers by name; trees are few, since the question is the order alone."""
    out = {
        "NDCGRanker": NDCGRanker(k=10),
        "BoostedRanker": BoostedRanker(n_estimators=50),
        "TabularRanker": TabularRanker(
            trees=BoostedRanker(n_estimators=30), random_state=0, n_jobs=1
        ),
    }
    try:
        from lightgbm import LGBMRanker
    except ImportError:
        return out
    return out | {"LGBMRanker": LGBMRanker(n_estimators=50, num_leaves=15, verbose=-1, n_jobs=1)}


def ask_order(pool):
    """Whether order, ties and NDCG of the values are those of the scores, by ranker and method.

    Two folds; the level, which is constant in a query, for the first ranker alone.
    """
    out = {}
    X, y, qid = pool.X, pool.y, pool.qid
    # One query of 12,000 documents, and scores far from those of the fit.
    long = np.resize(X, (12_000, X.shape[1])) + np.random.default_rng(0).normal(size=(12_000, 1))
    for name, ranker in rankers().items():
        base = CalibratedRankerCV(ranker, cv=2, relevance_level=pool.level)
        base.set_params(level="auto" if name == "NDCGRanker" else None)
        for method in ("sigmoid", "isotonic"):
            if method == "isotonic" and pool.n_queries < 500:
                continue
            fitted = clone(base).set_params(method=method).fit(X, y, qid)
            found = []
            for rows, codes in ((X, qid), (long, np.zeros(12_000, int)), (1e6 * X, qid)):
                scores = np.asarray(_scores(fitted.ranker_, rows, codes), dtype=float)
                p = fitted.predict_proba(rows, codes)[:, 1]
                found.append(bool(_same_order(p, scores, codes) and p.min() > 0 and p.max() < 1))
            scores = _scores(fitted.ranker_, X, qid)
            values = [ndcg_score(y, of, qid=qid) for of in (fitted.predict(X, qid), scores)]
            out[f"{name}, {method}"] = [*found, values[0] == values[1]]
    return out


def _scores(ranker, X, qid):
    reads = getattr(type(ranker), "_scores_by_query", False) or hasattr(ranker, "named_rankers_")
    return ranker.predict(X, qid) if reads else ranker.predict(X)


def _same_order(values, scores, qid):
    dense = []
    for of in (values, scores):
        order = np.lexsort((of, qid))
        new = np.append(True, (np.diff(of[order]) > 0) | (np.diff(qid[order]) > 0))
        dense.append(np.empty(len(of), int))
        dense[-1][order] = np.cumsum(new)
    return (dense[0] == dense[1]).all()


# -- log loss ----------------------------------------------------------------------------------


def ask_log_loss(pool):
    """Log loss and errors over held-out queries, of Platt's sigmoid, ours, and a classifier."""
    values = {name: np.zeros(len(pool.y)) for name in ("Platt", "no level", "ours", "classifier")}
    relevant = pool.y >= pool.level
    n_levels = 0
    for train, test in QueryKFold(N_FOLDS, shuffle=True, random_state=0).split(
        pool.X, pool.y, pool.qid
    ):
        X, y, qid = pool.X[train], pool.y[train], pool.qid[train]
        new = pool.X[test], pool.qid[test]
        ranker = NDCGRanker(k=10)
        for name, level in (("no level", None), ("ours", "auto")):
            ours = CalibratedRankerCV(ranker, level=level, relevance_level=pool.level)
            values[name][test] = ours.fit(X, y, qid).predict(*new)
        n_levels += ours.level_ is not None
        scores = np.zeros(len(y))
        for inside, outside in QueryKFold(N_FOLDS).split(X, y, qid):
            scores[outside] = (
                clone(ranker).fit(X[inside], y[inside], qid[inside]).predict(X[outside])
            )
        sigmoid = LogisticRegression(C=np.inf, tol=1e-8).fit(scores[:, None], relevant[train])
        new_scores = ranker.fit(X, y, qid).predict(new[0])
        values["Platt"][test] = sigmoid.predict_proba(new_scores[:, None])[:, 1]
        classifier = HistGradientBoostingClassifier(random_state=0).fit(X, relevant[train])
        values["classifier"][test] = classifier.predict_proba(new[0])[:, 1]
    has_some = np.bincount(pool.qid, relevant) > 0
    out = {"levels": n_levels}
    for name, p in values.items():
        some = 1 - np.exp(np.bincount(pool.qid, np.log1p(-p)))
        out[name] = [
            log_loss(relevant, p),
            document_calibration_error(relevant * 1.0, p),
            query_calibration_error(relevant * 1.0, p, qid=pool.qid, relative=True, n_bins=5),
            roc_auc_score(has_some, some) if not has_some.all() else None,
        ]
    return out


# -- promises ----------------------------------------------------------------------------------


def shares(loss, y, scores, qid, level):
    """What each document is of its query, without ties; sums to 1 or 0 over a query."""
    relevant = y >= level
    if loss == "dcg":
        out = (2**y - 1) / np.log2(_depths(scores, qid) + 1)
    else:
        if loss == "best":
            top, low = (_over(function, y, qid) for function in (np.maximum, np.minimum))
            relevant = (y == top[qid]) & (top > low)[qid]
        out = relevant * 1.0
        if loss != "recall":
            among = np.where(relevant, scores, -np.inf)
            out = relevant * (scores == _over(np.maximum, among, qid)[qid])
    sums = np.bincount(qid, out)[qid]
    return np.where(sums > 0, out / np.where(sums > 0, sums, 1), 0)


def _depths(scores, qid):
    """1, 2, ... from the top of each query, for scores without ties."""
    order = np.lexsort((-scores, qid))
    out = np.empty(len(scores))
    out[order] = np.arange(1, len(scores) + 1) - np.searchsorted(qid, qid)
    return out


def _thinned(pool, rng):
    """Return queries without all but some documents that are drawn."""
    order = np.lexsort((rng.random(len(pool.y)), pool.qid))
    first = np.searchsorted(pool.qid, np.arange(pool.n_queries))
    kept = np.sort(order[np.arange(len(order)) - first[pool.qid] < MOST])
    return Pool(pool.X[kept], pool.y[kept], pool.qid[kept], pool.level)


def _over(function, values, qid):
    return function.reduceat(values, np.searchsorted(qid, np.arange(qid[-1] + 1)))


def ask_promises(pool, seed, name):
    """Loss and kept share of test queries for all rules, losses and alphas, in one split."""
    rng = np.random.default_rng(seed)
    if name == "made":
        pool = made_law(1000 + seed)
    elif name == "MovieLens":
        pool = _thinned(pool, rng)
    parts = np.array_split(rng.permutation(pool.n_queries), 3)
    train, fit, test = (pool.of(np.sort(part)) for part in parts)
    ranker = FrozenEstimator(NDCGRanker(k=10).fit(*train))
    scores = [ranker.predict(X) for X, *_ in (fit, test)]
    # Without ties the loss is as large as promised.
    scores = [of + 1e-9 * np.abs(of).max() * rng.random(len(of)) for of in scores]
    (_, y, qid), (_, new_y, new_qid) = fit, test
    codes, new_qid = (np.unique(of, return_inverse=True)[1] for of in (qid, new_qid))
    out = {}
    for loss in LOSSES:
        mapped = CalibratedRankerCV(NDCGRanker(k=10), loss, level=None, cv=3)
        mapped.set_params(relevance_level=pool.level)
        mapped.fit(*train)
        masses = shares(loss, new_y, scores[1], new_qid, pool.level)
        lost = np.bincount(new_qid, masses) > 0
        rows = (np.bincount(new_qid, new_y >= pool.level) > 0)[new_qid]
        fit_masses = shares(loss, y, scores[0], codes, pool.level)
        for by in RULES:
            values = scores
            if by == "depth":
                values = [-_depths(*of) for of in zip(scores, (codes, new_qid))]
            elif by == "target":
                values = [mapped.predict(*of[::2]) for of in (fit, test)]
            n = round(fit_masses.sum())
            for promise in (Promise(alpha, level) for alpha in ALPHAS for level in (None, 0.9)):
                if n < promise.n_needed:
                    continue
                threshold = promise.threshold(values[0], fit_masses, n)
                if seed < N_WHOLE and by != "target":
                    rule = "depth" if by == "depth" else "score"
                    cutoff = GuaranteedCutoff(GIVEN, loss, promise.alpha, by=rule)
                    cutoff.set_params(
                        confidence_level=promise.confidence_level, relevance_level=pool.level
                    )
                    cutoff.fit(scores[0][:, None], y, qid)
                    assert np.isclose(cutoff.threshold_, threshold, rtol=0, atol=1e-12)
                kept = values[1] >= threshold
                loss_of = 1 - np.bincount(new_qid, masses * kept)[lost]
                cell = f"{loss} {by} {promise.alpha} {promise.confidence_level or 0}"
                out[cell] = [loss_of.mean(), kept[rows].mean(), n]
    return out


# -- nothing here ------------------------------------------------------------------------------


def ask_no_answer(pool):
    """Of queries: turned away among those with something, and found among the others."""
    has_some = np.bincount(pool.qid, pool.y >= pool.level) > 0
    out = {"queries": [int(has_some.sum()), int((~has_some).sum())]}
    for by in ("score", "target"):
        away = np.zeros((N_TURNS, pool.n_queries))
        for seed, turn in enumerate(away):
            folds = QueryKFold(N_FOLDS, shuffle=True, random_state=seed)
            for train, test in folds.split(pool.X, pool.y, pool.qid):
                cutoff = GuaranteedCutoff(NDCGRanker(k=10), "no_answer", by=by, cv=5)
                cutoff.set_params(relevance_level=pool.level)
                cutoff.fit(pool.X[train], pool.y[train], pool.qid[train])
                turn[pool.qid[test]] = ~cutoff.predict_set(pool.X[test], pool.qid[test])
        away = away.mean(axis=0)
        error = away[has_some].std() / np.sqrt(has_some.sum())
        out[by] = [away[has_some].mean(), error, away[~has_some].mean()]
    return out


# -- cost --------------------------------------------------------------------------------------


def ask_cost():
    """CPU seconds of 100,000 rows beside what the fits take, and of a threshold of a million."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(4000), 25)
    X = rng.normal(size=(len(qid), 20))
    effect = rng.normal(size=4000)[qid]
    y = (rng.random(len(qid)) < expit(X[:, 0] + X[:, 1] + effect - 2)) * 1.0
    fits = [
        _seconds(NDCGRanker().fit, X, y, qid),
        _seconds(HistGradientBoostingClassifier(random_state=0).fit, X, y),
    ]
    out = {"fits": fits}
    for name, params in {
        "no level": {"level": None},
        "level": {},
        "isotonic": {"level": None, "method": "isotonic"},
    }.items():
        ranker = CalibratedRankerCV(NDCGRanker(), **params)
        seconds = _seconds(ranker.fit, X, y, qid)
        allowed = 6 * (fits[0] + fits[1] * (name == "level"))
        predicted = _seconds(ranker.predict, X, qid)
        out[name] = [seconds, allowed, seconds - allowed, predicted]
    scores, qid = rng.normal(size=(10**6, 1)), np.repeat(np.arange(40_000), 25)
    y = (rng.random(10**6) < 0.1) * 1.0
    for by in ("score", "depth"):
        fit = GuaranteedCutoff(GIVEN, by=by).fit
        out[f"threshold by {by}"] = _seconds(fit, scores, y, qid)
    return out


def _seconds(call, *arguments):
    times = []
    for _ in range(3):
        start = time.process_time()
        call(*arguments)
        times.append(time.process_time() - start)
    return min(times)


# -- cells and tables ----------------------------------------------------------------------------


class Answers:
    """Answers to questions, kept in cells; each says how long it took when it is known."""

    def __init__(self, cells):
        self.cells = cells

    def __call__(self, question, name, call, *args):
        """Answer a question, or read the answer that was given."""
        return self.cells(f"{question}-{name}", self._timed, f"{question}-{name}", call, *args)

    @staticmethod
    def _timed(label, call, *args):
        start = time.process_time()
        answer = call(*args)
        print(f"{label}: {time.process_time() - start:.1f} s", flush=True)
        return answer


def benchmark(options):
    """Ask every question of every set, then print the tables."""
    folder, ask = data_folder(options.data, FILES), Answers(Cells(options.cells))
    cost = ask("cost", "made", ask_cost)
    pools = {name: SETS[name](folder) for name in options.only}
    losses = {name: ask("log_loss", name, ask_log_loss, pool) for name, pool in pools.items()}
    with_empty = [name for name in WITH_EMPTY if name in pools]
    nothing = {name: ask("no_answer", name, ask_no_answer, pools[name]) for name in with_empty}
    order = {name: ask("order", name, ask_order, pool) for name, pool in pools.items()}
    # Split by split, so that all sets have as many when a run is interrupted.
    promises = [
        {
            name: ask("promises", f"{name}-{seed}", ask_promises, pool, seed, name)
            for name, pool in pools.items()
        }
        for seed in range(options.splits)
    ]
    _log_losses(losses)
    _order(order)
    _promises({name: [of[name] for of in promises] for name in pools})
    _nothing_here(nothing)
    _cost(cost)


def _log_losses(sets):
    say(
        f"\nLog loss of documents over {N_FOLDS} folds of queries, NDCGRanker(k=10), and errors of "
        "calibration: over documents (goal .025), and of sums over queries, relative (goal .16)"
    )
    names = ("Platt", "no level", "ours", "classifier")
    rows = []
    for name, of_set in sets.items():
        ours = of_set["ours"]
        aucs = [f"{of_set[of][3]:.3f}" if ours[3] else "" for of in ("ours", "classifier")]
        losses = [f"{of_set[of][0]:.4f}" for of in names]
        rows.append([name, *losses, f"{ours[1]:.3f}", f"{ours[2]:.3f}", " / ".join(aucs)])
    columns = ["Platt's sigmoid", "no level", "CalibratedRankerCV", "classifier"]
    columns += ["error, documents", "error, queries", "AUC of any relevant, ours / classifier"]
    print_table(["set", *columns], rows)
    worst = max(of["ours"][0] - of["Platt"][0] for of in sets.values())
    better = sum(of["ours"][0] < of["classifier"][0] for of in sets.values())
    say(
        f"Largest difference to Platt's sigmoid {worst:+.4f} (goal .004); below the classifier on "
        f"{better} of {len(sets)} sets."
    )


def _order(sets):
    say(
        "\nOrder and ties within queries as those of the scores, probabilities within (0, 1), and "
        "NDCG equal to the last bit: the queries of the fit, one query of 12,000 documents, and "
        "features times a million"
    )
    kinds = dict.fromkeys(kind for of in sets.values() for kind in of)
    rows = []
    for kind in kinds:
        asked = [of[kind] for of in sets.values() if kind in of]
        rows.append([kind, len(asked), *(f"{sum(which)} of {len(asked)}" for which in zip(*asked))])
    columns = ["sets", "order, queries of the fit", "one long query", "far", "NDCG"]
    print_table(["ranker, method", *columns], rows)


def _promises(answers):
    n_splits = min(map(len, answers.values()))
    say(
        f"\nMean loss of test queries over {n_splits} splits into thirds that train, calibrate and "
        "test; kept share of the documents of queries with something relevant, for alpha .1"
    )
    rows, cells = [], {}
    for name, splits in answers.items():
        for key in sorted({key for of in splits for key in of}):
            values = np.array([of[key] for of in splits if key in of])
            cells[(name, *key.split())] = values
    for name in answers:
        for loss in LOSSES:
            row = [f"{name}, {loss}"]
            for by in ("target", "score"):
                means = [cells.get((name, loss, by, str(alpha), "0")) for alpha in ALPHAS]
                row += ["" if of is None else f"{of[:, 0].mean():.3f}" for of in means]
            kept = [cells[name, loss, by, "0.1", "0"][:, 1].mean() for by in RULES]
            rows.append([*row, *(f"{kept[RULES.index(by)]:.3f}" for by in ("target", *RULES[::2]))])
    columns = [f"{by}, {alpha:g}" for by in ("target", "score") for alpha in ALPHAS]
    kept = [f"kept, {by}" for by in ("target", "score", "depth")]
    print_table(["set, loss", *columns, *kept], rows)
    _verdicts(cells)


def _verdicts(cells):
    """Print how many cells keep the promise."""
    above, below, broken, sizes, n_cells = [], [], [], [], 0
    for (name, loss, by, alpha, confidence_level), values in cells.items():
        alpha, means = float(alpha), values[:, 0]
        if float(confidence_level):
            share = (means > alpha).mean()
            allowed = 0.1 + 2 * np.sqrt(0.09 / len(means))
            broken.append((share, share <= allowed))
            continue
        n_cells += 1
        error = means.std(ddof=1) / np.sqrt(len(means))
        above.append(((means.mean() - alpha) / error, f"{name}, {loss}, {by}, {alpha:g}"))
        if by == "score":
            least = alpha - 2 / (values[:, 2].mean() + 1)
            below.append(((least - means.mean()) / error, f"{name}, {loss}, {alpha:g}"))
        if by == "target" and loss in ("recall", "dcg") and alpha == 0.1:
            depth = cells[name, loss, "depth", "0.1", "0"]
            sizes.append((values[:, 1].mean() - depth[:, 1].mean(), f"{name}, {loss}"))
    say(
        f"Above alpha + 2 standard errors: {sum(of > 2 for of, _ in above)} of {n_cells} cells "
        f"(most: {max(above)[0]:+.2f}, {max(above)[1]})."
    )
    say(
        "By score, below alpha - 2 / (n + 1) - 2 standard errors: "
        f"{sum(of > 2 for of, _ in below)} of {len(below)} cells "
        f"(most: {max(below)[0]:+.2f}, {max(below)[1]})."
    )
    say(
        "With confidence .9 the loss of the test queries is above alpha in "
        f"{max(broken)[0]:.1%} of the splits at most; {sum(kept for _, kept in broken)} of "
        f"{len(broken)} cells within 10 % + 2 standard errors."
    )
    most, cell = max(sizes)
    say(f"Kept by target minus by depth, recall and DCG: at most {most:+.3f}, {cell}.")


def _nothing_here(sets):
    say(
        "\nNothing relevant here: share of queries that are turned away, alpha .1, cv=5, "
        f"{N_TURNS} times {N_FOLDS} folds"
    )
    rows = []
    for name, of_set in sets.items():
        row = [f"{name} ({of_set['queries'][0]}, {of_set['queries'][1]} empty)"]
        for by in ("score", "target"):
            away, error, empty = of_set[by]
            row += [f"{away:.3f} ± {error:.3f}", f"{empty:.3f}"]
        rows.append(row)
    kinds = ("with something", "empty")
    columns = [f"{by}, {kind}" for by in ("score", "target") for kind in kinds]
    print_table(["set (queries with something)", *columns], rows)


def _cost(cost):
    say("\nCPU seconds for 100,000 rows of 4,000 queries and 20 features, one thread")
    rows = []
    for name in ("no level", "level", "isotonic"):
        seconds, fits, more, predicted = cost[name]
        cells = [f"{of:.2f}" for of in (seconds, fits, more)]
        rows.append([name, *cells, f"{predicted:.3f}"])
    print_table(["map", "fit", "6 fits of what is inside", "more (goal 2)", "predict"], rows)
    seconds = [f"by {by} {cost[f'threshold by {by}']:.2f} s" for by in ("score", "depth")]
    say(f"A threshold of a million rows (goal 1 s): {', '.join(seconds)}.")


def main(argv=None):
    options = parser(__doc__, data=True, threads=False, cells=True)
    options.add_argument("--only", nargs="+", choices=list(SETS), default=list(SETS))
    options.add_argument("--splits", type=int, default=N_SPLITS, help="splits of each set")
    options = options.parse_args(argv)
    print(describe_environment("numpy", "scipy", "scikit-learn", "lightgbm", threads=1))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        benchmark(options)


if __name__ == "__main__":
    main()
