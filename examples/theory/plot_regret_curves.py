"""
Regret curves: what more data buy
=================================

With more data the regret of some losses falls to zero, and that of others stays.

Consistency is a statement about growing samples. For synthetic data with a known distribution the
best possible value of a measure is known, and with it the regret of a ranker.
"""

# %%
# Calibrated losses
# -----------------
# Every loss below is calibrated for DCG, and a linear scorer is rich enough for this distribution,
# so every regret should vanish.

import matplotlib.pyplot as plt
import numpy as np

from skcalrank import (
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
)
from skcalrank.calibration import regret_curve
from skcalrank.datasets import make_subset_ranking
from skcalrank.rankers import PairwiseHingeRanker, ValueRegularizedRanker

SIZES = [30, 100, 300, 1000, 3000]
losses = ("squared", "logistic", "pairwise_squared", "bregman_kl")
frame = regret_curve(
    {loss: OrderPreservingRanker("dcg@3", loss=loss, alpha=0.01) for loss in losses},
    make_subset_ranking(10_000, 6, 20, n_types=20, random_state=1),
    test=make_subset_ranking(300, 6, 20, n_types=20, random_state=1),
    measure="dcg@3",
    n_samples=SIZES,
    n_repeats=5,
    random_state=0,
)
means = frame.pivot_table("regret", "n_samples", "estimator")
print(means.round(4))
means.plot(loglog=True, marker="o", ylabel="regret of DCG@3", title="Regret of four losses")
plt.show()

# %%
# A hundred times the queries leave a hundredth of the regret or less.
#
# Losses of single preferences
# ----------------------------
# RankSVM and RankNet use a loss for each comparison of two documents. This fails on a population of
# four kinds of comparisons in DMJ10 (Lemma 10). Its noise is low, and the best order 1, 2, 3.

WEIGHTS = np.array([0.5, 2.0, 1.0, 0.15])
WINNERS, LOSERS = np.array([0, 0, 2, 1]), np.array([1, 2, 0, 2])
rankers = {
    "RankSVM": PairwiseHingeRanker(alpha=1e-3),
    "RankNet": PairwiseLogisticRanker(alpha=1e-3),
    "value-regularized": ValueRegularizedRanker(alpha=1e-3),
    "net preference": PairwiseDisagreementRanker(),
}
rng = np.random.default_rng(0)
for name, ranker in rankers.items():
    regrets = np.empty((len(SIZES), 15))
    for place in np.ndindex(regrets.shape):
        kind = rng.integers(4, size=SIZES[place[0]])
        compared = WINNERS[kind], LOSERS[kind], [0, 0, 0]
        y = PreferenceTarget.from_comparisons(*compared, weight=WEIGHTS[kind])
        s = ranker.fit(np.eye(3), y).predict(np.eye(3))
        regrets[place] = (WEIGHTS @ (s[WINNERS] <= s[LOSERS]) - 1.0) / 4
    print(f"{name:18}", *(f"{mean:.4f}" for mean in regrets.mean(axis=1)))
    plt.semilogx(SIZES, regrets.mean(axis=1), marker="o", label=name)
plt.gca().set(xlabel="comparisons", ylabel="regret", title="Regret of four rankers")
plt.legend()
plt.show()

# %%
# RankSVM and RankNet stay at the regret of the order 1, 3, 2. The value-regularized loss and a
# regression of the net preferences add up the comparisons first, and their regret vanishes.
