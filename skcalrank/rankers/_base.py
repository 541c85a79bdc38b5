"""The base of every ranker: validation, positions, score."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags
from sklearn.utils.validation import check_is_fitted

from ..data import (
    Array,
    ArrayLike,
    Floats,
    Ints,
    Judgments,
    Labels,
    Matrix,
    MissingQidError,
    Queries,
    carried_qid,
    check_cutoff,
    check_labels,
    check_one_form,
    check_queries,
    check_sample_weight,
    checked_features,
    positions,
    refuse_lazy,
    warn_of_cut_queries,
    warn_of_one_query,
    with_index_of,
    x_checks,
)
from ..measures import Measure
from ..metrics import measure_score
from ._lazy import lazy_aware
from ._penalty import seen_in
from ._problem import Problem, weigh_queries
from ._record import FitRecord

# Why the weight of a row is not a repetition of it.
COUNTS_DOCUMENTS = "a query counts its number of documents, which weights do not change"
DEPENDS_ON_LABELS = (
    "targets depend on all labels of the query: a weight weighs, it does not repeat rows"
)


# Sums of larger labels may overflow.
_LARGEST_LABEL = 1e290


class BaseRanker(BaseEstimator, metaclass=ABCMeta):
    """A measure, a surrogate, a prediction map and a regressor.

    Attributes
    ----------
    short_names : dict
        Names of the ranker on the command line, and the parameters that each stands for.
    regresses_targets : bool
        Whether the measure's targets are regressed, so that the ranker is calibrated where its
        measure says.
    """

    short_names: ClassVar[dict[str, dict]] = {}
    regresses_targets: ClassVar[bool] = False

    __metadata_request__fit = {"qid": True, "sample_weight": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__decision_function = {"qid": True}
    __metadata_request__score = {"qid": True, "sample_weight": True}

    # Targets other than arrays that this ranker takes.
    _judgments: tuple[type[Judgments], ...] = ()

    # Whether `_fit_to_targets` fits the ranker to other targets than those of its own measure.
    _takes_targets = False

    record_: FitRecord
    n_features_in_: int
    feature_names_in_: Array

    @abstractmethod
    def _measure(self) -> Measure:
        """Return the measure that the parameters describe."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        # Scores order the documents; their scale says nothing about y.
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    # -- validation ---------------------------------------------------------------

    def _check_problem(self, X, y, qid, sample_weight, *, reset=True) -> Problem:
        """Validate the input of fit, or of a chunk that is added (``reset=False``)."""
        refuse_lazy(type(self).__name__, X=X, y=y, qid=qid, sample_weight=sample_weight)
        given, qid = y, carried_qid(y, qid)
        checks = self._x_checks() | {"reset": reset}
        measure = self._measure()
        if isinstance(y, Judgments):
            X = checked_features(self, X, **checks)
            n_items, queries = self._check_judgments(X, y, reset), y.queries()
        else:
            if issparse(y):
                raise ValueError("y is sparse: pass relevances as an array, y.toarray().")
            y = None if y is None else check_labels(y)
            X, y = checked_features(self, X, y, multi_output=True, **checks)
            y = check_one_form(y, qid)
            warn_of_one_query(y, qid, type(self).__name__)
            n_items = y.shape[1] if y.ndim == 2 else None
            queries = Queries.equal(len(y), n_items) if n_items else check_queries(qid, len(y))
            y = queries.group(y.ravel())
            _check_size(y)
            measure = measure.scaled_to(y)
        weight = check_sample_weight(sample_weight, X.shape[0], queries)
        warn_of_cut_queries(given, type(self).__name__)
        return Problem(X, y, queries, weight, n_items, qid is not None, measure)

    def _x_checks(self):
        """Return how X is checked."""
        return x_checks(self) | {"as_it_is": self._takes_tables()}

    def _takes_tables(self) -> bool:
        """Return whether tables are handed to the regressor as they are."""
        return False

    def _check_judgments(self, X, y, reset):
        if not isinstance(y, self._judgments):
            names = ["relevances", *(kind.__name__ for kind in self._judgments)]
            raise ValueError(
                f"{type(self).__name__} expects {' or '.join(names)} as y, got "
                f"{type(y).__name__}. PairwiseDisagreementRanker takes a PreferenceTarget, "
                "ERRRanker takes ClickSessions, AggregatedRanker takes both."
            )
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows, y has {len(y)}.")
        self._check_silent(y, reset)
        return y.n_items

    def _check_silent(self, y, reset):
        """Raise for judgments that prefer nothing; a later chunk may."""
        if y.is_silent and reset:
            raise ValueError(
                f"y holds no judgment ({y!r} prefers nothing): there is nothing to learn from."
            )

    def _check_rows(self, X, qid):
        """Validate the rows to be ranked."""
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        X = checked_features(self, X, reset=False, **self._x_checks())
        if qid is not None and self.record_.n_items is not None:
            raise ValueError(
                "qid was given, but this ranker was fitted in the label-ranking form, where "
                "every row is a query of its own: drop qid."
            )
        return X, check_queries(qid, X.shape[0])

    # -- fitted state -------------------------------------------------------------

    def _record(self, problem: Problem, names=frozenset()) -> FitRecord:
        """Return the record of a fit to a problem; ``names`` are queries that must not recur."""
        return FitRecord(
            kind=type(self).__name__,
            measure=problem.measure,
            loss=self._loss_in_force(),
            n_items=problem.n_items,
            has_qid=problem.has_qid,
            alpha=self._penalty(),
            seen=seen_in(problem),
            names=names,
            targets=getattr(self, "targets", "measure"),
            score_function=getattr(self, "score_function", None),
            query_weight=getattr(self, "query_weight", None),
        )

    def _loss_in_force(self):
        """Return the loss that fit minimizes, as the parameters describe it."""
        return getattr(self, "loss", None)

    def _summed_over(self) -> str:
        """Return what the loss is a sum over, "documents" or "pairs" of them."""
        return "documents"

    def _weighed(self, problem: Problem) -> Problem:
        """Return the problem with rows weighed as the parameter `query_weight` says."""
        query_weight = getattr(self, "query_weight", None)
        return weigh_queries(problem, query_weight, self._summed_over())

    def _targets(self, problem: Problem) -> np.ndarray:
        """Return the targets of the measure, in grouped order."""
        measure = problem.measure
        labels = measure.labels(problem.y)
        if getattr(self, "targets", "measure") == "separable":
            return measure.separable_targets(labels)
        return measure.score_targets(labels, problem.queries)

    def _penalty(self):
        """Return the ridge penalty of the parameters; None where a regressor brings its own."""

    @property
    def n_items_(self) -> int | None:
        """Number of items of the label-ranking form; None otherwise."""
        return self.record_.n_items

    def _require_qid(self, qid, method):
        check_is_fitted(self)
        if qid is None and self.record_.has_qid:
            remedy = (
                "Pass qid=qid, y=RankingTarget(y, qid), or route qid in scikit-learn's tools "
                "(scorers of skcalrank.metrics.get_scorer read both)."
                if method == "score"
                else "Pass qid=qid. Tools such as cross_val_predict hand no qid to predict: loop "
                "over the splits of QueryKFold, or score with skcalrank.metrics.get_scorer."
            )
            raise MissingQidError(
                f"{type(self).__name__} was fitted with a qid, and {method} got none. {remedy}"
            )

    # -- what a user calls --------------------------------------------------------

    @abstractmethod
    def decision_function(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the surrogate values u of the documents, such as the estimated targets.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Query of each row. Checked, but values of single documents do not depend on it.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r)
            Under the losses "centered" and "pairwise_squared", up to a constant of each query.
        """

    @lazy_aware
    def predict(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Score the documents: sorting by decreasing score is the predicted ranking.

        Parameters
        ----------
        X, qid
            As in :meth:`decision_function`.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
            Higher is better. For a dask array a lazy array, for a dask DataFrame a lazy Series
            with its index; so does :meth:`rank`, where partitions must hold whole queries.
        """
        return self.decision_function(X, qid)

    @lazy_aware
    def rank(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Rank the documents of each query.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents, or instances in the label-ranking form.
        qid : array-like of shape (n_rows,), default=None
            Query of each row; None = one query, unless the ranker was fitted with a qid.

        Returns
        -------
        positions : ndarray of int of shape (n_rows,) or (n, r)
            1-based position of each document in its query; equal scores stand in row
            order. Of a pandas DataFrame a Series named "rank", or in the label-ranking form a
            DataFrame, with its index.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and gets none.
        """
        self._require_qid(qid, "rank")
        return with_index_of(X, self._places(X, qid), "rank")

    def _places(self, X, qid):
        scores = self.predict(X, qid)
        if scores.ndim == 2:
            return positions(scores.ravel(), Queries.equal(*scores.shape)).reshape(scores.shape)
        queries = check_queries(qid, len(scores))
        return queries.ungroup(positions(queries.group(scores), queries))

    def top_k(self, X: Matrix, qid: ArrayLike | None = None, k: int | None = 10) -> Ints:
        """Return the best documents of each query, best first.

        Parameters
        ----------
        X, qid
            As in :meth:`rank`.
        k : int, default=10
            How many of each query; all of a smaller one.

        Returns
        -------
        rows : ndarray of int of shape (n_found,) or (n, min(k, r))
            Row numbers, one query after the other in order of first appearance; in the
            label-ranking form the numbers of the items, a row for each instance.
        """
        check_cutoff(k)
        refuse_lazy(
            type(self).__name__, "rank(X, qid) <= k tells which rows they are.", X=X, qid=qid
        )
        k = np.inf if k is None else k
        self._require_qid(qid, "top_k")
        place = self._places(X, qid)
        if place.ndim == 2:
            return np.argsort(place, axis=1)[:, : int(min(k, place.shape[1]))]
        queries = check_queries(qid, len(place))
        rows = np.lexsort((place, queries.codes))
        return rows[place[rows] <= k]

    @lazy_aware
    def score(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of the ranker's own measure over the queries, higher is better.

        Parameters
        ----------
        X, qid
            As in :meth:`rank`.
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, or a target that carries its queries.
        sample_weight : array-like of shape (n_rows,), default=None
            A query weighs the mean of its rows.

        Returns
        -------
        score : float
            Exact expectation over equal scores of `predict`; NaN when the measure is 0/0 on every
            query.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and there is none.

        Warns
        -----
        OneQueryWarning
            If y of several rows has no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing.
        """
        check_is_fitted(self)
        qid = carried_qid(y, qid)
        self._require_qid(qid, "score")
        warn_of_one_query(y, qid, type(self).__name__)
        scores = self.predict(X, qid)
        measure, labels = self._scored_by(y)
        if labels is not y:
            # Labels made from judgments do not know what is missing.
            warn_of_cut_queries(y, type(self).__name__)
        return measure_score(measure, labels, scores, qid=qid, sample_weight=sample_weight)

    def _why_weights_do_not_repeat(self) -> str | None:
        """Return why a weight is not a repetition of the row, or None where it is."""
        # A query that counts its documents counts those that a row is repeated into.
        by_count = getattr(self, "query_weight", None) in ("pairs", "equal")
        if by_count or self._loss_in_force() in ("centered", "pairwise_squared"):
            return f"weighed or centered by the query: {COUNTS_DOCUMENTS}"
        separable = getattr(self, "targets", "measure") == "separable"
        return None if separable or self._measure().separable else DEPENDS_ON_LABELS

    def _scored_by(self, y):
        """Return the measure that compares predictions with y, and y as the measure reads it."""
        return self.record_.measure, y


def _check_size(y):
    """Raise for labels whose sums may overflow."""
    largest = np.abs(y).max(initial=0.0)
    if largest > _LARGEST_LABEL:
        raise ValueError(
            f"y holds {largest:g} in absolute value, and sums of such labels overflow: divide the "
            "labels by their largest."
        )
