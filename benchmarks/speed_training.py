"""Training time and NDCG@10 on a million rows: closed forms and boosted trees, side by side.

    python benchmarks/speed_training.py

Some 1,000,000 training rows of 136 features in single precision, 10,000 queries, and 2,000 test
queries, of the distribution in `_made.py`: partly linear, partly not, so trees can win. `--noise`
takes the noisier of its two forms.

* NDCGRanker() and with GramRidge(): closed form, the pairwise squared loss.
* LeastSquaresRankerCV: penalty among 20 by five folds of queries, NDCG@10.
* on splines: NDCGRanker(GramRidge()) on cubic splines of every feature, 7 columns for one, made
  of 20 queries at a time and added by `partial_fit`, since all at once they would take 4 GB.
* LightGBM, XGBoost, CatBoost: their ranking objectives, `--trees` trees and otherwise their own
  defaults (100 is that of LightGBM and XGBoost; CatBoost's is 1,000), without early stopping;
  LightGBM too with a linear model in each leaf (`linear_tree=True`), and with our calibrated
  objective, alone and starting from the closed form.

Seconds are wall seconds, from arrays to a fitted model: binning and group pointers included.
Differences are paired over test queries, with a standard error. A second table has the closed forms
on one thread and on all cores.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from _common import describe_environment, optional, parser, print_table, print_threads, say
from _made import MADE, N_FEATURES, made_part
from sklearn.preprocessing import SplineTransformer
from threadpoolctl import threadpool_limits

from skcalrank import LeastSquaresRankerCV, NDCGRanker
from skcalrank.boosting import lightgbm_objective
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import ndcg_score

REFERENCE = "LightGBM lambdarank"


# Every learner takes the training part and gives a function from features to scores.


def closed_form(ranker, train):
    """A ranker of ours."""
    return ranker.fit(*train).predict


def on_splines(train):
    """The closed form on splines, in chunks of whole queries."""
    splines = SplineTransformer(n_knots=5, extrapolation="linear").fit(train.X[:10_000])
    ranker = NDCGRanker(estimator=GramRidge(alpha=100.0))
    bounds = np.append(0, np.cumsum(train.sizes))[::20]
    for rows in map(slice, bounds, [*bounds[1:], None]):
        if len(train.y[rows]):
            X = splines.transform(train.X[rows]).astype(np.float32)
            ranker.partial_fit(X, train.y[rows], train.qid[rows])
    _ = ranker.coef_
    step = 10_000
    return lambda X: np.concatenate(
        [ranker.predict(splines.transform(X[i : i + step])) for i in range(0, len(X), step)]
    )


def lightgbm(module, objective, trees, threads, train, start=None, **options):
    """Boosted trees of LightGBM; `start` is a learner whose scores come first."""
    scores = None if start is None else start(train)
    first = None if scores is None else scores(train.X)
    data = module.Dataset(train.X, train.y, group=train.sizes, init_score=first)
    params = {"objective": objective, "num_threads": threads, "verbose": -1, **options}
    model = module.train(params, data, trees)
    return model.predict if scores is None else lambda X: model.predict(X) + scores(X)


def xgboost(module, objective, trees, threads, train):
    """Boosted trees of XGBoost."""
    data = module.QuantileDMatrix(train.X, train.y, qid=train.qid)
    model = module.train({"objective": objective, "nthread": threads}, data, trees)
    return lambda X: model.predict(module.DMatrix(X))


def catboost(module, objective, trees, threads, train):
    """Boosted trees of CatBoost."""
    pool = module.Pool(train.X, train.y, group_id=train.qid)
    params = {"loss_function": objective, "iterations": trees, "thread_count": threads}
    return (
        module.CatBoost(params | {"verbose": False, "allow_writing_files": False}).fit(pool).predict
    )


def learners(trees, threads):
    """All of them by their names."""
    gram = NDCGRanker(estimator=GramRidge())
    grid = LeastSquaresRankerCV("ndcg@10", alphas=np.logspace(-2, 6, 20), cv=5)
    out = {
        "NDCGRanker()": partial(closed_form, NDCGRanker()),
        "NDCGRanker(GramRidge())": partial(closed_form, gram),
        "LeastSquaresRankerCV, 5 x 20": partial(closed_form, grid),
        "closed form on splines": on_splines,
    }
    size = (trees, threads)
    if module := optional("lightgbm"):
        ours = lightgbm_objective("ndcg@10", "pairwise_squared")
        out[REFERENCE] = partial(lightgbm, module, "lambdarank", *size)
        out["LightGBM lambdarank, linear leaves"] = partial(
            lightgbm, module, "lambdarank", *size, linear_tree=True
        )
        out["LightGBM rank_xendcg"] = partial(lightgbm, module, "rank_xendcg", *size)
        out["LightGBM, pairwise squared"] = partial(lightgbm, module, ours, *size)
        out["LightGBM, linear first"] = partial(
            lightgbm, module, ours, *size, start=partial(closed_form, gram)
        )
    if module := optional("xgboost"):
        out["XGBoost rank:ndcg"] = partial(xgboost, module, "rank:ndcg", *size)
    if module := optional("catboost"):
        out["CatBoost YetiRank"] = partial(catboost, module, "YetiRank", *size)
    return out


def measure(learner, train, test):
    """Seconds to train, and NDCG@10 of every test query."""
    start = time.perf_counter()
    scores = learner(train)
    seconds = time.perf_counter() - start
    values = ndcg_score(test.y, np.ravel(scores(test.X)), qid=test.qid, k=10, average=False)
    return seconds, values


def cells(seconds, values, reference):
    """A row of the table."""
    row = [f"{seconds:.1f}", f"{np.nanmean(values):.4f}", ""]
    if reference is not None:
        gap = (values - reference[1])[~np.isnan(values)]
        row[2] = f"{gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.4f}"
        row.append(f"{reference[0] / seconds:.1f}")
    return row


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--queries", type=int, default=10_000)
    options.add_argument("--trees", type=int, default=100)
    options.add_argument("--noise", action="store_true", help="the noisier distribution")
    options.add_argument("--only", nargs="+", metavar="NAME", help="learners that begin so")
    args = options.parse_args()
    packages = ("numpy", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost")
    print(describe_environment(*packages, threads=args.threads))
    law = MADE["made-noisy" if args.noise else "made"]
    train, test = made_part(args.queries, 0, *law), made_part(2_000, 1, *law)
    say(f"{len(train.y):,} x {N_FEATURES} in {args.queries:,} queries; {args.trees} trees")
    chosen = learners(args.trees, args.threads)
    if args.only:
        chosen = {k: v for k, v in chosen.items() if k.startswith((*args.only, REFERENCE))}
    with threadpool_limits(args.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: measure(learner, train, test) for name, learner in chosen.items()}
    rows = [[name, *cells(*pair, found.get(REFERENCE))] for name, pair in found.items()]
    print_table(["", "s", "NDCG@10", f"to {REFERENCE}", "times faster"], rows)
    ours = {k: f for k, f in chosen.items() if getattr(f, "func", None) is closed_form}
    print_threads({name: partial(learner, train) for name, learner in ours.items()}, rounds=3)


if __name__ == "__main__":
    main()
