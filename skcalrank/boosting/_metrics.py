"""Our metrics, with our policies, where the libraries evaluate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data import check_scores, check_target
from ..measures import Measure
from ..metrics import PreparedScore, get_scorer
from ._data import Handed, Known, from_lightgbm, from_xgboost


@dataclass(frozen=True)
class _Metric:
    """A measure under policies, and the name that it has in a log.

    What does not depend on the scores is computed once for labels, weights and group sizes, which
    are known by their contents. Copies and pickles start without.
    """

    measure: Measure
    ties: str
    empty: str
    name: str
    _known: Known = field(default_factory=Known, init=False, repr=False, compare=False)

    def __reduce__(self):
        return type(self), (self.measure, self.ties, self.empty, self.name)

    def value(self, handed: Handed) -> float:
        """Mean over the queries."""
        if not np.isfinite(handed.scores).all():
            check_scores(handed.scores, handed.scores.shape)
        return self._known.of(handed, self._prepared)(handed.scores)

    def _prepared(self, handed):
        y, queries = check_target(handed.labels, handed.qid, name="y_true")
        weight = None if handed.weight is None else np.asarray(handed.weight)
        return PreparedScore(self.measure, y, queries, weight, self.ties, self.empty)


def _parameters(measure, ties, empty, name, options, prefix=""):
    made = get_scorer(measure, ties=ties, empty=empty, **options).measure
    if name is None:
        name = prefix + made.full_name
    return made, ties, empty, name


class LightGBMMetric(_Metric):
    """What :func:`lightgbm_metric` returns."""

    def __call__(self, y_true, y_pred, weight=None, group_sizes=None):
        """Name, value, True; ``lightgbm.train`` calls (scores, Dataset)."""
        handed = from_lightgbm(y_true, y_pred, weight, group_sizes)
        return self.name, self.value(handed), True


class XGBoostMetric(_Metric):
    """What :func:`xgboost_metric` returns."""

    def __call__(self, scores, data):
        """Name and value."""
        return self.name, self.value(from_xgboost(scores, data))


def lightgbm_metric(
    measure: str | Measure = "ndcg@10",
    *,
    ties: str = "average",
    empty: str = "skip",
    name: str | None = None,
    **measure_options: Any,
) -> Callable[..., Any]:
    """An evaluation function for LightGBM, equal to :func:`skcalrank.metrics.measure_score`.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Any measure.
    ties, empty : str
        Policies, as in :func:`skcalrank.metrics.measure_score`. LightGBM's own "ndcg" counts a
        query without a relevant document 1; that is ``empty="one"``.
    name : str, default=None
        In logs; None = the measure with its cutoff behind "skcalrank-", such as
        "skcalrank-ndcg@10": LightGBM evaluates metrics of its own beside it, and mixes up two of
        one name.
    **measure_options
        Parameters of the measure: ``gain``, ``relevance_level``, ...

    Returns
    -------
    metric : callable
        ``f(y_true, y_pred, weight, group_sizes)`` for ``fit(..., eval_metric=f)`` of
        ``LGBMRanker``, and ``f(scores, dataset)`` for ``lightgbm.train(..., feval=f)``: name,
        value, True (higher is better). A query weighs the mean weight of its rows.

    Raises
    ------
    ValueError
        For unknown names or options, data without queries, and labels that do not fit.

    Notes
    -----
    Early stopping of LightGBM watches every metric and stops when one of them does not improve:
    switch its own off, ``LGBMRanker(..., metric="none")``.

    Examples
    --------
    >>> from skcalrank.boosting import lightgbm_metric
    >>> metric = lightgbm_metric("precision@1", relevance_level=2)
    >>> metric([3, 0, 1], [0.2, 0.1, 0.0], None, [2, 1])
    ('skcalrank-precision@1', 0.5, True)
    """
    return LightGBMMetric(
        *_parameters(measure, ties, empty, name, measure_options, prefix="skcalrank-")
    )


def xgboost_metric(
    measure: str | Measure = "ndcg@10",
    *,
    ties: str = "average",
    empty: str = "skip",
    name: str | None = None,
    **measure_options: Any,
) -> Callable[..., Any]:
    """An evaluation function for XGBoost, equal to :func:`skcalrank.metrics.measure_score`.

    Parameters
    ----------
    measure, ties, empty, name, **measure_options
        As in :func:`lightgbm_metric`.

    Returns
    -------
    metric : callable
        ``f(scores, data)`` for ``xgboost.train(..., custom_metric=f)``, where the data were
        built with ``group`` or ``qid``: name and value. Higher is better, which XGBoost must be
        told: ``maximize=True``.

    Raises
    ------
    ValueError
        As in :func:`lightgbm_metric`.

    Notes
    -----
    Early stopping of XGBoost watches the last metric, which is this one; the parameter
    ``disable_default_eval_metric=True`` spares it the error of a regression.

    Examples
    --------
    >>> from skcalrank.boosting import xgboost_metric
    >>> xgboost_metric("map", relevance_level=1).name
    'map'
    """
    return XGBoostMetric(*_parameters(measure, ties, empty, name, measure_options))
