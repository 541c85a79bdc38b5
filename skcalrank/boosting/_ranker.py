"""Boosted trees as a ranker."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import (
    AT_LEAST_ONE,
    OWN_ERROR,
    POSITIVE,
    QUERY_WEIGHTS,
    ArrayLike,
    Floats,
    Interval,
    Labels,
    Matrix,
    Seed,
    all_or_nothing,
    category_columns,
    check_params,
    is_frame,
    one_of,
    refuse_lazy,
)
from ..losses import Loss, get_loss
from ..measures import Measure, get_measure
from ..rankers import BaseRanker, lazy_aware
from ._engine import Engine
from ._engines import ENGINES, grades_for, preferred
from ._growth import Fit, Rounds, score_of, with_unit_curvature
from ._objectives import make_problem
from ._parameters import check_together, engine_of, is_own
from ._parts import held_out, part_of
from ._tables import encoded, fit_encoder

if TYPE_CHECKING:
    from typing_extensions import Self


class BoostedRanker(BaseRanker):
    r"""Boosted trees of LightGBM or XGBoost, stopped by the measure.

    Boosts an order-preserving loss of the targets of a measure and sorts by the sum of the trees.
    Minimizing such a loss over all functions of the query is calibrated (Fisher-consistent) for
    the measure under every distribution of the labels (CUG13, Theorem 3.2), with rows where they
    carry the context of their query (:ref:`rows-and-context`); measures other than the positional
    ones keep the conditions of :class:`OrderPreservingRanker`. A limited number of trees is no
    minimizer. How many there are is chosen by validation: a share of the queries is held out, and
    the trees of the round after which the measure itself is best on them are kept.

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
    engine : {"lightgbm", "xgboost"}, default=None
        The library. None is the one whose objective `loss` names, else LightGBM where it is
        installed, else XGBoost.
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
        Share of the queries that are held out to stop early on; of the documents where there is
        one query. None or 0: none are, and there are `n_estimators` rounds.
    n_iter_no_change : int, default=50
        Rounds without a better value of the measure after which training stops.
    eval_set : tuple (X, y, qid), default=None
        Queries to stop early on, in place of a share of those of `fit`; (X, y) where y carries its
        queries. As every parameter, it is kept with the ranker, and in its files.
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
    booster_ : lightgbm.Booster or xgboost.Booster
        The trees, down to the best round.
    engine_ : str
        Name of the library.
    best_iteration_ : int
        Number of rounds that were kept.
    validation_scores_ : ndarray of shape (n_rounds,)
        Mean of the measure over the validation queries after each round; empty without validation.
    feature_importances_ : ndarray of shape (d,)
        By how much splits along each feature decreased the loss, as shares of 1.
    start_ : ranker or None
        The fitted start; None where there is none, or trees are better without it.
    start_scale_ : float
        What the scores of the start are multiplied by; 0 without it.
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
    X may be an array, a sparse matrix (with LightGBM; XGBoost takes zeros that are absent for
    missing), or a data frame of pandas or polars. Columns of categories and of text are handed to
    the engine as categories; one that fit has not seen counts as missing. NaN is missing.

    The weights of the loss are scaled so that its curvature at the start is 1 in the mean over
    the documents: options that stand against sums of curvatures (`lambda_l2`,
    `min_sum_hessian_in_leaf`, `min_child_weight`) count documents, whatever the loss.

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
        "start": OWN_ERROR,
        "n_estimators": [AT_LEAST_ONE],
        "learning_rate": [POSITIVE],
        "max_leaves": [Interval(Integral, 2, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left"), None],
        "n_iter_no_change": [AT_LEAST_ONE],
        "eval_set": OWN_ERROR,
        "random_state": ["random_state"],
        "engine_params": [dict, None],
        "n_jobs": [Integral, None],
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

    def _targets(self, problem):
        if self.targets == "grades":
            return problem.measure.labels(problem.y)
        return super()._targets(problem)

    # -- validation ---------------------------------------------------------------

    def _check_problem(self, X, y, qid, sample_weight, *, reset=True):
        refuse_lazy(type(self).__name__, X=X, y=y, qid=qid, sample_weight=sample_weight)
        if reset:
            self.categorical_features_ = category_columns(X)
            self.encoder_ = (
                fit_encoder(X, self.categorical_features_) if self.categorical_features_ else None
            )
        X = self._encoded(X, reset)
        problem = super()._check_problem(X, y, qid, sample_weight, reset=reset)
        if problem.n_items is not None:
            raise ValueError(
                f"y has {problem.n_items} columns, the label-ranking form, and trees of single "
                "documents have one score for each row: pass documents with their qid, or choose "
                "another ranker, such as SpearmanRanker(HistGradientBoostingRegressor())."
            )
        return problem

    def _encoded(self, X, reset=False):
        """Return X with numbers for categories."""
        if self.encoder_ is None:
            return X
        if not is_frame(X):
            names = ", ".join(str(self.feature_names_in_[i]) for i in self.categorical_features_)
            raise ValueError(
                f"X must be a data frame as in fit, with the columns of categories {names}, got "
                f"{type(X).__name__}."
            )
        if not reset:
            validate_data(self, X, reset=False, skip_check_array=True)
        return encoded(X, self.categorical_features_, self.encoder_)

    def _check_rows(self, X, qid):
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        return super()._check_rows(self._encoded(X), qid)

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
        problem = self._check_problem(X, y, qid, sample_weight)
        rng = None if self.random_state is None else check_random_state(self.random_state)
        train, valid = self._parts(X, problem, rng)
        seed = 0 if rng is None else int(rng.randint(2**31 - 1))
        found = self._best_of(self._fits(engine, problem, train, valid, seed))
        self.start_, self.start_scale_ = found.start, found.scale
        self.booster_, self.best_iteration_, self.validation_scores_ = found.grown
        self.engine_ = engine.name
        self.record_ = self._record(problem)
        return self

    def _parts(self, X, problem, rng):
        """Return the rows to train on, and those to stop early on or None."""
        whole = part_of(problem, X)
        if self.eval_set is not None:
            return whole, self._eval_part()
        if not self.validation_fraction:
            return whole, None
        held = held_out(whole, problem.measure, self.validation_fraction, rng)
        if held.all() or not held.any():
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} of n_samples={len(held)} rows "
                "leaves none to stop early on, or none to train on: pass more, or set "
                "validation_fraction=None and n_estimators."
            )
        return whole.take(~held), whole.take(held)

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

    def _fits(self, engine, problem, train, valid, seed):
        """Yield the fit from no start, and from each one that may be better."""
        settings = {"seed": seed} | {
            name: getattr(self, name) for name in ("learning_rate", "max_leaves", "n_jobs")
        }
        fit = Fit(
            engine=engine,
            params=engine.params(settings, self.engine_params or {}),
            problem=self._boosted(problem, train),
            own=self.loss if is_own(self.loss) else None,
            kinds=self.categorical_features_,
            rounds=Rounds(
                self.n_estimators,
                self.n_iter_no_change,
                int(self.verbose),
                problem.measure.full_name,
            ),
        )
        train, valid = self._labeled(problem, train), self._labeled(problem, valid)
        score = None if valid is None else score_of(problem.measure, valid)
        yield fit.run(train, valid, score)
        if self.start is not None:
            yield from fit.from_start(self._fitted_start(train), train, valid, score)

    def _labeled(self, problem, part):
        """Return a part with the labels that an objective of the engine reads."""
        if part is None or not is_own(self.loss):
            return part
        return part._replace(labels=grades_for(self.loss, problem.measure.labels(part.y)))

    def _boosted(self, problem, part):
        """Return the problem of the loss; for objectives of the engine, one that they resemble."""
        own, measure = is_own(self.loss), problem.measure
        of_part = problem._replace(X=part.X, y=part.y, queries=part.queries, weight=part.weight)
        if own and not measure.has_score_targets():
            targets = part.y - part.y.min()
        else:
            targets = self._targets(of_part)
        loss = get_loss("pairwise_logistic" if own else self.loss)
        query_weight = None if own else self.query_weight
        made = make_problem(measure, loss, targets, part.queries, part.weight, query_weight)
        return with_unit_curvature(made)

    def _fitted_start(self, part):
        given = {} if part.weight is None else {"sample_weight": part.weight}
        return clone(self.start).fit(part.given(), part.y, part.queries.codes, **given)

    def _best_of(self, fits):
        """Return the first of the fits with the best score."""
        # One after the other: each holds a model.
        best = next(fits)
        for fit in fits:
            if fit.best > best.best:
                best = fit
        return best

    # -- what was fitted ------------------------------------------------------------

    @lazy_aware
    def decision_function(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the sum of the trees for each document, and of the start that they began at.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Query of each row. Checked, and handed to the start, which alone may depend on it.

        Returns
        -------
        u : ndarray of shape (n_rows,)
        """
        checked, _ = self._check_rows(X, qid)
        engine = ENGINES[self.engine_]
        scores = engine.predict(self.booster_, checked, self.categorical_features_, self.n_jobs)
        if self.start_ is None:
            return scores
        return scores + self.start_scale_ * self.start_.predict(X, qid)

    def contributions(self, X: Matrix) -> Floats:
        """Return the scores as exact sums over the features, which are SHAP values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)

        Returns
        -------
        parts : ndarray of shape (n_rows, d + 1)
            What each feature adds to the score of each row, and last what all rows share; rows sum
            to :meth:`decision_function`, up to the precision that the engine computes in.

        Raises
        ------
        ValueError
            If the trees begin at scores that are not linear in the features.
        """
        checked, _ = self._check_rows(X, None)
        parts = ENGINES[self.engine_].contributions(
            self.booster_, checked, self.categorical_features_
        )
        if self.start_ is None:
            return parts
        if not hasattr(self.start_, "coef_"):
            raise ValueError(
                f"The trees begin at scores of {type(self.start_).__name__}, which is not linear "
                "in the features (no coef_): fit without start, or with a closed form."
            )
        table = checked.toarray() if issparse(checked) else checked
        parts[:, :-1] += self.start_scale_ * table * self.start_.coef_
        parts[:, -1] += self.start_scale_ * self.start_.intercept_
        return parts

    @property
    def feature_importances_(self) -> Floats:
        """Decrease of the loss by splits along each feature, as shares of 1."""
        check_is_fitted(self)
        found = ENGINES[self.engine_].importances(self.booster_, self.n_features_in_)
        total = found.sum()
        return found / total if total > 0 else found

    def __getstate__(self):
        state = super().__getstate__()
        if "booster_" in state:
            state = {**state, "booster_": ENGINES[self.engine_].dump(self.booster_)}
        return state

    def __setstate__(self, state):
        if isinstance(state.get("booster_"), str):
            booster = ENGINES[state["engine_"]].load(state["booster_"])
            state = {**state, "booster_": booster}
        super().__setstate__(state)
