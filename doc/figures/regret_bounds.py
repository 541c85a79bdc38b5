"""Surrogate regret against target regret, with the bound of every kind of loss."""

import matplotlib.pyplot as plt

from skcalrank.displays import RegretBoundDisplay

LOSSES = (
    "squared",
    "logistic",
    "squared_hinge",
    "pairwise_squared",
    "pairwise_logistic",
    "bregman_kl",
)

figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharey=True, layout="constrained")
for ax, loss in zip(axes.ravel(), LOSSES):
    display = RegretBoundDisplay.from_loss("ndcg@2", loss, n_samples=800, random_state=0, ax=ax)
    ax.get_legend().remove()
    ax.set_title(
        f"{loss}: points reach {display.largest_ratio:.0%} of the bound", fontsize="medium"
    )
plt.show()
