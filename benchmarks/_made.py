"""Made data with linear and nonlinear parts, in queries that differ in level and spread.

A query has 50 to 150 documents. Features are standard normal; the first half of them also has an
offset in each query, as features that match a query with a text have. The utility of a document is
a linear part of 12 features, a few nonlinear ones (a wave, a hinge, a cap, a product, a step that
switches another feature on), a feature that counts by a property of the query, and noise. The
utilities of a query are spread by a factor of its own and moved by a level of its own, which no
feature shows: they are then cut into grades 0 to 4, of shares near 55, 27, 13, 3 and 1.5 per cent.
The distribution is fixed; the queries are drawn.
"""

from __future__ import annotations

import numpy as np
from _letor import Part

__all__ = ["MADE", "N_FEATURES", "made_part"]

N_FEATURES = 136

# Noise, and where the utilities are cut into grades. The standard deviation of all but the noise
# is 2.7; under made-noisy NDCG@10 is near .5.
MADE = {"made": (1.5, [1.6, 4.3, 7.3, 9.7]), "made-noisy": (3.5, [1.7, 5.3, 9.4, 12.8])}


def made_part(n_queries, seed, noise, cuts):
    """Queries of the distribution; X is in single precision."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(50, 151, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X = rng.normal(size=(len(qid), N_FEATURES))
    X[:, :68] += rng.normal(size=(n_queries, 68))[qid]
    topic = X[:, 135] = rng.normal(size=n_queries)[qid]
    level, spread = rng.normal(size=n_queries), np.exp(0.3 * rng.normal(size=n_queries))
    utility = _utility(X, topic) + noise * rng.normal(size=len(qid))
    utility = level[qid] + spread[qid] * utility
    y = np.digitize(utility, cuts)
    return Part(X.astype(np.float32), y.astype(float), qid)


def _utility(X, topic):
    linear = X[:, :12] @ np.linspace(0.6, 0.1, 12)
    match, rest = X[:, 12:20].T, X[:, 68:78].T
    waves = np.sin(2 * match[0]) + np.maximum(match[1], 0) + np.minimum(rest[0], 0.5)
    products = 0.7 * match[2] * rest[1] + (match[3] > 0.5) * rest[2] + np.abs(rest[3])
    return linear + waves + products + np.tanh(topic) * rest[4]
