"""What every dataset function returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["RankingData"]


class _Triple(NamedTuple):
    X: Any
    y: np.ndarray
    qid: np.ndarray


class RankingData(_Triple):
    """``X, y, qid``, with what else is known about the data as attributes.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Relevances.
    qid : ndarray of shape (n_rows,)
        Query of each row.
    description : str
    feature_names : list of str or None
    law : LabelMixture or None
        The conditional law of y, where it is known.
    """

    description: str
    feature_names: list | None
    law: Any

    def __new__(cls, X, y, qid, *, description="", feature_names=None, law=None):
        out = super().__new__(cls, X, y, qid)
        out.description = description
        out.feature_names = feature_names
        out.law = law
        return out

    def __repr__(self):
        return (
            f"RankingData({self.X.shape[0]} rows, {self.X.shape[1]} features, "
            f"{len(np.unique(self.qid))} queries)"
        )
