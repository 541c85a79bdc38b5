"""Base class of all rankers: input validation, ranking and scoring."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..columns import arrays, tables
from ..columns.types import Array, ArrayLike, Floats, Ints, Labels, Matrix
from ..data import (
    EqualLabelsWarning,
    Judgments,
    MissingQidError,
    OneQueryWarning,
    Queries,
    QuerySizes,
    Rows,
    Target,
    check,
    check_qid,
    lazy_aware,
    positions,
    refuse_lazy,
    settle,
    warn_of_leaks,
    workers_of_fit,
)
from ..measures import Measure, get_measure, warn_unless_grades
from ..metrics import CheckedTarget
from ._penalty import seen_in
from ._plan import Plan
from ._record import FitRecord

# Methods that need the queries even where each document is scored by itself.
_OF_QUERIES = ("rank", "top_k", "score")

# Sums of larger labels may overflow.
_LARGEST_LABEL = 1e290


def planned(ability: str) -> Callable[..., Any]:
    """Return whether the plan of a ranker has an ability, as a function of the ranker."""

    def is_planned(self: BaseRanker) -> bool:
        try:
            plan = self._plan()
        except (ValueError, TypeError):
            return True  # the method exists, and raises for the parameters
        return getattr(plan, ability)

    return is_planned


class BaseRanker(BaseEstimator, metaclass=ABCMeta):
    """Base class of all rankers.

    A ranker is a measure, a surrogate loss, a prediction map and a regressor. A subclass defines
    the measure, ``fit`` and :meth:`surrogate_values`; the base class validates input, ranks and
    scores.

    Attributes
    ----------
    short_names : dict
        Names of the ranker on the command line, and the parameters that each of them sets.
    regresses_targets : bool
        Whether the ranker regresses the targets of its measure;
        :func:`skcalrank.calibration.calibration_of` tells whether it is calibrated.
    takes_label_form : bool
        Whether y may be a matrix, in which every row is a query that ranks the same items.
    takes_unranked : bool
        Whether labels of such a matrix may be NaN, for items that a row does not rank.

    See Also
    --------
    ScoreRanker : Base class of rankers that regress one value per document.
    LinearScorer : Base class of linear rankers that minimize a convex objective.
    PairRanker : Base class of rankers with a surrogate on pairs of documents.
    """

    short_names: ClassVar[dict[str, dict[str, Any]]] = {}
    regresses_targets: ClassVar[bool] = False
    takes_label_form: ClassVar[bool] = True
    takes_unranked: ClassVar[bool] = False
    takes_eval_set: ClassVar[bool] = False

    # Whether tools of scikit-learn pass weights on is the choice of users, as everywhere.
    __metadata_request__fit = {"qid": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__score = {"qid": True}

    # Ranker to suggest for the label-ranking form.
    _for_label_form = "SpearmanRanker()"

    # Types of judgments that y may have instead of an array.
    _judgments: tuple[type[Judgments], ...] = ()

    # Class of the measure, whose options are parameters of the ranker; None if the parameter
    # `measure` names it, or several measures if the ranker takes several. Whether the measure says
    # which labels `y` may have.
    _measure_type: ClassVar[Any] = None
    _takes_several: ClassVar[bool] = False
    _y_is_relevance: ClassVar[bool] = True

    # Whether labels are learned as the measure reads them, by its relevance level.
    _reads_labels: ClassVar[bool] = True

    # Class of the plan, and what it holds besides the parameters.
    _plan_type: ClassVar[type[Plan]] = Plan
    _plan_settings: ClassVar[dict[str, Any]] = {}

    # Name of the rule that tells whether the ranker is calibrated for its measure.
    _theorem: ClassVar[str] = "none"

    # Attribute that another chunk updates, and its method that does so.
    _updated_by: ClassVar[tuple[str, str]] = ("", "")

    record_: FitRecord
    n_features_in_: int
    feature_names_in_: Array

    @property
    def _scores_by_query(self) -> bool:
        """Whether the scores of a document depend on the other documents of its query."""
        return False

    def _measure(self) -> Measure:
        """Return the measure that the parameters describe; of several measures, the first one."""
        params = self.get_params(deep=False)
        if self._measure_type is not None:
            options = {field.name for field in fields(self._measure_type)} & params.keys()
            return self._measure_type(**{name: params[name] for name in options})
        if "measure" not in params:
            raise TypeError(
                f"{type(self).__name__} has no measure: choose a ranker that names one."
            )
        measure = params["measure"]
        if self._takes_several and isinstance(measure, (list, tuple, Mapping)):
            measures = measure.values() if isinstance(measure, Mapping) else measure
            measure = next(iter(measures), "ndcg@10")
        return get_measure(measure)

    def _plan(self) -> Any:
        """Return what the parameters say about the fit."""
        settings = {"kind": type(self).__name__, "measure": self._measure(), **self._plan_settings}
        return self._plan_type.of(self.get_params(deep=False), **settings)

    def _check_params(self) -> Any:
        """Return the plan; raise for parameters that are out of range or do not fit together."""
        check.params(self)
        plan = self._plan()
        plan.check(self)
        return plan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        # Scores order the documents; their scale says nothing about y.
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = self.takes_label_form
        if self._y_is_relevance:
            with suppress(ValueError, TypeError):  # parameters are validated in fit
                tags.target_tags.positive_only = self._takes_positive_only()
        return tags

    def _takes_positive_only(self) -> bool:
        """Return whether labels must be non-negative, without making a measure where possible."""
        if "record_" in vars(self):
            measure = self.record_.plan.measure
        elif self._measure_type is None:
            measure = self._measure()
        elif self._measure_type.is_binary:
            return self._measure_type.positive_only or vars(self).get("relevance_level") is None
        else:
            return self._measure_type.positive_only
        return measure.positive_only or measure.needs_binary_labels

    # -- validation ---------------------------------------------------------------

    def _check_problem(
        self,
        plan: Any,
        X: Any,
        y: Any,
        qid: Any,
        sample_weight: Any,
        *,
        reset: bool = True,
        name: str = "y",
        whole: bool = True,
    ) -> tuple[Any, Rows]:
        """Validate the input of fit, or of another chunk if `reset` is False.

        `name` is "targets" if y holds targets, which have no scale of labels. `whole` is whether y
        is all that the ranker learns from. Return the plan, with the scale of the measure if it
        depends on the labels, and the rows.
        """
        arguments = {"X": X, name: y, "qid": qid, "sample_weight": sample_weight}
        refuse_lazy(type(self).__name__, **arguments)
        check.row_order(**arguments)
        X = self._fit_encoded(X, y, qid) if reset else self._encoded(X)
        labels, table, qid = y, X, check.carried_qid(y, qid)
        plan = replace(plan, reads=self._reads(plan))
        checks = plan.reads.checks() | {"reset": reset}
        if isinstance(y, Judgments):
            X = check.features(self, X, **checks)
            n_items, queries = self._check_judgments(X, y, reset), y.queries()
            settle(OneQueryWarning)  # rankers inside learn from numbers
        else:
            if issparse(y):
                raise ValueError(
                    f"{name} must be dense, got a sparse matrix: pass {name}.toarray()."
                )
            unranked = self.takes_unranked and name == "y"
            y = None if y is None else check.labels(y, name, unranked=unranked)
            # Without labels scikit-learn raises.
            X = check.features(self, X, *([None] if y is None else []), **checks)
            with arrays.naming("X", name):
                check_consistent_length(X, y)
            y = check.one_form(y, qid, name)  # type: ignore[arg-type]
            call = "ranker.fit(X, {})" if name == "y" else "ranker.fit_targets(X, {})"
            check.one_query(y, qid, type(self).__name__, name, call=call)
            n_items = y.shape[1] if y.ndim == 2 else None
            self._check_form(n_items, name)
            if name == "y":
                check.warn_of_positions(y)
            if n_items is None:
                workers_of_fit().require_qid(qid)
            queries = Queries.equal(len(y), n_items) if n_items else check.queries(qid, len(y))
            y = queries.group(y.ravel())
            _check_size(y, name)
        check.warn_of_single_documents(queries)
        weight = check.sample_weight(sample_weight, X.shape[0], queries)
        if isinstance(y, np.ndarray):
            measure = plan.measure
            each = weight if weight is None or n_items else queries.group(weight)
            counted = check.labels_that_count(y, queries, each)
            if name == "y":
                warn_unless_grades([measure], y)
                if not measure.is_scaled:
                    measure.labels(y)  # also those that set no scale
                    y = counted
                plan = replace(plan, measure=_scaled(measure, y))
            if reset and whole:
                self._warn_of_equal_labels(measure, counted, queries, name)
            if reset and whole and not self._hands_tables_on() and workers_of_fit().size == 1:
                warn_of_leaks(table, None if n_items else queries.ungroup(y), queries, qid)
        check.warn_of_cut_queries(labels, type(self).__name__)
        X, table = self._as_scored(X, table)
        rows = Rows(X, y, queries, weight, n_items, qid is not None, table)
        return plan, rows if n_items is None else replace(rows, items=check.item_names(labels))

    def _warn_of_equal_labels(
        self, measure: Measure, labels: Floats, queries: Queries, name: str
    ) -> None:
        """Warn if labels, as the measure reads them, differ in no query."""
        level = measure.level if self._reads_labels and name == "y" else None
        read = labels if level is None else measure.labels(labels)
        check.warn_of_equal_labels(read, queries, name, level)
        settle(EqualLabelsWarning)  # folds of the rows are other ones

    def _check_form(self, n_items: int | None, name: str = "y") -> None:
        """Raise for the label-ranking form if the ranker does not take it."""
        if n_items is not None and not self.takes_label_form:
            raise ValueError(
                f"{name} must be one number for each row, got {n_items} columns (the label-ranking "
                "form). Pass one row for each document with its qid, or choose another ranker, "
                f"such as {self._for_label_form}."
            )

    def _reads(self, plan: Plan) -> check.Reads:
        """Return how X is read."""
        return check.Reads.of(self, tables=plan.reads_tables)

    def _hands_tables_on(self) -> bool:
        """Return whether a ranker inside makes numbers of the columns of a table."""
        return False

    def _check_judgments(self, X: Any, y: Judgments, reset: bool) -> int | None:
        """Return the number of items of judgments y, or raise if y does not suit."""
        if not isinstance(y, self._judgments):
            names = ["relevances", *(kind.__name__ for kind in self._judgments)]
            raise ValueError(
                f"{type(self).__name__} expects {' or '.join(names)} as y, got "
                f"{type(y).__name__}. PairwiseDisagreementRanker takes a PreferenceTarget, "
                "ERRRanker takes ClickSessions, AggregatedRanker takes both, and ClickCounts."
            )
        if X.shape[0] != len(y):
            raise ValueError(f"X and y must have equally many rows, got {X.shape[0]} and {len(y)}.")
        self._check_silent(y, reset)
        return y.n_items

    def _check_silent(self, y: Judgments, reset: bool) -> None:
        """Raise if y holds no judgment at all and there is no other chunk."""
        if y.is_silent and reset:
            raise ValueError(
                f"y must hold at least one judgment, got {y!r}: there is nothing to learn from."
            )

    def _check_rows(self, X: Any, qid: Any, method: str) -> Rows:
        """Validate the rows to be ranked, for a method that ranks or scores them."""
        self._check_fitted()
        qid = qid if method == "score" else check.of_one_query(qid, X)
        if self._scores_by_query or method in _OF_QUERIES:
            self._require_qid(qid, method)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        check.row_order(X=X, qid=qid)
        table = self._encoded(X)
        X = check.features(self, table, reset=False, **self.record_.plan.reads.checks())
        if qid is not None and self.record_.n_items is not None:
            raise ValueError(
                "qid must be None, because this ranker was fitted in the label-ranking form, in "
                "which every row is a query of its own: drop qid."
            )
        queries = check.queries(qid, X.shape[0])
        X, table = self._as_scored(X, table)
        return Rows(X, None, queries, None, self.record_.n_items, qid is not None, table)

    def _fit_encoded(self, X: Any, y: Any, qid: Any) -> Any:
        """Return X as its columns are read, by what is fitted to them."""
        return X

    def _encoded(self, X: Any) -> Any:
        """Return X as the columns of fit are read, if fit got a table."""
        return X

    def _as_scored(self, X: Any, table: Any) -> tuple[Any, Any]:
        """Return the matrix as the scores read it, and the table for the rankers inside."""
        return X, table

    # -- fitted state -------------------------------------------------------------

    def _record(
        self, plan: Plan, rows: Rows, names: Any = frozenset(), varied: bool = False
    ) -> FitRecord:
        """Return the record of a fit; `names` are queries that must not occur again."""
        record = FitRecord(
            plan=plan.without_regressor(),
            n_items=rows.n_items,
            items=rows.items,
            has_qid=rows.named,
            sizes=QuerySizes.of(rows.queries) if rows.named else None,
            seen=seen_in(rows),
            names=names,
            varied=varied,
            missing=() if getattr(plan, "closed_form", False) else rows.missing,
        )
        return record.of_all(rows.queries.hashes)

    def _targets(self, plan: Plan, rows: Rows) -> Floats:
        """Return the targets to be learned, in grouped order."""
        return plan.targets_of(rows)

    def _can_go_on(self) -> bool:
        """Return whether the fitted state can be updated with another chunk."""
        attribute, method = self._updated_by
        return hasattr(vars(self).get(attribute), method)

    def _check_fitted(self) -> None:
        """Raise NotFittedError before fit; scikit-learn's function alone costs a small predict."""
        if "record_" not in vars(self):
            check_is_fitted(self)

    @property
    def n_items_(self) -> int | None:
        """Number of items of the label-ranking form; None otherwise."""
        return self.record_.n_items

    @property
    def item_names_in_(self) -> Array:
        """Names of the items, if y has names that are all strings."""
        items = self.record_.items
        if items is None:
            raise AttributeError("item_names_in_ exists only if y had columns with names.")
        return np.array(items, dtype=object)

    def _require_qid(self, qid: Any, method: str) -> None:
        """Raise MissingQidError if qid is None and fit had one."""
        self._check_fitted()
        if qid is None and self.record_.has_qid:
            remedy = (
                "Pass qid=qid, y=RankingTarget(y, qid), or route qid in scikit-learn's tools "
                "(scorers of skcalrank.metrics.get_scorer read both). A Pipeline of scikit-learn "
                "does not pass qid to score: use skcalrank.pipeline.make_query_pipeline."
                if method == "score"
                else "Pass qid=qid, or qid=0 if all rows are one query. Tools such as "
                "cross_val_predict do not pass qid to predict: loop over the splits of QueryKFold, "
                "or score with skcalrank.metrics.get_scorer."
            )
            raise MissingQidError(
                f"{type(self).__name__} was fitted with a qid, and {method} got none. {remedy}"
            )

    # -- public methods -----------------------------------------------------------

    @abstractmethod
    def _scores(self, rows: Rows) -> Any:
        """Return the scores of validated rows, in row order."""

    @lazy_aware
    def surrogate_values(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the surrogate values u of the documents, such as the estimated targets.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents, or instances in the label-ranking form.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row; a scalar means that all rows are one query. It is validated, but
            the values do not depend on it.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r)
            Surrogate values. Under the losses "centered" and "pairwise_squared" they are determined
            up to a constant of each query.
        """
        if tables.is_empty(X):
            return self._of_no_rows(X, qid)
        return self._scores(self._check_rows(X, qid, "surrogate_values"))

    @lazy_aware
    def predict(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Score the documents: sorting by decreasing score is the predicted ranking.

        Parameters
        ----------
        X, qid
            As in :meth:`surrogate_values`.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
            Higher is better. The result is a lazy array for a dask array, and a lazy Series with
            the same index for a dask DataFrame. The same holds for :meth:`rank`, where each
            partition must hold whole queries.
        """
        if tables.is_empty(X):
            return self._of_no_rows(X, qid)
        return self._scores(self._check_rows(X, qid, "predict"))

    def _of_no_rows(self, X: Matrix, qid: ArrayLike | None) -> Floats:
        """Return the scores where there are no candidates, and hence no queries of candidates."""
        self._check_fitted()
        if qid is not None:
            check_qid(check.of_one_query(qid, X), 0)
        return np.zeros(0 if self.record_.n_items is None else (0, self.record_.n_items))

    @lazy_aware
    def rank(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Rank the documents of each query.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents, or instances in the label-ranking form.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row; a scalar such as ``qid=0`` means that all rows are one query. If
            None, all rows are one query, which is an error if the ranker was fitted with a qid.

        Returns
        -------
        positions : ndarray of int of shape (n_rows,) or (n, r)
            1-based position of each document in its query; documents with equal scores are ranked
            in row order. For a pandas DataFrame the result is a Series named "rank" with the same
            index, or in the label-ranking form a DataFrame whose columns are the names of the
            items.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and gets none.
        """
        if tables.is_empty(X):
            places = self._of_no_rows(X, qid).astype(np.intp)
        else:
            places = self._places(self._check_rows(X, qid, "rank"))
        return tables.with_index_of(X, places, "rank", self.record_.items)

    def _places(self, rows: Rows) -> Ints:
        """Return the position of each document, in row order."""
        scores, queries = self._scores(rows), rows.queries
        if scores.ndim == 2:
            return positions(scores.ravel(), Queries.equal(*scores.shape)).reshape(scores.shape)
        return queries.ungroup(positions(queries.group(scores), queries))

    def top_k(self, X: Matrix, qid: ArrayLike | None = None, k: int | None = 10) -> Any:
        """Return the best documents of each query, best first.

        Parameters
        ----------
        X, qid
            As in :meth:`rank`.
        k : int, default=10
            Number of documents to return per query; a query with fewer returns all of them, as does
            every query if None.

        Returns
        -------
        rows : ndarray of int of shape (n_found,) or (n, min(k, r))
            Row numbers, one query after the other in order of first appearance. If X is a pandas
            DataFrame with another index than 0, 1, ... in order, its labels, as an Index for
            ``X.loc``; the number of a row is its place in ``X.index``. In the label-ranking form
            each row holds the item numbers of one instance, whose names, if y had names in fit, are
            ``ranker.item_names_in_[items]``.

        Raises
        ------
        ValueError
            If labels of the index are repeated.
        """
        check.cutoff(k)
        refuse_lazy(type(self).__name__, "rank(X, qid) <= k marks the same rows.", X=X, qid=qid)
        k = np.inf if k is None else k
        if tables.is_empty(X):
            none = self._of_no_rows(X, qid).astype(np.intp)[..., : None if k == np.inf else k]
            return tables.as_labels(X, none)
        rows = self._check_rows(X, qid, "top_k")
        place = self._places(rows)
        if place.ndim == 2:
            return np.argsort(place, axis=1)[:, : int(min(k, place.shape[1]))]
        best = np.lexsort((place, rows.codes))
        return tables.as_labels(X, best[place[best] <= k])

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
            Weights of the rows. The weight of a query is the mean over its rows.

        Returns
        -------
        score : float
            Mean of the measure, in exact expectation over the order of documents with equal scores;
            NaN if the measure is undefined (0/0) on every query.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and there is none, or y has more than 200 rows and
            no qid.

        Warns
        -----
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        SingleDocumentsWarning
            If there are nearly as many queries as rows.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing, or if a query of fit
            comes back with another number of rows.
        """
        check_is_fitted(self)
        check.row_order(X=X, y=y, qid=qid, sample_weight=sample_weight)
        check.same_items(self, y)
        qid = check.carried_qid(y, qid)
        rows = self._check_rows(X, qid, "score")
        check.one_query(y, qid, type(self).__name__, call="ranker.score(X, {})")
        check.warn_of_single_documents(rows.queries)
        check.warn_of_changed_queries(self.record_.sizes, y, rows.queries)
        return self._score_of(self._scores(rows), y, qid, rows.queries, sample_weight)

    def _score_of(
        self, scores: Floats, y: Any, qid: Any, queries: Queries, sample_weight: Any
    ) -> float:
        """Return the mean of the measure for scores in row order."""
        measure, labels = self._scored_by(y)
        if labels is not y:
            # Labels made from judgments do not record which rows are missing.
            check.warn_of_cut_queries(y, type(self).__name__)
        target = CheckedTarget.of(labels, qid, queries)
        values = target.evaluate({"score": measure}, scores, sample_weight=sample_weight)
        return values["score"]

    def _scored_by(self, y: Any) -> tuple[Measure, Any]:
        """Return the measure that compares predictions with y, and y as the measure reads it."""
        if isinstance(y, Target) and y.is_part:
            self._measure().require_scale("if y is a part of a target", "the rows of each fit")
        return self.record_.measure, y


def _scaled(measure: Measure, y: Floats) -> Measure:
    """Return a measure with the scale of the labels of all workers, of which y are some."""
    scaled = measure.scaled_to(y)
    if measure.is_scaled or workers_of_fit().size == 1:
        return scaled
    return measure.scaled_to(workers_of_fit().total(lambda: y[[y.argmax()]], np.concatenate))


def _check_size(y: Floats, name: str) -> None:
    """Raise if labels or targets are so large that their sums may overflow."""
    largest = np.fmax.reduce(np.abs(y), initial=0.0)
    if largest > _LARGEST_LABEL:
        raise ValueError(
            f"{name} must be at most {_LARGEST_LABEL:g} in absolute value, so that sums do not "
            f"overflow, got {largest:g}: divide {name} by the largest of them."
        )
