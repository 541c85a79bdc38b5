"""A ranker that adds the scores of other rankers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metaestimators import _BaseComposition

from ..boosting import TableReader, adapted, is_least_squares, scores_of, taken_by
from ..columns import arrays, tables
from ..columns.types import CV, ArrayLike, Estimator, EvalSets, Floats, Labels, Matrix, Seed, Self
from ..data import (
    EvalSet,
    QuerySizes,
    Rows,
    available_if,
    check,
    eval_sets,
    fitting,
    has_method,
    lazy_aware,
    limits,
    seed_of,
    takes_eval_set,
    timed,
    workers_of_fit,
)
from ..losses import Loss, get_loss
from ..measures import Measure, OfTargets
from ..preprocessing import by_column, encoded
from ..rankers import FIT, Call, door, losses_of
from ._compiled import CompiledScorer, compiled
from ._explained import contributions_of_members, importances_of, settle_views
from ._members import fit_members, scaled
from ._mixing import FEW_QUERIES, HeldOut, make_plan
from ._views import (
    give_encoder,
    linear_views,
    reads_encoded,
    rows_for,
    trees_behind,
    without_encoder,
)


class StackingRanker(TableReader, _BaseComposition):
    r"""Weighted sum of the scores of several rankers, with weights fitted on held-out queries.

    Use it to mix rankers of your choice, also of other libraries; :class:`TabularRanker` has
    members that are chosen for tables. The score is :math:`\sum_m w_m s_m`, where :math:`s_m` are
    the scores of ranker m divided by their spread within queries. The weights :math:`w \ge 0`
    minimize a loss of the targets of the measure, that of :class:`BoostedRanker`, on queries that
    were held out of the rankers: a convex problem with one unknown for each ranker, to which 0.001
    of the curvature at 0 is added as a ridge penalty (not to squares). Each row has the same weight
    in it, whether its query is long or short.

    The mixture is calibrated (Fisher-consistent) for the measure as its loss is: over *all*
    functions. Here the loss is minimized over weighted sums of given scores only. With
    ``normalize="pooled"`` the order is optimal for the measure, as the number of queries grows, if
    some weighted sum minimizes the loss over all functions: with "pairwise_squared" one that is the
    conditional mean of the targets up to a constant of each query; with "pairwise_logistic" its
    logarithm, as the scores of a boosted ranker with this loss estimate it. There the penalty mixes
    a little of the other rankers in, which may exchange documents of nearly equal means.
    Otherwise no theorem says that the value of the measure is the best among weighted sums, and we
    know of none for grades in place of the targets of the measure. With ``normalize="query"`` the
    level and the spread of the scores of a query are lost, so that even a ranker that estimates the
    minimizer may be mixed with others; :class:`CalibratedRankerCV` brings the level back.

    Parameters
    ----------
    rankers : list of (str, ranker), default=None
        Rankers of this package and pipelines around them. Others, such as regressors, searches and
        LGBMRanker, are fitted as an :class:`ExternalRanker` of them. "drop" in place of a ranker
        leaves it out. None
        means the three linear rankers of :class:`TabularRanker`, on features scaled within the
        query, on their signed logarithms, and on hinges at their quantiles.
    measure : str or Measure, default="ndcg@10"
        Measure whose targets the weighted sum estimates, and which :meth:`score` computes.
    cv : int, splitter, iterable or None, default=None
        Choice of the held-out queries. None: one split. A :class:`BoostedRanker` that stops early
        is stopped on its own share of the held-out queries, gets its weight from its scores there,
        and is not fitted again; other rankers are fitted without the held-out queries, and again
        to all queries. Both are so in pipelines, too. (Scalers, encoders and imputers that do not
        read labels are fitted once, to all queries.) A number of folds, a splitter or an iterable
        of (train, test): every ranker is fitted to each training part, and again to all queries.
    normalize : {"pooled", "query"}, default="pooled"
        "pooled": scores are divided by a spread that is learned in `fit`, and `predict` needs the
        qid only for a ranker that needs it, as the default one of features scaled within the query
        does. "query": scores of each query are scaled to mean 0 and standard deviation 1.
    loss : str or Loss, default=None
        Loss of the weighted sum: "pairwise_logistic", "pairwise_squared", "pairwise_exponential",
        or an object of :mod:`skcalrank.losses` that depends on differences of scores alone. None:
        "pairwise_squared" on grades if every ranker is linear least squares, as the three linear
        rankers, :class:`NDCGRanker` and Ridge are, or fewer than twelve queries are held out; else
        "pairwise_logistic". Negative targets are counted from the lowest of the query where the
        loss does not take them.
    targets : {"measure", "grades"} or None, default=None
        Targets of the loss: those of the measure, or the labels as the measure reads them. None is
        "measure", but where ``loss=None`` chooses squares of grades.
    columns : dict, default=None
        Kinds of columns by name, for boosted rankers and linear views, which read tables as
        :class:`~skcalrank.preprocessing.TableEncoder` does.
    random_state : int, RandomState instance or None, default=None
        Seed for the draw of the held-out queries if ``cv=None``; None is seed 0. Queries are drawn
        by their names: other names act as another seed.
    n_jobs : int, default=None
        Number of rankers to fit at a time. None means 1, -1 one for each core.
    verbose : int, default=0
        If not 0, the time of each fit is printed, and `held_out_scores_`.

    Attributes
    ----------
    rankers_ : list of rankers
        The fitted rankers. Rankers of other libraries, and regressors, are in `estimator_`.
    names_ : list of str
        Names of the fitted rankers.
    named_rankers_ : Bunch
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weights of the scores, each in units of its spread within queries. With
        "pairwise_logistic" their unit is log-odds: what they order matters, not their level.
    loss_ : str or Loss
        Loss that the weights minimize.
    held_out_scores_ : dict of str to float
        The measure of each ranker, by name, and of the weighted sum, "mixture", on held-out
        queries. A ranker that was trained on some of these is compared with the sum on the others:
        its value is that of the sum, plus this difference.
    encoder_ : TableEncoder or None
        Reader of the table for the boosted and linear rankers of a stack, if X is one.
    spreads_ : ndarray of shape (n_rankers,)
        Root mean square of the scores of each ranker around their query means, on held-out
        queries.
    normalize_ : {"pooled", "query"}
        How scores were normalized in :meth:`fit`.
    feature_importances_ : ndarray of shape (d,)
        Importances of the features, normalized to sum 1: the mean over the rankers, weighted by
        `weights_`, of their shares in the decrease of the loss (trees) or in the variance of the
        scores within queries (linear rankers, as if the columns were uncorrelated). They exist if
        each ranker has them. :class:`~skcalrank.displays.ImportanceDisplay` plots mean absolute
        contributions, which have the unit of the score.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    TabularRanker : Stack of linear rankers and boosted trees, in one call.
    BoostedRanker : Boosted trees with early stopping on the measure.
    sklearn.ensemble.StackingRegressor : Stacking of regressors, without queries.

    Notes
    -----
    If all rows are one query, some of its documents are held out.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from skcalrank import NDCGRanker, StackingRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> trees = ExtraTreesRegressor(20, random_state=0)
    >>> stack = StackingRanker([("linear", NDCGRanker()), ("trees", trees)]).fit(X, y, qid)
    >>> bool(stack.weights_[1] > stack.weights_[0])
    True
    """

    takes_label_form = False
    takes_eval_set = True
    fits_among_workers = True

    _explains_queries: ClassVar[bool] = True
    _weights_note = "queries are held out, and each ranker uses weights in its own way"
    _has_members = True
    # Whether `n_jobs` is the number of threads of trees, in place of that of rankers at once.
    _threads_are_of_trees: ClassVar[bool] = False
    # Rankers that do not take missing values raise themselves.
    _reads_also: ClassVar = {"missing": True, "tables": True}
    _rules: ClassVar[Any] = (lambda self, _: self._checked_members(),)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rankers": limits.OWN_ERROR,
        "normalize": [limits.one_of("pooled", "query")],
        "targets": [limits.one_of("measure", "grades"), None],
    }

    def __init__(
        self,
        rankers: Sequence[tuple[str, Estimator]] | None = None,
        *,
        measure: str | Measure = "ndcg@10",
        cv: CV | None = None,
        normalize: str = "pooled",
        loss: str | Loss | None = None,
        targets: str | None = None,
        columns: Mapping[Any, str] | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.rankers = rankers
        self.measure = measure
        self.cv = cv
        self.normalize = normalize
        self.loss = loss
        self.targets = targets
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- parameters -----------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including those of the rankers by their names.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the rankers.

        Returns
        -------
        params : dict
            Values by name.
        """
        return self._get_params("rankers", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, a ranker, or parameters of a ranker by its name.

        Parameters
        ----------
        **params
            Values by name, such as ``trees__learning_rate=0.05`` or ``trees="drop"``.

        Returns
        -------
        self : StackingRanker
        """
        return self._set_params("rankers", **params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            members = [ranker for _, ranker in self._checked_members()]
        except ValueError:
            return tags  # parameters are validated in fit
        inputs = [get_tags(ranker).input_tags for ranker in members]
        tags.input_tags.sparse = all(tags_of.sparse for tags_of in inputs)
        tags.input_tags.allow_nan = all(tags_of.allow_nan for tags_of in inputs)
        # Tables are read at once for all rankers that do so, whatever the others take.
        tags.input_tags.string = any(map(reads_encoded, members)) or all(i.string for i in inputs)
        return tags

    def _members(self) -> Any:
        return linear_views(self.measure) if self.rankers is None else self.rankers

    def _why_unread(self) -> str | None:
        if any(reads_encoded(ranker) for _, ranker in self._checked_members()):
            return None
        return "none of the rankers reads tables"

    def _checked_members(self) -> list[tuple[str, Any]]:
        """Return the (name, ranker) pairs that are not dropped; raise for an invalid list."""
        try:
            members = [(name, ranker) for name, ranker in self._members()]
        except (TypeError, ValueError):
            members = []
        if not members or not all(isinstance(name, str) for name, _ in members):
            raise ValueError(
                "rankers must be a list of (name, ranker), such as [('linear', NDCGRanker()), "
                "('trees', BoostedRanker())], or None for three linear views, got "
                f"{self.rankers!r}."
            )
        self._validate_names([name for name, _ in members])
        if any(name == "mixture" for name, _ in members):
            raise ValueError(
                "rankers must have other names than 'mixture', which is that of their mixture in "
                "held_out_scores_, got a ranker of this name: rename it."
            )
        # Comparing an estimator with a string may not give a bool.
        members = [m for m in members if not (isinstance(m[1], str) and m[1] == "drop")]
        if not members:
            raise ValueError("rankers must have at least one that is not 'drop', got 'drop' only.")
        for name, ranker in members:
            if check.valid_regressor(ranker) is None:
                raise ValueError(f"rankers must have fit and predict, got {ranker!r} for {name!r}.")
        return [(name, adapted(ranker, self.measure)) for name, ranker in members]

    # -- fit ------------------------------------------------------------------------

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
    ) -> Self:
        """Fit the rankers, and their weights on held-out queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents, passed to the rankers as they are. If X and the other arguments are dask
            collections, each partition must hold whole queries (see
            :func:`skcalrank.dask.partition_by_query`). Each worker of a cluster keeps its rows in
            memory. Several need rankers that are linear views, as they are with ``rankers=None``
            and in :class:`TabularRanker`, closed forms such as :class:`NDCGRanker`, or a
            :class:`BoostedRanker`. All but trees are those of all rows in memory, up to rounding.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, or a scalar, as in :meth:`LeastSquaresRanker.fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            Passed to every ranker, and weight of each row in the loss of the mixture.
        eval_set : tuple or dict of str to tuple, default=None
            Queries on which rankers of trees are stopped early, as in :meth:`BoostedRanker.fit`.
            They are then fitted twice: without the queries that are held out for the weights of the
            mixture, and to all queries.

        Returns
        -------
        self : StackingRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If a parameter is invalid, the loss depends on the level of scores, the input is not a
            ranking problem, there are too few queries to hold some out, or `eval_set` is given and
            no ranker takes it.
        TypeError
            If `sample_weight` is given and a ranker does not take weights.

        Warns
        -----
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing, or `cv` cuts queries.
        """
        return self._fit(FIT, X, y, qid, sample_weight, eval_set)

    @available_if(
        lambda self: all(has_method(r, "fit_targets") for _, r in self._checked_members())
    )
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
        """Fit the rankers and their weights to targets in place of labels.

        Available if every ranker has `fit_targets` or is a regressor.

        Parameters
        ----------
        X, qid, sample_weight, eval_set
            As in :meth:`fit`.
        targets : array-like of shape (n_rows,)
            As in :meth:`NDCGRanker.fit_targets`.

        Returns
        -------
        self : StackingRanker
            The fitted ranker.
        """
        check.refuse_judgments(targets)
        return self._fit(Call(of_targets=True), X, targets, qid, sample_weight, eval_set)

    def _fit(
        self, call: Call, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: Any = None
    ) -> Self:
        """Fit the rankers to labels or targets, and their weights."""
        members, evals = self._checked_members(), eval_sets(eval_set)
        plan, loss = self._plan_of_mixture(self._check_params(call), members)
        if evals and not any(takes_eval_set(ranker) for _, ranker in members):
            raise ValueError(
                "eval_set must be None, because none of the rankers is stopped early: leave it out."
            )
        plan, rows = door(self, plan, X, y, qid, sample_weight)
        measure = OfTargets(plan.measure) if call.of_targets else plan.measure
        targets = rows.y if call.of_targets else self._targets(plan, rows)
        targets = loss.standardize(targets, rows.queries)
        cv, qid, seed = self.cv, check.qid_beside(y, qid), seed_of(self.random_state)
        evals = self._read(evals, rows)
        parts = make_plan(members, rows, measure, targets, cv, qid, seed, evals, call.of_targets)
        self.normalize_ = self.normalize
        by_query = self._scores_by_query
        verbose = bool(self.verbose) and workers_of_fit().rank == 0
        n_at_once = None if self._threads_are_of_trees else self.n_jobs
        fits = fit_members(members, parts, by_query, n_at_once, verbose)
        self.rankers_, scores, spreads = map(list, zip(*fits))
        self.spreads_ = np.array(spreads)
        self.names_ = [name for name, _ in members]
        with timed(verbose, "StackingRanker", "mixture of their scores") as told:
            held_out = HeldOut(np.column_stack(scores), parts)
            if self.loss is None and held_out.n_queries() < FEW_QUERIES:
                if self.targets is None:
                    plan = replace(plan, targets="grades")
                    held_out.targets = measure.labels(held_out.y)
                plan, loss = replace(plan, loss="pairwise_squared"), get_loss("pairwise_squared")
            weights = held_out.weights(loss)
            shares, values = held_out.measured(measure, weights)
            self.weights_: Floats = shares * weights
            self.held_out_scores_ = dict(zip([*self.names_, "mixture"], values))
            shown = ", ".join(f"{k} {value:.4f}" for k, value in self.held_out_scores_.items())
            told.append(f"{measure.full_name} on held-out queries: {shown}")
        self.loss_, self.record_ = plan.loss, self._record(plan, rows)
        settle_views(self, rows if parts.sample is None else parts.sample.rows)
        return self._prepared_to_score()

    def _target_losses(self) -> list[Loss]:
        return [loss for _, ranker in self._checked_members() for loss in losses_of(ranker)]

    def _plan_of_mixture(self, plan: Any, members: list[tuple[str, Any]]) -> tuple[Any, Loss]:
        """Return the plan with the loss and the targets in force, and the loss."""
        loss, targets = self.loss, self.targets
        if loss is None:
            loss = "pairwise_logistic"
            if all(is_least_squares(ranker) for _, ranker in members):
                loss, targets = "pairwise_squared", targets or "grades"
        made = get_loss(loss)
        if made.needs_intercept:
            raise ValueError(
                "loss must be one of pairs, which does not depend on the level of the scores, such "
                f"as 'pairwise_logistic' or 'pairwise_squared', got {loss!r}."
            )
        return replace(plan, loss=loss, targets=targets or "measure"), made

    def _read(self, evals: dict[str, EvalSet], rows_of_fit: Rows) -> dict[str, EvalSet]:
        """Return evaluation sets as the rankers take them, with tables that have been read."""
        sizes = QuerySizes.of(rows_of_fit.queries) if rows_of_fit.named else None
        out = {}
        for key, (X, y, qid, weight) in evals.items():
            if qid is not None:
                queries = check.queries(qid, len(y))
                check.warn_of_changed_queries(sizes, y, queries, "eval_set")
                # The rankers need not tell again, and may know a part of the queries of fit.
                y, qid = np.asarray(y), np.char.mod("eval_set %d", queries.codes)
            if self.encoder_ is not None:
                X = encoded(X, self.encoder_)
            out[key] = EvalSet(X, y, qid, weight)
        return out

    @property
    def named_rankers_(self) -> Bunch:
        """The fitted rankers by name."""
        self._check_fitted()
        return Bunch(**dict(zip(self.names_, self.rankers_)))

    # -- explanations -----------------------------------------------------------------

    def contributions(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the scores as exact sums over the features, within each query.

        Linear rankers add the terms of a feature: all its curves, or the indicators of its
        categories. Trees add its SHAP values. All are in the unit of the score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Whole queries.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row; a scalar means that all rows are one query.

        Returns
        -------
        parts : ndarray of shape (n_rows, d + 1)
            What each feature adds to the score of each row, less the mean of this over the query;
            the last column is the mean score of the query. Rows sum to :meth:`surrogate_values`.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and gets none.
        ValueError
            If the scores of a ranker are neither linear nor sums of trees that can be explained;
            the error names the ranker.

        See Also
        --------
        skcalrank.inspection.explain_order : Explains the order of two documents.
        """
        self._require_qid(qid, "contributions")
        if tables.is_empty(X):
            return self._no_parts(X, qid)
        rows = self._check_rows(X, qid, "contributions")
        levels, scorer = rows.queries.levels(self._scores(rows)), self._scorer(rows)
        if scorer is None:
            parts = contributions_of_members(self, rows)
        else:
            parts = scorer.contributions(rows.X, rows.queries, self._n_jobs_of_trees())
            parts = by_column(parts, self.encoder_)
        return np.column_stack([parts, levels])

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the features, normalized to sum 1."""
        self._check_fitted()
        return importances_of(self)

    # -- what was fitted --------------------------------------------------------------

    def _n_jobs_of_trees(self) -> list[int | None]:
        members = (trees_behind(r) for r, weight in zip(self.rankers_, self.weights_) if weight > 0)
        own = [boosted.n_jobs for boosted in members if boosted is not None]
        shared = self._threads_are_of_trees and self.n_jobs is not None
        return [self.n_jobs] * len(own) if shared else own

    def __getstate__(self) -> dict[str, Any]:
        # What scores are computed by is made of the rankers, which share the reader of the table.
        made = ("_compiled", "_taken")
        state = {key: value for key, value in super().__getstate__().items() if key not in made}
        if state.get("encoder_") is not None:
            rankers = state["rankers_"]
            state["rankers_"] = [without_encoder(ranker, state["encoder_"]) for ranker in rankers]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "rankers_" in state:
            for ranker in self.rankers_ if self.encoder_ is not None else ():
                give_encoder(ranker, self.encoder_)
            self._prepared_to_score()

    def _prepared_to_score(self) -> Self:
        """Compile the scorer, or else look up once what rankers take beside X."""
        self._compiled = compiled(self)
        self._taken = [taken_by(r) if self._compiled is None else None for r in self.rankers_]
        return self

    @property
    def _scores_by_query(self) -> bool:
        return getattr(self, "normalize_", self.normalize) == "query"

    def _encoded(self, X: Any) -> Any:
        if self.encoder_ is not None:
            return encoded(X, self.encoder_)
        if isinstance(X, np.ndarray) and X.dtype == object:  # after a fit to numbers
            return arrays.checked(X, "X", ensure_all_finite="allow-nan")
        return X

    def _scorer(self, rows: Rows) -> CompiledScorer | None:
        """Return the compiled scorer; None if there is none for these rows."""
        made = self._compiled
        if made is None or not isinstance(rows.X, np.ndarray) or not made.is_of(self):
            return None
        return made.scorer

    def _scores(self, rows: Rows) -> Floats:
        queries, takes_qid = rows.queries, rows.named or not self.record_.has_qid
        scorer = self._scorer(rows)
        if scorer is not None:
            if scorer.reads_queries and not takes_qid:
                self._require_qid(None, "predict")
            return scorer.scores(rows.X, queries, self._n_jobs_of_trees())
        parts = []
        members = zip(self.rankers_, self._taken, self.spreads_, self.weights_)
        for ranker, taken, spread, weight in members:
            if weight > 0:  # others need not predict
                scores = scores_of(ranker, rows_for(ranker, rows), queries, takes_qid, taken)
                parts.append(weight * scaled(scores, queries, spread, self._scores_by_query))
        return np.sum(parts, axis=0)
