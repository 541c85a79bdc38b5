"""Boosted trees as a ranker."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..data import (
    AT_LEAST_ONE,
    OWN_ERROR,
    POSITIVE,
    QUERY_WEIGHTS,
    ArrayLike,
    Floats,
    Integers,
    Interval,
    Labels,
    Matrix,
    Seed,
    all_or_nothing,
    check_params,
    one_of,
    refuse_lazy,
)
from ..losses import Loss
from ..measures import Measure, get_measure
from ._engine import Engine
from ._engines import ENGINES, preferred
from ._fitted import FittedTrees
from ._models import grow_models, spread
from ._parameters import check_together, engine_of
from ._parts import held_as_given, held_out, part_of
from ._tables import learn_categories, with_numbers

if TYPE_CHECKING:
    from typing_extensions import Self


class BoostedRanker(FittedTrees):
    r"""Boosted trees of LightGBM, XGBoost or scikit-learn, stopped by the measure.

    Boosts an order-preserving loss of the targets of a measure and sorts by the sum of the trees.
    Minimizing such a loss over all functions of the query is calibrated (Fisher-consistent) for
    the measure under every distribution of the labels (CUG13, Theorem 3.2), with rows where they
    carry the context of their query (:ref:`rows-and-context`); measures other than the positional
    ones keep the conditions of :class:`OrderPreservingRanker`. A limited number of trees is no
    minimizer. How many there are is chosen by validation: a share of the queries is held out, and
    the trees of the round after which the measure itself is best on them are kept. A sum of
    several models (`n_models`) stays calibrated where the grades are the targets of the measure,
    as for ``"precision"`` and for ``"dcg"`` with ``gain="linear"``; of others we know no theorem.

    With one of the libraries' own objectives as `loss`, nothing else changes: a comparison with
    lambdarank is one parameter. We know of no theorem that calls those consistent.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Whose targets are boosted, which stops the trees, and which :meth:`score` computes.
    loss : str or Loss, default="pairwise_logistic"
        A name in :data:`skcalrank.losses.LOSSES`, an object of :mod:`skcalrank.losses`, or an
        objective of the engine: ``"lambdarank"`` and ``"rank_xendcg"`` of LightGBM,
        ``"rank:ndcg"``, ``"rank:pairwise"`` and ``"rank:map"`` of XGBoost.
    targets : {"measure", "separable", "grades"}, default="measure"
        What is boosted: the targets of the measure, such as ``G(y_i) / IDCG@k(y)``; its separable
        targets, such as the gain ``G(y_i)``, under the condition of :class:`NDCGRanker`; or the
        labels as the measure reads them, which is the same for binary relevance and calibrated
        for ``"dcg"`` with ``gain="linear"`` otherwise. Objectives of the engine do not read it.
    query_weight : {"pairs", "documents", "equal"}, default="pairs"
        What a query of n documents counts in the loss: n ** 2, n, or 1. None is the sum as it is.
        Objectives of the engine do not read it.
    engine : {"lightgbm", "xgboost", "sklearn"}, default=None
        The library. None is the one whose objective `loss` names, else LightGBM where it is
        installed, else XGBoost, else scikit-learn, whose trees take every loss but take longer.
    n_models : int, default=1
        How many models are summed. The first is the one of ``n_models=1``; every other one boosts
        "pairwise_squared" on the grades, with queries weighed by documents, whatever `loss`,
        `targets` and `query_weight` are, which apply to the others. Each is stopped on queries of
        its own, so that with 2 and more every query trains one of them (up to a
        `validation_fraction` of 1/2). Scores are divided by their spread within queries before
        they are added. Two models take twice the time, and mostly rank better than one.
    start : ranker, default=None
        A ranker whose scores the trees begin at, such as ``NDCGRanker()``, or a
        :class:`~skcalrank.pipeline.QueryPipeline` that encodes what a closed form cannot read. A
        clone of it is fitted to the queries that are trained on. Its scores are scaled to where
        the loss is least, and shrunken by 0, 1/2 or 1, whichever is best on the validation
        queries: each of them costs a fit of the trees, and 0 does without the start.
    n_estimators : int, default=2000
        Largest number of rounds, a limit that is not meant to bind; without validation, their
        number.
    learning_rate : float, default=0.1
        What each tree is multiplied by.
    max_leaves : int, default=15
        Largest number of leaves of a tree.
    validation_fraction : float, default=0.2
        Share of the queries that are held out of each model to stop early on; of the documents
        where there is one query. None or 0: none are, and there are `n_estimators` rounds.
    n_iter_no_change : int, default=50
        Rounds without a better value of the measure after which training stops.
    eval_set : tuple (X, y, qid), default=None
        Queries to stop early on, in place of a share of those of `fit`; (X, y) where y carries its
        queries. As every parameter it is kept with the ranker, and in pickles; model files
        (:mod:`skcalrank.persistence`) are written without it.
    random_state : int, RandomState instance or None, default=None
        Draws the validation queries, and seeds the engine. None draws them by the values in X, y
        and `sample_weight`, the same ones in every fit. Neither depends on the order of
        the rows, nor on the names of the queries.
    engine_params : dict, default=None
        Further options by the names that the engine has for them, such as
        ``{"feature_fraction": 0.8}`` of LightGBM or ``{"colsample_bytree": 0.8}`` of XGBoost.
    n_jobs : int, default=None
        Number of threads; None is as many as the engine takes by itself, -1 one for each core.
    verbose : int, default=0
        Number of rounds that a line is printed for; 0 prints nothing.

    Attributes
    ----------
    booster_ : lightgbm.Booster, xgboost.Booster or HistGradientBoostingRegressor, or list of these
        The trees, down to the best round. With ``n_models > 1`` this attribute and the next four
        are lists, with an element for each model.
    best_iteration_ : int, or list of int
        Number of rounds that were kept.
    validation_scores_ : ndarray of shape (n_rounds,), or list of these
        Mean of the measure over the validation queries after each round; empty without validation.
    start_ : ranker or None, or list of these
        The fitted start; None where there is none, or trees are better without it.
    start_scale_ : float, or list of float
        What the scores of the start are multiplied by; 0 without it.
    model_weights_ : ndarray of shape (n_models,)
        What the scores of each model are multiplied by before they are added: 1 over their spread,
        the root mean square within queries of the rows of fit; 1 for a single model.
    feature_importances_ : ndarray of shape (d,)
        By how much splits along each feature decreased the loss, as shares of 1; their mean over
        the models.
    engine_ : str
        Name of the library.
    encoder_ : OrdinalEncoder or None
        Numbers of the categories, where X is a data frame with columns of categories or text.
    categorical_features_ : list of int
        Numbers of these columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    skcalrank.boosting : The objectives alone, for LightGBM's and XGBoost's own classes.
    OrderPreservingRanker : The same losses of a linear score.

    Notes
    -----
    X may be an array, a sparse matrix, or a data frame of pandas or polars. Zeros are zeros in a
    sparse matrix, too, with LightGBM; with XGBoost they are missing where fit took a sparse
    matrix, whatever is predicted; scikit-learn's trees take no sparse matrix. Columns of
    categories and of text are handed to the engine as categories, of which scikit-learn takes 255
    in a column; one that fit has not seen counts as missing. NaN is missing.

    The weights of the loss are scaled so that its curvature at the start is 1 in the mean over
    the documents: options that stand against sums of curvatures (`lambda_l2`,
    `min_sum_hessian_in_leaf`, `min_child_weight`) count documents, whatever the loss.

    With ``engine="sklearn"`` trees fit steps of Newton's method, minus gradient over curvature
    weighed by the curvature, which are computed anew every five rounds.

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

    _parameter_constraints: ClassVar[dict] = {
        "measure": OWN_ERROR,
        "loss": OWN_ERROR,
        "targets": [one_of("measure", "separable", "grades")],
        "query_weight": [one_of(*QUERY_WEIGHTS), None],
        "engine": [one_of(*ENGINES), None],
        "n_models": [AT_LEAST_ONE],
        "start": OWN_ERROR,
        "n_estimators": [AT_LEAST_ONE],
        "learning_rate": [POSITIVE],
        "max_leaves": [Integers(2)],
        "validation_fraction": [Interval(Real, 0, 1, closed="left"), None],
        "n_iter_no_change": [AT_LEAST_ONE],
        "eval_set": OWN_ERROR,
        "random_state": ["random_state"],
        "engine_params": [dict, None],
        "n_jobs": [Integers(), None],
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
        tags.target_tags.multi_output = False
        try:
            measure = get_measure(self.measure)
        except (ValueError, TypeError):  # parameters are validated in fit
            return tags
        tags.target_tags.positive_only = measure.positive_only or measure.needs_binary_labels
        return tags

    def _measure(self):
        return get_measure(self.measure)

    def _why_weights_do_not_repeat(self):
        return "a row that is repeated may be held out, and counts twice in a leaf"

    # -- parameters ---------------------------------------------------------------

    def _check_params(self) -> Engine:
        """Return the engine; raise for parameters that are invalid, by themselves or together."""
        check_params(self)
        engine = engine_of(self)
        check_together(self, engine, self._measure())
        return engine

    # -- validation ---------------------------------------------------------------

    def _check_problem(self, X, y, qid, sample_weight, *, reset=True):
        refuse_lazy(type(self).__name__, X=X, y=y, qid=qid, sample_weight=sample_weight)
        if reset:
            learn_categories(self, X)
        X = with_numbers(self, X, reset=reset)
        problem = super()._check_problem(X, y, qid, sample_weight, reset=reset)
        if problem.n_items is not None:
            raise ValueError(
                f"y has {problem.n_items} columns, the label-ranking form, and trees of single "
                "documents have one score for each row: pass documents with their qid, or choose "
                "another ranker, such as SpearmanRanker(HistGradientBoostingRegressor())."
            )
        return problem

    # -- fit ----------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow trees until the measure gets no better on the validation queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents. Columns of categories and of text count as categories, NaN as missing.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order. None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), default=None
            Weighs the term of a document, a pair by the product of both over the mean of the query,
            and in the measure a query by the mean of its rows. Objectives of XGBoost take
            one weight for each query.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If the engine is not installed.
        ValueError
            If parameters contradict each other, the input is not a ranking problem, or labels do
            not fit the measure or the loss.

        Warns
        -----
        OneQueryWarning
            If y of several rows has no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing.
        UndefinedMetricWarning
            If the measure is undefined on all validation queries, so that nothing tells the rounds
            apart: the first one is kept.
        """
        engine = self._check_params()
        problem, part, rng = self._prepared(X, y, qid, sample_weight)
        folds = [None] * self.n_models
        if self.eval_set is None and self.validation_fraction:
            folds = held_out(part, problem.measure, self.validation_fraction, rng, self.n_models)
        self._grow(problem, part, folds, rng, engine)
        return self

    @all_or_nothing
    def _fit_held_out(self, X, y, qid, sample_weight, folds) -> Floats:
        """Fit as :meth:`fit` does, and return scores of rows by models not trained on them.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.
        folds : ndarray of int of shape (n_rows,)
            -1 for rows that train every model; others are held out of the model of that number, or
            of the last one, which is stopped on them. Equal within each query.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            On the scale of :meth:`predict`; NaN for rows that train every model.
        """
        engine = self._check_params()
        problem, part, rng = self._prepared(X, y, qid, sample_weight)
        held = held_as_given(part, folds, self.n_models)
        self._grow(problem, part, held, rng, engine)
        scores = np.full(len(part.rows), np.nan)
        for rows, model in zip(held, self._models()):
            there = part.take(rows)
            scores[there.rows] = self.n_models * self._scores(model, there)
        return scores

    def _prepared(self, X, y, qid, sample_weight):
        """Return what is fitted, its rows by their contents, and a generator or None."""
        problem = self._check_problem(X, y, qid, sample_weight)
        rng = None if self.random_state is None else check_random_state(self.random_state)
        return problem, part_of(problem, X), rng

    def _grow(self, problem, part, folds, rng, engine):
        """Grow the trees of each model on all rows but those of its fold."""
        ours = None if self.eval_set is None else self._eval_part()
        self.engine_ = engine.name
        self._keep(grow_models(self, engine, problem, part, folds, ours, rng))
        self.model_weights_ = np.ones(self.n_models)
        if self.n_models > 1:
            spreads = [spread(self._scores(model, part), part) for model in self._models()]
            self.model_weights_ = 1.0 / np.array(spreads)
        self.record_ = self._record(problem)

    def _eval_part(self):
        given = self.eval_set
        if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
            raise ValueError(f"eval_set={given!r}: give (X, y, qid), or (X, y) with qid in y.")
        X, y, *qid = given
        try:
            problem = self._check_problem(X, y, qid[0] if qid else None, None, reset=False)
        except (ValueError, TypeError) as error:
            kinds = ", ".join(type(each).__name__ for each in given)
            raise type(error)(f"eval_set of ({kinds}): {error}") from error
        return part_of(problem, X)


def fit_held_out(ranker, X, y, qid, sample_weight, folds):
    """Return a clone fitted as ``BoostedRanker._fit_held_out`` says, and the scores it returns."""
    ranker = clone(ranker)
    return ranker, ranker._fit_held_out(X, y, qid, sample_weight, folds)
