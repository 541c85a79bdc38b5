"""
The whole idea in numpy
=======================

Targets of a measure, least squares, a sort, and a bound for the result, without the package.

A measure of rankings is a step function of the scores, so gradients are of no use. But many are
*linear* in something that depends on the labels alone, the **targets**. Least squares on targets
estimates their means, and the order that is best for the mean targets is best for the measure.
"""

# %%
# People with mixed tastes
# ------------------------
# Five films, four tastes, and the grades, 0 to 3, that each taste gives. The features of a person
# are the shares of the tastes. With these probabilities one taste is drawn, and gives the grades.

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

TASTES = np.array([[2, 2, 0, 3, 1], [2, 3, 1, 0, 1], [2, 0, 0, 1, 3], [2, 0, 3, 1, 0]])
N_FILMS = TASTES.shape[1]


def draw_people(n, rng):
    shares = rng.dirichlet(np.full(len(TASTES), 0.7), n)
    taste = (rng.random((n, 1)) > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return shares, TASTES[taste]


# %%
# A measure is a sum of targets times discounts
# ---------------------------------------------
# NDCG is ``sum_i discount[position_i] * target_i``. The target of a film is its gain, which is
# ``2^grade - 1``, divided by the largest DCG that the grades of the person allow.

DISCOUNT = 1 / np.log2(1 + np.arange(1, N_FILMS + 1))


def ndcg_targets(grades):
    gains = 2.0**grades - 1
    return gains / (-np.sort(-gains, axis=1) @ DISCOUNT)[:, None]


def positions_of(scores):
    return np.argsort(np.argsort(-scores, axis=1), axis=1) + 1


# %%
# Least squares, and a sort
# -------------------------
# Ridge regression of the targets, with an intercept that has no penalty, predicts scores:


def fit_ridge(x, targets, alpha=1.0):
    mean, level = x.mean(axis=0), targets.mean(axis=0)
    gram = (x - mean).T @ (x - mean) + alpha * np.eye(x.shape[1])
    coef = np.linalg.solve(gram, (x - mean).T @ (targets - level))
    return lambda new: (new - mean) @ coef + level


rng = np.random.default_rng(0)
x, grades = draw_people(2000, rng)
x_new, _ = draw_people(500, rng)
scores = fit_ridge(x, ndcg_targets(grades))(x_new)

# %%
# How far from the best, and how far at most
# ------------------------------------------
# We know how grades come about, so we know the mean targets U of a person. The *regret* is what is
# lost to the best of all 120 orders. With the discounts d that the order of the scores s, and the
# best order, give to the films,
#
# .. math:: \langle U, d_{best} - d_s \rangle \le \langle U - s, d_{best} - d_s \rangle
#     \le \|U - s\| \, \|d_{best} - d_s\| ,
#
# because s prefers its own order. Two orders differ most if one is the other reversed.

ORDERS = np.array(list(permutations(range(1, N_FILMS + 1))))
U = x_new @ ndcg_targets(TASTES)


def ndcg_regret(scores):
    reached = (U * DISCOUNT[positions_of(scores) - 1]).sum(axis=1)
    return (U @ DISCOUNT[ORDERS - 1].T).max(axis=1) - reached


def bound(scores):
    return np.linalg.norm(DISCOUNT - DISCOUNT[::-1]) * np.linalg.norm(U - scores, axis=1)


# %%
# With more people the regret on targets falls to 0. Regression on the grades, which most would
# try first, keeps a regret: it estimates mean grades, and their order is another.

sizes, curves = 2 ** np.arange(5, 17), []
for n in sizes:
    some_x, some_grades = draw_people(n, np.random.default_rng(n))
    ours, on_grades = (
        fit_ridge(some_x, t)(x_new) for t in (ndcg_targets(some_grades), some_grades)
    )
    values = ndcg_regret(ours), bound(ours), ndcg_regret(on_grades)
    curves.append(np.mean(values, axis=1))

fig, ax = plt.subplots(layout="constrained")
ax.loglog(sizes, curves, marker="o", label=["targets of NDCG", "their bound", "grades"])
ax.set(title="Regret and its bound", xlabel="people to learn from", ylabel="NDCG lost")
ax.legend()
plt.show()

# %%
# When one number per film is not enough
# --------------------------------------
# Now count the pairs of films in the wrong order. That is linear in targets of *pairs*: 1 for
# (i, j) if i has the higher grade. Their means can go around in a circle, which no sort follows.
# Algorithm 1 of Ramaswamy et al. (2013) deletes the lightest edges until no circle is left.


def pair_targets(grades):
    return (grades[:, :, None] > grades[:, None, :]).reshape(len(grades), -1).astype(float)


def algorithm_1(net):
    edges = sorted(zip(*np.nonzero(net > 0), strict=True), key=lambda edge: net[edge])
    for n_deleted in range(len(edges)):
        before = [ORDERS[:, i] < ORDERS[:, j] for i, j in edges[n_deleted:]]
        if np.all(before, axis=0).any():  # a library would not try all orders
            return ORDERS[np.all(before, axis=0).argmax()]


pairs = fit_ridge(x, pair_targets(grades))(x_new).reshape(-1, N_FILMS, N_FILMS)
net = pairs - pairs.transpose(0, 2, 1)
V = (x_new @ pair_targets(TASTES)).reshape(pairs.shape)


def wrong_pairs(positions):
    wrong = positions[..., :, None] > positions[..., None, :]
    return np.einsum("nij,...nij->...n", V, wrong)


best = wrong_pairs(ORDERS[:, None, :]).min(axis=0)
by_sum, by_pairs = positions_of(net.sum(axis=2)), np.array([algorithm_1(one) for one in net])
for name, positions in (("sorted sums", by_sum), ("Algorithm 1", by_pairs)):
    print(f"{name}: {(wrong_pairs(positions) - best).mean():.4f} pairs lost to the best order")
