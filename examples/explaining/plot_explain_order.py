"""
Why is this document ranked above that one?
===========================================

The difference of two scores as a table of features, exactly.

A linear score puts x before z when :math:`w \\cdot (x - z) > 0`. The sum has a term for each
feature, so the answer to "why" is exact: it is a table that sums to the difference of the scores
(:doc:`/explaining`).
"""

# %%
# A search over digits
# --------------------
# A query is an image of a digit, its documents are other images, and the features compare the
# two: pixel by pixel, by the ink in rows and columns, and by three similarities. Scaled to
# a common spread, their weights can be compared as well.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import NDCGRanker, RankingTarget, load_digits_queries
from skcalrank.displays import ContributionDisplay
from skcalrank.inspection import explain_order

X, y, qid = data = load_digits_queries()
ranker = make_pipeline(StandardScaler(), NDCGRanker(k=10, estimator=Ridge(alpha=1000.0)))
ranker = ranker.fit(X, RankingTarget(y, qid))

# %%
# A mistake, explained
# --------------------
# Take the first query whose top document is irrelevant, and compare that document with the best
# relevant one. Positive contributions favor the wrong document, negative ones the right one.

places = ranker[-1].rank(ranker[:-1].transform(X), qid)
wrong = int(np.flatnonzero((places == 1) & (y == 0))[0])
of_query = np.flatnonzero((qid == qid[wrong]) & (y == 1))
right = int(of_query[places[of_query].argmin()])
print(f"query {qid[wrong]}: row {wrong} is first, the best relevant row is at {places[right]}")
found = explain_order(ranker, X, wrong, right, feature_names=data.feature_names)
print(found.to_string(n_features=8))

# %%
# The same as a plot. The contributions sum exactly to the difference of the two scores.

scores = ranker.predict(X)
assert np.isclose(found.total, scores[wrong] - scores[right])
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ContributionDisplay.from_explanation(found, ax=ax, n_features=12)
plt.show()

# %%
# Where in the image
# ------------------
# Sixty-four of the features are pixels, so their contributions can be drawn as an image.

pixels = np.array([name.startswith("pixel") for name in data.feature_names])
image = found.contributions[pixels].reshape(8, 8)
fig, ax = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
most = np.abs(image).max()
drawn = ax.imshow(image, cmap="RdBu", vmin=-most, vmax=most)
ax.set(title="for the wrong (blue), against it (red)", xticks=[], yticks=[])
fig.colorbar(drawn, label="contribution")
plt.show()

# %%
# The place in a query
# --------------------
# Without a second document, a document is compared with the mean of its query: by how much it is
# above the average document, and why.

place = explain_order(ranker, X, right, qid=qid, feature_names=data.feature_names)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ContributionDisplay.from_explanation(place, ax=ax)
plt.show()
