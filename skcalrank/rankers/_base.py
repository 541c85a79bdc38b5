"""The base of every ranker: validation, regressor, positions, score."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.utils import RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._solvers import (
    effective_loss,
    fit_centred,
    fit_outputs,
    fit_regressor,
    predict_rows,
    takes_nan,
    takes_sparse,
)
from ..data import (
    ClickSessions,
    MissingQidError,
    PreferenceTarget,
    Queries,
    carried_qid,
    check_cutoff,
    check_one_form,
    check_queries,
    check_sample_weight,
    positions,
    refuse_lazy,
    with_index_of,
    x_checks,
)
from ..measures import Measure
from ..metrics import measure_score
from ._chunks import check_new, check_same, merge_rankers, names_that_count, what_is_learnt
from ._lazy import lazy_aware

__all__ = ["BaseRanker", "Problem", "ScoreRanker", "fit_targets"]


# Why the weight of a row is not a repetition of it.
COUNTS_DOCUMENTS = "a query counts its number of documents, which weights do not change"
DEPENDS_ON_LABELS = (
    "targets depend on all labels of the query: a weight weighs, it does not repeat rows"
)


class Problem(NamedTuple):
    """A ranking problem that came through the door.

    Attributes
    ----------
    X : array-like of shape (n_rows, d) or (n, d)
    y : ndarray of shape (n_documents,), or PreferenceTarget
        Relevances in grouped order.
    queries : Queries
    weight : ndarray or None
        Per row of X.
    n_items : int or None
        Number of items of the label-ranking form.
    """

    X: np.ndarray
    y: Any  # ndarray or PreferenceTarget
    queries: Queries
    weight: np.ndarray | None
    n_items: int | None


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

    # Targets that are no arrays and that this ranker takes.
    _judgments: tuple[type, ...] = ()

    @abstractmethod
    def _measure(self) -> Measure:
        """The measure, made of the parameters (and of what fit has learnt of it)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        # Scores order the documents; their scale says nothing about y.
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    # -- the door -----------------------------------------------------------------

    def _check_problem(self, X, y, qid, sample_weight, *, reset=True) -> Problem:
        """Validate the input of fit, or of a chunk that is added (``reset=False``)."""
        refuse_lazy(type(self).__name__, X=X, y=y, qid=qid, sample_weight=sample_weight)
        qid = carried_qid(y, qid)
        checks = x_checks(self) | {"reset": reset}
        if isinstance(y, (PreferenceTarget, ClickSessions)):
            X = validate_data(self, X, **checks)
            n_items, queries = self._check_judgments(X, y), y.queries()
        else:
            if issparse(y):
                raise ValueError("y is sparse: pass relevances as an array, y.toarray().")
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, **checks)
            y = check_one_form(np.asarray(y, dtype=np.float64), qid)
            n_items = y.shape[1] if y.ndim == 2 else None
            queries = Queries.equal(len(y), n_items) if n_items else check_queries(qid, len(y))
            y = queries.group(y.ravel())
        weight = check_sample_weight(sample_weight, X.shape[0], queries)
        if not reset:
            self._check_form(qid, n_items)
        self._has_qid = qid is not None
        self.n_items_ = n_items
        return Problem(X, y, queries, weight, n_items)

    def _check_form(self, qid, n_items):
        """Raise unless a chunk has the form of those before."""
        if n_items != self.n_items_:
            raise ValueError(
                f"y of this chunk has {n_items or 'no'} items in a row, and that of the chunks "
                f"before had {self.n_items_ or 'none'}: all chunks need y of one form."
            )
        if self._has_qid and qid is None:
            raise MissingQidError("The chunks before had a qid, and this one has none: pass qid.")
        if qid is not None and not self._has_qid:
            raise ValueError(
                "This chunk has a qid, and the chunks before had none: pass it always."
            )

    def _check_judgments(self, X, y):
        if not isinstance(y, self._judgments):
            raise ValueError(
                f"{type(self).__name__} wants {self._wants()}, y is a {type(y).__name__}: "
                "PairwiseDisagreementRanker and its kin take a PreferenceTarget, ERRRanker takes "
                "ClickSessions, and AggregatedRanker both."
            )
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows, y has {len(y)}.")
        return y.n_items

    def _wants(self):
        names = [kind.__name__ for kind in self._judgments]
        return " or ".join(["relevances", *names])

    def _check_rows(self, X, qid):
        """Validate the rows to be ranked."""
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        X = validate_data(self, X, reset=False, **x_checks(self))
        if qid is not None and self.n_items_ is not None:
            raise ValueError(
                "qid was given, but this ranker was fitted in the label-ranking form, where "
                "every row is a query of its own: drop qid."
            )
        return X, check_queries(qid, X.shape[0])

    def _require_qid(self, qid, method):
        check_is_fitted(self)
        if qid is None and self._has_qid:
            raise MissingQidError(
                f"{type(self).__name__} was fitted with a qid, and {method} got none. Pass "
                "qid=qid, y=RankingTarget(y, qid), or route qid in scikit-learn's tools "
                "(scorers of skcalrank.metrics.get_scorer read both)."
            )

    # -- what a user calls --------------------------------------------------------

    @abstractmethod
    def decision_function(self, X, qid=None):
        """Return the surrogate values u of the documents.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Query of each row.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r)
        """

    @lazy_aware
    def predict(self, X, qid=None):
        """Score the documents: sorting by decreasing score is the predicted ranking.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents, or instances in the label-ranking form.
        qid : array-like of shape (n_rows,), default=None
            Query of each row; the scores do not depend on it.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
            Higher is better. Of a dask array a lazy one, of a dask DataFrame a lazy Series with
            its index; :meth:`rank` likewise, whose partitions must hold whole queries.
        """
        return self.decision_function(X, qid)

    @lazy_aware
    def rank(self, X, qid=None):
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

    def top_k(self, X, qid=None, k=10):
        """The best documents of each query, best first.

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
    def score(self, X, y, qid=None, sample_weight=None):
        """Mean of the ranker's own measure over the queries, higher is better.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, or a target that carries its queries.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            A query weighs the mean of its rows.

        Returns
        -------
        score : float
            Exact expectation over ties; NaN when the measure is 0/0 on every query.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and there is none.
        """
        check_is_fitted(self)
        qid = carried_qid(y, qid)
        self._require_qid(qid, "score")
        scores = self.predict(X, qid)
        measure, y = self._scored_by(y)
        return measure_score(measure, y, scores, qid=qid, sample_weight=sample_weight)

    def _why_weights_do_not_repeat(self) -> str | None:
        """Return why a weight is not a repetition of the row, or None where it is."""
        if effective_loss(self.loss, self.estimator) == "pairwise_squared":
            return f"pairwise squared: {COUNTS_DOCUMENTS}"
        return None if self._measure().separable else DEPENDS_ON_LABELS

    def _scored_by(self, y):
        """Return the measure that compares predictions with y, and y as the measure reads it."""
        return self._measure(), y


def fit_targets(regressor, problem: Problem, targets, *, pairwise, method="fit"):
    """Fit a regressor to targets in grouped order, or update it."""
    X, queries, weight = problem.X, problem.queries, problem.weight
    if problem.n_items is not None:
        targets = targets.reshape(-1, problem.n_items)
        if pairwise:
            targets = targets - targets.mean(axis=1, keepdims=True)
        return fit_outputs(regressor, X, targets, weight, method=method)
    targets = queries.ungroup(targets)
    if pairwise:
        return fit_centred(regressor, X, targets, queries, weight, method=method)
    return fit_regressor(regressor, X, targets, weight, method=method)


def _can_add_chunks(ranker) -> bool:
    return ranker._can_add_chunks()


def _can_merge(ranker) -> bool:
    return ranker._can_add_chunks() and hasattr(ranker._inner(), "merge")


class ScoreRanker(BaseRanker):
    """Base of rankers whose surrogate has one value per document, and whose map is a sort.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor of scikit-learn; None behaves as ``Ridge()``.
    loss : {"squared", "pairwise_squared"}, default=None
        As in :class:`LeastSquaresRanker`.
    """

    regresses_targets: ClassVar[bool] = True

    __metadata_request__partial_fit = {"qid": True, "sample_weight": True}

    def __init__(self, estimator=None, *, loss=None):
        self.estimator = estimator
        self.loss = loss

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self._inner())
        tags.input_tags.allow_nan = takes_nan(self._inner())
        tags.target_tags.positive_only = self._positive_only()
        return tags

    def _inner(self):
        """The regressor as it was given; None stands for Ridge."""
        return self.estimator

    def _positive_only(self) -> bool:
        return False

    def _targets(self, problem: Problem) -> np.ndarray:
        """What is regressed, in grouped order."""
        measure = self._measure()
        return measure.score_targets(measure.labels(problem.y), problem.queries)

    @lazy_aware
    def fit(self, X, y, qid=None, sample_weight=None):
        """Regress the targets of the measure.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, d)
            Documents, or instances in the label-ranking form. With a dask array or DataFrame here
            and in the other arguments, statistics are computed where its partitions live, for
            `Ridge` (also None, which then is fitted as `GramRidge`), `LinearRegression` and
            `GramRidge`; a partition holds whole queries, see
            :func:`skcalrank.dask.partition_by_query`.
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, higher is better. May carry its queries: a
            :class:`~skcalrank.RankingTarget`, or a pandas Series with an index named
            "qid".
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order. None with
            one-dimensional y: all rows are one query.
        sample_weight : array-like of shape (n_rows,), default=None
            Weighs the squared error of a row; it does not repeat the row, and the
            document is ranked whatever its weight. Weights may depend on the query and
            its documents; weights that depend on the labels change what is learnt.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is no ranking problem, labels do not fit the measure, or the
            regressor cannot do what is asked.
        """
        self._check_params()
        problem = self._check_problem(X, y, qid, sample_weight)
        regressor = Ridge() if self.estimator is None else clone(self.estimator)
        self.estimator_ = self._regress(regressor, problem, "fit")
        self._seen, self._learnt = self._names(problem.queries), what_is_learnt(self)
        return self

    @available_if(_can_add_chunks)
    def partial_fit(self, X, y, qid=None, sample_weight=None):
        """Add queries to those seen.

        There when the regressor has `partial_fit`. A chunk holds whole queries: targets and
        centres are those of a query. With :class:`~skcalrank.linear_model.GramRidge` the result
        is that of one fit to all chunks, under both losses.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`. Without a qid, a chunk of one-dimensional y is one query.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in :meth:`fit`; if the chunk has another form than those before, or measure or loss
            were changed in between; with `GramRidge` also if a query was in an earlier chunk.
            (Regressors that learn by steps, such as ``SGDRegressor``, may see queries again, so a
            query that is cut is not noticed.)
        """
        self._check_params()
        self._check_chunks()
        # What a fit with another regressor has left cannot go on.
        first = not hasattr(getattr(self, "estimator_", None), "partial_fit")
        problem = self._check_problem(X, y, qid, sample_weight, reset=first)
        names, seen = self._names(problem.queries), set() if first else self._seen
        check_new(problem.queries, names & seen)
        learnt = what_is_learnt(self)
        check_same(learnt if first else self._learnt, learnt, "this chunk")
        regressor = clone(self.estimator) if first else self.estimator_
        self.estimator_ = self._regress(regressor, problem, "partial_fit")
        seen |= names
        self._seen, self._learnt = seen, learnt
        return self

    @available_if(_can_merge)
    def merge(self, *others):
        """A ranker that has seen the queries of this one and of the others.

        There when the regressor has `merge`, as :class:`~skcalrank.linear_model.GramRidge` has. The
        result is that of one fit to all rows.

        Parameters
        ----------
        *others : ranker
            Of the same measure and loss, fitted to other queries.

        Returns
        -------
        merged : ranker
            A new one, with the parameters of this one; this one and the others stay as they are.

        Raises
        ------
        ValueError
            If measures, losses or features differ, or two have seen a query of the same name.
        """
        return merge_rankers(self, others)

    def _check_params(self):
        """Raise for parameters that do not fit together."""
        effective_loss(self.loss, self._inner())

    def _check_chunks(self):
        """Raise where the targets of a query depend on other queries."""

    def _can_add_chunks(self) -> bool:
        return hasattr(self._inner(), "partial_fit")

    def _names(self, queries) -> set:
        """The queries, where one that comes again would count twice."""
        return names_that_count(self._inner(), queries) if self._can_add_chunks() else set()

    def _regress(self, regressor, problem: Problem, method):
        """Fit the regressor to the targets, or update it."""
        pairwise = effective_loss(self.loss, self._inner()) == "pairwise_squared"
        return fit_targets(
            regressor, problem, self._targets(problem), pairwise=pairwise, method=method
        )

    @lazy_aware
    def decision_function(self, X, qid=None):
        """Surrogate values, one per document: the estimated targets of the measure.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Checked, but the values do not depend on it.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r)
            Under the loss "pairwise_squared", up to a constant of each query.
        """
        X, _ = self._check_rows(X, qid)
        return predict_rows(self.estimator_, X)

    @property
    def coef_(self):
        """Coefficients of the fitted regressor, where it has them."""
        return self.estimator_.coef_

    @property
    def intercept_(self):
        """Intercept of the fitted regressor, where it has one."""
        return self.estimator_.intercept_

    @property
    def feature_importances_(self):
        """Feature importances of the fitted regressor, where it has them."""
        return self.estimator_.feature_importances_
