"""Judgments for the tests of rankers that aggregate them, and their mean targets by loops."""

from itertools import combinations

import numpy as np

from skcalrank import PreferenceTarget, sample_comparisons


def make(rng, sizes=(4, 3, 5, 2, 6), n_comparisons=120, d=3):
    """Queries in mixed order, and comparisons of their documents."""
    qid = rng.permutation(np.repeat(np.arange(len(sizes)) + 5, sizes))
    X = rng.normal(size=(len(qid), d))
    relevance = X @ rng.normal(size=d) + rng.normal(size=len(qid))
    y = sample_comparisons(relevance, qid, n_comparisons=n_comparisons, random_state=0)
    return X, y, qid, relevance


def subset(y, judgments):
    """The target with some of its judgments."""
    keep = np.isin(y.judgment, judgments)
    return PreferenceTarget.from_comparisons(
        y.winner[keep], y.loser[keep], y.qid, weight=y.weight[keep], judgment=y.judgment[keep]
    )


def targets_of(scores, qid, k=3):
    """``G(s - min s) / Z`` by loops."""
    out = np.zeros(len(scores))
    for q in set(qid.tolist()):
        rows = qid == q
        gain = 2.0 ** (scores[rows] - scores[rows].min()) - 1
        ideal = sum(g / np.log2(i + 2) for i, g in enumerate(sorted(gain, reverse=True)[:k]))
        out[rows] = gain / ideal if ideal else 0.0
    return out


def mean_targets(y, structure, order, k=3):
    """Mean of the targets over all subsets of each query, by enumeration."""
    qid, out = y.qid, np.zeros(len(y))
    for q in set(qid.tolist()):
        rows = qid == q
        mine = np.unique(y.judgment[np.isin(y.winner, np.flatnonzero(rows))])
        n = len(mine) if order is None else min(order, len(mine))
        subsets = list(combinations(mine, n))
        found = [targets_of(structure(subset(y, np.array(s))), qid, k)[rows] for s in subsets]
        out[rows] = np.mean(found, axis=0)
    return out


def counts(y):
    """Judgments of the query of every row, over its documents."""
    share = y.n_judgments / y.queries().sizes
    return share[y.queries().codes]


def evidence(y, few=5):
    """Share of the weight of every row: judgments with it over five more, by loops."""
    out = np.zeros(len(y))
    for row in range(len(y)):
        mine = (y.winner == row) | (y.loser == row)
        n = len(set(y.judgment[mine].tolist()))
        out[row] = n / (n + few)
    return out


def chunks_of_queries(y, rng, n_chunks=3):
    """Rows in chunks of whole queries, in any order."""
    for names in np.array_split(rng.permutation(np.unique(y.qid)), n_chunks):
        yield np.flatnonzero(np.isin(y.qid, names))
