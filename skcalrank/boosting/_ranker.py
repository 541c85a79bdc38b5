"""The ranker of boosted trees."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import InputTags

from ..columns import tables
from ..columns.types import (
    Array,
    ArrayLike,
    Bools,
    Estimator,
    EvalSets,
    Floats,
    Ints,
    Labels,
    Matrix,
    Seed,
    Self,
)
from ..data import (
    ALONE,
    QuerySizes,
    Rows,
    among,
    check,
    eval_sets,
    fitting,
    lazy_aware,
    limits,
    naming_eval_set,
    seed_of,
    workers_of_fit,
)
from ..losses import Loss
from ..measures import Measure, OfTargets
from ..preprocessing import by_column, read_by_trees
from ..rankers import Call, checked_plan, door, losses_of
from ..trees import ENGINES, hinting, is_objective, preferred, unknown
from ._engine_checks import check_callbacks, check_together, engine_of
from ._model import Model, Reader
from ._reader import TableReader
from ._training import (
    categories_of,
    grow_models,
    held_out,
    warn_of_other_columns,
    warn_of_training_queries,
)

# Lists with one element for each model if there are several models.
_OF_MODELS = (
    *("booster_", "best_iteration_", "validation_scores_"),
    *("start_", "start_scale_", "evals_result_"),
)


class BoostedRanker(TableReader):
    r"""Boosted trees of LightGBM, XGBoost or scikit-learn, with early stopping on the measure.

    Use it where features interact and queries are many, on a table or an array. Most users set
    `measure`, and ``n_models=2`` if time allows. A search of `learning_rate` and `max_leaf_nodes`
    may pay where labels have little noise. The number of trees needs no search: a share of the
    queries is held out, and training stops when the measure no longer improves on these queries.

    The trees minimize an order-preserving loss of the targets of the measure, and documents are
    sorted by the sum of the trees. Over all functions of the query, minimizing such a loss is
    calibrated (Fisher-consistent) for the measure under every distribution of the labels (CUG13,
    Theorem 3.2), with three limits. Functions of single rows need rows that carry the context of
    their query (:ref:`rows-and-context`). Measures that are not positional have the conditions of
    :class:`OrderPreservingRanker`. A limited number of trees does not reach the minimum.

    A sum of several models (`n_models`) stays calibrated if the grades are the targets of the
    measure, as for ``"precision"`` and for ``"dcg"`` with ``gain="linear"``; for other measures we
    know of no theorem. To compare with an objective of the library, such as lambdarank, change
    `loss` alone. We know of no theorem that proves these objectives consistent.

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
        ``gain="linear"``. Objectives of the engine accept only the default.
    query_weight : {"pairs", "documents", "equal"}, default="pairs"
        Weight of a query of n documents in the loss: n ** 2, n or 1. None leaves the sum of the
        loss as it is. Objectives of the engine accept only the default.
    engine : {"lightgbm", "xgboost", "sklearn"}, default=None
        Library of the trees. If None, the library whose objective `loss` names, else LightGBM if it
        is installed, else XGBoost, else scikit-learn, whose trees support every loss but train
        more slowly.
    n_models : int, default=1
        Number of models to sum. Two models take twice the time, and usually rank better than one.
        The first is the model of ``n_models=1``. The second is of another kind, so that the two
        make different errors: it boosts "pairwise_squared" on the grades, with queries weighted by
        documents. Further models alternate between the two kinds. Each model is stopped on its own
        held-out queries, so that with two or more models every query trains at least one of them
        (if `validation_fraction` is at most 1/2). Scores are divided by their spread within queries
        before they are added.
    start : ranker, default=None
        Ranker to whose scores the trees are added, such as ``NDCGRanker()``, or a
        :class:`~skcalrank.pipeline.QueryPipeline` that encodes columns which a closed form cannot
        read. A clone is fitted to the training queries. Its scores, scaled to minimize the loss,
        are tried as they are, halved, and not at all; the trees are grown three times, and those
        that are best on the validation queries are kept.
    n_estimators : int, default=2000
        Maximum number of rounds; early stopping normally ends before. Without validation, the
        number of rounds.
    learning_rate : float, default=0.1
        Factor of each tree.
    max_leaf_nodes : int, default=15
        Maximum number of leaves of a tree.
    min_samples_leaf : int, default=None
        Minimum number of documents of a leaf. XGBoost weighs them by their curvature, see the
        notes. For this parameter and the next six, None means the default of the engine. Here it is
        halved where no tree finds a split, as in few queries of two documents.
    l2_regularization : float, default=None
        Number that is added to the sum of the curvatures of each leaf, in documents.
    max_features : float, default=None
        Share of the features, drawn anew for each split, that a split chooses from.
    subsample : float, default=None
        Share of the documents, drawn anew for each tree, that it is grown on; scikit-learn's trees
        draw for every five.
    max_bins : int, default=None
        Maximum number of bins of the values of a column; at most 255 with scikit-learn's trees.
    monotonic_cst : dict or array-like of shape (d,), default=None
        1 for columns with which scores increase, -1 for those with which they decrease, 0 for
        others: by names of the columns, such as ``{"price": -1}``, by their numbers, or for all in
        order. Columns must hold numbers.
    interaction_cst : {"pairwise", "no_interactions"} or list of sets, default=None
        Names or numbers of columns that may interact, such as ``[{"price", "stars"}]``: a branch of
        a tree splits on columns of one set only. Columns in no set make one more. "pairwise" means
        all sets of two columns, "no_interactions" all of one.
    validation_fraction : float, default=0.2
        Share of the queries that is held out of each model for early stopping; with a single query,
        share of its documents. None or 0: nothing is held out, and there are `n_estimators` rounds.
        Nothing is held out if :meth:`fit` is given an `eval_set`.
    n_iter_no_change : int, default=50
        Number of rounds without a better value of the measure after which training stops.
    columns : dict, default=None
        Kinds of columns by name, such as ``{"zip": "category", "sku": "drop"}``, where the values
        do not tell. See :class:`~skcalrank.preprocessing.TableEncoder`.
    random_state : int, RandomState instance or None, default=None
        Seed for the draw of the validation queries and for the engine; None is seed 0. Queries are
        drawn by their names: other names act as another seed.
    engine_params : dict, default=None
        Further options under the names of the engine, such as ``{"feature_fraction": 0.8}`` for
        LightGBM or ``{"colsample_bytree": 0.8}`` for XGBoost. Names of the parameters above are an
        error, and so are those that the engine does not read.
    n_jobs : int, default=None
        Number of threads, -1 for one for each core. None means one for every five million values
        of X, as far as the default of the engine goes: for smaller tables threads cost more than
        they save, and many times as much beside another program. Trees are grown in the same way by
        any number of threads, up to rounding (in our runs, to the last bit).
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
        For a single model the largest is what :meth:`score` returns for an `eval_set`.
    evals_result_ : dict of str to ndarray of shape (n_rounds,), or list of these
        Mean of the measure over each `eval_set` after each round. An `eval_set` without a name, and
        held-out queries, are called "validation".
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
    loss_ : str or Loss
        Loss that was minimized.
    engine_ : str
        Name of the library.
    encoder_ : TableEncoder or None
        Reader of the columns, if X is a table or an array of objects.
    categorical_features_ : list of int
        Numbers of the columns of categories in the table.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    TabularRanker : Boosted and linear rankers, stacked in one call.
    StackingRanker : Mix of several rankers.
    OrderPreservingRanker : The same losses with a linear score.
    skcalrank.boosting : The objectives alone, for the classes of LightGBM and XGBoost.
    skcalrank.displays.TrainingCurveDisplay : Plot of `evals_result_`.

    Notes
    -----
    X may be an array, a sparse matrix, or a data frame of pandas or polars. With LightGBM, zeros of
    a sparse matrix are zeros. With XGBoost, zeros count as missing in `fit` and in `predict` if
    `fit` got a sparse matrix. scikit-learn's trees do not take sparse matrices. Columns of
    categories are passed to the engine as categories. scikit-learn's trees tell 254 apart in a
    column, and take all rarer ones for one. Where categories were missing in `fit`, missing is one
    more category. A category that `fit` has not seen goes where the engine sends what no split
    knows: to the side of the unnamed categories with LightGBM, of most documents with the others.
    So does a missing one in a column in which none was missing in `fit`.

    XGBoost reads numbers in single precision, and `fit` warns of columns in which it makes
    different values equal, such as seconds since 1970. Tables are read less an offset where this
    would happen. Values beyond 3.4e38, and columns of values below 1e-31, are refused.

    The weights of the loss are scaled so that the mean of its curvature over the documents is 1 at
    scores of 0. Options that are compared with sums of curvatures (`l2_regularization`,
    `min_samples_leaf` with XGBoost, `min_sum_hessian_in_leaf` of LightGBM) therefore count
    documents, for every loss. Objectives of the engines have scales of their own.

    With ``engine="sklearn"`` trees are fitted to Newton steps, minus gradient over curvature with
    the curvature as weight, which are recomputed every five rounds.

    Examples
    --------
    A data frame as it is, with categories, dates and missing values:

    >>> from skcalrank import BoostedRanker, make_offers
    >>> offers, grades, search = make_offers(n_queries=60, random_state=0)
    >>> offers, train = offers.drop(columns=["title", "sku"]), search < 40
    >>> ranker = BoostedRanker("ndcg@10", n_iter_no_change=10, n_jobs=1, random_state=0)
    >>> ranker = ranker.fit(offers[train], grades[train], search[train])
    >>> len(ranker.validation_scores_) == ranker.best_iteration_ + 10
    True
    >>> bool(ranker.score(offers[~train], grades[~train], search[~train]) > 0.5)
    True
    """

    # A Pipeline of scikit-learn does not transform an eval_set, so that a user must request it.
    __metadata_request__fit = dict.fromkeys(["qid", "X_val", "y_val", "qid_val"], True)
    takes_label_form = False
    takes_eval_set = True
    fits_among_workers = trains_in_parts = adds_trees = True
    _theorem: ClassVar[str] = "trees"
    _for_label_form = "SpearmanRanker(HistGradientBoostingRegressor())"
    _weights_note = "a repeated row may be held out, and counts twice in a leaf"
    _rules: ClassVar[Any] = (check_together,)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "targets": [limits.one_of("measure", "separable", "grades")],
        "engine": [limits.one_of(*ENGINES), None],
        "n_models": [limits.AT_LEAST_ONE],
        "start": limits.OWN_ERROR,
        "n_estimators": [limits.AT_LEAST_ONE],
        "learning_rate": [limits.POSITIVE],
        "max_leaf_nodes": [limits.Integers(2)],
        "min_samples_leaf": [limits.AT_LEAST_ONE, None],
        "l2_regularization": [limits.NON_NEGATIVE, None],
        "max_features": [limits.Interval(Real, 0, 1, closed="right"), None],
        "subsample": [limits.Interval(Real, 0, 1, closed="right"), None],
        "max_bins": [limits.Integers(2), None],
        "monotonic_cst": limits.OWN_ERROR,
        "interaction_cst": limits.OWN_ERROR,
        "validation_fraction": [limits.Interval(Real, 0, 1, closed="left"), None],
        "n_iter_no_change": [limits.AT_LEAST_ONE],
        "engine_params": [dict, None],
    }

    @hinting
    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        loss: str | Loss = "pairwise_logistic",
        targets: str = "measure",
        query_weight: str | None = "pairs",
        engine: str | None = None,
        n_models: int = 1,
        start: Estimator | None = None,
        n_estimators: int = 2000,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 15,
        min_samples_leaf: int | None = None,
        l2_regularization: float | None = None,
        max_features: float | None = None,
        subsample: float | None = None,
        max_bins: int | None = None,
        monotonic_cst: Mapping[Any, int] | ArrayLike | None = None,
        interaction_cst: str | Collection[Collection[Any]] | None = None,
        validation_fraction: float | None = 0.2,
        n_iter_no_change: int = 50,
        columns: Mapping[Any, str] | None = None,
        random_state: Seed = None,
        engine_params: dict[str, Any] | None = None,
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
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.columns = columns
        self.random_state = random_state
        self.engine_params = engine_params
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        engine = ENGINES.get(self.engine) if isinstance(self.engine, str) else preferred()
        sparse = engine is None or engine.takes_sparse
        tags.input_tags = InputTags(sparse=sparse, allow_nan=True, string=True, categorical=True)
        return tags

    # -- parameters ---------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this ranker.

        Parameters
        ----------
        **params
            Parameters by name, those of `start` after ``start__``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a name is no parameter; the message tells the one that is meant.
        """
        known = self.get_params(deep=False)
        for name in params:
            if name.partition("__")[0] not in known:
                raise ValueError(unknown(self, name))
        return super().set_params(**params)

    # -- fit ----------------------------------------------------------------------

    def _as_scored(self, X: Any, table: Any) -> tuple[Any, Any]:
        if self.encoder_ is None:
            return X, None
        return read_by_trees(X, self.encoder_.categories_), table.table

    @lazy_aware
    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: EvalSets | None = None,
        X_val: Matrix | None = None,
        y_val: Labels | None = None,
        qid_val: ArrayLike | None = None,
        callbacks: list[Any] | None = None,
    ) -> Self:
        """Grow trees until the measure stops improving on the validation queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents. Categories, text, dates and missing values of a table are read as
            :class:`~skcalrank.preprocessing.TableEncoder` describes; NaN is missing.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, of any hashable type, in any order. A scalar is the only query.
            More than 200 rows without a qid are an error.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each document in the loss. The weight of a pair is the product of both weights
            over the mean weight of the query; the weight of a query in the measure is the mean
            weight of its rows. Objectives of XGBoost need equal weights within each query.
        eval_set : tuple or dict of str to tuple, default=None
            Queries for early stopping, in place of a share of those in X: ``(X, y, qid)``,
            ``(X, y, qid, sample_weight)``, or ``(X, y)`` if y carries its queries. With a dict of
            these by name, training stops on the last one, and `evals_result_` has all of them.
        X_val, y_val, qid_val : array-like, default=None
            The same rows as separate arguments, for ``Pipeline(..., transform_input=["X_val"])`` of
            scikit-learn. :class:`~skcalrank.pipeline.QueryPipeline` transforms an `eval_set`.
        callbacks : list, default=None
            Callbacks of the engine, which are called before and after each round: functions such as
            ``lightgbm.reset_parameter(...)``, or objects of ``xgboost.callback.TrainingCallback``.
            They read the measure on every set that training follows, and may stop it; the best
            round is kept as without them. With several models, or a `start`, each training begins
            with round 0 anew. Trees of scikit-learn have none.

        Returns
        -------
        self

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
            If y has 2 to 200 rows and no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing, or if a query of X comes
            back in `eval_set` with another number of rows.
        UserWarning
            If most queries of `eval_set` are queries of X, row by row; or if most of its columns
            are distributed unlike those of X, as after a step that transforms X only.
        UndefinedMetricWarning
            If the measure is undefined on all validation queries. The first round is kept.
        """
        evals = eval_sets(eval_set, X_val, y_val, qid_val)
        plan = self._check_params(Call(has_eval_set=bool(evals)))
        callbacks = check_callbacks(engine_of(self), callbacks)
        self._train(*door(self, plan, X, y, qid, sample_weight), evals, callbacks)
        return self

    @fitting
    def fit_targets(
        self,
        X: Matrix,
        targets: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: EvalSets | None = None,
    ) -> Self:
        """Grow trees for targets in place of labels.

        Parameters
        ----------
        X, targets, qid, sample_weight
            As in :meth:`NDCGRanker.fit_targets`.
        eval_set : tuple or dict of str to tuple, default=None
            As in :meth:`fit`: queries with labels.

        Returns
        -------
        self
        """
        check.refuse_judgments(targets)
        evals = eval_sets(eval_set)
        plan = self._check_params(Call(of_targets=True, has_eval_set=bool(evals)))
        self._train(*door(self, plan, X, targets, qid, sample_weight), evals)
        return self

    def _target_losses(self) -> list[Loss]:
        return [*super()._target_losses(), *losses_of(self.start)]

    def _train(
        self,
        plan: Any,
        rows: Rows,
        evals: Any,
        callbacks: Sequence[Any] = (),
        folds: Ints | None = None,
    ) -> Rows:
        """Grow trees for labels, or targets in their place; set attributes.

        Return the rows that were read, sorted by names. `folds` are the models from which the rows
        of `fit` are held out.
        """
        measure = OfTargets(plan.measure) if plan.call.of_targets else plan.measure
        engine, seed = engine_of(self), seed_of(self.random_state)
        self.engine_ = engine.name
        # Of several workers none knows the names of all queries.
        sizes = QuerySizes.of(rows.queries) if rows.named and workers_of_fit().size == 1 else None
        rows = rows.weighted().shared().by_names()
        of_table = self.encoder_ is not None
        names = self.encoder_.get_feature_names_out() if of_table else range(self.n_features_in_)
        engine.check_columns(self.engine_params or {}, rows.X.shape[1])
        engine.check_rows(rows, names, self.loss if is_objective(self.loss) else None)
        evals = self._eval_rows(evals, plan, rows, sizes)
        masks: Sequence[Bools | None] = [None] * self.n_models
        if folds is not None:
            masks = [folds[rows.numbers] == number for number in range(self.n_models)]
        elif not evals and self.validation_fraction:
            masks = held_out(rows, measure, self.validation_fraction, seed, self.n_models)
        models = grow_models(self, engine, measure, rows, masks, evals, seed, callbacks)
        weights = np.ones(len(models))
        if len(models) > 1:
            scores = [model.scores(self._reader, rows, rows.codes) for model in models]
            weights = 1.0 / np.array([rows.queries.spread(of, rows.weight) for of in scores])
        self.model_weights_ = weights
        for name, values in zip(_OF_MODELS, zip(*models)):
            setattr(self, name, list(values) if len(models) > 1 else values[0])
        self.record_ = replace(self._record(plan, rows), sizes=sizes)
        return rows

    @fitting
    def _fit_held_out(self, rows: Rows, folds: Ints, of_targets: bool) -> Floats:
        """Fit, and return out-of-fold scores on the scale of :meth:`predict`.

        `folds` are the numbers of the models from which rows are held out, and which are stopped
        early on them, equal within each query: the last model for larger numbers, no model for -1.
        Rows that train every model have the score NaN.
        """
        plan = self._check_params(Call(of_targets))
        columns = rows.X, rows.y, rows.qid, rows.weight
        folds = np.minimum(folds, self.n_models - 1)
        rows = self._train(*door(self, plan, *columns), {}, folds=folds)
        scores = np.full(len(folds), np.nan)
        for number, model in enumerate(self._models()):
            mask = folds[rows.numbers] == number
            if mask.any():  # or other workers hold these rows
                test = rows.take(mask)
                scores[test.numbers] = self.n_models * model.scores(self._reader, test, test.codes)
        return scores

    def _eval_rows(self, evals: Any, plan: Any, rows: Rows, sizes: Any) -> dict[str, Rows]:
        """Return the rows of evaluation sets by name, read as those of fit."""
        has_labels, out = not plan.call.of_targets, {}
        plan = replace(plan, measure=self._measure(), call=Call(goes_on=True, warns=False))
        for name, given in evals.items():
            with naming_eval_set(name), among(ALONE):  # all workers have all of its rows
                scaled, checked = door(self, plan, *given)
                scaled.measure.labels(checked.y)
            if checked.named:
                check.warn_of_changed_queries(sizes, given.y, checked.queries, "eval_set")
            if name == list(evals)[-1]:  # training may follow its own rows, but not stop on them
                warn_of_training_queries(name, checked, rows, has_labels, len(evals) > 1)
                warn_of_other_columns(name, checked, rows)
            out[name] = checked.by_names()
        return out

    # -- what was fitted --------------------------------------------------------------

    def _models(self) -> list[Model]:
        """Return the fitted models."""
        columns = [getattr(self, name) for name in _OF_MODELS]
        if len(self.model_weights_) == 1:
            columns = [[column] for column in columns]
        return [Model(*values) for values in zip(*columns, self.model_weights_)]

    @property
    def _reader(self) -> Reader:
        """What reads the trees."""
        return Reader(ENGINES[self.engine_], categories_of(self), self.n_jobs)

    def _scores(self, rows: Rows) -> Floats:
        qid = rows.codes if rows.named else None
        reader = self._reader
        first, *others = (model.scores(reader, rows, qid) for model in self._models())
        return np.sum([first, *others], axis=0) if others else first

    def staged_predict(self, X: Matrix, qid: ArrayLike | None = None) -> Iterator[Floats]:
        """Yield the scores of the documents after each round of boosting.

        Parameters
        ----------
        X, qid
            As in :meth:`predict`, but not lazy.

        Yields
        ------
        scores : ndarray of shape (n_rows,)
            Scores by the trees up to one round, added to those of the start; the last are those of
            :meth:`predict`. With several models it is the sum of their scores, in which those with
            fewer rounds have their last.

        Examples
        --------
        >>> from skcalrank import BoostedRanker, load_digits_queries
        >>> from skcalrank.metrics import ndcg_score
        >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
        >>> train = qid < 30
        >>> ranker = BoostedRanker(n_estimators=20, n_jobs=1)
        >>> ranker = ranker.fit(X[train], y[train], qid[train])
        >>> test = X[~train], qid[~train]
        >>> curve = [ndcg_score(y[~train], scores, qid=qid[~train], k=10)
        ...          for scores in ranker.staged_predict(*test)]
        >>> len(curve) == ranker.best_iteration_
        True
        >>> curve[-1] == ranker.score(X[~train], y[~train], qid[~train])
        True
        """
        if tables.is_empty(X):
            scores = self._of_no_rows(X, qid)
            return (scores.copy() for _ in range(np.max(self.best_iteration_)))
        return self._staged(self._check_rows(X, qid, "staged_predict"))

    def _staged(self, rows: Rows) -> Iterator[Floats]:
        qid = rows.codes if rows.named else None
        stages = [model.staged_scores(self._reader, rows, qid) for model in self._models()]
        latest: Any = [None] * len(stages)
        for scores in zip_longest(*stages):
            latest = [last if new is None else new for last, new in zip(latest, scores)]
            yield np.sum(latest, axis=0)

    def contributions(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the scores as exact sums over the features, which are SHAP values.

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
            If `start_` is not linear in the features.
        """
        if tables.is_empty(X):
            return self._no_parts(X, qid)
        rows = self._check_rows(X, qid, "contributions")
        parts = [model.contributions(self._reader, rows) for model in self._models()]
        return by_column(np.sum(parts, axis=0), self.encoder_)

    @property
    def categorical_features_(self) -> list[int]:
        """Numbers of the columns of categories in the table that `fit` got."""
        self._check_fitted()
        return [] if self.encoder_ is None else self.encoder_.sources_[categories_of(self)].tolist()

    @property
    def loss_(self) -> str | Loss:
        """Loss that was minimized."""
        self._check_fitted()
        return self.record_.plan.loss

    @property
    def feature_importances_(self) -> Floats:
        """Decrease of the loss by splits on each feature, normalized to sum 1."""
        self._check_fitted()
        return np.mean([self._importances(model.booster) for model in self._models()], axis=0)

    def _importances(self, booster: Any) -> Array:
        n_columns = self.n_features_in_ if self.encoder_ is None else len(self.encoder_.sources_)
        gains = ENGINES[self.engine_].importances(booster, n_columns)
        gains = by_column(gains[None], self.encoder_)[0]
        total = gains.sum()
        return gains / total if total > 0 else gains

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "booster_" in state:
            state = {**state, "booster_": _of_each(ENGINES[self.engine_].dump, self.booster_)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "booster_" in state:
            load = ENGINES[state["engine_"]].load
            state = {**state, "booster_": _of_each(load, state["booster_"])}
        super().__setstate__(state)


def _of_each(call: Callable[..., Any], booster: Any) -> Any:
    """Return ``call(booster)``, or the list of these if there are several boosters."""
    return list(map(call, booster)) if isinstance(booster, list) else call(booster)


def fit_held_out(
    ranker: Any, rows: Rows, folds: Ints, *, of_targets: bool
) -> tuple[BoostedRanker, Floats]:
    """Return a clone of a BoostedRanker, fitted to rows, and its out-of-fold scores."""
    ranker = clone(ranker)
    return ranker, ranker._fit_held_out(rows, folds, of_targets)


def check_fit_part(ranker: BoostedRanker, has_eval_set: bool, callbacks: Any) -> None:
    """Raise for parameters of a ranker that workers cannot train together."""
    checked_plan(ranker, Call(has_eval_set=has_eval_set))
    engine = engine_of(ranker)
    if not engine.has_workers:
        raise ValueError(
            f"engine must be 'lightgbm' or 'xgboost' for dask collections, got {engine.name!r}, "
            "whose trees grow in one process: install one of these, or pass X.compute()."
        )
    if ranker.start is not None:
        raise ValueError(
            f"start must be None for dask collections, got {ranker.start!r}: leave it out, or pass "
            "X.compute()."
        )
    if callbacks:
        raise ValueError(
            "callbacks must be None for dask collections, whose trees grow in other processes, got "
            f"{callbacks!r}: leave it out, or pass X.compute()."
        )
