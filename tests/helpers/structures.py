"""Structures by their formulas, in dense numpy, and judgments to aggregate.

Independent of the package: the judgments of a query are matrices, of shape (k, m, m).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from skcalrank import ClickSessions, PreferenceTarget, aggregation


def position_based(y):
    return aggregation.position_based(y, 1 / np.arange(1, 31)).relevance


def cascade(y):
    return aggregation.cascade(y).probability


# Every structure, as a function that returns scores.
OF_CLICKS = {"cascade": cascade, "position_based": position_based}
RULES = {**aggregation.STRUCTURES, **OF_CLICKS}


def law(Y, conditional):
    wins = Y.sum(axis=0)
    total = wins + wins.T if conditional else np.full(wins.shape, max(len(Y), 1))
    return np.divide(wins, total, out=np.zeros(wins.shape), where=total > 0)


def seen(Y):
    return (Y + Y.transpose(0, 2, 1)).sum(axis=0) > 0


def odds(Y, c=None, conditional=False):
    wins = Y.sum(axis=0)
    P, c = (wins, 0.5) if c is None else (law(Y, conditional), c)
    up, down = P + c, P.T + c
    return np.divide(up, down, out=np.ones(P.shape), where=seen(Y) & (up > 0) & (down > 0))


def dense_log_odds(Y, **options):
    return np.log(odds(Y, **options))


def dense_borda(Y, conditional=False):
    P = law(Y, conditional)
    return (P - P.T).sum(axis=1)


def dense_win_rate(Y, conditional=True):
    P = law(Y, conditional)
    if not conditional:
        return P.sum(axis=1) / max(len(P) - 1, 1)
    return np.array([p[met].mean() if met.any() else 0.5 for p, met in zip(P, seen(Y))])


def dense_mean_log_odds(Y, **options):
    return dense_log_odds(Y, **options).sum(axis=1) / max(Y.shape[1] - 1, 1)


def dense_thurstone_mosteller(Y, link="logit", **options):
    if link == "linear":
        P = law(Y, options.get("conditional", False))
        A = P - P.T
    else:
        ratio = odds(Y, **options)
        A = np.log(ratio) if link == "logit" else ndtri(ratio / (1 + ratio))
    mask = seen(Y) | np.eye(Y.shape[1], dtype=bool)
    return np.linalg.pinv(np.diag(mask.sum(axis=1)) - mask) @ (mask * A).sum(axis=1)


def dense_principal_eigenvector(Y, **options):
    values, vectors = np.linalg.eig(odds(Y, **options))
    vector = np.abs(vectors[:, np.argmax(values.real)].real)
    return vector / vector.sum()


def log_likelihood(wins, s):
    return -np.sum(wins * np.logaddexp(0, s[None, :] - s[:, None]))


def dense_bradley_terry(Y, alpha="auto"):
    wins = Y.sum(axis=0)
    if alpha == "auto":
        return dense_empirical_bayes(Y, wins + wins.T)
    if alpha == 0 and connected_components(wins > 0, connection="strong")[0] > 1:
        alpha = 0.1
    found = minimize(
        lambda s: alpha / 2 * s @ s - log_likelihood(wins, s), np.zeros(len(wins)), tol=1e-9
    )
    return found.x - found.x.mean()


def dense_empirical_bayes(Y, met):
    alpha, before = 3.0, 0.0
    while abs(np.log(alpha / before)) > 1e-6 if before else True:
        s, before = dense_bradley_terry(Y, alpha), alpha
        win = 1 / (1 + np.exp(s[None, :] - s[:, None]))
        curvature = (met * win * win.T).sum(axis=1)
        alpha = ((curvature / (curvature + alpha)).sum() + 2) / (s @ s + 2 / 3)
    return s


DEFINITIONS = {
    "borda": (dense_borda, [{}, {"conditional": True}]),
    "win_rate": (dense_win_rate, [{}, {"conditional": False}]),
    "mean_log_odds": (
        dense_mean_log_odds,
        [{}, {"c": 0.3}, {"c": 0.3, "conditional": True}, {"conditional": True}],
    ),
    "thurstone_mosteller": (
        dense_thurstone_mosteller,
        [
            {"link": link} | options
            for link in ("logit", "probit", "linear")
            for options in ({}, {"c": 0.2}, {"c": 0.2, "conditional": True})
        ],
    ),
    "bradley_terry": (dense_bradley_terry, [{}, {"alpha": 0}, {"alpha": 0.7}]),
    "principal_eigenvector": (
        dense_principal_eigenvector,
        [{}, {"c": 0.01}, {"c": 0.3, "conditional": True}],
    ),
}


# -- data ------------------------------------------------------------------------------


def draw_matrices(rng, m, k, density=0.3):
    """Judgments of one query, the first of them a cycle through all documents."""
    Y = rng.choice([0.5, 1.0, 2.0], (k, m, m)) * (rng.random((k, m, m)) < density)
    Y[:, np.arange(m), np.arange(m)] = 0.0
    if k and m > 1:
        Y[0, np.arange(m), (np.arange(m) + 1) % m] += 1.0
    # A judgment without preferences would not appear in the target.
    return Y[Y.any(axis=(1, 2))]


def target_of(rng, matrices):
    """Target of the judgments of all queries, rows and preferences in mixed order."""
    sizes = [Y.shape[1] for Y in matrices]
    qid = rng.permutation(np.repeat([f"q{i}" for i in range(len(sizes))], sizes))
    parts = []
    for i, Y in enumerate(matrices):
        rows = np.flatnonzero(qid == f"q{i}")
        judgment, j, l = np.nonzero(Y)
        # Numbers of judgments are local to a query.
        parts.append((rows[j], rows[l], Y[judgment, j, l], 7 * judgment))
    winner, loser, weight, judgment = map(np.concatenate, zip(*parts))
    order = rng.permutation(len(winner))
    return PreferenceTarget.from_comparisons(
        winner[order], loser[order], qid, weight=weight[order], judgment=judgment[order]
    )


def rows_of(y, i):
    return np.flatnonzero(y.qid == f"q{i}")


SHAPES = [(4, 5), (1, 0), (6, 9), (2, 3), (3, 1), (5, 30)]


def draw_sessions(rng, sizes=(4, 1, 6, 3), n=40):
    qid = rng.permutation(np.repeat(np.arange(len(sizes)) + 5, sizes))
    lists, clicks = [], []
    for _ in range(n):
        rows = rng.permutation(np.flatnonzero(qid == rng.choice(qid)))
        lists.append(rows[: rng.integers(1, len(rows) + 1)])
        clicks.append(rng.integers(0, len(lists[-1]) + 1))
    return ClickSessions(qid, lists, clicks)


def population(r, n=1.0):
    """Expected wins of every ordered pair under Bradley-Terry-Luce."""
    r = np.asarray(r, dtype=float)
    wins = n / (1 + np.exp(r[None, :] - r[:, None]))
    return (wins * (1 - np.eye(len(r))))[None]
