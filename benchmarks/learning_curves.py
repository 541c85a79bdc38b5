"""Learning curves: NDCG@10 and CPU time of rankers by the number of training queries.

    python benchmarks/learning_curves.py --cells DIR

Prints mean NDCG@10 over 1,000 test queries and CPU seconds of a fit (one thread). Sets:

* offers: `make_offers`, without the identifier.
* little noise: a law of _made.py, 8 numbers of which two act together, and noise of .3.
* level seen, level unseen: the same with noise 1 and a level of each query, of twice the standard
  deviation of the noise, which is a column of the table or is not.

A query has 20 documents. The first of `--sizes` training queries are those of the larger ones, and
the test queries are the same for all sizes. Up to 5,000 training queries there are `--draws` draws
(not more than one of CatBoost's above 1,000), above them one, on the set "level seen" alone.

All learners come as they are, fitted to all training queries: of ours `TabularRanker()`,
`BoostedRanker()`, `BoostedRanker(n_models=2)` and `NDCGRanker()` (behind `LinearColumns()`, if the
table has more than numbers); LightGBM's lambdarank, CatBoost's QueryRMSE (a thousand trees; up to
5,000 queries) and skrub's regression of the grades. "lambdarank, stopped" has 15 leaves at rate .1
and is stopped by its own NDCG@10 on a fifth of the training queries. LightGBM and CatBoost get what
they cannot read from the offers made by hand: a flag for the word of the title that matters,
weekday and hour of the date. Packages that are not installed are named, and left out.

Cells are written when they are done, and not run again; `--only`, `--learners` and `--sizes` take
some of them. Gain 2^y - 1; queries without a relevant document are left out. Differences
have the standard error of test queries alone.
"""

from __future__ import annotations

import gc
import warnings
from functools import cache

import numpy as np
import pandas as pd
from _common import Cells, describe_environment, optional, parser, print_table, say
from _letor import Part
from _made import LAWS, law_part
from quality_tables import (
    AS_IT_COMES,
    OURS,
    PACKAGES,
    UNIT,
    Drawn,
    for_peers,
    our_jobs,
    peer_jobs,
    timed,
    values,
)
from threadpoolctl import threadpool_limits

from skcalrank.datasets import make_offers

SIZES = (50, 200, 1000, 5000, 20_000)
N_TEST, N_DOCUMENTS, SEVERAL_DRAWS, MOST_OF_CATBOOST = 1000, 20, 5000, 5000
LAW_OF = {
    "little noise": "noise .3",
    "level seen": "level 2 of the query, a column",
    "level unseen": "level 2 of the query, unseen",
}
SETS, LARGE = ("offers", *LAW_OF), "level seen"
QUERY_RMSE, SKRUB = f"QueryRMSE: {AS_IT_COMES}", f"skrub: {AS_IT_COMES}"
PEERS = {
    "lambdarank, stopped": ("lightgbm", UNIT),
    "lambdarank": ("lightgbm", f"lambdarank: {AS_IT_COMES}"),
    "CatBoost, QueryRMSE": ("catboost", QUERY_RMSE),
    "skrub, regression": ("skrub", SKRUB),
}
RANKERS = ("TabularRanker()", "BoostedRanker(n_models=2)", "BoostedRanker()", "NDCGRanker()")
LEARNERS = (*RANKERS, *PEERS)


# -- data ----------------------------------------------------------------------------------


@cache
def whole(name, draw):
    """Test queries and all training queries of a draw, as ours and as peers read them."""
    n_queries = N_TEST + (SIZES[-1] if draw == 0 else SEVERAL_DRAWS)
    if name != "offers":
        law = LAWS[LAW_OF[name]]._replace(n_documents=N_DOCUMENTS)
        part = law_part(law, draw, n_queries)
        names = [f"column {number}" for number in range(part.X.shape[1])]
        part = part._replace(X=pd.DataFrame(part.X, columns=names))
        return part, part._replace(X=for_peers(part.X))
    X, y, qid = make_offers(n_queries, N_DOCUMENTS, random_state=draw)
    by_hand = X.drop(columns=["title", "sku", "listed"]).assign(
        refurbished=X["title"].str.contains("refurbished", case=False).astype(float),
        weekday=X["listed"].dt.day_of_week,
        hour=X["listed"].dt.hour,
    )
    ours = Part(X.drop(columns="sku"), np.asarray(y, float), qid)
    return ours, ours._replace(X=for_peers(by_hand))


def drawn(name, draw, size):
    """The first training queries of a draw; a fifth of them validates."""
    rows = {
        "test": slice(N_TEST * N_DOCUMENTS),
        "whole": (N_TEST, size),
        "valid": (N_TEST, size // 5),
        "train": (N_TEST + size // 5, size - size // 5),
    }
    for part in ("whole", "valid", "train"):
        first, n_queries = rows[part]
        rows[part] = slice(first * N_DOCUMENTS, (first + n_queries) * N_DOCUMENTS)
    return Drawn(
        *(
            {
                part: Part(table.X.iloc[at].reset_index(drop=True), table.y[at], table.qid[at])
                for part, at in rows.items()
            }
            for table in whole(name, draw)
        )
    )


# -- learners ------------------------------------------------------------------------------


def jobs_of(chosen):
    """Jobs by name, of packages that are installed."""
    missing = {package for package, _ in PEERS.values() if optional(package) is None}
    ours = our_jobs({name: make for name, make in OURS.items() if name in RANKERS}, "")
    peers = dict(peer_jobs(["lambdarank", "QueryRMSE", "skrub"]))
    jobs = {name: ours[f"{name} []"] for name in RANKERS}
    jobs |= {name: peers[job] for name, (package, job) in PEERS.items() if package not in missing}
    return {name: job for name, job in jobs.items() if name in chosen}


def draws_of(name, learner, size, n_draws):
    """Number of draws of a cell; 0 if it is not run."""
    if size > SEVERAL_DRAWS and name != LARGE:
        return 0
    if learner == "CatBoost, QueryRMSE" and size > MOST_OF_CATBOOST:
        return 0
    is_long = size > SEVERAL_DRAWS or (learner == "CatBoost, QueryRMSE" and size > 1000)
    return 1 if is_long else n_draws


def outcome(job, name, draw, size):
    """CPU seconds of a fit, and NDCG@10 of the test queries."""
    parts = drawn(name, draw, size)
    seconds, (scores, _) = timed(job, parts, draw)
    return seconds, values(parts, "test", scores)


# -- tables --------------------------------------------------------------------------------


def run(options):
    """Outcomes by draw, by set, size and learner; those of all sizes of a draw come together."""
    keep, jobs = Cells(options.cells), jobs_of(options.learners)
    found = {}
    for draw in range(options.draws):
        for name in options.only:
            for size in options.sizes:
                for learner, job in jobs.items():
                    if draw < draws_of(name, learner, size, options.draws):
                        cell = f"{name}-{draw}-{size}-{learner}"
                        out = keep(cell, outcome, job, name, draw, size)
                        found.setdefault((name, size, learner), []).append(out)
                        print(f"{cell}: {np.nanmean(out[1]):.4f}, {out[0]:.2f} s", flush=True)
            whole.cache_clear()
            gc.collect()
    return found


def show(name, found, options):
    """Values, differences and seconds of one set."""
    columns = ["", *(f"{size:,} queries" for size in options.sizes)]
    for title, cell in TABLES.items():
        rows = [
            [learner, *(cell(found, name, size, learner) for size in options.sizes)]
            for learner in options.learners
            if any(key[0] == name and key[2] == learner for key in found)
        ]
        rows = [row for row in rows if any(row[1:])]
        say(f"\n{name}: {title}")
        print_table(columns, rows)


def _quality(found, name, size, learner):
    outcomes = found.get((name, size, learner))
    return f"{np.mean([np.nanmean(each) for _, each in outcomes]):.4f}" if outcomes else ""


def _gain(found, name, size, learner):
    ours, theirs = (found.get((name, size, each), []) for each in (RANKERS[0], learner))
    if not ours or not theirs or learner == RANKERS[0]:
        return ""
    gains = np.concatenate([a[1] - b[1] for a, b in zip(ours, theirs)])
    gains = gains[~np.isnan(gains)]
    return f"{gains.mean():+.4f} ± {gains.std(ddof=1) / np.sqrt(len(gains)):.4f}"


def _seconds(found, name, size, learner):
    outcomes = found.get((name, size, learner))
    return f"{np.mean([seconds for seconds, _ in outcomes]):.2f}" if outcomes else ""


TABLES = {
    "NDCG@10": _quality,
    f"{RANKERS[0]} minus the others, in NDCG@10": _gain,
    "CPU seconds of a fit": _seconds,
}


def main(argv=None):
    arguments = parser(__doc__, threads=False, cells=True)
    arguments.add_argument("--only", nargs="+", choices=SETS, default=SETS)
    arguments.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS)
    arguments.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    arguments.add_argument("--draws", type=int, default=1, help="up to 5,000 queries (default 1)")
    options = arguments.parse_args(argv)
    print(describe_environment(*PACKAGES, threads=1))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(options)
    for name in options.only:
        show(name, found, options)


if __name__ == "__main__":
    main()
