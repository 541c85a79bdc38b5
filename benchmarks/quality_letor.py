"""Quality of the closed form on public LETOR data, against boosted trees.

    python benchmarks/quality_letor.py --data DIR --cells DIR

Measures NDCG@10 and five other measures, with the CPU seconds of a fit, on MQ2008 (five folds),
MSLR-sample (one split), LightGBM's lambdarank example (one split, a quarter of whose
training queries become the validation part), and on the made data of _made.py (300 training, 100
validation and 400 test queries, two noise levels). DIR (or SKCALRANK_DATA) holds the folders
MQ2008, MSLR-sample and lightgbm-lambdarank; `--only` takes some of the sets.

Every learner is trained on the training part and picked by NDCG@10 on the validation part; the
test part gives the table only.

* With their defaults: `NDCGRanker(k=10)`, whose penalty follows from the number of queries, and
  `LeastSquaresRankerCV("ndcg@10")`; they see neither the validation part nor a grid of ours.
* Closed form: pairwise squared loss with Ridge inside; target and alpha picked. "on quantiles":
  each feature is replaced by its quantile in the training part, so that the scale of a
  feature does not matter, as in trees. The time of a fit includes it.
* Boosted trees: the number of trees (up to 500) by early stopping, 50 rounds without a gain;
  "picked" picks the learning rate and the size of the trees too, "defaults" are the library's.
  The time of a fit includes the validation that stops it.

Policy: gain 2^y - 1; documents of label 1 and above are relevant in MAP, P@10 and MRR; NDCG and
MAP leave out queries without a relevant document, on which P@10, MRR and ERR are 0; the column
"zero" counts them 0 in NDCG@10, as LETOR does. Ties count their exact expectation. Differences
are paired over test queries, with their standard error (sampling of queries only).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from _common import Cells, data_folder, describe_environment, optional, parser, print_table, say
from _letor import SETS, Split, sizes_line
from _made import MADE, made_part
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import QuantileTransformer
from threadpoolctl import threadpool_limits

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
)
from skcalrank.measures import ERR, NDCG, AveragePrecision, Precision, ReciprocalRank
from skcalrank.metrics import evaluate, ndcg_score

LAMBDARANK = "LightGBM lambdarank, picked"

MAX_TREES, PATIENCE = 500, 50
EVERY = [*SETS, *MADE]


def made_split(name):
    """Made queries."""
    noise, cuts = MADE[name]
    return Split(*(made_part(n, seed, noise, cuts) for n, seed in ((300, 7), (100, 8), (400, 99))))


# -- learners -----------------------------------------------------------------------------


class Learner(NamedTuple):
    """`fit(split, **params)` gives something with `predict`; the best of the grid is picked."""

    name: str
    fit: Callable[..., Any]
    grid: Sequence[dict] = ({},)
    transformer: Any = None

    @property
    def is_picked(self):
        return len(self.grid) > 1


TARGETS = {
    "NDCG@10": NDCGRanker(k=10),
    "gain": DCGRanker(),
    "label": DCGRanker(gain="linear"),
    "relevant": PrecisionRanker(relevance_level=1),
    "AP": AveragePrecisionRanker(relevance_level=1),
    "net preference": PairwiseDisagreementRanker(),
}


def fit_closed_form(split, target="NDCG@10", alpha=1.0):
    ranker = clone(TARGETS[target]).set_params(estimator=Ridge(alpha=alpha))
    return ranker.set_params(loss="pairwise_squared").fit(*split.train)


def fit_trees(split):
    return NDCGRanker(estimator=HistGradientBoostingRegressor(random_state=0)).fit(*split.train)


def fit_as_it_comes(split):
    return NDCGRanker(k=10).fit(*split.train)


def fit_search(split):
    return LeastSquaresRankerCV("ndcg@10").fit(*split.train)


def our_learners():
    """The closed form, with its defaults and picked, and scikit-learn's trees for information."""
    alphas = 10.0 ** np.arange(-1, 6)
    grid = [{"target": target, "alpha": alpha} for target in TARGETS for alpha in alphas]
    quantiles = QuantileTransformer(n_quantiles=100)
    return [
        Learner("closed form on quantiles, picked", fit_closed_form, grid, quantiles),
        Learner("closed form, picked", fit_closed_form, grid),
        Learner("NDCGRanker() on quantiles", fit_as_it_comes, transformer=quantiles),
        Learner("NDCGRanker()", fit_as_it_comes),
        Learner("LeastSquaresRankerCV()", fit_search),
        Learner("NDCGRanker(alpha=1)", fit_closed_form),
        Learner("NDCGRanker(HistGradientBoosting)", fit_trees),
    ]


def _lightgbm_learners(lightgbm, threads):
    def fit(split, objective, **params):
        params |= {"objective": objective, "metric": "ndcg", "eval_at": [10], "seed": 0}
        params |= {"num_threads": threads, "verbose": -1}
        train, valid = (
            lightgbm.Dataset(part.X, part.y, group=part.sizes)
            for part in (split.train, split.valid)
        )
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        return lightgbm.train(params, train, MAX_TREES, valid_sets=[valid], callbacks=[stop])

    sizes = [{"num_leaves": leaves} for leaves in (31, 15, 7, 4)]
    for objective in ("lambdarank", "rank_xendcg"):
        grid = _grid({"objective": objective}, "learning_rate", (0.1, 0.03), sizes)
        yield from _both(f"LightGBM {objective}", fit, grid)


def _xgboost_learners(xgboost, threads):
    def fit(split, **params):
        ranker = xgboost.XGBRanker(
            objective="rank:ndcg",
            n_estimators=MAX_TREES,
            early_stopping_rounds=PATIENCE,
            eval_metric="ndcg@10",
            n_jobs=threads,
            random_state=0,
            **params,
        )
        train, valid = split.train, split.valid
        validation = {"eval_set": [(valid.X, valid.y)], "eval_group": [valid.sizes]}
        return ranker.fit(train.X, train.y, group=train.sizes, verbose=False, **validation)

    sizes = [{"max_depth": depth} for depth in (6, 4, 3, 2)]
    yield from _both("XGBoost rank:ndcg", fit, _grid({}, "learning_rate", (0.3, 0.1), sizes))


def _catboost_learners(catboost, threads):
    def fit(split, **params):
        ranker = catboost.CatBoostRanker(
            loss_function="YetiRank",
            iterations=MAX_TREES,
            early_stopping_rounds=PATIENCE,
            eval_metric="NDCG:top=10;type=Exp",
            thread_count=threads,
            random_seed=0,
            verbose=False,
            allow_writing_files=False,
            **params,
        )
        train, valid = (
            catboost.Pool(part.X, part.y, group_id=part.qid) for part in (split.train, split.valid)
        )
        return ranker.fit(train, eval_set=valid)

    sizes = [{"depth": depth} for depth in (6, 4)]
    yield from _both("CatBoost YetiRank", fit, _grid({}, "learning_rate", (0.03, 0.1), sizes))


def _grid(fixed, name, rates, sizes):
    """All pairs, the defaults first."""
    return [fixed | {name: rate} | size for rate in rates for size in sizes]


def _both(name, fit, grid):
    return [Learner(f"{name}, picked", fit, grid), Learner(f"{name}, defaults", fit, grid[:1])]


PEERS = {
    "lightgbm": _lightgbm_learners,
    "xgboost": _xgboost_learners,
    "catboost": _catboost_learners,
}


def peer_learners(threads):
    """Those whose library is there."""
    modules = {name: optional(name) for name in PEERS}
    return [
        learner
        for name, module in modules.items()
        if module is not None
        for learner in PEERS[name](module, threads)
    ]


# -- measuring ----------------------------------------------------------------------------


class Outcome(NamedTuple):
    """A learner on one split: measures per test query, seconds, and what was picked."""

    values: dict
    fit_seconds: float
    selection_seconds: float
    params: dict


def timed(function, *args, **params):
    start = time.process_time()
    out = function(*args, **params)
    return out, time.process_time() - start


def measures(max_grade):
    return {
        "NDCG@10": NDCG(k=10),
        "NDCG@5": NDCG(k=5),
        "MAP": AveragePrecision(relevance_level=1),
        "P@10": Precision(k=10, relevance_level=1),
        "MRR": ReciprocalRank(relevance_level=1),
        "ERR@10": ERR(k=10, max_grade=max_grade),
    }


MEASURES = list(measures(1))


def pick(learner, split):
    """The parameters of the grid that are best on the validation part."""

    def value(params):
        scores = learner.fit(split, **params).predict(split.valid.X)
        return ndcg_score(split.valid.y, scores, qid=split.valid.qid, k=10)

    return max(learner.grid, key=value) if learner.is_picked else learner.grid[0]


def run(learner, split, max_grade, repeats):
    """Pick on the validation part, fit once more for the time, evaluate on the test part."""
    split, preparation = transformed(split, learner.transformer)
    params, selection = timed(pick, learner, split)
    fits = [timed(learner.fit, split, **params) for _ in range(repeats)]
    seconds = preparation + float(np.median([seconds for _, seconds in fits]))
    model, _ = fits[-1]
    values = test_values(model.predict(split.test.X), split.test, max_grade)
    return Outcome(values, seconds, preparation + selection, params)


def transformed(split, transformer):
    """The split with transformed features, and the seconds that its training part took."""
    if transformer is None:
        return split, 0.0
    transformer = clone(transformer)
    X, seconds = timed(transformer.fit_transform, split.train.X)
    rest = (part._replace(X=transformer.transform(part.X)) for part in split[1:])
    return Split(split.train._replace(X=X), *rest), seconds


def test_values(scores, test, max_grade):
    named = measures(max_grade)
    found = evaluate(test.y, scores, list(named.values()), qid=test.qid, average=False)
    return {name: found[measure] for name, measure in named.items()}


def paired(outcomes, reference):
    """Mean difference in NDCG@10 over the test queries of all splits, and standard error."""
    ours, theirs = (pooled(some, "NDCG@10") for some in (outcomes, reference))
    difference = (ours - theirs)[~np.isnan(ours)]
    return difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))


def pooled(outcomes, name):
    return np.concatenate([outcome.values[name] for outcome in outcomes])


def median_seconds(outcomes, field="fit_seconds"):
    return float(np.median([getattr(outcome, field) for outcome in outcomes]))


# -- reporting ----------------------------------------------------------------------------


def table_row(learner, outcomes, reference):
    means = [f"{np.nanmean(pooled(outcomes, name)):.4f}" for name in MEASURES]
    difference = ""
    if reference is not None and outcomes is not reference:
        difference = "{:+.4f} ± {:.4f}".format(*paired(outcomes, reference))
    zero = f"{np.nan_to_num(pooled(outcomes, 'NDCG@10')).mean():.4f}"
    picking = f"{median_seconds(outcomes, 'selection_seconds'):.1f}" if learner.is_picked else ""
    fit = f"{median_seconds(outcomes):.3f}"
    return [learner.name, means[0], difference, zero, *means[1:], fit, picking]


def print_results(results, learners):
    columns = ["", "NDCG@10", "to lambdarank", "zero", *MEASURES[1:], "CPU s/fit", "CPU s/picking"]
    reference = results.get(LAMBDARANK)
    print_table(columns, [table_row(one, results[one.name], reference) for one in learners])
    for learner in learners:
        if learner.is_picked:
            shown = [", ".join(map(_short, o.params.items())) for o in results[learner.name]]
            print(f"{learner.name}: {'; '.join(shown)}")


def _short(item):
    name, value = item
    return value if isinstance(value, str) else f"{name} {value:g}"


def benchmark(name, splits, learners, cells):
    """Every learner on every split of a data set."""
    say(f"\n{sizes_line(name, splits)}")
    max_grade = max(part.y.max() for split in splits for part in split)
    repeats = 1 if len(splits) > 1 else 3
    results = {
        learner.name: [
            cells(f"{name}-{number}-{learner.name}", run, learner, split, max_grade, repeats)
            for number, split in enumerate(splits)
        ]
        for learner in learners
    }
    print_results(results, learners)


def main(argv=None):
    arguments = parser(__doc__, data=True, cells=True)
    arguments.add_argument("--only", nargs="+", choices=EVERY, default=EVERY)
    options = arguments.parse_args(argv)
    needed = [file for name in options.only if name in SETS for file in SETS[name][0]]
    folder = data_folder(options.data, needed) if needed else None
    learners = our_learners() + peer_learners(options.threads)
    packages = ("numpy", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost")
    print(describe_environment(*packages, threads=options.threads))
    cells = Cells(options.cells, f"threads={options.threads}")
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            splits = SETS[name][1](folder) if name in SETS else [made_split(name)]
            benchmark(name, splits, learners, cells)


if __name__ == "__main__":
    main()
