"""
Choosing the penalty from one pass over the data
================================================

All penalties of a grid at the price of one fit, for several measures at once.

A grid search fits every fold for every penalty. Least squares can be faster: sums over the folds
add up, and one decomposition of a small matrix is enough for all penalties.
:class:`~skcalrank.LeastSquaresRankerCV` has the result of
:class:`~sklearn.model_selection.GridSearchCV` around the plain ranker.
"""

# %%
# The same grid twice
# -------------------

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold

from skcalrank import (
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    RankingTarget,
    get_scorer,
    load_digits_queries,
)

X, y, qid = load_digits_queries(n_queries=200, n_documents=50)
alphas = np.logspace(-2, 6, 17)
folds = GroupKFold(5)

start = time.perf_counter()
fast = LeastSquaresRankerCV("ndcg@10", alphas=alphas, cv=folds).fit(X, y, qid)
fast_seconds = time.perf_counter() - start

start = time.perf_counter()
slow = GridSearchCV(
    LeastSquaresRanker("ndcg@10", estimator=Ridge()),
    {"estimator__alpha": alphas},
    cv=folds,
    scoring=get_scorer("ndcg@10"),
    refit=False,
).fit(X, RankingTarget(y, qid), groups=qid)
slow_seconds = time.perf_counter() - start

difference = fast.cv_results_["mean_test_score"] - slow.cv_results_["mean_test_score"]
print(f"largest difference of the scores: {np.abs(difference).max():.1g}")
print(
    f"{slow_seconds:.2f} s and {fast_seconds:.2f} s: {slow_seconds / fast_seconds:.0f} times faster"
)

# %%
# ``benchmarks/speed_cv.py`` measures the same on a quarter of a million rows.
#
# Several measures, one pass
# --------------------------
# Each measure has its own targets, and may have its own best penalty.

measures = ["ndcg@10", "precision@5", "auc"]
several = LeastSquaresRankerCV(measures, alphas=alphas, cv=folds).fit(X, y, qid)

fig, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, name in zip(axes, measures):
    mean = several.cv_results_[f"mean_test_{name}"]
    error = several.cv_results_[f"std_test_{name}"] / np.sqrt(several.n_splits_)
    best = several.rankers_[name].estimator_.alpha
    ax.semilogx(alphas, mean, marker=".")
    ax.fill_between(alphas, mean - error, mean + error, alpha=0.15, linewidth=0)
    ax.axvline(best, color="0.6", linestyle=":")
    ax.set(title=name, xlabel="alpha", xticks=[1e-2, 1, 1e2, 1e4, 1e6])
    ax.grid(alpha=0.3)
    print(f"{name:12} best at alpha = {best:g}: {mean.max():.4f}")
axes[0].set_ylabel("mean over 5 folds")
plt.show()

# %%
# The band is one standard error over the folds. Curves are flat over several powers of ten, and the
# good penalties are large: squares are summed over pairs of documents of a query.
