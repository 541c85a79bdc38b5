"""The ranker of boosted trees."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import QUERY_WEIGHTS, Rows, all_or_nothing, check, limits, refuse_lazy, tables
from ..data.types import ArrayLike, Floats, Labels, Matrix, Seed, Self
from ..losses import Loss
from ..measures import Measure
from ..rankers import BaseRanker
from ._engine import Engine
from ._engines import ENGINES, check_together, engine_of, preferred
from ._tables import learn_categories, with_numbers
from ._training import Model, grow_models, held_out

# Lists with one element for each model if there are several models.
_OF_MODELS = ("booster_", "best_iteration_", "validation_scores_", "start_", "start_scale_")


class BoostedRanker(BaseRanker):
    r"""Boosted trees of LightGBM, XGBoost or scikit-learn, with early stopping on the measure.

    The trees boost an order-preserving loss of the targets of a measure, and documents are sorted
    by the sum of the trees. Minimizing such a loss over all functions of the query is calibrated
    (Fisher-consistent) for the measure under every distribution of the labels (CUG13, Theorem 3.2).
    Functions of single rows need rows that carry the context of their query
    (:ref:`rows-and-context`). Measures that are not positional have the conditions of
    :class:`OrderPreservingRanker`. A limited number of trees does not reach the minimum.

    The number of trees is chosen by validation: a share of the queries is held out, and the
    trees up to the round with the best value of the measure on these queries are kept. A sum of
    several models (`n_models`) stays calibrated if the grades are the targets of the measure,
    as for ``"precision"`` and for ``"dcg"`` with ``gain="linear"``; for other measures we know of
    no theorem.

    With one of the libraries' own objectives as `loss`, everything else stays the same, so that a
    comparison with lambdarank needs a change of one parameter. We know of no theorem that proves
    these objectives consistent.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Measure whose targets are boosted, on which training stops early, and which :meth:`score`
        computes.
    loss : str or Loss, default="pairwise_logistic"
        A name in :data:`skcalrank.losses.LOSSES`, an object of :mod:`skcalrank.losses`, or an
        objective of the engine: ``"lambdarank"`` and ``"rank_xendcg"`` of LightGBM,
        ``"rank:ndcg"``, ``"rank:pairwise"`` and ``"rank:map"`` of XGBoost.
    targets : {"measure", "separable", "grades"}, default="measure"
        Targets to boost. "measure": the targets of the measure, such as ``G(y_i) / IDCG@k(y)``.
        "separable": its separable targets, such as the gain ``G(y_i)``, under the condition of
        :class:`NDCGRanker`. "grades": the labels as the measure reads them; for binary relevance
        these are the separable targets, for graded labels they are calibrated for ``"dcg"`` with
        ``gain="linear"``. Objectives of the engine do not read it, and need the default.
    query_weight : {"pairs", "documents", "equal"}, default="pairs"
        Weight of a query of n documents in the loss: n ** 2, n or 1. None leaves the sum of the
        loss as it is. Objectives of the engine do not read it, and need the default.
    engine : {"lightgbm", "xgboost", "sklearn"}, default=None
        Library of the trees. If None, the library whose objective `loss` names, else LightGBM if it
        is installed, else XGBoost, else scikit-learn, whose trees support every loss but train
        more slowly.
    n_models : int, default=1
        Number of models to sum. The first is the model of ``n_models=1``. Models 2, 4, ... boost
        "pairwise_squared" on the grades, with queries weighted by documents, whatever `loss`,
        `targets` and `query_weight` are; models 3, 5, ... use these parameters. Each model is
        stopped on its own held-out queries, so that with two or more models every query trains at
        least one of them (if `validation_fraction` is at most 1/2). Scores are divided by their
        spread within queries before they are added. Two models take twice the time, and usually
        rank better than one.
    start : ranker, default=None
        Ranker to whose scores the trees are added, such as ``NDCGRanker()``, or a
        :class:`~skcalrank.pipeline.QueryPipeline` that encodes columns which a closed form cannot
        read. A clone is fitted to the training queries. Its scores are scaled to minimize the
        loss, then multiplied by 0, 1/2 or 1, whichever is best on the validation queries. Each
        of the three factors costs a fit of the trees; 0 means no start.
    n_estimators : int, default=2000
        Maximum number of rounds; early stopping normally ends before. Without validation, the
        number of rounds.
    learning_rate : float, default=0.1
        Factor of each tree.
    max_leaves : int, default=15
        Maximum number of leaves of a tree.
    validation_fraction : float, default=0.2
        Share of the queries that is held out of each model for early stopping; with a single query,
        share of its documents. None or 0: nothing is held out, and there are `n_estimators` rounds.
    n_iter_no_change : int, default=50
        Number of rounds without a better value of the measure after which training stops.
    eval_set : tuple (X, y, qid), default=None
        Queries for early stopping, in place of a share of the queries passed to `fit`; (X, y) if y
        carries its queries. Like every parameter it is kept with the ranker, and in pickles; model
        files (:mod:`skcalrank.persistence`) are written without it.
    random_state : int, RandomState instance or None, default=None
        Seed for the draw of the validation queries and for the engine. If None, the draw
        depends on the values in X, y and `sample_weight`, and is the same in every fit. In no case
        does it depend on the order of the rows, nor on the names of the queries.
    engine_params : dict, default=None
        Further options under the names of the engine, such as ``{"feature_fraction": 0.8}`` for
        LightGBM or ``{"colsample_bytree": 0.8}`` for XGBoost.
    n_jobs : int, default=None
        Number of threads. None means the default of the engine, -1 one for each core.
    verbose : int, default=0
        A line is printed every `verbose` rounds; 0 prints nothing.

    Attributes
    ----------
    booster_ : lightgbm.Booster, xgboost.Booster or HistGradientBoostingRegressor, or list of these
        The trees up to the best round. With ``n_models > 1`` this attribute and the next four
        are lists, with one element for each model.
    best_iteration_ : int, or list of int
        Number of rounds up to the best one, which are kept.
    validation_scores_ : ndarray of shape (n_rounds,), or list of these
        Mean of the measure over the validation queries after each round; empty without validation.
    start_ : ranker or None, or list of these
        The fitted start; None if there is none, or if the trees are better without it.
    start_scale_ : float, or list of float
        Factor of the scores of the start; 0 without a start.
    model_weights_ : ndarray of shape (n_models,)
        Factors of the scores of each model: 1 over their spread, the root mean square of scores
        around their query mean on the rows of fit. It is 1 for a single model.
    feature_importances_ : ndarray of shape (d,)
        Decrease of the loss by splits on each feature, normalized to sum 1; the mean over the
        models.
    engine_ : str
        Name of the library.
    encoder_ : OrdinalEncoder or None
        Encoder of the categories, if X is a data frame with columns of categories or text.
    categorical_features_ : list of int
        Numbers of these columns.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    tabular_ranker : Boosted and linear rankers, stacked in one call.
    StackingRanker : Mix of several rankers.
    OrderPreservingRanker : The same losses with a linear score.
    skcalrank.boosting : The objectives alone, for the classes of LightGBM and XGBoost.

    Notes
    -----
    X may be an array, a sparse matrix, or a data frame of pandas or polars. With LightGBM, zeros of
    a sparse matrix are zeros. With XGBoost, zeros count as missing in `fit` and in `predict` if
    `fit` got a sparse matrix. scikit-learn's trees do not take sparse matrices. Columns of
    categories and of text are passed to the engine as categories; scikit-learn takes at most 255
    in a column. A category that `fit` has not seen counts as missing, as NaN does.

    The weights of the loss are scaled so that the mean of its curvature over the documents is 1 at
    scores of 0. Options that are compared with sums of curvatures (`lambda_l2`,
    `min_sum_hessian_in_leaf`, `min_child_weight`) therefore count documents, for every loss.

    With ``engine="sklearn"`` trees are fitted to Newton steps, minus gradient over curvature with
    the curvature as weight, which are recomputed every five rounds.

    Examples
    --------
    >>> from skcalrank import BoostedRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = BoostedRanker("ndcg@10", n_iter_no_change=10, n_jobs=1).fit(X, y, qid)
    >>> len(ranker.validation_scores_) == ranker.best_iteration_ + 10
    True
    >>> bool(ranker.score(X, y, qid) > 0.8)
    True
    """

    takes_label_form = False
    _for_label_form = "SpearmanRanker(HistGradientBoostingRegressor())"
    _plan_settings: ClassVar = {
        "weights_note": "a repeated row may be held out, and counts twice in a leaf"
    }

    _parameter_constraints: ClassVar[dict] = {
        "measure": limits.OWN_ERROR,
        "loss": limits.OWN_ERROR,
        "targets": [limits.one_of("measure", "separable", "grades")],
        "query_weight": [limits.one_of(*QUERY_WEIGHTS), None],
        "engine": [limits.one_of(*ENGINES), None],
        "n_models": [limits.AT_LEAST_ONE],
        "start": limits.OWN_ERROR,
        "n_estimators": [limits.AT_LEAST_ONE],
        "learning_rate": [limits.POSITIVE],
        "max_leaves": [limits.Integers(2)],
        "validation_fraction": [limits.Interval(Real, 0, 1, closed="left"), None],
        "n_iter_no_change": [limits.AT_LEAST_ONE],
        "eval_set": limits.OWN_ERROR,
        "random_state": ["random_state"],
        "engine_params": [dict, None],
        "n_jobs": [limits.Integers(), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        loss: str | Loss = "pairwise_logistic",
        targets: str = "measure",
        query_weight: str | None = "pairs",
        engine: str | None = None,
        n_models: int = 1,
        start: Any = None,
        n_estimators: int = 2000,
        learning_rate: float = 0.1,
        max_leaves: int = 15,
        validation_fraction: float | None = 0.2,
        n_iter_no_change: int = 50,
        eval_set: Any = None,
        random_state: Seed = None,
        engine_params: dict | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.loss = loss
        self.targets = targets
        self.query_weight = query_weight
        self.engine = engine
        self.n_models = n_models
        self.start = start
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.eval_set = eval_set
        self.random_state = random_state
        self.engine_params = engine_params
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        engine = ENGINES.get(self.engine) if isinstance(self.engine, str) else preferred()
        tags.input_tags.sparse = engine is None or engine.takes_sparse
        tags.input_tags.allow_nan = True
        return tags

    # -- parameters ---------------------------------------------------------------

    def _check_params(self) -> Engine:
        """Return the engine; raise for parameters that are invalid, alone or together."""
        check.params(self)
        engine = engine_of(self)
        check_together(self, engine, self._measure())
        return engine

    # -- validation ---------------------------------------------------------------

    def _check_problem(self, plan, X, y, qid, sample_weight, *, reset=True):
        refuse_lazy(type(self).__name__, X=X, y=y, qid=qid, sample_weight=sample_weight)
        if reset:
            learn_categories(self, X)
        X = with_numbers(self, X, reset=reset)
        return super()._check_problem(plan, X, y, qid, sample_weight, reset=reset)

    # -- fit ----------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow trees until the measure stops improving on the validation queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents. Columns of categories and of text are treated as categories, NaN as missing.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order. If None, all rows are one query.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each document in the loss. The weight of a pair is the product of both weights
            over the mean weight of the query; the weight of a query in the measure is the mean
            weight of its rows. Objectives of XGBoost need equal weights within each query.

        Returns
        -------
        self : BoostedRanker
            The fitted ranker.

        Raises
        ------
        ImportError
            If the engine is not installed.
        ValueError
            If a parameter is invalid or contradicts another one, the input is not a ranking
            problem, or the labels do not fit the measure or the loss.

        Warns
        -----
        OneQueryWarning
            If y of several rows has no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing.
        UndefinedMetricWarning
            If the measure is undefined on all validation queries. The first round is kept.
        """
        engine = self._check_params()
        plan, rows, rng = self._prepared(X, y, qid, sample_weight)
        masks = [None] * self.n_models
        if self.eval_set is None and self.validation_fraction:
            share = self.validation_fraction
            masks = held_out(rows, plan.measure, share, rng, self.n_models)
        self._grow(plan, rows, masks, rng, engine)
        return self

    @all_or_nothing
    def _fit_held_out(self, X, y, qid, sample_weight, folds) -> Floats:
        """Fit like :meth:`fit`, and return out-of-fold scores on the scale of :meth:`predict`.

        `folds` are the numbers of the models from which rows are held out, and which are stopped
        early on them, equal within each query: the last model for larger numbers, no model for -1.
        Rows that train every model have the score NaN.
        """
        engine = self._check_params()
        plan, rows, rng = self._prepared(X, y, qid, sample_weight)
        folds = np.minimum(folds[rows.numbers], self.n_models - 1)
        masks = [folds == number for number in range(self.n_models)]
        self._grow(plan, rows, masks, rng, engine)
        scores = np.full(rows.n_rows, np.nan)
        for mask, model in zip(masks, self._models()):
            test = rows.take(mask)
            scores[test.numbers] = self.n_models * self._scores_of(model, test, test.codes)
        return scores

    def _prepared(self, X, y, qid, sample_weight):
        """Return the plan, the rows sorted by contents, and the random generator."""
        plan, rows = self._check_problem(self._plan(), X, y, qid, sample_weight)
        rng = None if self.random_state is None else check_random_state(self.random_state)
        return plan, _by_contents(rows, X), rng

    def _grow(self, plan, rows, masks, rng, engine):
        """Grow the trees of each model on the rows outside its mask, and set attributes."""
        valid = None if self.eval_set is None else self._eval_rows()
        models = grow_models(self, engine, plan.measure, rows, masks, valid, rng)
        self.engine_ = engine.name
        for name, values in zip(_OF_MODELS, zip(*models)):
            setattr(self, name, list(values) if len(models) > 1 else values[0])
        self.model_weights_ = np.ones(self.n_models)
        if self.n_models > 1:
            scores = [self._scores_of(model, rows, rows.codes) for model in models]
            spreads = [rows.queries.spread(values, rows.weight) for values in scores]
            self.model_weights_ = 1.0 / np.array(spreads)
        self.record_ = self._record(plan, rows)

    def _eval_rows(self):
        eval_set = self.eval_set
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
            raise ValueError(
                "eval_set must be a tuple (X, y, qid), or (X, y) if y carries the queries, got "
                f"{eval_set!r}."
            )
        X, y, *qid = eval_set
        try:
            query = qid[0] if qid else None
            _, rows = self._check_problem(self._plan(), X, y, query, None, reset=False)
        except (ValueError, TypeError) as error:
            kinds = ", ".join(type(argument).__name__ for argument in eval_set)
            raise type(error)(f"Invalid eval_set, a tuple of ({kinds}): {error}") from error
        return _by_contents(rows, X)

    # -- what was fitted --------------------------------------------------------------

    def _models(self):
        """Return the fitted models."""
        columns = [getattr(self, name) for name in _OF_MODELS]
        if len(self.model_weights_) == 1:
            columns = [[column] for column in columns]
        return [Model(*values) for values in zip(*columns, self.model_weights_)]

    def _scores_of(self, model, rows, qid):
        """Return the scores of one model for validated rows."""
        engine, kinds = ENGINES[self.engine_], self.categorical_features_
        scores = engine.predict(model.booster, rows.X, kinds, self.n_jobs)
        if model.start is not None:
            scores = scores + model.start_scale * model.start.predict(rows.as_given(), qid)
        return model.weight * scores

    def _check_rows(self, X, qid, method):
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        return replace(super()._check_rows(with_numbers(self, X), qid, method), table=X)

    def _scores(self, rows):
        qid = rows.codes if rows.named else None
        return np.sum([self._scores_of(model, rows, qid) for model in self._models()], axis=0)

    def contributions(self, X: Matrix) -> Floats:
        """Return the scores as exact sums over the features, which are SHAP values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)

        Returns
        -------
        parts : ndarray of shape (n_rows, d + 1)
            What each feature adds to the score of each row; the last column is a constant. Rows
            sum to :meth:`decision_function`, up to the precision that the engine computes in.

        Raises
        ------
        ValueError
            If `start_` is not linear in the features.
        """
        rows = self._check_rows(X, None, "contributions")
        engine, kinds = ENGINES[self.engine_], self.categorical_features_
        parts = [model.contributions(engine, rows.X, kinds) for model in self._models()]
        return np.sum(parts, axis=0)

    @property
    def feature_importances_(self) -> Floats:
        """Decrease of the loss by splits on each feature, normalized to sum 1."""
        check_is_fitted(self)
        return np.mean([self._importances(model.booster) for model in self._models()], axis=0)

    def _importances(self, booster):
        gains = ENGINES[self.engine_].importances(booster, self.n_features_in_)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def __getstate__(self):
        state = super().__getstate__()
        if "booster_" in state:
            dump = ENGINES[self.engine_].dump
            state = {**state, "booster_": _of_each(dump, self.booster_)}
        return state

    def __setstate__(self, state):
        if "booster_" in state:
            load = ENGINES[state["engine_"]].load
            state = {**state, "booster_": _of_each(load, state["booster_"])}
        super().__setstate__(state)


def _by_contents(rows, X) -> Rows:
    """Return validated rows sorted by contents, with X as the user passed it if it is a frame."""
    return replace(rows, table=X if tables.is_frame(X) else None).by_contents()


def _of_each(call, booster):
    """Return ``call(booster)``, or the list of these if there are several boosters."""
    return list(map(call, booster)) if isinstance(booster, list) else call(booster)


def fit_held_out(ranker, X, y, qid, sample_weight, folds):
    """Return a fitted clone of a BoostedRanker, and its out-of-fold scores."""
    ranker = clone(ranker)
    return ranker, ranker._fit_held_out(X, y, qid, sample_weight, folds)
