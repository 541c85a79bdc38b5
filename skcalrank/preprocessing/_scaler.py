"""Scaling of features within queries."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..data import Queries, arrays, limits
from ..data.types import Array, Floats
from ._base import QueryTransformer
from ._context import statistics_of


class QueryScaler(QueryTransformer):
    """Scale features within each query.

    Documents are compared only with documents of the same query. If the level or the scale of a
    feature differs between queries, as that of a text-match score does, its value relative to the
    other documents of the query is more informative.

    Parameters
    ----------
    method : {"standard", "minmax", "rank"}, default="standard"
        With "standard", features have mean 0 and standard deviation 1 in each query. With
        "minmax", the smallest value in the query becomes 0, and the largest becomes 1. "rank"
        applies "minmax" to the ranks of the values; equal values share their mean rank. Features
        that are constant in a query become 0. Missing values (NaN) are ignored, and stay missing.

    Attributes
    ----------
    has_qid_ : bool
        Whether `fit` was given a qid, which `transform` then requires.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    QueryContext : Adds columns with statistics of the query.
    skcalrank.pipeline.make_query_pipeline : A pipeline that passes the qid to every step.

    Notes
    -----
    Queries are scaled independently of each other, so that new queries are scaled in the same way
    as the queries in `fit`. If rows of a query are missing, it is scaled by its remaining rows.

    Examples
    --------
    >>> from skcalrank.preprocessing import QueryScaler
    >>> X, qid = [[1.0], [3.0], [2.0], [700.0], [900.0]], ["a", "a", "a", "b", "b"]
    >>> QueryScaler("minmax").fit_transform(X, qid=qid).ravel()
    array([0. , 1. , 0.5, 0. , 1. ])

    Before a ranker, together with columns that are not scaled:

    >>> from sklearn.compose import make_column_transformer
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.pipeline import make_query_pipeline
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> scaled = make_column_transformer((QueryScaler(), slice(0, 32)), remainder="passthrough")
    >>> pipe = make_query_pipeline(scaled, NDCGRanker()).fit(X, y, qid)
    >>> pipe.rank(X, qid).shape
    (200,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "method": [limits.one_of("standard", "minmax", "rank")]
    }

    def __init__(self, method: str = "standard") -> None:
        self.method = method

    def _transformed(self, X: Array, queries: Queries) -> Array:
        values = queries.group(X).astype(float)
        # Divide by about the largest value if sums and differences would overflow or underflow.
        largest = np.fmax.reduceat(np.abs(values), queries.ptr[:-1], axis=0)
        values /= queries.repeat(arrays.scale_of(np.nan_to_num(largest)))
        if self.method == "rank":
            values = _ranks(values, queries)
        start, unit = statistics_of(values, queries, _BY_STATISTICS[self.method])
        if self.method != "standard":
            unit = unit - start
        away = values - queries.repeat(start)
        scaled = arrays.safe_divide(away, queries.repeat(unit))
        scaled[np.isnan(values)] = np.nan
        return queries.ungroup(scaled.astype(X.dtype))


# Statistics of each method: the one that is subtracted, and the one that determines the unit.
_BY_STATISTICS = {"standard": ("mean", "std"), "minmax": ("min", "max"), "rank": ("min", "max")}


def _ranks(X: Floats, queries: Queries) -> Floats:
    """Return the ranks of values within each query, with mean ranks for equal values.

    Rows are in grouped order.
    """
    codes = queries.repeat(np.arange(queries.n_queries))
    ranks = np.full(X.shape, np.nan)
    for k, values in enumerate(X.T):
        # Missing values come last in their query. The codes are sorted.
        order = np.lexsort((values, codes))
        by_rank = values[order]
        new = (by_rank[1:] != by_rank[:-1]) | (codes[1:] != codes[:-1])
        first = np.flatnonzero(np.append(True, new))
        last = np.append(first[1:], len(values)) - 1
        ranks[order, k] = np.repeat((first + last) / 2, last - first + 1)
    return np.where(np.isnan(X), np.nan, ranks)
