"""Base class of rankers that regress one target per document and sort by the result."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from numbers import Number
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted

from .._solvers import (
    SQUARED_LOSSES,
    Moments,
    SummedPairs,
    is_closed_form,
    needs_non_negative,
    offsets,
    predict_rows,
    takes_nan,
    takes_sparse,
)
from ..columns import tables
from ..columns.types import ArrayLike, Estimator, Floats, Labels, Matrix, Self
from ..data import NotAMeanWarning, Rows, available_if, check, fitting, lazy_aware, limits, warn
from ..linear_model import learn_moments
from ._base import TargetRanker, planned
from ._plan import Call, RegressionPlan
from ._record import FitRecord
from ._regression import (
    AUTO,
    fit_targets,
    fit_wide,
    gram_ridge,
    is_wide,
    names_of,
    warn_of_many_columns,
)

# Fewer rows than this may share a leaf of a tree, so equal predictions mean nothing.
_MANY_ROWS = 20


def _updated(plan: RegressionPlan, fitted: Any, given: Any) -> Any:
    """Set the parameters of a fitted regressor to those of the one given for its next chunk.

    `fitted` may be a regressor of several outputs around one of the given type. Raise ValueError
    for a regressor of another type, and for changes that would have no effect on the fitted parts.
    """
    wrapped = type(fitted) is not type(given)
    before: Any = getattr(fitted, "estimator", None) if wrapped else fitted
    if type(before) is not type(given):
        raise ValueError(
            f"estimator must be a {type(fitted).__name__}, which has seen the rows before, got "
            f"{given!r}: begin with a new ranker."
        )
    # If rows are centered within queries, fit_intercept was set to False.
    ignored = ("fit_intercept",) if plan.loss == "pairwise_squared" else ()
    old, new = before.get_params(), given.get_params()
    changed = {k: v for k, v in new.items() if k not in ignored and not _same(old.get(k), v)}
    from sklearn.neural_network import MLPRegressor  # late, since few programs have one

    # A neural network does not rebuild its layers and its optimizer.
    keeps = wrapped or isinstance(before, MLPRegressor) or any("__" in name for name in changed)
    if changed and (keeps or old.keys() != new.keys()):
        raise ValueError(
            f"estimator parameters {sorted(changed)} were changed after rows were seen, which "
            f"{type(fitted).__name__} does not support: begin with a new ranker."
        )
    return fitted.set_params(**changed)


def keeps_statistics(ranker: Any) -> bool:
    """Return whether other rows can be added to what a ranker with `merge` has learned."""
    regressor = vars(ranker).get("estimator_")
    if isinstance(regressor, Ridge):
        return ranker.record_.plan.alpha is None
    is_curved = regressor is not None and ranker.record_.plan.kernel == "gaussian"
    return not (is_curved or isinstance(regressor, SummedPairs))


def with_held_out(first: Any, fit_others: Callable[[], Any], fit_all: Callable[[], Any]) -> Any:
    """Return a ranker that has learned all rows, given one with `merge` that has learned some.

    It is fitted again where there are fewer rows than columns, of which it keeps no moments.
    """
    if keeps_statistics(first) and keeps_statistics(others := fit_others()):
        return first.merge(others)
    return fit_all()


def _check_statistics(*rankers: ScoreRanker) -> None:
    """Raise if a regressor kept no statistics that other rows could be added to."""
    for ranker in rankers:
        if not keeps_statistics(ranker):
            why = f"X had too few rows for {ranker.n_features_in_} features:"
            if isinstance(ranker.estimator_, SummedPairs):
                why = "y had unranked items (NaN), which fit alone takes: begin anew, and"
            elif ranker.record_.plan.kernel == "gaussian":
                why = "it took a Gaussian kernel: set kernel='linear', or"
            raise ValueError(
                f"fit kept no statistics, because {why} call partial_fit from the first chunk on."
            )


def _check_names(*rankers: ScoreRanker) -> None:
    """Raise unless rankers with feature names have the same names in the same order."""
    names = [ranker.feature_names_in_ for ranker in rankers if hasattr(ranker, "feature_names_in_")]
    different = [other for other in names if not np.array_equal(other, names[0])]
    if different:
        raise ValueError(
            "Rankers to be merged must have the same features, got "
            f"{', '.join(names[0])} and {', '.join(different[0])}: fit all of them to the same "
            "columns in one order."
        )


def _same(old: Any, new: Any) -> bool:
    """Return whether two values of a parameter are equal, as far as that can be determined."""
    if type(old) is not type(new):
        return bool(np.isscalar(old) and np.isscalar(new) and old == new)
    if isinstance(old, (list, tuple, np.ndarray)):
        return np.array_equal(old, new)
    # Objects such as random generators are copied with the regressor, so equality fails for them.
    return old == new if old is None or isinstance(old, (str, Number)) else True


def _warn_of_constant(regressor: Any, X: Any, values: Floats) -> None:
    """Warn if a regressor predicts one value for many different rows."""
    if values.shape[0] < _MANY_ROWS or (values != values.flat[0]).any():
        return
    X = tables.rows_as_numbers(X)
    spread = X.max(axis=0) - X.min(axis=0)
    if spread.nnz if issparse(X) else np.nan_to_num(spread).any():
        is_far = is_closed_form(regressor) and offsets(X).any()
        remedy = "use a regressor of squared errors with a smaller penalty or smaller leaves"
        if is_far:
            remedy = "subtract from each feature its mean, which is large against its spread"
        warn(
            f"{type(regressor).__name__} predicts one value for all {values.shape[0]} rows, "
            "although the targets of fit differed, and learned nothing: "
            f"{remedy}.",
            NotAMeanWarning,
        )


def _new_regressor(plan: RegressionPlan, record: FitRecord) -> Any:
    """Return an unfitted regressor, with the penalty of a record."""
    if plan.regressor is not None:
        return clone(plan.regressor)
    return gram_ridge(record.penalty, record.plan.alpha == AUTO)


def _check_regression(ranker: Any, plan: RegressionPlan) -> None:
    """Raise for parameters of a regression that have no effect, or do not fit together."""
    if plan.regressor is not None:
        check.refuse_second_penalty(ranker)
        if plan.kernel not in (None, "linear"):
            why = f"estimator={plan.regressor!r}: choose one with a kernel, such as KernelRidge"
            check.refuse_unread(ranker, ["kernel"], why)
        if plan.loss != "squared" and needs_non_negative(plan.regressor):
            raise ValueError(
                f"loss must be 'squared' for {plan.regressor!r}, which needs non-negative targets, "
                f"got {plan.loss!r}: set loss='squared', or another estimator."
            )
    elif plan.kernel not in (None, "linear"):
        why = f"kernel={plan.kernel!r}, which chooses it: set estimator=KernelRidge(alpha=...)"
        check.refuse_unread(ranker, ["alpha"], why)
    if hasattr(ranker, "n_passes"):
        if plan.loss != "pairwise_squared":
            why = f"loss={plan.loss!r}: set loss='pairwise_squared'"
            check.refuse_unread(ranker, ["n_passes"], why)
        elif plan.closed_form:
            why = f"estimator={plan.regressor!r}, which is fitted in closed form: set another one"
            check.refuse_unread(ranker, ["n_passes"], why)
    if plan.call.in_chunks:
        plan.check_chunks()


class ScoreRanker(TargetRanker):
    """Base class of rankers that regress one value per document and sort by it.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    loss, n_passes, query_weight
        Loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRanker : Ranker for any positional measure.
    BaseRanker : Base class of all rankers.
    """

    regresses_targets: ClassVar[bool] = True

    _theorem: ClassVar[str] = "regression"

    __metadata_request__partial_fit = {"qid": True}

    _plan_type: ClassVar = RegressionPlan
    _rules: ClassVar[Any] = (_check_regression,)
    _updated_by = ("estimator_", "partial_fit")

    estimator_: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [limits.one_of(*SQUARED_LOSSES), None],
        "n_passes": [limits.AT_LEAST_ONE],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.loss = loss
        self.n_passes = n_passes
        self.query_weight = query_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        regressor = check.valid_regressor(vars(self).get("estimator"))
        tags.input_tags.sparse = regressor is None or takes_sparse(regressor)
        tags.input_tags.allow_nan = regressor is not None and takes_nan(regressor)
        return tags

    @lazy_aware
    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Regress the targets of the measure.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents, or instances in the label-ranking form. A regressor that is not fitted in
            closed form gets a data frame unchanged, with its names, categories and missing values;
            closed forms need numbers. If X and the other arguments are dask collections, statistics
            are computed where the partitions are, for `Ridge` (also None, which is then fitted as
            `GramRidge`), `LinearRegression` and `GramRidge`. Each partition must hold whole
            queries, see :func:`skcalrank.dask.partition_by_query`.
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, higher is better. They may carry their queries, as a
            :class:`~skcalrank.RankingTarget` or a pandas Series with an index named "qid".
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, of any hashable type, in any order. A scalar is the only query. More
            than 200 rows of one-dimensional y without a qid are an error.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the squared errors of the rows. A weight differs from repeating the row, and
            a document is ranked whatever its weight is, but a query of which all rows have weight 0
            is validated like others and then left out. Weights may depend on the query and its
            documents; if they depend on the labels, the ranker is not calibrated any more.

        Returns
        -------
        self

        Raises
        ------
        MissingQidError
            If y has more than 200 rows and no qid.
        ValueError
            If the input is not a ranking problem, labels do not fit the measure, or the regressor
            does not support what is requested.

        Warns
        -----
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing, or if the regressor uses
            early stopping on rows that it draws from whole queries.
        EqualLabelsWarning
            If y differs in no query, so that there is no order to learn.
        NotAMeanWarning
            If the regressor does not estimate the mean of its targets.
        """
        return self._fit(self._check_params(), X, y, qid, sample_weight)

    @available_if(planned("in_chunks"))
    @fitting
    def partial_fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the ranker with more queries.

        Available if the regressor has `partial_fit`, as the one of ``estimator=None`` has. A chunk
        must hold whole queries, because targets and centers are computed per query. With
        ``estimator=None`` and with :class:`~skcalrank.linear_model.GramRidge` the result is that of
        one fit to all chunks with a linear kernel. Parameters of the estimator that are changed
        between chunks, such as `alpha`, apply from then on; for ``estimator=None`` and `GramRidge`
        they apply to all chunks.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`. For chunks of one query each, qid is another scalar for each.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in :meth:`fit`; if the chunk has another form than the previous ones; if measure,
            loss or the type of the estimator were changed in between; with `GramRidge` also if a
            query was in an earlier chunk. (Regressors that learn by steps, such as
            ``SGDRegressor``, may see queries again, so a query that is split between chunks is not
            detected.)
        """
        call = Call(in_chunks=True, goes_on=self._can_go_on(), warns=False)
        return self._fit(self._check_params(call), X, y, qid, sample_weight)

    def _fit_to_targets(self, plan: RegressionPlan, rows: Rows, targets: Floats) -> Self:
        in_chunks = plan.call.in_chunks
        if in_chunks:
            _check_statistics(self)
        elif plan.chooses_kernel(rows):
            from ._gaussian import with_kernel  # late, since few programs need it

            plan = with_kernel(plan, rows, targets)
            if plan.kernel == "gaussian":
                rows = replace(rows, y=targets).weighted()
                targets = rows.y
        goes_on = in_chunks and self._can_go_on()
        record = self._record_of(plan, rows, targets)
        record = self.record_.add(record) if goes_on else record
        regressor = _new_regressor(plan, record)
        if goes_on:
            # What is fitted by moments replaces its attributes; others may change arrays in place.
            own = copy.copy if is_closed_form(self.estimator_) else copy.deepcopy
            regressor = _updated(plan, own(self.estimator_), regressor)
        weighed = plan.weighed(rows)
        if not in_chunks:
            warn_of_many_columns(plan.alpha, rows)
        if not in_chunks and plan.regressor is None and is_wide(rows, plan.loss):
            self.estimator_ = fit_wide(regressor, weighed, targets, loss=plan.loss)
        else:
            method = "partial_fit" if in_chunks else "fit"
            options = {"loss": plan.loss, "n_passes": plan.n_passes, "method": method}
            self.estimator_ = fit_targets(regressor, weighed, targets, **options)
        self.record_ = record
        return self

    def _record_of(self, plan: RegressionPlan, rows: Rows, targets: Floats) -> FitRecord:
        """Return the record of a fit to targets in grouped order."""
        queries = rows.queries
        varied = bool((queries.max(targets) + queries.max(-targets) > 0).any())
        # Queries that occurred again would count twice.
        names = names_of(queries) if plan.in_chunks and plan.closed_form else frozenset()
        return self._record(plan, rows, names, varied)

    def _fitted_to(self, plan: RegressionPlan, record: FitRecord, moments: Moments) -> Self:
        """Set the result of a closed form within queries, with coefficients as they are read."""
        regressor = _new_regressor(plan, record).set_params(fit_intercept=False)
        self.estimator_ = learn_moments(regressor, moments, True)
        self.n_features_in_ = self.estimator_.n_features_in_
        self.record_ = record
        return self

    @available_if(planned("merges"))
    def merge(self, *others: Self) -> Self:
        """Return a ranker that has seen the queries of this ranker and of the others.

        Available if the regressor has `merge`, as the one of ``estimator=None`` and
        :class:`~skcalrank.linear_model.GramRidge` have. The result is that of one fit to all rows
        with a linear kernel. A ranker that took a Gaussian one cannot be merged.

        Parameters
        ----------
        *others : ranker
            Rankers of the same measure and loss, fitted to other queries.

        Returns
        -------
        merged : ranker
            A new ranker with the parameters of this one; no ranker is changed.

        Raises
        ------
        ValueError
            If measures, losses or features differ, or two rankers have seen a query of the same
            name.
        """
        for ranker in (self, *others):
            check_is_fitted(ranker)
        _check_statistics(self, *others)
        _check_names(self, *others)
        merged = copy.copy(self)
        merged.record_ = self.record_.merge(other.record_ for other in others)
        plan, first = self._plan(), copy.copy(self.estimator_)
        first = _updated(plan, first, _new_regressor(plan, merged.record_))
        merged.estimator_ = first.merge(*(other.estimator_ for other in others))
        # Computed now, so that predict does not change the ranker.
        _ = merged.estimator_.coef_, merged.estimator_.intercept_
        return merged

    def _scores(self, rows: Rows) -> Floats:
        if self.record_.plan.kernel == "gaussian":
            from ._gaussian import predict_parts

            return predict_parts(self.estimator_, rows.X)
        values = predict_rows(self.estimator_, rows.X)
        if self.record_.varied:
            _warn_of_constant(self.estimator_, rows.X, values)
        return values

    def _refuse_kernel(self, attribute: str) -> None:
        """Raise AttributeError, of an attribute of linear scores, where a kernel was chosen."""
        if "record_" in vars(self) and self.record_.plan.kernel == "gaussian":
            raise AttributeError(
                f"{attribute} exists only with a linear kernel: set kernel='linear'."
            )

    @property
    def loss_(self) -> str:
        """Loss that was minimized: `loss`, or what None stands for with this regressor."""
        self._check_fitted()
        plan = self.record_.plan
        return plan.loss if plan.on_documents else "squared"  # of pairs

    @property
    def alpha_(self) -> float:
        """Ridge penalty that was used; only with ``estimator=None``."""
        self._refuse_kernel("alpha_")
        alpha = self.record_.penalty
        if alpha is None:
            raise AttributeError("alpha_ exists only with estimator=None: see estimator_.")
        return alpha

    @property
    def penalty_scale_(self) -> Floats:
        """Units that ``alpha_`` is counted in, one per feature; only with ``estimator=None``."""
        _ = self.alpha_
        return self.estimator_.penalty_scale_

    @property
    def coef_(self) -> Floats:
        """Coefficients of `estimator_`, if any."""
        self._refuse_kernel("coef_")
        return self.estimator_.coef_

    @property
    def intercept_(self) -> float | Any:
        """Intercept of `estimator_`, if any."""
        self._refuse_kernel("intercept_")
        return self.estimator_.intercept_

    @property
    def feature_importances_(self) -> Floats:
        """Feature importances of `estimator_`, if any."""
        return self.estimator_.feature_importances_
