"""Every ranker under every loss, fitted."""

from cases import rankers_and_losses
from sklearn.base import clone

EVERY = list(rankers_and_losses())


def fitted(ranker, X, y, qid=None, **kwargs):
    return clone(ranker).fit(X, y, qid, **kwargs)
