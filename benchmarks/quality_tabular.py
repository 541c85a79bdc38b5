"""One call against boosted rankers that are picked: `tabular_ranker`, and `BoostedRanker`.

    python benchmarks/quality_tabular.py --data DIR

Prints mean NDCG@10 over test queries, its difference to lambdarank and to the best peer with one
paired standard error (sampling of queries only), the range of that difference over `--seeds` seeds,
and CPU seconds of a fit. MQ2008 has its own five folds, a part of each left out; MSLR-sample and
LightGBM's example are pooled into five folds of whole queries; the made data of _made.py have
`--queries` training and 400 test queries, other training queries for each seed, at two noise
levels. MovieLens-100K, on which no default was chosen, is a table with categories (_films.py) in
three folds of users that each seed draws; its linear rows are ``tabular_ranker(trees=None)`` alone.
DIR (or SKCALRANK_DATA) holds the folders MQ2008, MSLR-sample, lightgbm-lambdarank and ml-100k.

Every learner is given the training queries alone, and stops early by NDCG@10, by the same code,
on a fifth of them that the seed draws.

* Peers: lambdarank, rank_xendcg and lambdarank with linear leaves of LightGBM; rank:ndcg and
  rank:pairwise of XGBoost. Each is picked from two settings, 15 leaves at rate .1 and 31 at .05, on
  the queries that stop it, and its seconds are those of both fits. "lambdarank, 15 leaves" has one
  setting, and one of its fits is the unit of the last column.
* "picked peer" is the peer that is best on the queries that stop it, by the mean over folds; "best
  on test" is the one that is best on the test queries, which cannot be known before.
* `tabular_ranker()`, its linear half and `BoostedRanker()` have their defaults.

Gain 2^y - 1; queries without a relevant document are left out.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from _common import data_folder, describe_environment, optional, parser, print_table, say
from _films import FILES, NAME, film_folds
from _letor import SETS
from _made import MADE, made_part
from quality_defaults import folds_of
from threadpoolctl import threadpool_limits

from skcalrank import BoostedRanker, NDCGRanker, tabular_ranker
from skcalrank.metrics import ndcg_score

SETTINGS = ({"max_leaves": 15, "learning_rate": 0.1}, {"max_leaves": 31, "learning_rate": 0.05})
REFERENCE = "lambdarank, 15 leaves"
LINEAR_LEAVES = {"linear_tree": True, "linear_lambda": 1.0}


class Learner(NamedTuple):
    """What is fitted, and picked where there are several settings."""

    make: Any
    settings: tuple = ({},)
    is_peer: bool = False


def boosted(threads, **fixed):
    return lambda seed, **params: BoostedRanker(
        "ndcg@10", random_state=seed, n_jobs=threads, **fixed, **params
    )


def learners(modules, threads):
    """Learners by name, the reference first."""
    objectives = {
        "lightgbm": {
            "lambdarank": {},
            "rank_xendcg": {},
            "lambdarank, linear leaves": {"engine_params": LINEAR_LEAVES},
        },
        "xgboost": {"rank:ndcg": {}, "rank:pairwise": {}},
    }
    out = {REFERENCE: Learner(boosted(threads, loss="lambdarank"))}
    for library in modules:
        for name, options in objectives[library].items():
            make = boosted(threads, loss=name.partition(",")[0], **options)
            out[name] = Learner(make, SETTINGS, is_peer=True)
    out["BoostedRanker()"] = Learner(boosted(threads))
    out["BoostedRanker(n_models=2)"] = Learner(boosted(threads, n_models=2))
    out["NDCGRanker()"] = Learner(lambda _: NDCGRanker(k=10))
    out["tabular_ranker(trees=None)"] = Learner(
        lambda seed: tabular_ranker(trees=None, random_state=seed)
    )
    out["tabular_ranker()"] = Learner(
        lambda seed: tabular_ranker(random_state=seed, n_jobs=threads)
    )
    return out


class Outcome(NamedTuple):
    """NDCG@10 of the test queries, its value while stopping, and CPU seconds."""

    values: np.ndarray
    valid: float
    seconds: float


def run(learner, train, test, seed):
    """Fit every setting, and look at the test queries with the one that validates best."""
    start = time.process_time()
    fits = [learner.make(seed, **params).fit(*train) for params in learner.settings]
    seconds = time.process_time() - start
    scores = [np.max(getattr(fit, "validation_scores_", 0.0)) for fit in fits if learner.is_peer]
    best = fits[int(np.argmax(scores))] if scores else fits[0]
    predicted = best.predict(test.X, test.qid)
    values = ndcg_score(test.y, predicted, qid=test.qid, k=10, average=False)
    return Outcome(values, max(scores, default=0.0), seconds)


def splits_of(name, folder, seed, n_queries):
    if name == NAME:
        return film_folds(folder, seed)
    if name in MADE:
        law = MADE[name]
        return [(made_part(n_queries, 7 + 10 * seed, *law), made_part(400, 99, *law))]
    return folds_of(name, folder)


def benchmark(name, folder, everybody, options):
    """Every learner on every split, with every seed."""
    if name == NAME:
        everybody = {label: each for label, each in everybody.items() if label != "NDCGRanker()"}
    results = {label: [] for label in everybody}
    for seed in range(options.seeds):
        splits = splits_of(name, folder, seed, options.queries)
        # Folds may be other ones for each seed, and queries are paired over seeds.
        order = np.argsort(np.concatenate([np.unique(test.qid) for _, test in splits]))
        for label, learner in everybody.items():
            found = [run(learner, *split, seed) for split in splits]
            values = np.concatenate([outcome.values for outcome in found])[order]
            valid, seconds = (
                float(np.mean([getattr(outcome, field) for outcome in found]))
                for field in ("valid", "seconds")
            )
            results[label].append(Outcome(values, valid, seconds))
    return results


def mean_values(outcomes):
    return np.mean([outcome.values for outcome in outcomes], axis=0)


def gap(ours, theirs):
    """Difference with its standard error, and its range over the seeds."""
    by_query = mean_values(ours) - mean_values(theirs)
    by_query = by_query[~np.isnan(by_query)]
    by_seed = [np.nanmean(a.values - b.values) for a, b in zip(ours, theirs)]
    error = by_query.std(ddof=1) / np.sqrt(len(by_query))
    return f"{by_query.mean():+.4f} ± {error:.4f} ({min(by_seed):+.3f} to {max(by_seed):+.3f})"


def mean_seconds(outcomes):
    return np.mean([outcome.seconds for outcome in outcomes])


def n_queries(results):
    """Number of test queries on which NDCG@10 is defined."""
    return int((~np.isnan(mean_values(results[REFERENCE]))).sum())


def picked_and_best(results, everybody):
    """The peers that are best on the queries that stop them, and on the test queries."""
    peers = {label: results[label] for label, learner in everybody.items() if learner.is_peer}
    best = max(peers, key=lambda label: np.nanmean(mean_values(peers[label])))
    return max(peers, key=lambda label: np.mean([each.valid for each in peers[label]])), best


def show(name, results, everybody):
    picked, best = picked_and_best(results, everybody)
    unit, rows = mean_seconds(results[REFERENCE]), []
    for label, outcomes in results.items():
        seconds = mean_seconds(outcomes)
        cells = [f"{np.nanmean(mean_values(outcomes)):.4f}"]
        for other in ("lambdarank", picked, best):
            cells.append("" if label == other else gap(outcomes, results[other]))
        rows.append([label, *cells, f"{seconds:.2f}", f"{seconds / unit:.2f}"])
    say(f"\n{name}: {n_queries(results)} test queries")
    others = [f"to the picked peer: {picked}", f"to the best on test: {best}"]
    columns = ["", "NDCG@10", "to lambdarank", *others, "CPU s"]
    print_table([*columns, "fits of the first row"], rows)


def summarize(results, everybody):
    """All sets in one table, and the differences of `tabular_ranker()` in another one."""
    rows = []
    for label in everybody:
        cells = []
        for of_set in results.values():
            if label not in of_set:  # which takes numbers alone
                cells.append("")
                continue
            times = mean_seconds(of_set[label]) / mean_seconds(of_set[REFERENCE])
            cells.append(f"{np.nanmean(mean_values(of_set[label])):.4f} ({times:.1f})")
        rows.append([label, *cells])
    say(f"\nNDCG@10 and, in parentheses, CPU time in fits of {REFERENCE}")
    print_table(["", *results], rows)
    rows = []
    for name, of_set in results.items():
        picked, best = picked_and_best(of_set, everybody)
        cells = [
            f"{other}: {gap(of_set['tabular_ranker()'], of_set[other])}" for other in (picked, best)
        ]
        to_lambdarank = gap(of_set["tabular_ranker()"], of_set["lambdarank"])
        rows.append([f"{name} ({n_queries(of_set)})", to_lambdarank, *cells])
    say("\ntabular_ranker(): difference in NDCG@10 ± standard error (range over the seeds)")
    print_table(["", "to lambdarank", "to the picked peer", "to the best on test"], rows)


def main(argv=None):
    arguments = parser(__doc__, data=True)
    every = [*SETS, NAME, *MADE]
    arguments.add_argument("--only", nargs="+", choices=every, default=every)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--queries", type=int, default=300, help="of made data (default 300)")
    options = arguments.parse_args(argv)
    files = {name: found for name, (found, _) in SETS.items()} | {NAME: FILES}
    needed = [file for name in options.only for file in files.get(name, ())]
    folder = data_folder(options.data, needed) if needed else None
    modules = [name for name in ("lightgbm", "xgboost") if optional(name) is not None]
    packages = ("numpy", "scikit-learn", "lightgbm", "xgboost-cpu")
    print(describe_environment(*packages, threads=options.threads))
    everybody, results = learners(modules, options.threads), {}
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            results[name] = benchmark(name, folder, everybody, options)
            show(name, results[name], everybody)
        summarize(results, everybody)


if __name__ == "__main__":
    main()
