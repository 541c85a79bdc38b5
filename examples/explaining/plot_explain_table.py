"""
Why does a table rank like this?
================================

The score of a mixture of models as a sum over the columns of the table.

A :class:`~skcalrank.TabularRanker` mixes linear rankers and boosted trees, of numbers, dates,
categories and text. Its scores are still sums over the columns of the table, to the last digit, in
one unit (:doc:`/explaining`).
"""

# %%
# A shop
# ------
# A synthetic table of offers, in which the words of the title, the hour of a date, categories,
# missing ratings and a price relative to the search matter.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

from skcalrank import RankingTarget, TabularRanker, get_scorer
from skcalrank.datasets import make_offers
from skcalrank.displays import ImportanceDisplay, TopContributionsDisplay
from skcalrank.inspection import FixedQueries, explain_order

X, y, qid = make_offers(n_queries=300, random_state=0)
X = X.drop(columns="sku")
is_test = qid >= 200
ranker = TabularRanker("ndcg@10", n_jobs=1).fit(X[~is_test], y[~is_test], qid[~is_test])
X, y, qid = X[is_test].reset_index(drop=True), y[is_test], qid[is_test]
print(f"NDCG@10 of new queries: {ranker.score(X, y, qid):.3f}")

# %%
# The best ten of one query
# -------------------------
# A row is a document, a column of the plot is a column of the table: all its curves, levels, hours
# and words, in linear rankers and in trees. The numbers of a row sum to the score of the document
# minus the mean score of the query.

fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
display = TopContributionsDisplay.from_estimator(ranker, X, qid, query=200, ax=ax)
scores = ranker.predict(X, qid)[qid == 200]
assert np.allclose(display.totals, np.sort(scores - scores.mean())[::-1][:10])
plt.show()

# %%
# Two documents as a table, with their cells:

first, second = ranker.top_k(X, qid, k=2)[:2]
print(explain_order(ranker, X, first, second, qid=qid))

# %%
# Importance
# ----------
# The mean absolute contribution tells what moves the scores of these queries. Permutation
# importance tells what the measure loses without the column.

shuffled = permutation_importance(
    ranker, X, RankingTarget(y, qid), scoring=get_scorer("ndcg@10"), n_repeats=2, random_state=0
)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
ImportanceDisplay.from_estimator(ranker, X, qid, ax=axes[0], name="contributions")
order = np.argsort(shuffled.importances_mean)
axes[1].barh(X.columns[order], shuffled.importances_mean[order])
axes[1].set(xlabel="loss of NDCG@10", title="permutation")
plt.show()

# %%
# One column
# ----------
# scikit-learn's partial dependence calls ``predict(X)``. ``FixedQueries`` adds the queries.

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
fig.suptitle("The score against the price")
PartialDependenceDisplay.from_estimator(
    FixedQueries(ranker, qid), X, ["price"], ax=ax, grid_resolution=20
)
plt.show()
