"""
What a regressor of rows cannot see
===================================

A regret that more data do not remove, and two ways that do.

The theory of calibration is about regressors of the whole query. A regressor of scikit-learn sees
one row. For measures that are normalized by the query, an exact fit to the rows can keep a regret
that more data do not remove. Features about the context of the query remove it, and so do separable
targets.
"""

# %%
# Four kinds of documents
# -----------------------
# The probability that a document is relevant depends on its kind only: .9, .5, 1 or 0. There are
# three sorts of queries. In the first, a .9 is with three documents that are always relevant; in
# the second, a .5 is with three that never are; in the third, a .9 and a .5 are in one query.

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skcalrank import AUCRanker, AveragePrecisionRanker, NDCGRanker, RecallRanker
from skcalrank.calibration import LabelDistribution
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryContext

CHANCE = np.array([0.9, 0.5, 1.0, 0.0])
QUERIES = np.array([[0, 2, 2, 2], [1, 3, 3, 3], [0, 1, 3, 3]])
SHARE = np.array([0.4, 0.4, 0.2])


def law_of(kinds):
    """All labels of a query of these kinds, and their probabilities."""
    labels = np.array(list(product([0.0, 1.0], repeat=4)))
    return labels, np.prod(np.where(labels > 0, CHANCE[kinds], 1 - CHANCE[kinds]), axis=1)


# %%
# The exact fit
# -------------
# The training set is the population itself: every outcome of every query, weighted by its
# probability. A tree that separates the kinds estimates the mean target of each kind exactly.

kinds, y, weight = [], [], []
for query, share in zip(QUERIES, SHARE):
    labels, probability = law_of(query)
    possible = probability > 0
    kinds.append(np.tile(query, (possible.sum(), 1)))
    y.append(labels[possible])
    weight.append(share * probability[possible])
kinds, y, weight = np.vstack(kinds), np.vstack(y), np.concatenate(weight)
X, y = np.eye(4)[kinds.ravel()], y.ravel()
qid, weight = np.repeat(np.arange(len(weight)), 4), np.repeat(weight, 4) / weight.min()

recall = RecallRanker(DecisionTreeRegressor(), k=1).fit(X, y, qid, weight)
for kind, mean in zip(CHANCE, recall.predict(np.eye(4))):
    print(f"relevant with probability {kind:.1f}: mean of y / |y| over its rows {mean:.3f}")

# %%
# The .9 usually shares its queries with other relevant documents, so its ``y / |y|`` is small, and
# the .5 is usually the only relevant one. In a query with both, the fit puts the .5 first.
#
# Four ways to fit
# ----------------
# Regret is exact, too: the best expected value of the measure minus that of the predicted order,
# averaged over the queries.


def regret(ranker, context=False):
    """Of an exact fit to the targets of its measure."""
    steps = [QueryContext(["mean", "size"])] if context else []
    model = make_query_pipeline(*steps, ranker).fit(X, y, qid, sample_weight=weight)
    rows, queries = np.eye(4)[QUERIES.ravel()], np.repeat([0, 1, 2], 4)
    scores = model.predict(rows, queries)
    measure = {"RecallRanker": "recall@1", "AUCRanker": "auc", "NDCGRanker": "ndcg@10"}.get(
        type(ranker).__name__, "map"
    )
    lost = [
        LabelDistribution(*law_of(query)).target_regret(measure, part)
        for query, part in zip(QUERIES, scores.reshape(-1, 4))
    ]
    return float(SHARE @ lost)


RANKERS = {"R@1": (RecallRanker, {"k": 1}), "AUC": (AUCRanker, {})}
RANKERS |= {"MAP": (AveragePrecisionRanker, {}), "NDCG": (NDCGRanker, {})}
WAYS = {
    "rows alone": ({}, False),
    'rows, loss="centered"': ({"loss": "centered"}, False),
    "rows with QueryContext": ({}, True),
    'rows, targets="separable"': ({"targets": "separable"}, False),
}
found = {
    way: [
        regret(make(DecisionTreeRegressor(random_state=0), **fixed, **options), context)
        for make, fixed in RANKERS.values()
    ]
    for way, (options, context) in WAYS.items()
}
for way, values in found.items():
    print(f"{way:28}" + "".join(f"{value:9.4f}" for value in values))

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for number, (way, values) in enumerate(found.items()):
    bars = ax.bar(np.arange(4) + 0.2 * (number - 1.5), values, width=0.18, label=way)
    ax.bar_label(bars, [f"{value:.3f}" if value > 1e-9 else "0" for value in values], fontsize=7)
ax.set_xticks(range(4), RANKERS)
ax.set(ylabel="regret of the exact fit", title="What stays, and what removes it")
ax.legend(fontsize="small")
plt.show()

# %%
# With the means and the size of its query as features, a row determines which documents the query
# has. The exact fit is then a fit to the whole query, and the theorem holds. Without context,
# regress the relevances themselves. If they are independent given the query, as here, sorting by
# their probabilities is best for all four measures. Targets that are centered within the query are
# not a function of the row, even if the targets are.
