"""The base of transformers that know which rows are a query."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags

from ..data import (
    ArrayLike,
    Floats,
    Labels,
    Matrix,
    MissingQidError,
    OneQueryWarning,
    Queries,
    all_or_nothing,
    carried_qid,
    check_queries,
    checked_features,
    refuse_lazy,
    warn,
    x_checks,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class QueryTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of transformers of the rows of a query that learn nothing from other queries.

    Attributes
    ----------
    has_qid_ : bool
        Whether fit had a qid, which `transform` then requires.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    """

    __metadata_request__fit = {"qid": True}
    __metadata_request__transform = {"qid": True}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags

    @all_or_nothing
    def fit(self, X: Matrix, y: Labels | None = None, qid: ArrayLike | None = None) -> Self:
        """Check the features, and note whether queries are named.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents.
        y : array-like, default=None
            Ignored, but for the queries that it may carry.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order; None: one query.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, or X and qid do not fit.

        Warns
        -----
        OneQueryWarning
            If several rows have no qid.
        """
        self._check(X, carried_qid(y, qid), reset=True)
        self.has_qid_ = carried_qid(y, qid) is not None
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

        Raises
        ------
        MissingQidError
            If fit had a qid and there is none here.

        Warns
        -----
        OneQueryWarning
            If several rows have no qid.
        """
        if qid is None and getattr(self, "has_qid_", False):
            raise MissingQidError(
                f"{type(self).__name__} was fitted with a qid, and transform got none: pass "
                "qid=qid. In a pipeline, use skcalrank.pipeline.make_query_pipeline and pass qid "
                "to its predict and score."
            )
        return self._transformed(*self._check(X, qid, reset=False))

    @all_or_nothing
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
        """
        checked = self._check(X, carried_qid(y, qid), reset=True)
        self.has_qid_ = carried_qid(y, qid) is not None
        return self._transformed(*checked)

    @abstractmethod
    def _check_params(self) -> None:
        """Raise for invalid parameters."""

    @abstractmethod
    def _transformed(self, X: Floats, queries: Queries) -> Floats:
        """Return the columns of validated rows."""

    def _check(self, X: Any, qid: ArrayLike | None, reset: bool) -> tuple[Any, Queries]:
        """Return validated rows and their queries."""
        name = type(self).__name__
        self._check_params()
        refuse_lazy(name, "Columns of a query are not computed by partitions.", X=X, qid=qid)
        X = checked_features(self, X, reset=reset, **x_checks(self))
        if qid is None and len(X) > 1:
            warn(
                f"{name} got X of {len(X)} rows and no qid, so all rows count as one query. Pass "
                "qid=qid; pass qid=np.zeros(len(X)) if they are one query.",
                OneQueryWarning,
            )
        return X, check_queries(qid, len(X))


def spread(per_query: Floats, queries: Queries) -> Floats:
    """Give every row the statistics of its query."""
    return np.repeat(per_query, queries.sizes, axis=0)
