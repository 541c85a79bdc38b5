"""
From a table to a ranking in one call
=====================================

A data frame with text, dates and missing values, ranked as it is, beside LightGBM and a
regression.

One call reads the columns, fits and ranks. Then the ranker is measured on held-out searches.
"""

# %%
# Offers of shops
# ---------------
# A row is an offer that was shown for a search. ``grade`` says how well it fits.

import lightgbm
import matplotlib.pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skcalrank import TabularRanker
from skcalrank.datasets import make_offers
from skcalrank.evaluation import cross_compare, rank_frame
from skcalrank.preprocessing import LinearColumns

X, grade, search = make_offers(n_queries=150, random_state=0)
X = X.drop(columns="sku")
print(X.head(3).to_string())

# %%
# The columns are read by their values, and a message says what each was read as.

ranker = TabularRanker("ndcg@10", n_jobs=1).fit(X, grade, search)
print(ranker.encoder_.describe())

# %%
# The first two offers of each search:

print(rank_frame(ranker, X, search, k=2).head(4).to_string())

# %%
# Is it better than the obvious?
# ------------------------------
# Five folds of whole searches. The ridge regression gets the same columns as numbers. LightGBM's
# class is an :class:`~skcalrank.ExternalRanker` here, which reads the table for it.

rankers = {
    "Ridge on the grades": make_pipeline(LinearColumns(), Ridge()),
    "LGBMRanker": lightgbm.LGBMRanker(n_estimators=100, learning_rate=0.05, verbose=-1, n_jobs=1),
    "TabularRanker": TabularRanker("ndcg@10", n_jobs=1),
}
result = cross_compare(rankers, X, grade, search, ["ndcg@10"], cv=5)
print(result.to_markdown(digits=3).partition("\n\n")[0])

# %%
# A "+" marks what is better than the ridge regression at p < .05. The offers are made, with words
# and hours that matter; :doc:`/benchmarks` has real tables, where the lead is smaller.

fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
result.plot("ndcg@10", kind="means", ax=ax)
ax.set_title("Held-out searches")
plt.show()
