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

from skcalrank.calibration import LabelDistribution, regret_bound
from skcalrank.losses import get_loss

LOSSES = {
    "squared": {},
    "logistic": {"eta": 1.0},
    "squared_hinge": {"eta": 1.0},
    "pairwise_squared": {},
    "pairwise_logistic": {},
    "bregman_kl": {"eta": 2.0},
}
rng = np.random.RandomState(0)
laws = [LabelDistribution.random(3, n_grades=3, random_state=rng) for _ in range(50)]

fig, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharey=True, layout="constrained")
for ax, (name, options) in zip(axes.ravel(), LOSSES.items()):
    loss, reached = get_loss(name, **options), 0.0
    for law in laws:
        best = np.clip(law.surrogate_minimizer(loss, "ndcg@2"), -9, 9)
        spread = 10 ** rng.uniform(-2, 0.5, size=(10, 1))
        u = best + spread * rng.normal(size=(10, 3))
        of_loss = law.surrogate_regret(loss, "ndcg@2", u)
        of_measure = law.target_regret("ndcg@2", u)
        bound = regret_bound("ndcg@2", loss, of_loss, r=3, max_target=1.0)
        reached = max(reached, (of_measure / bound).max())
        ax.loglog(of_loss, of_measure, ".", color="C0", alpha=0.4)
    grid = np.array(ax.get_xlim())
    ax.plot(grid, regret_bound("ndcg@2", loss, grid, r=3, max_target=1.0), color="black")
    ax.set_title(f"{name}: up to {reached:.0%} of the bound", fontsize="medium")
    ax.set_xlabel("regret of the loss")
axes[0, 0].set_ylabel("regret of NDCG@2")
plt.show()

# %%
# No point is above its line: the bounds hold for the worst distribution, and are not loose by
# orders of magnitude. Points without regret of the measure are left out of the logarithmic axes.
#
# Using a bound
# -------------
# How small must the regret of the loss of a query be, for the NDCG@10 of 100 documents to be within
# 0.01 of the best? The loss is summed over documents, or over the 4950 pairs of them.

for name in ("squared", "pairwise_squared", "logistic"):
    at_one = regret_bound("ndcg@10", get_loss(name, **LOSSES[name]), 1.0, r=100)
    print(f"{name:18} regret {(0.01 / at_one) ** 2:.1e} is enough")
