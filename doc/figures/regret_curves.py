"""Regret against sample size: what calibrated losses lose, and what RankNet keeps."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from skcalrank import (
    DCGRanker,
    OrderPreservingRanker,
    PairwiseHingeRanker,
    PairwiseLogisticRanker,
    PreferenceTarget,
    ValueRegularizedRanker,
)
from skcalrank.datasets import make_subset_ranking
from skcalrank.displays import RegretCurveDisplay

SIZES = (30, 100, 300, 1000, 3000)
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.15])
WINNERS, LOSERS = np.array([0, 0, 2, 1]), np.array([1, 2, 0, 2])


def regret(ranker, n, rng):
    """Pairwise disagreement of the order learnt from n comparisons, minus the best."""
    kind = rng.integers(4, size=n)
    y = PreferenceTarget.from_comparisons(
        WINNERS[kind], LOSERS[kind], [0, 0, 0], weight=WEIGHTS[kind]
    )
    s = clone(ranker).fit(np.eye(3), y).predict(np.eye(3))
    behind = (s[WINNERS] < s[LOSERS]) + (s[WINNERS] == s[LOSERS]) / 2
    return (WEIGHTS @ behind - 1.0) / 4


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
losses = ("squared", "logistic", "pairwise_logistic", "bregman_kl")
RegretCurveDisplay.from_estimators(
    {loss: OrderPreservingRanker("dcg@3", loss, alpha=0.01) for loss in losses}
    | {"DCGRanker()": DCGRanker()},
    make_subset_ranking(20_000, 6, 20, n_types=20, random_state=1),
    test=make_subset_ranking(300, 6, 20, n_types=20, random_state=1),
    measure="dcg@3",
    n_samples=SIZES,
    n_repeats=6,
    random_state=0,
    ax=left,
)
rankers = {
    "RankSVM": PairwiseHingeRanker(alpha=1e-3),
    "RankNet": PairwiseLogisticRanker(alpha=1e-3),
    "value-regularised": ValueRegularizedRanker(alpha=1e-3),
}
rng = np.random.default_rng(0)
values = {
    name: np.array([[regret(ranker, n, rng) for _ in range(20)] for n in SIZES])
    for name, ranker in rankers.items()
}
RegretCurveDisplay.from_results(SIZES, values, measure_name="disagreement", ax=right)
plt.show()
