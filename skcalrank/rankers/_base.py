"""The base of every ranker: validation, regressor, positions, score."""

from __future__ import annotations

import copy
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
    SQUARED_LOSSES,
    effective_loss,
    fit_centred,
    fit_outputs,
    fit_regressor,
    is_closed_form,
    predict_rows,
    takes_nan,
    takes_sparse,
)
from ..data import (
    NON_NEGATIVE,
    REGRESSOR,
    Judgments,
    MissingQidError,
    Queries,
    all_or_nothing,
    carried_qid,
    check_cutoff,
    check_one_form,
    check_params,
    check_queries,
    check_regressor,
    check_sample_weight,
    one_of,
    positions,
    refuse_lazy,
    refuse_second_penalty,
    with_index_of,
    x_checks,
)
from ..measures import Measure
from ..metrics import measure_score
from ._lazy import lazy_aware
from ._record import FitRecord

__all__ = ["BaseRanker", "Problem", "ScoreRanker", "fit_targets"]


# Why the weight of a row is not a repetition of it.
COUNTS_DOCUMENTS = "a query counts its number of documents, which weights do not change"
DEPENDS_ON_LABELS = (
    "targets depend on all labels of the query: a weight weighs, it does not repeat rows"
)


class Problem(NamedTuple):
    """A validated ranking problem.

    Attributes
    ----------
    X : array-like of shape (n_rows, d) or (n, d)
    y : ndarray of shape (n_documents,), or Judgments
        Relevances in grouped order.
    queries : Queries
    weight : ndarray or None
        Per row of X.
    n_items : int or None
        Number of items of the label-ranking form.
    has_qid : bool
        Whether the queries were named.
    measure : Measure
        The measure of the ranker, with what it reads off all labels filled in.
    of_clicks : bool
        Whether the relevances were made from click sessions.
    """

    X: np.ndarray
    y: Any  # ndarray or Judgments
    queries: Queries
    weight: np.ndarray | None
    n_items: int | None
    has_qid: bool
    measure: Measure
    of_clicks: bool = False


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
        qid = carried_qid(y, qid)
        checks = x_checks(self) | {"reset": reset}
        measure = self._measure()
        if isinstance(y, Judgments):
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
            measure = measure.scaled_to(y)
        weight = check_sample_weight(sample_weight, X.shape[0], queries)
        return Problem(X, y, queries, weight, n_items, qid is not None, measure)

    def _check_judgments(self, X, y):
        if not isinstance(y, self._judgments):
            names = ["relevances", *(kind.__name__ for kind in self._judgments)]
            raise ValueError(
                f"{type(self).__name__} expects {' or '.join(names)} as y, got "
                f"{type(y).__name__}. PairwiseDisagreementRanker takes a PreferenceTarget, "
                "ERRRanker takes ClickSessions, AggregatedRanker takes both."
            )
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows, y has {len(y)}.")
        return y.n_items

    def _check_rows(self, X, qid):
        """Validate the rows to be ranked."""
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        X = validate_data(self, X, reset=False, **x_checks(self))
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
            names=names,
        )

    def _loss_in_force(self):
        """Return the loss that fit minimizes, as the parameters describe it."""
        return getattr(self, "loss", None)

    def _targets(self, problem: Problem) -> np.ndarray:
        """Return the targets of the measure, in grouped order."""
        measure = problem.measure
        return measure.score_targets(measure.labels(problem.y), problem.queries)

    def _penalty(self):
        """Return the ridge penalty of the parameters; None where a regressor brings its own."""

    @property
    def n_items_(self):
        """Number of items of the label-ranking form; None otherwise."""
        return self.record_.n_items

    def _require_qid(self, qid, method):
        check_is_fitted(self)
        if qid is None and self.record_.has_qid:
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
        if self._loss_in_force() == "pairwise_squared":
            return f"pairwise squared: {COUNTS_DOCUMENTS}"
        return None if self._measure().separable else DEPENDS_ON_LABELS

    def _scored_by(self, y):
        """Return the measure that compares predictions with y, and y as the measure reads it."""
        return self.record_.measure, y


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


def names_of(queries: Queries) -> frozenset:
    """Return the names of the queries; none where all rows are one query."""
    return frozenset(() if queries.names is None else queries.names.tolist())


def _own_copy(regressor):
    """Return a copy that takes another chunk and leaves the regressor as it was."""
    # A regressor of moments replaces its attributes; others may change arrays in place.
    return copy.copy(regressor) if is_closed_form(regressor) else copy.deepcopy(regressor)


class ScoreRanker(BaseRanker):
    """Base of rankers whose surrogate has one value per document, and whose map is a sort.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor of scikit-learn; None behaves as ``Ridge(alpha)``.
    alpha, loss
        As in :class:`LeastSquaresRanker`.
    """

    regresses_targets: ClassVar[bool] = True

    __metadata_request__partial_fit = {"qid": True, "sample_weight": True}

    _takes_targets = True

    estimator_: Any

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [REGRESSOR, None],
        "alpha": [NON_NEGATIVE],
        "loss": [one_of(*SQUARED_LOSSES), None],
    }

    def __init__(self, estimator=None, *, alpha=1.0, loss=None):
        self.estimator = estimator
        self.alpha = alpha
        self.loss = loss

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self._given_regressor())
        tags.input_tags.allow_nan = takes_nan(self._given_regressor())
        tags.target_tags.positive_only = self._positive_only()
        return tags

    def _given_regressor(self):
        """Return the regressor passed by the user; None means Ridge."""
        return check_regressor(self, self.estimator)

    def _positive_only(self) -> bool:
        return False

    @lazy_aware
    @all_or_nothing
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
        return self._fit_to_targets(problem, self._targets(problem))

    @available_if(lambda self: self._can_add_chunks())
    @all_or_nothing
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
        problem = self._check_problem(X, y, qid, sample_weight, reset=not self._can_go_on())
        return self._fit_to_targets(problem, self._targets(problem), "partial_fit")

    def _can_go_on(self) -> bool:
        """Return whether the fitted regressor takes another chunk: one without them cannot."""
        return hasattr(getattr(self, "estimator_", None), "partial_fit")

    def _fit_to_targets(self, problem: Problem, targets, method="fit"):
        """Regress targets in grouped order, those of the measure or others in their place."""
        goes_on = method == "partial_fit" and self._can_go_on()
        record = self._record(problem, self._names(problem.queries))
        record = self.record_.add(record) if goes_on else record
        regressor = _own_copy(self.estimator_) if goes_on else self._new_regressor()
        pairwise = self._loss_in_force() == "pairwise_squared"
        self.estimator_ = fit_targets(regressor, problem, targets, pairwise=pairwise, method=method)
        self.record_ = record
        return self

    @available_if(lambda self: self._can_add_chunks() and hasattr(self._given_regressor(), "merge"))
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
        for ranker in (self, *others):
            check_is_fitted(ranker)
        merged = copy.copy(self)
        merged.record_ = self.record_.merge(other.record_ for other in others)
        merged.estimator_ = self.estimator_.merge(*(other.estimator_ for other in others))
        return merged

    def _check_params(self):
        """Raise for parameters that are out of range or do not fit together."""
        regressor = self._given_regressor()
        check_params(self)
        if regressor is not None:
            refuse_second_penalty(self)

    def _loss_in_force(self):
        return effective_loss(self.loss, self._given_regressor())

    def _check_chunks(self):
        """Raise where the targets of a query depend on other queries."""

    def _penalty(self):
        return float(self.alpha) if self.estimator is None else None

    def _can_add_chunks(self) -> bool:
        return hasattr(self._given_regressor(), "partial_fit")

    def _new_regressor(self):
        return Ridge(self.alpha) if self.estimator is None else clone(self.estimator)

    def _names(self, queries) -> frozenset:
        """Return the names of queries that would count twice if they came again."""
        exact = self._can_add_chunks() and is_closed_form(self._given_regressor())
        return names_of(queries) if exact else frozenset()

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
    def alpha_(self):
        """Ridge penalty that was used; there where ``estimator`` is None."""
        if self.record_.alpha is None:
            raise AttributeError("The estimator brought its own penalty: see estimator_.")
        return self.record_.alpha

    @property
    def penalty_scale_(self):
        """Units that ``alpha_`` is counted in, one of each feature; there where it is."""
        _ = self.alpha_
        return np.ones(self.n_features_in_)

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
