"""
Comparing rankers, with error bars
==================================

Which of two rankers is better is a question about queries that have not been seen. Every query is
held out once, every ranker orders it, and their values are compared *query by query*: differences
of two rankers vary much less than the values, because queries differ in difficulty.
"""

# %%
# Six candidates on digits queries: the consistent ranker around two regressors, the same targets
# under another consistent loss, the cosine of the images alone, and RankNet and RankSVM, which are
# not consistent.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from skcalrank import (
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseHingeRanker,
    PairwiseLogisticRanker,
    RankingTarget,
    load_digits_queries,
)
from skcalrank.metrics import evaluate

data = load_digits_queries(n_queries=150, n_documents=40)
X, y, qid = data
trees = HistGradientBoostingRegressor(max_iter=40, random_state=0)
rankers = {
    "NDCGRanker(), linear": NDCGRanker(k=10),
    "NDCGRanker(trees)": NDCGRanker(trees, k=10),
    "pairwise logistic, linear": OrderPreservingRanker("ndcg@10", loss="pairwise_logistic"),
    "RankNet, linear": PairwiseLogisticRanker(),
    "RankSVM, linear": PairwiseHingeRanker(),
}

# %%
# ``cross_val_predict`` of scikit-learn gives every row a score by a ranker that has not seen its
# query. The target carries the queries.

target = RankingTarget(y, qid)
scores = {"cosine alone": X[:, data.feature_names.index("cosine")]}
for name, ranker in rankers.items():
    start = time.perf_counter()
    scores[name] = cross_val_predict(ranker, X, target, groups=qid, cv=GroupKFold(5))
    print(f"{name:26} {time.perf_counter() - start:5.1f} s for five fits")

values = {
    name: evaluate(y, s, ["ndcg@10", "map"], qid=qid, average=False, empty="zero")
    for name, s in scores.items()
}

# %%
# Left: means with 95 % intervals over queries. They overlap. Right: the mean difference to one of
# the rankers, query by query, with an interval of its own.

REFERENCE = "NDCGRanker(), linear"


def mean_and_half_width(v):
    return v.mean(), 1.96 * v.std(ddof=1) / np.sqrt(len(v))


fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for place, (name, found) in enumerate(values.items()):
    v, reference = found["ndcg@10"], values[REFERENCE]["ndcg@10"]
    for ax, shown in ((left, v), (right, v - reference)):
        mean, half = mean_and_half_width(shown)
        ax.errorbar(mean, place, xerr=half, fmt="o", capsize=4, color=f"C{place}")
    mean, half = mean_and_half_width(v - reference)
    print(f"{name:26} NDCG@10 {v.mean():.3f}, difference {mean:+.3f} ± {half:.3f}")
left.set(xlabel="NDCG@10", yticks=range(len(values)), yticklabels=list(values))
right.axvline(0, color="0.6", linewidth=1)
right.set(xlabel=f"difference to {REFERENCE}")
left.invert_yaxis()
for ax in (left, right):
    ax.grid(axis="x", alpha=0.3)
plt.show()

# %%
# The picture on the right is the honest one. Learning from the pairs of images is better than their
# cosine, by more than its interval. Among the five rankers that learn no difference is larger than
# its interval: 150 queries do not tell them apart, and neither does it matter here that RankNet and
# RankSVM are inconsistent. Where it does matter is the subject of :doc:`plot_regret_curves`.
#
# Intervals of five differences at once are wider than those of one: with more candidates, ask for
# more than two standard errors.
