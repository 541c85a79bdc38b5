"""Small data, and calls with one thing wrong."""

import numpy as np

from skcalrank import NDCGRanker, PreferenceTarget, metrics

X = np.arange(12.0).reshape(6, 2) ** 0.5
Y = np.array([0.0, 2.0, 1.0, 0.0, 1.0, 0.0])
QID = np.array([1, 1, 1, 2, 2, 2])
S = np.array([0.1, 0.9, 0.4, 0.3, 0.8, 0.2])
LABEL_X, LABEL_Y = X[:3], np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])


def put(values, row, value):
    """A copy with one entry replaced."""
    out = np.array(values, dtype=float if isinstance(value, float) else object)
    out[row] = value
    return out


def fit(ranker=None, X=X, y=Y, qid=QID, **kwargs):
    return (NDCGRanker() if ranker is None else ranker).fit(X, y, qid, **kwargs)


def ndcg(y=Y, scores=S, qid=QID, **kwargs):
    return metrics.ndcg_score(y, scores, qid=qid, **kwargs)


def comparisons(winner=(1,), loser=(0,), qid=QID, **kwargs):
    return PreferenceTarget.from_comparisons(winner, loser, qid, **kwargs)


CYCLE = {"winner": [0, 1, 2], "loser": [1, 2, 0], "judgment": [4, 4, 4], "require_dag": True}
CYCLIC = np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]])
NAN = float("nan")
INF = float("inf")
