"""
Preferences that go round in circles, and Algorithm 1
=====================================================

When majorities contradict each other: three ways to an order, and what each costs.

A majority prefers rock to scissors, another one scissors to paper, and another one paper to rock.
No order satisfies all of them, and no scores produce them. This example follows averaged
preferences with a cycle through three prediction maps: a sort, Algorithm 1 of RAT13, and the exact
minimum feedback arc set.
"""

# %%
# Ten items. Most preferences follow a hidden order, with noise; D, E and F form a cycle.

import matplotlib.pyplot as plt
import numpy as np

from skcalrank.calibration import dag_condition
from skcalrank.preds import feedback_arc_positions, sort_positions, topological_positions

R = 10
NAMES = np.array(list("ABCDEFGHIJ"))
WORTH = np.linspace(1.2, -1.2, R)

rng = np.random.default_rng(1)
noise = np.triu(0.1 * rng.normal(size=(R, R)), 1)
u = 1 / (1 + np.exp(WORTH[None, :] - WORTH[:, None])) + noise - noise.T
for winner, loser in ((3, 4), (4, 5), (5, 3)):
    u[winner, loser] = 0.5 + 0.3 * rng.uniform(0.8, 1.2) / 2
    u[loser, winner] = 1 - u[winner, loser]
np.fill_diagonal(u, 0)

# %%
# Three maps
# ----------
# Rows and columns are in predicted order. Blue above the diagonal: pairs in the order of a
# majority. Red above the diagonal, with a cross: pairs against it. Because of the cycle there must
# be at least one. An order loses the preferences for i over j where i is ranked below j.

MAPS = {
    "sort by net preference": lambda u: sort_positions(u.sum(axis=1) - u.sum(axis=0)),
    "Algorithm 1": topological_positions,
    "exact": lambda u: feedback_arc_positions(u, method="exact").positions,
}
fig, axes = plt.subplots(1, 3, figsize=(11.5, 4.2), layout="constrained")
for ax, (name, predict) in zip(axes, MAPS.items()):
    positions = predict(u)
    lost = u[positions[:, None] > positions[None, :]].sum()
    order = np.argsort(positions)
    margins = (u - u.T)[np.ix_(order, order)]
    ax.imshow(margins, cmap="RdBu", vmin=-1, vmax=1)
    row, column = np.nonzero(np.triu(margins < 0))
    ax.plot(column, row, "x", color="black")
    ax.set_xticks(range(R), NAMES[order])
    ax.set_yticks(range(R), NAMES[order])
    ax.set_title(f"{name}: loses {lost:.3f}")
    print(f"{name:24} {' '.join(NAMES[order])}  loses {lost:.3f}")
plt.show()

# %%
# What Algorithm 1 does
# ---------------------
# It drops the weakest majorities until no cycle is left, and sorts the rest topologically. The
# weakest majority of the strongest cycle decides how many are dropped.

margin = u - u.T
threshold = -dag_condition(u).margin
n_majorities, n_dropped = (margin > 0).sum(), ((margin > 0) & (margin <= threshold)).sum()
print(f"{n_dropped} of {n_majorities} majorities are dropped, margins up to {threshold:.3f}")

# %%
# Without a cycle nothing is dropped, and the order is the best one: this is the condition P_DAG
# under which Algorithm 1 is calibrated (RAT13, Theorem 7). With a cycle it is a heuristic. The
# exact map is calibrated for every distribution, but solves an integer program.
# :func:`~skcalrank.calibration.noise_report` shows how often cycles occur for a fitted ranker.
