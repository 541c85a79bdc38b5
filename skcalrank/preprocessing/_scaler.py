"""Features relative to those of the other documents of the query."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..data import Array, Floats, Ints, Queries, check_params, one_of, safe_divide, scale_of
from ._base import QueryTransformer, spread
from ._context import statistics_of


class QueryScaler(QueryTransformer):
    """Features scaled within the query.

    Documents compete with those of their query alone. A feature that differs in level or scale
    from query to query, such as a score of a text match, tells more relative to them.

    Nothing is learned from other queries, so that new ones are scaled as those of fit were. Of a
    part of a query the rows that are there count.

    Parameters
    ----------
    method : {"standard", "minmax", "rank"}, default="standard"
        "standard": mean 0 and standard deviation 1 in each query. "minmax": the least value of the
        query is 0 and the largest is 1. "rank": the same of their ranks, where equal values share
        the mean of their ranks. Features that are constant in the query are 0. Missing values
        (NaN) are left out and stay missing.

    Attributes
    ----------
    has_qid_ : bool
        Whether fit had a qid, which `transform` then requires.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    QueryContext : Puts columns about the query beside the features.
    skcalrank.pipeline.make_query_pipeline : Hands the qid to every step.

    Examples
    --------
    >>> from skcalrank.preprocessing import QueryScaler
    >>> X, qid = [[1.0], [3.0], [2.0], [700.0], [900.0]], ["a", "a", "a", "b", "b"]
    >>> QueryScaler("minmax").fit_transform(X, qid=qid).ravel()
    array([0. , 1. , 0.5, 0. , 1. ])

    In front of a ranker, beside columns that stay as they are:

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
        "method": [one_of("standard", "minmax", "rank")]
    }

    def __init__(self, method: str = "standard") -> None:
        self.method = method

    def _check_params(self) -> None:
        check_params(self)

    def _transformed(self, X: Array, queries: Queries) -> Array:
        values = queries.group(X).astype(float)
        # In units of the largest where sums and differences would leave the range.
        largest = np.fmax.reduceat(np.abs(values), queries.ptr[:-1], axis=0)
        values /= spread(scale_of(np.nan_to_num(largest)), queries)
        if self.method == "rank":
            values = _ranks(values, queries)
        start, unit = statistics_of(values, queries, _BY_STATISTICS[self.method])
        if self.method != "standard":
            unit = unit - start
        away = values - spread(start, queries)
        scaled = safe_divide(away, spread(unit, queries))
        scaled[np.isnan(values)] = np.nan
        return queries.ungroup(scaled.astype(X.dtype))


# What is subtracted, and what the unit is made of.
_BY_STATISTICS = {"standard": ("mean", "std"), "minmax": ("min", "max"), "rank": ("min", "max")}


def _ranks(X: Floats, queries: Queries) -> Floats:
    """Ranks of the values of each query, of equal ones their mean; rows are in grouped order."""
    codes = queries.repeat(np.arange(queries.n_queries))
    return np.column_stack([_ranks_of(column, codes) for column in X.T])


def _ranks_of(values: Floats, codes: Ints) -> Floats:
    # Missing values come last in their query.
    order = np.lexsort((values, codes))
    by_rank, query = values[order], codes[order]
    new = np.append(True, (by_rank[1:] != by_rank[:-1]) | (query[1:] != query[:-1]))
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(values)) - 1
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((first + last) / 2, last - first + 1)
    return np.where(np.isnan(values), np.nan, ranks)
