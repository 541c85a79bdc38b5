"""
Retrieving images of the same digit
===================================

Query by example: rank images so that those of the same digit come first.

Euclidean distance does this without training. A ranker that is consistent for
precision at 8 is trained on pairs of images. Its regressor decides which rankings it can represent.
"""

# %%
# The task
# --------
# A row of ``X`` compares two images: the absolute difference of every pixel, and their distance.
# Training and test queries are different images, and so are the documents.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import PrecisionRanker
from skcalrank.metrics import evaluate

images, digits = load_digits(return_X_y=True)
images = images / 16.0
rows = np.random.default_rng(0).permutation(len(images))
train_queries, test_queries = rows[:400], rows[400:500]
train_documents, test_documents = rows[500:900], rows[900:]


def pairs(queries, documents, n_documents, seed):
    """Features, relevance and query of pairs of images, and which images they are."""
    rng = np.random.default_rng(seed)
    shown = np.array([rng.choice(documents, n_documents, replace=False) for _ in queries])
    first, second = np.repeat(queries, n_documents), shown.ravel()
    difference = np.abs(images[first] - images[second])
    X = np.column_stack([difference, np.linalg.norm(images[first] - images[second], axis=1)])
    return X, (digits[first] == digits[second]) * 1, first, second


X, y, qid, _ = pairs(train_queries, train_documents, 60, seed=1)
X_test, y_test, q_test, shown = pairs(test_queries, test_documents, 300, seed=2)
print(f"{len(X)} rows to learn from, {y.mean():.0%} of them relevant")

# %%
# Learn and measure
# -----------------
# The class of the ranker names the measure. Its regressor is linear by default, in closed form;
# boosted trees can use interactions of pixels.

linear = PrecisionRanker(k=8).fit(X, y, qid)
trees = PrecisionRanker(HistGradientBoostingRegressor(max_iter=100, random_state=0), k=8)
trees = trees.fit(X, y, qid)
scores = {
    "Euclidean distance": -X_test[:, -1],
    "PrecisionRanker()": linear.predict(X_test),
    "PrecisionRanker(trees)": trees.predict(X_test),
}
values = {
    name: evaluate(y_test, s, ["precision@8", "map"], qid=q_test, average=False)
    for name, s in scores.items()
}
for name, found in values.items():
    for measure, v in found.items():
        gain = v - values["Euclidean distance"][measure]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        print(f"{name:22} {measure:11} {v.mean():.3f}, gain {gain.mean():+.3f} ± {error:.3f}")

# %%
# Look at it
# ----------
# The first seven queries, not chosen, and the first eight images that each ranking finds: green
# frames show the digit of the query, red ones another digit.


def best(s, query, k=8):
    """The images of the k largest scores of a query."""
    of_query = np.flatnonzero(q_test == query)
    return shown[of_query[np.argsort(-s[of_query])[:k]]]


def show(ax, image, color):
    ax.imshow(images[image].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color=color, linewidth=2.5)


fig = plt.figure(figsize=(10.5, 5.2), layout="constrained")
fig.suptitle("The first eight documents of seven queries")
blocks = fig.subfigures(1, 3, width_ratios=[1, 8, 8], wspace=0.03)
queries = test_queries[:7]
blocks[0].suptitle("query")
for ax, query in zip(blocks[0].subplots(len(queries), 1), queries):
    show(ax, query, "black")
for block, name in zip(blocks[1:], ("Euclidean distance", "PrecisionRanker(trees)")):
    block.suptitle(name)
    for row, query in zip(block.subplots(len(queries), 8), queries):
        for ax, image in zip(row, best(scores[name], query)):
            show(ax, image, "tab:green" if digits[image] == digits[query] else "tab:red")
plt.show()

# %%
# Which digits are hard?
# ----------------------
# Precision at 8 by the digit of the query, with standard errors. There are about ten queries of
# each.

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for shift, name in ((-0.17, "Euclidean distance"), (0.17, "PrecisionRanker(trees)")):
    of_digit = [values[name]["precision@8"][digits[test_queries] == digit] for digit in range(10)]
    heights = [v.mean() for v in of_digit]
    errors = [v.std(ddof=1) / np.sqrt(len(v)) for v in of_digit]
    ax.bar(np.arange(10) + shift, heights, width=0.32, yerr=errors, label=name)
ax.set(xlabel="digit of the query", ylabel="precision@8", xticks=range(10), ylim=(0, 1.03))
fig.suptitle("Precision at 8, by digit")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
plt.show()
