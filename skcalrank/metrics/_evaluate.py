"""Values of measures, averaged over the queries or one per query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..data import (
    TIES,
    ArrayLike,
    Floats,
    Labels,
    PreferenceTarget,
    Queries,
    Ranked,
    carried_qid,
    check_option,
    check_sample_weight,
    check_scores,
    check_target,
    each,
    in_memory,
    query_weights,
    scale_of,
    warn,
    warn_of_cut_queries,
)
from ..measures import Measure, get_convention, get_measure

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Approximate number of rows that are evaluated at a time.
_PART_ROWS = 1 << 17

EMPTY = ("skip", "zero", "one", "nan", "error")


class _Default(str):
    """Default of a policy, which a convention replaces; an equal value passed by the user stays."""

    __slots__ = ()


_TIES, _EMPTY = _Default("average"), _Default("skip")


class Policies(TypedDict, total=False):
    """What overloads of the functions below have in common, for type checkers."""

    qid: ArrayLike | None
    ties: str
    empty: str
    sample_weight: ArrayLike | None
    convention: str | None


@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: Literal[True] = ...,
    **policies: Unpack[Policies],
) -> float: ...
@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: Literal[False],
    **policies: Unpack[Policies],
) -> Floats: ...
@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: bool,
    **policies: Unpack[Policies],
) -> float | Floats: ...
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    ties: str = _TIES,
    empty: str = _EMPTY,
    sample_weight: ArrayLike | None = None,
    average: bool = True,
    convention: str | None = None,
) -> float | Floats:
    """Compute any measure.

    Parameters
    ----------
    measure : str or Measure
        ``"ndcg@10"``, ``"map"``, ... or an object of :mod:`skcalrank.measures`.
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better. May be a :class:`~skcalrank.RankingTarget`, or for
        pairwise disagreement a :class:`~skcalrank.PreferenceTarget`.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. If None, all rows are one query, or each row of a matrix is one.
    ties : {"average", "stable", "reversed", "worst", "best"}, default="average"
        Order of documents with equal scores: the exact expectation over random orders, row order,
        the reverse of it (the later row first, as in DMJ10, eq. 7), or the order that is worst or
        best for the measure.
    empty : {"skip", "zero", "one", "nan", "error"}, default="skip"
        Value assigned to queries for which the measure is undefined (0/0).
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows. The weight of a query is the mean over its rows.
    average : bool, default=True
        Whether to return the mean over queries. If False, return one value per query, in order of
        first appearance, with NaN where a query is skipped.
    convention : {"trec_eval", "lightgbm", "xgboost", "sklearn"}, default=None
        Compute the measure as this library does: set `ties`, `empty` and those options of the
        measure that are not passed; passed ones stay, even if they equal a default. A measure that
        has a default in place of the option of the library is an error. :doc:`/measures` says how
        far the values agree.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is not a ranking problem, or labels do not fit the measure.

    See Also
    --------
    evaluate : Several measures at once.
    get_scorer : The measure as a scorer of scikit-learn.

    Examples
    --------
    >>> from skcalrank.metrics import measure_score
    >>> measure_score("precision@1", [[0, 1, 1]], [[0.2, 0.9, 0.5]])
    1.0
    """
    (value,) = evaluate(
        y_true,
        y_score,
        [measure],
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
        convention=convention,
    ).values()
    return value


@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: Literal[True] = ...,
    **policies: Unpack[Policies],
) -> dict[Any, float]: ...
@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: Literal[False],
    **policies: Unpack[Policies],
) -> dict[Any, Floats]: ...
@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: bool,
    **policies: Unpack[Policies],
) -> dict[Any, Any]: ...
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    qid: ArrayLike | None = None,
    ties: str = _TIES,
    empty: str = _EMPTY,
    sample_weight: ArrayLike | None = None,
    average: bool = True,
    convention: str | None = None,
) -> dict[Any, Any]:
    """Compute several measures; the input is validated and sorted once.

    Parameters
    ----------
    y_true, y_score
        As in :func:`measure_score`.
    measures : list of str or Measure, or dict
        ``["ndcg@10", "map"]``, or measures by their names in the result, such as
        ``{"p@5": Precision(k=5, relevance_level=2)}``.
    qid, ties, empty, sample_weight, average, convention
        As in :func:`measure_score`.

    Returns
    -------
    values : dict
        Values by measure, as given in the list, or by name in the dict.

    See Also
    --------
    measure_score : One measure.

    Examples
    --------
    >>> from skcalrank.metrics import evaluate
    >>> evaluate([0, 1, 1], [0.2, 0.9, 0.5], ["precision@1", "auc"])
    {'precision@1': 1.0, 'auc': 1.0}
    """
    check_option("ties", ties, TIES)
    check_option("empty", empty, EMPTY)
    resolved = _resolved(measures, convention)
    if convention is not None:
        own = get_convention(convention)
        ties = own.ties if isinstance(ties, _Default) else ties
        empty = own.empty if isinstance(empty, _Default) else empty
    y_true, y_score, qid, sample_weight = in_memory(
        y_true=y_true, y_score=y_score, qid=qid, sample_weight=sample_weight
    )
    warn_of_cut_queries(y_true, "The metric")
    if isinstance(y_true, PreferenceTarget):
        return {
            name: _of_preferences(
                measure, y_true, y_score, qid, ties, empty, sample_weight, average
            )
            for name, measure in resolved.items()
        }
    y, scores, queries, weight = _grouped(y_true, y_score, qid, sample_weight)
    values = _of_labels(resolved, y, scores, queries, ties, empty)
    if average:
        return {name: mean_of_queries(values[name], weight, empty) for name in resolved}
    return values


def _resolved(measures, convention):
    """Return the measures as objects, by name."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise ValueError(
            f"measures must be a list or a dict, got {measures!r}: use measure_score for one "
            "measure."
        )
    if not isinstance(measures, Mapping):
        measures = {measure: measure for measure in measures}
    return {name: get_measure(measure, convention=convention) for name, measure in measures.items()}


def _grouped(y_true, y_score, qid, sample_weight):
    """Return validated labels and scores in grouped order, the queries and their weights."""
    y, queries = check_target(y_true, qid, name="y_true")
    label_form = np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1
    shape = np.shape(y_true) if label_form else (queries.n_rows,)
    scores = queries.group(check_scores(y_score, shape))
    weight = check_sample_weight(sample_weight, shape[0], queries, only_shares=True)
    return y, scores, queries, query_weights(weight, queries, label_form)


def _of_labels(measures, y, scores, queries, ties, empty):
    """Return the values of each query, by name of the measure."""
    measures = {name: measure.scaled_to(y) for name, measure in measures.items()}
    values = {name: np.empty(queries.n_queries) for name in measures}
    # Measures of the whole order come first, so that the others reuse their sort.
    by_need = sorted(measures, key=lambda name: measures[name].cutoff is not None)

    def evaluate_part(part):
        of_part, rows, those = part
        ranked = Ranked(scores[rows], those, ties)
        for name in by_need:
            values[name][of_part] = values_per_query(measures[name], y[rows], ranked, empty)

    each(evaluate_part, list(queries.parts(_PART_ROWS)), long=True)
    return values


def values_per_query(measure: Measure, y, ranked: Ranked, empty: str) -> np.ndarray:
    """Return the value of each query, with `empty` applied where the measure is undefined."""
    return _Labels(measure, y, ranked.queries).values(ranked, empty)


class _Labels:
    """A measure and labels, for the evaluation of any number of rankings."""

    def __init__(self, measure: Measure, y, queries: Queries) -> None:
        self.measure, self.queries, self.labels = measure, queries, measure.labels(y)
        self.undefined = measure.undefined(self.labels, queries)
        with np.errstate(over="ignore", invalid="ignore"):
            self.evaluate = measure.evaluator(self.labels, queries)

    def values(self, ranked: Ranked, empty: str) -> np.ndarray:
        """Return the value of each query."""
        if ranked.ties in ("worst", "best"):
            # The best order of ties depends on the measure, so the sort cannot be shared.
            ranked = ranked.with_labels(self.measure.gains_of(self.labels, self.queries))
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.evaluate(ranked)
        fill_undefined(values, self.undefined, empty, self.measure.name, self.queries)
        if not np.isfinite(values[~self.undefined]).all():
            raise ValueError(f"{self.measure.name} overflows: divide the labels by the largest.")
        return values


class PreparedScore:
    """:func:`measure_score` of many rankings of the same documents.

    Parameters
    ----------
    measure : Measure
        The measure.
    y : ndarray of shape (n_rows,)
        Relevances in grouped order.
    queries : Queries
        The queries of the rows.
    weight : ndarray of shape (n_rows,), default=None
        Weights of the rows in grouped order. The weight of a query is the mean over its rows.
    ties, empty : str
        Policies, as in :func:`measure_score`.
    """

    def __init__(
        self, measure: Measure, y, queries: Queries, weight=None, ties="average", empty="skip"
    ) -> None:
        check_option("ties", ties, TIES)
        check_option("empty", empty, EMPTY)
        measure, self._ties, self._empty = measure.scaled_to(y), ties, empty
        weight = check_sample_weight(weight, len(y), queries, only_shares=True)
        self._weight = None if weight is None else queries.mean(weight)
        self._values = np.empty(queries.n_queries)
        self._parts = [
            (of_part, rows, those, _Labels(measure, y[rows], those))
            for of_part, rows, those in queries.kept_parts(_PART_ROWS)
        ]

    @property
    def is_defined(self) -> bool:
        """Whether the measure is defined on a query of positive weight."""
        undefined = np.concatenate([labels.undefined for *_, labels in self._parts])
        return not undefined.all() and (self._weight is None or self._weight[~undefined].any())

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean over the queries, for scores in grouped order."""
        values = np.empty_like(self._values)

        def evaluate_part(part):
            of_part, rows, those, labels = part
            values[of_part] = labels.values(Ranked(scores[rows], those, self._ties), self._empty)

        each(evaluate_part, self._parts, long=True)
        return float(mean_of_queries(values, self._weight, self._empty))


def fill_undefined(values, undefined, empty, name, queries):
    """Write the values of queries on which the measure is undefined, or raise for them."""
    if not undefined.any():
        return
    if empty == "error":
        query = queries.name(int(np.flatnonzero(undefined)[0]))
        raise ValueError(
            f"{name} is undefined (0/0) on query {query!r}: set the value of such queries with "
            "empty='skip', 'zero' or 'one'."
        )
    values[undefined] = {"zero": 0.0, "one": 1.0}.get(empty, np.nan)


def mean_of_queries(values, weight, empty="skip"):
    """Return the weighted mean over the queries; with "skip" only over those that are defined."""
    if empty == "skip":
        defined = ~np.isnan(values)
        if not defined.any():
            warn(
                "The measure is undefined on every query, so its mean is NaN.",
                UndefinedMetricWarning,
            )
            return np.nan
        values = values[defined]
        weight = None if weight is None else weight[defined]
    scale = scale_of(np.abs(values).max(initial=0.0))
    if weight is None:
        return float(scale * (values / scale).mean())
    if not weight.any():
        raise ValueError("sample_weight must be positive on a query that counts, got zeros only.")
    return float(scale * ((values / scale) @ weight / weight.sum()))


def _of_preferences(measure, target, y_score, qid, ties, empty, sample_weight, average):
    """Evaluate a measure for preferences, as a sum over them."""
    _check_reads(measure, target)
    carried_qid(target, qid)
    label_form = target.n_items is not None
    shape = (len(target), target.n_items) if label_form else (len(target),)
    scores = check_scores(y_score, shape)
    queries = target.queries()
    weight = check_sample_weight(sample_weight, len(target), queries, only_shares=True)
    weight = query_weights(weight, queries, label_form)
    lost = target.weight * _share_lost(target, scores, ties)
    code = queries.codes[target.winner]
    lost = np.bincount(code, lost, queries.n_queries)
    total = np.bincount(code, target.weight, queries.n_queries)
    values = measure.of_preferences(total, lost, queries.sizes)
    fill_undefined(values, np.isnan(values), empty, measure.name, queries)
    return mean_of_queries(values, weight, empty) if average else values


def _check_reads(measure, target):
    """Raise unless the measure can be computed from the preferences of the target."""
    if measure.reads_preferences:
        return
    if not measure.reads_orders:
        raise ValueError(
            f"{measure.name} needs relevances, and a PreferenceTarget has none: use "
            "pairwise_disagreement_loss, or kendall_score for preferences of orders, or pass "
            "y=-positions."
        )
    if not target.is_of_orders:
        raise ValueError(
            f"{measure.name} needs relevances, or unit preferences that state each pair once, as "
            "from PreferenceTarget.from_orders: use pairwise_disagreement_loss for other "
            "preferences."
        )


def _share_lost(target, scores, ties):
    """Return the probability that the loser of each preference is ranked above the winner."""
    winner, loser = scores[target.winner], scores[target.loser]
    share = (winner < loser) * 1.0
    tied = winner == loser
    if ties == "average":
        share[tied] = 0.5
    elif ties == "stable":
        share[tied] = target.winner[tied] > target.loser[tied]
    elif ties == "reversed":
        share[tied] = target.winner[tied] < target.loser[tied]
    elif tied.any():
        share[tied] = target.share_lost_in_ties(tied, ties)
    return share
