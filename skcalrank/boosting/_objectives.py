"""Objectives of LightGBM and XGBoost: gradients and curvatures of the losses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..data import (
    QUERY_WEIGHTS,
    MissingQidError,
    Queries,
    arrays,
    check,
    check_qid,
    plain,
    qid_array,
)
from ..data.types import ArrayLike, Ints
from ..losses import Loss, get_loss
from ..measures import MEASURES, Measure, get_measure

# Maximum step of a document. Scores are log-odds or half of them; LogitBoost uses 2 to 4.
LONGEST_STEP = 4.0

# The libraries use single precision, in which curvatures and their sums must be positive, finite.
_SMALLEST, _GREATEST = float(np.finfo(np.float32).tiny), 1e30

# Training sets to remember: cross-validation inside a library boosts its folds in turn, with one
# objective and one metric.
_REMEMBERED = 16


# -- rows as a library hands them ------------------------------------------------------------


class Handed(NamedTuple):
    """Rows in which each query is contiguous, as a library passes them."""

    labels: Any
    scores: np.ndarray
    weight: Any
    sizes: np.ndarray  # of the queries

    @property
    def qid(self) -> np.ndarray:
        """Query of each row, numbered from 0."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


class Known:
    """Cache of objects computed from a training set, found again by its contents."""

    def __init__(self) -> None:
        self._made: deque = deque(maxlen=_REMEMBERED)

    def __len__(self) -> int:
        return len(self._made)

    def of(self, handed: Handed, make: Callable[[Handed], Any]) -> Any:
        """Return ``make(handed)``, computed once for the same labels, weights and group sizes."""
        contents = handed.labels, handed.weight, handed.sizes
        for known, made in list(self._made):
            if all(map(_same, known, contents)):
                return made
        made = make(handed)
        # Some of the arrays are views of memory that the library owns.
        copies = [None if array is None else np.array(array) for array in contents]
        self._made.append((copies, made))
        return made


def _same(a, b):
    return a is b if a is None or b is None else np.array_equal(a, b)


def from_lightgbm(y_true, y_pred, weight, group_sizes) -> Handed:
    """Read ``(labels, scores, weight, group_sizes)``, or ``(scores, Dataset)``."""
    if hasattr(y_pred, "get_group"):
        data = y_pred
        y_true, y_pred = data.get_label(), y_true
        weight, group_sizes = data.get_weight(), data.get_group()
    if group_sizes is None:
        raise MissingQidError(
            "LightGBM passed no group sizes: give group=group_sizes(qid) to fit or to the Dataset."
        )
    return _handed(y_true, y_pred, weight, np.asarray(group_sizes))


def refuse_bagging_by_query(data):
    """Raise if LightGBM would use the gradients of a custom objective for the wrong rows.

    `data` is the second argument of the objective: the Dataset, whose `params` are checked, when
    called by ``lightgbm.train``; an array of scores, without any options, by ``LGBMRanker``.
    """
    option = (getattr(data, "params", None) or {}).get("bagging_by_query", False)
    if str(option).lower() in ("true", "+"):
        raise ValueError(
            "bagging_by_query must be False with a custom objective, got True: LightGBM would "
            "train on the wrong rows. Leave it out; bagging_fraction then draws rows."
        )


def from_xgboost(scores, data) -> Handed:
    """Read ``(scores, DMatrix)``, and repeat the weight of each query for its rows."""
    pointers = data.get_uint_info("group_ptr")
    if len(pointers) == 0:
        raise MissingQidError(
            "The DMatrix has no queries: give it group=group_sizes(qid), or qid if it is sorted."
        )
    sizes = np.diff(pointers.astype(np.intp))
    weight = data.get_weight()
    weight = np.repeat(weight, sizes) if len(weight) else None
    return _handed(data.get_label(), scores, weight, sizes)


def _handed(labels, scores, weight, sizes):
    scores = arrays.as_array(scores, "scores").astype(float).ravel()
    if not len(labels) == len(scores) == sizes.sum():
        raise ValueError(
            "labels, scores and group sizes must agree in the number of rows, got "
            f"{len(labels)} labels, {len(scores)} scores and group sizes with sum {sizes.sum()}."
        )
    return Handed(labels, scores, weight, sizes)


def group_sizes(qid: ArrayLike) -> Ints:
    """Return the number of documents of each query, for ``group=`` of LightGBM and XGBoost.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        Query of each row, of any hashable type. The rows of each query must be contiguous, as
        both libraries require.

    Returns
    -------
    sizes : ndarray of int of shape (n_queries,)
        In the order in which the queries appear.

    Raises
    ------
    ValueError
        If the rows of a query are not contiguous, or a qid is missing.

    See Also
    --------
    lightgbm_objective : Calibrated objective for LightGBM.
    xgboost_objective : Calibrated objective for XGBoost.
    skcalrank.BoostedRanker : Takes qids of any type, in any order.

    Examples
    --------
    >>> from skcalrank.boosting import group_sizes
    >>> group_sizes(["b", "b", "a", "c", "c", "c"])
    array([2, 1, 3])
    """
    qid = qid_array(qid)
    queries = Queries.from_qid(check_qid(qid, len(qid)))
    if queries.order is not None:
        apart = int(np.flatnonzero(np.diff(queries.order) != 1)[0])
        query = int(np.searchsorted(queries.ptr, apart, side="right")) - 1
        raise ValueError(
            f"The rows of each query must be contiguous, and query {plain(queries.name(query))!r} "
            "comes in several pieces. Sort X, y and qid by np.argsort(qid, kind='stable') first."
        )
    return queries.sizes


# -- losses of targets ------------------------------------------------------------------------


class Problem(NamedTuple):
    """Targets of a training set, its queries and weights, and the loss scaled to the targets."""

    targets: np.ndarray
    queries: Queries
    weight: np.ndarray | None
    loss: Loss

    def derivatives(self, scores):
        """Return the gradient of the loss and positive curvatures, of shape (n_rows,) each."""
        gradient, curvature = self.loss.derivatives(self.targets, scores, self.queries, self.weight)
        curvature = _steady(self.loss, gradient, curvature, self.weight)
        return gradient.clip(-_GREATEST, _GREATEST), curvature.clip(_SMALLEST, _GREATEST)


def make_problem(measure: Measure, loss: Loss, targets, queries, weight, query_weight) -> Problem:
    """Return the problem of boosting targets in grouped order."""
    if measure.shape == "pairs":
        targets = loss.standardize(targets, queries)
    # As in the rankers, a document of weight 0 has no effect on the scale.
    told = targets if weight is None else targets * (weight > 0)
    loss = loss.scaled_to(told, queries)
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

    def __post_init__(self):
        if self.query_weight is not None:
            check.option("query_weight", self.query_weight, QUERY_WEIGHTS)
        check_boosted(self.measure)

    def __reduce__(self):  # without what is known
        return type(self), (self.measure, self.loss, self.query_weight)

    def derivatives(self, handed: Handed):
        """Return the gradient of the loss and positive curvatures, of shape (n_rows,) each."""
        return self._known.of(handed, self._make_problem).derivatives(handed.scores)

    def _make_problem(self, handed):
        y, queries = check.target(handed.labels, handed.qid, name="y_true")
        measure = self.measure.scaled_to(y)
        targets = measure.score_targets(measure.labels(y), queries)
        weight = check.sample_weight(handed.weight, len(y), queries)
        return make_problem(measure, self.loss, targets, queries, weight, self.query_weight)


def _steady(loss, gradient, curvature, weight):
    """Return curvatures large enough that no step is longer than the loss allows."""
    if loss.family == "squared":
        return curvature
    largest = loss.largest_curvature
    if largest is not None:
        return np.full(len(gradient), largest) if weight is None else largest * weight
    return np.maximum(curvature, np.abs(gradient) / LONGEST_STEP)


class LightGBMObjective(_Objective):
    """Objective returned by :func:`lightgbm_objective`."""

    def __call__(self, y_true, y_pred, weight=None, group_sizes=None):
        """Return gradients and curvatures; ``lightgbm.train`` passes (scores, Dataset)."""
        refuse_bagging_by_query(y_pred)
        return self.derivatives(from_lightgbm(y_true, y_pred, weight, group_sizes))


class XGBoostObjective(_Objective):
    """Objective returned by :func:`xgboost_objective`."""

    def __call__(self, scores, data):
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
) -> Callable[..., Any]:
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
        training set; for "bregman_kl" the largest sum of the targets of a query.
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
    objective : callable
        ``f(y_true, y_pred, weight, group_sizes)`` for ``LGBMRanker(objective=f)``, and
        ``f(scores, dataset)`` for ``lightgbm.train({"objective": f}, dataset)``. Returns gradient
        and curvature, each of shape (n_rows,). It can be pickled and cloned, and used for any
        number of training sets.

    Raises
    ------
    ValueError
        If a name or option is unknown, or the measure has no targets of single documents; while
        training if labels do not fit the measure, targets do not fit the loss, the data have no
        queries, or ``lightgbm.train`` got ``bagging_by_query=True``.

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
    """Make a calibrated ranking objective for XGBoost.

    Parameters
    ----------
    measure, loss, eta, threshold, smoothing, query_weight, **measure_options
        As in :func:`lightgbm_objective`.

    Returns
    -------
    objective : callable
        ``f(scores, dtrain)`` for ``xgboost.train(params, dtrain, obj=f)``, where ``dtrain`` was
        built with ``group`` or ``qid``. Returns gradient and curvature, each of shape (n_rows,).
        It can be pickled and copied, and used for any number of training sets.

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
    return XGBoostObjective(
        get_measure(measure, **measure_options),
        get_loss(loss, eta=eta, threshold=threshold, smoothing=smoothing),
        query_weight,
    )
