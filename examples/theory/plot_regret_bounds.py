r"""
Regret bounds, and how tight they are
=====================================

How much a small regret of the loss promises about the measure.

A calibrated surrogate has a guarantee before the limit, too: the regret of the loss bounds the
regret of the measure,

.. math:: \text{regret of the sort} \le c \, C_\phi(2) \sqrt{\text{regret of the loss}},

with a constant c of the loss and one, :math:`C_\phi(2)`, of the measure (CUG13, Theorems 5.2 to
5.4). For a few documents both regrets can be computed exactly.
"""

# %%
# Random distributions of the labels of three documents, with random scores for each. The line is
# the bound.

import matplotlib.pyplot as plt
import numpy as np

from skcalrank.calibration import c_phi, regret_bound
from skcalrank.displays import RegretBoundDisplay

LOSSES = (
    "squared",
    "logistic",
    "squared_hinge",
    "pairwise_squared",
    "pairwise_logistic",
    "bregman_kl",
)

fig, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharey=True, layout="constrained")
for ax, loss in zip(axes.ravel(), LOSSES):
    display = RegretBoundDisplay.from_loss("ndcg@2", loss, n_samples=500, random_state=0, ax=ax)
    ax.get_legend().remove()
    ax.set_title(f"{loss}: up to {display.largest_ratio:.0%} of the bound", fontsize="medium")
plt.show()

# %%
# No point is above its line. The closest points reach between a third and three quarters of it: the
# bounds hold for the worst distribution, and are not loose by orders of magnitude. Ticks at the
# lower end are points without regret of the measure.
#
# Using a bound
# -----------------
# How small must the regret of the loss of a query be, for the NDCG@10 of 100 documents to be within
# 0.01 of the best? The bound grows with the root, so a factor of ten in NDCG costs a factor of a
# hundred in the loss.

r = 100
print(f"C_phi(2) of NDCG@10: {c_phi('ndcg@10', r=r):.3f}")
for loss in ("squared", "pairwise_squared", "logistic"):
    at_one = regret_bound("ndcg@10", loss, 1.0, r=r, eta=1.0 if loss == "logistic" else None)
    print(f"{loss:18} regret {(0.01 / at_one) ** 2:.1e} is enough")

# %%
# The loss is summed over documents, or over pairs of them: of 100 documents there are 4950 pairs,
# and so a regret of the pairwise loss is a sum of many more terms.

cutoffs = np.arange(1, 101)
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for measure, name in (("dcg", "DCG@k, NDCG@k"), ("precision", "P@k"), ("recall", "R@k")):
    ax.plot(cutoffs, [c_phi(f"{measure}@{k}", r=r) for k in cutoffs], label=name)
ax.set(
    xlabel="k", ylabel=r"$C_\phi(2)$ for 100 documents", xscale="log", yscale="log", ylim=(0.05, 10)
)
ax.set_title("Constants of the regret bound, by measure")
ax.legend()
ax.grid(alpha=0.3)
plt.show()
