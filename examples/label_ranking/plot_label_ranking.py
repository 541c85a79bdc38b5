"""
Label ranking: every row orders the same items
==============================================

A row is a person who orders the same items as everybody else; there is no qid.

The data are made, so that the best possible order of every row is known: the made people have a few
types, a type mixes a few orders, and the features tell the type.
"""

# %%
# ``y`` is "higher is better", so positions are passed with a minus, or as preferences. A regressor
# has one output per item, or one per pair of items. Both are linear here, so that nothing else
# differs; the default kernel of ``SpearmanRanker`` may be curved.

import matplotlib.pyplot as plt

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
from skcalrank.calibration import regret_curve
from skcalrank.datasets import make_label_ranking

X, positions = data = make_label_ranking(2000, 6, random_state=0)
print("positions that the first person gives to", *data.item_names, ":", positions[0].astype(int))

rankers = {
    "one output per item": SpearmanRanker(kernel="linear").fit(X, -positions),
    "one per pair": PairwiseDisagreementRanker(surrogate="pairwise").fit(
        X, PreferenceTarget.from_orders(positions)
    ),
}
for name, ranker in rankers.items():
    rho, tau = (data.law.value(measure, ranker.predict(X)) for measure in ("spearman", "kendall"))
    print(f"{name:20} Spearman's rho {rho:.3f}, Kendall's tau {tau:.3f}")
best = [data.law.bayes_value(measure) for measure in ("spearman", "kendall")]
print(f"best possible        Spearman's rho {best[0]:.3f}, Kendall's tau {best[1]:.3f}")

# %%
# Sorting the mean positions is best for Spearman's rho. Kendall's tau counts pairs in the right
# order, and where opinions differ it needs a regression of the pairs.
#
# Majorities in circles
# ---------------------
# In the next data the majorities of a type contradict each other
# (:doc:`/gallery/label_ranking/plot_nontransitive_preferences`). More people do not help the mean
# positions.

frame = regret_curve(
    {
        "one output per item": SpearmanRanker(kernel="linear"),
        "one per pair": PairwiseDisagreementRanker(surrogate="pairwise", weights="unit"),
    },
    make_label_ranking(5000, 6, cyclic=True, random_state=0),
    test=make_label_ranking(500, 6, cyclic=True, random_state=0),
    measure="kendall",
    n_samples=[50, 200, 800, 3200],
    n_repeats=5,
    random_state=0,
)
means = frame.pivot_table("regret", "n_samples", "estimator")
print(means.round(4))
ax = means.plot(logx=True, marker="o", xlabel="people", ylabel="regret of Kendall's tau")
ax.set_title("Regret by the number of people, with cyclic preferences")
plt.show()
