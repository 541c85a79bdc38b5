"""What estimators of any library take, and their scores."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..columns.types import Floats
from ..data import Queries, call_step, handed_to
from ..trees import library_of, reads_queries


def takes_targets(estimator: Any) -> bool:
    """Return whether an estimator can be fitted to targets in place of labels."""
    if isinstance(estimator, FrozenEstimator):
        return True
    return is_regressor(estimator) and not reads_queries(estimator)


def reads_tables(estimator: Any) -> bool:
    """Return whether an estimator reads tables in its own way, as a pipeline may."""
    if isinstance(estimator, (Pipeline, FrozenEstimator)):
        return True
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    if hasattr(inner, "fit"):
        return reads_tables(inner)
    return library_of(estimator).takes(estimator).string


def adds_trees(estimator: Any) -> bool:
    """Return whether the scores of a ranker are sums of trees, and more trees are stopped early."""
    return getattr(estimator, "adds_trees", False)


def taken_by(estimator: Any) -> frozenset[str]:
    """Return the names of the metadata that `predict` of a fitted estimator takes."""
    with config_context(enable_metadata_routing=True):
        return frozenset(handed_to(estimator, "predict", qid="any"))


def scores_of(
    estimator: Any, X: Any, queries: Queries, named: bool, taken: frozenset[str] | None = None
) -> Floats:
    """Return the scores by a fitted estimator, which gets a qid if it takes one.

    `taken` is what :func:`taken_by` returns, which is looked up if it is None.
    """
    takes_qid = named and "qid" in (taken_by(estimator) if taken is None else taken)
    metadata = {"qid": queries.codes} if takes_qid else {}
    scores = call_step(estimator, "predict", X, **metadata)
    return np.asarray(scores, dtype=float).reshape(-1)
