"""
Label ranking: who likes which sushi
====================================

Every row is a person who orders the same items; there is no qid.

The data are made like those of the SUSHI survey, so that their distribution is known; the real data
are read by :func:`~skcalrank.datasets.load_sushi`.
"""

# %%
# People
# ------
# A person has an age, and lives in the east or in the west. Each item has a taste curve over age,
# and some curves differ by region. Orders are drawn from the Plackett-Luce model of these tastes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.preprocessing import SplineTransformer

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
from skcalrank.metrics import kendall_score, spearman_score

ITEMS = ["shrimp", "sea eel", "tuna", "squid", "sea urchin", "salmon roe", "egg", "cucumber roll"]


def taste(age, west):
    """Mean liking of each item: (n_people, n_items)."""
    young, old = np.clip((40 - age) / 20, -1, 1), np.clip((age - 50) / 20, -1, 1)
    east = 1 - west
    curves = [
        0.6 + 0 * age,
        -0.2 + 0.9 * old + 0.5 * west,
        1.4 - 0.3 * old,
        0.1 + 0.3 * west,
        0.5 + 1.3 * old * east - 0.6 * young,
        0.6 + 0.7 * young * east,
        -0.9 + 1.2 * young,
        -1.6 + 0.4 * np.abs(young),
    ]
    return 2 * np.column_stack(curves)


def ask(n_people, seed):
    """Age and region of people, and the position that each gives to each item."""
    rng = np.random.default_rng(seed)
    age, west = rng.uniform(15, 75, n_people), rng.integers(2, size=n_people)
    liking = taste(age, west) + rng.gumbel(size=(n_people, len(ITEMS)))
    positions = 1 + np.argsort(np.argsort(-liking, axis=1), axis=1)
    return np.column_stack([age, west]), positions


X, positions = ask(1500, seed=0)
X_test, positions_test = ask(1500, seed=1)
print("age, west:", X[0].round(), "  order:", ", ".join(np.array(ITEMS)[np.argsort(positions[0])]))

# %%
# Rankers
# -------
# ``y`` is "higher is better", so positions are passed with a minus, or as preferences. A regressor
# has one output per item, or one per pair of items.

splines = SplineTransformer(n_knots=5).fit(X[:, :1])


def features(X):
    """A curve over the age for each region."""
    curve = splines.transform(X[:, :1])
    return np.hstack([curve, curve * X[:, 1:]])


forest = RandomForestRegressor(50, min_samples_leaf=20, random_state=0)
preferences = PreferenceTarget.from_orders(positions)
fitted = {
    "Spearman, linear": SpearmanRanker().fit(X, -positions),
    "Spearman, splines": SpearmanRanker().fit(features(X), -positions),
    "Spearman, forest": SpearmanRanker(forest).fit(X, -positions),
    "pairs, splines": PairwiseDisagreementRanker(surrogate="pairwise").fit(
        features(X), preferences
    ),
}
mean_positions = np.tile(-positions.mean(axis=0), (len(X_test), 1))
scores = {"one order for all": mean_positions} | {
    name: ranker.predict(features(X_test) if "splines" in name else X_test)
    for name, ranker in fitted.items()
}
scores["true distribution"] = taste(*X_test.T)
for name, s in scores.items():
    tau = kendall_score(-positions_test, s, average=False)
    rho = spearman_score(-positions_test, s)
    error = tau.std() / np.sqrt(len(tau))
    print(f"{name:18} Kendall's tau {tau.mean():.3f} ± {error:.3f}, Spearman's rho {rho:.3f}")

# %%
# One order for everybody is far behind. With curves over age, a linear regression is level with the
# true distribution, so no ranker can be better. Pairs add nothing here, since preferences drawn
# from tastes have no cycles (:doc:`/gallery/label_ranking/plot_nontransitive_preferences`).
#
# What the ranker learned
# -----------------------
# Predicted mean positions over age, for the two regions. They are r minus the surrogate values of
# the spline ranker, which regresses r minus the position. Dots are means of the test data in bands
# of ten years.

COLORS = plt.colormaps["tab10"].colors
ages = np.linspace(15, 75, 61)
fig, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
for ax, (west, region) in zip(axes, ((0, "east"), (1, "west"))):
    grid = np.column_stack([ages, np.full(len(ages), west)])
    predicted = fitted["Spearman, splines"].predict(features(grid))
    predicted = predicted.mean(axis=1, keepdims=True) - predicted + (len(ITEMS) + 1) / 2
    lives_here = X_test[:, 1] == west
    for item, name in enumerate(ITEMS):
        ax.plot(ages, predicted[:, item], color=COLORS[item], label=name)
        for start in range(15, 75, 10):
            band = lives_here & (X_test[:, 0] >= start) & (X_test[:, 0] < start + 10)
            ax.plot(start + 5, positions_test[band, item].mean(), ".", color=COLORS[item])
    ax.set(title=region, xlabel="age", xlim=(15, 75))
    ax.grid(alpha=0.3)
axes[0].set_ylabel("mean position")
axes[0].invert_yaxis()
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
plt.show()
