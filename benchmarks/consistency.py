"""Regret against sample size: calibrated pairs lose it, RankSVM, RankNet and rows alone keep it.

Two distributions in the label-ranking form and one in the form of rows, whose Bayes values are
found by enumeration, so that regrets are exact.

*Cells.* An instance is one of 20 cells, as one-hot features: linear scorers are rich enough to
contain the best one. A cell has four vectors of grades 0 to 2 of five items, with probabilities
of their own (for ERR: grades that are independent given the cell). Every repetition draws another
distribution. The regret of a ranker is the mean over the cells of the best expected value of its
measure, less that of the predicted order, ties in expectation. The slope is that of a line through
log(regret) and log(n) where the regret is not 0.

*Counterexamples.* Preferences among three documents, of low noise. For losses weighed by the
preferences DMJ10's population of Lemma 10: an instance is one comparison, 1 over 2, 1 over 3, 3
over 1, 2 over 3 with equal probability and weights proportional to .5, 2, 1, .15; the best order is
1, 2, 3. For losses with the preferences as margins, whose theorem prints no numbers, a population
that ``skcalrank.calibration.find_counterexample`` found: with probability .56 preferences 2 over
1 (4), 3 over 1 (2), 3 over 2 (1), else 1 over 2 (8), 3 over 2 (8); the best order is 3, 1, 2.

*Rows.* A query is one of six sets of five documents, a document is of one of eight kinds, and a
row shows its kind alone. Relevances are independent, with a probability that the kind gives. n
counts queries, and every repetition draws another distribution. A tree that separates the kinds
regresses the targets of the measure, or the same centered within the query, or the same with the
columns of ``QueryContext`` beside it, or the relevance itself (``targets="separable"``).

    python benchmarks/consistency.py [--plot FILE] [--only rows]
"""

from functools import partial
from itertools import permutations

import numpy as np
from _common import describe_environment, optional, parser, print_table, say
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from skcalrank import (
    AUCRanker,
    AveragePrecisionRanker,
    ERRRanker,
    LeastSquaresRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
    RecallRanker,
)
from skcalrank.losses import LOSSES
from skcalrank.measures import MEASURES
from skcalrank.metrics import measure_score
from skcalrank.preprocessing import QueryContext
from skcalrank.rankers import PairwiseHingeRanker, ValueRegularizedRanker

N_CELLS, N_LABELS, R = 20, 4, 5
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LINEAR = {"fit_intercept": False, "tol": 1e-5}
PAIRS = {"surrogate": "pairwise", "pred": "exact", "relevance_level": 1}


def ridge():
    """Next to no penalty: the class is rich, and n grows."""
    return Ridge(alpha=1e-3, fit_intercept=False)


def calibrated():
    """Name, ranker and measure of every calibrated pair of the table."""
    binary = {"relevance_level": 1}
    positional = {
        "precision@2": MEASURES["precision"](k=2, **binary),
        "recall@2": MEASURES["recall"](k=2, **binary),
        "dcg@3": MEASURES["dcg"](k=3),
        "ndcg@3": MEASURES["ndcg"](k=3),
        "eru": MEASURES["eru"](half_life=2.0),
        "auc": MEASURES["auc"](**binary),
        "spearman": MEASURES["spearman"](),
    }
    for name, measure in positional.items():
        yield f"{name}, least squares", LeastSquaresRanker(measure, estimator=ridge()), measure
    for loss in LOSSES:
        measure = positional["ndcg@3"]
        ranker = OrderPreservingRanker(measure, loss=loss, alpha=1e-3, **LINEAR)
        yield f"ndcg@3, {loss}", ranker, measure
    err = MEASURES["err"](max_grade=2)
    yield "err (independent grades)", ERRRanker(ridge(), max_grade=2), err
    ap = MEASURES["map"](**binary)
    yield "map, pairs + exact", AveragePrecisionRanker(ridge(), **PAIRS), ap
    for weights in ("unit", "difference"):
        pairs = PairwiseDisagreementRanker(
            ridge(), surrogate="pairwise", pred="exact", weights=weights
        )
        measure = MEASURES["neg_pairwise_disagreement"](weights=weights)
        yield f"disagreement ({weights}), pairs + exact", pairs, measure
    value = ValueRegularizedRanker(alpha=1e-3, fit_intercept=False)
    yield "disagreement (difference), value-regularized", value, measure


class Cells:
    """A distribution of the labels for every cell: vectors of grades and their probabilities."""

    def __init__(self, rng, independent):
        self.labels = rng.integers(0, 3, size=(N_CELLS, N_LABELS, R)).astype(float)
        self.probabilities = rng.dirichlet(np.ones(N_LABELS), size=N_CELLS)
        if independent:
            # Grades of each item on their own: all vectors of grades, and their products.
            grade = rng.dirichlet(np.ones(3), size=(N_CELLS, R))
            every = np.array(np.unravel_index(np.arange(3**R), (3,) * R)).T
            self.labels = np.broadcast_to(every.astype(float), (N_CELLS, *every.shape))
            self.probabilities = np.prod(
                [grade[:, item][:, every[:, item]] for item in range(R)], axis=0
            )

    def sample(self, n, rng):
        """Instances and their labels."""
        cell = rng.integers(N_CELLS, size=n)
        summed = self.probabilities.cumsum(axis=1)[cell]
        which = (rng.random((n, 1)) > summed[:, :-1]).sum(axis=1)
        return np.eye(N_CELLS)[cell], self.labels[cell, which]

    def expected(self, measure, scores):
        """Expected value of the measure in every cell, for scores of shape (n_cells, r)."""
        labels = self.labels.reshape(-1, R)
        repeated = np.repeat(scores, self.labels.shape[1], axis=0)
        values = measure_score(measure, labels, repeated, empty="zero", average=False)
        return (values.reshape(self.probabilities.shape) * self.probabilities).sum(axis=1)

    def bayes(self, measure):
        """Best expected value in every cell, by enumeration."""
        orders = -np.array(list(permutations(range(R))), dtype=float)
        return np.max(
            [self.expected(measure, np.tile(order, (N_CELLS, 1))) for order in orders], axis=0
        )


def regret_on_cells(ranker, measure, independent, n, seed):
    """Mean regret over the cells of one distribution, after n draws."""
    rng = np.random.default_rng(seed)
    law = Cells(rng, independent)
    ranker = clone(ranker).fit(*law.sample(n, rng))
    predicted = ranker.predict(np.eye(N_CELLS))
    regret = float(np.mean(law.bayes(measure) - law.expected(measure, predicted)))
    return regret if regret > 1e-12 else 0.0


def one_comparison_each(winners, losers, weights):
    """Judgments of a single preference."""
    out = np.zeros((len(weights), 3, 3))
    out[np.arange(len(weights)), winners, losers] = weights
    return out


LEMMA_10 = (
    one_comparison_each([0, 0, 2, 1], [1, 2, 0, 2], [0.5, 2.0, 1.0, 0.15]),
    np.full(4, 0.25),
)
MARGINS = (
    np.array([[[0, 0, 0], [4, 0, 0], [2, 1, 0]], [[0, 8, 0], [0, 0, 0], [0, 8, 0]]], dtype=float),
    np.array([0.56, 0.44]),
)
PENALTY = {"alpha": 1e-3, **LINEAR}
VALUE = ValueRegularizedRanker(alpha=1e-3, fit_intercept=False)
ON_COUNTEREXAMPLES = {
    "Lemma 10, RankSVM (hinge)": (PairwiseHingeRanker(**PENALTY), LEMMA_10),
    "Lemma 10, RankNet (logistic)": (PairwiseLogisticRanker(**PENALTY), LEMMA_10),
    "Lemma 10, value-regularized": (VALUE, LEMMA_10),
    "Lemma 10, pairs + exact": (
        PairwiseDisagreementRanker(ridge(), surrogate="pairwise", pred="exact"),
        LEMMA_10,
    ),
    "margins, RankSVM (hinge)": (PairwiseHingeRanker(margin=True, **PENALTY), MARGINS),
    "margins, RankNet (logistic)": (PairwiseLogisticRanker(margin=True, **PENALTY), MARGINS),
    "margins, value-regularized": (VALUE, MARGINS),
}


def regret_on_counterexample(ranker, population, n, seed):
    """Regret of the predicted order of the three documents, after n judgments."""
    rng = np.random.default_rng(seed)
    matrices, probabilities = population
    kind = rng.choice(len(matrices), size=n, p=probabilities)
    y = PreferenceTarget.from_matrices(matrices[kind])
    s = clone(ranker).fit(np.ones((n, 1)), y).predict(np.ones((1, 1)))[0]
    mean = np.tensordot(probabilities, matrices, 1)

    def disagreement(s):
        return np.sum(mean * ((s[:, None] < s) + (s[:, None] == s) / 2))

    return disagreement(s) - min(disagreement(np.array(p)) for p in permutations(range(3)))


N_KINDS, N_QUERIES = 8, 6
ROW_RANKERS = {
    "recall@2": RecallRanker(k=2),
    "ndcg@3": NDCGRanker(k=3),
    "auc": AUCRanker(),
    "map": AveragePrecisionRanker(),
}
ROW_FORMS = {
    "rows alone": {},
    "rows, centered": {"loss": "centered"},
    "rows with context": {},
    "rows, separable targets": {"targets": "separable"},
}


class Rows:
    """Kinds of documents with probabilities of relevance, and queries made of them."""

    def __init__(self, rng):
        self.chance = rng.uniform(size=N_KINDS)
        self.queries = rng.integers(N_KINDS, size=(N_QUERIES, R))
        self.shares = rng.dirichlet(np.ones(N_QUERIES))

    def sample(self, n, rng):
        """Rows of n queries, their relevances and queries."""
        kinds = self.queries[rng.choice(N_QUERIES, size=n, p=self.shares)].ravel()
        relevant = rng.random(len(kinds)) < self.chance[kinds]
        return np.eye(N_KINDS)[kinds], relevant * 1.0, np.repeat(np.arange(n), R)

    def regret(self, measure, scores):
        """Exact mean regret of scores of shape (n_queries, R)."""
        every = np.array(np.unravel_index(np.arange(2**R), (2,) * R)).T * 1.0
        lost = 0.0
        for kinds, share, predicted in zip(self.queries, self.shares, scores):
            chance = self.chance[kinds]
            law = np.prod(np.where(every > 0, chance, 1 - chance), axis=1)
            # Sorting by the probabilities is best for each of these measures.
            pair = [
                measure_score(measure, every, np.tile(s, (2**R, 1)), empty="zero", average=False)
                for s in (chance, predicted)
            ]
            lost += share * float(law @ (pair[0] - pair[1]))
        return lost


def regret_on_rows(ranker, form, n, seed):
    """Mean regret over the queries of one distribution, after n draws."""
    rng = np.random.default_rng(seed)
    law = Rows(rng)
    X, y, qid = law.sample(n, rng)
    rows, queries = np.eye(N_KINDS)[law.queries.ravel()], np.repeat(np.arange(N_QUERIES), R)
    if "context" in form:
        context = QueryContext(["mean", "size"]).fit(X, qid=qid)
        X, rows = context.transform(X, qid).round(9), context.transform(rows, queries).round(9)
    tree = DecisionTreeRegressor(random_state=0)
    ranker = clone(ranker).set_params(estimator=tree, **ROW_FORMS[form]).fit(X, y, qid)
    regret = law.regret(ranker.record_.measure, ranker.predict(rows).reshape(N_QUERIES, R))
    return regret if regret > 1e-12 else 0.0


def curve(regret, sizes, repetitions):
    """Mean regret and its standard error for every n; fewer repetitions of large samples."""
    out = []
    for n in sizes:
        runs = max(3, min(repetitions, repetitions * 30_000 // n))
        found = np.array([regret(n, seed) for seed in range(runs)])
        out.append((found.mean(), found.std(ddof=1) / np.sqrt(runs)))
    return np.array(out)


def slope(sizes, regrets):
    """Of log(regret) against log(n), where there is any."""
    some = regrets > 1e-12
    if some.sum() < 2:
        return "0 at once"
    return f"{np.polyfit(np.log(np.array(sizes)[some]), np.log(regrets[some]), 1)[0]:.2f}"


def curves_of(only):
    """Name of every curve, and the function from n and a seed to a regret."""
    if only in (None, "cells"):
        for name, ranker, measure in calibrated():
            independent = name.startswith("err")
            yield name, partial(regret_on_cells, ranker, measure, independent)
    if only in (None, "rows"):
        for measure, ranker in ROW_RANKERS.items():
            for form in ROW_FORMS:
                yield f"{measure}, {form}", partial(regret_on_rows, ranker, form)
    if only in (None, "counterexamples"):
        for name, (ranker, population) in ON_COUNTEREXAMPLES.items():
            yield name, partial(regret_on_counterexample, ranker, population)


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--repetitions", type=int, default=20)
    options.add_argument("--largest", type=int, default=SIZES[-1], help="largest n")
    options.add_argument("--only", choices=("cells", "rows", "counterexamples"), help="one part")
    options.add_argument("--plot", metavar="FILE", help="draw the curves (matplotlib)")
    args = options.parse_args()
    sizes = [n for n in SIZES if n <= args.largest]
    print(describe_environment("numpy", "scipy", "scikit-learn", threads=args.threads))
    say(f"{args.repetitions} repetitions, fewer beyond n = 30,000, at least 3")
    curves = {}
    with threadpool_limits(args.threads):
        for name, regret in curves_of(args.only):
            curves[name] = report(name, regret, sizes, args.repetitions)
    columns = [f"{n:,}" for n in sizes]
    rows = [
        [name, *(f"{mean:.2g}" for mean in found[:, 0]), slope(sizes, found[:, 0])]
        for name, found in curves.items()
    ]
    print()
    print_table(("mean regret at n =", *columns, "slope"), rows)
    if args.plot:
        plot(args.plot, sizes, curves)


def report(name, regret, sizes, repetitions):
    """A curve, with a line of progress."""
    found = curve(regret, sizes, repetitions)
    print(f"  {name}: {found[0, 0]:.3g} to {found[-1, 0]:.3g}", flush=True)
    return found


def plot(path, sizes, curves):
    """Calibrated pairs on the left, counterexamples and rows on the right."""
    if optional("matplotlib") is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    axes = figure.subplots(1, 2)
    for name, found in curves.items():
        right = name in ON_COUNTEREXAMPLES or ", rows" in name
        axes[int(right)].plot(sizes, np.maximum(found[:, 0], 1e-9), marker=".", label=name)
    for ax, title in zip(axes, ("calibrated pairs", "counterexamples and rows")):
        ax.set(xscale="log", yscale="log", xlabel="n", ylabel="regret", title=title)
        ax.legend(fontsize="x-small")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
