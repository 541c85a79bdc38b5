"""The door of a fit: what a user passes becomes rows, which are validated once."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length

from ..columns import arrays
from ..data import (
    EqualLabelsWarning,
    Judgments,
    OneQueryWarning,
    Queries,
    Rows,
    check,
    refuse_lazy,
    settle,
    warn_of_leaks,
    workers_of_fit,
)
from ..measures import warn_unless_grades
from ._plan import Plan

# Sums of larger labels may overflow.
_LARGEST_LABEL = 1e290


def door(
    ranker: Any, plan: Any, X: Any, y: Any, qid: Any, sample_weight: Any = None
) -> tuple[Any, Rows]:
    """Return the plan for the labels of a fit, and its validated rows, with labels grouped."""
    call, caller = plan.call, type(ranker).__name__
    arguments = {"X": X, call.name: y, "qid": qid, "sample_weight": sample_weight}
    refuse_lazy(caller, **arguments)
    check.row_order(**arguments)
    table = ranker._encoded(X) if call.goes_on else ranker._fit_encoded(X, y, qid)
    qid = check.qid_beside(y, qid)
    read = _read_judgments if isinstance(y, Judgments) else _read_labels
    X, values, queries, n_items = read(ranker, plan, table, y, qid)
    check.warn_of_single_documents(queries)
    weight = check.sample_weight(sample_weight, X.shape[0], queries)
    rows = Rows(X, values, queries, weight, n_items, qid is not None, table)
    if isinstance(values, np.ndarray):
        rows = _as_counted(ranker, plan, rows, qid)
    check.warn_of_cut_queries(y, caller)
    X, table = ranker._as_scored(X, table)
    items = None if n_items is None else check.item_names(y)
    rows = replace(rows, X=X, table=table, items=items)
    return plan.for_labels(rows), rows


def _features(ranker: Any, plan: Plan, X: Any, *y: None) -> Any:
    """Return X as the plan reads it."""
    return check.features(ranker, X, *y, reset=not plan.call.goes_on, **plan.reads.checks())


def _read_judgments(ranker: Any, plan: Plan, X: Any, y: Judgments, _: Any) -> tuple[Any, ...]:
    """Return X, judgments, their queries, and their number of items in the label-ranking form."""
    X = _features(ranker, plan, X)
    if not isinstance(y, ranker._judgments):
        names = ["relevances", *(kind.__name__ for kind in ranker._judgments)]
        raise ValueError(
            f"{type(ranker).__name__} expects {' or '.join(names)} as y, got "
            f"{type(y).__name__}. PairwiseDisagreementRanker takes a PreferenceTarget, "
            "ERRRanker takes ClickSessions, AggregatedRanker takes both, and ClickCounts."
        )
    check.equally_many("X and y", X=X, y=y)
    refuse_silent(y, plan)
    settle(OneQueryWarning)  # rankers inside learn from numbers
    return X, y, y.queries(), y.n_items


def _read_labels(ranker: Any, plan: Plan, X: Any, y: Any, qid: Any) -> tuple[Any, ...]:
    """Return X, labels or targets in grouped order, their queries, and their number of items."""
    name = plan.call.name
    if issparse(y):
        raise ValueError(f"{name} must be dense, got a sparse matrix: pass {name}.toarray().")
    if y is None:
        _features(ranker, plan, X, None)  # scikit-learn raises
    y = check.labels(y, name, unranked=ranker.takes_unranked and not plan.call.of_targets)
    X = _features(ranker, plan, X)
    with arrays.naming("X", name):
        check_consistent_length(X, y)
    y = check.one_form(y, qid, name)
    method = "fit_targets" if plan.call.of_targets else "fit"
    check.one_query(y, qid, type(ranker).__name__, name, call=f"ranker.{method}(X, {{}})")
    n_items = y.shape[1] if y.ndim == 2 else None
    check_form(ranker, n_items, name)
    if not plan.call.of_targets:
        check.warn_of_positions(y)
    if n_items is None:
        check.qid_of_parts(qid, workers_of_fit().n_parts)
    queries = Queries.equal(len(y), n_items) if n_items else check.queries(qid, len(y))
    y = queries.group(y.ravel())
    largest = np.fmax.reduce(np.abs(y), initial=0.0)
    if largest > _LARGEST_LABEL:
        raise ValueError(
            f"{name} must be at most {_LARGEST_LABEL:g} in absolute value, so that sums do not "
            f"overflow, got {largest:g}: divide {name} by the largest of them."
        )
    return X, y, queries, n_items


def _as_counted(ranker: Any, plan: Plan, rows: Rows, qid: Any) -> Rows:
    """Return rows whose labels set the scale of the measure; warn if they teach nothing."""
    measure, queries, level = plan.measure, rows.queries, None
    counted = check.labels_that_count(rows.y, queries, rows.document_weights())
    if not plan.call.of_targets:
        warn_unless_grades([measure], rows.y)
        level = measure.level if ranker._reads_labels else None
        if not measure.is_scaled:
            measure.labels(rows.y)  # also those that set no scale
            rows = replace(rows, y=counted)
    if plan.call.warns:
        read = counted if level is None else measure.labels(counted)
        check.warn_of_equal_labels(read, queries, plan.call.name, level)
        settle(EqualLabelsWarning)  # folds of the rows are other ones
        is_table = not isinstance(rows.table, np.ndarray) and not ranker._hands_tables_on()
        if is_table and workers_of_fit().size == 1:
            y = None if rows.n_items else queries.ungroup(rows.y)
            warn_of_leaks(rows.table, y, queries, qid)
    return rows


def refuse_silent(y: Judgments, plan: Plan) -> None:
    """Raise if y holds no judgment at all and there is no other chunk."""
    if y.is_silent and not plan.call.goes_on:
        raise ValueError(
            f"y must hold at least one judgment, got {y!r}: there is nothing to learn from."
        )


def check_form(ranker: Any, n_items: int | None, name: str = "y") -> None:
    """Raise for the label-ranking form if a ranker does not take it."""
    if n_items is not None and not ranker.takes_label_form:
        raise ValueError(
            f"{name} must be one number for each row, got {n_items} columns (the label-ranking "
            "form). Pass one row for each document with its qid, or choose another ranker, "
            f"such as {ranker._for_label_form}, or for tags LeastSquaresRanker('precision@3')."
        )
