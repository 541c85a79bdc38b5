"""Base class of linear scorers that minimize a convex objective of the scores."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from .._solvers import ScorerFit, fit_scorer, product_of_rows
from ..columns.types import ArrayLike, Floats, Labels, Matrix, Self
from ..data import Queries, Rows, fitting, lazy_aware, limits, workers_of_fit
from ._base import BaseRanker, TargetRanker
from ._door import door
from ._plan import Plan
from ._regression import AUTO, Seen, penalty, seen_in, units_of, warn_of_many_columns


class LinearScorer(BaseRanker):
    """Base class of linear scorers that minimize a convex objective with a ridge penalty.

    A subclass defines the objective of the scores.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Ridge penalty of the coefficients, added to the *sum* (not the mean) of the losses of
        documents or pairs. "auto" is that of :class:`LeastSquaresRanker`, in units of half the
        curvature of the loss at scores of zero, so that it means the same for every loss.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Ignored if only differences of scores within a query matter,
        except in the label-ranking form, where each item has one.
    max_iter : int, default=1000
        Maximum number of iterations of the solver.
    tol : float, default=1e-6
        The solver stops when the norm of the gradient falls below `tol` times its value at scores
        of zero.
    warm_start : bool, default=False
        Whether the solver starts from the solution of the previous fit.
    verbose : int, default=0
        1 prints the iterations.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query of n documents in the sum: its mean loss, per pair or per document as the
        loss sums over, times n ** 2, n, or 1. If None, the sum as it is: "pairs" for losses of
        pairs and of preferences, "documents" for losses of documents. The sums differ in size, so a
        numeric `alpha` has to be chosen for each of them; "auto" has not. Instances of the
        label-ranking form, which rank equally many items, have equal weights under all of them.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (d,) or (r, d), float or ndarray of shape (r,)
        Coefficients and intercept, with a row per item in the label-ranking form.
    n_iter_ : int
        Number of iterations of the solver; 1 for closed forms.
    alpha_, penalty_scale_ : float, ndarray of shape (d,)
        Ridge penalty that was used and its unit for each feature; 1 if `alpha` is a number.

    See Also
    --------
    OrderPreservingRanker : Linear scorer of the targets of a measure.
    ValueRegularizedRanker : Linear scorer of preferences.
    """

    fits_among_workers: ClassVar[bool] = False
    _takes_sparse = True

    coef_: Floats
    intercept_: float | Any
    n_iter_: int
    penalty_scale_: Floats

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [limits.AT_LEAST_ONE],
        "tol": [limits.POSITIVE],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha: float | str = "auto",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: int = 0,
        query_weight: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.query_weight = query_weight

    @abstractmethod
    def _solve(self, rows: Rows, start: tuple[Floats, Any] | None) -> ScorerFit:
        """Minimize the objective, from ``start`` = (coef, intercept) unless it is None."""

    @lazy_aware
    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Minimize the objective.

        Parameters
        ----------
        X, qid
            As in :meth:`LeastSquaresRanker.fit`. Collections of dask are for
            :class:`OrderPreservingRanker`: gradients are summed over the workers of a cluster,
            which keep their rows in memory and need one number of y for each, and the first step
            is from zero.
        y : array-like of shape (n_rows,) or (n, r), or PreferenceTarget
            Relevances, higher is better, which may carry their queries. Rankers of preferences also
            accept a PreferenceTarget.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the documents. The weight of a pair is the product of both over the mean
            weight of the query. A weight differs from repeating the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is not a ranking problem, or labels do not fit the measure.

        Warns
        -----
        ConvergenceWarning
            If the solver stops before `tol` is reached.
        """
        return self._fit(self._check_params(), X, y, qid, sample_weight)

    def _fit(self, plan: Plan, X: Any, y: Any, qid: Any, sample_weight: Any) -> Self:
        """Validate the arguments of a call, and minimize the objective of y."""
        return self._minimize(*door(self, plan, X, y, qid, sample_weight))

    def _minimize(self, plan: Plan, rows: Rows) -> Self:
        """Minimize the objective, and assign the result to the fitted attributes."""
        rows, start = plan.weighed(rows), None
        d = rows.X.shape[1]
        shape = (d,) if rows.n_items is None else (rows.n_items, d)
        if self.warm_start and np.shape(vars(self).get("coef_", ())) == shape:
            start = self.coef_, self.intercept_
        self.coef_, self.intercept_, self.n_iter_, self.penalty_scale_ = self._solve(rows, start)
        self.record_ = self._record(plan, rows)
        return self

    def _alpha(self, rows: Rows) -> float:
        """Return the penalty as a number."""
        warn_of_many_columns(self.alpha, rows)
        seen = workers_of_fit().total(lambda: seen_in(rows), partial(reduce, Seen.add))
        return penalty(self.alpha, seen, rows.n_items)

    @property
    def alpha_(self) -> float:
        """Ridge penalty that was used."""
        alpha: Any = self.record_.penalty
        return float(alpha)

    def _descend(
        self, objective: Any, rows: Rows, start: Any, *, sees_shift: bool, curved: Any = None
    ) -> ScorerFit:
        """Minimize, by L-BFGS, a function from grouped scores to value and gradient.

        `sees_shift` is whether adding a number to all scores of a query changes the function.
        `curved` is another such function, whose curvature is the unit of the penalty.
        """
        queries = rows.queries
        within = rows.n_items is None and not sees_shift
        loss = "squared" if sees_shift else "pairwise_squared"
        units = units_of(rows, loss) if self.alpha == AUTO else None
        return fit_scorer(
            in_row_order(objective, queries),
            rows.X,
            alpha=self._alpha(rows),
            units=units,
            curved=None if curved is None else in_row_order(curved, queries),
            queries=queries if within else None,
            n_outputs=rows.n_items,
            fit_intercept=bool(self.fit_intercept) and not within,
            max_iter=self.max_iter,
            tol=self.tol,
            start=start,
            verbose=self.verbose,
        )

    def _descend_along(self, losses: Any, objective: Any, rows: Rows, start: Any) -> ScorerFit:
        """Minimize losses of preferences one after the other, each from the last minimizer."""
        n_iter = 0
        # The first loss sets the units of the penalty, because its corners are the widest: the
        # curvature of a sharp hinge is concentrated at its corner.
        options: Any = {"sees_shift": False, "curved": partial(objective, loss=losses[0])}
        # A warm start is near the minimizer, so only the last loss is needed.
        for loss in losses if start is None else losses[-1:]:
            fit = self._descend(partial(objective, loss=loss), rows, start, **options)
            start, n_iter = fit[:2], n_iter + fit.n_iter
        return fit._replace(n_iter=n_iter)

    def _scores(self, rows: Rows) -> Floats:
        return linear_scores(rows.X, self.coef_, self.intercept_)


class TargetScorer(TargetRanker, LinearScorer):
    """Base class of linear scorers of one target per document, the labels of the rows to solve."""

    def _fit_to_targets(self, plan: Plan, rows: Rows, targets: Floats) -> Self:
        return self._minimize(plan, replace(rows, y=targets))


def in_row_order(function: Callable[..., Any], queries: Queries) -> Callable[..., Any]:
    """Return a function of grouped scores, and its gradient, for scores in the order of rows."""

    def value_and_gradient(scores: Floats) -> tuple[float, Floats]:
        value, slope = function(queries.group(scores))
        return value, queries.ungroup(slope)

    return value_and_gradient


def linear_scores(X: Any, coef: Floats, intercept: Any) -> Floats:
    """Return the scores of rows, for one output or for several."""
    return product_of_rows(X, coef.T) + intercept
