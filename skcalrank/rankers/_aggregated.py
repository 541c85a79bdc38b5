"""Rankers that learn from many partial judgements of a query."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._solvers import (
    SQUARED_LOSSES,
    effective_loss,
    is_closed_form,
    predict_rows,
    takes_nan,
    takes_sparse,
)
from ..aggregation import STRUCTURES, judgments_of, mean_over_subsets, structure_scores
from ..data import (
    ClickSessions,
    PreferenceTarget,
    all_or_nothing,
    carried_qid,
    check_alpha,
    check_count,
    check_cutoff,
    check_option,
)
from ..losses import get_loss
from ..measures import get_measure
from ._base import BaseRanker, fit_targets, names_of
from ._draws import Draws, descend, new_descent
from ._linear import linear_scores
from ._order_preserving import OrderPreservingRanker

__all__ = ["AggregatedRanker"]

SOLVERS = ("exact", "sgd")


class AggregatedRanker(BaseRanker):
    r"""Learn from comparisons or clicks, aggregated before they are learnt from.

    A structure turns judgements :math:`Y_1, \dots, Y_k` of a query into scores s of its documents;
    the targets v(s) of a positional measure are learnt. With ``order=None`` all :math:`n_q`
    judgements of a query are aggregated; with ``order=k`` the risk is the U-statistic

    .. math:: \frac{1}{n} \sum_q n_q \binom{n_q}{k}^{-1}
        \sum_{|S| = k} L\bigl(v(s(Y_S)), f(q)\bigr)

    (DMJ13, eq. 17 and 19; a query with fewer judgements uses all of them). Consistent for the
    measure when the structure's scores, in the limit of many judgements, are the relevances that
    the measure is about, and k grows, more slowly than the root of the number n of all judgements
    (DMJ13, Theorem 4, for a fixed class of scorers). Complete aggregation is the limit of large k,
    which the theorem does not cover. Pairwise losses of single comparisons are not consistent
    (Theorem 2), see :class:`PairwiseLogisticRanker`.

    The losses of the package are affine in the targets, so the U-statistic is the loss of the *mean
    target over the subsets*, exact where subsets are few, from ``n_draws`` random ones otherwise.

    Parameters
    ----------
    structure : str or callable, default="mean_log_odds"
        A name in ``skcalrank.aggregation.STRUCTURES``: ``"mean_log_odds"``, ``"borda"``,
        ``"win_rate"``, ``"thurstone_mosteller"``, ``"bradley_terry"``,
        ``"principal_eigenvector"`` for comparisons, ``"cascade"`` for clicks; or a function of
        the target that returns one score per row.
    order : int, default=None
        Number of judgements k that are aggregated at a time; None = all.
    measure : str or Measure, default="ndcg@10"
        Whose targets are learnt, of the structure's scores minus their minimum in the query.
    estimator : regressor, default=None
        Of the squared losses; None is a linear scorer, which squared losses solve as
        ``Ridge(alpha)`` does.
    loss : str or Loss, default=None
        ``"squared"`` or ``"pairwise_squared"`` with any regressor, as in
        :class:`LeastSquaresRanker`; any other order-preserving loss of :mod:`skcalrank.losses`
        with a linear scorer. With ``"pairwise_logistic"`` and ``"pairwise_exponential"`` it is
        the listwise NDCG surrogate of DMJ13 (section 3.3),
        :math:`\sum_j v_j \sum_{l \ne j} \phi(a_l - a_j)` with the increasing
        :math:`\phi(x) = \log(1 + e^x)` and :math:`e^x` (the paper writes "nonincreasing").
    alpha : float, default=1.0
        Ridge penalty of the linear scorer. It stands against the sum over the queries of
        :math:`n_q / r` times the loss.
    structure_options : dict, default=None
        Options of the structure, such as ``{"c": 0.1}``.
    n_draws : int, default=20
        Random subsets of each query that has more.
    solver : {"exact", "sgd"}, default="exact"
        The loss of the mean target; or stochastic gradients, which draw a query with probability
        :math:`n_q / n` and a subset of its judgements for each term (eq. 25), with a linear scorer
        and an averaged iterate. Features on one scale are a must for "sgd".
    n_updates : int, default=20_000
        Of "sgd".
    batch_size : int, default=8
        Draws that an update of "sgd" averages; 1 in the paper.
    step : float, default=None
        First step of "sgd"; None is chosen by the curvature of the loss. Steps fall as 1/t where
        the penalty makes the objective strongly convex, and as 1/sqrt(t) for losses that are not
        squared; squared ones without a penalty keep theirs.
    fit_intercept : bool, default=True
        Of the linear scorer; no part in pairwise losses.
    random_state : int, RandomState instance or None, default=None
        Draws subsets and gradients.
    verbose : int, default=0
        1 tells how far "sgd" is.

    Attributes
    ----------
    estimator_ : regressor
        Fitted, where one was given.
    coef_, intercept_
        Of a linear scorer.
    targets_ : ndarray of shape (n_rows,) or (n, r)
        Mean targets that were learnt, of the exact solver.
    standard_error_ : ndarray, same shape
        Monte Carlo error of the mean targets; 0 where they are exact, NaN for ``n_draws=1``.
    n_iter_ : int
        Updates, or iterations of the solver.

    Examples
    --------
    >>> from skcalrank import AggregatedRanker, sample_comparisons
    >>> X, relevance, qid = [[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0], [7, 7, 7]
    >>> y = sample_comparisons(relevance, qid, n_comparisons=500, random_state=0)
    >>> AggregatedRanker("mean_log_odds", measure="ndcg@3").fit(X, y).rank(X, qid)
    array([3, 2, 1])
    """

    _judgments = (PreferenceTarget, ClickSessions)

    def __init__(
        self,
        structure="mean_log_odds",
        order=None,
        measure="ndcg@10",
        *,
        estimator=None,
        loss=None,
        alpha=1.0,
        structure_options=None,
        n_draws=20,
        solver="exact",
        n_updates=20_000,
        batch_size=8,
        step=None,
        fit_intercept=True,
        random_state=None,
        verbose=0,
    ):
        self.structure = structure
        self.order = order
        self.measure = measure
        self.estimator = estimator
        self.loss = loss
        self.alpha = alpha
        self.structure_options = structure_options
        self.n_draws = n_draws
        self.solver = solver
        self.n_updates = n_updates
        self.batch_size = batch_size
        self.step = step
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.estimator)
        tags.input_tags.allow_nan = takes_nan(self.estimator)
        return tags

    def _measure(self):
        return get_measure(self.measure)

    def _structure(self):
        """The function, with its options."""
        options = self.structure_options or {}
        if not isinstance(options, Mapping):
            raise TypeError(f"structure_options={options!r}: give a dict of options, or None.")
        if callable(self.structure):
            return self.structure, options
        if self.structure not in STRUCTURES:
            raise ValueError(
                f"structure={self.structure!r}: choose one of {', '.join(STRUCTURES)}, or a "
                "function of the target."
            )
        return STRUCTURES[self.structure], options

    def _check_parameters(self):
        check_option("solver", self.solver, SOLVERS)
        check_cutoff(self.order, "order")
        check_alpha(self.alpha)
        for name in ("n_draws", "n_updates", "batch_size"):
            check_count(name, getattr(self, name))
        if self.step is not None and not (isinstance(self.step, Real) and 0 < self.step < np.inf):
            raise ValueError(f"step={self.step!r}: choose a positive number, or None.")
        squares = self.loss is None or self.loss in SQUARED_LOSSES
        if self.estimator is not None and (self.solver == "sgd" or not squares):
            raise ValueError(
                f"estimator={self.estimator!r} was given, but solver={self.solver!r} with "
                f"loss={self.loss!r} fits a linear scorer: leave the estimator None, or take "
                "solver='exact' and loss='squared'."
            )
        in_parts = self.order is not None or self.solver == "sgd"
        if in_parts and not self._measure().is_scaled:
            raise ValueError(
                f"measure={self.measure!r} has no max_grade, so that its scale would be another "
                "for each subset of the judgements: give it one, as in ERR(max_grade=1) of "
                "skcalrank.measures."
            )

    def _judgments_of(self, problem, y):
        """The target; relevances stand for one judgement of each query."""
        if isinstance(y, self._judgments):
            return y
        queries = problem.queries
        if problem.n_items is not None:
            return PreferenceTarget.from_relevance(problem.y.reshape(-1, problem.n_items))
        return PreferenceTarget.from_relevance(queries.ungroup(problem.y), queries.codes)

    def _targets_of(self, scores, queries):
        """Targets of the measure, of scores moved so that the lowest of a query is 0."""
        measure = self._measure()
        return measure.score_targets(measure.labels(_above_lowest(scores, queries)), queries)

    @all_or_nothing
    def fit(self, X, y, qid=None, sample_weight=None):
        """Aggregate the judgements, and learn the targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, d)
        y : PreferenceTarget, ClickSessions, or array-like of shape (n_rows,) or (n, r)
            Judgements, which carry their queries. Relevances stand for one judgement of each
            query, that of all their differences.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weighs the terms of a document, beside the number of judgements of its query.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no judgement, or the input is no ranking problem.
        """
        self._check_parameters()
        problem = self._check_problem(X, y, qid, sample_weight)
        return self._take(problem, self._judgments_of(problem, y), "fit", anew=True)

    def _take(self, problem, judged, method, anew):
        """Learn from judgements alone, or go on with them."""
        exact = self.solver != "sgd" and self.estimator is not None
        counts_twice = exact and is_closed_form(self.estimator)
        record = self._record(problem, names_of(problem.queries) if counts_twice else frozenset())
        record = record if anew else self.record_.add(record)
        if self.solver == "sgd":
            self._descend(problem, judged, anew)
        else:
            self._fit_exactly(problem, judged, method, anew)
        self.record_ = record
        return self

    def _loss_in_force(self):
        return self.structure, self.order, self.loss

    def _forget(self):
        """Drop what was learnt, in favour of what just was."""
        for name in ("estimator_", "targets_", "standard_error_", "_descent", "_coef"):
            vars(self).pop(name, None)

    def _counts(self, problem, judged, alone=True):
        """Number of judgements of each query; other chunks may have some if these are not all."""
        counts = judged.n_judgments
        if counts.any():
            return counts
        if isinstance(problem.y, self._judgments) or not alone:
            raise ValueError(
                "There is no judgement (relevances that are alike in a query make none): nothing "
                "is left to learn from."
            )
        # Relevances that are alike in every query, and so targets of 0.
        return np.ones_like(counts)

    def _weighted(self, problem, counts):
        """Rows weighed by the number of judgements of their query over that of its documents."""
        queries = problem.queries
        share = counts / queries.sizes
        per_row = share if problem.n_items is not None else share[queries.codes]
        return problem._replace(
            weight=per_row if problem.weight is None else per_row * problem.weight
        )

    # -- the mean target ----------------------------------------------------------

    def _fit_exactly(self, problem, judged, method, anew):
        counts = self._counts(problem, judged, alone=method == "fit")
        structure, options = self._structure()
        found = mean_over_subsets(
            judged,
            structure,
            self.order,
            self._targets_of,
            n_draws=self.n_draws,
            random_state=self.random_state,
            **options,
        )
        targets = problem.queries.group(np.ravel(found.mean))
        self._learn(self._weighted(problem, counts), targets, method, anew)
        self.targets_, self.standard_error_ = found

    def _learn(self, problem, targets, method, anew):
        if self.estimator is not None:
            pairwise = effective_loss(self.loss, self.estimator) == "pairwise_squared"
            regressor = clone(self.estimator) if anew else copy.deepcopy(self.estimator_)
            fitted = fit_targets(regressor, problem, targets, pairwise=pairwise, method=method)
            self._forget()
            self.estimator_, self.n_iter_ = fitted, 1
            return
        scorer = OrderPreservingRanker(
            loss=self._loss(), alpha=self.alpha, fit_intercept=self.fit_intercept
        )
        found = scorer._solve_targets(problem, targets, None)
        self._forget()
        self._coef, self._intercept, self.n_iter_ = found

    # -- stochastic gradients -----------------------------------------------------

    def _descend(self, problem, judged, anew):
        counts = self._counts(problem, judged)
        if anew:
            descent = new_descent(problem, self._loss(), bool(self.fit_intercept))
            rng = check_random_state(self.random_state)
        else:
            descent, rng = self._descent, self._rng
        targets_of = partial(self._targets_of_subsets, *self._structure())
        shares, penalty = counts / counts.sum(), self.alpha / counts.sum()
        judgments = judgments_of(judged, judged.queries())
        options = {"order": self.order, "batch_size": self.batch_size, "rng": rng}
        draws = Draws(problem, judgments, shares, targets_of, **options)
        options = {"n_updates": self.n_updates, "step": self.step, "verbose": self.verbose}
        descend(descent, draws, self._loss(), penalty=penalty, **options)
        self._forget()
        self._descent, self._rng = descent, rng
        mean = descent.mean_coef, descent.mean_intercept
        self._coef, self._intercept = mean[0].T, mean[1] if mean[1].ndim else float(mean[1])
        self.n_iter_ = descent.n_updates

    def _targets_of_subsets(self, structure, options, chosen, queries):
        return self._targets_of(structure_scores(structure, chosen, queries, options), queries)

    def _loss(self):
        return get_loss("pairwise_squared" if self.loss is None else self.loss)

    @available_if(lambda self: self.solver == "sgd" or hasattr(self.estimator, "partial_fit"))
    @all_or_nothing
    def partial_fit(self, X, y, qid=None, sample_weight=None):
        """Go on with new judgements.

        There for ``solver="sgd"`` and for an `estimator` that has `partial_fit`. "sgd" makes
        another ``n_updates`` on the judgements given, of these or other documents. The exact
        solver adds queries: a chunk holds whole queries with all their judgements, and with
        :class:`~skcalrank.linear_model.GramRidge` the result is that of one fit to all chunks
        where the targets are exact. Then `targets_` and `standard_error_` are of the last chunk.
        After a fit of the other solver, or of a regressor without `partial_fit`, it begins anew.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the judgements are about other features or items than before, there is none,
            measure, structure, order or loss were changed in between, or with `GramRidge` a query
            was in an earlier chunk.
        """
        self._check_parameters()
        goes_on = hasattr(getattr(self, "estimator_", None), "partial_fit")
        first = not (hasattr(self, "_descent") if self.solver == "sgd" else goes_on)
        problem = self._check_problem(X, y, qid, sample_weight, reset=first)
        return self._take(problem, self._judgments_of(problem, y), "partial_fit", anew=first)

    # -- predictions --------------------------------------------------------------

    def decision_function(self, X, qid=None):
        """Scores of the documents.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Checked, but the scores do not depend on it.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
        """
        X, _ = self._check_rows(X, qid)
        if hasattr(self, "estimator_"):
            return predict_rows(self.estimator_, X)
        return linear_scores(X, self._coef, self._intercept)

    def score(self, X, y, qid=None, sample_weight=None):
        """Mean of the measure over the queries, higher is better.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        y : array-like of shape (n_rows,) or (n, r), PreferenceTarget or ClickSessions
            Relevances, or judgements: then what the structure makes of all of them, minus its
            minimum in the query.
        qid : array-like of shape (n_rows,), default=None
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
        """
        if not isinstance(y, self._judgments):
            return super().score(X, y, qid, sample_weight)
        check_is_fitted(self)
        qid = carried_qid(y, qid)
        structure, options = self._structure()
        queries = y.queries()
        scores = structure_scores(structure, y, queries, options)
        labels = queries.ungroup(_above_lowest(scores, queries))
        labels = labels if y.n_items is None else labels.reshape(-1, y.n_items)
        return super().score(X, labels, qid, sample_weight)

    @property
    def coef_(self):
        """Coefficients of the linear scorer or of the fitted regressor, where it has them."""
        return self.estimator_.coef_ if hasattr(self, "estimator_") else self._coef

    @property
    def intercept_(self):
        """Intercept of the linear scorer or of the fitted regressor, where it has one."""
        return self.estimator_.intercept_ if hasattr(self, "estimator_") else self._intercept

    @property
    def feature_importances_(self):
        """Feature importances of the fitted regressor, where it has them."""
        return self.estimator_.feature_importances_


def _above_lowest(scores, queries):
    """Scores minus the lowest of their query: gains of them are not negative."""
    return scores + queries.repeat(queries.max(-scores))
