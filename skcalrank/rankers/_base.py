"""Base classes of all rankers, and of those that learn one target per document."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags
from sklearn.utils.validation import check_is_fitted

from ..columns import tables
from ..columns.types import Array, ArrayLike, Floats, Ints, Labels, Matrix, Self
from ..data import (
    QUERY_WEIGHTS,
    Judgments,
    MissingQidError,
    Queries,
    QuerySizes,
    Rows,
    Target,
    available_if,
    check,
    check_qid,
    fitting,
    lazy_aware,
    limits,
    positions,
    refuse_lazy,
)
from ..judgments import PREFERENCE_WEIGHTS
from ..losses import LOSSES, Loss, get_loss
from ..measures import Measure, get_measure
from ..metrics import CheckedTarget, RowPolicies
from ._door import door
from ._plan import FIT, Call, Plan
from ._record import FitRecord
from ._regression import AUTO, seen_in

# Methods that need the queries even where each document is scored by itself.
_OF_QUERIES = ("rank", "top_k", "score")


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

    # Function that reads the parameter `measure`.
    _read_measure: ClassVar[Any] = staticmethod(get_measure)

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

    # Constraints of parameters by name; a class adds its own, or states another one of that name.
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [limits.NON_NEGATIVE, limits.one_of(AUTO)],
        "columns": [Mapping, None],
        # A string has a method `split` too, so the type alone does not decide.
        "cv": limits.OWN_ERROR,
        "estimator": limits.REGRESSOR,
        "fit_intercept": ["boolean"],
        "k": [limits.AT_LEAST_ONE, None],
        "loss": limits.OWN_ERROR,
        "measure": limits.OWN_ERROR,
        "n_jobs": [limits.Integers(), None],
        "query_weight": [limits.one_of(*QUERY_WEIGHTS), None],
        "random_state": ["random_state"],
        "ranker": limits.OWN_ERROR,
        "relevance_level": [limits.FINITE, None],
        "targets": [limits.one_of("measure", "separable")],
        "verbose": ["verbose"],
        "weights": [limits.one_of(*PREFERENCE_WEIGHTS)],
    }

    # Functions of the ranker and its plan that raise for parameters which do not fit together, in
    # addition to those of the base classes.
    _rules: ClassVar[Any] = ()

    # Whether X may be sparse, unless a regressor tells.
    _takes_sparse: ClassVar[bool] = False

    # How X is read, whatever the tags say.
    _reads_also: ClassVar[dict[str, bool]] = {}

    # Why weights do not act as repetitions of rows, if the plan does not tell.
    _weights_note: ClassVar[str | None] = None

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
        params = limits.settings(self)
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
        return self._read_measure(measure)

    def _plan(self) -> Any:
        """Return what the parameters say about the fit."""
        settings = {"kind": type(self).__name__, "measure": self._measure(), **self._plan_settings}
        return self._plan_type.of(limits.settings(self), **settings)

    def _check_params(self, call: Call = FIT) -> Any:
        """Return the plan of a call; raise for parameters that do not fit together."""
        check.params(self)
        plan = replace(self._plan(), call=call)
        for cls in reversed(type(self).__mro__):
            for rule in vars(cls).get("_rules", ()):
                rule(self, plan)
        return replace(plan, reads=self._reads(plan))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        # Scores order the documents; their scale says nothing about y.
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = self.takes_label_form
        tags.input_tags.sparse = self._takes_sparse
        if self._y_is_relevance:
            with suppress(ValueError, TypeError):  # parameters are validated in fit
                tags.target_tags.positive_only = self._takes_positive_only()
        return tags

    def _takes_positive_only(self) -> bool:
        """Return whether labels must be non-negative, without making a measure where possible."""
        kind, is_fitted = self._measure_type, "record_" in vars(self)
        if kind is not None and not is_fitted:
            has_no_level = vars(self).get("relevance_level") is None
            return kind.positive_only or (kind.is_binary and has_no_level)
        measure = self.record_.plan.measure if is_fitted else self._measure()
        return measure.positive_only or measure.needs_binary_labels

    # -- validation ---------------------------------------------------------------

    def _reads(self, plan: Plan) -> check.Reads:
        """Return how X is read."""
        reads = check.Reads.of(self, tables=plan.reads_tables or self._hands_tables_on())
        return reads._replace(**self._reads_also)

    def _hands_tables_on(self) -> bool:
        """Return whether a ranker inside makes numbers of the columns of a table."""
        return False

    def _check_rows(self, X: Any, qid: Any, method: str) -> Rows:
        """Validate the rows to be ranked, for a method that ranks or scores them."""
        self._check_fitted()
        qid = qid if method == "score" else check.of_one_query(qid, X)
        if qid is None and (self._scores_by_query or method in _OF_QUERIES):
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
        return FitRecord(
            plan=plan.without_regressor(),
            n_items=rows.n_items,
            items=rows.items,
            has_qid=rows.named,
            sizes=QuerySizes.of(rows.queries) if rows.named else None,
            seen=seen_in(rows),
            names=names,
            varied=varied,
            missing=() if getattr(plan, "closed_form", False) else rows.missing,
        ).of_all(rows.queries.hashes)

    def _targets(self, plan: Plan, rows: Rows) -> Floats:
        """Return the targets to be learned, in grouped order."""
        targets = plan.targets_of(rows)
        # Targets of labels of positional measures must depend on the label of the document alone,
        # and a shift by the lowest of the noisy estimates of a query would make them biased.
        shifts = plan.measure.shape == "pairs" or (plan.estimated and not plan.of_clicks)
        for loss in self._target_losses() if shifts else ():
            targets = loss.standardize(targets, rows.queries)
        return targets

    def _target_losses(self) -> list[Loss]:
        """Return the losses by which targets are learned, which may take no negative ones."""
        loss = self._plan().loss
        return [get_loss(loss)] if loss in LOSSES or hasattr(loss, "standardize") else []

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
            the same index for a dask DataFrame, as that of :meth:`rank`. For ranks, and for scores
            that depend on the query, each partition must hold whole queries.
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
        self._check_fitted()
        qid = check.carried_qid(y, qid, X=X, sample_weight=sample_weight)
        check.same_items(self, y)
        rows = self._check_rows(X, qid, "score")
        check.one_query(y, qid, type(self).__name__, call="ranker.score(X, {})")
        check.warn_of_single_documents(rows.queries)
        check.warn_of_changed_queries(self.record_.sizes, y, rows.queries)
        check.warn_of_cut_queries(y, type(self).__name__)
        return self._score_of(self._scores(rows), y, qid, rows.queries, sample_weight)

    def _score_of(
        self, scores: Floats, y: Any, qid: Any, queries: Queries, sample_weight: Any
    ) -> float:
        """Return the mean of the measure for scores in row order."""
        measure, labels = self._scored_by(y)
        target = CheckedTarget.of(labels, qid, queries)
        return target.evaluate({"": measure}, scores, RowPolicies(), sample_weight)[""]

    def _scored_by(self, y: Any) -> tuple[Measure, Any]:
        """Return the measure that compares predictions with y, and y as the measure reads it."""
        if isinstance(y, Target) and y.is_part:
            self._measure().require_scale("if y is a part of a target", "the rows of each fit")
        return self.record_.measure, y


class TargetRanker(BaseRanker):
    """Base class of rankers that learn one target per document.

    A subclass computes targets from labels, and may be fitted to other targets in their place.
    """

    @available_if(planned("on_documents"))
    @fitting
    def fit_targets(
        self,
        X: Matrix,
        targets: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        r"""Fit the ranker to targets in place of labels.

        :meth:`fit` computes the targets of the measure from labels. Where labels are not known but
        estimated, as from clicks, pass what estimates their targets without bias: with squared
        losses the ranker is linear in the targets, so that the errors of unbiased targets average
        out. Such targets may be negative, fractional, or above the highest label.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            As in :meth:`fit`.
        targets : array-like of shape (n_rows,) or (n, r)
            Finite numbers, higher is better, in place of the targets of the measure: of the
            relevance for precision, of the gain for DCG, of the gain over the ideal DCG for NDCG.
            They may carry their queries, as labels may.
        qid : array-like of shape (n_rows,), default=None
            As in :meth:`fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            As in :meth:`fit`, such as larger weights for targets that are estimated from more
            clicks.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the targets are not finite numbers, one per document, or are negative and the loss
            needs non-negative ones.

        Warns
        -----
        OneQueryWarning
            If there are 2 to 200 rows and no qid.
        CutQueriesWarning
            If the targets carry their queries and rows of some of them are missing.

        Notes
        -----
        ``fit_targets(X, targets)`` with the targets of the measure is ``fit(X, y)``. A measure
        with a scale that :meth:`fit` takes from the labels, as ERR, has none after it, and
        :meth:`score` takes the scale from the labels that it is given.

        :class:`LeastSquaresRankerCV` and :class:`BoostedRanker` compare rankings of held-out
        queries by the sum of the targets times the discounts of their positions: the measure up to
        a constant, without bias where the targets have none.
        """
        check.refuse_judgments(targets)
        return self._fit(self._check_params(Call(of_targets=True)), X, targets, qid, sample_weight)

    def _fit(self, plan: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> Self:
        """Validate the arguments of a call, and fit to targets that are made of y, or are y."""
        return self._fit_to_targets(*self._problem(plan, X, y, qid, sample_weight))

    def _problem(
        self, plan: Any, X: Any, y: Any, qid: Any, sample_weight: Any
    ) -> tuple[Any, Rows, Floats]:
        """Return the plan for the labels of a call, its rows, and the targets to be learned."""
        plan, rows = door(self, plan, X, y, qid, sample_weight)
        return plan, rows, rows.y if plan.call.of_targets else self._targets(plan, rows)

    @abstractmethod
    def _fit_to_targets(self, plan: Any, rows: Rows, targets: Floats) -> Self:
        """Fit to targets in grouped order, of the measure or given in their place."""
