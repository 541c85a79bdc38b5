"""
The calibration gap, computed
=============================

How far a loss is from a wrong order, along a family of distributions.

A surrogate is calibrated for a measure and a distribution of the labels if every prediction that
leads to a suboptimal order has a risk above the minimum by at least some positive gap. This
calibration gap can be computed exactly for a few documents.

This example follows it along a family of distributions: the population of Lemma 10 of DMJ10, in
which the weight of one preference varies.
"""

# %%
# Three documents. Half of the users prefer 1 to 2 a little and 1 to 3 a lot; the others prefer 3 to
# 1, and 2 to 3 with a weight that varies. On average 1 is before 2 and 3, and 2 is before 3 for any
# weight, so ``[1, 2, 3]`` is always the best order.

import matplotlib.pyplot as plt
import numpy as np

from skcalrank.calibration import LabelDistribution, calibration_gap

MEASURE = "neg_pairwise_disagreement"


def law(weight):
    """Two kinds of users, as frequent: y_ij is how much document i is preferred to j."""
    return LabelDistribution(
        [
            [[0, 1, 4], [0, 0, 0], [0, 0, 0]],
            [[0, 0, 0], [0, 0, 2 * weight], [2, 0, 0]],
        ]
    )


print("best order at the smallest weight:", law(0.02).bayes_positions(MEASURE)[0])
print("best order at the largest weight: ", law(1.2).bayes_positions(MEASURE)[0])

# %%
# The surrogates: sums of convex functions of score differences, as in RankSVM (hinge) and RankNet
# (logistic), and the value-regularized linear loss of DMJ10.

SURROGATES = {
    "value_regularized": "value-regularized (DMJ10)",
    "preference_logistic": "logistic of preferences (RankNet)",
    "preference_hinge": "hinge of preferences (RankSVM)",
}
weights = np.linspace(0.02, 1.2, 30)
gaps = {
    surrogate: np.array([calibration_gap(surrogate, "sort", MEASURE, law(w)).gap for w in weights])
    for surrogate in SURROGATES
}

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for surrogate, name in SURROGATES.items():
    ax.plot(weights, gaps[surrogate], label=name)
ax.axvline(0.15, color="0.7", linestyle=":", label="Lemma 10")
ax.set(
    title="Calibration gaps of three surrogates",
    xlabel="weight of the preference for 2 over 3",
    ylabel="calibration gap",
    ylim=(-0.015, 0.37),
)
ax.legend()
plt.show()

# %%
# The gap of the value-regularized loss is always positive. The gap of the hinge is always zero. The
# gap of the logistic loss is zero for small and for large weights: its minimizer predicts another
# order there, although the best one never changes.

for surrogate, name in SURROGATES.items():
    zero = gaps[surrogate] == 0
    print(f"{name}: gap 0 at {zero.sum()} of {len(weights)} weights")
for w in (0.15, 0.5, 1.2):
    s = law(w).surrogate_minimizer("preference_logistic", MEASURE)
    print(f"weight {w}: RankNet orders the documents", 1 + np.argsort(-s))

# %%
# What the logistic loss predicts at the weight of Lemma 10, and what that costs:

result = calibration_gap("preference_logistic", "sort", MEASURE, law(0.15))
print("predicted positions:", result.positions)
print(f"regret of that order: {result.regret:.3f}")
