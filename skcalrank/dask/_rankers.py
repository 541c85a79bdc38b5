"""Rankers on dask collections: statistics per partition, and predictions that stay lazy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..data import check, is_lazy
from ..linear_model import GramRidge, refit
from ..metrics import CheckedTarget, RowPolicies, undefined_mean
from ..rankers import BaseRanker, ScoreRanker, check_partitions, is_by_query, require_qid, scored_by
from ._blocks import OnPartition, check_disjoint, collect, compute, is_frame, like, names_of, tree
from ._cut import partitions
from ._fits import as_fitted
from ._transformers import whole_queries

if TYPE_CHECKING:
    from ._blocks import Partitions


def check_named(parts: Partitions, y: Any, qid: Any) -> None:
    """Raise if all rows are one query, which is cut by several partitions."""
    if is_lazy(y):
        carried = getattr(getattr(y, "index", None), "name", None) == "qid"
    else:
        carried = check.carried_qid(y, qid) is not None
    one_query = y is None or np.ndim(y) < 2 or np.shape(y)[1] == 1
    if one_query and not carried:
        check.qid_of_parts(qid, len(parts.frames))


class _Fitted(NamedTuple):
    """A ranker fitted to some partitions (None if all weights are zero), and their queries."""

    ranker: Any
    owners: dict[Any, int]


def fit_by_partition(
    ranker: ScoreRanker, X: Any, y: Any, qid: Any, sample_weight: Any
) -> ScoreRanker:
    """Fit a score ranker to the sum of the statistics of all partitions."""
    from dask import delayed

    inner = check_partitions(ranker)
    parts = partitions(X, y=y, qid=qid, sample_weight=sample_weight)
    check_named(parts, y, qid)
    # Statistics for another regressor than GramRidge (None for Ridge) are collected by one.
    is_other = inner is not None and not isinstance(inner, GramRidge)
    gram = GramRidge(fit_intercept=inner.fit_intercept) if is_other else clone(inner, safe=False)
    fitted = tree(parts.map(_fit_part, clone(ranker).set_params(estimator=gram)), _merge)
    if not hasattr(ranker, "partial_fit"):
        # Only later chunks need the names of queries.
        fitted = delayed(_Fitted._replace)(fitted, owners={})
    fitted = compute(fitted)
    if fitted.ranker is None:
        raise ValueError("X must have a row of positive sample_weight, got none.")
    if not fitted.ranker.record_.varied:
        check.tell_equal_labels()
    learned = fitted.ranker
    gram = learned.estimator_
    other = clone(inner).set_params(fit_intercept=gram.fit_intercept) if is_other else None
    learned.estimator_ = refit(gram, other)
    learned.record_ = replace(learned.record_, names=frozenset(fitted.owners))
    return as_fitted(ranker, learned)


def _is_weightless(sample_weight: Any) -> bool:
    return sample_weight is not None and not np.any(sample_weight)


def _fit_part(
    template: ScoreRanker, number: int, *, X: Any, y: Any, qid: Any, sample_weight: Any
) -> _Fitted:
    """Return the statistics of one partition."""
    if not X.shape[0]:
        return _Fitted(None, {})
    # Rows of zero weight are validated like others, and then ignored.
    weightless = _is_weightless(sample_weight)
    ranker = clone(template).partial_fit(X, y, qid, None if weightless else sample_weight)
    owners = dict.fromkeys(ranker.record_.names, number)
    _forget_names(ranker)
    return _Fitted(None if weightless else ranker, owners)


def _merge(parts: list[_Fitted]) -> _Fitted:
    """Return the sum of the statistics of some partitions."""
    owners = check_disjoint([part.owners for part in parts])
    rankers = [part.ranker for part in parts if part.ranker is not None]
    return _Fitted(rankers[0].merge(*rankers[1:]) if rankers else None, owners)


def map_partitions(method: str, ranker: BaseRanker, X: Any, qid: Any) -> Any:
    """Return lazy predictions or ranks.

    Each partition must hold whole queries for ranks, and for predictions that depend on the other
    documents of the query.
    """
    check_is_fitted(ranker)
    by_query, width = method == "rank" or is_by_query(ranker), ranker.n_items_
    if by_query:
        require_qid(ranker, qid, method)
    parts = partitions(X, lazily=True, qid=qid)
    if by_query and width is None:
        check_named(parts, None, qid)
    dtype: Any = np.intp if method == "rank" else float
    shared = [_light(ranker), method, dtype]
    if method != "rank" and is_frame(X) and width is None and (qid is None or is_frame(qid)):
        # Dask can compute these together with X, as a column.
        columns = () if qid is None else (qid, whole_queries(qid)) if by_query else (qid,)
        predict = OnPartition(_predict_rows, *shared)
        return X.map_partitions(predict, *columns, meta=like(np.zeros(0, dtype), X._meta))
    # Every partition waits for the check that no query is in two partitions.
    shared += [parts.with_whole_queries()] if by_query else []
    return collect(parts.map(_predict_part, *shared), parts, width=width, dtype=dtype)


def _light(ranker: BaseRanker) -> BaseRanker:
    """Return a copy of a ranker without names of queries, unaffected by later fits."""
    return copy.deepcopy(_forget_names(copy.copy(ranker)))


def _forget_names(ranker: BaseRanker) -> BaseRanker:
    """Remove the names of queries from the record of a ranker."""
    ranker.record_ = replace(ranker.record_, names=frozenset())
    return ranker


def _predict_rows(
    ranker: BaseRanker, method: str, dtype: Any, X: Any, qid: Any = None, _whole: Any = None
) -> Any:
    """Return the predictions for one partition, as a Series."""
    return _predict_part(ranker, method, dtype, X=X, qid=qid)


def _predict_part(
    ranker: BaseRanker, method: str, dtype: Any, *_rest: int, X: Any, qid: Any
) -> Any:
    """Return the predictions for one partition."""
    return like(np.asarray(getattr(ranker, method)(X, qid), dtype), X)


def score_by_partition(ranker: BaseRanker, X: Any, y: Any, qid: Any, sample_weight: Any) -> float:
    """Compute the mean of the measure over the queries from sums of the partitions."""
    check_is_fitted(ranker)
    check.same_items(ranker, y)
    measure, y = scored_by(ranker, y)
    measure.require_scale("for dask collections", "all partitions")
    parts = partitions(X, y=y, qid=qid, sample_weight=sample_weight)
    check_named(parts, y, qid)
    sums = tree(parts.map(_score_part, _light(ranker), measure), _add_scores)
    total, weight, is_positive = compute(sums[:3])
    if sample_weight is not None and not is_positive:
        raise ValueError("sample_weight must be positive for some row, got zeros only.")
    return total / weight if weight else undefined_mean(measure, sample_weight is not None)


def _score_part(
    ranker: BaseRanker, measure: Any, number: int, *, X: Any, y: Any, qid: Any, sample_weight: Any
) -> tuple[float, float, bool, dict[Any, int]]:
    """Return sums of values and of their weights, whether any is positive, and names of queries."""
    if not X.shape[0]:
        return 0.0, 0.0, False, {}
    qid = check.carried_qid(y, qid)
    require_qid(ranker, qid, "score")
    check.one_query(y, qid, type(ranker).__name__, least=np.inf, call="ranker.score(X, {})")
    target, names = CheckedTarget.of(y, qid), names_of(number, qid=qid)
    scores = target.scores(ranker.predict(X, qid))
    if _is_weightless(sample_weight):
        return 0.0, 0.0, False, names
    # All partitions have one scale of weights.
    target, rows, weight = target.of_weight(target.query_weight(sample_weight, shares=False))
    if not target.queries.n_queries:  # those of positive weight rank nothing
        return 0.0, 0.0, True, names
    values = target.values({"": measure}, [scores[rows]], RowPolicies())[0][""]
    weight = np.ones(len(values)) if weight is None else weight
    defined = ~np.isnan(values)
    return float(values[defined] @ weight[defined]), float(weight[defined].sum()), True, names


def _add_scores(parts: list[tuple[float, float, bool, dict[Any, int]]]) -> tuple[Any, ...]:
    """Return the sums of some partitions."""
    totals, weights, positive, names = zip(*parts)
    return sum(totals), sum(weights), any(positive), check_disjoint(list(names))


#: What does the work of each method of a ranker.
METHODS: dict[str, Callable[..., Any]] = {
    "fit": fit_by_partition,
    "score": score_by_partition,
    **{name: partial(map_partitions, name) for name in ("predict", "surrogate_values", "rank")},
}
