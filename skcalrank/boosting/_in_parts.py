"""Rankers of boosted trees that others fit: among folds, or among workers."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ..data.types import Floats, Ints
from ._ranker import BoostedRanker


def fit_held_out(
    ranker: Any, X: Any, y: Floats, qid: Ints, sample_weight: Any, folds: Ints, method: str = "fit"
) -> tuple[BoostedRanker, Floats]:
    """Return a fitted clone of a BoostedRanker, and its out-of-fold scores."""
    ranker = clone(ranker)
    return ranker, ranker._fit_held_out(X, y, qid, sample_weight, folds, method)


def check_fit_part(ranker: BoostedRanker, has_eval_set: bool, callbacks: Any) -> None:
    """Raise for parameters of a ranker that workers cannot train together."""
    engine = ranker._check_params(has_eval_set)
    if not engine.has_workers:
        raise ValueError(
            f"engine must be 'lightgbm' or 'xgboost' for dask collections, got {engine.name!r}, "
            "whose trees grow in one process: install one of these, or pass X.compute()."
        )
    if ranker.start is not None:
        raise ValueError(
            f"start must be None for dask collections, got {ranker.start!r}: leave it out, or pass "
            "X.compute()."
        )
    if callbacks:
        raise ValueError(
            "callbacks must be None for dask collections, whose trees grow in other processes, got "
            f"{callbacks!r}: leave it out, or pass X.compute()."
        )
