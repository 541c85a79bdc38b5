"""
Regret curves: what more data buy
=================================

With more data the regret of some losses falls to zero, and that of others stays.

Consistency is a statement about growing samples. For made data with a known distribution the best
possible value of a measure is known. The difference to it, the regret, falls to zero for calibrated
losses, and does not for others.
"""

# %%
# Calibrated losses
# -----------------
# :func:`~skcalrank.datasets.make_subset_ranking` returns the distribution of its labels with the
# data. Every loss below is calibrated for DCG, and a linear scorer is rich enough for this
# distribution, so every regret should vanish.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from skcalrank import (
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseHingeRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
    ValueRegularizedRanker,
)
from skcalrank.datasets import make_subset_ranking
from skcalrank.displays import RegretCurveDisplay

SIZES = (30, 100, 300, 1000, 3000)

losses = ("squared", "logistic", "pairwise_squared", "bregman_kl")
fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
display = RegretCurveDisplay.from_estimators(
    {loss: OrderPreservingRanker("dcg@3", loss=loss, alpha=0.01) for loss in losses},
    make_subset_ranking(10_000, 6, 20, n_types=20, random_state=1),
    test=make_subset_ranking(300, 6, 20, n_types=20, random_state=1),
    measure="dcg@3",
    n_samples=SIZES,
    n_repeats=5,
    random_state=0,
    ax=ax,
)
ax.set_title("Regret of four losses by the number of queries")
plt.show()
for name, values in display.values.items():
    print(f"{name:18}", *(f"{v:.4f}" for v in values.mean(axis=1)))

# %%
# Both axes are logarithmic, and the legend has the slopes: about -1, so ten times the queries have
# a tenth of the regret.
#
# Losses of single preferences
# ----------------------------
# RankSVM and RankNet use a loss for each comparison of two documents. This fails on a population of
# four kinds of comparisons in DMJ10 (Lemma 10), although its noise is low: the best order is 1, 2,
# 3.

WEIGHTS = np.array([0.5, 2.0, 1.0, 0.15])
WINNERS, LOSERS = np.array([0, 0, 2, 1]), np.array([1, 2, 0, 2])


def regret(ranker, n, rng):
    """Return the excess pairwise disagreement of a ranker that is trained on n comparisons."""
    kind = rng.integers(4, size=n)
    y = PreferenceTarget.from_comparisons(
        WINNERS[kind], LOSERS[kind], [0, 0, 0], weight=WEIGHTS[kind]
    )
    s = clone(ranker).fit(np.eye(3), y).predict(np.eye(3))
    behind = (s[WINNERS] < s[LOSERS]) + (s[WINNERS] == s[LOSERS]) / 2
    return (WEIGHTS @ behind - 1.0) / 4


rankers = {
    "RankSVM": PairwiseHingeRanker(alpha=1e-3),
    "RankNet": PairwiseLogisticRanker(alpha=1e-3),
    "value-regularized": ValueRegularizedRanker(alpha=1e-3),
    "net preference": PairwiseDisagreementRanker(),
}
rng = np.random.default_rng(0)
values = {
    name: np.array([[regret(ranker, n, rng) for _ in range(15)] for n in SIZES])
    for name, ranker in rankers.items()
}
fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
RegretCurveDisplay.from_results(SIZES, values, measure_name="disagreement", ax=ax)
ax.set(xlabel="comparisons", title="Regret of four rankers by the number of comparisons")
plt.show()
for name, found in values.items():
    print(f"{name:18}", *(f"{v:.4f}" for v in found.mean(axis=1)))

# %%
# RankSVM and RankNet stay at the regret of the order 1, 3, 2, and more comparisons do not help. The
# value-regularized loss of DMJ10 and a regression of the net preferences both add up the
# comparisons first, and their regret vanishes: triangles at the lower end are a regret of exactly
# 0.
