"""
A linear ranker for raw features: a GAM that ranks
==================================================

A grid over a step of a pipeline finds the curves that raw features need.

Raw features have heavy tails: counts of clicks, prices, lengths. A linear ranker is better with a
curve for each feature. It is then a sum of one-dimensional functions that can be drawn: a
generalized additive model. A grid search finds the best kind of curve.
"""

# %%
# Documents with prices, sales and age
# ------------------------------------
# Utility falls with the logarithm of the price, rises with the logarithm of sales, and is best for
# an age in the middle. The fourth feature is noise, with tails as heavy as the others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from skcalrank import NDCGRanker, QueryKFold, RankingTarget, get_scorer
from skcalrank.preprocessing import signed_log1p

NAMES = ["price", "sales", "age", "noise"]
CURVES = [
    lambda price: -1.5 * np.log(price),
    lambda sales: 0.8 * np.log1p(sales),
    lambda age: -(((age - 40) / 25) ** 2),
    np.zeros_like,
]


def made(n_queries, seed):
    """Twenty documents for each query, grades 0 to 4."""
    rng = np.random.default_rng(seed)
    n = 20 * n_queries
    X = np.column_stack(
        [
            rng.lognormal(3, 1, n),
            rng.negative_binomial(0.3, 0.003, n),
            rng.uniform(0, 100, n),
            rng.lognormal(0, 2, n),
        ]
    )
    utility = sum(curve(x) for curve, x in zip(CURVES, X.T)) + rng.normal(0, 1.5, n)
    return X, np.digitize(utility, [-3.5, -1.5, 0.5, 2.5]), np.repeat(np.arange(n_queries), 20)


X, y, qid = made(300, seed=0)
X_test, y_test, qid_test = made(500, seed=1)

# %%
# One grid
# --------
# The step before the ranker is a parameter like any other. Splines of degree 1 with knots at
# quantiles are hinges: a coefficient for each is a curve of straight pieces. The penalty of the
# ranker needs no search, since it is counted in the squares of each feature.


maps = {
    "as they are": StandardScaler(),
    "signed log1p": FunctionTransformer(signed_log1p, feature_names_out="one-to-one"),
    "quantiles": QuantileTransformer(n_quantiles=100),
    "hinges": SplineTransformer(n_knots=8, degree=1, knots="quantile"),
}
ranker = make_pipeline(StandardScaler(), NDCGRanker(k=10))
search = GridSearchCV(
    ranker,
    {"standardscaler": list(maps.values())},
    scoring=get_scorer("ndcg@10"),
    cv=QueryKFold(5),
).fit(X, RankingTarget(y, qid))

scorer = get_scorer("ndcg@10")
held_out = RankingTarget(y_test, qid_test)
for name, score in zip(maps, search.cv_results_["mean_test_score"]):
    print(f"{name:12} NDCG@10 in cross-validation {score:.4f}")
print(f"the best on new queries {scorer(search, X_test, held_out):.4f}")

# %%
# The curves that were learned
# ----------------------------
# A score is a sum of one curve for each feature, drawn over the middle 98 percent of its values,
# next to the true curve on its own scale. A constant for all documents of a query does not change
# their order, so curves are determined up to a constant.

gam = make_pipeline(SplineTransformer(n_knots=8, degree=1, knots="quantile"), NDCGRanker(k=10))
gam.fit(X, RankingTarget(y, qid))

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
middle = np.median(X, axis=0)
for j, (ax, name, curve) in enumerate(zip(axes, NAMES, CURVES)):
    grid = np.tile(middle, (200, 1))
    grid[:, j] = np.quantile(X[:, j], np.linspace(0.01, 0.99, 200))
    learned, true = gam.predict(grid), curve(grid[:, j])
    ax.plot(grid[:, j], learned - learned.mean(), label="learned")
    scale = np.std(gam.predict(X)) / np.std(sum(c(x) for c, x in zip(CURVES, X.T)))
    ax.plot(grid[:, j], scale * (true - true.mean()), "--", label="made with")
    ax.set(title=name, xscale="linear" if name == "age" else "symlog", ylim=(-0.25, 0.25))
    ax.grid(alpha=0.3)
axes[0].set_ylabel("part of the score")
axes[0].legend()
plt.show()
