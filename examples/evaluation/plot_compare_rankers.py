"""
Comparing rankers, with error bars
==================================

Six rankers on the same queries, and which differences are more than chance.

All rankers order the same held-out queries, and their values are compared *query by query*:
differences of two rankers vary much less than the values, because queries differ in difficulty.
"""

# %%
# Six candidates on digits queries: the consistent ranker around two regressors, the same targets
# under another consistent loss, the cosine of the images alone, and RankNet and RankSVM, which are
# not consistent.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import NDCGRanker, OrderPreservingRanker, PairwiseLogisticRanker, load_digits_queries
from skcalrank.evaluation import compare
from skcalrank.rankers import PairwiseHingeRanker

data = load_digits_queries(n_queries=200, n_documents=40)
X, y, qid = data
train, test = qid < 100, qid >= 100
trees = HistGradientBoostingRegressor(max_iter=40, random_state=0)
rankers = {
    "NDCGRanker(), linear": NDCGRanker(k=10),
    "NDCGRanker(trees)": NDCGRanker(trees, k=10),
    "pairwise logistic, linear": OrderPreservingRanker("ndcg@10", loss="pairwise_logistic"),
    "RankNet, linear": PairwiseLogisticRanker(),
    "RankSVM, linear": PairwiseHingeRanker(),
}
scores = {"cosine alone": X[test, data.feature_names.index("cosine")]}
for name, ranker in rankers.items():
    scores[name] = ranker.fit(X[train], y[train], qid[train]).predict(X[test])

# %%
# :func:`~skcalrank.evaluation.compare` measures them all, and tests their differences to one of
# them. + and - mark those that are better and worse at p < .05, corrected for the ten tests of the
# table. The best mean is bold, also where chance explains it.

REFERENCE = "NDCGRanker(), linear"
result = compare(y[test], scores, ["ndcg@10", "map"], qid=qid[test], baseline=REFERENCE)
print(result.to_markdown(digits=3).partition("\n\n")[0])

# %%
# RankSVM, which is not consistent, has the best mean. Its lead has no mark, and a theorem promises
# none to the others here: it is about noisy labels and growing samples. Whether two images show the
# same digit is no matter of chance, and all these losses then lead to the same order.
# :doc:`/gallery/theory/plot_regret_curves` shows where RankSVM stays behind.
#
# Left: means with 95 % intervals over queries. They overlap. Right: the mean differences to the
# reference, each with its own interval.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
fig.suptitle("NDCG@10 of rankers: means, and differences to the reference")
result.plot("ndcg@10", kind="means", ax=left)
result.plot("ndcg@10", kind="differences", ax=right)
plt.show()

# %%
# The plot on the right answers the question. With five comparisons at once, also look at the
# corrected p-values above. One bar for each query shows the parts of a mean difference: here trees
# win some queries and lose others.

result.plot("ndcg@10", kind="queries", system="NDCGRanker(trees)")
plt.show()

# %%
# How many queries would it take to see a difference of one point of NDCG@10?

needed = result.queries_needed(0.01)
print(needed[needed.measure == "ndcg@10"].to_string(index=False))

# %%
# Queries are the sample here, and the rankers are fixed. Whether one way to *train* is better than
# another also depends on the training set: :func:`~skcalrank.evaluation.cross_compare` uses
# several.
