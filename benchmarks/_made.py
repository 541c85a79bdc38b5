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

from typing import NamedTuple

import numpy as np
import pandas as pd
from _letor import Part

__all__ = ["LAWS", "LOW_NOISE", "MADE", "N_FEATURES", "SEEN_LEVEL", "Law", "law_part", "made_part"]

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


# -- laws that differ from the first one in one thing --------------------------------------


class Law(NamedTuple):
    """What a table is drawn by; see `law_part`."""

    n_queries: int = 300
    n_documents: int = 30
    noise: float = 1.0
    n_columns: int = 8
    level: float = 0.0
    is_level_seen: bool = False
    n_categories: int = 0
    by_ranks: bool = False


LAWS = {
    "base": Law(),
    "grades by rank in the query": Law(by_ranks=True),
    "level 1 of the query, unseen": Law(level=1.0),
    "level 2 of the query, unseen": Law(level=2.0),
    "level 2 of the query, a column": Law(level=2.0, is_level_seen=True),
    "noise .3": Law(noise=0.3),
    "noise 3": Law(noise=3.0),
    "50 queries": Law(n_queries=50),
    "1000 queries of 9": Law(n_queries=1000, n_documents=9),
    "60 queries of 150": Law(n_queries=60, n_documents=150),
    "20 categories": Law(n_categories=20),
    "100 categories": Law(n_categories=100),
    "2000 queries": Law(n_queries=2000),
}
# The two tables on which a mixture by least squares was far below its own members.
LOW_NOISE = Law(noise=0.3, n_columns=4)
SEEN_LEVEL = LAWS["level 2 of the query, a column"]


def law_part(law, seed, n_queries=None):
    """Queries of a law, whose number is not read; all of them share the cuts of the grades.

    The utility of a document is .8 of its first number, .6 of the product of the next two, .6 of
    the absolute value of the fourth, and noise; `n_columns` - 4 further numbers do not count. A
    query adds a level of its own, which is a column or not, and a category an effect, of standard
    deviation .6. Grades 0 to 4 are cut at the quantiles .5, .75, .9 and .97 of all utilities, or
    of those of the query. X is an array, or a frame if there are categories.
    """
    n_queries = law.n_queries if n_queries is None else n_queries
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), law.n_documents)
    X = rng.standard_normal((len(qid), law.n_columns))
    value = 0.8 * X[:, 0] + 0.6 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3])
    value += law.noise * rng.standard_normal(len(qid))
    if law.level:
        level = rng.standard_normal(n_queries)[qid]
        value += law.level * level
        X = np.column_stack([X, level]) if law.is_level_seen else X
    if law.n_categories:
        code = rng.integers(law.n_categories, size=len(qid))
        value += 0.6 * rng.standard_normal(law.n_categories)[code]
        X = pd.DataFrame(X).add_prefix("number_").assign(category=code)
        X["category"] = X["category"].map("level {}".format).astype("category")
    return Part(X, _cut(value, law).astype(float), qid)


def _cut(value, law):
    shares = [0.5, 0.75, 0.9, 0.97]
    if not law.by_ranks:
        return np.digitize(value, np.quantile(value, shares))
    of_query = value.reshape(-1, law.n_documents)
    cuts = np.quantile(of_query, shares, axis=1).T
    return (of_query[:, :, None] >= cuts[:, None, :]).sum(axis=2).ravel()
