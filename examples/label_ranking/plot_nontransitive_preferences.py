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
# Preferences with a cycle
# ------------------------
# Ten items. Most preferences follow a hidden order, with noise; three of the items form a cycle.

import matplotlib.pyplot as plt
import numpy as np

from skcalrank.calibration import dag_condition
from skcalrank.displays import PairMatrixDisplay
from skcalrank.preds import feedback_arc_positions, sort_positions, topological_positions

R = 10
NAMES = np.array(list("ABCDEFGHIJ"))
WORTH = np.linspace(1.2, -1.2, R)


def preferences(rng, strength, cycle):
    """Shares u_ij of users who prefer i to j, with margins around `strength` along a cycle."""
    noise = np.triu(0.1 * rng.normal(size=(R, R)), 1)
    u = 1 / (1 + np.exp(WORTH[None, :] - WORTH[:, None])) + noise - noise.T
    i, j, k = cycle
    for winner, loser in ((i, j), (j, k), (k, i)):
        u[winner, loser] = 0.5 + strength * rng.uniform(0.8, 1.2) / 2
        u[loser, winner] = 1 - u[winner, loser]
    np.fill_diagonal(u, 0)
    return u


def lost(u, positions):
    """Return the pairwise disagreement: the preferences for i over j where i is ranked below j."""
    return u[positions[:, None] > positions[None, :]].sum()


MAPS = {
    "sort by net preference": lambda u: sort_positions(u.sum(axis=1) - u.sum(axis=0)),
    "Algorithm 1": topological_positions,
    "exact": lambda u: feedback_arc_positions(u, method="exact").positions,
}

# %%
# Three maps
# ----------
# Blue above the diagonal: pairs in the order of a majority. Red frames: pairs against it. Because
# of the cycle of D, E and F there must be at least one.

u = preferences(np.random.default_rng(1), 0.3, (3, 4, 5))
fig, axes = plt.subplots(1, 3, figsize=(11.5, 4.6), layout="constrained")
for ax, (name, predict) in zip(axes, MAPS.items()):
    positions = predict(u)
    PairMatrixDisplay.from_predictions(
        u, positions, difference=True, item_names=NAMES, colorbar=False, ax=ax
    )
    ax.set_title(f"{name}: loses {lost(u, positions):.3f}")
    print(f"{name:24} {' '.join(NAMES[np.argsort(positions)])}  loses {lost(u, positions):.3f}")
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
# under which Algorithm 1 is calibrated (RAT13, Theorem 7). With a cycle it is a heuristic, and
# ignores the dropped majorities. The exact map is calibrated for every distribution, but solves an
# integer program.
#
# How much does that cost?
# ------------------------
# Cycles of three neighbors in the hidden order, and of three items anywhere; 30 of each strength.

STRENGTHS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)


def mean_excess(far, strength, n_draws=30):
    """What the two cheap maps lose beyond the exact one."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n_draws):
        cycle = np.sort(rng.choice(R, 3, replace=False)) if far else rng.integers(R - 2) + range(3)
        u = preferences(rng, strength, cycle)
        values = [lost(u, predict(u)) for predict in MAPS.values()]
        found.append(np.array(values[:2]) - values[2])
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(n_draws)


fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (far, title) in zip(axes, ((False, "three neighbours"), (True, "three items anywhere"))):
    results = [mean_excess(far, strength) for strength in STRENGTHS]
    means, errors = (np.array(part) for part in zip(*results))
    for column, name in enumerate(list(MAPS)[:2]):
        ax.errorbar(
            STRENGTHS, means[:, column], errors[:, column], marker="o", capsize=3, label=name
        )
        print(f"{title:21} {name:23}", *(f"{v:.2f}" for v in means[:, column]))
    ax.set(title=f"cycle of {title}", xlabel="mean margin along the cycle")
    ax.grid(alpha=0.3)
axes[0].set_ylim(bottom=0)
axes[0].set_ylabel("disagreement beyond the exact map's")
axes[0].legend()
plt.show()

# %%
# Weak cycles, such as those made by noise, cost Algorithm 1 little, and it is better than the sort.
# With strong cycles of items that are far apart it drops most majorities: it is then worse than the
# sort, and the exact map is worth its time. :func:`~skcalrank.calibration.noise_report` shows how
# often each case occurs for a fitted ranker.
