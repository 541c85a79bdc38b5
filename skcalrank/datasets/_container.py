"""Containers that dataset functions return."""

from typing import Any, NamedTuple

import numpy as np

from ..columns.types import Array, Floats, Self


class RankingData(NamedTuple("_Triple", [("X", Any), ("y", Array), ("qid", Array)])):
    """``X, y, qid``, with further information about the data as attributes.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
    y : ndarray of shape (n_rows,)
        Relevances.
    qid : ndarray of shape (n_rows,)
        Query of each row.
    description : str
    feature_names : list of str or None
    ids : ndarray of shape (n_rows,) or None
        Names of the documents, where the file has one for each row: text, or as in a table.
    law : LabelMixture or None
        The conditional distribution of y, where it is known.
    """

    description: str
    feature_names: list[str] | None
    ids: Array | None
    law: Any

    def __new__(
        cls,
        X: Any,
        y: Array,
        qid: Array,
        *,
        description: str = "",
        feature_names: list[str] | None = None,
        ids: Array | None = None,
        law: Any = None,
    ) -> Self:
        out = super().__new__(cls, X, y, qid)
        vars(out).update(description=description, feature_names=feature_names, ids=ids, law=law)
        return out

    def __repr__(self) -> str:
        (n_rows, d), n_queries = self.X.shape, len(np.unique(self.qid))
        return f"RankingData({n_rows} rows, {d} features, {n_queries} queries)"


class LabelRankingData(NamedTuple("_Pair", [("X", Any), ("positions", Floats)])):
    """``X, positions`` of the label-ranking form, with further information as attributes.

    ``PreferenceTarget.from_orders(data.positions)`` is the target of rankers of preferences;
    where every order is complete, ``y = -data.positions`` is one of every ranker and metric.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    positions : ndarray of float of shape (n, r)
        Position of each item, counted from 1; NaN where it is unranked. Tied items share
        the mean of the positions that they take up.
    item_names : list of str
        Names of the columns of positions.
    feature_names : list of str or None
        Names of the columns of X.
    weights : ndarray of shape (n,) or None
        Number of times that each row was observed, where rows are not repeated; None = once.
    description : str
    law : OrderMixture or None
        The conditional distribution of the orders, where it is known.

    Examples
    --------
    >>> from skcalrank.datasets import make_label_ranking
    >>> make_label_ranking(n_samples=50, n_items=4, random_state=0)
    LabelRankingData(50 rows, 10 features, 4 items)
    """

    description: str
    item_names: list[str]
    feature_names: list[str] | None
    weights: Array | None
    law: Any

    def __new__(
        cls,
        X: Any,
        positions: Floats,
        *,
        item_names: list[str],
        description: str = "",
        feature_names: list[str] | None = None,
        weights: Array | None = None,
        law: Any = None,
    ) -> Self:
        out = super().__new__(cls, X, positions)
        names = {"item_names": item_names, "feature_names": feature_names}
        vars(out).update(names, description=description, weights=weights, law=law)
        return out

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        # Pickling and copying would call __new__ without the names.
        return tuple(self), vars(self)

    def __repr__(self) -> str:
        n, r = self.positions.shape
        return f"LabelRankingData({n} rows, {self.X.shape[1]} features, {r} items)"
