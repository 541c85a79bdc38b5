"""What a row cannot see of its query, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..data import OWN_ERROR, Array, ArrayLike, Floats, Queries
from ._base import QueryTransformer, spread

STATISTICS = ("mean", "std", "min", "max", "size")


class QueryContext(QueryTransformer):
    """Columns about the query of a row: means, spreads and extremes of its documents.

    A regressor of rows sees a document without its rivals, and targets that are normalized by the
    query, such as those of NDCG, recall, AUC and MAP, depend on the rivals: see
    :ref:`rows-and-context`. Behind the features stand those of the query as a whole, equal in all
    of its rows; as far as they tell which documents it has, an exact fit is calibrated.

    Nothing is learned from other queries, so that new ones are transformed as those of fit were.
    Sums of a query are rounded in the order of its rows; otherwise that order changes nothing.

    Parameters
    ----------
    statistics : sequence of {"mean", "std", "min", "max", "size"}, default=("mean", "std", "max", \
"size")
        Of each feature over the documents of the query, in this order; "size" is one column, the
        number of documents. Missing values (NaN) are left out, and where all are missing the
        statistic is.

    Attributes
    ----------
    has_qid_ : bool
        Whether fit had a qid, which `transform` then requires.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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

    A pipeline that hands the qid to every step:

    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.pipeline import make_query_pipeline
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> pipe = make_query_pipeline(QueryContext(), NDCGRanker(loss="squared")).fit(X, y, qid)
    >>> pipe.predict(X, qid).shape
    (200,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"statistics": OWN_ERROR}

    def __init__(self, statistics: Sequence[str] = ("mean", "std", "max", "size")) -> None:
        self.statistics = statistics

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """Names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; None: those of fit, or x0, x1 and so on.

        Returns
        -------
        names : ndarray of str
            The features themselves, ``query_mean_x0`` and so on, and ``query_size``.
        """
        names = super().get_feature_names_out(input_features)
        columns = [
            ["query_size"] if statistic == "size" else [f"query_{statistic}_{x}" for x in names]
            for statistic in self.statistics
        ]
        return np.concatenate([names, *columns]).astype(object)

    def _check_params(self) -> None:
        known = isinstance(self.statistics, (list, tuple)) and self.statistics
        if not known or not set(map(str, self.statistics)) <= set(STATISTICS):
            raise ValueError(
                f"statistics must be a list of {', '.join(map(repr, STATISTICS))}, one at least, "
                f"got {self.statistics!r}."
            )

    def _transformed(self, X: Array, queries: Queries) -> Array:
        found = statistics_of(queries.group(X).astype(float), queries, self.statistics)
        columns = [queries.ungroup(spread(each, queries)) for each in found]
        return np.hstack([X, *(column.astype(X.dtype) for column in columns)])


def statistics_of(X: Floats, queries: Queries, names: Sequence[str]) -> list[Floats]:
    """Statistics of each query, of shape (n_queries, d), of rows in grouped order."""
    first = queries.ptr[:-1]
    known = ~np.isnan(X)
    count = np.add.reduceat(known, first, axis=0, dtype=float)
    found = {"size": queries.sizes[:, None].astype(float)}
    found["min"] = np.fmin.reduceat(X, first, axis=0)
    found["max"] = np.fmax.reduceat(X, first, axis=0)

    def total(values: Floats) -> Any:
        return np.add.reduceat(np.where(known, values, 0.0), first, axis=0)

    if {"mean", "std"} & set(names):
        # From the least value on, so that the mean of equal values is that value.
        with np.errstate(invalid="ignore"):
            parts = (X - spread(found["min"], queries)) / spread(count, queries)
        found["mean"] = found["min"] + total(parts)
    if "std" in names:
        away = X - spread(found["mean"], queries)
        # In units of the largest, so that squares stay in range.
        unit = np.fmax.reduceat(np.abs(away), first, axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        with np.errstate(invalid="ignore"):
            squares = (away / spread(unit, queries)) ** 2 / spread(count, queries)
        found["std"] = np.where(count > 0, unit * np.sqrt(total(squares)), np.nan)
    return [found[name] for name in names]
