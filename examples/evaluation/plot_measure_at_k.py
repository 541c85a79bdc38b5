"""
Measures against their cutoff
=============================

How far down do users read? One picture of precision, recall and NDCG for all cutoffs.

A measure with a cutoff is for one depth;
:class:`~skcalrank.displays.MeasureAtKDisplay` draws it for all cutoffs, with a band of one standard
error over the queries.
"""

# %%
# Two rankers and a constant one on held-out queries of digits.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import NDCGRanker, load_digits_queries, train_test_query_split
from skcalrank.displays import MeasureAtKDisplay

X, y, qid = load_digits_queries(n_queries=300, n_documents=40)
X_train, X_test, y_train, y_test, q_train, q_test = train_test_query_split(
    X, y, qid=qid, test_size=0.33, random_state=0
)
linear = NDCGRanker(k=10).fit(X_train, y_train, q_train)
trees = NDCGRanker(HistGradientBoostingRegressor(max_iter=100, random_state=0), k=10)
trees = trees.fit(X_train, y_train, q_train)
scores = {
    "linear": linear.predict(X_test),
    "trees": trees.predict(X_test),
    "constant": np.zeros(len(X_test)),
}

# %%
# One sort is enough for all cutoffs. The constant ranker needs no random numbers: its documents are
# tied, and ties are averaged exactly.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
fig.suptitle("Precision, recall and NDCG at k")
displays = {}
for ax, measure in zip(axes, ("precision", "recall", "ndcg")):
    for name, s in scores.items():
        displays[measure, name] = MeasureAtKDisplay.from_predictions(
            y_test, s, qid=q_test, measure=measure, k=40, name=name, ax=ax
        )
    ax.set_ylim(0, 1)
    ax.grid(alpha=0.3)
plt.show()

# %%
# Precision falls, since the easy documents come first, and ends at the share of relevant documents
# for every ranker. Recall rises to 1 for every ranker. NDCG divides by the best possible value at
# each cutoff; it ends at different values, because it depends on the positions of the first
# documents.

for measure in ("precision", "recall", "ndcg"):
    for k in (1, 10, 40):
        found = ", ".join(f"{name} {displays[measure, name].value[k - 1]:.3f}" for name in scores)
        print(f"{measure:9} @{k:<2} {found}")
