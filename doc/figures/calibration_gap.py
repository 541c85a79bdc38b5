"""The calibration gap along a family of laws: positive for one surrogate, zero for another."""

import matplotlib.pyplot as plt
import numpy as np

from skcalrank.calibration import LabelDistribution, calibration_gap

MEASURE = "neg_pairwise_disagreement"
SURROGATES = {
    "value_regularized": "value-regularised (DMJ10)",
    "preference_logistic": "logistic of preferences (RankNet)",
    "preference_hinge": "hinge of preferences (RankSVM)",
}


def law(weight):
    """DMJ10's population of Lemma 10, with another weight of document 2 over document 3."""
    first = [[0, 1, 4], [0, 0, 0], [0, 0, 0]]
    return LabelDistribution([first, [[0, 0, 0], [0, 0, 2 * weight], [2, 0, 0]]])


weights = np.linspace(0.02, 1.2, 30)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for surrogate, name in SURROGATES.items():
    gaps = [calibration_gap(surrogate, "sort", MEASURE, law(w)).gap for w in weights]
    ax.plot(weights, gaps, label=name)
ax.axvline(0.15, color="0.7", linestyle=":", label="Lemma 10")
ax.set(
    xlabel="weight of the preference for 2 over 3", ylabel="calibration gap", ylim=(-0.015, 0.37)
)
ax.legend()
plt.show()
