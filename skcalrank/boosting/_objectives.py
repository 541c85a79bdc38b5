"""Gradients and curvatures of the losses, as the libraries ask for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..data import QUERY_WEIGHTS, Queries, check_option, check_sample_weight, check_target
from ..losses import Loss, get_loss
from ..measures import MEASURES, Measure, get_measure
from ._data import Handed, Known, from_lightgbm, from_xgboost, refuse_bagging_by_query

# Scores are logarithms of odds, or half of them; LogitBoost takes a number from 2 to 4.
LONGEST_STEP = 4.0

# The libraries keep single precision: positive and finite there, and sums of them too.
_SMALLEST, _GREATEST = float(np.finfo(np.float32).tiny), 1e30


class Problem(NamedTuple):
    """What a training set comes to: targets, and the loss scaled to them."""

    targets: np.ndarray
    queries: Queries
    weight: np.ndarray | None
    loss: Loss

    def derivatives(self, scores):
        """Gradient of the loss, and positive curvatures."""
        gradient, curvature = self.loss.derivatives(self.targets, scores, self.queries, self.weight)
        curvature = _steady(self.loss, gradient, curvature, self.weight)
        return gradient.clip(-_GREATEST, _GREATEST), curvature.clip(_SMALLEST, _GREATEST)


def make_problem(measure: Measure, loss: Loss, targets, queries, weight, query_weight) -> Problem:
    """Return the problem of boosting targets in grouped order."""
    if measure.shape == "pairs":
        targets = loss.standardize(targets, queries)
    # As in the rankers, a document of weight 0 has no say.
    told = targets if weight is None else targets * (weight > 0)
    loss = loss.scaled_to(told, queries)
    return Problem(targets, queries, loss.document_weights(queries, query_weight, weight), loss)


def check_boosted(measure: Measure) -> None:
    """Raise for a measure that has no targets to boost."""
    if not measure.has_score_targets():
        fitting = [name for name, m in MEASURES.items() if m.has_score_targets()]
        raise ValueError(
            f"{measure.name} has no targets of single documents to boost: choose one of "
            f"{', '.join(sorted(fitting))}."
        )


@dataclass(frozen=True)
class _Objective:
    """A loss on the targets of a measure.

    Targets are made once for a training set, which is known by its contents: labels, weights
    and group sizes. Copies and pickles start with none.
    """

    measure: Measure
    loss: Loss
    query_weight: str | None = None
    _known: Known = field(default_factory=Known, init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.query_weight is not None:
            check_option("query_weight", self.query_weight, QUERY_WEIGHTS)
        check_boosted(self.measure)

    def __reduce__(self):
        return type(self), (self.measure, self.loss, self.query_weight)

    def derivatives(self, handed: Handed):
        """Gradient of the loss, and positive curvatures."""
        return self._known.of(handed, self._make_problem).derivatives(handed.scores)

    def _make_problem(self, handed):
        y, queries = check_target(handed.labels, handed.qid, name="y_true")
        measure = self.measure.scaled_to(y)
        targets = measure.score_targets(measure.labels(y), queries)
        weight = check_sample_weight(handed.weight, len(y), queries)
        return make_problem(measure, self.loss, targets, queries, weight, self.query_weight)


def _steady(loss, gradient, curvature, weight):
    """Curvatures that do not vanish where the gradient does not."""
    if loss.family == "squared":
        return curvature
    largest = loss.largest_curvature
    if largest is not None:
        return np.full(len(gradient), largest) if weight is None else largest * weight
    return np.maximum(curvature, np.abs(gradient) / LONGEST_STEP)


class LightGBMObjective(_Objective):
    """What :func:`lightgbm_objective` returns."""

    def __call__(self, y_true, y_pred, weight=None, group_sizes=None):
        """Gradient and curvature of every document; ``lightgbm.train`` calls (scores, Dataset)."""
        refuse_bagging_by_query(y_pred)
        return self.derivatives(from_lightgbm(y_true, y_pred, weight, group_sizes))


class XGBoostObjective(_Objective):
    """What :func:`xgboost_objective` returns."""

    def __call__(self, scores, data):
        """Gradient and curvature of every document."""
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
) -> Callable[..., Any]:
    """A calibrated ranking objective for LightGBM.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Whose targets are boosted: ``"ndcg@k"``, ``"dcg"``, ``"precision"``, ``"recall"``,
        ``"eru"``, ``"auc"``, ``"spearman"``, calibrated without conditions; ``"map"``,
        ``"err"`` and ``"neg_pairwise_disagreement"`` under those of their score-based rankers.
    loss : str or Loss, default="pairwise_logistic"
        A name in :data:`skcalrank.losses.LOSSES`, or an object of :mod:`skcalrank.losses`.
    eta, threshold, smoothing : float, default=None
        Of the loss, where it has them; ``eta=None`` is the largest target of the training set, for
        "bregman_kl" the largest sum of the targets of a query.
    query_weight : {"pairs", "documents", "equal"}, default=None
        What a query of n documents counts: its loss for one pair or one document, whichever the
        loss is a sum over, times n ** 2, n, or 1. None is the sum as it is, "pairs" for pairwise
        losses and "documents" for others. Weights that the library hands over come on top.
        Curvatures are scaled alike, against which `reg_lambda` and `min_child_weight` stand.
    **measure_options
        Parameters of the measure: ``gain``, ``relevance_level``, ... Both libraries hold labels
        in single precision, so put a fractional ``relevance_level`` between two grades.

    Returns
    -------
    objective : callable
        ``f(y_true, y_pred, weight, group_sizes)`` for ``LGBMRanker(objective=f)``, and
        ``f(scores, dataset)`` for ``lightgbm.train({"objective": f}, dataset)``: gradient
        and curvature, each of shape (n_rows,). It can be pickled and cloned, and serves any
        number of training sets.

    Raises
    ------
    ValueError
        For unknown names or options, a measure without such targets, and while training for
        labels that do not fit the measure, targets that do not fit the loss, data without
        queries, and ``bagging_by_query=True`` of ``lightgbm.train``.

    Notes
    -----
    Do not set ``bagging_by_query=True``: LightGBM (4.7.0 was tried) then draws queries, but takes
    the gradients of an objective that is not its own for those of other rows, so that hardly
    anything is learned. ``lightgbm.train`` shows the option to the objective, which refuses it;
    ``LGBMRanker`` does not. Bagging of rows (``subsample``, ``bagging_fraction``) works.

    See Also
    --------
    skcalrank.boosting : which target, which loss, and how curvatures are made positive.
    lightgbm_metric : early stopping on the measure.

    Examples
    --------
    >>> from skcalrank.boosting import lightgbm_objective
    >>> objective = lightgbm_objective("precision", relevance_level=2)
    >>> gradient, curvature = objective([3, 0, 1], [0.0, 0.0, 0.0], None, [2, 1])
    >>> gradient
    array([-0.5,  0.5,  0. ])
    """
    return LightGBMObjective(
        get_measure(measure, **measure_options),
        get_loss(loss, eta=eta, threshold=threshold, smoothing=smoothing),
        query_weight,
    )


def xgboost_objective(
    measure: str | Measure = "ndcg@10",
    loss: str | Loss = "pairwise_logistic",
    *,
    eta: float | None = None,
    threshold: float | None = None,
    smoothing: float | None = None,
    query_weight: str | None = None,
    **measure_options: Any,
) -> Callable[..., Any]:
    """A calibrated ranking objective for XGBoost.

    Parameters
    ----------
    measure, loss, eta, threshold, smoothing, query_weight, **measure_options
        As in :func:`lightgbm_objective`.

    Returns
    -------
    objective : callable
        ``f(scores, dtrain)`` for ``xgboost.train(params, dtrain, obj=f)``, where ``dtrain`` was
        built with ``group`` or ``qid``: gradient and curvature, each of shape (n_rows,).
        It can be pickled and copied, and serves any number of training sets.

    Raises
    ------
    ValueError
        As in :func:`lightgbm_objective`.

    Notes
    -----
    ``XGBRanker`` refuses objectives that are not its own, and the other estimators of XGBoost
    do not tell an objective the queries: ``xgboost.train`` is the way.

    The parameters ``reg_lambda`` and ``min_child_weight``, both 1 by default, stand
    against sums of curvatures. Those of targets in [0, 1] can be small, ``eta / 4`` at most for
    the logistic loss, those of the pairwise losses grow with the number of documents.

    Scores start at ``base_score``, 0.5 by default here; pairwise losses do not see it.

    Examples
    --------
    >>> from skcalrank.boosting import xgboost_objective
    >>> xgboost_objective("dcg", "squared", gain="linear")
    XGBoostObjective(measure=DCG(k=None, gain='linear'), loss=Squared(), query_weight=None)
    """
    return XGBoostObjective(
        get_measure(measure, **measure_options),
        get_loss(loss, eta=eta, threshold=threshold, smoothing=smoothing),
        query_weight,
    )
