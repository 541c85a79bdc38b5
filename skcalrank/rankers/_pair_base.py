"""Base class of rankers with a surrogate on documents and one on pairs of documents."""

from abc import abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone

from .._solvers import (
    PAIR_FEATURES,
    DocumentPairs,
    SummedPairs,
    as_dense,
    fit_known_outputs,
    fit_outputs,
    fit_pairs,
    fit_regressor,
)
from ..columns import first_equal_rows
from ..columns.types import Array, ArrayLike, Floats, Ints, Labels, Matrix, Seed, Self
from ..data import Queries, Rows, apart, check, each, fitting, limits, refuse_lazy, say, seed_of
from ..preds import Pred, PredResult, get_pred, solve_with_ties, warn_of_gaps
from ._door import door
from ._plan import RegressionPlan
from ._regression import AUTO, fit_ridge, gram_ridge, penalty, seen_in
from ._score import ScoreRanker
from ._stacks import distinct_rows, rows_of, solve_task, stacks

# Estimated seconds of work above which processes are started, and seconds of one task.
_WORTH_PROCESSES = 2.0
_TASK = 0.2

# Seconds for a hard matrix above which maps that take a limit of time solve one query at a time:
# their solvers have threads of their own.
_LONG = 0.01

# The penalty "auto" of pair features whose d x d moments are not computed.
_OF_BILINEAR = 1.0


def _check_pairs(ranker: Any, plan: RegressionPlan) -> None:
    """Raise for a measure of documents, and for parameters of the other surrogate."""
    if plan.measure.shape != "pairs":
        raise ValueError(
            f"measure must be one of pairs, got {plan.measure.full_name!r}: use "
            "LeastSquaresRanker or OrderPreservingRanker for others."
        )
    if ranker.pred is not None:
        ranker._pred(plan)
    if not plan.on_documents:
        mine = "surrogate='pairwise': set surrogate='score'"
        check.refuse_unread(ranker, ranker._of_documents, mine)
        return
    check.refuse_unread(ranker, ranker._of_pairs, "surrogate='score': set surrogate='pairwise'")
    if ranker.pred is not None:
        raise ValueError(
            f"pred must be None with surrogate='score', which sorts, got {ranker.pred!r}: "
            "leave pred=None, or set surrogate='pairwise'."
        )


class PairRanker(ScoreRanker):
    """Base class of rankers with a surrogate on documents ("score") and one on pairs ("pairwise").

    :class:`skcalrank.AveragePrecisionRanker` and :class:`skcalrank.PairwiseDisagreementRanker`
    define the measure and the targets of pairs.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`; None for the pair features
        "bilinear".
    surrogate : {"score", "pairwise"}, default="score"
        One value per document, or one per pair.
    pred : str, Pred or callable, default=None
        Prediction map of the pairwise surrogate, as :func:`skcalrank.preds.get_pred` accepts it
        for the objective of the measure. If None, "auto".
    pair_features : {"bilinear", "concat", "difference"} or callable, default="bilinear"
        Features of a pair of documents: ``x_i' W x_j``, the features of both, their difference, or
        a function of two (m, d) arrays that returns (m, p). With a regressor that is linear in
        "concat" or "difference", every prediction map reduces to a sort. A regressor that is linear
        in "difference" is an error if targets are symmetric, as for MAP, because they average to a
        constant. Ignored in the label-ranking form, which regresses the pairs of items on X.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`; "auto" is the mean weight of a row
        (1 without weights) for the pair features "bilinear".
    loss : {"squared", "centered", "pairwise_squared"}, default=None
        Loss of the score surrogate, as in :class:`LeastSquaresRanker`.
    n_passes : int, default=5
        Number of passes of the score surrogate, as in :class:`LeastSquaresRanker`.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query in the loss, as in :class:`LeastSquaresRanker`; None is "pairs" for the
        pairwise surrogate.
    time_limit : float, default=10.0
        Seconds for the exact map of one query, after which the best order so far is used. A
        `ConvergenceWarning` counts the queries whose order is not proven best; :meth:`solve`
        returns the gap of each. If None, there is no limit.
    n_jobs : int, default=None
        Number of processes that run the prediction map on queries: None is 1, and -1 all
        processors. They are used only if the map is estimated to take more than 2 seconds without
        them, assuming that every query is a hard one.
    random_state : int, RandomState instance or None, default=None
        Seed for the order of equal documents, if the best order of the pairwise surrogate has
        to separate them; None is 0. A RandomState is not changed.
    verbose : int, default=0
        1 prints how many queries are ranked, 2 also the iterations of the bilinear fit.

    Attributes
    ----------
    estimator_ : object
        The fitted regressor, or model of pairs.
    loss_ : str
        Loss that was minimized, "squared" for pairs.
    n_iter_ : int
        Number of iterations of the bilinear fit; only there.

    See Also
    --------
    skcalrank.AveragePrecisionRanker : Ranker for mean average precision.
    skcalrank.PairwiseDisagreementRanker : Ranker for pairwise disagreement.
    skcalrank.preds : Prediction maps.
    """

    # Set by a subclass: whether pairs (i, i) are regressed, and parameters of one surrogate only.
    _theorem: ClassVar[str] = "pairs"
    _rules: ClassVar[Any] = (_check_pairs,)
    _diagonal = False
    _of_documents: ClassVar[tuple[str, ...]] = ("loss", "n_passes")
    _of_pairs: ClassVar[tuple[str, ...]] = ("pair_features", "time_limit")

    _parameter_constraints: ClassVar = {
        "surrogate": [limits.one_of("score", "pairwise")],
        "pred": limits.OWN_ERROR,
        "pair_features": [limits.one_of(*PAIR_FEATURES), callable],
        "time_limit": [limits.POSITIVE, None],
    }

    surrogate: str
    pred: str | Pred | Callable[..., Any] | None
    pair_features: str | Callable[..., Any]
    time_limit: float | None
    n_jobs: int | None
    random_state: Seed
    verbose: int

    @abstractmethod
    def _pair_values(self, plan: RegressionPlan, rows: Rows) -> Callable[..., Any]:
        """Return the function from pairs of documents to targets, in grouped order."""

    def _is_symmetric(self, measure: Any) -> bool:
        """Return whether (i, j) and (j, i) have one target, of which maps read one triangle."""
        return True

    def _item_pairs(self, plan: Any, r: int) -> Any:
        """Return the pairs of r items that are regressed in the label-ranking form."""
        if self._is_symmetric(plan.measure):
            return np.tril_indices(r)
        return np.nonzero(np.ones((r, r)) if self._diagonal else ~np.eye(r, dtype=bool))

    def _matrices_of_items(self, u: Floats, r: int) -> Floats:
        """Return the (r, r) matrices of predictions u for pairs of items."""
        plan, out = self.record_.plan, np.zeros((len(u), r, r))
        i, j = self._item_pairs(plan, r)
        if self._is_symmetric(plan.measure):
            out[:, j, i] = u
        out[:, i, j] = u
        return out

    def _as_read(self, matrix: Floats) -> Floats:
        """Return the predictions for the documents of a query as the map reads them."""
        # A regressor may not be symmetric where targets are.
        is_symmetric = self._is_symmetric(self.record_.plan.measure)
        return (matrix + matrix.T) / 2 if is_symmetric else matrix

    @property
    def _scores_by_query(self) -> bool:
        self._check_fitted()
        return self.record_.plan.surrogate == "pairwise"

    def _pred(self, plan: Any) -> Pred:
        """Return the prediction map as an object."""
        return get_pred("auto" if self.pred is None else self.pred, plan.measure.objective)

    def _pred_options(self, pred: Pred) -> dict[str, Any]:
        """Return the parameters of the ranker that the map accepts, and those of its problem."""
        params = limits.settings(self)
        accepted = {name: params[name] for name in pred.options if name in params}
        return accepted | self.record_.plan.measure.problem

    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Regress the targets of the measure, of documents or of pairs.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`skcalrank.NDCGRanker.fit`. Rankers of preferences also accept a
            :class:`skcalrank.PreferenceTarget` as y. The weight of a pair is the product of the
            weights of its documents over the mean weight of the query.

        Returns
        -------
        self
        """
        if self.surrogate == "score":
            return super().fit(X, y, qid, sample_weight)
        self.__dict__.pop("n_iter_", None)
        plan, rows = door(self, self._check_params(), X, y, qid, sample_weight)
        if plan.alpha == AUTO and not rows.n_items and self._is_bilinear():
            weight = rows.weighted().weight
            mean = 1.0 if weight is None else float(weight.mean())
            plan = replace(plan, alpha=_OF_BILINEAR * mean)
        rows = plan.weighed(rows)
        fit = self._fit_items if rows.n_items else self._fit_documents
        self.estimator_ = fit(plan, rows, self._pair_values(plan, rows))
        self.record_ = self._record(plan, rows)
        return self

    def _fit_to_targets(self, plan: RegressionPlan, rows: Rows, targets: Floats) -> Self:
        self.__dict__.pop("n_iter_", None)
        if not np.isnan(targets).any():
            return super()._fit_to_targets(plan, rows, targets)
        if plan.call.in_chunks or self.loss not in (None, "squared"):
            method = "partial_fit" if plan.call.in_chunks else "fit"
            raise ValueError(
                "y may have unranked items (NaN) in fit with loss=None or 'squared' alone, got "
                f"{method} with loss={self.loss!r}."
            )
        record = self._record_of(replace(plan, loss="squared"), rows, np.nan_to_num(targets))
        first, second = np.triu_indices(rows.n_items or 0, 1)
        values = self._pair_values(replace(plan, pair_targets="differences"), rows)
        pairs = self._fit_outputs(plan, rows, _of_items(values, rows, first, second))
        self.estimator_ = SummedPairs(pairs, first, second)
        self.record_ = record
        return self

    def _fit_items(self, plan: RegressionPlan, rows: Rows, values: Callable[..., Any]) -> Any:
        """Fit the label-ranking form, a regression with one output per pair of items."""
        r: Any = rows.n_items
        i, j = self._item_pairs(plan, r)
        targets = _of_items(values, rows, i, j)
        # Rounding may separate predictions of equal targets, so the first one is used for all.
        self._first_alike = first_equal_rows(targets.T)
        return self._fit_outputs(plan, rows, targets)

    def _fit_outputs(self, plan: RegressionPlan, rows: Rows, targets: Floats) -> Any:
        """Fit a regression with one output per column of targets, NaN where it is not known."""
        penalized = None if plan.regressor is not None else self._ridge(rows)

        def fit(some: Rows, of_some: Floats) -> Any:
            if plan.regressor is not None and of_some.shape[1] == 1:
                return fit_regressor(clone(plan.regressor), some.X, of_some.ravel(), some.weight)
            if plan.regressor is not None:
                return fit_outputs(clone(plan.regressor), some.X, of_some, some.weight)
            outputs = replace(some, n_items=of_some.shape[1])
            return fit_ridge(clone(penalized), outputs, of_some.ravel(), loss="squared")

        return fit_known_outputs(fit, rows, targets)

    def _ridge(self, rows: Rows) -> Any:
        return gram_ridge(penalty(self.alpha, seen_in(rows), rows.n_items), self.alpha == AUTO)

    def _fit_documents(self, plan: RegressionPlan, rows: Rows, values: Callable[..., Any]) -> Any:
        """Fit a model of pairs of documents."""
        queries = rows.queries
        regressor = None if plan.regressor is None else clone(plan.regressor)
        if regressor is None and not self._is_bilinear():
            regressor = self._ridge(rows)
        X, weight = queries.group(as_dense(rows.X)), rows.document_weights()
        pairs = DocumentPairs(X, queries, values, self._diagonal, weight)
        model = fit_pairs(pairs, self.pair_features, regressor, plan.alpha, verbose=self.verbose)
        if hasattr(model, "n_iter_"):
            self.n_iter_ = model.n_iter_
        return model

    def _is_bilinear(self) -> bool:
        # Compare strings only: a callable may define equality in any way.
        return isinstance(self.pair_features, str) and self.pair_features == "bilinear"

    @property
    def penalty_scale_(self) -> Floats:
        """Units of `alpha_`, one per feature that is regressed on."""
        _ = self.alpha_
        model = getattr(self.estimator_, "regressor", self.estimator_)
        return getattr(model, "penalty_scale_", np.ones(self.n_features_in_))

    def surrogate_values(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Return the surrogate values: scores of documents, or matrices of pairs.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents, or instances in the label-ranking form.
        qid : array-like of shape (n_rows,), default=None
            Query of each row; required by the pairwise surrogate if fit had a qid.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r), or list of ndarray
            For ``surrogate="pairwise"`` a list of ndarray of shape (r_q, r_q), one per query in
            order of first appearance, or in the label-ranking form an ndarray of shape (n, r, r).
        """
        if not self._scores_by_query:
            return super().surrogate_values(X, qid)
        rows = self._check_rows(X, qid, "surrogate_values")
        matrices, _ = self._matrices(rows.X, rows.queries)
        return list(matrices) if self.n_items_ is None else matrices

    def _matrices(self, X: Any, queries: Queries) -> tuple[Any, Array]:
        """Return the matrices of the queries, and a number for each document.

        Equal documents have equal numbers, and rows and columns that are equal to the last bit.
        """
        if self.n_items_ is None:
            X, distinct, number = distinct_rows(queries.group(as_dense(X)), queries)
            numbers = np.split(number, queries.ptr[1:-1])
            matrices = zip(self.estimator_.matrices(X, distinct), numbers)
            return (self._as_read(matrix[n[:, None], n]) for matrix, n in matrices), number
        u = apart(self.estimator_.predict, X).reshape(X.shape[0], -1)[:, self._first_alike]
        return self._matrices_of_items(u, self.n_items_), np.zeros(u.shape[0] * self.n_items_)

    def predict(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Score the documents: sorting by decreasing score is the predicted ranking.

        Parameters
        ----------
        X, qid
            As in :meth:`surrogate_values`.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
            For ``surrogate="pairwise"``, the negative position. Documents that the map cannot
            distinguish share the mean of their positions if they are adjacent. For MAP alone a best
            order may separate them; then `random_state` draws which of them comes first.

        Raises
        ------
        MissingQidError
            If the ranker is pairwise, was fitted with a qid and gets none.
        """
        if self._scores_by_query:
            refuse_lazy(type(self).__name__, X=X, qid=qid)
        return super().predict(X, qid)

    def _scores(self, rows: Rows) -> Floats:
        if not self._scores_by_query:
            return super()._scores(rows)
        queries, solved = self._run_map(rows)
        scores = np.empty(queries.n_rows)
        for numbers, _, of_queries in solved:
            scores[rows_of(queries, numbers)] = of_queries
        if self.n_items_ is not None:
            return scores.reshape(-1, self.n_items_)
        return queries.ungroup(scores)

    def solve(self, X: Matrix, qid: ArrayLike | None = None) -> list[PredResult]:
        """Run the prediction map of the pairwise surrogate on every query.

        Parameters
        ----------
        X, qid
            As in :meth:`surrogate_values`.

        Returns
        -------
        results : list of PredResult
            One per query in order of first appearance, or one per row in the label-ranking form:
            positions, value, bound, whether they are proven best, and the method used.
        """
        rows = self._check_rows(X, qid, "solve")
        if not self._scores_by_query:
            raise ValueError(
                "surrogate must be 'pairwise' for solve, which runs the map of pairs, got 'score'."
            )
        queries, solved = self._run_map(rows)
        results: list[Any] = [None] * queries.n_queries
        for numbers, result, _ in solved:
            for number, one in zip(numbers.tolist(), result.each()):
                results[number] = one
        return results

    def _run_map(self, rows: Rows) -> tuple[Queries, list[tuple[Ints, PredResult, Floats]]]:
        """Return the queries, and results of the map for stacks of queries of equal size.

        Each result is a tuple of the numbers of the queries, the result of the map, and the scores.
        """
        matrices, number = self._matrices(rows.X, rows.queries)
        queries = rows.queries
        if self.n_items_ is not None:
            queries = Queries.equal(rows.n_rows, self.n_items_)
        # A random order of equal documents; the order of the rows must not matter.
        draws = np.random.RandomState(seed_of(deepcopy(self.random_state)))
        turn = number + draws.random_sample(len(number))
        solved: list[Any] = []
        self._run(matrices, turn, queries, self._noting(solved, queries.n_queries))
        warn_of_gaps([result for _, result, _ in solved], self.time_limit)
        return queries, solved

    def _run(self, matrices: Any, turn: Floats, queries: Queries, note: Callable[..., Any]) -> None:
        """Run the map on stacks of queries of equal size, in processes if that pays."""
        pred = self._pred(self.record_.plan)
        solver = partial(solve_with_ties, pred, **self._pred_options(pred))
        tasks = (
            (part, stack[start : start + step], turn[rows_of(queries, part)])
            for numbers, stack in stacks(matrices, queries.sizes)
            for step in [max(1, int(_TASK / pred.cost(stack.shape[1])))]
            for start in range(0, len(stack), step)
            for part in [numbers[start : start + step]]
        )
        if effective_n_jobs(self.n_jobs) > 1 and queries.n_queries > 1:
            size, count = np.unique(queries.sizes, return_counts=True)
            if sum(n * pred.cost(int(r)) for n, r in zip(count, size)) > _WORTH_PROCESSES:
                for solved in Parallel(self.n_jobs)(delayed(solve_task)(solver, *t) for t in tasks):
                    note(solved)
                return
        alone = "time_limit" in pred.options and pred.cost(int(queries.sizes.max())) > _LONG
        each(lambda task: solve_task(solver, *task), tasks, note, most=1 if alone else len(turn))

    def _noting(self, results: list[Any], n_queries: int) -> Callable[..., Any]:
        """Return a function that keeps the results of the map and prints the progress."""
        step, done = max(1, n_queries // 10), 0

        def note(solved: tuple[Ints, PredResult, Floats]) -> None:
            nonlocal done
            results.append(solved)
            before, done = done, done + len(solved[0])
            for number in range(before + 1, done + 1) if self.verbose else ():
                if number % step == 0 or number == n_queries:
                    say(f"[{type(self).__name__}] ranked {number}/{n_queries} queries")

        return note

    @property
    def surrogate_(self) -> str:
        """The surrogate that was fitted, "score" or "pairwise"."""
        return self.record_.plan.surrogate


def _of_items(values: Callable[..., Any], rows: Rows, first: Ints, second: Ints) -> Floats:
    """Return the values of pairs of items in each row, of shape (n_rows, n_pairs)."""
    start = np.arange(rows.n_rows)[:, None] * (rows.n_items or 1)
    return values((start + first).ravel(), (start + second).ravel()).reshape(-1, len(first))
