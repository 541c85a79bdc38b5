"""A ranker that adds the scores of other rankers."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from ..data import all_or_nothing, check, limits
from ..data.types import ArrayLike, Labels, Matrix, Seed, Self
from ..measures import Measure
from ..rankers import BaseRanker
from ._members import fit_members, scaled, scores_of
from ._mixing import make_plan, weights_of
from ._views import linear_views


class StackingRanker(BaseRanker, _BaseComposition):
    r"""Weighted sum of the scores of several rankers, with weights fitted on held-out queries.

    The score is :math:`\sum_m w_m s_m`, where :math:`s_m` are the scores of ranker m divided by
    their spread within queries. The weights :math:`w \ge 0` minimize the centered squared loss
    (CUG13, section 3) of the targets of the measure on queries that were held out of the rankers:
    a non-negative least squares problem with one unknown for each ranker.

    The squared loss over *all* functions is calibrated (Fisher-consistent) for the measure. Here it
    is minimized over weighted sums of given scores only. With ``normalize="pooled"`` the order is
    optimal for the measure, as the number of queries grows, if some weighted sum is the conditional
    mean of the targets up to a constant of each query, for example because one of the rankers
    estimates this mean. Otherwise the weighted sum closest to the mean is found, and no theorem
    says that its value of the measure is the best among weighted sums: the scores of a consistent
    ranker may be another function of the mean, as those of a logistic loss are. With
    ``normalize="query"`` the level and the spread of the scores of a query are lost, so that even
    a ranker that estimates the mean may be mixed with others.

    Parameters
    ----------
    rankers : list of (str, ranker), default=None
        Rankers of this package, pipelines and searches around them, regressors, and the classes
        LGBMRanker, XGBRanker and CatBoostRanker. "drop" in place of a ranker leaves it out. None
        means the three linear rankers of :func:`tabular_ranker`, on features scaled within the
        query, on their signed logarithms, and on hinges at their quantiles.
    measure : str or Measure, default="ndcg@10"
        Measure whose targets the weighted sum estimates, and which :meth:`score` computes.
    cv : int, splitter, iterable or None, default=None
        Choice of the held-out queries. None: one split. A :class:`BoostedRanker` that stops early
        is stopped on its own share of the held-out queries, gets its weight from its scores there,
        and is not fitted again; other rankers are fitted without the held-out queries, and again
        to all queries. (Scalers, encoders and imputers that do not read labels are fitted once,
        to all queries.) A number of folds, a splitter or an iterable of (train, test): every
        ranker is fitted to each training part, and again to all queries.
    normalize : {"pooled", "query"}, default="pooled"
        "pooled": scores are divided by a spread that is learned in `fit`, and `predict` does not
        need the qid. "query": scores of each query are scaled to mean 0 and standard deviation 1.
    targets : {"measure", "grades"}, default="measure"
        Targets of the least squares: those of the measure, or the labels as the measure reads
        them, which are less noisy, but for which we know of no theorem.
    random_state : int, RandomState instance or None, default=None
        Seed for the draw of the held-out queries if ``cv=None``. If None, the draw depends on the
        values in X, y and `sample_weight`, and is the same in every fit. In no case does it
        depend on the order of the rows.
    n_jobs : int, default=None
        Number of rankers to fit at a time. None means 1, -1 one for each core.
    verbose : int, default=0
        If not 0, the time of each fit is printed.

    Attributes
    ----------
    rankers_ : list of rankers
        The fitted rankers.
    names_ : list of str
        Names of the fitted rankers.
    named_rankers_ : Bunch
        The fitted rankers by name.
    weights_ : ndarray of shape (n_rankers,)
        Weights of the scores, each in units of its spread within queries.
    spreads_ : ndarray of shape (n_rankers,)
        Root mean square of the scores of each ranker around their query means, on held-out
        queries.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    tabular_ranker : Stack of linear rankers and boosted trees, in one call.
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
    >>> stack.weights_[1] > stack.weights_[0]
    np.True_
    """

    takes_label_form = False
    _plan_settings: ClassVar = {
        "weights_note": "queries are held out, and each ranker uses weights in its own way"
    }

    _parameter_constraints: ClassVar[dict] = {
        "rankers": limits.OWN_ERROR,
        "measure": limits.OWN_ERROR,
        "cv": limits.OWN_ERROR,
        "normalize": [limits.one_of("pooled", "query")],
        "targets": [limits.one_of("measure", "grades")],
        "random_state": ["random_state"],
        "n_jobs": [limits.Integers(), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        rankers: Sequence[tuple[str, Any]] | None = None,
        *,
        measure: str | Measure = "ndcg@10",
        cv: Any = None,
        normalize: str = "pooled",
        targets: str = "measure",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.rankers = rankers
        self.measure = measure
        self.cv = cv
        self.normalize = normalize
        self.targets = targets
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
        if self.rankers is None:
            return super().get_params(deep=deep)
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
        if self.rankers is None and "rankers" not in params:
            super().set_params(**params)
        else:
            self._set_params("rankers", **params)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            members = [ranker for _, ranker in self._checked_members()]
        except ValueError:
            return tags  # parameters are validated in fit
        inputs = [get_tags(ranker).input_tags for ranker in members]
        tags.input_tags.sparse = all(tags_of.sparse for tags_of in inputs)
        tags.input_tags.allow_nan = all(tags_of.allow_nan for tags_of in inputs)
        return tags

    def _members(self) -> Any:
        return linear_views(self.measure) if self.rankers is None else self.rankers

    def _reads(self, plan):
        # Rankers that do not take missing values raise themselves.
        return super()._reads(plan)._replace(missing=True, tables=True)

    def _check_params(self):
        check.params(self)
        self._measure()
        return self._checked_members()

    def _checked_members(self):
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
        # Comparing an estimator with a string may not give a bool.
        members = [m for m in members if not (isinstance(m[1], str) and m[1] == "drop")]
        if not members:
            raise ValueError("rankers must have at least one that is not 'drop', got 'drop' only.")
        for name, ranker in members:
            if isclass(ranker) or not (hasattr(ranker, "fit") and hasattr(ranker, "predict")):
                raise ValueError(f"rankers must have fit and predict, got {ranker!r} for {name!r}.")
        return members

    # -- fit ------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the rankers, and their weights on held-out queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents, passed to the rankers as they are.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order. If None, all rows are one query.
        sample_weight : array-like of shape (n_rows,), default=None
            Passed to every ranker, and weight of each row in the least squares of the mixture.

        Returns
        -------
        self : StackingRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If a parameter is invalid, the input is not a ranking problem, or there are too few
            queries to hold some out.
        TypeError
            If `sample_weight` is given and a ranker does not take weights.

        Warns
        -----
        OneQueryWarning
            If y of several rows has no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing.
        """
        members = self._check_params()
        plan, rows = self._check_problem(self._plan(), X, y, qid, sample_weight)
        rng = None if self.random_state is None else check_random_state(self.random_state)
        targets = self._targets(plan, rows)
        parts = make_plan(
            members, rows, plan.measure, targets, self.cv, check.carried_qid(y, qid), rng
        )
        by_query = self._scores_by_query
        fits = fit_members(members, parts, by_query, self.n_jobs, bool(self.verbose))
        self.rankers_, scores, spreads = map(list, zip(*fits))
        self.weights_ = weights_of(np.column_stack(scores), parts)
        self.spreads_ = np.array(spreads)
        self.names_ = [name for name, _ in members]
        self.record_ = self._record(plan, rows)
        return self

    def _targets(self, plan, rows):
        if self.targets == "grades":
            return plan.measure.labels(rows.y)
        return super()._targets(plan, rows)

    @property
    def named_rankers_(self) -> Bunch:
        """The fitted rankers by name."""
        check_is_fitted(self)
        return Bunch(**dict(zip(self.names_, self.rankers_)))

    # -- what was fitted --------------------------------------------------------------

    @property
    def _scores_by_query(self):
        return self.normalize == "query"

    def _scores(self, rows):
        queries, takes_qid = rows.queries, rows.named or not self.record_.has_qid
        parts = []
        for ranker, spread, weight in zip(self.rankers_, self.spreads_, self.weights_):
            if weight > 0:  # others need not predict
                scores = scores_of(ranker, rows.X, queries, takes_qid)
                parts.append(weight * scaled(scores, queries, spread, self._scores_by_query))
        return np.sum(parts, axis=0)
