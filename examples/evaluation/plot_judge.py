"""
Thirty human judgments and a cheap judge
========================================

Is one order of offers better than another? People judge thirty queries, a model judges all five
hundred. Here the model favors popular offers, and one of the two orders is by popularity. By the
model alone the wrong order wins, with a small interval; by people alone the interval is wide. The
two together are right, and worth 2.65 times as many people.
"""

# %%
# The judge adds a grade to popular offers, and errs by a grade in two of three documents.
import matplotlib.pyplot as plt
import numpy as np

from skcalrank import make_offers
from skcalrank.evaluation import compare

offers, grades, search = make_offers(n_queries=500, random_state=0)
scores = offers[["rating", "n_ratings"]].fillna(0)
rng = np.random.default_rng(0)
popular = offers["n_ratings"].fillna(0).rank(pct=True).to_numpy() > 0.7
judge = np.clip(grades + popular + rng.integers(-1, 2, len(grades)), 0, 4)

# %%
# Queries of people are drawn at random; rows without a label of people are NaN. The columns "human"
# and "judge" are what each says alone; "gain" is how many people the judge is worth.
drawn = rng.permutation(np.unique(search))
people = np.where(np.isin(search, drawn[:30]), grades, np.nan)
both = compare(people, scores, ["ndcg@10"], qid=search, judge=judge)
both.to_frame(pairs=True)[["difference", "low", "high", "n", "human", "judge", "gain"]].round(3)

# %%
# The same for more and fewer queries of people.


def difference(labels, rows, judge=None):
    """Return the difference of the two orders and the ends of its interval."""
    result = compare(labels[rows], scores[rows], ["ndcg@10"], qid=search[rows], judge=judge)
    (row,) = result.differences
    return row.difference, row.low, row.high


everything = np.ones(len(grades), bool)
truth, by_judge = difference(grades, everything)[0], difference(judge, everything)
sizes = [10, 20, 30, 50, 100]
intervals = {"people alone": [], "people and judge": []}
for n in sizes:
    rows = np.isin(search, drawn[:n])
    intervals["people alone"].append(difference(grades, rows))
    with_judge = difference(np.where(rows, grades, np.nan), everything, judge)
    intervals["people and judge"].append(with_judge)

_, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for shift, (name, found) in zip((-0.12, 0.12), intervals.items()):
    mean, low, high = np.transpose(found)
    places = np.arange(len(sizes)) + shift
    ax.errorbar(places, mean, [mean - low, high - mean], fmt="o", capsize=3, label=name)
mean, low, high = by_judge
ax.axhspan(low, high, color="C3", alpha=0.3, lw=0)
ax.axhline(mean, color="C3", label="judge alone")
ax.axhline(truth, color="black", ls="--", label="truth: people on all 500")
ax.set_xticks(range(len(sizes)), sizes)
ax.set(
    title="People, judge and both",
    xlabel="Queries judged by people",
    ylabel="NDCG@10 of popularity less rating",
)
ax.legend(loc="lower right", fontsize="small", ncols=2)
plt.show()

# %%
# :doc:`/judge` says what is computed, and what no method repairs.
