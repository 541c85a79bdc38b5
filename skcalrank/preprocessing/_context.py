"""Statistics of the query of a row, as additional columns."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from ..columns import arrays, tables
from ..columns.types import Array, ArrayLike, Floats
from ..data import Queries, limits
from ._base import QueryTransformer

STATISTICS = ("mean", "std", "min", "max", "size")


class QueryContext(QueryTransformer):
    """Add columns with statistics of the features over all documents of the query.

    A regressor that reads single rows does not see the other documents of the query, but targets
    that are normalized by the query, such as those of NDCG, recall, AUC and MAP, depend on them
    (see :ref:`rows-and-context`). This transformer appends statistics of the query to the
    features, with equal values in all rows of the query. To the extent that these statistics
    determine the documents of the query, an exact fit is calibrated.

    Parameters
    ----------
    statistics : sequence of {"mean", "std", "min", "max", "size"}, default=("mean", "std", "max", \
"size")
        Statistics of each feature over the documents of the query, in this order; "size" is one
        column, the number of documents. Missing values (NaN) are ignored; a statistic is NaN if
        all values are missing.

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
    QueryScaler : Scales features within the query.
    skcalrank.pipeline.make_query_pipeline : A pipeline that passes the qid to every step.

    Notes
    -----
    Queries are transformed independently of each other, so that new queries are transformed in
    the same way as the queries in `fit`. The order of the rows of a query affects the columns only
    through rounding errors of sums.

    Examples
    --------
    >>> from skcalrank.preprocessing import QueryContext
    >>> X, qid = [[1.0], [3.0], [5.0]], ["a", "a", "b"]
    >>> context = QueryContext(statistics=["mean", "size"])
    >>> context.fit_transform(X, qid=qid)
    array([[1., 2., 2.],
           [3., 2., 2.],
           [5., 5., 1.]])
    >>> context.get_feature_names_out()
    array(['x0', 'query_mean_x0', 'query_size'], dtype=object)

    A pipeline that passes the qid to every step:

    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.pipeline import make_query_pipeline
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> pipe = make_query_pipeline(QueryContext(), NDCGRanker(loss="squared")).fit(X, y, qid)
    >>> pipe.predict(X, qid).shape
    (200,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"statistics": limits.OWN_ERROR}

    def __init__(self, statistics: Sequence[str] = ("mean", "std", "max", "size")) -> None:
        self.statistics = statistics

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features. If None, the names in `fit`, or x0, x1 and so on.

        Returns
        -------
        names : ndarray of str
            Names of the features, followed by names such as ``query_mean_x0`` and ``query_size``.
        """
        names = super().get_feature_names_out(input_features)
        columns = [
            ["query_size"] if statistic == "size" else [f"query_{statistic}_{x}" for x in names]
            for statistic in self.statistics
        ]
        return tables.distinct([*names, *chain.from_iterable(columns)])

    def _check_params(self) -> None:
        known = isinstance(self.statistics, (list, tuple)) and self.statistics
        if not known or not set(map(str, self.statistics)) <= set(STATISTICS):
            raise ValueError(
                "statistics must be a non-empty list with elements among "
                f"{', '.join(map(repr, STATISTICS))}, got {self.statistics!r}."
            )

    def _transformed(self, X: Array, queries: Queries) -> Array:
        values, scale, _ = in_range(queries.group(X).astype(float), queries)
        units = [1.0 if name == "size" else scale for name in self.statistics]
        tables = statistics_of(values, queries, self.statistics)
        columns = [queries.ungroup(queries.repeat(of * unit)) for of, unit in zip(tables, units)]
        return np.hstack([X, *(column.astype(X.dtype) for column in columns)])


def in_range(values: Floats, queries: Queries) -> tuple[Floats, Floats, bool]:
    """Divide by about the largest value of a query if sums would overflow or underflow.

    Return the values, in grouped order, the divisors of each query, which are powers of two, and
    whether a value is missing.
    """
    sizes, first = np.abs(values), queries.ptr[:-1]
    largest = np.maximum.reduceat(sizes, first, axis=0)
    missing = bool(np.isnan(largest).any())
    if missing:
        largest = np.fmax.reduceat(sizes, first, axis=0)
    scale = arrays.scale_of(np.nan_to_num(largest))
    return values / queries.repeat(scale) if (scale != 1.0).any() else values, scale, missing


def statistics_of(X: Floats, queries: Queries, names: Sequence[str]) -> list[Floats]:
    """Return the named statistics of each query, of shape (n_queries, d) each.

    X is in grouped order and in range; "size" has shape (n_queries, 1).
    """
    first = queries.ptr[:-1]
    known = ~np.isnan(X)
    count = np.add.reduceat(known, first, axis=0, dtype=float)
    by_name = {"size": queries.sizes[:, None].astype(float)}
    by_name["min"] = np.fmin.reduceat(X, first, axis=0)
    by_name["max"] = np.fmax.reduceat(X, first, axis=0)

    def total(values: Floats) -> Any:
        return np.add.reduceat(np.where(known, values, 0.0), first, axis=0)

    if {"mean", "std"} & set(names):
        # Relative to the smallest value, so that the mean of equal values is exact.
        above = X - queries.repeat(by_name["min"])
        rise = total(above / queries.repeat(count))
        by_name["mean"] = by_name["min"] + rise
    if "std" in names:
        away = above - queries.repeat(rise)
        # Divide by the largest deviation, so that squares stay in range.
        unit = np.fmax.reduceat(np.abs(away), first, axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        squares = (away / queries.repeat(unit)) ** 2 / queries.repeat(count)
        by_name["std"] = np.where(count > 0, unit * np.sqrt(total(squares)), np.nan)
    return [by_name[name] for name in names]
