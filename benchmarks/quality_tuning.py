"""What a random search gains: `BoostedRanker` and `TabularRanker`, searched and with defaults.

    python benchmarks/quality_tuning.py --data DIR --cells DIR

Prints mean NDCG@10 over test queries and its difference to the same ranker with its defaults, with
one paired standard error (sampling of test queries only). MQ2008 has its own five folds, a part of
each left out; MSLR-sample and LightGBM's example are pooled into five folds of whole queries; the
made data of _made.py have `--queries` training and 400 test queries, at two noise levels.
MovieLens-100K is a table with categories (_films.py), of which one fold of users is the test part.
DIR (or SKCALRANK_DATA) holds the folders MQ2008, MSLR-sample, lightgbm-lambdarank and ml-100k.

The space (`SPACE`, that of the page "Tuning") was written down before any test query was ranked,
and is the same for all sets. A search draws `--draws` points of it (half as many for
`TabularRanker`), fits each to the three splits of ``QueryKFold(3)`` of the training queries, and
fits the best one to all of them; trees stop early inside of every fit. Nobody sees test queries.

* "promised" is the best mean of the three splits minus that of the defaults.
* "trees from the search" is a `TabularRanker` whose trees have the parameters that the search of
  `BoostedRanker` found, which costs one more fit.

Gain 2^y - 1; queries without a relevant document are left out.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, parser, print_table, say
from _films import FILES, NAME, film_folds
from _letor import SETS
from _made import MADE, made_part
from quality_defaults import folds_of
from scipy.stats import loguniform, uniform
from sklearn.model_selection import RandomizedSearchCV, cross_val_score
from threadpoolctl import threadpool_limits

from skcalrank import BoostedRanker, QueryKFold, RankingTarget, TabularRanker
from skcalrank.metrics import ndcg_score

SPACE = {
    "learning_rate": loguniform(0.02, 0.2),
    "max_leaf_nodes": [4, 8, 15, 31, 63],
    "min_samples_leaf": [5, 10, 20, 50, 100, 200],
    "l2_regularization": loguniform(0.1, 100),
    "max_features": uniform(0.2, 0.8),
    "subsample": uniform(0.5, 0.5),
}
WEIGHTS = {"query_weight": ["pairs", "documents"]}
OF_TABULAR = {f"trees__{name}": values for name, values in SPACE.items()}
N_FOLDS = 3
RANKERS = ("BoostedRanker", "TabularRanker")


class Outcome(NamedTuple):
    """NDCG@10 of the test queries, CPU seconds of all fits, and the gain that was promised."""

    values: np.ndarray
    seconds: float
    promised: float = np.nan
    params: Any = None


def splits_of(name, folder, n_queries):
    """Pairs (train, test) of parts."""
    if name == NAME:
        return film_folds(folder, 0)[:1]
    if name in MADE:
        return [(made_part(n_queries, 7, *MADE[name]), made_part(400, 99, *MADE[name]))]
    return folds_of(name, folder)


def judged(fit, train, test):
    """Outcome of a function that returns a fitted ranker, or a search."""
    start = time.process_time()
    ranker = fit(train.X, RankingTarget(train.y, train.qid))
    seconds = time.process_time() - start
    ranker = getattr(ranker, "best_estimator_", ranker)
    values = ndcg_score(test.y, ranker.predict(test.X, test.qid), qid=test.qid, k=10, average=False)
    return Outcome(values, seconds)


def searched(ranker, space, n_draws, number, train, test):
    """Outcome of a search, whose draws differ from fold to fold."""
    cv = QueryKFold(N_FOLDS)
    search = RandomizedSearchCV(ranker, space, n_iter=n_draws, cv=cv, random_state=number)
    found = judged(search.fit, train, test)
    target = RankingTarget(train.y, train.qid)
    usual = cross_val_score(ranker, train.X, target, cv=cv).mean()
    return found._replace(promised=search.best_score_ - usual, params=search.best_params_)


def outcomes(split, number, options):
    """Outcome of each row of the table on one split."""
    fixed = {"random_state": 0, "n_jobs": options.threads}
    boosted = BoostedRanker("ndcg@10", **fixed)
    tabular = TabularRanker("ndcg@10", trees=BoostedRanker(), **fixed)
    out = {"BoostedRanker": judged(boosted.fit, *split)}
    found = searched(boosted, SPACE | WEIGHTS, options.draws, number, *split)
    out["BoostedRanker, searched"] = found
    out["TabularRanker"] = judged(tabular.fit, *split)
    params = {name: value for name, value in found.params.items() if name in SPACE}
    again = TabularRanker("ndcg@10", trees=BoostedRanker(**params), **fixed)
    transferred = judged(again.fit, *split)
    out["TabularRanker, trees from the search"] = transferred._replace(
        seconds=transferred.seconds + found.seconds
    )
    out["TabularRanker, searched"] = searched(
        tabular, OF_TABULAR, options.draws // 2, number, *split
    )
    return out


def gain(outcome, usual):
    """Difference of NDCG@10 with its standard error."""
    by_query = outcome - usual
    by_query = by_query[~np.isnan(by_query)]
    error = by_query.std(ddof=1) / np.sqrt(len(by_query))
    return f"{by_query.mean():+.4f} ± {error:.4f}"


def show(name, results):
    """Print the table of one set, and return the gains by row."""
    values = {
        label: np.concatenate([outcome.values for outcome in found])
        for label, found in results.items()
    }
    rows, gains = [], {}
    for label, found in results.items():
        usual = label.partition(",")[0]
        seconds = sum(outcome.seconds for outcome in found)
        fits = seconds / sum(outcome.seconds for outcome in results[usual])
        promised = np.mean([outcome.promised for outcome in found])
        gains[label] = "" if label == usual else gain(values[label], values[usual])
        rows.append(
            [
                *[label, f"{np.nanmean(values[label]):.4f}", gains[label]],
                "" if np.isnan(promised) else f"{promised:+.4f}",
                *[f"{seconds / len(found):.1f}", f"{fits:.0f}"],
            ]
        )
    n_queries = int((~np.isnan(values["BoostedRanker"])).sum())
    say(f"\n{name}: {n_queries} test queries")
    columns = ["", "NDCG@10", "to the defaults", "promised", "CPU s", "fits of the defaults"]
    print_table(columns, rows)
    return gains


def main(argv=None):
    arguments = parser(__doc__, data=True, cells=True)
    every = [*SETS, *MADE, NAME]
    arguments.add_argument("--only", nargs="+", choices=every, default=every)
    arguments.add_argument("--draws", type=int, default=20, help="of BoostedRanker (default 20)")
    arguments.add_argument("--queries", type=int, default=100, help="of made data (default 100)")
    options = arguments.parse_args(argv)
    files = {name: found for name, (found, _) in SETS.items()} | {NAME: FILES}
    needed = [file for name in options.only for file in files.get(name, ())]
    folder = data_folder(options.data, needed) if needed else None
    print(describe_environment("numpy", "scikit-learn", "lightgbm", threads=options.threads))
    threads = f"threads={options.threads}"
    cells = Cells(options.cells, f"draws={options.draws},queries={options.queries}", threads)
    gains = {}
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            found = [
                cells(f"{name}-{number}", outcomes, split, number, options)
                for number, split in enumerate(splits_of(name, folder, options.queries))
            ]
            results = {label: [each[label] for each in found] for label in found[0]}
            gains[name] = show(name, results)
    say("\nGain of a search in NDCG@10 ± standard error")
    labels = [label for label in gains[options.only[0]] if label not in RANKERS]
    rows = [[name, *[of_set[label] for label in labels]] for name, of_set in gains.items()]
    print_table(["", *labels], rows)


if __name__ == "__main__":
    main()
