"""What the defaults of the package are chosen by: penalties, losses of trees, boosted objectives.

    python benchmarks/quality_defaults.py --data DIR --cells DIR

Prints mean NDCG@10 over test queries on five data sets, and differences to a reference with one
paired standard error (sampling of queries only). MQ2008 has its own five folds; MSLR-sample and
LightGBM's example are pooled into five folds of whole queries; the made data of _made.py have 300
training and 400 test queries, at two noise levels. DIR (or SKCALRANK_DATA) holds the folders
MQ2008, MSLR-sample and lightgbm-lambdarank. `--only` takes some of the sets, `--tables` some of

* penalties: the closed form with `alpha="auto"`, multiples of that, alpha=1 as `Ridge` counts it,
  and the penalty that `LeastSquaresRankerCV` chooses; the same for losses solved by descent. (The
  label-ranking form is in label_ranking.py.)
* trees: regressors inside `NDCGRanker` with their defaults and with the settings of the guide,
  under the three losses.
* objectives: LightGBM with 15 leaves at rate .1 and early stopping on our metric over a fifth of
  the training queries, by loss, targets and weight of a query, beside lambdarank; `--seeds` of
  these fifths are drawn, and their values averaged query by query.
* lists: LightGBM as there, by losses of lists: the softmax loss on targets of NDCG and on grades,
  which are calibrated for NDCG and DCG, ListNet's (softmax of the grades as targets, which sum to 1
  in each query: calibrated for no known measure) and rank_xendcg, beside lambdarank and the default
  loss. Also on MovieLens-100K, in columns of numbers.
* boosted: `BoostedRanker` with its defaults and with one parameter changed, `--seeds` of its
  validation parts averaged.
* features: `NDCGRanker()` on raw features and on curves of them, learned in the training part.

A default is one setting for all sets, chosen by the whole table: nothing is picked set by set. Gain
2^y - 1; queries without a relevant document are left out.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from _common import Cells, data_folder, describe_environment, optional, parser, print_table, say
from _films import FILES as FILM_FILES
from _films import NAME as FILMS
from _films import film_folds
from _letor import SETS, Part, joined
from _made import MADE, made_part
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, SplineTransformer
from threadpoolctl import threadpool_limits

from skcalrank import (
    BoostedRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    QueryKFold,
    RankingTarget,
    train_test_query_split,
)
from skcalrank.boosting import lightgbm_metric, lightgbm_objective
from skcalrank.linear_model import GramRidge
from skcalrank.measures import PositionalMeasure
from skcalrank.metrics import ndcg_score
from skcalrank.preprocessing import QuantileHinges

TABLES = ("penalties", "trees", "objectives", "lists", "boosted", "features")


# -- data ----------------------------------------------------------------------------------


def folds_of(name, folder):
    """Pairs (train, test) of parts."""
    if name == FILMS:
        return [tuple(map(_in_numbers, fold)) for fold in film_folds(folder, 0)]
    if name in MADE:
        noise, cuts = MADE[name]
        return [(made_part(300, 7, noise, cuts), made_part(400, 99, noise, cuts))]
    splits = SETS[name][1](folder)
    if len(splits) > 1:
        return [(split.train, split.test) for split in splits]
    # Files of one set may number their queries alike.
    parts = [part._replace(qid=part.qid + 10**6 * k) for k, part in enumerate(splits[0])]
    whole = joined(*parts)
    return [
        (_rows(whole, train), _rows(whole, test))
        for train, test in QueryKFold(5).split(whole.X, whole.y, groups=whole.qid)
    ]


def _in_numbers(part):
    """Codes of categories, whole queries."""
    order = np.argsort(part.qid, kind="stable")
    codes = part.X.apply(lambda x: x.cat.codes if x.dtype == "category" else x)
    return Part(codes.to_numpy(float)[order], part.y[order], part.qid[order])


def _rows(part, rows):
    return Part(*(array[rows] for array in part))


# -- settings ------------------------------------------------------------------------------


def penalties():
    """Rankers by name; the first one is the reference."""
    yield "alpha=1", NDCGRanker(k=10, alpha=1.0).fit
    yield "auto", NDCGRanker(k=10).fit
    for multiple in (0.1, 1 / 3, 3.0):
        yield f"auto times {multiple:.2g}", _times(multiple)
    yield "LeastSquaresRankerCV", LeastSquaresRankerCV("ndcg@10").fit
    for loss in ("pairwise_logistic", "logistic", "squared_hinge", "bregman_kl"):
        for alpha in (1.0, "auto"):
            ranker = OrderPreservingRanker("ndcg@10", loss=loss, alpha=alpha)
            yield f"{loss}, alpha={alpha}", ranker.fit


def _times(multiple):
    def fit(X, y, qid):
        alpha = multiple * 3 / np.sqrt(len(np.unique(qid)))
        return NDCGRanker(k=10, estimator=GramRidge(alpha, penalty_scale="squares")).fit(X, y, qid)

    return fit


def trees():
    """Regressors under each loss; the first one is the reference."""
    small = {"max_iter": 100, "learning_rate": 0.05, "max_leaf_nodes": 8, "random_state": 0}
    forest = {"min_samples_leaf": 5, "max_features": 1 / 3, "random_state": 0}
    regressors = {
        "defaults": HistGradientBoostingRegressor(random_state=0),
        "100 trees of 8 leaves": HistGradientBoostingRegressor(**small),
        "extra trees": ExtraTreesRegressor(100, **forest),
    }
    # Passes cost as many fits more, so that only the small trees make five.
    for name, regressor in regressors.items():
        passes = (1, 5) if name == "100 trees of 8 leaves" else (1,)
        yield f"{name}: squared", NDCGRanker(regressor, k=10, loss="squared").fit
        yield f"{name}: centered", NDCGRanker(regressor, k=10, loss="centered").fit
        for n in passes:
            ranker = NDCGRanker(regressor, k=10, loss="pairwise_squared", n_passes=n)
            yield f"{name}: pairwise_squared, n_passes={n}", ranker.fit


def objectives(lightgbm, options):
    """Boosted trees by objective; the first one is the reference."""
    yield "lambdarank", _boosted(lightgbm, options, "lambdarank")
    targets = {"NDCG@10": {"measure": "ndcg@10"}, "grades": {"measure": "dcg", "gain": "linear"}}
    for loss in ("pairwise_logistic", "pairwise_squared"):
        for name, measure in targets.items():
            for query_weight in ("pairs", "documents", "equal"):
                made = lightgbm_objective(loss=loss, query_weight=query_weight, **measure)
                label = f"{loss}, {name}, {query_weight}"
                yield label, _boosted(lightgbm, options, made)


class SoftmaxOfGrades(PositionalMeasure):
    """ListNet's targets: the softmax of the grades of a query."""

    name = "listnet"

    def targets(self, y, queries):
        raised = np.exp(y - queries.repeat(queries.max(y)))
        return raised / queries.repeat(queries.sum(raised))

    def basis(self, positions, sizes):
        return 1.0 / np.log2(positions + 1.0)


def lists(lightgbm, options):
    """Boosted trees by loss of lists; the first one is the reference."""
    of_list = partial(lightgbm_objective, loss="softmax")
    made = {
        "lambdarank": "lambdarank",
        "rank_xendcg": "rank_xendcg",
        "ListNet": of_list(SoftmaxOfGrades()),
        "softmax, NDCG@10": of_list("ndcg@10"),
        "softmax, grades": of_list("dcg", gain="linear"),
        "softmax, gains": of_list("dcg"),
        "pairwise_logistic, NDCG@10": lightgbm_objective("ndcg@10"),
    }
    for label, objective in made.items():
        yield label, _boosted(lightgbm, options, objective)


def _boosted(lightgbm, options, objective):
    return [partial(_boost, lightgbm, options, objective, seed) for seed in range(options.seeds)]


def _boost(lightgbm, options, objective, seed, X, y, qid):
    halves = train_test_query_split(X, y, qid=qid, test_size=0.2, random_state=seed)
    parts = [joined(Part(*part)) for part in (halves[0::2], halves[1::2])]
    params = {"objective": objective, "learning_rate": 0.1, "num_leaves": 15, "seed": 0}
    params |= {"num_threads": options.threads, "verbose": -1, "metric": "None"}
    train, valid = (lightgbm.Dataset(p.X, p.y, group=p.sizes) for p in parts)
    stop, metric = lightgbm.early_stopping(50, verbose=False), lightgbm_metric("ndcg@10")
    return lightgbm.train(params, train, 500, valid_sets=[valid], feval=metric, callbacks=[stop])


def boosted(options):
    """Boosted rankers with one parameter changed; the first one is the reference."""
    changed = {
        "lambdarank": {"loss": "lambdarank"},
        "rank_xendcg": {"loss": "rank_xendcg"},
        "defaults": {},
        "by documents": {"query_weight": "documents"},
        "two models": {"n_models": 2},
        "start=NDCGRanker()": {"start": NDCGRanker(k=10)},
    }
    for label, params in changed.items():
        common = {"engine": "lightgbm", "n_jobs": options.threads} | params
        yield (
            label,
            [
                BoostedRanker("ndcg@10", random_state=seed, **common).fit
                for seed in range(options.seeds)
            ],
        )


def features():
    """Maps of features before the closed form; the first one is the reference."""
    yield "as they are", NDCGRanker(k=10).fit
    for name, curve in (
        ("signed log1p", FunctionTransformer(signed_log1p)),
        ("quantiles", QuantileTransformer(n_quantiles=100)),
        ("linear splines", SplineTransformer(degree=1, knots="quantile")),
        ("QuantileHinges", QuantileHinges()),
    ):
        yield name, _piped(make_pipeline(curve, NDCGRanker(k=10)))


def signed_log1p(X):
    """Logarithms that keep the sign."""
    return np.sign(X) * np.log1p(np.abs(X))


def _piped(pipeline):
    return lambda X, y, qid: pipeline.fit(X, RankingTarget(y, qid))


# -- measuring -----------------------------------------------------------------------------


def values(fits, folds):
    """NDCG@10 of every test query, the mean over some fits, and CPU seconds of a fit."""
    start, found = time.process_time(), []
    for train, test in folds:
        of_fits = []
        for fit in fits:
            scores = fit(*train).predict(test.X)
            of_fits.append(ndcg_score(test.y, scores, qid=test.qid, k=10, average=False))
        found.append(np.mean(of_fits, axis=0))
    seconds = time.process_time() - start
    return np.concatenate(found), seconds / len(folds) / len(fits)


def show(settings, folds, names, keep):
    """Print a table of settings, a column for each set."""
    rows, reference = [], None
    for label, fits in settings:
        cells, found = [label], {}
        for name in names:
            fits = fits if isinstance(fits, list) else [fits]
            found[name], seconds = keep(f"{name}-{label}", values, fits, folds[name])
            defined = ~np.isnan(found[name])
            cells.append(f"{found[name][defined].mean():.4f}")
            if reference is not None:
                gain = (found[name] - reference[name])[defined]
                cells[-1] += f" {gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}"
            cells[-1] += f" ({seconds:.2f} s)"
        reference = reference or found
        rows.append(cells)
        print("  " + "  ".join(cells), flush=True)
    print_table(["", *names], rows)


def main(argv=None):
    arguments = parser(__doc__, data=True, cells=True)
    every = [*SETS, *MADE]
    arguments.add_argument("--only", nargs="+", choices=[*every, FILMS], default=every)
    arguments.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    arguments.add_argument("--seeds", type=int, default=1, help="of validation (default 1)")
    arguments.add_argument("--match", default="", help="take settings that contain this text")
    options = arguments.parse_args(argv)
    needed = [file for name in options.only if name in SETS for file in SETS[name][0]]
    needed += FILM_FILES if FILMS in options.only else []
    folder = data_folder(options.data, needed) if needed else None
    print(describe_environment("numpy", "scikit-learn", "lightgbm", threads=options.threads))
    folds = {name: folds_of(name, folder) for name in options.only}
    lightgbm = optional("lightgbm")
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in options.tables:
            if table in ("objectives", "lists", "boosted") and lightgbm is None:
                say(f"\n{table}: lightgbm is missing")
                continue
            say(f"\n{table}: NDCG@10, difference to the first row, and CPU seconds of a fit")
            settings = {
                "penalties": penalties,
                "trees": trees,
                "objectives": partial(objectives, lightgbm, options),
                "lists": partial(lists, lightgbm, options),
                "boosted": partial(boosted, options),
                "features": features,
            }[table]
            cells = Cells(options.cells, table, f"seeds={options.seeds},threads={options.threads}")
            show(_matching(settings(), options.match), folds, options.only, cells)


def _matching(settings, text):
    """Take the reference, and settings whose label contains a text."""
    for number, (label, fits) in enumerate(settings):
        if number == 0 or text in label:
            yield label, fits


if __name__ == "__main__":
    main()
