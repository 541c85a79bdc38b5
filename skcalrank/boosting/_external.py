"""Rankers of other libraries, and regressors, as rankers of this package."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import InputTags

from .._solvers import fits_in_closed_form, with_ties
from ..columns import tables
from ..columns.types import ArrayLike, Estimator, Floats, Labels, Matrix, Self
from ..data import Rows, apart, available_if, call_step, check, fitting
from ..measures import Measure
from ..pipeline import QueryPipeline
from ..preprocessing import LinearColumns, by_column
from ..rankers import Call, door, in_closed_form, is_ranker
from ..trees import TreeScores, library_of, reads_queries, summing_to
from ._estimators import reads_tables, scores_of, taken_by, takes_targets
from ._ranker import BoostedRanker
from ._reader import TableReader
from ._training import categories_of


class ExternalRanker(TableReader):
    """A ranker of another library, or a regressor, used as a ranker of this package.

    Use it to search, compare, stack or export a model that you already have. LightGBM, XGBoost and
    CatBoost each take queries in a form of their own, and rows in which every query is contiguous.
    Here the qid has any type and any order, and goes to `fit`, `predict`, scorers, searches and
    comparisons as for every other ranker.

    Tables are read by a :class:`~skcalrank.preprocessing.TableEncoder`. The libraries, and the
    histogram trees of scikit-learn, get columns of categories marked as such, and other estimators
    that take missing values get their codes. For estimators that do not take missing values,
    :class:`~skcalrank.preprocessing.LinearColumns` makes indicators of the categories and fills
    gaps. A pipeline, a search of pipelines and a frozen estimator get the table as it is.

    Parameters
    ----------
    estimator : estimator, default=None
        An LGBMRanker, XGBRanker or CatBoostRanker, or any estimator whose `predict` returns one
        number for each row, such as a regressor of scikit-learn; no classifier. It is cloned.
        Parameters with numbers of columns mean those of the matrix that the table is read as. None
        means ``HistGradientBoostingRegressor(random_state=0)``.
    measure : str or Measure, default="ndcg@10"
        Measure that :meth:`score` computes. The estimator does not learn it: set its own objective.
    columns : dict, default=None
        Kinds of columns by name, as in :class:`BoostedRanker`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, behind a :class:`~skcalrank.preprocessing.LinearColumns` in a
        pipeline if it does not take missing values and X is a table.
    encoder_ : TableEncoder or None
        Reader of the columns, if X is a table or an array of objects, and the estimator does not
        read tables in its own way.
    feature_importances_ : ndarray of shape (d,)
        Importances as the estimator defines them, if it does.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    BoostedRanker : Trees of LightGBM or XGBoost with calibrated losses, stopped on the measure.
    NDCGRanker : Regression of the targets of a measure, by any regressor.
    StackingRanker : Mix of several rankers, also of other libraries.

    Notes
    -----
    On an array in which queries are contiguous, the scores are those of the estimator itself, to
    the last bit: rows keep their order. Otherwise the queries come in order of first appearance.
    Objectives such as lambdarank start with equal scores, which are ranked in row order, so that
    the order of the rows has an effect on them. Queries of weight 0 are left out, and equal weights
    count as none.

    The weights of the documents become the mean weight of each query for XGBRanker, which takes one
    weight for a query.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from skcalrank import ExternalRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> trees = ExtraTreesRegressor(20, random_state=0)
    >>> ranker = ExternalRanker(trees, "ndcg@5").fit(X[qid < 30], y[qid < 30], qid[qid < 30])
    >>> test = qid >= 30
    >>> bool(ranker.score(X[test], y[test], qid[test]) > 0.6)
    True
    """

    takes_label_form = False
    _reads_labels = False
    _weights_note = "each estimator uses weights in its own way"

    def __init__(
        self,
        estimator: Estimator | None = None,
        measure: str | Measure = "ndcg@10",
        *,
        columns: Mapping[Any, str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.columns = columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = library_of(self._inner()).takes(self._inner())
        sparse, nan = takes.sparse, takes.allow_nan
        # Others take categories in tables only.
        tags.input_tags = InputTags(sparse=sparse, allow_nan=nan, string=True, categorical=nan)
        return tags

    def _inner(self) -> Any:
        """Return the estimator that is cloned."""
        given = check.valid_regressor(self.estimator)
        return HistGradientBoostingRegressor(random_state=0) if given is None else given

    def _reads(self, plan: Any) -> Any:
        return super()._reads(plan)._replace(tables=reads_tables(self._inner()))

    def _why_unread(self) -> str | None:
        if not reads_tables(self._inner()):
            return None
        return f"{type(self._inner()).__name__} reads tables in its own way"

    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, with the queries in its own form if it reads them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, or a scalar, as in :meth:`LeastSquaresRanker.fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows, in the sense of the estimator.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, the estimator is a classifier, the input is not a ranking
            problem, or the labels do not fit the measure or the objective of the estimator.
        TypeError
            If `sample_weight` is given and the estimator does not take weights.

        Warns
        -----
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing.
        """
        plan, rows = door(self, self._check_params(), X, y, qid, sample_weight)
        plan.measure.labels(rows.y)
        if is_classifier(self._inner()):
            raise ValueError(
                f"estimator must be a ranker or a regressor, got {self.estimator!r}: it predicts "
                "classes, which tie most documents. Pass the regressor of its library."
            )
        library_of(self._inner()).check_labels(self._inner(), rows.y)
        return self._fit_rows(plan, rows)

    @available_if(lambda self: takes_targets(self._inner()))
    @fitting
    def fit_targets(
        self,
        X: Matrix,
        targets: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator to targets in place of labels.

        Available if the estimator is a regressor that does not read queries.

        Parameters
        ----------
        X, qid, sample_weight
            As in :meth:`fit`.
        targets : array-like of shape (n_rows,)
            As in :meth:`NDCGRanker.fit_targets`.

        Returns
        -------
        self
        """
        check.refuse_judgments(targets)
        plan = self._check_params(Call(of_targets=True))
        return self._fit_rows(*door(self, plan, X, targets, qid, sample_weight))

    def _fit_rows(self, plan: Any, rows: Rows) -> Self:
        """Fit a clone of the estimator to validated rows."""
        record, rows = self._record(plan, rows), rows.weighted()
        estimator = clone(self._inner())
        if reads_queries(estimator) and rows.queries.order is not None:
            rows = rows.take(rows.queries.order)
        library, marks = library_of(estimator), {}
        if self.encoder_ is not None and not library.takes(estimator).allow_nan:
            estimator = QueryPipeline([("columns", LinearColumns()), ("estimator", estimator)])
        elif kinds := categories_of(self):
            marks = library.mark(estimator, rows.X.shape[1], kinds)
        arguments = library.arguments(estimator, rows)
        if rows.weight is not None and not np.ptp(rows.weight):
            del arguments["sample_weight"]  # a penalty would depend on its size
        X, y = self._matrix(estimator, rows), rows.in_order(rows.y)
        self.estimator_ = call_step(estimator, "fit", X, y, **arguments, **marks)
        self._taken = taken_by(self.estimator_)
        self.record_ = record
        return self

    def _matrix(self, estimator: Any, rows: Rows) -> Any:
        """Return the features of rows as an estimator reads them."""
        if isinstance(estimator, QueryPipeline) and self.encoder_ is not None:
            return rows.as_given()
        if self.encoder_ is None or not self.encoder_.categorical_:
            return rows.X
        return library_of(estimator).columns(estimator, rows.X, self.encoder_.categories_)

    def _scores(self, rows: Rows) -> Floats:
        named = rows.named or not self.record_.has_qid
        X = self._matrix(self.estimator_, rows)
        scores = scores_of(self.estimator_, X, rows.queries, named, self._taken)
        return scores if self._taken else with_ties(scores, rows.X)

    def contributions(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the scores as exact sums over the features.

        They are SHAP values for trees, and coefficients times features for linear scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, which is validated, and does not change the parts.

        Returns
        -------
        parts : ndarray of shape (n_rows, d + 1)
            What each feature adds to the score of each row; the last column is a constant. Rows
            sum to :meth:`surrogate_values`.

        Raises
        ------
        ValueError
            If the score is no such sum.
        """
        if tables.is_empty(X):
            return self._no_parts(X, qid)
        rows = self._check_rows(X, qid, "contributions")
        matrix = self._matrix(self.estimator_, rows)
        columns, last = self._steps()
        made, kinds = (columns.transform(matrix), []) if columns else (matrix, categories_of(self))
        parts = apart(library_of(last).explained, last, made, kinds)
        scores = scores_of(self.estimator_, matrix, rows.queries, False, self._taken)
        return self._by_column(summing_to(parts.astype(float), scores, type(last).__name__))

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the features, as the estimator defines them."""
        self._check_fitted()
        importances = np.asarray(self._steps()[1].feature_importances_, dtype=float)
        return self._by_column(np.append(importances, 0.0)[None])[0, :-1]

    def _steps(self) -> Any:
        """Return the LinearColumns that this ranker puts first, or None, and the estimator."""
        is_behind = isinstance(self.estimator_, QueryPipeline) and self.encoder_ is not None
        return [of for _, of in self.estimator_.steps] if is_behind else (None, self.estimator_)

    def _by_column(self, parts: Floats) -> Floats:
        """Return values of what the estimator reads, and a constant, summed by columns of X."""
        columns, _ = self._steps()
        if columns:
            indicators = [np.full(each.width, each.column) for each in columns.indicators_]
            n_columns = len(self.encoder_.sources_)
            out = np.zeros((len(parts), n_columns + 1))
            np.add.at(out.T, np.concatenate([*indicators, columns.numbers_, [n_columns]]), parts.T)
            parts = out
        return by_column(parts, self.encoder_)


def adapted(estimator: Any, measure: str | Measure = "ndcg@10") -> Any:
    """Return a ranker of this package as it is, and any other estimator as an ExternalRanker."""
    own = is_ranker(estimator) or isinstance(estimator, QueryPipeline)
    return estimator if own else ExternalRanker(estimator, measure)


def tree_scores(ranker: Any, name: str = "the trees") -> TreeScores | None:
    """Return the scores of boosted trees of an engine; None of others, and of those of a start."""
    starts = getattr(ranker, "start_", None)
    starts = starts if isinstance(starts, list) else [starts]
    if not isinstance(ranker, (BoostedRanker, ExternalRanker)) or starts != [None] * len(starts):
        return None
    trees = TreeScores.of(ranker, name)
    if trees is not None:
        trees.refuse_link()
    return trees


def is_least_squares(ranker: Any) -> bool:
    """Return whether a ranker is linear least squares in closed form."""
    if not isinstance(ranker, ExternalRanker):
        return in_closed_form(ranker)
    return ranker.estimator is not None and fits_in_closed_form(ranker.estimator)
