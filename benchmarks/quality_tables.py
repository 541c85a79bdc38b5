"""Rankers on tables that chose nothing: ours, and the peer picked over all libraries.

    python benchmarks/quality_tables.py --data DIR --cells CELLS
    python benchmarks/quality_tables.py --data DIR --cells CELLS --summary --save
    python benchmarks/quality_tables.py --data DIR --cells CELLS --come --save quality_tables_come
    python benchmarks/quality_tables.py --data DIR --cells CELLS --half later

The sets of _sets.py are in two halves, fixed before any fit. Defaults of the package are chosen on
the selecting half; only the other is reported. What follows was written before any figure. A third
group, "later", was added when all defaults stood, and is fitted once.

**Draws.** Each of the seeds 0, 1, 2 splits the queries of a set anew, 60 % to train and 40 % to
test. A fifth of the training queries validates the peers.

**Peers**, through the classes of their libraries; categories and missing values as these take them:

* LightGBM: lambdarank, rank_xendcg, and lambdarank with linear leaves; "lambdarank, z-scores" has
  the z-scores within the query of all numbers as further columns (0 where a column is constant in
  the query, missing where the number is).
* XGBoost: rank:ndcg, rank:pairwise. CatBoost: QueryRMSE, YetiRank.

Each has a grid of three settings (`LEAVES`, with `linear_lambda=1` where leaves are linear;
`DEPTHS`), and is stopped by its library's own NDCG@10 with gain 2^y - 1 on the validation queries,
after 50 rounds without a better value and 1000 at most; YetiRank after 500, its rounds being the
slowest. The "picked" setting of a family has the largest NDCG@10 on the validation queries,
computed for all libraries by `skcalrank.metrics.ndcg_score`; the "picked peer" has the largest of
all 24. Both are picked in each draw, and are not fitted again. "Defaults" are the class with its
defaults, fitted to training and validation queries; so is `skrub.tabular_pipeline("regressor")`,
which regresses the grades.

**Ours** have their defaults, and are fitted to training and validation queries as one table.
`NDCGRanker()` is behind `LinearColumns()`, which makes numbers of categories.

**Differences** in mean NDCG@10 over test queries, without those that have no relevant document. The
difference on a set is the mean over draws. Its standard error adds two variances: that of queries,
by the sums of a query's deviations over the draws that test it, and that of draws, by the variance
of their means over their number. The second includes the draw of the test queries, so the sum errs
on the side of caution. "Ahead" and "behind" are differences of two such errors at least, all others
are level. Over the sets: the mean ± the standard deviation over the root of the number of sets.

**Costs** are CPU seconds (`process_time`, one thread) of `fit`; a picked peer costs all fits it is
picked from. The unit is one fit of lambdarank with 15 leaves at rate .1, stopped by its own metric,
mean over the draws of a set; with a patience of 50 it has 50 rounds or more. It is timed again just
before each fit of ours, since the machine may be busier in one hour than in another.

**Rule for defaults.** A variant of ours replaces the default if its mean over the selecting sets is
higher, none of them is lower by two standard errors, and the cost stays within 3 fits in the
median, 5 on any; of several, the cheapest within one standard error of the best. `--compare` prints
this rule's verdict, from the selecting half alone.

**Few queries** (`--few`): the first 10, 20, 50, 100 training queries of four draws, the same test
queries; on the reported sets that have 100 training queries.

Each cell, which is one learner with one setting on one draw of a set, is written to CELLS when it
is done, and is not run again unless the table or the setting has changed or it failed. Processes
may share CELLS if their sets or learners differ. `--tag` names the code of ours that is run, so
that variants lie side by side; `--variants FILE.py` runs those in its dict `VARIANTS`, functions
from a seed to a ranker. Cells that failed are counted, and leave their set out of the comparisons
that need them.

**A ranker or a table of your own** goes through the protocol, and its row is printed beside ours:

    python benchmarks --cells CELLS quality_tables --ranker module:Class
    python benchmarks --cells CELLS quality_tables --ranker module:Class --table module:function

The class, or any function without arguments, makes an object with `predict(X)` and `fit(X, y, qid)`
or `fit(X, y, group=sizes)`. It gets the columns that peers get, training and validation queries as
one table sorted by query, one thread as `n_jobs`, and the number of the draw as `random_state`, if
it has these. Its rows have no setting to pick from: pick inside. The function returns a frame,
whole numbers as grades, and the query of each row, and takes the place of the reported sets.
Modules are looked for in the folder where you are, too.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import runpy
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _common import describe_environment, parser, print_table, say, version_of
from _letor import Part
from _sets import HALVES, SETS, RankingSet, load
from threadpoolctl import threadpool_limits

from skcalrank import BoostedRanker, NDCGRanker, TabularRanker
from skcalrank.metrics import ndcg_score
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QueryScaler

TRAIN_SHARE, VALID_SHARE = 0.6, 0.2
ROUNDS, PATIENCE, YETI_ROUNDS = 1000, 50, 500
N_DRAWS, N_DRAWS_FEW, FEW = 3, 4, (10, 20, 50, 100)
PACKAGES = ("numpy", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost", "skrub")
# Cells have the first name, tables the second.
AS_IT_COMES, DEFAULTS = "as it comes", "defaults"
SELECTING, REPORTED, LATER = HALVES
OWN = "own"


# -- draws ---------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Parts "train", "valid", "whole" (both of them) and "test", as ours and as peers read them."""

    ours: dict[str, Part]
    peers: dict[str, Part]


@cache
def table_of(name, folder):
    """Columns as they are and as peers read them, grades, numbers of queries, and a fingerprint."""
    table = load(name, folder)
    codes = np.unique(np.asarray(table.qid), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    X, y = table.X.iloc[order].reset_index(drop=True), np.asarray(table.y, float)[order]
    codes, digest = codes[order], hashlib.sha1()
    for array in (pd.util.hash_pandas_object(X, index=False).to_numpy(), y, codes):
        digest.update(np.ascontiguousarray(array).tobytes())
    return X, for_peers(X), y, codes, digest.hexdigest()[:12]


def for_peers(X):
    """Numbers in double precision and categories of pandas, under names that every library takes.

    Dates are days. Levels are those of the whole table.
    """
    columns = {}
    for number, (_, column) in enumerate(X.items()):
        if pd.api.types.is_datetime64_any_dtype(column):
            column = (column - column.min()) / pd.Timedelta(days=1)
        elif not pd.api.types.is_numeric_dtype(column):
            column = column.astype("category")
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = pd.Series(column.to_numpy(dtype=float, na_value=np.nan))
        columns[f"c{number}"] = column
    return pd.DataFrame(columns)


def split(n_queries, draw, n_train=None):
    """Queries of each part; `n_train` keeps the first of the training queries."""
    order = np.random.default_rng(draw).permutation(n_queries)
    n = round(TRAIN_SHARE * n_queries)
    whole, test = order[:n][:n_train], order[n:]
    n_valid = max(1, round(VALID_SHARE * len(whole)))
    return {"train": whole[n_valid:], "valid": whole[:n_valid], "whole": whole, "test": test}


def drawn(table, draw, n_train=None):
    X, X_peers, y, codes, _ = table
    rows = {
        name: np.flatnonzero(np.isin(codes, queries))
        for name, queries in split(codes[-1] + 1, draw, n_train).items()
    }
    return Drawn(
        *(
            {name: Part(table.iloc[at], y[at], codes[at]) for name, at in rows.items()}
            for table in (X, X_peers)
        )
    )


# -- peers ---------------------------------------------------------------------------------


def fit_lightgbm(options, seed, train, valid=None):
    from lightgbm import LGBMRanker, early_stopping

    stopped = {}
    if valid is not None:
        options = {"n_estimators": ROUNDS, **options}
        stop = early_stopping(PATIENCE, verbose=False)
        stopped = {"eval_set": [(valid.X, valid.y)], "eval_group": [valid.sizes]}
        stopped |= {"eval_metric": "ndcg", "eval_at": [10], "callbacks": [stop]}
    model = LGBMRanker(**options, random_state=seed, n_jobs=1, verbosity=-1)
    model.fit(train.X, train.y, group=train.sizes, **stopped)
    return model.predict, model.best_iteration_ or model.n_estimators


def fit_xgboost(options, seed, train, valid=None):
    from xgboost import XGBRanker

    stopped = {}
    if valid is not None:
        options = {"n_estimators": ROUNDS, **options}
        options |= {"early_stopping_rounds": PATIENCE, "eval_metric": "ndcg@10"}
        stopped = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid], "verbose": False}
    model = XGBRanker(**options, random_state=seed, n_jobs=1, enable_categorical=True)
    model.fit(train.X, train.y, qid=train.qid, **stopped)
    rounds = model.get_booster().num_boosted_rounds()
    return model.predict, rounds if valid is None else model.best_iteration + 1


def fit_catboost(options, seed, train, valid=None):
    from catboost import CatBoostRanker, Pool

    def pool(X, part=None):
        categories = list(X.select_dtypes("category"))
        text = X[categories].astype(object).where(X[categories].notna(), "missing").astype(str)
        labels = {} if part is None else {"label": part.y, "group_id": part.qid}
        return Pool(X.assign(**text), cat_features=categories, **labels)

    stopped = {}
    if valid is not None:
        options = {"iterations": ROUNDS, **options}
        options |= {"eval_metric": "NDCG:top=10;type=Exp", "early_stopping_rounds": PATIENCE}
        stopped = {"eval_set": pool(valid.X, valid)}
    quiet = {"verbose": False, "allow_writing_files": False}
    model = CatBoostRanker(**options, random_seed=seed, thread_count=1, **quiet)
    model.fit(pool(train.X, train), **stopped)
    return lambda X: model.predict(pool(X)), model.tree_count_


def with_scores_within(part):
    """A part with z-scores of its numbers within the query appended."""
    numbers = part.X.select_dtypes("number")
    if not numbers.shape[1]:
        return part
    within = QueryScaler().fit_transform(numbers.to_numpy(), qid=part.qid)
    names = [f"{name}z" for name in numbers]
    return part._replace(X=part.X.join(pd.DataFrame(within, part.X.index, names)))


LEAVES = {
    f"{leaves} leaves, rate {rate}": {"num_leaves": leaves, "learning_rate": rate}
    for leaves, rate in ((15, 0.1), (31, 0.05), (7, 0.05))
}
DEPTHS = {
    f"depth {depth}, rate {rate}": {"max_depth": depth, "learning_rate": rate}
    for depth, rate in ((4, 0.1), (6, 0.05), (6, 0.1))
}
UNIT = f"lambdarank: {next(iter(LEAVES))}"


class Peer(NamedTuple):
    """A library's objective, with what it is picked from, and what it reads."""

    fit: Callable
    options: dict
    grid: dict
    fixed: dict = {}
    columns: Callable = lambda part: part


PEERS = {
    "lambdarank": Peer(fit_lightgbm, {}, LEAVES),
    "rank_xendcg": Peer(fit_lightgbm, {"objective": "rank_xendcg"}, LEAVES),
    "lambdarank, linear leaves": Peer(
        fit_lightgbm, {"linear_tree": True}, LEAVES, fixed={"linear_lambda": 1.0}
    ),
    "lambdarank, z-scores": Peer(fit_lightgbm, {}, LEAVES, columns=with_scores_within),
    "rank:ndcg": Peer(fit_xgboost, {}, DEPTHS),
    "rank:pairwise": Peer(fit_xgboost, {"objective": "rank:pairwise"}, DEPTHS),
    "QueryRMSE": Peer(fit_catboost, {"loss_function": "QueryRMSE"}, DEPTHS),
    "YetiRank": Peer(
        fit_catboost, {"loss_function": "YetiRank"}, DEPTHS, fixed={"iterations": YETI_ROUNDS}
    ),
}
COME_WITH_NO_COLUMNS = tuple(name for name in PEERS if name != "lambdarank, z-scores")


# -- cells ---------------------------------------------------------------------------------


class Job(NamedTuple):
    """What is fitted to a draw: `fit(drawn, seed)` gives scores by part, and rounds."""

    fit: Callable
    params: dict = {}
    is_picked: bool = False
    times_unit: bool = False


def fit_peer(peer, params, is_stopped, drawn, seed):
    parts = ("train", "valid") if is_stopped else ("whole",)
    given = [peer.columns(drawn.peers[part]) for part in parts]
    predict, rounds = peer.fit(peer.options | params, seed, *given)
    return lambda part: predict(peer.columns(drawn.peers[part]).X), rounds


def fit_skrub(drawn, seed):
    from skrub import tabular_pipeline

    model = tabular_pipeline("regressor")
    model[-1].set_params(random_state=seed)
    model.fit(drawn.ours["whole"].X, drawn.ours["whole"].y)
    return lambda part: model.predict(drawn.ours[part].X), model[-1].n_iter_


def fit_ours(make, drawn, seed):
    ranker = make(seed).fit(*drawn.ours["whole"])
    rounds = [
        getattr(each, "best_iteration_", None)
        for each in [ranker, *getattr(ranker, "boosted_", {}).values()]
    ]
    return (
        lambda part: ranker.predict(drawn.ours[part].X, drawn.ours[part].qid),
        [each for each in rounds if each is not None],
    )


def fit_own(name, drawn, seed):
    """Fit what a user's class or function makes, by qid or by sizes of queries."""
    ranker, whole = resolve_name(name)(), drawn.peers["whole"]
    known = getattr(ranker, "get_params", dict)()
    given = {
        name: value for name, value in {"random_state": seed, "n_jobs": 1}.items() if name in known
    }
    if given:
        ranker.set_params(**given)
    takes_qid = "qid" in inspect.signature(ranker.fit).parameters
    ranker.fit(whole.X, whole.y, **({"qid": whole.qid} if takes_qid else {"group": whole.sizes}))
    wants_qid = "qid" in inspect.signature(ranker.predict).parameters

    def scores(part):
        rows = drawn.peers[part]
        return ranker.predict(rows.X, **({"qid": rows.qid} if wants_qid else {}))

    return scores, None


OURS: dict[str, Callable[[int], Any]] = {
    "TabularRanker()": lambda seed: TabularRanker(random_state=seed, n_jobs=1),
    "TabularRanker(trees=None)": lambda seed: TabularRanker(trees=None, random_state=seed),
    "BoostedRanker()": lambda seed: BoostedRanker(random_state=seed, n_jobs=1),
    "BoostedRanker(n_models=2)": lambda seed: BoostedRanker(
        n_models=2, random_state=seed, n_jobs=1
    ),
    "NDCGRanker()": lambda _: make_query_pipeline(LinearColumns(), NDCGRanker()),
}
GROUPS = {"peers": [*PEERS, "skrub"], "ours": list(OURS)}
FEW_JOBS = (
    *(f"lambdarank: {setting}" for setting in (*LEAVES, AS_IT_COMES)),
    f"rank:ndcg: {AS_IT_COMES}",
    *(f"QueryRMSE: {setting}" for setting in (*DEPTHS, AS_IT_COMES)),
)
FEW_OURS = tuple(name for name in OURS if name != "BoostedRanker()")


def peer_jobs(names):
    """Jobs of peers, the unit of cost first."""
    for name in names:
        if name == "skrub":
            yield f"skrub: {AS_IT_COMES}", Job(fit_skrub)
            continue
        peer = PEERS[name]
        for setting, params in peer.grid.items():
            params = peer.fixed | params
            yield f"{name}: {setting}", Job(partial(fit_peer, peer, params, True), params, True)
        if name in COME_WITH_NO_COLUMNS:
            yield f"{name}: {AS_IT_COMES}", Job(partial(fit_peer, peer, {}, False))


def our_jobs(makers, tag):
    return {
        f"{name} [{tag}]": Job(partial(fit_ours, make), times_unit=True)
        for name, make in makers.items()
    }


def jobs_of(options):
    """Jobs that the options name."""
    chosen = [each for name in options.learners for each in GROUPS.get(name, [name])]
    ours = {name: make for name, make in OURS.items() if name in chosen}
    if options.variants:
        ours = runpy.run_path(options.variants)["VARIANTS"]
    jobs = dict(peer_jobs([name for name in GROUPS["peers"] if name in chosen]))
    if options.few:
        jobs = {name: job for name, job in jobs.items() if name in FEW_JOBS}
        ours = {name: make for name, make in ours.items() if options.variants or name in FEW_OURS}
    own = {name: Job(partial(fit_own, name), times_unit=True) for name in options.ranker}
    return jobs | our_jobs(ours, options.tag) | own


def cell_path(cells, name, draw, n_train, job):
    part = "all" if n_train is None else f"few{n_train}"
    return Path(cells, re.sub(r"\W+", "_", name), f"{part}-{draw}", f"{slug(job)}.json")


def slug(name):
    return re.sub(r"[^\w.=\[\]]+", "_", name)


def is_done(path, key):
    if not path.exists():
        return False
    cell = json.loads(path.read_text())
    return cell["key"] == key and "error" not in cell


def measure(job, drawn, seed):
    """What a cell holds of one fit."""
    unit = timed(dict(peer_jobs(["lambdarank"]))[UNIT], drawn, seed)[0] if job.times_unit else None
    seconds, (scores, rounds) = timed(job, drawn, seed)
    out: dict[str, Any] = {"seconds": seconds, "unit": unit, "rounds": rounds, "valid": None}
    if job.is_picked:
        out["valid"] = none_if_nan(np.nanmean([*values(drawn, "valid", scores), np.nan]))
    out["queries"] = np.unique(drawn.ours["test"].qid).tolist()
    out["ndcg"] = [none_if_nan(value) for value in values(drawn, "test", scores)]
    return json.loads(json.dumps(out, default=lambda value: value.item()))


def timed(job, drawn, seed):
    """CPU seconds of a fit, and what it returns."""
    start = time.process_time()
    out = job.fit(drawn, seed)
    return time.process_time() - start, out


def values(drawn, part, scores):
    """NDCG@10 of each query; NaN without a relevant document."""
    rows = drawn.ours[part]
    return ndcg_score(rows.y, scores(part), qid=rows.qid, k=10, average=False)


def none_if_nan(value):
    return None if np.isnan(value) else float(value)


def run(name, draw, n_train, jobs, options):
    """Fill the cells of one draw of a set that are missing; return the number that failed."""
    table = table_of(name, options.data)
    if n_train is not None and len(split(table[3][-1] + 1, draw)["whole"]) < max(FEW):
        return 0
    rows, n_failed = None, 0
    for label, job in jobs.items():
        path, key = cell_path(options.cells, name, draw, n_train, label), [table[4], job.params]
        if is_done(path, key):
            continue
        rows = drawn(table, draw, n_train) if rows is None else rows
        cell = {"set": name, "draw": draw, "n_train": n_train, "learner": label, "key": key}
        try:
            cell |= measure(job, rows, draw)
        except Exception as error:
            cell["error"] = f"{type(error).__name__}: {error}"
            n_failed += 1
        cell["versions"] = {package: version_of(package) for package in (*PACKAGES, "skcalrank")}
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(cell))
        unfinished.replace(path)
        outcome = cell.get("error") or f"{cell['seconds']:.2f} s"
        print(f"{name}, draw {draw}, {n_train or 'all'}, {label}: {outcome}", flush=True)
    return n_failed


def run_all(names, options):
    jobs, n_failed = jobs_of(options), 0
    # All sets of one draw come before the next draw, so that an early end leaves whole draws; fits
    # with defaults, of which CatBoost's are the longest of all, come after all others.
    for is_last in (False, True):
        stage = {
            label: job for label, job in jobs.items() if label.endswith(AS_IT_COMES) == is_last
        }
        for draw in range(options.draws or (N_DRAWS_FEW if options.few else N_DRAWS)):
            for n_train in FEW if options.few else [None]:
                n_failed += sum(run(name, draw, n_train, stage, options) for name in names)
    say(f"{n_failed} cells failed")


# -- summary -------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """NDCG@10 by query for each draw, mean CPU seconds over draws, and what was picked.

    `unit` is the mean of the units that were timed together with the fits; NaN if none were.
    """

    draws: list[pd.Series]
    seconds: float
    unit: float
    picked: str = ""

    @property
    def mean(self):
        return np.mean([draw.mean() for draw in self.draws])


class Difference(NamedTuple):
    mean: float
    error: float

    @property
    def sign(self):
        """1 if ahead by two standard errors, -1 if behind, else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) >= 2 * self.error else 0

    def __str__(self):
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def difference(ours, theirs):
    """Mean difference with the standard error of queries and draws (see the top)."""
    by_draw = [(a - b).dropna() for a, b in zip(ours.draws, theirs.draws)]
    means = np.array([draw.mean() for draw in by_draw])
    pooled = pd.concat(by_draw) - means.mean()
    sums = pooled.groupby(level=0).sum()
    variance = (sums**2).sum() / len(pooled) ** 2 * len(sums) / (len(sums) - 1)
    if len(means) > 1:
        variance += means.var(ddof=1) / len(means)
    return Difference(means.mean(), np.sqrt(variance))


def over_sets(differences):
    """Mean over the sets, with the standard error of their draw; one set has its own error."""
    differences = list(differences)
    if len(differences) == 1:
        return differences[0]
    means = np.array([each.mean for each in differences])
    return Difference(means.mean(), means.std(ddof=1) / np.sqrt(len(means)))


class Cells:
    """All cells of one set (and one number of training queries), by learner and draw."""

    def __init__(self, cells, name, n_draws, n_train=None):
        self.name = name
        self.by_draw = [self._read(cells, name, draw, n_train) for draw in range(n_draws)]
        everything = [cell for draw in self.by_draw for cell in draw.values()]
        if len({cell["key"][0] for cell in everything}) > 1:
            sys.exit(f"The cells of {name} are of different tables: delete the older ones.")
        self.failed = [cell for cell in everything if "error" in cell]
        self.versions = {tuple(cell["versions"].items()) for cell in everything}
        self.labels = sorted({cell["learner"] for cell in everything})
        self.n_queries = np.mean([len(draw[UNIT]["queries"]) for draw in self._with_unit()] or 0)

    def _with_unit(self):
        return [draw for draw in self.by_draw if "queries" in draw.get(UNIT, {})]

    @staticmethod
    def _read(cells, name, draw, n_train):
        folder = cell_path(cells, name, draw, n_train, "").parent
        found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        return {cell["learner"]: cell for cell in found}

    def outcome(self, labels):
        """The learner, or the best of several on the validation queries; None without a cell."""
        if not all("ndcg" in draw.get(label, {}) for draw in self.by_draw for label in labels):
            return None
        picked = [max((draw[label] for label in labels), key=_validation) for draw in self.by_draw]
        names = Counter(cell["learner"].partition(": ")[0] for cell in picked)
        series = [pd.Series(cell["ndcg"], cell["queries"], dtype=float) for cell in picked]
        seconds = [draw[label]["seconds"] for draw in self.by_draw for label in labels]
        units = [cell["unit"] for cell in picked if cell.get("unit")]
        unit = np.mean(units) if len(units) == len(picked) else np.nan
        said = ", ".join(f"{name} {count}" for name, count in names.most_common())
        return Outcome(series, sum(seconds) / len(self.by_draw), unit, said)


def _validation(cell):
    return -1.0 if cell["valid"] is None else cell["valid"]


PICKED = {f"{name}, picked": [f"{name}: {each}" for each in PEERS[name].grid] for name in PEERS}
PICKED["picked peer"] = [label for labels in PICKED.values() for label in labels]
COME = {
    f"{name}, {DEFAULTS}": [f"{name}: {AS_IT_COMES}"] for name in (*COME_WITH_NO_COLUMNS, "skrub")
}


def ours_in(sets, tag):
    """Labels of ours with a tag; all of ours without one."""
    labels = {label: None for cells in sets.values() for label in cells.labels}
    order = [*(f"{name} [{tag}]" for name in OURS), *labels] if tag else labels
    return {
        label: [label]
        for label in dict.fromkeys(order)
        if label in labels and label.endswith(f"[{tag}]" if tag else "]")
    }


def compared(sets, ours, theirs):
    """Differences by set, of the sets that have all cells of both."""
    pairs = {name: (cells.outcome(ours), cells.outcome(theirs)) for name, cells in sets.items()}
    return {name: difference(*pair) for name, pair in pairs.items() if None not in pair}


def cells_of_difference(differences):
    """Mean over sets; ahead, level and behind; the smallest and the largest."""
    if not differences:
        return ["", "", "", ""]
    signs = [each.sign for each in differences.values()]
    low, high = (choose(differences.values(), key=lambda each: each.mean) for choose in (min, max))
    counts = " / ".join(str(signs.count(sign)) for sign in (1, 0, -1))
    return [str(over_sets(differences.values())), counts, str(low), str(high)]


def costs(sets, labels):
    """Cost on each set, in fits of the unit."""
    found = []
    for cells in sets.values():
        of_label, of_unit = cells.outcome(labels), cells.outcome([UNIT])
        if of_label and of_unit:
            is_own = np.isfinite(of_label.unit)
            found.append(of_label.seconds / (of_label.unit if is_own else of_unit.seconds))
    return found


def cells_of_costs(sets, labels):
    found = costs(sets, labels)
    return [f"{np.median(found):.1f}", f"{max(found):.1f}"] if found else ["", ""]


COLUMNS = ["mean ± over sets", "ahead / level / behind", "least", "most"]
COST_COLUMNS = ["cost, median", "cost, most"]


def untagged(label):
    return label.partition(" [")[0]


def show_against(sets, label, peers=PICKED | COME):
    """One of ours against every peer; costs are those of the peer."""
    rows, missing = [], []
    for peer, labels in peers.items():
        found = compared(sets, [label], labels)
        if len(found) < len(sets):
            missing.append(peer)
            continue
        row = [*cells_of_difference(found), *cells_of_costs(sets, labels)]
        rows.append([peer, *row])
    if not rows:  # results of before are not replaced by an empty table
        sys.exit(f"No cells of {label} and a peer on all sets yet: run them without a summary.")
    if missing:
        say(f"Not run on all sets yet: {'; '.join(missing)}")
    say(f"\n{untagged(label)}: difference in NDCG@10 to the peer, and the cost of the peer")
    print_table(["peer", *COLUMNS, *COST_COLUMNS], rows)


def show_ours(sets, makers, against):
    """Each of ours against one peer, with its own costs."""
    rows = []
    for label, labels in makers.items():
        found = compared(sets, labels, PICKED[against])
        row = [*cells_of_difference(found), *cells_of_costs(sets, labels)]
        rows.append([f"{untagged(label)}{count(found, sets)}", *row])
    say(f"\nDifference in NDCG@10 to {against}, and cost in fits of {UNIT}")
    print_table(["", *COLUMNS, *COST_COLUMNS], rows)


def count(found, sets):
    return "" if len(found) == len(sets) else f" ({len(found)} sets)"


def show_sets(sets, label, peers=("lambdarank, picked", "picked peer")):
    """Set by set: NDCG@10, the differences that count, and who was picked."""
    rows, says_who = [], "picked peer" in peers
    for name, cells in sets.items():
        ours = cells.outcome([label])
        row = [f"{name} ({cells.n_queries:.0f})", f"{ours.mean:.4f}" if ours else ""]
        for peer in peers:
            theirs = cells.outcome((PICKED | COME)[peer])
            row.append(str(difference(ours, theirs)) if ours and theirs else "")
        if says_who:
            row.append(theirs.picked if theirs else "")
        row.append("".join(f"{cost:.1f}" for cost in costs({name: cells}, [label])))
        rows.append(row)
    who = ", and in how many draws who was picked" if says_who else ""
    say(f"\n{untagged(label)} by set (test queries of a draw){who}")
    others = [*(f"to {peer}" for peer in peers), *["picked peer"] * says_who, "cost"]
    print_table(["", "NDCG@10", *others], rows)


def read_half(half, options, n_train=None):
    n_draws = options.draws or (N_DRAWS if n_train is None else N_DRAWS_FEW)
    chosen = [name for name in HALVES[half] if name in options.only]
    sets = {name: Cells(options.cells, name, n_draws, n_train) for name in chosen}
    return {name: cells for name, cells in sets.items() if cells.labels}


def tell_failures(sets):
    failed = [cell for cells in sets for cell in cells.failed]
    versions = {each for cells in sets for each in cells.versions}
    names = {cells.name for cells in sets}
    say(f"{len(names)} sets, {len(failed)} cells failed, {len(versions)} combinations of versions")
    for cell in failed:
        # The messages of libraries may hold paths.
        kind = cell["error"].partition(":")[0]
        say(f"failed: {cell['set']}, draw {cell['draw']}, {cell['learner']}: {kind}")


def summarize_own(options):
    """Rankers or tables of a user, and ours, against a picked lambdarank."""
    sets, picked = read_half(options.half or REPORTED, options), "lambdarank, picked"
    tell_failures(sets.values())
    ours = ours_in(sets, options.tag)
    show_ours(sets, {name: [name] for name in options.ranker} | ours, picked)
    for label in options.ranker or ours:
        show_sets(sets, label, [picked])


def add_own(options):
    """Look up what a user has named, and make a group of the tables."""
    for name in [*options.ranker, *options.table]:
        try:
            resolve_name(name)
        except (ImportError, AttributeError, ValueError) as error:
            sys.exit(f"{name} must be MODULE:NAME, found from {os.getcwd()}: {error}")
    for name in options.table:
        SETS[name] = RankingSet(name, "", "", lambda _, name=name: resolve_name(name)())
        options.only = [*options.only, name]
    if options.table:
        HALVES[OWN], options.half = options.table, OWN


HEADS = {
    SELECTING: "Selecting half: defaults were chosen on these sets, which prove nothing",
    REPORTED: "Reported half",
    LATER: "Later tables, fitted once, after all defaults stood",
}


def summarize(options):
    """All tables of `--half`; without it those of the reported half, and one of the other."""
    label = f"TabularRanker() [{options.tag}]"
    halves = [options.half] if options.half else [REPORTED, SELECTING]
    found = {half: sets for half in halves if (sets := read_half(half, options))}
    if not found:
        sys.exit(f"No cells of {' or '.join(halves)} in {options.cells}: run them first.")
    for half, sets in found.items():
        say(f"\n{HEADS[half]}")
        tell_failures(sets.values())
        is_whole = half in (REPORTED, options.half)
        if is_whole:
            show_sets(sets, label)
            show_against(sets, label)
        for against in ["lambdarank, picked", "picked peer"][: 1 + is_whole]:
            show_ours(sets, ours_in(sets, options.tag), against)


def summarize_come(options):
    """Peers and a regression with their defaults, and two that are picked."""
    label, picked = f"TabularRanker() [{options.tag}]", "lambdarank, picked"
    sets = read_half(options.half or REPORTED, options)
    tell_failures(sets.values())
    show_against(sets, label, {peer: PICKED[peer] for peer in (picked, "QueryRMSE, picked")} | COME)
    show_ours(sets, ours_in(sets, options.tag), picked)
    show_sets(sets, label, [picked, f"QueryRMSE, {DEFAULTS}"])


def summarize_few(options):
    """Few queries of the reported sets: mean NDCG@10, and differences of the first of ours."""
    label = f"TabularRanker() [{options.tag}]"
    by_number = {n_train: read_half(REPORTED, options, n_train) for n_train in FEW}
    labels = {f"{name} [{options.tag}]": [f"{name} [{options.tag}]"] for name in FEW_OURS}
    labels |= {name: PICKED[name] for name in ("lambdarank, picked", "QueryRMSE, picked")}
    for name in ("lambdarank", "rank:ndcg", "QueryRMSE"):
        labels[f"{name}, {DEFAULTS}"] = COME[f"{name}, {DEFAULTS}"]
    # Peers that were not run on all sets yet are left out.
    labels = {
        name: chosen
        for name, chosen in labels.items()
        if all(cells.outcome(chosen) for sets in by_number.values() for cells in sets.values())
    }
    kept = {
        n_train: {
            name: cells
            for name, cells in sets.items()
            if all(cells.outcome(chosen) for chosen in labels.values())
        }
        for n_train, sets in by_number.items()
    }
    means, others = [], []
    for name, chosen in labels.items():
        row = [[cells.outcome(chosen).mean for cells in sets.values()] for sets in kept.values()]
        means.append([untagged(name), *(f"{np.mean(of):.4f}" if of else "" for of in row)])
        if name != label:
            found = [compared(sets, [label], chosen) for sets in kept.values()]
            cells = [cells_of_difference(each)[:2] for each in found]
            others.append([untagged(name), *(f"{mean} ({counts})" for mean, counts in cells)])
    numbers = [f"{n} queries ({len(sets)} sets)" for n, sets in kept.items()]
    say("\nFew queries of the reported sets")
    tell_failures([cells for sets in by_number.values() for cells in sets.values()])
    say("\nMean NDCG@10 over the sets")
    print_table(["", *numbers], means)
    say(f"\n{untagged(label)}: mean difference ± over sets (ahead / level / behind)")
    print_table(["", *numbers], others)


def is_variant(label, default):
    """Whether a label is of the same class as the default, and not another learner of `OURS`."""
    name, own = untagged(label), untagged(default)
    return name == own or (name not in OURS and name.partition("(")[0] == own.partition("(")[0])


def compare(options):
    """Variants of ours on the selecting half, and what the rule says."""
    sets, default = read_half(SELECTING, options), options.compare
    everything = ours_in(sets, None)
    if default not in everything:
        sys.exit(f"--compare must be one of {', '.join(everything)}, got {default!r}.")
    makers = {label: labels for label, labels in everything.items() if is_variant(label, default)}
    rows, allowed = [], {}
    for label, labels in makers.items():
        found, of_label = compared(sets, labels, [default]), costs(sets, labels)
        mean = over_sets(found.values()) if found else Difference(np.nan, np.nan)
        is_whole = len(found) == len(of_label) == len(sets)
        is_cheap = is_whole and np.median(of_label) <= 3 and max(of_label) <= 5
        is_better = mean.mean > 0 and all(each.sign >= 0 for each in found.values())
        if label != default and is_cheap and is_better:
            allowed[label] = mean, np.median(of_label)
        verdict = "default" if label == default else "may replace" if label in allowed else ""
        row = [*cells_of_difference(found), *cells_of_costs(sets, labels), verdict]
        rows.append([f"{label}{count(found, sets)}", *row])
    say(f"\nSelecting half: differences to {default}, and cost in fits of {UNIT}")
    print_table(["", *COLUMNS, *COST_COLUMNS, "by the rule"], rows)
    chosen = default
    if allowed:
        best = max((mean for mean, _ in allowed.values()), key=lambda each: each.mean)
        near = {
            label: cost
            for label, (mean, cost) in allowed.items()
            if mean.mean >= best.mean - best.error
        }
        chosen = min(near, key=near.__getitem__)
    say(f"By the rule: {chosen}")


def main(argv=None):
    arguments = parser(__doc__, data=True, threads=False)
    arguments.add_argument("--cells", required=True, metavar="DIR", help="folder of the cells")
    arguments.add_argument("--only", nargs="+", choices=list(SETS), default=list(SETS))
    arguments.add_argument("--half", choices=list(HALVES), help="sets of one half, or the third")
    arguments.add_argument(
        "--learners",
        nargs="+",
        choices=[*GROUPS, *GROUPS["peers"], *OURS],
        help="what is fitted (default all; with yours lambdarank and TabularRanker())",
    )
    arguments.add_argument(
        "--ranker", nargs="+", default=[], metavar="MODULE:CLASS", help="rankers of your own"
    )
    arguments.add_argument(
        "--table", nargs="+", default=[], metavar="MODULE:FUNCTION", help="tables of your own"
    )
    arguments.add_argument("--tag", default="base", help="name of the code of ours")
    arguments.add_argument("--variants", metavar="FILE", help="further rankers of ours, alone")
    arguments.add_argument("--draws", type=int, help="first draws only")
    arguments.add_argument("--few", action="store_true", help="few training queries")
    arguments.add_argument("--summary", action="store_true", help="print what the cells say")
    arguments.add_argument(
        "--come", action="store_true", help="summary of peers with their defaults"
    )
    arguments.add_argument("--compare", metavar="DEFAULT", help="the rule for defaults")
    options = arguments.parse_args(argv)
    options.data = options.data or os.environ.get("SKCALRANK_DATA")
    has_own = bool(options.ranker or options.table)
    beside = ["lambdarank", "TabularRanker()"] if has_own else list(GROUPS)
    options.learners = [] if options.variants else options.learners or beside
    sys.path.append(os.getcwd())  # where modules of a user are
    add_own(options)
    print(describe_environment(*PACKAGES, threads=1))
    if options.compare:
        return compare(options)
    if options.come:
        return summarize_come(options)
    if options.summary:
        summarize(options)
        return summarize_few(options) if options.few else None
    halves = [REPORTED] if options.few or has_own else [SELECTING, REPORTED]
    halves = [options.half] if options.half else halves
    chosen = [name for half in halves for name in HALVES[half]]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_all([name for name in options.only if name in chosen], options)
    return summarize_own(options) if has_own else None


if __name__ == "__main__":
    main()
