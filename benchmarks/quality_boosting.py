"""Quality of calibrated objectives in LightGBM and XGBoost, against those of the libraries.

    python benchmarks/quality_boosting.py --data DIR --cells DIR

NDCG@10 and MAP on MQ2008 (five folds), on MSLR-sample (one split) and on made data (one split,
some 250,000 training rows of 136 features). DIR (or SKCALRANK_DATA) holds the folders MQ2008 and
MSLR-sample; `--only` takes some of the sets (by default all but made-noisy), `--libraries` one of
the two.

Every learner is trained on the training part, stops early by NDCG@10 on the validation part, and
its settings are picked there; the test part gives the tables only.

* Own objectives: lambdarank and rank_xendcg of LightGBM, rank:ndcg and rank:pairwise of XGBoost,
  with the libraries' own NDCG@10 for stopping. "linear leaves" is lambdarank with
  `linear_tree=True`, a linear model in each leaf.
* Calibrated: loss, target and whether queries of any size weigh alike are picked at a learning
  rate of .1 and 15 leaves. "fixed" is the one that `lightgbm_objective()` gives, nothing picked.
* Linear first (LightGBM), calibrated as well: the scores of a closed form, its penalty picked, are
  the start, and the trees learn what is left, by the pairwise squared loss on the same target.
* Learning rate and leaves are then picked for every learner from one grid (on made data the
  leaves only). Every tree sees 80% of the features, drawn by the seed; all else is the default of
  the library. XGBoost grows by leaves, as LightGBM does.

Picking takes the mean of the first `--picking-seeds` seeds in each fold; on made data it takes
one seed and a fifth of the training queries. Tables are means over `--seeds` seeds (on made data
two, unless `--seeds` is smaller). Differences are paired over test queries, values of a query
averaged over the seeds, with 95% intervals of the sampling of test queries only.
Seconds are those of the processor, binning of the features left out, early stopping included.
On made data the time of a round alone follows: all objectives in turn, trees of 31 leaves.

Policy: gain 2^y - 1, and label 1 is relevant in MAP; queries without a relevant document are
left out; ties count their exact expectation.

Made data: see `_made.py`; 2,500 queries to learn from, 400 to validate, 1,000 to test.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import NamedTuple

import numpy as np
from _boosters import LIBRARIES, TARGETS, Budget, Choice, LightGBM, LinearLeaves, Size, cpu_seconds
from _common import Cells, data_folder, describe_environment, optional, parser, print_table, say
from _letor import SETS, Part, Split, sizes_line
from _made import MADE, made_part
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from skcalrank import DCGRanker, NDCGRanker, PrecisionRanker
from skcalrank.measures import NDCG, AveragePrecision
from skcalrank.metrics import evaluate, ndcg_score

LINEAR_LEAVES = "LightGBM lambdarank, linear leaves"
MEASURES = {"NDCG@10": NDCG(k=10), "MAP": AveragePrecision(relevance_level=1)}


# -- data ---------------------------------------------------------------------------------


def made_split(noise, cuts):
    """Training, validation and test queries of one law."""
    n_queries = {"train": 2500, "valid": 400, "test": 1000}
    return Split(*(made_part(n, seed, noise, cuts) for seed, n in enumerate(n_queries.values())))


def share_of_queries(part, share):
    """The first queries."""
    n_rows = int(part.sizes[: int(share * len(part.sizes))].sum())
    return Part(*(array[:n_rows] for array in part))


LOSSES = ("pairwise_squared", "pairwise_logistic", "logistic", "exponential")
CHOICES = [Choice(loss, target) for loss in LOSSES for target in TARGETS]
CHOICES += [Choice("pairwise_squared", target, alike=True) for target in TARGETS]


# -- picking ------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """A learner on one split."""

    values: dict
    valid: float
    seconds: float
    rounds: float
    picked: str


def run(trainers, objectives, budget):
    """Pick on the validation part, then look at the test part with every seed.

    `trainers` are the one to pick with and the one to judge.
    """
    picking, judged = trainers
    objective = best(picking, [(objective, Size()) for objective in objectives], budget)[0]
    _, size = best(picking, [(objective, size) for size in budget.sizes], budget)
    fits = [judged.fit(objective, size, seed) for seed in range(budget.seeds)]
    test = judged.split.test
    values = [
        evaluate(test.y, judged.added(fit.predict, 2), MEASURES, qid=test.qid, average=False)
        for fit in fits
    ]
    means = {name: np.mean([value[name] for value in values], axis=0) for name in MEASURES}
    valid, seconds, rounds = (
        np.mean([getattr(fit, name) for fit in fits]) for name in ("valid", "seconds", "rounds")
    )
    return Outcome(means, valid, seconds, rounds, f"{objective}, {size}")


def best(trainer, candidates, budget):
    """The candidate with the best mean on the validation part."""
    if len(candidates) == 1:
        return candidates[0]

    def value(candidate):
        return np.mean([trainer.fit(*candidate, s).valid for s in range(budget.picking_seeds)])

    return max(candidates, key=value)


def results_on(case, split, modules, budget, cells):
    """Outcome of every learner on one split; `case` names the set and the split."""
    out = {}

    def keep(name, call, *args):
        out[name] = cells(f"{case}-{name}", call, *args)

    few = split._replace(train=share_of_queries(split.train, budget.share))
    for key, module in modules.items():
        library = LIBRARIES[key]
        trainers = trainers_of(library, module, few, split, budget)
        for own in library.own:
            keep(f"{library.name} {own}", run, trainers, [own], budget)
        keep(f"{library.name} fixed", run, trainers, [Choice()], budget)
        keep(f"{library.name} calibrated", run, trainers, CHOICES, budget)
    if "lightgbm" in modules:
        trainers = trainers_of(LinearLeaves, modules["lightgbm"], few, split, budget)
        keep(LINEAR_LEAVES, run, trainers, ["lambdarank"], budget)
        keep("LightGBM linear first", linear_first, split, few, modules["lightgbm"], budget)
    return out


def trainers_of(library, module, few, split, budget):
    """The one to pick with and the one to judge, which are the same where nothing is left out."""
    picking = library(module, few, budget)
    return picking, picking if budget.share == 1 else library(module, split, budget)


# -- the closed form first ----------------------------------------------------------------

LINEAR = {
    "grade": DCGRanker(gain="linear"),
    "gain": DCGRanker(),
    "NDCG@10": NDCGRanker(k=10),
    "relevant": PrecisionRanker(relevance_level=1),
}


def linear_first(split, few, module, budget):
    """Trees on what a closed form leaves; target and penalty picked by the closed form alone."""
    target, alpha = pick_linear(few)
    pairs = [
        LightGBM(module, those, budget, linear_scores(those, target, alpha))
        for those in ((few,) if budget.share == 1 else (few, split))
    ]
    outcome = run((pairs[0], pairs[-1]), [Choice(target=target)], budget)
    return outcome._replace(picked=f"{outcome.picked}, alpha {alpha:g}")


def pick_linear(split):
    def value(candidate):
        scores = linear_scores(split, *candidate)[1]
        return ndcg_score(split.valid.y, scores, qid=split.valid.qid, k=10)

    return max(product(LINEAR, 10.0 ** np.arange(0, 6)), key=value)


def linear_scores(split, target, alpha):
    """Scores of the closed form on the three parts."""
    ranker = LINEAR[target].set_params(estimator=Ridge(alpha=alpha), loss="pairwise_squared")
    ranker.fit(*split.train)
    return [ranker.predict(part.X).astype(float) for part in split]


# -- reporting ----------------------------------------------------------------------------


def pooled(outcomes, name):
    return np.concatenate([outcome.values[name] for outcome in outcomes])


def mean(outcomes, name="NDCG@10"):
    return np.nanmean(pooled(outcomes, name))


def average(outcomes, field):
    return np.mean([getattr(outcome, field) for outcome in outcomes])


def difference(ours, theirs):
    """Mean difference in NDCG@10 over the test queries, and half of a 95% interval."""
    gaps = pooled(ours, "NDCG@10") - pooled(theirs, "NDCG@10")
    gaps = gaps[~np.isnan(gaps)]
    return gaps.mean(), 1.96 * gaps.std(ddof=1) / np.sqrt(len(gaps))


def per_round(outcomes):
    return sum(o.seconds for o in outcomes) / sum(o.rounds for o in outcomes)


def print_results(results):
    reference = next(iter(results.values()))
    rows = []
    for name, outcomes in results.items():
        gap = (
            ""
            if outcomes is reference
            else "{:+.4f} ± {:.4f}".format(*difference(outcomes, reference))
        )
        row = [f"{mean(outcomes):.4f}", gap, f"{mean(outcomes, 'MAP'):.4f}"]
        row += [f"{average(outcomes, 'valid'):.4f}", f"{average(outcomes, 'seconds'):.2f}"]
        row += [f"{average(outcomes, 'rounds'):.0f}", f"{1000 * per_round(outcomes):.1f}"]
        rows.append([name, *row])
    columns = ["", "NDCG@10", f"to {next(iter(results))}", "MAP", "validation"]
    print_table([*columns, "CPU s/fit", "rounds", "ms/round"], rows)
    for name, outcomes in results.items():
        print(f"{name}: {'; '.join(outcome.picked for outcome in outcomes)}")


def print_comparisons(results):
    """What validates best of both sides; then against every objective of the libraries."""
    names = {f"{library.name} {own}" for library in LIBRARIES.values() for own in library.own}
    own = [name for name in results if name in names | {LINEAR_LEAVES}]
    name, theirs = (
        max(group, key=lambda n: average(results[n], "valid"))
        for group in ([n for n in results if n not in own], own)
    )
    say(f"Best on the validation part: {name}, and {theirs} among the libraries' own.")
    rows = []
    for other in sorted(own, key=lambda n: -mean(results[n])):
        gap, half = difference(results[name], results[other])
        rounds = per_round(results[name]) / per_round(results[other])
        fits = average(results[name], "seconds") / average(results[other], "seconds")
        rows.append([other, f"{gap:+.4f} ± {half:.4f}", f"{rounds:.2f}", f"{fits:.2f}"])
    print_table([f"{name}, to", "NDCG@10", "times the time of a round", "of a fit"], rows)


def print_rounds(split, modules, budget):
    """Seconds of a round without evaluation, all objectives in turn."""
    for key, module in modules.items():
        library = LIBRARIES[key](module, split, budget)
        objectives = [*library.own, *map(Choice, LOSSES)]
        steppers = {str(objective): library.stepper(objective) for objective in objectives}
        taken = [{name: cpu_seconds(step) for name, step in steppers.items()} for _ in range(11)]
        # Targets are made in the first round.
        medians = {name: np.median([some[name] for some in taken[1:]]) for name in steppers}
        rows = [
            [name, f"{1000 * seconds:.0f}", f"{seconds / medians[library.own[0]]:.2f}"]
            for name, seconds in medians.items()
        ]
        print_table([f"{library.name}, a round", "CPU ms", f"x {library.own[0]}"], rows)


def benchmark(name, splits, modules, budget, cells):
    """Every learner on every split of a data set."""
    say(f"\n{sizes_line(name, splits)}")
    seeds = f"{budget.seeds} seed{'s' * (budget.seeds > 1)}"
    say(f"{seeds}, at most {budget.rounds} rounds")
    by_split = [
        results_on(f"{name}-{number}", split, modules, budget, cells)
        for number, split in enumerate(splits)
    ]
    results = {learner: [found[learner] for found in by_split] for learner in by_split[0]}
    print_results(results)
    print_comparisons(results)


def budget_of(name, options):
    """Rounds, grid and seeds of a data set."""
    if name in MADE:
        sizes = [Size(0.1, leaves) for leaves in (15, 31, 63)]
        return Budget(200, 20, sizes, min(2, options.seeds), 1, options.threads, share=0.2)
    sizes = [Size(rate, leaves) for rate in (0.1, 0.03) for leaves in (15, 7, 31)]
    return Budget(500, 50, sizes, options.seeds, options.picking_seeds, options.threads, share=1)


def main(argv=None):
    names = ["MQ2008", "MSLR-sample", *MADE]
    arguments = parser(__doc__, data=True, cells=True)
    arguments.add_argument("--only", nargs="+", choices=names, default=names[:-1])
    arguments.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--picking-seeds", type=int, default=2)
    options = arguments.parse_args(argv)
    files = [file for name in options.only if name not in MADE for file in SETS[name][0]]
    folder = data_folder(options.data, files) if files else None
    modules = {name: optional(name) for name in options.libraries}
    modules = {name: module for name, module in modules.items() if module is not None}
    packages = ("numpy", "scikit-learn", "lightgbm", "xgboost-cpu")
    print(describe_environment(*packages, threads=options.threads))
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            splits = [made_split(*MADE[name])] if name in MADE else SETS[name][1](folder)
            budget = budget_of(name, options)
            seeds = f"seeds={budget.seeds},{budget.picking_seeds},threads={options.threads}"
            benchmark(name, splits, modules, budget, Cells(options.cells, seeds))
            if name in MADE:
                print_rounds(splits[0], modules, budget)


if __name__ == "__main__":
    main()
