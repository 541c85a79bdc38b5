"""Metrics of skcalrank as evaluation functions of LightGBM and XGBoost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..columns.types import Array, Floats, Ints
from ..data import check
from ..measures import Measure, get_measure, warn_unless_grades
from ..metrics import PreparedScore, RowPolicies, undefined_mean
from ._handed import Handed, Known, from_lightgbm, from_xgboost, workers


@dataclass(frozen=True)
class _Metric:
    """A measure with its policies for ties and empty queries, and its name in logs."""

    measure: Measure
    ties: str
    empty: str
    name: str
    _known: Known = field(default_factory=Known, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[Any], tuple[Any, str, str, str]]:  # without what is known
        return type(self), (self.measure, self.ties, self.empty, self.name)

    def score_of(self, handed: Handed) -> PreparedScore:
        """Return the mean of the measure over the queries, as a function of finite scores."""
        if handed.is_part:
            self.measure.require_scale("if several workers train", "all workers")
        return self._known.of(handed, self._prepared)

    def _prepared(self, handed: Handed) -> PreparedScore:
        y, queries = check.target(handed.labels, handed.qid, name="y_true")
        weight = None if handed.weight is None else np.asarray(handed.weight)
        warn_unless_grades([self.measure], y)
        return PreparedScore(self.measure, y, queries, weight, self.ties, self.empty)


def _parameters(
    measure: Any, ties: str, empty: str, name: Any, options: dict[str, Any], prefix: str = ""
) -> tuple[Measure, str, str, str]:
    policies, made = RowPolicies(ties, empty), get_measure(measure, **options)
    return made, policies.ties, policies.empty, prefix + made.full_name if name is None else name


class LightGBMMetric(_Metric):
    """Evaluation function returned by :func:`lightgbm_metric`."""

    def __call__(
        self, y_true: Array, y_pred: Any, weight: Any = None, group_sizes: Ints | None = None
    ) -> tuple[str, float, bool]:
        """Return (name, value, True); ``lightgbm.train`` passes (scores, Dataset)."""
        handed = from_lightgbm(y_true, y_pred, weight, group_sizes)
        return self.name, self.score_of(handed)(handed.scores), True


class XGBoostMetric(_Metric):
    """Evaluation function returned by :func:`xgboost_metric`."""

    def __call__(self, scores: Floats, data: Any) -> tuple[str, float]:
        """Return (name, value); the mean over the queries of all workers, if there are several."""
        handed = from_xgboost(scores, data)
        if not handed.is_part:
            return self.name, self.score_of(handed)(handed.scores)
        # A worker may have no rows, or none that count.
        counts = len(handed.scores) > 0 and (handed.weight is None or handed.weight.any())
        sums = self.score_of(handed).sums(handed.scores) if counts else (0.0, 0.0)
        total, weight = workers().allreduce(np.array(sums), workers().Op.SUM)
        mean = total / weight if weight else undefined_mean(self.measure, handed.weight is not None)
        return self.name, float(mean)


def lightgbm_metric(
    measure: str | Measure = "ndcg@10",
    *,
    ties: str = "average",
    empty: str = "skip",
    name: str | None = None,
    **measure_options: Any,
) -> Callable[..., Any]:
    """Make an evaluation function for LightGBM, equal to :func:`skcalrank.metrics.measure_score`.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Measure to evaluate.
    ties : {"average", "stable", "reversed", "worst", "best"}, default="average"
        Treatment of equal scores, as in :func:`skcalrank.metrics.measure_score`.
    empty : {"skip", "zero", "one", "nan", "error"}, default="skip"
        Treatment of queries on which the measure is undefined, as in
        :func:`skcalrank.metrics.measure_score`. LightGBM's own "ndcg" assigns 1 to a query without
        a relevant document; this is ``empty="one"``.
    name : str, default=None
        Name in logs. If None, "skcalrank-" and the measure with its cutoff, such as
        "skcalrank-ndcg@10": LightGBM also evaluates metrics of its own, and confuses two metrics
        that have the same name.
    **measure_options
        Parameters of the measure: ``gain``, ``relevance_level``, ...

    Returns
    -------
    metric : callable
        ``f(y_true, y_pred, weight, group_sizes)`` for ``fit(..., eval_metric=f)`` of
        ``LGBMRanker``, and ``f(scores, dataset)`` for ``lightgbm.train(..., feval=f)``. Returns
        name, value and True (higher is better). The weight of a query is the mean weight of its
        rows.

    Raises
    ------
    ValueError
        If a name or option is unknown, and while evaluating if the data have no queries, the
        labels do not fit the measure, or several workers, or LightGBM in a task of Dask, train and
        ``max_grade`` is None.

    See Also
    --------
    xgboost_metric : The same for XGBoost.
    lightgbm_objective : Calibrated objective for the measure.
    skcalrank.BoostedRanker : Estimator with early stopping on the measure.

    Notes
    -----
    Early stopping of LightGBM watches every metric and stops when one of them does not improve.
    Switch LightGBM's own metrics off: ``LGBMRanker(..., metric="none")``.

    Examples
    --------
    >>> from skcalrank.boosting import lightgbm_metric
    >>> metric = lightgbm_metric("precision@1", relevance_level=2)
    >>> metric([3, 0, 1], [0.2, 0.1, 0.0], None, [2, 1])
    ('skcalrank-precision@1', 0.5, True)
    """
    return LightGBMMetric(*_parameters(measure, ties, empty, name, measure_options, "skcalrank-"))


def xgboost_metric(
    measure: str | Measure = "ndcg@10",
    *,
    ties: str = "average",
    empty: str = "skip",
    name: str | None = None,
    **measure_options: Any,
) -> Callable[..., Any]:
    """Make an evaluation function for XGBoost, equal to :func:`skcalrank.metrics.measure_score`.

    Parameters
    ----------
    measure, ties, empty, name, **measure_options
        As in :func:`lightgbm_metric`.

    Returns
    -------
    metric : callable
        ``f(scores, data)`` for ``xgboost.train(..., custom_metric=f)``, where ``data`` was built
        with ``group`` or ``qid``. Returns name and value. Higher is better, so pass
        ``maximize=True`` to ``xgboost.train``. If several workers train, each must call it, and
        the value is the mean over the queries of all of them; a worker may have none.

    Raises
    ------
    ValueError
        As in :func:`lightgbm_metric`.

    See Also
    --------
    lightgbm_metric : The same for LightGBM.
    xgboost_objective : Calibrated objective for the measure.
    skcalrank.BoostedRanker : Estimator with early stopping on the measure.

    Notes
    -----
    Early stopping of XGBoost watches the last metric, which is this one. With the parameter
    ``disable_default_eval_metric=True``, XGBoost does not also compute its default metric, a
    regression error.

    Examples
    --------
    >>> from skcalrank.boosting import xgboost_metric
    >>> xgboost_metric("map", relevance_level=1).name
    'map'
    """
    return XGBoostMetric(*_parameters(measure, ties, empty, name, measure_options))
