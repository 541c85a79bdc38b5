"""Every ranker under every loss, fitted."""

from cases import rankers_and_losses
from sklearn.base import clone

# Random draws depend on the order of the rows.
EVERY = [ranker for ranker in rankers_and_losses() if not hasattr(ranker, "n_updates")]


def fitted(ranker, X, y, qid=None, **kwargs):
    return clone(ranker).fit(X, y, qid, **kwargs)
