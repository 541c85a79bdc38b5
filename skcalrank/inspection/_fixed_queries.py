"""A fitted ranker that knows the queries of its rows."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ..columns.arrays import num_samples
from ..columns.types import ArrayLike, Estimator, Floats, Matrix, Self
from ..data import check


class FixedQueries(RegressorMixin, BaseEstimator):
    """A fitted ranker whose `predict` knows the queries of the rows.

    :func:`sklearn.inspection.partial_dependence` and its display change a column of X and call
    ``predict(X)`` without a qid, which rankers need that compare the documents of a query, such as
    :class:`~skcalrank.TabularRanker`.

    Parameters
    ----------
    ranker : fitted ranker, or a pipeline or search of a ranker
        What scores the rows.
    qid : array-like of shape (n_rows,) or scalar
        Query of each row of the X that will be passed, or a scalar, if all rows are one query.

    See Also
    --------
    explain_scores : Exact contributions of the features to the scores.
    sklearn.inspection.permutation_importance : Takes rankers themselves, and y with its queries
        (:class:`~skcalrank.RankingTarget`).

    Notes
    -----
    Partial dependence gives all documents the same value of a feature. Features that are scaled
    within the query are then constant, so that their linear terms vanish.

    Examples
    --------
    >>> from sklearn.inspection import partial_dependence
    >>> from skcalrank import TabularRanker, load_digits_queries
    >>> from skcalrank.inspection import FixedQueries
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=15)
    >>> ranker = TabularRanker("ndcg@10", trees=None).fit(X, y, qid)
    >>> last = X.shape[1] - 1
    >>> curve = partial_dependence(FixedQueries(ranker, qid), X, [last], grid_resolution=5)
    >>> curve["average"].shape
    (1, 5)
    """

    def __init__(self, ranker: Estimator, qid: ArrayLike) -> None:
        self.ranker = ranker
        self.qid = qid

    def fit(self, X: Matrix, y: ArrayLike | None = None) -> Self:
        """Return the ranker as it is.

        Parameters
        ----------
        X, y : object
            Ignored.

        Returns
        -------
        self : FixedQueries
        """
        del X, y
        check_is_fitted(self.ranker)
        return self

    def predict(self, X: Matrix) -> Floats:
        """Score the rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            As many rows as there are in `qid`, in the same order.

        Returns
        -------
        scores : ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            If X has another number of rows.
        """
        qid = check.of_one_query(self.qid, X)
        n_rows, expected = num_samples(X), len(np.asarray(qid))
        if n_rows != expected:
            raise ValueError(f"X must have the {expected} rows of qid, got {n_rows} rows.")
        return self.ranker.predict(X, qid)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the ranker is fitted."""
        try:
            check_is_fitted(self.ranker)
        except NotFittedError:
            return False
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.ranker).input_tags
        return tags
