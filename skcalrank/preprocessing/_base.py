"""The base class of transformers that work within queries."""

from abc import ABCMeta, abstractmethod
from typing import Any

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags

from ..columns.types import ArrayLike, Floats, Labels, Matrix, Self
from ..data import (
    MissingQidError,
    OneQueryWarning,
    Queries,
    check,
    fitting,
    lazy_transformer,
    warn,
    workers_of_fit,
)


@lazy_transformer
class QueryTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of transformers of the rows of a query that do not depend on other queries."""

    fits_among_workers = True

    __metadata_request__fit = {"qid": True}
    __metadata_request__transform = {"qid": True}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags

    @fitting
    def fit(self, X: Matrix, y: Labels | None = None, qid: ArrayLike | None = None) -> Self:
        """Validate the features, and record whether a qid is given.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Features of the documents. May be a collection of dask with whole queries in each
            partition.
        y : array-like, default=None
            Ignored, except for the qid that it may carry.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order. If None, the qid that `y`
            carries; without one, all rows are one query.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X or qid is invalid, or X and qid differ in length.

        Warns
        -----
        OneQueryWarning
            If there are several rows and no qid.
        """
        self._check(X, check.carried_qid(y, qid, X=X), reset=True)
        return self

    def transform(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Transform the rows of each query.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.

        Returns
        -------
        X_out : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
            Transformed features; a lazy array, or a lazy frame for a frame, if X is lazy.

        Raises
        ------
        MissingQidError
            If `fit` was given a qid and `transform` is not.

        Warns
        -----
        OneQueryWarning
            If there are several rows and no qid.
        """
        if qid is None and getattr(self, "has_qid_", False):
            raise MissingQidError(
                f"{type(self).__name__} was fitted with a qid, and transform got none. Pass "
                "qid=qid. In a pipeline, use skcalrank.pipeline.make_query_pipeline, and pass qid "
                "to its predict and score."
            )
        return self._transformed(*self._check(X, qid, reset=False))

    @fitting
    def fit_transform(
        self, X: Matrix, y: Labels | None = None, qid: ArrayLike | None = None
    ) -> Any:
        """Fit and transform the same rows.

        Parameters
        ----------
        X, y, qid
            As in :meth:`fit`.

        Returns
        -------
        X_out : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
            Transformed features.
        """
        return self._transformed(*self._check(X, check.carried_qid(y, qid, X=X), reset=True))

    def _check_params(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        check.params(self)

    @abstractmethod
    def _transformed(self, X: Floats, queries: Queries) -> Floats:
        """Return the output columns for validated rows."""

    def _features(self, X: Any, reset: bool) -> Any:
        """Return validated rows; with `reset`, record their columns."""
        return check.features(self, X, reset=reset, **check.Reads.of(self).checks())

    def _check(self, X: Any, qid: ArrayLike | None, reset: bool) -> tuple[Any, Queries]:
        """Return validated rows and their queries; with `reset`, record what `fit` was given."""
        self._check_params()
        check.row_order(X=X, qid=qid)
        if reset:
            check.qid_of_parts(qid, workers_of_fit().n_parts)
        X = self._features(X, reset)
        if qid is None and X.shape[0] > 1:
            warn(
                f"{type(self).__name__} got X and no qid, so all rows count as one query. Pass "
                "qid=qid. If all rows are one query, pass qid=0.",
                OneQueryWarning,
            )
        queries = check.queries(qid, X.shape[0])
        if reset:
            self.has_qid_ = qid is not None
        return X, queries
