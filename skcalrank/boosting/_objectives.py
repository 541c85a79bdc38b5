"""Objectives of LightGBM and XGBoost: gradients and curvatures of the losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Floats, Self
from ..data import QUERY_WEIGHTS, Queries, check, in_memory, lazy_property
from ..losses import Loss, get_loss, scaled_to_all
from ..measures import MEASURES, Measure, get_measure, warn_unless_grades
from ..trees import ENGINES
from ._handed import Handed, Known, from_lightgbm, from_xgboost

# Maximum step of a document. Scores are log-odds or half of them; LogitBoost uses 2 to 4.
LONGEST_STEP = 4.0

# The libraries use single precision, in which curvatures and their sums must be positive, finite.
_SMALLEST, _GREATEST = float(np.finfo(np.float32).tiny), 1e30


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets of a training set, its queries and weights, and the loss scaled to the targets."""

    targets: np.ndarray
    queries: Queries
    weight: np.ndarray | None
    loss: Loss

    @lazy_property
    def _derivatives(self) -> Callable[..., Any]:
        return self.loss.prepare_derivatives(self.targets, self.queries, self.weight)

    def derivatives(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the gradient of the loss and positive curvatures, of shape (n_rows,) each."""
        gradient, curvature = self.steady(scores)
        return gradient.clip(-_GREATEST, _GREATEST), curvature.clip(_SMALLEST, _GREATEST)

    def steady(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return what :meth:`derivatives` does, in double precision, whose range is larger."""
        gradient, curvature = self._derivatives(scores)
        return gradient, _steady(self.loss, gradient, curvature, self.weight)


def make_problem(
    measure: Measure,
    loss: Loss,
    targets: Floats,
    queries: Queries,
    weight: Floats | None,
    query_weight: str | None,
) -> Problem:
    """Return the problem of boosting targets in grouped order, for all workers of the fit."""
    if measure.shape == "pairs":
        targets = loss.standardize(targets, queries)
    loss = scaled_to_all(loss, targets, queries, weight)
    return Problem(targets, queries, loss.document_weights(queries, query_weight, weight), loss)


def check_boosted(measure: Measure) -> None:
    """Raise for a measure that has no targets to boost."""
    if not measure.has_score_targets():
        fitting = [name for name, m in MEASURES.items() if m.has_score_targets()]
        raise ValueError(
            f"measure must have targets of single documents to be boosted, got {measure.name}. "
            f"Choose one of {', '.join(sorted(fitting))}."
        )


@dataclass(frozen=True)
class _Objective:
    """A loss on the targets of a measure."""

    measure: Measure
    loss: Loss
    query_weight: str | None = None
    _known: Known = field(default_factory=Known, init=False, repr=False, compare=False)
    _scaled: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.query_weight is not None:
            check.option("query_weight", self.query_weight, QUERY_WEIGHTS)
        check_boosted(self.measure)

    def __reduce__(self) -> tuple[Any, ...]:  # without what is known
        return type(self), (self.measure, self.loss, self.query_weight)

    def freeze(
        self, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Return the objective with the scales that the labels of all workers give the loss.

        Some losses are scaled by the labels: ``eta`` by the largest target, ``max_grade`` of the
        measure ``"err"`` by the largest label. On a cluster, a library passes the labels of its own
        rows to the objective of each worker. With the scales of all labels, the gradients of the
        workers are those of one loss.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels of all rows on which the workers train together. May carry its queries. Like the
            other arguments it may be a dask collection, which is computed.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, of any hashable type, in any order. If None, all rows are one query.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row, if training has weights: rows of weight 0 do not count.

        Returns
        -------
        objective : LightGBMObjective or XGBoostObjective
            An objective that does not depend on the labels of other rows. Larger labels than those
            in `y` are an error while training.

        Examples
        --------
        >>> from skcalrank.boosting import lightgbm_objective
        >>> lightgbm_objective("dcg", "logistic").freeze([3, 0, 1], ["a", "a", "b"]).loss
        Logistic(eta=7.0)
        """
        y, qid, sample_weight = in_memory(y=y, qid=qid, sample_weight=sample_weight)
        y, queries = check.target(y, check.carried_qid(y, qid, sample_weight=sample_weight))
        weight = check.sample_weight(sample_weight, len(y), queries)
        if weight is not None:
            weight = queries.group(weight)
        # The libraries store labels in single precision.
        return self._problem(y.astype(np.float32).astype(float), queries, weight)[0]

    def derivatives(self, handed: Handed) -> tuple[Floats, Floats]:
        """Return the gradient of the loss and positive curvatures, of shape (n_rows,) each."""
        if len(handed.scores) == 0:  # a worker without rows
            return np.zeros(0), np.zeros(0)
        return self._known.of(handed, self._make_problem).derivatives(handed.scores)

    def _make_problem(self, handed: Handed) -> Problem:
        y, queries = check.target(handed.labels, handed.qid, name="y_true")
        weight = check.sample_weight(handed.weight, len(y), queries)
        scaled, problem = self._problem(y, queries, weight)
        if scaled != self:
            self._refuse_other_scales(scaled, handed.is_part)
        return problem

    def _problem(self, y: Floats, queries: Queries, weight: Any) -> tuple[Self, Problem]:
        """Return the objective with the scales of the labels, and their problem."""
        warn_unless_grades([self.measure], y)
        measure = self.measure.scaled_to(y)
        targets = measure.score_targets(measure.labels(y), queries)
        problem = make_problem(measure, self.loss, targets, queries, weight, self.query_weight)
        return replace(self, measure=measure, loss=problem.loss), problem

    def _refuse_other_scales(self, scaled: _Objective, is_part: bool) -> None:
        """Raise if parts of one training set would be trained with losses of different scales."""
        if is_part:
            raise ValueError(
                "The scales of the loss must be those of the labels of all workers, got the labels "
                f"of one worker, which make the objective {scaled}. Pass objective.freeze(y, qid), "
                "called with all labels, in place of the objective."
            )
        first = self._scaled.setdefault("first", scaled)
        if scaled != first:
            raise ValueError(
                "All calls of an objective must have labels of one scale, got labels that make it "
                f"{scaled} after others that made it {first}. Pass objective.freeze(y, qid), "
                "called with all labels, in place of the objective, or a copy of it for each "
                "training set."
            )


def _steady(loss: Any, gradient: Floats, curvature: Floats, weight: Floats | None) -> Floats:
    """Return curvatures large enough that no step is longer than the loss allows."""
    if loss.family == "squared":
        return curvature
    largest = loss.largest_curvature
    if largest is not None:
        return np.full(len(gradient), largest) if weight is None else largest * weight
    return np.maximum(curvature, np.abs(gradient) / LONGEST_STEP)


class LightGBMObjective(_Objective):
    """Objective for LightGBM, which :func:`lightgbm_objective` returns.

    Parameters
    ----------
    measure : Measure
        Measure whose targets are boosted.
    loss : Loss
        Loss of targets and scores.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query, as in :func:`lightgbm_objective`.
    """

    def __call__(
        self, y_true: Any, y_pred: Any, weight: Floats | None = None, group_sizes: Any = None
    ) -> tuple[Floats, Floats]:
        """Return gradients and curvatures; ``lightgbm.train`` passes (scores, Dataset)."""
        # A Dataset has the options of `lightgbm.train`; an array, of `LGBMRanker`, has none.
        ENGINES["lightgbm"].check_with_losses(getattr(y_pred, "params", None) or {})
        return self.derivatives(from_lightgbm(y_true, y_pred, weight, group_sizes))


class XGBoostObjective(_Objective):
    """Objective for XGBoost, which :func:`xgboost_objective` returns.

    Parameters
    ----------
    measure : Measure
        Measure whose targets are boosted.
    loss : Loss
        Loss of targets and scores.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query, as in :func:`lightgbm_objective`.
    """

    def __call__(self, scores: Floats, data: Any) -> tuple[Floats, Floats]:
        """Return gradients and curvatures."""
        return self.derivatives(from_xgboost(scores, data))


def lightgbm_objective(
    measure: str | Measure = "ndcg@10",
    loss: str | Loss = "pairwise_logistic",
    *,
    eta: float | None = None,
    threshold: float | None = None,
    smoothing: float | None = None,
    query_weight: str | None = None,
    **measure_options: Any,
) -> LightGBMObjective:
    """Make a calibrated ranking objective for LightGBM.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Measure whose targets are boosted. The objective is calibrated without conditions for
        ``"ndcg@k"``, ``"dcg"``, ``"precision"``, ``"recall"``, ``"eru"``, ``"auc"`` and
        ``"spearman"``; for ``"map"``, ``"err"`` and ``"neg_pairwise_disagreement"`` under the
        conditions of their score-based rankers.
    loss : str or Loss, default="pairwise_logistic"
        A name in :data:`skcalrank.losses.LOSSES`, or an object of :mod:`skcalrank.losses`.
    eta, threshold, smoothing : float, default=None
        Parameters of the loss, if it has them. If `eta` is None, it is the largest target of the
        training set; for "bregman_kl" the largest sum of the targets of a query. On a cluster,
        :meth:`LightGBMObjective.freeze` finds it among all workers.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query of n documents: the mean loss of its pairs (of its documents, for
        pointwise losses) is multiplied by n ** 2, n or 1. None leaves the sum as it is:
        "pairs" for pairwise losses and "documents" for others. Weights passed by the library
        multiply these. Curvatures are scaled in the same way, which changes the effect of
        `reg_lambda` and `min_child_weight`.
    **measure_options
        Parameters of the measure: ``gain``, ``relevance_level``, ... Both libraries store labels
        in single precision, so choose a fractional ``relevance_level`` between two grades.

    Returns
    -------
    objective : LightGBMObjective
        ``f(y_true, y_pred, weight, group_sizes)`` for ``LGBMRanker(objective=f)``, and
        ``f(scores, dataset)`` for ``lightgbm.train({"objective": f}, dataset)``. Returns gradient
        and curvature, each of shape (n_rows,). It can be pickled and cloned, and used for any
        number of training sets whose labels give the loss the same scales.

    Raises
    ------
    ValueError
        If a name or option is unknown, or the measure has no targets of single documents; while
        training if labels do not fit the measure, targets do not fit the loss, the data have no
        queries, or ``lightgbm.train`` got ``bagging_by_query=True``; and if the scales of the loss
        depend on labels and are not frozen, where several workers or a task of Dask train, or where
        the labels of two calls give different ones.

    See Also
    --------
    skcalrank.boosting : Choice of targets and loss, and how curvatures are made positive.
    lightgbm_metric : Early stopping on the measure.
    xgboost_objective : The same for XGBoost.
    skcalrank.BoostedRanker : Estimator with early stopping on the measure.

    Notes
    -----
    Do not set ``bagging_by_query=True``: LightGBM (tested: 4.7.0) then draws queries, but uses
    the gradients of a custom objective for the wrong rows, so that hardly anything is learned.
    ``lightgbm.train`` shows the option to the objective, which raises; ``LGBMRanker`` does not.
    Bagging of rows (``subsample``, ``bagging_fraction``) works.

    Examples
    --------
    >>> from skcalrank.boosting import lightgbm_objective
    >>> objective = lightgbm_objective("precision", relevance_level=2)
    >>> gradient, curvature = objective([3, 0, 1], [0.0, 0.0, 0.0], None, [2, 1])
    >>> gradient
    array([-0.5,  0.5,  0. ])
    """
    measure = get_measure(measure, **measure_options)
    loss = get_loss(loss, eta=eta, threshold=threshold, smoothing=smoothing)
    return LightGBMObjective(measure, loss, query_weight)


def xgboost_objective(
    measure: str | Measure = "ndcg@10",
    loss: str | Loss = "pairwise_logistic",
    *,
    eta: float | None = None,
    threshold: float | None = None,
    smoothing: float | None = None,
    query_weight: str | None = None,
    **measure_options: Any,
) -> XGBoostObjective:
    """Make a calibrated ranking objective for XGBoost.

    Parameters
    ----------
    measure, loss, eta, threshold, smoothing, query_weight, **measure_options
        As in :func:`lightgbm_objective`.

    Returns
    -------
    objective : XGBoostObjective
        ``f(scores, dtrain)`` for ``xgboost.train(params, dtrain, obj=f)``, where ``dtrain`` was
        built with ``group`` or ``qid``. Returns gradient and curvature, each of shape (n_rows,).
        It can be pickled and copied, and used for any number of training sets whose labels give
        the loss the same scales.

    Raises
    ------
    ValueError
        As in :func:`lightgbm_objective`.

    See Also
    --------
    skcalrank.boosting : Choice of targets and loss, and how curvatures are made positive.
    xgboost_metric : Early stopping on the measure.
    lightgbm_objective : The same for LightGBM.
    skcalrank.BoostedRanker : Estimator with early stopping on the measure.

    Notes
    -----
    Train with ``xgboost.train``: ``XGBRanker`` does not accept custom objectives, and the other
    estimators of XGBoost do not pass the queries to an objective.

    The parameters ``reg_lambda`` and ``min_child_weight``, both 1 by default, are compared with
    sums of curvatures. With targets in [0, 1] curvatures can be small, ``eta / 4`` at most for
    the logistic loss; those of the pairwise losses grow with the number of documents.

    Scores start at ``base_score``, which XGBoost sets to 0.5 for custom objectives. Pairwise
    losses do not depend on it.

    Examples
    --------
    >>> from skcalrank.boosting import xgboost_objective
    >>> xgboost_objective("dcg", "squared", gain="linear")
    XGBoostObjective(measure=DCG(k=None, gain='linear'), loss=Squared(), query_weight=None)
    """
    measure = get_measure(measure, **measure_options)
    loss = get_loss(loss, eta=eta, threshold=threshold, smoothing=smoothing)
    return XGBoostObjective(measure, loss, query_weight)
